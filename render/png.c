/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows to PNG (ISO 15948); see png.h.
 */
#include "render/png.h"

#include <libdeflate.h>
#include <stdbool.h>
#include <stdlib.h>

/* ---- who compresses: ISA-L where it was found, in a fifth of libdeflate's time, which takes less than zlib ------- */

#ifdef GM_HAVE_ISAL
#include <isa-l/igzip_lib.h>

/* Level 1 is as fast as level 0 on the charts, for 23 % fewer bytes; 2 is the same, 3 takes five times as long. */
struct compressor {
    struct isal_zstream stream;
    uint8_t level_1[ISAL_DEF_LVL1_SMALL];
};

static void *compressor_new(void)
{
    return calloc(1, sizeof(struct compressor)); /* nothing sets hist_bits, and bytes would depend on it */
}

static void compressor_free(void *compressor)
{
    free(compressor);
}

static size_t compress_rows(void *compressor, uint8_t *rows, size_t length, uint8_t *packed, size_t room)
{
    struct compressor *c = compressor;
    isal_deflate_stateless_init(&c->stream);
    c->stream.level = 1;
    c->stream.level_buf = c->level_1;
    c->stream.level_buf_size = sizeof c->level_1;
    c->stream.gzip_flag = IGZIP_ZLIB;
    c->stream.end_of_stream = 1;
    c->stream.next_in = rows;
    c->stream.avail_in = (uint32_t)length;
    c->stream.next_out = packed;
    c->stream.avail_out = (uint32_t)room;
    return isal_deflate_stateless(&c->stream) == COMP_OK ? c->stream.total_out : 0;
}
#else
static void *compressor_new(void)
{
    return libdeflate_alloc_compressor(3); /* 2 to 3 are fastest, 6 takes a third longer for 5 % fewer bytes */
}

static void compressor_free(void *compressor)
{
    libdeflate_free_compressor(compressor);
}

static size_t compress_rows(void *compressor, const uint8_t *rows, size_t length, uint8_t *packed, size_t room)
{
    return libdeflate_zlib_compress(compressor, rows, length, packed, room);
}
#endif

void gm_png_scratch_free(struct gm_png_scratch *scratch)
{
    free(scratch->packed);
    if (scratch->compressor != NULL)
        compressor_free(scratch->compressor);
    *scratch = (struct gm_png_scratch){0};
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* The rows as a zlib stream (RFC 1950) into scratch->packed; its length, or 0 if there is no memory. */
static size_t pack_rows(struct gm_png_scratch *scratch, const struct gm_pixels *pixels)
{
    const size_t length = (pixels->width + 1) * pixels->height;
    if (scratch->compressor == NULL)
        scratch->compressor = compressor_new();
    if (scratch->compressor == NULL)
        return 0;
    const size_t bound = libdeflate_zlib_compress_bound(NULL, length);
    if (bound > scratch->packed_capacity) {
        free(scratch->packed);
        scratch->packed = malloc(bound);
        scratch->packed_capacity = scratch->packed != NULL ? bound : 0;
    }
    if (scratch->packed == NULL)
        return 0;
    return compress_rows(scratch->compressor, pixels->rows, length, scratch->packed, bound);
}

static void add_number(struct gm_text *png, size_t number)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        gm_text_add_char(png, (char)(number >> shift & 0xff));
}

static void add_chunk(struct gm_text *png, const char *type, const void *data, size_t length)
{
    add_number(png, length);
    gm_text_add_bytes(png, type, 4);
    gm_text_add_bytes(png, data, length);
    add_number(png, libdeflate_crc32(libdeflate_crc32(0, type, 4), data, length));
}

enum gm_status gm_png_compress(struct gm_png *png, struct gm_png_scratch *scratch, const struct gm_palette *palette,
                               const struct gm_pixels *pixels, struct gm_error *err)
{
    enum { INDEX_BITS = 8, OF_A_PALETTE = 3 };
    const size_t width = pixels->width, height = pixels->height, packed_length = pack_rows(scratch, pixels);
    const uint8_t header[] = {(uint8_t)(width >> 24),
                              (uint8_t)(width >> 16),
                              (uint8_t)(width >> 8),
                              (uint8_t)width,
                              (uint8_t)(height >> 24),
                              (uint8_t)(height >> 16),
                              (uint8_t)(height >> 8),
                              (uint8_t)height,
                              INDEX_BITS,
                              OF_A_PALETTE,
                              0,
                              0,
                              0};
    uint8_t colors[GM_COLORS * 3];
    for (size_t i = 0; i < palette->n * 3; i++)
        colors[i] = (uint8_t)(palette->colors[i / 3] >> (16 - 8 * (i % 3)));
    struct gm_text out = {.failed = packed_length == 0};
    gm_text_add_bytes(&out, "\x89PNG\r\n\x1a\n", 8);
    add_chunk(&out, "IHDR", header, sizeof header);
    add_chunk(&out, "PLTE", colors, palette->n * 3);
    add_chunk(&out, "IDAT", scratch->packed, packed_length);
    add_chunk(&out, "IEND", "", 0);
    *png = (struct gm_png){(unsigned char *)out.data, out.length};
    if (!out.failed)
        return GM_OK;
    gm_text_free(&out);
    *png = (struct gm_png){NULL, 0};
    return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for a chart");
}
