/* SPDX-License-Identifier: Apache-2.0
 *
 * Painting: a display list to pixels.
 */
#pragma once

#include "analyze/base/error.h"
#include "render/display.h"
#include "render/png.h"
#include "render/render.h"

/* A painter keeps a stock of canvases, which have the buffers of one picture: one per thread that draws at the same
 * time. */

/* A colour over one index, and the indices that it makes of it. */
struct gm_ink {
    bool is_set;
    uint8_t under;
    uint32_t color;
    int16_t covered[256]; /* [share]; -1: not known yet */
};

enum { GM_PICTURE_WIDTH = GM_DISPLAY_WIDTH * GM_DISPLAY_SCALE, GM_INKS = 32 };

struct gm_canvas {
    struct gm_canvas *next;
    uint8_t *rows; /* of the picture, see png.h */
    size_t capacity;
    struct gm_palette palette;
    struct gm_ink inks[GM_INKS]; /* of this palette */
    struct gm_png_scratch scratch;
};

/* A canvas that no other thread has; to be given back. NULL if there is no memory. */
struct gm_canvas *gm_painter_take(struct gm_painter *painter);
void gm_painter_give_back(struct gm_painter *painter, struct gm_canvas *canvas);

/* Puts a text into the picture, ellipsised, clipped to both. false: nothing was put, as not all of its letters are in
 * the atlas. */
bool gm_letters_put(struct gm_canvas *canvas, const struct gm_pixels *to, const struct gm_text_item *text);

/* Paints into the canvas's own rows, which *pixels then points to, and its palette. */
enum gm_status gm_paint(struct gm_pixels *pixels, struct gm_painter *painter, struct gm_canvas *canvas,
                        const struct gm_display *display, struct gm_error *err);
