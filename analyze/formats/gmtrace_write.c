/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/formats/gmtrace_write.h"

#include "analyze/formats/gmtrace_write_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- strings, frames --------------------------------------------------------------------------------------------- */

static enum gm_status gmtrace_put_strings(struct gm_gmtrace_writer *w)
{
    const struct gm_strings *strings = &w->s->strings;
    struct gm_text *text = &w->stream[GM_STRS_TEXT], *joins = &w->stream[GM_STRS_JOINS];
    gm_put_varint(&w->stream[GM_STRS_COUNT], strings->count - 1);
    uint64_t since_join = 0;
    for (uint32_t i = 1; i < strings->count; i++) {
        size_t length;
        const char *bytes = gm_string(w->s, (struct gm_string_id){i}, &length);
        uint64_t pieces = 1;
        for (size_t k = 0; k < length; k++)
            pieces += bytes[k] == '\0';
        gm_text_add_bytes(text, bytes, length);
        gm_text_add_char(text, '\0');
        if (pieces == 1) {
            since_join++;
            continue;
        }
        gm_put_varint(joins, since_join);
        gm_put_varint(joins, pieces);
        since_join = 0;
    }
    return gm_gmtrace_section(w, "STRS", GM_STRS_STREAMS, 1u << GM_STRS_TEXT, 1u << GM_STRS_TEXT, 0);
}

static enum gm_status gmtrace_put_frames(struct gm_gmtrace_writer *w)
{
    const struct gm_frames *frames = &w->s->frames;
    uint32_t newest = 0;
    gm_put_varint(&w->stream[GM_FRAM_COUNT], frames->count - 1);
    for (uint32_t i = 1; i < frames->count; i++) {
        gm_put_id(&w->stream[GM_FRAM_NAME], frames->name[i].v, &newest, 0);
        gm_put_id(&w->stream[GM_FRAM_FILE], frames->filename[i].v, &newest, 0);
        gm_put_varint(&w->stream[GM_FRAM_LINE], frames->line[i] + 1); /* GM_ABSENT: 0 */
    }
    return gm_gmtrace_section(w, "FRAM", GM_FRAM_STREAMS, 0, 0, 0);
}

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

struct followers { /* see GM_FRAME_AS_PAIR */
    uint32_t *after_one, *after_pair;
    uint32_t newest;
};

/* The frame that comes `back` places further out than frame i, 0 if there is none. */
static uint32_t frame_out(const struct gm_frame_id *frames, size_t depth, size_t i, size_t back)
{
    return depth - i > back ? frames[i + back].v : 0;
}

static void put_stack(struct gm_gmtrace_writer *w, struct followers *f, struct gm_stack_id id)
{
    size_t depth, depth_before, shared = 0;
    const struct gm_frame_id *frames = gm_stack_frames(w->s, id, &depth);
    const struct gm_frame_id *before = gm_stack_frames(w->s, (struct gm_stack_id){id.v - 1}, &depth_before);
    while (shared < depth && shared < depth_before &&
           frames[depth - 1 - shared].v == before[depth_before - 1 - shared].v)
        shared++;
    gm_put_varint(&w->stream[GM_STAK_POPS], depth_before - shared);
    gm_put_varint(&w->stream[GM_STAK_PUSHES], depth - shared);
    for (size_t i = depth - shared; i-- > 0;) {
        uint32_t frame = frames[i].v, last = frame_out(frames, depth, i, 1);
        uint32_t *pair = &f->after_pair[gm_gmtrace_pair_slot(frame_out(frames, depth, i, 2), last)];
        uint32_t *one = &f->after_one[last];
        if (frame == *pair)
            gm_put_varint(&w->stream[GM_STAK_FRAMES], GM_FRAME_AS_PAIR);
        else if (frame == *one)
            gm_put_varint(&w->stream[GM_STAK_FRAMES], GM_FRAME_AS_ONE);
        else
            gm_put_id(&w->stream[GM_STAK_FRAMES], frame, &f->newest, GM_FRAME_CODES);
        *pair = *one = frame;
    }
}

static enum gm_status gmtrace_put_stacks(struct gm_gmtrace_writer *w)
{
    const struct gm_stacks *stacks = &w->s->stacks;
    struct followers f = {.after_one = calloc(w->s->frames.count, sizeof *f.after_one),
                          .after_pair = calloc(GM_PAIR_SLOTS, sizeof *f.after_pair)};
    enum gm_status status = GM_OK;
    if (f.after_one != NULL && f.after_pair != NULL) {
        gm_put_varint(&w->stream[GM_STAK_COUNT], stacks->count - 1 - GM_STACK_EMPTY);
        for (uint32_t i = GM_STACK_EMPTY + 1; i < stacks->count; i++)
            put_stack(w, &f, (struct gm_stack_id){i});
        status =
            gm_gmtrace_section(w, "STAK", GM_STAK_STREAMS, 0, 0, stacks->start[stacks->count] * GM_GMTRACE_COST_FRAME);
    } else {
        status = gm_no_memory(w->err);
    }
    GM_FREE_ALL(f.after_one, f.after_pair);
    return status;
}

/* ---- annotations ------------------------------------------------------------------------------------------------- */

static enum gm_status gmtrace_put_annotations(struct gm_gmtrace_writer *w)
{
    uint64_t device = 0, time = 0;
    gm_put_varint(&w->stream[GM_ANNO_COUNT], w->s->annotation_count);
    for (size_t i = 0; i < w->s->annotation_count; i++) {
        const struct gm_annotation *a = &w->s->annotations[i];
        gm_put_varint(&w->stream[GM_ANNO_NAME], a->name.v);
        gm_put_varint(&w->stream[GM_ANNO_STAGE], a->stage);
        gm_put_varint(&w->stream[GM_ANNO_DEVICE], gm_zigzag((uint64_t)a->device - device));
        gm_put_varint(&w->stream[GM_ANNO_TIME], gm_zigzag((uint64_t)a->time_us - time));
        device = (uint64_t)a->device;
        time = (uint64_t)a->time_us;
    }
    return gm_gmtrace_section(w, "ANNO", GM_ANNO_STREAMS, 0, 0, 0);
}

/* ---- segments, blocks -------------------------------------------------------------------------------------------- */

/* What near() reads. */
static void put_near(struct gm_gmtrace_writer *w, int stream, uint64_t v, uint64_t expected)
{
    uint64_t code = gm_zigzag(v - expected);
    if (v == GM_ABSENT) {
        gm_put_varint(&w->stream[stream], 0);
    } else if (code < UINT64_MAX - 1) {
        gm_put_varint(&w->stream[stream], code + 2);
    } else {
        gm_put_varint(&w->stream[stream], 1);
        gm_put_u64(&w->stream[GM_SEGS_ODD], v);
    }
}

/* What near_units() reads. */
static void put_near_units(struct gm_gmtrace_writer *w, int stream, uint64_t v, uint64_t expected)
{
    uint64_t delta = v - expected;
    if (delta == 0) {
        gm_put_varint(&w->stream[stream], 0);
    } else if ((delta & 511) == 0) {
        uint64_t units = delta >> 9 | (delta >> 63 != 0 ? ~(UINT64_MAX >> 9) : 0);
        gm_put_varint(&w->stream[stream], gm_zigzag(units) + 2);
    } else {
        gm_put_varint(&w->stream[stream], 1);
        gm_put_u64(&w->stream[GM_SEGS_ODD], v);
    }
}

struct sums {
    uint64_t total, allocated, active, requested;
};

static void put_block(struct gm_gmtrace_writer *w, const struct gm_blocks *b, size_t i, uint64_t expected,
                      uint32_t *newest_stack, struct sums *sums)
{
    put_near_units(w, GM_BLOCK_ADDRESS, b->address[i], expected);
    put_near_units(w, GM_BLOCK_SIZE, b->size[i], 0);
    put_near(w, GM_BLOCK_REQUESTED, b->requested[i], b->size[i]);
    gm_put_varint(&w->stream[GM_BLOCK_STATE], b->state[i]);
    gm_put_id(&w->stream[GM_BLOCK_STACK], b->stack[i].v, newest_stack, 0);
    sums->total += b->size[i];
    if (b->state[i] == GM_BLOCK_INACTIVE)
        return;
    sums->active += b->size[i];
    sums->allocated += b->state[i] == GM_BLOCK_ACTIVE_ALLOCATED ? b->size[i] : 0;
    sums->requested += gm_block_requested(b, i);
}

static enum gm_status gmtrace_put_segments(struct gm_gmtrace_writer *w, const char *tag, const struct gm_segments *s,
                                           const struct gm_blocks *b)
{
    uint64_t device = 0, end = 0;
    uint32_t newest_stack = 0;
    gm_put_varint(&w->stream[GM_SEGS_COUNT], s->count);
    gm_put_varint(&w->stream[GM_SEGS_COUNT], b->count);
    for (size_t i = 0; i < s->count; i++) {
        gm_put_varint(&w->stream[GM_SEGS_DEVICE], gm_zigzag((uint64_t)s->device[i] - device));
        device = (uint64_t)s->device[i];
        put_near_units(w, GM_SEGS_ADDRESS, s->address[i], end);
        gm_put_varint(&w->stream[GM_SEGS_KEYS], s->stream[i].v);
        gm_put_varint(&w->stream[GM_SEGS_KEYS], s->pool[i].v);
        gm_put_id(&w->stream[GM_SEGS_STACK], s->stack[i].v, &newest_stack, 0);
        gm_put_varint(&w->stream[GM_SEGS_KIND], (uint64_t)s->type[i] | (uint64_t)s->is_expandable[i] << 2);
        gm_put_varint(&w->stream[GM_SEGS_BLOCKS], s->block_count[i]);
        uint64_t expected = s->address[i];
        struct sums sums = {0};
        for (size_t k = s->block_first[i]; k < s->block_first[i] + s->block_count[i]; k++) {
            put_block(w, b, k, expected, &newest_stack, &sums);
            expected = b->address[k] + b->size[k];
        }
        put_near(w, GM_SEGS_SIZES, s->total_size[i], sums.total);
        put_near(w, GM_SEGS_SIZES, s->allocated_size[i], sums.allocated);
        put_near(w, GM_SEGS_SIZES, s->active_size[i], sums.active);
        put_near(w, GM_SEGS_SIZES, s->requested_size[i], sums.requested);
        end = s->address[i] + s->total_size[i];
    }
    return gm_gmtrace_section(w, tag, GM_SEGS_STREAMS, 1u << GM_SEGS_ODD, 0, 0);
}

/* ---- extras ------------------------------------------------------------------------------------------------------ */

static void put_loose(struct gm_gmtrace_writer *w, const struct gm_loose *v)
{
    gm_put_varint(&w->stream[GM_XTRA_TYPE], v->type);
    if (v->type >= GM_LOOSE_LIST)
        gm_put_varint(&w->stream[GM_XTRA_LENGTH], v->count);
    if (v->type >= GM_LOOSE_POSITIVE)
        gm_put_varint(&w->stream[GM_XTRA_BITS], v->type == GM_LOOSE_NEGATIVE ? gm_zigzag(v->bits) : v->bits);
}

static enum gm_status gmtrace_put_extras(struct gm_gmtrace_writer *w)
{
    const struct gm_snapshot *s = w->s;
    for (int kind = 0; kind < GM_ROW_KIND_COUNT; kind++) {
        uint64_t row = 0;
        gm_put_varint(&w->stream[GM_XTRA_COUNT], s->extras[kind].count);
        for (size_t i = 0; i < s->extras[kind].count; i++) {
            const struct gm_extra *extra = &s->extras[kind].v[i];
            gm_put_varint(&w->stream[GM_XTRA_ROW], extra->row - row);
            gm_put_varint(&w->stream[GM_XTRA_KEY], extra->key);
            put_loose(w, &extra->value);
            row = extra->row;
        }
    }
    for (int kind = 0; kind < GM_ORDER_COUNT; kind++) {
        gm_put_varint(&w->stream[GM_XTRA_COUNT], s->key_orders[kind].count);
        for (size_t i = 0; i < s->key_orders[kind].count; i++)
            gm_put_varint(&w->stream[GM_XTRA_KEY], s->key_orders[kind].keys[i]);
    }
    put_loose(w, &s->settings_tree);
    gm_put_varint(&w->stream[GM_XTRA_COUNT], s->loose_count);
    for (size_t i = 0; i < s->loose_count; i++)
        put_loose(w, &s->loose[i]);
    return gm_gmtrace_section(w, "XTRA", GM_XTRA_STREAMS, 0, 0, 0);
}

/* ---- settings, traces, the whole --------------------------------------------------------------------------------- */

static void put_text(struct gm_gmtrace_writer *w, const char *s)
{
    gm_text_add_bytes(&w->stream[GM_META_TEXTS], s, strlen(s) + 1);
}

static void put_traces(struct gm_text *t, const struct gm_trace *traces, size_t count)
{
    gm_put_varint(t, count);
    for (size_t i = 0; i < count; i++) {
        gm_put_varint(t, traces[i].count);
        gm_put_varint(t, traces[i].max_entries + 1); /* GM_ABSENT: 0 */
        gm_put_varint(t, traces[i].overflowed);
    }
}

static void put_keys_and_events(struct gm_text *t, const struct gm_snapshot *s)
{
    uint64_t last = 0;
    gm_put_varint(t, s->stream_count - 1);
    for (uint32_t i = 1; i < s->stream_count; i++) {
        gm_put_varint(t, gm_zigzag((uint64_t)s->streams[i] - last));
        last = (uint64_t)s->streams[i];
    }
    gm_put_varint(t, s->pool_count - 1);
    for (uint32_t i = 1; i < s->pool_count; i++) {
        gm_put_varint(t, s->pools[i].first);
        gm_put_varint(t, s->pools[i].second);
    }
    const struct gm_events *e = &s->events;
#define COLUMN(name) &e->name,
    const struct gm_rare_column *columns[] = {GM_EVENT_RARE_COLUMNS(COLUMN)};
    gm_put_varint(t, e->count);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        gm_put_varint(t, columns[i]->v != NULL);
        gm_put_varint(t, columns[i]->all);
    }
}

static void put_settings(struct gm_gmtrace_writer *w)
{
    struct gm_text *t = &w->stream[GM_META_NUMBERS];
    gm_put_varint(t, w->s->setting_count);
    for (size_t i = 0; i < w->s->setting_count; i++) {
        const struct gm_setting *setting = &w->s->settings[i];
        uint64_t value = gm_zigzag((uint64_t)setting->integer);
        if (setting->type == GM_SETTING_REAL)
            memcpy(&value, &setting->real, sizeof value);
        else if (setting->type == GM_SETTING_STRING)
            value = setting->string.v;
        gm_put_varint(t, setting->type);
        gm_put_varint(t, value);
        put_text(w, setting->key);
    }
}

static enum gm_status put_meta(struct gm_gmtrace_writer *w)
{
    const struct gm_snapshot *s = w->s;
    struct gm_text *t = &w->stream[GM_META_NUMBERS];
    gm_put_varint(t, (uint64_t)gm_events_have_times(&s->events) << GM_FLAG_TIME |
                         (uint64_t)s->has_settings << GM_FLAG_SETTINGS |
                         (uint64_t)s->has_annotations << GM_FLAG_ANNOTATIONS |
                         (uint64_t)s->source.is_bare_segment_list << GM_FLAG_BARE |
                         (uint64_t)s->source.is_salvaged << GM_FLAG_SALVAGED);
    put_keys_and_events(t, s);
    put_traces(t, s->traces, s->trace_count);
    put_traces(t, s->host_traces, s->host_trace_count);
    put_settings(w);
    gm_put_varint(t, s->warning_count);
    for (size_t i = 0; i < s->warning_count; i++)
        put_text(w, s->warnings[i]);
    if (s->source.is_salvaged) {
        gm_put_varint(t, s->source.salvaged_offset);
        put_text(w, s->source.salvaged_reason);
    }
    return gm_gmtrace_section(w, "META", GM_META_STREAMS, 1u << GM_META_TEXTS, 0, 0);
}

static enum gm_status write(struct gm_gmtrace_writer *w)
{
    GM_TRY(gmtrace_put_strings(w));
    GM_TRY(gmtrace_put_frames(w));
    GM_TRY(gmtrace_put_stacks(w));
    GM_TRY(put_meta(w));
    GM_TRY(gmtrace_put_segments(w, "SEGS", &w->s->segments, &w->s->blocks));
    GM_TRY(gmtrace_put_segments(w, "HSEG", &w->s->host_segments, &w->s->host_blocks));
    GM_TRY(gmtrace_put_annotations(w));
    GM_TRY(gmtrace_put_extras(w));
    GM_TRY(gm_gmtrace_put_events(w));
    return gm_gmtrace_writer_end(w);
}

static enum gm_status write_at(int level, size_t rows, const struct gm_snapshot *snapshot, struct gm_text *out,
                               struct gm_error *err)
{
    struct gm_gmtrace_writer w;
    enum gm_status status = gm_gmtrace_writer_open(&w, snapshot, level, rows, out, err);
    GM_THEN(status, write(&w));
    gm_gmtrace_writer_close(&w);
    return status;
}

enum gm_status gm_write_gmtrace(const struct gm_snapshot *snapshot, struct gm_text *out, struct gm_error *err)
{
    enum { LEVEL = 19, LEVEL_LARGE = 9, LARGE = 2 << 20 }; /* events */
    return write_at(snapshot->events.count > LARGE ? LEVEL_LARGE : LEVEL, GM_GMTRACE_CHUNK_ROWS, snapshot, out, err);
}

enum gm_status gm_write_gmtrace_quickly(const struct gm_snapshot *snapshot, struct gm_text *out, struct gm_error *err)
{
    enum { LEVEL = 3, ROWS = 1 << 16 /* so that what waits to be compressed stays small */ };
    return write_at(LEVEL, ROWS, snapshot, out, err);
}
