/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of diff.json that compare two runs, and those that look at all of them.
 */
#include "analyze/words/diff_parts.h"

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

/* base, new and delta of a row into the object that is open. */
static void add_row(struct gm_json *json, const struct gm_diff_row *row)
{
    gm_json_number(json, "base_bytes", row->base.bytes);
    gm_json_number(json, "new_bytes", row->after.bytes);
    gm_json_signed(json, "delta_bytes", row->delta);
    gm_json_number(json, "base_blocks", row->base.blocks);
    gm_json_number(json, "new_blocks", row->after.blocks);
    gm_json_string(json, "kind", gm_diff_kind_name(row->kind));
}

static void add_table(struct gm_json *json, const char *key, const struct gm_diff_table *table)
{
    if (!table->sums.is_known) {
        gm_json_null(json, key);
        return;
    }
    gm_json_open(json, key, '[');
    for (size_t i = 0; i < table->count; i++) {
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "name", table->rows[i].name);
        add_row(json, &table->rows[i]);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_lines(struct gm_json *json, const char *key, const struct gm_summary_site *site)
{
    gm_json_open(json, key, '[');
    for (size_t i = 0; site != NULL && i < site->line_count; i++)
        gm_json_number(json, NULL, site->lines[i]);
    gm_json_close(json, ']');
}

static void add_sites(struct gm_json *json, const char *key, const struct gm_diff_site_table *table)
{
    if (!table->sums.is_known) {
        gm_json_null(json, key);
        return;
    }
    gm_json_open(json, key, '[');
    for (size_t i = 0; i < table->count; i++) {
        const struct gm_diff_site *site = &table->rows[i];
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "site", site->row.name);
        add_row(json, &site->row);
        gm_json_string(json, "via", site->via);
        gm_json_string(json, "category", site->category);
        add_lines(json, "base_lines", site->base);
        add_lines(json, "new_lines", site->after);
        gm_json_number(json, "twin", site->twin);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_sums(struct gm_json *json, const char *key, const struct gm_diff_sums *sums)
{
    if (!sums->is_known) {
        gm_json_null(json, key);
        return;
    }
    gm_json_open_flat(json, key, '{');
    gm_json_number(json, "base_bytes", sums->base_total);
    gm_json_number(json, "new_bytes", sums->after_total);
    gm_json_signed(json, "delta_bytes", sums->delta);
    gm_json_signed(json, "rows_bytes", sums->listed);
    gm_json_signed(json, "residual_bytes", sums->residual);
    gm_json_number(json, "unchanged_rows", sums->same);
    gm_json_number(json, "unchanged_bytes", sums->same_bytes);
    for (int k = 0; k < GM_DIFF_KINDS; k++)
        gm_json_number(json, gm_diff_kind_name((enum gm_diff_kind)k), sums->counts[k]);
    gm_json_close(json, '}');
}

static void add_all_sums(struct gm_json *json, const struct gm_diff_pair *p)
{
    gm_json_open(json, "sums", '{');
    add_sums(json, "call_sites", &p->sites.sums);
    add_sums(json, "call_sites_at_peak", &p->sites_at_peak.sums);
    add_sums(json, "functions", &p->functions.sums);
    add_sums(json, "functions_at_peak", &p->functions_at_peak.sums);
    add_sums(json, "categories", &p->categories.sums);
    add_sums(json, "categories_at_peak", &p->categories_at_peak.sums);
    add_sums(json, "roles", &p->roles.sums);
    add_sums(json, "roles_at_peak", &p->roles_at_peak.sums);
    add_sums(json, "pools", &p->pools.sums);
    add_sums(json, "pools_at_peak", &p->pools_at_peak.sums);
    add_sums(json, "pools_reserved", &p->pools_reserved.sums);
    gm_json_close(json, '}');
}

static void add_facts(struct gm_json *json, const struct gm_diff_pair *pair)
{
    gm_json_open(json, "settings", '[');
    for (size_t i = 0; i < pair->fact_count; i++) {
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "group", pair->facts[i].group);
        gm_json_string(json, "key", pair->facts[i].key);
        gm_json_string(json, "base", pair->facts[i].base);
        gm_json_string(json, "new", pair->facts[i].after);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
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
    add_sites(json, "call_sites", &pair->sites);
    add_sites(json, "call_sites_at_peak", &pair->sites_at_peak);
    add_table(json, "functions", &pair->functions);
    add_table(json, "functions_at_peak", &pair->functions_at_peak);
    add_table(json, "categories", &pair->categories);
    add_table(json, "categories_at_peak", &pair->categories_at_peak);
    add_table(json, "roles", &pair->roles);
    add_table(json, "roles_at_peak", &pair->roles_at_peak);
    add_table(json, "pools", &pair->pools);
    add_table(json, "pools_at_peak", &pair->pools_at_peak);
    add_table(json, "pools_reserved", &pair->pools_reserved);
    add_all_sums(json, pair);
    add_devices(json, pair);
    add_facts(json, pair);
    gm_json_bool(json, "same", pair->is_same);
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

static void add_fit(struct gm_json *json, const struct gm_series *series, const struct gm_fit *fit)
{
    gm_json_open_flat(json, NULL, '{');
    gm_json_string(json, "what", fit->what);
    gm_json_open(json, "bytes", '[');
    for (size_t i = 0; i < series->count; i++)
        gm_json_number(json, NULL, fit->bytes[i]);
    gm_json_close(json, ']');
    if (fit->law == GM_LAW_NONE) {
        gm_json_null(json, "law");
        gm_json_string(json, "why_not", fit->why_not);
        gm_json_string(json, "closest", fit->closest == GM_LAW_NONE ? NULL : gm_law_name(fit->closest));
    } else {
        gm_json_string(json, "law", gm_law_name(fit->law));
        gm_json_real(json, "c0", fit->c0);
        gm_json_real(json, "c1", fit->c1);
        gm_json_real(json, "c2", fit->c2);
        gm_json_bool(json, "from_categories", fit->is_sum);
    }
    gm_json_real(json, "error_percent", fit->error_percent);
    gm_json_close(json, '}');
}

void gm_json_diff_series(struct gm_json *json, const struct gm_comparison *c)
{
    gm_json_open(json, "scaling", '[');
    for (size_t s = 0; s < c->series_count; s++) {
        const struct gm_series *series = &c->series[s];
        gm_json_open(json, NULL, '{');
        gm_json_string(json, "key", series->key);
        gm_json_string(json, "name", series->name);
        gm_json_open_flat(json, "runs", '[');
        for (size_t i = 0; i < series->count; i++)
            gm_json_number(json, NULL, series->runs[i]);
        gm_json_close(json, ']');
        gm_json_open_flat(json, "n", '[');
        for (size_t i = 0; i < series->count; i++)
            gm_json_real(json, NULL, series->n[i]);
        gm_json_close(json, ']');
        gm_json_open(json, "fits", '[');
        for (size_t i = 0; i < series->fit_count; i++)
            add_fit(json, series, &series->fits[i]);
        gm_json_close(json, ']');
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}
