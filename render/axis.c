/* SPDX-License-Identifier: Apache-2.0
 *
 * Value axes; see axis.h.
 */
#include "render/axis.h"

#include "render/numbers.h"
#include "render/page.h"
#include "render/theme.h"

#include <math.h>

enum { MOST_STEPS_BYTES = 6, MOST_STEPS_COUNTS = 4 };

struct gm_axis gm_axis_bytes(uint64_t largest)
{
    double step = 1;
    double most = largest > 0 ? (double)largest : 1;
    while (most / step > MOST_STEPS_BYTES)
        step *= 2;
    return (struct gm_axis){step, (unsigned)ceil(most / step), true};
}

struct gm_axis gm_axis_counts(uint64_t largest)
{
    static const double factors[] = {1, 2, 5};
    double most = largest > 0 ? (double)largest : 1;
    double ten = 1, step = 1;
    for (unsigned i = 0; most / step > MOST_STEPS_COUNTS; i++) {
        if (i % 3 == 2)
            ten *= 10;
        step = factors[(i + 1) % 3] * ten;
    }
    return (struct gm_axis){step, (unsigned)ceil(most / step), false};
}

double gm_axis_span(const struct gm_axis *axis, uint64_t value, double width)
{
    if (value == 0)
        return 0;
    double span = width * ((double)value / (axis->step * axis->steps));
    return fmin(fmax(span, 1.0 / GM_DISPLAY_SCALE), width);
}

void gm_axis_draw(struct gm_display *display, const struct gm_axis *axis, double x, double width, double y1, double y2)
{
    const struct gm_style label = {GM_TEXT_SMALL, GM_REGULAR, GM_MUTED, GM_ANCHOR_MIDDLE, GM_ELLIPSIS_END};
    for (unsigned i = 0; i <= axis->steps; i++) {
        double at = x + width * i / axis->steps;
        gm_display_line(display, at, y1, at, y2, GM_GRID, false);
        char text[GM_NUMBER_TEXT];
        double value = axis->step * i;
        uint64_t n = value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
        if (axis->is_bytes)
            gm_tick_bytes_text(text, n);
        else
            gm_tick_count_text(text, n);
        struct gm_style style = label;
        double shown_at = at;
        if (at + 0.4 * width / axis->steps > GM_PAGE_RIGHT) {
            style.anchor = GM_ANCHOR_END;
            shown_at = fmin(at, GM_PAGE_RIGHT);
        }
        gm_put(display, shown_at, y2 + 11, fmin(width / axis->steps - 4, 80), style, text);
    }
}
