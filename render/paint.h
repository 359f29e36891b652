/* SPDX-License-Identifier: Apache-2.0
 *
 * Painting: a display list to pixels.
 */
#ifndef GM_RENDER_PAINT_H
#define GM_RENDER_PAINT_H

#include "analyze/base/error.h"
#include "render/display.h"
#include "render/png.h"
#include "render/render.h"

#include <pango/pangocairo.h>

/* Text engines: pango layouts for each size and weight. Font maps may be used by one thread at a time, so a
 * painter keeps a stock of canvases (a text engine and the buffers of one picture), one per thread that draws at
 * the same time. */

/* Layouts of one font map. */
struct gm_typesetter {
    PangoFontMap *map; /* NULL: not made yet */
    PangoContext *context;
    PangoLayout *layouts[GM_TEXT_SIZES][GM_WEIGHTS];
};

/* How a glyph looks: how much of each pixel it covers, in 255ths; glyphs.c. */
struct gm_glyph {
    PangoFont *font; /* owned; NULL: there is none here */
    PangoGlyph number;
    int phase;     /* how far right of a whole pixel it is */
    int left, top; /* from its place on the baseline */
    int width, height;
    uint8_t *shares; /* owned, [height][width]; NULL: there is nothing to see */
};

/* A colour over one index, and the indices that it makes of it. */
struct gm_ink {
    bool is_set;
    uint8_t under;
    uint32_t color;
    int16_t covered[256]; /* [share]; -1: not known yet */
};

enum { GM_PICTURE_WIDTH = GM_DISPLAY_WIDTH * GM_DISPLAY_SCALE, GM_STRIP_ROWS = 64, GM_GLYPHS = 2048, GM_INKS = 32 };

struct gm_canvas {
    struct gm_canvas *next;
    struct gm_typesetter usual;  /* the one or two fonts that nearly all texts need */
    struct gm_typesetter system; /* all fonts of the system, for texts that the usual one lacks characters for */
    uint8_t *rows;               /* of the picture, see png.h */
    size_t capacity;
    struct gm_palette palette;
    /* The part of the picture in which cairo draws a text, in 5-6-5 bits of red, green, blue; as it is and as it was.
     */
    uint16_t strip[GM_STRIP_ROWS][GM_PICTURE_WIDTH], before[GM_STRIP_ROWS][GM_PICTURE_WIDTH];
    struct gm_ink inks[GM_INKS]; /* of this palette */
    struct gm_glyph glyphs[GM_GLYPHS];
    size_t glyph_count;
    struct gm_png_scratch scratch;
};

/* A canvas that no other thread has; to be given back. NULL if there is no memory. */
struct gm_canvas *gm_painter_take(struct gm_painter *painter);
void gm_painter_give_back(struct gm_painter *painter, struct gm_canvas *canvas);

/* The layout to set `text` with: right size, weight and fonts that have its characters. */
PangoLayout *gm_canvas_layout(struct gm_painter *painter, struct gm_canvas *canvas, const struct gm_text_item *text);

void gm_canvas_forget_glyphs(struct gm_canvas *canvas);
/* Puts a line there, clipped to the picture, with its beginning on the baseline at x, y: every pixel as if cairo had
 * drawn the line on the picture in 5-6-5 bits. NULL: only makes its glyphs. false: nothing was put, for that cannot be
 * promised of this line, or there is no memory. */
bool gm_canvas_write(struct gm_canvas *canvas, const struct gm_pixels *to, const PangoLayoutLine *line, double x,
                     double y, uint32_t color);

/* Paints into the canvas's own rows, which *pixels then points to, and its palette. */
enum gm_status gm_paint(struct gm_pixels *pixels, struct gm_painter *painter, struct gm_canvas *canvas,
                        const struct gm_display *display, struct gm_error *err);

#endif
