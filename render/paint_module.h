/* SPDX-License-Identifier: Apache-2.0
 *
 * What draws pictures, as a table that a shared object of its own provides (paint.c, letters.c, png.c): with the
 * letters and what compresses, which a program without pictures need not load.
 */
#pragma once

#include "render/paint.h"

#define GM_PAINT_SYMBOL "gm_paint_module"
#define GM_PAINT_FILE "gmpaint.so"

/* The functions of render.h, paint.h and png.h that have these names. */
struct gm_paint_module {
    const char *version; /* of the program that it belongs to */
    enum gm_status (*painter_new)(struct gm_painter **painter, struct gm_error *err);
    void (*painter_free)(struct gm_painter *painter);
    struct gm_canvas *(*take)(struct gm_painter *painter);
    void (*give_back)(struct gm_painter *painter, struct gm_canvas *canvas);
    enum gm_status (*paint)(struct gm_pixels *pixels, struct gm_painter *painter, struct gm_canvas *canvas,
                            const struct gm_display *display, struct gm_error *err);
    enum gm_status (*png_compress)(struct gm_png *png, struct gm_png_scratch *scratch, const struct gm_palette *palette,
                                   const struct gm_pixels *pixels, struct gm_error *err);
};
extern const struct gm_paint_module gm_paint_module;
