/* SPDX-License-Identifier: Apache-2.0
 *
 * The counters of torch.cuda.memory_stats(), under their own names.
 */
#ifndef GM_REPLAY_STATS_H
#define GM_REPLAY_STATS_H

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

/* Adds to the total and to the pool's kind. */
static inline void gm_stats_add(struct gm_stat s[GM_STAT_KINDS], int is_small, int64_t amount)
{
    gm_stat_add(&s[GM_STAT_ALL], amount);
    gm_stat_add(&s[is_small ? GM_STAT_SMALL_POOL : GM_STAT_LARGE_POOL], amount);
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

#endif
