/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows to PNG; see png.h. libpng writes the file, but does not compress: with zlib that would take longer than drawing.
 */
#include "render/png.h"

#include <libdeflate.h>
#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
    return malloc(sizeof(struct compressor));
}

static void compressor_free(void *compressor)
{
    free(compressor);
}

/* The first bytes go alone, which ISA-L compresses as it does the last ones of a stream. Its loop, where it is to begin
 * one (igzip_icf_body_h1_gr_bt.asm, write_first_byte, in 2.32 still), hashes the address of the stream in place of the
 * third byte: what the picture became depended, once in thousands, on where the compressor lay. */
static size_t compress_rows(void *compressor, uint8_t *rows, size_t length, uint8_t *packed, size_t room)
{
    enum { ALONE = 16 };
    struct compressor *c = compressor;
    isal_deflate_init(&c->stream);
    c->stream.level = 1;
    c->stream.level_buf = c->level_1;
    c->stream.level_buf_size = sizeof c->level_1;
    c->stream.gzip_flag = IGZIP_ZLIB;
    c->stream.next_in = rows;
    c->stream.avail_in = length < ALONE ? (uint32_t)length : ALONE;
    c->stream.next_out = packed;
    c->stream.avail_out = (uint32_t)room;
    c->stream.flush = SYNC_FLUSH;
    isal_deflate(&c->stream);
    c->stream.avail_in = (uint32_t)length - c->stream.total_in;
    c->stream.flush = NO_FLUSH;
    c->stream.end_of_stream = 1;
    isal_deflate(&c->stream);
    return c->stream.internal_state.state == ZSTATE_END ? c->stream.total_out : 0;
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

/* What libpng's callbacks share with us. */
struct sink {
    struct gm_text png;
    char message[120];
};

static void on_write(png_structp handle, png_bytep data, png_size_t length)
{
    struct sink *sink = png_get_io_ptr(handle);
    gm_text_add_bytes(&sink->png, (const char *)data, length);
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
    png_color colors[GM_COLORS] = {{0, 0, 0}};
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

enum gm_status gm_png_compress(struct gm_png *png, struct gm_png_scratch *scratch, const struct gm_palette *palette,
                               const struct gm_pixels *pixels, struct gm_error *err)
{
    struct sink sink = {.message = ""};
    const size_t packed_length = pack_rows(scratch, pixels);
    *png = (struct gm_png){NULL, 0};
    png_structp handle =
        packed_length > 0 ? png_create_write_struct(PNG_LIBPNG_VER_STRING, &sink, on_error, on_warning) : NULL;
    png_infop info = handle != NULL ? png_create_info_struct(handle) : NULL;
    bool ok = info != NULL;
    if (ok) {
        png_set_write_fn(handle, &sink, on_write, on_flush);
        ok = write_all(handle, info, scratch->packed, packed_length, palette, pixels->width, pixels->height);
    }
    png_destroy_write_struct(&handle, &info);
    if (ok && !sink.png.failed) {
        *png = (struct gm_png){(unsigned char *)sink.png.data, sink.png.length};
        return GM_OK;
    }
    gm_text_free(&sink.png);
    return sink.message[0] == '\0' ? gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for a chart")
                                   : gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "libpng: %s", sink.message);
}
