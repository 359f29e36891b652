/* SPDX-License-Identifier: Apache-2.0
 *
 * The plot of a timeline. A pixel shows the highest moment of the columns that fall on it; no column is left out.
 */
#include "render/timeline_plot.h"

#include "analyze/base/arithmetic.h"
#include "render/number_text.h"
#include "render/theme.h"

#include <math.h>

static const struct gm_fill pending_fill = {GM_PAPER, GM_INK, GM_HATCH_DIAGONAL};
enum { LINE = 2 /* thick */, MOST_TICKS = 8 };

struct gm_chart_axis gm_plot_axis(const struct gm_traced *traced)
{
    const struct gm_curve *curve = &traced->timeline->curve;
    uint64_t most = 0;
    for (size_t i = 0; i < curve->column_count; i++)
        most = gm_max(most, gm_max(curve->columns[i].high.reserved, curve->columns[i].high.active));
    return gm_axis_bytes(most);
}

bool gm_plot_has_pending(const struct gm_curve *curve)
{
    for (size_t i = 0; i < curve->column_count; i++)
        if (curve->columns[i].pending > 0)
            return true;
    return false;
}

double gm_plot_y_of(const struct gm_plot *plot, uint64_t bytes)
{
    return gm_axis_y(&plot->axis, plot->top, plot->bottom, (double)bytes);
}

/* The row of pixels that a value reaches up to. What is there has one row at least. */
static uint16_t row_of(const struct gm_plot *plot, uint64_t bytes)
{
    const double bottom = round(plot->bottom * GM_DISPLAY_SCALE),
                 y = round(gm_plot_y_of(plot, bytes) * GM_DISPLAY_SCALE);
    return (uint16_t)(bytes > 0 && y > bottom - 1 ? bottom - 1 : y);
}

/* The columns that fall on pixel p: those from the first to before the second. A column that is wider than a pixel
 * falls on several. */
static void columns_of(const struct gm_curve *curve, size_t p, size_t *first, size_t *end)
{
    *first = p * curve->column_count / GM_PLOT_PIXELS;
    *end = (p + 1) * curve->column_count / GM_PLOT_PIXELS;
    if (*end <= *first)
        *end = *first + 1;
}

/* Of the columns on a pixel the one with the most active bytes. */
static size_t highest_column(const struct gm_curve *curve, size_t p)
{
    size_t first, end;
    columns_of(curve, p, &first, &end);
    size_t best = first;
    for (size_t i = first + 1; i < end; i++)
        if (curve->columns[i].high.active > curve->columns[best].high.active)
            best = i;
    return best;
}

static uint64_t highest_reserved(const struct gm_curve *curve, size_t p)
{
    size_t first, end;
    columns_of(curve, p, &first, &end);
    uint64_t most = 0;
    for (size_t i = first; i < end; i++)
        most = gm_max(most, curve->columns[i].high.reserved);
    return most;
}

/* The curves of a plot in rows of pixels. */
struct rows {
    uint16_t *layers[GM_LAYERS + 1]; /* [0] is the bottom, [k + 1] the top of layer k */
    size_t n;                        /* layers */
    uint16_t *active, *allocated, *reserved, *zero;
};

static bool make_rows(struct gm_display *d, struct rows *rows, size_t layers)
{
    rows->n = layers;
    for (size_t k = 1; k <= layers; k++)
        rows->layers[k] = gm_display_rows(d, GM_PLOT_PIXELS);
    rows->active = gm_display_rows(d, GM_PLOT_PIXELS);
    rows->allocated = gm_display_rows(d, GM_PLOT_PIXELS);
    rows->reserved = gm_display_rows(d, GM_PLOT_PIXELS);
    rows->zero = rows->layers[0] = gm_display_rows(d, GM_PLOT_PIXELS);
    return !d->failed;
}

static void fill_rows(const struct gm_plot *plot, const struct gm_layers *layers, const unsigned char *slots,
                      struct rows *rows)
{
    const struct gm_curve *curve = plot->curve;
    const uint16_t zero = (uint16_t)round(plot->bottom * GM_DISPLAY_SCALE);
    for (size_t p = 0; p < GM_PLOT_PIXELS; p++) {
        const size_t column = highest_column(curve, p);
        const struct gm_curve_column *at = &curve->columns[column];
        if (p > 0 && highest_column(curve, p - 1) == column) { /* a wide column */
            for (size_t k = 0; k <= rows->n; k++)
                rows->layers[k][p] = rows->layers[k][p - 1];
        } else {
            uint64_t bytes[GM_LAYERS], sum = 0;
            rows->zero[p] = zero;
            if (rows->n > 0)
                gm_layers_sum(layers, slots, curve, column, bytes);
            for (size_t k = 0; k < rows->n; k++) {
                sum = gm_sat_add(sum, bytes[k]);
                rows->layers[k + 1][p] = row_of(plot, sum);
            }
        }
        rows->active[p] = row_of(plot, at->high.active);
        rows->allocated[p] =
            row_of(plot, at->high.active - (at->pending < at->high.active ? at->pending : at->high.active));
        rows->reserved[p] = row_of(plot, highest_reserved(curve, p));
    }
}

void gm_plot_draw(const struct gm_plot *plot, const struct gm_layers *layers)
{
    struct gm_display *d = plot->display;
    struct rows rows;
    const size_t n = plot->curve->layer_count > 0 ? layers->n : 0;
    const unsigned char *slots = gm_layers_slots(d, layers, plot->curve);
    gm_axis_grid(d, &plot->axis, plot->top, plot->bottom);
    if (slots == NULL || !make_rows(d, &rows, n))
        return;
    fill_rows(plot, layers, slots, &rows);
    gm_plot_area(d, rows.reserved, rows.active, gm_use_fill(GM_USE_CACHED), false);
    if (n == 0)
        gm_plot_area(d, rows.active, rows.zero, gm_use_fill(GM_USE_ALLOCATED), false);
    for (size_t k = 0; k < n; k++)
        gm_plot_area(d, rows.layers[k + 1], rows.layers[k], layers->parts[k].fill, false);
    if (gm_plot_has_pending(plot->curve))
        gm_plot_area(d, rows.active, rows.allocated, pending_fill, true);
    gm_plot_line(d, rows.reserved, LINE, GM_RESERVED_LINE);
}

void gm_plot_keys(struct gm_page *page, bool has_pending, bool is_whole)
{
    const char *rest = is_whole ? "Cached: reserved, but not active" : "Cached, or older than the trace: in no event";
    struct gm_piece keys[3] = {{"Line: reserved", 0, gm_solid(GM_RESERVED_LINE)},
                               {rest, 0, gm_use_fill(GM_USE_CACHED)},
                               {"Pending: freed, but another stream may still use it", 0, pending_fill}};
    page->y += gm_keys(page->display, page->y, keys, has_pending ? 3 : 2);
}

/* ---- where things are -------------------------------------------------------------------------------------------- */

double gm_plot_x_of_event(const struct gm_plot *plot, uint64_t event)
{
    const struct gm_curve *curve = plot->curve;
    size_t at = 0; /* the column with that event; the last before it, if it is in none */
    for (size_t i = 0; event != GM_REPORT_NONE && i < curve->column_count; i++) {
        const struct gm_curve_column *column = &curve->columns[i];
        if (column->first_event > column->last_event)
            continue;
        if (column->first_event > event)
            break;
        at = i;
        if (event <= column->last_event)
            break;
    }
    if (event == GM_REPORT_NONE)
        return GM_PLOT_X;
    return GM_PLOT_X + GM_PLOT_WIDTH * ((double)at + 0.5) / (double)curve->column_count;
}

double gm_plot_x_of(const struct gm_plot *plot, uint64_t event, uint64_t time_us)
{
    const struct gm_curve *curve = plot->curve;
    double x;
    if (!(curve->x_end > 0))
        return GM_PLOT_X;
    if (!curve->is_by_time)
        x = event == GM_REPORT_NONE ? 0 : (double)event / curve->x_end;
    else if (time_us == GM_REPORT_NONE)
        return gm_plot_x_of_event(plot, event);
    else
        x = time_us <= curve->start_us ? 0 : (double)(time_us - curve->start_us) / curve->x_end;
    return GM_PLOT_X + GM_PLOT_WIDTH * fmin(x, 1);
}

/* ---- tick labels: round times (or event numbers), below each the number of the first event from there on ------------
 */

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
        gm_put(plot->display, x, y, room, gm_style_tick, gm_number_text(plot->display, event));
    }
    if (curve->is_by_time)
        caption(plot, first, "time");
    caption(plot, curve->is_by_time ? first + line : first, "event");
    return 13 + line * (curve->is_by_time ? 2 : 1);
}
