/* SPDX-License-Identifier: Apache-2.0
 *
 * Giving memory back to the device: empty_cache, the retries of malloc, garbage collection.
 */
#include "replay/model/allocator_private.h"

#include <stdlib.h>

struct blocks GM_VEC(uint32_t);

void gm_release_segment(struct gm_allocator *a, uint32_t block)
{
    struct gm_space_block b = *gm_block(a, block);
    bool is_small = a->pools.v[b.pool].is_small;
    gm_put(a, GM_EVENT_SEGMENT_FREE, b.address, b.size, b.stream, b.pool, GM_SPACE_NONE);
    gm_leave_free(a, block);
    a->waited = a->serial;
    if (!gm_device_gave(a, a->device->release(a->device->self, b.address, b.size)) ||
        gm_space_unmap(&a->space, b.address, b.size) != GM_SPACE_OK) {
        a->has_failed = true;
        return;
    }
    gm_count_reserved(a, b.pool, -(int64_t)b.size);
    a->stats.num_device_free++;
    gm_stats_segment(&a->stats, is_small, b.size, -1, a->conf.rules.max_split);
}

/* The same where unmapped neighbours count: of expandable blocks only one that is all of its reservation. */
static bool is_unsplit(struct gm_allocator *a, const struct gm_space_block *b)
{
    const struct gm_reservation_row *r = b->is_expandable ? gm_reservation_of(a, b->address) : NULL;
    return gm_space_is_whole(b) && (r == NULL || (r->address == b->address && r->size == b->size));
}

/* release_blocks: whole segments in the order of the free sets, then the pages of expandable ones in the same order. */
static void release_pool(struct gm_allocator *a, uint32_t pool)
{
    struct blocks whole = {0}, expandable = {0};
    struct gm_bin_list bins;
    if (!gm_allocator_bins(a, pool, &bins)) {
        free(bins.v);
        return;
    }
    for (size_t k = 0; k < bins.n; k++) {
        const struct gm_free_set *set = &a->pools.v[pool].bins.v[bins.v[k]].set;
        a->space.work += set->count;
        for (struct gm_free_place at = gm_free_set_first(set); at.entry != NULL; gm_free_set_next(set, &at)) {
            const struct gm_space_block *b = gm_block(a, at.entry->block);
            if (b->is_expandable)
                a->has_no_memory |= !GM_VEC_PUSH(&expandable, at.entry->block);
            else if (gm_space_is_whole(b))
                a->has_no_memory |= !GM_VEC_PUSH(&whole, at.entry->block);
        }
    }
    for (size_t i = 0; i < whole.n && !a->has_failed; i++)
        gm_release_segment(a, whole.v[i]);
    for (size_t i = 0; i < expandable.n && !a->has_failed; i++)
        gm_expandable_unmap(a, expandable.v[i]);
    GM_FREE_ALL(bins.v, whole.v, expandable.v);
}

/* Waits for every block that is pending, in the order of their frees. */
static void complete_pending(struct gm_allocator *a)
{
    a->stats.num_sync_all_streams++;
    struct pending GM_VEC(struct gm_pending_row);
    struct pending waiting = {a->pending.v, a->pending.n, a->pending.capacity};
    a->pending.v = NULL;
    a->pending.n = a->pending.capacity = 0;
    for (size_t i = 0; i < waiting.n; i++)
        if (gm_is_waiting(a, &waiting.v[i]))
            gm_allocator_free_completed(a, waiting.v[i].block);
    free(waiting.v);
}

static bool is_default(const struct gm_allocator_pool *p)
{
    return p->id_first == 0 && p->id_second == 0;
}

void gm_allocator_complete_waited(struct gm_allocator *a)
{
    for (size_t i = 0; a->waited > 0 && i < a->pending.n; i++) {
        const struct gm_pending_row row = a->pending.v[i];
        if (row.serial <= a->waited && gm_is_waiting(a, &row) && is_default(&a->pools.v[gm_block(a, row.block)->pool]))
            gm_allocator_free_completed(a, row.block);
    }
    a->waited = 0;
}

/* A private pool that nobody uses any more: small, then large. */
static void release_private(struct gm_allocator *a, uint64_t id_first, uint64_t id_second)
{
    for (int is_small = 1; is_small >= 0; is_small--)
        for (size_t p = 0; p < a->pools.n; p++)
            if (a->pools.v[p].id_first == id_first && a->pools.v[p].id_second == id_second &&
                a->pools.v[p].is_freeable && a->pools.v[p].is_small == is_small)
                release_pool(a, (uint32_t)p);
}

/* The first pool of each id stands for it. */
static bool is_first_of_id(const struct gm_allocator *a, size_t p)
{
    for (size_t i = 0; i < p; i++)
        if (a->pools.v[i].id_first == a->pools.v[p].id_first && a->pools.v[i].id_second == a->pools.v[p].id_second)
            return false;
    return true;
}

void gm_allocator_empty_cache(struct gm_allocator *a)
{
    complete_pending(a);
    for (int is_small = 0; is_small < 2; is_small++) /* large, then small */
        for (size_t p = 0; p < a->pools.n; p++)
            if (is_default(&a->pools.v[p]) && a->pools.v[p].is_small == is_small)
                release_pool(a, (uint32_t)p);
    for (size_t p = 0; p < a->pools.n; p++)
        if (!is_default(&a->pools.v[p]) && is_first_of_id(a, p))
            release_private(a, a->pools.v[p].id_first, a->pools.v[p].id_second);
}

void gm_allocator_empty_pool(struct gm_allocator *a, uint64_t id_first, uint64_t id_second)
{
    struct blocks waiting = {0};
    bool is_freeable = false;
    for (size_t p = 0; p < a->pools.n; p++)
        is_freeable |=
            a->pools.v[p].id_first == id_first && a->pools.v[p].id_second == id_second && a->pools.v[p].is_freeable;
    if (!is_freeable || (id_first == 0 && id_second == 0))
        return;
    a->stats.num_sync_all_streams++;
    for (size_t i = 0; i < a->pending.n; i++) {
        const struct gm_allocator_pool *p = &a->pools.v[gm_block(a, a->pending.v[i].block)->pool];
        if (gm_is_waiting(a, &a->pending.v[i]) && p->id_first == id_first && p->id_second == id_second)
            a->has_no_memory |= !GM_VEC_PUSH(&waiting, a->pending.v[i].block);
    }
    for (size_t i = 0; i < waiting.n; i++)
        gm_allocator_free_completed(a, waiting.v[i]);
    free(waiting.v);
    release_private(a, id_first, id_second);
}

/* A part of a segment can be that large if expandable_segments was on for a while: PyTorch does not expect that, and
 * what it does then would fail; here it stays. */
static bool is_segment(const struct gm_space_block *b)
{
    return gm_space_is_whole(b) && !b->is_expandable;
}

bool gm_release_available(struct gm_allocator *a, uint32_t pool, uint32_t stream, uint64_t rounded)
{
    if (a->conf.rules.max_split == UINT64_MAX)
        return false;
    struct gm_free_set *set = gm_allocator_set(a, pool, stream);
    uint64_t key = rounded > a->conf.rules.max_split ? rounded : a->conf.rules.max_split, released = 0;
    if (set == NULL)
        return false;
    struct gm_free_place at = gm_free_set_fit(set, key);
    if (at.entry != NULL && is_segment(gm_block(a, at.entry->block))) {
        gm_release_segment(a, at.entry->block);
        return !a->has_failed;
    }
    for (at = gm_free_set_last(set); at.entry != NULL && released < key && at.entry->size >= a->conf.rules.max_split;) {
        struct gm_free_entry entry = *at.entry;
        if (is_segment(gm_block(a, entry.block))) {
            released += entry.size;
            gm_release_segment(a, entry.block);
            if (a->has_failed)
                return false;
        }
        at = gm_free_set_from(set, &entry); /* where it was, or what follows */
        if (at.entry == NULL)
            at = gm_free_set_last(set);
        else
            gm_free_set_prev(set, &at);
    }
    return released >= key;
}

struct garbage GM_VEC(struct gm_garbage);

/* What has been free for longest, in the rounds of PyTorch's collection: one gives back all that is not younger than
 * the mean of what is left. Until the rounds have `target` bytes, or there is nothing more. */
static void find_garbage(struct gm_allocator *a, const struct gm_bin_list *bins, uint64_t target, struct garbage *out)
{
    const struct gm_allocator_pool *p = &a->pools.v[gm_allocator_pool_of(a, 0, 0, false)];
    struct garbage whole = {0};
    uint64_t reclaimed = 0, count = 0;
    double total_age = 0;
    for (size_t k = 0; k < bins->n; k++) {
        const struct gm_free_set *set = &p->bins.v[bins->v[k]].set;
        a->space.work += set->count;
        for (struct gm_free_place at = gm_free_set_first(set); at.entry != NULL; gm_free_set_next(set, &at)) {
            const struct gm_space_block *b = gm_block(a, at.entry->block);
            const struct gm_garbage row = {at.entry->block, 0, b->address, p->searches - a->gc_base.v[at.entry->block]};
            if (!is_unsplit(a, b))
                continue;
            total_age += (double)row.age;
            count++;
            if (!b->is_expandable)
                a->has_no_memory |= !GM_VEC_PUSH(&whole, row);
        }
    }
    bool is_more = true;
    for (uint32_t round = 0; reclaimed < target && is_more && count > 0; round++) {
        const double cut = total_age / (double)count;
        size_t kept = 0;
        is_more = false;
        a->space.work += whole.n;
        for (size_t i = 0; i < whole.n; i++) {
            struct gm_garbage row = whole.v[i];
            if ((double)row.age < cut) {
                whole.v[kept++] = row;
                continue;
            }
            row.round = round;
            is_more = true;
            total_age -= (double)row.age;
            count--;
            reclaimed += gm_block(a, row.block)->size;
            a->has_no_memory |= !GM_VEC_PUSH(out, row);
        }
        whole.n = kept;
    }
    free(whole.v);
}

static struct garbage garbage_of(struct gm_allocator *a, uint64_t target)
{
    struct garbage found = {0};
    struct gm_bin_list bins = {0};
    const uint32_t pool = gm_allocator_pool_of(a, 0, 0, false);
    if (!a->has_no_memory && gm_allocator_bins(a, pool, &bins))
        find_garbage(a, &bins, target, &found);
    free(bins.v);
    return found;
}

struct gm_garbage *gm_allocator_garbage(struct gm_allocator *a, size_t *count)
{
    struct garbage found = garbage_of(a, UINT64_MAX);
    *count = found.n;
    return found.v;
}

void gm_collect_garbage(struct gm_allocator *a)
{
    uint64_t limit = (uint64_t)(a->conf.gc_threshold * (double)a->limit);
    if (a->total <= limit)
        return;
    struct garbage found = garbage_of(a, a->total - limit);
    for (size_t i = 0; i < found.n && !a->has_failed; i++)
        gm_release_segment(a, found.v[i].block);
    free(found.v);
}
