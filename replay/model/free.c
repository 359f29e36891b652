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

/* What is told and counted of the first part. */
static void tell_let_go(struct gm_allocator *a, uint32_t block)
{
    const struct gm_space_block *b = gm_block(a, block);
    if (!a->counts_reserved_only)
        gm_stats_let_go(&a->stats, b, a->pools.v[b->pool].is_small, a->conf.rules.max_split);
    gm_put(a, GM_EVENT_FREE_REQUESTED, b->address, a->requested.v[block], b->stream, b->pool, b->owner);
}

void gm_allocator_free_requested(struct gm_allocator *a, uint32_t block)
{
    if (gm_block(a, block)->use != GM_SPACE_ALLOCATED)
        return;
    GM_DOING(GM_DOING_BOOKKEEPING);
    tell_let_go(a, block);
    gm_space_let_go(&a->space, block);
    remember_pending(a, block);
    GM_DOING(GM_DOING_OUTSIDE);
}

/* The second part, of a block in use. */
static void complete(struct gm_allocator *a, uint32_t block)
{
    struct gm_space_block *b = gm_block(a, block);
    const bool is_small = a->pools.v[b->pool].is_small;
    const uint64_t size = b->size, requested = a->requested.v[block];
    const uint32_t age = b->age;
    int64_t merges = 0, absorbed = 0;
    const uint32_t neighbours[2] = {b->prev, b->next}, head = gm_is_free(a, b->prev) ? b->prev : block;
    struct gm_free_place place = {.entry = NULL}; /* of one of them, which the block will have */
    gm_put(a, GM_EVENT_FREE_COMPLETED, b->address, requested, b->stream, b->pool, b->owner);
    GM_DOING(GM_DOING_SPLIT_MERGE);
    for (int i = 0; i < 2; i++) {
        if (!gm_is_free(a, neighbours[i]))
            continue;
        if (merges++ > 0)
            gm_leave_free(a, neighbours[0]);
        absorbed += (int64_t)gm_block(a, neighbours[i])->size;
        place = gm_place_of_free(a, neighbours[i]);
    }
    if (a->pending.n > 0 && a->pending.v[a->pending.n - 1].block == block)
        a->pending.n--;
    uint32_t merged = gm_space_release(&a->space, block);
    if (merged == GM_SPACE_NONE) {
        a->has_no_memory = true;
        return;
    }
    if (a->keeps_objects) {
        a->requested.v[merged] = requested;
        a->grown_by.v[merged] = a->grown_by.v[head];
    }
    gm_block(a, merged)->age = age;
    gm_enter_free_at(a, merged, &place);
    GM_DOING(GM_DOING_BOOKKEEPING);
    if (!a->counts_reserved_only)
        gm_stats_release(&a->stats, gm_block(a, merged), is_small, size, requested, merges, absorbed);
}

void gm_allocator_free_completed(struct gm_allocator *a, uint32_t block)
{
    const uint8_t use = gm_block(a, block)->use;
    if (use != GM_SPACE_ALLOCATED && use != GM_SPACE_PENDING)
        return;
    GM_DOING(GM_DOING_BOOKKEEPING);
    if (use == GM_SPACE_ALLOCATED) /* both at once: nobody finds it pending */
        tell_let_go(a, block);
    complete(a, block);
    GM_DOING(GM_DOING_OUTSIDE);
}
