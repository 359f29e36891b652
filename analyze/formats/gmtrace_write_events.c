/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: each is compared with what a reader could guess (analyze/formats/gmtrace_state.h), and the step that says
 * least is written.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/formats/gmtrace_state.h"
#include "analyze/formats/gmtrace_write_parts.h"

#include <string.h>

/* The context that was met last of those whose stacks fall on that place: events repeat few of them. */
enum { RECENT = 1024 };
struct recent {
    uint32_t field[GM_FIELD_COUNT], id; /* 0: none */
};

struct event_writer {
    struct gm_gmtrace_writer *w;
    const struct gm_events *e;
    struct gm_gmtrace_state state;
    struct gm_address_map live;                      /* address of a live allocation to its slot */
    struct gm_address_map pairs[GM_FIELD_COUNT - 1]; /* fields of contexts, two by two, to a number of the pair */
    struct gm_address_map sizes, shapes;
    uint32_t pair_count[GM_FIELD_COUNT - 1], size_count, shape_count;
    struct recent contexts[RECENT];
    size_t begin, end;   /* rows of the chunk */
    size_t numbered;     /* those before it have had their contexts numbered ... */
    uint32_t context[2]; /* ... which are here by row % 2: of a row and of the one after it */
};

/* ---- numbers for what repeats ------------------------------------------------------------------------------------ */

/* The number of a key; *next if it has none yet, which is then counted up. false: no memory. */
static bool number_of(struct gm_address_map *map, uint64_t key, uint32_t *next, uint32_t *number)
{
    uint32_t before;
    *number = gm_map_get(map, key);
    if (*number != GM_MAP_NONE)
        return true;
    *number = *next;
    ++*next;
    return gm_map_put(map, key, *number, &before);
}

static void gather_fields(const struct gm_events *e, size_t row, uint32_t *field)
{
    field[GM_FIELD_STACK] = gm_event_stack(e, row).v;
    field[GM_FIELD_STREAM] = gm_rare_at(&e->stream, row);
    field[GM_FIELD_POOL] = gm_rare_at(&e->pool, row);
    field[GM_FIELD_COMPILE_CONTEXT] = gm_rare_at(&e->compile_context, row);
    field[GM_FIELD_USER_METADATA] = gm_rare_at(&e->user_metadata, row);
    field[GM_FIELD_ACTION_NAME] = gm_rare_at(&e->action_name, row);
    field[GM_FIELD_CATEGORY] = gm_rare_at(&e->category, row);
}

/* The context of an event: the number of its fields, taken two by two. Contexts count from 1. */
static bool number_context(struct event_writer *x, size_t row, uint32_t *id)
{
    uint32_t field[GM_FIELD_COUNT], pair;
    gather_fields(x->e, row, field);
    struct recent *recent = &x->contexts[field[GM_FIELD_STACK] % RECENT];
    if (recent->id == 0 || memcmp(field, recent->field, sizeof field) != 0) {
        pair = field[0];
        for (int i = 1; i < GM_FIELD_COUNT; i++)
            if (!number_of(&x->pairs[i - 1], (uint64_t)pair << 32 | field[i], &x->pair_count[i - 1], &pair))
                return false;
        memcpy(recent->field, field, sizeof field);
        recent->id = pair + 1;
    }
    *id = recent->id;
    return true;
}

/* Writes the id of a context; a new one, always the next, is 0 and described. */
static bool put_context(struct event_writer *x, int where, size_t row, uint32_t id)
{
    if (id < x->state.contexts.n) {
        gm_put_varint(&x->w->stream[where], id);
        return true;
    }
    struct gm_gmtrace_context context;
    struct gm_text *streams = x->w->stream + GM_EVNT_FIELDS;
    gather_fields(x->e, row, context.field);
    gm_put_varint(&x->w->stream[where], 0);
    gm_put_id(&streams[0], context.field[0], &(uint32_t){x->state.newest_stack}, 0);
    for (int i = 1; i < GM_FIELD_COUNT; i++)
        gm_put_varint(&streams[i], context.field[i]);
    return gm_gmtrace_add_context(&x->state, &context);
}

/* Writes the shape of an event, in the same way. */
static bool put_shape(struct event_writer *x, size_t row, uint32_t context, uint32_t *shape)
{
    uint64_t size = gm_event_size(x->e, row);
    uint8_t action = x->e->action[row];
    uint32_t size_number;
    if (!number_of(&x->sizes, size, &x->size_count, &size_number) ||
        !number_of(&x->shapes, (uint64_t)context << 36 | (uint64_t)size_number << 4 | action, &x->shape_count, shape))
        return false;
    *shape += 1;
    if (*shape < x->state.shapes.n) {
        gm_put_varint(&x->w->stream[GM_EVNT_SHAPE], *shape);
        return true;
    }
    gm_put_varint(&x->w->stream[GM_EVNT_SHAPE], 0);
    gm_put_varint(&x->w->stream[GM_EVNT_NEW_ACTION], action);
    gm_put_varint(&x->w->stream[GM_EVNT_NEW_SIZE], size);
    return put_context(x, GM_EVNT_NEW_CONTEXT, row, context) && gm_gmtrace_add_shape(&x->state, action, size, context);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void put_op(struct event_writer *x, unsigned op)
{
    gm_put_varint(&x->w->stream[GM_EVNT_OP], op);
}

static void put_time(struct event_writer *x, int where, size_t row)
{
    if (!gm_events_have_times(x->e))
        return;
    uint64_t time = (uint64_t)gm_event_time_us(x->e, row);
    gm_put_varint(&x->w->stream[where], gm_zigzag(time - x->state.time));
    x->state.time = time;
}

static void put_address(struct event_writer *x, int where, uint64_t addr, uint64_t from)
{
    uint64_t delta = addr - from;
    if ((delta & 511) != 0) {
        gm_put_varint(&x->w->stream[where], 0);
        gm_put_u64(&x->w->stream[GM_EVNT_ODD], addr);
        return;
    }
    uint64_t units = delta >> 9 | (delta >> 63 != 0 ? ~(UINT64_MAX >> 9) : 0);
    gm_put_varint(&x->w->stream[where], gm_zigzag(units) + 1);
}

/* Which live allocation an event frees: as the n-th newest, or by its slot. */
static void put_rank(struct event_writer *x, uint32_t slot)
{
    const struct gm_gmtrace_slot *v = x->state.slots.v;
    uint64_t rank = 0;
    for (uint32_t at = v[0].older; rank < GM_RANK_LIMIT && at != slot; at = v[at].older)
        rank++;
    gm_put_varint(&x->w->stream[GM_EVNT_RANK], rank < GM_RANK_LIMIT ? rank : GM_RANK_LIMIT + (uint64_t)slot);
}

/* The live slot that an event frees; 0 if there is none, or if the event does not fit to it. */
static uint32_t freed_slot(const struct event_writer *x, size_t row)
{
    uint8_t action = x->e->action[row];
    if (action != GM_ACTION_FREE_REQUESTED && action != GM_ACTION_FREE_COMPLETED)
        return 0;
    uint32_t slot = gm_map_get(&x->live, gm_event_addr(x->e, row));
    if (slot == GM_MAP_NONE)
        return 0;
    return x->state.shapes.v[x->state.slots.v[slot].shape].size == gm_event_size(x->e, row) ? slot : 0;
}

/* Whether the event after `row` completes the free that `row` requests, in the same context. */
static bool is_completed_next(const struct event_writer *x, size_t row)
{
    const struct gm_events *e = x->e;
    return row + 1 < x->end && e->action[row] == GM_ACTION_FREE_REQUESTED &&
           e->action[row + 1] == GM_ACTION_FREE_COMPLETED && gm_event_addr(e, row + 1) == gm_event_addr(e, row) &&
           gm_event_size(e, row + 1) == gm_event_size(e, row) && x->context[0] == x->context[1];
}

static bool put_free(struct event_writer *x, size_t *row, uint32_t slot)
{
    struct gm_gmtrace_shape *shape = &x->state.shapes.v[x->state.slots.v[slot].shape];
    uint32_t context = x->context[*row % 2];
    bool is_requested = x->e->action[*row] == GM_ACTION_FREE_REQUESTED, is_both = is_completed_next(x, *row);
    bool is_told = shape->free_context != context;
    put_op(x, (is_both ? GM_STEP_FREE : is_requested ? GM_STEP_REQUESTED : GM_STEP_COMPLETED) + (unsigned)is_told);
    put_rank(x, slot);
    shape->free_context = context;
    if (is_told && !put_context(x, GM_EVNT_CONTEXT, *row, context))
        return false;
    if (is_requested)
        put_time(x, GM_EVNT_TIME_REQUESTED, (*row)++);
    if (is_requested && !is_both)
        return true;
    put_time(x, GM_EVNT_TIME_COMPLETED, *row);
    gm_map_take(&x->live, gm_event_addr(x->e, *row));
    gm_gmtrace_put_free(&x->state, slot);
    ++*row;
    return true;
}

/* How many free slots of the class lie on top of the one at `addr`; GM_LIST_LIMIT if it is none of the first. */
static unsigned list_place(const struct event_writer *x, uint32_t size_class, uint64_t addr)
{
    unsigned above = 0;
    for (uint32_t at = x->state.free_top.v[size_class]; above < GM_LIST_LIMIT; above++) {
        if (at == 0)
            return GM_LIST_LIMIT;
        if (x->state.slots.v[at].addr == addr)
            return above;
        at = x->state.slots.v[at].older;
    }
    return above;
}

static bool put_alloc(struct event_writer *x, size_t row)
{
    struct gm_gmtrace_state *s = &x->state;
    uint64_t addr = gm_event_addr(x->e, row);
    uint32_t shape, slot, before;
    if (!put_shape(x, row, x->context[row % 2], &shape))
        return false;
    uint32_t size_class = s->shapes.v[shape].size_class;
    unsigned above = list_place(x, size_class, addr);
    unsigned op = above == 0              ? GM_STEP_TOP
                  : addr == s->next       ? GM_STEP_NEXT
                  : addr == s->other      ? GM_STEP_SEGMENT
                  : above < GM_LIST_LIMIT ? GM_STEP_LIST
                                          : GM_STEP_FAR;
    put_op(x, op);
    if (op == GM_STEP_LIST)
        gm_put_varint(&x->w->stream[GM_EVNT_LIST], above);
    if (op == GM_STEP_FAR)
        put_address(x, GM_EVNT_FAR, addr, s->next);
    slot = op <= GM_STEP_LIST ? gm_gmtrace_take_free(s, size_class, above) : gm_gmtrace_new_slot(s, addr);
    if (slot == 0 || !gm_map_put(&x->live, addr, slot, &before))
        return false;
    gm_gmtrace_put_live(s, slot, shape);
    put_time(x, GM_EVNT_TIME_ALLOC, row);
    return true;
}

static bool put_other(struct event_writer *x, size_t row)
{
    uint32_t shape;
    put_op(x, GM_STEP_OTHER);
    if (!put_shape(x, row, x->context[row % 2], &shape))
        return false;
    put_address(x, GM_EVNT_RAW, gm_event_addr(x->e, row), x->state.other_end);
    x->state.other = gm_event_addr(x->e, row);
    x->state.other_end = x->state.other + gm_event_size(x->e, row);
    put_time(x, GM_EVNT_TIME_RAW, row);
    return true;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

static bool fill_chunk(struct event_writer *x)
{
    gm_put_varint(&x->w->stream[GM_EVNT_COUNT], x->end - x->begin);
    for (size_t row = x->begin; row < x->end;) {
        for (; x->numbered < x->end && x->numbered < row + 2; x->numbered++)
            if (!number_context(x, x->numbered, &x->context[x->numbered % 2]))
                return false;
        uint32_t slot = freed_slot(x, row);
        bool ok = true;
        if (slot != 0)
            ok = put_free(x, &row, slot);
        else if (x->e->action[row] == GM_ACTION_ALLOC)
            ok = put_alloc(x, row++);
        else
            ok = put_other(x, row++);
        if (!ok)
            return false;
    }
    return true;
}

static void free_writer(struct event_writer *x)
{
    gm_gmtrace_state_free(&x->state);
    gm_map_free(&x->live);
    for (int i = 0; i < GM_FIELD_COUNT - 1; i++)
        gm_map_free(&x->pairs[i]);
    gm_map_free(&x->sizes);
    gm_map_free(&x->shapes);
}

enum gm_status gm_gmtrace_put_events(struct gm_gmtrace_writer *w)
{
    struct event_writer x = {.w = w, .e = &w->s->events};
    bool ok = gm_gmtrace_state_begin(&x.state) && (x.e->count <= w->rows || GM_VEC_ROOM(&x.state.slots, w->rows));
    enum gm_status status = GM_OK;
    for (; ok && status == GM_OK && x.end < x.e->count; x.begin = x.end) {
        size_t left = x.e->count - x.begin;
        x.end = x.begin + gm_min(left, w->rows);
        ok = fill_chunk(&x);
        if (ok)
            status = gm_gmtrace_section(w, "EVNT", GM_EVNT_STREAMS, 1u << GM_EVNT_ODD, 0,
                                        (x.end - x.begin) * GM_GMTRACE_COST_EVENT);
    }
    free_writer(&x);
    return ok ? status : gm_no_memory(w->err);
}
