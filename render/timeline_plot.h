/* SPDX-License-Identifier: Apache-2.0
 *
 * One device's memory over time: the plot itself with the two rows of tick labels below it
 * (timeline_plot.c), and what is marked above and on it (timeline_marks.c).
 */
#pragma once

#include "render/axis.h"
#include "render/devices.h"
#include "render/page.h"

/* ---- layers.c: the largest roles or categories of all devices shown, steady ones below, one on top for the rest
 * ------
 */

enum { GM_LAYERS_NAMED = 10, GM_LAYERS = GM_LAYERS_NAMED + 1 };

struct gm_layers {
    struct gm_piece parts[GM_LAYERS]; /* bottom first, bytes 0; the rest, if any, last */
    size_t n;
    size_t folded;            /* how many the last one stands for; 0: it is one of its own */
    const char *folded_names; /* "Loss, Input, KV cache ..." */
};
struct gm_layers gm_layers_of(struct gm_display *display, const struct gm_traced_devices *devices);
/* Which layer shows which of a curve's: slots[curve->layer_count]; NULL if there is no memory. */
const unsigned char *gm_layers_slots(struct gm_display *display, const struct gm_layers *layers,
                                     const struct gm_curve *curve);
/* The bytes of one column of a curve by layer. */
void gm_layers_sum(const struct gm_layers *layers, const unsigned char *slots, const struct gm_curve *curve,
                   size_t column, uint64_t out[GM_LAYERS]);

/* ---- the plot ---------------------------------------------------------------------------------------------------- */

struct gm_plot {
    struct gm_display *display;
    const struct gm_traced *traced;
    const struct gm_curve *curve; /* with columns */
    double top, bottom;           /* of the plot's area */
    struct gm_chart_axis axis;
};

/* Colours that are not of categories. */
#define GM_RESERVED_LINE 0x1f2328U
#define GM_OOM_LINE 0xb42318U

/* The axis that all curves of the device fit under. */
struct gm_chart_axis gm_plot_axis(const struct gm_traced *traced);
/* Grid, layers, what is pending and cached, the line of what is reserved. */
void gm_plot_draw(const struct gm_plot *plot, const struct gm_layers *layers);
/* What the plot's fills and lines mean, beside the categories. */
void gm_plot_keys(struct gm_page *page, bool has_pending, bool is_whole);
/* What the colours of the phases mean. */
void gm_plot_phase_keys(struct gm_page *page, const bool is_drawn[GM_PHASE_COUNT]);
bool gm_plot_has_pending(const struct gm_curve *curve);

/* Where an event is drawn: in the middle of its column; GM_REPORT_NONE is the left edge. */
double gm_plot_x_of_event(const struct gm_plot *plot, uint64_t event);
/* Where a moment lies on the axis, to draw what begins or ends there. */
double gm_plot_x_of(const struct gm_plot *plot, uint64_t event, uint64_t time_us);
double gm_plot_y_of(const struct gm_plot *plot, uint64_t bytes);

/* Tick labels below the plot: time, then events. Returns their height. */
double gm_plot_ticks(const struct gm_plot *plot);

/* What stands above the plot: labels of the marks, bands. Their heights depend on what there is. */
double gm_plot_marks_height(const struct gm_traced *traced);
/* Draws it from `y` on, down to plot->top, and the marks inside of the plot; notes the phases that it drew. */
void gm_plot_marks(const struct gm_plot *plot, double y, bool is_drawn[GM_PHASE_COUNT]);
