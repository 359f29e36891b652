/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose pool a segment was of. Before PyTorch 2.12 no event says it: the snapshot tells it of the segments that are
 * there at the end, and an address may have been another pool's before. The guess is the pool that has the address in
 * the end, else the default one. A request in a segment that is there, or that goes on in its pages, is of that
 * segment's pool; where the trace grew although the guessed pool has room, or left a fitting block of a segment whose
 * pool is a guess, the pools that are known are tried.
 */
#include "replay/verify/verify_private.h"

enum { MOST_TRIES = 4096 };

void gm_pools_begin(struct gm_verifying *v)
{
    const struct gm_events *e = gm_events_of(v);
    if (!v->infers || e->pool.v != NULL || e->pool.all != 0)
        return;
    for (size_t p = 0; p < v->h->pool_count; p++)
        v->guesses_pools |= !gm_history_pool_is_default(&v->h->pools[p]);
}

static struct gm_allocator_home home_of_model(struct gm_verifying *v, uint32_t pool)
{
    const struct gm_allocator_pool *p = &v->model.pools.v[pool];
    return gm_allocator_home_of(&v->model, p->id_first, p->id_second);
}

void gm_pools_choose_home(struct gm_verifying *v, uint32_t event, uint32_t pool, uint64_t address)
{
    const struct gm_history_pool *p = &v->h->pools[pool];
    const bool is_known = p->id_first != GM_ABSENT;
    v->home = gm_allocator_home_of(&v->model, is_known ? p->id_first : 0, is_known ? p->id_second : 0);
    if (!v->guesses_pools)
        return;
    const struct gm_space *space = &v->model.space;
    const struct gm_events *e = gm_events_of(v);
    const size_t growth = gm_row(v, v->growth);
    uint32_t range = gm_space_range_of(space, address);
    if (range == GM_SPACE_NONE && v->growth < event && e->action[growth] == GM_ACTION_SEGMENT_MAP &&
        e->addr[growth] > 0) { /* the pages after those that it has */
        range = gm_space_range_of(space, e->addr[growth] - 1);
        if (range != GM_SPACE_NONE && space->ranges.v[range].area == 0)
            range = GM_SPACE_NONE;
    }
    if (range == GM_SPACE_NONE || v->model.has_no_memory)
        return;
    const uint32_t guessed = v->home.large;
    v->home = home_of_model(v, space->blocks.v[space->ranges.v[range].last].pool);
    v->guessed_pools += v->home.large != guessed;
}

/* Whether the segment [address, address + size), which is there now, is one of the snapshot's. */
static bool is_told(const struct gm_verifying *v, uint64_t address, uint64_t size)
{
    const struct gm_segments *s = &v->h->snapshot->segments;
    const struct gm_events *e = gm_events_of(v);
    bool is_there = false;
    for (size_t i = 0; i < s->count && !is_there; i++)
        is_there = s->device[i] == v->h->device && s->address[i] == address && s->total_size[i] == size;
    for (uint32_t i = v->request; i < v->h->count && is_there; i++)
        is_there = !gm_action_is_release(e->action[gm_row(v, i)]) || e->addr[gm_row(v, i)] != address;
    return is_there;
}

static bool is_same_id(const struct gm_allocator_pool *a, const struct gm_allocator_pool *b)
{
    return a->id_first == b->id_first && a->id_second == b->id_second;
}

/* The pools of the same kind, in the order in which they were met, without that one. */
static bool is_candidate(const struct gm_verifying *v, size_t pool, uint32_t besides)
{
    const struct gm_allocator_pool *p = &v->model.pools.v[pool], *b = &v->model.pools.v[besides];
    return p->is_small == b->is_small && !is_same_id(p, b) && v->pool_tries < MOST_TRIES;
}

/* The trace grew, so the pool that it asked has no room. */
static uint32_t try_other_homes(struct gm_verifying *v, uint32_t event, uint32_t a, uint32_t guessed, uint64_t *chosen)
{
    const struct gm_allocator_home before = v->home;
    const uint32_t growth = v->growth;
    for (size_t p = 0; p < v->model.pools.n && growth < event && v->growth == growth; p++) {
        if (!is_candidate(v, p, guessed))
            continue;
        v->pool_tries++;
        v->home = home_of_model(v, (uint32_t)p);
        uint32_t block = gm_verifying_choose(v, event, a, chosen);
        if (block != GM_SPACE_NONE)
            return block;
    }
    v->home = before;
    return GM_SPACE_NONE;
}

/* The model chose a block of a segment whose pool is a guess: it is of another one, maybe of one that is gone. */
static uint32_t try_other_owners(struct gm_verifying *v, uint32_t event, uint32_t a, uint64_t address, uint64_t *chosen)
{
    struct gm_space *space = &v->model.space;
    const uint32_t growth = v->growth, range = gm_space_range_of(space, address);
    if (range == GM_SPACE_NONE || space->ranges.v[range].area != 0 ||
        is_told(v, space->ranges.v[range].address, space->ranges.v[range].size))
        return GM_SPACE_NONE;
    const uint64_t segment = space->ranges.v[range].address;
    const uint32_t was = space->blocks.v[space->ranges.v[range].last].pool;
    gm_allocator_pool_of(&v->model, GM_POOL_NOBODY_NAMES, 0, v->model.pools.v[was].is_small);
    for (size_t p = 0; p < v->model.pools.n && v->growth == growth && !v->model.has_no_memory; p++) {
        if (!is_candidate(v, p, was))
            continue;
        v->pool_tries++;
        gm_allocator_move_segment(&v->model, segment, (uint32_t)p);
        uint32_t block = gm_verifying_choose(v, event, a, chosen);
        if (block != GM_SPACE_NONE)
            return block;
    }
    gm_allocator_move_segment(&v->model, segment, was);
    return GM_SPACE_NONE;
}

uint32_t gm_pools_guess(struct gm_verifying *v, uint32_t event, uint32_t a, uint64_t chosen)
{
    if (!v->guesses_pools || chosen == GM_ABSENT || v->model.has_no_memory)
        return GM_SPACE_NONE;
    uint64_t unused;
    const bool is_small = gm_rules_round(&v->model.conf.rules, v->h->requested[a]) <= GM_SMALL_SIZE;
    uint32_t block = try_other_homes(v, event, a, is_small ? v->home.small : v->home.large, &unused);
    if (block == GM_SPACE_NONE)
        block = try_other_owners(v, event, a, chosen, &unused);
    v->guessed_pools += block != GM_SPACE_NONE;
    return block;
}
