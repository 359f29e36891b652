/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/allocator/address_space.h"

#include "analyze/base/bisect.h"
#include "analyze/base/freed.h"

#include <stdlib.h>
#include <string.h>

void gm_space_free(struct gm_space *space)
{
    GM_FREE_ALL(space->blocks.v, space->unused.v, space->segments.v, space->gone.v);
    if (space->ranges.v != NULL)
        free(space->ranges.v - space->ranges_before);
    gm_map_free(&space->free_starts);
    *space = (struct gm_space){0};
}

bool gm_space_keep_segments(struct gm_space *space)
{
    return GM_VEC_PUSH(&space->segments, (struct gm_space_segment){.live = 0});
}

/* Bytes of a segment become live, or free; `blocks` more of its blocks are live. */
static inline void count(struct gm_space *space, const struct gm_space_block *b, uint64_t bytes, int blocks)
{
    if (space->segments.n == 0)
        return;
    space->segments.v[b->segment].free_bytes -= bytes;
    space->segments.v[b->segment].live += (uint32_t)blocks;
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

/* Makes sure that the next two new blocks and the next two entries of the map cannot fail. */
static bool make_room(struct gm_space *space)
{
    struct gm_address_map *map = &space->free_starts;
    uint32_t before;
    if (space->blocks.n >= GM_SPACE_NONE - 2 || !GM_VEC_ROOM(&space->blocks, 2) ||
        !GM_VEC_ROOM(&space->unused, space->blocks.n - space->unused.n + 2))
        return false;
    if (space->has_no_starts || (map->slots != NULL && (map->count + 2) * 2 <= map->mask))
        return true;
    /* Growing happens on a put: one of an address that no block can have, and back. */
    for (uint64_t i = 0; i < 3; i++)
        if (!gm_map_put(map, UINT64_MAX - i, 0, &before))
            return false;
    for (uint64_t i = 0; i < 3; i++)
        gm_map_take(map, UINT64_MAX - i);
    return true;
}

static uint32_t new_block(struct gm_space *space)
{
    if (space->unused.n > 0)
        return space->unused.v[--space->unused.n];
    return (uint32_t)space->blocks.n++;
}

static void drop_block(struct gm_space *space, uint32_t block)
{
    space->blocks.v[block].use = GM_SPACE_UNUSED_SLOT;
    space->unused.v[space->unused.n++] = block;
}

static void set_free_start(struct gm_space *space, uint32_t block)
{
    uint32_t before;
    if (!space->has_no_starts)
        gm_map_put(&space->free_starts, space->blocks.v[block].address, block, &before);
}

static void drop_free_start(struct gm_space *space, uint32_t block)
{
    if (!space->has_no_starts)
        gm_map_take(&space->free_starts, space->blocks.v[block].address);
}

uint32_t gm_space_find_starts(struct gm_space *space, uint64_t address)
{
    uint32_t found = GM_SPACE_NONE, before;
    bool ok = true;
    for (uint32_t i = 0; i < space->blocks.n; i++) {
        if (space->blocks.v[i].use != GM_SPACE_FREE)
            continue;
        found = space->blocks.v[i].address == address ? i : found;
        ok = ok && gm_map_put(&space->free_starts, space->blocks.v[i].address, i, &before);
    }
    space->has_no_starts = !ok;
    if (!ok) /* no memory: the next one who asks tries again */
        gm_map_free(&space->free_starts);
    return found;
}

/* Puts a new free block of `size` bytes below `block`, which loses them. Room has been made. */
static uint32_t split_low(struct gm_space *space, uint32_t block, uint64_t size)
{
    uint32_t low = new_block(space);
    struct gm_space_block *b = &space->blocks.v[block], *l = &space->blocks.v[low];
    *l = *b;
    l->size = size;
    l->next = block;
    if (b->prev != GM_SPACE_NONE)
        space->blocks.v[b->prev].next = low;
    b->prev = low;
    b->address += size;
    b->size -= size;
    return low;
}

/* `low` and the block above it become one, under the number of the upper one. Maps are the caller's. */
static void join_up(struct gm_space *space, uint32_t low)
{
    struct gm_space_block *l = &space->blocks.v[low], *u = &space->blocks.v[l->next];
    u->address = l->address;
    u->size += l->size;
    u->prev = l->prev;
    if (l->prev != GM_SPACE_NONE)
        space->blocks.v[l->prev].next = l->next;
    drop_block(space, low);
}

uint32_t gm_space_take(struct gm_space *space, uint32_t block, uint64_t size, uint32_t owner)
{
    if (!make_room(space))
        return GM_SPACE_NONE;
    drop_free_start(space, block);
    uint32_t taken = block;
    if (size < space->blocks.v[block].size) {
        taken = split_low(space, block, size);
        set_free_start(space, block);
    }
    space->blocks.v[taken].use = GM_SPACE_ALLOCATED;
    space->blocks.v[taken].owner = owner;
    space->active += size;
    count(space, &space->blocks.v[taken], size, 1);
    return taken;
}

uint32_t gm_space_cut(struct gm_space *space, uint32_t block, uint64_t offset)
{
    if (!make_room(space))
        return GM_SPACE_NONE;
    uint32_t low = split_low(space, block, offset);
    set_free_start(space, low);
    set_free_start(space, block);
    return block;
}

void gm_space_let_go(struct gm_space *space, uint32_t block)
{
    if (space->blocks.v[block].use != GM_SPACE_ALLOCATED)
        return;
    space->blocks.v[block].use = GM_SPACE_PENDING;
    space->pending += space->blocks.v[block].size;
}

/* Merges a free block with free neighbours and enters it in the map. Room has been made. */
static uint32_t settle_free(struct gm_space *space, uint32_t block)
{
    uint32_t prev = space->blocks.v[block].prev, next = space->blocks.v[block].next;
    if (prev != GM_SPACE_NONE && space->blocks.v[prev].use == GM_SPACE_FREE)
        join_up(space, prev); /* its entry in the map is replaced below */
    if (next != GM_SPACE_NONE && space->blocks.v[next].use == GM_SPACE_FREE) {
        drop_free_start(space, next);
        join_up(space, block);
        block = next;
    }
    set_free_start(space, block);
    return block;
}

uint32_t gm_space_release(struct gm_space *space, uint32_t block)
{
    if (!make_room(space))
        return GM_SPACE_NONE;
    struct gm_space_block *b = &space->blocks.v[block];
    space->active -= b->size;
    if (b->use == GM_SPACE_PENDING)
        space->pending -= b->size;
    b->use = GM_SPACE_FREE;
    count(space, b, 0 - b->size, -1);
    return settle_free(space, block);
}

enum gm_space_status gm_space_resize(struct gm_space *space, uint32_t block, uint64_t size)
{
    if (!make_room(space))
        return GM_SPACE_NO_MEMORY;
    struct gm_space_block *b = &space->blocks.v[block];
    uint32_t next = b->next;
    bool is_pending = b->use == GM_SPACE_PENDING;
    uint64_t old = b->size;
    if (size > old) {
        struct gm_space_block *above = next == GM_SPACE_NONE ? NULL : &space->blocks.v[next];
        if (above == NULL || above->use != GM_SPACE_FREE || above->size < size - old)
            return GM_SPACE_CONFLICT;
        drop_free_start(space, next);
        above->address += size - old;
        above->size -= size - old;
        b->size = size;
        if (above->size > 0) {
            set_free_start(space, next);
        } else {
            b->next = above->next;
            if (above->next != GM_SPACE_NONE)
                space->blocks.v[above->next].prev = block;
            else
                space->ranges.v[gm_space_range_of(space, b->address)].last = block;
            drop_block(space, next);
        }
        space->active += size - old;
        space->pending += is_pending ? size - old : 0;
        count(space, b, size - old, 0);
        return GM_SPACE_OK;
    }
    uint32_t upper = new_block(space);
    struct gm_space_block *u = &space->blocks.v[upper];
    b = &space->blocks.v[block];
    *u = *b;
    u->use = GM_SPACE_FREE;
    u->address += size;
    u->size -= size;
    u->prev = block;
    b->next = upper;
    b->size = size;
    if (next != GM_SPACE_NONE)
        space->blocks.v[next].prev = upper;
    else
        space->ranges.v[gm_space_range_of(space, b->address)].last = upper;
    space->active -= old - size;
    space->pending -= is_pending ? old - size : 0;
    count(space, b, size - old, 0);
    settle_free(space, upper);
    return GM_SPACE_OK;
}

/* ---- ranges ----------------------------------------------------------------------------------------------------- */

/* The number of ranges that begin at or before `address`. */
static size_t ranges_up_to(const struct gm_space *space, uint64_t address)
{
    size_t low = 0;
    GM_BISECT(low, space->ranges.n, i, space->ranges.v[i].address <= address);
    return low;
}

uint32_t gm_space_range_of(const struct gm_space *space, uint64_t address)
{
    size_t n = ranges_up_to(space, address);
    if (n == 0 || address - space->ranges.v[n - 1].address >= space->ranges.v[n - 1].size)
        return GM_SPACE_NONE;
    return (uint32_t)(n - 1);
}

uint32_t gm_space_block_of(struct gm_space *space, uint64_t address)
{
    uint32_t block = space->has_no_starts ? GM_SPACE_NONE : gm_map_get(&space->free_starts, address);
    uint32_t range = block != GM_SPACE_NONE ? GM_SPACE_NONE : gm_space_range_of(space, address);
    if (range == GM_SPACE_NONE)
        return block;
    block = space->ranges.v[range].last;
    while (space->blocks.v[block].address > address) {
        block = space->blocks.v[block].prev;
        space->work++;
    }
    return block;
}

/* Whoever takes segments or gives them back begins at one end of the addresses, so the shorter side of the ranges
 * moves, and there is room on both sides: ranges_before below ranges.v, which the capacity does not count. This is room
 * for one more on a side; where there is none, all that there is is shared between the two. */
static bool make_range_room(struct gm_space *space, bool is_below)
{
    const size_t before = space->ranges_before, n = space->ranges.n;
    if ((is_below ? before : space->ranges.capacity - n) > 0)
        return true;
    struct gm_space_range *base = before == 0 ? space->ranges.v : space->ranges.v - before;
    size_t whole = before + space->ranges.capacity;
    if (whole - n <= n / 2 && !gm_grow(&base, &whole, n + n / 2 + 2, sizeof *base) && whole == n)
        return false;
    space->ranges_before = (whole - n + is_below) / 2;
    space->ranges.v = base + space->ranges_before;
    space->ranges.capacity = whole - space->ranges_before;
    memmove(space->ranges.v, base + before, n * sizeof *base);
    return true;
}

static bool insert_range(struct gm_space *space, size_t at, struct gm_space_range range)
{
    const size_t above = space->ranges.n - at;
    const bool is_low = at < above;
    if (!make_range_room(space, is_low))
        return false;
    if (is_low) {
        memmove(space->ranges.v - 1, space->ranges.v, at * sizeof range);
        space->ranges.v--;
        space->ranges.capacity++;
        space->ranges_before--;
    } else {
        memmove(&space->ranges.v[at + 1], &space->ranges.v[at], above * sizeof range);
    }
    space->work += (is_low ? at : above) / 16;
    space->ranges.v[at] = range;
    space->ranges.n++;
    return true;
}

static void remove_range(struct gm_space *space, size_t at)
{
    const size_t above = --space->ranges.n - at;
    if (at < above) {
        memmove(space->ranges.v + 1, space->ranges.v, at * sizeof *space->ranges.v);
        space->ranges.v++;
        space->ranges.capacity--;
        space->ranges_before++;
    } else {
        memmove(&space->ranges.v[at], &space->ranges.v[at + 1], above * sizeof *space->ranges.v);
    }
    space->work += (at < above ? at : above) / 16;
}

static bool is_alike(const struct gm_space *space, const struct gm_space_range *a, const struct gm_space_range *b)
{
    const struct gm_space_block *of_a = &space->blocks.v[a->last], *of_b = &space->blocks.v[b->last];
    return a->area != 0 && a->area == b->area && of_a->stream == of_b->stream && of_a->pool == of_b->pool;
}

/* Joins range `at` with the one above it if they touch and are alike. */
static void join_ranges(struct gm_space *space, size_t at)
{
    if (at + 1 >= space->ranges.n)
        return;
    struct gm_space_range *low = &space->ranges.v[at], *high = &space->ranges.v[at + 1];
    if (low->address + low->size != high->address || !is_alike(space, low, high))
        return;
    uint32_t first = high->last;
    while (space->blocks.v[first].prev != GM_SPACE_NONE) {
        first = space->blocks.v[first].prev;
        space->work++;
    }
    space->blocks.v[low->last].next = first;
    space->blocks.v[first].prev = low->last;
    uint32_t lower = low->last;
    low->size += high->size;
    low->last = high->last;
    remove_range(space, at + 1);
    if (space->blocks.v[lower].use == GM_SPACE_FREE && space->blocks.v[first].use == GM_SPACE_FREE) {
        drop_free_start(space, first);
        join_up(space, lower);
        set_free_start(space, first);
    }
}

/* The row of a segment that is free. Room has been made. */
static uint32_t new_segment(struct gm_space *space, uint64_t size)
{
    const struct gm_space_segment fresh = {.free_bytes = size};
    if (space->segments.n == 0)
        return 0;
    const uint32_t row = space->gone.n > 0 ? space->gone.v[--space->gone.n] : (uint32_t)space->segments.n++;
    space->segments.v[row] = fresh;
    return row;
}

enum gm_space_status gm_space_map(struct gm_space *space, uint64_t address, uint64_t size, uint32_t stream,
                                  uint32_t pool, uint32_t area)
{
    size_t at = ranges_up_to(space, address);
    if (size == 0 || size > UINT64_MAX - 4 || address > UINT64_MAX - 4 - size)
        return GM_SPACE_CONFLICT;
    if (at > 0 && address - space->ranges.v[at - 1].address < space->ranges.v[at - 1].size)
        return GM_SPACE_CONFLICT;
    if (at < space->ranges.n && space->ranges.v[at].address - address < size)
        return GM_SPACE_CONFLICT;
    if (!make_room(space) || !GM_VEC_ROOM(&space->segments, space->segments.n > 0) ||
        !GM_VEC_ROOM(&space->gone, space->segments.n - space->gone.n + 1))
        return GM_SPACE_NO_MEMORY;
    uint32_t block = new_block(space);
    if (!insert_range(space, at, (struct gm_space_range){address, size, block, area, 0})) {
        drop_block(space, block);
        return GM_SPACE_NO_MEMORY;
    }
    space->ranges.v[at].segment = area != 0 ? 0 : new_segment(space, size);
    space->blocks.v[block] = (struct gm_space_block){.address = address,
                                                     .size = size,
                                                     .prev = GM_SPACE_NONE,
                                                     .next = GM_SPACE_NONE,
                                                     .owner = GM_SPACE_NONE,
                                                     .stream = stream,
                                                     .use = GM_SPACE_FREE,
                                                     .pool = pool,
                                                     .is_expandable = area != 0,
                                                     .segment = space->ranges.v[at].segment};
    set_free_start(space, block);
    space->reserved += size;
    join_ranges(space, at);
    if (at > 0)
        join_ranges(space, at - 1);
    return GM_SPACE_OK;
}

/* The free block that holds [address, address + size), or GM_SPACE_NONE. */
static uint32_t free_block_of(struct gm_space *space, uint64_t address, uint64_t size)
{
    const uint32_t block = gm_space_block_of(space, address);
    if (block == GM_SPACE_NONE)
        return GM_SPACE_NONE;
    const struct gm_space_block *b = &space->blocks.v[block];
    uint64_t offset = address - b->address;
    return b->use == GM_SPACE_FREE && offset < b->size && size <= b->size - offset ? block : GM_SPACE_NONE;
}

enum gm_space_status gm_space_unmap(struct gm_space *space, uint64_t address, uint64_t size)
{
    uint32_t block = size == 0 ? GM_SPACE_NONE : free_block_of(space, address, size);
    if (block == GM_SPACE_NONE)
        return GM_SPACE_CONFLICT;
    uint32_t at = gm_space_range_of(space, address);
    struct gm_space_range range = space->ranges.v[at];
    uint64_t above = range.address + range.size - (address + size), below = address - range.address;
    if (!make_room(space) || !make_range_room(space, false))
        return GM_SPACE_NO_MEMORY;
    /* The block becomes exactly what goes: what is left of it below and above stays free. */
    struct gm_space_block *b = &space->blocks.v[block];
    drop_free_start(space, block);
    if (address > b->address)
        set_free_start(space, split_low(space, block, address - b->address));
    b = &space->blocks.v[block];
    uint32_t gone = block;
    if (size < b->size) {
        gone = split_low(space, block, size);
        set_free_start(space, block);
    }
    const uint32_t row = space->blocks.v[gone].segment;
    if (row > 0 && (above > 0 || below > 0))
        space->segments.v[row].is_cut = true;
    else if (row > 0 && !space->segments.v[row].is_cut)
        space->gone.v[space->gone.n++] = row;
    uint32_t low = space->blocks.v[gone].prev, high = space->blocks.v[gone].next;
    if (low != GM_SPACE_NONE)
        space->blocks.v[low].next = GM_SPACE_NONE;
    if (high != GM_SPACE_NONE)
        space->blocks.v[high].prev = GM_SPACE_NONE;
    drop_block(space, gone);
    remove_range(space, at);
    if (above > 0)
        insert_range(space, at, (struct gm_space_range){address + size, above, range.last, range.area, row});
    if (below > 0)
        insert_range(space, at, (struct gm_space_range){range.address, below, low, range.area, row});
    space->reserved -= size;
    return GM_SPACE_OK;
}
