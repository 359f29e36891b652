/* SPDX-License-Identifier: Apache-2.0
 *
 * The address space of one device under PyTorch's caching allocator: ranges of mapped memory (a cudaMalloc segment, or
 * the contiguous mapped part of an expandable one), tiled by blocks that are split and merged as the allocator does it.
 * It knows where things are, not where they should go: the timeline tells it the addresses of a trace, the allocator's
 * model chooses them.
 *
 * Invariants (tests/allocator/invariants.c checks them):
 *   - ranges ascend by address and do not overlap; touching ranges that could be one are one;
 *   - the blocks of a range tile it: last, its prev, ... down to the range's address;
 *   - no two neighbours in a range are both free;
 *   - free_starts maps the address of every free block, and of no other, to the block, or has_no_starts;
 *   - segments, if they are kept, has what the blocks of each say;
 *   - active is the sum of the sizes of allocated and pending blocks, pending that of pending ones, reserved that of
 *     the ranges.
 *
 * A block keeps its number while it is in use. When free blocks merge, the number of the highest one survives; so the
 * last block of a range keeps its number through splits and merges.
 */
#pragma once

#include "analyze/base/address_map.h"
#include "analyze/base/vec.h"

#include <stdbool.h>
#include <stdint.h>

#define GM_SPACE_NONE UINT32_MAX

enum gm_space_use { GM_SPACE_FREE, GM_SPACE_ALLOCATED, GM_SPACE_PENDING, GM_SPACE_UNUSED_SLOT };

struct gm_space_block {
    uint64_t address, size; /* bytes */
    uint32_t prev, next;    /* neighbours in the range; GM_SPACE_NONE at its ends */
    uint32_t owner;         /* the caller's number of what uses it; meaningless if it is free */
    uint32_t stream;        /* the caller's number; of the range */
    uint32_t pool;          /* the caller's number; of the range */
    uint32_t age;           /* the caller's; what is split off gets it, too */
    uint8_t use;            /* enum gm_space_use */
    bool is_expandable;     /* of the range */
    uint32_t segment;       /* the row in segments, if they are kept, of one of cudaMalloc; else the first */
};
/* Whether it is all of its range. */
static inline bool gm_space_is_whole(const struct gm_space_block *b)
{
    return b->prev == GM_SPACE_NONE && b->next == GM_SPACE_NONE;
}
struct gm_space_range {
    uint64_t address, size; /* bytes */
    uint32_t last;          /* its highest block */
    uint32_t area;          /* as given to gm_space_map */
    uint32_t segment;       /* of its blocks */
};

/* The blocks of a segment of cudaMalloc. Nothing is known of one of which only a part is mapped any more. */
struct gm_space_segment {
    uint64_t free_bytes;
    uint32_t live;
    bool is_cut;
};

struct gm_space { /* zero-initialise */
    struct GM_VEC(struct gm_space_block) blocks;
    struct GM_VEC(uint32_t) unused; /* block numbers to use again */
    struct GM_VEC(struct gm_space_range) ranges;
    size_t ranges_before; /* of which there is room below ranges.v */
    struct gm_address_map free_starts;
    struct GM_VEC(struct gm_space_segment) segments; /* empty: they are not kept. The first one is no segment */
    struct GM_VEC(uint32_t) gone;                    /* rows of segments to use again */
    bool has_no_starts; /* they are not kept before somebody asks for one; as whoever made the space likes it */
    uint64_t reserved, active, pending; /* bytes */
    uint64_t work; /* steps spent on searches that are not O(1): what a caller bounds for hostile input */
};

enum gm_space_status { GM_SPACE_OK, GM_SPACE_NO_MEMORY, GM_SPACE_CONFLICT };

void gm_space_free(struct gm_space *space);
/* Segments are kept from now on, of a space that has none yet. false: no memory. */
bool gm_space_keep_segments(struct gm_space *space);

/* Adds [address, address + size) as one free block. `area`: 0 for a segment of cudaMalloc; else it is expandable, and a
 * range that touches others of the same area, stream and pool becomes one with them. CONFLICT: empty, past 2^64, or it
 * overlaps a range; nothing is changed. */
enum gm_space_status gm_space_map(struct gm_space *space, uint64_t address, uint64_t size, uint32_t stream,
                                  uint32_t pool, uint32_t area);
/* Takes [address, address + size) away. CONFLICT: it is not inside one free block; nothing is changed. */
enum gm_space_status gm_space_unmap(struct gm_space *space, uint64_t address, uint64_t size);

/* The free block that begins at `address`, or GM_SPACE_NONE. O(1). (Likewise, where there are no starts yet.) */
uint32_t gm_space_find_starts(struct gm_space *space, uint64_t address);
static inline uint32_t gm_space_free_at(struct gm_space *space, uint64_t address)
{
    return space->has_no_starts ? gm_space_find_starts(space, address) : gm_map_get(&space->free_starts, address);
}
/* The range that holds `address` (an index in ranges), or GM_SPACE_NONE. O(log ranges). */
uint32_t gm_space_range_of(const struct gm_space *space, uint64_t address);
/* The highest block of the range that begins at or before `address`, which there must be: all of a new segment. */
static inline uint32_t gm_space_last_of(const struct gm_space *space, uint64_t address)
{
    return space->ranges.v[gm_space_range_of(space, address)].last;
}
/* The block that holds `address`, or GM_SPACE_NONE. Unless it is free and begins there, and starts are kept, walks the
 * blocks of a range; counts as work. */
uint32_t gm_space_block_of(struct gm_space *space, uint64_t address);

/* The low `size` bytes (0 < size <= its size) of a free block become an allocated block of `owner`, which is returned;
 * the rest stays free. GM_SPACE_NONE: no memory, nothing changed. */
uint32_t gm_space_take(struct gm_space *space, uint32_t block, uint64_t size, uint32_t owner);
/* Splits a free block at `offset` (0 < offset < its size); returns the upper part. For those who place what others
 * placed before: two free neighbours, until the upper one is taken. */
uint32_t gm_space_cut(struct gm_space *space, uint32_t block, uint64_t offset);
/* allocated -> pending. */
void gm_space_let_go(struct gm_space *space, uint32_t block);
/* In use -> free, merged with free neighbours; returns the free block. GM_SPACE_NONE: no memory, nothing changed. */
uint32_t gm_space_release(struct gm_space *space, uint32_t block);
/* Gives the upper part of a block in use back, so that `size` bytes are left (0 < size < its size), or takes as much
 * from the free block above as is needed (its size < size, and it is there). For sizes that are learnt later. */
enum gm_space_status gm_space_resize(struct gm_space *space, uint32_t block, uint64_t size);
