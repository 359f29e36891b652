/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/allocator/allocator.h"

#include "analyze/base/size.h"
#include "replay/allocator/private.h"

#include <stdlib.h>
#include <string.h>

enum { POOLS = 255 };
#define MOST_BYTES (UINT64_C(1) << 60)

void gm_allocator_init(struct gm_allocator *a, const struct gm_conf *conf, const struct gm_device *device,
                       const struct gm_allocator_sink *sink)
{
    *a = (struct gm_allocator){.conf = *conf, .device = device, .sink = sink, .limit = UINT64_MAX};
    if (conf->memory_fraction < 1 && device->total_bytes != UINT64_MAX)
        a->limit = (uint64_t)(conf->memory_fraction * (double)device->total_bytes);
}

void gm_allocator_free(struct gm_allocator *a)
{
    for (size_t i = 0; i < a->pools.n; i++) {
        for (size_t k = 0; k < a->pools.v[i].bins.n; k++)
            gm_free_set_clear(&a->pools.v[i].bins.v[k].set);
        free(a->pools.v[i].bins.v);
        free(a->pools.v[i].bin_of.v);
    }
    free(a->pools.v);
    free(a->handles.v);
    free(a->reservations.v);
    free(a->requested.v);
    free(a->gc_base.v);
    free(a->pending.v);
    free(a->freed_by.v);
    gm_space_free(&a->space);
    *a = (struct gm_allocator){0};
}

/* ---- streams, pools, free sets ------------------------------------------------------------------------------------
 */

uint32_t gm_allocator_stream(struct gm_allocator *a, int64_t handle)
{
    for (size_t i = 0; i < a->handles.n; i++)
        if (a->handles.v[i] == handle)
            return (uint32_t)i;
    return gm_allocator_add_stream(a, handle);
}

uint32_t gm_allocator_add_stream(struct gm_allocator *a, int64_t handle)
{
    if (!GM_VEC_PUSH(&a->handles, handle)) {
        a->has_no_memory = true;
        return UINT32_MAX;
    }
    return (uint32_t)(a->handles.n - 1);
}

uint8_t gm_allocator_pool_of(struct gm_allocator *a, uint64_t id_first, uint64_t id_second, bool is_small)
{
    for (size_t i = 0; i < a->pools.n; i++)
        if (a->pools.v[i].id_first == id_first && a->pools.v[i].id_second == id_second &&
            a->pools.v[i].is_small == is_small)
            return (uint8_t)i;
    for (size_t i = a->pools.n; a->pools.n == POOLS && i > 0; i--)
        if (a->pools.v[i - 1].is_small == is_small)
            return (uint8_t)(i - 1);
    struct gm_allocator_pool fresh = {.id_first = id_first, .id_second = id_second, .is_small = is_small};
    if (a->pools.n == POOLS || !GM_VEC_PUSH(&a->pools, fresh)) {
        a->has_no_memory = true;
        return POOLS;
    }
    return (uint8_t)(a->pools.n - 1);
}

struct gm_free_set *gm_allocator_make_set(struct gm_allocator *a, uint8_t pool, uint32_t stream)
{
    struct gm_allocator_pool *p = &a->pools.v[pool];
    while (p->bin_of.n <= stream)
        if (!GM_VEC_PUSH(&p->bin_of, GM_SPACE_NONE)) {
            a->has_no_memory = true;
            return NULL;
        }
    if (!GM_VEC_PUSH(&p->bins, (struct gm_allocator_bin){.stream = stream})) {
        a->has_no_memory = true;
        return NULL;
    }
    p->bin_of.v[stream] = (uint32_t)(p->bins.n - 1);
    return &p->bins.v[p->bins.n - 1].set;
}

const struct gm_free_set *gm_allocator_free_blocks(const struct gm_allocator *a, uint8_t pool, uint32_t stream)
{
    const struct gm_allocator_pool *p = &a->pools.v[pool];
    uint32_t bin = stream < p->bin_of.n ? p->bin_of.v[stream] : GM_SPACE_NONE;
    return bin == GM_SPACE_NONE ? NULL : &p->bins.v[bin].set;
}

/* For comparing bins without a global: the handle lies beside the bin. */
struct keyed_bin {
    uint64_t handle;
    uint32_t bin;
};

static int by_handle(const void *left, const void *right)
{
    const struct keyed_bin *a = left, *b = right;
    return a->handle < b->handle ? -1 : a->handle > b->handle;
}

bool gm_allocator_bins(struct gm_allocator *a, uint8_t pool, struct gm_bin_list *list)
{
    const struct gm_allocator_pool *p = &a->pools.v[pool];
    struct keyed_bin *keyed = malloc((p->bins.n + 1) * sizeof *keyed);
    *list = (struct gm_bin_list){.v = malloc((p->bins.n + 1) * sizeof *list->v)};
    bool ok = keyed != NULL && list->v != NULL;
    for (size_t i = 0; ok && i < p->bins.n; i++)
        keyed[i] = (struct keyed_bin){(uint64_t)a->handles.v[p->bins.v[i].stream], (uint32_t)i};
    if (ok)
        qsort(keyed, p->bins.n, sizeof *keyed, by_handle);
    for (size_t i = 0; ok && i < p->bins.n; i++)
        if (p->bins.v[keyed[i].bin].set.count > 0)
            list->v[list->n++] = keyed[i].bin;
    a->space.work += p->bins.n;
    a->has_no_memory |= !ok;
    free(keyed);
    return ok;
}

/* Room for what is known of block `block`. */
static bool make_block_room(struct gm_allocator *a)
{
    size_t need = a->space.blocks.n + 4;
    while (a->requested.n < need)
        if (!GM_VEC_PUSH(&a->requested, 0))
            return false;
    while (a->gc_base.n < need)
        if (!GM_VEC_PUSH(&a->gc_base, 0))
            return false;
    while (a->freed_by.n < need)
        if (!GM_VEC_PUSH(&a->freed_by, 0))
            return false;
    return true;
}

void gm_enter_free(struct gm_allocator *a, uint32_t block)
{
    const struct gm_space_block *b = gm_block(a, block);
    struct gm_free_set *set = gm_allocator_set(a, b->pool, b->stream);
    if (set == NULL || !make_block_room(a) || !gm_free_set_insert(set, b->size, b->address, block)) {
        a->has_no_memory = true;
        return;
    }
    a->gc_base.v[block] = a->pools.v[b->pool].searches;
}

void gm_leave_free(struct gm_allocator *a, uint32_t block)
{
    const struct gm_space_block *b = gm_block(a, block);
    struct gm_free_set *set = gm_allocator_set(a, b->pool, b->stream);
    if (set != NULL)
        gm_free_set_remove(set, b->size, b->address);
}

bool gm_device_gave(struct gm_allocator *a, enum gm_device_status status)
{
    a->has_failed |= status == GM_DEVICE_FAILED;
    return status == GM_DEVICE_OK;
}

/* ---- malloc ---------------------------------------------------------------------------------------------------------
 */

struct request {
    uint64_t requested, rounded, segment; /* segment: what cudaMalloc would be asked for */
    uint32_t stream, owner;
    uint8_t pool;
    bool is_expandable;
};

static uint64_t segment_size(const struct gm_allocator *a, uint64_t rounded)
{
    if (rounded <= GM_SMALL_SIZE)
        return GM_SMALL_SEGMENT;
    return rounded < 10 * GM_MIB ? a->conf.rules.large_segment : gm_round_up(rounded, 2 * GM_MIB);
}

/* get_free_block: the best fit, taken out of its set; GM_SPACE_NONE if there is none or a rule refuses it. */
static uint32_t best_fit(struct gm_allocator *a, const struct request *r)
{
    if (a->limit != UINT64_MAX && a->conf.gc_threshold > 0)
        a->pools.v[r->pool].searches++;
    struct gm_free_set *set = gm_allocator_set(a, r->pool, r->stream);
    if (set == NULL)
        return GM_SPACE_NONE;
    struct gm_free_place at = gm_free_set_from(set, r->rounded, 0);
    if (at.entry == NULL)
        return GM_SPACE_NONE;
    if (gm_block(a, at.entry->block)->is_expandable && r->is_expandable) {
        struct gm_free_place next = at;
        for (gm_free_set_next(set, &next);
             gm_block(a, at.entry->block)->is_expandable && next.entry != NULL &&
             gm_expandable_reach(a, next.entry->block) < gm_expandable_reach(a, at.entry->block);
             gm_free_set_next(set, &next))
            at = next;
    } else {
        while (!r->is_expandable && at.entry != NULL && gm_block(a, at.entry->block)->is_expandable)
            gm_free_set_next(set, &at);
    }
    if (at.entry == NULL)
        return GM_SPACE_NONE;
    uint64_t size = at.entry->size;
    if (r->rounded < a->conf.rules.max_split && size >= a->conf.rules.max_split)
        return GM_SPACE_NONE;
    if (r->rounded >= a->conf.rules.max_split && size >= r->rounded + a->conf.max_non_split_rounding)
        return GM_SPACE_NONE;
    uint32_t block = at.entry->block;
    gm_free_set_remove(set, size, at.entry->address);
    return block;
}

/* alloc_block: memory from the device, as a free block in no set. */
static uint32_t obtain(struct gm_allocator *a, const struct request *r, bool is_retry)
{
    a->stats.num_alloc_retries += is_retry;
    if (a->limit != UINT64_MAX && (r->segment > a->limit || a->total > a->limit - r->segment))
        return GM_SPACE_NONE;
    if (r->is_expandable)
        return gm_expandable_grow(a, r->pool, r->stream, r->rounded);
    uint64_t address;
    if (!gm_device_gave(a, a->device->allocate(a->device->self, r->segment, &address)))
        return GM_SPACE_NONE;
    enum gm_space_status status = gm_space_map(&a->space, address, r->segment, r->stream, r->pool, false);
    if (status != GM_SPACE_OK || !make_block_room(a)) {
        a->has_no_memory |= status != GM_SPACE_CONFLICT;
        a->has_failed |= status == GM_SPACE_CONFLICT; /* the device gave what is in use already */
        return GM_SPACE_NONE;
    }
    bool is_small = a->pools.v[r->pool].is_small;
    a->total += r->segment;
    a->stats.num_device_alloc++;
    gm_stats_add(a->stats.segment, is_small, 1);
    gm_stats_add(a->stats.reserved_bytes, is_small, (int64_t)r->segment);
    if (r->segment >= a->conf.rules.max_split)
        gm_stat_add(&a->stats.oversize_segments, 1);
    gm_put(a, GM_EVENT_SEGMENT_ALLOC, address, r->segment, r->stream, r->pool, GM_SPACE_NONE);
    return gm_space_free_at(&a->space, address);
}

static void count_alloc(struct gm_allocator *a, uint32_t block, uint64_t requested, bool was_split, bool is_split,
                        uint64_t remaining)
{
    const struct gm_space_block *b = gm_block(a, block);
    bool is_small = a->pools.v[b->pool].is_small;
    if (!b->is_expandable && is_split) {
        gm_stats_add(a->stats.inactive_split_bytes, is_small, was_split ? -(int64_t)b->size : (int64_t)remaining);
        if (!was_split)
            gm_stats_add(a->stats.inactive_split, is_small, 1);
    } else if (!b->is_expandable && was_split) {
        gm_stats_add(a->stats.inactive_split_bytes, is_small, -(int64_t)b->size);
        gm_stats_add(a->stats.inactive_split, is_small, -1);
    }
    gm_stats_add(a->stats.allocation, is_small, 1);
    gm_stats_add(a->stats.allocated_bytes, is_small, (int64_t)b->size);
    gm_stats_add(a->stats.active, is_small, 1);
    gm_stats_add(a->stats.active_bytes, is_small, (int64_t)b->size);
    gm_stats_add(a->stats.requested_bytes, is_small, (int64_t)requested);
    if (b->size >= a->conf.rules.max_split)
        gm_stat_add(&a->stats.oversize_allocations, 1);
}

/* Splits the free block, which is in no set, and hands out its lower part. */
static uint32_t hand_out(struct gm_allocator *a, const struct request *r, uint32_t block)
{
    const struct gm_space_block *b = gm_block(a, block);
    bool was_split = b->prev != GM_SPACE_NONE || b->next != GM_SPACE_NONE;
    uint64_t remaining = b->size - r->rounded;
    bool is_split =
        gm_rules_split(&a->conf.rules, a->pools.v[r->pool].is_small, r->is_expandable, r->rounded, remaining);
    uint32_t taken =
        make_block_room(a) ? gm_space_take(&a->space, block, is_split ? r->rounded : b->size, r->owner) : GM_SPACE_NONE;
    if (taken == GM_SPACE_NONE) {
        a->has_no_memory = true;
        return GM_SPACE_NONE;
    }
    if (is_split)
        gm_enter_free(a, block);
    a->requested.v[taken] = r->requested;
    count_alloc(a, taken, r->requested, was_split, is_split, remaining);
    gm_put(a, GM_EVENT_ALLOC, gm_block(a, taken)->address, r->requested, r->stream, r->pool, r->owner);
    return taken;
}

struct gm_allocator_home gm_allocator_home_of(struct gm_allocator *a, uint64_t id_first, uint64_t id_second)
{
    return (struct gm_allocator_home){.small = gm_allocator_pool_of(a, id_first, id_second, true),
                                      .large = gm_allocator_pool_of(a, id_first, id_second, false),
                                      .is_default = id_first == 0 && id_second == 0};
}

uint32_t gm_allocator_malloc(struct gm_allocator *a, uint64_t requested, uint32_t stream, uint64_t id_first,
                             uint64_t id_second, uint32_t owner)
{
    bool is_small = gm_rules_round(&a->conf.rules, requested) <= GM_SMALL_SIZE;
    struct gm_allocator_home home = {.is_default = id_first == 0 && id_second == 0};
    home.small = home.large = gm_allocator_pool_of(a, id_first, id_second, is_small);
    return gm_allocator_malloc_at_home(a, requested, stream, home, owner);
}

uint32_t gm_allocator_malloc_at_home(struct gm_allocator *a, uint64_t requested, uint32_t stream,
                                     struct gm_allocator_home home, uint32_t owner)
{
    struct request r = {
        .requested = requested, .rounded = gm_rules_round(&a->conf.rules, requested), .stream = stream, .owner = owner};
    if (a->has_no_memory)
        return GM_SPACE_NONE;
    if (requested >= UINT64_C(1) << 60) { /* refused at once, without an event */
        a->stats.num_ooms++;
        return GM_SPACE_NONE;
    }
    r.pool = r.rounded <= GM_SMALL_SIZE ? home.small : home.large;
    r.segment = segment_size(a, r.rounded);
    r.is_expandable = a->conf.expandable_segments && !a->pools.v[r.pool].is_custom;
    uint32_t block = a->skips_search ? GM_SPACE_NONE : best_fit(a, &r);
    a->skips_search = false;
    if (block == GM_SPACE_NONE) {
        if (a->limit != UINT64_MAX && a->conf.gc_threshold > 0)
            gm_collect_garbage(a);
        block = obtain(a, &r, false);
    }
    if (block == GM_SPACE_NONE && !a->has_failed && gm_release_available(a, r.pool, r.stream, r.rounded))
        block = obtain(a, &r, false);
    if (block == GM_SPACE_NONE && !a->has_failed && home.is_default) {
        gm_release_cached(a);
        block = obtain(a, &r, true);
    }
    if (a->has_no_memory || a->has_failed)
        return GM_SPACE_NONE;
    if (block == GM_SPACE_NONE) {
        gm_put(a, GM_EVENT_OOM, a->device->free_bytes(a->device->self), r.rounded, stream, r.pool, owner);
        a->stats.num_ooms++;
        return GM_SPACE_NONE;
    }
    return hand_out(a, &r, block);
}

/* ---- free -----------------------------------------------------------------------------------------------------------
 */

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
    bool is_small = a->pools.v[b->pool].is_small;
    gm_stats_add(a->stats.allocation, is_small, -1);
    gm_stats_add(a->stats.allocated_bytes, is_small, -(int64_t)b->size);
    if (b->size >= a->conf.rules.max_split)
        gm_stat_add(&a->stats.oversize_allocations, -1);
    gm_put(a, GM_EVENT_FREE_REQUESTED, b->address, a->requested.v[block], b->stream, b->pool, b->owner);
    gm_space_let_go(&a->space, block);
    remember_pending(a, block);
}

void gm_allocator_free_completed(struct gm_allocator *a, uint32_t block)
{
    struct gm_space_block *b = gm_block(a, block);
    if (b->use == GM_SPACE_ALLOCATED)
        gm_allocator_free_requested(a, block);
    if (b->use != GM_SPACE_PENDING)
        return;
    bool is_small = a->pools.v[b->pool].is_small, is_expandable = b->is_expandable;
    uint64_t size = b->size;
    int64_t merges = 0, absorbed = 0;
    uint32_t neighbours[2] = {b->prev, b->next};
    gm_put(a, GM_EVENT_FREE_COMPLETED, b->address, a->requested.v[block], b->stream, b->pool, b->owner);
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
    gm_enter_free(a, merged);
    gm_stats_add(a->stats.active, is_small, -1);
    gm_stats_add(a->stats.active_bytes, is_small, -(int64_t)size);
    b = gm_block(a, merged);
    if (is_expandable)
        return;
    bool is_split = b->prev != GM_SPACE_NONE || b->next != GM_SPACE_NONE;
    gm_stats_add(a->stats.inactive_split, is_small, (is_split ? 1 : 0) - merges);
    gm_stats_add(a->stats.inactive_split_bytes, is_small, (is_split ? (int64_t)b->size : 0) - absorbed);
}

void gm_allocator_empty_cache(struct gm_allocator *a)
{
    gm_release_cached(a);
}

/* ---- what is there already
 * -------------------------------------------------------------------------------------------- */

bool gm_allocator_adopt_segment(struct gm_allocator *a, uint64_t address, uint64_t size, uint32_t stream, uint8_t pool,
                                bool is_expandable)
{
    if (size > MOST_BYTES || a->total > MOST_BYTES)
        return false; /* no device has that much; sums stay within 63 bits */
    enum gm_space_status status = is_expandable ? gm_expandable_add(a, pool, stream, address, size)
                                                : gm_space_map(&a->space, address, size, stream, pool, false);
    if (status != GM_SPACE_OK) {
        a->has_no_memory |= status == GM_SPACE_NO_MEMORY;
        return false;
    }
    bool is_small = a->pools.v[pool].is_small;
    a->total += size;
    gm_stats_add(a->stats.reserved_bytes, is_small, (int64_t)size);
    if (!is_expandable) {
        gm_stats_add(a->stats.segment, is_small, 1);
        gm_enter_free(a, gm_space_free_at(&a->space, address));
    } else if (!gm_reservations_adopt(a, address, stream, pool)) {
        a->has_no_memory = true;
    }
    return !a->has_no_memory;
}

/* Makes [address, address + size) of the free block that holds it a block in use. */
static uint32_t place_in(struct gm_allocator *a, uint32_t block, uint64_t address, uint64_t size, uint64_t requested,
                         uint32_t owner)
{
    const struct gm_space_block *b = gm_block(a, block);
    if (b->use != GM_SPACE_FREE || address < b->address || size == 0 || address - b->address >= b->size ||
        size > b->size - (address - b->address))
        return GM_SPACE_NONE;
    bool was_split = b->prev != GM_SPACE_NONE || b->next != GM_SPACE_NONE;
    gm_leave_free(a, block);
    uint64_t below = b->address;
    if (address > below) {
        gm_space_cut(&a->space, block, address - below);
        gm_enter_free(a, gm_space_free_at(&a->space, below));
    }
    uint64_t remaining = gm_block(a, block)->size - size;
    uint32_t taken = make_block_room(a) ? gm_space_take(&a->space, block, size, owner) : GM_SPACE_NONE;
    if (taken == GM_SPACE_NONE) {
        a->has_no_memory = true;
        return GM_SPACE_NONE;
    }
    if (taken != block)
        gm_enter_free(a, block);
    a->requested.v[taken] = requested < MOST_BYTES ? requested : MOST_BYTES;
    count_alloc(a, taken, a->requested.v[taken], was_split, taken != block, remaining);
    return taken;
}

uint32_t gm_allocator_adopt_block(struct gm_allocator *a, uint64_t address, uint64_t size, uint64_t requested,
                                  uint32_t owner, bool is_pending)
{
    uint32_t range = gm_space_range_of(&a->space, address);
    if (range == GM_SPACE_NONE)
        return GM_SPACE_NONE;
    /* What is left above those placed before. */
    uint32_t taken = place_in(a, a->space.ranges.v[range].last, address, size, requested, owner);
    if (taken != GM_SPACE_NONE && is_pending) {
        const struct gm_allocator_sink *sink = a->sink;
        a->sink = NULL;
        gm_allocator_free_requested(a, taken);
        a->sink = sink;
    }
    return taken;
}

uint32_t gm_allocator_place(struct gm_allocator *a, uint64_t address, uint64_t size, uint64_t requested, uint32_t owner)
{
    uint32_t block = gm_space_free_at(&a->space, address);
    if (block == GM_SPACE_NONE)
        block = gm_space_block_of(&a->space, address);
    return block == GM_SPACE_NONE ? GM_SPACE_NONE : place_in(a, block, address, size, requested, owner);
}

bool gm_allocator_give_back(struct gm_allocator *a, uint64_t address, uint64_t size)
{
    uint32_t block = gm_space_free_at(&a->space, address);
    if (block == GM_SPACE_NONE)
        block = gm_space_block_of(&a->space, address);
    if (!gm_is_free(a, block))
        return false;
    const struct gm_space_block *b = gm_block(a, block);
    if (!b->is_expandable && b->address == address && b->size == size && b->prev == GM_SPACE_NONE &&
        b->next == GM_SPACE_NONE) {
        gm_release_segment(a, block);
        return !a->has_failed;
    }
    return b->is_expandable && gm_expandable_unmap_range(a, block, address, address + size);
}

/* ---- invariants
 * --------------------------------------------------------------------------------------------------------- */

bool gm_allocator_check(const struct gm_allocator *a, const char **why)
{
    size_t in_sets = 0;
    if (!gm_space_check(&a->space, why))
        return false;
    for (size_t p = 0; p < a->pools.n; p++)
        for (size_t k = 0; k < a->pools.v[p].bins.n; k++) {
            const struct gm_allocator_bin *bin = &a->pools.v[p].bins.v[k];
            struct gm_free_place at = gm_free_set_first(&bin->set);
            for (; at.entry != NULL; gm_free_set_next(&bin->set, &at)) {
                const struct gm_space_block *b = &a->space.blocks.v[at.entry->block];
                in_sets++;
                if (b->use != GM_SPACE_FREE || b->size != at.entry->size || b->address != at.entry->address ||
                    b->pool != p || b->stream != bin->stream)
                    *why = "a free set holds free blocks of its pool and stream";
            }
        }
    if (*why == NULL && in_sets != a->space.free_starts.count)
        *why = "every free block is in a free set";
    if (*why == NULL && a->total != a->space.reserved)
        *why = "total is what the ranges hold";
    if (*why == NULL && (uint64_t)a->stats.active_bytes[GM_STAT_ALL].current != a->space.active)
        *why = "active_bytes is the sum of active blocks";
    return *why == NULL;
}
