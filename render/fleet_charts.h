/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures of fleets: fleet in, PNG out.
 */
#ifndef GM_RENDER_FLEET_CHARTS_H
#define GM_RENDER_FLEET_CHARTS_H

#include "analyze/report/fleet_model.h"
#include "render/display.h"
#include "render/render.h"

enum gm_fleet_chart { GM_FLEET_CHART_HEATMAP, GM_FLEET_CHART_GROWTH, GM_FLEET_CHART_COUNT };
const char *gm_fleet_chart_file_name(enum gm_fleet_chart chart); /* "fleet_heatmap.png" */
const char *gm_fleet_chart_caption(enum gm_fleet_chart chart);   /* one sentence */
/* As gm_chart_draw. One that has nothing to show says why. */
enum gm_status gm_fleet_chart_draw(struct gm_png *png, struct gm_painter *painter, const struct gm_fleet *fleet,
                                   enum gm_fleet_chart chart, struct gm_error *err);

/* The layouts. */
void gm_layout_fleet_heatmap(struct gm_display *display, const struct gm_fleet *fleet);
void gm_layout_fleet_growth(struct gm_display *display, const struct gm_fleet *fleet);

#endif
