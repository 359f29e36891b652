/* SPDX-License-Identifier: Apache-2.0
 *
 * The five lines with a trace: of the device whose peak of requested bytes is highest. Needs: how much, and when. Made
 * of: roles or categories, and what was cached then. The others are those of what to do (headline_of_to_do.c).
 */
#include "analyze/diagnose/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SLICES = 3, LEAST = 100 /* of so many of the peak one is worth a word */ };

/* What was reserved at this peak, and the peak of reserved bytes where it is higher: it has a moment of its own. */
static const char *reserved_of(struct gm_case *c, uint64_t then, uint64_t most)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    gm_bytes_format(a, then);
    if (most <= then || strcmp(a, gm_bytes_format(b, most)) == 0)
        return gm_case_printf(c, "%s reserved", a);
    return gm_case_printf(c, "%s reserved (%s at most)", a, b);
}

/* Nothing where it is not known. */
static void add_time(struct gm_case *c, struct gm_heading *line, const struct gm_view *v)
{
    char s[GM_NUMBER_TEXT];
    gm_since_format(s, v, v->peak->time_us);
    if (strcmp(s, "n/a") != 0)
        gm_headline_add(c, line, s[0] == '-' ? "%s (the clock ran backwards)" : "%s into the trace", s);
}

static void add_when(struct gm_case *c, struct gm_heading *line, const struct gm_view *v)
{
    char s[GM_NUMBER_TEXT];
    if (v->peak->event == GM_REPORT_NONE) {
        gm_headline_add(c, line, "before the first event");
        return;
    }
    const struct gm_step_row *step = gm_view_step(v, v->peak->event);
    const enum gm_phase phase = gm_view_phase(v, v->peak->event);
    gm_headline_add(c, line, "at event %s", gm_count_format(s, v->peak->event));
    if (step != NULL)
        gm_headline_add(c, line, "%s", step->label != NULL ? step->label : "a step");
    if (phase != GM_PHASE_OTHER)
        gm_headline_add(c, line, "%s", gm_phase_name(phase));
    add_time(c, line, v);
}

/* What a run that serves a model from a cache worth telling of has room for. */
static void add_room(struct gm_case *c, struct gm_heading *line, const struct gm_serving *s)
{
    char n[GM_NUMBER_TEXT];
    if (s == NULL || s->capacity == GM_REPORT_NONE || s->cache < s->reserved / 10)
        return;
    const char *where = s->card == NULL ? "" : gm_case_printf(c, " on %s", s->card);
    if (s->capacity < s->reserved)
        gm_headline_add(c, line, "%s more than fit%s", gm_bytes_format(n, s->reserved - s->capacity), where);
    else if (s->more_sequences != GM_REPORT_NONE)
        gm_headline_add(c, line, "room for %s more sequences%s", gm_count_format(n, s->more_sequences), where);
    else if (s->more_tokens != GM_REPORT_NONE)
        gm_headline_add(c, line, "room for %s more tokens%s", gm_count_format(n, s->more_tokens), where);
    else if (s->more_steps != GM_REPORT_NONE)
        gm_headline_add(c, line, "room for %s more steps%s", gm_count_format(n, s->more_steps), where);
    else if (s->cache > 0)
        gm_headline_add(c, line, "room for %s more KV cache%s", gm_bytes_format(n, s->room), where);
}

/* The peak of allocated bytes that a trace of torch.profiler states, also of what it has no event of: that was there
 * before it. GM_REPORT_NONE: it states none. */
static uint64_t stated_peak(const struct gm_report *report, const struct gm_view *v)
{
    const struct gm_profile_report *p = v->lacks_end && v->timeline->filter == NULL ? report->profile : NULL;
    for (size_t i = 0; p != NULL && i < p->stated_count; i++)
        if (p->stated[i].device == v->device->device)
            return p->stated[i].allocated.peak;
    return GM_REPORT_NONE;
}

static void add_stated(struct gm_case *c, struct gm_heading *line, const char *device, uint64_t stated,
                       uint64_t of_events)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    gm_bytes_format(a, stated);
    if (stated > of_events)
        gm_headline_add(c, line, "%s%s allocated (%s without an event)", device, a,
                        gm_bytes_format(b, stated - of_events));
    else
        gm_headline_add(c, line, "%s%s allocated", device, a);
}

static void make_needs(struct gm_case *c, struct gm_heading *line, const struct gm_view *v)
{
    char s[GM_NUMBER_TEXT], device[2 * GM_NUMBER_TEXT] = "";
    const struct gm_levels then = gm_view_peak(v).levels;
    const uint64_t most = gm_view_peak_reserved(v), stated = stated_peak(c->report, v);
    const uint64_t pending = gm_less(then.active, then.allocated);
    const bool has_reserved =
        then.reserved != GM_REPORT_NONE && most != GM_REPORT_NONE && most > 0; /* it has segments */
    line->label = "Needs";
    if (c->report->device_count > 1 || c->report->is_of_one_device)
        snprintf(device, sizeof device, "device %" PRId64 ": ", v->device->device);
    if (v->peak->requested == 0)
        gm_headline_add(c, line, "%snothing was live at any moment of the trace", device);
    if (has_reserved)
        gm_headline_add(c, line, "%s%s", line->count > 0 ? "" : device, reserved_of(c, then.reserved, most));
    if (then.allocated != GM_REPORT_NONE && v->peak->requested > 0)
        gm_headline_add(c, line, "%s%s allocated", line->count > 0 ? "" : device, gm_bytes_format(s, then.allocated));
    else if (v->peak->requested > 0 && stated != GM_REPORT_NONE && stated >= v->peak->requested)
        add_stated(c, line, line->count > 0 ? "" : device, stated, v->peak->requested);
    else if (v->peak->requested > 0)
        gm_headline_add(c, line, "%s%s requested", line->count > 0 ? "" : device,
                        gm_bytes_format(s, v->peak->requested));
    if (pending != GM_REPORT_NONE && pending > 0 && pending >= then.active / LEAST)
        gm_headline_add(c, line, "%s pending", gm_bytes_format(s, pending));
    add_room(c, line, v->timeline->serving);
    add_when(c, line, v);
}

/* What was cached at the peak; 0 also where it is not known. */
static uint64_t cached_of(const struct gm_view *v)
{
    const struct gm_levels then = gm_view_peak(v).levels;
    const uint64_t cached = gm_less(then.reserved, then.active);
    return cached == GM_REPORT_NONE || cached < then.reserved / LEAST ? 0 : cached;
}

static void add_cached(struct gm_case *c, struct gm_heading *line, const struct gm_view *v, uint64_t cached)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    gm_headline_add(c, line, "unused %s (%s %% of reserved)%s", gm_bytes_format(a, cached),
                    gm_share_format(b, cached, gm_view_peak(v).levels.reserved),
                    v->timeline->filter == NULL ? "" : ", or filtered out");
}

/* Roles say more than categories, if most of the peak has one. What is unused stands where its size puts it. */
static void make_made_of(struct gm_case *c, struct gm_heading *line, const struct gm_view *v)
{
    const struct gm_peak_detail *detail = &v->timeline->peak;
    const struct gm_slice *slices = v->peak->categories;
    size_t count = v->peak->category_count;
    const uint64_t unknown = gm_slice_named(detail->roles, detail->role_count, "Unknown").bytes;
    uint64_t cached = cached_of(v);
    line->label = "Made of";
    if (detail->role_count > 0 && unknown < v->peak->requested / 2) {
        slices = detail->roles;
        count = detail->role_count;
    }
    for (size_t i = 0; i < count && i < SLICES && slices[i].bytes > 0; i++) {
        char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
        if (cached > slices[i].bytes) {
            add_cached(c, line, v, cached);
            cached = 0;
        }
        if (line->count == 0 || slices[i].bytes >= v->peak->requested / LEAST)
            gm_headline_add(c, line, "%s %s (%s %%)", slices[i].name, gm_bytes_format(a, slices[i].bytes),
                            gm_share_format(b, slices[i].bytes, v->peak->requested));
    }
    if (cached > 0)
        add_cached(c, line, v, cached);
    if (line->count == 0)
        gm_headline_add(c, line, v->peak->requested == 0 ? "nothing" : "not known");
}

bool gm_headline_of_peak(struct gm_case *c)
{
    struct gm_heading *lines = c->report->diagnosis.headline;
    struct gm_view view;
    if (!gm_view_highest(&view, c->report))
        return false;
    make_needs(c, &lines[0], &view);
    make_made_of(c, &lines[1], &view);
    gm_headline_of_to_do(c, &view);
    return true;
}
