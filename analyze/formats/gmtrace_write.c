/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/formats/gmtrace_write.h"

#include "analyze/formats/gmtrace_write_parts.h"

#include <string.h>

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
    gm_put_varint(t, (uint64_t)(s->events.time_us != NULL) << GM_FLAG_TIME |
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
    GM_TRY(gm_gmtrace_put_strings(w));
    GM_TRY(gm_gmtrace_put_frames(w));
    GM_TRY(gm_gmtrace_put_stacks(w));
    GM_TRY(put_meta(w));
    GM_TRY(gm_gmtrace_put_segments(w, "SEGS", &w->s->segments, &w->s->blocks));
    GM_TRY(gm_gmtrace_put_segments(w, "HSEG", &w->s->host_segments, &w->s->host_blocks));
    GM_TRY(gm_gmtrace_put_annotations(w));
    GM_TRY(gm_gmtrace_put_extras(w));
    GM_TRY(gm_gmtrace_put_events(w));
    return gm_gmtrace_writer_end(w);
}

enum gm_status gm_write_gmtrace(const struct gm_snapshot *snapshot, struct gm_text *out, struct gm_error *err)
{
    struct gm_gmtrace_writer w;
    enum gm_status status = gm_gmtrace_writer_open(&w, snapshot, out, err);
    if (status == GM_OK)
        status = write(&w);
    gm_gmtrace_writer_close(&w);
    return status;
}
