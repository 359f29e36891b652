/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/write/snapshot_writer.h"

#define ZLIB_CONST /* next_in is a pointer to const */
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

/* What compresses a pickle of this kind well in little time; the difference to the highest levels is a few percent. */
enum { GZIP_LEVEL = 6, ZSTD_LEVEL = 6, GZIP_WINDOW = 15 + 16, GZIP_MEMORY = 8, OUT_SIZE = 1 << 17 };

struct gm_compressor {
    struct gm_sink inner;
    ZSTD_CCtx *zstd; /* NULL: gzip */
    z_stream gzip;
    bool has_gzip;
    unsigned char out[OUT_SIZE];
};

static enum gm_status broken(struct gm_error *err)
{
    return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "the compressor failed");
}

static enum gm_status run_zstd(struct gm_compressor *c, const void *bytes, size_t length, bool is_last,
                               struct gm_error *err)
{
    ZSTD_inBuffer in = {bytes, length, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {c->out, sizeof c->out, 0};
        left = ZSTD_compressStream2(c->zstd, &out, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return broken(err);
        if (out.pos > 0) {
            GM_TRY(c->inner.write(c->inner.context, c->out, out.pos, err));
        }
    } while (is_last ? left > 0 : in.pos < in.size);
    return GM_OK;
}

static enum gm_status run_gzip(struct gm_compressor *c, const unsigned char *bytes, size_t length, bool is_last,
                               struct gm_error *err)
{
    int result = Z_OK;
    do {
        uInt now = length > UINT_MAX ? UINT_MAX : (uInt)length;
        c->gzip.next_in = bytes;
        c->gzip.avail_in = now;
        bool is_end = is_last && now == length;
        do {
            c->gzip.next_out = c->out;
            c->gzip.avail_out = sizeof c->out;
            result = deflate(&c->gzip, is_end ? Z_FINISH : Z_NO_FLUSH);
            if (result == Z_STREAM_ERROR)
                return broken(err);
            size_t made = sizeof c->out - c->gzip.avail_out;
            if (made > 0) {
                GM_TRY(c->inner.write(c->inner.context, c->out, made, err));
            }
        } while (c->gzip.avail_out == 0);
        bytes += now;
        length -= now;
    } while (length > 0);
    return !is_last || result == Z_STREAM_END ? GM_OK : broken(err);
}

static enum gm_status take(void *context, const void *bytes, size_t length, struct gm_error *err)
{
    struct gm_compressor *c = context;
    if (length == 0)
        return GM_OK;
    return c->zstd != NULL ? run_zstd(c, bytes, length, false, err) : run_gzip(c, bytes, length, false, err);
}

enum gm_status gm_compressor_new(struct gm_compressor **compressor, enum gm_compression compression,
                                 const struct gm_sink *inner, struct gm_sink *sink, struct gm_error *err)
{
    struct gm_compressor *c = calloc(1, sizeof *c);
    *compressor = c;
    if (c == NULL)
        return gm_no_memory(err);
    c->inner = *inner;
    if (compression == GM_COMPRESSION_ZSTD) {
        c->zstd = ZSTD_createCCtx();
        if (c->zstd == NULL)
            return gm_no_memory(err);
        if (ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) ||
            ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_checksumFlag, 1)))
            return broken(err);
    } else {
        if (deflateInit2(&c->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
            return gm_no_memory(err);
        c->has_gzip = true;
    }
    *sink = (struct gm_sink){.write = take, .context = c};
    return GM_OK;
}

enum gm_status gm_compressor_finish(struct gm_compressor *c, struct gm_error *err)
{
    static const unsigned char nothing[1];
    return c->zstd != NULL ? run_zstd(c, nothing, 0, true, err) : run_gzip(c, nothing, 0, true, err);
}

void gm_compressor_free(struct gm_compressor *c)
{
    if (c == NULL)
        return;
    ZSTD_freeCCtx(c->zstd);
    if (c->has_gzip)
        deflateEnd(&c->gzip);
    free(c);
}
