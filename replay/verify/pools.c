/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose pool a segment was of. Before PyTorch 2.12 no event says it: the snapshot tells it of the segments that are
 * there at the end, and an address may have been another pool's before. The guess is the pool that has the address in
 * the end, else the default one. A request in a segment that is there, or that goes on in its pages, is of that
 * segment's pool; where the trace grew although the guessed pool has room, or left a fitting block of a segment whose
 * pool is a guess, the pools that are known are tried.
 */
#include "analyze/base/vec.h"
#include "replay/verify/verify_private.h"

#include <stdlib.h>

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

/* Whether v->home, which may be none so far, are the pools of that id: nearly always they are. */
static bool is_home(const struct gm_verifying *v, uint64_t id_first, uint64_t id_second)
{
    const struct gm_allocator_home *home = &v->home;
    if (home->small == home->large || home->large >= v->model.pools.n)
        return false;
    const struct gm_allocator_pool *pool = &v->model.pools.v[home->large];
    return pool->id_first == id_first && pool->id_second == id_second;
}

void gm_pools_choose_home(struct gm_verifying *v, uint32_t event, uint32_t pool, uint64_t address)
{
    const struct gm_history_pool *p = &v->h->pools[pool];
    const bool is_known = p->id_first != GM_ABSENT;
    const uint64_t first = is_known ? p->id_first : 0, second = is_known ? p->id_second : 0;
    if (!is_home(v, first, second))
        v->home = gm_allocator_home_of(&v->model, first, second);
    if (!v->guesses_pools)
        return;
    const struct gm_space *space = &v->model.space;
    const struct gm_events *e = gm_events_of(v);
    const size_t growth = gm_row(v, v->growth);
    const uint32_t number = v->growth < event ? gm_release_order_pool(v, v->growth) : 0;
    if (number != 0) {
        v->guessed_pools++;
        v->home = gm_allocator_home_of(&v->model, GM_POOL_NOBODY_NAMES, number);
        return;
    }
    uint32_t range = gm_space_range_of(space, address);
    if (range == GM_SPACE_NONE && v->growth < event && e->action[growth] == GM_ACTION_SEGMENT_MAP &&
        gm_event_addr(e, growth) > 0) { /* the pages after those that it has */
        range = gm_space_range_of(space, gm_event_addr(e, growth) - 1);
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
    bool is_there = false;
    for (size_t i = 0; i < s->count && !is_there; i++)
        is_there = s->device[i] == v->h->device && s->address[i] == address && s->total_size[i] == size;
    for (uint32_t i = v->request; i < v->h->count && is_there; i++)
        is_there = !gm_action_is_release(gm_action_at(v, i)) || gm_addr_at(v, i) != address;
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
    const size_t row = gm_row(v, growth);
    if (growth >= event)
        return GM_SPACE_NONE;
    /* A private pool was known, and may be one that does not split. */
    if (v->home.is_default && !is_told(v, gm_event_addr(gm_events_of(v), row), gm_event_size(gm_events_of(v), row)))
        gm_allocator_pool_of(&v->model, GM_POOL_NOBODY_NAMES, 0, v->model.pools.v[guessed].is_small);
    for (size_t p = 0; p < v->model.pools.n && !v->model.has_no_memory && v->growth == growth; p++) {
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

/* ---- what is seen becomes the history's -------------------------------------------------------------------------- */

bool gm_pools_settle_begin(struct gm_verifying *v)
{
    struct gm_settling *s = &v->settling;
    s->of_allocation = calloc(v->h->allocation_count + 1, sizeof *s->of_allocation);
    s->of_segment = calloc(v->h->segment_count + 1, sizeof *s->of_segment);
    return s->of_allocation != NULL && s->of_segment != NULL;
}

void gm_pools_settle_alloc(struct gm_verifying *v, uint32_t grown, uint32_t a, uint32_t block)
{
    if (v->settling.of_allocation == NULL)
        return;
    const uint32_t pool = v->model.space.blocks.v[block].pool + 1;
    v->settling.of_allocation[a] = pool;
    for (size_t i = gm_history_segment_row(v->h, grown);
         i < v->h->segment_count && v->h->segments[i].event < v->request; i++)
        v->settling.of_segment[i] = pool;
}

void gm_pools_settle_release(struct gm_verifying *v, uint32_t event)
{
    const uint32_t range = gm_space_range_of(&v->model.space, gm_addr_at(v, event));
    const size_t row = gm_history_segment_row(v->h, event);
    if (v->settling.of_segment == NULL || range == GM_SPACE_NONE || row == v->h->segment_count ||
        v->h->segments[row].event != event)
        return;
    v->settling.of_segment[row] = v->model.space.blocks.v[v->model.space.ranges.v[range].last].pool + 1;
}

/* What was in a segment since it is there was of the pool that `event` shows, too. */
static void settle_moved(struct gm_verifying *v, uint32_t event, uint64_t segment, uint64_t size, uint32_t pool)
{
    const struct gm_events *e = gm_events_of(v);
    const struct gm_history *h = v->h;
    if (v->settling.of_allocation == NULL)
        return;
    for (uint32_t i = event; i-- > 0;) {
        const size_t row = gm_row(v, i);
        v->model.space.work++;
        if (e->action[row] == GM_ACTION_SEGMENT_ALLOC && gm_event_addr(e, row) == segment) {
            v->settling.of_segment[gm_history_segment_row(h, i)] = pool + 1;
            return;
        }
        if (e->action[row] == GM_ACTION_ALLOC && gm_event_addr(e, row) - segment < size && h->of_event[i] != GM_NEVER)
            v->settling.of_allocation[h->of_event[i]] = pool + 1;
    }
    for (size_t a = 0; a < h->allocation_count; a++)
        if (h->born[a] == 0 && gm_history_address(h, a) - segment < size)
            v->settling.of_allocation[a] = pool + 1;
}

/* The history's number of a pool of the model, made when it is new; GM_SPACE_NONE: no memory. */
static uint32_t settled_number(struct gm_history *h, const struct gm_allocator_pool *pool)
{
    for (size_t p = 0; p < h->pool_count; p++)
        if (h->pools[p].id_first == pool->id_first && h->pools[p].id_second == pool->id_second &&
            h->pools[p].is_small == pool->is_small)
            return (uint32_t)p;
    if (!gm_grow(&h->pools, &h->pool_capacity, h->pool_count + 1, sizeof *h->pools))
        return GM_SPACE_NONE;
    h->pools[h->pool_count] =
        (struct gm_history_pool){.id_first = pool->id_first, .id_second = pool->id_second, .is_small = pool->is_small};
    return (uint32_t)h->pool_count++;
}

bool gm_pools_settle_end(struct gm_verifying *v)
{
    struct gm_history *h = v->h;
    GM_FREED uint32_t *number = malloc((v->model.pools.n + 1) * sizeof *number);
    bool ok = number != NULL;
    for (size_t p = 0; ok && p < v->model.pools.n; p++) {
        number[p + 1] = settled_number(h, &v->model.pools.v[p]);
        ok = number[p + 1] != GM_SPACE_NONE;
    }
    for (size_t a = 0; ok && a < h->allocation_count; a++)
        if (v->settling.of_allocation[a] != 0)
            ok = gm_history_set_pool(h, a, number[v->settling.of_allocation[a]]);
    for (size_t i = 0; ok && i < h->segment_count; i++)
        if (v->settling.of_segment[i] != 0)
            h->segments[i].pool = number[v->settling.of_segment[i]];
    return ok;
}

/* The model chose a block of a segment whose pool is a guess: it is of another one, maybe of one that is gone. */
static uint32_t try_other_owners(struct gm_verifying *v, uint32_t event, uint32_t a, uint64_t address, uint64_t *chosen)
{
    struct gm_space *space = &v->model.space;
    const uint32_t growth = v->growth, range = gm_space_range_of(space, address);
    if (range == GM_SPACE_NONE || space->ranges.v[range].area != 0 ||
        is_told(v, space->ranges.v[range].address, space->ranges.v[range].size))
        return GM_SPACE_NONE;
    const uint64_t segment = space->ranges.v[range].address, size = space->ranges.v[range].size;
    const uint32_t was = space->blocks.v[space->ranges.v[range].last].pool;
    gm_allocator_pool_of(&v->model, GM_POOL_NOBODY_NAMES, 0, v->model.pools.v[was].is_small);
    for (size_t p = 0; p < v->model.pools.n && v->growth == growth && !v->model.has_no_memory; p++) {
        if (!is_candidate(v, p, was))
            continue;
        v->pool_tries++;
        gm_allocator_move_segment(&v->model, segment, (uint32_t)p);
        uint32_t block = gm_verifying_choose(v, event, a, chosen);
        if (block != GM_SPACE_NONE) {
            settle_moved(v, event, segment, size, (uint32_t)p);
            return block;
        }
    }
    gm_allocator_move_segment(&v->model, segment, was);
    return GM_SPACE_NONE;
}

uint32_t gm_pools_guess(struct gm_verifying *v, uint32_t event, uint32_t a, uint64_t chosen)
{
    if (!v->guesses_pools || chosen == GM_ABSENT || v->model.has_no_memory)
        return GM_SPACE_NONE;
    uint64_t unused;
    const bool is_small = gm_rules_round(&v->model.conf.rules, gm_requested(v->h, a)) <= GM_SMALL_SIZE;
    uint32_t block = try_other_homes(v, event, a, is_small ? v->home.small : v->home.large, &unused);
    if (block == GM_SPACE_NONE)
        block = try_other_owners(v, event, a, chosen, &unused);
    v->guessed_pools += block != GM_SPACE_NONE;
    return block;
}
