/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/handover/graft.h"

#include "analyze/base/arithmetic.h"
#include "replay/regenerate/regenerate.h"

#include <stdlib.h>
#include <string.h>

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static bool map_strings(struct gm_graft *g, struct gm_graft_part *part)
{
    const struct gm_snapshot *s = part->s;
    part->string = gm_arena_calloc(&g->arena, (size_t)s->strings.count + 1, sizeof *part->string);
    bool ok = part->string != NULL;
    for (uint32_t i = 1; ok && i < s->strings.count; i++) {
        size_t n;
        const char *text = gm_string(s, (struct gm_string_id){i}, &n);
        ok = (part->string[i] = gm_intern_string(g->m, text, n).v) != 0;
    }
    return ok;
}

static bool map_frames(struct gm_graft *g, struct gm_graft_part *part)
{
    const struct gm_frames *f = &part->s->frames;
    part->frame = gm_arena_calloc(&g->arena, (size_t)f->count + 1, sizeof *part->frame);
    bool ok = part->frame != NULL;
    for (uint32_t i = 1; ok && i < f->count; i++) {
        const struct gm_string_id name = {part->string[f->name[i].v]}, file = {part->string[f->filename[i].v]};
        ok = (part->frame[i] = gm_intern_frame(g->m, name, file, f->line[i]).v) != 0;
    }
    return ok;
}

static bool map_stacks(struct gm_graft *g, struct gm_graft_part *part)
{
    const struct gm_stacks *t = &part->s->stacks;
    size_t deepest = 0;
    for (uint32_t i = 1; i < t->count; i++)
        deepest = gm_max(deepest, (size_t)(t->start[i + 1] - t->start[i]));
    GM_FREED uint32_t *frames = malloc((deepest + 1) * sizeof *frames);
    part->stack = gm_arena_calloc(&g->arena, (size_t)t->count + 1, sizeof *part->stack);
    bool ok = part->stack != NULL && frames != NULL;
    for (uint32_t i = 1; ok && i < t->count; i++) {
        size_t depth;
        const struct gm_frame_id *own = gm_stack_frames(part->s, (struct gm_stack_id){i}, &depth);
        for (size_t k = 0; k < depth; k++)
            frames[k] = part->frame[own[k].v];
        ok = (part->stack[i] = gm_intern_stack(g->m, frames, depth).v) != 0;
    }
    return ok;
}

static bool map_streams_and_pools(struct gm_graft *g, struct gm_graft_part *part)
{
    const struct gm_snapshot *s = part->s;
    part->stream = gm_arena_calloc(&g->arena, (size_t)s->stream_count + 1, sizeof *part->stream);
    part->pool = gm_arena_calloc(&g->arena, (size_t)s->pool_count + 1, sizeof *part->pool);
    bool ok = part->stream != NULL && part->pool != NULL;
    for (uint32_t i = 1; ok && i < s->stream_count; i++)
        ok = (part->stream[i] = gm_intern_stream(g->m, s->streams[i]).v) != 0;
    for (uint32_t i = 1; ok && i < s->pool_count; i++)
        ok = (part->pool[i] = gm_intern_pool(g->m, s->pools[i]).v) != 0;
    return ok;
}

/* ---- loose values ------------------------------------------------------------------------------------------------ */

static struct gm_loose loose_of(const struct gm_graft_part *part, struct gm_loose value)
{
    if (value.type == GM_LOOSE_STRING)
        value.bits = part->string[value.bits];
    else if (value.type == GM_LOOSE_POOL)
        value.bits = part->pool[value.bits];
    else if (value.type == GM_LOOSE_FRAME)
        value.bits = part->frame[value.bits];
    else if (value.type == GM_LOOSE_STACK)
        value.bits = part->stack[value.bits];
    else if (value.type == GM_LOOSE_LIST || value.type == GM_LOOSE_DICT)
        value.bits += part->loose_from;
    return value;
}

static bool take_loose(struct gm_graft *g, struct gm_graft_part *part)
{
    part->loose_from = g->m->loose.n;
    if (!GM_VEC_ROOM(&g->m->loose, part->s->loose_count))
        return false;
    for (size_t i = 0; i < part->s->loose_count; i++)
        g->m->loose.v[g->m->loose.n++] = loose_of(part, part->s->loose[i]);
    return true;
}

/* What row `old` of a part has beside the columns, for row `row`. */
static bool take_extras(struct gm_graft *g, const struct gm_graft_part *part, enum gm_row_kind kind, size_t old,
                        size_t row)
{
    const struct gm_extras *extras = &part->s->extras[kind];
    size_t from;
    if (extras->count == 0)
        return true;
    for (size_t n = gm_extras_of(extras, (uint32_t)old, &from); n > 0; n--, from++) {
        const struct gm_extra *own = &extras->v[from];
        const struct gm_extra extra = {(uint32_t)row, part->string[own->key], loose_of(part, own->value)};
        if (!GM_VEC_PUSH(&g->m->extras[kind], extra))
            return false;
    }
    return true;
}

/* ---- begin, rows ------------------------------------------------------------------------------------------------- */

enum gm_status gm_graft_begin(struct gm_graft *g, const struct gm_snapshot *const *parts, size_t count,
                              struct gm_error *err)
{
    g->m = gm_snapshot_memory_new();
    g->parts = gm_arena_calloc(&g->arena, count, sizeof *g->parts);
    if (g->m == NULL || g->parts == NULL)
        return gm_no_memory(err);
    g->count = count;
    for (size_t i = 0; i < count; i++) {
        struct gm_graft_part *part = &g->parts[i];
        part->s = parts[i];
        if (!map_strings(g, part) || !map_frames(g, part) || !map_stacks(g, part) || !map_streams_and_pools(g, part) ||
            !take_loose(g, part))
            return gm_builder_failure(g->m, GM_NO_OFFSET, err);
    }
    return GM_OK;
}

void gm_graft_free(struct gm_graft *g)
{
    gm_snapshot_memory_free(g->m);
    gm_arena_free(&g->arena);
    *g = (struct gm_graft){0};
}

struct gm_event_row gm_graft_event(const struct gm_graft_part *part, size_t row)
{
    struct gm_event_row e = gm_event_row_at(&part->s->events, row);
    e.stack.v = part->stack[e.stack.v];
    e.stream = part->stream[e.stream];
    e.pool = part->pool[e.pool];
    e.compile_context = part->string[e.compile_context];
    e.user_metadata = part->string[e.user_metadata];
    e.action_name = part->string[e.action_name];
    e.category = part->string[e.category];
    return e;
}

bool gm_graft_add_events(struct gm_graft *g, const struct gm_graft_part *part, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        const struct gm_event_row row = gm_graft_event(part, i);
        const size_t at = g->m->events.count;
        if (!gm_builder_add_event(g->m, &row) || !take_extras(g, part, GM_ROW_EVENT, i, at))
            return false;
    }
    return true;
}

bool gm_graft_add_annotation(struct gm_graft *g, const struct gm_graft_part *part, size_t row, int64_t device)
{
    struct gm_annotation annotation = part->s->annotations[row];
    const size_t at = g->m->annotations.n;
    annotation.name.v = part->string[annotation.name.v];
    annotation.device = device;
    return GM_VEC_PUSH(&g->m->annotations, annotation) && take_extras(g, part, GM_ROW_ANNOTATION, row, at);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static const struct gm_segments *segments_of(const struct gm_snapshot *s, bool is_host)
{
    return is_host ? &s->host_segments : &s->segments;
}

static const struct gm_blocks *blocks_of(const struct gm_snapshot *s, bool is_host)
{
    return is_host ? &s->host_blocks : &s->blocks;
}

static void put_segment(struct gm_segment_columns *to, size_t row, const struct gm_graft_part *part,
                        const struct gm_segments *from, size_t i, int64_t device, size_t first_block)
{
#define COPY(type, name) to->name[row] = from->name[i];
    GM_SEGMENT_COLUMNS(COPY)
    to->device[row] = device;
    to->stream[row].v = part->stream[from->stream[i].v];
    to->pool[row].v = part->pool[from->pool[i].v];
    to->stack[row].v = part->stack[from->stack[i].v];
    to->block_first[row] += first_block;
}

static void put_block(struct gm_block_columns *to, size_t row, const struct gm_graft_part *part,
                      const struct gm_blocks *from, size_t i, size_t first_segment)
{
    GM_BLOCK_COLUMNS(COPY)
    to->stack[row].v = part->stack[from->stack[i].v];
    to->segment[row] += (uint32_t)first_segment;
}

static bool add_state(struct gm_graft *g, struct gm_snapshot *out, bool is_host, size_t first, size_t last,
                      gm_graft_device *device, const void *context)
{
    struct gm_segment_columns segments;
    struct gm_block_columns blocks;
    size_t segment_count = 0, block_count = 0, s = 0, b = 0;
    for (size_t p = first; p <= last; p++) {
        segment_count += segments_of(g->parts[p].s, is_host)->count;
        block_count += blocks_of(g->parts[p].s, is_host)->count;
    }
    bool ok = gm_new_segment_columns(&g->m->arena, &segments, segment_count) &&
              gm_new_block_columns(&g->m->arena, &blocks, block_count);
    for (size_t p = first; ok && p <= last; p++) {
        const struct gm_graft_part *part = &g->parts[p];
        const struct gm_segments *own = segments_of(part->s, is_host);
        const struct gm_blocks *own_blocks = blocks_of(part->s, is_host);
        const size_t first_segment = s, first_block = b;
        for (size_t i = 0; ok && i < own->count; i++, s++) {
            put_segment(&segments, s, part, own, i,
                        device == NULL ? own->device[i] : device(context, p, own->device[i]), first_block);
            ok = take_extras(g, part, is_host ? GM_ROW_HOST_SEGMENT : GM_ROW_SEGMENT, i, s);
        }
        for (size_t i = 0; ok && i < own_blocks->count; i++, b++) {
            put_block(&blocks, b, part, own_blocks, i, first_segment);
            ok = take_extras(g, part, is_host ? GM_ROW_HOST_BLOCK : GM_ROW_BLOCK, i, b);
        }
    }
    if (ok) {
        *(is_host ? &out->host_segments : &out->segments) = gm_segments_of(&segments, segment_count);
        *(is_host ? &out->host_blocks : &out->blocks) = gm_blocks_of(&blocks, block_count);
    }
    return ok;
}

/* A frame that several parts have has what the last of them says. */
static bool add_frame_extras(struct gm_graft *g)
{
    const size_t count = g->m->frame_name.n;
    struct {
        size_t part; /* 1 more; 0: none has anything */
        uint32_t own;
    } *teller = gm_arena_calloc(&g->arena, count, sizeof *teller);
    bool ok = teller != NULL;
    for (size_t p = 0; ok && p < g->count; p++)
        for (size_t i = 0; i < g->parts[p].s->extras[GM_ROW_FRAME].count; i++) {
            const uint32_t own = g->parts[p].s->extras[GM_ROW_FRAME].v[i].row, frame = g->parts[p].frame[own];
            teller[frame].part = p + 1;
            teller[frame].own = own;
        }
    for (size_t i = 0; ok && i < count; i++)
        ok = teller[i].part == 0 || take_extras(g, &g->parts[teller[i].part - 1], GM_ROW_FRAME, teller[i].own, i);
    return ok;
}

static bool add_top(struct gm_graft *g, const struct gm_graft_part *part, struct gm_snapshot *out)
{
    out->settings_tree = loose_of(part, part->s->settings_tree);
    return take_extras(g, part, GM_ROW_TOP, 0, 0);
}

static bool add_orders(struct gm_graft *g, const struct gm_graft_part *part)
{
    for (int kind = 0; kind < GM_ORDER_COUNT; kind++)
        for (size_t i = 0; i < part->s->key_orders[kind].count; i++)
            if (!GM_VEC_PUSH(&g->m->key_orders[kind], part->string[part->s->key_orders[kind].keys[i]]))
                return false;
    return true;
}

static bool add_settings(struct gm_graft *g, const struct gm_graft_part *part, struct gm_snapshot *out)
{
    const struct gm_snapshot *s = part->s;
    struct gm_setting *settings = gm_arena_calloc(&g->m->arena, s->setting_count + 1, sizeof *settings);
    bool ok = settings != NULL;
    for (size_t i = 0; ok && i < s->setting_count; i++) {
        settings[i] = s->settings[i];
        settings[i].key = gm_arena_copy(&g->m->arena, s->settings[i].key, strlen(s->settings[i].key));
        settings[i].string.v = part->string[s->settings[i].string.v];
        ok = settings[i].key != NULL;
    }
    out->settings = settings;
    out->setting_count = s->setting_count;
    out->has_settings = s->has_settings;
    return ok;
}

bool gm_graft_end(struct gm_graft *g, struct gm_snapshot *out, size_t first, size_t last, gm_graft_device *device,
                  const void *context)
{
    const struct gm_graft_part *part = &g->parts[last];
    *out = (struct gm_snapshot){.source = {.path = "-", .format = "pickle", .pickle_protocol = -1},
                                .has_annotations = part->s->has_annotations || g->m->annotations.n > 0};
    if (!add_state(g, out, false, first, last, device, context) ||
        !add_state(g, out, true, first, last, device, context) || !add_frame_extras(g) || !add_top(g, part, out) ||
        !add_orders(g, part) || !add_settings(g, part, out))
        return false;
    gm_builder_publish(g->m, out);
    if (!gm_forget_ring(out, &g->m->arena)) {
        out->memory = NULL;
        return false;
    }
    g->m = NULL; /* the snapshot owns it now */
    return true;
}
