/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_flamegraph: both runs in one tree of stacks. A box is as wide as the larger of the two; red grew, blue shrank.
 */
#include "analyze/base/size.h"
#include "render/diff_charts.h"
#include "render/metric.h"
#include "render/number_text.h"
#include "render/theme.h"

enum { MOST_ROWS = 64, NARROWEST = 2 /* pixels */ };
static const double pitch = 19, height = 18, pad = 5;

static const char *change_of(struct gm_display *d, const struct gm_diff_node *node)
{
    return node->base == node->after ? "" : gm_delta_text(d, gm_diff_delta(node->base, node->after));
}

static void label_box(struct gm_display *d, const struct gm_flame_node *node, const struct gm_diff_node *diff,
                      uint32_t color, double x, double width, double middle)
{
    const double least = 26, gap = 14, enough = 200, room = width - 2 * pad;
    struct gm_style style = {GM_TEXT_SMALL, GM_REGULAR, gm_text_color_on(color), GM_ANCHOR_START, GM_ELLIPSIS_END};
    if (width < least)
        return;
    const char *change = change_of(d, diff), *label = gm_flame_fitting(d, node, room);
    const double change_width = gm_text_width(change, style.size, style.weight), left = room - change_width - gap;
    const bool has_change =
        change[0] != '\0' && (left >= enough || gm_text_width(label, style.size, style.weight) <= left);
    gm_put(d, x + pad, middle, has_change ? left : room, style, has_change ? gm_flame_fitting(d, node, left) : label);
    if (has_change) {
        style.anchor = GM_ANCHOR_END;
        gm_put(d, x + width - pad, middle, change_width, style, change);
    }
}

static void draw_boxes(struct gm_page *page, const struct gm_flame *flame, const struct gm_diff_flame *diff,
                       const struct gm_flame_boxes *boxes)
{
    struct gm_display *d = page->display;
    for (size_t i = 0; i < boxes->n; i++) {
        const struct gm_flame_box *box = &boxes->v[i];
        const struct gm_diff_node *node = &diff->nodes[box->node];
        const double x = GM_PAGE_LEFT + GM_PAGE_INNER * box->x, width = GM_PAGE_INNER * box->width;
        const double y = page->y + pitch * box->row, hairline = width > 3 ? 1.0 / GM_DISPLAY_SCALE : 0;
        const uint32_t color = i == 0 ? GM_GRID : gm_diff_node_color(node);
        gm_display_rect(d, x, y, width - hairline, height, gm_solid(color), GM_RECT_BAR);
        if (i > 0) {
            label_box(d, &flame->nodes[box->node], node, color, x, width, y + height / 2);
            continue;
        }
        char base[GM_SIZE_TEXT], after[GM_SIZE_TEXT];
        const struct gm_style style = {GM_TEXT_SMALL, GM_BOLD, GM_INK, GM_ANCHOR_START, GM_ELLIPSIS_END};
        gm_put(d, x + pad, y + height / 2, width - 2 * pad, style,
               gm_display_printf(d, "all: %s in the base, %s in the new run: %s", gm_size_format(base, node->base),
                                 gm_size_format(after, node->after), gm_change_text(d, node->base, node->after)));
    }
    page->y += pitch * boxes->rows + 8;
}

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
    if (flame != NULL &&
        !gm_flame_boxes_of(&boxes, &display->arena, flame, NARROWEST / (GM_PAGE_INNER * GM_DISPLAY_SCALE), MOST_ROWS))
        display->failed = true;
    if (boxes.n == 0) {
        gm_page_empty(&page, "Nothing was live in either run.");
        gm_page_end(&page);
        return;
    }
    draw_boxes(&page, flame, diff, &boxes);
    draw_keys(&page);
    if (c->run_count > 2)
        gm_page_note(&page,
                     gm_display_printf(display, "Base against %s; the other runs are not in it",
                                       gm_shorten_end(display, gm_name(c->labels[1]), 400, GM_TEXT_SMALL, GM_REGULAR)));
    if (boxes.deepest + 1 > boxes.rows)
        gm_page_note(&page,
                     gm_display_printf(display, "%s deeper levels are not shown here; diff_flamegraph.svg has them",
                                       gm_digits_text(display, boxes.deepest + 1 - boxes.rows)));
    if (boxes.narrow > 0)
        gm_page_note(&page, gm_display_printf(display, "%s frames are too narrow to be shown",
                                              gm_digits_text(display, boxes.narrow)));
    gm_page_end(&page);
}
