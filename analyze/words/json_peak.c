/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis.json: the live set at the peak in full, the next peaks, what would lower the peak, and what the roles were
 * inferred from.
 */
#include "analyze/words/json_parts.h"

static void add_group(struct gm_json *json, const struct gm_group_row *row, uint64_t whole)
{
    gm_json_open(json, NULL, '{');
    gm_json_string(json, "label", row->label);
    gm_json_string(json, "category", row->category);
    gm_json_string(json, "role", row->role);
    gm_json_number(json, "bytes", row->bytes);
    gm_json_number(json, "blocks", row->blocks);
    gm_json_percent(json, "percent", row->bytes, whole);
    gm_json_number(json, "peak_without_bytes", row->peak_without);
    gm_json_frames(json, row->frames, row->frames == NULL ? 0 : row->frame_count);
    gm_json_close(json, '}');
}

/* Rows, how many there are in all, and what those that are not listed hold. */
static void add_groups(struct gm_json *json, const struct gm_group_row *rows, size_t count, size_t total,
                       struct gm_slice rest, uint64_t whole)
{
    gm_json_open(json, "rows", '[');
    for (size_t i = 0; i < count; i++)
        add_group(json, &rows[i], whole);
    gm_json_close(json, ']');
    gm_json_number(json, "total", total);
    gm_json_number(json, "rest_bytes", rest.bytes);
    gm_json_number(json, "rest_blocks", rest.blocks);
}

static void add_tables(struct gm_json *json, const struct gm_peak_detail *d, uint64_t whole)
{
    const struct gm_slice sites = {.bytes = d->site_rest_bytes, .blocks = d->site_rest_blocks};
    const struct gm_slice groups = {.bytes = d->group_rest_bytes, .blocks = d->group_rest_blocks};
    if (d->sites == NULL) {
        gm_json_null(json, "call_sites_at_peak");
    } else {
        gm_json_open(json, "call_sites_at_peak", '{');
        add_groups(json, d->sites, d->site_count, d->site_total, sites, whole);
        gm_json_close(json, '}');
    }
    if (d->lifetimes == NULL)
        gm_json_null(json, "lifetimes_at_peak");
    else
        gm_json_slices(json, "lifetimes_at_peak", d->lifetimes, d->lifetime_count, whole);
    if (d->groups == NULL) {
        gm_json_null(json, "groups_at_peak");
    } else {
        gm_json_open(json, "groups_at_peak", '{');
        gm_json_string(json, "by", d->group_by);
        add_groups(json, d->groups, d->group_count, d->group_total, groups, whole);
        gm_json_close(json, '}');
    }
}

static void add_next(struct gm_json *json, const struct gm_view *view)
{
    const struct gm_peak_detail *d = &view->timeline->peak;
    const struct gm_steps *steps = &view->timeline->steps;
    gm_json_open(json, "next_peaks", '[');
    for (size_t i = 0; i < d->next_count; i++) {
        const struct gm_next_peak *next = &d->next[i];
        gm_json_open_flat(json, NULL, '{');
        gm_json_moment(json, view, &next->moment);
        gm_json_string(json, "step", next->step < steps->row_count ? steps->rows[next->step].label : NULL);
        gm_json_number(json, "times", next->times > 0 ? next->times : 1);
        gm_json_string(json, "top_site", next->top_label);
        gm_json_number(json, "top_bytes", next->top_label == NULL ? GM_REPORT_NONE : next->top_bytes);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_savings(struct gm_json *json, const struct gm_peak_detail *d)
{
    gm_json_open(json, "savings", '[');
    for (size_t i = 0; i < d->saving_count; i++) {
        const struct gm_saving *s = &d->savings[i];
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "site", s->label);
        gm_json_number(json, "bytes_at_peak", s->bytes_at_peak);
        gm_json_number(json, "peak_after_bytes", s->peak_after);
        gm_json_number(json, "saved_bytes", s->saved);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_reasons(struct gm_json *json, const struct gm_device_timeline *t)
{
    gm_json_open(json, "role_reasons", '[');
    for (size_t i = 0; i < t->reason_count; i++) {
        const struct gm_role_reason *r = &t->reasons[i];
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "role", r->role);
        gm_json_string(json, "reason", r->reason);
        gm_json_signed(json, "certainty_percent", r->certainty);
        gm_json_number(json, "blocks_at_peak", r->blocks_at_peak);
        gm_json_number(json, "bytes_at_peak", r->bytes_at_peak);
        gm_json_number(json, "blocks_at_end", r->blocks_at_end);
        gm_json_number(json, "bytes_at_end", r->bytes_at_end);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

void gm_json_peak(struct gm_json *json, const struct gm_view *view)
{
    uint64_t times = view->timeline->peak.times;
    gm_json_number(json, "peak_times", times > 0 ? times : GM_REPORT_NONE);
    add_tables(json, &view->timeline->peak, view->peak->requested);
    add_next(json, view);
    add_savings(json, &view->timeline->peak);
    add_reasons(json, view->timeline);
}
