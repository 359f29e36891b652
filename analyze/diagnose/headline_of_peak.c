/* SPDX-License-Identifier: Apache-2.0
 *
 * The five lines with a trace: of the device whose peak of requested bytes is highest. Peak: how high. When. Made of:
 * roles or categories. Unused: what was cached then. To do: the first of the list.
 */
#include "analyze/diagnose/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SLICES = 3 };

/* What was reserved at this peak, and the peak of reserved bytes where it is higher: it has a moment of its own. */
static void add_reserved(struct gm_case *c, struct gm_heading *line, uint64_t then, uint64_t most)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    if (then == GM_REPORT_NONE || most == GM_REPORT_NONE)
        return;
    gm_bytes_format(a, then);
    if (most <= then || strcmp(a, gm_bytes_format(b, most)) == 0)
        gm_headline_add(c, line, "%s reserved", a);
    else
        gm_headline_add(c, line, "%s reserved (%s at most)", a, b);
}

static void make_peak(struct gm_case *c, struct gm_heading *line, const struct gm_view *v)
{
    char s[GM_NUMBER_TEXT], device[2 * GM_NUMBER_TEXT] = "";
    line->label = "Peak";
    if (c->report->device_count > 1 || c->report->is_of_one_device)
        snprintf(device, sizeof device, "device %" PRId64 ": ", v->device->device);
    if (v->peak->requested == 0)
        gm_headline_add(c, line, "%snothing was live at any moment of the trace", device);
    else
        gm_headline_add(c, line, "%s%s requested", device, gm_bytes_format(s, v->peak->requested));
    const struct gm_levels then = gm_view_peak(v).levels;
    const uint64_t reserved = gm_view_peak_reserved(v);
    if (reserved > 0 || v->peak->requested == 0) /* 0: the file lists no segments */
        add_reserved(c, line, then.reserved, reserved);
    if (then.allocated != GM_REPORT_NONE)
        gm_headline_add(c, line, "%s allocated", gm_bytes_format(s, then.allocated));
}

/* Nothing where it is not known. */
static void add_time(struct gm_case *c, struct gm_heading *line, const struct gm_view *v)
{
    char s[GM_NUMBER_TEXT];
    gm_since_format(s, v, v->peak->time_us);
    if (strcmp(s, "n/a") != 0)
        gm_headline_add(c, line, s[0] == '-' ? "%s (the clock ran backwards)" : "%s after the first", s);
}

static void add_step_and_phase(struct gm_case *c, struct gm_heading *line, const struct gm_view *v, bool in_short)
{
    const struct gm_step_row *step = gm_view_step(v, v->peak->event);
    if (step != NULL)
        gm_headline_add(c, line, "%s%s", in_short ? "" : "in ", step->label != NULL ? step->label : "a step");
    enum gm_phase phase = gm_view_phase(v, v->peak->event);
    if (phase != GM_PHASE_OTHER)
        gm_headline_add(c, line, step == NULL && !in_short ? "in the phase %s" : "%s", gm_phase_name(phase));
}

void gm_headline_add_when(struct gm_case *c, struct gm_heading *line)
{
    struct gm_view v;
    char s[GM_NUMBER_TEXT];
    if (!gm_view_highest(&v, c->report))
        return;
    if (v.peak->event == GM_REPORT_NONE) {
        gm_headline_add(c, line, "before the first event");
        return;
    }
    gm_headline_add(c, line, "at event %s", gm_count_format(s, v.peak->event));
    add_step_and_phase(c, line, &v, true);
    add_time(c, line, &v);
}

static void make_when(struct gm_case *c, struct gm_heading *line, const struct gm_view *v)
{
    char s[GM_NUMBER_TEXT];
    line->label = "When";
    if (v->peak->event == GM_REPORT_NONE) {
        gm_headline_add(c, line, "before the first event of the trace");
        gm_headline_add(c, line, "what led to it was not recorded");
        return;
    }
    gm_headline_add(c, line, "after event %s", gm_count_format(s, v->peak->event));
    add_time(c, line, v);
    add_step_and_phase(c, line, v, false);
}

/* Roles say more than categories, if most of the peak has one. */
static void make_made_of(struct gm_case *c, struct gm_heading *line, const struct gm_view *v)
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
            gm_headline_add(c, line, "%s %s (%s %%)", slices[i].name, gm_bytes_format(a, slices[i].bytes),
                            gm_share_format(b, slices[i].bytes, v->peak->requested));
    }
    if (line->count == 0)
        gm_headline_add(c, line, v->peak->requested == 0 ? "nothing" : "not known");
}

/* What a run that serves a model has room for. */
static void add_room(struct gm_case *c, struct gm_heading *line, const struct gm_serving *s)
{
    char n[GM_NUMBER_TEXT];
    if (s == NULL || s->capacity == GM_REPORT_NONE)
        return;
    const char *where = s->card == NULL ? "" : gm_case_printf(c, " on %s", s->card);
    if (s->more_sequences != GM_REPORT_NONE)
        gm_headline_add(c, line, "room for %s more sequences%s", gm_count_format(n, s->more_sequences), where);
    else if (s->more_tokens != GM_REPORT_NONE)
        gm_headline_add(c, line, "room for %s more tokens%s", gm_count_format(n, s->more_tokens), where);
    else if (s->more_steps != GM_REPORT_NONE)
        gm_headline_add(c, line, "room for %s more steps%s", gm_count_format(n, s->more_steps), where);
    else if (s->cache > 0)
        gm_headline_add(c, line, "room for %s more KV cache%s", gm_bytes_format(n, s->room), where);
}

#define UNUSED "%s (%s %% of reserved) then"

static void make_unused(struct gm_case *c, struct gm_heading *line, const struct gm_view *v)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    line->label = "Unused";
    const struct gm_levels then = gm_view_peak(v).levels;
    const struct gm_levels most = gm_view_levels(v, v->timeline->peak_reserved.levels);
    uint64_t cached = gm_less(then.reserved, then.active), cached_most = gm_less(most.reserved, most.active);
    if (cached != GM_REPORT_NONE)
        gm_headline_add(c, line, v->timeline->filter == NULL ? UNUSED : UNUSED " (or filtered out)",
                        gm_bytes_format(a, cached),
                        then.reserved == 0 ? "0.0" : gm_share_format(b, cached, then.reserved));
    else if (gm_less(then.active, then.reserved) != GM_REPORT_NONE)
        gm_headline_add(c, line, "not known then (blocks lie outside all segments)");
    const bool is_most = then.reserved != GM_REPORT_NONE && then.reserved == most.reserved; /* reached before, too */
    if (cached_most != GM_REPORT_NONE && !(is_most && cached != GM_REPORT_NONE))
        gm_headline_add(c, line, "%s at the peak of reserved%s", gm_bytes_format(a, cached_most),
                        v->timeline->peak_reserved.event == GM_REPORT_NONE && v->peak->event != GM_REPORT_NONE
                            ? " (the start)"
                            : "");
    add_room(c, line, v->timeline->serving);
    if (line->count == 0)
        gm_headline_add(c, line, "not known: %s",
                        v->timeline->books.reason != NULL ? v->timeline->books.reason
                                                          : "the sizes of blocks were not reconstructed");
}

/* One that a replay has shown to leave less in pieces. */
static bool has_setting(const struct gm_case *c)
{
    for (size_t i = 0; i < c->to_do_count; i++)
        if (c->to_do[i].rank == GM_RANK_WRONG_FIGURES)
            return true;
    return false;
}

static void add_oom(struct gm_case *c, struct gm_heading *line, const struct gm_view *highest)
{
    const struct gm_view *v = &c->view;
    static const char *const words[] = {"", " (capacity)", " (fragmentation)", " (capacity and fragmentation)"};
    const struct gm_oom_row *first = v->timeline->oom_count == 0 ? NULL : &v->timeline->ooms[0];
    const enum gm_oom_verdict verdict = first == NULL ? GM_OOM_UNKNOWN : first->verdict;
    char device[2 * GM_NUMBER_TEXT] = "", times[4 * GM_NUMBER_TEXT] = "", missing[2 * GM_NUMBER_TEXT],
                    s[GM_NUMBER_TEXT];
    uint64_t ooms = 0;
    size_t devices = 0;
    for (size_t i = 0; i < c->report->device_count; i++) {
        ooms = gm_plus(ooms, c->report->devices[i].trace.ooms);
        devices += c->report->devices[i].trace.ooms > 0;
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
    gm_headline_add(c, line, "%s%s of memory%s%s", device, ooms > 1 ? "out" : "ran out", times, missing);
    if (verdict == GM_OOM_FRAGMENTATION && !has_setting(c))
        gm_headline_add(c, line, "enough was cached, but not in one piece");
}

/* What to do, and what for. */
static void add_what_to_do(struct gm_case *c, struct gm_heading *line, const struct gm_finding *f)
{
    const uint64_t saving = f->remedy == NULL ? GM_REPORT_NONE : f->remedy->saving.alone;
    const char *what = f->brief != NULL ? f->brief : f->title;
    char s[GM_NUMBER_TEXT];
    if (f->rank != GM_RANK_MISTAKE || saving == GM_REPORT_NONE)
        gm_headline_add(c, line, "%s", what);
    else
        gm_headline_add(c, line, "saves %s: %s", gm_bytes_format(s, saving), what);
}

/* The first of what is to do; after running out of memory also the next, if it would help against that. */
static void make_to_do(struct gm_case *c, struct gm_heading *line, const struct gm_view *highest)
{
    line->label = "To do";
    line->are_sentences = true;
    if (c->has_oom)
        add_oom(c, line, highest);
    for (size_t i = 0; i < c->to_do_count && line->count == (c->has_oom ? 1 : 0); i++) {
        const struct gm_finding *f = &c->to_do[i];
        if (c->has_oom && (f->rank == GM_RANK_OUT_OF_MEMORY || f->rank == GM_RANK_OTHERS))
            continue;
        add_what_to_do(c, line, f);
        if (f->site != NULL && f->brief != NULL)
            line->site = gm_case_printf(c, "%.*s", (int)gm_site_innermost(f->site), f->site);
    }
    if (line->count == 0)
        gm_headline_add_nothing(c, line, "no single call site makes the peak, and nothing else stands out");
}

bool gm_headline_of_peak(struct gm_case *c)
{
    struct gm_heading *lines = c->report->diagnosis.headline;
    struct gm_view view;
    if (!gm_view_highest(&view, c->report))
        return false;
    make_peak(c, &lines[0], &view);
    make_when(c, &lines[1], &view);
    make_made_of(c, &lines[2], &view);
    make_unused(c, &lines[3], &view);
    make_to_do(c, &lines[4], &view);
    return true;
}
