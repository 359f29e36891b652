/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables: frames, segments with their blocks, events, annotations. A field of each is one case of a switch.
 */
#include "replay/write/snapshot_writer.h"

/* ---- fields ----------------------------------------------------------------------------------------------------- */

#define UINT(name, v) GM_PUT_FIELD(name, (v) != GM_ABSENT, gm_pickle_uint(&w->p, v))
#define TEXT(name, string) GM_PUT_FIELD(name, (string) != 0, gm_put_string(w, string))
#define STREAM(stream) GM_PUT_FIELD(STREAM, (stream) != 0, gm_pickle_int(&w->p, w->s->streams[stream]))
#define STACK(stack) GM_PUT_FIELD(FRAMES, (stack).v != 0, gm_put_stack(w, (stack).v))
#define POOL(name, pool) GM_PUT_FIELD(name, (pool) != 0, gm_put_pool(w, pool))

/* ---- frames ----------------------------------------------------------------------------------------------------- */

static void put_frame_field(struct gm_snapshot_writer *w, const void *table, enum gm_put_word field, size_t row)
{
    const struct gm_frames *t = table;
    switch ((int)field) {
        TEXT(NAME, t->name[row].v);
        TEXT(FILENAME, t->filename[row].v);
        UINT(LINE, t->line[row]);
    default:
        break;
    }
}

/* A frame's extras may hold frames; no real file has them, so the depth is a limit rather than a list. */
void gm_put_frame_dict(struct gm_snapshot_writer *w, uint32_t frame)
{
    enum { MAX_NESTED = 100 };
    const struct gm_extras *extras = &w->s->extras[GM_ROW_FRAME];
    size_t at = 0, count = extras->count > 0 ? gm_extras_of(extras, frame, &at) : 0;
    if (++w->nested_frames > MAX_NESTED)
        gm_pickle_fail(&w->p, GM_E_LIMIT, "frames inside frames inside frames, deeper than 100 levels");
    else
        gm_put_pairs(w, GM_ORDER_FRAME, put_frame_field, &w->s->frames, frame, count > 0 ? extras->v + at : NULL,
                     count);
    w->nested_frames--;
}

/* ---- segments and blocks ---------------------------------------------------------------------------------------- */

struct segment_table {
    const struct gm_segments *segments;
    const struct gm_blocks *blocks;
    struct gm_extras_cursor *block_extras;
};

static void put_block_field(struct gm_snapshot_writer *w, const void *table, enum gm_put_word field, size_t row)
{
    static const enum gm_put_word states[] = {[GM_BLOCK_INACTIVE] = GM_PUT_INACTIVE,
                                              [GM_BLOCK_ACTIVE_ALLOCATED] = GM_PUT_ACTIVE_ALLOCATED,
                                              [GM_BLOCK_ACTIVE_PENDING_FREE] = GM_PUT_ACTIVE_PENDING_FREE};
    const struct gm_blocks *t = table;
    switch ((int)field) {
        UINT(ADDRESS, t->address[row]);
        UINT(SIZE, t->size[row]);
        UINT(REQUESTED_SIZE, t->requested[row]);
        GM_PUT_FIELD(STATE, true, gm_put_word(w, states[t->state[row]]));
        STACK(t->stack[row]);
    default:
        break;
    }
}

static void put_blocks(struct gm_snapshot_writer *w, const struct segment_table *t, size_t segment)
{
    size_t first = t->segments->block_first[segment], count = t->segments->block_count[segment];
    gm_put_list(w);
    for (size_t i = 0; i < count && w->p.status == GM_OK; i++) {
        const struct gm_extra *extras;
        size_t n = gm_extras_next(t->block_extras, first + i, &extras);
        bool has_frames = t->blocks->stack[first + i].v > GM_STACK_EMPTY;
        gm_put_item(w, i, count);
        gm_pickle_op(&w->p, GM_PUT_EMPTY_DICT);
        gm_put_pairs(w, has_frames ? GM_ORDER_BLOCK_WITH_FRAMES : GM_ORDER_BLOCK, put_block_field, t->blocks, first + i,
                     extras, n);
    }
    gm_put_list_end(w, count);
}

static void put_segment_field(struct gm_snapshot_writer *w, const void *table, enum gm_put_word field, size_t row)
{
    const struct segment_table *t = table;
    const struct gm_segments *s = t->segments;
    switch ((int)field) {
        GM_PUT_FIELD(DEVICE, true, gm_pickle_int(&w->p, s->device[row]));
        UINT(ADDRESS, s->address[row]);
        UINT(TOTAL_SIZE, s->total_size[row]);
        UINT(ALLOCATED_SIZE, s->allocated_size[row]);
        UINT(ACTIVE_SIZE, s->active_size[row]);
        UINT(REQUESTED_SIZE, s->requested_size[row]);
        STREAM(s->stream[row].v);
        GM_PUT_FIELD(SEGMENT_TYPE, s->type[row] != GM_SEGMENT_TYPE_ABSENT,
                     gm_put_word(w, s->type[row] == GM_SEGMENT_SMALL ? GM_PUT_SMALL : GM_PUT_LARGE));
        POOL(SEGMENT_POOL_ID, s->pool[row].v);
        GM_PUT_FIELD(IS_EXPANDABLE, s->is_expandable[row] != GM_TRUTH_ABSENT,
                     gm_pickle_op(&w->p, s->is_expandable[row] == GM_TRUE ? GM_PUT_TRUE : GM_PUT_FALSE));
        STACK(s->stack[row]);
        GM_PUT_FIELD(BLOCKS, true, put_blocks(w, t, row));
    default:
        break;
    }
}

/* Words that only segments and blocks need give their low slots to what comes after. */
static void give_back_slots(struct gm_snapshot_writer *w)
{
    static const uint8_t only[] = {GM_FIELD_SEGMENTS,
                                   GM_FIELD_ADDRESS,
                                   GM_FIELD_TOTAL_SIZE,
                                   GM_FIELD_ALLOCATED_SIZE,
                                   GM_FIELD_ACTIVE_SIZE,
                                   GM_FIELD_REQUESTED_SIZE,
                                   GM_FIELD_SEGMENT_TYPE,
                                   GM_FIELD_SEGMENT_POOL_ID,
                                   GM_FIELD_IS_EXPANDABLE,
                                   GM_FIELD_BLOCKS,
                                   GM_FIELD_STATE,
                                   GM_FIELD_DEVICE,
                                   GM_PUT_SMALL,
                                   GM_PUT_LARGE,
                                   GM_PUT_INACTIVE,
                                   GM_PUT_ACTIVE_ALLOCATED,
                                   GM_PUT_ACTIVE_PENDING_FREE};
    for (size_t i = 0; i < sizeof only; i++)
        gm_pickle_give_back(&w->p, &w->words[only[i]]);
}

void gm_put_segments(struct gm_snapshot_writer *w, bool is_host)
{
    const struct gm_extras *extras = w->s->extras;
    struct gm_extras_cursor segment_extras = gm_extras_from(&extras[is_host ? GM_ROW_HOST_SEGMENT : GM_ROW_SEGMENT], 0);
    struct gm_extras_cursor block_extras = gm_extras_from(&extras[is_host ? GM_ROW_HOST_BLOCK : GM_ROW_BLOCK], 0);
    const struct segment_table t = {.segments = is_host ? &w->s->host_segments : &w->s->segments,
                                    .blocks = is_host ? &w->s->host_blocks : &w->s->blocks,
                                    .block_extras = &block_extras};
    const size_t count = t.segments->count;
    gm_put_list(w);
    for (size_t i = 0; i < count && w->p.status == GM_OK; i++) {
        const struct gm_extra *row_extras;
        size_t n = gm_extras_next(&segment_extras, i, &row_extras);
        bool has_frames = t.segments->stack[i].v > GM_STACK_EMPTY;
        gm_put_item(w, i, count);
        gm_pickle_op(&w->p, GM_PUT_EMPTY_DICT);
        gm_put_pairs(w, has_frames ? GM_ORDER_SEGMENT_WITH_FRAMES : GM_ORDER_SEGMENT, put_segment_field, &t, i,
                     row_extras, n);
    }
    gm_put_list_end(w, count);
    give_back_slots(w);
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

static inline void put_action(struct gm_snapshot_writer *w, const struct gm_events *e, size_t row)
{
    if (e->action[row] == GM_ACTION_OTHER)
        gm_put_string(w, gm_rare_at(&e->action_name, row));
    else
        gm_put_word(w, (enum gm_put_word)(GM_PUT_FIRST_ACTION + e->action[row]));
}

static inline void put_event_field(struct gm_snapshot_writer *w, const void *table, enum gm_put_word field, size_t row)
{
    const struct gm_events *e = table;
    bool is_oom = e->action[row] == GM_ACTION_OOM;
    switch ((int)field) {
        GM_PUT_FIELD(ACTION, e->action[row] != GM_ACTION_OTHER || gm_rare_at(&e->action_name, row) != 0,
                     put_action(w, e, row));
        GM_PUT_FIELD(ADDR, !is_oom && gm_event_addr(e, row) != GM_ABSENT, gm_pickle_uint(&w->p, gm_event_addr(e, row)));
        GM_PUT_FIELD(DEVICE_FREE, is_oom && gm_event_addr(e, row) != GM_ABSENT,
                     gm_pickle_uint(&w->p, gm_event_addr(e, row)));
        UINT(SIZE, gm_event_size(e, row));
        STREAM(gm_rare_at(&e->stream, row));
        GM_PUT_FIELD(TIME_US, gm_event_time_us(e, row) != GM_ABSENT_TIME,
                     gm_pickle_int(&w->p, gm_event_time_us(e, row)));
        TEXT(COMPILE_CONTEXT, gm_rare_at(&e->compile_context, row));
        TEXT(USER_METADATA, gm_rare_at(&e->user_metadata, row));
        POOL(POOL_ID, gm_rare_at(&e->pool, row));
        STACK(gm_event_stack(e, row));
        TEXT(CATEGORY, gm_rare_at(&e->category, row));
    default:
        break;
    }
}

static void put_trace(struct gm_snapshot_writer *w, const struct gm_trace *trace)
{
    const struct gm_events *events = &w->s->events;
    struct gm_extras_cursor all = gm_extras_from(&w->s->extras[GM_ROW_EVENT], trace->first);
    gm_put_list(w);
    for (size_t i = 0; i < trace->count && w->p.status == GM_OK; i++) {
        const struct gm_extra *extras;
        size_t n = gm_extras_next(&all, trace->first + i, &extras);
        bool has_frames = gm_event_stack(events, trace->first + i).v != 0;
        gm_put_item(w, i, trace->count);
        gm_pickle_op(&w->p, GM_PUT_EMPTY_DICT);
        gm_put_pairs(w, has_frames ? GM_ORDER_EVENT_WITH_FRAMES : GM_ORDER_EVENT, put_event_field, events,
                     trace->first + i, extras, n);
    }
    gm_put_list_end(w, trace->count);
}

void gm_put_traces(struct gm_snapshot_writer *w, const struct gm_trace *traces, size_t count)
{
    gm_put_list(w);
    for (size_t d = 0; d < count; d++) {
        gm_put_item(w, d, count);
        put_trace(w, &traces[d]);
    }
    gm_put_list_end(w, count);
}

/* ---- annotations ------------------------------------------------------------------------------------------------ */

static void put_annotation_field(struct gm_snapshot_writer *w, const void *table, enum gm_put_word field, size_t row)
{
    const struct gm_annotation *a = (const struct gm_annotation *)table + row;
    switch ((int)field) {
        GM_PUT_FIELD(STAGE, a->stage != GM_STAGE_OTHER,
                     gm_put_word(w, a->stage == GM_STAGE_START ? GM_PUT_START : GM_PUT_END));
        TEXT(NAME, a->name.v);
        GM_PUT_FIELD(DEVICE, true, gm_pickle_int(&w->p, a->device));
        GM_PUT_FIELD(TIME_US, a->time_us != GM_ABSENT_TIME, gm_pickle_int(&w->p, a->time_us));
    default:
        break;
    }
}

void gm_put_annotations(struct gm_snapshot_writer *w)
{
    struct gm_extras_cursor all = gm_extras_from(&w->s->extras[GM_ROW_ANNOTATION], 0);
    const size_t count = w->s->annotation_count;
    gm_put_list(w);
    for (size_t i = 0; i < count && w->p.status == GM_OK; i++) {
        const struct gm_extra *extras;
        size_t n = gm_extras_next(&all, i, &extras);
        gm_put_item(w, i, count);
        gm_pickle_op(&w->p, GM_PUT_EMPTY_DICT);
        gm_put_pairs(w, GM_ORDER_ANNOTATION, put_annotation_field, w->s->annotations, i, extras, n);
    }
    gm_put_list_end(w, count);
}
