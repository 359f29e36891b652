/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose memory went back, by the order in which it did. empty_cache() and a retry give back the large, then the small
 * segments of the default pools, then, of each private pool that nobody uses any more, the small, then the large ones;
 * within each in the order of the free set, whole segments before pages. Up to PyTorch 2.11 no event names a pool: what
 * comes too late for a default one was a private one's, and so was what could have gone back and stayed. A MemPool
 * gives back its own when it ends.
 */
#include "replay/verify/verify_private.h"

#include <stdlib.h>

/* What says which segments: the rows of h->segments of the growths that made [address, address + size). */
static void note_growths(struct gm_verifying *v, uint32_t event, uint64_t address, uint64_t size)
{
    const struct gm_events *e = gm_events_of(v);
    const struct gm_history *h = v->h;
    struct gm_release_order *o = &v->order;
    uint64_t found = 0;
    for (size_t i = h->segment_count; i-- > 0 && found < size && o->looked_at < o->budget; o->looked_at++) {
        const size_t row = gm_row(v, h->segments[i].event);
        const uint64_t from = gm_event_addr(e, row) > address ? gm_event_addr(e, row) : address;
        const uint64_t end = gm_event_addr(e, row) + gm_event_size(e, row),
                       to = end < address + size ? end : address + size;
        if (h->segments[i].event >= event || !gm_action_is_growth(e->action[row]) || from >= to)
            continue;
        found += to - from;
        v->model.has_no_memory |= !GM_VEC_PUSH(&o->rows, (uint32_t)i);
    }
}

/* The rows noted so far are of one private pool. */
static void end_group(struct gm_verifying *v)
{
    struct gm_release_order *o = &v->order;
    for (size_t i = 0; i < o->rows.n; i++)
        o->found[o->rows.v[i]] = o->number;
    o->rows.n = 0;
    o->has_last = false;
}

static bool is_before(const struct gm_release_place *a, const struct gm_release_place *b)
{
    if (a->phase != b->phase)
        return a->phase < b->phase;
    if (a->stream != b->stream)
        return a->stream < b->stream;
    return a->size != b->size ? a->size < b->size : a->address < b->address;
}

/* Whether the run of releases is one that keeps to the order. */
static bool is_ordered(const struct gm_verifying *v, const struct gm_release_run *run)
{
    const struct gm_conf *conf = &v->model.conf;
    return run->cause == GM_RELEASE_EMPTY_CACHE ||
           (run->cause == GM_RELEASE_REQUEST && conf->gc_threshold <= 0 && conf->rules.max_split == UINT64_MAX);
}

static const struct gm_release_run *run_of(struct gm_verifying *v, uint32_t event)
{
    struct gm_release_order *o = &v->order;
    while (o->next < o->releases.count && o->releases.v[o->next].last < event)
        o->next++;
    if (o->found == NULL || o->next == o->releases.count)
        return NULL;
    const struct gm_release_run *run = &o->releases.v[o->next];
    return is_ordered(v, run) ? run : NULL;
}

bool gm_release_order_begin(struct gm_verifying *v)
{
    struct gm_release_order *o = &v->order;
    if (!v->guesses_pools)
        return true;
    o->found = calloc(v->h->segment_count + 1, sizeof *o->found);
    o->budget = ((uint64_t)v->h->count + 64) * 64;
    return gm_releases_find(&o->releases, v->h) && o->found != NULL;
}

void gm_release_order_see(struct gm_verifying *v, uint32_t event)
{
    struct gm_release_order *o = &v->order;
    const struct gm_release_run *run = run_of(v, event);
    const size_t row = gm_row(v, event);
    const uint64_t address = gm_event_addr(gm_events_of(v), row);
    const uint32_t block = gm_space_block_of(&v->model.space, address);
    if (run == NULL || block == GM_SPACE_NONE)
        return;
    if (event == run->first) {
        end_group(v);
        o->is_private = run->may_be_mempools;
        o->has_default = false;
    }
    const struct gm_space_block *b = &v->model.space.blocks.v[block];
    const struct gm_allocator_pool *pool = &v->model.pools.v[b->pool];
    const bool is_unmap = gm_events_of(v)->action[row] == GM_ACTION_SEGMENT_UNMAP;
    struct gm_release_place place = {.phase = 2 * pool->is_small + is_unmap,
                                     .stream = (uint64_t)v->model.handles.v[b->stream],
                                     .size = b->size,
                                     .address = b->address};
    if (!o->is_private &&
        (pool->id_first != 0 || pool->id_second != 0 || (o->has_last && is_before(&place, &o->last)))) {
        o->is_private = true;
        o->has_last = false;
    }
    o->has_default |= !o->is_private;
    if (o->is_private) {
        place.phase = 2 * !pool->is_small + is_unmap;
        if (o->has_last && is_before(&place, &o->last) && !run->may_be_mempools)
            end_group(v);
        o->number = o->rows.n == 0 ? event + 1 : o->number;
        note_growths(v, event, address, gm_event_size(gm_events_of(v), row));
    }
    o->last = place;
    o->has_last = true;
}

/* What of the default pools could have gone back with the others. */
static void see_what_stays(struct gm_verifying *v, uint32_t event)
{
    struct gm_release_order *o = &v->order;
    for (size_t p = 0; p < v->model.pools.n; p++) {
        const struct gm_allocator_pool *pool = &v->model.pools.v[p];
        if (pool->id_first != 0 || pool->id_second != 0)
            continue;
        for (size_t i = 0; i < pool->bins.n; i++) {
            const struct gm_free_set *set = &pool->bins.v[i].set;
            struct gm_free_place at = gm_free_set_first(set);
            for (; at.entry != NULL && o->looked_at < o->budget; gm_free_set_next(set, &at), o->looked_at++)
                if (gm_allocator_can_give_back(&v->model, at.entry->block))
                    note_growths(v, event, at.entry->address, at.entry->size);
        }
    }
}

void gm_release_order_end_run(struct gm_verifying *v, uint32_t event)
{
    struct gm_release_order *o = &v->order;
    const struct gm_release_run *run = run_of(v, event);
    if (run == NULL || event != run->last)
        return;
    end_group(v);
    o->number = (uint32_t)v->h->count + event + 1;
    if (o->has_default)
        see_what_stays(v, event);
    end_group(v);
}

uint32_t gm_release_order_pool(const struct gm_verifying *v, uint32_t event)
{
    const struct gm_history *h = v->h;
    if (v->hints == NULL)
        return 0;
    const size_t row = gm_history_segment_row(h, event);
    return row < h->segment_count && h->segments[row].event == event ? v->hints[row] : 0;
}

void gm_release_order_free(struct gm_release_order *o)
{
    gm_releases_free(&o->releases);
    GM_FREE_ALL(o->rows.v, o->found);
    *o = (struct gm_release_order){0};
}
