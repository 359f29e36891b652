/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns and keys that several documents have.
 */
#pragma once

#include "analyze/document/document.h"
#include "analyze/report/numbers.h"
#include "analyze/report/summary.h"
#include "analyze/report/view.h"

#include <stddef.h>

/* Keys of struct gm_totals and of struct gm_levels. */
extern const struct gm_column gm_totals_columns[13], gm_levels_columns[4];
/* Of uint64_t[GM_UNUSABLE_COUNT]: cached bytes by the reason why they were of no use. */
extern const struct gm_column gm_unusable_columns[5];

/* ---- JSON only --------------------------------------------------------------------------------------------------- */

/* The peaks of the four levels as `key`; null for NULL. */
void gm_json_peaks(struct gm_doc *d, const char *key, const uint64_t peaks[GM_LEVEL_COUNT]);
void gm_json_slices(struct gm_doc *d, const char *key, const struct gm_slice *slices, size_t count, uint64_t whole);
/* The same, and null where slices is NULL: they were not inferred. */
void gm_json_inferred(struct gm_doc *d, const char *key, const struct gm_slice *slices, size_t count, uint64_t whole);
/* "frames": a stack, innermost first. */
void gm_json_frames(struct gm_doc *d, const struct gm_frame_row *frames, size_t count);

/* ---- people only ------------------------------------------------------------------------------------------------- */

/* Parts that add up to `whole`, of which `most` (0: all) are shown and the others as one row. */
void gm_section_slices(struct gm_doc *d, const char *title, const struct gm_slice *slices, size_t count, size_t most,
                       uint64_t whole);

/* A line of the sources, or the note in parentheses; absent if there is neither. */
const char *gm_source_words(struct gm_doc *d, const char *text, const char *note);

/* "0", "2" as in the tables of streams; "0x5e" for one that they do not have. */
const char *gm_stream_name(struct gm_doc *d, const struct gm_view *view, int64_t stream);
