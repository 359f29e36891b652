/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/formats/decoders.h"

#include "analyze/formats/gmtrace_parts.h"

#include <string.h>

/* ---- what is said once: settings, traces, streams, pools --------------------------------------------------------- */

/* Copies the next NUL-terminated text; NULL sets *status. */
static const char *next_text(struct gm_gmtrace_parts *p, enum gm_status *status)
{
    struct gm_cursor *c = &p->r.streams[GM_META_TEXTS];
    const unsigned char *end = c->p == c->end ? NULL : memchr(c->p, '\0', gm_cursor_left(c));
    if (end == NULL) {
        *status = gm_gmtrace_damaged(&p->r, "a text does not end");
        return NULL;
    }
    char *copy = gm_arena_copy(&p->m->arena, (const char *)c->p, (size_t)(end - c->p));
    if (copy == NULL)
        *status = gm_no_memory(p->r.err);
    c->p = end + 1;
    return copy;
}

static enum gm_status read_keys(struct gm_gmtrace_parts *p)
{
    struct gm_snapshot_memory *m = p->m;
    struct gm_cursor *c = &p->r.streams[GM_META_NUMBERS];
    uint64_t streams = gm_cursor_varint(c), last = 0;
    if (streams > gm_cursor_left(c) || streams >= GM_MAX_ID)
        return gm_gmtrace_damaged(&p->r, "more streams than it has room for");
    if (!GM_VEC_ROOM(&m->streams, streams))
        return gm_no_memory(p->r.err);
    for (uint64_t i = 0; i < streams; i++) {
        last += gm_unzigzag(gm_cursor_varint(c));
        m->streams.v[m->streams.n++] = (int64_t)last;
    }
    uint64_t pools = gm_cursor_varint(c);
    if (pools > gm_cursor_left(c) || pools >= GM_MAX_ID)
        return gm_gmtrace_damaged(&p->r, "more pools than it has room for");
    if (!GM_VEC_ROOM(&m->pools, pools))
        return gm_no_memory(p->r.err);
    for (uint64_t i = 0; i < pools; i++) {
        uint64_t first = gm_cursor_varint(c);
        m->pools.v[m->pools.n++] = (struct gm_pool_key){first, gm_cursor_varint(c)};
    }
    return GM_OK;
}

static enum gm_status read_traces(struct gm_gmtrace_parts *p, size_t *next, const struct gm_trace **traces,
                                  size_t *count)
{
    struct gm_cursor *c = &p->r.streams[GM_META_NUMBERS];
    uint64_t n = gm_cursor_varint(c);
    if (n > gm_cursor_left(c))
        return gm_gmtrace_damaged(&p->r, "more traces than it has room for");
    struct gm_trace *t = gm_arena_calloc(&p->m->arena, n, sizeof *t);
    if (t == NULL)
        return gm_no_memory(p->r.err);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t events = gm_cursor_varint(c), entries = gm_cursor_varint(c), overflowed = gm_cursor_varint(c);
        if (events > p->event_count - *next || overflowed > GM_TRUE)
            return gm_gmtrace_damaged(&p->r, "a trace is not possible");
        t[i] = (struct gm_trace){*next, events, entries - 1, (enum gm_truth)overflowed};
        *next += events;
    }
    *traces = n > 0 ? t : NULL;
    *count = n;
    return GM_OK;
}

static enum gm_status read_event_columns(struct gm_gmtrace_parts *p)
{
    struct gm_cursor *c = &p->r.streams[GM_META_NUMBERS];
    uint64_t events = gm_cursor_varint(c);
    if (events > GM_MAX_ID)
        return gm_gmtrace_damaged(&p->r, "too many events");
    p->event_count = events;
    const size_t limits[6] = {p->m->streams.n,
                              p->m->pools.n,
                              gm_gmtrace_string_limit(p),
                              gm_gmtrace_string_limit(p),
                              gm_gmtrace_string_limit(p),
                              gm_gmtrace_string_limit(p)};
    for (int i = 0; i < 6; i++) {
        uint64_t varies = gm_cursor_varint(c), all = gm_cursor_varint(c);
        if (varies > 1 || all >= limits[i])
            return gm_gmtrace_damaged(&p->r, "a column is not possible");
        p->varies[i] = varies == 1;
        p->all[i] = (uint32_t)all;
    }
    size_t next = 0;
    enum gm_status status = read_traces(p, &next, &p->s->traces, &p->s->trace_count);
    GM_THEN(status, read_traces(p, &next, &p->s->host_traces, &p->s->host_trace_count));
    if (status == GM_OK && next != events)
        return gm_gmtrace_damaged(&p->r, "the traces do not add up to all events");
    return status;
}

static enum gm_status read_settings(struct gm_gmtrace_parts *p)
{
    struct gm_cursor *c = &p->r.streams[GM_META_NUMBERS];
    uint64_t count = gm_cursor_varint(c);
    if (count > gm_cursor_left(c))
        return gm_gmtrace_damaged(&p->r, "more settings than it has room for");
    struct gm_setting *settings = gm_arena_calloc(&p->m->arena, count, sizeof *settings);
    if (settings == NULL)
        return gm_no_memory(p->r.err);
    enum gm_status status = GM_OK;
    for (uint64_t i = 0; i < count; i++) {
        struct gm_setting *setting = &settings[i];
        uint64_t type = gm_cursor_varint(c), value = gm_cursor_varint(c);
        setting->key = next_text(p, &status);
        if (status != GM_OK)
            return status;
        if (type > GM_SETTING_STRING || (type == GM_SETTING_STRING && value >= gm_gmtrace_string_limit(p)))
            return gm_gmtrace_damaged(&p->r, "a setting is not possible");
        setting->type = (enum gm_setting_type)type;
        if (type == GM_SETTING_REAL)
            memcpy(&setting->real, &value, sizeof setting->real);
        else if (type == GM_SETTING_STRING)
            setting->string.v = (uint32_t)value;
        else
            setting->integer = (int64_t)gm_unzigzag(value);
    }
    p->s->settings = count > 0 ? settings : NULL;
    p->s->setting_count = count;
    return GM_OK;
}

static bool is_clean(const char *line)
{
    for (const char *s = line; *s != '\0'; s++)
        if ((unsigned char)*s < ' ')
            return false;
    return line[0] != '\0';
}

static enum gm_status read_warnings(struct gm_gmtrace_parts *p, bool is_salvaged)
{
    struct gm_cursor *c = &p->r.streams[GM_META_NUMBERS];
    enum gm_status status = GM_OK;
    uint64_t warnings = gm_cursor_varint(c);
    for (; warnings > 0; warnings--) {
        const char *line = next_text(p, &status);
        if (status != GM_OK)
            return status;
        if (!is_clean(line))
            return gm_gmtrace_damaged(&p->r, "a warning is no line of text");
        if (!GM_VEC_PUSH(&p->m->warnings, line))
            return gm_no_memory(p->r.err);
    }
    if (!is_salvaged)
        return GM_OK;
    p->s->source.is_salvaged = true;
    p->s->source.salvaged_offset = gm_cursor_varint(c);
    p->s->source.salvaged_reason = next_text(p, &status);
    return status == GM_OK && !is_clean(p->s->source.salvaged_reason)
               ? gm_gmtrace_damaged(&p->r, "the reason of a salvage is no line of text")
               : status;
}

static enum gm_status read_meta(struct gm_gmtrace_parts *p)
{
    GM_TRY(gm_gmtrace_begin(&p->r, "META", GM_META_STREAMS));
    uint64_t flags = gm_cursor_varint(&p->r.streams[GM_META_NUMBERS]);
    if (flags >= 1u << GM_FLAG_COUNT)
        return gm_gmtrace_damaged(&p->r, "unknown flags");
    p->has_time = flags >> GM_FLAG_TIME & 1;
    p->s->has_settings = flags >> GM_FLAG_SETTINGS & 1;
    p->s->has_annotations = flags >> GM_FLAG_ANNOTATIONS & 1;
    p->s->source.is_bare_segment_list = flags >> GM_FLAG_BARE & 1;
    enum gm_status status = read_keys(p);
    GM_THEN(status, read_event_columns(p));
    GM_THEN(status, read_settings(p));
    GM_THEN(status, read_warnings(p, flags >> GM_FLAG_SALVAGED & 1));
    return status == GM_OK ? gm_gmtrace_end(&p->r) : status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static enum gm_status read_sections(struct gm_gmtrace_parts *p)
{
    GM_TRY(gm_gmtrace_strings(p));
    GM_TRY(gm_gmtrace_frames(p));
    GM_TRY(gm_gmtrace_stacks(p));
    GM_TRY(read_meta(p));
    GM_TRY(gm_gmtrace_segments(p, "SEGS", &p->s->segments, &p->s->blocks));
    GM_TRY(gm_gmtrace_segments(p, "HSEG", &p->s->host_segments, &p->s->host_blocks));
    GM_TRY(gm_gmtrace_annotations(p));
    GM_TRY(gm_gmtrace_extras(p));
    GM_TRY(gm_gmtrace_events(p));
    return gm_gmtrace_finish(&p->r);
}

enum gm_status gm_gmtrace_decode(struct gm_source *source, struct gm_decoded *out, struct gm_error *err)
{
    struct gm_snapshot *snapshot = out->snapshot;
    *snapshot = (struct gm_snapshot){0};
    struct gm_gmtrace_parts p = {.s = snapshot, .m = gm_snapshot_memory_new()};
    if (p.m == NULL)
        return gm_no_memory(err);
    enum gm_status status = gm_gmtrace_open(&p.r, source, err);
    GM_THEN(status, read_sections(&p));
    gm_gmtrace_close(&p.r);
    if (status == GM_OK) {
        gm_builder_publish(p.m, snapshot);
    } else {
        gm_snapshot_memory_free(p.m);
        *snapshot = (struct gm_snapshot){0};
    }
    return status;
}
