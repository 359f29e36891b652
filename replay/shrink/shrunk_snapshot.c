/* SPDX-License-Identifier: Apache-2.0
 *
 * What is left as a recording: its ops are the rows of a made-up one that has no segments, which the model plays once
 * more while a recorder listens, as it does for any other replay.
 */
#include "replay/shrink/shrink_private.h"

struct rows {
    const struct gm_shrunk *shrunk;
    const struct gm_history *h;
    struct gm_shrunk_source *source;
    size_t count;
    uint8_t *action;
    uint64_t *addr, *size, *time_us;
    struct gm_stack_id *stack;
    bool *is_put_off; /* [item]: its free was asked for before */
};

/* The recorded row that an op comes from, or GM_NO_ROW. */
static uint32_t origin(const struct rows *r, const struct gm_demand_op *op)
{
    return op->event == GM_NEVER ? GM_NO_ROW : (uint32_t)r->h->first + op->event;
}

/* A free that follows at once has the one row of which the recorder makes both. */
static uint8_t action_of(struct rows *r, const struct gm_demand_op *op, uint32_t row)
{
    const uint8_t recorded = row == GM_NO_ROW ? GM_ACTION_OTHER : r->h->snapshot->events.action[row];
    switch ((enum gm_demand_kind)op->kind) {
    case GM_DEMAND_LET_GO:
        r->is_put_off[op->what] = true;
        return GM_ACTION_FREE_REQUESTED;
    case GM_DEMAND_FREE:
        if (recorded == GM_ACTION_FREE)
            return recorded;
        return r->is_put_off[op->what] ? GM_ACTION_FREE_COMPLETED : GM_ACTION_FREE_REQUESTED;
    case GM_DEMAND_ALLOC:
        return GM_ACTION_ALLOC;
    default:
        return recorded;
    }
}

static bool put_rows(struct rows *r, struct gm_arena *arena)
{
    const struct gm_demand *p = &r->shrunk->program;
    const struct gm_events *e = &r->h->snapshot->events;
    r->action = gm_arena_calloc(arena, r->count, sizeof *r->action);
    r->addr = gm_arena_calloc(arena, r->count, sizeof *r->addr);
    r->size = gm_arena_calloc(arena, r->count, sizeof *r->size);
    r->stack = gm_arena_calloc(arena, r->count, sizeof *r->stack);
    r->time_us = gm_arena_calloc(arena, r->count, sizeof *r->time_us);
    r->is_put_off = gm_arena_calloc(arena, p->items.n + 1, sizeof *r->is_put_off);
    if (r->action == NULL || r->addr == NULL || r->size == NULL || r->stack == NULL || r->time_us == NULL ||
        r->is_put_off == NULL)
        return false;
    for (size_t i = 0; i < r->count; i++) {
        const struct gm_demand_op *op = &p->ops.v[i];
        const uint32_t row = origin(r, op);
        const bool is_alloc = op->kind == GM_DEMAND_ALLOC;
        r->action[i] = action_of(r, op, row);
        r->stack[i].v = row != GM_NO_ROW ? e->stack[row].v : is_alloc ? p->items.v[op->what].stack : 0;
        r->time_us[i] = (uint64_t)gm_event_time_us(e, row != GM_NO_ROW ? row : r->h->first);
    }
    return true;
}

/* The pool id of an op that has no row. */
static uint32_t pool_id(const struct rows *r, const struct gm_demand_op *op)
{
    const struct gm_snapshot *s = r->h->snapshot;
    if (op->kind != GM_DEMAND_ALLOC && op->kind != GM_DEMAND_FREE && op->kind != GM_DEMAND_LET_GO)
        return 0;
    const struct gm_history_pool *pool = &r->h->pools[r->shrunk->program.items.v[op->what].pool];
    uint32_t id = s->pool_count;
    while (id-- > 1)
        if (s->pools[id].first == pool->id_first && s->pools[id].second == pool->id_second)
            return id;
    return 0;
}

enum known { IS_STREAM, IS_POOL, IS_OTHER };

static bool put_rare(const struct rows *r, struct gm_arena *arena, struct gm_rare_column *out,
                     const struct gm_rare_column *from, enum known what)
{
    const struct gm_demand *p = &r->shrunk->program;
    if (from->v == NULL && (from->all == 0 || what != IS_OTHER)) {
        *out = *from;
        return true;
    }
    uint32_t *v = gm_arena_calloc(arena, r->count, sizeof *v);
    for (size_t i = 0; v != NULL && i < r->count; i++) {
        const struct gm_demand_op *op = &p->ops.v[i];
        const uint32_t row = origin(r, op);
        if (row != GM_NO_ROW)
            v[i] = gm_rare_at(from, row);
        else if (what == IS_STREAM && op->kind == GM_DEMAND_ALLOC)
            v[i] = p->items.v[op->what].stream;
        else if (what == IS_POOL)
            v[i] = pool_id(r, op);
    }
    *out = (struct gm_rare_column){v, 0};
    return v != NULL;
}

/* The device's trace alone, without annotations, pinned memory and the other devices. */
static bool put_trace(struct rows *r, struct gm_arena *arena)
{
    const struct gm_snapshot *recorded = r->h->snapshot;
    struct gm_snapshot *s = &r->source->snapshot;
    struct gm_trace *traces = gm_arena_calloc(arena, recorded->trace_count, sizeof *traces);
    for (size_t d = 0; traces != NULL && d < recorded->trace_count; d++)
        traces[d] = (struct gm_trace){.max_entries = recorded->traces[d].max_entries,
                                      .overflowed = recorded->traces[d].overflowed == GM_TRUTH_ABSENT ? GM_TRUTH_ABSENT
                                                                                                      : GM_FALSE};
    if (traces == NULL)
        return false;
    traces[r->h->device].count = r->count;
    s->traces = traces;
    s->segments.count = s->blocks.count = s->host_segments.count = s->host_blocks.count = 0;
    s->host_trace_count = s->annotation_count = s->warning_count = 0;
    s->extras[GM_ROW_SEGMENT] = s->extras[GM_ROW_BLOCK] = s->extras[GM_ROW_EVENT] = (struct gm_extras){NULL, 0};
    s->extras[GM_ROW_HOST_SEGMENT] = s->extras[GM_ROW_HOST_BLOCK] = s->extras[GM_ROW_ANNOTATION] =
        (struct gm_extras){NULL, 0};
    s->events.count = r->count;
    s->events.action = r->action;
    s->events.addr = (struct gm_number_column){.plain = r->addr};
    s->events.size = (struct gm_number_column){.plain = r->size};
    s->events.stack = r->stack;
    s->events.time_us = (struct gm_number_column){.plain = gm_events_have_times(&recorded->events) ? r->time_us : NULL};
    return true;
}

static bool make_source(struct gm_shrunk_source *source, const struct gm_shrunk *shrunk)
{
    const struct gm_history *h = shrunk->program.h;
    const struct gm_events *e = &h->snapshot->events;
    struct rows r = {.shrunk = shrunk, .h = h, .source = source, .count = shrunk->program.ops.n};
    struct gm_arena *arena = &source->arena;
    struct gm_events *made = &source->snapshot.events;
    return put_rows(&r, arena) && put_trace(&r, arena) && put_rare(&r, arena, &made->stream, &e->stream, IS_STREAM) &&
           put_rare(&r, arena, &made->pool, &e->pool, IS_POOL) &&
           put_rare(&r, arena, &made->compile_context, &e->compile_context, IS_OTHER) &&
           put_rare(&r, arena, &made->user_metadata, &e->user_metadata, IS_OTHER) &&
           put_rare(&r, arena, &made->action_name, &e->action_name, IS_OTHER) &&
           put_rare(&r, arena, &made->category, &e->category, IS_OTHER);
}

/* What a recorder asks of a history: where allocations come from. */
static bool make_history(struct gm_history *as, struct gm_shrunk_source *source, const struct gm_shrunk *shrunk)
{
    const struct gm_demand *p = &shrunk->program;
    uint32_t *born = gm_arena_calloc(&source->arena, p->items.n + 1, sizeof *born);
    uint32_t *stack = gm_arena_calloc(&source->arena, p->items.n + 1, sizeof *stack);
    uint32_t *final_block = gm_arena_calloc(&source->arena, p->items.n + 1, sizeof *final_block);
    if (born == NULL || stack == NULL || final_block == NULL)
        return false;
    for (size_t i = 0; i < p->items.n; i++) {
        stack[i] = p->items.v[i].stack;
        final_block[i] = GM_NO_BLOCK;
    }
    for (size_t i = 0; i < p->ops.n; i++)
        if (p->ops.v[i].kind == GM_DEMAND_ALLOC)
            born[p->ops.v[i].what] = (uint32_t)i + 1;
    *as = (struct gm_history){.snapshot = &source->snapshot,
                              .device = p->h->device,
                              .count = p->ops.n,
                              .allocation_count = p->items.n,
                              .born = born,
                              .stack = stack,
                              .final_block = final_block};
    return true;
}

enum gm_status gm_shrunk_snapshot(struct gm_regenerated *out, struct gm_shrunk_source *source,
                                  const struct gm_shrunk *shrunk, const struct gm_shrink_device *device,
                                  struct gm_error *err)
{
    struct gm_event_recorder recorder;
    struct gm_history as;
    struct gm_outcome outcome;
    *source = (struct gm_shrunk_source){.snapshot = *shrunk->program.h->snapshot};
    source->snapshot.memory = NULL;
    if (!make_source(source, shrunk) || !make_history(&as, source, shrunk))
        return gm_no_memory(err);
    gm_recorder_init(&recorder, &source->snapshot);
    const struct gm_play play = {.program = &shrunk->program,
                                 .device = device,
                                 .placement = shrunk->placement,
                                 .most = UINT64_MAX,
                                 .recorder = &recorder,
                                 .as = &as};
    enum gm_status status = gm_play(&outcome, &play, err);
    if (status == GM_OK)
        status = gm_regenerate(out, &recorder, NULL, NULL, err);
    gm_recorder_free(&recorder);
    return status;
}

void gm_shrunk_source_free(struct gm_shrunk_source *source)
{
    gm_arena_free(&source->arena);
}
