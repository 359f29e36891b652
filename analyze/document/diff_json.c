/* SPDX-License-Identifier: Apache-2.0
 *
 * What only programs read of a comparison: all that is known of each run, and differences key by key.
 */
#include "analyze/document/diff_sections.h"
#include "analyze/document/report_columns.h"

#include <math.h>

#define KEY(unit, key, field) GM_KEY(unit, key, ROW, field)

static void add_device(const struct gm_cell_of *c)
{
#define ROW struct gm_summary_device
    static const struct gm_column columns[] = {
        KEY(GM_HANDLE, "device", device),
        KEY(GM_COUNT, "events", events),
        GM_INSIDE("totals", gm_totals_columns, ROW, totals),
        KEY(GM_EVENT, "peak_event", peaks[GM_LEVEL_REQUESTED].event),
        KEY(GM_TIME, "peak_time_us", peaks[GM_LEVEL_REQUESTED].time_us),
        KEY(GM_COUNT, "peak_step", peak_step),
        KEY(GM_TEXT, "peak_phase", peak_phase),
        KEY(GM_NAME, "peak_range", peak_range),
        KEY(GM_SITE, "peak_site", peak_site),
        KEY(GM_COUNT, "steps", step_total),
        KEY(GM_TEXT, "steps_source", steps_source),
        KEY(GM_COUNT, "ooms", ooms),
    };
#undef ROW
    const struct gm_summary_device *device = c->row;
    uint64_t peaks[GM_LEVEL_COUNT];
    for (int i = 0; i < GM_LEVEL_COUNT; i++)
        peaks[i] = device->peaks[i].bytes;
    GM_FIELDS(c->doc, columns, device, NULL);
    gm_json_peaks(c->doc, "peaks", peaks);
}

static void add_run(const struct gm_cell_of *cell)
{
#define ROW struct gm_summary
    static const struct gm_column columns[] = {
        KEY(GM_PATH, "path", path),      GM_INSIDE("totals", gm_totals_columns, ROW, totals),
        KEY(GM_TEXT, "format", format),  KEY(GM_BYTES, "bytes", disk_bytes),
        KEY(GM_COUNT, "events", events), KEY(GM_BOOL, "salvaged", is_salvaged),
    };
#undef ROW
    const struct gm_comparison *c = cell->of;
    const struct gm_summary *const *at = cell->row, *run = *at;
    struct gm_doc *d = cell->doc;
    const uint64_t peak = run->peaks[GM_LEVEL_REQUESTED];
    gm_json_string(&d->json, "name", c->labels[at - c->runs]);
    gm_json_null(&d->json, "error");
    GM_FIELDS(d, columns, run, NULL);
    gm_json_peaks(d, "peaks", run->has_trace ? run->peaks : NULL);
    gm_doc_nested(d, "devices", add_device, GM_NESTED_ROWS(run->devices, run->device_count), NULL);
    gm_json_slices(d, "categories", run->categories.v, run->categories.n, run->totals.allocated);
    if (run->categories_at_peak.v != NULL)
        gm_json_slices(d, "categories_at_peak", run->categories_at_peak.v, run->categories_at_peak.n, peak);
    if (run->roles_at_peak.v != NULL)
        gm_json_slices(d, "roles_at_peak", run->roles_at_peak.v, run->roles_at_peak.n, peak);
}

void gm_json_diff_runs(struct gm_doc *d, const struct gm_comparison *c)
{
#define ROW struct gm_diff_failure
    static const struct gm_column failure[] = {KEY(GM_PATH, "path", path), KEY(GM_TEXT, "error", why),
                                               GM_NESTED("totals", gm_cell_null), GM_NESTED("peaks", gm_cell_null)};
#undef ROW
    gm_json_open(&d->json, "runs", '[');
    for (size_t i = 0; i < c->run_count; i++) {
        gm_json_open(&d->json, NULL, '{');
        add_run(&(struct gm_cell_of){d, &c->runs[i], c, NULL});
        gm_json_close(&d->json, '}');
    }
    for (size_t i = 0; i < c->failure_count; i++)
        GM_OBJECT(d, NULL, failure, &c->failures[i], NULL);
    gm_json_close(&d->json, ']');
}

static union gm_value growth_delta(const struct gm_cell_of *c)
{
    const struct gm_growth *g = c->row;
    return (union gm_value){.i = gm_diff_delta(g->base, g->after)};
}

void gm_json_diff_gate(struct gm_doc *d, const struct gm_comparison *c)
{
#define ROW struct gm_growth
    static const struct gm_column columns[] = {
        KEY(GM_COUNT, "run", run),         KEY(GM_ID, "device", device),
        KEY(GM_TEXT, "what", what),        KEY(GM_BYTES, "base_bytes", base),
        KEY(GM_BYTES, "new_bytes", after), GM_GET(GM_DELTA, GM_JSON, "delta_bytes", NULL, growth_delta),
    };
#undef ROW
    if (!c->limit.is_set) {
        gm_json_null(&d->json, "gate");
        return;
    }
    gm_doc_open(d, "gate", NULL);
    gm_json_string(&d->json, "limit", c->limit.text);
    gm_json_string(&d->json, "verdict", c->growth_count > 0 ? "FAIL" : "PASS");
    GM_TABLE(d, columns, c->growths, c->growth_count, .key = "over");
    gm_doc_close(d);
}

static void add_delta(struct gm_json *json, const char *key, uint64_t base, uint64_t after)
{
    if (base == GM_REPORT_NONE || after == GM_REPORT_NONE)
        gm_json_null(json, key);
    else
        gm_json_signed(json, key, gm_diff_delta(base, after));
}

/* In points of percent, four decimals. */
static void add_efficiency_delta(struct gm_json *json, const struct gm_totals *base, const struct gm_totals *after)
{
    const double x = gm_totals_efficiency(base), y = gm_totals_efficiency(after);
    const char *key = "efficiency_percent";
    if (x < 0 || y < 0) {
        gm_json_null(json, key);
        return;
    }
    const double scaled = (y - x) * 10000;
    const int64_t rounded = (int64_t)(scaled + (scaled < 0 ? -0.5 : 0.5));
    gm_json_real(json, key, (double)rounded / 10000);
}

static void add_totals_delta(struct gm_json *json, const struct gm_totals *b, const struct gm_totals *a)
{
    gm_json_open(json, "totals_delta", '{');
    add_delta(json, "reserved_bytes", b->reserved, a->reserved);
    add_delta(json, "allocated_bytes", b->allocated, a->allocated);
    add_delta(json, "active_bytes", b->active, a->active);
    add_delta(json, "requested_bytes", b->requested, a->requested);
    add_delta(json, "inactive_bytes", b->inactive, a->inactive);
    add_delta(json, "rounding_bytes", b->rounding, a->rounding);
    add_efficiency_delta(json, b, a);
    add_delta(json, "pending_bytes", b->pending, a->pending);
    add_delta(json, "segments", b->segments, a->segments);
    add_delta(json, "blocks", b->blocks, a->blocks);
    add_delta(json, "active_blocks", b->active_blocks, a->active_blocks);
    add_delta(json, "allocated_blocks", b->allocated_blocks, a->allocated_blocks);
    add_delta(json, "inactive_blocks", b->inactive_blocks, a->inactive_blocks);
    gm_json_close(json, '}');
}

static void add_peaks_delta(struct gm_json *json, const struct gm_summary *b, const struct gm_summary *a)
{
    gm_json_open(json, "peaks_delta", '{');
    add_delta(json, "peak_requested_bytes", b->peaks[GM_LEVEL_REQUESTED], a->peaks[GM_LEVEL_REQUESTED]);
    add_delta(json, "peak_allocated_bytes", b->peaks[GM_LEVEL_ALLOCATED], a->peaks[GM_LEVEL_ALLOCATED]);
    add_delta(json, "peak_active_bytes", b->peaks[GM_LEVEL_ACTIVE], a->peaks[GM_LEVEL_ACTIVE]);
    add_delta(json, "peak_reserved_bytes", b->peaks[GM_LEVEL_RESERVED], a->peaks[GM_LEVEL_RESERVED]);
    gm_json_close(json, '}');
}

static union gm_value peak_delta(const struct gm_cell_of *c)
{
    const struct gm_diff_device *row = c->row;
    const size_t k = c->column->offset;
    const uint64_t base = row->base == NULL ? 0 : row->base->peaks[k].bytes;
    const uint64_t after = row->after == NULL ? 0 : row->after->peaks[k].bytes;
    const bool is_known = base != GM_REPORT_NONE && after != GM_REPORT_NONE;
    return (union gm_value){.i = is_known ? gm_diff_delta(base, after) : GM_SIGNED_NONE};
}

static union gm_value device_of(const struct gm_cell_of *c)
{
    const struct gm_diff_device *row = c->row;
    const struct gm_summary_device *device = c->column->offset == 0 ? row->base : row->after;
    return (union gm_value){.i = device == NULL ? GM_SIGNED_NONE : device->device};
}

#define GET_AT(unit, key, get, at)                                                                                     \
    {                                                                                                                  \
        key, NULL, GM_JSON, unit, at, 0, get, NULL, 0, NULL, 0                                                         \
    }

void gm_json_diff_pair(struct gm_doc *d, const struct gm_comparison *c, const struct gm_diff_pair *pair)
{
    static const struct gm_column columns[] = {
        GET_AT(GM_SIGNED, "base_device", device_of, 0),
        GET_AT(GM_SIGNED, "new_device", device_of, 1),
        GET_AT(GM_DELTA, "peak_requested_delta_bytes", peak_delta, GM_LEVEL_REQUESTED),
        GET_AT(GM_DELTA, "peak_allocated_delta_bytes", peak_delta, GM_LEVEL_ALLOCATED),
        GET_AT(GM_DELTA, "peak_active_delta_bytes", peak_delta, GM_LEVEL_ACTIVE),
        GET_AT(GM_DELTA, "peak_reserved_delta_bytes", peak_delta, GM_LEVEL_RESERVED),
    };
    const struct gm_summary *base = c->runs[0], *after = c->runs[pair->after];
    add_totals_delta(&d->json, &base->totals, &after->totals);
    add_peaks_delta(&d->json, base, after);
    GM_TABLE(d, columns, pair->devices, pair->device_count, .key = "devices");
}

static union gm_value line_device(const struct gm_cell_of *c)
{
    const struct gm_diff_line *line = c->row;
    return (union gm_value){.i = line->device == NULL ? GM_SIGNED_NONE : line->device->device};
}

static union gm_value line_peak(const struct gm_cell_of *c)
{
    const struct gm_diff_line *line = c->row;
    return (union gm_value){.real = line->device == NULL ? (double)NAN : line->peak_x};
}

static union gm_value line_run(const struct gm_cell_of *c)
{
    return (union gm_value){.u = (uint64_t)((const struct gm_diff_line *)c->row - (const struct gm_diff_line *)c->of)};
}

void gm_json_diff_timeline(struct gm_doc *d, const struct gm_comparison *c)
{
    static const char *const axes[] = {"steps", "phases", "share"};
    static const struct gm_column columns[] = {
        GM_GET(GM_COUNT, GM_JSON, "run", NULL, line_run),
        GM_GET(GM_SIGNED, GM_JSON, "device", NULL, line_device),
        GM_GET(GM_REAL, GM_JSON, "peak_at", NULL, line_peak),
    };
    const struct gm_diff_timeline *t = &c->timeline;
    if (t->lines == NULL) {
        gm_json_null(&d->json, "alignment");
        return;
    }
    gm_doc_open(d, "alignment", NULL);
    gm_json_string(&d->json, "axis", axes[t->axis]);
    gm_json_real(&d->json, "end", t->end);
    GM_TABLE(d, columns, t->lines, c->run_count, .key = "runs", .of = t->lines);
    gm_doc_close(d);
}
