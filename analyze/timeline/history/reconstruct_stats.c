/* SPDX-License-Identifier: Apache-2.0
 *
 * The counters of torch.cuda.memory_stats() while the address space is told a trace.
 */
#include "analyze/timeline/history/reconstruct.h"

static bool is_small(const struct gm_reconstruction *t, uint32_t pool)
{
    return t->h->pools[pool].is_small;
}

static bool is_free(const struct gm_reconstruction *t, uint32_t block)
{
    return block != GM_SPACE_NONE && t->space.blocks.v[block].use == GM_SPACE_FREE;
}

static void count_block_at_start(struct gm_reconstruction *t, const struct gm_space_block *b)
{
    struct gm_stats *s = &t->h->stats;
    const bool small = is_small(t, b->pool), is_split = b->prev != GM_SPACE_NONE || b->next != GM_SPACE_NONE;
    gm_stats_add(s->reserved_bytes, small, (int64_t)b->size);
    gm_stats_begin_block(s, b, small, is_split, b->use == GM_SPACE_FREE ? 0 : gm_requested(t->h, b->owner),
                         t->rules.max_split);
}

void gm_reconstruct_count_start(struct gm_reconstruction *t)
{
    struct gm_stats *s = &t->h->stats;
    if (!t->counts)
        return;
    for (size_t i = 0; i < t->space.blocks.n; i++)
        if (t->space.blocks.v[i].use != GM_SPACE_UNUSED_SLOT)
            count_block_at_start(t, &t->space.blocks.v[i]);
    for (size_t i = 0; i < t->space.ranges.n; i++) {
        const struct gm_space_block *last = &t->space.blocks.v[t->space.ranges.v[i].last];
        if (!last->is_expandable)
            gm_stats_segment(s, is_small(t, last->pool), t->space.ranges.v[i].size, 1, t->rules.max_split);
    }
    gm_stats_begin_sums(s);
    gm_stats_begin_peaks(s);
    t->h->stats_at_peak = *s;
}

void gm_reconstruct_count_take(struct gm_reconstruction *t, uint32_t a, uint64_t before, bool was_split)
{
    struct gm_stats *s = &t->h->stats;
    if (!t->counts)
        return;
    const struct gm_space_block *b = &t->space.blocks.v[t->block_of[a]];
    const int64_t most = s->requested_bytes[GM_STAT_ALL].peak;
    gm_stats_take(s, b, is_small(t, b->pool), gm_requested(t->h, a), (before > b->size) - was_split,
                  (int64_t)(before - b->size - (was_split ? before : 0)), t->rules.max_split);
    t->is_at_peak = t->is_at_peak || s->requested_bytes[GM_STAT_ALL].peak > most;
}

void gm_reconstruct_count_let_go(struct gm_reconstruction *t, uint32_t block)
{
    const struct gm_space_block *b = &t->space.blocks.v[block];
    if (t->counts && b->use == GM_SPACE_ALLOCATED)
        gm_stats_let_go(&t->h->stats, b, is_small(t, b->pool), t->rules.max_split);
}

void gm_reconstruct_release(struct gm_reconstruction *t, uint32_t block, uint32_t a)
{
    const struct gm_space_block b = t->space.blocks.v[block];
    const uint32_t neighbours[] = {b.prev, b.next};
    int64_t merges = 0, absorbed = 0;
    for (int i = 0; t->counts && i < 2; i++)
        if (is_free(t, neighbours[i])) {
            merges++;
            absorbed += (int64_t)t->space.blocks.v[neighbours[i]].size;
        }
    gm_reconstruct_count_let_go(t, block);
    const uint32_t merged = gm_space_release(&t->space, block);
    if (t->counts && merged != GM_SPACE_NONE)
        gm_stats_release(&t->h->stats, &t->space.blocks.v[merged], is_small(t, b.pool), b.size, gm_requested(t->h, a),
                         merges, absorbed);
    t->has_no_memory |= merged == GM_SPACE_NONE;
}

void gm_reconstruct_count_segment(struct gm_reconstruction *t, uint32_t pool, uint64_t bytes, bool is_expandable,
                                  int sign)
{
    struct gm_stats *s = &t->h->stats;
    if (!t->counts)
        return;
    gm_stats_add(s->reserved_bytes, is_small(t, pool), sign * (int64_t)bytes);
    if (!is_expandable)
        gm_stats_segment(s, is_small(t, pool), bytes, sign, t->rules.max_split);
}

/* It was so from the beginning on, and at the peak. */
static void shift(struct gm_stat s[GM_STAT_KINDS], bool small, int64_t amount)
{
    const int kinds[] = {GM_STAT_ALL, small ? GM_STAT_SMALL_POOL : GM_STAT_LARGE_POOL};
    for (int i = 0; i < 2; i++) {
        s[kinds[i]].current += amount;
        s[kinds[i]].peak += amount;
    }
}

void gm_reconstruct_count_learnt(struct gm_reconstruction *t, uint32_t block, uint64_t old, int64_t free_above)
{
    const struct gm_space_block *b = &t->space.blocks.v[block];
    struct gm_stats *s = &t->h->stats;
    if (!t->counts)
        return;
    const bool small = is_small(t, b->pool);
    const int64_t more = (int64_t)(b->size - old);
    shift(s->active_bytes, small, more);
    if (b->use == GM_SPACE_ALLOCATED)
        shift(s->allocated_bytes, small, more);
    if (!b->is_expandable) {
        shift(s->inactive_split, small, free_above);
        shift(s->inactive_split_bytes, small, -more);
    }
}

void gm_reconstruct_keep_peak(struct gm_reconstruction *t)
{
    if (!t->is_at_peak)
        return;
    t->h->stats_at_peak = t->h->stats;
    t->is_at_peak = false;
}
