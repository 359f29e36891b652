/* SPDX-License-Identifier: Apache-2.0
 *
 * From a snapshot to its record.
 */
#include "analyze/fleet/record.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/compare/summary_make.h"
#include "analyze/fleet/record_parts.h"
#include "analyze/formats/load.h"
#include "analyze/state/shown_names.h"

#include <stdlib.h>
#include <string.h>

static void put(struct gm_text *out, uint64_t value)
{
    unsigned char bytes[GM_RECORD_NUMBER];
    for (int i = 0; i < GM_RECORD_NUMBER; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    gm_text_add_bytes(out, bytes, sizeof bytes);
}

/* Its length + 1, its bytes; 0 for NULL. */
static void put_string(struct gm_text *out, const char *s)
{
    const size_t n = s == NULL ? 0 : strlen(s);
    put(out, s == NULL ? 0 : (uint64_t)n + 1);
    gm_text_add_bytes(out, s == NULL ? "" : s, n);
}

static void put_totals(struct gm_text *out, const struct gm_totals *t)
{
    const uint64_t all[GM_RECORD_TOTALS] = {t->reserved,  t->allocated,     t->pending,          t->active,
                                            t->requested, t->inactive,      t->rounding,         t->segments,
                                            t->blocks,    t->active_blocks, t->allocated_blocks, t->inactive_blocks};
    for (size_t i = 0; i < GM_RECORD_TOTALS; i++)
        put(out, all[i]);
}

/* ---- the first time that memory ran out -------------------------------------------------------------------------- */

static uint64_t reserved_at_end(const struct gm_snapshot *snapshot, int64_t device)
{
    uint64_t sum = 0;
    for (size_t s = 0; s < snapshot->segments.count; s++)
        if (snapshot->segments.device[s] == device)
            sum += snapshot->segments.total_size[s]; /* wraps for absurd sizes, as the steps back do */
    return sum;
}

/* What was reserved before the events from `from` on; GM_REPORT_NONE if the trace contradicts the segments. */
static uint64_t reserved_before(const struct gm_snapshot *snapshot, size_t device, size_t from)
{
    const struct gm_trace *trace = &snapshot->traces[device];
    const struct gm_events *events = &snapshot->events;
    uint64_t reserved = reserved_at_end(snapshot, (int64_t)device);
    for (size_t i = trace->first + trace->count; i-- > from;) {
        const uint8_t action = events->action[i];
        if (events->size[i] == GM_ABSENT)
            continue;
        if (gm_action_is_growth(action))
            reserved -= events->size[i];
        else if (gm_action_is_release(action))
            reserved += events->size[i];
    }
    return reserved > (uint64_t)INT64_MAX ? GM_REPORT_NONE : reserved;
}

static uint64_t time_of(const struct gm_snapshot *snapshot, size_t event)
{
    const int64_t *times = snapshot->events.time_us;
    return times == NULL || times[event] == GM_ABSENT_TIME || times[event] < 0 ? GM_REPORT_NONE
                                                                               : (uint64_t)times[event];
}

/* The event row of the earliest oom of all devices by time, then by device; SIZE_MAX if there is none. */
static size_t first_oom(const struct gm_snapshot *snapshot, int64_t wanted, size_t *device)
{
    size_t best = SIZE_MAX;
    for (size_t d = 0; d < snapshot->trace_count; d++) {
        const struct gm_trace *trace = &snapshot->traces[d];
        if (wanted >= 0 && wanted != (int64_t)d)
            continue;
        for (size_t i = trace->first; i < trace->first + trace->count; i++) {
            if (snapshot->events.action[i] != GM_ACTION_OOM)
                continue;
            if (best == SIZE_MAX || time_of(snapshot, i) < time_of(snapshot, best)) {
                best = i;
                *device = d;
            }
            break;
        }
    }
    return best;
}

static uint64_t or_none(uint64_t value)
{
    return value == GM_ABSENT ? GM_REPORT_NONE : value;
}

static bool put_oom(struct gm_text *out, const struct gm_snapshot *snapshot, int64_t wanted)
{
    size_t device = 0;
    const size_t event = first_oom(snapshot, wanted, &device);
    if (event == SIZE_MAX)
        return true;
    struct gm_arena arena = {0};
    struct gm_names names = {0};
    const bool ok = gm_names_init(&names, snapshot, &arena);
    const char *site = ok ? gm_names_site(&names, snapshot->events.stack[event]) : NULL;
    put(out, device);
    put(out, event - snapshot->traces[device].first);
    put(out, time_of(snapshot, event));
    put(out, or_none(snapshot->events.size[event]));
    put(out, or_none(snapshot->events.addr[event]));
    put(out, reserved_before(snapshot, device, event));
    put_string(out, site);
    gm_names_free(&names);
    gm_arena_free(&arena);
    return site != NULL;
}

/* ---- call sites -------------------------------------------------------------------------------------------------- */

static int compare_names(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

#define BY_LABEL                                                                                                       \
    GM_BY(compare_names(a->site, b->site)) || GM_BY(compare_names(a->via, b->via)) ||                                  \
        GM_BY(compare_names(a->category, b->category))
GM_ORDERING(compare_labels, struct gm_summary_site, BY_LABEL);

static uint64_t weight(const struct gm_summary_site *site)
{
    return site->end.bytes > site->peak.bytes ? site->end.bytes : site->peak.bytes;
}

GM_ORDERING(compare_weights, struct gm_summary_site, GM_BY(GM_ORDER(weight(b), weight(a))) || BY_LABEL);

static uint64_t what_is_left(uint64_t total, uint64_t listed)
{
    return total == GM_REPORT_NONE || total < listed ? 0 : total - listed;
}

/* Sites that are shown alike are one here. */
static bool put_sites(struct gm_text *out, const struct gm_summary *s)
{
    struct gm_summary_site *sites = calloc(s->site_count + 1, sizeof *sites);
    size_t n = 0;
    uint64_t end = 0, peak = 0;
    if (sites == NULL)
        return false;
    if (s->site_count > 0)
        memcpy(sites, s->sites, s->site_count * sizeof *sites);
    qsort(sites, s->site_count, sizeof *sites, compare_labels);
    for (size_t i = 0; i < s->site_count; i++) {
        if (n > 0 && compare_labels(&sites[n - 1], &sites[i]) == 0) {
            sites[n - 1].end.bytes = gm_sat_add(sites[n - 1].end.bytes, sites[i].end.bytes);
            sites[n - 1].peak.bytes = gm_sat_add(sites[n - 1].peak.bytes, sites[i].peak.bytes);
        } else {
            sites[n++] = sites[i];
        }
    }
    qsort(sites, n, sizeof *sites, compare_weights);
    n = n > GM_RECORD_SITES ? GM_RECORD_SITES : n;
    put(out, n);
    for (size_t i = 0; i < n; i++) {
        put_string(out, sites[i].site);
        put_string(out, sites[i].via);
        put_string(out, sites[i].category);
        put(out, sites[i].color);
        put(out, sites[i].end.bytes);
        put(out, sites[i].peak.bytes);
        end = gm_sat_add(end, sites[i].end.bytes);
        peak = gm_sat_add(peak, sites[i].peak.bytes);
    }
    put(out, what_is_left(s->totals.allocated, end));
    put(out, s->has_trace ? what_is_left(s->peaks[GM_LEVEL_REQUESTED], peak) : 0);
    free(sites);
    return true;
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static void put_categories(struct gm_text *out, const struct gm_summary *s)
{
    const struct gm_slices *of = s->categories_at_peak.v != NULL ? &s->categories_at_peak : &s->categories;
    put(out, of->v == NULL ? 0 : of->n);
    for (size_t i = 0; of->v != NULL && i < of->n; i++) {
        put_string(out, of->v[i].name);
        put(out, of->v[i].color);
        put(out, of->v[i].bytes);
    }
}

/* The device whose peak is the highest, the first of equals. */
static const struct gm_summary_device *top_device(const struct gm_summary *s)
{
    static const struct gm_summary_device none = {0};
    const struct gm_summary_device *best = s->device_count > 0 ? &s->devices[0] : &none;
    for (size_t d = 1; d < s->device_count; d++)
        if (s->devices[d].peaks[GM_LEVEL_REQUESTED].bytes > best->peaks[GM_LEVEL_REQUESTED].bytes)
            best = &s->devices[d];
    return best;
}

/* The most that any one device reserves. */
static uint64_t fullest_device(const struct gm_summary *s)
{
    uint64_t most = 0;
    for (size_t d = 0; d < s->device_count; d++) {
        const struct gm_summary_device *device = &s->devices[d];
        const uint64_t bytes = s->has_trace ? device->peaks[GM_LEVEL_RESERVED].bytes : device->totals.reserved;
        if (bytes != GM_REPORT_NONE && bytes > most)
            most = bytes;
    }
    return most;
}

static bool put_summary(struct gm_text *out, const struct gm_snapshot *snapshot, const struct gm_summary *s,
                        int64_t device)
{
    uint64_t ooms = 0;
    const struct gm_summary_device *top = top_device(s);
    for (size_t d = 0; d < s->device_count; d++)
        ooms = gm_sat_add(ooms, s->devices[d].ooms);
    put(out, s->has_trace);
    put(out, snapshot->source.is_salvaged);
    put(out, s->disk_bytes);
    put(out, s->events);
    put(out, s->device_count);
    put(out, s->warning_count);
    put_totals(out, &s->totals);
    for (int i = 0; i < GM_LEVEL_COUNT; i++)
        put(out, s->peaks[i]);
    put(out, fullest_device(s));
    put_string(out, top->peak_site);
    put_string(out, top->peak_phase);
    put(out, ooms);
    if (ooms > 0 && !put_oom(out, snapshot, device))
        return false;
    put_categories(out, s);
    return put_sites(out, s);
}

static void seal(struct gm_text *record, size_t start)
{
    if (!record->failed)
        put(record, gm_record_sum(record->data + start, record->length - start, GM_RECORD_SUM_START));
}

void gm_record_fail(struct gm_text *record, const struct gm_error *err)
{
    struct gm_text what = {0};
    const size_t start = record->length;
    char place[GM_ERROR_PLACE];
    gm_text_printf(&what, "%s%s", err->message, gm_error_place(place, err));
    gm_text_add(record, GM_RECORD_MAGIC);
    put(record, (uint64_t)err->status);
    put_string(record, what.failed ? err->message : what.data == NULL ? "" : what.data);
    put_string(record, NULL);
    put(record, GM_OK);
    put_string(record, NULL);
    gm_text_free(&what);
    seal(record, start);
}

void gm_record_add_each(struct gm_text *record, const char *directory, const struct gm_error *failure)
{
    enum { TAIL = 4 * GM_RECORD_NUMBER }; /* no directory, GM_OK, no text, the checksum */
    if (record->failed || record->length < TAIL)
        return;
    record->length -= TAIL;
    put_string(record, directory);
    put(record, (uint64_t)(failure == NULL ? GM_OK : failure->status));
    put_string(record, failure == NULL ? NULL : failure->message);
    seal(record, 0);
}

enum gm_status gm_record_make(struct gm_text *record, const char *path, const struct gm_record_options *options,
                              struct gm_error *err)
{
    const struct gm_load_options load = {.salvage = options->salvage, .max_memory = options->max_memory};
    const struct gm_summary_options wanted = {.rules = options->rules, .device = options->device, .points = 0};
    const size_t start = record->length;
    struct gm_snapshot snapshot = {0};
    struct gm_summary summary = {0};
    *err = (struct gm_error){.offset = GM_NO_OFFSET};
    enum gm_status status = gm_snapshot_load(&snapshot, path, &load, err);
    if (status == GM_OK)
        status = gm_summary_make(&summary, &snapshot, NULL, &wanted, err);
    if (status == GM_OK) {
        gm_text_add(record, GM_RECORD_MAGIC);
        put(record, GM_OK);
        put_string(record, NULL);
        if (!put_summary(record, &snapshot, &summary, options->device))
            record->failed = true;
        put_string(record, NULL);
        put(record, GM_OK);
        put_string(record, NULL);
        seal(record, start);
        if (record->failed)
            status = gm_no_memory(err);
    } else {
        gm_record_fail(record, err);
    }
    gm_summary_free(&summary);
    gm_snapshot_free(&snapshot);
    return status;
}
