/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of a .gmtrace file, chunk by chunk: first the steps, which give action, address, size, time and the context's
 * id of each event; then one pass a column turns contexts into stacks and whatever else varies.
 */
#include "analyze/formats/gmtrace_parts.h"
#include "analyze/formats/gmtrace_state.h"

#include <stdlib.h>

struct steps {
    struct gm_gmtrace_parts *p;
    struct gm_gmtrace_state state;
    struct GM_VEC(uint32_t) context; /* by row of the chunk */
    uint8_t *action;                 /* of the chunk's first row */
    size_t row, rows;                /* of the chunk */
    const char *wrong;
};

/* ---- contexts and shapes ----------------------------------------------------------------------------------------- */

static bool fail_step(struct steps *s, const char *what)
{
    if (s->wrong == NULL)
        s->wrong = what;
    return false;
}

static bool new_context(struct steps *s)
{
    const struct gm_gmtrace_parts *p = s->p;
    struct gm_cursor *c = s->p->r.streams + GM_EVNT_FIELDS;
    const size_t limits[GM_FIELD_COUNT] = {gm_gmtrace_stack_limit(p),
                                           p->m->streams.n,
                                           p->m->pools.n,
                                           gm_gmtrace_string_limit(p),
                                           gm_gmtrace_string_limit(p),
                                           gm_gmtrace_string_limit(p),
                                           gm_gmtrace_string_limit(p)};
    struct gm_gmtrace_context context;
    context.field[0] = gm_gmtrace_id(c, gm_cursor_varint(c), &(uint32_t){s->state.newest_stack}, (uint32_t)limits[0]);
    for (int i = 1; i < GM_FIELD_COUNT; i++) {
        uint64_t v = gm_cursor_varint(&c[i]);
        if (v >= limits[i] || (!p->varies[i - 1] && v != p->all[i - 1]))
            return fail_step(s, "an event names something that is not there");
        context.field[i] = (uint32_t)v;
    }
    if (c->bad)
        return fail_step(s, "an event has a stack that is not there");
    return gm_gmtrace_add_context(&s->state, &context) || fail_step(s, "");
}

/* The context that a stream names: 0 is a new one. */
static bool next_context(struct steps *s, struct gm_cursor *c, uint32_t *context)
{
    uint64_t id = gm_cursor_varint(c);
    if (c->bad || id >= s->state.contexts.n)
        return fail_step(s, "an event names a context that is not there");
    *context = (uint32_t)id;
    if (id > 0)
        return true;
    *context = (uint32_t)s->state.contexts.n;
    return new_context(s);
}

static bool next_shape(struct steps *s, uint32_t *shape)
{
    struct gm_cursor *c = s->p->r.streams;
    uint64_t id = gm_cursor_varint(&c[GM_EVNT_SHAPE]);
    if (c[GM_EVNT_SHAPE].bad || id >= s->state.shapes.n)
        return fail_step(s, "an event has a shape that is not there");
    *shape = (uint32_t)id;
    if (id > 0)
        return true;
    *shape = (uint32_t)s->state.shapes.n;
    uint8_t action = gm_cursor_byte(&c[GM_EVNT_NEW_ACTION]);
    uint64_t size = gm_cursor_varint(&c[GM_EVNT_NEW_SIZE]);
    uint32_t context = 0;
    if (action >= GM_ACTION_COUNT)
        return fail_step(s, "an event has an unknown action");
    return next_context(s, &c[GM_EVNT_NEW_CONTEXT], &context) &&
           (gm_gmtrace_add_shape(&s->state, action, size, context) || fail_step(s, ""));
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static inline bool put(struct steps *s, uint8_t action, uint64_t addr, uint64_t size, struct gm_cursor *time,
                       uint32_t context)
{
    struct gm_snapshot_memory *m = s->p->m;
    const size_t row = s->row++, at = m->events.count + row;
    s->action[row] = action;
    s->context.v[row] = context;
    bool ok = gm_put_addr(m, at, addr) && gm_put_size(m, at, size);
    if (s->p->has_time) {
        s->state.time += gm_unzigzag(gm_cursor_varint(time));
        ok = ok && gm_put_time_us(m, at, (int64_t)s->state.time);
    }
    return ok || fail_step(s, "");
}

/* The live slot that a free is about. */
static inline uint32_t next_live(struct steps *s)
{
    const struct gm_gmtrace_slot *v = s->state.slots.v;
    uint64_t rank = gm_cursor_varint(&s->p->r.streams[GM_EVNT_RANK]);
    if (rank >= GM_RANK_LIMIT) {
        rank -= GM_RANK_LIMIT;
        return rank < s->state.slots.n && rank > 0 && v[rank].newer != GM_SLOT_FREE ? (uint32_t)rank : 0;
    }
    uint32_t slot = v[0].older;
    for (; rank > 0 && slot != 0; rank--)
        slot = v[slot].older;
    return slot;
}

static inline bool step_free(struct steps *s, unsigned op)
{
    struct gm_cursor *c = s->p->r.streams;
    uint32_t slot = next_live(s);
    if (slot == 0)
        return fail_step(s, "a free of what is not live");
    uint64_t addr = s->state.slots.v[slot].addr;
    uint32_t shape = s->state.slots.v[slot].shape;
    uint64_t size = s->state.shapes.v[shape].size;
    uint32_t context = s->state.shapes.v[shape].free_context;
    if (op & 1) {
        if (!next_context(s, &c[GM_EVNT_CONTEXT], &context))
            return false;
        s->state.shapes.v[shape].free_context = context;
    } else if (context == 0) {
        return fail_step(s, "a free without a context");
    }
    if (op < GM_STEP_COMPLETED) {
        const bool ok = put(s, GM_ACTION_FREE_REQUESTED, addr, size, &c[GM_EVNT_TIME_REQUESTED], context);
        if (!ok || op >= GM_STEP_REQUESTED)
            return ok;
        if (s->row == s->rows)
            return fail_step(s, "more events than it says");
    }
    gm_gmtrace_put_free(&s->state, slot);
    return put(s, GM_ACTION_FREE_COMPLETED, addr, size, &c[GM_EVNT_TIME_COMPLETED], context);
}

/* An address: 0 is given in full, else the distance in 512 bytes. */
static uint64_t next_address(struct steps *s, struct gm_cursor *c, uint64_t from)
{
    uint64_t code = gm_cursor_varint(c);
    return code == 0 ? gm_cursor_u64(&s->p->r.streams[GM_EVNT_ODD]) : from + (gm_unzigzag(code - 1) << 9);
}

static inline bool step_alloc(struct steps *s, unsigned op)
{
    struct gm_cursor *c = s->p->r.streams;
    struct gm_gmtrace_state *state = &s->state;
    uint32_t shape, slot = 0;
    if (!next_shape(s, &shape))
        return false;
    if (state->shapes.v[shape].action != GM_ACTION_ALLOC)
        return fail_step(s, "an allocation with another event's shape");
    if (op <= GM_STEP_LIST) {
        uint64_t above = op == GM_STEP_TOP ? 0 : gm_cursor_varint(&c[GM_EVNT_LIST]);
        if (above < GM_LIST_LIMIT)
            slot = gm_gmtrace_take_free(state, state->shapes.v[shape].size_class, above);
        if (slot == 0)
            return fail_step(s, "an allocation in place of nothing");
    } else {
        slot = gm_gmtrace_new_slot(state, op == GM_STEP_NEXT      ? state->next
                                          : op == GM_STEP_SEGMENT ? state->other
                                                                  : next_address(s, &c[GM_EVNT_FAR], state->next));
        if (slot == 0)
            return fail_step(s, "");
    }
    gm_gmtrace_put_live(state, slot, shape);
    return put(s, GM_ACTION_ALLOC, state->slots.v[slot].addr, state->shapes.v[shape].size, &c[GM_EVNT_TIME_ALLOC],
               state->shapes.v[shape].context);
}

static bool step_other(struct steps *s)
{
    struct gm_cursor *c = s->p->r.streams;
    uint32_t shape;
    if (!next_shape(s, &shape))
        return false;
    struct gm_gmtrace_state *state = &s->state;
    const struct gm_gmtrace_shape *row = &state->shapes.v[shape];
    state->other = next_address(s, &c[GM_EVNT_RAW], state->other_end);
    state->other_end = state->other + row->size;
    return put(s, row->action, state->other, row->size, &c[GM_EVNT_TIME_RAW], row->context);
}

static void run_steps(struct steps *s)
{
    struct gm_cursor *ops = &s->p->r.streams[GM_EVNT_OP];
    bool ok = true;
    while (ok && s->row < s->rows) {
        unsigned op = gm_cursor_byte(ops);
        if (ops->bad)
            ok = fail_step(s, "fewer events than it says");
        else if (op < GM_STEP_TOP)
            ok = step_free(s, op);
        else if (op < GM_STEP_OTHER)
            ok = step_alloc(s, op);
        else
            ok = op == GM_STEP_OTHER ? step_other(s) : fail_step(s, "an unknown step");
    }
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static bool grow_column(void *where, size_t capacity, size_t size)
{
    size_t none = 0;
    return gm_grow(where, &none, capacity, size);
}

static struct gm_rare_builder *rare_column(struct gm_snapshot_memory *m, int i)
{
#define COLUMN(name) &m->events.name,
    struct gm_rare_builder *const columns[] = {GM_EVENT_RARE_COLUMNS(COLUMN)};
    return columns[i];
}

static bool grow_events(struct gm_gmtrace_parts *p, size_t rows)
{
    struct gm_snapshot_memory *m = p->m;
    size_t need = m->events.count + rows, n = m->events.capacity + m->events.capacity / 2;
    if (need <= m->events.capacity)
        return true;
    n = n < need ? need : n < p->event_count ? n : p->event_count;
    if (!grow_column(&m->events.action, n, sizeof *m->events.action) ||
        !grow_column(&m->events.addr.near, n, sizeof *m->events.addr.near) ||
        !grow_column(&m->events.size.near, n, sizeof *m->events.size.near) || !gm_builder_grow_stacks(m, n) ||
        (p->has_time && !grow_column(&m->events.time_us.near, n, sizeof *m->events.time_us.near)))
        return false;
    for (int i = 0; i < 6; i++)
        if (p->varies[i] && !grow_column(&rare_column(m, i)->v, n, sizeof *m->events.stream.v))
            return false;
    m->events.capacity = n;
    return true;
}

static bool fill_columns(struct steps *s)
{
    struct gm_snapshot_memory *m = s->p->m;
    const struct gm_gmtrace_context *contexts = s->state.contexts.v;
    const uint32_t *context = s->context.v;
    bool ok = true;
    for (size_t i = 0; ok && i < s->rows; i++)
        ok = gm_put_stack(m, m->events.count + i, (struct gm_stack_id){contexts[context[i]].field[GM_FIELD_STACK]});
    for (int k = 0; k < 6; k++)
        for (size_t i = 0; s->p->varies[k] && i < s->rows; i++)
            rare_column(m, k)->v[m->events.count + i] = contexts[context[i]].field[k + 1];
    m->events.count += s->rows;
    return ok;
}

static enum gm_status read_chunk(struct steps *s)
{
    struct gm_gmtrace_parts *p = s->p;
    struct gm_snapshot_memory *m = p->m;
    GM_TRY(gm_gmtrace_begin(&p->r, "EVNT", GM_EVNT_STREAMS));
    uint64_t rows = gm_cursor_varint(&p->r.streams[GM_EVNT_COUNT]);
    if (rows == 0 || rows > GM_GMTRACE_CHUNK_ROWS || rows > p->event_count - m->events.count)
        return gm_gmtrace_damaged(&p->r, "a wrong number of events");
    GM_TRY(gm_gmtrace_spend(&p->r, rows, GM_GMTRACE_COST_EVENT));
    s->context.n = 0;
    if (!grow_events(p, rows) || !GM_VEC_ROOM(&s->context, rows))
        return gm_no_memory(p->r.err);
    s->action = m->events.action + m->events.count;
    s->row = 0;
    s->rows = rows;
    run_steps(s);
    if (s->wrong != NULL)
        return s->wrong[0] == '\0' ? gm_no_memory(p->r.err) : gm_gmtrace_damaged(&p->r, s->wrong);
    if (!fill_columns(s))
        return gm_no_memory(p->r.err);
    return gm_gmtrace_end(&p->r);
}

enum gm_status gm_gmtrace_events(struct gm_gmtrace_parts *p)
{
    struct steps s = {.p = p};
    enum gm_status status = gm_gmtrace_state_begin(&s.state) ? GM_OK : gm_no_memory(p->r.err);
    for (int i = 0; i < 6; i++)
        rare_column(p->m, i)->all = p->all[i];
    p->m->events.any_time = p->has_time;
    while (status == GM_OK && p->m->events.count < p->event_count)
        status = read_chunk(&s);
    gm_gmtrace_state_free(&s.state);
    free(s.context.v);
    return status;
}
