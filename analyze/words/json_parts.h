/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of analysis.json that occur more than once. Private to analyze/words.
 */
#ifndef GM_WORDS_JSON_PARTS_H
#define GM_WORDS_JSON_PARTS_H

#include "analyze/report/report.h"
#include "analyze/words/json_out.h"

#include <stdbool.h>
#include <stddef.h>

/* The keys of totals into the object that is open. */
void gm_json_totals(struct gm_json *json, const struct gm_totals *totals);
void gm_json_slices(struct gm_json *json, const char *key, const struct gm_slice *slices, size_t count, uint64_t whole);
/* "frames": the stack of a block, innermost first. */
void gm_json_frames(struct gm_json *json, const struct gm_block_row *block);
/* Stacks of the pins only if `with_stacks`: they are long, and the devices' pins are among those of all. */
void gm_json_fragmentation(struct gm_json *json, const struct gm_fragmentation *fragmentation, bool with_stacks);
void gm_json_ledger(struct gm_json *json, const struct gm_ledger *ledger);
void gm_json_devices(struct gm_json *json, const struct gm_report *report);
/* Nothing if no device has an event. */
void gm_json_timeline(struct gm_json *json, const struct gm_report *report);

#endif
