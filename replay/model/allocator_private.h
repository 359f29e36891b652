/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the files of replay/model.
 */
#pragma once

#include "replay/model/allocator.h"

#include <stdatomic.h>

/* What the model is doing, for a program that samples it (tests/bench/replay_shares.c). Only in a build with
 * GM_PROFILE: one store at each change, into a global that is there for nothing else; without it, nothing. */

enum gm_doing {
    GM_DOING_OUTSIDE,     /* not in the model: the walk over the trace */
    GM_DOING_SEARCH,      /* looking for the best fit */
    GM_DOING_SPLIT_MERGE, /* splitting, merging, and the index of free blocks that follows them */
    GM_DOING_BOOKKEEPING, /* rounding, statistics, pending frees, the sink */
    GM_DOING_DEVICE,      /* growing, releasing, retries */
    GM_DOINGS
};

#ifdef GM_PROFILE
#include <stdatomic.h>
extern volatile int gm_profile_doing;
#define GM_DOING(doing) (atomic_signal_fence(memory_order_seq_cst), (void)(gm_profile_doing = (doing)))
#else
#define GM_DOING(doing) ((void)0)
#endif

static inline struct gm_space_block *gm_block(struct gm_allocator *a, uint32_t block)
{
    return &a->space.blocks.v[block];
}

static inline bool gm_is_free(const struct gm_allocator *a, uint32_t block)
{
    return block != GM_SPACE_NONE && a->space.blocks.v[block].use == GM_SPACE_FREE;
}

static inline void gm_put(struct gm_allocator *a, enum gm_allocator_event event, uint64_t address, uint64_t size,
                          uint32_t stream, uint32_t pool, uint32_t owner)
{
    if (a->sink != NULL && (a->untold >> event & 1) == 0)
        a->sink->put(a->sink->self, event, address, size, stream, pool, owner);
}

/* The age of a block object that is made of a part of one of age `age`. */
static inline uint32_t gm_age_of_new(struct gm_allocator *a, uint32_t age)
{
    return a->conf.ties == GM_TIES_OLDEST_BLOCK ? a->next_age++ : age;
}

/* Marks a free block that was got from the device, with what it was joined with, as a new object. */
static inline void gm_mark_grown(struct gm_allocator *a, uint32_t block, bool is_first)
{
    if (!a->keeps_objects || block >= a->grown_by.n)
        return;
    bool is_unknown = a->origin == GM_ORIGIN_UNKNOWN;
    a->requested.v[block] = is_unknown ? UINT64_MAX : 0;
    a->grown_by.v[block] = is_first || is_unknown ? a->origin : GM_ORIGIN_NONE;
}

static inline uint64_t gm_page_of(const struct gm_allocator *a, uint32_t pool)
{
    return a->pools.v[pool].is_small ? GM_SMALL_SEGMENT : a->conf.rules.large_segment;
}

/* Bytes came from the device, or went back to it. */
static inline void gm_count_reserved(struct gm_allocator *a, uint32_t pool, int64_t bytes)
{
    a->total += (uint64_t)bytes;
    a->highest = a->total > a->highest ? a->total : a->highest;
    a->pools.v[pool].reserved += (uint64_t)bytes;
    gm_stats_add(a->stats.reserved_bytes, a->pools.v[pool].is_small, bytes);
}

struct gm_free_set *gm_allocator_make_set(struct gm_allocator *a, uint32_t pool, uint32_t stream);
/* The free set of a pool and stream, made when it is new; NULL: no memory. */
static inline struct gm_free_set *gm_allocator_set(struct gm_allocator *a, uint32_t pool, uint32_t stream)
{
    struct gm_allocator_pool *p = &a->pools.v[pool];
    if (stream < p->bin_of.n && p->bin_of.v[stream] != GM_SPACE_NONE)
        return &p->bins.v[p->bin_of.v[stream]].set;
    return gm_allocator_make_set(a, pool, stream);
}
/* Those bins of a pool that are not empty, by stream handle as an unsigned number. The caller frees v. */
struct gm_bin_list {
    uint32_t *v;
    size_t n;
};
bool gm_allocator_bins(struct gm_allocator *a, uint32_t pool, struct gm_bin_list *list);
static inline struct gm_free_entry gm_free_entry_of(const struct gm_allocator *a, uint32_t block)
{
    const struct gm_space_block *b = &a->space.blocks.v[block];
    return (struct gm_free_entry){b->size, b->address, a->conf.ties == GM_TIES_LOWEST ? 0 : b->age, block};
}
/* Free blocks into and out of their set. The second takes the place of one that is there, if its entry is not NULL. */
void gm_enter_free(struct gm_allocator *a, uint32_t block);
void gm_enter_free_at(struct gm_allocator *a, uint32_t block, const struct gm_free_place *place);
void gm_leave_free(struct gm_allocator *a, uint32_t block);
/* The place of a free block in its set. */
static inline struct gm_free_place gm_place_of_free(const struct gm_allocator *a, uint32_t block)
{
    const struct gm_space_block *b = &a->space.blocks.v[block];
    const struct gm_free_entry entry = gm_free_entry_of(a, block);
    return gm_free_set_from(gm_allocator_free_blocks(a, b->pool, b->stream), &entry);
}
/* Room for what is known of the blocks that the next operation makes; false: no memory. Of the columns that have it,
 * `freed_by` is the last to get it. */
bool gm_add_block_room(struct gm_allocator *a);
static inline bool gm_make_block_room(struct gm_allocator *a)
{
    return a->freed_by.n >= a->space.blocks.n + 4 || gm_add_block_room(a);
}
/* What happened to the device's answer: true if it gave what was asked for. */
bool gm_device_gave(struct gm_allocator *a, enum gm_device_status status);

/* Whether the free that made this row is not complete; its block may have been used again since. */
static inline bool gm_is_waiting(const struct gm_allocator *a, const struct gm_pending_row *row)
{
    return a->space.blocks.v[row->block].use == GM_SPACE_PENDING && a->freed_by.v[row->block] == row->serial;
}

/* malloc.c */
/* Counts a block that was just taken. pieces, bytes: what it changed of the free parts of split segments. */
void gm_count_alloc(struct gm_allocator *a, uint32_t block, uint64_t requested, int64_t pieces, int64_t bytes);

/* expandable.c */
/* Bytes that an expandable free block could reach without leaving its reservation: its own and the unmapped ones after
 * it. */
uint64_t gm_expandable_reach(struct gm_allocator *a, uint32_t block);
/* A free block of at least `rounded` bytes, taken out of its set, made by mapping pages; GM_SPACE_NONE if the device is
 * full: what was mapped by then stays. */
uint32_t gm_expandable_grow(struct gm_allocator *a, uint32_t pool, uint32_t stream, uint64_t rounded);
/* Unmaps [from, to) of a free block; false if it does not hold it. */
bool gm_expandable_unmap_range(struct gm_allocator *a, uint32_t block, uint64_t from, uint64_t to);
/* Unmaps the whole pages inside a free block. */
void gm_expandable_unmap(struct gm_allocator *a, uint32_t block);
/* The pages [address, address + size) of nobody knows which reservation. */
enum gm_space_status gm_expandable_adopt(struct gm_allocator *a, uint32_t pool, uint32_t stream, uint64_t address,
                                         uint64_t size);
struct gm_reservation_row *gm_reservation_of(struct gm_allocator *a, uint64_t address);

/* release.c */
void gm_release_segment(struct gm_allocator *a, uint32_t block);
bool gm_release_available(struct gm_allocator *a, uint32_t pool, uint32_t stream, uint64_t rounded);
void gm_collect_garbage(struct gm_allocator *a);
