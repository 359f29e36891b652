/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/formats/sources.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

struct steps {
    const unsigned char *data;
    size_t n, at, step;
};

static enum gm_status steps_read(void *state, unsigned char *out, size_t size, size_t *got, struct gm_error *err)
{
    (void)err;
    struct steps *s = state;
    size_t n = s->n - s->at < s->step ? s->n - s->at : s->step;
    n = n < size ? n : size;
    memcpy(out, s->data + s->at, n);
    s->at += n;
    *got = n;
    return GM_OK;
}

void open_steps(struct gm_source *source, const void *data, size_t n, size_t window, size_t step)
{
    struct steps *s = malloc(sizeof *s);
    *s = (struct steps){n > 0 ? data : (const void *)"", n, 0, step};
    *source = (struct gm_source){
        .window = malloc(window), .window_size = window, .read = steps_read, .close = free, .state = s};
    source->p = source->end = source->window;
}

unsigned char *noise(size_t n, unsigned seed)
{
    unsigned char *p = malloc(n + 1);
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (size_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        p[i] = (unsigned char)(x >> 32);
    }
    return p;
}

struct bytes gzip_bytes(const void *data, size_t n)
{
    z_stream z = {0};
    if (deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    size_t bound = deflateBound(&z, n) + 64;
    struct bytes out = {malloc(bound), 0};
    unsigned char empty = 0;
    z.next_in = n > 0 ? (Bytef *)(uintptr_t)data : &empty;
    z.avail_in = (uInt)n;
    z.next_out = out.p;
    z.avail_out = (uInt)bound;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    out.n = bound - z.avail_out;
    deflateEnd(&z);
    return out;
}

struct bytes zstd_bytes(const void *data, size_t n, int window_log)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
    if (window_log > 0)
        ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
    struct bytes out = {malloc(ZSTD_compressBound(n)), 0};
    ZSTD_inBuffer in = {data, n, 0};
    ZSTD_outBuffer to = {out.p, ZSTD_compressBound(n), 0};
    size_t left = 0;
    if (window_log > 0) /* in two steps, or the window shrinks to what is needed */
        left = ZSTD_compressStream2(c, &to, &in, ZSTD_e_flush);
    do
        left = ZSTD_compressStream2(c, &to, &in, ZSTD_e_end);
    while (left != 0 && !ZSTD_isError(left));
    if (left != 0)
        abort();
    out.n = to.pos;
    ZSTD_freeCCtx(c);
    return out;
}

struct bytes base64_page(const void *data, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char head[] = "<html><script>const local_files = [{\"name\": \"s\", \"base64\": \"";
    static const char tail[] = "\"}]\n</script></html>\n";
    const unsigned char *p = data;
    struct bytes out = {malloc(sizeof head + sizeof tail + n / 3 * 4 + 8), sizeof head - 1};
    memcpy(out.p, head, sizeof head - 1);
    for (size_t i = 0; i < n; i += 3) {
        uint32_t group = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0u);
        for (size_t k = 0; k < 4; k++)
            out.p[out.n++] = i + k > n ? '=' : (unsigned char)digits[group >> (18 - 6 * k) & 63];
    }
    memcpy(out.p + out.n, tail, sizeof tail - 1);
    out.n += sizeof tail - 1;
    return out;
}

enum gm_status read_all(struct gm_source *source, size_t want, struct bytes *out, struct gm_error *err)
{
    enum gm_status status;
    size_t capacity = 0;
    *out = (struct bytes){NULL, 0};
    do {
        status = gm_source_more(source, want, err);
        size_t here = (size_t)(source->end - source->p);
        /* leave some bytes behind, as a decoder does in the middle of a token */
        size_t n = status == GM_OK && !source->at_end && here > want / 2 ? here - want / 2 : here;
        if (status == GM_OK && out->n + n > capacity) {
            capacity = (out->n + n) * 2;
            out->p = realloc(out->p, capacity);
        }
        if (status == GM_OK && n > 0)
            memcpy(out->p + out->n, source->p, n);
        out->n += status == GM_OK ? n : 0;
        source->p += n;
    } while (status == GM_OK && !(source->at_end && source->p == source->end));
    return status;
}
