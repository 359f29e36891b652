/* SPDX-License-Identifier: Apache-2.0
 *
 * Pixels for terminals that draw sixels (DEC VT340 Graphics Programming, chapter 14; xterm, foot, mlterm, Windows
 * Terminal ...).
 */
#ifndef GM_RENDER_SIXEL_H
#define GM_RENDER_SIXEL_H

#include "analyze/base/text.h"
#include "render/png.h"

/* The mean of every square of factor x factor pixels into `out`, which has room for
 * (width / factor) * (height / factor); what is left over at the right and below is left out. */
struct gm_pixels gm_pixels_shrink(uint16_t *out, const struct gm_pixels *pixels, size_t factor);

/* Appends a picture of what gm_png_index made: `rows` has a byte and `width` indices of the palette in each row. Sets
 * out->failed if there is no memory. */
void gm_sixel_add(struct gm_text *out, const uint8_t *rows, const struct gm_palette *palette, size_t width,
                  size_t height);

#endif
