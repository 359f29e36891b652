/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps, phases and the run's pattern of one device: the parts in order.
 */
#include "analyze/timeline/steps/step_work.h"

#include <stdlib.h>

void gm_trace_forget_steps(struct gm_trace_pass *pass)
{
    struct gm_step_work *w = pass->step_work;
    if (w == NULL)
        return;
    gm_stack_classes_free(&w->classes);
    GM_FREE_ALL(w->ranges.v, w->idle.v, w->spans.v, w->span_end, w->span_peak, w->span_active, w);
    pass->step_work = NULL;
}

/* Nothing after the phases looks at them. */
static void forget_allocs(struct gm_step_work *w)
{
    GM_FREE_ALL(w->allocs.event, w->allocs.stack);
    w->allocs = (struct gm_alloc_list){.count = 0};
}

bool gm_trace_find_steps(struct gm_trace_pass *pass)
{
    struct gm_step_work *w = calloc(1, sizeof *w);
    if (w == NULL)
        return false;
    *w = (struct gm_step_work){.pass = pass, .capacity = GM_REPORT_NONE};
    pass->step_work = w;
    if (pass->history.count == 0)
        return true;
    if (!gm_stack_classes_init(&w->classes, pass->snapshot))
        return false;
    gm_stack_classes_learn(&w->classes, &pass->history);
    const bool ok = gm_step_ranges(w) && gm_step_spans(w) && gm_step_phases(w);
    forget_allocs(w);
    return ok;
}

/* For those who go on from there: a report lists some of many steps, they need all. */
static bool keep_spans(struct gm_trace_pass *pass)
{
    const struct gm_step_work *w = pass->step_work;
    pass->kept_steps = malloc((w->spans.n + 1) * sizeof *pass->kept_steps);
    for (size_t i = 0; pass->kept_steps != NULL && i < w->spans.n; i++) {
        const struct gm_span *span = &w->spans.v[i];
        pass->kept_steps[pass->kept_step_count++] =
            (struct gm_kept_step){span->number, span->first, span->last, span->fraction < 1};
    }
    return pass->kept_steps != NULL;
}

bool gm_trace_steps(struct gm_trace_pass *pass)
{
    struct gm_step_work *w = pass->step_work;
    struct gm_steps *out = &pass->out->steps;
    *out = (struct gm_steps){.steps_to_oom = GM_REPORT_NONE, .capacity = GM_REPORT_NONE};
    if (pass->history.count == 0)
        return true;
    bool ok = gm_step_rows(w);
    if (ok && w->spans.n > 0) {
        out->source = w->source;
        out->period_events = w->period_events;
        out->certainty = w->certainty;
    }
    ok = ok && gm_step_bands(w);
    if (!pass->options->has_peaks_only)
        ok = ok && gm_step_names(w) && gm_step_pattern(w) && (pass->options->keep == NULL || keep_spans(pass));
    gm_trace_forget_steps(pass);
    return ok;
}
