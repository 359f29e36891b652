/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_flamegraph: both runs in one tree of stacks. A box is as wide as the larger of the two; red grew, blue shrank.
 */
#include "render/diff_charts.h"
#include "render/flame_boxes.h"

static void draw_keys(struct gm_page *page)
{
    const struct gm_diff_node gone = {.base = 1}, fewer = {.base = 100, .after = 90}, same = {.base = 1, .after = 1},
                              more = {.base = 90, .after = 100}, new = {.after = 1};
    const struct gm_piece keys[] = {{"gone", 0, gm_solid(gm_diff_node_color(&gone))},
                                    {"a tenth less", 0, gm_solid(gm_diff_node_color(&fewer))},
                                    {"unchanged", 0, gm_solid(gm_diff_node_color(&same))},
                                    {"a tenth more", 0, gm_solid(gm_diff_node_color(&more))},
                                    {"new", 0, gm_solid(gm_diff_node_color(&new))}};
    page->y += gm_keys(page->display, page->y, keys, sizeof keys / sizeof *keys);
}

void gm_layout_diff_flamegraph(struct gm_display *display, const struct gm_comparison *c)
{
    const struct gm_diff_flame *diff = &c->pairs[0].flame;
    struct gm_page page = gm_diff_page_begin(display, c, "Flame graph of the difference");
    gm_page_section(&page,
                    diff->is_at_peak ? "Requested bytes at the peak, by call stack"
                                     : "Allocated bytes at the end, by call stack",
                    "callers above what they call; a box is as wide as the larger of both runs");
    const struct gm_flame *flame = gm_diff_flame_of(display, diff);
    struct gm_flame_boxes boxes = {.n = 0};
    if (flame != NULL && !gm_flame_boxes_drawn(&boxes, display, flame))
        display->failed = true;
    if (boxes.n == 0) {
        gm_page_empty(&page, "Nothing was live in either run.");
        gm_page_end(&page);
        return;
    }
    const struct gm_diff_node *root = &diff->nodes[boxes.v[0].node];
    gm_flame_draw(&page, flame, diff, &boxes,
                  gm_display_printf(display, "all: %s in the base, %s in the new run: %s",
                                    gm_size_text(display, root->base), gm_size_text(display, root->after),
                                    gm_change_text(display, root->base, root->after)));
    draw_keys(&page);
    if (c->run_count > 2)
        gm_page_note(&page,
                     gm_display_printf(display, "Base against %s; the other runs are not in it",
                                       gm_shorten_end(display, gm_name(c->labels[1]), 400, GM_TEXT_SMALL, GM_REGULAR)));
    gm_flame_notes(&page, &boxes, GM_DIFF_FLAMEGRAPH_SVG);
    gm_page_end(&page);
}
