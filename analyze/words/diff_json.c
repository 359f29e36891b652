/* SPDX-License-Identifier: Apache-2.0
 *
 * diff.json, schema gmdiff.diff/1: see docs/diff.md. The order of the keys is part of it.
 */
#include "analyze/words/diff_parts.h"
#include "analyze/words/json_parts.h"

static const char *const peak_keys[GM_LEVEL_COUNT] = {"peak_requested_bytes", "peak_allocated_bytes",
                                                      "peak_active_bytes", "peak_reserved_bytes"};

static void add_device(struct gm_json *json, const struct gm_summary_device *d)
{
    gm_json_open(json, NULL, '{');
    gm_json_signed(json, "device", d->device);
    gm_json_number(json, "events", d->events);
    gm_json_open_flat(json, "totals", '{');
    gm_json_totals(json, &d->totals);
    gm_json_close(json, '}');
    gm_json_open_flat(json, "peaks", '{');
    for (int i = 0; i < GM_LEVEL_COUNT; i++)
        gm_json_number(json, peak_keys[i], d->peaks[i].bytes);
    gm_json_close(json, '}');
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
    if (run->has_trace) {
        gm_json_open(json, "peaks", '{');
        for (int k = 0; k < GM_LEVEL_COUNT; k++)
            gm_json_number(json, peak_keys[k], run->peaks[k]);
        gm_json_close(json, '}');
    } else {
        gm_json_null(json, "peaks");
    }
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

static void add_gate(struct gm_json *json, const struct gm_comparison *c)
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
        if (g->device < 0)
            gm_json_null(json, "device");
        else
            gm_json_signed(json, "device", g->device);
        gm_json_string(json, "what", g->what);
        gm_json_number(json, "base_bytes", g->base);
        gm_json_number(json, "new_bytes", g->after);
        gm_json_signed(json, "delta_bytes", gm_diff_delta(g->base, g->after));
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
    gm_json_close(json, '}');
}

void gm_words_diff_json(struct gm_text *out, const struct gm_comparison *c)
{
    struct gm_json json = {.out = out};
    gm_json_open(&json, NULL, '{');
    gm_json_string(&json, "schema", "gmdiff.diff/1");
    gm_json_open(&json, "runs", '[');
    for (size_t i = 0; i < c->run_count; i++)
        add_run(&json, c, i);
    for (size_t i = 0; i < c->failure_count; i++)
        add_failure(&json, &c->failures[i]);
    gm_json_close(&json, ']');
    gm_json_diff_pair(&json, c, &c->pairs[0]);
    gm_json_open(&json, "others", '[');
    for (size_t i = 1; i < c->pair_count; i++) {
        gm_json_open(&json, NULL, '{');
        gm_json_number(&json, "run", c->pairs[i].after);
        gm_json_diff_pair(&json, c, &c->pairs[i]);
        gm_json_close(&json, '}');
    }
    gm_json_close(&json, ']');
    gm_json_diff_timeline(&json, c);
    gm_json_diff_series(&json, c);
    add_gate(&json, c);
    gm_json_string(&json, "name", c->run_name);
    gm_json_string(&json, "created", c->timestamp);
    gm_json_close(&json, '}');
    gm_text_add_char(out, '\n');
}
