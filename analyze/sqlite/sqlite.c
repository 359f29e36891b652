/* SPDX-License-Identifier: Apache-2.0
 *
 * One transaction without a journal, for a file that is thrown away if anything fails; a prepared statement for each
 * table; indexes when all rows are there. A row is an array of values in the order of the columns; after the first
 * error nothing more is written.
 *
 * SQLite's integers have a sign: addresses and sizes of 2^63 and more are stored as that many less 2^64, so that
 * differences stay right and printf('%x', address) shows what the file has.
 */
#include "analyze/sqlite/sqlite.h"

#include "analyze/base/beside.h"
#include "analyze/base/utf8.h"
#include "analyze/snapshot/profile.h"
#include "analyze/sqlite/sqlite_module.h"
#include "analyze/state/shown_names.h"

#include <stdio.h>
#include <string.h>

struct work {
    const struct gm_sqlite_module *sqlite;
    sqlite3 *db;
    const struct gm_sqlite_source *of;
    const struct gm_snapshot *snapshot;
    struct gm_names names;
    int code;             /* SQLITE_OK, or the first error */
    const char *table;    /* that rows go to */
    bool is_host;         /* which has those of pinned host memory */
    sqlite3_stmt *insert; /* into it; NULL before its first row */
};

/* ---- values of a row --------------------------------------------------------------------------------------------- */

struct value {
    enum { END, NOTHING, INTEGER, REAL, TEXT } type;
    union {
        int64_t integer;
        double real;
        size_t length;
    };
    const char *text;
};

static const struct value nothing = {.type = NOTHING};

static struct value integer(int64_t value)
{
    return (struct value){.type = INTEGER, .integer = value};
}

_Static_assert(GM_ABSENT == GM_REPORT_NONE, "what is not known is NULL, whoever says so");
_Static_assert(GM_ABSENT == GM_PROFILE_ABSENT, "likewise");

static struct value number(uint64_t value)
{
    return value == GM_ABSENT ? nothing : integer((int64_t)value);
}

/* 0 is none. */
static struct value id(uint64_t value)
{
    return value == 0 ? nothing : number(value);
}

/* GM_PROFILE_NONE, GM_NEVER and GM_NO_BLOCK are none. */
static struct value row_index(uint32_t value)
{
    return value == UINT32_MAX ? nothing : number(value);
}

static struct value truth(uint8_t value)
{
    return value == GM_TRUTH_ABSENT ? nothing : integer(value == GM_TRUE);
}

static struct value when(int64_t time)
{
    return time == GM_ABSENT_TIME ? nothing : integer(time);
}

static struct value bytes(const char *s, size_t n)
{
    return (struct value){.type = TEXT, .length = n, .text = s};
}

/* NULL is none. */
static struct value text(const char *s)
{
    return s == NULL ? nothing : bytes(s, strlen(s));
}

static struct value string(const struct work *w, uint32_t string_id)
{
    size_t n;
    const char *s = gm_string(w->snapshot, (struct gm_string_id){string_id}, &n);
    return string_id == 0 ? nothing : bytes(s, n);
}

/* A string of the profile. */
static struct value said(const struct gm_profile *p, uint32_t said_id)
{
    size_t n;
    const char *s = gm_profile_string(p, said_id, &n);
    return said_id == GM_PROFILE_NONE ? nothing : bytes(s, n);
}

static struct value stream(const struct work *w, uint32_t stream_id)
{
    return stream_id == 0 ? nothing : integer(w->snapshot->streams[stream_id]);
}

/* Two columns. */
#define POOL(w, id)                                                                                                    \
    number((id) == 0 ? GM_ABSENT : (w)->snapshot->pools[id].first),                                                    \
        number((id) == 0 ? GM_ABSENT : (w)->snapshot->pools[id].second)

static bool is_plain_text(const char *s, size_t n)
{
    uint32_t code;
    for (size_t i = 0, length; i < n; i += length)
        if (s[i] == '\0' || (length = gm_utf8_decode(s + i, n - i, &code)) == 0)
            return false;
    return true;
}

static int prepare(struct work *w, const struct value *row)
{
    char sql[128];
    int n = snprintf(sql, sizeof sql, "INSERT INTO %s VALUES(?", w->table);
    for (int i = 1; row[i].type != END; i++)
        n += snprintf(sql + n, sizeof sql - (size_t)n, ",?");
    snprintf(sql + n, sizeof sql - (size_t)n, ")");
    return w->sqlite->prepare_v2(w->db, sql, -1, &w->insert, NULL);
}

static int bind(const struct work *w, int column, const struct value *value)
{
    switch (value->type) {
    case INTEGER:
        return w->sqlite->bind_int64(w->insert, column, value->integer);
    case REAL:
        return w->sqlite->bind_double(w->insert, column, value->real);
    case TEXT:
        return is_plain_text(value->text, value->length)
                   ? w->sqlite->bind_text64(w->insert, column, value->text, value->length, SQLITE_STATIC, SQLITE_UTF8)
                   : w->sqlite->bind_blob64(w->insert, column, value->text, value->length, SQLITE_STATIC);
    default:
        return w->sqlite->bind_null(w->insert, column);
    }
}

static void put(struct work *w, const struct value *row)
{
    if (w->code == SQLITE_OK && w->insert == NULL)
        w->code = prepare(w, row);
    for (int i = 0; w->code == SQLITE_OK && row[i].type != END; i++)
        w->code = bind(w, i + 1, &row[i]);
    if (w->code != SQLITE_OK)
        return;
    (void)w->sqlite->step(w->insert); /* what went wrong is what reset returns */
    w->code = w->sqlite->reset(w->insert);
}
#define PUT(w, ...) put(w, (const struct value[]){__VA_ARGS__, {.type = END}})

/* ---- what the file says ------------------------------------------------------------------------------------------ */

static void add_meta(struct work *w)
{
    const struct gm_report *report = w->of->report;
    PUT(w, text("schema"), text("gmanalyze.sqlite/1"));
    PUT(w, text("version"), text(GM_VERSION));
    PUT(w, text("path"), text(report->snapshot.path));
    PUT(w, text("format"), text(report->snapshot.format));
}

static struct value setting(const struct work *w, const struct gm_setting *s)
{
    return s->type == GM_SETTING_STRING ? string(w, s->string.v)
           : s->type == GM_SETTING_NONE ? nothing
           : s->type == GM_SETTING_REAL ? (struct value){.type = REAL, .real = s->real}
                                        : integer(s->integer);
}

static void add_settings(struct work *w)
{
    const struct gm_setting *s = w->snapshot->settings;
    for (size_t i = 0; i < w->snapshot->setting_count; i++)
        PUT(w, text(s[i].key), setting(w, &s[i]));
}

static void add_frames(struct work *w)
{
    const struct gm_frames *f = &w->snapshot->frames;
    for (uint32_t i = 1; i < f->count; i++)
        PUT(w, number(i), string(w, f->name[i].v), string(w, f->filename[i].v), number(f->line[i]));
}

static void add_stacks(struct work *w)
{
    for (uint32_t i = 1; i < w->snapshot->stacks.count; i++) {
        size_t depth;
        const struct gm_frame_id *frames = gm_stack_frames(w->snapshot, (struct gm_stack_id){i}, &depth);
        for (size_t k = 0; k < depth; k++)
            PUT(w, number(i), number(k), number(frames[k].v));
    }
}

static void add_sites(struct work *w)
{
    static const struct gm_frame_row none = {.line = GM_ABSENT};
    for (uint32_t i = 1; i < w->snapshot->stacks.count; i++) {
        const char *site = gm_names_site(&w->names, (struct gm_stack_id){i});
        const struct gm_frame_row *told = gm_names_telling_frame(&w->names, (struct gm_stack_id){i});
        const struct gm_frame_row *frame = told == NULL ? &none : told;
        if (site == NULL)
            w->code = SQLITE_NOMEM;
        PUT(w, number(i), text(site), text(frame->name), text(frame->filename), number(frame->line));
    }
}

static void add_segments(struct work *w)
{
    const struct gm_segments *t = w->is_host ? &w->snapshot->host_segments : &w->snapshot->segments;
    for (size_t i = 0; i < t->count; i++)
        PUT(w, number(i), integer(t->device[i]), number(t->address[i]), number(t->total_size[i]),
            stream(w, t->stream[i].v), POOL(w, t->pool[i].v), text(gm_segment_types[t->type[i]]),
            truth(t->is_expandable[i]), id(t->stack[i].v));
}

static void add_blocks(struct work *w)
{
    const struct gm_blocks *b = w->is_host ? &w->snapshot->host_blocks : &w->snapshot->blocks;
    for (size_t i = 0; i < b->count; i++)
        PUT(w, number(i), number(b->segment[i]), number(b->address[i]), number(b->size[i]), number(b->requested[i]),
            text(gm_block_states[b->state[i]]), id(b->stack[i].v));
}

static void add_traces(struct work *w)
{
    for (size_t d = 0; d < w->snapshot->trace_count; d++) {
        const struct gm_trace *trace = &w->snapshot->traces[d];
        PUT(w, number(d), number(trace->count), number(trace->max_entries), truth((uint8_t)trace->overflowed));
    }
}

/* `h`, of the same device, may be NULL. */
static void put_events(struct work *w, const struct gm_history *h, const struct gm_trace *trace, size_t device)
{
    const struct gm_events *e = &w->snapshot->events;
    for (size_t i = 0; w->code == SQLITE_OK && i < trace->count; i++) {
        const size_t row = trace->first + i;
        const uint32_t pool = gm_rare_at(&e->pool, row);
        PUT(w, number(device), number(i),
            e->action[row] == GM_ACTION_OTHER ? string(w, gm_rare_at(&e->action_name, row))
                                              : text(gm_action_name((enum gm_action)e->action[row])),
            number(gm_event_addr(e, row)), number(gm_event_size(e, row)), stream(w, gm_rare_at(&e->stream, row)),
            POOL(w, pool), when(gm_event_time_us(e, row)), id(gm_event_stack(e, row).v),
            string(w, gm_rare_at(&e->compile_context, row)), string(w, gm_rare_at(&e->user_metadata, row)),
            row_index(h == NULL || i >= h->count ? GM_NEVER : h->of_event[i]));
    }
}

static const struct gm_history *history_of(const struct work *w, size_t device)
{
    for (size_t d = 0; d < w->of->kept->count; d++)
        if (w->of->kept->v[d].history.device == (int64_t)device)
            return &w->of->kept->v[d].history;
    return NULL;
}

static void add_events(struct work *w)
{
    const struct gm_snapshot *s = w->snapshot;
    for (size_t d = 0; d < (w->is_host ? s->host_trace_count : s->trace_count); d++)
        put_events(w, w->is_host ? NULL : history_of(w, d), w->is_host ? &s->host_traces[d] : &s->traces[d], d);
}

static void add_annotations(struct work *w)
{
    for (size_t i = 0; i < w->snapshot->annotation_count; i++) {
        const struct gm_annotation *a = &w->snapshot->annotations[i];
        PUT(w, number(i), integer(a->device), when(a->time_us),
            text(a->stage == GM_STAGE_OTHER ? NULL : gm_stages[a->stage]), string(w, a->name.v));
    }
}

/* ---- what was concluded ------------------------------------------------------------------------------------------ */

/* The event that led to a moment: -1 before event 0. */
static struct value event_before(uint32_t moment)
{
    return moment == GM_NEVER ? nothing : integer((int64_t)moment - 1);
}

/* The step that an event is in, or NULL. */
static const struct gm_kept_step *step_of(const struct gm_kept_device *k, uint32_t event)
{
    size_t i = 0;
    GM_BISECT(i, k->step_count, n, k->steps[n].last < event);
    return i < k->step_count && k->steps[i].first <= event ? &k->steps[i] : NULL;
}

static void put_allocation(struct work *w, const struct gm_kept_device *k, size_t a)
{
    const struct gm_history *h = &k->history;
    const bool is_born = h->born[a] > 0;
    const uint32_t event = is_born ? h->born[a] - 1 : 0;
    const struct gm_kept_step *step = is_born ? step_of(k, event) : NULL;
    PUT(w, integer(h->device), number(a), number(gm_history_address(h, a)), number(gm_requested(h, a)),
        number(h->is_reconstructed ? gm_block_bytes(h, a) : GM_ABSENT), event_before(h->born[a]),
        event_before(gm_let_go(h, a)), event_before(h->freed[a]), stream(w, gm_history_stream(h, a).v),
        id(gm_stack_of(h, a)), text(gm_role_name(k->role[a])), text(gm_category_name(w->of->rules, k->category[a])),
        text(is_born && k->phase != NULL ? gm_phase_name(gm_phase_of(k->phase, event)) : NULL),
        number(step == NULL ? GM_ABSENT : step->number), row_index(gm_final_block(h, a)));
}

static void add_allocations(struct work *w)
{
    const struct gm_kept *kept = w->of->kept;
    for (size_t d = 0; d < kept->count; d++)
        for (size_t a = 0; w->code == SQLITE_OK && a < kept->v[d].history.allocation_count; a++)
            put_allocation(w, &kept->v[d], a);
}

static void add_steps(struct work *w)
{
    const struct gm_kept *kept = w->of->kept;
    for (size_t d = 0; d < kept->count; d++)
        for (size_t i = 0; i < kept->v[d].step_count; i++) {
            const struct gm_kept_step *step = &kept->v[d].steps[i];
            PUT(w, integer(kept->v[d].history.device), number(step->number), number(step->first), number(step->last),
                number(step->is_partial));
        }
}

static void put_peak(struct work *w, int64_t device, const char *kind, const struct gm_moment *m)
{
    PUT(w, integer(device), text(kind), integer(m->event == GM_REPORT_NONE ? -1 : (int64_t)m->event),
        number(m->time_us), number(m->levels.requested), number(m->levels.allocated), number(m->levels.active),
        number(m->levels.reserved));
}

static void add_peaks(struct work *w)
{
    const struct gm_report *report = w->of->report;
    for (size_t d = 0; report->timelines != NULL && d < report->device_count; d++) {
        const struct gm_device_report *device = &report->devices[d];
        const struct gm_peak *p = &report->peaks[d];
        struct gm_moment requested = {p->event, p->time_us, p->levels};
        requested.levels.requested = p->requested;
        if (device->trace.events == 0)
            continue;
        put_peak(w, device->device, "requested", &requested);
        put_peak(w, device->device, "allocated", &report->timelines[d].peak_allocated);
        put_peak(w, device->device, "active", &report->timelines[d].peak_active);
        put_peak(w, device->device, "reserved", &report->timelines[d].peak_reserved);
    }
}

static void add_findings(struct work *w)
{
    const struct gm_diagnosis *diagnosis = &w->of->report->diagnosis;
    for (size_t i = 0; i < diagnosis->finding_count; i++) {
        const struct gm_finding *f = &diagnosis->findings[i];
        PUT(w, text(f->id), text(gm_severity_name(f->severity)), text(f->title), text(f->detail), text(f->site),
            number(f->bytes));
    }
}

/* ---- a trace of torch.profiler ----------------------------------------------------------------------------------- */

static void add_threads(struct work *w)
{
    const struct gm_profile *p = w->snapshot->profile;
    for (size_t i = 0; p != NULL && i < p->threads.n; i++)
        PUT(w, number(i), said(p, p->threads.v[i].process), said(p, p->threads.v[i].thread));
}

static void add_spans(struct work *w)
{
    static const char *const kinds[] = {[GM_SPAN_OPERATOR] = "operator",
                                        [GM_SPAN_ANNOTATION] = "annotation",
                                        [GM_SPAN_PYTHON] = "python",
                                        [GM_SPAN_RUNTIME] = "runtime",
                                        [GM_SPAN_OTHER] = "other",
                                        [GM_SPAN_KERNEL] = "kernel",
                                        [GM_SPAN_MEMCPY] = "memcpy",
                                        [GM_SPAN_MEMSET] = "memset",
                                        [GM_SPAN_DEVICE_ANNOTATION] = "device_annotation"};
    const struct gm_profile *p = w->snapshot->profile;
    for (size_t i = 0; p != NULL && i < p->spans.n; i++) {
        const struct gm_profile_span *span = &p->spans.v[i];
        const struct gm_profile_detail *detail = gm_profile_detail_of(p, span);
        PUT(w, number(i), row_index(span->parent), number(span->thread), text(kinds[span->kind]), said(p, span->name),
            integer(p->base_ns + span->start_ns), integer(span->duration_ns), id(detail->external),
            id(detail->correlation), id(detail->bytes), said(p, detail->shapes), said(p, detail->types),
            said(p, detail->call_stack));
    }
}

static void add_instants(struct work *w)
{
    const struct gm_profile *p = w->snapshot->profile;
    for (size_t i = 0; p != NULL && i < p->memory.n; i++) {
        const struct gm_profile_memory *m = &p->memory.v[i];
        PUT(w, number(i), integer(p->base_ns + m->time_ns), integer(m->bytes), number(m->address), number(m->allocated),
            number(m->reserved), integer(m->device), integer(m->device_type), number(m->thread), row_index(m->span));
    }
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

#define SEGMENT_TABLE                                                                                                  \
    "(segment_id INTEGER PRIMARY KEY, device INTEGER NOT NULL, address INTEGER, total_bytes INTEGER, stream INTEGER,"  \
    " pool_first INTEGER, pool_second INTEGER, type TEXT, is_expandable INTEGER, stack_id INTEGER)"
#define BLOCK_TABLE(segments)                                                                                          \
    "(block_id INTEGER PRIMARY KEY, segment_id INTEGER NOT NULL REFERENCES " segments                                  \
    ", address INTEGER, bytes INTEGER, requested_bytes INTEGER, state TEXT NOT NULL, stack_id INTEGER)"
#define EVENT_TABLE                                                                                                    \
    "(device INTEGER NOT NULL, event INTEGER NOT NULL, action TEXT, address INTEGER, bytes INTEGER, stream INTEGER,"   \
    " pool_first INTEGER, pool_second INTEGER, time_us INTEGER, stack_id INTEGER, compile_context TEXT,"               \
    " user_metadata TEXT, allocation INTEGER, PRIMARY KEY(device, event)) WITHOUT ROWID"

static const struct {
    const char *name;
    void (*add)(struct work *w);
    const char *definition;
} tables[] = {
    {"meta", add_meta, "(key TEXT PRIMARY KEY, value)"},
    {"settings", add_settings, "(key TEXT, value)"},
    {"frames", add_frames, "(frame_id INTEGER PRIMARY KEY, name TEXT, filename TEXT, line INTEGER)"},
    {"stacks", add_stacks,
     "(stack_id INTEGER NOT NULL, depth INTEGER NOT NULL, frame_id INTEGER NOT NULL REFERENCES frames,"
     " PRIMARY KEY(stack_id, depth)) WITHOUT ROWID"},
    {"sites", add_sites,
     "(stack_id INTEGER PRIMARY KEY, site TEXT NOT NULL, function TEXT, filename TEXT, line INTEGER)"},
    {"segments", add_segments, SEGMENT_TABLE},
    {"blocks", add_blocks, BLOCK_TABLE("segments")},
    {"traces", add_traces, "(device INTEGER PRIMARY KEY, events INTEGER, max_entries INTEGER, is_overflowed INTEGER)"},
    {"events", add_events, EVENT_TABLE},
    {"host_segments", add_segments, SEGMENT_TABLE},
    {"host_blocks", add_blocks, BLOCK_TABLE("host_segments")},
    {"host_events", add_events, EVENT_TABLE},
    {"annotations", add_annotations,
     "(annotation_id INTEGER PRIMARY KEY, device INTEGER, time_us INTEGER, stage TEXT, name TEXT)"},
    {"allocations", add_allocations,
     "(device INTEGER NOT NULL, allocation INTEGER NOT NULL, address INTEGER, requested_bytes INTEGER,"
     " block_bytes INTEGER, born_event INTEGER NOT NULL, let_go_event INTEGER, freed_event INTEGER,"
     " stream INTEGER, stack_id INTEGER, role TEXT, category TEXT, phase TEXT, step INTEGER,"
     " block_id INTEGER REFERENCES blocks, PRIMARY KEY(device, allocation)) WITHOUT ROWID"},
    {"steps", add_steps,
     "(device INTEGER NOT NULL, step INTEGER NOT NULL, first_event INTEGER, last_event INTEGER,"
     " is_partial INTEGER)"},
    {"peaks", add_peaks,
     "(device INTEGER NOT NULL, kind TEXT NOT NULL, event INTEGER NOT NULL, time_us INTEGER,"
     " requested_bytes INTEGER, allocated_bytes INTEGER, active_bytes INTEGER, reserved_bytes INTEGER,"
     " PRIMARY KEY(device, kind)) WITHOUT ROWID"},
    {"findings", add_findings, "(id TEXT, severity TEXT, title TEXT, detail TEXT, site TEXT, bytes INTEGER)"},
    {"profile_threads", add_threads, "(thread_id INTEGER PRIMARY KEY, process TEXT, thread TEXT)"},
    {"profile_spans", add_spans,
     "(span_id INTEGER PRIMARY KEY, parent_id INTEGER REFERENCES profile_spans, thread_id INTEGER NOT NULL"
     " REFERENCES profile_threads, kind TEXT NOT NULL, name TEXT, start_ns INTEGER, duration_ns INTEGER,"
     " external_id INTEGER, correlation INTEGER, bytes INTEGER, shapes TEXT, types TEXT, call_stack TEXT)"},
    {"profile_memory", add_instants,
     "(memory_id INTEGER PRIMARY KEY, time_ns INTEGER, bytes INTEGER, address INTEGER, allocated_bytes"
     " INTEGER, reserved_bytes INTEGER, device INTEGER, device_type INTEGER, thread_id INTEGER NOT NULL"
     " REFERENCES profile_threads, span_id INTEGER REFERENCES profile_spans)"},
};

static const char before[] = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
                             "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-65536; BEGIN;";
static const char after[] =
    "CREATE INDEX stacks_frame ON stacks(frame_id);"
    "CREATE INDEX blocks_segment ON blocks(segment_id);"
    "CREATE INDEX events_address ON events(address);"
    "CREATE INDEX events_allocation ON events(device, allocation) WHERE allocation IS NOT NULL;"
    "CREATE INDEX allocations_stack ON allocations(stack_id);"
    "CREATE INDEX allocations_life ON allocations(device, born_event, freed_event);"
    "CREATE INDEX profile_spans_name ON profile_spans(name);"
    "CREATE INDEX profile_spans_parent ON profile_spans(parent_id);"
    "CREATE VIEW live_at_peak AS SELECT a.*, p.event AS peak_event FROM peaks p JOIN allocations a"
    " ON a.device = p.device AND a.born_event <= p.event AND (a.freed_event IS NULL OR a.freed_event > p.event)"
    " WHERE p.kind = 'requested';"
    "CREATE VIEW stack_lines AS SELECT s.stack_id, s.depth, f.name, f.filename, f.line"
    " FROM stacks s JOIN frames f USING(frame_id);"
    "COMMIT;";

static void run(struct work *w, const char *sql)
{
    if (w->code == SQLITE_OK)
        w->code = w->sqlite->exec(w->db, sql, NULL, NULL, NULL);
}

static void make(struct work *w)
{
    char sql[768];
    run(w, before);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        snprintf(sql, sizeof sql, "CREATE TABLE %s%s", tables[i].name, tables[i].definition);
        run(w, sql);
        w->table = tables[i].name;
        w->is_host = strncmp(w->table, "host_", strlen("host_")) == 0;
        tables[i].add(w);
        (void)w->sqlite->finalize(w->insert); /* what went wrong is in w->code */
        w->insert = NULL;
    }
    run(w, after);
}

static int asks_to_stop(void *gives_up)
{
    return (*(bool (**)(void))gives_up)();
}

static enum gm_status failed(const struct gm_sqlite_module *sqlite, int code, struct gm_error *err)
{
    const bool is_outside = code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_CANTOPEN ||
                            code == SQLITE_READONLY || code == SQLITE_INTERRUPT;
    if (code == SQLITE_NOMEM)
        return gm_no_memory(err);
    return gm_fail(err, is_outside ? GM_E_WRITE : GM_E_INTERNAL, GM_NO_OFFSET, GM_SQLITE_FILE ": %s",
                   sqlite->errstr(code));
}

static enum gm_status open_module(const struct gm_sqlite_module **sqlite, struct gm_error *err)
{
    const void *found;
    const enum gm_status status = gm_open_beside(&found, GM_SQLITE_MODULE_FILE, GM_SQLITE_MODULE_SYMBOL,
                                                 "--export sqlite: SQLite cannot be opened", err);
    *sqlite = found;
    return status;
}

enum gm_status gm_sqlite_check(struct gm_error *err)
{
    const struct gm_sqlite_module *sqlite;
    return open_module(&sqlite, err);
}

enum gm_status gm_sqlite_write(const char *path, const struct gm_sqlite_source *source, bool (*gives_up)(void),
                               struct gm_error *err)
{
    enum { STEPS_BETWEEN = 1 << 16 };
    struct work w = {.of = source, .snapshot = source->snapshot};
    GM_FREED_BY(gm_arena_free) struct gm_arena arena = {0};
    GM_TRY(open_module(&w.sqlite, err));
    /* Nobody else has the file, and not every file system has locks. */
    w.code = w.sqlite->open_v2(path, &w.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "unix-none");
    if (w.code == SQLITE_OK && !gm_names_init(&w.names, source->snapshot, &arena))
        w.code = SQLITE_NOMEM;
    if (w.code == SQLITE_OK) {
        if (gives_up != NULL)
            w.sqlite->progress_handler(w.db, STEPS_BETWEEN, asks_to_stop, &gives_up);
        make(&w);
    }
    const int code = w.sqlite->close(w.db);
    gm_names_free(&w.names);
    return w.code == SQLITE_OK && code == SQLITE_OK ? GM_OK
                                                    : failed(w.sqlite, w.code != SQLITE_OK ? w.code : code, err);
}
