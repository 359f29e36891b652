/* SPDX-License-Identifier: Apache-2.0
 *
 * free, in its two parts: no longer allocated, and merged with what is free around it.
 */
#include "replay/model/allocator_private.h"

/* Remembers a pending block for a retry to wait for; forgets those that are done when the list is full. */
static void remember_pending(struct gm_allocator *a, uint32_t block)
{
    if (a->pending.n == a->pending.capacity) {
        size_t kept = 0;
        for (size_t i = 0; i < a->pending.n; i++)
            if (gm_is_waiting(a, &a->pending.v[i]))
                a->pending.v[kept++] = a->pending.v[i];
        a->pending.n = kept;
    }
    struct gm_pending_row row = {block, ++a->serial};
    a->freed_by.v[block] = row.serial;
    a->has_no_memory |= !GM_VEC_PUSH(&a->pending, row);
}

void gm_allocator_free_requested(struct gm_allocator *a, uint32_t block)
{
    const struct gm_space_block *b = gm_block(a, block);
    if (b->use != GM_SPACE_ALLOCATED)
        return;
    GM_DOING(GM_DOING_BOOKKEEPING);
    bool is_small = a->pools.v[b->pool].is_small;
    gm_stats_add(a->stats.allocation, is_small, -1);
    gm_stats_add(a->stats.allocated_bytes, is_small, -(int64_t)b->size);
    if (b->size >= a->conf.rules.max_split)
        gm_stat_add(&a->stats.oversize_allocations, -1);
    gm_put(a, GM_EVENT_FREE_REQUESTED, b->address, a->requested.v[block], b->stream, b->pool, b->owner);
    gm_space_let_go(&a->space, block);
    remember_pending(a, block);
    GM_DOING(GM_DOING_OUTSIDE);
}

/* The second part, of a pending block. */
static void complete(struct gm_allocator *a, uint32_t block)
{
    struct gm_space_block *b = gm_block(a, block);
    bool is_small = a->pools.v[b->pool].is_small, is_expandable = b->is_expandable;
    const uint64_t size = b->size;
    const uint32_t age = b->age;
    int64_t merges = 0, absorbed = 0;
    uint32_t neighbours[2] = {b->prev, b->next}, head = gm_is_free(a, b->prev) ? b->prev : block;
    gm_put(a, GM_EVENT_FREE_COMPLETED, b->address, a->requested.v[block], b->stream, b->pool, b->owner);
    GM_DOING(GM_DOING_SPLIT_MERGE);
    for (int i = 0; i < 2; i++) {
        if (!gm_is_free(a, neighbours[i]))
            continue;
        gm_leave_free(a, neighbours[i]);
        merges++;
        absorbed += (int64_t)gm_block(a, neighbours[i])->size;
    }
    if (a->pending.n > 0 && a->pending.v[a->pending.n - 1].block == block)
        a->pending.n--;
    gm_stats_add(a->stats.requested_bytes, is_small, -(int64_t)a->requested.v[block]);
    uint32_t merged = gm_space_release(&a->space, block);
    if (merged == GM_SPACE_NONE) {
        a->has_no_memory = true;
        return;
    }
    if (a->keeps_objects) {
        a->requested.v[merged] = a->requested.v[block];
        a->grown_by.v[merged] = a->grown_by.v[head];
    }
    gm_block(a, merged)->age = age;
    gm_enter_free(a, merged);
    GM_DOING(GM_DOING_BOOKKEEPING);
    gm_stats_add(a->stats.active, is_small, -1);
    gm_stats_add(a->stats.active_bytes, is_small, -(int64_t)size);
    b = gm_block(a, merged);
    if (is_expandable)
        return;
    bool is_split = b->prev != GM_SPACE_NONE || b->next != GM_SPACE_NONE;
    gm_stats_add(a->stats.inactive_split, is_small, (is_split ? 1 : 0) - merges);
    gm_stats_add(a->stats.inactive_split_bytes, is_small, (is_split ? (int64_t)b->size : 0) - absorbed);
}

void gm_allocator_free_completed(struct gm_allocator *a, uint32_t block)
{
    if (gm_block(a, block)->use == GM_SPACE_ALLOCATED)
        gm_allocator_free_requested(a, block);
    if (gm_block(a, block)->use != GM_SPACE_PENDING)
        return;
    GM_DOING(GM_DOING_BOOKKEEPING);
    complete(a, block);
    GM_DOING(GM_DOING_OUTSIDE);
}

void gm_allocator_empty_cache(struct gm_allocator *a)
{
    gm_release_cached(a);
}
