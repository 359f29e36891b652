/* SPDX-License-Identifier: Apache-2.0
 *
 * The painter: shapes and the usual texts by hand, straight into the indices that a PNG has. Others by the typesetter,
 * which is made when the first one comes.
 */
#include "render/paint.h"

#include "analyze/base/arithmetic.h"
#include "render/theme.h"
#include "render/typeset.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { TILE = 12, TALLEST = 8000 }; /* tile of a hatch and tallest page, in pixels */

struct gm_painter {
    pthread_mutex_t lock; /* guards the rest */
    struct gm_canvas *idle;
    struct gm_typesetter *typesetter; /* NULL until needed */
};

enum gm_status gm_painter_new(struct gm_painter **painter, struct gm_error *err)
{
    *painter = NULL;
    struct gm_painter *p = calloc(1, sizeof *p);
    if (p == NULL)
        return gm_no_memory(err);
    if (pthread_mutex_init(&p->lock, NULL) != 0) {
        free(p);
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "a mutex could not be made");
    }
    *painter = p;
    return GM_OK;
}

void gm_painter_free(struct gm_painter *painter)
{
    if (painter == NULL)
        return;
    while (painter->idle != NULL) {
        struct gm_canvas *canvas = painter->idle;
        painter->idle = canvas->next;
        gm_png_scratch_free(&canvas->scratch);
        GM_FREE_ALL(canvas->rows, canvas);
    }
    gm_typesetter_free(painter->typesetter);
    pthread_mutex_destroy(&painter->lock);
    free(painter);
}

struct gm_canvas *gm_painter_take(struct gm_painter *painter)
{
    pthread_mutex_lock(&painter->lock);
    struct gm_canvas *canvas = painter->idle;
    if (canvas != NULL)
        painter->idle = canvas->next;
    pthread_mutex_unlock(&painter->lock);
    return canvas != NULL ? canvas : calloc(1, sizeof *canvas);
}

void gm_painter_give_back(struct gm_painter *painter, struct gm_canvas *canvas)
{
    pthread_mutex_lock(&painter->lock);
    canvas->next = painter->idle;
    painter->idle = canvas;
    pthread_mutex_unlock(&painter->lock);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

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
    struct gm_pixels to;
    struct gm_palette *palette;
};

static uint8_t index_of(const struct bitmap *b, uint32_t color)
{
    return gm_palette_index(b->palette, gm_pixel_of(color));
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
    const size_t x1 = clamp(x, b->to.width), x2 = clamp(x + w, b->to.width);
    const size_t y1 = clamp(y, b->to.height), y2 = clamp(y + h, b->to.height);
    const uint8_t plain = index_of(b, fill.color);
    const uint8_t hatched = fill.hatch == GM_HATCH_NONE ? plain : index_of(b, fill.hatch_color);
    if (x1 >= x2)
        return;
    for (size_t row = y1; row < y2; row++) {
        uint8_t *out = gm_pixels_row(&b->to, row);
        if (fill.hatch == GM_HATCH_NONE)
            memset(out + x1, plain, x2 - x1);
        else if (row >= y1 + TILE)
            memcpy(out + x1, gm_pixels_row(&b->to, row - TILE) + x1, x2 - x1);
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
    const size_t stride = b->to.width + 1;
    const uint8_t hatched = area->fill.hatch == GM_HATCH_NONE ? 0 : index_of(b, area->fill.hatch_color);
    const uint8_t plain = area->is_overlay ? hatched : index_of(b, area->fill.color);
    uint8_t tile[TILE][TILE]; /* [column][row] */
    bool is_painted[TILE][TILE];
    for (int column = 0; column < TILE; column++)
        for (int row = 0; row < TILE; row++) {
            bool is_dark = is_hatched(area->fill.hatch, column, row);
            tile[column][row] = is_dark ? hatched : plain;
            is_painted[column][row] = is_dark || !area->is_overlay;
        }
    for (size_t i = 0; i < area->n && area->x + i < b->to.width; i++) {
        const size_t x = area->x + i, end = area->bottom[i] < b->to.height ? area->bottom[i] : b->to.height;
        uint8_t *out = gm_pixels_row(&b->to, area->top[i]) + x;
        if (area->fill.hatch == GM_HATCH_NONE) {
            for (size_t y = area->top[i]; y < end; y++, out += stride)
                *out = plain;
            continue;
        }
        for (size_t y = area->top[i]; y < end; y++, out += stride)
            if (is_painted[x % TILE][y % TILE])
                *out = tile[x % TILE][y % TILE];
    }
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static enum gm_status paint_text(const struct bitmap *b, struct gm_painter *painter, struct gm_canvas *canvas,
                                 const struct gm_text_item *text, struct gm_error *err)
{
    enum gm_status status = GM_OK;
    if (text->max_width * GM_DISPLAY_SCALE < 1 || gm_letters_put(canvas, &b->to, text))
        return GM_OK;
    pthread_mutex_lock(&painter->lock);
    if (painter->typesetter == NULL)
        status = gm_typesetter_new(&painter->typesetter, err);
    GM_THEN(status, gm_typeset(painter->typesetter, &b->to, b->palette, text, err));
    pthread_mutex_unlock(&painter->lock);
    return status;
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

enum { MOST_EXACT = 128 };

/* The one or two colours of an item. */
static void colors_of(const struct gm_item *item, uint32_t colors[2])
{
    if (item->kind == GM_ITEM_RECT || item->kind == GM_ITEM_AREA) {
        const struct gm_fill *fill = item->kind == GM_ITEM_RECT ? &item->rect.fill : &item->area.fill;
        bool is_overlay = item->kind == GM_ITEM_AREA && item->area.is_overlay;
        colors[0] = is_overlay ? fill->hatch_color : fill->color;
        colors[1] = fill->hatch != GM_HATCH_NONE ? fill->hatch_color : colors[0];
    } else {
        colors[0] = colors[1] = item->kind == GM_ITEM_LINE ? item->line.color : item->text.color;
    }
}

/* The colours of the list in order of appearance, paper first; those of letters' edges are not known here. */
static void enter_colors(struct gm_palette *palette, const struct gm_display *display)
{
    gm_palette_clear(palette);
    gm_palette_enter(palette, GM_PAPER);
    for (size_t i = 0; i < display->items.n && palette->n < MOST_EXACT; i++) {
        uint32_t colors[2];
        colors_of(&display->items.v[i], colors);
        gm_palette_enter(palette, colors[0]);
        gm_palette_enter(palette, colors[1]);
    }
}

static enum gm_status paint_items(const struct bitmap *bitmap, struct gm_painter *painter, struct gm_canvas *canvas,
                                  const struct gm_display *display, struct gm_error *err)
{
    memset(bitmap->to.rows, 0, (bitmap->to.width + 1) * bitmap->to.height); /* paper, and no filter */
    for (size_t i = 0; i < display->items.n; i++) {
        const struct gm_item *item = &display->items.v[i];
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
            GM_TRY(paint_text(bitmap, painter, canvas, &item->text, err));
            break;
        }
    }
    return GM_OK;
}

/* Makes room for `bytes` bytes of rows: at first as much as the usual charts need, since a buffer that has to grow
 * pays for its pages twice. */
static bool reserve(struct gm_canvas *canvas, size_t bytes)
{
    const size_t huge_page = 2 << 20, usual = 2 * huge_page;
    void *p = NULL;
    if (bytes <= canvas->capacity)
        return true;
    free(canvas->rows);
    canvas->rows = NULL;
    const size_t want = gm_round_up(bytes > usual ? bytes : usual, huge_page);
    canvas->capacity = posix_memalign(&p, huge_page, want) == 0 ? want : 0;
    if (canvas->capacity == 0)
        return false;
    madvise(p, want, MADV_HUGEPAGE); /* fewer page faults, if it can */
    canvas->rows = p;
    return true;
}

enum gm_status gm_paint(struct gm_pixels *pixels, struct gm_painter *painter, struct gm_canvas *canvas,
                        const struct gm_display *display, struct gm_error *err)
{
    const double tall = ceil(display->height * GM_DISPLAY_SCALE);
    if (!(tall >= 1 && tall <= TALLEST))
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "a chart's page is %.0f pixels tall", tall);
    if (!reserve(canvas, (GM_PICTURE_WIDTH + 1) * (size_t)tall))
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for a chart");
    *pixels = (struct gm_pixels){canvas->rows, GM_PICTURE_WIDTH, (size_t)tall};
    enter_colors(&canvas->palette, display);
    memset(canvas->inks, 0, sizeof canvas->inks);
    return paint_items(&(struct bitmap){*pixels, &canvas->palette}, painter, canvas, display, err);
}
