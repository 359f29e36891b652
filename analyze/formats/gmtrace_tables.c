/* SPDX-License-Identifier: Apache-2.0
 *
 * Strings, frames, stacks and annotations of a .gmtrace file.
 */
#include "analyze/base/freed.h"
#include "analyze/formats/gmtrace_parts.h"

#include <stdlib.h>
#include <string.h>

uint32_t gm_gmtrace_id(struct gm_cursor *c, uint64_t code, uint32_t *newest, uint32_t limit)
{
    uint64_t id;
    if (code >= 2) { /* that many before the newest */
        id = *newest - (code - 2);
        c->bad |= code - 2 > *newest;
    } else {
        uint64_t gap = code == 1 ? gm_cursor_varint(c) : 0;
        id = gap <= UINT32_MAX ? *newest + gap + 1 + code : limit;
    }
    if (id >= limit) {
        c->bad = true;
        return 0;
    }
    if (id > *newest)
        *newest = (uint32_t)id;
    return (uint32_t)id;
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

/* A string is one piece that ends with a NUL, or more of them if it holds NULs itself, which `joins` tells. */
static const unsigned char *end_of_string(struct gm_cursor *text, uint64_t pieces)
{
    const unsigned char *from = text->p, *nul = NULL;
    for (; pieces > 0; pieces--) {
        nul = from == text->end ? NULL : memchr(from, '\0', (size_t)(text->end - from));
        if (nul == NULL) {
            text->bad = true;
            return NULL;
        }
        from = nul + 1;
    }
    return nul;
}

enum gm_status gm_gmtrace_strings(struct gm_gmtrace_parts *p)
{
    GM_TRY(gm_gmtrace_begin(&p->r, "STRS", GM_STRS_STREAMS));
    struct gm_snapshot_memory *m = p->m;
    struct gm_cursor *text = &p->r.streams[GM_STRS_TEXT], *joins = &p->r.streams[GM_STRS_JOINS];
    uint64_t count = gm_cursor_varint(&p->r.streams[GM_STRS_COUNT]);
    if (count >= GM_MAX_ID || count > gm_cursor_left(text))
        return gm_gmtrace_damaged(&p->r, "more strings than it has room for");
    if (!GM_VEC_ROOM(&m->string_start, count) || !GM_VEC_ROOM(&m->string_bytes, gm_cursor_left(text)))
        return gm_no_memory(p->r.err);
    uint64_t until_join = gm_cursor_left(joins) > 0 ? gm_cursor_varint(joins) : UINT64_MAX;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t pieces = 1;
        if (until_join == 0) {
            pieces = gm_cursor_varint(joins);
            if (pieces < 2 || pieces > gm_cursor_left(text))
                return gm_gmtrace_damaged(&p->r, "a string has a wrong number of pieces");
            until_join = gm_cursor_left(joins) > 0 ? gm_cursor_varint(joins) : UINT64_MAX;
        } else {
            until_join--;
        }
        const unsigned char *end = end_of_string(text, pieces);
        if (end == NULL)
            return gm_gmtrace_damaged(&p->r, "a string does not end");
        size_t length = (size_t)(end - text->p);
        if (length > 0)
            memcpy(m->string_bytes.v + m->string_bytes.n, text->p, length);
        m->string_bytes.n += length;
        m->string_start.v[m->string_start.n++] = m->string_bytes.n;
        text->p = end + 1;
    }
    return gm_gmtrace_end(&p->r);
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

enum gm_status gm_gmtrace_frames(struct gm_gmtrace_parts *p)
{
    GM_TRY(gm_gmtrace_begin(&p->r, "FRAM", GM_FRAM_STREAMS));
    struct gm_snapshot_memory *m = p->m;
    struct gm_cursor *name = &p->r.streams[GM_FRAM_NAME], *file = &p->r.streams[GM_FRAM_FILE];
    struct gm_cursor *line = &p->r.streams[GM_FRAM_LINE];
    uint64_t count = gm_cursor_varint(&p->r.streams[GM_FRAM_COUNT]);
    if (count >= GM_MAX_ID || count > gm_cursor_left(name))
        return gm_gmtrace_damaged(&p->r, "more frames than it has room for");
    if (!GM_VEC_ROOM(&m->frame_name, count) || !GM_VEC_ROOM(&m->frame_filename, count) ||
        !GM_VEC_ROOM(&m->frame_line, count))
        return gm_no_memory(p->r.err);
    uint32_t newest = 0, limit = gm_gmtrace_string_limit(p);
    for (uint64_t i = 0; i < count; i++) {
        m->frame_name.v[m->frame_name.n++].v = gm_gmtrace_id(name, gm_cursor_varint(name), &newest, limit);
        m->frame_filename.v[m->frame_filename.n++].v = gm_gmtrace_id(file, gm_cursor_varint(file), &newest, limit);
        m->frame_line.v[m->frame_line.n++] = gm_cursor_varint(line) - 1; /* 0: GM_ABSENT */
    }
    return gm_gmtrace_end(&p->r);
}

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

struct path { /* the stack that is being built, outermost frame first */
    struct GM_VEC(uint32_t) frame;
    uint32_t *after_one;  /* by frame: which one followed it last */
    uint32_t *after_pair; /* by gm_gmtrace_pair_slot */
    uint32_t newest, limit;
};

static void push_frame(struct path *path, struct gm_cursor *frames)
{
    size_t n = path->frame.n;
    uint32_t last = n > 0 ? path->frame.v[n - 1] : 0, before = n > 1 ? path->frame.v[n - 2] : 0;
    uint32_t *pair = &path->after_pair[gm_gmtrace_pair_slot(before, last)], *one = &path->after_one[last];
    uint64_t code = gm_cursor_varint(frames);
    uint32_t frame = code == GM_FRAME_AS_PAIR ? *pair
                     : code == GM_FRAME_AS_ONE
                         ? *one
                         : gm_gmtrace_id(frames, code - GM_FRAME_CODES, &path->newest, path->limit);
    frames->bad |= frame == 0;
    path->frame.v[path->frame.n++] = *pair = *one = frame;
}

static enum gm_status add_stack(struct gm_gmtrace_parts *p, struct path *path)
{
    struct gm_snapshot_memory *m = p->m;
    struct gm_cursor *frames = &p->r.streams[GM_STAK_FRAMES];
    uint64_t pops = gm_cursor_varint(&p->r.streams[GM_STAK_POPS]);
    uint64_t pushes = gm_cursor_varint(&p->r.streams[GM_STAK_PUSHES]);
    if (pops > path->frame.n || pushes > gm_cursor_left(frames))
        return gm_gmtrace_damaged(&p->r, "a stack is not possible");
    path->frame.n -= pops;
    GM_TRY(gm_gmtrace_spend(&p->r, path->frame.n + pushes, GM_GMTRACE_COST_FRAME));
    if (!GM_VEC_ROOM(&path->frame, pushes) || !GM_VEC_ROOM(&m->stack_frames, path->frame.n + pushes))
        return gm_no_memory(p->r.err);
    for (; pushes > 0; pushes--)
        push_frame(path, frames);
    if (frames->bad)
        return gm_gmtrace_damaged(&p->r, "a stack names a frame that is not there");
    for (size_t i = path->frame.n; i > 0; i--)
        m->stack_frames.v[m->stack_frames.n++].v = path->frame.v[i - 1];
    m->stack_start.v[m->stack_start.n++] = m->stack_frames.n;
    return GM_OK;
}

static enum gm_status read_stacks(struct gm_gmtrace_parts *p, struct path *path)
{
    uint64_t count = gm_cursor_varint(&p->r.streams[GM_STAK_COUNT]);
    if (count >= GM_MAX_ID || count > gm_cursor_left(&p->r.streams[GM_STAK_POPS]))
        return gm_gmtrace_damaged(&p->r, "more stacks than it has room for");
    if (path->after_one == NULL || path->after_pair == NULL || !GM_VEC_ROOM(&p->m->stack_start, count))
        return gm_no_memory(p->r.err);
    for (uint64_t i = 0; i < count; i++)
        GM_TRY(add_stack(p, path));
    return gm_gmtrace_end(&p->r);
}

enum gm_status gm_gmtrace_stacks(struct gm_gmtrace_parts *p)
{
    GM_TRY(gm_gmtrace_begin(&p->r, "STAK", GM_STAK_STREAMS));
    struct path path = {.limit = (uint32_t)p->m->frame_name.n};
    path.after_one = calloc(p->m->frame_name.n, sizeof *path.after_one);
    path.after_pair = calloc(GM_PAIR_SLOTS, sizeof *path.after_pair);
    enum gm_status status = read_stacks(p, &path);
    GM_FREE_ALL(path.frame.v, path.after_one, path.after_pair);
    return status;
}

/* ---- annotations ------------------------------------------------------------------------------------------------- */

enum gm_status gm_gmtrace_annotations(struct gm_gmtrace_parts *p)
{
    GM_TRY(gm_gmtrace_begin(&p->r, "ANNO", GM_ANNO_STREAMS));
    struct gm_cursor *c = p->r.streams;
    uint64_t count = gm_cursor_varint(&c[GM_ANNO_COUNT]), device = 0, time = 0;
    if (count >= GM_MAX_ID || count > gm_cursor_left(&c[GM_ANNO_NAME]))
        return gm_gmtrace_damaged(&p->r, "more annotations than it has room for");
    if (!GM_VEC_ROOM(&p->m->annotations, count))
        return gm_no_memory(p->r.err);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t name = gm_cursor_varint(&c[GM_ANNO_NAME]);
        uint8_t stage = gm_cursor_byte(&c[GM_ANNO_STAGE]);
        device += gm_unzigzag(gm_cursor_varint(&c[GM_ANNO_DEVICE]));
        time += gm_unzigzag(gm_cursor_varint(&c[GM_ANNO_TIME]));
        if (name >= gm_gmtrace_string_limit(p) || stage > GM_STAGE_END)
            return gm_gmtrace_damaged(&p->r, "an annotation is not possible");
        p->m->annotations.v[p->m->annotations.n++] =
            (struct gm_annotation){{(uint32_t)name}, stage, (int64_t)device, (int64_t)time};
    }
    return gm_gmtrace_end(&p->r);
}
