/* SPDX-License-Identifier: Apache-2.0
 *
 * The curve of a device in rows of block elements, an eighth of a row fine.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/document/canvas_parts.h"
#include "analyze/report/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12, EIGHTHS = 8, GUTTER = 12, MOST_STEPS = 4 /* divides ROWS, as 1, 2 and 3 do */, TICK_COLUMNS = 14 };
enum { LIMIT_AT_MOST = 4 /* times the highest moment; a line farther up would leave nothing of the curve */ };

struct cell { /* of all moments in a column of characters */
    uint64_t used, reserved;
};

struct chart {
    const struct gm_text_canvas *canvas;
    const struct gm_view *view;
    const struct gm_curve *curve;
    struct cell *cells; /* [width] */
    char *labels;       /* [width + 1] */
    size_t width;
    double step; /* bytes between ticks */
    unsigned steps;
    bool has_limit;
};

/* ---- the scales -------------------------------------------------------------------------------------------------- */

static uint64_t most_of(const struct chart *c)
{
    uint64_t most = 1;
    for (size_t x = 0; x < c->width; x++)
        most = gm_max(most, gm_max(c->cells[x].used, c->cells[x].reserved));
    return most;
}

static void fill_cells(struct chart *c)
{
    const size_t n = c->curve->column_count;
    for (size_t x = 0; x < c->width; x++) {
        const size_t first = x * n / c->width, last = (x + 1) * n / c->width;
        for (size_t i = first; i < (last > first ? last : first + 1); i++) {
            const struct gm_levels *high = &c->curve->columns[i].high;
            const struct cell more = {c->view->is_reconstructed ? high->allocated : high->requested,
                                      c->view->has_reserved ? high->reserved : 0};
            c->cells[x].used = gm_max(c->cells[x].used, more.used);
            c->cells[x].reserved = gm_max(c->cells[x].reserved, more.reserved);
        }
    }
}

static void set_scale(struct chart *c)
{
    uint64_t most = most_of(c);
    c->has_limit = c->canvas->card != NULL && c->canvas->limit / LIMIT_AT_MOST <= most;
    if (c->has_limit)
        most = gm_max(most, c->canvas->limit);
    for (c->step = 1; (double)most / c->step > MOST_STEPS;)
        c->step *= 2;
    c->steps = (unsigned)ceil((double)most / c->step);
}

/* Eighths of rows; at least one of what is there. */
static unsigned height_of(const struct chart *c, uint64_t bytes)
{
    const double height = round((double)bytes / (c->step * c->steps) * ROWS * EIGHTHS);
    return bytes > 0 && height < 1 ? 1 : (unsigned)height;
}

static size_t x_of_event(const struct chart *c, uint64_t event)
{
    const size_t n = c->curve->column_count;
    size_t i = 0;
    if (event == GM_REPORT_NONE)
        return 0; /* before event 0 */
    while (i + 1 < n && (c->curve->columns[i].first_event > c->curve->columns[i].last_event ||
                         c->curve->columns[i].last_event < event))
        i++;
    return (2 * i + 1) * c->width / (2 * n);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const char *cell_text(const struct chart *c, size_t x, unsigned row)
{
    static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    const bool is_utf8 = c->canvas->is_utf8;
    const unsigned floor = row * EIGHTHS, used = height_of(c, c->cells[x].used);
    const unsigned limit = c->has_limit ? height_of(c, c->canvas->limit) - 1 : 0;
    if (used > floor && (is_utf8 || used - floor >= EIGHTHS / 2 || row == 0))
        return is_utf8 ? blocks[gm_min(used - floor, EIGHTHS)] : "#";
    if (height_of(c, c->cells[x].reserved) >= floor + EIGHTHS / 2)
        return is_utf8 ? "\u2591" : ".";
    return !c->has_limit || limit / EIGHTHS != row ? " " : is_utf8 ? "\u254c" : "-";
}

static void end_row(struct gm_text *out)
{
    while (out->length > 0 && out->data[out->length - 1] == ' ')
        out->length--;
    gm_text_add_char(out, '\n');
}

static void draw_rows(struct gm_text *out, const struct chart *c)
{
    for (unsigned row = ROWS; row-- > 0;) {
        const bool is_tick = (row + 1) % (ROWS / c->steps) == 0;
        char label[GM_NUMBER_TEXT] = "";
        if (is_tick)
            gm_tick_bytes_format(label, (uint64_t)(c->step * ((row + 1) / (ROWS / c->steps))));
        gm_text_printf(out, "%10s ", label);
        if (c->canvas->is_utf8)
            gm_text_add(out, is_tick ? "\u2524" : "\u2502");
        else
            gm_text_add_char(out, is_tick ? '+' : '|');
        for (size_t x = 0; x < c->width; x++)
            gm_text_add(out, cell_text(c, x, row));
        end_row(out);
    }
}

/* ---- what stands above and below --------------------------------------------------------------------------------- */

static void clear_labels(struct chart *c)
{
    memset(c->labels, ' ', c->width);
    c->labels[c->width] = '\0';
}

/* From `x` on, or where it ends at the right edge; only where nothing stands yet. */
static void put_label(struct chart *c, size_t x, const char *text)
{
    const size_t n = strlen(text);
    if (n > c->width)
        return;
    x = x + n > c->width ? c->width - n : x;
    const size_t from = x > 0 ? x - 1 : 0, to = x + n < c->width ? x + n + 1 : c->width;
    for (size_t i = from; i < to; i++)
        if (c->labels[i] != ' ')
            return;
    memcpy(c->labels + x, text, n);
}

static void draw_labels(struct gm_text *out, const struct chart *c, const char *what)
{
    gm_text_printf(out, "%10s  %s", what, c->labels);
    end_row(out);
}

static void draw_peak(struct gm_text *out, const struct chart *c)
{
    static const char word[] = "peak";
    const size_t x = x_of_event(c, c->view->peak->event), room = sizeof word; /* the word and a blank */
    const bool is_right = x + room < c->width;
    gm_text_repeat(out, ' ', GUTTER + x - (is_right ? 0 : room));
    if (!is_right)
        gm_text_printf(out, "%s ", word);
    gm_text_add(out, c->canvas->is_utf8 ? "\u25bc" : "v");
    gm_text_printf(out, is_right ? " %s\n" : "\n", word);
}

/* The line below the rows, and the numbers of its ticks. */
static void draw_axis(struct gm_text *out, struct chart *c)
{
    const bool is_by_time = c->curve->is_by_time;
    const double end = c->curve->x_end > 0 ? c->curve->x_end : 1;
    const struct gm_tick_unit unit = is_by_time ? gm_tick_unit(end) : (struct gm_tick_unit){1, ""};
    const double step = fmax(gm_tick_step(end / unit.us, (unsigned)(c->width / TICK_COLUMNS) + 1), is_by_time ? 0 : 1);
    char *line = c->labels;
    clear_labels(c);
    for (double at = 0; at * unit.us <= end * (1 + 1e-9); at += step)
        line[gm_min((uint64_t)(at * unit.us / end * (double)c->width), c->width - 1)] = '+';
    gm_text_printf(out, "%10s %s", "0", c->canvas->is_utf8 ? "\u2514" : "+");
    for (size_t x = 0; x < c->width; x++)
        gm_text_add(out, !c->canvas->is_utf8 ? line[x] == ' ' ? "-" : "+" : line[x] == ' ' ? "\u2500" : "\u252c");
    gm_text_add_char(out, '\n');
    clear_labels(c);
    for (double at = 0; at * unit.us <= end * (1 + 1e-9); at += step) {
        char number[GM_NUMBER_TEXT], text[2 * GM_NUMBER_TEXT];
        if (is_by_time)
            snprintf(text, sizeof text, "%s %s", gm_real_format(number, at), unit.name);
        else
            snprintf(text, sizeof text, "%s", gm_count_format(number, (uint64_t)at));
        put_label(c, (size_t)(at * unit.us / end * (double)c->width), text);
    }
    draw_labels(out, c, is_by_time ? "time" : "event");
}

static void draw_steps(struct gm_text *out, struct chart *c)
{
    const struct gm_steps *steps = &c->view->timeline->steps;
    if (steps->row_count == 0)
        return;
    clear_labels(c);
    for (size_t i = 0; i < steps->row_count; i++) {
        char text[GM_NUMBER_TEXT];
        snprintf(text, sizeof text, "|%" PRIu64, steps->rows[i].number);
        put_label(c, x_of_event(c, steps->rows[i].first_event), text);
    }
    draw_labels(out, c, "step");
}

static void draw_legend(struct gm_text *out, const struct chart *c)
{
    char size[GM_NUMBER_TEXT];
    const bool is_utf8 = c->canvas->is_utf8;
    struct gm_text line = {0};
    gm_text_printf(&line, "%*s%s %s", GUTTER, "", is_utf8 ? "\u2588" : "#",
                   c->view->is_reconstructed ? "allocated" : "requested");
    if (c->view->has_reserved)
        gm_text_printf(&line, "  %s reserved", is_utf8 ? "\u2591" : ".");
    if (c->canvas->card != NULL)
        gm_text_printf(&line, "  %s %s: %s%s", is_utf8 ? "\u254c" : "-", c->canvas->card,
                       gm_bytes_format(size, c->canvas->limit), c->has_limit ? "" : ", far above");
    gm_canvas_line(out, &line, c->canvas);
}

static void draw_chart(struct gm_text *out, const struct gm_view *view, const struct gm_text_canvas *canvas)
{
    struct chart c = {
        .canvas = canvas, .view = view, .curve = &view->timeline->curve, .width = canvas->columns - GUTTER};
    if (c.curve->column_count == 0)
        return;
    c.cells = calloc(c.width, sizeof *c.cells);
    c.labels = malloc(c.width + 1);
    if (c.cells == NULL || c.labels == NULL) {
        out->failed = true;
    } else {
        fill_cells(&c);
        set_scale(&c);
        draw_peak(out, &c);
        draw_rows(out, &c);
        draw_axis(out, &c);
        draw_steps(out, &c);
        draw_legend(out, &c);
    }
    GM_FREE_ALL(c.cells, c.labels);
}

void gm_canvas_chart(struct gm_text *out, const struct gm_report *report, const struct gm_text_canvas *canvas)
{
    gm_canvas_devices(out, report, canvas, "over time, peak", draw_chart);
}
