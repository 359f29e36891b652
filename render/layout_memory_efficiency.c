/* SPDX-License-Identifier: Apache-2.0
 *
 * memory_efficiency: allocated / reserved against the grades, and where the memory is that does not work.
 */
#include "render/charts.h"

#include "render/devices.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const double label_width = 84, bar_x = GM_PAGE_LEFT + 92, bar_width = GM_PAGE_RIGHT - 146 - GM_PAGE_LEFT - 92;
static const double good_from = 95, excellent_from = 98; /* the limits of gm_grade_of */

/* Of the grade's word: dark enough to be read on paper. */
static uint32_t grade_color(enum gm_grade grade)
{
    static const uint32_t colors[] = {[GM_GRADE_NONE] = GM_MUTED,
                                      [GM_GRADE_POOR] = 0xa8431aU,
                                      [GM_GRADE_GOOD] = 0x1f5a96U,
                                      [GM_GRADE_EXCELLENT] = 0x17694eU};
    return colors[grade];
}

/* The scale from 0 to 100% with the two limits. */
static void draw_scale(struct gm_display *d, double y1, double y2)
{
    struct gm_style label = gm_style_note;
    const struct gm_fill good = gm_solid(0xe8f0f9), excellent = gm_solid(0xe2f3ec);
    const double good_x = bar_x + bar_width * good_from / 100, best_x = bar_x + bar_width * excellent_from / 100;
    gm_display_rect(d, good_x, y1, best_x - good_x, y2 - y1, good, GM_RECT_PLAIN);
    gm_display_rect(d, best_x, y1, bar_x + bar_width - best_x, y2 - y1, excellent, GM_RECT_PLAIN);
    for (int percent = 0; percent <= 100; percent += 20) {
        double at = bar_x + bar_width * percent / 100;
        gm_display_line(d, at, y1, at, y2, GM_GRID, false);
        label.anchor = GM_ANCHOR_MIDDLE;
        gm_put(d, at, y2 + 11, 60, label, gm_display_printf(d, "%d%%", percent));
    }
    gm_display_line(d, good_x, y1, good_x, y2, GM_MUTED, true);
    gm_display_line(d, best_x, y1, best_x, y2, GM_MUTED, true);
    label.anchor = GM_ANCHOR_END;
    gm_put(d, good_x + 3, y1 - 8, 200, label, gm_display_printf(d, "good from %.0f%%", good_from));
    label.anchor = GM_ANCHOR_START;
    gm_put(d, best_x - 2, y1 - 8, 130, label, gm_display_printf(d, "excellent over %.0f%%", excellent_from));
}

static void draw_grade_row(struct gm_display *d, const char *name, const struct gm_totals *totals, double middle,
                           bool is_total)
{
    struct gm_style style = gm_style_label;
    style.weight = is_total ? GM_BOLD : GM_REGULAR;
    gm_put(d, GM_PAGE_LEFT, middle, label_width, style, name);
    double percent = gm_totals_efficiency(totals);
    enum gm_grade grade = gm_grade_of(percent);
    const char *text = gm_share_text(d, totals->allocated, totals->reserved);
    double span = percent < 0 ? 0 : bar_width * fmin(percent, 100) / 100;
    if (totals->allocated > 0)
        gm_display_rect(d, bar_x, middle - 9, fmax(span, 0.5), 18, gm_use_fill(GM_USE_ALLOCATED), GM_RECT_BAR);
    double x = bar_x + bar_width + 10;
    if (percent < 0) {
        gm_put_between(d, x, GM_PAGE_RIGHT, middle, gm_style_label, "nothing reserved");
    } else {
        struct gm_style word = {GM_TEXT_BODY, GM_BOLD, grade_color(grade), GM_ANCHOR_START, GM_ELLIPSIS_END};
        gm_put(d, x, middle, 50, gm_style_label, text);
        gm_put_between(d, x + 54, GM_PAGE_RIGHT, middle, word, gm_grade_name(grade));
    }
    if (span > 200) {
        struct gm_style inside = gm_style_note;
        inside.color = gm_text_color_on(gm_use_fill(GM_USE_ALLOCATED).color);
        gm_put(d, bar_x + 7, middle, span - 14, inside,
               gm_display_printf(d, "%s of %s", gm_size_text(d, totals->allocated), gm_size_text(d, totals->reserved)));
    }
}

static void draw_grades(struct gm_page *page, const struct gm_report *report)
{
    const double pitch = 27;
    struct gm_shown_devices shown = gm_devices_shown(report);
    gm_page_section(page, "Allocated / reserved", NULL);
    page->y += 14;
    bool has_total = report->device_count != 1;
    size_t rows = shown.n + has_total;
    double bottom = page->y + pitch * (double)rows;
    draw_scale(page->display, page->y, bottom);
    double middle = page->y + pitch / 2;
    if (has_total) {
        draw_grade_row(page->display, "All devices", &report->totals, middle, true);
        middle += pitch;
    }
    for (size_t i = 0; i < shown.n; i++, middle += pitch)
        draw_grade_row(page->display, gm_device_label(page->display, shown.v[i]), &shown.v[i]->totals, middle, false);
    page->y = bottom + GM_AXIS_HEIGHT;
    gm_devices_note_hidden(page, &shown);
    page->y += 20;
}

/* The ledger's rows. The first is what works; `REST` on are the rest. */
enum { REQUESTED, REST, ROUNDING = REST, PENDING, RELEASABLE, STRANDED, RESIDUAL, ROWS };

static const char *const meanings[ROWS] = {
    [ROUNDING] = "padding inside allocated blocks",      [PENDING] = "freed, still in use by a stream",
    [RELEASABLE] = "cached in unused segments or pages", [STRANDED] = "cached between live blocks that pin it",
    [RESIDUAL] = "the file's numbers do not add up",
};

static void ledger_parts(const struct gm_ledger *ledger, struct gm_piece parts[ROWS])
{
    parts[REQUESTED] = (struct gm_piece){"Requested", ledger->allocated_requested, gm_use_fill(GM_USE_ALLOCATED)};
    parts[ROUNDING] = (struct gm_piece){"Rounding", ledger->allocated_rounding, gm_use_fill(GM_USE_ROUNDING)};
    parts[PENDING] = (struct gm_piece){"Pending free", ledger->pending, gm_use_fill(GM_USE_PENDING)};
    parts[RELEASABLE] = (struct gm_piece){"Releasable", ledger->releasable, gm_use_fill(GM_USE_CACHED)};
    parts[STRANDED] = (struct gm_piece){"Stranded", ledger->stranded, gm_use_fill(GM_USE_STRANDED)};
    parts[RESIDUAL] = gm_unexplained_piece(ledger);
}

static void draw_rest_rows(struct gm_page *page, const struct gm_piece parts[ROWS], uint64_t reserved)
{
    const double pitch = 26, name_width = 96, x = 374, width = 350;
    struct gm_display *d = page->display;
    size_t last = parts[RESIDUAL].bytes > 0 ? RESIDUAL : STRANDED;
    uint64_t largest = 0;
    for (size_t i = REST; i <= last; i++)
        largest = parts[i].bytes > largest ? parts[i].bytes : largest;
    struct gm_chart_axis axis = gm_axis_bytes(largest);
    double bottom = page->y + pitch * (double)(last - REST + 1);
    gm_axis_draw(d, &axis, x, width, page->y, bottom);
    for (size_t i = REST; i <= last; i++) {
        double middle = page->y + pitch * ((double)(i - REST) + 0.5);
        gm_display_rect(d, GM_PAGE_LEFT, middle - 6, 12, 12, parts[i].fill, GM_RECT_SWATCH);
        gm_put(d, GM_PAGE_LEFT + 20, middle, name_width, gm_style_label, parts[i].name);
        gm_put_between(d, GM_PAGE_LEFT + 20 + name_width, x - 8, middle, gm_style_note, meanings[i]);
        double span = gm_axis_span(&axis, parts[i].bytes, width);
        if (span > 0)
            gm_display_rect(d, x, middle - 8, span, 16, parts[i].fill, GM_RECT_BAR);
        gm_put_value(d, x + span + 7, GM_PAGE_RIGHT, middle, gm_style_label,
                     gm_display_printf(d, "%s  (%s)", gm_size_text(d, parts[i].bytes),
                                       gm_share_text(d, parts[i].bytes, reserved)));
    }
    page->y = bottom + GM_AXIS_HEIGHT;
}

static void draw_ledger(struct gm_page *page, const struct gm_report *report)
{
    struct gm_piece parts[ROWS];
    ledger_parts(&report->ledger, parts);
    uint64_t rest = gm_pieces_sum(parts + REST, ROWS - REST), sum = gm_sat_add(rest, parts[REQUESTED].bytes);
    gm_page_section(
        page,
        gm_display_printf(page->display, "The other %s of the reserved memory", gm_size_text(page->display, rest)),
        "percentages: of what is reserved");
    if (sum > 0) {
        gm_stacked_bar(page->display, GM_PAGE_LEFT, page->y, GM_PAGE_INNER, 34, parts, ROWS, (double)sum);
        page->y += 34 + 12;
    }
    draw_rest_rows(page, parts, report->ledger.reserved);
    gm_page_note(page, gm_display_printf(page->display, "torch.cuda.empty_cache() would return %s",
                                         gm_size_text(page->display, report->fragmentation.empty_cache)));
}

static uint64_t device_rest(struct gm_piece *parts, size_t *count, const struct gm_device_report *device,
                            const void *of)
{
    struct gm_piece all[ROWS];
    (void)of;
    ledger_parts(&device->ledger, all);
    *count = ROWS - REST;
    memcpy(parts, all + REST, *count * sizeof *parts);
    return gm_pieces_sum(parts, *count);
}

static void draw_devices(struct gm_page *page, const struct gm_report *report)
{
    page->y += 20;
    gm_page_section(page, "The same by device", "without what was requested; fills as above");
    gm_device_bars(page, report, 26, 18, device_rest, NULL);
}

void gm_layout_memory_efficiency(struct gm_display *display, const struct gm_report *report)
{
    struct gm_page page = gm_page_begin(display, report, "Memory efficiency");
    if (report->totals.reserved == 0) {
        gm_page_section(&page, "Allocated / reserved", NULL);
        gm_page_empty(&page, "The snapshot has no segments: nothing was reserved when it was taken.");
    } else {
        draw_grades(&page, report);
        draw_ledger(&page, report);
        if (report->device_count > 1)
            draw_devices(&page, report);
    }
    gm_page_end(&page);
}
