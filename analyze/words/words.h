/* SPDX-License-Identifier: Apache-2.0
 *
 * Writers: report model in, text out. Each is a pure function of the report: same report, same bytes.
 */
#ifndef GM_WORDS_WORDS_H
#define GM_WORDS_WORDS_H

#include "analyze/base/text.h"
#include "analyze/report/report.h"

/* analysis_report.txt: 80 columns. */
void gm_words_text(struct gm_text *out, const struct gm_report *report);
/* README.md: GitHub Markdown. charts: NULL-terminated pairs file name, caption; NULL for none. */
void gm_words_markdown(struct gm_text *out, const struct gm_report *report, const char *const *charts);
/* analysis.json: schema gmanalyze.analysis/1, one object, with a final newline. */
void gm_words_json(struct gm_text *out, const struct gm_report *report);
/* For --explain: of each device what inferred the roles, how sure that is, and how much it decided; 80 columns. */
void gm_words_explain(struct gm_text *out, const struct gm_report *report);
/* Five lines for a terminal; the last names `directory`. */
void gm_words_summary(struct gm_text *out, const struct gm_report *report, const char *directory);

#endif
