/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of a recording as a snapshot of its own, with its books intact: the events of a stretch of each device's
 * trace, and the segments and blocks as they were after its last one, so that whoever follows the trace backwards from
 * its end arrives at the state that the stretch began in.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/timeline/trace_analyze.h"
#include "replay/regenerate/regenerate.h"

#include <stddef.h>
#include <stdint.h>

/* Of one device: its events from `from` up to, and without, `to`. */
struct gm_cut_range {
    uint32_t from, to;
};

/* The time of the last event that any device has; GM_ABSENT_TIME: not known. */
int64_t gm_last_time(const struct gm_snapshot *s);

/* The stretch of device `of` (an index in kept->v) in `ranges` [kept->count], as the time between its first and its
 * last event, of all others; to the beginning or the end of their traces where it goes to that of its own. It has an
 * event. GM_E_USAGE if another one has events without times: what happened at the same time is not known. */
enum gm_status gm_cut_by_time(struct gm_cut_range *ranges, const struct gm_kept *kept, size_t of, struct gm_error *err);

/* What was cut: *out borrows from `snapshot`, and gm_regenerated_free frees it. `kept` is of the same snapshot.
 * Annotations are those up to the last event. GM_E_CORRUPT if a device's state in the middle cannot be known, because
 * its trace and its segments contradict each other. */
enum gm_status gm_cut(struct gm_regenerated *out, const struct gm_snapshot *snapshot, struct gm_kept *kept,
                      const struct gm_cut_range *ranges, struct gm_error *err);
