/* SPDX-License-Identifier: Apache-2.0
 *
 * 16-bit pixels to a PNG with a palette.
 */
#ifndef GM_RENDER_PNG_H
#define GM_RENDER_PNG_H

#include "analyze/base/error.h"
#include "render/render.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_pixels {
    const uint16_t *v; /* 5-6-5 bits of red, green, blue */
    size_t width, height;
    size_t stride; /* pixels from row to row */
};

/* Buffers that are worth keeping from picture to picture. Zero-initialise. */
struct gm_png_scratch {
    uint8_t *rows; /* what a PNG compresses: per row a filter byte (0, none) and the palette indices */
    size_t row_capacity;
    int16_t *index_of; /* of each of the 2^16 pixel values; -1: not met yet */
    struct libdeflate_compressor *compressor;
    uint8_t *packed; /* the compressed rows */
    size_t packed_capacity;
};
void gm_png_scratch_free(struct gm_png_scratch *scratch);

struct gm_palette {
    uint32_t colors[256];
    size_t n;
};

/* Makes room for `bytes` bytes in the buffer at *buffer (contents are lost): at least the *capacity it has now, and at
 * first as much as the usual charts need, since a buffer that has to grow pays for its pages twice. */
bool gm_png_reserve(void *buffer, size_t *capacity, size_t bytes, size_t usual);
enum { GM_USUAL_PIXELS = 1800 * 1700 };

/* Palette indices of the pixels into scratch->rows. `exact` are the colours that were painted with:
 * a pixel of one of them gets exactly that colour; others (the edges of letters) get the colour of their bits while
 * there is room in the palette, then the nearest there is. */
enum gm_status gm_png_index(struct gm_png_scratch *scratch, struct gm_palette *palette, const struct gm_pixels *pixels,
                            const uint32_t *exact, size_t exact_count, struct gm_error *err);
/* Compresses what gm_png_index made. */
enum gm_status gm_png_compress(struct gm_png *png, struct gm_png_scratch *scratch, const struct gm_palette *palette,
                               size_t width, size_t height, struct gm_error *err);

#endif
