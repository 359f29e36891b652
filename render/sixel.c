/* SPDX-License-Identifier: Apache-2.0 */
#include "render/sixel.h"

#include <stdlib.h>
#include <string.h>

enum { BAND = 6 /* rows of pixels in a row of sixels */ };

/* The mean of n colours' sums. */
static uint16_t mean(const uint32_t sums[3], uint32_t n)
{
    uint32_t color = 0;
    for (int i = 0; i < 3; i++)
        color = color << 8 | (sums[i] + n / 2) / n;
    return gm_pixel_of(color);
}

void gm_pixels_shrink(struct gm_pixels *pixels, struct gm_palette *palette, size_t factor)
{
    const struct gm_pixels small = {pixels->rows, pixels->width / factor, pixels->height / factor};
    const uint32_t n = (uint32_t)(factor * factor);
    if (n <= 1)
        return;
    for (size_t y = 0; y < small.height; y++) {
        for (size_t x = 0; x < small.width; x++) {
            uint32_t sums[3] = {0};
            for (size_t i = 0; i < n; i++) {
                const uint32_t c =
                    palette->colors[gm_pixels_row(pixels, y * factor + i / factor)[x * factor + i % factor]];
                sums[0] += c >> 16, sums[1] += c >> 8 & 0xff, sums[2] += c & 0xff;
            }
            gm_pixels_row(&small, y)[x] = gm_palette_index(palette, mean(sums, n));
        }
    }
    *pixels = small;
}

/* The sixels of one colour in a row of them: for each column its bits, the topmost pixel the lowest. */
struct plane {
    uint8_t *bits;
    size_t end; /* behind the last column that has any; 0: the colour is not in this row */
};

static void add_run(struct gm_text *out, uint8_t bits, size_t count)
{
    const char sixel = (char)('?' + bits);
    if (count > 3)
        gm_text_printf(out, "!%zu%c", count, sixel);
    else
        gm_text_repeat(out, sixel, count);
}

/* Appends the planes one over the other, and clears them. */
static void add_band(struct gm_text *out, struct plane planes[GM_COLORS])
{
    const char *before = "";
    for (size_t color = 0; color < GM_COLORS; color++) {
        struct plane *plane = &planes[color];
        if (plane->end == 0)
            continue;
        gm_text_printf(out, "%s#%zu", before, color);
        before = "$";
        for (size_t x = 0, next; x < plane->end; x = next) {
            for (next = x + 1; next < plane->end && plane->bits[next] == plane->bits[x];)
                next++;
            add_run(out, plane->bits[x], next - x);
        }
        memset(plane->bits, 0, plane->end);
        plane->end = 0;
    }
    gm_text_add_char(out, '-');
}

void gm_sixel_add(struct gm_text *out, const struct gm_pixels *pixels, const struct gm_palette *palette)
{
    const size_t width = pixels->width, height = pixels->height;
    struct plane planes[GM_COLORS];
    GM_FREED uint8_t *bits = calloc(GM_COLORS, width);
    if (bits == NULL) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < GM_COLORS; i++)
        planes[i] = (struct plane){bits + i * width, 0};
    gm_text_printf(out, "\x1bP0;1q\"1;1;%zu;%zu", width, height);
    for (size_t i = 0; i < palette->n; i++) {
        const uint32_t c = palette->colors[i];
        gm_text_printf(out, "#%zu;2;%u;%u;%u", i, (c >> 16 & 0xff) * 100 / 255, (c >> 8 & 0xff) * 100 / 255,
                       (c & 0xff) * 100 / 255);
    }
    for (size_t top = 0; top < height; top += BAND) {
        for (size_t y = top; y < height && y < top + BAND; y++) {
            const uint8_t *row = gm_pixels_row(pixels, y);
            for (size_t x = 0; x < width; x++) {
                struct plane *plane = &planes[row[x]];
                plane->bits[x] |= (uint8_t)(1U << (y - top));
                plane->end = plane->end > x ? plane->end : x + 1;
            }
        }
        add_band(out, planes);
    }
    gm_text_add(out, "\x1b\\");
}
