/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/state: what the passes share. state_analyze.c runs them in order; each fills its part of the
 * report. Sums of a hostile file's numbers saturate (gm_sat_add), so that a lie shows as a residual and never as a
 * wrap.
 */
#pragma once

#include "analyze/allocator/recorded_settings.h"
#include "analyze/base/arithmetic.h"
#include "analyze/base/vec.h"
#include "analyze/state/categories.h"
#include "analyze/state/shown_names.h"
#include "analyze/state/state.h"

/* Sums over the blocks of one segment, and how its file-stated numbers compare. */
struct gm_segment_sums {
    struct gm_totals totals; /* of this segment alone */
    uint64_t allocated_requested;
    uint64_t block_bytes; /* all states */
    bool tiles;           /* block addresses follow one another from the segment's address on */
    bool over_requested;  /* a block claims more requested bytes than it has */
    bool lacks_requested; /* an active block has no requested size in the file */
};

/* Ranges that the trace's map and unmap events touch, merged per stream: the reservations as far as they show. */
struct gm_reservation {
    uint32_t stream; /* gm_stream_id */
    uint64_t from, to;
};
struct gm_reservations GM_VEC(struct gm_reservation);

/* Live blocks that keep cached bytes, before they become rows. */
struct gm_pin {
    uint64_t bytes, from, to;
    uint32_t block, sharers;
};
struct gm_pins GM_VEC(struct gm_pin);

struct gm_device_pass {
    int64_t device;
    size_t first, count; /* in gm_pass.order */
    struct gm_reservations reservations;
    struct gm_pins pins;
};

struct gm_pass {
    const struct gm_snapshot *snapshot;
    const struct gm_state_options *options;
    struct gm_conf conf; /* as recorded */
    struct gm_report *report;
    struct gm_classifier *classifier;
    struct gm_device_report *devices; /* the report's, while they are being filled */
    struct gm_device_pass *device_passes;
    size_t device_count;
    uint32_t *order;              /* segments of the devices reported on, by device, then in the file's order */
    struct gm_segment_sums *sums; /* parallel to order */
    uint32_t *stream_number;      /* [gm_stream_id] */
    struct gm_names names;
};

/* The passes, in the order in which they run. Each returns false if there is no memory. */
bool gm_pass_trace(struct gm_pass *pass); /* counts; collects reservations */
bool gm_pass_fragmentation(struct gm_pass *pass);
bool gm_pass_ledger(struct gm_pass *pass);
bool gm_pass_device_rows(struct gm_pass *pass); /* streams, pools */
bool gm_pass_blocks(struct gm_pass *pass);      /* categories, histogram, blocks with stacks, the largest, call sites */
bool gm_pass_pin_rows(struct gm_pass *pass);
bool gm_pass_settings(struct gm_pass *pass);

/* ---- shared helpers ---------------------------------------------------------------------------------------------- */

void gm_totals_add(struct gm_totals *to, const struct gm_totals *from);

bool gm_reservations_add(struct gm_reservations *r, uint32_t stream, uint64_t from, uint64_t to);
void gm_reservations_merge(struct gm_reservations *r);
