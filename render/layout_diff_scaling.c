/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_scaling: memory as a function of the number in the runs' names, with the law that it follows, if there is one.
 */
#include "render/diff_charts.h"

#include <math.h>
#include <string.h>

enum { LINE = 3, LEVELS = 3, CATEGORIES = 8, MOST_SERIES = 4 };

static double law_at(const struct gm_law_fit *fit, double n)
{
    return fit->c0 + fit->c1 * n + fit->c2 * n * n;
}

struct plot {
    struct gm_display *d;
    double top, bottom, end; /* the axis runs from 0 to `end` */
    struct gm_chart_axis axis;
};

static double y_of(const struct plot *plot, double bytes)
{
    return gm_axis_y(&plot->axis, plot->top, plot->bottom, bytes);
}

static void draw_law(const struct plot *plot, const struct gm_law_fit *fit, uint32_t color)
{
    uint16_t *rows = gm_display_rows(plot->d, GM_PLOT_PIXELS);
    for (size_t p = 0; rows != NULL && p < GM_PLOT_PIXELS; p++)
        rows[p] =
            (uint16_t)round(y_of(plot, law_at(fit, plot->end * ((double)p + 0.5) / GM_PLOT_PIXELS)) * GM_DISPLAY_SCALE);
    if (rows != NULL)
        gm_plot_line(plot->d, rows, LINE, gm_paler(color, 0.35));
}

static void draw_points(const struct plot *plot, const struct gm_series *series, const struct gm_law_fit *fit,
                        uint32_t color, double size)
{
    for (size_t i = 0; i < series->count; i++) {
        const double x = GM_PLOT_X + GM_PLOT_WIDTH * (series->n[i] / plot->end), y = y_of(plot, (double)fit->bytes[i]);
        gm_display_rect(plot->d, x - size / 2, y - size / 2, size, size, gm_solid(color), GM_RECT_PLAIN);
    }
}

static void draw_ticks(const struct plot *plot, const struct gm_series *series)
{
    double last = GM_PLOT_X - 32; /* beside the 0 */
    for (size_t i = 0; i < series->count; i++) {
        const double x = GM_PLOT_X + GM_PLOT_WIDTH * (series->n[i] / plot->end), room = 56;
        if (x - last < room)
            continue;
        gm_display_line(plot->d, x, plot->bottom, x, plot->bottom + 5, GM_MUTED, false);
        gm_put(plot->d, x, plot->bottom + 13, room, gm_style_tick, gm_decimals_text(plot->d, series->n[i]));
        last = x;
    }
    gm_put(plot->d, GM_PLOT_X, plot->bottom + 13, 40, gm_style_tick, "0");
}

/* "1.20 GiB + 5.40 MiB x ctx" */
static const char *formula_of(struct gm_display *d, const struct gm_series *series, const struct gm_law_fit *fit)
{
    const char *text = "", *key = series->key[0] == '\0' ? "N" : series->key;
    const double c[3] = {fit->c0, fit->c1, fit->c2};
    bool is_first = true;
    for (int k = 0; k < 3; k++) {
        const bool is_there = (k == 0 && (fit->law == GM_LAW_CONSTANT || fabs(c[0]) >= 0.5)) ||
                              (k == 1 && fit->law != GM_LAW_QUADRATIC && fit->law != GM_LAW_CONSTANT) ||
                              (k == 2 && (fit->law == GM_LAW_QUADRATIC || fit->law == GM_LAW_FULL));
        if (!is_there)
            continue;
        const double bytes = fabs(c[k]);
        const char *shown = bytes < 1024 ? gm_display_printf(d, "%s B", gm_decimals_text(d, bytes))
                                         : gm_size_text(d, (uint64_t)(fmin(bytes, 9e18) + 0.5));
        text = gm_display_printf(d, "%s%s%s%s%s%s", text,
                                 is_first   ? (c[k] < 0 ? "-" : "")
                                 : c[k] < 0 ? " - "
                                            : " + ",
                                 shown, k == 0 ? "" : " x ", k == 0 ? "" : key, k == 2 ? "\xc2\xb2" : "");
        is_first = false;
    }
    return text;
}

/* "Attention" of "at the peak: Attention": the panel says when. */
static const char *name_of(const struct gm_law_fit *fit)
{
    const char *colon = strstr(fit->what, ": ");
    return colon == NULL ? fit->what : colon + 2;
}

/* How a law was found, or why there is none. */
static const char *said_of(struct gm_display *d, const struct gm_series *series, const struct gm_law_fit *fit)
{
    const char *error = gm_decimals_text(d, round(fmin(fit->error_percent, 9e6) * 100) / 100);
    if (fit->closest != GM_LAW_NONE)
        return gm_display_printf(d, "no law: %s; the closest, %s, misses by %s%%", fit->why_not,
                                 gm_law_name(fit->closest), error);
    if (fit->law == GM_LAW_NONE)
        return gm_display_printf(d, "no law: %s", fit->why_not);
    return gm_display_printf(d, "%s: %s (misses at most %s%%)",
                             fit->is_sum ? "sum of the categories' laws" : gm_law_name(fit->law),
                             formula_of(d, series, fit), error);
}

static void draw_fit(struct gm_page *page, const struct gm_series *series, const struct gm_law_fit *fit, uint32_t color)
{
    const double pitch = 21, name_width = 176, middle = page->y + pitch / 2;
    struct gm_display *d = page->display;
    gm_display_rect(d, GM_PAGE_LEFT, middle - 6, 12, 12, gm_solid(color), GM_RECT_SWATCH);
    gm_put(d, GM_PAGE_LEFT + 20, middle, name_width, gm_style_label,
           gm_shorten_end(d, name_of(fit), name_width, GM_TEXT_BODY, GM_REGULAR));
    gm_put_between(d, GM_PAGE_LEFT + 28 + name_width, GM_PAGE_RIGHT, middle, gm_style_note, said_of(d, series, fit));
    page->y += pitch;
}

/* Its end: that is where the number is. */
static const char *series_name(struct gm_display *d, const char *name)
{
    enum { SHOWN = 70 };
    const size_t n = strlen(name);
    size_t from = n > SHOWN ? n - SHOWN : 0;
    while (from > 0 && ((unsigned char)name[from] & 0xc0) == 0x80)
        from++;
    return gm_display_printf(d, "%s%s", from > 0 ? "\xe2\x80\xa6" : "", name + from);
}

static uint32_t color_of(const struct gm_series *series, size_t f)
{
    static const uint32_t colors[LEVELS] = {GM_INK, 0x2b6cb0, 0x228833};
    return f < series->level_count ? colors[f % LEVELS] : series->fits[f].color;
}

/* The fits from `first` to before `end` with an axis of their own, and below it what is said of them. */
static void draw_panel(struct gm_page *page, const struct gm_series *series, size_t first, size_t end, double height)
{
    struct gm_display *d = page->display;
    const double last = series->n[series->count - 1] * 1.05;
    double most = 0;
    for (size_t f = first; f < end; f++) {
        most = series->fits[f].law == GM_LAW_NONE ? most : fmax(most, law_at(&series->fits[f], last));
        for (size_t i = 0; i < series->count; i++)
            most = fmax(most, (double)series->fits[f].bytes[i]);
    }
    page->y += 6;
    const struct plot plot = {d, page->y, page->y + height, last,
                              gm_axis_bytes(most < 9e18 ? (uint64_t)most : INT64_MAX)};
    gm_axis_grid(d, &plot.axis, plot.top, plot.bottom);
    for (size_t f = end; f-- > first;)
        if (series->fits[f].law != GM_LAW_NONE)
            draw_law(&plot, &series->fits[f], color_of(series, f));
    const double crowd = series->count > 20 ? fmax(20 / (double)series->count, 0.4) : 1;
    for (size_t f = first; f < end; f++) /* those below stay visible */
        draw_points(&plot, series, &series->fits[f], color_of(series, f),
                    crowd * (first == 0 ? 14 - 4 * (double)f : 8));
    draw_ticks(&plot, series);
    page->y = plot.bottom + 34;
    for (size_t f = first; f < end; f++)
        draw_fit(page, series, &series->fits[f], color_of(series, f));
    page->y += 24;
}

static void draw_series(struct gm_page *page, const struct gm_series *series)
{
    struct gm_display *d = page->display;
    const size_t levels = series->level_count, categories = series->fit_count - levels;
    const size_t shown = categories < CATEGORIES ? categories : CATEGORIES;
    const bool at_peak = levels > 0 && strncmp(series->fits[0].what, "peak", 4) == 0;
    gm_page_section(
        page, gm_display_printf(d, "Memory by %s", series->key[0] == '\0' ? "the number in the name" : series->key),
        series_name(d, series->name));
    draw_panel(page, series, 0, levels, 240);
    if (shown == 0)
        return;
    gm_page_section(page, at_peak ? "Its categories at the peak" : "Its categories at the end",
                    shown < categories
                        ? gm_display_printf(d, "%zu of %zu; the others are in diff_report.txt", shown, categories)
                        : "");
    draw_panel(page, series, levels, levels + shown, 200);
}

void gm_layout_diff_scaling(struct gm_display *display, const struct gm_comparison *c)
{
    struct gm_page page = gm_diff_page_begin(display, c, "Scaling");
    for (size_t s = 0; s < c->series_count && s < MOST_SERIES; s++)
        draw_series(&page, &c->series[s]);
    if (c->series_count == 0)
        gm_page_empty(&page, "No three runs are called alike but for one number.");
    gm_page_note(&page, "Lines are laws that miss no value by more than 1% of the spread of the values; without one, "
                        "only points are drawn");
    if (c->series_count > MOST_SERIES)
        gm_page_note(
            &page, gm_display_printf(display, "%zu more series are in diff_report.txt", c->series_count - MOST_SERIES));
    gm_page_end(&page);
}
