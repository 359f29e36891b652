/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/verify/follow.h"

#include "analyze/allocator/recorded_settings.h"
#include "analyze/base/order.h"
#include "analyze/timeline/history/making.h"

#include <stdlib.h>

bool gm_follow_init(struct gm_follow *f, struct gm_history *h, struct gm_allocator *model, size_t allocations)
{
    *f = (struct gm_follow){.h = h, .model = model};
    size_t streams = (size_t)h->snapshot->stream_count + 1;
    f->stream_of = malloc(streams * sizeof *f->stream_of);
    f->block_of = malloc((allocations + 1) * sizeof *f->block_of);
    for (size_t i = 0; f->stream_of != NULL && i < streams; i++)
        f->stream_of[i] = GM_SPACE_NONE;
    for (size_t i = 0; f->block_of != NULL && i < allocations; i++)
        f->block_of[i] = GM_SPACE_NONE;
    return f->stream_of != NULL && f->block_of != NULL;
}

void gm_follow_free(struct gm_follow *f)
{
    GM_FREE_ALL(f->stream_of, f->block_of, f->pool_of.v);
    *f = (struct gm_follow){0};
}

uint32_t gm_follow_stream(struct gm_follow *f, uint32_t stream)
{
    if (f->stream_of[stream] == GM_SPACE_NONE) {
        int64_t handle = gm_stream_handle(f->h->snapshot, stream);
        /* Handles are distinct, but an absent stream is the default one too. */
        f->stream_of[stream] =
            handle == 0 ? gm_allocator_stream(f->model, 0) : gm_allocator_add_stream(f->model, handle);
    }
    return f->stream_of[stream];
}

uint32_t gm_follow_pool(struct gm_follow *f, uint32_t pool)
{
    while (f->pool_of.n <= pool)
        if (!GM_VEC_PUSH(&f->pool_of, GM_SPACE_NONE)) {
            f->model->has_no_memory = true;
            return GM_SPACE_NONE;
        }
    if (f->pool_of.v[pool] == GM_SPACE_NONE) {
        const struct gm_history_pool *p = &f->h->pools[pool];
        bool is_known = p->id_first != GM_ABSENT;
        f->pool_of.v[pool] =
            gm_allocator_pool_of(f->model, is_known ? p->id_first : 0, is_known ? p->id_second : 0, p->is_small);
    }
    return f->pool_of.v[pool];
}

GM_ORDERING(by_address, struct gm_placed, GM_UP(address) || GM_UP(allocation));
GM_ORDERING(by_stream, struct gm_placed, GM_UP(stream) || GM_UP(address) || GM_UP(allocation));

static struct gm_placed *list_at_start(const struct gm_history *h, size_t *count,
                                       int (*order)(const void *, const void *))
{
    struct gm_placed *list = malloc((h->other_count + 1) * sizeof *list);
    *count = 0;
    for (size_t i = 0; list != NULL && i < h->other_count; i++) {
        const uint32_t a = h->others[i].allocation, stream = gm_history_stream(h, a).v;
        if (h->born[a] == 0 && h->freed[a] > 0)
            list[(*count)++] = (struct gm_placed){stream == 0 ? 0 : (uint64_t)h->snapshot->streams[stream],
                                                  gm_history_address(h, a), a};
    }
    if (list != NULL)
        qsort(list, *count, sizeof *list, order);
    return list;
}

struct gm_placed *gm_follow_requests_at_start(const struct gm_history *h, size_t *count)
{
    return list_at_start(h, count, by_stream);
}

bool gm_follow_expandable_at_start(const struct gm_history *h, bool recorded)
{
    const uint8_t *action = h->snapshot->events.action + h->first;
    for (size_t i = 0; i < h->segment_count; i++) {
        const struct gm_history_segment *s = &h->segments[i];
        bool is_default = gm_history_pool_is_said_default(&h->pools[s->pool]);
        if (action[s->event] == GM_ACTION_SEGMENT_MAP)
            return true;
        if (action[s->event] == GM_ACTION_SEGMENT_ALLOC && is_default) /* others may have an allocator of their own */
            return false;
    }
    return recorded;
}

static uint8_t action_of(const struct gm_history *h, const struct gm_history_segment *s)
{
    return h->snapshot->events.action[h->first + s->event];
}

bool *gm_follow_custom_pools(const struct gm_history *h, uint32_t from)
{
    bool *is_custom = calloc(h->pool_count + 1, sizeof *is_custom);
    if (is_custom == NULL)
        return NULL;
    for (size_t i = 0; i < h->segment_count; i++)
        is_custom[h->segments[i].pool] |= action_of(h, &h->segments[i]) == GM_ACTION_SEGMENT_ALLOC &&
                                          h->segments[i].event >= from &&
                                          !gm_history_pool_is_default(&h->pools[h->segments[i].pool]);
    for (size_t i = 0; i < h->segment_count; i++)
        if (action_of(h, &h->segments[i]) == GM_ACTION_SEGMENT_MAP)
            is_custom[h->segments[i].pool] = false;
    return is_custom;
}

struct gm_allocator_home *gm_follow_homes(struct gm_allocator *model, const struct gm_history *h, const bool *is_custom)
{
    struct gm_allocator_home *home = calloc(h->pool_count + 1, sizeof *home);
    model->private_by_segments = !gm_settings_expand_private(h->snapshot);
    for (size_t p = 0; home != NULL && p < h->pool_count && !model->has_no_memory; p++) {
        const struct gm_history_pool *pool = &h->pools[p];
        bool is_known = pool->id_first != GM_ABSENT;
        home[p] = gm_allocator_home_of(model, is_known ? pool->id_first : 0, is_known ? pool->id_second : 0);
        if (!model->has_no_memory && is_custom[p] && !model->private_by_segments && !home[p].is_default)
            model->pools.v[pool->is_small ? home[p].small : home[p].large].is_custom = true;
        if (pool->never_splits)
            gm_allocator_never_split(model, home[p]);
    }
    return home;
}

uint32_t gm_follow_expandable_since(const struct gm_history *h)
{
    uint32_t since = GM_NEVER;
    bool was_off = false;
    for (size_t i = 0; i < h->segment_count; i++) {
        uint8_t action = action_of(h, &h->segments[i]);
        if (action == GM_ACTION_SEGMENT_MAP && since == GM_NEVER) {
            since = was_off ? h->segments[i].event : 0;
        } else if (action == GM_ACTION_SEGMENT_ALLOC && gm_history_pool_is_default(&h->pools[h->segments[i].pool])) {
            since = GM_NEVER;
            was_off = true;
        }
    }
    return since;
}

static bool adopt_segments(struct gm_follow *f)
{
    GM_FREED_BY(gm_space_free) struct gm_space start = {0};
    bool ok = gm_history_segments_at_start(f->h, &start);
    for (size_t i = 0; ok && i < start.ranges.n; i++) {
        const struct gm_space_range *range = &start.ranges.v[i];
        const struct gm_space_block *b = &start.blocks.v[range->last];
        uint32_t stream = gm_follow_stream(f, b->stream);
        uint32_t pool = gm_follow_pool(f, b->pool);
        if (!f->model->has_no_memory)
            gm_allocator_adopt_segment(f->model, range->address, range->size, stream, pool, b->is_expandable);
        ok = !f->model->has_no_memory;
    }
    return ok;
}

/* Bytes of a block of moment 0 that is gone at the end, by the rule alone: all of a gap that is too small to be split
 * off, else what the request is rounded to. */
static uint64_t size_by_rule(const struct gm_follow *f, const struct gm_placed *p, uint64_t next, bool is_expandable)
{
    const struct gm_space *space = &f->model->space;
    uint64_t rounded = gm_rules_round(&f->model->conf.rules, gm_requested(f->h, p->allocation));
    uint32_t range = gm_space_range_of(space, p->address);
    if (range == GM_SPACE_NONE)
        return rounded;
    const struct gm_space_block *b = &space->blocks.v[space->ranges.v[range].last];
    uint64_t end = space->ranges.v[range].address + space->ranges.v[range].size;
    uint64_t room = (next < end ? next : end) - p->address;
    if (rounded >= room || gm_rules_split(&f->model->conf.rules, f->model->pools.v[b->pool].is_small,
                                          b->is_expandable || is_expandable, rounded, room - rounded))
        return rounded;
    return room;
}

bool gm_follow_adopt(struct gm_follow *f, bool use_learnt, uint64_t *learnt)
{
    struct gm_history *h = f->h;
    size_t n;
    bool is_expandable = f->model->conf.expandable_segments;
    if (use_learnt)
        is_expandable = gm_follow_expandable_at_start(h, is_expandable);
    struct gm_placed *list = list_at_start(h, &n, by_address);
    *learnt = 0;
    bool ok = list != NULL && adopt_segments(f);
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t a = list[i].allocation;
        uint64_t size = gm_making_block_bytes(h, a);
        if (gm_final_block(h, a) == GM_NO_BLOCK) {
            uint64_t ruled = size_by_rule(f, &list[i], i + 1 < n ? list[i + 1].address : UINT64_MAX, is_expandable);
            *learnt += ruled != size;
            size = use_learnt ? size : ruled;
        }
        f->block_of[a] =
            gm_allocator_adopt_block(f->model, list[i].address, size, gm_requested(h, a), a, gm_let_go(h, a) == 0);
        ok = !f->model->has_no_memory;
    }
    free(list);
    gm_stats_begin_peaks(&f->model->stats);
    return ok;
}
