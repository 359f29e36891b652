/* SPDX-License-Identifier: Apache-2.0
 *
 * The counters of torch.cuda.memory_stats(), under their own names.
 */
#pragma once

#include "analyze/allocator/address_space.h"

#include <stdbool.h>
#include <stdint.h>

struct gm_stat {
    int64_t current, peak, allocated, freed; /* allocated, freed: sums of all increases and decreases */
};
enum gm_stat_kind { GM_STAT_ALL, GM_STAT_SMALL_POOL, GM_STAT_LARGE_POOL, GM_STAT_KINDS };

#define GM_STAT_MAP(X)                                                                                                 \
    X(allocation)                                                                                                      \
    X(segment)                                                                                                         \
    X(active)                                                                                                          \
    X(inactive_split)                                                                                                  \
    X(allocated_bytes)                                                                                                 \
    X(reserved_bytes)                                                                                                  \
    X(active_bytes)                                                                                                    \
    X(inactive_split_bytes)                                                                                            \
    X(requested_bytes)

struct gm_stats {
#define X(name) struct gm_stat name[GM_STAT_KINDS];
    GM_STAT_MAP(X)
#undef X
    struct gm_stat oversize_allocations, oversize_segments;
    int64_t num_alloc_retries, num_ooms, num_sync_all_streams, num_device_alloc, num_device_free;
    int64_t max_split_size; /* as it was when the allocator was made; -1: unlimited */
};

/* Sums of a lying file's sizes may pass 63 bits; they wrap then. */
static inline void gm_stat_add(struct gm_stat *s, int64_t amount)
{
    uint64_t bits = (uint64_t)amount;
    s->current = (int64_t)((uint64_t)s->current + bits);
    if (amount > 0)
        s->allocated = (int64_t)((uint64_t)s->allocated + bits);
    else
        s->freed = (int64_t)((uint64_t)s->freed - bits);
    s->peak = s->current > s->peak ? s->current : s->peak;
}

/* Likewise, of what is known to come or to go. */
static inline void gm_stat_come(struct gm_stat *s, uint64_t amount)
{
    s->current = (int64_t)((uint64_t)s->current + amount);
    s->allocated = (int64_t)((uint64_t)s->allocated + amount);
    s->peak = s->current > s->peak ? s->current : s->peak;
}

static inline void gm_stat_go(struct gm_stat *s, uint64_t amount)
{
    s->current = (int64_t)((uint64_t)s->current - amount);
    s->freed = (int64_t)((uint64_t)s->freed + amount);
}

static inline void gm_stats_come(struct gm_stat s[GM_STAT_KINDS], int is_small, uint64_t amount)
{
    gm_stat_come(&s[GM_STAT_ALL], amount);
    gm_stat_come(&s[is_small ? GM_STAT_SMALL_POOL : GM_STAT_LARGE_POOL], amount);
}

static inline void gm_stats_go(struct gm_stat s[GM_STAT_KINDS], int is_small, uint64_t amount)
{
    gm_stat_go(&s[GM_STAT_ALL], amount);
    gm_stat_go(&s[is_small ? GM_STAT_SMALL_POOL : GM_STAT_LARGE_POOL], amount);
}

/* Adds to the total and to the pool's kind. */
static inline void gm_stats_add(struct gm_stat s[GM_STAT_KINDS], int is_small, int64_t amount)
{
    gm_stat_add(&s[GM_STAT_ALL], amount);
    gm_stat_add(&s[is_small ? GM_STAT_SMALL_POOL : GM_STAT_LARGE_POOL], amount);
}

/* A segment of cudaMalloc came (sign 1) or went (-1); what is reserved is counted apart. `max_split`: the setting. */
static inline void gm_stats_segment(struct gm_stats *s, bool is_small, uint64_t bytes, int sign, uint64_t max_split)
{
    gm_stats_add(s->segment, is_small, sign);
    if (bytes >= max_split)
        gm_stat_add(&s->oversize_segments, sign);
}

/* Block `b` was handed out; in a segment of cudaMalloc there are `pieces` and `bytes` more of split free ones then. */
static inline void gm_stats_take(struct gm_stats *s, const struct gm_space_block *b, bool is_small, uint64_t requested,
                                 int64_t pieces, int64_t bytes, uint64_t max_split)
{
    if (!b->is_expandable) {
        gm_stats_add(s->inactive_split, is_small, pieces);
        gm_stats_add(s->inactive_split_bytes, is_small, bytes);
    }
    gm_stats_come(s->allocation, is_small, 1);
    gm_stats_come(s->allocated_bytes, is_small, b->size);
    gm_stats_come(s->active, is_small, 1);
    gm_stats_come(s->active_bytes, is_small, b->size);
    gm_stats_come(s->requested_bytes, is_small, requested);
    if (b->size >= max_split)
        gm_stat_come(&s->oversize_allocations, 1);
}

/* It is no longer allocated, */
static inline void gm_stats_let_go(struct gm_stats *s, const struct gm_space_block *b, bool is_small,
                                   uint64_t max_split)
{
    gm_stats_go(s->allocation, is_small, 1);
    gm_stats_go(s->allocated_bytes, is_small, b->size);
    if (b->size >= max_split)
        gm_stat_go(&s->oversize_allocations, 1);
}

/* nor active: `b` is what it has become, merged with `merges` free neighbours of `absorbed` bytes. */
static inline void gm_stats_release(struct gm_stats *s, const struct gm_space_block *b, bool is_small, uint64_t size,
                                    uint64_t requested, int64_t merges, int64_t absorbed)
{
    const bool is_split = !gm_space_is_whole(b);
    gm_stats_go(s->requested_bytes, is_small, requested);
    gm_stats_go(s->active, is_small, 1);
    gm_stats_go(s->active_bytes, is_small, size);
    if (b->is_expandable)
        return;
    gm_stats_add(s->inactive_split, is_small, (is_split ? 1 : 0) - merges);
    gm_stats_add(s->inactive_split_bytes, is_small, (is_split ? (int64_t)b->size : 0) - absorbed);
}

/* A block that is there when counting begins; it is a part of a segment or all of it. What is reserved is counted
 * apart. */
static inline void gm_stats_begin_block(struct gm_stats *s, const struct gm_space_block *b, bool is_small,
                                        bool is_split, uint64_t requested, uint64_t max_split)
{
    if (b->use != GM_SPACE_FREE) {
        gm_stats_take(s, b, is_small, requested, 0, 0, max_split);
    } else if (is_split && !b->is_expandable) {
        gm_stats_add(s->inactive_split, is_small, 1);
        gm_stats_add(s->inactive_split_bytes, is_small, (int64_t)b->size);
    }
    if (b->use == GM_SPACE_PENDING)
        gm_stats_let_go(s, b, is_small, max_split);
}

/* Sums count from here on. */
static inline void gm_stats_begin_sums(struct gm_stats *stats)
{
#define X(name)                                                                                                        \
    for (int i = 0; i < GM_STAT_KINDS; i++)                                                                            \
        stats->name[i].allocated = stats->name[i].freed = 0;
    GM_STAT_MAP(X)
#undef X
    stats->oversize_allocations.allocated = stats->oversize_allocations.freed = 0;
    stats->oversize_segments.allocated = stats->oversize_segments.freed = 0;
}

/* Peaks count from here on. */
static inline void gm_stats_begin_peaks(struct gm_stats *stats)
{
#define X(name)                                                                                                        \
    for (int i = 0; i < GM_STAT_KINDS; i++)                                                                            \
        stats->name[i].peak = stats->name[i].current;
    GM_STAT_MAP(X)
#undef X
    stats->oversize_allocations.peak = stats->oversize_allocations.current;
    stats->oversize_segments.peak = stats->oversize_segments.current;
}
