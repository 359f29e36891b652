/* SPDX-License-Identifier: Apache-2.0
 *
 * The sections of gmanalyze's document: each tells one device's part of it, in all forms. Private to analyze/words.
 */
#ifndef GM_WORDS_SECTIONS_H
#define GM_WORDS_SECTIONS_H

#include "analyze/document/document.h"
#include "analyze/document/numbers.h"
#include "analyze/report/view.h"

#include <stdbool.h>

/* Tells people a section of the trace: text of each device that has a view, named if there are several, Markdown of the
 * one with the highest peak, folded. `is_worth` (NULL: always): whether Markdown has it at all. */
void gm_section_of_views(struct gm_doc *d, const struct gm_report *report, const char *title,
                         void (*section)(struct gm_doc *d, const struct gm_view *v),
                         bool (*is_worth)(const struct gm_view *v));

/* Out of memory, in the text and in Markdown, where it is of every device and open. */
void gm_section_of_ooms(struct gm_doc *d, const struct gm_report *report);

/* Why memory grew, what was cached and stuck, what pinned it. JSON: "fragmentation_history". */
void gm_section_history(struct gm_doc *d, const struct gm_view *v);
/* Steps, the pattern that they follow, what survives them. JSON: "steps". */
void gm_section_steps(struct gm_doc *d, const struct gm_view *v);
/* How far the trace and the snapshot agree; for people. */
void gm_section_books(struct gm_doc *d, const struct gm_view *v);

/* ---- the whole report, for people ----------------------------------------------------------------------------------
 */

/* The places in the user's code that hold the most memory. JSON: "call_sites". */
void gm_section_sites(struct gm_doc *d, const struct gm_report *report);
/* What is allocated at the end, by category and by role. */
void gm_section_contents(struct gm_doc *d, const struct gm_report *report);
/* Fragmentation at the end, in the text. JSON: "histogram". */
void gm_section_fragmentation(struct gm_doc *d, const struct gm_report *report);
/* The live blocks that keep cached memory from being released; for people, nothing if there are none. */
void gm_section_pins(struct gm_doc *d, const struct gm_report *report);
void gm_section_devices(struct gm_doc *d, const struct gm_report *report);
void gm_section_pools(struct gm_doc *d, const struct gm_report *report);
void gm_section_streams(struct gm_doc *d, const struct gm_report *report);
/* Where every reserved byte is. */
void gm_section_ledger(struct gm_doc *d, const struct gm_report *report);
void gm_section_settings(struct gm_doc *d, const struct gm_report *report);
/* What the trace counts. */
void gm_section_trace(struct gm_doc *d, const struct gm_report *report);
void gm_section_warnings(struct gm_doc *d, const struct gm_report *report);
/* Other allocator settings; nothing if none were looked at. */
void gm_section_tried(struct gm_doc *d, const struct gm_report *report);

/* Each time that memory ran out. JSON: "out_of_memory". */
void gm_section_ooms(struct gm_doc *d, const struct gm_view *v);
/* For people: parts that add up to `whole`, of which text shows `most` (0: all) and the others as one row. */
void gm_section_slices(struct gm_doc *d, const char *title, const struct gm_slice *slices, size_t count, size_t most,
                       uint64_t whole);
bool gm_steps_were_found(const struct gm_view *v);

#endif
