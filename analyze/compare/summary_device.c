/* SPDX-License-Identifier: Apache-2.0
 *
 * One device of a summary: its totals and peaks, where the program was at its peak, its steps and phases.
 */
#include "analyze/compare/summary_work.h"

static void fill_peaks(struct gm_summary_device *out, const struct gm_device_report *device, const struct gm_peak *peak,
                       const struct gm_device_timeline *t)
{
    const bool known = t->reconciliation.is_reconstructed;
    const struct gm_totals *end = &device->totals;
    if (out->events == 0) { /* nothing happened on it */
        const uint64_t bytes[GM_LEVEL_COUNT] = {end->requested, end->allocated, end->active, end->reserved};
        for (int i = 0; i < GM_LEVEL_COUNT; i++)
            out->peaks[i] = (struct gm_level_peak){bytes[i], GM_REPORT_NONE, GM_REPORT_NONE};
        return;
    }
    const struct gm_level_peak none = {GM_REPORT_NONE, GM_REPORT_NONE, GM_REPORT_NONE};
    out->peaks[GM_LEVEL_REQUESTED] = (struct gm_level_peak){peak->requested, peak->event, peak->time_us};
    out->peaks[GM_LEVEL_ALLOCATED] = known ? (struct gm_level_peak){t->peak_allocated.levels.allocated,
                                                                    t->peak_allocated.event, t->peak_allocated.time_us}
                                           : none;
    out->peaks[GM_LEVEL_ACTIVE] =
        known ? (struct gm_level_peak){t->peak_active.levels.active, t->peak_active.event, t->peak_active.time_us}
              : none;
    out->peaks[GM_LEVEL_RESERVED] =
        (struct gm_level_peak){device->trace.peak_reserved, t->peak_reserved.event, t->peak_reserved.time_us};
}

/* What lies around the event that led to the peak: a step, a phase, a range. */
static bool place_peak(struct gm_summary_work *work, size_t d)
{
    struct gm_summary_device *out = &work->devices[d];
    const struct gm_steps *steps = &work->report.timelines[d].steps;
    const uint64_t event = out->peaks[GM_LEVEL_REQUESTED].event;
    const struct gm_band *phase = NULL, *range = NULL;
    out->peak_step = GM_REPORT_NONE;
    if (event == GM_REPORT_NONE)
        return true;
    for (size_t i = 0; i < steps->row_count; i++)
        if (steps->rows[i].first_event <= event && event <= steps->rows[i].last_event)
            out->peak_step = steps->rows[i].number;
    for (size_t i = 0; i < steps->band_count; i++) {
        const struct gm_band *band = &steps->bands[i];
        if (event < band->first_event || band->last_event < event)
            continue;
        if (band->phase != GM_PHASE_OTHER && (phase == NULL || band->depth >= phase->depth))
            phase = band;
        if (!band->is_step && (range == NULL || band->depth >= range->depth))
            range = band;
    }
    out->peak_phase = phase == NULL ? NULL : gm_phase_name(phase->phase); /* a constant */
    out->peak_range = range == NULL ? NULL : gm_summary_copy(work, range->name);
    const struct gm_history *h = &work->kept.v[d].history;
    const struct gm_stack_id stack =
        event < h->count ? work->snapshot->events.stack[h->first + event] : (struct gm_stack_id){0};
    if (stack.v > GM_STACK_EMPTY)
        out->peak_site = gm_summary_copy(work, gm_names_site(&work->names, stack));
    return (range == NULL || out->peak_range != NULL) && (stack.v <= GM_STACK_EMPTY || out->peak_site != NULL);
}

static bool fill_steps(struct gm_summary_work *work, size_t d)
{
    struct gm_summary_device *out = &work->devices[d];
    struct gm_arena *arena = &work->summary->arena;
    const struct gm_steps *steps = &work->report.timelines[d].steps;
    struct gm_summary_step *rows = gm_arena_calloc(arena, steps->row_count, sizeof *rows);
    struct gm_summary_span *spans = gm_arena_calloc(arena, steps->band_count, sizeof *spans);
    if (rows == NULL || spans == NULL)
        return false;
    for (size_t i = 0; i < steps->row_count; i++) {
        const struct gm_step_row *row = &steps->rows[i];
        rows[i] = (struct gm_summary_step){row->number, row->first_event, row->last_event,
                                           row->peak,   row->end,         row->is_partial};
    }
    for (size_t i = 0; i < steps->band_count; i++)
        if (steps->bands[i].phase != GM_PHASE_OTHER && steps->bands[i].first_event <= steps->bands[i].last_event)
            spans[out->span_count++] = (struct gm_summary_span){steps->bands[i].phase, steps->bands[i].first_event,
                                                                steps->bands[i].last_event};
    out->steps = rows;
    out->step_count = steps->row_count;
    out->step_total = steps->row_total;
    out->spans = spans;
    out->steps_source = gm_summary_copy(work, steps->source);
    return steps->source == NULL || out->steps_source != NULL;
}

bool gm_summary_device(struct gm_summary_work *work, size_t d)
{
    struct gm_summary_device *out = &work->devices[d];
    const struct gm_device_report *device = &work->report.devices[d];
    const struct gm_device_timeline *t = &work->report.timelines[d];
    out->totals = device->totals;
    out->is_reconstructed = t->reconciliation.is_reconstructed;
    out->first_time_us = t->reconciliation.first_time_us;
    out->last_time_us = t->reconciliation.last_time_us;
    out->ooms = device->trace.ooms;
    fill_peaks(out, device, &work->report.peaks[d], t);
    return place_peak(work, d) && fill_steps(work, d);
}
