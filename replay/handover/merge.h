/* SPDX-License-Identifier: Apache-2.0
 *
 * Several snapshots of one job as one, with its books intact: the dumps of a process, whose rings overlap, as one trace
 * (merge.c); the ranks of a job as the devices of one snapshot. All they need of each other is what PyTorch records.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/snapshot/snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_merge_part {
    const struct gm_snapshot *snapshot;
    const char *name; /* for messages */
};

/* What a part brought to the trace of a device. */
struct gm_merge_share {
    size_t part;
    int64_t device, own_device; /* in the merged snapshot, and in the part's */
    uint64_t shared, added;     /* events that the part before has, too; that only this one has */
};

struct gm_merged { /* gm_merged_free */
    struct gm_snapshot snapshot;
    struct gm_merge_share *shares; /* by device, then by part */
    size_t share_count;
    size_t first_part; /* those before it were left out */
};

/* The dumps of one process, oldest first. Where two follow each other in time, the events at the end of one have to be
 * those at the beginning of the next, at the same times, or the next has to begin with the record of a snapshot being
 * taken; and what the next one's trace, followed backwards to there, says of segments and blocks has to be what the
 * former shows. Else events are missing in between: GM_E_FORMAT, or with `after_gap` what is before the last such gap
 * is left out. GM_E_CORRUPT: events agree and states do not. */
enum gm_status gm_merge_dumps(struct gm_merged *out, const struct gm_merge_part *parts, size_t count, bool after_gap,
                              struct gm_error *err);

/* The ranks of a job: their devices with memory or events get numbers 0, 1 ... in the order of the parts. GM_E_FORMAT
 * if their allocators had other settings, which one snapshot cannot say. */
enum gm_status gm_merge_ranks(struct gm_merged *out, const struct gm_merge_part *parts, size_t count,
                              struct gm_error *err);

void gm_merged_free(struct gm_merged *merged);
