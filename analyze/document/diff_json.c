/* SPDX-License-Identifier: Apache-2.0
 *
 * What only programs read of a comparison: all that is known of each run, and differences key by key.
 */
#include "analyze/document/diff_sections.h"
#include "analyze/document/report_columns.h"
#include "analyze/document/writer.h"

#include <math.h>

#define KEY(unit, key, field) GM_KEY(unit, key, ROW, field)

static void add_device_totals(const struct gm_cell_of *c)
{
    const struct gm_summary_device *device = c->row;
    const struct gm_summary *run = c->of;
    GM_OBJECT(c->doc, "totals", gm_totals_columns, run->lacks_end ? NULL : &device->totals, NULL);
}

static void add_device(const struct gm_cell_of *c)
{
#define ROW struct gm_summary_device
    static const struct gm_column columns[] = {
        KEY(GM_HANDLE, "device", device),
        KEY(GM_COUNT, "events", events),
        GM_NESTED("totals", add_device_totals),
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
    GM_FIELDS(c->doc, columns, device, c->of);
    gm_json_peaks(c->doc, "peaks", peaks);
}

static void add_totals(const struct gm_cell_of *c)
{
    const struct gm_summary *run = c->row;
    GM_OBJECT(c->doc, "totals", gm_totals_columns, run->lacks_end ? NULL : &run->totals, NULL);
}

static void add_run(const struct gm_cell_of *cell)
{
#define ROW struct gm_summary
    static const struct gm_column columns[] = {
        KEY(GM_PATH, "path", path),         GM_NESTED("totals", add_totals), KEY(GM_TEXT, "format", format),
        KEY(GM_BYTES, "bytes", disk_bytes), KEY(GM_COUNT, "events", events), KEY(GM_BOOL, "salvaged", is_salvaged),
    };
#undef ROW
    const struct gm_comparison *c = cell->of;
    const struct gm_summary *const *at = cell->row, *run = *at;
    struct gm_doc *d = cell->doc;
    const uint64_t peak = run->peaks[GM_LEVEL_REQUESTED];
    gm_json_string(&d->json, "name", c->labels[at - c->runs]);
    gm_json_null(&d->json, "error");
    GM_FIELDS(d, columns, run, NULL);
    GM_LIST(d, "doubts", GM_TEXT, run->doubts, run->doubt_count);
    gm_json_peaks(d, "peaks", run->has_trace ? run->peaks : NULL);
    gm_doc_nested(d, "devices", add_device, GM_NESTED_ROWS(run->devices, run->device_count), run);
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

GM_CELL(i, growth_delta, struct gm_growth, g, gm_diff_delta(g->base, g->after));

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
static double efficiency_delta(const struct gm_totals *base, const struct gm_totals *after)
{
    const double x = gm_totals_efficiency(base), y = gm_totals_efficiency(after);
    return x < 0 || y < 0 ? (double)NAN : round((y - x) * 10000) / 10000;
}

/* The keys of totals, of those of the second less those of the first. */
static void add_totals_delta(struct gm_doc *d, const struct gm_totals *base, const struct gm_totals *after)
{
    gm_doc_open(d, "totals_delta", NULL);
    for (size_t i = 0; i < sizeof gm_totals_columns / sizeof *gm_totals_columns; i++) {
        const struct gm_column *column = &gm_totals_columns[i];
        const union gm_value b = gm_doc_value(&(struct gm_cell_of){d, base, NULL, column});
        const union gm_value a = gm_doc_value(&(struct gm_cell_of){d, after, NULL, column});
        if (column->unit == GM_SHARE)
            gm_json_real(&d->json, column->key, efficiency_delta(base, after));
        else
            add_delta(&d->json, column->key, b.u, a.u);
    }
    gm_doc_close(d);
}

static void add_peaks_delta(struct gm_doc *d, const struct gm_summary *base, const struct gm_summary *after)
{
    gm_doc_open(d, "peaks_delta", NULL);
    for (int i = 0; i < GM_LEVEL_COUNT; i++)
        add_delta(&d->json, gm_doc_printf(d, "peak_%s_bytes", gm_level_name((enum gm_level)i)), base->peaks[i],
                  after->peaks[i]);
    gm_doc_close(d);
}

static void add_number(struct gm_json *json, const char *key, const struct gm_summary_device *device)
{
    if (device == NULL)
        gm_json_null(json, key);
    else
        gm_json_signed(json, key, device->device);
}

static void add_pair(const struct gm_cell_of *c)
{
    const struct gm_summary_device *b = ((const struct gm_diff_device *)c->row)->base;
    const struct gm_summary_device *a = ((const struct gm_diff_device *)c->row)->after;
    struct gm_json *json = &c->doc->json;
    add_number(json, "base_device", b);
    add_number(json, "new_device", a);
    for (int k = 0; k < GM_LEVEL_COUNT; k++)
        add_delta(json, gm_doc_printf(c->doc, "peak_%s_delta_bytes", gm_level_name((enum gm_level)k)),
                  b == NULL ? 0 : b->peaks[k].bytes, a == NULL ? 0 : a->peaks[k].bytes);
}

void gm_json_diff_pair(struct gm_doc *d, const struct gm_comparison *c, const struct gm_diff_pair *pair)
{
    if (c->runs[0]->lacks_end || c->runs[pair->after]->lacks_end)
        gm_json_null(&d->json, "totals_delta");
    else
        add_totals_delta(d, &c->runs[0]->totals, &c->runs[pair->after]->totals);
    add_peaks_delta(d, c->runs[0], c->runs[pair->after]);
    gm_doc_nested(d, "devices", add_pair, GM_NESTED_ROWS(pair->devices, pair->device_count), NULL);
}

static void add_aligned(const struct gm_cell_of *c)
{
    const struct gm_diff_line *line = c->row, *first = c->of;
    gm_json_number(&c->doc->json, "run", (uint64_t)(line - first));
    add_number(&c->doc->json, "device", line->device);
    gm_json_real(&c->doc->json, "peak_at", line->device == NULL ? (double)NAN : line->peak_x);
}

void gm_json_diff_timeline(struct gm_doc *d, const struct gm_comparison *c)
{
    static const char *const axes[] = {"steps", "phases", "share"};
    const struct gm_diff_timeline *t = &c->timeline;
    if (t->lines == NULL) {
        gm_json_null(&d->json, "alignment");
        return;
    }
    gm_doc_open(d, "alignment", NULL);
    gm_json_string(&d->json, "axis", axes[t->axis]);
    gm_json_real(&d->json, "end", t->end);
    gm_doc_nested(d, "runs", add_aligned, GM_NESTED_ROWS(t->lines, c->run_count), t->lines);
    gm_doc_close(d);
}
