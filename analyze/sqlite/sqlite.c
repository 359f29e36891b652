/* SPDX-License-Identifier: Apache-2.0
 *
 * One transaction without a journal, for a file that is thrown away if anything fails; a prepared statement for each
 * table; indexes when all rows are there. Values are bound in the order of the columns; the first error of a table
 * makes the rest of its calls do nothing.
 *
 * SQLite's integers have a sign: addresses and sizes of 2^63 and more are stored as that many less 2^64, so that
 * differences stay right and printf('%x', address) shows what the file has.
 */
#include "analyze/sqlite/sqlite.h"

#include "analyze/base/utf8.h"
#include "analyze/snapshot/profile.h"
#include "analyze/state/shown_names.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

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

enum table {
    META,
    SETTINGS,
    FRAMES,
    STACKS,
    SITES,
    SEGMENTS,
    BLOCKS,
    TRACES,
    EVENTS,
    HOST_SEGMENTS,
    HOST_BLOCKS,
    HOST_EVENTS,
    ANNOTATIONS,
    ALLOCATIONS,
    STEPS,
    PEAKS,
    FINDINGS,
    THREADS,
    SPANS,
    INSTANTS,
    TABLES
};

static const struct {
    const char *name;
    int columns;
    const char *definition;
} tables[TABLES] = {
    [META] = {"meta", 2, "(key TEXT PRIMARY KEY, value)"},
    [SETTINGS] = {"settings", 2, "(key TEXT, value)"},
    [FRAMES] = {"frames", 4, "(frame_id INTEGER PRIMARY KEY, name TEXT, filename TEXT, line INTEGER)"},
    [STACKS] = {"stacks", 3,
                "(stack_id INTEGER NOT NULL, depth INTEGER NOT NULL, frame_id INTEGER NOT NULL REFERENCES frames,"
                " PRIMARY KEY(stack_id, depth)) WITHOUT ROWID"},
    [SITES] = {"sites", 5,
               "(stack_id INTEGER PRIMARY KEY, site TEXT NOT NULL, function TEXT, filename TEXT, line INTEGER)"},
    [SEGMENTS] = {"segments", 10, SEGMENT_TABLE},
    [BLOCKS] = {"blocks", 7, BLOCK_TABLE("segments")},
    [TRACES] = {"traces", 4,
                "(device INTEGER PRIMARY KEY, events INTEGER, max_entries INTEGER, is_overflowed INTEGER)"},
    [EVENTS] = {"events", 13, EVENT_TABLE},
    [HOST_SEGMENTS] = {"host_segments", 10, SEGMENT_TABLE},
    [HOST_BLOCKS] = {"host_blocks", 7, BLOCK_TABLE("host_segments")},
    [HOST_EVENTS] = {"host_events", 13, EVENT_TABLE},
    [ANNOTATIONS] = {"annotations", 5,
                     "(annotation_id INTEGER PRIMARY KEY, device INTEGER, time_us INTEGER, stage TEXT, name TEXT)"},
    [ALLOCATIONS] = {"allocations", 15,
                     "(device INTEGER NOT NULL, allocation INTEGER NOT NULL, address INTEGER, requested_bytes INTEGER,"
                     " block_bytes INTEGER, born_event INTEGER NOT NULL, let_go_event INTEGER, freed_event INTEGER,"
                     " stream INTEGER, stack_id INTEGER, role TEXT, category TEXT, phase TEXT, step INTEGER,"
                     " block_id INTEGER REFERENCES blocks, PRIMARY KEY(device, allocation)) WITHOUT ROWID"},
    [STEPS] = {"steps", 5,
               "(device INTEGER NOT NULL, step INTEGER NOT NULL, first_event INTEGER, last_event INTEGER,"
               " is_partial INTEGER)"},
    [PEAKS] = {"peaks", 8,
               "(device INTEGER NOT NULL, kind TEXT NOT NULL, event INTEGER NOT NULL, time_us INTEGER,"
               " requested_bytes INTEGER, allocated_bytes INTEGER, active_bytes INTEGER, reserved_bytes INTEGER,"
               " PRIMARY KEY(device, kind)) WITHOUT ROWID"},
    [FINDINGS] = {"findings", 6, "(id TEXT, severity TEXT, title TEXT, detail TEXT, site TEXT, bytes INTEGER)"},
    [THREADS] = {"profile_threads", 3, "(thread_id INTEGER PRIMARY KEY, process TEXT, thread TEXT)"},
    [SPANS] = {"profile_spans", 13,
               "(span_id INTEGER PRIMARY KEY, parent_id INTEGER REFERENCES profile_spans, thread_id INTEGER NOT NULL"
               " REFERENCES profile_threads, kind TEXT NOT NULL, name TEXT, start_ns INTEGER, duration_ns INTEGER,"
               " external_id INTEGER, correlation INTEGER, bytes INTEGER, shapes TEXT, types TEXT, call_stack TEXT)"},
    [INSTANTS] = {"profile_memory", 10,
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

struct work {
    sqlite3 *db;
    const struct gm_sqlite_source *of;
    const struct gm_snapshot *snapshot;
    struct gm_names names;
    int code; /* SQLITE_OK, or the first error */
};

/* ---- rows of one table ------------------------------------------------------------------------------------------- */

struct rows {
    sqlite3_stmt *insert;
    const struct gm_snapshot *snapshot;
    int column; /* the last that was bound */
    int code;   /* SQLITE_OK, or the first error */
};

static struct rows rows_of(const struct work *w, enum table table)
{
    struct rows rows = {.snapshot = w->snapshot};
    char sql[128];
    int n = snprintf(sql, sizeof sql, "INSERT INTO %s VALUES(?", tables[table].name);
    for (int i = 1; i < tables[table].columns; i++)
        n += snprintf(sql + n, sizeof sql - (size_t)n, ",?");
    snprintf(sql + n, sizeof sql - (size_t)n, ")");
    rows.code = sqlite3_prepare_v2(w->db, sql, -1, &rows.insert, NULL);
    return rows;
}

static void put_signed(struct rows *r, int64_t value)
{
    if (r->code == SQLITE_OK)
        r->code = sqlite3_bind_int64(r->insert, ++r->column, value);
}

static void put_null(struct rows *r)
{
    if (r->code == SQLITE_OK)
        r->code = sqlite3_bind_null(r->insert, ++r->column);
}

_Static_assert(GM_ABSENT == GM_REPORT_NONE, "what is not known is NULL, whoever says so");
_Static_assert(GM_ABSENT == GM_PROFILE_ABSENT, "likewise");

static void put_number(struct rows *r, uint64_t value)
{
    if (value == GM_ABSENT)
        put_null(r);
    else
        put_signed(r, (int64_t)value);
}

/* 0 is none. */
static void put_id(struct rows *r, uint64_t id)
{
    put_number(r, id == 0 ? GM_ABSENT : id);
}

/* GM_PROFILE_NONE, GM_NEVER and GM_NO_BLOCK are none. */
static void put_index(struct rows *r, uint32_t index)
{
    put_number(r, index == UINT32_MAX ? GM_ABSENT : index);
}

static void put_truth(struct rows *r, uint8_t truth)
{
    put_number(r, truth == GM_TRUTH_ABSENT ? GM_ABSENT : truth == GM_TRUE);
}

static bool is_plain_text(const char *s, size_t n)
{
    uint32_t code;
    for (size_t i = 0, length; i < n; i += length)
        if (s[i] == '\0' || (length = gm_utf8_decode(s + i, n - i, &code)) == 0)
            return false;
    return true;
}

static void put_bytes(struct rows *r, const char *s, size_t n)
{
    if (r->code != SQLITE_OK)
        return;
    r->code = is_plain_text(s, n) ? sqlite3_bind_text64(r->insert, ++r->column, s, n, SQLITE_STATIC, SQLITE_UTF8)
                                  : sqlite3_bind_blob64(r->insert, ++r->column, s, n, SQLITE_STATIC);
}

static void put_text(struct rows *r, const char *s)
{
    if (s == NULL)
        put_null(r);
    else
        put_bytes(r, s, strlen(s));
}

static void put_string(struct rows *r, uint32_t id)
{
    size_t n;
    const char *s = gm_string(r->snapshot, (struct gm_string_id){id}, &n);
    if (id == 0)
        put_null(r);
    else
        put_bytes(r, s, n);
}

static void put_said(struct rows *r, const struct gm_profile *p, uint32_t string)
{
    size_t n;
    const char *s = gm_profile_string(p, string, &n);
    if (string == GM_PROFILE_NONE)
        put_null(r);
    else
        put_bytes(r, s, n);
}

static void put_stream(struct rows *r, uint32_t stream)
{
    if (stream == 0)
        put_null(r);
    else
        put_signed(r, r->snapshot->streams[stream]);
}

static void put_pool(struct rows *r, uint32_t pool)
{
    put_number(r, pool == 0 ? GM_ABSENT : r->snapshot->pools[pool].first);
    put_number(r, pool == 0 ? GM_ABSENT : r->snapshot->pools[pool].second);
}

static void put_time(struct rows *r, int64_t time)
{
    if (time == GM_ABSENT_TIME)
        put_null(r);
    else
        put_signed(r, time);
}

static void end_row(struct rows *r)
{
    r->column = 0;
    if (r->code != SQLITE_OK)
        return;
    (void)sqlite3_step(r->insert); /* what went wrong is what reset returns */
    r->code = sqlite3_reset(r->insert);
}

/* Whether all of them are there. */
static bool end_rows(struct work *w, struct rows *r)
{
    const int code = sqlite3_finalize(r->insert);
    if (w->code == SQLITE_OK)
        w->code = r->code != SQLITE_OK ? r->code : code;
    return w->code == SQLITE_OK;
}

/* ---- what the file says ------------------------------------------------------------------------------------------ */

static bool add_meta(struct work *w)
{
    const struct gm_report *report = w->of->report;
    const char *const pairs[][2] = {{"schema", "gmanalyze.sqlite/1"},
                                    {"version", GM_VERSION},
                                    {"path", report->snapshot.path},
                                    {"format", report->snapshot.format}};
    struct rows r = rows_of(w, META);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        put_text(&r, pairs[i][0]);
        put_text(&r, pairs[i][1]);
        end_row(&r);
    }
    return end_rows(w, &r);
}

static void put_setting(struct rows *r, const struct gm_setting *setting)
{
    if (setting->type == GM_SETTING_STRING)
        put_string(r, setting->string.v);
    else if (setting->type == GM_SETTING_NONE)
        put_null(r);
    else if (setting->type != GM_SETTING_REAL)
        put_signed(r, setting->integer);
    else if (r->code == SQLITE_OK)
        r->code = sqlite3_bind_double(r->insert, ++r->column, setting->real);
}

static bool add_settings(struct work *w)
{
    struct rows r = rows_of(w, SETTINGS);
    for (size_t i = 0; i < w->snapshot->setting_count; i++) {
        put_text(&r, w->snapshot->settings[i].key);
        put_setting(&r, &w->snapshot->settings[i]);
        end_row(&r);
    }
    return end_rows(w, &r);
}

static bool add_frames(struct work *w)
{
    const struct gm_frames *f = &w->snapshot->frames;
    struct rows r = rows_of(w, FRAMES);
    for (uint32_t i = 1; i < f->count; i++) {
        put_number(&r, i);
        put_string(&r, f->name[i].v);
        put_string(&r, f->filename[i].v);
        put_number(&r, f->line[i]);
        end_row(&r);
    }
    return end_rows(w, &r);
}

static bool add_stacks(struct work *w)
{
    struct rows r = rows_of(w, STACKS);
    for (uint32_t i = 1; i < w->snapshot->stacks.count; i++) {
        size_t depth;
        const struct gm_frame_id *frames = gm_stack_frames(w->snapshot, (struct gm_stack_id){i}, &depth);
        for (size_t k = 0; k < depth; k++) {
            put_number(&r, i);
            put_number(&r, k);
            put_number(&r, frames[k].v);
            end_row(&r);
        }
    }
    return end_rows(w, &r);
}

static bool add_sites(struct work *w)
{
    struct rows r = rows_of(w, SITES);
    for (uint32_t i = 1; i < w->snapshot->stacks.count; i++) {
        const char *site = gm_names_site(&w->names, (struct gm_stack_id){i});
        const struct gm_frame_row *frame = gm_names_telling_frame(&w->names, (struct gm_stack_id){i});
        if (site == NULL)
            r.code = SQLITE_NOMEM;
        put_number(&r, i);
        put_text(&r, site);
        put_text(&r, frame == NULL ? NULL : frame->name);
        put_text(&r, frame == NULL ? NULL : frame->filename);
        put_number(&r, frame == NULL ? GM_ABSENT : frame->line);
        end_row(&r);
    }
    return end_rows(w, &r);
}

static bool add_segments(struct work *w, enum table table, const struct gm_segments *t)
{
    static const char *const types[] = {NULL, "small", "large"};
    struct rows r = rows_of(w, table);
    for (size_t i = 0; i < t->count; i++) {
        put_number(&r, i);
        put_signed(&r, t->device[i]);
        put_number(&r, t->address[i]);
        put_number(&r, t->total_size[i]);
        put_stream(&r, t->stream[i].v);
        put_pool(&r, t->pool[i].v);
        put_text(&r, types[t->type[i]]);
        put_truth(&r, t->is_expandable[i]);
        put_id(&r, t->stack[i].v);
        end_row(&r);
    }
    return end_rows(w, &r);
}

static bool add_blocks(struct work *w, enum table table, const struct gm_blocks *b)
{
    static const char *const states[] = {"inactive", "active_allocated", "active_pending_free"};
    struct rows r = rows_of(w, table);
    for (size_t i = 0; i < b->count; i++) {
        put_number(&r, i);
        put_number(&r, b->segment[i]);
        put_number(&r, b->address[i]);
        put_number(&r, b->size[i]);
        put_number(&r, b->requested[i]);
        put_text(&r, states[b->state[i]]);
        put_id(&r, b->stack[i].v);
        end_row(&r);
    }
    return end_rows(w, &r);
}

static bool add_state(struct work *w)
{
    const struct gm_snapshot *s = w->snapshot;
    return add_segments(w, SEGMENTS, &s->segments) && add_blocks(w, BLOCKS, &s->blocks) &&
           add_segments(w, HOST_SEGMENTS, &s->host_segments) && add_blocks(w, HOST_BLOCKS, &s->host_blocks);
}

/* `h`, of the same device, may be NULL. */
static void add_event(struct rows *r, const struct gm_history *h, size_t row, size_t device, size_t event)
{
    const struct gm_events *e = &r->snapshot->events;
    put_number(r, device);
    put_number(r, event);
    if (e->action[row] == GM_ACTION_OTHER)
        put_string(r, gm_rare_at(&e->action_name, row));
    else
        put_text(r, gm_action_name((enum gm_action)e->action[row]));
    put_number(r, gm_event_addr(e, row));
    put_number(r, gm_event_size(e, row));
    put_stream(r, gm_rare_at(&e->stream, row));
    put_pool(r, gm_rare_at(&e->pool, row));
    put_time(r, gm_event_time_us(e, row));
    put_id(r, e->stack[row].v);
    put_string(r, gm_rare_at(&e->compile_context, row));
    put_string(r, gm_rare_at(&e->user_metadata, row));
    put_index(r, h == NULL || event >= h->count ? GM_NEVER : h->of_event[event]);
    end_row(r);
}

static const struct gm_history *history_of(const struct work *w, size_t device)
{
    for (size_t d = 0; d < w->of->kept->count; d++)
        if (w->of->kept->v[d].history.device == (int64_t)device)
            return &w->of->kept->v[d].history;
    return NULL;
}

static bool add_events(struct work *w)
{
    const struct gm_snapshot *s = w->snapshot;
    struct rows r = rows_of(w, EVENTS), host = rows_of(w, HOST_EVENTS);
    for (size_t d = 0; d < s->trace_count; d++)
        for (size_t i = 0; r.code == SQLITE_OK && i < s->traces[d].count; i++)
            add_event(&r, history_of(w, d), s->traces[d].first + i, d, i);
    for (size_t d = 0; d < s->host_trace_count; d++)
        for (size_t i = 0; host.code == SQLITE_OK && i < s->host_traces[d].count; i++)
            add_event(&host, NULL, s->host_traces[d].first + i, d, i);
    const bool is_done = end_rows(w, &r);
    return end_rows(w, &host) && is_done;
}

static bool add_traces(struct work *w)
{
    struct rows r = rows_of(w, TRACES);
    for (size_t d = 0; d < w->snapshot->trace_count; d++) {
        const struct gm_trace *trace = &w->snapshot->traces[d];
        put_number(&r, d);
        put_number(&r, trace->count);
        put_number(&r, trace->max_entries);
        put_truth(&r, (uint8_t)trace->overflowed);
        end_row(&r);
    }
    return end_rows(w, &r);
}

static bool add_annotations(struct work *w)
{
    static const char *const stages[] = {NULL, "START", "END"};
    struct rows r = rows_of(w, ANNOTATIONS);
    for (size_t i = 0; i < w->snapshot->annotation_count; i++) {
        const struct gm_annotation *a = &w->snapshot->annotations[i];
        put_number(&r, i);
        put_signed(&r, a->device);
        put_time(&r, a->time_us);
        put_text(&r, stages[a->stage]);
        put_string(&r, a->name.v);
        end_row(&r);
    }
    return end_rows(w, &r);
}

/* ---- what was concluded ------------------------------------------------------------------------------------------ */

/* The event that led to a moment: -1 before event 0. */
static void put_moment(struct rows *r, uint32_t moment)
{
    if (moment == GM_NEVER)
        put_null(r);
    else
        put_signed(r, (int64_t)moment - 1);
}

/* The step that an event is in, or NULL. */
static const struct gm_kept_step *step_of(const struct gm_kept_device *k, uint32_t event)
{
    size_t i = 0;
    GM_BISECT(i, k->step_count, n, k->steps[n].last < event);
    return i < k->step_count && k->steps[i].first <= event ? &k->steps[i] : NULL;
}

static void add_allocation(struct rows *r, const struct gm_kept_device *k, const struct gm_category_rules *rules,
                           size_t a)
{
    const struct gm_history *h = &k->history;
    const bool is_born = h->born[a] > 0;
    const uint32_t event = is_born ? h->born[a] - 1 : 0;
    const struct gm_kept_step *step = is_born ? step_of(k, event) : NULL;
    put_signed(r, h->device);
    put_number(r, a);
    put_number(r, gm_history_address(h, a));
    put_number(r, h->requested[a]);
    put_number(r, h->is_reconstructed ? h->block[a] : GM_ABSENT);
    put_moment(r, h->born[a]);
    put_moment(r, h->let_go[a]);
    put_moment(r, h->freed[a]);
    put_stream(r, gm_history_stream(h, a).v);
    put_id(r, h->stack[a]);
    put_text(r, gm_role_name(k->role[a]));
    put_text(r, gm_category_name(rules, k->category[a]));
    put_text(r, is_born && k->phase != NULL ? gm_phase_name((enum gm_phase)k->phase[event]) : NULL);
    put_number(r, step == NULL ? GM_ABSENT : step->number);
    put_index(r, h->final_block[a]);
    end_row(r);
}

static bool add_allocations(struct work *w)
{
    const struct gm_kept *kept = w->of->kept;
    struct rows r = rows_of(w, ALLOCATIONS);
    for (size_t d = 0; d < kept->count; d++)
        for (size_t a = 0; r.code == SQLITE_OK && a < kept->v[d].history.allocation_count; a++)
            add_allocation(&r, &kept->v[d], w->of->rules, a);
    return end_rows(w, &r);
}

static bool add_steps(struct work *w)
{
    const struct gm_kept *kept = w->of->kept;
    struct rows r = rows_of(w, STEPS);
    for (size_t d = 0; d < kept->count; d++)
        for (size_t i = 0; i < kept->v[d].step_count; i++) {
            const struct gm_kept_step *step = &kept->v[d].steps[i];
            put_signed(&r, kept->v[d].history.device);
            put_number(&r, step->number);
            put_number(&r, step->first);
            put_number(&r, step->last);
            put_number(&r, step->is_partial);
            end_row(&r);
        }
    return end_rows(w, &r);
}

static void add_peak(struct rows *r, int64_t device, const char *kind, const struct gm_moment *m)
{
    put_signed(r, device);
    put_text(r, kind);
    put_signed(r, m->event == GM_REPORT_NONE ? -1 : (int64_t)m->event);
    put_number(r, m->time_us);
    put_number(r, m->levels.requested);
    put_number(r, m->levels.allocated);
    put_number(r, m->levels.active);
    put_number(r, m->levels.reserved);
    end_row(r);
}

static bool add_peaks(struct work *w)
{
    const struct gm_report *report = w->of->report;
    struct rows r = rows_of(w, PEAKS);
    for (size_t d = 0; report->timelines != NULL && d < report->device_count; d++) {
        const struct gm_device_report *device = &report->devices[d];
        const struct gm_peak *p = &report->peaks[d];
        struct gm_moment requested = {p->event, p->time_us, p->levels};
        requested.levels.requested = p->requested;
        if (device->trace.events == 0)
            continue;
        add_peak(&r, device->device, "requested", &requested);
        add_peak(&r, device->device, "allocated", &report->timelines[d].peak_allocated);
        add_peak(&r, device->device, "active", &report->timelines[d].peak_active);
        add_peak(&r, device->device, "reserved", &report->timelines[d].peak_reserved);
    }
    return end_rows(w, &r);
}

static bool add_findings(struct work *w)
{
    const struct gm_diagnosis *diagnosis = &w->of->report->diagnosis;
    struct rows r = rows_of(w, FINDINGS);
    for (size_t i = 0; i < diagnosis->finding_count; i++) {
        const struct gm_finding *f = &diagnosis->findings[i];
        put_text(&r, f->id);
        put_text(&r, gm_severity_name(f->severity));
        put_text(&r, f->title);
        put_text(&r, f->detail);
        put_text(&r, f->site);
        put_number(&r, f->bytes);
        end_row(&r);
    }
    return end_rows(w, &r);
}

/* ---- a trace of torch.profiler ----------------------------------------------------------------------------------- */

static bool add_threads(struct work *w, const struct gm_profile *p)
{
    struct rows r = rows_of(w, THREADS);
    for (size_t i = 0; i < p->threads.n; i++) {
        put_number(&r, i);
        put_said(&r, p, p->threads.v[i].process);
        put_said(&r, p, p->threads.v[i].thread);
        end_row(&r);
    }
    return end_rows(w, &r);
}

static bool add_spans(struct work *w, const struct gm_profile *p)
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
    struct rows r = rows_of(w, SPANS);
    for (size_t i = 0; i < p->spans.n; i++) {
        const struct gm_profile_span *span = &p->spans.v[i];
        const struct gm_profile_detail *detail = gm_profile_detail_of(p, span);
        put_number(&r, i);
        put_index(&r, span->parent);
        put_number(&r, span->thread);
        put_text(&r, kinds[span->kind]);
        put_said(&r, p, span->name);
        put_signed(&r, p->base_ns + span->start_ns);
        put_signed(&r, span->duration_ns);
        put_id(&r, detail->external);
        put_id(&r, detail->correlation);
        put_id(&r, detail->bytes);
        put_said(&r, p, detail->shapes);
        put_said(&r, p, detail->types);
        put_said(&r, p, detail->call_stack);
        end_row(&r);
    }
    return end_rows(w, &r);
}

static bool add_instants(struct work *w, const struct gm_profile *p)
{
    struct rows r = rows_of(w, INSTANTS);
    for (size_t i = 0; i < p->memory.n; i++) {
        const struct gm_profile_memory *m = &p->memory.v[i];
        put_number(&r, i);
        put_signed(&r, p->base_ns + m->time_ns);
        put_signed(&r, m->bytes);
        put_number(&r, m->address);
        put_number(&r, m->allocated);
        put_number(&r, m->reserved);
        put_signed(&r, m->device);
        put_signed(&r, m->device_type);
        put_number(&r, m->thread);
        put_index(&r, m->span);
        end_row(&r);
    }
    return end_rows(w, &r);
}

static bool add_profile(struct work *w)
{
    const struct gm_profile *p = w->snapshot->profile;
    return p == NULL || (add_threads(w, p) && add_spans(w, p) && add_instants(w, p));
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static bool run(struct work *w, const char *sql)
{
    w->code = sqlite3_exec(w->db, sql, NULL, NULL, NULL);
    return w->code == SQLITE_OK;
}

static bool make_tables(struct work *w)
{
    char sql[768];
    for (int i = 0; i < TABLES; i++) {
        snprintf(sql, sizeof sql, "CREATE TABLE %s%s", tables[i].name, tables[i].definition);
        if (!run(w, sql))
            return false;
    }
    return true;
}

static bool make(struct work *w)
{
    return run(w, before) && make_tables(w) && add_meta(w) && add_settings(w) && add_frames(w) && add_stacks(w) &&
           add_sites(w) && add_state(w) && add_traces(w) && add_events(w) && add_annotations(w) && add_allocations(w) &&
           add_steps(w) && add_peaks(w) && add_findings(w) && add_profile(w) && run(w, after);
}

static int asks_to_stop(void *gives_up)
{
    return (*(bool (**)(void))gives_up)();
}

static enum gm_status failed(int code, struct gm_error *err)
{
    const bool is_outside = code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_CANTOPEN ||
                            code == SQLITE_READONLY || code == SQLITE_INTERRUPT;
    if (code == SQLITE_NOMEM)
        return gm_no_memory(err);
    return gm_fail(err, is_outside ? GM_E_WRITE : GM_E_INTERNAL, GM_NO_OFFSET, GM_SQLITE_FILE ": %s",
                   sqlite3_errstr(code));
}

enum gm_status gm_sqlite_check(struct gm_error *err)
{
    (void)err;
    return GM_OK;
}

enum gm_status gm_sqlite_write(const char *path, const struct gm_sqlite_source *source, bool (*gives_up)(void),
                               struct gm_error *err)
{
    enum { STEPS_BETWEEN = 1 << 16 };
    struct work w = {.of = source, .snapshot = source->snapshot};
    struct gm_arena arena = {0};
    /* Nobody else has the file, and not every file system has locks. */
    w.code = sqlite3_open_v2(path, &w.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "unix-none");
    if (w.code == SQLITE_OK && !gm_names_init(&w.names, source->snapshot, &arena))
        w.code = SQLITE_NOMEM;
    if (w.code == SQLITE_OK) {
        if (gives_up != NULL)
            sqlite3_progress_handler(w.db, STEPS_BETWEEN, asks_to_stop, &gives_up);
        (void)make(&w); /* w.code tells */
    }
    const int code = sqlite3_close(w.db);
    gm_names_free(&w.names);
    gm_arena_free(&arena);
    return w.code == SQLITE_OK && code == SQLITE_OK ? GM_OK : failed(w.code != SQLITE_OK ? w.code : code, err);
}
