/* SPDX-License-Identifier: Apache-2.0
 *
 * Pixels to PNG; see png.h. Charts are flat areas and repeated rows, and both steps are made for them.
 */
#include "render/png.h"

#include "analyze/base/arithmetic.h"
#include "render/deflate.h"

#include <endian.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PIXEL_VALUES = 65536, STEPS = GM_PNG_STEPS };

void gm_png_scratch_free(struct gm_png_scratch *scratch)
{
    free(scratch->index_of);
    if (scratch->deflate != NULL)
        gm_deflate_free(scratch->deflate);
    free(scratch->deflate);
    *scratch = (struct gm_png_scratch){0};
}

static uint16_t pack(uint32_t color)
{
    return (uint16_t)((color >> 8 & 0xf800) | (color >> 5 & 0x07e0) | (color >> 3 & 0x001f));
}

static uint32_t unpack(uint16_t pixel)
{
    uint32_t r = pixel >> 11, g = pixel >> 5 & 0x3f, b = pixel & 0x1f;
    return (r << 3 | r >> 2) << 16 | (g << 2 | g >> 4) << 8 | (b << 3 | b >> 2);
}

static int nearest(const struct gm_palette *palette, uint32_t color)
{
    int best = 0;
    long best_distance = -1;
    for (size_t i = 0; i < palette->n; i++) {
        long distance = 0;
        for (int shift = 0; shift < 24; shift += 8) {
            long d = (long)(color >> shift & 0xff) - (long)(palette->colors[i] >> shift & 0xff);
            distance += d * d;
        }
        if (best_distance < 0 || distance < best_distance) {
            best = (int)i;
            best_distance = distance;
        }
    }
    return best;
}

/* The index of `color`, new if there is room. */
static int16_t enter(struct gm_palette *palette, uint32_t color)
{
    for (size_t i = 0; i < palette->n; i++)
        if (palette->colors[i] == color)
            return (int16_t)i;
    if (palette->n == 256)
        return (int16_t)nearest(palette, color);
    palette->colors[palette->n] = color;
    return (int16_t)palette->n++;
}

/* The index of a pixel value that is met for the first time. Letters' edges come in six steps a channel: more cannot be
 * seen at this resolution, but would cost bytes. */
static int16_t meet(struct gm_png_scratch *scratch, struct gm_palette *palette, uint16_t pixel)
{
    const uint32_t color = unpack(pixel);
    uint32_t coarse = 0, number = 0;
    for (int shift = 0; shift < 24; shift += 8) {
        const uint32_t step = ((color >> shift & 0xff) * (STEPS - 1) + 127) / 255;
        coarse |= step * (255 / (STEPS - 1)) << shift;
        number = number * STEPS + step;
    }
    if (scratch->index_of_coarse[number] < 0)
        scratch->index_of_coarse[number] = enter(palette, coarse);
    return scratch->index_of_coarse[number];
}

/* One row of pixels to one row of indices; `above`, `out_above`: the row before, NULL for the first. */
static void index_row(struct gm_png_scratch *scratch, struct gm_palette *palette, const uint16_t *row, size_t width,
                      uint8_t *out, const uint16_t *above, const uint8_t *out_above)
{
    enum { GROUP = 8 };
    int16_t *index_of = scratch->index_of;
    for (size_t x = 0, n; x < width; x += n) {
        n = gm_min(width - x, GROUP);
        if (n == GROUP && above != NULL && memcmp(row + x, above + x, GROUP * sizeof *row) == 0) {
            memcpy(out + x, out_above + x, GROUP);
            continue;
        }
        int any = 0; /* negative: one is new */
        for (size_t i = x; i < x + n; i++) {
            any |= index_of[row[i]];
            out[i] = (uint8_t)index_of[row[i]];
        }
        for (size_t i = x; any < 0 && i < x + n; i++) {
            if (index_of[row[i]] < 0)
                index_of[row[i]] = meet(scratch, palette, row[i]);
            out[i] = (uint8_t)index_of[row[i]];
        }
    }
}

enum gm_status gm_png_index(struct gm_png_scratch *scratch, struct gm_palette *palette, const struct gm_pixels *pixels,
                            const uint32_t *exact, size_t exact_count, struct gm_error *err)
{
    const size_t width = pixels->width, length = width + 1;
    if (scratch->index_of == NULL)
        scratch->index_of = malloc(PIXEL_VALUES * sizeof *scratch->index_of);
    if (scratch->index_of == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for a chart");
    memset(scratch->index_of, 0xff, PIXEL_VALUES * sizeof *scratch->index_of);
    memset(scratch->index_of_coarse, 0xff, sizeof scratch->index_of_coarse);
    palette->n = 0;
    for (size_t i = 0; i < exact_count; i++)
        if (scratch->index_of[pack(exact[i])] < 0)
            scratch->index_of[pack(exact[i])] = enter(palette, exact[i]);
    for (size_t y = 0; y < pixels->height; y++) {
        const uint16_t *row = pixels->v + y * pixels->stride;
        const uint16_t *above = y > 0 ? row - pixels->stride : NULL;
        uint8_t *out = gm_png_rows(pixels) + y * length;
        if (above != NULL && memcmp(row, above, width * sizeof *row) == 0) {
            memcpy(out, out - length, length);
        } else {
            out[0] = 0;
            index_row(scratch, palette, row, width, out + 1, above, above != NULL ? out + 1 - length : NULL);
        }
    }
    return GM_OK;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

enum { HEADER = 13, AROUND_CHUNK = 12 };

static uint8_t *put_number(uint8_t *out, size_t number)
{
    const uint32_t big = htobe32((uint32_t)number);
    return (uint8_t *)memcpy(out, &big, sizeof big) + sizeof big;
}

/* A chunk; the place behind it. */
static uint8_t *put_chunk(uint8_t *out, const char *type, const uint8_t *data, size_t length)
{
    uint8_t *begin = put_number(out, length);
    memcpy(begin, type, 4);
    if (length > 0)
        memcpy(begin + 4, data, length);
    return put_number(begin + 4 + length, libdeflate_crc32(0, begin, 4 + length));
}

enum gm_status gm_png_compress(struct gm_png *png, struct gm_png_scratch *scratch, const struct gm_palette *palette,
                               const struct gm_pixels *pixels, struct gm_error *err)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    uint8_t header[HEADER] = {[8] = 8 /* bits */, [9] = 3 /* a palette */}, colors[3 * 256];
    *png = (struct gm_png){NULL, 0};
    if (scratch->deflate == NULL)
        scratch->deflate = calloc(1, sizeof *scratch->deflate);
    if (scratch->deflate == NULL ||
        !gm_deflate_rows(scratch->deflate, gm_png_rows(pixels), pixels->width + 1, pixels->height))
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for a chart");
    const struct gm_deflate *packed = scratch->deflate;
    uint8_t *out = malloc(sizeof signature + HEADER + 3 * palette->n + packed->length + 4 * AROUND_CHUNK);
    if (out == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for a chart");
    put_number(put_number(header, pixels->width), pixels->height);
    for (size_t i = 0; i < 3 * palette->n; i++)
        colors[i] = (uint8_t)(palette->colors[i / 3] >> (16 - 8 * (i % 3)));
    memcpy(out, signature, sizeof signature);
    uint8_t *end = put_chunk(out + sizeof signature, "IHDR", header, HEADER);
    end = put_chunk(end, "PLTE", colors, 3 * palette->n);
    end = put_chunk(end, "IDAT", packed->out, packed->length);
    end = put_chunk(end, "IEND", NULL, 0);
    *png = (struct gm_png){out, (size_t)(end - out)};
    return GM_OK;
}
