/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/regenerate/event_recorder.h"

#include "replay/regenerate/regenerate_private.h"

#include <stdlib.h>

#define EVENT_COLUMNS(X) X(action) X(addr) X(size) X(stream) X(pool) X(origin)

void gm_recorder_init(struct gm_event_recorder *r, const struct gm_snapshot *snapshot)
{
    *r = (struct gm_event_recorder){.snapshot = snapshot};
}

void gm_recorder_free(struct gm_event_recorder *r)
{
#define FREE(column) free(r->events.column);
    EVENT_COLUMNS(FREE)
    free(r->devices.v);
    GM_FREE_ALL(r->segments.v, r->blocks.v, r->pools.v);
    *r = (struct gm_event_recorder){0};
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static bool resize(void *where, size_t count, size_t size)
{
    void *grown = count > SIZE_MAX / size ? NULL : realloc(*(void **)where, count * size);
    if (grown == NULL)
        return false;
    *(void **)where = grown;
    return true;
}

static bool make_room(struct gm_event_recorder *r, size_t extra)
{
    struct gm_recorded_events *e = &r->events;
    size_t need = e->count + extra;
    if (need <= e->capacity)
        return true;
    size_t capacity = e->capacity + e->capacity / 4 > need ? e->capacity + e->capacity / 4 : need;
#define RESIZE(column) resize(&e->column, capacity, sizeof *e->column) &&
    if (!(EVENT_COLUMNS(RESIZE) true)) {
        r->has_no_memory = true;
        return false;
    }
    e->capacity = capacity;
    return true;
}

static void put_row(struct gm_event_recorder *r, uint8_t action, uint64_t addr, uint64_t size, uint32_t stream,
                    uint32_t pool, size_t row)
{
    struct gm_recorded_events *e = &r->events;
    if (e->count == e->capacity && !make_room(r, 64))
        return;
    e->action[e->count] = action;
    e->addr[e->count] = addr;
    e->size[e->count] = size;
    e->stream[e->count] = stream;
    e->pool[e->count] = pool;
    e->origin[e->count] = (uint32_t)row;
    e->count++;
}

void gm_recorder_begin(struct gm_event_recorder *r, const struct gm_history *h)
{
    if (r->h != NULL) { /* the one before came to nothing */
        r->devices.n--;
        r->events.count = r->devices.v[r->devices.n].first_event;
    }
    r->h = NULL;
    struct gm_recorded_device device = {.device = h->device,
                                        .first_event = r->events.count,
                                        .first_segment = r->segments.n,
                                        .first_block = r->blocks.n,
                                        .first_pool = r->pools.n};
    if (!GM_VEC_PUSH(&r->devices, device) || !make_room(r, h->count)) {
        r->has_no_memory = true;
        return;
    }
    r->h = h;
}

void gm_recorder_put(struct gm_event_recorder *r, enum gm_action action, uint64_t addr, uint64_t size, uint32_t stream,
                     uint32_t pool, uint32_t origin)
{
    if (r->h != NULL && origin < r->h->count)
        put_row(r, (uint8_t)action, addr, size, stream, pool, r->h->first + origin);
}

void gm_recorder_hear(struct gm_event_recorder *r, enum gm_allocator_event event, uint64_t address, uint64_t size,
                      uint32_t stream, uint32_t pool, uint32_t origin)
{
    static const uint8_t actions[] = {[GM_EVENT_ALLOC] = GM_ACTION_ALLOC,
                                      [GM_EVENT_FREE_REQUESTED] = GM_ACTION_FREE_REQUESTED,
                                      [GM_EVENT_FREE_COMPLETED] = GM_ACTION_FREE_COMPLETED,
                                      [GM_EVENT_SEGMENT_ALLOC] = GM_ACTION_SEGMENT_ALLOC,
                                      [GM_EVENT_SEGMENT_FREE] = GM_ACTION_SEGMENT_FREE,
                                      [GM_EVENT_SEGMENT_MAP] = GM_ACTION_SEGMENT_MAP,
                                      [GM_EVENT_SEGMENT_UNMAP] = GM_ACTION_SEGMENT_UNMAP,
                                      [GM_EVENT_OOM] = GM_ACTION_OOM};
    if (r->h == NULL || origin >= r->h->count)
        return;
    uint8_t action = actions[event];
    uint8_t recorded = r->snapshot->events.action[r->h->first + origin];
    bool is_only_completed = recorded == GM_ACTION_FREE || recorded == GM_ACTION_FREE_COMPLETED;
    if (event == GM_EVENT_FREE_REQUESTED && is_only_completed)
        return;
    if (event == GM_EVENT_FREE_COMPLETED && recorded == GM_ACTION_FREE)
        action = GM_ACTION_FREE;
    put_row(r, action, address, size, stream, pool, r->h->first + origin);
}

void gm_recorder_copy(struct gm_event_recorder *r, uint32_t event, bool with_failures)
{
    if (r->h == NULL)
        return;
    size_t row = r->h->first + event;
    switch (r->snapshot->events.action[row]) {
    case GM_ACTION_ALLOC:
    case GM_ACTION_FREE_REQUESTED:
    case GM_ACTION_FREE_COMPLETED:
    case GM_ACTION_FREE:
    case GM_ACTION_SEGMENT_ALLOC:
    case GM_ACTION_SEGMENT_FREE:
    case GM_ACTION_SEGMENT_MAP:
    case GM_ACTION_SEGMENT_UNMAP:
        return;
    case GM_ACTION_OOM:
        if (!with_failures)
            return;
        break;
    default:
        break;
    }
    gm_recorder_copy_row(r, row);
}

void gm_recorder_copy_row(struct gm_event_recorder *r, size_t row)
{
    const struct gm_events *e = &r->snapshot->events;
    put_row(r, e->action[row], gm_event_addr(e, row), gm_event_size(e, row), gm_rare_at(&e->stream, row),
            GM_AS_RECORDED, row);
}

void gm_recorder_fail_at_start(struct gm_event_recorder *r, uint64_t device_free, uint64_t size, uint32_t stream,
                               uint32_t pool, uint32_t allocation)
{
    if (r->h == NULL)
        return;
    gm_recorder_put(r, GM_ACTION_OOM, device_free, size, stream, pool, 0);
    r->devices.v[r->devices.n - 1].has_failed_at_start = true;
    r->devices.v[r->devices.n - 1].failed_stack = gm_stack_of(r->h, allocation);
}

size_t gm_recorder_mark(const struct gm_event_recorder *r)
{
    return r->events.count;
}

void gm_recorder_take_back(struct gm_event_recorder *r, size_t mark)
{
    struct gm_recorded_events *e = &r->events;
    size_t kept = mark;
    for (size_t i = mark; i < e->count; i++) {
        if (e->action[i] != GM_ACTION_SEGMENT_ALLOC && e->action[i] != GM_ACTION_SEGMENT_MAP)
            continue;
#define MOVE(column) e->column[kept] = e->column[i];
        EVENT_COLUMNS(MOVE)
        kept++;
    }
    e->count = kept;
}

/* ---- the end of a device ----------------------------------------------------------------------------------------- */

/* From the model's numbers of streams to gm_stream_ids; the caller frees it. */
static uint32_t *stream_ids(const struct gm_event_recorder *r, const struct gm_allocator *model,
                            const uint32_t *stream_of)
{
    uint32_t *ids = calloc(model->handles.n + 1, sizeof *ids);
    for (uint32_t id = r->snapshot->stream_count; ids != NULL && id-- > 1;)
        if (stream_of[id] < model->handles.n)
            ids[stream_of[id]] = id;
    return ids;
}

/* The gm_pool_id of each pool of the model; 0 if the file has none such. */
static bool name_pools(struct gm_event_recorder *r, const struct gm_allocator *model)
{
    const struct gm_snapshot *s = r->snapshot;
    const size_t first = r->pools.n;
    for (size_t p = 0; p < model->pools.n; p++)
        if (!GM_VEC_PUSH(&r->pools, 0))
            return false;
    for (uint32_t id = s->pool_count; id-- > 1;)
        for (int is_small = 0; is_small < 2; is_small++) {
            const uint32_t p = gm_allocator_find_pool(model, s->pools[id].first, s->pools[id].second, is_small != 0);
            if (p != GM_MAP_NONE)
                r->pools.v[first + p] = id;
        }
    return true;
}

static void name_streams(struct gm_event_recorder *r, const struct gm_recorded_device *device, const uint32_t *ids,
                         size_t count)
{
    struct gm_recorded_events *e = &r->events;
    const struct gm_rare_column *recorded = &r->snapshot->events.stream;
    for (size_t i = device->first_event; i < e->count; i++) {
        if (e->pool[i] == GM_AS_RECORDED)
            continue;
        bool is_known = e->stream[i] < count && gm_rare_at(recorded, e->origin[i]) != 0;
        e->stream[i] = is_known ? ids[e->stream[i]] : 0;
    }
}

void gm_recorder_end(struct gm_event_recorder *r, const struct gm_allocator *model, const uint32_t *stream_of)
{
    if (r->h == NULL)
        return;
    struct gm_recorded_device *device = &r->devices.v[r->devices.n - 1];
    GM_FREED uint32_t *ids = stream_ids(r, model, stream_of);
    bool ok = ids != NULL && name_pools(r, model);
    if (ok)
        name_streams(r, device, ids, model->handles.n);
    ok = ok && gm_record_state(r, device, model, ids);
    device->event_count = r->events.count - device->first_event;
    device->segment_count = r->segments.n - device->first_segment;
    r->has_no_memory |= !ok;
    r->h = NULL;
}

void gm_recorder_cut(struct gm_event_recorder *r, const struct gm_history *h, uint32_t from, uint32_t to,
                     const struct gm_space *space)
{
    gm_recorder_begin(r, h);
    if (r->h == NULL)
        return;
    struct gm_recorded_device *device = &r->devices.v[r->devices.n - 1];
    for (uint32_t event = from; event < to; event++)
        gm_recorder_copy_row(r, h->first + event);
    r->has_no_memory |= space != NULL && !gm_record_moment(r, device, space, to);
    device->event_count = r->events.count - device->first_event;
    device->segment_count = r->segments.n - device->first_segment;
    r->h = NULL;
}
