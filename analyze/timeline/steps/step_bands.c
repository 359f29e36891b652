/* SPDX-License-Identifier: Apache-2.0
 *
 * Named ranges of the run to draw: steps, annotations, phases. A picture shows a few hundred at most, so the outermost
 * are kept, and of those at one depth the longest.
 */
#include "analyze/timeline/steps/step_work.h"

#include "analyze/base/order.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 400, MOST_RANGES = 400, MOST_PHASES = 400 };

struct bands {
    struct gm_band *v;
    size_t n;
    struct gm_step_work *w;
};

static uint64_t time_or(const struct gm_step_work *w, int64_t us, uint32_t event)
{
    return us >= 0 ? (uint64_t)us : gm_history_time(&w->pass->history, event);
}

static void add_steps(struct bands *b)
{
    const struct gm_steps *steps = &b->w->pass->out->steps;
    if (steps->row_total > MOST_STEPS)
        return; /* each would be a pixel wide; the rows have them */
    for (size_t i = 0; i < steps->row_count; i++) {
        const struct gm_step_row *row = &steps->rows[i];
        b->v[b->n++] = (struct gm_band){.name = row->label,
                                        .is_step = true,
                                        .first_event = row->first_event,
                                        .last_event = row->last_event,
                                        .from_us = row->from_us,
                                        .to_us = row->to_us};
    }
}

/* Ranges by what matters when not all can be shown. */
GM_ORDERING_OF_POINTERS(by_weight, struct gm_range,
                        GM_UP(depth) || GM_BY(GM_ORDER(b->last - b->first, a->last - a->first)) ||
                            GM_BY(GM_ORDER(a, b)));

GM_ORDERING_OF_POINTERS(by_place, struct gm_range, GM_BY(GM_ORDER(a, b)));

static bool add_ranges(struct bands *b, bool steps_are_shown)
{
    struct gm_step_work *w = b->w;
    GM_FREED const struct gm_range **chosen = malloc((w->ranges.n + 1) * sizeof *chosen);
    size_t n = 0;
    if (chosen == NULL)
        return false;
    for (size_t i = 0; i < w->ranges.n; i++)
        if (w->ranges.v[i].kind != GM_RANGE_PROFILER_STEP || !steps_are_shown)
            chosen[n++] = &w->ranges.v[i];
    GM_SORT(chosen, n, by_weight);
    n = n < MOST_RANGES ? n : MOST_RANGES;
    GM_SORT(chosen, n, by_place); /* the ranges are in order of their first events */
    for (size_t i = 0; i < n; i++) {
        const struct gm_range *r = chosen[i];
        bool is_optimizer = r->kind == GM_RANGE_OPTIMIZER_STEP || r->kind == GM_RANGE_ZERO_GRAD;
        const char *name = gm_names_string(w->pass->names, r->name);
        if (name == NULL)
            return false;
        b->v[b->n++] = (struct gm_band){.name = name,
                                        .phase = is_optimizer ? GM_PHASE_OPTIMIZER : GM_PHASE_OTHER,
                                        .depth = r->depth,
                                        .is_step = r->kind == GM_RANGE_PROFILER_STEP,
                                        .first_event = r->first,
                                        .last_event = r->last,
                                        .from_us = time_or(w, r->from_us, r->first),
                                        .to_us = time_or(w, r->to_us, r->last)};
    }
    return true;
}

/* The first event after `event` that is in another step, or between steps if it is not. */
static size_t step_end(const struct gm_trace_pass *pass, size_t event)
{
    const struct gm_steps *steps = &pass->out->steps;
    const uint32_t step = gm_trace_step_at(pass, event);
    size_t next = 0;
    if (step != GM_NEVER)
        return steps->rows[step].last_event + 1;
    GM_BISECT(next, steps->row_count, i, steps->rows[i].first_event <= event);
    return next < steps->row_count ? steps->rows[next].first_event : pass->history.count;
}

/* Runs of one phase inside of one step. All or none: a few of many would mislead. */
static void add_phases(struct bands *b)
{
    const struct gm_trace_pass *pass = b->w->pass;
    size_t n = pass->history.count, start = 0, kept = b->n;
    if (pass->phase == NULL)
        return;
    size_t until = step_end(pass, 0);
    for (size_t i = 1; i <= n; i++) {
        const enum gm_phase now = gm_phase_of(pass->phase, start);
        while (i < n && i < until && gm_phase_of(pass->phase, i) == now)
            i++;
        if (now != GM_PHASE_OTHER) {
            if (b->n - kept == MOST_PHASES) {
                b->n = kept;
                return;
            }
            b->v[b->n++] = (struct gm_band){.name = gm_phase_name(now),
                                            .phase = now,
                                            .depth = gm_trace_step_at(pass, start) != GM_NEVER,
                                            .first_event = start,
                                            .last_event = i - 1,
                                            .from_us = gm_history_time(&pass->history, start),
                                            .to_us = gm_history_time(&pass->history, i - 1)};
        }
        start = i;
        until = i < until ? until : step_end(pass, i);
    }
}

/* As they follow each other; of those that begin together the outer one first. */
GM_ORDERING(by_first, struct gm_band,
            GM_UP(first_event) || GM_DOWN(last_event) || GM_DOWN(is_step) || GM_UP(depth) ||
                GM_BY(strcmp(a->name, b->name)));

bool gm_step_bands(struct gm_step_work *w)
{
    struct gm_steps *steps = &w->pass->out->steps;
    GM_FREED struct bands b = {.w = w};
    b.v = malloc((MOST_STEPS + MOST_RANGES + MOST_PHASES) * sizeof *b.v);
    if (b.v == NULL)
        return false;
    add_steps(&b);
    if (!add_ranges(&b, b.n > 0))
        return false;
    add_phases(&b);
    GM_SORT(b.v, b.n, by_first);
    steps->bands = gm_arena_array(&w->pass->report->arena, b.v, b.n, sizeof *steps->bands);
    steps->band_count = b.n;
    return steps->bands != NULL;
}

/* ---- annotations of events -------------------------------------------------------------------------------------- */

/* Which annotation of the program is the innermost around each event, and which are around that. */

/* `open`: ranges that have begun, the latest last. */
static void walk(const struct gm_step_work *w, uint32_t *open)
{
    struct gm_trace_pass *pass = w->pass;
    const struct gm_range *ranges = w->ranges.v;
    size_t next = 0, depth = 0;
    uint32_t last = 0;
    for (uint32_t event = 0; event < pass->history.count; event++) {
        for (; next < w->ranges.n && ranges[next].first <= event; next++) {
            if (ranges[next].kind == GM_RANGE_PROFILER_STEP)
                continue;
            while (depth > 0 && ranges[open[depth - 1]].last < event)
                depth--;
            pass->ranges[next] = (struct gm_named_range){ranges[next].name, depth == 0 ? 0 : open[depth - 1] + 1};
            open[depth++] = (uint32_t)next;
        }
        while (depth > 0 && ranges[open[depth - 1]].last < event)
            depth--;
        const uint32_t now = depth == 0 ? 0 : open[depth - 1] + 1;
        if (now != last) /* a range begins or ends, once each */
            pass->range_changes[pass->range_change_count++] = (struct gm_range_change){event, now};
        last = now;
    }
}

bool gm_step_names(struct gm_step_work *w)
{
    struct gm_trace_pass *pass = w->pass;
    if (w->ranges.n == 0)
        return true;
    GM_FREED uint32_t *open = malloc(w->ranges.n * sizeof *open);
    pass->range_changes = malloc(2 * w->ranges.n * sizeof *pass->range_changes);
    pass->ranges = calloc(w->ranges.n, sizeof *pass->ranges);
    const bool ok = open != NULL && pass->range_changes != NULL && pass->ranges != NULL;
    if (ok)
        walk(w, open);
    return ok;
}
