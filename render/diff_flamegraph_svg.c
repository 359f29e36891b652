/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_flamegraph.svg: see flame_svg.h for what is common to all flame graphs.
 */
#include "analyze/base/size.h"
#include "render/diff_charts.h"
#include "render/flame_svg.h"
#include "render/metric.h"
#include "render/theme.h"

static void put_box(struct gm_text *out, struct gm_display *scratch, const struct gm_flame *flame,
                    const struct gm_diff_flame *diff, const struct gm_flame_box *box)
{
    const struct gm_diff_node *node = &diff->nodes[box->node];
    const bool is_root = box->node == 0;
    const char *label = is_root ? "all" : gm_flame_label(&scratch->arena, &flame->nodes[box->node]);
    if (label == NULL) {
        out->failed = true;
        return;
    }
    const uint32_t color = is_root ? GM_GRID : gm_diff_node_color(node);
    char base[GM_SIZE_TEXT], after[GM_SIZE_TEXT];
    gm_flame_svg_box(out, box, label, color);
    gm_text_printf(out, "\nbase %s, new %s, ", gm_size_format(base, node->base), gm_size_format(after, node->after));
    gm_svg_escaped(out, gm_change_text(scratch, node->base, node->after)); /* "<0.1%" */
    gm_flame_svg_box_end(out, scratch, flame, box, color, "all");
}

static void put_head(struct gm_text *out, struct gm_display *scratch, const struct gm_comparison *c,
                     const struct gm_flame_boxes *boxes)
{
    const char *base = gm_shorten_end(scratch, gm_name(c->labels[0]), 380, GM_TEXT_BODY, GM_REGULAR);
    const char *after = gm_shorten_end(scratch, gm_name(c->labels[1]), 380, GM_TEXT_BODY, GM_REGULAR);
    gm_flame_svg_begin(
        out, boxes, NULL, "Flame graph of the difference", gm_display_printf(scratch, "Base %s, new %s", base, after),
        c->pairs[0].flame.is_at_peak
            ? "Requested bytes at the peak. Callers above what they call; a box is as wide as the larger "
              "of both. Red grew, blue shrank, grey is unchanged."
            : "Allocated bytes at the end. Callers above what they call; a box is as wide as the larger "
              "of both. Red grew, blue shrank, grey is unchanged.");
}

enum gm_status gm_diff_flamegraph_svg(struct gm_text *out, const struct gm_comparison *c, struct gm_error *err)
{
    struct gm_display scratch = {0}; /* its arena */
    struct gm_flame_boxes boxes = {.n = 0};
    const struct gm_diff_flame *diff = &c->pairs[0].flame;
    const struct gm_flame *flame = gm_diff_flame_of(&scratch, diff);
    if (flame != NULL && !gm_flame_svg_boxes(&boxes, &scratch.arena, flame))
        scratch.failed = true;
    put_head(out, &scratch, c, &boxes);
    for (size_t i = 0; i < boxes.n && !scratch.failed && !out->failed; i++)
        put_box(out, &scratch, flame, diff, &boxes.v[i]);
    if (boxes.n == 0)
        gm_svg_text(out, "s", GM_SVG_PAD, GM_SVG_TOP + 12, "Nothing was live in either run.");
    gm_flame_svg_end(out, &scratch, &boxes, NULL);
    const bool failed = scratch.failed || out->failed;
    out->failed |= failed;
    gm_display_free(&scratch);
    return failed ? gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for " GM_DIFF_FLAMEGRAPH_SVG) : GM_OK;
}
