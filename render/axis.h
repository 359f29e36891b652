/* SPDX-License-Identifier: Apache-2.0
 *
 * Value axes: from zero to a round number at or above the largest value.
 */
#pragma once

#include "render/display.h"

#include <stdbool.h>
#include <stdint.h>

struct gm_chart_axis {
    double step;    /* between ticks; a power of two bytes, or 1, 2, 5 times a power of ten */
    unsigned steps; /* the axis ends at step * steps */
    bool is_bytes;
};

struct gm_chart_axis gm_axis_bytes(uint64_t largest);
struct gm_chart_axis gm_axis_counts(uint64_t largest);
/* The width that `value` takes where the whole axis takes `width`: 0 for 0, else at least one device pixel. */
double gm_axis_span(const struct gm_chart_axis *axis, uint64_t value, double width);
/* Grid lines from y1 to y2 and tick labels below y2 (GM_AXIS_HEIGHT in all), at every second or third line only where
 * they would not fit side by side. They stand out by up to half of GM_AXIS_LABEL on both sides. */
void gm_axis_draw(struct gm_display *display, const struct gm_chart_axis *axis, double x, double width, double y1,
                  double y2);
/* The same from `bottom` up to `top`: grid lines as wide as a plot, their labels at its left, every second or third one
 * only where there is too little height. */
void gm_axis_grid(struct gm_display *display, const struct gm_chart_axis *axis, double top, double bottom);
/* Where `value` lies between `bottom`, which is 0, and `top`, the end of the axis. */
double gm_axis_y(const struct gm_chart_axis *axis, double top, double bottom, double value);
/* Where plots over time, steps or runs stand. As many pixels as a curve has columns at most: a column is a pixel. */
#define GM_PLOT_X 94.0
#define GM_PLOT_WIDTH 750.0
enum { GM_PLOT_PIXELS = 1500, GM_PLOT_NOTHING = UINT16_MAX };
/* What lies between two curves of so many pixels, as wide as a plot. */
void gm_plot_area(struct gm_display *display, const uint16_t *top, const uint16_t *bottom, struct gm_fill fill,
                  bool is_overlay);
/* A line along such a curve, without gaps where it jumps; none where the curve is GM_PLOT_NOTHING. */
void gm_plot_line(struct gm_display *display, const uint16_t *rows, int thick, uint32_t color);
enum { GM_AXIS_HEIGHT = 20, GM_AXIS_LABEL = 80 };
