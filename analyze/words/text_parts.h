/* SPDX-License-Identifier: Apache-2.0
 *
 * The sections of analysis_report.txt. Private to analyze/words.
 */
#ifndef GM_WORDS_TEXT_PARTS_H
#define GM_WORDS_TEXT_PARTS_H

#include "analyze/base/text.h"
#include "analyze/report/report.h"
#include "analyze/report/view.h"

#include <stddef.h>
#include <stdint.h>

/* "\nTITLE\n-----\n" */
void gm_text_section(struct gm_text *out, const char *title);
/* A size right-aligned in `columns`. */
void gm_text_size(struct gm_text *out, uint64_t bytes, size_t columns);
void gm_text_count(struct gm_text *out, uint64_t count, size_t columns);
/* A percentage with one decimal, right-aligned in 8 columns with its sign. */
void gm_text_percent(struct gm_text *out, uint64_t part, uint64_t whole);

/* ---- what the sections about the trace share: text_rows.c -------------------------------------------------------- */

/* A paragraph, indented by `indent`, wrapped. */
void gm_text_paragraph(struct gm_text *out, size_t indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void gm_text_event(struct gm_text *out, uint64_t event, size_t columns);
void gm_text_since(struct gm_text *out, const struct gm_view *view, uint64_t time_us, size_t columns);
/* A table whose rows add up to `whole`: the first `shown` slices, the others as one row, and what they lack as one. */
void gm_text_slices(struct gm_text *out, const char *title, const struct gm_slice *slices, size_t count, size_t shown,
                    uint64_t whole);
/* A section: its title, and what `section` writes for each device that has a view, named if there are several. Nothing
 * without any. */
void gm_text_views(struct gm_text *out, const struct gm_report *report, const char *title,
                   void (*section)(struct gm_text *out, const struct gm_report *report, const struct gm_view *view));

/* ---- sections about the trace; nothing without one ------------------------------------------------------------- */

void gm_text_peak(struct gm_text *out, const struct gm_report *report);
void gm_text_peak_tables(struct gm_text *out, const struct gm_report *report);

/* ---- sections about the state at the end ------------------------------------------------------------------------- */

void gm_text_top_blocks(struct gm_text *out, const struct gm_report *report);

#endif
