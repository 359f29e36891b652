/* SPDX-License-Identifier: Apache-2.0
 *
 * Tick labels of a timeline: round times (or event numbers), and below each the number of the first event from there
 * on.
 */
#include "render/timeline_plot.h"

#include "render/number_text.h"
#include "render/theme.h"

#include <math.h>

enum { MOST_TICKS = 8 };

/* The first event at or after a place on the axis; the number of events, if there is none. */
static uint64_t event_at(const struct gm_curve *curve, double x)
{
    uint64_t end = 0;
    const double share = curve->x_end > 0 ? fmin(fmax(x / curve->x_end, 0), 1) : 0; /* an axis may have no length */
    size_t i = (size_t)(share * (double)curve->column_count);
    for (; i < curve->column_count; i++)
        if (curve->columns[i].first_event <= curve->columns[i].last_event)
            return curve->columns[i].first_event;
    for (i = curve->column_count; i > 0 && end == 0; i--)
        if (curve->columns[i - 1].first_event <= curve->columns[i - 1].last_event)
            end = curve->columns[i - 1].last_event + 1;
    return end;
}

static void caption(const struct gm_plot *plot, double y, const char *text)
{
    gm_put_between(plot->display, GM_PAGE_LEFT - 8, GM_PLOT_X - 26, y, gm_style_end, text);
}

double gm_plot_ticks(const struct gm_plot *plot)
{
    const struct gm_curve *curve = plot->curve;
    const double line = 15, first = plot->bottom + 13, end = curve->x_end > 0 ? curve->x_end : 1;
    const struct gm_tick_unit unit = curve->is_by_time ? gm_tick_unit(end) : (struct gm_tick_unit){1, ""};
    const double step = fmax(gm_tick_step(end / unit.us, MOST_TICKS), curve->is_by_time ? 0 : 1);
    const double room =
        fmin(GM_PLOT_WIDTH * step * unit.us / end - 6, 2 * (GM_DISPLAY_WIDTH - GM_PLOT_X - GM_PLOT_WIDTH));
    for (unsigned i = 0; i <= MOST_TICKS; i++) {
        const double at = step * i * unit.us, x = GM_PLOT_X + GM_PLOT_WIDTH * at / end;
        char text[GM_NUMBER_TEXT];
        if (at > end * (1 + 1e-9))
            break;
        gm_display_line(plot->display, x, plot->bottom, x, plot->bottom + 5, GM_MUTED, false);
        double y = first;
        if (curve->is_by_time) {
            gm_put(plot->display, x, y, room, gm_style_tick,
                   gm_display_printf(plot->display, "%s %s", gm_decimals_text(plot->display, step * i), unit.name));
            y += line;
        }
        const uint64_t event = curve->is_by_time ? event_at(curve, fmin(at, end)) : (uint64_t)fmin(at, 9e18);
        gm_put(plot->display, x, y, room, gm_style_tick, gm_count_text(text, event));
    }
    if (curve->is_by_time)
        caption(plot, first, "time");
    caption(plot, curve->is_by_time ? first + line : first, "event");
    return 13 + line * (curve->is_by_time ? 2 : 1);
}
