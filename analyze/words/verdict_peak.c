/* SPDX-License-Identifier: Apache-2.0
 *
 * The five lines with a trace: of the device whose peak of requested bytes is highest.
 */
#include "analyze/document/numbers.h"
#include "analyze/words/advice.h"
#include "analyze/words/to_do.h"
#include "analyze/words/tried.h"
#include "analyze/words/verdict.h"
#include "analyze/words/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SLICES = 3 };

/* What was reserved at this peak, and the peak of reserved bytes where it is higher: it has a moment of its own. */
static void add_reserved(struct gm_verdict_line *line, uint64_t then, uint64_t most)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    if (then == GM_REPORT_NONE || most == GM_REPORT_NONE)
        return;
    gm_bytes_format(a, then);
    if (most <= then || strcmp(a, gm_bytes_format(b, most)) == 0)
        gm_verdict_piece(line, "%s reserved", a);
    else
        gm_verdict_piece(line, "%s reserved (%s at most)", a, b);
}

static void make_peak(struct gm_verdict_line *line, const struct gm_view *v, const struct gm_report *report)
{
    char s[GM_NUMBER_TEXT], device[2 * GM_NUMBER_TEXT] = "";
    line->label = "Peak";
    if (report->device_count > 1 || report->is_of_one_device)
        snprintf(device, sizeof device, "device %" PRId64 ": ", v->device->device);
    if (v->peak->requested == 0)
        gm_verdict_piece(line, "%snothing was live at any moment of the trace", device);
    else
        gm_verdict_piece(line, "%s%s requested", device, gm_bytes_format(s, v->peak->requested));
    const struct gm_levels then = gm_view_peak(v).levels;
    const uint64_t reserved = gm_view_peak_reserved(v);
    if (reserved > 0 || v->peak->requested == 0) /* 0: the file lists no segments */
        add_reserved(line, then.reserved, reserved);
    if (then.allocated != GM_REPORT_NONE)
        gm_verdict_piece(line, "%s allocated", gm_bytes_format(s, then.allocated));
}

/* Nothing where it is not known. */
static void add_time(struct gm_verdict_line *line, const struct gm_view *v)
{
    char s[GM_NUMBER_TEXT];
    gm_since_format(s, v, v->peak->time_us);
    if (strcmp(s, "n/a") != 0)
        gm_verdict_piece(line, s[0] == '-' ? "%s (the clock ran backwards)" : "%s after the first", s);
}

static void add_step_and_phase(struct gm_verdict_line *line, const struct gm_view *v, bool in_short)
{
    const struct gm_step_row *step = gm_view_step(v, v->peak->event);
    if (step != NULL)
        gm_verdict_piece(line, "%s%s", in_short ? "" : "in ", step->label != NULL ? step->label : "a step");
    enum gm_phase phase = gm_view_phase(v, v->peak->event);
    if (phase != GM_PHASE_OTHER)
        gm_verdict_piece(line, step == NULL && !in_short ? "in the phase %s" : "%s", gm_phase_name(phase));
}

void gm_verdict_when_in_short(struct gm_verdict_line *line, const struct gm_report *report)
{
    struct gm_view v;
    char s[GM_NUMBER_TEXT];
    if (!gm_view_highest(&v, report))
        return;
    if (v.peak->event == GM_REPORT_NONE) {
        gm_verdict_piece(line, "before the first event");
        return;
    }
    gm_verdict_piece(line, "at event %s", gm_count_format(s, v.peak->event));
    add_step_and_phase(line, &v, true);
    add_time(line, &v);
}

static void make_when(struct gm_verdict_line *line, const struct gm_view *v)
{
    char s[GM_NUMBER_TEXT];
    line->label = "When";
    if (v->peak->event == GM_REPORT_NONE) {
        gm_verdict_piece(line, "before the first event of the trace");
        gm_verdict_piece(line, "what led to it was not recorded");
        return;
    }
    gm_verdict_piece(line, "after event %s", gm_count_format(s, v->peak->event));
    add_time(line, v);
    add_step_and_phase(line, v, false);
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

#define UNUSED "%s (%s %% of reserved) then"

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
    const bool is_most = then.reserved != GM_REPORT_NONE && then.reserved == most.reserved; /* reached before, too */
    if (cached_most != GM_REPORT_NONE && !(is_most && cached != GM_REPORT_NONE))
        gm_verdict_piece(line, "%s at the peak of reserved%s", gm_bytes_format(a, cached_most),
                         v->timeline->peak_reserved.event == GM_REPORT_NONE && v->peak->event != GM_REPORT_NONE
                             ? " (the start)"
                             : "");
    if (line->count == 0)
        gm_verdict_piece(line, "not known: %s",
                         v->timeline->books.reason != NULL ? v->timeline->books.reason
                                                           : "the sizes of blocks were not reconstructed");
}

static void add_settings(struct gm_verdict_line *line, const struct gm_report *report)
{
    struct gm_text text = {0};
    if (report->advice == NULL || report->advice->verdict != GM_ADVICE_GIVEN)
        return;
    gm_tried_short(&text, report->advice);
    gm_verdict_piece(line, "%s", text.failed ? "another allocator setting lowers reserved memory" : text.data);
    gm_text_free(&text);
}

static void add_oom(struct gm_verdict_line *line, const struct gm_view *v, const struct gm_view *highest,
                    const struct gm_report *report)
{
    static const char *const words[] = {"", " (capacity)", " (fragmentation)", " (capacity and fragmentation)"};
    const struct gm_oom_row *first = v->timeline->oom_count == 0 ? NULL : &v->timeline->ooms[0];
    const enum gm_oom_verdict verdict = first == NULL ? GM_OOM_UNKNOWN : first->verdict;
    char device[2 * GM_NUMBER_TEXT] = "", times[4 * GM_NUMBER_TEXT] = "", missing[2 * GM_NUMBER_TEXT],
                    s[GM_NUMBER_TEXT];
    uint64_t ooms = 0;
    size_t devices = 0;
    for (size_t i = 0; i < report->device_count; i++) {
        ooms = gm_plus(ooms, report->devices[i].trace.ooms);
        devices += report->devices[i].trace.ooms > 0;
    }
    if (v->index != highest->index && devices == 1)
        snprintf(device, sizeof device, "device %" PRId64 " ", v->device->device);
    if (devices > 1)
        snprintf(times, sizeof times, " %s times on %zu devices", gm_count_format(s, ooms), devices);
    else if (ooms > 1)
        snprintf(times, sizeof times, " %s times", gm_count_format(s, ooms));
    snprintf(missing, sizeof missing, "%s", words[verdict]);
    if (verdict == GM_OOM_CAPACITY && first->missing > 0 && first->missing != GM_REPORT_NONE)
        snprintf(missing, sizeof missing, ", %s%s short", ooms > 1 ? "first " : "", gm_bytes_format(s, first->missing));
    gm_verdict_piece(line, "%s%s of memory%s%s", device, ooms > 1 ? "out" : "ran out", times, missing);
    if (verdict != GM_OOM_FRAGMENTATION)
        return;
    if (gm_advice_finding(report, "replayed-settings") != NULL) /* a setting that leaves less in pieces */
        add_settings(line, report);
    if (line->count == 1)
        gm_verdict_piece(line, "enough was cached, but not in one piece");
}

static void add_site(struct gm_verdict_line *line, const struct gm_view *v, const struct gm_group_row *site)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    if (site->peak_without == 0)
        gm_verdict_piece(line, "all of the peak is made in one place");
    else if (line->count > 0)
        gm_verdict_piece(line, "peak %s without", gm_bytes_format(a, site->peak_without));
    else
        gm_verdict_piece(line, "the peak is %s (%s %% less) without", gm_bytes_format(a, site->peak_without),
                         gm_share_format(b, v->peak->requested - site->peak_without, v->peak->requested));
    line->site = site->label;
}

static void add_growth_before_oom(struct gm_verdict_line *line, const struct gm_view *v)
{
    const struct gm_steps *steps = &v->timeline->steps;
    char s[GM_NUMBER_TEXT];
    gm_verdict_piece(line, "grows by %s a step in", gm_bytes_format(s, (uint64_t)steps->slope));
    line->site = steps->survivors[0].label;
}

/* A leak before what is large: it ends the run however large the rest is. */
static void add_growth(struct gm_verdict_line *line, const struct gm_view *v, const struct gm_finding *leak)
{
    const struct gm_steps *steps = &v->timeline->steps;
    char s[GM_NUMBER_TEXT];
    if (leak->bytes == GM_REPORT_NONE || steps->pattern != GM_PATTERN_GROWTH) {
        gm_verdict_piece(line, "%s", leak->title);
        return;
    }
    gm_verdict_piece(line, "live memory grows by %s a step", gm_bytes_format(s, leak->bytes));
    const struct gm_group_row *site = gm_advice_site(v);
    if (steps->survivor_count > 0) {
        gm_verdict_piece(line, "most of it made in");
        line->site = steps->survivors[0].label;
    } else if (site != NULL) {
        add_site(line, v, site);
    }
}

static void add_item(struct gm_verdict_line *line, const struct gm_to_do_list *list, const struct gm_to_do *item,
                     const struct gm_report *report)
{
    const struct gm_view *v = &list->view;
    const struct gm_finding *f = item->finding;
    char s[GM_NUMBER_TEXT];
    if (item->site != NULL)
        add_site(line, v, item->site);
    else if (f == NULL)
        gm_verdict_piece(line, "%s %s %% of the peak: %s", item->role.subject,
                         gm_share_format(s, item->role.bytes, v->peak->requested), item->role.in_short);
    else if (strcmp(f->id, "memory-growth") == 0)
        list->has_oom ? add_growth_before_oom(line, v) : add_growth(line, v, f);
    else if (strcmp(f->id, "replayed-settings") == 0)
        add_settings(line, report);
    else if (strcmp(f->id, "growth-despite-cache") == 0 && f->bytes != GM_REPORT_NONE)
        gm_verdict_piece(line, "reserved grew by %s although enough was cached", gm_bytes_format(s, f->bytes));
    else
        gm_verdict_piece(line, "%s", f->title);
}

/* The first of what is to do; after running out of memory also the next, if it would help against that. */
static void make_to_do(struct gm_verdict_line *line, const struct gm_view *highest, const struct gm_report *report)
{
    struct gm_to_do_list list;
    gm_to_do_make(&list, report);
    line->label = "To do";
    line->are_sentences = true;
    if (list.has_oom)
        add_oom(line, &list.view, highest, report);
    for (size_t i = 0; i < list.n && line->count == (list.has_oom ? 1 : 0); i++)
        if (!list.has_oom || gm_to_do_helps(&list.v[i]))
            add_item(line, &list, &list.v[i], report);
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
