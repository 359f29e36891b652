/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_overview: peaks of the runs side by side, what they were made of, and what changed most.
 */
#include "render/diff_charts.h"
#include "render/fold.h"

#include <string.h>

enum { CHANGES = 10 };
static const double label_width = 176, bar_x = GM_PAGE_LEFT + 184, value_width = 244;
#define BAR_WIDTH (GM_PAGE_RIGHT - value_width - bar_x)

static size_t shown_runs(const struct gm_comparison *c)
{
    return c->run_count < GM_RUNS_DRAWN ? c->run_count : GM_RUNS_DRAWN;
}

/* ---- levels ------------------------------------------------------------------------------------------------------ */

/* Right of a bar: how much the i-th run has, and how that compares with BASE. */
static void draw_value(struct gm_display *d, double middle, size_t i, uint64_t base, uint64_t bytes)
{
    struct gm_style change = gm_style_end;
    gm_put_between(d, GM_PAGE_RIGHT - value_width + 6, GM_PAGE_RIGHT - 152, middle, gm_style_value,
                   gm_size_text(d, bytes));
    change.color = gm_change_color(i == 0 || base == GM_REPORT_NONE ? 0 : gm_diff_delta(base, bytes));
    if (i > 0)
        gm_put_between(d, GM_PAGE_RIGHT - 146, GM_PAGE_RIGHT, middle, change, gm_change_text(d, base, bytes));
}

/* One group of bars, a run each. */
static void draw_level(struct gm_page *page, const struct gm_comparison *c, enum gm_level level, bool at_peak,
                       const struct gm_chart_axis *axis)
{
    const double pitch = 20, bar = 14;
    struct gm_display *d = page->display;
    struct gm_style name = gm_style_label;
    name.weight = GM_BOLD;
    gm_put(d, GM_PAGE_LEFT, page->y + 8, label_width, name,
           gm_display_printf(d, "%s%s", at_peak ? "peak " : "", gm_level_name(level)));
    page->y += 18;
    const uint64_t base = gm_summary_level(c->runs[0], level, at_peak);
    for (size_t i = 0; i < shown_runs(c); i++) {
        const uint64_t bytes = gm_summary_level(c->runs[i], level, at_peak);
        const double middle = page->y + pitch / 2;
        gm_put(d, GM_PAGE_LEFT + 10, middle, label_width - 10, gm_style_note,
               gm_run_label(d, c, i, label_width - 10, GM_TEXT_SMALL));
        page->y += pitch;
        if (bytes == GM_REPORT_NONE) {
            gm_put(d, bar_x + 4, middle, BAR_WIDTH, gm_style_note, "not known");
            continue;
        }
        gm_display_rect(d, bar_x, middle - bar / 2, gm_axis_span(axis, bytes, BAR_WIDTH), bar,
                        gm_solid(gm_run_color(i)), GM_RECT_BAR);
        draw_value(d, middle, i, base, bytes);
    }
    page->y += 6;
}

static void draw_levels(struct gm_page *page, const struct gm_comparison *c, bool at_peak)
{
    static const enum gm_level levels[] = {GM_LEVEL_RESERVED, GM_LEVEL_ALLOCATED, GM_LEVEL_REQUESTED};
    uint64_t most = 0;
    for (size_t i = 0; i < shown_runs(c); i++)
        for (int k = 0; k < 3; k++) {
            const uint64_t bytes = gm_summary_level(c->runs[i], levels[k], at_peak);
            most = bytes != GM_REPORT_NONE && bytes > most ? bytes : most;
        }
    const struct gm_chart_axis axis = gm_axis_bytes(most);
    gm_page_section(page, at_peak ? "Peaks" : "Totals at the end", "change against the base at the right");
    const double top = page->y, height = 3 * (24 + 20 * (double)shown_runs(c));
    gm_axis_draw(page->display, &axis, bar_x, BAR_WIDTH, top, top + height);
    for (int k = 0; k < 3; k++)
        draw_level(page, c, levels[k], at_peak, &axis);
    page->y = top + height + GM_AXIS_HEIGHT;
    if (c->run_count > GM_RUNS_DRAWN)
        gm_page_note(page, gm_display_printf(page->display, "%zu more runs are not drawn; diff_report.txt has them",
                                             c->run_count - GM_RUNS_DRAWN));
    page->y += 20;
}

/* ---- categories -------------------------------------------------------------------------------------------------- */

/* The categories of all runs, each with its largest share; largest first. NULL: no memory. */
static struct gm_slice *merge(struct gm_display *d, const struct gm_comparison *c, bool at_peak, size_t *count)
{
    size_t n = 0;
    for (size_t i = 0; i < shown_runs(c); i++)
        n += gm_summary_categories(c->runs[i], at_peak)->n;
    struct gm_slice *all = gm_arena_calloc(&d->arena, n, sizeof *all);
    d->failed |= all == NULL;
    *count = 0;
    const struct gm_slice *next = NULL;
    while (all != NULL && (next = gm_diff_next_category(c, NULL, shown_runs(c), at_peak, all, *count)) != NULL)
        all[(*count)++] = *next;
    return all;
}

static void draw_categories(struct gm_page *page, const struct gm_comparison *c, bool at_peak)
{
    const double pitch = 34, bar = 26;
    struct gm_display *d = page->display;
    size_t count;
    const struct gm_slice *all = merge(d, c, at_peak, &count);
    if (all == NULL)
        return;
    gm_page_section(page, "By category", at_peak ? "requested bytes at the peak" : "allocated bytes at the end");
    const struct gm_folded f = gm_fold_categories(d, all, count, 10);
    if (f.n == 0) {
        gm_page_empty(page, "Nothing was allocated in any of the runs.");
        return;
    }
    uint64_t most = 0, base = 0;
    struct gm_piece parts[GM_FOLD_ROWS];
    for (size_t i = 0; i < shown_runs(c); i++) {
        gm_fold_like(&f, gm_summary_categories(c->runs[i], at_peak)->v, gm_summary_categories(c->runs[i], at_peak)->n,
                     parts);
        const uint64_t sum = gm_pieces_sum(parts, f.n);
        most = sum > most ? sum : most;
        base = i == 0 ? sum : base;
    }
    const struct gm_chart_axis axis = gm_axis_bytes(most);
    const double bottom = page->y + pitch * (double)shown_runs(c);
    gm_axis_draw(d, &axis, bar_x, BAR_WIDTH, page->y, bottom);
    for (size_t i = 0; i < shown_runs(c); i++) {
        const double middle = page->y + pitch * ((double)i + 0.5);
        gm_fold_like(&f, gm_summary_categories(c->runs[i], at_peak)->v, gm_summary_categories(c->runs[i], at_peak)->n,
                     parts);
        gm_put(d, GM_PAGE_LEFT, middle, label_width, gm_style_note, gm_run_label(d, c, i, label_width, GM_TEXT_SMALL));
        gm_stacked_bar(d, bar_x, middle - bar / 2, BAR_WIDTH, bar, parts, f.n, axis.step * axis.steps);
        draw_value(d, middle, i, base, gm_pieces_sum(parts, f.n));
    }
    page->y = bottom + GM_AXIS_HEIGHT + 6;
    page->y += gm_keys(d, page->y, f.parts, f.n);
    gm_fold_note(page, all, &f);
    page->y += 20;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

struct change {
    const char *name;
    uint64_t base, after;
    int64_t delta;
};

/* Bars to the left (less) and to the right (more) of a middle line. */
static void draw_changes(struct gm_page *page, const struct change *changes, size_t n, double name_width)
{
    const double pitch = 22, bar = 13, left = GM_PAGE_LEFT + name_width + 8, right = GM_PAGE_RIGHT - 176;
    const double middle_x = (left + right) / 2, half = (right - left) / 2;
    struct gm_display *d = page->display;
    uint64_t most = 1;
    for (size_t i = 0; i < n; i++)
        most = gm_diff_size(changes[i].delta) > most ? gm_diff_size(changes[i].delta) : most;
    for (size_t i = 0; i < n; i++) {
        const double middle = page->y + pitch * ((double)i + 0.5);
        const double span = half * ((double)gm_diff_size(changes[i].delta) / (double)most);
        const double width = span < 0.5 ? 0.5 : span;
        struct gm_style value = gm_style_end;
        value.color = gm_change_color(changes[i].delta);
        gm_put(d, GM_PAGE_LEFT, middle, name_width, gm_style_label,
               gm_shorten_site(d, gm_name(changes[i].name), name_width, GM_TEXT_BODY, GM_REGULAR));
        gm_display_rect(d, changes[i].delta < 0 ? middle_x - width : middle_x, middle - bar / 2, width, bar,
                        gm_solid(gm_change_color(changes[i].delta)), GM_RECT_BAR);
        gm_put_between(d, right + 8, GM_PAGE_RIGHT, middle, value,
                       gm_change_text(d, changes[i].base, changes[i].after));
    }
    gm_display_line(d, middle_x, page->y, middle_x, page->y + pitch * (double)n, GM_MUTED, false);
    page->y += pitch * (double)n + 26;
}

static void draw_changed_categories(struct gm_page *page, const struct gm_comparison *c)
{
    const struct gm_diff_pair *pair = &c->pairs[0];
    const struct gm_diff_table *table =
        pair->categories_at_peak.sums.is_known ? &pair->categories_at_peak : &pair->categories;
    struct change changes[CHANGES];
    size_t n = 0;
    for (; n < table->count && n < CHANGES; n++)
        changes[n] = (struct change){table->rows[n].name, table->rows[n].base.bytes, table->rows[n].after.bytes,
                                     table->rows[n].delta};
    if (n == 0)
        return;
    gm_page_section(page,
                    c->run_count > 2 ? gm_display_printf(page->display, "What changed from the base to %s",
                                                         gm_shorten_end(page->display, gm_name(c->labels[1]), 280,
                                                                        GM_TEXT_HEADING, GM_BOLD))
                                     : "What changed, by category",
                    pair->categories_at_peak.sums.is_known ? "at the peak; red grew, blue shrank"
                                                           : "at the end; red grew, blue shrank");
    draw_changes(page, changes, n, 200);
}

/* "forward > einsum  model/attention.py": with what it called. */
static const char *site_text(struct gm_display *d, const struct gm_diff_site *row)
{
    const char *gap = strstr(row->row.name, "  ");
    if (row->via == NULL || gap == NULL)
        return row->row.name;
    return gm_display_printf(d, "%.*s > %s%s", (int)(gap - row->row.name), row->row.name, row->via, gap);
}

static void draw_changed_sites(struct gm_page *page, const struct gm_comparison *c)
{
    const struct gm_diff_pair *pair = &c->pairs[0];
    const struct gm_diff_site_table *table = pair->sites_at_peak.sums.is_known ? &pair->sites_at_peak : &pair->sites;
    struct change changes[CHANGES];
    size_t n = 0;
    for (; n < table->count && n < CHANGES; n++) {
        const struct gm_diff_row *row = &table->rows[n].row;
        changes[n] =
            (struct change){site_text(page->display, &table->rows[n]), row->base.bytes, row->after.bytes, row->delta};
    }
    if (n == 0)
        return;
    gm_page_section(page, "Call sites that changed most",
                    table->count > n ? gm_display_printf(page->display, "%zu of %zu", n, table->count) : NULL);
    draw_changes(page, changes, n, 330);
}

void gm_layout_diff_overview(struct gm_display *display, const struct gm_comparison *c)
{
    struct gm_page page = gm_diff_page_begin(display, c, "Runs compared");
    const bool at_peak = gm_diff_all_traced(c);
    draw_levels(&page, c, at_peak);
    draw_categories(&page, c, at_peak);
    if (c->pairs[0].is_same)
        gm_page_note(&page, "Base and new do not differ in anything that is compared");
    draw_changed_categories(&page, c);
    draw_changed_sites(&page, c);
    gm_page_end(&page);
}
