/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/timeline/history/making.h"

#include "analyze/timeline/history/reconstruct.h"

#include <stdlib.h>

enum { WORTH_A_THREAD = 10000, TOLD_AT_ONCE = 4096 /* events */, FIRST_PART = 16 };

static void tell(struct gm_making *m, uint32_t events)
{
    pthread_mutex_lock(&m->lock);
    m->told = events;
    pthread_cond_signal(&m->has_told);
    pthread_mutex_unlock(&m->lock);
}

/* The first event after those that show the sizes of the start. */
static uint32_t end_of_first_part(const struct gm_history *h)
{
    return (uint32_t)(h->count / FIRST_PART);
}

static uint64_t start_bytes(const struct gm_history *h, size_t other)
{
    return h->born[h->others[other].allocation] == 0 ? gm_block_bytes(h, h->others[other].allocation) : 0;
}

static void see(void *self, enum gm_occasion occasion, const struct gm_space *space, uint32_t moment)
{
    struct gm_making *m = self;
    const uint32_t enough = end_of_first_part(m->history);
    (void)space;
    if (occasion != GM_OCCASION_SAMPLE)
        return;
    for (size_t i = 0; m->told < enough && moment >= enough && i < m->history->other_count; i++)
        m->start_bytes[i] = start_bytes(m->history, i);
    tell(m, moment);
}

static void *make(void *self)
{
    struct gm_making *m = self;
    const struct gm_history *h = m->history;
    const struct gm_watcher watcher = {m, see, .samples = (uint32_t)(h->count / TOLD_AT_ONCE)};
    m->has_no_memory = !gm_history_reconstruct(m->history, &watcher);
    m->was_right = !m->has_no_memory && h->is_reconstructed;
    for (size_t i = 0; m->was_right && i < h->other_count; i++)
        m->was_right = m->start_bytes[i] == start_bytes(h, i);
    tell(m, GM_NEVER);
    return NULL;
}

static void forget(struct gm_making *m)
{
    struct gm_history *seen = &m->seen;
    GM_FREE_ALL(seen->segments, seen->pools, seen->pool_of_id, seen->final_pool, m->no_pools, m->start_bytes);
}

static bool has_default_pools_only(const struct gm_history *h)
{
    bool is_default = true;
    for (size_t p = 0; p < h->pool_count; p++)
        is_default = is_default && gm_history_pool_is_default(&h->pools[p]);
    return is_default;
}

bool gm_making_begin(struct gm_making *m, struct gm_history *h)
{
    *m = (struct gm_making){.history = h, .seen = *h};
    if (h->count < WORTH_A_THREAD)
        return false;
    m->no_pools = calloc(h->allocation_count + 1, sizeof *m->no_pools);
    m->start_bytes = calloc(h->other_count + 1, sizeof *m->start_bytes);
    m->seen.pool = m->no_pools;
    m->seen.making = m;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->has_told, NULL);
    if (m->no_pools != NULL && m->start_bytes != NULL && gm_reconstruct_foresee(&m->seen) &&
        has_default_pools_only(&m->seen) && pthread_create(&m->thread, NULL, make, m) == 0)
        return true;
    forget(m);
    return false;
}

bool gm_making_end(struct gm_making *m)
{
    pthread_join(m->thread, NULL);
    forget(m);
    return !m->has_no_memory;
}

/* Until then its size may be learnt from what comes beside it, unless the snapshot tells it. */
static uint32_t settled_at(const struct gm_history *h, size_t a)
{
    return gm_final_block(h, a) != GM_NO_BLOCK ? h->born[a] : h->freed[a];
}

uint64_t gm_making_block_bytes(const struct gm_history *h, size_t a)
{
    struct gm_making *m = h->making;
    if (m == NULL)
        return gm_block_bytes(h, a);
    const bool is_old = h->born[a] == 0;
    const uint32_t enough = is_old ? end_of_first_part(h) : settled_at(h, a);
    pthread_mutex_lock(&m->lock);
    /* What is far from others is kept where it is moved when there is more. */
    while (m->told < enough || (!is_old && m->told != GM_NEVER && (m->history->block.near[a] & GM_FAR_NUMBER) != 0))
        pthread_cond_wait(&m->has_told, &m->lock);
    pthread_mutex_unlock(&m->lock);
    return is_old ? m->start_bytes[gm_history_other(h, a) - h->others] : gm_block_bytes(m->history, a);
}
