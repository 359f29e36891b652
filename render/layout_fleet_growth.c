/* SPDX-License-Identifier: Apache-2.0
 *
 * fleet_growth: the highest, the mean and the lowest rank over the iterations, the rank that grows fastest, and the
 * call sites that hold more at the end of the last iteration than at the end of the first.
 */
#include "analyze/report/fleet_model.h"
#include "render/charts.h"

#include <inttypes.h>
#include <math.h>

enum { LINE = 4, SITES = 12, POINTS_MOST = 60 };

enum series { SERIES_MOST, SERIES_MEAN, SERIES_LEAST, SERIES_STEEPEST, SERIES };
static const uint32_t colors[SERIES] = {0xb42318, 0x1f2328, 0x1d5fa8, 0xcc8500};

struct plot {
    struct gm_display *d;
    const struct gm_fleet *f;
    bool is_end; /* allocated at the end, not peak reserved */
    double top, bottom;
    int64_t first, last; /* iterations */
    struct gm_chart_axis axis;
};

static double value_of(const struct plot *p, const struct gm_fleet_item *item)
{
    return (double)(p->is_end ? item->totals.allocated : gm_fleet_reserved(item));
}

/* What a series has at a column; negative: nothing. */
static double series_at(const struct plot *p, enum series series, size_t column)
{
    const struct gm_fleet *f = p->f;
    double sum = 0, least = -1, most = -1;
    size_t n = 0;
    if (series == SERIES_STEEPEST) {
        const size_t i = gm_fleet_find(f, f->growths[0].row, column);
        return i == SIZE_MAX || f->items[i].status != GM_OK ? -1 : value_of(p, &f->items[i]);
    }
    if (!p->is_end) {
        const struct gm_fleet_spread *s = &f->columns[column].reserved;
        if (s->most_item == SIZE_MAX)
            return -1;
        return series == SERIES_MOST ? (double)s->most : series == SERIES_MEAN ? s->mean : (double)s->least;
    }
    for (size_t r = 0; r < f->row_count; r++) {
        const size_t i = gm_fleet_find(f, r, column);
        if (i == SIZE_MAX || f->items[i].status != GM_OK)
            continue;
        const double value = value_of(p, &f->items[i]);
        least = n == 0 || value < least ? value : least;
        most = n == 0 || value > most ? value : most;
        sum += value;
        n++;
    }
    if (n == 0)
        return -1;
    return series == SERIES_MOST ? most : series == SERIES_MEAN ? sum / (double)n : least;
}

static double y_of(const struct plot *p, double bytes)
{
    return gm_axis_y(&p->axis, p->top, p->bottom, bytes);
}

static double x_of(const struct plot *p, int64_t iteration)
{
    const double span = p->last > p->first ? (double)(p->last - p->first) : 1;
    return GM_PLOT_X + 10 + (GM_PLOT_WIDTH - 20) * ((double)(iteration - p->first) / span);
}

static void draw_line(const struct plot *p, const double *values, uint32_t color, double square)
{
    const struct gm_fleet *f = p->f;
    uint16_t *top = gm_display_rows(p->d, GM_PLOT_PIXELS), *bottom = gm_display_rows(p->d, GM_PLOT_PIXELS);
    double x0 = -1, y0 = 0;
    size_t points = 0;
    if (top == NULL || bottom == NULL)
        return;
    for (size_t c = 0; c < f->column_count; c++) {
        if (f->columns[c].iteration < 0 || values[c] < 0)
            continue;
        const double x = x_of(p, f->columns[c].iteration), y = y_of(p, values[c]);
        double before = y0;
        for (long i = x0 < 0 ? 0 : lround((x0 - GM_PLOT_X) * GM_DISPLAY_SCALE);
             x0 >= 0 && i <= lround((x - GM_PLOT_X) * GM_DISPLAY_SCALE) && i < GM_PLOT_PIXELS; i++) {
            const double at = GM_PLOT_X + (double)i / GM_DISPLAY_SCALE,
                         now = x > x0 ? y0 + (y - y0) * fmin(fmax((at - x0) / (x - x0), 0), 1) : y;
            const double high = fmin(before, now), low = fmax(before, now);
            top[i] = (uint16_t)(lround(high * GM_DISPLAY_SCALE) - LINE / 2);
            bottom[i] = (uint16_t)(lround(low * GM_DISPLAY_SCALE) + LINE / 2);
            before = now;
        }
        x0 = x;
        y0 = y;
        points++;
    }
    gm_plot_area(p->d, top, bottom, gm_solid(gm_paler(color, 0.25)), false);
    for (size_t c = 0; c < f->column_count && points <= POINTS_MOST; c++)
        if (f->columns[c].iteration >= 0 && values[c] >= 0)
            gm_display_rect(p->d, x_of(p, f->columns[c].iteration) - square / 2, y_of(p, values[c]) - square / 2,
                            square, square, gm_solid(color), GM_RECT_PLAIN);
}

static void draw_frame(const struct plot *p)
{
    double last = 0;
    gm_axis_grid(p->d, &p->axis, p->top, p->bottom);
    for (size_t c = 0; c < p->f->column_count; c++) {
        if (p->f->columns[c].iteration < 0)
            continue;
        const double x = x_of(p, p->f->columns[c].iteration);
        const char *label = gm_display_printf(p->d, "%" PRId64, p->f->columns[c].iteration);
        const double width = gm_text_width(label, GM_TEXT_SMALL, GM_REGULAR) + 8;
        if (x - width / 2 < last)
            continue;
        gm_display_line(p->d, x, p->bottom, x, p->bottom + 4, GM_MUTED, false);
        gm_put(p->d, x, p->bottom + 13, width, gm_style_tick, label);
        last = x + width / 2;
    }
}

static void draw_plot(struct gm_page *page, const struct gm_fleet *f, bool is_end, const char *title)
{
    const double height = 210;
    struct plot p = {.d = page->display, .f = f, .is_end = is_end, .first = f->columns[0].iteration};
    double *values[SERIES], most = 0;
    for (size_t c = 0; c < f->column_count; c++)
        p.last = f->columns[c].iteration >= 0 ? f->columns[c].iteration : p.last;
    for (int s = 0; s < SERIES; s++) {
        values[s] = gm_arena_calloc(&page->display->arena, f->column_count, sizeof **values);
        if (values[s] == NULL) {
            page->display->failed = true;
            return;
        }
        for (size_t c = 0; c < f->column_count; c++) {
            values[s][c] = series_at(&p, (enum series)s, c);
            most = fmax(most, values[s][c]);
        }
    }
    const struct gm_fleet_line *line = is_end ? &f->growths[0].allocated_end : &f->growths[0].reserved;
    gm_page_section(page, title,
                    gm_display_printf(p.d, "%s: %s per iteration%s", gm_name(f->rows[f->growths[0].row].label),
                                      gm_delta_text(p.d, (int64_t)fmin(fmax(line->slope, -9e18), 9e18)),
                                      line->is_growing ? ", growing" : ""));
    page->y += 6;
    p.top = page->y;
    p.bottom = page->y + height;
    p.axis = gm_axis_bytes(most < 0x1p64 ? (uint64_t)most : UINT64_MAX);
    draw_frame(&p);
    for (int s = SERIES; s-- > 0;)
        draw_line(&p, values[s], colors[s], s == SERIES_STEEPEST ? 10 : 7);
    page->y = p.bottom + 36;
}

static void draw_keys(struct gm_page *page, const struct gm_fleet *f)
{
    const struct gm_piece keys[SERIES] = {
        {"highest rank", 0, gm_solid(colors[SERIES_MOST])},
        {"mean of the ranks", 0, gm_solid(colors[SERIES_MEAN])},
        {"lowest rank", 0, gm_solid(colors[SERIES_LEAST])},
        {gm_display_printf(page->display, "%s (steepest)", gm_name(f->rows[f->growths[0].row].label)), 0,
         gm_solid(colors[SERIES_STEEPEST])}};
    page->y += gm_keys(page->display, page->y, keys, SERIES) + 28;
}

static void draw_sites(struct gm_page *page, const struct gm_fleet *f)
{
    const double pitch = 22, label = 380, x = GM_PAGE_LEFT + label + 12, width = GM_PAGE_RIGHT - x - 96;
    const size_t n = f->survivors.count < SITES ? f->survivors.count : SITES;
    struct gm_display *d = page->display;
    uint64_t most = 1;
    for (size_t i = 0; i < n; i++) {
        const int64_t delta = f->survivors.rows[i].delta;
        const uint64_t size = (uint64_t)(delta < 0 ? -delta : delta);
        most = size > most ? size : most;
    }
    gm_page_section(page, "End of the last iteration against end of the first, all ranks",
                    gm_display_printf(d, "in all %s", gm_delta_text(d, f->survivors.delta)));
    if (n == 0)
        gm_page_note(page, "No call site holds more or less");
    for (size_t i = 0; i < n; i++) {
        const struct gm_fleet_change *row = &f->survivors.rows[i];
        const struct gm_fleet_site *site = &f->sites[row->site];
        const double middle = page->y + pitch / 2,
                     bar = fmax(width * fabs((double)row->delta) / (double)most, 1.0 / GM_DISPLAY_SCALE);
        const char *name = site->via == NULL ? site->label : gm_display_printf(d, "%s (%s)", site->label, site->via);
        gm_put(d, GM_PAGE_LEFT, middle, label, gm_style_label,
               gm_shorten_end(d, gm_name(name), label, GM_TEXT_BODY, GM_REGULAR));
        gm_display_rect(d, x, middle - 7, bar, 14, gm_solid(row->delta > 0 ? 0xb42318 : 0x1d5fa8), GM_RECT_BAR);
        gm_put(d, x + bar + 6, middle, GM_PAGE_RIGHT - x - bar - 6, gm_style_note,
               gm_display_printf(d, "%s", gm_delta_text(d, row->delta)));
        page->y += pitch;
    }
    page->y += 16;
}

void gm_layout_fleet_growth(struct gm_display *display, const struct gm_fleet *f)
{
    struct gm_page page =
        gm_page_title(display, "Growth over iterations",
                      gm_display_printf(display, "%s \xc2\xb7 %zu rank%s with two iterations or more",
                                        gm_name(f->run_name), f->growth_count, f->growth_count == 1 ? "" : "s"));
    if (f->growth_count == 0) {
        gm_page_empty(&page, "No rank has snapshots of two iterations or more.");
    } else {
        draw_plot(&page, f, false, "Peak reserved");
        draw_plot(&page, f, true, "Allocated at the end of the snapshot");
        draw_keys(&page, f);
        draw_sites(&page, f);
        gm_page_note(&page,
                     "Growing: a slope by least squares whose 95 % confidence interval is above zero, from three "
                     "iterations on");
    }
    gm_page_end(&page);
}
