/* SPDX-License-Identifier: Apache-2.0
 *
 * What is left as a recording: its ops are the rows of a made-up one that has no segments, which the model plays once
 * more while a recorder listens, as it does for any other replay.
 */
#include "analyze/snapshot/builder.h"
#include "replay/shrink/shrink_private.h"

/* A free that follows at once has the one row of which the recorder makes both. `recorded`: the action it comes from.
 */
static uint8_t action_of(bool *is_put_off, const struct gm_demand_op *op, uint8_t recorded)
{
    switch ((enum gm_demand_kind)op->kind) {
    case GM_DEMAND_LET_GO:
        is_put_off[op->what] = true;
        return GM_ACTION_FREE_REQUESTED;
    case GM_DEMAND_FREE:
        if (recorded == GM_ACTION_FREE)
            return recorded;
        return is_put_off[op->what] ? GM_ACTION_FREE_COMPLETED : GM_ACTION_FREE_REQUESTED;
    case GM_DEMAND_ALLOC:
        return GM_ACTION_ALLOC;
    default:
        return recorded;
    }
}

static uint32_t pool_id(const struct gm_history *h, uint32_t pool)
{
    const struct gm_snapshot *s = h->snapshot;
    uint32_t id = s->events.pool.v == NULL ? 0 : s->pool_count;
    while (id-- > 1)
        if (s->pools[id].first == h->pools[pool].id_first && s->pools[id].second == h->pools[pool].id_second)
            return id;
    return 0;
}

/* Of an op that no recorded row made. */
static struct gm_event_row made_up(const struct gm_demand *p, const struct gm_demand_op *op)
{
    struct gm_event_row row = {.action = GM_ACTION_OTHER,
                               .time_us = gm_event_time_us(&p->h->snapshot->events, p->h->first)};
    if (op->kind != GM_DEMAND_ALLOC && op->kind != GM_DEMAND_FREE && op->kind != GM_DEMAND_LET_GO)
        return row;
    const struct gm_demand_item *item = &p->items.v[op->what];
    row.stack.v = op->kind == GM_DEMAND_ALLOC ? item->stack : 0;
    row.stream = item->stream;
    row.pool = pool_id(p->h, item->pool);
    return row;
}

static bool add_rows(struct gm_snapshot_memory *m, const struct gm_demand *p)
{
    bool *is_put_off = gm_arena_calloc(&m->arena, p->items.n + 1, sizeof *is_put_off); /* [item] */
    bool ok = is_put_off != NULL;
    for (size_t i = 0; ok && i < p->ops.n; i++) {
        const struct gm_demand_op *op = &p->ops.v[i];
        struct gm_event_row row =
            op->event == GM_NEVER ? made_up(p, op) : gm_event_row_at(&p->h->snapshot->events, p->h->first + op->event);
        row.action = action_of(is_put_off, op, row.action);
        ok = gm_builder_add_event(m, &row);
    }
    return ok;
}

/* The device's trace alone, without annotations, pinned memory and the other devices. */
static bool make_source(struct gm_snapshot *s, struct gm_snapshot_memory *m, const struct gm_demand *p)
{
    const struct gm_snapshot *recorded = p->h->snapshot;
    struct gm_snapshot made = {.memory = NULL};
    struct gm_trace *traces = gm_arena_calloc(&m->arena, recorded->trace_count, sizeof *traces);
    bool was_lost = false;
    for (size_t d = 0; traces != NULL && d < recorded->trace_count; d++) {
        const struct gm_trace *was = &recorded->traces[d];
        was_lost |= was->overflowed == GM_TRUE;
        traces[d] = (struct gm_trace){.max_entries = was->max_entries,
                                      .overflowed = was->overflowed == GM_TRUTH_ABSENT ? GM_TRUTH_ABSENT : GM_FALSE};
    }
    if (traces == NULL || !add_rows(m, p))
        return false;
    gm_builder_publish(m, &made);
    *s = *recorded;
    s->memory = m;
    s->events = made.events;
    traces[p->h->device].count = p->ops.n;
    s->traces = traces;
    s->segments.count = s->blocks.count = s->host_segments.count = s->host_blocks.count = 0;
    s->host_trace_count = s->annotation_count = s->warning_count = 0;
    static const enum gm_row_kind without[] = {GM_ROW_SEGMENT,      GM_ROW_BLOCK,      GM_ROW_EVENT,
                                               GM_ROW_HOST_SEGMENT, GM_ROW_HOST_BLOCK, GM_ROW_ANNOTATION};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        s->extras[without[i]] = (struct gm_extras){NULL, 0};
    return !was_lost || gm_forget_ring(s, &m->arena);
}

/* What a recorder asks of a history: where allocations come from. */
static bool make_history(struct gm_history *as, struct gm_snapshot *source, const struct gm_demand *p)
{
    struct gm_arena *arena = &source->memory->arena;
    uint32_t *born = gm_arena_calloc(arena, p->items.n + 1, sizeof *born);
    uint32_t *freed = gm_arena_calloc(arena, p->items.n + 1, sizeof *freed);
    struct gm_history_other *others = gm_arena_calloc(arena, p->items.n + 1, sizeof *others);
    if (born == NULL || freed == NULL || others == NULL)
        return false;
    for (size_t i = 0; i < p->items.n; i++) {
        freed[i] = GM_NEVER;
        others[i] = (struct gm_history_other){(uint32_t)i, p->items.v[i].stack, GM_NO_BLOCK};
    }
    for (size_t i = 0; i < p->ops.n; i++)
        if (p->ops.v[i].kind == GM_DEMAND_ALLOC)
            born[p->ops.v[i].what] = (uint32_t)i + 1;
    *as = (struct gm_history){.snapshot = source,
                              .device = p->h->device,
                              .count = p->ops.n,
                              .allocation_count = p->items.n,
                              .born = born,
                              .freed = freed,
                              .others = others,
                              .other_count = p->items.n};
    return true;
}

enum gm_status gm_shrunk_snapshot(struct gm_regenerated *out, struct gm_snapshot *source,
                                  const struct gm_shrunk *shrunk, const struct gm_shrink_device *device,
                                  struct gm_error *err)
{
    struct gm_event_recorder recorder;
    struct gm_history as;
    struct gm_outcome outcome;
    struct gm_snapshot_memory *m = gm_snapshot_memory_new();
    if (m == NULL || !make_source(source, m, &shrunk->program) || !make_history(&as, source, &shrunk->program)) {
        if (source->memory == NULL)
            gm_snapshot_memory_free(m);
        return gm_no_memory(err);
    }
    gm_recorder_init(&recorder, source);
    const struct gm_play play = {.program = &shrunk->program,
                                 .device = device,
                                 .placement = shrunk->placement,
                                 .most = UINT64_MAX,
                                 .recorder = &recorder,
                                 .as = &as};
    enum gm_status status = gm_play(&outcome, &play, err);
    GM_THEN(status, gm_regenerate(out, &recorder, NULL, NULL, err));
    gm_recorder_free(&recorder);
    return status;
}
