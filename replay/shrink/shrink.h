/* SPDX-License-Identifier: Apache-2.0
 *
 * A recording shrunk to a minimal reproducer: as few of one device's allocations as are needed to run out of memory at
 * the same request, or to reach the same peak of reserved memory. The model of the allocator is the judge.
 *
 *   program   what a recorded run asked of its allocator: requests, frees, empty_cache(). It begins with an empty
 *             allocator; what was there before the trace it asks for first.
 *   item      one allocation of the program, from its request to its free.
 *   unit      what is dropped together: an item with its frees; one call of empty_cache(); one free that other streams
 *             put off (without it the block is freed when they were done).
 *   goal      what has to stay as it is.
 *
 * The search is delta debugging (A. Zeller, R. Hildebrandt: Simplifying and Isolating Failure-Inducing Input, IEEE TSE
 * 28(2), 2002; its complements): drop half of the groups, then quarters, ... then single ones, of what no longer lives,
 * of stretches of time, of call sites, of sizes, in the end of single units, until no single one can be dropped.
 */
#pragma once

#include "analyze/allocator/conf.h"
#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/base/vec.h"
#include "analyze/timeline/history/history.h"
#include "replay/regenerate/regenerate.h"

#include <stdatomic.h>

enum gm_demand_kind {
    GM_DEMAND_ALLOC,
    GM_DEMAND_LET_GO, /* another stream still uses it: a free comes later */
    GM_DEMAND_FREE,
    GM_DEMAND_RETIRE, /* of the pools: nobody uses it any more; counts for the next empty_cache() */
    GM_DEMAND_EMPTY,
    GM_DEMAND_EMPTY_POOL
};
struct gm_demand_op {
    uint8_t kind;
    uint32_t what; /* an item, or a pool of the history */
    uint32_t unit;
    uint32_t event; /* of the history; GM_NEVER: before its first one */
};
struct gm_demand_item {
    uint64_t requested; /* bytes */
    uint32_t stream;    /* gm_stream_id */
    uint32_t pool;      /* of the history */
    uint32_t stack;     /* gm_stack_id */
    uint32_t event;     /* of the request, likewise */
    uint32_t joined;    /* allocations that it stands for; 0: it is made up, to have the layout before the trace */
};
struct gm_demand {
    struct gm_history *h;
    bool *is_custom; /* gm_follow_custom_pools */
    struct GM_VEC(struct gm_demand_op) ops;
    struct GM_VEC(struct gm_demand_item) items;
    size_t units;
};

/* What the program is played on. */
struct gm_shrink_device {
    struct gm_conf conf;
    uint64_t capacity, taken; /* as in struct gm_whatif_options */
};

/* What playing it came to. */
struct gm_outcome {
    bool has_failed;
    bool has_event;   /* else it was refused at once, and no trace shows it */
    bool is_pieces;   /* there would be room, but in pieces */
    uint32_t op;      /* that failed */
    uint32_t peak_op; /* that first reached the peak of reserved bytes */
    uint64_t rounded, device_free, active;
    uint64_t reserved; /* at the peak */
    uint64_t unused;   /* of them, in no block */
    bool hangs_on_placement;
    bool is_too_busy; /* given up: far beyond the program's length */
};

enum gm_shrink_goal { GM_SHRINK_AUTO, GM_SHRINK_OOM, GM_SHRINK_RESERVED, GM_SHRINK_FRAGMENTATION };
extern const char *const gm_shrink_goals[]; /* from GM_SHRINK_OOM on, up to a NULL */

/* Which allocations may become one that live equally long: none; those of one call site; any. */
enum gm_shrink_join { GM_SHRINK_JOIN_NONE, GM_SHRINK_JOIN_SITE, GM_SHRINK_JOIN_ALL };
extern const char *const gm_shrink_joins[]; /* up to a NULL */

struct gm_shrink_options {
    struct gm_shrink_device device;
    enum gm_shrink_goal goal; /* AUTO: OOM if the program runs out of memory, else RESERVED */
    double tolerance;         /* of the peaks, as a share of the whole program's; of the unused share, in itself */
    enum gm_shrink_join join;
    bool without_empties; /* empty_cache() is left out from the beginning */
    uint64_t most_replays;
    bool (*is_over)(void *asked); /* no more replays are begun once it says so; may be NULL */
    void *asked;
    atomic_size_t *replays, *units; /* for whoever watches from another thread; may be NULL */
};
enum gm_shrink_end { GM_SHRINK_IS_MINIMAL, GM_SHRINK_OUT_OF_REPLAYS, GM_SHRINK_OUT_OF_TIME };
struct gm_shrunk {
    struct gm_demand program;
    enum gm_shrink_goal goal;
    enum gm_shrink_end end;
    struct gm_outcome whole, outcome; /* of the whole program, and of what is left */
    uint32_t placement;               /* of the simulated device (replay/model/sim.h), as it was played */
    bool is_recorded_request;         /* OOM: the recorded one; else the model fails at another, or memory was given */
    bool is_robust;                   /* it holds wherever the driver puts segments, as far as was tried */
    size_t whole_items, items, joined;
    uint64_t replays;
};

/* Of a device whose pools were settled (gm_verify_settle_pools). `oom`: the event of the recorded request that was
 * refused, where the program ends; GM_NEVER: it has none, or does not matter. GM_E_FORMAT if what is to be kept is not
 * there: err says what the model did instead. gm_shrunk_free in any case. */
enum gm_status gm_shrink(struct gm_shrunk *out, struct gm_history *h, uint32_t oom,
                         const struct gm_shrink_options *options, struct gm_error *err);
void gm_shrunk_free(struct gm_shrunk *shrunk);

/* The snapshot of what is left, as PyTorch would have left it: *out borrows from the recording, and from *source, a
 * zero-initialised one that gm_snapshot_free frees after it. */
enum gm_status gm_shrunk_snapshot(struct gm_regenerated *out, struct gm_snapshot *source,
                                  const struct gm_shrunk *shrunk, const struct gm_shrink_device *device,
                                  struct gm_error *err);

/* The same as a Python program that asks PyTorch for it. */
void gm_shrunk_script(struct gm_text *out, const struct gm_shrunk *shrunk, const struct gm_shrink_device *device);
