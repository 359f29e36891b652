/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/model/allocator.h"

#include "analyze/base/hash.h"
#include "analyze/base/order.h"
#include "replay/model/allocator_private.h"

#include <stdlib.h>

void gm_allocator_init(struct gm_allocator *a, const struct gm_conf *conf, const struct gm_device *device,
                       const struct gm_allocator_sink *sink)
{
    *a = (struct gm_allocator){
        .conf = *conf, .device = device, .sink = sink, .limit = UINT64_MAX, .origin = GM_ORIGIN_UNKNOWN};
    a->space.has_no_starts = true; /* malloc and free need none */
    if (conf->memory_fraction < 1 && device->total_bytes != UINT64_MAX)
        a->limit = (uint64_t)(conf->memory_fraction * (double)device->total_bytes);
    a->stats.max_split_size = conf->rules.max_split > INT64_MAX ? -1 : (int64_t)conf->rules.max_split;
}

void gm_allocator_free(struct gm_allocator *a)
{
    for (size_t i = 0; i < a->pools.n; i++) {
        for (size_t k = 0; k < a->pools.v[i].bins.n; k++)
            gm_free_set_clear(&a->pools.v[i].bins.v[k].set);
        GM_FREE_ALL(a->pools.v[i].bins.v, a->pools.v[i].bin_of.v);
    }
    GM_FREE_ALL(a->pools.v, a->handles.v, a->reservations.v);
    gm_map_free(&a->gap_ages);
    gm_map_free(&a->pool_of_id);
    GM_FREE_ALL(a->requested.v, a->gc_base.v, a->pending.v, a->freed_by.v, a->grown_by.v);
    gm_space_free(&a->space);
    *a = (struct gm_allocator){0};
}

/* ---- streams, pools, free sets ----------------------------------------------------------------------------------- */

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

/* Where pools of that id are found in `pool_of_id`. Those of others may be there, too: `next` leads on. */
static uint64_t key_of(uint64_t id_first, uint64_t id_second)
{
    const uint64_t id[2] = {id_first, id_second};
    return id_first == 0 && id_second == 0 ? 0 : gm_hash_bytes(id, sizeof id); /* nearly all are the default one */
}

uint32_t gm_allocator_find_pool(const struct gm_allocator *a, uint64_t id_first, uint64_t id_second, bool is_small)
{
    uint32_t i = gm_map_get(&a->pool_of_id, key_of(id_first, id_second));
    while (i != GM_MAP_NONE && (a->pools.v[i].id_first != id_first || a->pools.v[i].id_second != id_second ||
                                a->pools.v[i].is_small != is_small))
        i = a->pools.v[i].next;
    return i;
}

uint32_t gm_allocator_pool_of(struct gm_allocator *a, uint64_t id_first, uint64_t id_second, bool is_small)
{
    const uint32_t found = gm_allocator_find_pool(a, id_first, id_second, is_small);
    if (found != GM_MAP_NONE)
        return found;
    const uint64_t key = key_of(id_first, id_second);
    struct gm_allocator_pool fresh = {
        .id_first = id_first, .id_second = id_second, .is_small = is_small, .next = gm_map_get(&a->pool_of_id, key)};
    uint32_t before;
    if (a->pools.n >= GM_MAP_NONE || !GM_VEC_ROOM(&a->pools, 1) ||
        !gm_map_put(&a->pool_of_id, key, (uint32_t)a->pools.n, &before)) {
        a->has_no_memory = true;
        return GM_MAP_NONE;
    }
    a->pools.v[a->pools.n++] = fresh;
    return (uint32_t)(a->pools.n - 1);
}

/* ---- private pools ----------------------------------------------------------------------------------------------- */

void gm_allocator_set_freeable(struct gm_allocator *a, struct gm_allocator_home home, bool is_freeable)
{
    if (home.is_default)
        return;
    a->pools.v[home.small].is_freeable = is_freeable;
    a->pools.v[home.large].is_freeable = is_freeable;
}

void gm_allocator_never_split(struct gm_allocator *a, struct gm_allocator_home home)
{
    if (a->has_no_memory || home.is_default)
        return;
    a->pools.v[home.small].never_splits = true;
    a->pools.v[home.large].never_splits = true;
}

/* ---- free sets --------------------------------------------------------------------------------------------------- */

struct gm_free_set *gm_allocator_make_set(struct gm_allocator *a, uint32_t pool, uint32_t stream)
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

const struct gm_free_set *gm_allocator_free_blocks(const struct gm_allocator *a, uint32_t pool, uint32_t stream)
{
    const struct gm_allocator_pool *p = &a->pools.v[pool];
    uint32_t bin = stream < p->bin_of.n ? p->bin_of.v[stream] : GM_SPACE_NONE;
    return bin == GM_SPACE_NONE ? NULL : &p->bins.v[bin].set;
}

bool gm_allocator_is_before(const struct gm_allocator *a, uint32_t block, uint32_t other)
{
    const struct gm_free_entry entry = gm_free_entry_of(a, block), second = gm_free_entry_of(a, other);
    return gm_free_is_before(&entry, &second);
}

uint32_t gm_allocator_next_free(const struct gm_allocator *a, uint32_t block)
{
    const struct gm_space_block *b = &a->space.blocks.v[block];
    struct gm_free_place at = gm_place_of_free(a, block);
    gm_free_set_next(gm_allocator_free_blocks(a, b->pool, b->stream), &at);
    return at.entry == NULL ? GM_SPACE_NONE : at.entry->block;
}

/* For comparing bins without a global: the handle lies beside the bin. */
struct keyed_bin {
    uint64_t handle;
    uint32_t bin;
};

GM_ORDERING(by_handle, struct keyed_bin, GM_UP(handle));

bool gm_allocator_bins(struct gm_allocator *a, uint32_t pool, struct gm_bin_list *list)
{
    const struct gm_allocator_pool *p = &a->pools.v[pool];
    GM_FREED struct keyed_bin *keyed = malloc((p->bins.n + 1) * sizeof *keyed);
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
    return ok;
}

bool gm_add_block_room(struct gm_allocator *a)
{
    size_t need = a->space.blocks.n + 4;
    while (a->requested.n < need)
        if (!GM_VEC_PUSH(&a->requested, 0))
            return false;
    while (a->gc_base.n < need)
        if (!GM_VEC_PUSH(&a->gc_base, 0))
            return false;
    while (a->keeps_objects && a->grown_by.n < need)
        if (!GM_VEC_PUSH(&a->grown_by, GM_ORIGIN_UNKNOWN))
            return false;
    while (a->freed_by.n < need)
        if (!GM_VEC_PUSH(&a->freed_by, 0))
            return false;
    return true;
}

void gm_enter_free_at(struct gm_allocator *a, uint32_t block, const struct gm_free_place *place)
{
    const struct gm_space_block *b = gm_block(a, block);
    struct gm_free_set *set = gm_allocator_set(a, b->pool, b->stream);
    const struct gm_free_entry entry = gm_free_entry_of(a, block);
    if (set == NULL || !gm_make_block_room(a) ||
        !(place->entry == NULL ? gm_free_set_insert(set, &entry) : gm_free_set_change(set, place, &entry))) {
        a->has_no_memory = true;
        return;
    }
    if (a->conf.gc_threshold > 0) /* else all are 0 */
        a->gc_base.v[block] = a->pools.v[b->pool].searches;
}

void gm_enter_free(struct gm_allocator *a, uint32_t block)
{
    gm_enter_free_at(a, block, &(struct gm_free_place){.entry = NULL});
}

void gm_leave_free(struct gm_allocator *a, uint32_t block)
{
    const struct gm_space_block *b = gm_block(a, block);
    struct gm_free_set *set = gm_allocator_set(a, b->pool, b->stream);
    const struct gm_free_entry entry = gm_free_entry_of(a, block);
    if (set != NULL)
        gm_free_set_remove(set, &entry);
}

bool gm_device_gave(struct gm_allocator *a, enum gm_device_status status)
{
    a->has_failed |= status == GM_DEVICE_FAILED;
    return status == GM_DEVICE_OK;
}
