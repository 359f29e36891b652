/* SPDX-License-Identifier: Apache-2.0
 *
 * PyTorch's native CUDA caching allocator for one device, decision by decision
 * (c10/cuda/CUDACachingAllocator.cpp): rounding, best fit, split, merge, expandable segments, retries, garbage
 * collection, out of memory; with the statistics of memory_stats(). It chooses addresses in an address space
 * (analyze/allocator) and gets memory from a device (device.h).
 *
 * Invariants, besides the space's:
 *   - every free block is in the free set of its pool and stream, and nothing else is;
 *   - total is the sum of the bytes got from the device;
 *   - every expandable range lies in one reservation of its pool and stream;
 *   - the current value of every statistic that is counted but the oversize ones is what the blocks and ranges say.
 */
#pragma once

#include "analyze/allocator/address_space.h"
#include "analyze/allocator/conf.h"
#include "analyze/allocator/stats.h"
#include "analyze/base/vec.h"
#include "replay/model/device.h"
#include "replay/model/free_set.h"

/* What the allocator reports while it works: the events of a trace. */
enum gm_allocator_event {
    GM_EVENT_ALLOC,
    GM_EVENT_FREE_REQUESTED,
    GM_EVENT_FREE_COMPLETED,
    GM_EVENT_SEGMENT_ALLOC,
    GM_EVENT_SEGMENT_FREE,
    GM_EVENT_SEGMENT_MAP,
    GM_EVENT_SEGMENT_UNMAP,
    GM_EVENT_OOM
};
struct gm_allocator_sink {
    void *self;
    /* `address` of GM_EVENT_OOM: the device's free bytes. `size` as a trace records it. `owner`: of events of blocks.
     */
    void (*put)(void *self, enum gm_allocator_event event, uint64_t address, uint64_t size, uint32_t stream,
                uint32_t pool, uint32_t owner);
};

struct gm_allocator_bin { /* free blocks of one stream in a pool */
    uint32_t stream;
    struct gm_free_set set;
};
struct gm_allocator_pool {
    uint64_t id_first, id_second; /* (0,0): the default pools */
    bool is_small;
    bool is_freeable;  /* private, and nobody uses it any more: empty_cache() gives its memory back */
    bool is_custom;    /* private, of an allocator of its own: never expandable */
    bool never_splits; /* MemPool's no_split */
    uint64_t reserved; /* bytes got from the device */
    uint64_t searches; /* the clock of garbage collection */
    uint32_t next;     /* number of another pool that is found in the same place, GM_MAP_NONE: none */
    struct GM_VEC(struct gm_allocator_bin) bins; /* as they were made; gm_allocator_bins orders them */
    struct GM_VEC(uint32_t) bin_of;              /* [stream number]: index in bins, GM_SPACE_NONE if there is none */
};
struct gm_pending_row {
    uint32_t block;
    uint64_t serial; /* of the free */
};
struct gm_reservation_row {
    uint64_t address, size;
    uint32_t stream;
    uint32_t pool;
    uint32_t age;  /* of its blocks */
    uint32_t area; /* of its ranges in the space */
};

struct gm_allocator {
    struct gm_conf conf;
    const struct gm_device *device;
    const struct gm_allocator_sink *sink; /* may be NULL */
    unsigned untold;                      /* events that it is not told: 1 << enum gm_allocator_event */
    struct gm_space space;
    struct GM_VEC(int64_t) handles; /* [stream number]: the CUDA stream's handle */
    struct GM_VEC(struct gm_allocator_pool) pools;
    struct gm_address_map pool_of_id;
    struct GM_VEC(struct gm_reservation_row) reservations; /* ascending */
    struct GM_VEC(uint64_t) requested;                     /* [block]: bytes asked for */
    struct GM_VEC(uint64_t) gc_base;                       /* [block] */
    struct GM_VEC(uint64_t) freed_by;                      /* [block]: serial of the free that made it pending */
    struct GM_VEC(struct gm_pending_row) pending; /* in the order of their frees, among them some that are done */
    uint64_t waited;   /* the free before the last cudaFree, which waits for the device; 0: see below */
    uint64_t serial;   /* frees so far */
    uint64_t total;    /* bytes got from the device */
    uint64_t highest;  /* the most that `total` has been since the caller set this: a retry gives some back again */
    uint32_t next_age; /* of the next segment or reservation, or block object */
    uint32_t areas;    /* reservations so far */
    struct gm_address_map gap_ages; /* GM_TIES_OLDEST_BLOCK: of the unmapped bytes that begin there in a reservation;
                                     * those of their reservation where it has none */
    uint64_t limit;                 /* from per_process_memory_fraction; UINT64_MAX: none */
    struct gm_stats stats;
    /* Of these only what is reserved, segments, and the numbers of calls are counted. */
    bool counts_reserved_only;
    bool private_by_segments; /* private pools never have expandable segments, as up to PyTorch 2.4 */
    bool has_no_memory;       /* of this machine: the allocator is not to be used any further */
    bool has_failed;          /* the device failed */
    bool has_tied;            /* it took the lowest of equal free blocks of several segments: where these lie decided */
    uint64_t base_of_taken;   /* gc_base of the free block that the last malloc took */
    bool was_rejected;        /* the last malloc: with throw_on_cudamalloc_oom, and no limit that would come first, a
                               * request beyond the device's memory is given up at once, without a resort or an event */
    bool skips_search;        /* the next malloc asks the device at once, as a retry does */
    uint64_t wanted_at;       /* not 0: the next one fails if its best fit is elsewhere, and nothing has changed */
    uint64_t passed_by;       /* where that was; UINT64_MAX: it is not why the last malloc failed */
    /* For those who write a snapshot of it (keeps_objects): what PyTorch's own block objects would still know. A freed
     * block absorbs its free neighbours; the remainder of a split is the old object, the part that is handed out a new
     * one. `requested` of a free block is then that of its object's last allocation. */
    bool keeps_objects;
    uint32_t origin; /* the caller's number of what is being done, or GM_ORIGIN_UNKNOWN */
    /* [block]: origin of the growth that made the object, or of what it absorbed from below; or one of the two below */
    struct GM_VEC(uint32_t) grown_by;
};
#define GM_ORIGIN_UNKNOWN UINT32_MAX    /* from before the trace */
#define GM_ORIGIN_NONE (UINT32_MAX - 1) /* no growth: split off later */

/* An allocator that has nothing. `device` and `sink` must outlive it. */
void gm_allocator_init(struct gm_allocator *a, const struct gm_conf *conf, const struct gm_device *device,
                       const struct gm_allocator_sink *sink);
void gm_allocator_free(struct gm_allocator *a);

/* The numbers of a stream and of a pool, made when they are new. UINT32_MAX: no memory. */
uint32_t gm_allocator_stream(struct gm_allocator *a, int64_t handle);
/* The same for a handle that is known to be new, without a search. */
uint32_t gm_allocator_add_stream(struct gm_allocator *a, int64_t handle);
uint32_t gm_allocator_pool_of(struct gm_allocator *a, uint64_t id_first, uint64_t id_second, bool is_small);

/* That of a pool that is there; GM_MAP_NONE: it is not. */
uint32_t gm_allocator_find_pool(const struct gm_allocator *a, uint64_t id_first, uint64_t id_second, bool is_small);

/* The two pools of an id, (0, 0) for the default ones. */
struct gm_allocator_home {
    uint32_t small, large;
    bool is_default;
    bool retries; /* the last resort is to empty the cache */
};
/* Whether a request to that pool has a retry. */
bool gm_allocator_retries(const struct gm_allocator *a, uint64_t id_first, uint64_t id_second);
struct gm_allocator_home gm_allocator_home_of(struct gm_allocator *a, uint64_t id_first, uint64_t id_second);
/* Of private pools: whether nobody uses them any more; that they never split a block. */
void gm_allocator_set_freeable(struct gm_allocator *a, struct gm_allocator_home home, bool is_freeable);
void gm_allocator_never_split(struct gm_allocator *a, struct gm_allocator_home home);
/* torch's malloc: `requested` bytes on a stream. Returns the block, whose owner in the space is `owner`, or
 * GM_SPACE_NONE: out of memory, has_no_memory or has_failed. A request to a private pool does not make the default ones
 * give memory back: a capture may be under way. (From PyTorch 2.13 on only captures have that effect. Their pools' ids
 * have a second number of 0, MemPool's a first one; a capture into a pool of graph_pool_handle() looks like MemPool's.)
 * Requests of 2^60 bytes and more are refused at once: no event, nothing counted. */
uint32_t gm_allocator_malloc(struct gm_allocator *a, uint64_t requested, uint32_t stream, struct gm_allocator_home home,
                             uint32_t owner);
/* free(): without other streams' uses both at once; else the second when they are done, which the caller says. A retry
 * waits for them: the sink then hears GM_EVENT_FREE_COMPLETED before it is asked for. */
void gm_allocator_free_requested(struct gm_allocator *a, uint32_t block);
void gm_allocator_free_completed(struct gm_allocator *a, uint32_t block);
/* For those who follow a trace's requests under other rules, before a request to a default pool, which looks for frees
 * that are complete: those that were pending when memory was last given back. Private pools' are as the trace says. */
void gm_allocator_complete_waited(struct gm_allocator *a);
/* torch.cuda.empty_cache(), and the same for one private pool: what it still waits for, then its free memory if nobody
 * uses the pool. */
void gm_allocator_empty_cache(struct gm_allocator *a);
void gm_allocator_empty_pool(struct gm_allocator *a, uint64_t id_first, uint64_t id_second);

/* Places what is there already, without events: a segment, then the blocks in it in ascending order. A range of an
 * expandable segment belongs to the reservation of its pool and stream that is nearest below it with nothing of others
 * in between, or begins one, whose length nobody knows: it ends where the next one begins. Segments of more than 2^60
 * bytes, and those after as many, are refused. */
bool gm_allocator_adopt_segment(struct gm_allocator *a, uint64_t address, uint64_t size, uint32_t stream, uint32_t pool,
                                bool is_expandable);
uint32_t gm_allocator_adopt_block(struct gm_allocator *a, uint64_t address, uint64_t size, uint64_t requested,
                                  uint32_t owner, bool is_pending);

/* For those who follow a trace. Puts a block where the trace has it, whatever the model would choose; GM_SPACE_NONE if
 * nothing free is there. Gives [address, address + size) back to the device: a whole segment, or mapped pages; false if
 * it is not free. */
uint32_t gm_allocator_place(struct gm_allocator *a, uint64_t address, uint64_t size, uint64_t requested,
                            uint32_t owner);
bool gm_allocator_give_back(struct gm_allocator *a, uint64_t address, uint64_t size);
/* Whether empty_cache() would give a free block back, or pages of it. */
bool gm_allocator_can_give_back(struct gm_allocator *a, uint32_t block);
/* The address of the first reservation above `address`, UINT64_MAX if there is none. */
uint64_t gm_allocator_next_reservation(const struct gm_allocator *a, uint64_t address);
/* Learns that `rounded` bytes did not fit in the reservation whose last mapped byte is before `address`: its unknown
 * end is lower than it was thought. false: that is known already, or something is mapped above. */
bool gm_allocator_end_reservation(struct gm_allocator *a, uint64_t address, uint64_t rounded);
/* Bytes that a free block could have without leaving its reservation: what the best fit compares. */
uint64_t gm_allocator_reach(struct gm_allocator *a, uint32_t block);
/* What garbage collection would give back now if it were asked for all there is, in its order; the caller frees it. Its
 * rounds are numbered from 0: it stops after one of them. NULL: nothing, or no memory (has_no_memory). */
struct gm_garbage {
    uint32_t block, round;
    uint64_t address, age; /* searches since it was freed */
};
struct gm_garbage *gm_allocator_garbage(struct gm_allocator *a, size_t *count);
/* Gives the segment of cudaMalloc at `address` to another pool of the same kind (small, large). */
void gm_allocator_move_segment(struct gm_allocator *a, uint64_t address, uint32_t pool);
/* Those of age i < count are of age age[i] from now on: a permutation. For those who learn ages. */
void gm_allocator_renumber(struct gm_allocator *a, const uint32_t *age, uint32_t count);
/* The order in which the best fit looks at free blocks of a pool and stream; the one after `block`, or GM_SPACE_NONE.
 */
bool gm_allocator_is_before(const struct gm_allocator *a, uint32_t block, uint32_t other);
uint32_t gm_allocator_next_free(const struct gm_allocator *a, uint32_t block);
/* The free blocks of a pool and stream; NULL if there have never been any. */
const struct gm_free_set *gm_allocator_free_blocks(const struct gm_allocator *a, uint32_t pool, uint32_t stream);
