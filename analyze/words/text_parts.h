/* SPDX-License-Identifier: Apache-2.0
 *
 * The sections of analysis_report.txt. Private to analyze/words.
 */
#ifndef GM_WORDS_TEXT_PARTS_H
#define GM_WORDS_TEXT_PARTS_H

#include "analyze/base/text.h"
#include "analyze/report/report.h"

#include <stdint.h>

/* "\nTITLE\n-----\n" */
void gm_text_section(struct gm_text *out, const char *title);
/* A size right-aligned in `columns`. */
void gm_text_size(struct gm_text *out, uint64_t bytes, size_t columns);
void gm_text_count(struct gm_text *out, uint64_t count, size_t columns);
/* A percentage with one decimal, right-aligned in 8 columns with its sign. */
void gm_text_percent(struct gm_text *out, uint64_t part, uint64_t whole);

void gm_text_sites(struct gm_text *out, const struct gm_report *report);
void gm_text_top_blocks(struct gm_text *out, const struct gm_report *report);
void gm_text_fragmentation(struct gm_text *out, const struct gm_report *report);
void gm_text_devices(struct gm_text *out, const struct gm_report *report);
void gm_text_pools(struct gm_text *out, const struct gm_report *report);
void gm_text_streams(struct gm_text *out, const struct gm_report *report);
void gm_text_trace(struct gm_text *out, const struct gm_report *report);
void gm_text_ledger(struct gm_text *out, const struct gm_report *report);
void gm_text_settings(struct gm_text *out, const struct gm_report *report);

#endif
