/* SPDX-License-Identifier: Apache-2.0
 *
 * All runs on one axis, so that runs of different length can be compared: step by step if steps were found in all of
 * them, else phase by phase, else by share of the trace.
 *
 * A run's place on the axis is given by anchors: events and where they lie. In between it is a straight line; a gap
 * (the axis has a part that the run does not have) is skipped.
 */
#include "analyze/compare/comparison_parts.h"

#include <inttypes.h>
#include <stdlib.h>

enum { COLUMNS = 1500, MOST_STEPS = 10000, TICKS = 12 };
#define ORDINAL UINT64_MAX

struct anchor {
    double event, x;
};
struct alignment {
    struct anchor *v;
    size_t n;
};

struct axis {
    enum gm_diff_axis kind;
    uint64_t steps, first;          /* so many; the number of the first, if it is the same in all runs, else ORDINAL */
    double before, after;           /* how wide what is before and after the steps is drawn; a step has 1 */
    double phase_x[GM_PHASE_COUNT]; /* negative: no run has it */
    size_t phases;
};

static const struct gm_summary_device *highest_device(const struct gm_summary *s)
{
    const struct gm_summary_device *best = NULL;
    for (size_t d = 0; d < s->device_count; d++) {
        const struct gm_summary_device *device = &s->devices[d];
        if (device->events > 0 &&
            (best == NULL || device->peaks[GM_LEVEL_REQUESTED].bytes > best->peaks[GM_LEVEL_REQUESTED].bytes))
            best = device;
    }
    return best;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* How many steps the axis needs; 0: this run has none. */
static uint64_t steps_of(const struct gm_summary_device *d)
{
    if (d->step_count == 0)
        return 0;
    const uint64_t first = d->steps[gm_summary_first_step(d)].number, last = d->steps[d->step_count - 1].number;
    return last < first ? 0 : last - first + 1;
}

static bool anchor_steps(struct alignment *a, const struct gm_summary_device *d, const struct axis *axis)
{
    const size_t first = gm_summary_first_step(d);
    a->v = malloc((2 * d->step_count + 2) * sizeof *a->v);
    if (a->v == NULL)
        return false;
    a->v[a->n++] = (struct anchor){0, 0};
    for (size_t i = first; i < d->step_count; i++) {
        const struct gm_summary_step *step = &d->steps[i];
        const double x = axis->before + (double)(step->number - d->steps[first].number);
        if (step->number < d->steps[first].number || (double)step->first_event < a->v[a->n - 1].event ||
            x < a->v[a->n - 1].x || step->last_event < step->first_event)
            continue; /* not in order */
        a->v[a->n++] = (struct anchor){(double)step->first_event, x};
        a->v[a->n++] = (struct anchor){(double)step->last_event + 1, x + 1};
    }
    const double last = a->v[a->n - 1].x, end = axis->before + (double)axis->steps;
    a->v[a->n++] = (struct anchor){(double)d->events, last < end ? last : end + axis->after};
    return true;
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

/* The first occurrences of the phases, in the order of enum gm_phase, as far as they follow each other so. */
static size_t phases_of(const struct gm_summary_device *d, const struct gm_summary_span *out[GM_PHASE_COUNT])
{
    size_t n = 0;
    uint64_t from = 0;
    for (int p = 0; p < GM_PHASE_COUNT; p++) {
        out[p] = NULL;
        for (size_t i = 0; i < d->span_count; i++) {
            const struct gm_summary_span *span = &d->spans[i];
            if ((int)span->phase == p && span->first_event >= from &&
                (out[p] == NULL || span->first_event < out[p]->first_event))
                out[p] = span;
        }
        if (out[p] != NULL) {
            from = out[p]->last_event + 1;
            n++;
        }
    }
    return n;
}

static bool anchor_phases(struct alignment *a, const struct gm_summary_device *d, const double at[GM_PHASE_COUNT],
                          double end)
{
    const struct gm_summary_span *spans[GM_PHASE_COUNT];
    phases_of(d, spans);
    a->v = malloc((2 * (size_t)GM_PHASE_COUNT + 2) * sizeof *a->v);
    if (a->v == NULL)
        return false;
    a->v[a->n++] = (struct anchor){0, 0};
    for (int p = 0; p < GM_PHASE_COUNT; p++)
        if (spans[p] != NULL) {
            a->v[a->n++] = (struct anchor){(double)spans[p]->first_event, at[p]};
            a->v[a->n++] = (struct anchor){(double)spans[p]->last_event + 1, at[p] + 1};
        }
    a->v[a->n++] = (struct anchor){(double)d->events, end};
    return true;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static bool anchor_share(struct alignment *a, const struct gm_summary_device *d)
{
    a->v = malloc(2 * sizeof *a->v);
    if (a->v == NULL)
        return false;
    a->v[a->n++] = (struct anchor){0, 0};
    a->v[a->n++] = (struct anchor){(double)d->events, 1};
    return true;
}

/* Where an event lies. Anchors 2k and 2k + 1 hold a stretch; from 2k + 1 to 2k + 2 is what lies between two. */
static double place(const struct alignment *a, size_t *at, double event)
{
    while (*at + 2 < a->n && a->v[*at + 1].event <= event)
        ++*at;
    const struct anchor *l = &a->v[*at], *r = l + 1;
    if (r->event <= l->event || event >= r->event)
        return event >= r->event ? r->x : l->x;
    return l->x + (r->x - l->x) * (event - l->event) / (r->event - l->event);
}

static void raise_column(struct gm_diff_column *column, const struct gm_summary_point *point)
{
    if (column->allocated == GM_REPORT_NONE || column->allocated < point->allocated)
        column->allocated = point->allocated;
    if (column->reserved == GM_REPORT_NONE || column->reserved < point->reserved)
        column->reserved = point->reserved;
}

static void fill_columns(struct gm_diff_column *columns, const struct gm_summary_device *d, const struct alignment *a,
                         double end)
{
    size_t at = 0;
    double from = place(a, &at, 0);
    for (size_t i = 0; i < COLUMNS; i++)
        columns[i] = (struct gm_diff_column){GM_REPORT_NONE, GM_REPORT_NONE};
    for (size_t i = 0; i < d->point_count; i++) {
        const double to = place(a, &at, (double)d->points[i].last_event + 1);
        size_t first = (size_t)(from / end * COLUMNS), last = (size_t)(to / end * COLUMNS);
        first = first < COLUMNS ? first : COLUMNS - 1;
        last = last < COLUMNS ? last : COLUMNS; /* the column after the last */
        for (size_t k = first; k < last || k == first; k++)
            raise_column(&columns[k], &d->points[i]);
        from = to;
    }
}

static double place_of_peak(const struct gm_summary_device *d, const struct alignment *a)
{
    const struct gm_level_peak *peak = &d->peaks[GM_LEVEL_ALLOCATED];
    size_t at = 0;
    if (peak->bytes == GM_REPORT_NONE)
        peak = &d->peaks[GM_LEVEL_REQUESTED];
    return peak->event == GM_REPORT_NONE ? 0 : place(a, &at, (double)peak->event + 0.5);
}

/* ---- the axis ---------------------------------------------------------------------------------------------------- */

/* The events beside the steps, in steps. */
static void widen(double *width, double events, const struct gm_summary_device *d)
{
    const size_t first = gm_summary_first_step(d);
    const double steps = (double)(d->steps[d->step_count - 1].last_event + 1) - (double)d->steps[first].first_event;
    const double wanted = events <= 0 || steps <= 0 ? 0 : events * (double)(d->step_count - first) / steps;
    const double shown = wanted <= 0 ? 0 : wanted < 0.15 ? 0.15 : wanted > 1 ? 1 : wanted;
    *width = shown > *width ? shown : *width;
}

static void measure_steps(struct axis *axis, const struct gm_diff_line *lines, size_t n)
{
    bool is_first = true;
    for (size_t i = 0; i < n; i++) {
        const struct gm_summary_device *d = lines[i].device;
        if (d == NULL)
            continue;
        const struct gm_summary_step *first = &d->steps[gm_summary_first_step(d)], *last = &d->steps[d->step_count - 1];
        widen(&axis->before, (double)first->first_event, d);
        widen(&axis->after, (double)d->events - 1 - (double)last->last_event, d);
        if (is_first)
            axis->first = first->number;
        else if (axis->first != first->number)
            axis->first = ORDINAL;
        is_first = false;
    }
}

/* What all runs with a trace have. */
static struct axis choose_axis(const struct gm_diff_line *lines, size_t n)
{
    struct axis axis = {.kind = GM_AXIS_SHARE};
    bool all_steps = true, all_phases = true, has[GM_PHASE_COUNT] = {false};
    for (size_t i = 0; i < n; i++) {
        const struct gm_summary_span *spans[GM_PHASE_COUNT];
        if (lines[i].device == NULL)
            continue;
        const uint64_t steps = steps_of(lines[i].device);
        all_steps = all_steps && steps > 0 && steps <= MOST_STEPS;
        axis.steps = steps > axis.steps ? steps : axis.steps;
        all_phases = phases_of(lines[i].device, spans) > 0 && all_phases;
        for (int p = 0; p < GM_PHASE_COUNT; p++)
            has[p] = has[p] || spans[p] != NULL;
    }
    for (int p = 0; p < GM_PHASE_COUNT; p++)
        axis.phase_x[p] = has[p] ? 1 + (double)axis.phases++ : -1;
    axis.kind = all_steps ? GM_AXIS_STEPS : all_phases ? GM_AXIS_PHASES : GM_AXIS_SHARE;
    if (all_steps)
        measure_steps(&axis, lines, n);
    return axis;
}

/* "step 3"; of runs whose steps have other numbers "3rd step". */
static const char *step_label(struct gm_comparison *c, const struct axis *axis, uint64_t i)
{
    if (axis->first != ORDINAL)
        return gm_arena_printf(&c->arena, "step %" PRIu64, axis->first + i);
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    const uint64_t n = i + 1, last = n % 100 >= 11 && n % 100 <= 13 ? 0 : n % 10;
    return gm_arena_printf(&c->arena, "%" PRIu64 "%s step", n, ends[last > 3 ? 0 : last]);
}

static bool make_ticks(struct gm_comparison *c, const struct axis *axis)
{
    struct gm_diff_timeline *t = &c->timeline;
    struct gm_diff_tick *ticks = gm_arena_calloc(&c->arena, TICKS + 2 + GM_PHASE_COUNT, sizeof *ticks);
    bool ok = ticks != NULL;
    if (ok && axis->kind == GM_AXIS_STEPS) {
        uint64_t stride = (axis->steps + TICKS - 1) / TICKS;
        for (uint64_t i = 0; ok && i < axis->steps; i += stride) {
            ticks[t->tick_count] = (struct gm_diff_tick){axis->before + 0.5 + (double)i, step_label(c, axis, i)};
            ok = ticks[t->tick_count++].label != NULL;
        }
    } else if (ok && axis->kind == GM_AXIS_PHASES) {
        for (int p = 0; p < GM_PHASE_COUNT; p++)
            if (axis->phase_x[p] > 0)
                ticks[t->tick_count++] = (struct gm_diff_tick){axis->phase_x[p] + 0.5, gm_phase_name((enum gm_phase)p)};
    } else if (ok) {
        static const char *const labels[] = {"0 %", "25 %", "50 %", "75 %", "100 %"};
        for (int i = 0; i < 5; i++)
            ticks[t->tick_count++] = (struct gm_diff_tick){0.25 * i, labels[i]};
    }
    t->ticks = ticks;
    return ok;
}

static bool align_line(struct gm_comparison *c, struct gm_diff_line *line, const struct axis *axis)
{
    struct alignment a = {.v = NULL};
    struct gm_diff_column *columns = gm_arena_calloc(&c->arena, COLUMNS, sizeof *columns);
    bool ok = columns != NULL &&
              (axis->kind == GM_AXIS_STEPS    ? anchor_steps(&a, line->device, axis)
               : axis->kind == GM_AXIS_PHASES ? anchor_phases(&a, line->device, axis->phase_x, c->timeline.end)
                                              : anchor_share(&a, line->device));
    if (ok) {
        fill_columns(columns, line->device, &a, c->timeline.end);
        line->peak_x = place_of_peak(line->device, &a);
        line->columns = columns;
    }
    free(a.v);
    return ok;
}

bool gm_compare_timeline(struct gm_comparison *c)
{
    static const char *const how[] = {
        "Aligned by steps: the first whole step of each run, the second ... ; what precedes them lies before.",
        "Aligned by phases: the first of each phase; in between lies what belongs to none.",
        "By share of each run's events: neither steps nor phases were found in all runs."};
    struct gm_diff_timeline *t = &c->timeline;
    struct gm_diff_line *lines = gm_arena_calloc(&c->arena, c->run_count, sizeof *lines);
    bool any = false;
    if (lines == NULL)
        return false;
    for (size_t i = 0; i < c->run_count; i++) {
        lines[i] = (struct gm_diff_line){.device = highest_device(c->runs[i]), .peak_x = -1};
        any = any || lines[i].device != NULL;
    }
    if (!any)
        return true;
    const struct axis axis = choose_axis(lines, c->run_count);
    t->axis = axis.kind;
    t->before = axis.kind == GM_AXIS_STEPS ? axis.before : axis.kind == GM_AXIS_PHASES ? 1 : 0;
    t->after = axis.kind == GM_AXIS_STEPS ? axis.after : axis.kind == GM_AXIS_PHASES ? 1 : 0;
    t->how = how[axis.kind];
    t->end = axis.kind == GM_AXIS_STEPS    ? axis.before + (double)axis.steps + axis.after
             : axis.kind == GM_AXIS_PHASES ? 2 + (double)axis.phases
                                           : 1;
    t->lines = lines;
    t->column_count = COLUMNS;
    bool ok = make_ticks(c, &axis);
    for (size_t i = 0; ok && i < c->run_count; i++)
        if (lines[i].device != NULL)
            ok = align_line(c, &lines[i], &axis);
    return ok;
}
