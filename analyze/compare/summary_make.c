/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the passes, samples the levels on the way, and copies what is compared.
 */
#include "analyze/compare/summary_make.h"

#include "analyze/base/arithmetic.h"
#include "analyze/compare/summary_work.h"
#include "analyze/report/view.h"
#include "analyze/state/state.h"

#include <stdlib.h>
#include <string.h>

const char *gm_summary_copy(struct gm_summary_work *work, const char *text)
{
    return text == NULL ? NULL : gm_arena_copy(&work->summary->arena, text, strlen(text));
}

/* ---- the curve --------------------------------------------------------------------------------------------------- */

static size_t part_of(const struct gm_summary_device *device, uint64_t event)
{
    if (device->events <= device->point_count)
        return (size_t)event;
    __extension__ typedef unsigned __int128 wide;
    return (size_t)((wide)event * device->point_count / device->events);
}

static void raise_to(uint64_t *level, uint64_t bytes)
{
    if (bytes > *level)
        *level = bytes;
}

static void raise_point(struct gm_summary_point *point, const struct gm_levels *levels)
{
    raise_to(&point->requested, levels->requested);
    raise_to(&point->allocated, levels->allocated);
    raise_to(&point->reserved, levels->reserved);
}

/* Called after every event. */
static bool sample(void *self, int64_t device, const struct gm_sample *s)
{
    struct gm_summary_work *work = self;
    size_t d = work->sampled;
    if (d >= work->report.device_count || work->devices[d].device != device)
        for (d = 0; d < work->report.device_count && work->devices[d].device != device;)
            d++;
    if (d == work->report.device_count)
        return true;
    work->sampled = d;
    struct gm_summary_device *out = &work->devices[d];
    if (s->event == GM_REPORT_NONE || s->event >= out->events || out->point_count == 0)
        return true;
    struct gm_summary_point *point = &work->points[d][part_of(out, s->event)];
    point->last_event = s->event;
    point->time_us = s->time_us;
    raise_point(point, &s->levels);
    return true;
}

/* The devices with room for their points. */
static bool start_devices(struct gm_summary_work *work)
{
    struct gm_arena *arena = &work->summary->arena;
    const struct gm_report *report = &work->report;
    work->devices = gm_arena_calloc(arena, report->device_count, sizeof *work->devices);
    work->points = calloc(report->device_count + 1, sizeof *work->points);
    bool ok = work->devices != NULL && work->points != NULL;
    for (size_t d = 0; ok && d < report->device_count; d++) {
        struct gm_summary_device *out = &work->devices[d];
        out->device = report->devices[d].device;
        out->events = report->devices[d].trace.events;
        out->point_count = out->events < work->options->points ? (size_t)out->events : work->options->points;
        work->points[d] = gm_arena_calloc(arena, out->point_count, sizeof **work->points);
        out->points = work->points[d];
        ok = work->points[d] != NULL;
    }
    work->summary->devices = work->devices;
    work->summary->device_count = ok ? report->device_count : 0;
    return ok;
}

/* What no event leads to: the state before the first one. */
static void finish_points(struct gm_summary_work *work, size_t d)
{
    struct gm_summary_device *out = &work->devices[d];
    if (out->point_count == 0)
        return;
    raise_point(&work->points[d][0], &work->report.timelines[d].reconciliation.at_start);
    for (size_t i = 0; i < out->point_count && !out->is_reconstructed; i++)
        work->points[d][i].allocated = GM_REPORT_NONE;
}

/* ---- one device: its totals and peaks, where the program was at its peak, its steps and phases --------------------
 */

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
        event < h->count ? gm_event_stack(&work->snapshot->events, h->first + event) : (struct gm_stack_id){0};
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

static bool fill_device(struct gm_summary_work *work, size_t d)
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

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static bool describe_source(struct gm_summary_work *work, const char *name)
{
    struct gm_summary *s = work->summary;
    const struct gm_report *report = &work->report;
    s->path = gm_summary_copy(work, report->snapshot.path);
    s->name = name == NULL ? NULL : gm_clean_copy(&s->arena, name);
    s->format = report->snapshot.format; /* a constant */
    s->compression = report->snapshot.compression;
    s->disk_bytes = report->snapshot.disk_bytes;
    s->segments = report->snapshot.segments;
    s->blocks = report->snapshot.blocks;
    s->events = report->snapshot.events;
    s->is_salvaged = report->snapshot.is_salvaged;
    s->totals = report->totals;
    s->lacks_end = report->lacks_end;
    for (size_t d = 0; d < report->device_count; d++)
        s->has_trace = s->has_trace || report->devices[d].trace.events > 0;
    const char **warnings = gm_arena_calloc(&s->arena, report->warning_count, sizeof *warnings);
    bool ok = s->path != NULL && (name == NULL || s->name != NULL) && warnings != NULL;
    for (size_t i = 0; ok && i < report->warning_count; i++)
        ok = (warnings[i] = gm_summary_copy(work, report->warnings[i])) != NULL;
    s->warnings = warnings;
    s->warning_count = ok ? report->warning_count : 0;
    return ok;
}

static void sum_peaks(struct gm_summary *s)
{
    for (int level = 0; level < GM_LEVEL_COUNT; level++) {
        uint64_t sum = s->has_trace ? 0 : GM_REPORT_NONE;
        for (size_t d = 0; d < s->device_count && sum != GM_REPORT_NONE; d++) {
            uint64_t bytes = s->devices[d].peaks[level].bytes;
            sum = bytes == GM_REPORT_NONE ? GM_REPORT_NONE : gm_known_add(sum, bytes);
        }
        s->peaks[level] = sum;
    }
}

static bool fill(struct gm_summary_work *work, const char *name)
{
    struct gm_summary *s = work->summary;
    s->doubts = gm_view_doubts(&work->report, &s->arena, &s->doubt_count);
    if (!describe_source(work, name) || s->doubts == NULL)
        return false;
    for (size_t d = 0; d < work->summary->device_count; d++) {
        if (!fill_device(work, d))
            return false;
        finish_points(work, d);
    }
    sum_peaks(work->summary);
    return gm_summary_slices(work) && gm_summary_sites(work) && (work->options->is_short || gm_summary_facts(work));
}

static enum gm_status analyse(struct gm_summary_work *work, struct gm_error *err)
{
    const struct gm_summary_options *options = work->options;
    struct gm_state_options state = {.top = 1,
                                     .device = options->device,
                                     .is_brief = options->is_short,
                                     .rules = options->rules,
                                     .classifier = work->classifier};
    const struct gm_sample_sink sink = {.self = work, .put = sample};
    struct gm_timeline_options timeline = {.rules = options->rules,
                                           .classifier = work->classifier,
                                           .top = 1,
                                           .every_event = options->points > 0 ? &sink : NULL,
                                           .is_brief = true,
                                           .has_peaks_only = options->is_short,
                                           .keep = &work->kept};
    enum gm_status status = gm_state_analyze(&work->report, work->snapshot, &state, err);
    if (status == GM_OK && !start_devices(work))
        status = gm_no_memory(err);
    GM_THEN(status, gm_timeline_analyze(&work->report, work->snapshot, &timeline, err));
    return status;
}

enum gm_status gm_summary_make(struct gm_summary *summary, const struct gm_snapshot *snapshot, const char *name,
                               const struct gm_summary_options *options, struct gm_error *err)
{
    *summary = (struct gm_summary){0};
    struct gm_summary_work work = {.summary = summary, .snapshot = snapshot, .options = options};
    enum gm_status status = gm_classifier_new(&work.classifier, options->rules, snapshot, err);
    GM_THEN(status, analyse(&work, err));
    if (status == GM_OK && !(gm_names_init(&work.names, snapshot, &work.report.arena) && fill(&work, name)))
        status = gm_no_memory(err);
    gm_names_free(&work.names);
    gm_kept_free(&work.kept);
    gm_classifier_free(work.classifier);
    free(work.points);
    gm_report_free(&work.report);
    if (status != GM_OK)
        gm_summary_free(summary);
    return status;
}
