/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments and blocks of a regenerated snapshot: by device, then as they are, as PyTorch lists them. Devices that were
 * not replayed keep theirs. A key that the recorded rows do not have, these do not have either.
 */
#include "replay/regenerate/regenerate_private.h"

#include <stdlib.h>

/* Which of a table's columns the file has. */
struct known {
    bool sizes, active, requested, stream, pool, stack, type, expandable;
    bool block_requested[2], block_stack[2]; /* [is active] */
};

struct table {
    struct gm_regenerated *out;
    const struct gm_event_recorder *r;
    struct known known;
    int64_t *device;
    uint64_t *address, *total_size, *allocated_size, *active_size, *requested_size;
    struct gm_stream_id *stream;
    struct gm_pool_id *pool;
    struct gm_stack_id *stack;
    uint8_t *type, *is_expandable;
    size_t *block_first, *block_count;
    uint32_t *from; /* rows of the snapshot, or GM_NO_ROW */
    uint64_t *block_address, *block_size, *block_requested;
    uint8_t *block_state;
    struct gm_stack_id *block_stack;
    uint32_t *block_segment, *block_from;
    size_t segments, blocks; /* so far */
};

static struct known find_known(const struct gm_snapshot *s)
{
    const struct gm_segments *g = &s->segments;
    bool is_new = g->count == 0, has_state[2] = {false, false};
    struct known k = {is_new, is_new, is_new, is_new, is_new, is_new, is_new, is_new, {false, false}, {false, false}};
    for (size_t i = 0; i < g->count; i++) {
        k.sizes |= g->allocated_size[i] != GM_ABSENT;
        k.active |= g->active_size[i] != GM_ABSENT;
        k.requested |= g->requested_size[i] != GM_ABSENT;
        k.stream |= g->stream[i].v != 0;
        k.pool |= g->pool[i].v != 0;
        k.stack |= g->stack[i].v != 0;
        k.type |= g->type[i] != GM_SEGMENT_TYPE_ABSENT;
        k.expandable |= g->is_expandable[i] != GM_TRUTH_ABSENT;
    }
    for (size_t b = 0; b < s->blocks.count; b++) {
        bool is_active = s->blocks.state[b] != GM_BLOCK_INACTIVE;
        has_state[is_active] = true;
        k.block_requested[is_active] |= s->blocks.requested[b] != GM_ABSENT;
        k.block_stack[is_active] |= s->blocks.stack[b].v != 0;
    }
    for (int i = 0; i < 2; i++) { /* no block of that state: as the other one, if there is any */
        if (has_state[i])
            continue;
        k.block_requested[i] = !has_state[1 - i] || k.block_requested[1 - i];
        k.block_stack[i] = !has_state[1 - i] || k.block_stack[1 - i];
    }
    return k;
}

static void *column(struct table *t, bool *ok, size_t count, size_t size)
{
    void *v = gm_regenerated_new(t->out, count, size);
    *ok = *ok && v != NULL;
    return v;
}

static bool make_columns(struct table *t, size_t segments, size_t blocks)
{
    bool ok = true;
    t->device = column(t, &ok, segments, sizeof *t->device);
    t->address = column(t, &ok, segments, sizeof *t->address);
    t->total_size = column(t, &ok, segments, sizeof *t->total_size);
    t->allocated_size = column(t, &ok, segments, sizeof *t->allocated_size);
    t->active_size = column(t, &ok, segments, sizeof *t->active_size);
    t->requested_size = column(t, &ok, segments, sizeof *t->requested_size);
    t->stream = column(t, &ok, segments, sizeof *t->stream);
    t->pool = column(t, &ok, segments, sizeof *t->pool);
    t->stack = column(t, &ok, segments, sizeof *t->stack);
    t->type = column(t, &ok, segments, sizeof *t->type);
    t->is_expandable = column(t, &ok, segments, sizeof *t->is_expandable);
    t->block_first = column(t, &ok, segments, sizeof *t->block_first);
    t->block_count = column(t, &ok, segments, sizeof *t->block_count);
    t->from = column(t, &ok, segments, sizeof *t->from);
    t->block_address = column(t, &ok, blocks, sizeof *t->block_address);
    t->block_size = column(t, &ok, blocks, sizeof *t->block_size);
    t->block_requested = column(t, &ok, blocks, sizeof *t->block_requested);
    t->block_state = column(t, &ok, blocks, sizeof *t->block_state);
    t->block_stack = column(t, &ok, blocks, sizeof *t->block_stack);
    t->block_segment = column(t, &ok, blocks, sizeof *t->block_segment);
    t->block_from = column(t, &ok, blocks, sizeof *t->block_from);
    return ok;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void copy_segment(struct table *t, size_t row)
{
    const struct gm_segments *g = &t->r->snapshot->segments;
    const struct gm_blocks *b = &t->r->snapshot->blocks;
    size_t i = t->segments++;
    t->device[i] = g->device[row];
    t->address[i] = g->address[row];
    t->total_size[i] = g->total_size[row];
    t->allocated_size[i] = g->allocated_size[row];
    t->active_size[i] = g->active_size[row];
    t->requested_size[i] = g->requested_size[row];
    t->stream[i] = g->stream[row];
    t->pool[i] = g->pool[row];
    t->stack[i] = g->stack[row];
    t->type[i] = g->type[row];
    t->is_expandable[i] = g->is_expandable[row];
    t->block_first[i] = t->blocks;
    t->block_count[i] = g->block_count[row];
    t->from[i] = (uint32_t)row;
    for (size_t k = 0; k < g->block_count[row]; k++, t->blocks++) {
        size_t from = g->block_first[row] + k;
        t->block_address[t->blocks] = b->address[from];
        t->block_size[t->blocks] = b->size[from];
        t->block_requested[t->blocks] = b->requested[from];
        t->block_state[t->blocks] = b->state[from];
        t->block_stack[t->blocks] = b->stack[from];
        t->block_segment[t->blocks] = (uint32_t)i;
        t->block_from[t->blocks] = (uint32_t)from;
    }
}

static uint32_t stack_or_empty(bool is_known, uint32_t stack)
{
    if (!is_known)
        return 0;
    return stack != 0 ? stack : GM_STACK_EMPTY;
}

static void put_segment(struct table *t, int64_t device, const struct gm_recorded_segment *g)
{
    const struct known *k = &t->known;
    const struct gm_snapshot *recorded = t->r->snapshot;
    size_t i = t->segments++;
    t->device[i] = device;
    t->address[i] = g->address;
    t->total_size[i] = g->size;
    t->allocated_size[i] = k->sizes ? g->allocated : GM_ABSENT;
    t->active_size[i] = k->active ? g->active : GM_ABSENT;
    t->requested_size[i] = k->requested ? g->requested : GM_ABSENT;
    t->stream[i].v = k->stream ? g->stream : 0;
    t->pool[i].v = k->pool ? g->pool : 0;
    t->stack[i].v =
        stack_or_empty(k->stack && (g->row == GM_NO_ROW || recorded->segments.stack[g->row].v != 0), g->stack);
    t->type[i] = !k->type ? GM_SEGMENT_TYPE_ABSENT : g->is_small ? GM_SEGMENT_SMALL : GM_SEGMENT_LARGE;
    t->is_expandable[i] = !k->expandable ? GM_TRUTH_ABSENT : g->is_expandable ? GM_TRUE : GM_FALSE;
    t->block_first[i] = t->blocks;
    t->block_count[i] = g->block_count;
    t->from[i] = g->row;
    for (size_t n = 0; n < g->block_count; n++, t->blocks++) {
        const struct gm_recorded_block *b = &t->r->blocks.v[g->first_block + n];
        bool is_active = b->state != GM_BLOCK_INACTIVE, is_new = b->row == GM_NO_ROW;
        bool has_requested = is_new ? k->block_requested[is_active] : recorded->blocks.requested[b->row] != GM_ABSENT;
        bool has_stack = is_new ? k->block_stack[is_active] : recorded->blocks.stack[b->row].v != 0;
        t->block_address[t->blocks] = b->address;
        t->block_size[t->blocks] = b->size;
        t->block_requested[t->blocks] = has_requested ? b->requested : GM_ABSENT;
        t->block_state[t->blocks] = b->state;
        t->block_stack[t->blocks].v = stack_or_empty(has_stack, b->stack);
        t->block_segment[t->blocks] = (uint32_t)i;
        t->block_from[t->blocks] = b->row;
    }
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

/* Where a device's rows come from: rows of the snapshot, or a recorded device. */
struct source {
    int64_t device;
    size_t row; /* of the snapshot's segments, or index of the recorder's device */
    bool is_recorded;
};

static int by_device(const void *left, const void *right)
{
    const struct source *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static bool is_replayed(const struct gm_event_recorder *r, int64_t device)
{
    for (size_t i = 0; i < r->devices.n; i++)
        if (r->devices.v[i].device == device)
            return true;
    return false;
}

static struct source *list_sources(struct gm_regenerated *out, const struct gm_event_recorder *r, size_t *count,
                                   size_t *blocks)
{
    const struct gm_segments *g = &r->snapshot->segments;
    struct source *list = gm_regenerated_new(out, g->count + r->devices.n, sizeof *list);
    *count = 0;
    *blocks = r->blocks.n;
    int64_t last = 0;
    bool is_last_replayed = false;
    for (size_t i = 0; list != NULL && i < g->count; i++) {
        if (i == 0 || g->device[i] != last) {
            last = g->device[i];
            is_last_replayed = is_replayed(r, last);
        }
        if (is_last_replayed)
            continue;
        list[(*count)++] = (struct source){g->device[i], i, false};
        *blocks += g->block_count[i];
    }
    for (size_t i = 0; list != NULL && i < r->devices.n; i++)
        list[(*count)++] = (struct source){r->devices.v[i].device, i, true};
    if (list != NULL)
        qsort(list, *count, sizeof *list, by_device);
    return list;
}

/* ---- extras ------------------------------------------------------------------------------------------------------ */

/* The extras of the rows that correspond to a recorded one. */
static bool put_extras(struct gm_regenerated *out, enum gm_row_kind kind, const uint32_t *from, size_t count)
{
    const struct gm_extras *recorded = &out->recorded->extras[kind];
    struct rows GM_VEC(struct gm_extra);
    struct rows rows = {0};
    bool ok = true;
    for (size_t i = 0; ok && recorded->count > 0 && i < count; i++) {
        size_t at, n = from[i] == GM_NO_ROW ? 0 : gm_extras_of(recorded, from[i], &at);
        for (size_t k = 0; ok && k < n; k++) {
            struct gm_extra extra = recorded->v[at + k];
            extra.row = (uint32_t)i;
            ok = GM_VEC_PUSH(&rows, extra);
        }
    }
    out->snapshot.extras[kind] = (struct gm_extras){rows.v, rows.n};
    return (rows.v == NULL || gm_regenerated_own(out, rows.v)) && ok;
}

static void publish(struct table *t)
{
    t->out->snapshot.segments = (struct gm_segments){.count = t->segments,
                                                     .device = t->device,
                                                     .address = t->address,
                                                     .total_size = t->total_size,
                                                     .allocated_size = t->allocated_size,
                                                     .active_size = t->active_size,
                                                     .requested_size = t->requested_size,
                                                     .stream = t->stream,
                                                     .pool = t->pool,
                                                     .stack = t->stack,
                                                     .type = t->type,
                                                     .is_expandable = t->is_expandable,
                                                     .block_first = t->block_first,
                                                     .block_count = t->block_count};
    t->out->snapshot.blocks = (struct gm_blocks){.count = t->blocks,
                                                 .address = t->block_address,
                                                 .size = t->block_size,
                                                 .requested = t->block_requested,
                                                 .state = t->block_state,
                                                 .stack = t->block_stack,
                                                 .segment = t->block_segment};
}

bool gm_regenerate_segments(struct gm_regenerated *out, const struct gm_event_recorder *r)
{
    struct table t = {.out = out, .r = r, .known = find_known(r->snapshot)};
    size_t count, blocks;
    const struct source *sources = list_sources(out, r, &count, &blocks);
    if (sources == NULL || !make_columns(&t, r->segments.n + count, blocks))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!sources[i].is_recorded) {
            copy_segment(&t, sources[i].row);
            continue;
        }
        const struct gm_recorded_device *d = &r->devices.v[sources[i].row];
        for (size_t k = 0; k < d->segment_count; k++)
            put_segment(&t, d->device, &r->segments.v[d->first_segment + k]);
    }
    publish(&t);
    return put_extras(out, GM_ROW_SEGMENT, t.from, t.segments) && put_extras(out, GM_ROW_BLOCK, t.block_from, t.blocks);
}
