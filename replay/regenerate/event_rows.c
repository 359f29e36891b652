/* SPDX-License-Identifier: Apache-2.0
 *
 * The events of a regenerated snapshot. What the model decided stands in the recorder's columns, which become the
 * snapshot's; the rest is what the recorded event says that was being replayed.
 */
#include "replay/regenerate/regenerate_private.h"

#include <stdlib.h>
#include <string.h>

/* Traces that were not replayed, and those of pinned host memory, follow as they are. */
static bool add_unplayed(struct gm_event_recorder *r, struct gm_trace *trace)
{
    size_t first = trace->first;
    trace->first = r->events.count;
    for (size_t i = 0; i < trace->count && !r->has_no_memory; i++)
        gm_recorder_copy_row(r, first + i);
    return !r->has_no_memory;
}

static bool make_traces(struct gm_regenerated *out, struct gm_event_recorder *r)
{
    const struct gm_snapshot *s = r->snapshot;
    struct gm_trace *traces = gm_arena_calloc(&out->arena, s->trace_count, sizeof *traces);
    struct gm_trace *host = gm_arena_calloc(&out->arena, s->host_trace_count, sizeof *host);
    bool *is_played = gm_arena_calloc(&out->arena, s->trace_count, sizeof *is_played);
    if (traces == NULL || host == NULL || is_played == NULL)
        return false;
    for (size_t d = 0; d < s->trace_count; d++)
        traces[d] = s->traces[d];
    for (size_t i = 0; i < r->devices.n; i++) {
        const struct gm_recorded_device *device = &r->devices.v[i];
        if (device->device < 0 || (uint64_t)device->device >= s->trace_count)
            continue;
        traces[device->device].first = device->first_event;
        traces[device->device].count = device->event_count;
        is_played[device->device] = true;
    }
    for (size_t d = 0; d < s->trace_count; d++)
        if (!is_played[d] && !add_unplayed(r, &traces[d]))
            return false;
    for (size_t d = 0; d < s->host_trace_count; d++) {
        host[d] = s->host_traces[d];
        if (!add_unplayed(r, &host[d]))
            return false;
    }
    out->snapshot.traces = traces;
    out->snapshot.host_traces = host;
    return true;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* The recorder's columns are the snapshot's from now on; *pool is none of them. */
static bool take_columns(struct gm_regenerated *out, struct gm_event_recorder *r, uint32_t **pool, uint32_t **stream,
                         uint32_t **origin)
{
    struct gm_recorded_events taken = r->events;
    struct gm_events *e = &out->snapshot.events;
    r->events = (struct gm_recorded_events){0};
    *pool = taken.pool;
    *stream = taken.stream;
    *origin = taken.origin;
    e->count = taken.count;
    e->action = taken.action;
    e->addr = (struct gm_number_column){.plain = taken.addr};
    e->size = (struct gm_number_column){.plain = taken.size};
    void *const owned[] = {taken.action, taken.addr, taken.size, taken.stream};
    bool ok = true;
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        if (owned[i] != NULL)
            ok = gm_regenerated_own(out, owned[i]) && ok;
    return ok;
}

static bool copy_rare(struct gm_regenerated *out, struct gm_rare_column *column, const struct gm_rare_column *from,
                      const uint32_t *origin, bool only_same_kind)
{
    const struct gm_events *e = &out->snapshot.events;
    const uint8_t *recorded = out->recorded->events.action;
    if (from->v == NULL && (from->all == 0 || !only_same_kind))
        return true; /* as it is */
    uint32_t *v = gm_arena_calloc(&out->arena, e->count, sizeof *v);
    for (size_t i = 0; v != NULL && i < e->count; i++)
        if (!only_same_kind || e->action[i] == recorded[origin[i]])
            v[i] = gm_rare_at(from, origin[i]);
    column->v = v;
    return v != NULL;
}

/* Streams: one for all rows needs no column. */
static void put_streams(struct gm_events *e, uint32_t *stream)
{
    size_t i = 0;
    while (i < e->count && stream[i] == stream[0])
        i++;
    e->stream = i == e->count ? (struct gm_rare_column){NULL, e->count > 0 ? stream[0] : 0}
                              : (struct gm_rare_column){stream, 0};
}

static bool put_pools(struct gm_regenerated *out, const struct gm_event_recorder *r, const uint32_t *pool,
                      const uint32_t *origin)
{
    struct gm_events *e = &out->snapshot.events;
    const struct gm_rare_column *recorded = &out->recorded->events.pool;
    if (recorded->v == NULL && recorded->all == 0)
        return true;
    uint32_t *v = gm_arena_calloc(&out->arena, e->count, sizeof *v);
    for (size_t i = 0; v != NULL && i < e->count; i++)
        v[i] = gm_rare_at(recorded, origin[i]);
    for (size_t d = 0; v != NULL && d < r->devices.n; d++) {
        const struct gm_recorded_device *device = &r->devices.v[d];
        for (size_t i = device->first_event; i < device->first_event + device->event_count; i++)
            if (pool[i] != GM_AS_RECORDED && v[i] != 0)
                v[i] = r->pools.v[device->first_pool + pool[i]];
    }
    e->pool = (struct gm_rare_column){v, 0};
    return v != NULL;
}

static bool put_times_and_stacks(struct gm_regenerated *out, const struct gm_event_recorder *r, const uint32_t *origin)
{
    struct gm_events *e = &out->snapshot.events;
    const struct gm_events *recorded = &out->recorded->events;
    struct gm_stack_id *stack = gm_arena_calloc(&out->arena, e->count, sizeof *stack);
    const bool has_times = gm_events_have_times(recorded);
    uint64_t *time = has_times ? gm_arena_calloc(&out->arena, e->count, sizeof *time) : NULL;
    if (stack == NULL || (has_times && time == NULL))
        return false;
    for (size_t i = 0; i < e->count; i++)
        stack[i] = gm_event_stack(recorded, origin[i]);
    for (size_t i = 0; time != NULL && i < e->count; i++)
        time[i] = (uint64_t)gm_event_time_us(recorded, origin[i]);
    for (size_t d = 0; d < r->devices.n; d++)
        if (r->devices.v[d].has_failed_at_start && r->devices.v[d].event_count > 0)
            stack[r->devices.v[d].first_event + r->devices.v[d].event_count - 1].v = r->devices.v[d].failed_stack;
    e->stack = (struct gm_stack_column){.wide = stack};
    e->time_us = (struct gm_number_column){.plain = time};
    return true;
}

/* ---- extras ------------------------------------------------------------------------------------------------------ */

/* Whether the event is another one, or the column that `key` names was decided by the model, otherwise than recorded.
 */
static bool is_overruled(const struct gm_regenerated *out, const struct gm_extra *extra, size_t row, size_t from)
{
    static const char *const keys[] = {"addr", "size", "stream", "pool_id", "device_free"};
    const struct gm_events *now = &out->snapshot.events, *then = &out->recorded->events;
    if (now->action[row] != then->action[from])
        return true;
    size_t length;
    const char *text = gm_string(out->recorded, (struct gm_string_id){extra->key}, &length);
    if (extra->value.type == GM_LOOSE_MISSING ||
        (gm_event_addr(now, row) == gm_event_addr(then, from) && gm_event_size(now, row) == gm_event_size(then, from) &&
         gm_rare_at(&now->stream, row) == gm_rare_at(&then->stream, from) &&
         gm_rare_at(&now->pool, row) == gm_rare_at(&then->pool, from)))
        return false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i]) == length && memcmp(keys[i], text, length) == 0)
            return true;
    return false;
}

bool gm_regenerate_events(struct gm_regenerated *out, struct gm_event_recorder *r)
{
    const struct gm_events *recorded = &r->snapshot->events;
    uint32_t *pool;
    uint32_t *stream, *origin;
    if (!make_traces(out, r))
        return false;
    struct gm_events *e = &out->snapshot.events;
    bool ok = take_columns(out, r, &pool, &stream, &origin);
    if (ok)
        put_streams(e, stream);
    ok = ok && put_pools(out, r, pool, origin);
    free(pool);
    ok = ok && put_times_and_stacks(out, r, origin) &&
         copy_rare(out, &e->compile_context, &recorded->compile_context, origin, false) &&
         copy_rare(out, &e->user_metadata, &recorded->user_metadata, origin, false) &&
         copy_rare(out, &e->action_name, &recorded->action_name, origin, true) &&
         copy_rare(out, &e->category, &recorded->category, origin, true) &&
         gm_regenerate_extras(out, GM_ROW_EVENT, origin, e->count, is_overruled);
    free(origin);
    return ok;
}
