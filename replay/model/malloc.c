/* SPDX-License-Identifier: Apache-2.0
 *
 * malloc: the best fit, memory from the device when there is none, the split.
 */
#include "replay/model/allocator_private.h"

#ifdef GM_PROFILE
volatile int gm_profile_doing;
#endif

struct request {
    uint64_t requested, rounded;
    uint32_t stream, owner;
    uint32_t pool;
    bool is_expandable;
    uint64_t segment;        /* what cudaMalloc would be asked for, once nothing that is free fits */
    struct gm_free_place at; /* of the block that does, in its set */
};

/* Whether another block is as good, and only their addresses tell which is taken. Whole segments are all the same, but
 * for garbage collection, which knows their ages; blocks of one segment have an order; one reservation is one segment.
 */
static bool is_tied(struct gm_allocator *a, const struct gm_free_set *set, struct gm_free_place at)
{
    enum { LOOKED_AT = 64 };
    const struct gm_free_entry first = *at.entry;
    const struct gm_space_block *b = gm_block(a, first.block);
    const bool is_alike = gm_space_is_whole(b) && a->conf.gc_threshold <= 0;
    for (int i = 0; i < LOOKED_AT; i++) {
        gm_free_set_next(set, &at);
        if (at.entry == NULL || at.entry->size != first.size)
            return false;
        const struct gm_space_block *other = gm_block(a, at.entry->block);
        a->space.work++;
        if ((is_alike && gm_space_is_whole(other)) || (b->is_expandable && other->is_expandable))
            continue;
        if (gm_space_range_of(&a->space, first.address) != gm_space_range_of(&a->space, at.entry->address))
            return true;
    }
    return true;
}

/* get_free_block: the best fit, which is still in its set; GM_SPACE_NONE if there is none or a rule refuses it. */
static uint32_t best_fit(struct gm_allocator *a, struct request *r)
{
    if (a->limit != UINT64_MAX && a->conf.gc_threshold > 0)
        a->pools.v[r->pool].searches++;
    struct gm_free_set *set = gm_allocator_set(a, r->pool, r->stream);
    if (set == NULL)
        return GM_SPACE_NONE;
    struct gm_free_place at = gm_free_set_fit(set, r->rounded);
    if (at.entry == NULL)
        return GM_SPACE_NONE;
    if (gm_block(a, at.entry->block)->is_expandable && r->is_expandable) {
        struct gm_free_place next = at;
        for (gm_free_set_next(set, &next);
             gm_block(a, at.entry->block)->is_expandable && next.entry != NULL &&
             gm_expandable_reach(a, next.entry->block) < gm_expandable_reach(a, at.entry->block);
             gm_free_set_next(set, &next)) {
            a->space.work++;
            at = next;
        }
    } else {
        for (; !r->is_expandable && at.entry != NULL && gm_block(a, at.entry->block)->is_expandable; a->space.work++)
            gm_free_set_next(set, &at);
    }
    if (at.entry == NULL)
        return GM_SPACE_NONE;
    uint64_t size = at.entry->size;
    if (r->rounded < a->conf.rules.max_split && size >= a->conf.rules.max_split)
        return GM_SPACE_NONE;
    if (r->rounded >= a->conf.rules.max_split && size - r->rounded >= a->conf.max_non_split_rounding)
        return GM_SPACE_NONE;
    if (a->wanted_at != 0 && at.entry->address != a->wanted_at) {
        a->passed_by = at.entry->address;
        return GM_SPACE_NONE;
    }
    const uint32_t taken = at.entry->block;
    if (a->conf.ties == GM_TIES_LOWEST && !a->has_tied)
        a->has_tied = is_tied(a, set, at);
    r->at = at;
    a->base_of_taken = a->conf.gc_threshold > 0 ? a->gc_base.v[taken] : 0;
    return taken;
}

static bool is_more(const struct gm_allocator *a, const struct request *r, uint64_t most)
{
    return most != UINT64_MAX && (r->segment > most || a->total > most - r->segment);
}

static bool is_over_limit(const struct gm_allocator *a, const struct request *r)
{
    return is_more(a, r, a->limit);
}

/* alloc_block: memory from the device, as a free block in no set. */
static uint32_t obtain(struct gm_allocator *a, const struct request *r, bool is_retry)
{
    a->stats.num_alloc_retries += is_retry;
    if (is_over_limit(a, r))
        return GM_SPACE_NONE;
    a->was_rejected = a->conf.rejects && is_more(a, r, a->device->total_bytes);
    if (a->was_rejected)
        return GM_SPACE_NONE;
    const struct gm_allocator_pool *p = &a->pools.v[r->pool];
    if (r->is_expandable && (!a->private_by_segments || (p->id_first == 0 && p->id_second == 0)))
        return gm_expandable_grow(a, r->pool, r->stream, r->rounded);
    uint64_t address;
    if (!gm_device_gave(a, a->device->allocate(a->device->self, r->segment, &address)))
        return GM_SPACE_NONE;
    enum gm_space_status status = gm_space_map(&a->space, address, r->segment, r->stream, r->pool, false);
    if (status != GM_SPACE_OK || !gm_make_block_room(a)) {
        a->has_no_memory |= status != GM_SPACE_CONFLICT;
        a->has_failed |= status == GM_SPACE_CONFLICT; /* the device gave what is in use already */
        return GM_SPACE_NONE;
    }
    bool is_small = a->pools.v[r->pool].is_small;
    gm_count_reserved(a, r->pool, (int64_t)r->segment);
    a->stats.num_device_alloc++;
    gm_stats_segment(&a->stats, is_small, r->segment, 1, a->conf.rules.max_split);
    gm_put(a, GM_EVENT_SEGMENT_ALLOC, address, r->segment, r->stream, r->pool, GM_SPACE_NONE);
    const uint32_t block = gm_space_last_of(&a->space, address);
    gm_block(a, block)->age = a->next_age++;
    gm_mark_grown(a, block, true);
    return block;
}

void gm_count_alloc(struct gm_allocator *a, uint32_t block, uint64_t requested, int64_t pieces, int64_t bytes)
{
    const struct gm_space_block *b = gm_block(a, block);
    if (!a->counts_reserved_only)
        gm_stats_take(&a->stats, b, a->pools.v[b->pool].is_small, requested, pieces, bytes, a->conf.rules.max_split);
}

/* Splits the free block, which is in no set unless r->at says so, and hands out its lower part. */
static uint32_t hand_out(struct gm_allocator *a, const struct request *r, uint32_t block)
{
    const struct gm_space_block *b = gm_block(a, block);
    bool was_split = !gm_space_is_whole(b);
    uint64_t before = b->size, remaining = before - r->rounded;
    const struct gm_allocator_pool *pool = &a->pools.v[r->pool];
    bool is_split =
        !pool->never_splits && gm_rules_split(&a->conf.rules, pool->is_small, r->is_expandable, r->rounded, remaining);
    GM_DOING(GM_DOING_SPLIT_MERGE);
    if (!is_split && r->at.entry != NULL)
        gm_free_set_take(gm_allocator_set(a, r->pool, r->stream), &r->at);
    uint32_t taken = gm_make_block_room(a) ? gm_space_take(&a->space, block, is_split ? r->rounded : b->size, r->owner)
                                           : GM_SPACE_NONE;
    if (taken == GM_SPACE_NONE) {
        a->has_no_memory = true;
        return GM_SPACE_NONE;
    }
    if (is_split) {
        gm_block(a, taken)->age = gm_age_of_new(a, gm_block(a, block)->age);
        gm_enter_free_at(a, block, &r->at);
    }
    GM_DOING(GM_DOING_BOOKKEEPING);
    a->requested.v[taken] = r->requested;
    if (a->keeps_objects && is_split)
        a->grown_by.v[taken] = GM_ORIGIN_NONE;
    gm_count_alloc(a, taken, r->requested, is_split - was_split,
                   (int64_t)((is_split ? remaining : 0) - (was_split ? before : 0)));
    gm_put(a, GM_EVENT_ALLOC, gm_block(a, taken)->address, r->requested, r->stream, r->pool, r->owner);
    return taken;
}

bool gm_allocator_retries(const struct gm_allocator *a, uint64_t id_first, uint64_t id_second)
{
    return id_first == 0 && (id_second == 0 || a->conf.ties == GM_TIES_OLDEST_SEGMENT);
}

struct gm_allocator_home gm_allocator_home_of(struct gm_allocator *a, uint64_t id_first, uint64_t id_second)
{
    return (struct gm_allocator_home){.small = gm_allocator_pool_of(a, id_first, id_second, true),
                                      .large = gm_allocator_pool_of(a, id_first, id_second, false),
                                      .is_default = id_first == 0 && id_second == 0,
                                      .retries = gm_allocator_retries(a, id_first, id_second)};
}

static bool goes_on(const struct gm_allocator *a, uint32_t block)
{
    return block == GM_SPACE_NONE && !a->has_failed && !a->was_rejected;
}

/* When nothing that is free fits: the resorts of malloc, in order. */
static uint32_t find_elsewhere(struct gm_allocator *a, struct request *r, bool retries)
{
    r->segment = gm_rules_segment(&a->conf.rules, r->rounded);
    if (a->limit != UINT64_MAX && a->conf.gc_threshold > 0)
        gm_collect_garbage(a);
    uint32_t block = obtain(a, r, false);
    if (goes_on(a, block) && gm_release_available(a, r->pool, r->stream, r->rounded))
        block = obtain(a, r, false);
    if (goes_on(a, block) && retries) {
        gm_allocator_empty_cache(a);
        block = obtain(a, r, true);
    }
    return block;
}

static uint32_t oom(struct gm_allocator *a, const struct request *r)
{
    if (a->was_rejected)
        return GM_SPACE_NONE;
    gm_put(a, GM_EVENT_OOM, a->device->free_bytes(a->device->self), r->rounded, r->stream, r->pool, r->owner);
    a->stats.num_ooms++;
    return GM_SPACE_NONE;
}

uint32_t gm_allocator_malloc(struct gm_allocator *a, uint64_t requested, uint32_t stream, struct gm_allocator_home home,
                             uint32_t owner)
{
    struct request r = {
        .requested = requested, .rounded = gm_rules_round(&a->conf.rules, requested), .stream = stream, .owner = owner};
    a->passed_by = UINT64_MAX;
    if (a->has_no_memory || requested >= UINT64_C(1) << 60)
        return GM_SPACE_NONE;
    GM_DOING(GM_DOING_BOOKKEEPING);
    r.pool = r.rounded <= GM_SMALL_SIZE ? home.small : home.large;
    r.is_expandable = a->conf.expandable_segments && !a->pools.v[r.pool].is_custom;
    GM_DOING(GM_DOING_SEARCH);
    uint32_t block = a->skips_search ? GM_SPACE_NONE : best_fit(a, &r);
    a->skips_search = a->was_rejected = false;
    a->wanted_at = 0;
    if (a->passed_by != UINT64_MAX)
        return GM_SPACE_NONE;
    if (block == GM_SPACE_NONE) {
        GM_DOING(GM_DOING_DEVICE);
        block = find_elsewhere(a, &r, home.retries);
    }
    if (!a->has_no_memory && !a->has_failed)
        block = block == GM_SPACE_NONE ? oom(a, &r) : hand_out(a, &r, block);
    else
        block = GM_SPACE_NONE;
    GM_DOING(GM_DOING_OUTSIDE);
    return block;
}
