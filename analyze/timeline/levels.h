/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline: the books while the events are walked. Sums of a hostile file's sizes may pass 64 bits
 * in between, so they are kept in 128 and clamped when they are told.
 */
#ifndef GM_TIMELINE_LEVELS_H
#define GM_TIMELINE_LEVELS_H

#include "analyze/timeline/history/history.h"
#include "analyze/timeline/trace_pass.h"

__extension__ typedef __int128 gm_i128;

static inline uint64_t gm_clamp(gm_i128 v)
{
    return v < 0 ? 0 : v >= (gm_i128)GM_REPORT_NONE ? GM_REPORT_NONE - 1 : (uint64_t)v;
}

struct gm_sums {
    gm_i128 requested, allocated, active, reserved;
};

static inline struct gm_levels gm_sums_told(const struct gm_sums *s)
{
    return (struct gm_levels){gm_clamp(s->requested), gm_clamp(s->allocated), gm_clamp(s->active),
                              gm_clamp(s->reserved)};
}

/* The state before event 0, of the allocations that are not hidden. Reserved is the snapshot's, less what the trace
 * added. */
static inline struct gm_sums gm_sums_start(const struct gm_trace_pass *pass)
{
    const struct gm_history *h = &pass->history;
    const struct gm_events *e = &h->snapshot->events;
    struct gm_sums s = {.reserved = pass->report->devices[pass->index].totals.reserved};
    for (size_t i = h->first; i < h->first + h->count; i++) {
        uint8_t action = e->action[i];
        if (action < GM_ACTION_SEGMENT_ALLOC || action > GM_ACTION_SEGMENT_UNMAP)
            continue;
        uint64_t bytes = e->size[i] == GM_ABSENT ? 0 : e->size[i] > INT64_MAX ? INT64_MAX : e->size[i];
        if (gm_action_is_growth(action))
            s.reserved -= bytes;
        else if (gm_action_is_release(action))
            s.reserved += bytes;
    }
    for (size_t a = 0; a < h->allocation_count; a++) {
        if (h->born[a] != 0 || h->freed[a] == 0 || gm_is_hidden(pass, a))
            continue;
        s.requested += h->requested[a];
        s.active += h->block[a];
        if (h->let_go[a] != 0)
            s.allocated += h->block[a];
    }
    return s;
}

/* One change. A change of a hidden allocation is none. */
static inline void gm_sums_apply(struct gm_sums *s, const struct gm_trace_pass *pass, const struct gm_change *c)
{
    const struct gm_history *h = &pass->history;
    uint32_t a = c->allocation;
    switch (c->kind) {
    case GM_CHANGE_ALLOC:
        if (gm_is_hidden(pass, a))
            return;
        s->requested += h->requested[a];
        s->allocated += h->block[a];
        s->active += h->block[a];
        return;
    case GM_CHANGE_LET_GO:
        if (!gm_is_hidden(pass, a))
            s->allocated -= h->block[a];
        return;
    case GM_CHANGE_FREE:
        if (gm_is_hidden(pass, a))
            return;
        s->requested -= h->requested[a];
        s->active -= h->block[a];
        if (h->let_go[a] == c->event + 1)
            s->allocated -= h->block[a];
        return;
    case GM_CHANGE_SEGMENT:
        s->reserved += c->reserved;
        return;
    case GM_CHANGE_NONE:
        return;
    }
}

#endif
