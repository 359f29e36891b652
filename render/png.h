/* SPDX-License-Identifier: Apache-2.0
 *
 * Indices into a palette to a PNG.
 */
#pragma once

#include "analyze/base/error.h"
#include "render/palette.h"
#include "render/render.h"

#include <stddef.h>
#include <stdint.h>

/* A picture as a PNG compresses it: in each row a filter byte (0, none), then an index into the palette per pixel. */
struct gm_pixels {
    uint8_t *rows;
    size_t width, height;
};

/* The first pixel of a row. */
static inline uint8_t *gm_pixels_row(const struct gm_pixels *pixels, size_t y)
{
    return pixels->rows + y * (pixels->width + 1) + 1;
}

/* What is worth keeping from picture to picture. Zero-initialise. */
struct gm_png_scratch {
    void *compressor; /* of the library that png.c compresses with */
    uint8_t *packed;  /* the compressed rows */
    size_t packed_capacity;
};
void gm_png_scratch_free(struct gm_png_scratch *scratch);

enum gm_status gm_png_compress(struct gm_png *png, struct gm_png_scratch *scratch, const struct gm_palette *palette,
                               const struct gm_pixels *pixels, struct gm_error *err);
