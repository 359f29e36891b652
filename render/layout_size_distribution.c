/* SPDX-License-Identifier: Apache-2.0
 *
 * size_distribution: active and cached blocks by size, as bytes and as numbers of blocks.
 */
#include "render/layout.h"

#include "analyze/base/size.h"
#include "render/axis.h"
#include "render/numbers.h"
#include "render/page.h"
#include "render/theme.h"

#include <stdbool.h>

static const double label_width = 132, panel_width = 264, value_room = 76, bar_height = 13, pitch = 36;

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

static void draw_bar(struct gm_display *d, const struct panel *panel, const struct gm_axis *axis,
                     const struct gm_amount *amount, enum gm_use use, double y)
{
    uint64_t value = value_of(panel, amount);
    if (value == 0)
        return;
    double span = gm_axis_span(axis, value, panel_width);
    gm_display_rect(d, panel->x, y, span, bar_height, gm_use_fill(use), GM_RECT_BAR);
    char size[GM_SIZE_TEXT], count[GM_NUMBER_TEXT];
    struct gm_style style = gm_style_label;
    style.size = GM_TEXT_SMALL;
    gm_put_value(d, panel->x + span + 6, panel->x + span + value_room - 2, y + bar_height / 2, style,
                 panel->is_bytes ? gm_size_format(size, value) : gm_count_text(count, value));
}

static void draw_panel(struct gm_display *d, const struct gm_report *report, const struct panel *panel, double y)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++) {
        const struct gm_histogram_bin *bin = &report->histogram[i];
        uint64_t active = value_of(panel, &bin->active), cached = value_of(panel, &bin->cached);
        largest = active > largest ? active : largest;
        largest = cached > largest ? cached : largest;
    }
    struct gm_axis axis = panel->is_bytes ? gm_axis_bytes(largest) : gm_axis_counts(largest);
    struct gm_style caption = gm_style_note;
    caption.weight = GM_BOLD;
    caption.color = GM_INK;
    gm_put(d, panel->x, y + 6, panel_width, caption, panel->caption);
    y += 20;
    gm_axis_draw(d, &axis, panel->x, panel_width, y, y + pitch * GM_HISTOGRAM_BINS);
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++) {
        double top = y + pitch * (double)i + (pitch - 2 * bar_height) / 2;
        draw_bar(d, panel, &axis, &report->histogram[i].active, GM_USE_ALLOCATED, top);
        draw_bar(d, panel, &axis, &report->histogram[i].cached, GM_USE_CACHED, top + bar_height);
    }
}

void gm_layout_size_distribution(struct gm_display *display, const struct gm_report *report)
{
    struct gm_page page = gm_page_begin(display, report, "Size distribution");
    struct gm_part parts[2] = {{"Active (allocated or pending)", 0, gm_use_fill(GM_USE_ALLOCATED)},
                               {"Cached (inactive)", 0, gm_use_fill(GM_USE_CACHED)}};
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++) {
        parts[0].bytes = gm_sum(parts[0].bytes, report->histogram[i].active.bytes);
        parts[1].bytes = gm_sum(parts[1].bytes, report->histogram[i].cached.bytes);
    }
    gm_page_section(&page, "Blocks by size",
                    report->device_count > 1 ? "all devices together; cached blocks are reserved but unused"
                                             : "cached blocks are reserved but unused");
    uint64_t sum = gm_parts_sum(parts, 2);
    if (sum == 0) {
        gm_page_empty(&page, "The snapshot has no blocks.");
        gm_page_end(&page);
        return;
    }
    page.y += gm_legend(display, page.y, 2, parts, 2, sum) + 14;
    const struct panel bytes = {GM_PAGE_LEFT + label_width, true, "Bytes"};
    const struct panel counts = {GM_PAGE_RIGHT - value_room - panel_width, false, "Blocks"};
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++)
        gm_put(display, GM_PAGE_LEFT, page.y + 20 + pitch * ((double)i + 0.5), label_width - 10, gm_style_label,
               report->histogram[i].label);
    draw_panel(display, report, &bytes, page.y);
    draw_panel(display, report, &counts, page.y);
    page.y += 20 + pitch * GM_HISTOGRAM_BINS + GM_AXIS_HEIGHT;
    gm_page_end(&page);
}
