/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots that are open, and what is asked of a whole one.
 */
#include "render/page/core/page_core.h"

#include "analyze/document/documents.h"
#include "analyze/formats/load.h"
#include "render/page/core/opened.h"
#include "render/page/core/page_levels.h"
#include "render/page/core/seed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 50 }; /* as gmanalyze's --top */

/* The programs' limit, on a machine that has what a page has. */
static const uint64_t MEMORY = UINT64_C(4) << 30;

static struct {
    struct gm_opened **v; /* [n], handle - 1; NULL: closed */
    size_t n, capacity;
} opened;

/* ---- life -------------------------------------------------------------------------------------------------------- */

void *gm_page_alloc(size_t bytes)
{
    return malloc(bytes == 0 ? 1 : bytes);
}

void gm_page_free(void *memory)
{
    free(memory);
}

void gm_page_seed(const uint8_t *seed)
{
    gm_seed_set(seed);
}

const char *gm_query_value(const char *query, const char *key, size_t *length)
{
    const size_t n = strlen(key);
    for (const char *line = query; line != NULL && *line != '\0';) {
        const char *end = strchrnul(line, '\n');
        if ((size_t)(end - line) > n && memcmp(line, key, n) == 0 && line[n] == '=') {
            *length = (size_t)(end - line) - n - 1;
            return line + n + 1;
        }
        line = *end == '\0' ? end : end + 1;
    }
    return NULL;
}

double gm_query_number(const char *query, const char *key, double otherwise)
{
    size_t length;
    const char *text = gm_query_value(query, key, &length);
    char *end;
    const double value = text == NULL ? otherwise : strtod(text, &end);
    return text == NULL || end == text || isnan(value) ? otherwise : value;
}

static const char *take(struct gm_arena *arena, const char *query, const char *key, const char *otherwise)
{
    size_t length;
    const char *text = gm_query_value(query, key, &length);
    return text == NULL ? gm_arena_copy(arena, otherwise, strlen(otherwise)) : gm_arena_copy(arena, text, length);
}

static void forget_device(struct gm_page_device *d)
{
    gm_page_forget_table(d);
    gm_page_forget_events(d);
    free(d->marked);
}

static void forget(struct gm_opened *o)
{
    for (size_t i = 0; o->devices != NULL && i < o->judged.kept.count; i++)
        forget_device(&o->devices[i]);
    gm_names_free(&o->names);
    gm_kept_free(&o->judged.kept);
    gm_report_free(&o->judged.report);
    gm_classifier_free(o->classifier);
    gm_category_rules_free(o->rules);
    gm_snapshot_free(&o->snapshot);
    gm_arena_free(&o->arena);
    free(o);
}

/* What analysis.json says of the file that the trace came from, and when it was analysed. */
static bool name_report(struct gm_opened *o, const char *query)
{
    struct gm_report *report = &o->judged.report;
    size_t length;
    report->run_name = take(&report->arena, query, "name", "");
    report->timestamp = take(&report->arena, query, "created", "");
    report->snapshot.disk_bytes = (uint64_t)gm_query_number(query, "bytes", (double)report->snapshot.disk_bytes);
    if (gm_query_value(query, "format", &length) != NULL)
        report->snapshot.format = take(&report->arena, query, "format", "");
    if (gm_query_value(query, "compression", &length) != NULL)
        report->snapshot.compression = take(&report->arena, query, "compression", "");
    return report->run_name != NULL && report->timestamp != NULL && report->snapshot.format != NULL &&
           report->snapshot.compression != NULL;
}

static enum gm_status look_at_devices(struct gm_opened *o)
{
    const struct gm_report *report = &o->judged.report;
    const size_t n = o->judged.kept.count;
    const uint32_t categories = gm_category_count(o->rules);
    o->is_component = gm_arena_calloc(&o->arena, categories, sizeof *o->is_component);
    bool ok = gm_names_init(&o->names, &o->snapshot, &o->arena) && o->is_component != NULL;
    for (uint32_t c = 0; ok && c < categories; c++)
        o->is_component[c] = gm_category_is_component(o->rules, c);
    o->devices = gm_arena_calloc(&o->arena, n + 1, sizeof *o->devices);
    for (size_t i = 0; ok && o->devices != NULL && i < n; i++) {
        o->devices[i] = (struct gm_page_device){.h = &o->judged.kept.v[i].history,
                                                .kept = &o->judged.kept.v[i],
                                                .timeline = report->timelines == NULL ? NULL : &report->timelines[i]};
        ok = gm_page_find_levels(o, &o->devices[i]);
    }
    return ok && o->devices != NULL ? GM_OK : GM_E_NOMEM;
}

static enum gm_status fill(struct gm_opened *o, const uint8_t *data, size_t length, const char *query,
                           const char *rules, size_t rules_length, struct gm_error *err)
{
    const char *path = take(&o->arena, query, "path", "snapshot");
    const struct gm_load_options load = {.salvage = gm_query_number(query, "salvage", 0) != 0, .max_memory = MEMORY};
    if (path == NULL)
        return gm_no_memory(err);
    enum gm_status status = rules_length == 0 ? gm_category_rules_default(&o->rules, err)
                                              : gm_category_rules_parse(&o->rules, rules, rules_length, "rules", err);
    GM_THEN(status, gm_snapshot_load_bytes(&o->snapshot, data, length, path, &load, err));
    GM_THEN(status, gm_classifier_new(&o->classifier, o->rules, &o->snapshot, err));
    if (status != GM_OK)
        return status;
    o->is_brief = gm_query_number(query, "brief", 0) != 0;
    const struct gm_timeline_options timeline = {
        .rules = o->rules, .top = (size_t)gm_query_number(query, "top", TOP), .is_brief = o->is_brief};
    o->judged.most_events = GM_ADVICE_EVENTS;
    status =
        gm_judge_begin(&o->judged, &o->snapshot, &timeline, (int64_t)gm_query_number(query, "device", -1), false, err);
    if (status == GM_OK && (!name_report(o, query) || look_at_devices(o) != GM_OK))
        status = gm_no_memory(err);
    return status;
}

uint32_t gm_page_open(const uint8_t *data, size_t length, const char *query, const char *rules, size_t rules_length)
{
    struct gm_error err = {.status = GM_E_NOMEM};
    gm_answer_begin();
    struct gm_opened *o = calloc(1, sizeof *o);
    if (o == NULL || !gm_grow(&opened.v, &opened.capacity, opened.n + 1, sizeof *opened.v) ||
        fill(o, data, length, query, rules, rules_length, &err) != GM_OK) {
        gm_answer_fail(&err);
        if (o != NULL)
            forget(o);
        return 0;
    }
    opened.v[opened.n++] = o;
    return (uint32_t)opened.n;
}

void gm_page_close(uint32_t handle)
{
    gm_answer_begin();
    struct gm_opened *o = gm_opened_get(handle);
    if (o == NULL)
        return;
    forget(o);
    opened.v[handle - 1] = NULL;
}

struct gm_opened *gm_opened_get(uint32_t handle)
{
    if (handle > 0 && handle <= opened.n && opened.v[handle - 1] != NULL)
        return opened.v[handle - 1];
    gm_answer_refuse("no such snapshot is open");
    return NULL;
}

struct gm_page_device *gm_opened_device(uint32_t handle, uint32_t device, struct gm_opened **of)
{
    gm_answer_begin();
    struct gm_opened *o = gm_opened_get(handle);
    if (of != NULL)
        *of = o;
    if (o == NULL)
        return NULL;
    if (device < o->judged.kept.count)
        return &o->devices[device];
    gm_answer_refuse("the snapshot has no such device");
    return NULL;
}

/* ---- of all of it ------------------------------------------------------------------------------------------------ */

struct gm_opened *gm_opened_judged(uint32_t handle)
{
    struct gm_opened *o = gm_opened_get(handle);
    struct gm_error err;
    if (o == NULL || o->is_judged)
        return o;
    if (o->is_brief)
        gm_fail(&err, GM_E_USAGE, GM_NO_OFFSET, "it was opened without what a report tells");
    else
        o->is_judged = gm_judge_end(&o->judged, &o->snapshot, &err) == GM_OK;
    if (!o->is_judged)
        gm_answer_fail(&err);
    return o->is_judged ? o : NULL;
}

const struct gm_page_result *gm_page_json(uint32_t handle)
{
    struct gm_text json = {0};
    gm_answer_begin();
    struct gm_opened *o = gm_opened_judged(handle);
    if (o == NULL)
        return NULL;
    gm_analysis_document(&json, GM_JSON, &o->judged.report, NULL);
    return gm_answer_json(&json);
}

static void put_device(const struct gm_opened *o, size_t i, double *const *columns)
{
    const struct gm_page_device *d = &o->devices[i];
    const struct gm_peak *peak = o->judged.report.peaks == NULL ? NULL : &o->judged.report.peaks[i];
    const uint32_t last = gm_page_moments(d) - 1, top = gm_page_highest(d, 0, last);
    const bool has_peak = peak != NULL && d->h->count > 0;
    const double values[] = {
        d->timeline == NULL ? (double)NAN : gm_answer_of(d->timeline->curve.start_us),
        gm_page_has_times(d) ? gm_page_place(d, GM_PAGE_BY_TIME, last) : (double)NAN,
        has_peak ? gm_answer_of(peak->requested) : (double)NAN,
        (double)gm_page_sums_at(d, top, NULL, NULL).active,
        (double)gm_page_most_reserved(d, 0, last),
        d->timeline == NULL ? (double)NAN : gm_answer_of(d->timeline->steps.capacity),
    };
    for (size_t k = 0; k < sizeof values / sizeof *values; k++)
        columns[k][i] = values[k];
}

const struct gm_page_result *gm_page_devices(uint32_t handle)
{
    gm_answer_begin();
    const struct gm_opened *o = gm_opened_get(handle);
    if (o == NULL)
        return NULL;
    static const char *const names[] = {"first_us", "span_us", "peak_bytes", "top_bytes", "reserved", "capacity"};
    enum { COLUMNS = sizeof names / sizeof *names };
    const size_t n = o->judged.kept.count;
    double *columns[COLUMNS];
    for (int k = 0; k < COLUMNS; k++)
        columns[k] = gm_answer_add(names[k], GM_PAGE_F64, n);
    int32_t *device = gm_answer_add("device", GM_PAGE_I32, n);
    uint32_t *events = gm_answer_add("events", GM_PAGE_U32, n),
             *allocations = gm_answer_add("allocations", GM_PAGE_U32, n);
    uint32_t *peak = gm_answer_add("peak_moment", GM_PAGE_U32, n);
    uint8_t *times = gm_answer_add("has_times", GM_PAGE_U8, n),
            *sound = gm_answer_add("is_reconstructed", GM_PAGE_U8, n);
    for (size_t i = 0; gm_answer_is_whole() && i < n; i++) {
        const struct gm_page_device *d = &o->devices[i];
        const struct gm_report *report = &o->judged.report;
        put_device(o, i, columns);
        device[i] = (int32_t)d->h->device;
        events[i] = (uint32_t)d->h->count;
        allocations[i] = (uint32_t)d->h->allocation_count;
        times[i] = gm_page_has_times(d);
        sound[i] = d->h->is_reconstructed;
        peak[i] = report->peaks == NULL || report->peaks[i].event == GM_REPORT_NONE
                      ? 0
                      : (uint32_t)report->peaks[i].event + 1;
    }
    return gm_answer_end();
}
