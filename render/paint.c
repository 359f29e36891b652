/* SPDX-License-Identifier: Apache-2.0
 *
 * The painter: shapes by hand, text by pango and cairo, into a 16-bit surface: half the memory traffic of a 32-bit one,
 * and the exact colours come back in the palette (png.c).
 */
#include "render/paint.h"

#include "analyze/base/arithmetic.h"
#include "render/metric.h"
#include "render/theme.h"

#include <cairo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { TILE = 12, TALLEST = 8000 }; /* tile of a hatch and tallest page, in device pixels */

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

/* The picture while it is painted. Shapes are written here without cairo: they lie on whole pixels. */
struct bitmap {
    uint16_t *v;
    size_t width, height, stride;
};

/* As cairo does it, so that shapes and texts of one colour have the same pixels. */
static uint16_t pixel_of(uint32_t color)
{
    return (uint16_t)((color >> 8 & 0xf800) | (color >> 5 & 0x07e0) | (color >> 3 & 0x001f));
}

static double snap(double logical)
{
    return round(logical * GM_DISPLAY_SCALE);
}

static size_t clamp(double at, size_t end)
{
    return at <= 0 ? 0 : at >= (double)end ? end : (size_t)at;
}

/* [x, x + w) by [y, y + h) in pixels, as far as it lies in the picture. Hatches are tiled from the picture's corner. */
static void fill_rect(const struct bitmap *b, double x, double y, double w, double h, struct gm_fill fill)
{
    const size_t x1 = clamp(x, b->width), x2 = clamp(x + w, b->width);
    const size_t y1 = clamp(y, b->height), y2 = clamp(y + h, b->height);
    const size_t period = fill.hatch == GM_HATCH_NONE ? 1 : TILE;
    const uint16_t plain = pixel_of(fill.color), hatched = pixel_of(fill.hatch_color);
    if (x1 >= x2)
        return;
    for (size_t row = y1; row < y2; row++) {
        uint16_t *out = b->v + row * b->stride;
        if (row >= y1 + period)
            memcpy(out + x1, out + x1 - period * b->stride, (x2 - x1) * sizeof *out);
        else
            for (size_t column = x1; column < x2; column++)
                out[column] = is_hatched(fill.hatch, (int)(column % TILE), (int)(row % TILE)) ? hatched : plain;
    }
}

/* A colour from a user's category file may be as light as paper: such a bar gets a rim. */
static bool needs_rim(const struct gm_rect_item *rect)
{
    return rect->role != GM_RECT_PLAIN && rect->fill.hatch == GM_HATCH_NONE &&
           gm_contrast(rect->fill.color, GM_PAPER) < 1.2;
}

static struct gm_fill solid(uint32_t color)
{
    return (struct gm_fill){color, 0, GM_HATCH_NONE};
}

static void paint_rect(const struct bitmap *b, const struct gm_rect_item *rect)
{
    double x = snap(rect->x), y = snap(rect->y);
    double w = fmax(snap(rect->x + rect->w) - x, rect->w > 0 ? 1 : 0), h = snap(rect->y + rect->h) - y;
    if (w <= 0 || h <= 0)
        return;
    if (rect->fill.hatch != GM_HATCH_NONE && w >= TILE / 2) {
        fill_rect(b, x, y, w, h, rect->fill);
        return;
    }
    /* too thin to show a hatch: its darker colour, so that it can be seen at all */
    fill_rect(b, x, y, w, h, solid(rect->fill.hatch != GM_HATCH_NONE ? rect->fill.hatch_color : rect->fill.color));
    if (needs_rim(rect)) {
        const struct gm_fill rim = solid(GM_MUTED);
        fill_rect(b, x, y, w, 1, rim);
        fill_rect(b, x, y + h - 1, w, 1, rim);
        fill_rect(b, x, y, 1, h, rim);
        fill_rect(b, x + w - 1, y, 1, h, rim);
    }
}

/* Lines are one logical unit thick, to the right of and below their place; dashes are rectangles. */
static void paint_line(const struct bitmap *b, const struct gm_line_item *line)
{
    const double thick = GM_DISPLAY_SCALE, dash = 8, gap = 6;
    const struct gm_fill fill = solid(line->color);
    double x = snap(line->x1), y = snap(line->y1), w = snap(line->x2) - x, h = snap(line->y2) - y;
    if (!line->is_dashed) {
        fill_rect(b, x, y, fmax(w, thick), fmax(h, thick), fill);
        return;
    }
    for (double at = 0; at < fmax(w, h); at += dash + gap) {
        double length = fmin(dash, fmax(w, h) - at);
        if (w > h)
            fill_rect(b, x + at, y, length, thick, fill);
        else
            fill_rect(b, x, y + at, thick, length, fill);
    }
}

/* Column by column, but a few columns at a time, so that the rows stay in the cache. */
static void paint_area(const struct bitmap *b, const struct gm_area_item *area)
{
    const uint16_t plain = pixel_of(area->fill.color), hatched = pixel_of(area->fill.hatch_color);
    uint16_t tile[TILE][TILE]; /* [column][row] */
    bool is_painted[TILE][TILE];
    for (int column = 0; column < TILE; column++)
        for (int row = 0; row < TILE; row++) {
            bool is_dark = is_hatched(area->fill.hatch, column, row);
            tile[column][row] = is_dark ? hatched : plain;
            is_painted[column][row] = is_dark || !area->is_overlay;
        }
    for (size_t i = 0; i < area->n && area->x + i < b->width; i++) {
        const size_t x = area->x + i, end = area->bottom[i] < b->height ? area->bottom[i] : b->height;
        uint16_t *out = b->v + x + area->top[i] * b->stride;
        if (area->fill.hatch == GM_HATCH_NONE) {
            for (size_t y = area->top[i]; y < end; y++, out += b->stride)
                *out = plain;
            continue;
        }
        for (size_t y = area->top[i]; y < end; y++, out += b->stride)
            if (is_painted[x % TILE][y % TILE])
                *out = tile[x % TILE][y % TILE];
    }
}

static void set_color(cairo_t *cr, uint32_t color)
{
    cairo_set_source_rgb(cr, (double)(color >> 16 & 0xff) / 255, (double)(color >> 8 & 0xff) / 255,
                         (double)(color & 0xff) / 255);
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

static void paint_items(cairo_t *cr, const struct bitmap *bitmap, struct gm_painter *painter, struct gm_canvas *canvas,
                        const struct gm_display *display)
{
    cairo_surface_t *surface = cairo_get_target(cr);
    cairo_set_antialias(cr, CAIRO_ANTIALIAS_NONE); /* of the boxes that pango draws for unknown characters */
    bool is_ours = true;                           /* who painted last: we or cairo */
    fill_rect(bitmap, 0, 0, (double)bitmap->width, (double)bitmap->height, solid(GM_PAPER));
    for (size_t i = 0; i < display->items.n; i++) {
        const struct gm_item *item = &display->items.v[i];
        if (is_ours && item->kind == GM_ITEM_TEXT)
            cairo_surface_mark_dirty(surface);
        else if (!is_ours && item->kind != GM_ITEM_TEXT)
            cairo_surface_flush(surface);
        is_ours = item->kind != GM_ITEM_TEXT;
        switch (item->kind) {
        case GM_ITEM_RECT:
            paint_rect(bitmap, &item->rect);
            break;
        case GM_ITEM_LINE:
            paint_line(bitmap, &item->line);
            break;
        case GM_ITEM_AREA:
            paint_area(bitmap, &item->area);
            break;
        case GM_ITEM_TEXT:
            paint_text(cr, painter, canvas, &item->text);
            break;
        }
    }
}

/* Makes room for `bytes` bytes of pixels: at first as much as the usual charts need, since a buffer that has to grow
 * pays for its pages twice. */
static bool reserve(struct gm_canvas *canvas, size_t bytes)
{
    const size_t usual = 1800 * 1700 * sizeof *canvas->pixels, huge_page = 2 << 20;
    void *p = NULL;
    if (bytes <= canvas->pixel_capacity)
        return true;
    free(canvas->pixels);
    canvas->pixels = NULL;
    const size_t want = gm_round_up(bytes > usual ? bytes : usual, huge_page);
    canvas->pixel_capacity = posix_memalign(&p, huge_page, want) == 0 ? want : 0;
    if (canvas->pixel_capacity == 0)
        return false;
    madvise(p, want, MADV_HUGEPAGE); /* fewer page faults, if it can */
    canvas->pixels = p;
    return true;
}

enum gm_status gm_paint(struct gm_pixels *pixels, struct gm_painter *painter, struct gm_canvas *canvas,
                        const struct gm_display *display, struct gm_error *err)
{
    const int width = GM_DISPLAY_WIDTH * GM_DISPLAY_SCALE;
    const double tall = ceil(display->height * GM_DISPLAY_SCALE);
    if (!(tall >= 1 && tall <= TALLEST))
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "a chart's page is %.0f pixels tall", tall);
    const int height = (int)tall, stride = cairo_format_stride_for_width(CAIRO_FORMAT_RGB16_565, width);
    const size_t before = (size_t)stride * GM_ROWS_BEFORE, bytes = before + (size_t)stride * (size_t)height;
    if (!reserve(canvas, bytes))
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for a chart");
    uint16_t *const v = canvas->pixels + before / sizeof *v;
    cairo_surface_t *surface =
        cairo_image_surface_create_for_data((unsigned char *)v, CAIRO_FORMAT_RGB16_565, width, height, stride);
    cairo_t *cr = cairo_create(surface);
    const struct bitmap bitmap = {v, (size_t)width, (size_t)height, (size_t)stride / sizeof *v};
    cairo_surface_flush(surface);
    paint_items(cr, &bitmap, painter, canvas, display);
    cairo_status_t status = cairo_status(cr);
    cairo_destroy(cr);
    cairo_surface_finish(surface);
    cairo_surface_destroy(surface);
    if (status != CAIRO_STATUS_SUCCESS)
        return gm_fail(err, status == CAIRO_STATUS_NO_MEMORY ? GM_E_NOMEM : GM_E_INTERNAL, GM_NO_OFFSET,
                       "a chart could not be painted: %s", cairo_status_to_string(status));
    *pixels = (struct gm_pixels){v, bitmap.width, bitmap.height, bitmap.stride};
    return GM_OK;
}
