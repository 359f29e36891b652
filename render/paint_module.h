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
    __typeof__(gm_painter_new) *painter_new;
    __typeof__(gm_painter_free) *painter_free;
    __typeof__(gm_painter_take) *take;
    __typeof__(gm_painter_give_back) *give_back;
    __typeof__(gm_paint) *paint;
    __typeof__(gm_png_compress) *png_compress;
};
extern const struct gm_paint_module gm_paint_module;
