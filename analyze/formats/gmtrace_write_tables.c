/* SPDX-License-Identifier: Apache-2.0
 *
 * Strings, frames, stacks and annotations.
 */
#include "analyze/formats/gmtrace_write_parts.h"

#include <stdlib.h>
#include <string.h>

enum gm_status gm_gmtrace_put_strings(struct gm_gmtrace_writer *w)
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

enum gm_status gm_gmtrace_put_frames(struct gm_gmtrace_writer *w)
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

enum gm_status gm_gmtrace_put_stacks(struct gm_gmtrace_writer *w)
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
    free(f.after_one);
    free(f.after_pair);
    return status;
}

/* ---- annotations ------------------------------------------------------------------------------------------------- */

enum gm_status gm_gmtrace_put_annotations(struct gm_gmtrace_writer *w)
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
