/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_report.txt: the peak. How high and when, what it was made of, what was fragmentation.
 */
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "analyze/document/sites.h"
#include "analyze/words/text_parts.h"

#include <inttypes.h>
#include <string.h>

enum { CATEGORIES = 10, SITES = 5, SIZE = 11 };

/* "  requested   12,345,678    12.345 s  40.21 GiB ...": all four kinds of bytes at the peak of one. */
static void add_moment(struct gm_text *out, const struct gm_view *v, const char *name, const struct gm_moment *m)
{
    const struct gm_levels l = gm_view_levels(v, m->levels);
    gm_text_printf(out, "  %-9s", name);
    gm_text_event(out, m->event, 13);
    gm_text_since(out, v, m->time_us, 12);
    gm_text_size(out, l.requested, SIZE);
    gm_text_size(out, l.allocated, SIZE);
    gm_text_size(out, l.active, SIZE);
    gm_text_size(out, l.reserved, SIZE);
    gm_text_add_char(out, '\n');
}

static void add_moments(struct gm_text *out, const struct gm_view *v)
{
    const struct gm_device_timeline *t = v->timeline;
    const struct gm_moment peak = gm_view_peak(v);
    gm_text_printf(out, "  %-9s%13s%12s%*s%*s%*s%*s\n", "peak of", "after event", "time", SIZE, "requested", SIZE,
                   "allocated", SIZE, "active", SIZE, "reserved");
    add_moment(out, v, "requested", &peak);
    if (v->is_reconstructed) {
        add_moment(out, v, "allocated", &t->peak_allocated);
        add_moment(out, v, "active", &t->peak_active);
    }
    struct gm_moment reserved = t->peak_reserved;
    bool is_known = reserved.levels.reserved != GM_REPORT_NONE && reserved.levels.reserved > 0;
    if (is_known)
        add_moment(out, v, "reserved", &reserved);
    else
        gm_text_paragraph(out, 2, "The peak of reserved bytes is not known.");
    if (!v->is_reconstructed)
        gm_text_paragraph(out, 2, "Allocated and active bytes are not known (n/a): %s.", gm_view_reason(v));
    const struct gm_step_row *step = gm_view_step(v, peak.event);
    enum gm_phase phase = gm_view_phase(v, peak.event);
    if (step != NULL || phase != GM_PHASE_OTHER)
        gm_text_paragraph(out, 2, "The peak of requested bytes lies in %s%s%s.",
                          step != NULL && step->label != NULL ? step->label
                          : step != NULL                      ? "a step"
                                                              : "",
                          step != NULL && phase != GM_PHASE_OTHER ? ", " : "",
                          phase != GM_PHASE_OTHER ? gm_phase_name(phase) : "");
    if (t->peak.times > 1)
        gm_text_paragraph(out, 2, "%s distinct peaks are as high; this is the first of them.",
                          gm_count_format((char[GM_NUMBER_TEXT]){0}, t->peak.times));
    if (peak.event == GM_REPORT_NONE)
        gm_text_paragraph(out, 2,
                          "`start`: before event 0. What was live before the trace began was never exceeded in "
                          "it; an earlier peak is not recorded.");
}

/* A call site with what the peak would be without it. */
static void add_site(struct gm_text *out, const struct gm_group_row *row, uint64_t whole, bool has_roles)
{
    const char *kind = has_roles ? row->role : row->category;
    gm_text_size(out, row->bytes, 12);
    gm_text_percent(out, row->bytes, whole);
    gm_text_size(out, row->peak_without, 11);
    gm_text_add(out, "  ");
    gm_columns_cell(out, kind != NULL ? kind : "-", 15, GM_CELL_LEFT);
    gm_text_add(out, "  ");
    gm_site_row(out, row->label, GM_LINE - 50);
    gm_text_add_char(out, '\n');
}

static void add_sites(struct gm_text *out, const struct gm_view *v)
{
    const struct gm_peak_detail *detail = &v->timeline->peak;
    size_t n = detail->site_count < SITES ? detail->site_count : SITES;
    bool has_roles = false;
    for (size_t i = 0; i < n; i++)
        has_roles = has_roles || detail->sites[i].role != NULL;
    if (n == 0)
        return;
    gm_text_printf(out, "\n%12s%8s%11s  %-15s  %s\n", "call sites", "share", "without", has_roles ? "role" : "category",
                   "made in");
    for (size_t i = 0; i < n; i++)
        add_site(out, &detail->sites[i], v->peak->requested, has_roles);
    if (n < detail->site_total)
        gm_text_paragraph(out, 2, "%zu more: see PEAK TABLES. `without`: what the peak would be without the site.",
                          detail->site_total - n);
}

/* a - b where both are known; less than nothing if blocks lie outside all segments. */
static void add_difference(struct gm_text *out, uint64_t a, uint64_t b, size_t columns)
{
    char s[GM_NUMBER_TEXT];
    if (gm_less(a, b) != GM_REPORT_NONE || gm_less(b, a) == GM_REPORT_NONE || b - a > INT64_MAX)
        gm_text_size(out, gm_less(a, b), columns);
    else
        gm_columns_cell(out, gm_signed_bytes_format(s, -(int64_t)(b - a)), columns, GM_CELL_RIGHT);
}

static void add_book(struct gm_text *out, char sign, const char *name, uint64_t then, uint64_t most)
{
    gm_text_printf(out, "  %c %-38s", sign, name);
    gm_text_size(out, then, 16);
    gm_text_size(out, most, 20);
    gm_text_add_char(out, '\n');
}

/* Where every reserved byte was, at two moments. */
static void add_unused(struct gm_text *out, const struct gm_view *v)
{
    const struct gm_levels a = gm_view_peak(v).levels;
    const struct gm_levels b = gm_view_levels(v, v->timeline->peak_reserved.levels);
    gm_text_add_char(out, '\n');
    if (!v->is_reconstructed) {
        gm_text_paragraph(out, 2, "How much of it was fragmentation is not known: %s.", gm_view_reason(v));
        return;
    }
    gm_text_printf(out, "  %-40s%16s%20s\n", "From requested to reserved", "at this peak",
                   a.reserved == b.reserved ? "when first reserved" : "at peak reserved");
    add_book(out, ' ', "requested by the program", a.requested, b.requested);
    add_book(out, '+', "rounding (active - requested)", gm_less(a.active, a.requested), gm_less(b.active, b.requested));
    /* A filter may leave allocations out, which then look like cached bytes. */
    gm_text_printf(out, "  + %-38s",
                   v->timeline->filter == NULL ? "cached, in nobody's use" : "cached, or left out by the filter");
    add_difference(out, a.reserved, a.active, 16);
    add_difference(out, b.reserved, b.active, 20);
    gm_text_add_char(out, '\n');
    add_book(out, '=', "reserved from the driver", a.reserved, b.reserved);
    add_book(out, ' ', "  active but freed (pending a stream)", gm_less(a.active, a.allocated),
             gm_less(b.active, b.allocated));
    gm_text_printf(out, "    %-38s", "  cached, of reserved");
    gm_text_repeat(out, ' ', 8);
    gm_text_percent(out, gm_less(a.reserved, a.active), a.reserved);
    gm_text_repeat(out, ' ', 12);
    gm_text_percent(out, gm_less(b.reserved, b.active), b.reserved);
    gm_text_add_char(out, '\n');
    if (gm_less(a.active, a.reserved) != GM_REPORT_NONE && a.active > a.reserved)
        gm_text_paragraph(out, 4, "More is active than reserved: blocks lie outside all segments.");
}

static void add_peak(struct gm_text *out, const struct gm_report *report, const struct gm_view *v)
{
    (void)report;
    const struct gm_peak_detail *detail = &v->timeline->peak;
    add_moments(out, v);
    gm_text_add_char(out, '\n');
    gm_text_slices(out, "Live then, by category", v->peak->categories, v->peak->category_count, CATEGORIES,
                   v->peak->requested);
    gm_text_add_char(out, '\n');
    gm_text_slices(out, "by role", detail->roles, detail->role_count, SIZE_MAX - 1, v->peak->requested);
    add_sites(out, v);
    add_unused(out, v);
}

void gm_text_peak(struct gm_text *out, const struct gm_report *report)
{
    gm_text_views(out, report, "PEAK", add_peak);
}
