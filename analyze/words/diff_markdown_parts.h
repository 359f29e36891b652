/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of a comparison in Markdown share. Private to analyze/words.
 */
#ifndef GM_WORDS_DIFF_MARKDOWN_PARTS_H
#define GM_WORDS_DIFF_MARKDOWN_PARTS_H

#include "analyze/base/text.h"
#include "analyze/report/comparison.h"

enum { GM_DIFF_MD_LABEL = 40, GM_DIFF_MD_RUNS = 16 };

/* Whether there is room for one more row; says that `left` are left out if not. */
bool gm_diff_md_room(struct gm_text *out, size_t left);
/* Says how many rows were left out of a table, if any were. */
void gm_diff_md_more(struct gm_text *out, size_t shown, size_t count);

/* Of more than two runs: all of them in one table, and what their categories hold; nothing of two. */
void gm_diff_md_runs(struct gm_text *out, const struct gm_comparison *c);
/* The laws of runs that are called alike but for a number. */
void gm_diff_md_series(struct gm_text *out, const struct gm_comparison *c);

#endif
