/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints a snapshot as loading left it: one JSON array a line, ids resolved (those of stacks by lines of their own),
 * null for what is absent. Tests compare these lines among encodings and with what Python reads.
 *
 * usage: dump_model [--salvage] [--quiet] FILE
 */
#include "analyze/base/text.h"
#include "analyze/base/utf8.h"
#include "analyze/formats/load.h"
#include "tests/formats/model_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static void put_string(struct gm_text *t, const char *s, size_t n)
{
    gm_text_add_char(t, '"');
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        uint32_t code;
        size_t length = gm_utf8_decode(s + i, n - i, &code);
        if (length == 0) { /* as Python's surrogateescape */
            gm_text_printf(t, "\\udc%02x", c);
            length = 1;
        } else if (c < ' ' || c == '"' || c == '\\') {
            gm_text_printf(t, "\\u%04x", c);
        } else {
            gm_text_add_bytes(t, s + i, length);
        }
        i += length;
    }
    gm_text_add_char(t, '"');
}

static void put_id(struct gm_text *t, const struct gm_snapshot *s, uint32_t id)
{
    size_t n;
    const char *bytes = gm_string(s, (struct gm_string_id){id}, &n);
    if (id == 0)
        gm_text_add(t, "null");
    else
        put_string(t, bytes, n);
}

static void put_uint(struct gm_text *t, uint64_t v)
{
    if (v == GM_ABSENT)
        gm_text_add(t, "null");
    else
        gm_text_printf(t, "%" PRIu64, v);
}

static void put_int(struct gm_text *t, int64_t v)
{
    if (v == INT64_MIN)
        gm_text_add(t, "null");
    else
        gm_text_printf(t, "%" PRId64, v);
}

static void put_stream(struct gm_text *t, const struct gm_snapshot *s, uint32_t id)
{
    if (id == 0)
        gm_text_add(t, "null");
    else
        put_int(t, s->streams[id]);
}

static void put_pool(struct gm_text *t, const struct gm_snapshot *s, uint32_t id)
{
    if (id == 0)
        gm_text_add(t, "null");
    else
        gm_text_printf(t, "[%" PRIu64 ",%" PRIu64 "]", s->pools[id].first, s->pools[id].second);
}

/* Stacks are printed once, before everything else, and referred to by their id. */
static void put_stack(struct gm_text *t, struct gm_stack_id id)
{
    if (id.v == 0)
        gm_text_add(t, "null");
    else
        gm_text_printf(t, "%" PRIu32, id.v);
}

static void dump_stack(struct gm_text *t, const struct gm_snapshot *s, uint32_t id)
{
    size_t depth;
    const struct gm_frame_id *frames = gm_stack_frames(s, (struct gm_stack_id){id}, &depth);
    gm_text_printf(t, "[\"stack\",%" PRIu32 ",", id);
    gm_text_add_char(t, '[');
    for (size_t i = 0; i < depth; i++) {
        gm_text_add(t, i > 0 ? ",[" : "[");
        put_id(t, s, s->frames.name[frames[i].v].v);
        gm_text_add_char(t, ',');
        put_id(t, s, s->frames.filename[frames[i].v].v);
        gm_text_add_char(t, ',');
        put_uint(t, s->frames.line[frames[i].v]);
        gm_text_add_char(t, ']');
    }
    gm_text_add(t, "]]\n");
}

static void put_truth(struct gm_text *t, unsigned truth)
{
    gm_text_add(t, truth == GM_TRUTH_ABSENT ? "null" : truth == GM_TRUE ? "true" : "false");
}

static void flush(struct gm_text *t)
{
    if (t->length > 0)
        fwrite(t->data, 1, t->length, stdout);
    t->length = 0;
}

static void dump_segments(struct gm_text *t, const struct gm_snapshot *s, const char *word, const struct gm_segments *g,
                          const struct gm_blocks *b)
{
    static const char *const types[] = {"null", "\"small\"", "\"large\""};
    static const char *const states[] = {"inactive", "active_allocated", "active_pending_free"};
    for (size_t i = 0; i < g->count; i++) {
        gm_text_printf(t, "[\"%ssegment\",%" PRId64, word, g->device[i]);
        const uint64_t numbers[] = {g->address[i], g->total_size[i], g->allocated_size[i], g->active_size[i],
                                    g->requested_size[i]};
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) {
            gm_text_add_char(t, ',');
            put_uint(t, numbers[j]);
        }
        gm_text_add_char(t, ',');
        put_stream(t, s, g->stream[i].v);
        gm_text_add_char(t, ',');
        put_pool(t, s, g->pool[i].v);
        gm_text_add_char(t, ',');
        put_stack(t, g->stack[i]);
        gm_text_printf(t, ",%s,", types[g->type[i]]);
        put_truth(t, g->is_expandable[i]);
        gm_text_add(t, "]\n");
        for (size_t j = g->block_first[i]; j < g->block_first[i] + g->block_count[i]; j++) {
            gm_text_printf(t, "[\"%sblock\",%" PRIu64 ",%" PRIu64 ",", word, b->address[j], b->size[j]);
            put_uint(t, b->requested[j]);
            gm_text_printf(t, ",\"%s\",", states[b->state[j]]);
            put_stack(t, b->stack[j]);
            gm_text_add(t, "]\n");
        }
        flush(t);
    }
}

static void dump_event(struct gm_text *t, const struct gm_snapshot *s, size_t i)
{
    const struct gm_events *e = &s->events;
    uint32_t name = gm_rare_at(&e->action_name, i);
    gm_text_add(t, "[\"event\",");
    if (name != 0 || e->action[i] == GM_ACTION_OTHER)
        put_id(t, s, name);
    else
        put_string(t, gm_action_name(e->action[i]), strlen(gm_action_name(e->action[i])));
    gm_text_add_char(t, ',');
    put_uint(t, gm_event_addr(e, i));
    gm_text_add_char(t, ',');
    put_uint(t, gm_event_size(e, i));
    gm_text_add_char(t, ',');
    put_int(t, gm_event_time_us(e, i));
    gm_text_add_char(t, ',');
    put_stream(t, s, gm_rare_at(&e->stream, i));
    gm_text_add_char(t, ',');
    put_pool(t, s, gm_rare_at(&e->pool, i));
    gm_text_add_char(t, ',');
    put_stack(t, gm_event_stack(e, i));
    const uint32_t texts[] = {gm_rare_at(&e->compile_context, i), gm_rare_at(&e->user_metadata, i),
                              gm_rare_at(&e->category, i)};
    for (size_t j = 0; j < sizeof texts / sizeof *texts; j++) {
        gm_text_add_char(t, ',');
        put_id(t, s, texts[j]);
    }
    gm_text_add(t, "]\n");
}

static void dump_traces(struct gm_text *t, const struct gm_snapshot *s, const char *word, const struct gm_trace *traces,
                        size_t count)
{
    for (size_t d = 0; d < count; d++) {
        gm_text_printf(t, "[\"%strace\",%zu,%zu,", word, d, traces[d].count);
        put_uint(t, traces[d].max_entries);
        gm_text_add_char(t, ',');
        put_truth(t, traces[d].overflowed);
        gm_text_add(t, "]\n");
        for (size_t i = traces[d].first; i < traces[d].first + traces[d].count; i++) {
            dump_event(t, s, i);
            if (t->length > 1 << 16)
                flush(t);
        }
    }
}

static void dump_settings(struct gm_text *t, const struct gm_snapshot *s)
{
    for (size_t i = 0; i < s->setting_count; i++) {
        const struct gm_setting *setting = &s->settings[i];
        gm_text_add(t, "[\"setting\",");
        put_string(t, setting->key, strlen(setting->key));
        gm_text_add_char(t, ',');
        if (setting->type == GM_SETTING_NONE)
            gm_text_add(t, "null");
        else if (setting->type == GM_SETTING_BOOL)
            gm_text_add(t, setting->integer != 0 ? "true" : "false");
        else if (setting->type == GM_SETTING_INTEGER)
            gm_text_printf(t, "%" PRId64, setting->integer);
        else if (setting->type == GM_SETTING_REAL)
            gm_text_printf(t, "%.17e", setting->real);
        else
            put_id(t, s, setting->string.v);
        gm_text_add(t, "]\n");
    }
}

static void dump(struct gm_text *t, const struct gm_snapshot *s)
{
    const struct gm_source_info *info = &s->source;
    gm_text_printf(t, "[\"source\",\"%s\",\"%s\",%d,%" PRIu64 ",%" PRIu64 ",%s,", info->format,
                   gm_compression_name(info->compression), info->pickle_protocol, info->disk_bytes, info->decoded_bytes,
                   info->is_bare_segment_list ? "true" : "false");
    if (info->is_salvaged) {
        gm_text_printf(t, "%" PRIu64 ",", info->salvaged_offset);
        put_string(t, info->salvaged_reason, strlen(info->salvaged_reason));
    } else {
        gm_text_add(t, "null,null");
    }
    gm_text_add(t, "]\n");
    for (uint32_t i = 1; i < s->stacks.count; i++) {
        dump_stack(t, s, i);
        flush(t);
    }
    dump_segments(t, s, "", &s->segments, &s->blocks);
    dump_segments(t, s, "host_", &s->host_segments, &s->host_blocks);
    dump_traces(t, s, "", s->traces, s->trace_count);
    dump_traces(t, s, "host_", s->host_traces, s->host_trace_count);
    dump_settings(t, s);
    static const char *const stages[] = {"null", "\"START\"", "\"END\""};
    for (size_t i = 0; i < s->annotation_count; i++) {
        gm_text_add(t, "[\"annotation\",");
        put_id(t, s, s->annotations[i].name.v);
        gm_text_printf(t, ",%s,%" PRId64 ",", stages[s->annotations[i].stage], s->annotations[i].device);
        put_int(t, s->annotations[i].time_us);
        gm_text_add(t, "]\n");
    }
    for (size_t i = 0; i < s->warning_count; i++) {
        gm_text_add(t, "[\"warning\",");
        put_string(t, s->warnings[i], strlen(s->warnings[i]));
        gm_text_add(t, "]\n");
    }
    flush(t);
}

int main(int argc, char **argv)
{
    struct gm_load_options options = {false};
    bool is_quiet = false;
    int i = 1;
    for (; i < argc - 1; i++) {
        options.salvage |= strcmp(argv[i], "--salvage") == 0;
        is_quiet |= strcmp(argv[i], "--quiet") == 0;
    }
    if (i >= argc)
        return 2;
    struct timespec start, stop;
    clock_gettime(CLOCK_MONOTONIC, &start);
    struct gm_snapshot s;
    struct gm_error err = {0};
    enum gm_status status = gm_snapshot_load(&s, argv[i], &options, &err);
    clock_gettime(CLOCK_MONOTONIC, &stop);
    if (status != GM_OK) {
        fprintf(stderr, "%s: %s", argv[i], err.message);
        if (err.offset != GM_NO_OFFSET)
            fprintf(stderr, " (byte %" PRIu64 ")", err.offset);
        fputc('\n', stderr);
        return gm_status_exit_code(status);
    }
    const char *wrong = gm_model_check(&s);
    if (wrong != NULL)
        fprintf(stderr, "%s: %s\n", argv[i], wrong);
    GM_FREED struct gm_text t = {0};
    if (!is_quiet) {
        dump(&t, &s);
    } else {
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        double seconds = (double)(stop.tv_sec - start.tv_sec) + 1e-9 * (double)(stop.tv_nsec - start.tv_nsec);
        printf("%.3f s, %.1f MB/s decoded, %zu events, peak RSS %.1f MB\n", seconds,
               (double)s.source.decoded_bytes / 1e6 / seconds, s.events.count, (double)usage.ru_maxrss / 1e3);
    }
    gm_snapshot_free(&s);
    return wrong != NULL ? 5 : 0;
}
