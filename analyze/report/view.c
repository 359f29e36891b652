/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/view.h"

#include "analyze/base/size.h"
#include "analyze/base/text.h"
#include "analyze/report/numbers.h"

#include <inttypes.h>
#include <string.h>

bool gm_view_of(struct gm_view *view, const struct gm_report *report, size_t i)
{
    static const struct gm_device_timeline unknown = {
        .reconciliation = {.first_time_us = GM_REPORT_NONE, .last_time_us = GM_REPORT_NONE}};
    if (report->peaks == NULL || report->devices[i].trace.events == 0)
        return false;
    const struct gm_device_timeline *timeline = report->timelines == NULL ? &unknown : &report->timelines[i];
    *view = (struct gm_view){i,
                             &report->devices[i],
                             &report->peaks[i],
                             timeline,
                             timeline->reconciliation.is_reconstructed,
                             report->devices[i].trace.peak_reserved != GM_REPORT_NONE,
                             report->lacks_end};
    return true;
}

size_t gm_view_count(const struct gm_report *report)
{
    struct gm_view view;
    size_t n = 0;
    for (size_t i = 0; i < report->device_count; i++)
        n += gm_view_of(&view, report, i);
    return n;
}

bool gm_view_highest(struct gm_view *view, const struct gm_report *report)
{
    bool any = false;
    for (size_t i = 0; i < report->device_count; i++) {
        struct gm_view next;
        if (!gm_view_of(&next, report, i) || (any && next.peak->requested <= view->peak->requested))
            continue;
        *view = next;
        any = true;
    }
    return any;
}

bool gm_view_filters_differ(const struct gm_report *report)
{
    const char *first = NULL;
    for (size_t i = 0; i < report->device_count; i++) {
        struct gm_view view;
        if (!gm_view_of(&view, report, i) || view.timeline->filter == NULL)
            continue;
        if (first != NULL && strcmp(first, view.timeline->filter) != 0)
            return true;
        first = view.timeline->filter;
    }
    return false;
}

struct gm_levels gm_view_levels(const struct gm_view *view, struct gm_levels levels)
{
    if (!view->is_reconstructed)
        levels.allocated = levels.active = GM_REPORT_NONE;
    if (!view->has_reserved)
        levels.reserved = GM_REPORT_NONE;
    return levels;
}

struct gm_moment gm_view_peak(const struct gm_view *view)
{
    struct gm_moment peak = {view->peak->event, view->peak->time_us, gm_view_levels(view, view->peak->levels)};
    peak.levels.requested = view->peak->requested;
    return peak;
}

uint64_t gm_view_peak_reserved(const struct gm_view *view)
{
    uint64_t in_window = view->timeline->peak_reserved.levels.reserved;
    return view->timeline->filter != NULL && in_window > 0 ? in_window : view->device->trace.peak_reserved;
}

const struct gm_step_row *gm_view_step(const struct gm_view *view, uint64_t event)
{
    const struct gm_steps *steps = &view->timeline->steps;
    for (size_t i = 0; event != GM_REPORT_NONE && i < steps->row_count; i++)
        if (steps->rows[i].first_event <= event && event <= steps->rows[i].last_event)
            return &steps->rows[i];
    return NULL;
}

enum gm_phase gm_view_phase(const struct gm_view *view, uint64_t event)
{
    const struct gm_steps *steps = &view->timeline->steps;
    for (size_t i = 0; event != GM_REPORT_NONE && i < steps->band_count; i++) {
        const struct gm_band *band = &steps->bands[i];
        if (band->phase != GM_PHASE_OTHER && band->first_event <= event && event <= band->last_event)
            return band->phase;
    }
    return GM_PHASE_OTHER;
}

const char *gm_view_reason(const struct gm_view *view)
{
    const char *reason = view->timeline->reconciliation.reason;
    return reason != NULL ? reason : "the trace was not reconstructed";
}

/* ---- how far the figures can be believed ------------------------------------------------------------------------ */

enum { MATTERS = 100 /* a contradiction of less than a hundredth of the peak is for the books only */ };

static uint64_t magnitude(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* By how much more was live at the peak than reserved then; 0: no more, or not known. */
static uint64_t excess(const struct gm_view *v)
{
    struct gm_levels l = v->is_reconstructed ? v->timeline->peak_active.levels : gm_view_peak(v).levels;
    uint64_t more = gm_less(v->is_reconstructed ? l.active : l.requested, l.reserved);
    bool has_segments = v->is_reconstructed || l.reserved > 0;
    return more == GM_REPORT_NONE || !has_segments ? 0 : more;
}

static void add_residual(struct gm_text *out, const char *kind, int64_t residual)
{
    char s[GM_NUMBER_TEXT];
    if (residual != 0)
        gm_text_printf(out, "; at its end %s %s bytes are %s than in the snapshot",
                       gm_bytes_format(s, magnitude(residual)), kind, residual > 0 ? "more" : "less");
}

/* false, and nothing appended: there is no reason to tell above the peak. */
static bool add_doubt(struct gm_text *out, const struct gm_view *v, bool with_device)
{
    const struct gm_reconciliation *b = &v->timeline->reconciliation;
    const struct gm_trace_counts *t = &v->device->trace;
    char s[GM_NUMBER_TEXT];
    uint64_t least = v->peak->requested / MATTERS, more = excess(v);
    uint64_t worst = v->is_reconstructed ? magnitude(b->worst_residual) : 0;
    int64_t active = v->is_reconstructed ? b->residual_active : 0;
    int64_t reserved = v->is_reconstructed ? b->residual_reserved : 0;
    if (more <= least && worst <= least && magnitude(active) <= least && magnitude(reserved) <= least)
        return false;
    gm_text_add(out, "The trace");
    if (with_device)
        gm_text_printf(out, " of device %" PRId64, v->device->device);
    gm_text_add(out, " contradicts the snapshot or itself");
    if (more > 0)
        gm_text_printf(out, "; at its peak %s more is %s than reserved", gm_bytes_format(s, more),
                       v->is_reconstructed ? "active" : "requested");
    add_residual(out, "active", active);
    add_residual(out, "reserved", reserved);
    if (worst > 0)
        gm_text_printf(out, "; blocks overlap by up to %s", gm_bytes_format(s, worst));
    gm_text_add(out, ". ");
    if (t->allocs == 0 && t->frees > 0)
        gm_text_add(out, "It has no allocations, only frees: were they left out when it was recorded? ");
    else if (t->allocs > 0 && t->frees == 0)
        gm_text_add(out, "It has allocations, but no completed frees: were they left out when it was recorded? ");
    gm_text_add(out, "What is told of its peaks may be wrong by as much.");
    return true;
}

const char *const *gm_view_doubts(const struct gm_report *report, struct gm_arena *arena, size_t *count)
{
    const char **doubts = gm_arena_calloc(arena, report->device_count + 1, sizeof *doubts);
    struct gm_view v;
    *count = 0;
    for (size_t i = 0; doubts != NULL && i < report->device_count; i++) {
        struct gm_text why = {0};
        if (!gm_view_of(&v, report, i) || !add_doubt(&why, &v, report->device_count > 1))
            continue;
        doubts[*count] = gm_text_take(&why, arena);
        if (doubts[(*count)++] == NULL)
            return NULL;
    }
    return doubts;
}
