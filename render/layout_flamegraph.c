/* SPDX-License-Identifier: Apache-2.0
 *
 * flamegraph: the peak of requested bytes by call stack, on the device where it was highest.
 */
#include "render/charts.h"

#include "analyze/base/size.h"
#include "render/flame_boxes.h"
#include "render/metric.h"
#include "render/number_text.h"
#include "render/page.h"
#include "render/theme.h"
#include "render/traced.h"

#include <inttypes.h>

enum { MOST_ROWS = 64, NARROWEST = 2 /* pixels */ };
static const double pitch = 19, height = 18, pad = 5;

/* The bytes go to the right end, if there is room for both. */
static void label_box(struct gm_display *d, const struct gm_flame_node *node, uint32_t color, double x, double width,
                      double middle)
{
    const double least = 26, gap = 14, enough = 200, room = width - 2 * pad;
    struct gm_style style = {GM_TEXT_SMALL, GM_REGULAR, gm_text_color_on(color), GM_ANCHOR_START, GM_ELLIPSIS_END};
    if (width < least)
        return;
    char size[GM_SIZE_TEXT];
    gm_size_format(size, node->bytes);
    const double size_width = gm_text_width(size, style.size, style.weight), left = room - size_width - gap;
    const char *label = gm_flame_fitting(d, node, room);
    const bool has_size = left >= enough || gm_text_width(label, style.size, style.weight) <= left;
    gm_put(d, x + pad, middle, has_size ? left : room, style, has_size ? gm_flame_fitting(d, node, left) : label);
    if (has_size) {
        style.anchor = GM_ANCHOR_END;
        gm_put(d, x + width - pad, middle, size_width, style, size);
    }
}

static void draw_boxes(struct gm_page *page, const struct gm_flame *flame, const struct gm_flame_boxes *boxes)
{
    struct gm_display *d = page->display;
    for (size_t i = 0; i < boxes->n; i++) {
        const struct gm_flame_box *box = &boxes->v[i];
        const struct gm_flame_node *node = &flame->nodes[box->node];
        const double x = GM_PAGE_LEFT + GM_PAGE_INNER * box->x, width = GM_PAGE_INNER * box->width;
        const double y = page->y + pitch * box->row, hairline = width > 3 ? 1.0 / GM_DISPLAY_SCALE : 0;
        /* too narrow for a hairline: every second one paler, or neighbours would look like one */
        const double paler = hairline > 0 || i % 2 == 0 ? 0 : 0.35;
        const uint32_t color = i == 0 ? GM_GRID : gm_paler(gm_flame_color(node), paler);
        gm_display_rect(d, x, y, width - hairline, height, gm_solid(color), GM_RECT_BAR);
        if (i > 0) {
            label_box(d, node, color, x, width, y + height / 2);
            continue;
        }
        char blocks[GM_NUMBER_TEXT];
        const struct gm_style style = {GM_TEXT_SMALL, GM_BOLD, GM_INK, GM_ANCHOR_START, GM_ELLIPSIS_END};
        gm_put(d, x + pad, y + height / 2, width - 2 * pad, style,
               gm_display_printf(d, "all: %s requested in %s blocks", gm_size_text(d, node->bytes),
                                 gm_count_format(blocks, node->blocks)));
    }
    page->y += pitch * boxes->rows + 8;
}

static void draw_keys(struct gm_page *page, const struct gm_traced *traced, const struct gm_flame_boxes *boxes)
{
    const struct gm_flame *flame = &traced->timeline->flame;
    struct gm_piece keys[GM_FLAME_KEYS];
    page->y += gm_keys(page->display, page->y, keys, gm_flame_keys(keys, traced->peak, flame, boxes));
    gm_page_note(page, gm_flame_colors(flame, boxes));
}

static void put_notes(struct gm_page *page, const struct gm_report *report, const struct gm_traced *traced,
                      const struct gm_flame_boxes *boxes)
{
    struct gm_display *d = page->display;
    const size_t deeper = boxes->deepest + 1 > boxes->rows ? boxes->deepest + 1 - boxes->rows : 0;
    if (deeper > 0)
        gm_page_note(page, gm_display_printf(d, "%s deeper level%s not shown here; flamegraph.svg has %s",
                                             gm_digits_text(d, deeper), deeper == 1 ? " is" : "s are",
                                             deeper == 1 ? "it" : "them"));
    if (boxes->narrow > 0)
        gm_page_note(page, gm_display_printf(d, "%s frame%s too narrow to be shown", gm_digits_text(d, boxes->narrow),
                                             boxes->narrow == 1 ? " is" : "s are"));
    size_t traces = 0;
    for (size_t i = 0; i < report->device_count; i++)
        traces += report->devices[i].trace.events > 0;
    if (traces > 1)
        gm_page_note(page, gm_display_printf(d, "Of the devices with a trace, device %" PRId64 " has the highest peak",
                                             traced->device->device));
}

void gm_layout_flamegraph(struct gm_display *display, const struct gm_report *report)
{
    struct gm_traced traced;
    const bool has_trace = gm_traced_highest(report, &traced);
    struct gm_page page = has_trace ? gm_page_begin_with(display, report, "Flame graph of the peak",
                                                         gm_peak_line(display, report, &traced))
                                    : gm_page_begin(display, report, "Flame graph of the peak");
    gm_page_section(&page, "Live bytes by call stack", "callers above what they call; widths are to scale");
    struct gm_flame_boxes boxes = {.n = 0};
    if (has_trace && !gm_flame_boxes_of(&boxes, &display->arena, &traced.timeline->flame,
                                        NARROWEST / (GM_PAGE_INNER * GM_DISPLAY_SCALE), MOST_ROWS))
        display->failed = true;
    if (boxes.n == 0) {
        gm_page_empty(&page, has_trace ? "Nothing was live at any moment of the trace."
                                       : "The snapshot has no trace: its history was not recorded.");
        gm_page_end(&page);
        return;
    }
    draw_boxes(&page, &traced.timeline->flame, &boxes);
    draw_keys(&page, &traced, &boxes);
    put_notes(&page, report, &traced, &boxes);
    gm_page_end(&page);
}
