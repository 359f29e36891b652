/* SPDX-License-Identifier: Apache-2.0
 *
 * The layouts: report in, display list out; one file each, no fonts, no pixels. They are rows of the table in charts.c:
 * a new chart is a new layout and a new row.
 */
#ifndef GM_RENDER_LAYOUT_H
#define GM_RENDER_LAYOUT_H

#include "analyze/report/report.h"
#include "render/display.h"
#include "render/render.h"

/* Fills an empty display list; check display->failed afterwards. */
typedef void gm_layout_fn(struct gm_display *display, const struct gm_report *report);
gm_layout_fn gm_layout_memory_overview, gm_layout_top_consumers, gm_layout_category_breakdown,
    gm_layout_size_distribution, gm_layout_memory_efficiency, gm_layout_memory_timeline, gm_layout_peak_breakdown,
    gm_layout_fragmentation_map, gm_layout_flamegraph;

/* The layout of a chart, by the table. */
void gm_chart_layout(struct gm_display *display, const struct gm_report *report, enum gm_chart chart);

#endif
