/* SPDX-License-Identifier: Apache-2.0
 *
 * A row for each step: what it allocated, its peak, its end. One walk over the changes measures all steps; if there are
 * more than can be shown, a second one fills the rows of those that are.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/timeline/steps/step_work.h"

#include <stdlib.h>

enum { MOST_ROWS = 4096, KEPT_AT_ENDS = 1024 };

struct rows {
    struct gm_step_work *w;
    uint32_t *row_of; /* [span] its row, or GM_NEVER */
    struct gm_step_row *rows;
    gm_i128 phase_peak[GM_PHASE_COUNT];
    gm_i128 peak; /* of the step being walked */
    gm_i128 peak_active;
    gm_i128 end_before; /* requested bytes before the step */
};

static void begin(struct rows *r, size_t span, const struct gm_sums *sums)
{
    if (span == 0)
        r->w->level_before = sums->requested;
    r->end_before = sums->requested;
    r->peak = r->peak_active = -1;
    for (int p = 0; p < GM_PHASE_COUNT; p++)
        r->phase_peak[p] = -1;
}

static void end(struct rows *r, size_t span, const struct gm_sums *sums, gm_i128 *last_end)
{
    struct gm_step_work *w = r->w;
    w->span_end[span] = gm_clamp(sums->requested);
    w->span_peak[span] = gm_clamp(r->peak);
    w->span_active[span] = gm_clamp(r->peak_active);
    if (r->row_of[span] != GM_NEVER) {
        struct gm_step_row *row = &r->rows[r->row_of[span]];
        row->end = gm_sums_told(sums);
        row->growth = gm_clamp_signed(sums->requested - (span == 0 ? r->end_before : *last_end));
        for (int p = 0; p < GM_PHASE_COUNT; p++)
            row->phase_peak[p] = r->phase_peak[p] < 0 ? GM_REPORT_NONE : gm_clamp(r->phase_peak[p]);
    }
    *last_end = sums->requested;
}

/* Is the state after this change one that may be a peak: after something was added, or the first of a step or phase? */
static bool may_be_peak(const struct rows *r, size_t span, const struct gm_change *c)
{
    const uint8_t *phase = r->w->pass->phase;
    return c->kind == GM_CHANGE_ALLOC || c->event == r->w->spans.v[span].first ||
           (phase != NULL && gm_phase_of(phase, c->event) != gm_phase_of(phase, c->event - 1));
}

/* The state after `event` of a step. */
static void visit(struct rows *r, size_t span, uint32_t event, const struct gm_sums *sums)
{
    struct gm_step_work *w = r->w;
    if (sums->active > r->peak_active)
        r->peak_active = sums->active;
    if (w->pass->phase != NULL && sums->requested > r->phase_peak[gm_phase_of(w->pass->phase, event)])
        r->phase_peak[gm_phase_of(w->pass->phase, event)] = sums->requested;
    if (sums->requested <= r->peak)
        return;
    r->peak = sums->requested;
    if (r->row_of[span] != GM_NEVER) {
        r->rows[r->row_of[span]].peak = gm_sums_told(sums);
        r->rows[r->row_of[span]].peak_event = event;
    }
}

/* What the device holds: at an oom, what is reserved and what the driver had left. */
static void note_capacity(struct gm_step_work *w, uint32_t event, const struct gm_sums *sums)
{
    const struct gm_history *h = &w->pass->history;
    const struct gm_events *e = &h->snapshot->events;
    if (e->action[h->first + event] != GM_ACTION_OOM || gm_event_addr(e, h->first + event) == GM_ABSENT)
        return;
    uint64_t capacity = gm_clamp(sums->reserved + gm_event_addr(e, h->first + event));
    if (w->capacity == GM_REPORT_NONE || capacity > w->capacity)
        w->capacity = capacity;
}

static void count_alloc(struct gm_step_row *row, uint64_t bytes)
{
    row->allocs++;
    row->alloc_bytes = gm_known_add(row->alloc_bytes, bytes);
}

static void walk(struct rows *r)
{
    struct gm_step_work *w = r->w;
    const struct gm_history *h = &w->pass->history;
    struct gm_sums sums = gm_sums_start(w->pass);
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change c;
    gm_i128 last_end = 0;
    size_t span = 0;
    bool is_in = false;
    while (gm_walk_next(&walk, &c)) {
        if (span < w->spans.n && !is_in && c.event == w->spans.v[span].first) {
            begin(r, span, &sums);
            is_in = true;
        }
        gm_sums_apply(&sums, w->pass, &c);
        if (walk.event == c.event)
            continue; /* the end of a replaced allocation: the event itself comes next */
        if (c.kind == GM_CHANGE_NONE)
            note_capacity(w, c.event, &sums);
        if (!is_in)
            continue;
        if (c.kind == GM_CHANGE_ALLOC && r->row_of[span] != GM_NEVER && !gm_is_hidden(w->pass, c.allocation))
            count_alloc(&r->rows[r->row_of[span]], gm_requested(h, c.allocation));
        if (may_be_peak(r, span, &c))
            visit(r, span, c.event, &sums);
        if (c.event == w->spans.v[span].last) {
            end(r, span, &sums, &last_end);
            is_in = false;
            span++;
        }
    }
}

struct ranked {
    uint64_t peak;
    uint32_t span;
};

GM_ORDERING(by_peak, struct ranked, GM_DOWN(peak) || GM_UP(span));

/* Of too many spans: those at both ends, and of the others those with the highest peaks. */
static bool choose(struct rows *r, size_t *count)
{
    size_t n = r->w->spans.n, middle = n - 2 * KEPT_AT_ENDS;
    GM_FREED struct ranked *ranked = malloc(middle * sizeof *ranked);
    if (ranked == NULL)
        return false;
    for (size_t i = 0; i < middle; i++)
        ranked[i] = (struct ranked){r->w->span_peak[KEPT_AT_ENDS + i], (uint32_t)(KEPT_AT_ENDS + i)};
    GM_SORT(ranked, middle, by_peak);
    for (size_t i = 0; i < MOST_ROWS - 2 * KEPT_AT_ENDS; i++)
        r->row_of[ranked[i].span] = 0;
    *count = 0;
    for (size_t s = 0; s < n; s++)
        if (s < KEPT_AT_ENDS || s >= n - KEPT_AT_ENDS || r->row_of[s] == 0)
            r->row_of[s] = (uint32_t)(*count)++;
    return true;
}

static bool name_rows(struct rows *r, size_t count)
{
    struct gm_step_work *w = r->w;
    const struct gm_history *h = &w->pass->history;
    r->rows = gm_arena_calloc(&w->pass->report->arena, count + 1, sizeof *r->rows);
    for (size_t s = 0; r->rows != NULL && s < w->spans.n; s++) {
        const struct gm_span *span = &w->spans.v[s];
        if (r->row_of[s] == GM_NEVER)
            continue;
        struct gm_step_row *row = &r->rows[r->row_of[s]];
        row->label = span->label.v != 0
                         ? gm_names_string(w->pass->names, span->label)
                         : gm_arena_printf(&w->pass->report->arena, "step %llu", (unsigned long long)span->number);
        if (row->label == NULL)
            return false;
        row->number = span->number;
        row->first_event = span->first;
        row->last_event = span->last;
        row->from_us = gm_history_time(h, span->first);
        row->to_us = gm_history_time(h, span->last);
        row->is_partial = span->fraction < 1;
    }
    return r->rows != NULL;
}

static bool fill(struct rows *r)
{
    struct gm_step_work *w = r->w;
    struct gm_steps *out = &w->pass->out->steps;
    size_t n = w->spans.n, count = n;
    for (size_t s = 0; s < n; s++)
        r->row_of[s] = n > MOST_ROWS ? GM_NEVER : (uint32_t)s;
    if (n > MOST_ROWS) {
        walk(r);
        if (!choose(r, &count))
            return false;
    }
    if (!name_rows(r, count))
        return false;
    if (!w->pass->options->has_peaks_only)
        walk(r);
    out->rows = r->rows;
    out->row_count = count;
    out->row_total = n;
    for (size_t s = 0; s < n; s++)
        out->covered += w->spans.v[s].fraction;
    return true;
}

bool gm_step_rows(struct gm_step_work *w)
{
    const size_t n = w->spans.n;
    if (n == 0)
        return true;
    GM_FREED uint32_t *row_of = malloc(n * sizeof *row_of);
    struct rows r = {.w = w, .row_of = row_of};
    w->span_end = calloc(n, sizeof *w->span_end);
    w->span_peak = calloc(n, sizeof *w->span_peak);
    w->span_active = calloc(n, sizeof *w->span_active);
    return row_of != NULL && w->span_end != NULL && w->span_peak != NULL && w->span_active != NULL && fill(&r);
}
