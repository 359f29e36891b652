/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments and blocks of a regenerated snapshot: by device, then as they are, as PyTorch lists them. Devices that were
 * not replayed keep theirs. A key that the recorded rows do not have, these do not have either.
 */
#include "replay/regenerate/regenerate_private.h"

#include "analyze/base/order.h"
#include "analyze/snapshot/builder.h"

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
    struct gm_segment_columns s;
    struct gm_block_columns b;
    uint32_t *from, *block_from; /* rows of the snapshot, or GM_NO_ROW */
    size_t segments, blocks;     /* so far */
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

static bool make_columns(struct table *t, size_t segments, size_t blocks)
{
    t->from = gm_arena_calloc(&t->out->arena, segments, sizeof *t->from);
    t->block_from = gm_arena_calloc(&t->out->arena, blocks, sizeof *t->block_from);
    return t->from != NULL && t->block_from != NULL && gm_new_segment_columns(&t->out->arena, &t->s, segments) &&
           gm_new_block_columns(&t->out->arena, &t->b, blocks);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define COPY_SEGMENT(type, name) t->s.name[i] = g->name[row];
#define COPY_BLOCK(type, name) t->b.name[t->blocks] = b->name[from];

static void copy_segment(struct table *t, size_t row)
{
    const struct gm_segments *g = &t->r->snapshot->segments;
    const struct gm_blocks *b = &t->r->snapshot->blocks;
    size_t i = t->segments++;
    GM_SEGMENT_COLUMNS(COPY_SEGMENT)
    t->s.block_first[i] = t->blocks;
    t->from[i] = (uint32_t)row;
    for (size_t from = g->block_first[row]; from < g->block_first[row] + g->block_count[row]; from++, t->blocks++) {
        GM_BLOCK_COLUMNS(COPY_BLOCK)
        t->b.segment[t->blocks] = (uint32_t)i;
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
    t->s.device[i] = device;
    t->s.address[i] = g->address;
    t->s.total_size[i] = g->size;
    t->s.allocated_size[i] = k->sizes ? g->allocated : GM_ABSENT;
    t->s.active_size[i] = k->active ? g->active : GM_ABSENT;
    t->s.requested_size[i] = k->requested ? g->requested : GM_ABSENT;
    t->s.stream[i].v = k->stream ? g->stream : 0;
    t->s.pool[i].v = k->pool ? g->pool : 0;
    t->s.stack[i].v =
        stack_or_empty(k->stack && (g->row == GM_NO_ROW || recorded->segments.stack[g->row].v != 0), g->stack);
    t->s.type[i] = !k->type ? GM_SEGMENT_TYPE_ABSENT : g->is_small ? GM_SEGMENT_SMALL : GM_SEGMENT_LARGE;
    t->s.is_expandable[i] = !k->expandable ? GM_TRUTH_ABSENT : g->is_expandable ? GM_TRUE : GM_FALSE;
    t->s.block_first[i] = t->blocks;
    t->s.block_count[i] = g->block_count;
    t->from[i] = g->row;
    for (size_t n = 0; n < g->block_count; n++, t->blocks++) {
        const struct gm_recorded_block *b = &t->r->blocks.v[g->first_block + n];
        bool is_active = b->state != GM_BLOCK_INACTIVE, is_new = b->row == GM_NO_ROW;
        bool has_requested = is_new ? k->block_requested[is_active] : recorded->blocks.requested[b->row] != GM_ABSENT;
        bool has_stack = is_new ? k->block_stack[is_active] : recorded->blocks.stack[b->row].v != 0;
        t->b.address[t->blocks] = b->address;
        t->b.size[t->blocks] = b->size;
        t->b.requested[t->blocks] = has_requested ? b->requested : GM_ABSENT;
        t->b.state[t->blocks] = b->state;
        t->b.stack[t->blocks].v = stack_or_empty(has_stack, b->stack);
        t->b.segment[t->blocks] = (uint32_t)i;
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

GM_ORDERING(by_device, struct source, GM_UP(device) || GM_UP(row));

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
    struct source *list = gm_arena_calloc(&out->arena, g->count + r->devices.n, sizeof *list);
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
    out->snapshot.segments = gm_segments_of(&t.s, t.segments);
    out->snapshot.blocks = gm_blocks_of(&t.b, t.blocks);
    return gm_regenerate_extras(out, GM_ROW_SEGMENT, t.from, t.segments, NULL) &&
           gm_regenerate_extras(out, GM_ROW_BLOCK, t.block_from, t.blocks, NULL);
}
