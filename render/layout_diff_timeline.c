/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_timeline: allocated and reserved memory of all runs on one axis, with their peaks. Between two runs what one has
 * more than the other is shaded.
 */
#include "render/diff_charts.h"

#include <inttypes.h>
#include <math.h>

enum { LINE = 3 };

struct plot {
    struct gm_display *d;
    const struct gm_comparison *c;
    double top, bottom;
    struct gm_chart_axis axis;
    bool is_reserved;
};

static uint64_t bytes_of(const struct gm_diff_column *column, bool is_reserved)
{
    return is_reserved ? column->reserved : column->allocated;
}

static size_t drawn(const struct gm_comparison *c)
{
    return c->run_count < GM_RUNS_DRAWN ? c->run_count : GM_RUNS_DRAWN;
}

/* The highest of the columns on a pixel. */
static uint64_t on_pixel(const struct plot *plot, const struct gm_diff_line *line, size_t p)
{
    const size_t n = plot->c->timeline.column_count;
    size_t first = p * n / GM_PLOT_PIXELS, end = (p + 1) * n / GM_PLOT_PIXELS;
    uint64_t most = GM_REPORT_NONE;
    end = end > first ? end : first + 1;
    for (size_t i = first; i < end; i++) {
        const uint64_t bytes = bytes_of(&line->columns[i], plot->is_reserved);
        if (bytes != GM_REPORT_NONE && (most == GM_REPORT_NONE || bytes > most))
            most = bytes;
    }
    return most;
}

/* GM_PLOT_NOTHING where the run has nothing. */
static const uint16_t *rows_of(const struct plot *plot, const struct gm_diff_line *line)
{
    uint16_t *rows = gm_display_rows(plot->d, GM_PLOT_PIXELS);
    for (size_t p = 0; rows != NULL && p < GM_PLOT_PIXELS; p++) {
        const uint64_t bytes = on_pixel(plot, line, p);
        rows[p] =
            bytes == GM_REPORT_NONE
                ? (uint16_t)GM_PLOT_NOTHING
                : (uint16_t)round(gm_axis_y(&plot->axis, plot->top, plot->bottom, (double)bytes) * GM_DISPLAY_SCALE);
    }
    return rows;
}

/* Where the second run is above the first, and where below. */
static void shade(const struct plot *plot, const uint16_t *base, const uint16_t *after)
{
    uint16_t *more[2], *less[2];
    for (int i = 0; i < 2; i++) {
        more[i] = gm_display_rows(plot->d, GM_PLOT_PIXELS);
        less[i] = gm_display_rows(plot->d, GM_PLOT_PIXELS);
        if (more[i] == NULL || less[i] == NULL)
            return;
    }
    for (size_t p = 0; p < GM_PLOT_PIXELS; p++) {
        if (base[p] == GM_PLOT_NOTHING || after[p] == GM_PLOT_NOTHING)
            continue;
        uint16_t **where = after[p] < base[p] ? more : less; /* rows count from the top */
        where[0][p] = after[p] < base[p] ? after[p] : base[p];
        where[1][p] = after[p] < base[p] ? base[p] : after[p];
    }
    gm_plot_area(plot->d, more[0], more[1], gm_solid(gm_paler(GM_GREW, 0.78)), false);
    gm_plot_area(plot->d, less[0], less[1], gm_solid(gm_paler(GM_SHRANK, 0.78)), false);
}

static double x_of(const struct gm_comparison *c, double x)
{
    const double share = c->timeline.end > 0 ? x / c->timeline.end : 0;
    return GM_PLOT_X + GM_PLOT_WIDTH * fmin(fmax(share, 0), 1);
}

static void draw_ticks(const struct plot *plot)
{
    const struct gm_diff_timeline *t = &plot->c->timeline;
    const bool has_parts = t->axis != GM_AXIS_SHARE; /* a tick is the middle of a part */
    for (size_t i = 0; i < t->tick_count; i++) {
        const double x = x_of(plot->c, t->ticks[i].x);
        if (has_parts)
            for (double side = -0.5; side <= 0.5; side++) {
                const double edge = x_of(plot->c, t->ticks[i].x + side);
                gm_display_line(plot->d, edge, plot->top, edge, plot->bottom + 5, GM_GRID, false);
            }
        else
            gm_display_line(plot->d, x, plot->bottom, x, plot->bottom + 5, GM_MUTED, false);
        gm_put(plot->d, x, plot->bottom + 13, 90, gm_style_tick, t->ticks[i].label);
    }
    if (t->axis == GM_AXIS_SHARE)
        return;
    const double first = x_of(plot->c, t->before), last = x_of(plot->c, t->end - t->after), room = 44;
    if (first - GM_PLOT_X > room)
        gm_put(plot->d, (GM_PLOT_X + first) / 2, plot->bottom + 13, first - GM_PLOT_X - 4, gm_style_tick, "before");
    if (GM_PLOT_X + GM_PLOT_WIDTH - last > room)
        gm_put(plot->d, (last + GM_PLOT_X + GM_PLOT_WIDTH) / 2, plot->bottom + 13, GM_PLOT_X + GM_PLOT_WIDTH - last - 4,
               gm_style_tick, "after");
}

static uint64_t highest(const struct gm_comparison *c, bool is_reserved)
{
    uint64_t most = 0;
    for (size_t i = 0; i < drawn(c); i++)
        for (size_t k = 0; c->timeline.lines[i].columns != NULL && k < c->timeline.column_count; k++) {
            const uint64_t bytes = bytes_of(&c->timeline.lines[i].columns[k], is_reserved);
            most = bytes != GM_REPORT_NONE && bytes > most ? bytes : most;
        }
    return most;
}

/* A dashed line where each run's peak is. */
static void draw_peaks(const struct plot *plot)
{
    for (size_t i = 0; i < drawn(plot->c); i++) {
        const struct gm_diff_line *line = &plot->c->timeline.lines[i];
        if (line->columns == NULL || line->peak_x < 0)
            continue;
        const double x = x_of(plot->c, line->peak_x);
        gm_display_line(plot->d, x, plot->top, x, plot->bottom, gm_run_color(i), true);
        /* below each other, so that peaks at one place are all seen */
        gm_display_rect(plot->d, x - 3.5, plot->top + 2 + 9 * (double)i, 7, 7, gm_solid(gm_run_color(i)),
                        GM_RECT_PLAIN);
    }
}

/* The shortest on top, so that where runs are equal it is seen where each ends; of equally long ones BASE. */
static void draw_lines(const struct plot *plot, const uint16_t *const rows[GM_RUNS_DRAWN], size_t n)
{
    size_t pixels[GM_RUNS_DRAWN] = {0};
    for (size_t i = 0; i < n; i++)
        for (size_t p = 0; rows[i] != NULL && p < GM_PLOT_PIXELS; p++)
            pixels[i] += rows[i][p] != GM_PLOT_NOTHING;
    for (size_t k = 0; k < n; k++) {
        size_t longest = 0;
        for (size_t i = 1; i < n; i++)
            longest = pixels[i] >= pixels[longest] ? i : longest;
        if (pixels[longest] > 0)
            gm_plot_line(plot->d, rows[longest], LINE, gm_run_color(longest));
        pixels[longest] = 0;
    }
}

static void draw_plot(struct gm_page *page, const struct gm_comparison *c, bool is_reserved)
{
    struct gm_display *d = page->display;
    const double height = 230;
    const uint64_t most = highest(c, is_reserved);
    const uint16_t *rows[GM_RUNS_DRAWN] = {NULL};
    gm_page_section(page, is_reserved ? "Reserved" : "Allocated",
                    c->run_count == 2 ? "shaded: red where the new run has more, blue where it has less" : NULL);
    page->y += 6;
    if (most == 0) {
        gm_page_empty(page, "Not known: the traces could not be reconstructed.");
        return;
    }
    const struct plot plot = {d, c, page->y, page->y + height, gm_axis_bytes(most), is_reserved};
    gm_axis_grid(d, &plot.axis, plot.top, plot.bottom);
    draw_ticks(&plot);
    for (size_t i = 0; i < drawn(c); i++)
        if (c->timeline.lines[i].columns != NULL)
            rows[i] = rows_of(&plot, &c->timeline.lines[i]);
    if (c->run_count == 2 && rows[0] != NULL && rows[1] != NULL)
        shade(&plot, rows[0], rows[1]);
    if (!is_reserved)
        draw_peaks(&plot);
    draw_lines(&plot, rows, drawn(c));
    page->y = plot.bottom + 40;
}

/* ", step 3, backward": what lies around an event. */
static const char *around(struct gm_display *d, const struct gm_summary_device *device, uint64_t event)
{
    const char *text = "";
    const struct gm_summary_span *phase = NULL;
    for (size_t i = 0; i < device->step_count; i++)
        if (device->steps[i].first_event <= event && event <= device->steps[i].last_event)
            text = gm_display_printf(d, ", step %" PRIu64, device->steps[i].number);
    for (size_t i = 0; i < device->span_count; i++) {
        const struct gm_summary_span *span = &device->spans[i];
        if (span->first_event <= event && event <= span->last_event &&
            (phase == NULL || span->last_event - span->first_event < phase->last_event - phase->first_event))
            phase = span; /* the innermost is the shortest */
    }
    return phase == NULL ? text : gm_display_printf(d, "%s, %s", text, gm_phase_name(phase->phase));
}

/* A run's colour, name, peak and where that is. */
static void draw_legend(struct gm_page *page, const struct gm_comparison *c)
{
    const double pitch = 21, name_width = 300;
    struct gm_display *d = page->display;
    for (size_t i = 0; i < drawn(c); i++) {
        const struct gm_summary_device *device = c->timeline.lines[i].device;
        const double middle = page->y + pitch / 2;
        gm_display_rect(d, GM_PAGE_LEFT, middle - 6, 12, 12, gm_solid(gm_run_color(i)), GM_RECT_SWATCH);
        gm_put(d, GM_PAGE_LEFT + 20, middle, name_width - 28, gm_style_label,
               gm_run_label(d, c, i, name_width - 28, GM_TEXT_BODY));
        page->y += pitch;
        if (device == NULL) {
            gm_put(d, GM_PAGE_LEFT + name_width, middle, 400, gm_style_note, "no trace");
            continue;
        }
        const struct gm_level_peak *at = &device->peaks[GM_LEVEL_ALLOCATED];
        if (at->bytes == GM_REPORT_NONE)
            at = &device->peaks[GM_LEVEL_REQUESTED];
        const char *where = at->event == GM_REPORT_NONE
                                ? "before the first event"
                                : gm_display_printf(d, "at event %s of %s", gm_digits_text(d, at->event),
                                                    gm_digits_text(d, device->events));
        if (at->event != GM_REPORT_NONE)
            where = gm_display_printf(d, "%s%s", where, around(d, device, at->event));
        gm_put_between(
            d, GM_PAGE_LEFT + name_width, GM_PAGE_RIGHT, middle, gm_style_note,
            gm_display_printf(d, "peak %s %s %s",
                              device->peaks[GM_LEVEL_ALLOCATED].bytes == GM_REPORT_NONE ? "requested" : "allocated",
                              gm_size_text(d, at->bytes), where));
    }
}

void gm_layout_diff_timeline(struct gm_display *display, const struct gm_comparison *c)
{
    struct gm_page page = gm_diff_page_begin(display, c, "Timelines compared");
    draw_plot(&page, c, false);
    draw_plot(&page, c, true);
    draw_legend(&page, c);
    gm_page_note(&page, c->timeline.how);
    gm_page_note(&page, "Dashed: where each run's peak is. Each pixel shows the highest moment of its events");
    for (size_t i = 0; i < drawn(c); i++)
        if (c->runs[i]->device_count > 1) {
            gm_page_note(&page, "Of runs with several devices, the device with the highest peak is shown");
            break;
        }
    if (c->run_count > GM_RUNS_DRAWN)
        gm_page_note(&page, gm_display_printf(display, "%zu more runs are not drawn", c->run_count - GM_RUNS_DRAWN));
    gm_page_end(&page);
}
