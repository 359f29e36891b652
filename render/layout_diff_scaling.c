/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_scaling: memory as a function of the number in the runs' names, with the law that it follows, if there is one.
 */
#include "analyze/base/size.h"
#include "analyze/base/text.h"
#include "render/diff_parts.h"
#include "render/metric.h"
#include "render/numbers.h"
#include "render/theme.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define PLOT_X 94.0
#define PLOT_WIDTH 750.0
enum { PIXELS = 1500, LINE = 3, LINES = 3 /* the levels; categories are in the table only */, MOST_SERIES = 4 };

/* Up to three decimals. */
static const char *number_text(struct gm_display *d, double value)
{
    char whole[GM_NUMBER_TEXT];
    const uint64_t thousandths = (uint64_t)(fmin(value, 9e12) * 1000 + 0.5);
    gm_exact_text(whole, thousandths / 1000);
    if (thousandths % 1000 == 0)
        return gm_display_printf(d, "%s", whole);
    if (thousandths % 100 == 0)
        return gm_display_printf(d, "%s.%u", whole, (unsigned)(thousandths % 1000 / 100));
    if (thousandths % 10 == 0)
        return gm_display_printf(d, "%s.%02u", whole, (unsigned)(thousandths % 1000 / 10));
    return gm_display_printf(d, "%s.%03u", whole, (unsigned)(thousandths % 1000));
}

static double law_at(const struct gm_fit *fit, double n)
{
    return fit->c0 + fit->c1 * n + fit->c2 * n * n;
}

struct plot {
    struct gm_display *d;
    double top, bottom, end; /* the axis runs from 0 to `end` */
    struct gm_axis axis;
};

static double y_of(const struct plot *plot, double bytes)
{
    const double share = bytes / (plot->axis.step * plot->axis.steps);
    return plot->bottom - (plot->bottom - plot->top) * fmin(fmax(share, 0), 1);
}

static void draw_law(const struct plot *plot, const struct gm_fit *fit, uint32_t color)
{
    uint16_t *top = gm_display_rows(plot->d, PIXELS), *bottom = gm_display_rows(plot->d, PIXELS);
    uint16_t before = 0;
    if (top == NULL || bottom == NULL)
        return;
    for (size_t p = 0; p < PIXELS; p++) {
        const double n = plot->end * ((double)p + 0.5) / PIXELS;
        const uint16_t row = (uint16_t)round(y_of(plot, law_at(fit, n)) * GM_DISPLAY_SCALE);
        before = p == 0 ? row : before;
        top[p] = (uint16_t)((before < row ? before : row) - 1);
        bottom[p] = (uint16_t)((before > row ? before : row) + LINE - 1);
        before = row;
    }
    gm_display_area(plot->d, &(struct gm_area_item){(size_t)(PLOT_X * GM_DISPLAY_SCALE), PIXELS, top, bottom,
                                                    gm_solid(gm_paler(color, 0.35)), false});
}

static void draw_points(const struct plot *plot, const struct gm_series *series, const struct gm_fit *fit,
                        uint32_t color, double size)
{
    for (size_t i = 0; i < series->count; i++) {
        const double x = PLOT_X + PLOT_WIDTH * (series->n[i] / plot->end), y = y_of(plot, (double)fit->bytes[i]);
        gm_display_rect(plot->d, x - size / 2, y - size / 2, size, size, gm_solid(color), GM_RECT_PLAIN);
    }
}

static void draw_ticks(const struct plot *plot, const struct gm_series *series)
{
    const struct gm_style style = {GM_TEXT_SMALL, GM_REGULAR, GM_MUTED, GM_ANCHOR_MIDDLE, GM_ELLIPSIS_END};
    double last = PLOT_X - 60;
    for (size_t i = 0; i < series->count; i++) {
        const double x = PLOT_X + PLOT_WIDTH * (series->n[i] / plot->end), room = 56;
        gm_display_line(plot->d, x, plot->bottom, x, plot->bottom + 5, GM_MUTED, false);
        if (x - last < room)
            continue;
        gm_put(plot->d, x, plot->bottom + 13, room, style, number_text(plot->d, series->n[i]));
        last = x;
    }
    gm_put(plot->d, PLOT_X, plot->bottom + 13, 40, style, "0");
}

/* "1.20 GiB + 5.40 MiB x ctx" */
static const char *formula_of(struct gm_display *d, const struct gm_series *series, const struct gm_fit *fit)
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
        char size[GM_SIZE_TEXT];
        const double bytes = fabs(c[k]);
        gm_size_format(size, bytes < 9e18 ? (uint64_t)(bytes + 0.5) : UINT64_C(9000000000000000000));
        const char *shown = bytes < 1024 ? gm_display_printf(d, "%s B", number_text(d, bytes)) : size;
        text = gm_display_printf(d, "%s%s%s%s%s%s", text,
                                 is_first   ? (c[k] < 0 ? "-" : "")
                                 : c[k] < 0 ? " - "
                                            : " + ",
                                 shown, k == 0 ? "" : " x ", k == 0 ? "" : key, k == 2 ? "\xc2\xb2" : "");
        is_first = false;
    }
    return text;
}

static void draw_fit(struct gm_page *page, const struct gm_series *series, const struct gm_fit *fit, uint32_t color)
{
    const double pitch = 21, name_width = 262, middle = page->y + pitch / 2;
    struct gm_display *d = page->display;
    gm_display_rect(d, GM_PAGE_LEFT, middle - 6, 12, 12, gm_solid(color), GM_RECT_SWATCH);
    gm_put(d, GM_PAGE_LEFT + 20, middle, name_width, gm_style_label,
           gm_shorten_end(d, fit->what, name_width, GM_TEXT_BODY, GM_REGULAR));
    const double error = fmin(fit->error_percent, 9e6);
    const char *said = fit->law == GM_LAW_NONE
                           ? gm_display_printf(d, "no law: %s", fit->why_not)
                           : gm_display_printf(d, "%s: %s (misses at most %s%%)", gm_law_name(fit->law),
                                               formula_of(d, series, fit), number_text(d, round(error * 100) / 100));
    gm_put_between(d, GM_PAGE_LEFT + 28 + name_width, GM_PAGE_RIGHT, middle, gm_style_note, said);
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

static void draw_series(struct gm_page *page, const struct gm_series *series)
{
    static const uint32_t colors[LINES] = {GM_INK, 0x2b6cb0, 0x228833};
    const double height = 260;
    struct gm_display *d = page->display;
    const size_t levels = series->fit_count < LINES ? series->fit_count : LINES;
    uint64_t most = 0;
    for (size_t f = 0; f < levels; f++)
        for (size_t i = 0; i < series->count; i++)
            most = series->fits[f].bytes[i] > most ? series->fits[f].bytes[i] : most;
    gm_page_section(
        page, gm_display_printf(d, "Memory by %s", series->key[0] == '\0' ? "the number in the name" : series->key),
        series_name(d, series->name));
    page->y += 6;
    const struct plot plot = {d, page->y, page->y + height, series->n[series->count - 1] * 1.05, gm_axis_bytes(most)};
    gm_diff_grid(d, &plot.axis, PLOT_X, PLOT_WIDTH, plot.top, plot.bottom);
    for (size_t f = 0; f < levels; f++)
        if (series->fits[f].law != GM_LAW_NONE)
            draw_law(&plot, &series->fits[f], colors[f]);
    for (size_t f = 0; f < levels; f++)
        draw_points(&plot, series, &series->fits[f], colors[f], 14 - 4 * (double)f); /* those below stay visible */
    draw_ticks(&plot, series);
    page->y = plot.bottom + 34;
    for (size_t f = 0; f < series->fit_count; f++)
        if (f < levels || series->fits[f].law != GM_LAW_NONE)
            draw_fit(page, series, &series->fits[f], f < levels ? colors[f] : series->fits[f].color);
    page->y += 24;
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
