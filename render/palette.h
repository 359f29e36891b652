/* SPDX-License-Identifier: Apache-2.0
 *
 * The palette of a picture while it is painted, and what text is drawn in: pixels of 16 bits, which have an index each.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { GM_COLORS = 256, GM_PIXEL_VALUES = 65536, GM_EDGE_STEPS = 6 /* of a channel of a letter's edge */ };

struct gm_palette {
    uint32_t colors[GM_COLORS];
    uint16_t pixels[GM_COLORS]; /* of these */
    size_t n;
    int16_t index_of[GM_PIXEL_VALUES];                                    /* -1: not met yet */
    int16_t index_of_edge[GM_EDGE_STEPS * GM_EDGE_STEPS * GM_EDGE_STEPS]; /* likewise */
};

/* As cairo does it: 5, 6, 5 bits of red, green, blue. */
static inline uint16_t gm_pixel_of(uint32_t color)
{
    return (uint16_t)((color >> 8 & 0xf800) | (color >> 5 & 0x07e0) | (color >> 3 & 0x001f));
}

static inline uint32_t gm_color_of_pixel(uint16_t pixel)
{
    const uint32_t r = pixel >> 11, g = pixel >> 5 & 0x3f, b = pixel & 0x1f;
    return (r << 3 | r >> 2) << 16 | (g << 2 | g >> 4) << 8 | (b << 3 | b >> 2);
}

void gm_palette_clear(struct gm_palette *palette);
/* A colour that is painted with: its pixels get exactly that colour (unless one with the same bits came first). To be
 * called before any of the palette's pixels is met. */
void gm_palette_enter(struct gm_palette *palette, uint32_t color);
/* Of a pixel that is met for the first time. */
int16_t gm_palette_meet(struct gm_palette *palette, uint16_t pixel);
/* The index of a pixel; others than those entered are edges of letters, and get the colour of their bits while there is
 * room, then the nearest there is. */
static inline uint8_t gm_palette_index(struct gm_palette *palette, uint16_t pixel)
{
    const int16_t index = palette->index_of[pixel];
    return (uint8_t)(index >= 0 ? index : gm_palette_meet(palette, pixel));
}

/* Of two shares of 255. */
static inline uint32_t gm_product_of(uint32_t a, uint32_t b)
{
    return (a * b + 0x80) * 0x101 >> 16;
}

/* What a colour makes of a pixel: 0xAARRGGBB, the colour already multiplied by how much of the pixel it covers. */
static inline uint8_t gm_palette_over(struct gm_palette *palette, uint8_t under, uint32_t argb)
{
    const uint32_t color = gm_color_of_pixel(palette->pixels[under]), rest = 255 - (argb >> 24);
    uint32_t covered = 0;
    for (int shift = 0; shift < 24; shift += 8)
        covered |= ((argb >> shift & 0xff) + gm_product_of(color >> shift & 0xff, rest)) << shift;
    const uint16_t now = gm_pixel_of(covered);
    return now == palette->pixels[under] ? under : gm_palette_index(palette, now);
}
