/* SPDX-License-Identifier: Apache-2.0
 *
 * 16-bit pixels to a PNG with a palette.
 */
#ifndef GM_RENDER_PNG_H
#define GM_RENDER_PNG_H

#include "analyze/base/error.h"
#include "render/render.h"

#include <stddef.h>
#include <stdint.h>

struct gm_pixels {
    uint16_t *v; /* 5-6-5 bits of red, green, blue; before them is room for GM_ROWS_BEFORE rows */
    size_t width, height;
    size_t stride; /* pixels from row to row */
};

enum { GM_PNG_STEPS = 6 /* of a channel of a letter's edge */ };

/* Buffers that are worth keeping from picture to picture. Zero-initialise. */
struct gm_png_scratch {
    int16_t *index_of; /* of each of the 2^16 pixel values; -1: not met yet */
    int16_t index_of_edge[GM_PNG_STEPS * GM_PNG_STEPS * GM_PNG_STEPS]; /* likewise, of the colours of letters' edges */
    struct libdeflate_compressor *compressor;
    uint8_t *packed; /* the compressed rows */
    size_t packed_capacity;
};
void gm_png_scratch_free(struct gm_png_scratch *scratch);

struct gm_palette {
    uint32_t colors[256];
    size_t n;
};

/* Palette indices over the pixels, which are lost: from the room before them on, and as far behind the reading that a
 * row and the one above it are still there when they are looked at. Per row a filter byte (0, none) and the indices,
 * which is what a PNG compresses. `exact` are the colours that were painted with: a pixel of one of them gets exactly
 * that colour; others (the edges of letters) get the colour of their bits while there is room in the palette, then the
 * nearest there is. */
enum { GM_ROWS_BEFORE = 2 };
enum gm_status gm_png_index(struct gm_png_scratch *scratch, struct gm_palette *palette, const struct gm_pixels *pixels,
                            const uint32_t *exact, size_t exact_count, struct gm_error *err);
/* Where these rows begin. Two bytes of a pixel become one of index, and one more a row. */
static inline uint8_t *gm_png_rows(const struct gm_pixels *pixels)
{
    return (uint8_t *)(pixels->v - GM_ROWS_BEFORE * pixels->stride);
}
/* Compresses what gm_png_index made of the pixels. */
enum gm_status gm_png_compress(struct gm_png *png, struct gm_png_scratch *scratch, const struct gm_palette *palette,
                               const struct gm_pixels *pixels, struct gm_error *err);

#endif
