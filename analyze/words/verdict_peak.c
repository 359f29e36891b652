/* SPDX-License-Identifier: Apache-2.0
 *
 * The five lines with a trace: of the device whose peak of requested bytes is highest.
 */
#include "analyze/words/numbers.h"
#include "analyze/words/sites.h"
#include "analyze/words/verdict.h"
#include "analyze/words/view.h"

#include <inttypes.h>
#include <string.h>

enum { LEAST_SAVING = 20 /* a saving below a 20th of the peak is no advice */, SLICES = 3 };

static void make_peak(struct gm_verdict_line *line, const struct gm_view *v, const struct gm_report *report)
{
    char s[GM_NUMBER_TEXT];
    line->label = "Peak";
    if (v->peak->requested == 0)
        gm_verdict_piece(line, "nothing was live at any moment of the trace");
    else
        gm_verdict_piece(line, "%s requested", gm_bytes_format(s, v->peak->requested));
    uint64_t allocated = gm_view_levels(v, v->timeline->peak_allocated.levels).allocated;
    if (allocated != GM_REPORT_NONE)
        gm_verdict_piece(line, "%s allocated", gm_bytes_format(s, allocated));
    if (v->device->trace.peak_reserved != GM_REPORT_NONE)
        gm_verdict_piece(line, "%s reserved", gm_bytes_format(s, v->device->trace.peak_reserved));
    if (report->device_count > 1)
        gm_verdict_piece(line, "device %" PRId64 " of %zu devices", v->device->device, report->device_count);
}

static void make_when(struct gm_verdict_line *line, const struct gm_view *v)
{
    char s[GM_NUMBER_TEXT];
    line->label = "When";
    if (v->peak->event == GM_REPORT_NONE) {
        gm_verdict_piece(line, "before the first event of the trace");
        return;
    }
    gm_verdict_piece(line, "after event %s", gm_count_format(s, v->peak->event));
    gm_since_format(s, v, v->peak->time_us);
    if (strcmp(s, "n/a") != 0)
        gm_verdict_piece(line, s[0] == '-' ? "%s (the clock ran backwards)" : "%s after the first", s);
    const struct gm_step_row *step = gm_view_step(v, v->peak->event);
    if (step != NULL)
        gm_verdict_piece(line, "in %s", step->label != NULL ? step->label : "a step");
    enum gm_phase phase = gm_view_phase(v, v->peak->event);
    if (phase != GM_PHASE_OTHER)
        gm_verdict_piece(line, "%s", gm_phase_name(phase));
}

/* Roles say more than categories, if most of the peak has one. */
static void make_made_of(struct gm_verdict_line *line, const struct gm_view *v)
{
    const struct gm_peak_detail *detail = &v->timeline->peak;
    const struct gm_slice *slices = v->peak->categories;
    size_t count = v->peak->category_count;
    uint64_t unknown = 0;
    for (size_t i = 0; i < detail->role_count; i++)
        if (strcmp(detail->roles[i].name, "Unknown") == 0)
            unknown = detail->roles[i].bytes;
    line->label = "Made of";
    if (detail->role_count > 0 && unknown < v->peak->requested / 2) {
        slices = detail->roles;
        count = detail->role_count;
    }
    for (size_t i = 0; i < count && line->count < SLICES; i++) {
        char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
        if (slices[i].bytes > 0)
            gm_verdict_piece(line, "%s %s (%s %%)", slices[i].name, gm_bytes_format(a, slices[i].bytes),
                             gm_share_format(b, slices[i].bytes, v->peak->requested));
    }
    if (line->count == 0)
        gm_verdict_piece(line, v->peak->requested == 0 ? "nothing" : "not known");
}

#define UNUSED "%s (%s %%) of reserved then"

static void make_unused(struct gm_verdict_line *line, const struct gm_view *v)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    line->label = "Unused";
    const struct gm_levels then = gm_view_peak(v).levels;
    const struct gm_levels most = gm_view_levels(v, v->timeline->peak_reserved.levels);
    uint64_t cached = gm_less(then.reserved, then.active), cached_most = gm_less(most.reserved, most.active);
    if (cached != GM_REPORT_NONE)
        gm_verdict_piece(line, v->timeline->filter == NULL ? UNUSED : UNUSED " (or filtered out)",
                         gm_bytes_format(a, cached),
                         then.reserved == 0 ? "0.0" : gm_share_format(b, cached, then.reserved));
    else if (gm_less(then.active, then.reserved) != GM_REPORT_NONE)
        gm_verdict_piece(line, "not known then (blocks lie outside all segments)");
    if (cached_most != GM_REPORT_NONE)
        gm_verdict_piece(line, "%s at the peak of reserved", gm_bytes_format(a, cached_most));
    if (line->count == 0)
        gm_verdict_piece(line, "not known: %s",
                         v->timeline->books.reason != NULL ? v->timeline->books.reason
                                                           : "the sizes of blocks were not reconstructed");
}

static const char *oom_kind(const struct gm_view *v)
{
    static const char *const words[] = {"", " (capacity)", " (fragmentation)", " (capacity and fragmentation)"};
    return v->timeline->oom_count == 0 ? "" : words[v->timeline->ooms[0].verdict];
}

static void make_to_do(struct gm_verdict_line *line, const struct gm_view *v, const struct gm_report *report)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    uint64_t ooms = 0;
    line->label = "To do";
    line->are_sentences = true;
    for (size_t i = 0; i < report->device_count; i++)
        ooms = gm_plus(ooms, report->devices[i].trace.ooms);
    if (ooms > 0)
        gm_verdict_piece(line, "out of memory %s time%s%s", gm_count_format(a, ooms), gm_plural(ooms), oom_kind(v));
    const struct gm_saving *saving = gm_view_saving(v);
    const struct gm_finding *finding = report->finding_count > 0 ? &report->findings[0] : NULL;
    bool is_worth_it = saving != NULL && saving->saved > 0 && saving->saved >= v->peak->requested / LEAST_SAVING;
    if (is_worth_it && saving->peak_after == 0) {
        gm_verdict_piece(line, "all of the peak is made in one place");
        line->site = saving->label;
    } else if (is_worth_it && line->count > 0) {
        gm_verdict_piece(line, "peak %s without", gm_bytes_format(a, saving->peak_after));
        line->site = saving->label;
    } else if (is_worth_it) {
        gm_verdict_piece(line, "the peak is %s (%s %% less) without", gm_bytes_format(a, saving->peak_after),
                         gm_share_format(b, saving->saved, v->peak->requested));
        line->site = saving->label;
    } else if (finding != NULL && strcmp(finding->id, "out-of-memory") != 0) {
        gm_verdict_piece(line, "%s: %s", gm_severity_name(finding->severity), finding->title);
    }
    if (line->count == 0)
        gm_verdict_piece(line, "no single call site makes the peak, and nothing else stands out");
}

bool gm_verdict_of_peak(struct gm_verdict *verdict, const struct gm_report *report)
{
    struct gm_view view;
    if (!gm_view_highest(&view, report))
        return false;
    *verdict = (struct gm_verdict){0};
    make_peak(&verdict->lines[0], &view, report);
    make_when(&verdict->lines[1], &view);
    make_made_of(&verdict->lines[2], &view);
    make_unused(&verdict->lines[3], &view);
    make_to_do(&verdict->lines[4], &view, report);
    return true;
}
