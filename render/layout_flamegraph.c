/* SPDX-License-Identifier: Apache-2.0
 *
 * flamegraph: the peak of requested bytes by call stack, on the device where it was highest.
 */
#include "render/charts.h"

#include "render/devices.h"
#include "render/flame_boxes.h"

#include <inttypes.h>

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
    gm_flame_notes(page, boxes, GM_FLAMEGRAPH_SVG);
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
    if (has_trace && !gm_flame_boxes_drawn(&boxes, display, &traced.timeline->flame))
        display->failed = true;
    if (boxes.n == 0) {
        gm_page_empty(&page, has_trace ? "Nothing was live at any moment of the trace."
                                       : "The snapshot has no trace: its history was not recorded.");
        gm_page_end(&page);
        return;
    }
    const struct gm_flame_node *root = &traced.timeline->flame.nodes[boxes.v[0].node];
    gm_flame_draw(&page, &traced.timeline->flame, NULL, &boxes,
                  gm_display_printf(display, "all: %s requested in %s blocks", gm_size_text(display, root->bytes),
                                    gm_digits_text(display, root->blocks)));
    draw_keys(&page, &traced, &boxes);
    put_notes(&page, report, &traced, &boxes);
    gm_page_end(&page);
}
