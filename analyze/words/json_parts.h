/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of analysis.json that occur more than once. Private to analyze/words.
 */
#ifndef GM_WORDS_JSON_PARTS_H
#define GM_WORDS_JSON_PARTS_H

#include "analyze/document/document.h"
#include "analyze/report/report.h"
#include "analyze/report/summary.h"
#include "analyze/report/view.h"

#include <stdbool.h>
#include <stddef.h>

/* The keys of totals into the object that is open. */
void gm_json_totals(struct gm_json *json, const struct gm_totals *totals);
/* The peaks of the four levels as `key`; null for NULL. */
void gm_json_peaks(struct gm_json *json, const char *key, const uint64_t peaks[GM_LEVEL_COUNT]);
void gm_json_slices(struct gm_json *json, const char *key, const struct gm_slice *slices, size_t count, uint64_t whole);
/* "frames": a stack, innermost first. */
void gm_json_frames(struct gm_json *json, const struct gm_frame_row *frames, size_t count);
/* Stacks of the pins only if `with_stacks`: they are long, and the devices' pins are among those of all. */
void gm_json_fragmentation(struct gm_json *json, const struct gm_fragmentation *fragmentation, bool with_stacks);
void gm_json_ledger(struct gm_json *json, const struct gm_ledger *ledger);
void gm_json_devices(struct gm_json *json, const struct gm_report *report);
/* "timeline"; nothing if no device has an event. */
void gm_json_timeline(struct gm_doc *d, const struct gm_report *report);
/* "headline", "headline_at_end", "reliability", "to_do": what the report for people begins with. */
void gm_json_diagnosis(struct gm_doc *d, const struct gm_report *report);
/* "settings_advice": null without a trace. */
void gm_json_tried(struct gm_json *json, const struct gm_report *report);

/* ---- keys of one device in "timeline", after those of the contract ---------------------------------------------- */

/* "event", "time_us", "seconds" since the first event, and the four levels, into the object that is open. */
void gm_json_moment(struct gm_json *json, const struct gm_view *view, const struct gm_moment *moment);
/* The four levels as `key`. */
void gm_json_levels(struct gm_json *json, const char *key, struct gm_levels levels);
/* "peak_times", "call_sites_at_peak", "lifetimes_at_peak", "groups_at_peak", "next_peaks", "savings", "role_reasons" */
void gm_json_peak(struct gm_json *json, const struct gm_view *view);
/* "unusable_bytes": by reason, GM_UNUSABLE_COUNT of them; null for NULL. */
void gm_json_unusable(struct gm_json *json, const uint64_t *unusable);

#endif
