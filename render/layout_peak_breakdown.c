/* SPDX-License-Identifier: Apache-2.0
 *
 * peak_breakdown: what the peak of requested bytes was made of, on the device where it was highest: by what the
 * reserved memory was doing then, by category, role and lifetime, and by call site with what the peak would be without.
 */
#include "analyze/base/arithmetic.h"
#include "render/charts.h"

#include "render/devices.h"
#include "render/fold.h"

#include <math.h>

enum { MOST_SITES = 20, LEAST_SITES = 5, SLICE_ROWS = 12, MOST_DEVICES = GM_TRACED_SHOWN };
#define DOT "  \xc2\xb7  "

/* ---- the sums at the peak ---------------------------------------------------------------------------------------- */

/* A trace of torch.profiler: what is reserved is stated, what is in no event is cached or older than the trace. */
static void draw_stated(struct gm_page *page, const struct gm_traced *traced)
{
    const uint64_t requested = traced->peak->requested, reserved = traced->peak->levels.reserved;
    struct gm_display *d = page->display;
    if (reserved == GM_REPORT_NONE || reserved < requested) {
        gm_page_note(page, "Not known: no event of the trace states it");
        page->y += 16;
        return;
    }
    const struct gm_piece parts[] = {
        {"Requested", requested, gm_use_fill(GM_USE_ALLOCATED)},
        {"Cached, or older than the trace", reserved - requested, gm_use_fill(GM_USE_CACHED)}};
    gm_stacked_bar(d, GM_PAGE_LEFT, page->y, GM_PAGE_INNER, 36, parts, 2, (double)reserved);
    page->y += 36 + 8;
    page->y += gm_legend(d, page->y, 2, parts, 2, reserved) + 4;
    gm_page_note(page, gm_display_printf(d, "%s reserved, as the trace states it; %s of that are in no event",
                                         gm_size_text(d, reserved), gm_size_text(d, reserved - requested)));
    page->y += 20;
}

static void draw_reconciliation(struct gm_page *page, const struct gm_report *report, const struct gm_traced *traced)
{
    const struct gm_levels *l = &traced->peak->levels;
    struct gm_display *d = page->display;
    gm_page_section(page, gm_traced_heading(d, report, traced, "Reserved memory at that moment"),
                    report->lacks_end ? NULL : "fragmentation: the cached part, reserved but not active");
    if (report->lacks_end) {
        draw_stated(page, traced);
        return;
    }
    if (l->active == GM_REPORT_NONE || l->reserved == GM_REPORT_NONE || l->reserved == 0) {
        const char *reason = traced->timeline->reconciliation.reason;
        gm_page_note(page, reason == NULL ? "Not known: the sizes of blocks were not reconstructed."
                                          : gm_display_printf(d, "Not known: %s",
                                                              gm_shorten_end(d, reason, GM_PAGE_INNER - 80,
                                                                             GM_TEXT_SMALL, GM_REGULAR)));
        page->y += 16;
        return;
    }
    const uint64_t cached = gm_sat_sub(l->reserved, l->active),
                   rounding = gm_sat_sub(l->active, traced->peak->requested);
    const uint64_t whole = cached > 0 ? l->reserved : l->active; /* more is active where blocks lie outside segments */
    const struct gm_piece parts[] = {{"Requested", traced->peak->requested, gm_use_fill(GM_USE_ALLOCATED)},
                                     {"Rounding", rounding, gm_use_fill(GM_USE_ROUNDING)},
                                     {"Cached", cached, gm_use_fill(GM_USE_CACHED)}};
    gm_stacked_bar(d, GM_PAGE_LEFT, page->y, GM_PAGE_INNER, 36, parts, 3, (double)whole);
    page->y += 36 + 8;
    page->y += gm_legend(d, page->y, 3, parts, 3, whole) + 4;
    const char *all = gm_size_text(d, l->reserved);
    const char *sums =
        gm_display_printf(d, "%s requested + %s rounding = %s active", gm_size_text(d, traced->peak->requested),
                          gm_size_text(d, rounding), gm_size_text(d, l->active));
    sums = l->active > l->reserved
               ? gm_display_printf(d, "%s, but %s reserved: blocks lie outside all segments", sums, all)
               : gm_display_printf(d, "%s; + %s cached = %s reserved", sums, gm_size_text(d, cached), all);
    if (l->allocated != GM_REPORT_NONE && l->allocated < l->active)
        sums = gm_display_printf(d, "%s. Of what is active %s are pending", sums,
                                 gm_size_text(d, l->active - l->allocated));
    gm_page_note(page, sums);
    page->y += 20;
}

/* ---- by category, role, lifetime --------------------------------------------------------------------------------- */

static void draw_slices(struct gm_page *page, const char *heading, const char *remark, const struct gm_slice *slices,
                        size_t count)
{
    struct gm_folded f = gm_fold_categories(page->display, slices, count, SLICE_ROWS);
    if (f.n == 0)
        return;
    gm_page_section(page, heading, remark);
    gm_stacked_bar(page->display, GM_PAGE_LEFT, page->y, GM_PAGE_INNER, 36, f.parts, f.n, (double)f.bytes);
    page->y += 36 + 8;
    page->y += gm_legend(page->display, page->y, 2, f.parts, f.n, f.bytes) + 4;
    gm_fold_note(page, slices, &f);
    page->y += 22;
}

/* ---- by call site ------------------------------------------------------------------------------------------------ */

static const double site_end = 392, bar_x = 404, bar_width = 220, value_end = 720, without_end = GM_PAGE_RIGHT;

static void draw_site(struct gm_display *d, const struct gm_traced *traced, const struct gm_chart_axis *axis,
                      const struct gm_group_row *site, double y)
{
    struct gm_style style = gm_style_label;
    style.size = GM_TEXT_SMALL;
    style.ellipsis = GM_ELLIPSIS_MIDDLE;
    const double room = site_end - GM_PAGE_LEFT;
    gm_put_between(d, GM_PAGE_LEFT, site_end, y + 8.5, style,
                   gm_shorten_site(d, gm_name(site->label), room, style.size, style.weight));
    const char *what = gm_shorten_end(d, gm_name(site->category), room / 2, style.size, style.weight);
    if (site->role != NULL)
        what = gm_display_printf(d, "%s" DOT "%s", what,
                                 gm_shorten_end(d, site->role, room / 4, style.size, style.weight));
    what = gm_display_printf(d, "%s" DOT "%s block%s", what, gm_number_text(d, site->blocks),
                             site->blocks == 1 ? "" : "s");
    gm_put_between(d, GM_PAGE_LEFT, site_end, y + 22.5, gm_style_note, what);
    const double middle = y + 15.5, span = gm_axis_span(axis, site->bytes, bar_width);
    gm_display_rect(d, bar_x, middle - 8, span, 16, gm_solid(site->color), GM_RECT_BAR);
    gm_put_value(d, bar_x + span + 6, bar_x + span + 90, middle, gm_style_label, gm_size_text(d, site->bytes));
    if (site->peak_without == GM_REPORT_NONE)
        return;
    const char *percent =
        gm_share_text(d, gm_sat_sub(traced->peak->requested, site->peak_without), traced->peak->requested);
    const char *size = gm_size_text(d, site->peak_without);
    gm_put_between(d, value_end + 4, without_end, middle, gm_style_value,
                   site->peak_without >= traced->peak->requested ? gm_display_printf(d, "%s (no less)", size)
                                                                 : gm_display_printf(d, "%s (%s less)", size, percent));
}

static bool is_any_without(const struct gm_peak_detail *detail, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (detail->sites[i].peak_without != GM_REPORT_NONE)
            return true;
    return false;
}

/* What the rows shown leave out. */
static void note_rest(struct gm_page *page, const struct gm_peak_detail *detail, size_t n)
{
    uint64_t bytes = detail->site_rest_bytes, blocks = detail->site_rest_blocks;
    for (size_t i = n; i < detail->site_count; i++) {
        bytes = gm_sat_add(bytes, detail->sites[i].bytes);
        blocks = gm_sat_add(blocks, detail->sites[i].blocks);
    }
    if (detail->site_total <= n)
        return;
    gm_page_note(page, gm_display_printf(page->display, "+ %s more call site%s: %s in %s block%s",
                                         gm_digits_text(page->display, detail->site_total - n),
                                         detail->site_total - n == 1 ? "" : "s", gm_size_text(page->display, bytes),
                                         gm_digits_text(page->display, blocks), blocks == 1 ? "" : "s"));
}

/* Sites that hold next to nothing are not worth a row, unless there are few. */
static size_t sites_shown(const struct gm_peak_detail *detail, uint64_t requested)
{
    size_t n = detail->site_count < MOST_SITES ? detail->site_count : MOST_SITES;
    while (n > LEAST_SITES && (double)detail->sites[n - 1].bytes * 1000 < (double)requested * GM_FOLD_PERMILLE)
        n--;
    return n;
}

static void draw_sites(struct gm_page *page, const struct gm_traced *traced)
{
    const double pitch = 34;
    struct gm_display *d = page->display;
    const struct gm_peak_detail *detail = &traced->timeline->peak;
    const size_t n = sites_shown(detail, traced->peak->requested);
    if (n == 0)
        return;
    gm_page_section(page, n == 1 ? "The call site" : gm_display_printf(d, "The %zu largest call sites", n), NULL);
    page->y += 3;
    gm_put_between(d, GM_PAGE_LEFT, site_end, page->y, gm_style_note, "where; category and role of most; blocks");
    gm_put_between(d, bar_x, value_end, page->y, gm_style_note, "requested bytes live at the peak");
    if (is_any_without(detail, n))
        gm_put_between(d, value_end + 4, without_end, page->y, gm_style_end, "peak without it");
    page->y += 12;
    uint64_t largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = detail->sites[i].bytes > largest ? detail->sites[i].bytes : largest;
    const struct gm_chart_axis axis = gm_axis_bytes(largest);
    const double bottom = page->y + pitch * (double)n;
    gm_axis_draw(d, &axis, bar_x, bar_width, page->y, bottom);
    for (size_t i = 0; i < n; i++)
        draw_site(d, traced, &axis, &detail->sites[i], page->y + pitch * (double)i);
    page->y = bottom + GM_AXIS_HEIGHT;
    note_rest(page, detail, n);
    if (is_any_without(detail, n))
        gm_page_note(page,
                     "Peak without it: computed over the whole trace; the highest moment may then be another one");
    page->y += 20;
}

/* ---- the other devices ------------------------------------------------------------------------------------------- */

enum { MOST_KEYS = 32 };

/* A device may hold what the highest peak has none of: all colours are named. */
static void add_keys(struct gm_piece keys[MOST_KEYS], size_t *n, const struct gm_folded *f)
{
    for (size_t i = 0; i < f->n && *n < MOST_KEYS; i++) {
        const bool is_folded = f->folded > 0 && i + 1 == f->n;
        size_t k = 0;
        while (k < *n && (keys[k].fill.color != f->parts[i].fill.color || keys[k].fill.hatch != f->parts[i].fill.hatch))
            k++;
        if (k == *n)
            keys[(*n)++] = (struct gm_piece){is_folded ? "smaller ones" : f->parts[i].name, 0, f->parts[i].fill};
    }
}

static void draw_devices(struct gm_page *page, const struct gm_report *report)
{
    const double label_width = 84, x = GM_PAGE_LEFT + label_width + 8, width = GM_PAGE_RIGHT - 92 - x;
    const double bar = 20, pitch = 26;
    const struct gm_traced_devices devices = gm_traced_devices(report);
    struct gm_display *d = page->display;
    if (devices.n < 2)
        return;
    gm_page_section(page, "Peaks of the devices, by category", "each at its own moment; at the bar's end: requested");
    uint64_t largest = 0;
    for (size_t i = 0; i < devices.n; i++)
        largest = devices.v[i].peak->requested > largest ? devices.v[i].peak->requested : largest;
    const struct gm_chart_axis axis = gm_axis_bytes(largest);
    const double bottom = page->y + pitch * (double)devices.n;
    struct gm_piece keys[MOST_KEYS];
    size_t key_count = 0;
    gm_axis_draw(d, &axis, x, width, page->y, bottom);
    for (size_t i = 0; i < devices.n; i++) {
        const struct gm_peak *peak = devices.v[i].peak;
        const double middle = page->y + pitch * ((double)i + 0.5);
        struct gm_folded f = gm_fold_categories(d, peak->categories, peak->category_count, SLICE_ROWS);
        gm_put(d, GM_PAGE_LEFT, middle, label_width, gm_style_label, gm_device_label(d, devices.v[i].device));
        gm_stacked_bar(d, x, middle - bar / 2, width, bar, f.parts, f.n, axis.step * axis.steps);
        add_keys(keys, &key_count, &f);
        gm_put_value(d, x + fmin(gm_axis_span(&axis, f.bytes, width), width) + 8, GM_PAGE_RIGHT, middle, gm_style_label,
                     gm_size_text(d, peak->requested));
    }
    page->y = bottom + GM_AXIS_HEIGHT + 12;
    page->y += gm_keys(d, page->y, keys, key_count);
    gm_traced_note_hidden(page, &devices);
    page->y += 20;
}

void gm_layout_peak_breakdown(struct gm_display *display, const struct gm_report *report)
{
    struct gm_traced traced;
    const bool has_trace = gm_traced_highest(report, &traced);
    if (!has_trace || traced.peak->requested == 0) {
        struct gm_page empty = gm_page_begin(display, report, "What the peak was made of");
        gm_page_section(&empty, "The peak of requested bytes", NULL);
        gm_page_empty(&empty, has_trace ? "Nothing was live at any moment of the trace."
                                        : "The snapshot has no trace: its history was not recorded.");
        gm_page_end(&empty);
        return;
    }
    struct gm_page page =
        gm_page_begin_with(display, report, "What the peak was made of", gm_peak_line(display, report, &traced));
    const struct gm_peak_detail *detail = &traced.timeline->peak;
    draw_reconciliation(&page, report, &traced);
    draw_slices(&page, gm_traced_heading(display, report, &traced, "Requested bytes by category"),
                "category: what code made them, told by the stack", traced.peak->categories,
                traced.peak->category_count);
    if (detail->role_count > 0)
        draw_slices(&page, gm_traced_heading(display, report, &traced, "Requested bytes by role"),
                    "role: what for, inferred from stacks, lifetimes and sizes", detail->roles, detail->role_count);
    if (detail->lifetime_count > 0)
        draw_slices(&page, gm_traced_heading(display, report, &traced, "Requested bytes by lifetime"), NULL,
                    detail->lifetimes, detail->lifetime_count);
    draw_sites(&page, &traced);
    draw_devices(&page, report);
    page.y -= 16;
    gm_page_end(&page);
}
