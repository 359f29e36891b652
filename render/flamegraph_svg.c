/* SPDX-License-Identifier: Apache-2.0
 *
 * flamegraph.svg: see flame_svg.h for what is common to all of them.
 */
#include "render/render.h"

#include "analyze/base/size.h"
#include "render/charts.h"
#include "render/flame_svg.h"
#include "render/metric.h"
#include "render/number_text.h"
#include "render/theme.h"
#include "render/traced.h"

static void put_box(struct gm_text *out, struct gm_display *scratch, const struct gm_flame *flame,
                    const struct gm_flame_box *box)
{
    const struct gm_flame_node *node = &flame->nodes[box->node];
    const bool is_root = box->node == 0;
    const char *label = is_root ? "all" : gm_flame_label(&scratch->arena, node), *root = "";
    if (label == NULL) {
        out->failed = true;
        return;
    }
    const uint32_t color = is_root ? GM_GRID : gm_flame_color(node);
    char size[GM_SIZE_TEXT], percent[GM_NUMBER_TEXT], blocks[GM_NUMBER_TEXT];
    gm_flame_svg_box(out, box, label, color);
    gm_percent_text(percent, node->bytes, flame->nodes[0].bytes);
    gm_text_printf(out, "\n%s (", gm_size_format(size, node->bytes));
    gm_svg_escaped(out, percent); /* "<0.1%" */
    gm_text_printf(out, ") in %s block%s", gm_count_format(blocks, node->blocks), node->blocks == 1 ? "" : "s");
    if (is_root)
        root = gm_display_printf(scratch, "all: %s requested in %s blocks", size, blocks);
    if (node->self_bytes > 0 && node->self_bytes < node->bytes)
        gm_text_printf(out, "\nmade here: %s", gm_size_format(size, node->self_bytes));
    gm_flame_svg_box_end(out, scratch, flame, box, color, root);
}

enum gm_status gm_flamegraph_svg(struct gm_text *out, const struct gm_report *report, struct gm_error *err)
{
    struct gm_display scratch = {0}; /* its arena */
    struct gm_traced traced;
    struct gm_flame_boxes boxes = {.n = 0};
    const bool has_trace = gm_traced_highest(report, &traced);
    if (has_trace && !gm_flame_svg_boxes(&boxes, &scratch.arena, &traced.timeline->flame))
        scratch.failed = true;
    struct gm_flame_svg_legend legend = {.count = 0};
    if (boxes.n > 0) {
        legend.count = gm_flame_keys(legend.keys, traced.peak, &traced.timeline->flame, &boxes);
        legend.note = gm_flame_colors(&traced.timeline->flame, &boxes);
    }
    const struct gm_flame_svg_legend *shown = boxes.n > 0 ? &legend : NULL;
    const char *name = gm_shorten_end(&scratch, gm_name(report->run_name), 500, GM_TEXT_BODY, GM_REGULAR);
    gm_flame_svg_begin(out, &boxes, shown, "Flame graph of the peak", gm_display_printf(&scratch, "Run %s", name),
                       !has_trace
                           ? "The snapshot has no trace: its history was not recorded."
                           : gm_display_printf(&scratch, "%s. Callers above what they call; widths are to scale.",
                                               gm_peak_line(&scratch, report, &traced)));
    for (size_t i = 0; i < boxes.n && !scratch.failed && !out->failed; i++)
        put_box(out, &scratch, &traced.timeline->flame, &boxes.v[i]);
    gm_flame_svg_end(out, &scratch, &boxes, shown);
    const bool failed = scratch.failed || out->failed;
    out->failed |= failed;
    gm_display_free(&scratch);
    return failed ? gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for " GM_FLAMEGRAPH_SVG) : GM_OK;
}
