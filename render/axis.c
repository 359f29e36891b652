/* SPDX-License-Identifier: Apache-2.0 */
#include "render/axis.h"

#include "render/metric.h"
#include "render/number_text.h"
#include "render/page.h"
#include "render/theme.h"

#include <math.h>

enum { MOST_STEPS_BYTES = 6, MOST_STEPS_COUNTS = 4, TICK_GAP = 8 };

struct gm_chart_axis gm_axis_bytes(uint64_t largest)
{
    double step = 1;
    double most = largest > 0 ? (double)largest : 1;
    while (most / step > MOST_STEPS_BYTES)
        step *= 2;
    return (struct gm_chart_axis){step, (unsigned)ceil(most / step), true};
}

struct gm_chart_axis gm_axis_counts(uint64_t largest)
{
    static const double factors[] = {1, 2, 5};
    double most = largest > 0 ? (double)largest : 1;
    double ten = 1, step = 1;
    for (unsigned i = 0; most / step > MOST_STEPS_COUNTS; i++) {
        if (i % 3 == 2)
            ten *= 10;
        step = factors[(i + 1) % 3] * ten;
    }
    return (struct gm_chart_axis){step, (unsigned)ceil(most / step), false};
}

double gm_axis_span(const struct gm_chart_axis *axis, uint64_t value, double width)
{
    if (value == 0)
        return 0;
    double span = width * ((double)value / (axis->step * axis->steps));
    return fmin(fmax(span, 1.0 / GM_DISPLAY_SCALE), width);
}

static void tick_text(char out[GM_NUMBER_TEXT], const struct gm_chart_axis *axis, unsigned tick)
{
    double value = axis->step * tick;
    uint64_t n = value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
    if (axis->is_bytes)
        gm_tick_bytes_format(out, n);
    else
        gm_tick_count_text(out, n);
}

/* Every how many ticks there is room for a label. The ends of an axis are always far enough from each other. */
static unsigned label_stride(const struct gm_chart_axis *axis, double pitch)
{
    double widest = 0;
    for (unsigned i = 0; i <= axis->steps; i++) {
        char text[GM_NUMBER_TEXT];
        tick_text(text, axis, i);
        widest = fmax(widest, gm_text_width(text, gm_style_tick.size, gm_style_tick.weight));
    }
    unsigned stride = 1;
    while (stride < axis->steps && stride * pitch - TICK_GAP < widest)
        stride++;
    return stride;
}

void gm_axis_draw(struct gm_display *display, const struct gm_chart_axis *axis, double x, double width, double y1,
                  double y2)
{
    const double pitch = width / axis->steps;
    const unsigned stride = label_stride(axis, pitch);
    for (unsigned i = 0; i <= axis->steps; i++) {
        double at = x + width * i / axis->steps;
        gm_display_line(display, at, y1, at, y2, GM_GRID, false);
        if (i % stride != 0)
            continue;
        char text[GM_NUMBER_TEXT];
        tick_text(text, axis, i);
        gm_put(display, at, y2 + 11, fmin(stride * pitch - TICK_GAP, GM_AXIS_LABEL), gm_style_tick, text);
    }
}

void gm_axis_grid(struct gm_display *display, const struct gm_chart_axis *axis, double top, double bottom)
{
    const double height = bottom - top, least = 15;
    unsigned stride = 1;
    while (height / axis->steps * stride < least && stride < axis->steps)
        stride++;
    for (unsigned i = 0; i <= axis->steps; i++) {
        const double y = bottom - height * i / axis->steps;
        char text[GM_NUMBER_TEXT];
        gm_display_line(display, GM_PLOT_X, y, GM_PLOT_X + GM_PLOT_WIDTH, y, GM_GRID, false);
        tick_text(text, axis, i);
        if (i % stride == 0)
            gm_put_between(display, GM_PAGE_LEFT - 8, GM_PLOT_X - 7, y, gm_style_end, text);
    }
}

double gm_axis_y(const struct gm_chart_axis *axis, double top, double bottom, double value)
{
    return bottom - (bottom - top) * fmin(fmax(value / (axis->step * axis->steps), 0), 1);
}

void gm_plot_area(struct gm_display *display, const uint16_t *top, const uint16_t *bottom, struct gm_fill fill,
                  bool is_overlay)
{
    gm_display_area(display, &(struct gm_area_item){(size_t)(GM_PLOT_X * GM_DISPLAY_SCALE), GM_PLOT_PIXELS, top, bottom,
                                                    fill, is_overlay});
}

void gm_plot_line(struct gm_display *display, const uint16_t *rows, int thick, uint32_t color)
{
    uint16_t *top = gm_display_rows(display, GM_PLOT_PIXELS), *bottom = gm_display_rows(display, GM_PLOT_PIXELS);
    if (top == NULL || bottom == NULL)
        return;
    for (size_t p = 0; p < GM_PLOT_PIXELS; p++) {
        if (rows[p] == GM_PLOT_NOTHING)
            continue; /* top and bottom are 0: nothing is painted */
        const uint16_t before = p > 0 && rows[p - 1] != GM_PLOT_NOTHING ? rows[p - 1] : rows[p];
        top[p] = (uint16_t)((before < rows[p] ? before : rows[p]) - 1);
        bottom[p] = (uint16_t)((before > rows[p] ? before : rows[p]) + thick - 1);
    }
    gm_plot_area(display, top, bottom, gm_solid(color), false);
}
