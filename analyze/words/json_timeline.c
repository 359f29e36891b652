/* SPDX-License-Identifier: Apache-2.0
 *
 * "timeline" of analysis.json: of each device with events the contract's keys, then what else the trace tells. Without
 * a reconstruction allocated and active bytes are null.
 */
#include "analyze/words/json_parts.h"
#include "analyze/words/sections.h"

void gm_json_levels(struct gm_json *json, const char *key, struct gm_levels levels)
{
    gm_json_open_flat(json, key, '{');
    gm_json_number(json, "requested_bytes", levels.requested);
    gm_json_number(json, "allocated_bytes", levels.allocated);
    gm_json_number(json, "active_bytes", levels.active);
    gm_json_number(json, "reserved_bytes", levels.reserved);
    gm_json_close(json, '}');
}

void gm_json_moment(struct gm_json *json, const struct gm_view *view, const struct gm_moment *moment)
{
    const struct gm_levels l = gm_view_levels(view, moment->levels);
    gm_json_number(json, "event", moment->event);
    gm_json_number(json, "time_us", moment->time_us);
    gm_json_number(json, "since_first_us", gm_less(moment->time_us, view->timeline->books.first_time_us));
    gm_json_number(json, "requested_bytes", l.requested);
    gm_json_number(json, "allocated_bytes", l.allocated);
    gm_json_number(json, "active_bytes", l.active);
    gm_json_number(json, "reserved_bytes", l.reserved);
    gm_json_number(json, "cached_bytes", gm_less(l.reserved, l.active));
}

static void add_peak(struct gm_json *json, const char *key, const struct gm_view *view, const struct gm_moment *moment,
                     bool is_known)
{
    if (!is_known) {
        gm_json_null(json, key);
        return;
    }
    gm_json_open_flat(json, key, '{');
    gm_json_moment(json, view, moment);
    const struct gm_step_row *step = gm_view_step(view, moment->event);
    enum gm_phase phase = gm_view_phase(view, moment->event);
    gm_json_string(json, "step", step == NULL ? NULL : step->label);
    gm_json_string(json, "phase", phase == GM_PHASE_OTHER ? NULL : gm_phase_name(phase));
    gm_json_close(json, '}');
}

static void add_peaks(struct gm_json *json, const struct gm_view *view)
{
    const struct gm_device_timeline *t = view->timeline;
    const struct gm_moment peak = gm_view_peak(view);
    bool is_reserved_known = t->peak_reserved.levels.reserved > 0;
    gm_json_open(json, "peaks", '{');
    add_peak(json, "requested", view, &peak, true);
    add_peak(json, "allocated", view, &t->peak_allocated, view->is_reconstructed);
    add_peak(json, "active", view, &t->peak_active, view->is_reconstructed);
    add_peak(json, "reserved", view, &t->peak_reserved, is_reserved_known);
    gm_json_close(json, '}');
}

static void add_disagreements(struct gm_json *json, const struct gm_timeline_books *b)
{
    gm_json_open(json, "disagreements", '[');
    for (size_t i = 0; i < b->disagreement_count; i++) {
        const struct gm_disagreement *d = &b->disagreements[i];
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "id", d->id);
        gm_json_string(json, "what", d->what);
        gm_json_number(json, "count", d->count);
        gm_json_number(json, "bytes", d->bytes);
        gm_json_number(json, "first_event", d->first_event);
        gm_json_bool(json, "expected", d->is_expected);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_books(struct gm_json *json, const struct gm_view *view)
{
    const struct gm_timeline_books *b = &view->timeline->books;
    gm_json_open(json, "books", '{');
    gm_json_bool(json, "reconstructed", b->is_reconstructed);
    gm_json_string(json, "reason", b->reason);
    gm_json_string(json, "coverage", b->coverage);
    gm_json_number(json, "first_time_us", b->first_time_us);
    gm_json_number(json, "last_time_us", b->last_time_us);
    if (b->is_reconstructed) {
        gm_json_levels(json, "at_start", b->at_start);
        gm_json_levels(json, "at_end", b->at_end);
        gm_json_levels(json, "snapshot", b->snapshot);
        gm_json_signed(json, "residual_active_bytes", b->residual_active);
        gm_json_signed(json, "residual_reserved_bytes", b->residual_reserved);
        gm_json_signed(json, "worst_residual_bytes", b->worst_residual);
        gm_json_number(json, "end_blocks", b->end_blocks);
        gm_json_number(json, "end_blocks_same", b->end_blocks_same);
        gm_json_number(json, "sizes_from_snapshot", b->sizes_from_snapshot);
        gm_json_number(json, "sizes_from_snapshot_bytes", b->sizes_from_snapshot_bytes);
        gm_json_number(json, "baseline_blocks", b->baseline_blocks);
        gm_json_number(json, "baseline_bytes", b->baseline_bytes);
        gm_json_number(json, "never_freed_blocks", b->never_freed_blocks);
        gm_json_number(json, "never_freed_bytes", b->never_freed_bytes);
        gm_json_number(json, "unsplit_bytes", b->unsplit_bytes);
    }
    add_disagreements(json, b);
    gm_json_close(json, '}');
}

static void add_parts(struct gm_json *json, const struct gm_view *view)
{
    const struct gm_device_timeline *t = view->timeline;
    gm_json_open(json, "streams", '[');
    for (size_t i = 0; view->is_reconstructed && i < t->stream_count; i++) {
        gm_json_open(json, NULL, '{');
        gm_json_signed(json, "stream", t->streams[i].stream);
        gm_json_string(json, "name", t->streams[i].name);
        gm_json_levels(json, "peak", t->streams[i].peak);
        gm_json_levels(json, "at_end", t->streams[i].at_end);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
    gm_json_open(json, "pools", '[');
    for (size_t i = 0; view->is_reconstructed && i < t->pool_count; i++) {
        gm_json_open(json, NULL, '{');
        gm_json_string(json, "pool", t->pools[i].name);
        gm_json_levels(json, "peak", t->pools[i].peak);
        gm_json_levels(json, "at_end", t->pools[i].at_end);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

/* The contract's keys about the peak, which are null without a view. */
static void add_contract(struct gm_json *json, const struct gm_device_report *device, const struct gm_view *view)
{
    const struct gm_peak *peak = view == NULL ? NULL : view->peak;
    const struct gm_device_timeline *t = view == NULL ? NULL : view->timeline;
    bool has_blocks = view != NULL && view->is_reconstructed;
    gm_json_number(json, "peak_requested_bytes", peak == NULL ? GM_REPORT_NONE : peak->requested);
    gm_json_number(json, "peak_allocated_bytes", has_blocks ? t->peak_allocated.levels.allocated : GM_REPORT_NONE);
    gm_json_number(json, "peak_active_bytes", has_blocks ? t->peak_active.levels.active : GM_REPORT_NONE);
    gm_json_number(json, "peak_reserved_bytes",
                   view != NULL ? gm_view_peak_reserved(view) : device->trace.peak_reserved);
    gm_json_number(json, "peak_event", peak == NULL ? GM_REPORT_NONE : peak->event);
    gm_json_number(json, "peak_time_us", peak == NULL ? GM_REPORT_NONE : peak->time_us);
    if (peak == NULL)
        gm_json_null(json, "categories_at_peak");
    else
        gm_json_slices(json, "categories_at_peak", peak->categories, peak->category_count, peak->requested);
    if (peak == NULL || t == NULL || t->peak.roles == NULL)
        gm_json_null(json, "roles_at_peak");
    else
        gm_json_slices(json, "roles_at_peak", t->peak.roles, t->peak.role_count, peak->requested);
}

static void add_device(struct gm_doc *d, const struct gm_device_report *device, const struct gm_view *view)
{
    struct gm_json *json = &d->json;
    const struct gm_trace_counts *t = &device->trace;
    gm_json_open(json, NULL, '{');
    gm_json_signed(json, "device", device->device);
    gm_json_number(json, "events", t->events);
    gm_json_number(json, "allocs", t->allocs);
    gm_json_number(json, "frees", t->frees);
    gm_json_number(json, "ooms", t->ooms);
    gm_json_number(json, "segment_allocs", t->segment_allocs);
    gm_json_number(json, "segment_frees", t->segment_frees);
    gm_json_number(json, "segment_maps", t->segment_maps);
    gm_json_number(json, "segment_unmaps", t->segment_unmaps);
    add_contract(json, device, view);
    gm_json_number(json, "other_events", t->others);
    gm_json_number(json, "max_entries", t->max_entries);
    if (t->overflowed < 0)
        gm_json_null(json, "overflowed");
    else
        gm_json_bool(json, "overflowed", t->overflowed != 0);
    gm_json_number(json, "span_us", t->span_us);
    if (view != NULL) {
        gm_json_string(json, "filter", view->timeline->filter);
        add_peaks(json, view);
        add_books(json, view);
        add_parts(json, view);
        gm_json_peak(json, view);
        gm_section_steps(d, view);
        gm_section_ooms(d, view);
        gm_section_history(d, view);
    }
    gm_json_close(json, '}');
}

void gm_json_timeline(struct gm_doc *d, const struct gm_report *report)
{
    struct gm_json *json = &d->json;
    bool any = false;
    for (size_t i = 0; i < report->device_count; i++)
        any = any || report->devices[i].trace.events > 0;
    if (!any)
        return;
    gm_json_open(json, "timeline", '{');
    gm_json_open(json, "devices", '[');
    for (size_t i = 0; i < report->device_count; i++) {
        struct gm_view view;
        bool has_view = gm_view_of(&view, report, i);
        if (report->devices[i].trace.events > 0)
            add_device(d, &report->devices[i], has_view ? &view : NULL);
    }
    gm_json_close(json, ']');
    gm_json_close(json, '}');
}
