/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents of all programs: each writer is a pure function of its model, the same model gives the same bytes.
 * GM_TXT is the report in 80 columns, GM_MD the README.md of the run directory, GM_JSON one object with a final
 * newline. charts: the pictures that lie beside it, NULL-terminated pairs file name, caption; NULL for none.
 */
#pragma once

#include "analyze/document/document.h"
#include "analyze/report/comparison.h"
#include "analyze/report/fleet_model.h"
#include "analyze/report/report.h"

/* ---- gmanalyze --------------------------------------------------------------------------------------------------- */

/* analysis_report.txt, README.md, analysis.json (schema gmanalyze.analysis/1). */
void gm_analysis_document(struct gm_text *out, enum gm_form form, const struct gm_report *report,
                          const char *const *charts);
/* For --explain: of each device what inferred the roles, how sure that is, and how much it decided; 80 columns. */
void gm_analysis_explain(struct gm_text *out, const struct gm_report *report);
/* For --memory-summary: of each device torch.cuda.memory_summary() at the peak of requested bytes, and at the end. */
void gm_analysis_memory_summary(struct gm_text *out, const struct gm_report *report);
/* Five lines for a terminal; the last names `directory`. */
void gm_analysis_summary(struct gm_text *out, const struct gm_report *report, const char *directory);
/* The plan for a card, also in other documents; nothing if it is NULL. JSON: "plan". */
struct gm_card_plan;
void gm_section_plan(struct gm_doc *d, const struct gm_card_plan *plan);

/* ---- gmdiff ------------------------------------------------------------------------------------------------------ */

/* diff_report.txt, README.md, diff.json (schema gmdiff.diff/1). */
void gm_diff_document(struct gm_text *out, enum gm_form form, const struct gm_comparison *c, const char *const *charts);
/* pr_comment.md: a GitHub comment, always under 65,000 characters. */
void gm_diff_comment(struct gm_text *out, const struct gm_comparison *c);
/* A few lines for a terminal; the last names `directory`. */
void gm_diff_summary(struct gm_text *out, const struct gm_comparison *c, const char *directory);
/* Why the growth is over the limit, one sentence without a newline; nothing if it is not. */
void gm_diff_growth(struct gm_text *out, const struct gm_comparison *c);

/* ---- gmfleet ----------------------------------------------------------------------------------------------------- */

/* fleet_report.txt, README.md, fleet.json (schema gmfleet.fleet/1). */
void gm_fleet_document(struct gm_text *out, enum gm_form form, const struct gm_fleet *fleet, const char *const *charts);
/* fleet.csv: a row for each snapshot. */
void gm_fleet_csv(struct gm_text *out, const struct gm_fleet *fleet);
/* A few lines for a terminal; the last names `directory`. */
void gm_fleet_summary(struct gm_text *out, const struct gm_fleet *fleet, const char *directory);
