/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/allocator/invariants.h"

#include "replay/model/allocator_private.h"

/* ---- the address space ------------------------------------------------------------------------------------------- */

static bool is_alike(const struct gm_space *space, const struct gm_space_range *a, const struct gm_space_range *b)
{
    const struct gm_space_block *of_a = &space->blocks.v[a->last], *of_b = &space->blocks.v[b->last];
    return a->area != 0 && a->area == b->area && of_a->stream == of_b->stream && of_a->pool == of_b->pool;
}

static const char *check_range(const struct gm_space *space, const struct gm_space_range *range, size_t *blocks,
                               size_t *free_blocks, uint64_t *active, uint64_t *pending)
{
    uint64_t end = range->address + range->size;
    uint32_t above = GM_SPACE_NONE, live = 0;
    uint64_t free_bytes = 0;
    for (uint32_t i = range->last; i != GM_SPACE_NONE; i = space->blocks.v[i].prev) {
        const struct gm_space_block *b = &space->blocks.v[i];
        if (b->size == 0 || b->address + b->size != end || b->next != above)
            return "the blocks of a range tile it";
        bool is_free = b->use == GM_SPACE_FREE;
        if (b->use == GM_SPACE_UNUSED_SLOT)
            return "a dropped block is in no range";
        if (is_free && above != GM_SPACE_NONE && space->blocks.v[above].use == GM_SPACE_FREE)
            return "no two free neighbours";
        if (!space->has_no_starts && gm_map_get(&space->free_starts, b->address) != (is_free ? i : GM_SPACE_NONE))
            return "free_starts holds the free blocks";
        end = b->address;
        above = i;
        if (b->segment != space->blocks.v[range->last].segment)
            return "the blocks of a range are of one segment";
        live += !is_free;
        free_bytes += is_free ? b->size : 0;
        ++*blocks;
        *free_blocks += is_free;
        *active += is_free ? 0 : b->size;
        *pending += b->use == GM_SPACE_PENDING ? b->size : 0;
    }
    const uint32_t segment = space->blocks.v[range->last].segment;
    if (segment > 0 && !space->segments.v[segment].is_cut &&
        (space->segments.v[segment].live != live || space->segments.v[segment].free_bytes != free_bytes))
        return "what is known of a segment is what its blocks say";
    return end == range->address ? NULL : "the blocks of a range reach its start";
}

bool space_is_sound(const struct gm_space *space, const char **why)
{
    size_t blocks = 0, free_blocks = 0;
    uint64_t active = 0, pending = 0, reserved = 0;
    *why = NULL;
    for (size_t i = 0; i < space->ranges.n && *why == NULL; i++) {
        const struct gm_space_range *range = &space->ranges.v[i], *below = i > 0 ? range - 1 : NULL;
        reserved += range->size;
        if (below != NULL && below->address + below->size > range->address)
            *why = "ranges ascend and do not overlap";
        else if (below != NULL && below->address + below->size == range->address && is_alike(space, below, range))
            *why = "touching ranges that are alike are one";
        else
            *why = check_range(space, range, &blocks, &free_blocks, &active, &pending);
    }
    if (*why == NULL && (blocks + space->unused.n != space->blocks.n ||
                         space->free_starts.count != (space->has_no_starts ? 0 : free_blocks)))
        *why = "every block is in a range or unused";
    if (*why == NULL && (active != space->active || pending != space->pending || reserved != space->reserved))
        *why = "the sums are those of the blocks";
    return *why == NULL;
}

/* ---- the allocator ----------------------------------------------------------------------------------------------- */

static const char *check_sets(const struct gm_allocator *a)
{
    size_t in_sets = 0, free_blocks = 0;
    for (size_t i = 0; i < a->space.blocks.n; i++)
        free_blocks += a->space.blocks.v[i].use == GM_SPACE_FREE;
    for (size_t p = 0; p < a->pools.n; p++)
        for (size_t k = 0; k < a->pools.v[p].bins.n; k++) {
            const struct gm_allocator_bin *bin = &a->pools.v[p].bins.v[k];
            struct gm_free_place at = gm_free_set_first(&bin->set);
            for (; at.entry != NULL; gm_free_set_next(&bin->set, &at)) {
                const struct gm_space_block *b = &a->space.blocks.v[at.entry->block];
                in_sets++;
                if (b->use != GM_SPACE_FREE || b->size != at.entry->size || b->address != at.entry->address ||
                    (a->conf.ties != GM_TIES_LOWEST && b->age != at.entry->age) || b->pool != p ||
                    b->stream != bin->stream)
                    return "a free set holds free blocks of its pool and stream";
            }
        }
    return in_sets == free_blocks ? NULL : "every free block is in a free set";
}

static const char *check_reservations(const struct gm_allocator *a)
{
    for (size_t i = 1; i < a->reservations.n; i++) {
        const struct gm_reservation_row *below = &a->reservations.v[i - 1], *row = below + 1;
        if (row->address <= below->address || row->address - below->address < below->size)
            return "reservations ascend and do not overlap";
    }
    for (size_t i = 0, r = 0; i < a->space.ranges.n; i++) {
        const struct gm_space_range *range = &a->space.ranges.v[i];
        const struct gm_space_block *b = &a->space.blocks.v[range->last];
        while (r + 1 < a->reservations.n && a->reservations.v[r + 1].address <= range->address)
            r++;
        const struct gm_reservation_row *row = r < a->reservations.n ? &a->reservations.v[r] : NULL;
        if (b->is_expandable && (row == NULL || row->address > range->address || row->pool != b->pool ||
                                 row->stream != b->stream || range->address + range->size - row->address > row->size))
            return "every expandable range lies in one reservation of its pool and stream";
    }
    return NULL;
}

static void count_block(struct gm_stats *s, const struct gm_allocator *a, const struct gm_space_block *b, size_t number)
{
    int is_small = a->pools.v[b->pool].is_small;
    bool is_split = b->prev != GM_SPACE_NONE || b->next != GM_SPACE_NONE;
    if (b->use == GM_SPACE_FREE) {
        gm_stats_add(s->inactive_split, is_small, is_split && !b->is_expandable);
        gm_stats_add(s->inactive_split_bytes, is_small, is_split && !b->is_expandable ? (int64_t)b->size : 0);
        return;
    }
    gm_stats_add(s->active, is_small, 1);
    gm_stats_add(s->active_bytes, is_small, (int64_t)b->size);
    gm_stats_add(s->requested_bytes, is_small, (int64_t)a->requested.v[number]);
    gm_stats_add(s->allocation, is_small, b->use == GM_SPACE_ALLOCATED);
    gm_stats_add(s->allocated_bytes, is_small, b->use == GM_SPACE_ALLOCATED ? (int64_t)b->size : 0);
}

static const char *check_statistics(const struct gm_allocator *a)
{
    struct gm_stats s = {0};
    uint64_t reserved = 0;
    for (size_t i = 0; i < a->space.ranges.n; i++) {
        const struct gm_space_range *range = &a->space.ranges.v[i];
        const struct gm_space_block *b = &a->space.blocks.v[range->last];
        gm_stats_add(s.reserved_bytes, a->pools.v[b->pool].is_small, (int64_t)range->size);
        gm_stats_add(s.segment, a->pools.v[b->pool].is_small, !b->is_expandable);
    }
    for (size_t i = 0; i < a->space.blocks.n; i++)
        if (a->space.blocks.v[i].use != GM_SPACE_UNUSED_SLOT)
            count_block(&s, a, &a->space.blocks.v[i], i);
#define X(name)                                                                                                        \
    for (int i = 0; i < GM_STAT_KINDS; i++)                                                                            \
        if (s.name[i].current != a->stats.name[i].current)                                                             \
            return #name " is what the blocks and ranges say";
    GM_STAT_MAP(X)
#undef X
    for (size_t p = 0; p < a->pools.n; p++)
        reserved += a->pools.v[p].reserved;
    return reserved == a->total ? NULL : "total is what the pools hold";
}

bool allocator_is_sound(const struct gm_allocator *a, const char **why)
{
    if (!space_is_sound(&a->space, why))
        return false;
    *why = check_sets(a);
    if (*why == NULL && a->total != a->space.reserved)
        *why = "total is what the ranges hold";
    if (*why == NULL)
        *why = check_reservations(a);
    if (*why == NULL)
        *why = check_statistics(a);
    return *why == NULL;
}
