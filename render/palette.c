/* SPDX-License-Identifier: Apache-2.0 */
#include "render/palette.h"

#include <limits.h>
#include <string.h>

/* The index of `color`: new if there is room, else of the nearest. */
static int16_t enter(struct gm_palette *palette, uint32_t color)
{
    size_t best = 0;
    long best_distance = LONG_MAX;
    for (size_t i = 0; i < palette->n && best_distance > 0; i++) {
        long distance = 0;
        for (int shift = 0; shift < 24; shift += 8) {
            long d = (long)(color >> shift & 0xff) - (long)(palette->colors[i] >> shift & 0xff);
            distance += d * d;
        }
        if (distance < best_distance) {
            best = i;
            best_distance = distance;
        }
    }
    if (best_distance > 0 && palette->n < GM_COLORS) {
        best = palette->n++;
        palette->colors[best] = color;
        palette->pixels[best] = gm_pixel_of(color);
    }
    return (int16_t)best;
}

void gm_palette_clear(struct gm_palette *palette)
{
    palette->n = 0;
    memset(palette->index_of, 0xff, sizeof palette->index_of);
    memset(palette->index_of_edge, 0xff, sizeof palette->index_of_edge);
}

void gm_palette_enter(struct gm_palette *palette, uint32_t color)
{
    int16_t *index = &palette->index_of[gm_pixel_of(color)];
    if (*index < 0)
        *index = enter(palette, color);
}

/* Letters' edges come in six steps a channel: more cannot be seen at this resolution, but would cost bytes. */
int16_t gm_palette_meet(struct gm_palette *palette, uint16_t pixel)
{
    const uint32_t color = gm_color_of_pixel(pixel);
    uint32_t coarse = 0, number = 0;
    for (int shift = 0; shift < 24; shift += 8) {
        const uint32_t step = ((color >> shift & 0xff) * (GM_EDGE_STEPS - 1) + 127) / 255;
        coarse |= step * (255 / (GM_EDGE_STEPS - 1)) << shift;
        number = number * GM_EDGE_STEPS + step;
    }
    if (palette->index_of_edge[number] < 0)
        palette->index_of_edge[number] = enter(palette, coarse);
    palette->index_of[pixel] = palette->index_of_edge[number];
    return palette->index_of[pixel];
}
