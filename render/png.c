/* SPDX-License-Identifier: Apache-2.0
 *
 * Pixels to PNG; see png.h. Charts are flat areas and repeated rows, and both steps are made for them. libpng writes
 * the file, but libdeflate compresses: at the same size it takes half of zlib's time, which is more than the drawing's.
 */
#include "render/png.h"

#include <libdeflate.h>
#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIXEL_VALUES = 65536,
    LEVEL =
        3, /* of libdeflate, measured on the charts: 2 to 3 are fastest, 6 takes a third longer for 5 % fewer bytes */
};

void gm_png_scratch_free(struct gm_png_scratch *scratch)
{
    free(scratch->index_of);
    free(scratch->packed);
    if (scratch->compressor != NULL)
        libdeflate_free_compressor(scratch->compressor);
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
        const uint32_t step = ((color >> shift & 0xff) * (GM_PNG_STEPS - 1) + 127) / 255;
        coarse |= step * (255 / (GM_PNG_STEPS - 1)) << shift;
        number = number * GM_PNG_STEPS + step;
    }
    if (scratch->index_of_edge[number] < 0)
        scratch->index_of_edge[number] = enter(palette, coarse);
    return scratch->index_of_edge[number];
}

/* One row of pixels to one row of indices; `above`, `out_above`: the row before, NULL for the first. */
static void index_row(struct gm_png_scratch *scratch, struct gm_palette *palette, const uint16_t *row, size_t width,
                      uint8_t *out, const uint16_t *above, const uint8_t *out_above)
{
    enum { GROUP = 8 };
    int16_t *index_of = scratch->index_of;
    for (size_t x = 0, n; x < width; x += n) {
        n = width - x < GROUP ? width - x : GROUP;
        if (n == GROUP && above != NULL && memcmp(row + x, above + x, GROUP * sizeof *row) == 0) {
            memcpy(out + x, out_above + x, GROUP);
            continue;
        }
        for (size_t i = x; i < x + n; i++) {
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
    memset(scratch->index_of_edge, 0xff, sizeof scratch->index_of_edge);
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

/* What libpng's callbacks share with us. */
struct sink {
    struct gm_png png;
    size_t capacity;
    bool is_out_of_memory;
    char message[120];
};

static void on_write(png_structp handle, png_bytep data, png_size_t length)
{
    struct sink *sink = png_get_io_ptr(handle);
    size_t need = sink->png.length + length;
    if (need > sink->capacity) {
        size_t capacity = need < 64 * 1024 ? 64 * 1024 : need + need / 2;
        unsigned char *grown = realloc(sink->png.data, capacity);
        if (grown == NULL) {
            sink->is_out_of_memory = true;
            png_error(handle, "out of memory");
        }
        sink->png.data = grown;
        sink->capacity = capacity;
    }
    memcpy(sink->png.data + sink->png.length, data, length);
    sink->png.length = need;
}

static void on_flush(png_structp handle)
{
    (void)handle;
}

static void on_error(png_structp handle, png_const_charp message)
{
    struct sink *sink = png_get_error_ptr(handle);
    strncpy(sink->message, message, sizeof sink->message - 1);
    longjmp(png_jmpbuf(handle), 1);
}

static void on_warning(png_structp handle, png_const_charp message)
{
    (void)handle;
    (void)message; /* nothing that we write can go wrong and be readable */
}

/* Everything that may longjmp. libpng counts rows only if it compresses them itself, so IEND is written here too. */
static bool write_all(png_structp handle, png_infop info, const uint8_t *packed, size_t packed_length,
                      const struct gm_palette *palette, size_t width, size_t height)
{
    if (setjmp(png_jmpbuf(handle)))
        return false;
    png_color colors[256] = {{0, 0, 0}};
    for (size_t i = 0; i < palette->n; i++)
        colors[i] = (png_color){(png_byte)(palette->colors[i] >> 16), (png_byte)(palette->colors[i] >> 8),
                                (png_byte)palette->colors[i]};
    png_set_IHDR(handle, info, (png_uint_32)width, (png_uint_32)height, 8, PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_PLTE(handle, info, colors, (int)palette->n);
    png_write_info(handle, info);
    png_write_chunk(handle, (png_const_bytep) "IDAT", packed, packed_length);
    png_write_chunk(handle, (png_const_bytep) "IEND", NULL, 0);
    return true;
}

/* The rows as a zlib stream (RFC 1950) into scratch->packed; its length, or 0 if there is no memory. */
static size_t pack_rows(struct gm_png_scratch *scratch, const struct gm_pixels *pixels)
{
    const size_t length = (pixels->width + 1) * pixels->height;
    if (scratch->compressor == NULL)
        scratch->compressor = libdeflate_alloc_compressor(LEVEL);
    if (scratch->compressor == NULL)
        return 0;
    const size_t bound = libdeflate_zlib_compress_bound(scratch->compressor, length);
    if (bound > scratch->packed_capacity) {
        free(scratch->packed);
        scratch->packed = malloc(bound);
        scratch->packed_capacity = scratch->packed != NULL ? bound : 0;
    }
    if (scratch->packed == NULL)
        return 0;
    return libdeflate_zlib_compress(scratch->compressor, gm_png_rows(pixels), length, scratch->packed, bound);
}

enum gm_status gm_png_compress(struct gm_png *png, struct gm_png_scratch *scratch, const struct gm_palette *palette,
                               const struct gm_pixels *pixels, struct gm_error *err)
{
    struct sink sink = {.capacity = 0};
    size_t packed_length = pack_rows(scratch, pixels);
    *png = (struct gm_png){NULL, 0};
    if (packed_length == 0)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for a chart");
    png_structp handle = png_create_write_struct(PNG_LIBPNG_VER_STRING, &sink, on_error, on_warning);
    png_infop info = handle != NULL ? png_create_info_struct(handle) : NULL;
    if (info == NULL) {
        png_destroy_write_struct(&handle, NULL);
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for a chart");
    }
    png_set_write_fn(handle, &sink, on_write, on_flush);
    bool ok = write_all(handle, info, scratch->packed, packed_length, palette, pixels->width, pixels->height);
    png_destroy_write_struct(&handle, &info);
    if (!ok) {
        free(sink.png.data);
        return sink.is_out_of_memory ? gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for a chart")
                                     : gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "libpng: %s", sink.message);
    }
    *png = sink.png;
    return GM_OK;
}
