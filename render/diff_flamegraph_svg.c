/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_flamegraph.svg: see svg.h for what is common to all flame graphs.
 */
#include "analyze/base/size.h"
#include "render/diff_parts.h"
#include "render/metric.h"
#include "render/numbers.h"
#include "render/svg.h"
#include "render/theme.h"

#include <inttypes.h>

enum { MOST_ROWS = 400, MOST_BOXES = 8000 };

static void put_numbers(struct gm_text *out, struct gm_display *scratch, const struct gm_diff_node *node)
{
    char base[GM_SIZE_TEXT], after[GM_SIZE_TEXT];
    gm_text_printf(out, "\nbase %s, new %s, ", gm_size_format(base, node->base), gm_size_format(after, node->after));
    gm_svg_escaped(out, gm_change_text(scratch, node->base, node->after)); /* "<0.1%" */
}

static void put_box(struct gm_text *out, struct gm_display *scratch, const struct gm_flame *flame,
                    const struct gm_diff_flame *diff, const struct gm_flame_box *box)
{
    const struct gm_flame_node *node = &flame->nodes[box->node];
    const bool is_root = box->node == 0;
    const char *label = is_root ? "all" : gm_flame_label(&scratch->arena, node);
    if (label == NULL) {
        out->failed = true;
        return;
    }
    const uint32_t color = is_root ? GM_GRID : gm_diff_node_color(&diff->nodes[box->node]);
    const double width = box->width * GM_SVG_INNER, x = GM_SVG_PAD + box->x * GM_SVG_INNER, least = 24;
    const int y = GM_SVG_TOP + GM_SVG_ROW * (int)box->row;
    gm_text_printf(out, "<g class=\"b%s\" data-x=\"", gm_text_color_on(color) == GM_PAPER ? " w" : "");
    gm_svg_millionths(out, box->x);
    gm_text_add(out, "\" data-w=\"");
    gm_svg_millionths(out, box->width);
    gm_text_add(out, "\"><title>");
    gm_svg_escaped(out, label);
    put_numbers(out, scratch, &diff->nodes[box->node]);
    gm_text_add(out, "</title><rect x=\"");
    gm_svg_hundredths(out, x);
    gm_text_printf(out, "\" y=\"%d\" width=\"", y);
    gm_svg_hundredths(out, width);
    gm_text_printf(out, "\" height=\"%d\" fill=\"#%06" PRIx32 "\"/><text x=\"", GM_SVG_ROW - 1, color);
    gm_svg_hundredths(out, x + 4);
    gm_text_printf(out, "\" y=\"%d\">", y + 13);
    if (is_root)
        gm_svg_escaped(out, "all");
    else if (width >= least)
        gm_svg_escaped(out, gm_flame_fitting(scratch, node, width - 8));
    gm_text_add(out, "</text></g>\n");
}

static void put_head(struct gm_text *out, struct gm_display *scratch, const struct gm_comparison *c, uint32_t rows)
{
    const int height = GM_SVG_TOP + GM_SVG_ROW * (int)(rows > 0 ? rows : 1) + 40;
    gm_text_printf(out,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
                   "xml:space=\"preserve\">\n",
                   GM_SVG_WIDTH, height, GM_SVG_WIDTH, height);
    gm_text_add(out, gm_svg_style);
    gm_text_printf(out, "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", GM_SVG_WIDTH, height);
    gm_svg_text(out, "t", GM_SVG_PAD, 30, "Flame graph of the difference");
    const char *base = gm_shorten_end(scratch, gm_name(c->labels[0]), 380, GM_TEXT_BODY, GM_REGULAR);
    const char *after = gm_shorten_end(scratch, gm_name(c->labels[1]), 380, GM_TEXT_BODY, GM_REGULAR);
    gm_svg_text(out, "s", GM_SVG_PAD, 52, gm_display_printf(scratch, "Base %s, new %s", base, after));
    gm_svg_text(out, "s", GM_SVG_PAD, 70,
                c->pairs[0].flame.is_at_peak
                    ? "Requested bytes at the peak. Callers above what they call; a box is as wide as the larger of "
                      "both. Red grew, blue shrank, grey is unchanged."
                    : "Allocated bytes at the end. Callers above what they call; a box is as wide as the larger of "
                      "both. Red grew, blue shrank, grey is unchanged.");
    gm_text_printf(out,
                   "<text class=\"k\" id=\"find\" x=\"%d\" y=\"30\">Search</text>\n"
                   "<text class=\"k\" id=\"reset\" x=\"%d\" y=\"30\">Show all</text>\n"
                   "<text class=\"s\" id=\"found\" x=\"%d\" y=\"52\"></text>\n",
                   GM_SVG_WIDTH - 70, GM_SVG_WIDTH - 150, GM_SVG_WIDTH - 320);
}

/* Boxes down to a fraction of a pixel, wider ones only if there are too many. */
static bool boxes_of(struct gm_flame_boxes *boxes, struct gm_arena *arena, const struct gm_flame *flame)
{
    double least = 0.4 / GM_SVG_INNER;
    do {
        if (!gm_flame_boxes_of(boxes, arena, flame, least, MOST_ROWS))
            return false;
        least *= 2;
    } while (boxes->n > MOST_BOXES && least < 1);
    return true;
}

enum gm_status gm_diff_flamegraph_svg(struct gm_text *out, const struct gm_comparison *c, struct gm_error *err)
{
    struct gm_display scratch = {0}; /* its arena */
    struct gm_flame_boxes boxes = {.n = 0};
    const struct gm_diff_flame *diff = &c->pairs[0].flame;
    const struct gm_flame *flame = gm_diff_flame_of(&scratch, diff);
    if (flame != NULL && !boxes_of(&boxes, &scratch.arena, flame))
        scratch.failed = true;
    put_head(out, &scratch, c, boxes.rows);
    for (size_t i = 0; i < boxes.n && !scratch.failed && !out->failed; i++)
        put_box(out, &scratch, flame, diff, &boxes.v[i]);
    if (boxes.n == 0)
        gm_svg_text(out, "s", GM_SVG_PAD, GM_SVG_TOP + 12, "Nothing was live in either run.");
    if (boxes.narrow > 0) {
        char number[GM_NUMBER_TEXT];
        gm_svg_text(
            out, "s", GM_SVG_PAD, GM_SVG_TOP + GM_SVG_ROW * (int)boxes.rows + 20,
            gm_display_printf(&scratch, "%s frames are too narrow to be shown.", gm_exact_text(number, boxes.narrow)));
    }
    gm_text_add(out, gm_svg_script);
    gm_text_add(out, "</svg>\n");
    const bool failed = scratch.failed || out->failed;
    out->failed |= failed;
    gm_display_free(&scratch);
    return failed ? gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for " GM_DIFF_FLAMEGRAPH_SVG) : GM_OK;
}
