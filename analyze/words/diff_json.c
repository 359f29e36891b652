/* SPDX-License-Identifier: Apache-2.0
 *
 * What only programs read of a comparison: all that is known of each run, and differences key by key.
 */
#include "analyze/words/diff_sections.h"
#include "analyze/words/json_parts.h"

static void add_device(struct gm_json *json, const struct gm_summary_device *d)
{
    uint64_t peaks[GM_LEVEL_COUNT];
    for (int i = 0; i < GM_LEVEL_COUNT; i++)
        peaks[i] = d->peaks[i].bytes;
    gm_json_open(json, NULL, '{');
    gm_json_signed(json, "device", d->device);
    gm_json_number(json, "events", d->events);
    gm_json_open_flat(json, "totals", '{');
    gm_json_totals(json, &d->totals);
    gm_json_close(json, '}');
    gm_json_peaks(json, "peaks", peaks);
    gm_json_number(json, "peak_event", d->peaks[GM_LEVEL_REQUESTED].event);
    gm_json_number(json, "peak_time_us", d->peaks[GM_LEVEL_REQUESTED].time_us);
    gm_json_number(json, "peak_step", d->peak_step);
    gm_json_string(json, "peak_phase", d->peak_phase);
    gm_json_string(json, "peak_range", d->peak_range);
    gm_json_string(json, "peak_site", d->peak_site);
    gm_json_number(json, "steps", d->step_total);
    gm_json_string(json, "steps_source", d->steps_source);
    gm_json_number(json, "ooms", d->ooms);
    gm_json_close(json, '}');
}

static void add_run(struct gm_json *json, const struct gm_comparison *c, size_t i)
{
    const struct gm_summary *run = c->runs[i];
    gm_json_open(json, NULL, '{');
    gm_json_string(json, "path", run->path);
    gm_json_string(json, "name", c->labels[i]);
    gm_json_null(json, "error");
    gm_json_open(json, "totals", '{');
    gm_json_totals(json, &run->totals);
    gm_json_close(json, '}');
    gm_json_peaks(json, "peaks", run->has_trace ? run->peaks : NULL);
    gm_json_string(json, "format", run->format);
    gm_json_number(json, "bytes", run->disk_bytes);
    gm_json_number(json, "events", run->events);
    gm_json_bool(json, "salvaged", run->is_salvaged);
    gm_json_open(json, "devices", '[');
    for (size_t d = 0; d < run->device_count; d++)
        add_device(json, &run->devices[d]);
    gm_json_close(json, ']');
    gm_json_slices(json, "categories", run->categories.v, run->categories.n, run->totals.allocated);
    if (run->categories_at_peak.v != NULL)
        gm_json_slices(json, "categories_at_peak", run->categories_at_peak.v, run->categories_at_peak.n,
                       run->peaks[GM_LEVEL_REQUESTED]);
    if (run->roles_at_peak.v != NULL)
        gm_json_slices(json, "roles_at_peak", run->roles_at_peak.v, run->roles_at_peak.n,
                       run->peaks[GM_LEVEL_REQUESTED]);
    gm_json_close(json, '}');
}

static void add_failure(struct gm_json *json, const struct gm_diff_failure *failure)
{
    gm_json_open(json, NULL, '{');
    gm_json_string(json, "path", failure->path);
    gm_json_string(json, "error", failure->why);
    gm_json_null(json, "totals");
    gm_json_null(json, "peaks");
    gm_json_close(json, '}');
}

void gm_json_diff_runs(struct gm_json *json, const struct gm_comparison *c)
{
    gm_json_open(json, "runs", '[');
    for (size_t i = 0; i < c->run_count; i++)
        add_run(json, c, i);
    for (size_t i = 0; i < c->failure_count; i++)
        add_failure(json, &c->failures[i]);
    gm_json_close(json, ']');
}

void gm_json_diff_gate(struct gm_json *json, const struct gm_comparison *c)
{
    if (!c->limit.is_set) {
        gm_json_null(json, "gate");
        return;
    }
    gm_json_open(json, "gate", '{');
    gm_json_string(json, "limit", c->limit.text);
    gm_json_string(json, "verdict", c->growth_count > 0 ? "FAIL" : "PASS");
    gm_json_open(json, "over", '[');
    for (size_t i = 0; i < c->growth_count; i++) {
        const struct gm_growth *g = &c->growths[i];
        gm_json_open_flat(json, NULL, '{');
        gm_json_number(json, "run", g->run);
        gm_json_id(json, "device", g->device);
        gm_json_string(json, "what", g->what);
        gm_json_number(json, "base_bytes", g->base);
        gm_json_number(json, "new_bytes", g->after);
        gm_json_signed(json, "delta_bytes", gm_diff_delta(g->base, g->after));
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
    gm_json_close(json, '}');
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

static void add_devices(struct gm_json *json, const struct gm_diff_pair *pair)
{
    gm_json_open(json, "devices", '[');
    for (size_t i = 0; i < pair->device_count; i++) {
        const struct gm_summary_device *b = pair->devices[i].base, *a = pair->devices[i].after;
        gm_json_open_flat(json, NULL, '{');
        if (b == NULL)
            gm_json_null(json, "base_device");
        else
            gm_json_signed(json, "base_device", b->device);
        if (a == NULL)
            gm_json_null(json, "new_device");
        else
            gm_json_signed(json, "new_device", a->device);
        static const char *const keys[GM_LEVEL_COUNT] = {"peak_requested_delta_bytes", "peak_allocated_delta_bytes",
                                                         "peak_active_delta_bytes", "peak_reserved_delta_bytes"};
        for (int k = 0; k < GM_LEVEL_COUNT; k++)
            add_delta(json, keys[k], b == NULL ? 0 : b->peaks[k].bytes, a == NULL ? 0 : a->peaks[k].bytes);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

void gm_json_diff_pair(struct gm_json *json, const struct gm_comparison *c, const struct gm_diff_pair *pair)
{
    const struct gm_summary *base = c->runs[0], *after = c->runs[pair->after];
    add_totals_delta(json, &base->totals, &after->totals);
    add_peaks_delta(json, base, after);
    add_devices(json, pair);
}

void gm_json_diff_timeline(struct gm_json *json, const struct gm_comparison *c)
{
    static const char *const axes[] = {"steps", "phases", "share"};
    const struct gm_diff_timeline *t = &c->timeline;
    if (t->lines == NULL) {
        gm_json_null(json, "alignment");
        return;
    }
    gm_json_open(json, "alignment", '{');
    gm_json_string(json, "axis", axes[t->axis]);
    gm_json_real(json, "end", t->end);
    gm_json_open(json, "runs", '[');
    for (size_t i = 0; i < c->run_count; i++) {
        gm_json_open_flat(json, NULL, '{');
        gm_json_number(json, "run", i);
        if (t->lines[i].device == NULL) {
            gm_json_null(json, "device");
            gm_json_null(json, "peak_at");
        } else {
            gm_json_signed(json, "device", t->lines[i].device->device);
            gm_json_real(json, "peak_at", t->lines[i].peak_x);
        }
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
    gm_json_close(json, '}');
}
