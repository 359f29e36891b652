/* SPDX-License-Identifier: Apache-2.0
 *
 * What the trace says about the run before the snapshot: snapshot in, more of the report model out.
 *
 * Today: the peak of requested bytes and what it was made of, per device. Peaks of block bytes (allocated, active) need
 * the allocator's rounding and splitting, which is the address space's to know; they stay absent until that is there.
 */
#ifndef GM_TIMELINE_TIMELINE_H
#define GM_TIMELINE_TIMELINE_H

#include "analyze/base/error.h"
#include "analyze/model/snapshot.h"
#include "analyze/report/report.h"

struct gm_category_rules; /* analyze/state/categories.h */
struct gm_classifier;     /* likewise */

/* Adds to a report that gm_state_analyze made of the same snapshot: report->peaks, of every device with events.
 * `classifier` is one of `rules` and the snapshot. On failure (GM_E_NOMEM) the report has no peaks. */
enum gm_status gm_timeline_analyze(struct gm_report *report, const struct gm_snapshot *snapshot,
                                   const struct gm_category_rules *rules, struct gm_classifier *classifier,
                                   struct gm_error *err);

#endif
