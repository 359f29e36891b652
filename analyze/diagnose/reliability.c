/* SPDX-License-Identifier: Apache-2.0
 *
 * When the figures of a trace must not be believed as they stand: it contradicts the snapshot or itself by an amount
 * that matters. The details are in the books; these are the sentences that stand above the peak.
 */
#include "analyze/diagnose/rules.h"

#include <inttypes.h>

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

/* Why the trace of a device cannot be trusted, as one or two sentences. false, and nothing appended: there is no reason
 * to tell above the peak. */
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

static enum gm_reliability reliability_of(const struct gm_report *report)
{
    struct gm_view v;
    bool all_known = true;
    for (size_t i = 0; i < report->device_count; i++)
        all_known = all_known && (!gm_view_of(&v, report, i) || v.is_reconstructed);
    if (gm_view_count(report) == 0)
        return GM_NO_TRACE;
    return report->diagnosis.doubt_count > 0 ? GM_DOUBTFUL : all_known ? GM_RELIABLE : GM_INCOMPLETE;
}

void gm_reliability_tell(struct gm_case *c)
{
    struct gm_report *report = c->report;
    const char **doubts = gm_arena_calloc(&report->arena, report->device_count + 1, sizeof *doubts);
    struct gm_view v;
    c->failed |= doubts == NULL;
    report->diagnosis.doubts = doubts;
    for (size_t i = 0; doubts != NULL && i < report->device_count; i++) {
        struct gm_text why = {0};
        if (gm_view_of(&v, report, i) && add_doubt(&why, &v, report->device_count > 1))
            doubts[report->diagnosis.doubt_count++] = gm_case_take(c, &why);
    }
    report->diagnosis.reliability = reliability_of(report);
}
