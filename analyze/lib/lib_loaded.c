/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots, and their tables as they lie in memory.
 */
#include "analyze/formats/load.h"
#include "analyze/lib/libgm.h"
#include "analyze/snapshot/builder.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

GM_API const char *gm_version(void)
{
    return GM_VERSION;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static const char *const kinds[] = {
#define X(name, exit_code, text) #name,
    GM_STATUS_MAP(X)
#undef X
};

void *gm_problem_tell(struct gm_problem *problem, const char *subject, const struct gm_error *err)
{
    char place[GM_ERROR_PLACE];
    if (problem == NULL)
        return NULL;
    const char *kind = kinds[err->status];
    *problem = (struct gm_problem){.exit_code = gm_status_exit_code(err->status), .offset = err->offset};
    kind += strncmp(kind, "E_", 2) == 0 ? 2 : 0;
    for (size_t i = 0; i + 1 < sizeof problem->kind && kind[i] != '\0'; i++)
        problem->kind[i] = (char)tolower((unsigned char)kind[i]);
    struct gm_error line; /* clean, whatever the subject is */
    const size_t length = subject == NULL ? 0 : strlen(subject);
    gm_error_set(&line, err->status, err->offset, "%s%s%.300s",
                 length > 170 ? subject + length - 170
                 : length > 0 ? subject
                              : "",
                 length > 0 ? ": " : "", err->message);
    snprintf(problem->text, sizeof problem->text, "%s%s", line.message, gm_error_place(place, err));
    return NULL;
}

struct gm_entered gm_enter(void)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return (struct gm_entered){c, c == (locale_t)0 ? (locale_t)0 : uselocale(c)};
}

void gm_leave(const struct gm_entered *entered)
{
    if (entered->c == (locale_t)0)
        return;
    uselocale(entered->before);
    freelocale(entered->c);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

/* `bytes` NULL: the file at `name`. */
static enum gm_status read(struct gm_loaded **out, const void *bytes, size_t length, const char *name,
                           const struct gm_load_options *options, struct gm_error *err)
{
    struct gm_loaded *loaded = calloc(1, sizeof *loaded);
    *out = NULL;
    if (loaded == NULL)
        return gm_no_memory(err);
    const enum gm_status status = bytes == NULL
                                      ? gm_snapshot_load(&loaded->snapshot, name, options, err)
                                      : gm_snapshot_load_bytes(&loaded->snapshot, bytes, length, name, options, err);
    if (status != GM_OK) {
        free(loaded);
        return status;
    }
    atomic_init(&loaded->references, 1);
    *out = loaded;
    return GM_OK;
}

enum gm_status gm_loaded_read(struct gm_loaded **loaded, const char *path, const struct gm_load_options *options,
                              struct gm_error *err)
{
    return read(loaded, NULL, 0, path, options, err);
}

static struct gm_loaded *load(const void *bytes, size_t length, const char *name, unsigned flags, uint64_t max_memory,
                              struct gm_problem *problem)
{
    const struct gm_load_options options = {.salvage = (flags & GM_LOAD_SALVAGED) != 0, .max_memory = max_memory};
    struct gm_error err = {.offset = GM_NO_OFFSET};
    struct gm_loaded *loaded;
    const struct gm_entered entered = gm_enter();
    enum gm_status status = read(&loaded, bytes, length, name, &options, &err);
    if (status == GM_OK && !gm_builder_unpack_events(&loaded->snapshot))
        status = gm_no_memory(&err);
    gm_leave(&entered);
    if (status != GM_OK) {
        gm_unload(loaded);
        return gm_problem_tell(problem, name, &err);
    }
    if (problem != NULL)
        *problem = (struct gm_problem){.kind = "ok", .offset = GM_UNKNOWN};
    return loaded;
}

GM_API struct gm_loaded *gm_load(const char *path, unsigned flags, uint64_t max_memory, struct gm_problem *problem)
{
    return load(NULL, 0, path, flags, max_memory, problem);
}

GM_API struct gm_loaded *gm_load_bytes(const void *bytes, size_t length, const char *name, unsigned flags,
                                       uint64_t max_memory, struct gm_problem *problem)
{
    return load(bytes == NULL ? "" : bytes, bytes == NULL ? 0 : length, name, flags, max_memory, problem);
}

void gm_loaded_hold(struct gm_loaded *loaded)
{
    atomic_fetch_add(&loaded->references, 1);
}

GM_API void gm_unload(struct gm_loaded *loaded)
{
    if (loaded == NULL || atomic_fetch_sub(&loaded->references, 1) > 1)
        return;
    gm_snapshot_free(&loaded->snapshot);
    free(loaded);
}

GM_API const char *gm_warning(const struct gm_loaded *loaded, size_t i)
{
    return i < loaded->snapshot.warning_count ? loaded->snapshot.warnings[i] : NULL;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static const char *const truths[] = {NULL, "false", "true"};

GM_API const char *gm_word(const char *list, size_t code)
{
    static const struct {
        const char *name;
        const char *const *words;
        size_t count;
    } lists[] = {{"block_state", gm_block_states, 3},
                 {"segment_type", gm_segment_types, 3},
                 {"truth", truths, 3},
                 {"stage", gm_stages, 3}};
    if (strcmp(list, "action") == 0)
        return code < GM_ACTION_COUNT ? gm_action_name((enum gm_action)code) : NULL;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strcmp(lists[i].name, list) == 0 && code < lists[i].count)
            return lists[i].words[code] == NULL ? "" : lists[i].words[code];
    return NULL;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Where columns go. */
struct listing {
    struct gm_array *v;
    size_t most, n;
};

static void list(struct listing *out, const char *name, char type, const void *data, size_t count, size_t stride)
{
    if (out->n < out->most)
        out->v[out->n] = (struct gm_array){name, data, count, stride, type};
    out->n++;
}

/* A number as it is, an id as the number that it is. */
#define TYPE(v) _Generic((v), uint8_t : 'B', int64_t : 'q', uint64_t : 'Q', uint32_t : 'I', default : 'I')
#define COLUMN(type, name) list(out, #name, TYPE(*t->name), t->name, t->count, sizeof(type));

static void list_segments(struct listing *out, const struct gm_segments *t)
{
    _Static_assert(sizeof(size_t) == sizeof(uint64_t), "rows of blocks are told as they lie");
    GM_SEGMENT_COLUMNS(COLUMN)
}

static void list_blocks(struct listing *out, const struct gm_blocks *t)
{
    GM_BLOCK_COLUMNS(COLUMN)
}

static void list_events(struct listing *out, const struct gm_events *t)
{
#define EVENT(type, name) list(out, #name, TYPE(*t->name), t->name, t->count, sizeof(type));
#define NUMBER(type, name, shift, has_places, absent)                                                                  \
    static const type no_##name = absent;                                                                              \
    list(out, #name, TYPE((type)0), t->name.plain == NULL ? (const void *)&no_##name : t->name.plain, t->count,        \
         t->name.plain == NULL ? 0 : sizeof(type));
#define RARE(name)                                                                                                     \
    list(out, #name, 'I', t->name.v == NULL ? &t->name.all : t->name.v, t->count, t->name.v == NULL ? 0 : 4);
    GM_EVENT_NUMBERS(NUMBER)
    GM_EVENT_COLUMNS(EVENT)
    list(out, "stack", 'I', t->stack.wide, t->count, sizeof *t->stack.wide);
    GM_EVENT_RARE_COLUMNS(RARE)
}

/* A field of an array of structs. */
#define FIELD(name, type, rows, count) list(out, #name, type, &(rows)->name, count, sizeof *(rows))

static void list_traces(struct listing *out, const struct gm_trace *rows, size_t count)
{
    static const struct gm_trace none;
    const struct gm_trace *t = count == 0 ? &none : rows;
    FIELD(first, 'Q', t, count);
    FIELD(count, 'Q', t, count);
    FIELD(max_entries, 'Q', t, count);
    FIELD(overflowed, 'I', t, count);
}

static void list_annotations(struct listing *out, const struct gm_snapshot *s)
{
    static const struct gm_annotation none;
    const struct gm_annotation *t = s->annotation_count == 0 ? &none : s->annotations;
    FIELD(name, 'I', t, s->annotation_count);
    FIELD(stage, 'B', t, s->annotation_count);
    FIELD(device, 'q', t, s->annotation_count);
    FIELD(time_us, 'q', t, s->annotation_count);
}

static void list_pools(struct listing *out, const struct gm_snapshot *s)
{
    FIELD(first, 'Q', s->pools, s->pool_count);
    FIELD(second, 'Q', s->pools, s->pool_count);
}

static void list_frames(struct listing *out, const struct gm_frames *t){
    COLUMN(uint32_t, name) COLUMN(uint32_t, filename) COLUMN(uint64_t, line)}

GM_API size_t gm_arrays(const struct gm_loaded *loaded, const char *table, struct gm_array *arrays, size_t most)
{
    const struct gm_snapshot *s = &loaded->snapshot;
    struct listing l = {arrays, most, 0}, *out = &l;
    if (strcmp(table, "events") == 0)
        list_events(out, &s->events);
    else if (strcmp(table, "traces") == 0)
        list_traces(out, s->traces, s->trace_count);
    else if (strcmp(table, "host_traces") == 0)
        list_traces(out, s->host_traces, s->host_trace_count);
    else if (strcmp(table, "segments") == 0)
        list_segments(out, &s->segments);
    else if (strcmp(table, "host_segments") == 0)
        list_segments(out, &s->host_segments);
    else if (strcmp(table, "blocks") == 0)
        list_blocks(out, &s->blocks);
    else if (strcmp(table, "host_blocks") == 0)
        list_blocks(out, &s->host_blocks);
    else if (strcmp(table, "stacks") == 0)
        list(out, "start", 'Q', s->stacks.start, (size_t)s->stacks.count + 1, sizeof(uint64_t));
    else if (strcmp(table, "stack_frames") == 0)
        list(out, "frame", 'I', s->stacks.frame_ids, (size_t)s->stacks.start[s->stacks.count], sizeof(uint32_t));
    else if (strcmp(table, "frames") == 0)
        list_frames(out, &s->frames);
    else if (strcmp(table, "strings") == 0)
        list(out, "start", 'Q', s->strings.start, (size_t)s->strings.count + 1, sizeof(uint64_t));
    else if (strcmp(table, "string_bytes") == 0)
        list(out, "byte", 'B', s->strings.bytes, (size_t)s->strings.start[s->strings.count], 1);
    else if (strcmp(table, "streams") == 0)
        list(out, "handle", 'q', s->streams, s->stream_count, sizeof(int64_t));
    else if (strcmp(table, "pools") == 0)
        list_pools(out, s);
    else if (strcmp(table, "annotations") == 0)
        list_annotations(out, s);
    return l.n;
}
