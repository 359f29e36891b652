/* SPDX-License-Identifier: Apache-2.0
 *
 * Writers of comparisons: each is a pure function, the same comparison gives the same bytes.
 */
#ifndef GM_WORDS_DIFF_H
#define GM_WORDS_DIFF_H

#include "analyze/base/text.h"
#include "analyze/report/comparison.h"

/* diff_report.txt: 80 columns. has_charts: the pictures lie beside it. */
void gm_words_diff_text(struct gm_text *out, const struct gm_comparison *c, bool has_charts);
/* diff.json: schema gmdiff.diff/1, one object, with a final newline. */
void gm_words_diff_json(struct gm_text *out, const struct gm_comparison *c);
/* README.md of the run directory. charts: NULL-terminated pairs file name, caption; NULL for none. */
void gm_words_diff_markdown(struct gm_text *out, const struct gm_comparison *c, const char *const *charts);
/* pr_comment.md: a GitHub comment, always under 65,000 characters. */
void gm_words_diff_comment(struct gm_text *out, const struct gm_comparison *c);
/* A few lines for a terminal; the last names `directory`. */
void gm_words_diff_summary(struct gm_text *out, const struct gm_comparison *c, const char *directory);
/* Why the growth is over the limit, one sentence without a newline; nothing if it is not. */
void gm_words_diff_growth(struct gm_text *out, const struct gm_comparison *c);

#endif
