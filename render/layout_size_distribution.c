/* SPDX-License-Identifier: Apache-2.0
 *
 * size_distribution: active and cached blocks by size, as bytes and as numbers of blocks.
 */
#include "render/charts.h"

#include <stdbool.h>

static const double label_width = 132, panel_width = 264, value_room = 76, bar_height = 13, pitch = 36;

enum { LEAST_ROWS = 3 };

/* The bins that are shown: [first, end). */
struct rows {
    size_t first, end;
};

static bool is_empty(const struct gm_histogram_bin *bin)
{
    return bin->active.bytes == 0 && bin->active.blocks == 0 && bin->cached.bytes == 0 && bin->cached.blocks == 0;
}

/* From the first to the last bin with a block, and some neighbours of a few; none if all are empty. */
static struct rows rows_of(const struct gm_report *report)
{
    struct rows rows = {0, GM_HISTOGRAM_BINS};
    while (rows.end > 0 && is_empty(&report->histogram[rows.end - 1]))
        rows.end--;
    if (rows.end == 0)
        return rows;
    while (is_empty(&report->histogram[rows.first]))
        rows.first++;
    while (rows.end - rows.first < LEAST_ROWS) {
        if (rows.end < GM_HISTOGRAM_BINS)
            rows.end++;
        if (rows.end - rows.first < LEAST_ROWS && rows.first > 0)
            rows.first--;
    }
    return rows;
}

/* Which sizes are not shown, because no block has them. */
static void note_left_out(struct gm_page *page, const struct gm_report *report, const struct rows *rows)
{
    struct gm_display *d = page->display;
    char from[GM_NUMBER_TEXT], to[GM_NUMBER_TEXT];
    gm_tick_bytes_format(from, report->histogram[rows->first].from);
    gm_tick_bytes_format(to, report->histogram[rows->end - 1].to);
    page->y += 4;
    bool is_small_left = rows->first > 0, is_large_left = rows->end < GM_HISTOGRAM_BINS;
    if (is_small_left && is_large_left)
        gm_page_note(page,
                     gm_display_printf(d, "Not shown: no block is smaller than %s, and none has %s or more", from, to));
    else if (is_small_left)
        gm_page_note(page, gm_display_printf(d, "Not shown: no block is smaller than %s", from));
    else if (is_large_left)
        gm_page_note(page, gm_display_printf(d, "Not shown: no block has %s or more", to));
}

/* One of the two panels: the same rows, other numbers. */
struct panel {
    double x;
    bool is_bytes;
    const char *caption;
};

static uint64_t value_of(const struct panel *panel, const struct gm_amount *amount)
{
    return panel->is_bytes ? amount->bytes : amount->blocks;
}

static void draw_bar(struct gm_display *d, const struct panel *panel, const struct gm_chart_axis *axis,
                     const struct gm_amount *amount, enum gm_use use, double y)
{
    uint64_t value = value_of(panel, amount);
    if (value == 0)
        return;
    double span = gm_axis_span(axis, value, panel_width);
    gm_display_rect(d, panel->x, y, span, bar_height, gm_use_fill(use), GM_RECT_BAR);
    struct gm_style style = gm_style_label;
    style.size = GM_TEXT_SMALL;
    gm_put_value(d, panel->x + span + 6, panel->x + span + value_room - 2, y + bar_height / 2, style,
                 panel->is_bytes ? gm_size_text(d, value) : gm_number_text(d, value));
}

static void draw_panel(struct gm_display *d, const struct gm_report *report, const struct rows *rows,
                       const struct panel *panel, double y)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++) {
        const struct gm_histogram_bin *bin = &report->histogram[i];
        uint64_t active = value_of(panel, &bin->active), cached = value_of(panel, &bin->cached);
        largest = active > largest ? active : largest;
        largest = cached > largest ? cached : largest;
    }
    struct gm_chart_axis axis = panel->is_bytes ? gm_axis_bytes(largest) : gm_axis_counts(largest);
    struct gm_style caption = gm_style_note;
    caption.weight = GM_BOLD;
    caption.color = GM_INK;
    gm_put(d, panel->x, y + 6, panel_width, caption, panel->caption);
    y += 20;
    gm_axis_draw(d, &axis, panel->x, panel_width, y, y + pitch * (double)(rows->end - rows->first));
    for (size_t i = rows->first; i < rows->end; i++) {
        double top = y + pitch * (double)(i - rows->first) + (pitch - 2 * bar_height) / 2;
        draw_bar(d, panel, &axis, &report->histogram[i].active, GM_USE_ALLOCATED, top);
        draw_bar(d, panel, &axis, &report->histogram[i].cached, GM_USE_CACHED, top + bar_height);
    }
}

static void draw_legend(struct gm_page *page, const struct gm_report *report)
{
    struct gm_piece parts[3] = {{"Active (allocated or pending)", 0, gm_use_fill(GM_USE_ALLOCATED)},
                                {"Cached (inactive)", 0, gm_use_fill(GM_USE_CACHED)},
                                gm_unexplained_piece(&report->ledger)};
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++) {
        parts[0].bytes = gm_sat_add(parts[0].bytes, report->histogram[i].active.bytes);
        parts[1].bytes = gm_sat_add(parts[1].bytes, report->histogram[i].cached.bytes);
    }
    size_t shown = parts[2].bytes > 0 ? 3 : 2;
    page->y += gm_legend(page->display, page->y, 2, parts, shown, report->totals.reserved);
    gm_unexplained_note(page, &report->ledger);
    page->y += 14;
}

void gm_layout_size_distribution(struct gm_display *display, const struct gm_report *report)
{
    struct gm_page page = gm_page_begin(display, report, "Size distribution");
    gm_page_section(&page, "Blocks by size",
                    report->device_count > 1 ? "all devices together; cached blocks are reserved but unused"
                                             : "cached blocks are reserved but unused");
    const struct rows rows = rows_of(report);
    if (rows.end == 0) {
        gm_page_empty(&page, "The snapshot has no blocks.");
        gm_page_end(&page);
        return;
    }
    draw_legend(&page, report);
    const struct panel bytes = {GM_PAGE_LEFT + label_width, true, "Bytes"};
    const struct panel counts = {GM_PAGE_RIGHT - value_room - panel_width, false, "Blocks"};
    for (size_t i = rows.first; i < rows.end; i++)
        gm_put(display, GM_PAGE_LEFT, page.y + 20 + pitch * ((double)(i - rows.first) + 0.5), label_width - 10,
               gm_style_label, report->histogram[i].label);
    draw_panel(display, report, &rows, &bytes, page.y);
    draw_panel(display, report, &rows, &counts, page.y);
    page.y += 20 + pitch * (double)(rows.end - rows.first) + GM_AXIS_HEIGHT;
    note_left_out(&page, report, &rows);
    gm_page_end(&page);
}
