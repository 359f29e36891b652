/* SPDX-License-Identifier: Apache-2.0
 *
 * README.md: the peak. Of several devices one table compares all; the rest is of the one with the highest peak.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/document/escape.h"
#include "analyze/document/numbers.h"
#include "analyze/document/sites.h"
#include "analyze/words/markdown_parts.h"

#include <inttypes.h>

enum { CATEGORIES = 6, SITES = 5, ROWS = 10 };

void gm_md_label(struct gm_text *out, const char *label)
{
    if (label == NULL)
        gm_text_add_char(out, '-');
    else if (!gm_site_has_stack(label))
        gm_md_prose(out, label, GM_MD_NAME);
    else
        gm_md_site(out, label);
}

void gm_md_event_cell(struct gm_text *out, uint64_t event)
{
    char s[GM_NUMBER_TEXT];
    gm_text_printf(out, " %s |", gm_event_format(s, event));
}

void gm_md_since_cell(struct gm_text *out, const struct gm_view *view, uint64_t time_us)
{
    char s[GM_NUMBER_TEXT];
    gm_text_printf(out, " %s |", gm_since_format(s, view, time_us));
}

static void add_device_row(struct gm_text *out, const struct gm_view *v)
{
    const struct gm_moment peak = gm_view_peak(v);
    const struct gm_levels allocated = gm_view_levels(v, v->timeline->peak_allocated.levels);
    gm_text_printf(out, "| %" PRId64 " |", v->device->device);
    gm_md_size_cell(out, peak.levels.requested);
    gm_md_event_cell(out, peak.event);
    gm_md_since_cell(out, v, peak.time_us);
    gm_md_size_cell(out, peak.levels.active);
    gm_md_size_cell(out, peak.levels.reserved);
    gm_md_size_cell(out, gm_less(peak.levels.reserved, peak.levels.active));
    gm_md_size_cell(out, allocated.allocated);
    gm_md_size_cell(out, gm_view_peak_reserved(v));
    gm_text_add_char(out, '\n');
}

static void add_devices(struct gm_text *out, const struct gm_report *report)
{
    gm_text_add(out,
                "| Device | Peak requested | After event | Time | Active then | Reserved then | Cached then | Peak "
                "allocated | Peak reserved |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < report->device_count; i++) {
        struct gm_view view;
        if (!gm_view_of(&view, report, i))
            continue;
        if (!gm_md_room(out, report->device_count - i))
            return;
        add_device_row(out, &view);
    }
}

/* The rows add up to `whole`. */
static void add_slices(struct gm_text *out, const char *title, const struct gm_slice *slices, size_t count,
                       size_t shown, uint64_t whole)
{
    uint64_t rest = 0, blocks = 0;
    if (count <= shown + 1)
        shown = count;
    gm_text_printf(out, "\n| %s | Size | Share | Blocks |\n|:--|--:|--:|--:|\n", title);
    for (size_t i = 0; i < count; i++) {
        if (i >= shown) {
            rest = gm_plus(rest, slices[i].bytes);
            blocks = gm_plus(blocks, slices[i].blocks);
            continue;
        }
        gm_text_add(out, "| ");
        gm_md_prose(out, slices[i].name, GM_MD_NAME);
        gm_text_add(out, " |");
        gm_md_size_cell(out, slices[i].bytes);
        gm_md_percent_cell(out, slices[i].bytes, whole);
        gm_md_count_cell(out, slices[i].blocks);
        gm_text_add_char(out, '\n');
    }
    if (count <= shown)
        return;
    gm_text_printf(out, "| %zu smaller |", count - shown);
    gm_md_size_cell(out, rest);
    gm_md_percent_cell(out, rest, whole);
    gm_md_count_cell(out, blocks);
    gm_text_add_char(out, '\n');
}

static void add_name(struct gm_text *out, const char *name)
{
    gm_text_add_char(out, ' ');
    if (name == NULL)
        gm_text_add_char(out, '-');
    else
        gm_md_prose(out, name, GM_MD_NAME);
    gm_text_add(out, " |");
}

/* Rows of a table of the live set at the peak; what is not listed is one row, so that they add up to `whole`. */
static void add_groups(struct gm_text *out, const struct gm_group_row *rows, size_t count, size_t total,
                       const char *label, uint64_t whole)
{
    uint64_t listed = 0;
    size_t i = 0;
    gm_text_add(out, "\n| Size | Share | Peak without it | Category | Role |");
    add_name(out, label);
    gm_text_add(out, "\n|--:|--:|--:|:--|:--|:--|\n");
    for (; i < count && gm_md_room(out, count - i); i++) {
        const struct gm_group_row *row = &rows[i];
        gm_text_add_char(out, '|');
        gm_md_size_cell(out, row->bytes);
        gm_md_percent_cell(out, row->bytes, whole);
        gm_md_size_cell(out, row->peak_without);
        add_name(out, row->category);
        add_name(out, row->role);
        gm_text_add_char(out, ' ');
        gm_md_label(out, row->label);
        gm_text_add(out, " |\n");
        listed = gm_plus(listed, row->bytes);
    }
    if (i < count || total <= count || gm_less(whole, listed) == GM_REPORT_NONE)
        return;
    gm_text_add_char(out, '|');
    gm_md_size_cell(out, whole - listed);
    gm_md_percent_cell(out, whole - listed, whole);
    gm_text_printf(out, " | | | %zu more |\n", total - count);
}

void gm_md_peak(struct gm_text *out, const struct gm_report *report)
{
    struct gm_view v;
    if (!gm_view_highest(&v, report))
        return;
    const struct gm_peak_detail *d = &v.timeline->peak;
    gm_text_add(out, "\n## Peak\n\n");
    add_devices(out, report);
    if (gm_view_count(report) > 1)
        gm_text_printf(out, "\nWhat follows is of device %" PRId64 "; the others are in `analysis_report.txt`.\n",
                       v.device->device);
    if (!v.is_reconstructed) {
        gm_text_add(out, "\nAllocated and active bytes are not known: ");
        gm_md_prose(out, v.timeline->books.reason != NULL ? v.timeline->books.reason : "not reconstructed", 300);
        gm_text_add(out, ".\n");
    }
    add_slices(out, "Category at the peak", v.peak->categories, v.peak->category_count, CATEGORIES, v.peak->requested);
    if (d->role_count > 0)
        add_slices(out, "Role at the peak", d->roles, d->role_count, SIZE_MAX - 1, v.peak->requested);
    if (d->site_count > 0)
        add_groups(out, d->sites, gm_min(d->site_count, SITES), d->site_total, "Call site at the peak",
                   v.peak->requested);
}

static void add_next(struct gm_text *out, const struct gm_view *v)
{
    const struct gm_peak_detail *d = &v->timeline->peak;
    gm_text_add(out, "\n| Next peak | After event | Time | Most of it | Made in |\n|--:|--:|--:|--:|:--|\n");
    for (size_t i = 0; i < d->next_count && gm_md_room(out, d->next_count - i); i++) {
        const struct gm_next_peak *next = &d->next[i];
        gm_text_add_char(out, '|');
        gm_md_size_cell(out, next->moment.levels.requested);
        gm_md_event_cell(out, next->moment.event);
        gm_md_since_cell(out, v, next->moment.time_us);
        gm_md_size_cell(out, next->top_label != NULL ? next->top_bytes : GM_REPORT_NONE);
        gm_text_add_char(out, ' ');
        gm_md_label(out, next->top_label);
        gm_text_add(out, " |\n");
    }
}

static void add_savings(struct gm_text *out, const struct gm_view *v)
{
    const struct gm_peak_detail *d = &v->timeline->peak;
    gm_md_fold(out, "What would lower the peak");
    gm_text_add(out, "Each is removed in addition to those above it; the peak is looked for anew.\n\n"
                     "| | Peak after | Saved | Share | At the peak | Made in |\n|--:|--:|--:|--:|--:|:--|\n");
    for (size_t i = 0; i < d->saving_count && gm_md_room(out, d->saving_count - i); i++) {
        const struct gm_saving *s = &d->savings[i];
        gm_text_printf(out, "| %zu |", i + 1);
        gm_md_size_cell(out, s->peak_after);
        gm_md_size_cell(out, s->saved);
        gm_md_percent_cell(out, s->saved, v->peak->requested);
        gm_md_size_cell(out, s->bytes_at_peak);
        gm_text_add_char(out, ' ');
        gm_md_label(out, s->label);
        gm_text_add(out, " |\n");
    }
    gm_md_unfold(out);
}

void gm_md_peak_details(struct gm_text *out, const struct gm_report *report)
{
    struct gm_view v;
    if (!gm_view_highest(&v, report))
        return;
    const struct gm_peak_detail *d = &v.timeline->peak;
    if (d->saving_count > 0)
        add_savings(out, &v);
    if (d->lifetime_count == 0 && d->group_count == 0 && d->next_count == 0 && d->site_count <= SITES)
        return;
    gm_md_fold(out, "More of the peak: lifetimes, call sites, the next peaks");
    if (d->lifetime_count > 0)
        add_slices(out, "Lifetime", d->lifetimes, d->lifetime_count, ROWS, v.peak->requested);
    if (d->group_count > 0)
        add_groups(out, d->groups, gm_min(d->group_count, ROWS), d->group_total,
                   d->group_by != NULL ? d->group_by : "group", v.peak->requested);
    if (d->site_count > SITES)
        add_groups(out, d->sites, gm_min(d->site_count, 2 * ROWS), d->site_total, "Call site", v.peak->requested);
    if (d->next_count > 0)
        add_next(out, &v);
    gm_md_unfold(out);
}
