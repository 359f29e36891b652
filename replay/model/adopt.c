/* SPDX-License-Identifier: Apache-2.0
 *
 * What is there already, and what a trace placed: segments, blocks, releases.
 */
#include "replay/model/allocator_private.h"

#define MOST_BYTES (UINT64_C(1) << 60)

bool gm_allocator_adopt_segment(struct gm_allocator *a, uint64_t address, uint64_t size, uint32_t stream, uint32_t pool,
                                bool is_expandable)
{
    if (size > MOST_BYTES || a->total > MOST_BYTES)
        return false; /* no device has that much; sums stay within 63 bits */
    enum gm_space_status status = is_expandable ? gm_expandable_adopt(a, pool, stream, address, size)
                                                : gm_space_map(&a->space, address, size, stream, pool, false);
    if (status != GM_SPACE_OK) {
        a->has_no_memory |= status == GM_SPACE_NO_MEMORY;
        return false;
    }
    bool is_small = a->pools.v[pool].is_small;
    gm_count_reserved(a, pool, (int64_t)size);
    if (!is_expandable) {
        const uint32_t block = gm_space_last_of(&a->space, address);
        gm_block(a, block)->age = a->next_age++;
        gm_stats_segment(&a->stats, is_small, size, 1, a->conf.rules.max_split);
        gm_enter_free(a, block);
        gm_mark_grown(a, block, true);
    }
    return !a->has_no_memory;
}

/* Makes [address, address + size) of the free block that holds it a block in use. */
static uint32_t place_in(struct gm_allocator *a, uint32_t block, uint64_t address, uint64_t size, uint64_t requested,
                         uint32_t owner)
{
    const struct gm_space_block *b = gm_block(a, block);
    if (b->use != GM_SPACE_FREE || address < b->address || size == 0 || address - b->address >= b->size ||
        size > b->size - (address - b->address))
        return GM_SPACE_NONE;
    bool was_split = !gm_space_is_whole(b);
    gm_leave_free(a, block);
    uint64_t below = b->address, before = b->size;
    if (address > below) {
        if (gm_space_cut(&a->space, block, address - below) == GM_SPACE_NONE) {
            a->has_no_memory = true;
            return GM_SPACE_NONE;
        }
        const uint32_t lower = gm_block(a, block)->prev;
        gm_block(a, lower)->age = gm_age_of_new(a, gm_block(a, block)->age);
        gm_enter_free(a, lower);
        gm_mark_grown(a, lower, false);
    }
    uint32_t taken = gm_make_block_room(a) ? gm_space_take(&a->space, block, size, owner) : GM_SPACE_NONE;
    if (taken == GM_SPACE_NONE) {
        a->has_no_memory = true;
        return GM_SPACE_NONE;
    }
    if (taken != block) {
        gm_block(a, taken)->age = gm_age_of_new(a, gm_block(a, block)->age);
        gm_enter_free(a, block);
    }
    a->requested.v[taken] = requested < MOST_BYTES ? requested : MOST_BYTES;
    if (a->keeps_objects && taken != block)
        a->grown_by.v[taken] = a->origin == GM_ORIGIN_UNKNOWN ? GM_ORIGIN_UNKNOWN : GM_ORIGIN_NONE;
    gm_count_alloc(a, taken, a->requested.v[taken], (address > below) + (taken != block) - was_split,
                   (int64_t)(before - size - (was_split ? before : 0)));
    return taken;
}

uint32_t gm_allocator_adopt_block(struct gm_allocator *a, uint64_t address, uint64_t size, uint64_t requested,
                                  uint32_t owner, bool is_pending)
{
    uint32_t range = gm_space_range_of(&a->space, address);
    if (range == GM_SPACE_NONE)
        return GM_SPACE_NONE;
    /* What is left above those placed before. */
    uint32_t taken = place_in(a, a->space.ranges.v[range].last, address, size, requested, owner);
    if (taken != GM_SPACE_NONE && is_pending) {
        const struct gm_allocator_sink *sink = a->sink;
        a->sink = NULL;
        gm_allocator_free_requested(a, taken);
        a->sink = sink;
    }
    return taken;
}

uint32_t gm_allocator_place(struct gm_allocator *a, uint64_t address, uint64_t size, uint64_t requested, uint32_t owner)
{
    uint32_t block = gm_space_free_at(&a->space, address);
    if (block == GM_SPACE_NONE)
        block = gm_space_block_of(&a->space, address);
    return block == GM_SPACE_NONE ? GM_SPACE_NONE : place_in(a, block, address, size, requested, owner);
}

void gm_allocator_move_segment(struct gm_allocator *a, uint64_t address, uint32_t pool)
{
    uint32_t range = gm_space_range_of(&a->space, address);
    if (range == GM_SPACE_NONE || a->has_no_memory)
        return;
    const uint64_t size = a->space.ranges.v[range].size;
    a->pools.v[gm_block(a, a->space.ranges.v[range].last)->pool].reserved -= size;
    a->pools.v[pool].reserved += size;
    for (uint32_t b = a->space.ranges.v[range].last; b != GM_SPACE_NONE; b = gm_block(a, b)->prev) {
        const bool is_free = gm_is_free(a, b);
        a->space.work++;
        if (is_free)
            gm_leave_free(a, b);
        gm_block(a, b)->pool = pool;
        if (is_free)
            gm_enter_free(a, b);
    }
}

void gm_allocator_renumber(struct gm_allocator *a, const uint32_t *age, uint32_t count)
{
    for (size_t i = 0; i < a->reservations.n; i++)
        if (a->reservations.v[i].age < count)
            a->reservations.v[i].age = age[a->reservations.v[i].age];
    for (int enters = 0; enters < 2; enters++) /* first all out of their sets, whose order it is */
        for (uint32_t i = 0; i < a->space.blocks.n; i++) {
            struct gm_space_block *b = gm_block(a, i);
            if (b->use == GM_SPACE_UNUSED_SLOT || b->age >= count)
                continue;
            if (!enters && b->use == GM_SPACE_FREE && age[b->age] != b->age)
                gm_leave_free(a, i);
            if (!enters)
                continue;
            const bool moves = age[b->age] != b->age;
            const uint64_t base = b->use == GM_SPACE_FREE ? a->gc_base.v[i] : 0;
            b->age = age[b->age];
            if (moves && b->use == GM_SPACE_FREE) {
                gm_enter_free(a, i);
                a->gc_base.v[i] = base;
            }
        }
    a->space.work += a->space.blocks.n;
}

bool gm_allocator_give_back(struct gm_allocator *a, uint64_t address, uint64_t size)
{
    const uint32_t block = gm_space_block_of(&a->space, address);
    if (!gm_is_free(a, block))
        return false;
    const struct gm_space_block *b = gm_block(a, block);
    if (!b->is_expandable && b->address == address && b->size == size && b->prev == GM_SPACE_NONE &&
        b->next == GM_SPACE_NONE) {
        gm_release_segment(a, block);
        return !a->has_failed;
    }
    return b->is_expandable && gm_expandable_unmap_range(a, block, address, address + size);
}
