/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to replay/verify: one device while it is followed.
 */
#pragma once

#include "analyze/base/vec.h"
#include "replay/model/allocator.h"
#include "replay/verify/follow.h"
#include "replay/verify/releases.h"
#include "replay/verify/verify.h"

/* What is left when memory went back right before a growth, alloc or oom. */
struct gm_release_note {
    uint32_t event;
    bool is_garbage; /* all of it is what garbage collection gives back, if it wants more than `garbage` bytes */
    bool has_spared; /* something that a retry would have given back, too, or waited for */
    uint64_t garbage, before, reserved; /* before: what was reserved before it, reserved: after it */
};

/* ages.c. Objects from before the trace; an id is the age that it was given at first, its age its place in the order.
 */
struct gm_ages {
    uint32_t count;                     /* 0: nothing to learn */
    size_t words;                       /* of a row of `known` */
    uint64_t *known;                    /* [id][id]: a bit where the first is known to be older */
    uint32_t *at, *place, *moved, *age; /* [place]: id; [id]: place; scratch */
    struct gm_free_entry tied[64]; /* the equal blocks that the next request chooses from, in order; 0: no choice */
    size_t tied_count;
    uint64_t learnt;
};

/* pools.c: pools of the model, + 1; 0: as the history has it. */
struct gm_settling {
    uint32_t *of_allocation; /* [allocation]; NULL: nobody asks */
    uint32_t *of_segment;    /* [row of h->segments] */
};

/* release_order.c: what went back last, and what is known by that. */
struct gm_release_place {
    int phase; /* large, then small segments; of private pools small, then large ones; each before its pages */
    uint64_t stream, size, address;
};
struct gm_release_order {
    struct gm_releases releases;
    size_t next; /* the run of releases that is being followed, or the next one */
    struct gm_release_place last;
    bool has_last, is_private, has_default;
    struct GM_VEC(uint32_t) rows; /* of h->segments: growths of the private pool that is giving back */
    uint32_t *found; /* [row of h->segments]: number of the private pool that a growth was for; 0: unknown */
    uint32_t number; /* of that pool: a number that is the same in every run */
    uint64_t looked_at, budget;
};

struct gm_verifying {
    struct gm_verify_result *result;
    struct gm_history *h;
    struct gm_allocator model;
    struct gm_device device;
    struct gm_follow follow;
    struct gm_ages ages;
    /* The growth events of the current operation that the model has not asked for: [growth, growth_end). */
    uint32_t growth, growth_end;
    uint32_t request;           /* the alloc or oom of the request that the model is asked */
    uint32_t request_end;       /* the alloc or oom that ends the request under way, as far as it was looked for */
    bool is_growth_wrong;       /* the model asked for something else than was recorded */
    struct {                    /* what the model asked for then */
        uint64_t address, size; /* address: of pages; GM_ABSENT if a new reservation is asked for */
        bool is_map;
    } wanted;
    bool recorded_expandable; /* the option as the file has it */
    bool infers;
    struct gm_allocator_home home; /* the pools of the request that is being asked */
    bool guesses_pools;
    uint64_t guessed_pools, pool_tries;
    struct gm_settling settling;
    struct gm_release_order order;
    const uint32_t *hints;              /* what an earlier run has found in `order`; NULL: none */
    struct gm_pool_key mismatched;      /* the pool of the first wrong choice */
    uint64_t ended_reservations;        /* whose end was learnt */
    struct gm_event_recorder *recorder; /* NULL: none */
    struct gm_allocator_sink sink;
    struct GM_VEC(struct gm_release_note) notes; /* by event */
    struct gm_garbage *garbage;                  /* [garbage_count]: before the releases that are being followed */
    size_t garbage_count, collected;             /* collected: how many of them were followed; SIZE_MAX: others, too */
    uint64_t garbage_bytes;                      /* of the rounds before the last of those */
    uint64_t reserved_before;                    /* these releases */
    bool collects;                               /* there was a limit that made garbage be collected */
    uint64_t uncollected;            /* the most that was reserved when there was garbage and none was collected */
    uint64_t looked_at;              /* free blocks, for the notes */
    uint32_t event;                  /* the one that is being followed */
    bool has_switched;               /* the option has gone from its inferred first value to the recorded one */
    bool *has_pages;                 /* [pool of the history] grows by pages */
    struct gm_inference *switch_row; /* what says so; NULL: no room for it, or nothing to say */
};

static inline const struct gm_events *gm_events_of(const struct gm_verifying *v)
{
    return &v->h->snapshot->events;
}
static inline size_t gm_row(const struct gm_verifying *v, uint32_t event)
{
    return v->h->first + event;
}
static inline uint8_t gm_action_at(const struct gm_verifying *v, uint32_t event)
{
    return gm_events_of(v)->action[gm_row(v, event)];
}
static inline uint64_t gm_addr_at(const struct gm_verifying *v, uint32_t event)
{
    return gm_event_addr(gm_events_of(v), gm_row(v, event));
}
static inline uint64_t gm_size_at(const struct gm_verifying *v, uint32_t event)
{
    return gm_event_size(gm_events_of(v), gm_row(v, event));
}

/* recorded_growth.c: the device that gives what the trace recorded next, and nothing else. */
struct gm_device gm_recorded_device(struct gm_verifying *v);

/* infer.c: states a value; NULL: there is no room for more. */
struct gm_inference *gm_infer(struct gm_verify_result *result, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Settings that the file does not list. */
void gm_infer_settings(struct gm_verifying *v, struct gm_conf *conf);
/* The option's first value, and pools that are never expandable; after the streams and pools are known. */
void gm_infer_expandable(struct gm_verifying *v);
/* Switches the option to the recorded value when the growth at `event` shows that. */
void gm_infer_switch(struct gm_verifying *v, uint32_t event);
/* The caller has switched it, because of what `event` shows. */
void gm_infer_switch_now(struct gm_verifying *v, uint32_t event);
/* Evidence that another allocator made the trace. */
void gm_infer_allocator(struct gm_verifying *v);

/* ages.c: after the start has been adopted; in the end; before a request; after the recorded
 * choice was the model's; after it was not, true if it is now. */
void gm_ages_begin(struct gm_verifying *v);
void gm_ages_end(struct gm_verifying *v);
void gm_ages_note(struct gm_verifying *v, uint64_t requested);
void gm_ages_confirm(struct gm_verifying *v, uint64_t recorded);
bool gm_ages_learn(struct gm_verifying *v, uint64_t recorded);

/* pools.c: whether pools are to be guessed; the pools of a request to `pool` of the history whose block is at
 * `address`, into v->home; after the model chose another block than was recorded: the block of other pools that explain
 * it, or GM_SPACE_NONE. */
void gm_pools_begin(struct gm_verifying *v);
void gm_pools_choose_home(struct gm_verifying *v, uint32_t event, uint32_t pool, uint64_t address);
uint32_t gm_pools_guess(struct gm_verifying *v, uint32_t event, uint32_t a, uint64_t chosen);
/* For gm_verify_settle_pools: false, no memory; allocation `a` got `block`, after the growths from `grown` on; memory
 * goes back with release `event`; in the end, what was seen becomes the history's. */
bool gm_pools_settle_begin(struct gm_verifying *v);
void gm_pools_settle_alloc(struct gm_verifying *v, uint32_t grown, uint32_t a, uint32_t block);
void gm_pools_settle_release(struct gm_verifying *v, uint32_t event);
bool gm_pools_settle_end(struct gm_verifying *v);
/* First half of the id of a pool that is gone in the end; the second is the number that release_order.c gave it, or 0.
 */
#define GM_POOL_NOBODY_NAMES (UINT64_MAX - 1)

/* release_order.c: false, no memory; before and after release `event` is followed; the number of the private pool that
 * the growth at `event` was for, as the hints have it, or 0. */
bool gm_release_order_begin(struct gm_verifying *v);
void gm_release_order_see(struct gm_verifying *v, uint32_t event);
void gm_release_order_end_run(struct gm_verifying *v, uint32_t event);
uint32_t gm_release_order_pool(const struct gm_verifying *v, uint32_t event);
void gm_release_order_free(struct gm_release_order *o);

/* verify.c: the pool of the model that serves a request. */
uint32_t gm_verifying_pool(const struct gm_verifying *v, uint64_t requested);
/* The model's choice for allocation `a`, if it is the recorded one. Otherwise GM_SPACE_NONE: the choice is
 * given back, and *chosen is where it was. */
uint32_t gm_verifying_choose(struct gm_verifying *v, uint32_t event, uint32_t a, uint64_t *chosen);

/* retries.c: notes what is left when memory went back right before this growth, alloc or oom; counts retries and
 * failures into the result. false: no memory. */
void gm_retries_note(struct gm_verifying *v, uint32_t event);
/* Before the release `event` is followed. */
void gm_retries_see_release(struct gm_verifying *v, uint32_t event);
bool gm_retries_count(struct gm_verifying *v);
/* The first event from `event` on that is neither a growth nor a release nor a completed free; h->count: none. */
uint32_t gm_retries_end_of_request(const struct gm_verifying *v, uint32_t event);

/* explain_choice.c: why the model chose otherwise; its choice has been given back. `chosen` may be GM_ABSENT. */
void gm_explain_alloc(struct gm_verifying *v, uint32_t event, uint32_t allocation, uint64_t chosen);
