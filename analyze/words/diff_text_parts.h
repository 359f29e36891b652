/* SPDX-License-Identifier: Apache-2.0
 *
 * The sections of diff_report.txt. Private to analyze/words.
 */
#ifndef GM_WORDS_DIFF_TEXT_PARTS_H
#define GM_WORDS_DIFF_TEXT_PARTS_H

#include "analyze/words/diff_parts.h"

#include <stddef.h>
#include <stdint.h>

/* "BASE", "NEW", "RUN 2" ... Returns out. */
enum { RUN_NAME = 16 };
char *gm_diff_run_name(char out[RUN_NAME], size_t run);
void gm_diff_text_header(struct gm_text *out, const char *name);
void gm_diff_text_row(struct gm_text *out, const char *name, uint64_t base, uint64_t after);
/* What the rows add up to; `rest` is in those that are not listed. */
void gm_diff_text_sums(struct gm_text *out, const struct gm_diff_sums *sums, size_t shown, size_t count, int64_t rest);
void gm_diff_text_sites(struct gm_text *out, const char *title, const struct gm_diff_site_table *table, size_t top);
/* Step by step, of the devices whose steps were found in both runs. */
void gm_diff_text_steps(struct gm_text *out, const struct gm_diff_pair *pair);
/* More than two runs in one table; nothing for two. */
void gm_diff_text_runs(struct gm_text *out, const struct gm_comparison *c);
void gm_diff_text_series(struct gm_text *out, const struct gm_comparison *c);

#endif
