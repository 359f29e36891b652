/* SPDX-License-Identifier: Apache-2.0
 *
 * The sections of a comparison's document. Private to analyze/words.
 */
#ifndef GM_WORDS_DIFF_SECTIONS_H
#define GM_WORDS_DIFF_SECTIONS_H

#include "analyze/words/diff_parts.h"

/* A row of two numbers of bytes, GM_REPORT_NONE: not known. */
struct gm_diff_row gm_diff_row_of(const char *name, uint64_t base, uint64_t after);
/* Rows as a table for people, of which Markdown shows `md_max` (0: all). */
void gm_diff_rows(struct gm_doc *d, const struct gm_diff_row *rows, size_t count, size_t md_max);
/* Step by step, of the devices whose steps were found in both runs. */
void gm_diff_steps(struct gm_doc *d, const struct gm_diff_pair *pair);
/* What changed: by category, role, pool, function and call site, at the peak and at the end. Text shows `top` rows. */
void gm_diff_tables(struct gm_doc *d, const struct gm_diff_pair *pair, size_t top);
/* More than two runs in one table, for people; nothing for two. */
void gm_diff_all_runs(struct gm_doc *d, const struct gm_comparison *c);
/* The laws of runs that are called alike but for a number. */
void gm_diff_series(struct gm_doc *d, const struct gm_comparison *c);

/* ---- keys that only JSON has ---------------------------------------------------------------------------------------
 */

void gm_json_diff_runs(struct gm_doc *d, const struct gm_comparison *c);
void gm_json_diff_pair(struct gm_doc *d, const struct gm_comparison *c, const struct gm_diff_pair *pair);
void gm_json_diff_timeline(struct gm_doc *d, const struct gm_comparison *c);
void gm_json_diff_gate(struct gm_doc *d, const struct gm_comparison *c);

#endif
