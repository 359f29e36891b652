/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline: what out-of-memory (ooms.c) and fragmentation over time (growth.c) share, and the parts
 * of the latter.
 */
#pragma once

#include "analyze/allocator/rounding.h"
#include "analyze/base/vec.h"
#include "analyze/timeline/history/history.h"
#include "analyze/timeline/peaks/groups.h"
#include "analyze/timeline/trace_pass.h"

/* Rows that are noted at most; parts: in all rows together. */
enum {
    GM_WATCH_OOMS = 8,
    GM_WATCH_HOLES = 8,
    GM_WATCH_PINS = 64,
    GM_WATCH_GROWTHS = 1 << 16,
    GM_WATCH_PARTS = 1 << 19
};
/* Free slots and blocks that are visited at most, for each purpose. Samples and pins share theirs out over the trace.
 */
enum { GM_WATCH_GROWTH_STEPS = 1 << 24, GM_WATCH_SAMPLE_STEPS = 1 << 22, GM_WATCH_PIN_STEPS = 1 << 22 };

/* The free blocks of one pool: on the stream of the request, or on all others together. */
struct gm_watch_part {
    uint64_t cached;          /* their bytes */
    uint64_t fits;            /* of these, in blocks as large as the request or larger */
    uint64_t whole;           /* of all, what could go back to the driver: unsplit segments, whole pages */
    uint64_t whole_too_small; /* of `whole`, what lies in blocks smaller than the request */
    uint64_t largest;
    uint32_t pool; /* index in history->pools */
    bool is_same_stream;
};

/* The space before an event. */
struct gm_watch_look {
    uint32_t event;
    uint32_t first_part, part_count; /* in gm_watch.parts; no parts although something is cached: too much work */
    uint64_t reserved, active, pending;
};
struct gm_watch_hole { /* a free block of the right pool and stream that was too small */
    uint64_t bytes, address;
    uint32_t pinned_by; /* allocation beside it; GM_NEVER */
};
struct gm_watch_oom {
    struct gm_watch_look look;
    struct gm_watch_hole holes[GM_WATCH_HOLES]; /* the largest, largest first */
    size_t hole_count;
};
struct gm_watch_sample {
    uint32_t moment;
    uint64_t largest_free, cached, stranded;
};
struct gm_watch_pin {
    uint64_t bytes; /* the most that it kept */
    uint32_t allocation;
    uint32_t moment; /* when */
};

struct gm_watch {
    const struct gm_history *history;
    struct gm_rules rules;
    struct GM_VEC(struct gm_watch_part) parts;
    struct GM_VEC(struct gm_watch_look) growths; /* by event */
    struct GM_VEC(struct gm_watch_sample) samples;
    struct gm_watch_oom ooms[GM_WATCH_OOMS];
    size_t oom_count;
    struct gm_watch_pin pins[GM_WATCH_PINS]; /* in no order */
    size_t pin_count;
    uint64_t growth_steps, sample_steps, pin_steps; /* spent so far */
    bool has_no_memory;                             /* something could not be noted */
    bool sees_only_ooms;
    struct GM_VEC(struct gm_watch_part) scratch[2]; /* [is_same_stream], by pool; cached == 0: not in use */
};

/* Bytes of a free block that could go back to the driver: all of it if it is an unsplit segment, else the whole pages
 * inside it if it is expandable. */
uint64_t gm_watch_releasable(const struct gm_watch *watch, const struct gm_space *space, uint32_t block);
/* Pages of an expandable range of `pool`. They are counted from the range's start: maps and unmaps are whole pages. */
uint64_t gm_watch_page(const struct gm_watch *watch, uint32_t pool);
/* The pool that the request of an oom event would have come from: the event's, or the default one; small or large. */
struct gm_history_pool gm_watch_oom_pool(const struct gm_history *h, uint32_t event);
static inline bool gm_watch_is_pool(const struct gm_history_pool *a, const struct gm_history_pool *b)
{
    return a->id_first == b->id_first && a->id_second == b->id_second && a->is_small == b->is_small;
}
/* All free blocks: bytes that could go back, and the largest. */
struct gm_watch_free {
    uint64_t whole, largest;
};
void gm_watch_see_free(struct gm_watch_free *free, const struct gm_watch *watch, const struct gm_space *space,
                       uint32_t block);
/* pinners.c: notes the live blocks that keep most cached bytes from going back. Visits every block. */
struct gm_watch_free gm_watch_pins(struct gm_watch *watch, const struct gm_space *space, uint32_t moment);
/* The look at a growth, or NULL if there was none. */
const struct gm_watch_look *gm_watch_growth(const struct gm_watch *watch, uint32_t event);

/* A growth (one segment_alloc, or a run of segment_map events) and the request that it was made for, read from the
 * events around it. */

/* A growth: events [first, end). */
struct gm_pool_growth {
    uint32_t first, end;
    uint64_t bytes;    /* of all its events; saturated */
    uint64_t from, to; /* the addresses that they span */
    uint32_t stream;   /* gm_stream_id */
    uint32_t request;  /* the alloc or oom event that it was made for; GM_NEVER: not found */
    uint64_t asked;    /* rounded bytes of that; GM_REPORT_NONE */
};

/* The growth that begins with event `first`. Bounded work for a segment_alloc; a run of maps is walked. */
struct gm_pool_growth gm_growth_at(const struct gm_history *h, const struct gm_rules *rules, uint32_t first);
/* ---- why cached bytes did not serve a request (watch.c) ---------------------------------------------------------- */

struct gm_unusable_sums {
    uint64_t by_reason[GM_UNUSABLE_COUNT]; /* they sum to what is cached */
    uint64_t largest_hole;                 /* of the right pool and stream */
    uint64_t right;                        /* cached bytes of the right pool and stream */
};
/* All GM_REPORT_NONE if the look was too much work. */
struct gm_unusable_sums gm_unusable_of(const struct gm_watch *watch, const struct gm_watch_look *look,
                                       const struct gm_history_pool *wanted);

/* The site of a stack for a report; NULL for an absent stack. *ok becomes false if there is no memory. */
const char *gm_site_or_null(struct gm_trace_pass *pass, struct gm_stack_id stack, bool *ok);
/* Microseconds from event `from` to event `to` (0 if time runs backwards), GM_REPORT_NONE without times. */
uint64_t gm_time_between(const struct gm_history *h, uint32_t from, uint32_t to);
