/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline: a growth (one segment_alloc, or a run of segment_map events) and the request that it was
 * made for, read from the events around it.
 */
#ifndef GM_TIMELINE_REQUEST_H
#define GM_TIMELINE_REQUEST_H

#include "analyze/allocator/rounding.h"
#include "analyze/timeline/history/history.h"

/* A growth: events [first, end). */
struct gm_growth {
    uint32_t first, end;
    uint64_t bytes;    /* of all its events; saturated */
    uint64_t from, to; /* the addresses that they span */
    uint32_t stream;   /* gm_stream_id */
    uint32_t request;  /* the alloc or oom event that it was made for; GM_NEVER: not found */
    uint64_t asked;    /* rounded bytes of that; GM_REPORT_NONE */
};

/* Whether a growth begins with event `event`. */
bool gm_growth_begins(const struct gm_history *h, uint32_t event);
/* The growth that begins with event `first`. Bounded work for a segment_alloc; a run of maps is walked. */
struct gm_growth gm_growth_at(const struct gm_history *h, const struct gm_rules *rules, uint32_t first);
/* The driver had refused: segments went back directly before, in the same operation. That is seen by the stack, so it
 * is false for events without one. */
bool gm_growth_is_retry(const struct gm_history *h, uint32_t first);
/* The stack of the request, else of the growth's first event; absent if neither has one. */
struct gm_stack_id gm_growth_stack(const struct gm_history *h, const struct gm_growth *growth);

#endif
