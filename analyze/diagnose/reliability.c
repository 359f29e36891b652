/* SPDX-License-Identifier: Apache-2.0
 *
 * When the figures of a trace must not be believed as they stand: it contradicts the snapshot or itself by an amount
 * that matters. The details are in the books; these are the sentences that stand above the peak.
 */
#include "analyze/diagnose/rules.h"

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
    report->diagnosis.doubts = gm_view_doubts(report, &report->arena, &report->diagnosis.doubt_count);
    c->failed |= report->diagnosis.doubts == NULL;
    report->diagnosis.reliability = reliability_of(report);
}
