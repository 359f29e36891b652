/* SPDX-License-Identifier: Apache-2.0
 *
 * The layouts of all charts: model in, display list out; one file each, no fonts, no pixels; and what they are all made
 * with. And gm_chart_draw with a stopwatch, for the bench.
 */
#pragma once

#include "analyze/base/arithmetic.h"
#include "analyze/base/size.h"
#include "render/axis.h"
#include "render/display.h"
#include "render/metric.h"
#include "render/number_text.h"
#include "render/page.h"
#include "render/render.h"
#include "render/theme.h"

/* Fills an empty display list; check display->failed afterwards. */
#define GM_LAYOUT_OF_REPORT(id, name, when, caption)                                                                   \
    void gm_layout_##name(struct gm_display *display, const struct gm_report *report);
#define GM_LAYOUT_OF_COMPARISON(id, name, when, caption)                                                               \
    void gm_layout_##name(struct gm_display *display, const struct gm_comparison *c);
#define GM_LAYOUT_OF_FLEET(id, name, when, caption)                                                                    \
    void gm_layout_##name(struct gm_display *display, const struct gm_fleet *fleet);
GM_REPORT_CHARTS(GM_LAYOUT_OF_REPORT)
GM_COMPARISON_CHARTS(GM_LAYOUT_OF_COMPARISON)
GM_FLEET_CHARTS(GM_LAYOUT_OF_FLEET)

/* The layout of a chart, by its number. */
void gm_chart_layout(struct gm_display *display, const void *model, enum gm_chart chart);
