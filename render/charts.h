/* SPDX-License-Identifier: Apache-2.0
 *
 * gm_chart_draw with a stopwatch, for the bench; and its second half, for pages that are no charts of a report.
 */
#ifndef GM_RENDER_CHARTS_H
#define GM_RENDER_CHARTS_H

#include "render/display.h"
#include "render/render.h"

/* Seconds. */
struct gm_chart_times {
    double layout, paint, index, compress;
};
/* As gm_chart_draw; `times` may be NULL. */
enum gm_status gm_chart_draw_timed(struct gm_png *png, struct gm_painter *painter, const struct gm_report *report,
                                   enum gm_chart chart, struct gm_chart_times *times, struct gm_error *err);

/* A page that was laid out, as a picture; `times` (without the layout) may be NULL. */
enum gm_status gm_display_to_png(struct gm_png *png, struct gm_painter *painter, const struct gm_display *display,
                                 struct gm_chart_times *times, struct gm_error *err);

#endif
