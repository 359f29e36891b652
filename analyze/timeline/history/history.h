/* SPDX-License-Identifier: Apache-2.0
 *
 * The history of one device: every allocation as an interval of moments. What all passes over the trace start from.
 *
 * A moment is the state after some number of events: event i of the device leads from moment i to moment i + 1, moment
 * 0 is before the trace. An allocation is active at the moments m with born <= m < freed, and allocated (not pending)
 * while born <= m < let_go.
 *
 * Which events belong to one allocation (the contract's rule): an alloc is closed by the next free of its address. A
 * free without an alloc is of an allocation that lived before the trace, and so is an active block of the snapshot's
 * segments without one. An alloc of an address that is still open ends the open one (its free is missing).
 *
 * Block bytes come from the address space (analyze/allocator): the segments are followed backwards from the snapshot to
 * moment 0, the allocations of that time are placed, and every event is told to the space, which splits and merges by
 * the allocator's rules. The pending and free neighbours decide whether a remainder stays inside a block.
 */
#pragma once

#include "analyze/allocator/stats.h"
#include "analyze/base/bisect.h"
#include "analyze/base/error.h"
#include "analyze/base/freed.h"
#include "analyze/report/report.h"
#include "analyze/snapshot/snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GM_NEVER UINT32_MAX /* a moment after the last one; an allocation that is none */
#define GM_NO_BLOCK UINT32_MAX

/* A pool of the device, as far as the trace and the segments tell pools apart. */
struct gm_history_pool {
    uint64_t id_first, id_second; /* (0,0) is the default pool; GM_ABSENT: the file gives no id */
    bool is_small;
    bool never_splits; /* MemPool(no_split=True): no file says it, gm_verify_settle_pools learns it */
};
/* As the file says; and as it is taken, for a file without ids knows no private pools. */
static inline bool gm_history_pool_is_said_default(const struct gm_history_pool *pool)
{
    return pool->id_first == 0 && pool->id_second == 0;
}
static inline bool gm_history_pool_is_default(const struct gm_history_pool *pool)
{
    return pool->id_first == GM_ABSENT || gm_history_pool_is_said_default(pool);
}

/* As a snapshot names it, by its gm_pool_id; 0: the default one. */
static inline struct gm_history_pool gm_history_pool_named(const struct gm_snapshot *s, uint32_t id, bool is_small)
{
    return id == 0 ? (struct gm_history_pool){.is_small = is_small}
                   : (struct gm_history_pool){
                         .id_first = s->pools[id].first, .id_second = s->pools[id].second, .is_small = is_small};
}

/* The end of an allocation whose free is missing: `event` is the alloc of the same address that shows it. */
struct gm_history_replaced {
    uint32_t event, allocation;
};

/* What no alloc event tells: of those that are older than the trace, or are live at its end. */
struct gm_history_other {
    uint32_t allocation;
    uint32_t stack;       /* gm_stack_id; 0: nothing but the event's, if there is one, tells it */
    uint32_t final_block; /* row in snapshot->blocks if it is live at the end, or GM_NO_BLOCK */
};

/* Of 64 allocations those that have one, a bit each, and how many have one before them. */
struct gm_history_others_of {
    uint64_t are;
    uint32_t before;
};

/* The pool and stream of a segment event. */
struct gm_history_segment {
    uint32_t event, stream; /* gm_stream_id */
    uint32_t pool;          /* index in gm_history.pools */
};

struct gm_history {
    const struct gm_snapshot *snapshot;
    int64_t device;
    size_t first, count; /* its events: rows [first, first + count) of snapshot->events; event i is row first + i */

    size_t allocation_count;
    uint32_t *born, *freed;             /* moments; born 0: before the trace; GM_NEVER: not in the trace */
    uint8_t *waits;                     /* gm_let_go: moments from there to freed */
    uint32_t *wide_let_go;              /* itself, while one has no room there; else NULL */
    struct gm_number_builder requested; /* gm_requested */
    struct gm_number_builder block;     /* gm_block_bytes; like the pools the second half's */
    uint8_t *pool;                      /* gm_pool_number */
    uint32_t *wide_pool;                /* the same, once there are more than 256 pools; else NULL */
    struct gm_history_other *others;    /* by allocation; gm_stack_of, gm_final_block */
    size_t other_count;
    struct gm_history_others_of *others_of; /* [allocation / 64] */
    uint32_t *of_event;      /* [count]: the allocation that an alloc or free is about; GM_NEVER for others */
    uint32_t *device_events; /* those that gm_action_is_of_device, in order */
    size_t device_event_count;
    uint64_t allocs, odd_allocs; /* alloc events; of them, at addresses that are no multiple of GM_MIN_BLOCK */
    struct gm_history_pool *pools;
    size_t pool_count, pool_capacity;
    uint32_t *pool_of_id; /* [2 * gm_pool_id + is_small]: the number of that pool in pools, + 1; 0: it is none. The
                           * default one is under 0 in any case; after the last one that of a file without ids */
    struct gm_history_replaced *replaced; /* by event */
    size_t replaced_count;
    struct gm_history_segment *segments; /* every segment event, in order; none while !is_reconstructed */
    size_t segment_count;
    uint32_t *final_pool; /* [snapshot->segments.count]: the pool of each of the device's segments */

    gm_i128 reserved_at_start; /* bytes: the snapshot's, less what the trace added */

    /* PyTorch's counters, as the address space has them: after the last event, and when most was requested. Peaks and
     * sums are those since moment 0. Nothing while !is_reconstructed, or if no watcher counts. */
    struct gm_stats stats, stats_at_peak;
    uint32_t stats_peak_moment;

    /* What did not fit together; the reconciliation is filled but for `coverage`. Strings are literals; the rows are
     * the history's own. */
    bool is_reconstructed;
    struct gm_making *making; /* making.h; NULL: it is all there */
    struct gm_reconciliation reconciliation;
    struct gm_disagreement disagreements[16];
};

/* Called while the space is at a moment of interest. Before a growth (the first segment_alloc or segment_map of an
 * operation) and before an oom: `moment` == index of that event, the event has not happened yet. Samples: regularly,
 * about `samples` of them over the trace, after the event. */
enum gm_occasion { GM_OCCASION_GROWTH, GM_OCCASION_OOM, GM_OCCASION_SAMPLE };
struct gm_watcher {
    void *self;
    void (*see)(void *self, enum gm_occasion occasion, const struct gm_space *space, uint32_t moment);
    uint32_t samples;
    bool counts; /* PyTorch's counters are kept in the history */
};

/* Builds the history of trace `device` (which may have no events: then all allocations are the snapshot's). `watcher`
 * may be NULL; a block's owner in the space it is shown is the allocation's index. GM_E_NOMEM is the only error: what
 * contradicts itself is counted in `reconciliation` and, if too much does, is_reconstructed is false. */
enum gm_status gm_history_build(struct gm_history *history, const struct gm_snapshot *snapshot, size_t device,
                                const struct gm_watcher *watcher, struct gm_error *err);
/* The two halves of it: which events belong together; then block bytes, pools, segments and books, while which nobody
 * else may look at those. On failure gm_history_free. */
bool gm_history_pair(struct gm_history *history, const struct gm_snapshot *snapshot, size_t device);
bool gm_history_reconstruct(struct gm_history *history, const struct gm_watcher *watcher);
void gm_history_free(struct gm_history *history);

/* The segments at moment 0, each one free block, in *space (zero-initialised; the caller frees it). Streams are
 * gm_stream_id, pools are indices in h->pools. Several threads may ask at once if h->is_reconstructed. false: no
 * memory. */
bool gm_history_segments_at_start(struct gm_history *history, struct gm_space *space);
/* The same at `moment`, with the blocks that live then; a block's owner is the allocation's index. Of a history that is
 * reconstructed. O(n log n). */
bool gm_history_space_at(struct gm_history *history, uint32_t moment, struct gm_space *space);

/* The first row of h->segments at or after an event. */
size_t gm_history_segment_row(const struct gm_history *h, uint32_t event);
/* The pool of a segment event, as an index in h->pools; 0 of any other. */
uint32_t gm_history_segment_pool(const struct gm_history *h, uint32_t event);

/* "large", "small", "private (0,2) large", as in gm_block_row.pool. NULL: no memory. */
const char *gm_history_pool_name(struct gm_arena *arena, const struct gm_history_pool *pool);

/* The allocations that are active at `moment`, by address; the caller frees them. NULL: no memory. */
struct gm_at_address {
    uint64_t address;
    uint32_t allocation;
};
struct gm_at_address *gm_history_placed(const struct gm_history *h, uint32_t moment, size_t *count);

/* What a block of the snapshot is in an address space. */
static inline uint8_t gm_space_use_of(uint8_t state)
{
    return state == GM_BLOCK_INACTIVE           ? GM_SPACE_FREE
           : state == GM_BLOCK_ACTIVE_ALLOCATED ? GM_SPACE_ALLOCATED
                                                : GM_SPACE_PENDING;
}

/* ---- of an allocation -------------------------------------------------------------------------------------------- */

#define GM_HISTORY_SIZES ((struct gm_number_kind){.absent = GM_ABSENT})
static inline uint64_t gm_history_size(const struct gm_number_builder *sizes, size_t a)
{
    const uint32_t near = sizes->near[a];
    return (near & GM_FAR_NUMBER) == 0 ? near : sizes->far.v[near & ~GM_FAR_NUMBER];
}
/* From where on it is pending, or its end; GM_NEVER. */
static inline uint32_t gm_let_go(const struct gm_history *h, size_t a)
{
    return h->wide_let_go != NULL ? h->wide_let_go[a] : h->freed[a] - h->waits[a];
}
/* Bytes that were asked for. */
static inline uint64_t gm_requested(const struct gm_history *h, size_t a)
{
    return gm_history_size(&h->requested, a);
}
/* Bytes of its block; what was requested while !is_reconstructed. */
static inline uint64_t gm_block_bytes(const struct gm_history *h, size_t a)
{
    return gm_history_size(&h->block, a);
}
/* Index in h->pools. */
static inline uint32_t gm_pool_number(const struct gm_history *h, size_t a)
{
    return h->wide_pool != NULL ? h->wide_pool[a] : h->pool[a];
}
/* Whether it is a pool of its own, as CUDA graphs and MemPool make them. */
static inline bool gm_is_private_pool(const struct gm_history *h, uint32_t pool)
{
    return pool < h->pool_count && !gm_history_pool_is_default(&h->pools[pool]);
}
/* false: no memory. */
bool gm_history_set_pool(struct gm_history *history, size_t a, uint32_t pool);

/* The allocation that an event makes; GM_NEVER: it makes none. */
static inline uint32_t gm_made_by(const struct gm_history *h, uint32_t event)
{
    const uint32_t a = h->of_event[event];
    return a != GM_NEVER && h->born[a] == event + 1 ? a : GM_NEVER;
}

/* Whether an event of the trace made it. Those are in the order of these events. */
static inline bool gm_is_made(const struct gm_history *h, size_t a)
{
    return h->born[a] > 0 && h->born[a] != GM_NEVER;
}

/* The next event from that one on that makes an allocation; h->count, or what was asked beyond it: there is none. */
static inline uint32_t gm_next_made(const struct gm_history *h, uint32_t from)
{
    while (from < h->count && gm_made_by(h, from) == GM_NEVER)
        from++;
    return from;
}

/* Bytes that the pools grow by from that event on, 0 if they do not, and *next, if it is not NULL, the event after. */
uint64_t gm_history_growth(const struct gm_history *h, uint32_t event, uint32_t *next);

/* Whether what went back right before a growth of so many bytes would have served it (not with max_split_size): then no
 * request was refused, but an operation gave memory back by itself, as cuDNN's search for the fastest algorithm does
 * with what it tried. */
bool gm_history_had_room(const struct gm_history *h, uint32_t growth, uint64_t bytes);

/* Whether frees are recorded with stacks; if not, segments that go back have the stack of their making. */
bool gm_history_frees_have_stacks(const struct gm_history *h);

/* NULL: there is none. */
const struct gm_history_other *gm_history_other(const struct gm_history *h, size_t a);
/* Row in snapshot->blocks if it is live at the end, or GM_NO_BLOCK. */
static inline uint32_t gm_final_block(const struct gm_history *h, size_t a)
{
    const struct gm_history_other *other = h->freed[a] != GM_NEVER ? NULL : gm_history_other(h, a);
    return other == NULL ? GM_NO_BLOCK : other->final_block;
}
/* The gm_stack_id; absent if only a free is known. */
static inline uint32_t gm_stack_of(const struct gm_history *h, size_t a)
{
    const uint32_t stack = h->born[a] == 0 ? 0 : gm_event_stack(&h->snapshot->events, h->first + h->born[a] - 1).v;
    if (stack != 0 || (h->born[a] > 0 && h->freed[a] != GM_NEVER))
        return stack;
    const struct gm_history_other *other = gm_history_other(h, a);
    return other == NULL ? 0 : other->stack;
}

/* Where allocation `a` came from. */
uint64_t gm_history_address(const struct gm_history *h, size_t a);
struct gm_stream_id gm_history_stream(const struct gm_history *h, size_t a);

static inline bool gm_history_is_active(const struct gm_history *h, size_t a, uint32_t moment)
{
    return h->born[a] <= moment && moment < h->freed[a];
}

/* A recording that begins in the middle of a round has, until that round is over, much of which nobody knows who made
 * it and when: what is older than the trace and goes before its last allocation. If that is more than a 20th of the
 * peak when it begins: `begin` is the first moment at which no more than a hundredth is left, if the run gets as high
 * again after it (within a hundredth), `peak` the first moment at which it does, with so many requested bytes. All 0:
 * it begins between two rounds, or has no others. O(n). */
struct gm_settled {
    uint32_t begin, peak;
    uint64_t requested;
};
struct gm_settled gm_history_settled(const struct gm_history *h);

/* Time of event `event` of the device in microseconds, or GM_REPORT_NONE. */
static inline uint64_t gm_history_time(const struct gm_history *h, uint64_t event)
{
    const int64_t time = event >= h->count ? -1 : gm_event_time_us(&h->snapshot->events, h->first + event);
    return time < 0 ? GM_REPORT_NONE : (uint64_t)time;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* The levels while events are walked. Sums of a hostile file's sizes may pass 64 bits in between; they are clamped when
 * they are told. */
struct gm_sums {
    gm_i128 requested, allocated, active, reserved;
};

static inline struct gm_levels gm_sums_told(const struct gm_sums *s)
{
    return (struct gm_levels){gm_clamp(s->requested), gm_clamp(s->allocated), gm_clamp(s->active),
                              gm_clamp(s->reserved)};
}

/* Adds what an allocation holds at a moment. */
static inline void gm_sums_hold(struct gm_sums *s, const struct gm_history *h, size_t a, uint32_t moment)
{
    if (!gm_history_is_active(h, a, moment))
        return;
    s->requested += gm_requested(h, a);
    s->active += gm_block_bytes(h, a);
    s->allocated += moment < gm_let_go(h, a) ? gm_block_bytes(h, a) : 0;
}

/* Bytes that the event of a row adds to what is reserved, or takes from it; saturated. */
static inline int64_t gm_reserved_by(const struct gm_events *e, size_t row)
{
    const uint64_t size = gm_event_size(e, row);
    const int64_t bytes = size == GM_ABSENT ? 0 : (int64_t)gm_min(size, INT64_MAX);
    return gm_action_is_growth(e->action[row]) ? bytes : gm_action_is_release(e->action[row]) ? -bytes : 0;
}

/* ---- walking ---------------------------------------------------------------------------------------------------- */

/* The changes in order, several of them at one event at most where a free is missing. */
enum gm_change_kind { GM_CHANGE_ALLOC, GM_CHANGE_LET_GO, GM_CHANGE_FREE, GM_CHANGE_SEGMENT, GM_CHANGE_NONE };
struct gm_change {
    enum gm_change_kind kind;
    uint32_t event;
    uint32_t allocation; /* of ALLOC, LET_GO, FREE. A FREE of an allocation that was not let go lets it go too */
    int64_t reserved;    /* of SEGMENT: bytes added to or taken from reserved; saturated */
};
struct gm_walk {
    const struct gm_history *h;
    uint32_t event; /* the next one */
    size_t replaced;
};
/* From the first event on, or from another one. */
static inline struct gm_walk gm_walk_start(const struct gm_history *h)
{
    return (struct gm_walk){.h = h};
}
static inline struct gm_walk gm_walk_from(const struct gm_history *h, uint32_t event)
{
    struct gm_walk walk = {.h = h, .event = event};
    GM_BISECT(walk.replaced, h->replaced_count, i, h->replaced[i].event < event);
    return walk;
}
/* The next change, one per event (kind NONE for events that change nothing) after the changes of missing frees at it.
 * false: there are no more events. An allocation let go twice, or freed after its end, is reported once: only the
 * event that its let_go and freed moments name. */
static inline bool gm_walk_next(struct gm_walk *w, struct gm_change *c)
{
    const struct gm_history *h = w->h;
    uint32_t i = w->event;
    if (i >= h->count)
        return false;
    if (w->replaced < h->replaced_count && h->replaced[w->replaced].event == i) {
        *c = (struct gm_change){GM_CHANGE_FREE, i, h->replaced[w->replaced++].allocation, 0};
        return true;
    }
    const struct gm_events *e = &h->snapshot->events;
    uint32_t a = h->of_event[i];
    *c = (struct gm_change){GM_CHANGE_NONE, i, a, 0};
    w->event++;
    const uint8_t action = e->action[h->first + i]; /* a switch would be a jump that is foreseen less often */
    if (action == GM_ACTION_ALLOC) {
        c->kind = a == GM_NEVER ? GM_CHANGE_NONE : GM_CHANGE_ALLOC;
    } else if (action == GM_ACTION_FREE_REQUESTED) {
        c->kind = a != GM_NEVER && gm_let_go(h, a) == i + 1 && h->freed[a] != i + 1 ? GM_CHANGE_LET_GO : GM_CHANGE_NONE;
    } else if (gm_action_is_free(action)) {
        c->kind = a != GM_NEVER && h->freed[a] == i + 1 ? GM_CHANGE_FREE : GM_CHANGE_NONE;
    } else if (gm_action_is_growth(action) || gm_action_is_release(action)) {
        c->kind = GM_CHANGE_SEGMENT;
        c->reserved = gm_reserved_by(e, h->first + i);
    }
    return true;
}
/* After a LET_GO of `a`: passes over the next event if that is its FREE, as it mostly is. */
static inline bool gm_walk_skip_free(struct gm_walk *w, uint32_t a)
{
    const struct gm_history *h = w->h;
    const uint32_t i = w->event;
    if (i >= h->count || h->of_event[i] != a || h->freed[a] != i + 1)
        return false;
    const bool is_free = gm_action_is_free(h->snapshot->events.action[h->first + i]);
    w->event += is_free;
    return is_free;
}
