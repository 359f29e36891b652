/* SPDX-License-Identifier: Apache-2.0
 *
 * flamegraph.svg: see svg.h for what is common to all of them.
 */
#include "render/render.h"

#include "analyze/base/size.h"
#include "render/flame_boxes.h"
#include "render/layout.h"
#include "render/metric.h"
#include "render/numbers.h"
#include "render/svg.h"
#include "render/theme.h"
#include "render/traced.h"

#include <inttypes.h>
#include <string.h>

enum {
    WIDTH = GM_SVG_WIDTH,
    PAD = GM_SVG_PAD,
    INNER = GM_SVG_INNER,
    ROW = GM_SVG_ROW,
    TOP = GM_SVG_TOP,
    MOST_ROWS = 400,
    MOST_BOXES = 8000
};

static void put_box(struct gm_text *out, struct gm_display *scratch, const struct gm_flame *flame,
                    const struct gm_flame_box *box)
{
    const struct gm_flame_node *node = &flame->nodes[box->node];
    const bool is_root = box->node == 0;
    const char *label = is_root ? "all" : gm_flame_label(&scratch->arena, node);
    if (label == NULL) {
        out->failed = true;
        return;
    }
    const uint32_t color = is_root ? GM_GRID : gm_flame_color(node);
    const double width = box->width * INNER;
    const int y = TOP + ROW * (int)box->row;
    char size[GM_SIZE_TEXT], percent[GM_NUMBER_TEXT], blocks[GM_NUMBER_TEXT];
    gm_text_printf(out, "<g class=\"b%s\" data-x=\"", gm_text_color_on(color) == GM_PAPER ? " w" : "");
    gm_svg_millionths(out, box->x);
    gm_text_add(out, "\" data-w=\"");
    gm_svg_millionths(out, box->width);
    gm_text_add(out, "\"><title>");
    gm_svg_escaped(out, label);
    gm_percent_text(percent, node->bytes, flame->nodes[0].bytes);
    gm_text_printf(out, "\n%s (", gm_size_format(size, node->bytes));
    gm_svg_escaped(out, percent); /* "<0.1%" */
    gm_text_printf(out, ") in %s block%s", gm_exact_text(blocks, node->blocks), node->blocks == 1 ? "" : "s");
    if (node->self_bytes > 0 && node->self_bytes < node->bytes)
        gm_text_printf(out, "\nmade here: %s", gm_size_format(size, node->self_bytes));
    gm_text_add(out, "</title><rect x=\"");
    gm_svg_hundredths(out, PAD + box->x * INNER);
    gm_text_printf(out, "\" y=\"%d\" width=\"", y);
    gm_svg_hundredths(out, width);
    gm_text_printf(out, "\" height=\"%d\" fill=\"#%06" PRIx32 "\"/><text x=\"", ROW - 1, color);
    gm_svg_hundredths(out, PAD + box->x * INNER + 4);
    gm_text_printf(out, "\" y=\"%d\">", y + 13);
    const double least = 24;
    if (is_root)
        gm_svg_escaped(out, gm_display_printf(scratch, "all: %s requested in %s blocks",
                                              gm_size_format(size, node->bytes), blocks));
    else if (width >= least)
        gm_svg_escaped(out, gm_flame_fitting(scratch, node, width - 8));
    gm_text_add(out, "</text></g>\n");
}

static void put_head(struct gm_text *out, struct gm_display *scratch, const struct gm_report *report,
                     const struct gm_traced *traced, uint32_t rows)
{
    const int height = TOP + ROW * (int)(rows > 0 ? rows : 1) + 40;
    gm_text_printf(out,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
                   "xml:space=\"preserve\">\n",
                   WIDTH, height, WIDTH, height);
    gm_text_add(out, gm_svg_style);
    gm_text_printf(out, "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", WIDTH, height);
    gm_svg_text(out, "t", PAD, 30, "Flame graph of the peak");
    const char *name = gm_shorten_end(scratch, gm_name(report->run_name), 500, GM_TEXT_BODY, GM_REGULAR);
    gm_svg_text(out, "s", PAD, 52, gm_display_printf(scratch, "Run %s", name));
    gm_svg_text(out, "s", PAD, 70,
                traced == NULL ? "The snapshot has no trace: its history was not recorded."
                               : gm_display_printf(scratch, "%s. Callers above what they call; widths are to scale.",
                                                   gm_peak_line(scratch, report, traced)));
    gm_text_printf(out,
                   "<text class=\"k\" id=\"find\" x=\"%d\" y=\"30\">Search</text>\n"
                   "<text class=\"k\" id=\"reset\" x=\"%d\" y=\"30\">Show all</text>\n"
                   "<text class=\"s\" id=\"found\" x=\"%d\" y=\"52\"></text>\n",
                   WIDTH - 70, WIDTH - 150, WIDTH - 320);
}

/* Boxes down to a fraction of a pixel, wider ones only if there are too many. */
static bool boxes_of(struct gm_flame_boxes *boxes, struct gm_arena *arena, const struct gm_flame *flame)
{
    double least = 0.4 / INNER;
    do {
        if (!gm_flame_boxes_of(boxes, arena, flame, least, MOST_ROWS))
            return false;
        least *= 2;
    } while (boxes->n > MOST_BOXES && least < 1);
    return true;
}

enum gm_status gm_flamegraph_svg(struct gm_text *out, const struct gm_report *report, struct gm_error *err)
{
    struct gm_display scratch = {0}; /* its arena */
    struct gm_traced traced;
    struct gm_flame_boxes boxes = {.n = 0};
    const bool has_trace = gm_traced_highest(report, &traced);
    if (has_trace && !boxes_of(&boxes, &scratch.arena, &traced.timeline->flame))
        scratch.failed = true;
    put_head(out, &scratch, report, has_trace ? &traced : NULL, boxes.rows);
    for (size_t i = 0; i < boxes.n && !scratch.failed && !out->failed; i++)
        put_box(out, &scratch, &traced.timeline->flame, &boxes.v[i]);
    const int foot = TOP + ROW * (int)(boxes.rows > 0 ? boxes.rows : 1) + 20;
    char number[GM_NUMBER_TEXT];
    const size_t levels = boxes.n > 0 ? boxes.deepest + 1 - boxes.rows : 0;
    const char *left_out = "";
    if (boxes.narrow > 0)
        left_out = gm_display_printf(&scratch, "%s frame%s too narrow to be shown. ",
                                     gm_exact_text(number, boxes.narrow), boxes.narrow == 1 ? " is" : "s are");
    if (levels > 0)
        left_out = gm_display_printf(&scratch, "%s%s deeper level%s left out.", left_out, gm_exact_text(number, levels),
                                     levels == 1 ? " is" : "s are");
    if (boxes.narrow > 0 || levels > 0)
        gm_svg_text(out, "s", PAD, foot, left_out);
    gm_text_add(out, gm_svg_script);
    gm_text_add(out, "</svg>\n");
    const bool failed = scratch.failed || out->failed;
    out->failed |= failed;
    gm_display_free(&scratch);
    return failed ? gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for " GM_FLAMEGRAPH_SVG) : GM_OK;
}
