/* SPDX-License-Identifier: Apache-2.0
 *
 * The painter: cairo for shapes, pango for text, into a 16-bit surface: half the memory traffic of a 32-bit one, and
 * the exact colours come back in the palette (png.c).
 */
#include "render/paint.h"

#include "render/metric.h"
#include "render/theme.h"

#include <cairo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 12, TALLEST = 8000 }; /* tile of a hatch and tallest page, in device pixels */

static void set_color(cairo_t *cr, uint32_t color)
{
    cairo_set_source_rgb(cr, (double)(color >> 16 & 0xff) / 255, (double)(color >> 8 & 0xff) / 255,
                         (double)(color & 0xff) / 255);
}

/* Where a hatch has its second colour, within its tile. */
static bool is_hatched(enum gm_hatch hatch, int x, int y)
{
    switch (hatch) {
    case GM_HATCH_DIAGONAL:
        return (x + y) % TILE < 4;
    case GM_HATCH_CROSS:
        return (x + y) % TILE < 2 || (x - y + TILE) % TILE < 2;
    case GM_HATCH_DOTS:
        return x % (TILE / 2) < 3 && y % (TILE / 2) < 3 && (x / (TILE / 2) + y / (TILE / 2)) % 2 == 0;
    case GM_HATCH_NONE:
    case GM_HATCH_COUNT:
        break;
    }
    return false;
}

/* Fills a rectangle of device pixels with a hatch, tile by tile, in steps that start at the picture's corner. */
static void fill_hatched(cairo_t *cr, const struct gm_fill *fill, double x, double y, double w, double h)
{
    cairo_surface_t *tile = cairo_surface_create_similar_image(cairo_get_target(cr), CAIRO_FORMAT_RGB24, TILE, TILE);
    if (cairo_surface_status(tile) == CAIRO_STATUS_SUCCESS) {
        unsigned char *data = cairo_image_surface_get_data(tile);
        int stride = cairo_image_surface_get_stride(tile);
        cairo_surface_flush(tile);
        for (int row = 0; row < TILE; row++)
            for (int column = 0; column < TILE; column++) {
                uint32_t color = is_hatched(fill->hatch, column, row) ? fill->hatch_color : fill->color;
                memcpy(data + row * stride + column * 4, &color, sizeof color);
            }
        cairo_surface_mark_dirty(tile);
    }
    cairo_set_source_surface(cr, tile, 0, 0);
    cairo_pattern_set_extend(cairo_get_source(cr), CAIRO_EXTEND_REPEAT);
    cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_NEAREST);
    cairo_rectangle(cr, x, y, w, h);
    cairo_fill(cr);
    cairo_surface_destroy(tile);
}

static double snap(double logical)
{
    return round(logical * GM_DISPLAY_SCALE);
}

/* A colour from a user's category file may be as light as paper: such a bar gets a rim. */
static bool needs_rim(const struct gm_rect_item *rect)
{
    return rect->role != GM_RECT_PLAIN && rect->fill.hatch == GM_HATCH_NONE &&
           gm_contrast(rect->fill.color, GM_PAPER) < 1.2;
}

static void paint_rect(cairo_t *cr, const struct gm_rect_item *rect)
{
    double x = snap(rect->x), y = snap(rect->y);
    double w = fmax(snap(rect->x + rect->w) - x, rect->w > 0 ? 1 : 0), h = snap(rect->y + rect->h) - y;
    if (w <= 0 || h <= 0)
        return;
    if (rect->fill.hatch != GM_HATCH_NONE && w >= TILE / 2) {
        fill_hatched(cr, &rect->fill, x, y, w, h);
        return;
    }
    /* too thin to show a hatch: its darker colour, so that it can be seen at all */
    set_color(cr, rect->fill.hatch != GM_HATCH_NONE ? rect->fill.hatch_color : rect->fill.color);
    cairo_rectangle(cr, x, y, w, h);
    cairo_fill(cr);
    if (needs_rim(rect)) {
        set_color(cr, GM_MUTED);
        cairo_rectangle(cr, x, y, w, 1);
        cairo_rectangle(cr, x, y + h - 1, w, 1);
        cairo_rectangle(cr, x, y, 1, h);
        cairo_rectangle(cr, x + w - 1, y, 1, h);
        cairo_fill(cr);
    }
}

/* Lines are one logical unit thick, to the right of and below their place; dashes are rectangles. */
static void paint_line(cairo_t *cr, const struct gm_line_item *line)
{
    const double thick = GM_DISPLAY_SCALE, dash = 8, gap = 6;
    double x = snap(line->x1), y = snap(line->y1), w = snap(line->x2) - x, h = snap(line->y2) - y;
    set_color(cr, line->color);
    if (!line->is_dashed) {
        cairo_rectangle(cr, x, y, fmax(w, thick), fmax(h, thick));
    } else {
        for (double at = 0; at < fmax(w, h); at += dash + gap) {
            double length = fmin(dash, fmax(w, h) - at);
            if (w > h)
                cairo_rectangle(cr, x + at, y, length, thick);
            else
                cairo_rectangle(cr, x, y + at, thick, length);
        }
    }
    cairo_fill(cr);
}

static void paint_text(cairo_t *cr, struct gm_painter *painter, struct gm_canvas *canvas,
                       const struct gm_text_item *text)
{
    static const PangoEllipsizeMode modes[] = {
        [GM_ELLIPSIS_END] = PANGO_ELLIPSIZE_END,
        [GM_ELLIPSIS_MIDDLE] = PANGO_ELLIPSIZE_MIDDLE,
        [GM_ELLIPSIS_START] = PANGO_ELLIPSIZE_START,
    };
    const double room = text->max_width * GM_DISPLAY_SCALE;
    if (room < 1)
        return;
    PangoLayout *layout = gm_canvas_layout(painter, canvas, text);
    pango_layout_set_ellipsize(layout, modes[text->ellipsis]);
    pango_layout_set_width(layout, (int)(room * PANGO_SCALE));
    pango_layout_set_text(layout, text->text, -1);
    PangoLayoutLine *line = pango_layout_get_line_readonly(layout, 0);
    if (line == NULL)
        return;
    PangoRectangle extents;
    pango_layout_line_get_extents(line, NULL, &extents);
    double width = (double)extents.width / PANGO_SCALE;
    double shift = text->anchor == GM_ANCHOR_START ? 0 : text->anchor == GM_ANCHOR_MIDDLE ? width / 2 : width;
    const double half_capital = 0.365; /* of the em */
    double baseline = (text->y + half_capital * gm_text_pixels(text->size)) * GM_DISPLAY_SCALE;
    set_color(cr, text->color);
    cairo_move_to(cr, round(text->x * GM_DISPLAY_SCALE - shift), round(baseline));
    pango_cairo_show_layout_line(cr, line);
}

static void paint_items(cairo_t *cr, struct gm_painter *painter, struct gm_canvas *canvas,
                        const struct gm_display *display)
{
    set_color(cr, GM_PAPER);
    cairo_paint(cr);
    cairo_set_antialias(cr, CAIRO_ANTIALIAS_NONE); /* of shapes: they lie on whole pixels */
    for (size_t i = 0; i < display->items.n; i++) {
        const struct gm_item *item = &display->items.v[i];
        switch (item->kind) {
        case GM_ITEM_RECT:
            paint_rect(cr, &item->rect);
            break;
        case GM_ITEM_LINE:
            paint_line(cr, &item->line);
            break;
        case GM_ITEM_TEXT:
            paint_text(cr, painter, canvas, &item->text);
            break;
        }
    }
}

enum gm_status gm_paint(struct gm_pixels *pixels, struct gm_painter *painter, struct gm_canvas *canvas,
                        const struct gm_display *display, struct gm_error *err)
{
    const int width = GM_DISPLAY_WIDTH * GM_DISPLAY_SCALE;
    const double tall = ceil(display->height * GM_DISPLAY_SCALE);
    if (!(tall >= 1 && tall <= TALLEST))
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "a chart's page is %.0f pixels tall", tall);
    const int height = (int)tall, stride = cairo_format_stride_for_width(CAIRO_FORMAT_RGB16_565, width);
    const size_t bytes = (size_t)stride * (size_t)height;
    if (!gm_png_reserve(&canvas->pixels, &canvas->pixel_capacity, bytes, GM_USUAL_PIXELS * sizeof *canvas->pixels))
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for a chart");
    cairo_surface_t *surface = cairo_image_surface_create_for_data((unsigned char *)canvas->pixels,
                                                                   CAIRO_FORMAT_RGB16_565, width, height, stride);
    cairo_t *cr = cairo_create(surface);
    paint_items(cr, painter, canvas, display);
    cairo_status_t status = cairo_status(cr);
    cairo_destroy(cr);
    cairo_surface_finish(surface);
    cairo_surface_destroy(surface);
    if (status != CAIRO_STATUS_SUCCESS)
        return gm_fail(err, status == CAIRO_STATUS_NO_MEMORY ? GM_E_NOMEM : GM_E_INTERNAL, GM_NO_OFFSET,
                       "a chart could not be painted: %s", cairo_status_to_string(status));
    *pixels =
        (struct gm_pixels){canvas->pixels, (size_t)width, (size_t)height, (size_t)stride / sizeof *canvas->pixels};
    return GM_OK;
}
