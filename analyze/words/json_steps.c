/* SPDX-License-Identifier: Apache-2.0
 *
 * "steps" of analysis.json: null if none were found.
 */
#include "analyze/words/json_parts.h"

enum { BANDS = 2000 };

static void add_row(struct gm_json *json, const struct gm_step_row *row, bool is_first)
{
    gm_json_open(json, NULL, '{');
    gm_json_string(json, "label", row->label);
    gm_json_number(json, "number", row->number);
    gm_json_number(json, "first_event", row->first_event);
    gm_json_number(json, "last_event", row->last_event);
    gm_json_number(json, "from_us", row->from_us);
    gm_json_number(json, "to_us", row->to_us);
    gm_json_number(json, "peak_event", row->peak_event);
    if (is_first)
        gm_json_null(json, "growth_bytes");
    else
        gm_json_signed(json, "growth_bytes", row->growth);
    gm_json_bool(json, "is_partial", row->is_partial);
    gm_json_number(json, "allocs", row->allocs);
    gm_json_number(json, "alloc_bytes", row->alloc_bytes);
    gm_json_levels(json, "peak", row->peak);
    gm_json_levels(json, "end", row->end);
    gm_json_open_flat(json, "phase_peaks", '{');
    for (int p = 0; p < GM_PHASE_COUNT; p++)
        if (row->phase_peak[p] != GM_REPORT_NONE)
            gm_json_number(json, gm_phase_name((enum gm_phase)p), row->phase_peak[p]);
    gm_json_close(json, '}');
    gm_json_close(json, '}');
}

static void add_bands(struct gm_json *json, const struct gm_steps *s)
{
    gm_json_open(json, "ranges", '[');
    for (size_t i = 0; i < s->band_count && i < BANDS; i++) {
        const struct gm_band *b = &s->bands[i];
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "name", b->name);
        gm_json_string(json, "phase", b->phase == GM_PHASE_OTHER ? NULL : gm_phase_name(b->phase));
        gm_json_number(json, "depth", b->depth);
        gm_json_bool(json, "is_step", b->is_step);
        gm_json_number(json, "first_event", b->first_event);
        gm_json_number(json, "last_event", b->last_event);
        gm_json_number(json, "from_us", b->from_us);
        gm_json_number(json, "to_us", b->to_us);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
    gm_json_number(json, "ranges_total", s->band_count);
}

/* Whole bytes; null for what is no number of them. */
static void add_slope(struct gm_json *json, const struct gm_steps *s)
{
    if (s->pattern != GM_PATTERN_UNKNOWN && s->slope > -9e18 && s->slope < 9e18)
        gm_json_signed(json, "slope_bytes_per_step", (int64_t)s->slope);
    else
        gm_json_null(json, "slope_bytes_per_step");
}

static void add_survivors(struct gm_json *json, const struct gm_steps *s)
{
    gm_json_open(json, "survivors", '[');
    for (size_t i = 0; i < s->survivor_count; i++) {
        const struct gm_group_row *row = &s->survivors[i];
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "site", row->label);
        gm_json_string(json, "category", row->category);
        gm_json_string(json, "role", row->role);
        gm_json_number(json, "bytes", row->bytes);
        gm_json_number(json, "blocks", row->blocks);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

void gm_json_steps(struct gm_json *json, const struct gm_view *view)
{
    const struct gm_steps *s = &view->timeline->steps;
    if (s->source == NULL && s->band_count == 0) {
        gm_json_null(json, "steps");
        return;
    }
    bool has_period = s->period_events > 0 && s->period_events < 1e15;
    gm_json_open(json, "steps", '{');
    gm_json_string(json, "source", s->source);
    gm_json_number(json, "period_events", has_period ? (uint64_t)(s->period_events + 0.5) : GM_REPORT_NONE);
    if (s->source == NULL)
        gm_json_null(json, "certainty_percent");
    else
        gm_json_signed(json, "certainty_percent", s->certainty);
    gm_json_string(json, "pattern", gm_run_pattern_name(s->pattern));
    gm_json_string(json, "pattern_detail", s->pattern_detail);
    add_slope(json, s);
    gm_json_number(json, "steps_to_oom", s->source == NULL ? GM_REPORT_NONE : s->steps_to_oom);
    gm_json_number(json, "capacity_bytes", s->source == NULL ? GM_REPORT_NONE : s->capacity);
    gm_json_open(json, "rows", '[');
    for (size_t i = 0; i < s->row_count; i++) {
        struct gm_step_row row = s->rows[i];
        row.peak = gm_view_levels(view, row.peak);
        row.end = gm_view_levels(view, row.end);
        add_row(json, &row, i == 0);
    }
    gm_json_close(json, ']');
    gm_json_number(json, "rows_total", s->row_total > s->row_count ? s->row_total : s->row_count);
    gm_json_number(json, "warm_up_steps", s->source == NULL ? GM_REPORT_NONE : s->warm_up);
    add_survivors(json, s);
    add_bands(json, s);
    gm_json_close(json, '}');
}
