/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/gmtrace/seal.h"

#include "analyze/formats/gmtrace_format.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static uint32_t load_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void store_u32(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> 8 * i);
}

void gm_add_section(struct gm_text *file, const char *tag, const void *payload, size_t length)
{
    unsigned char head[GM_GMTRACE_SECTION];
    memcpy(head, tag, 4);
    store_u32(head + 4, (uint32_t)length);
    uint32_t crc = (uint32_t)crc32(0, head, 8);
    store_u32(head + 8, length > 0 ? (uint32_t)crc32(crc, payload, (uInt)length) : crc);
    gm_text_add_bytes(file, head, sizeof head);
    gm_text_add_bytes(file, payload, length);
}

void gm_seal(unsigned char *file, size_t length)
{
    if (length < GM_GMTRACE_HEADER)
        return;
    store_u32(file + 12, (uint32_t)crc32(0, file, 12));
    for (size_t at = GM_GMTRACE_HEADER; length - at >= GM_GMTRACE_SECTION;) {
        size_t n = load_u32(file + at + 4);
        if (n > length - at - GM_GMTRACE_SECTION)
            return;
        unsigned char *payload = file + at + GM_GMTRACE_SECTION;
        if (memcmp(file + at, "END ", 4) == 0 && n == 12) {
            store_u32(payload, (uint32_t)at);
            store_u32(payload + 4, 0);
            store_u32(payload + 8, (uint32_t)crc32(0, file, (uInt)at));
        }
        uint32_t crc = (uint32_t)crc32(0, file + at, 8);
        store_u32(file + at + 8, n > 0 ? (uint32_t)crc32(crc, payload, (uInt)n) : crc);
        at += GM_GMTRACE_SECTION + n;
    }
}

/* ---- streams without compression --------------------------------------------------------------------------------- */

static uint64_t varint(const unsigned char **p, const unsigned char *end)
{
    uint64_t v = 0;
    for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
        v |= (uint64_t)(**p & 127) << shift;
        if (*(*p)++ < 128)
            return v;
    }
    return UINT64_MAX;
}

static void put_varint(struct gm_text *t, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        gm_text_add_char(t, (char)(v | 128));
    gm_text_add_char(t, (char)v);
}

/* Varint i has its k-th byte in plane k: written here plainly, plane by plane. */
static void join(const unsigned char *in, size_t n, size_t count, struct gm_text *out)
{
    GM_FREED size_t *end = calloc(count + 1, sizeof *end); /* how long each varint is */
    unsigned char *bytes = calloc(count + 1, GM_GMTRACE_VARINT);
    size_t at = 0;
    for (size_t level = 0; end != NULL && bytes != NULL && level < GM_GMTRACE_VARINT; level++)
        for (size_t i = 0; i < count && at < n; i++)
            if (end[i] == level && (level == 0 || bytes[i * GM_GMTRACE_VARINT + level - 1] >= 128)) {
                bytes[i * GM_GMTRACE_VARINT + level] = in[at++];
                end[i]++;
            }
    for (size_t i = 0; end != NULL && bytes != NULL && i < count; i++)
        gm_text_add_bytes(out, bytes + i * GM_GMTRACE_VARINT, end[i]);
    free(bytes);
}

static bool plain_stream(const unsigned char **p, const unsigned char *end, struct gm_text *payload)
{
    enum { MOST = 1 << 20 };
    unsigned method = *(*p)++, kind = method & 15;
    uint64_t decoded = varint(p, end), count = (method & GM_GMTRACE_PLANES) != 0 ? varint(p, end) : 0;
    uint64_t stored = kind == GM_GMTRACE_RAW ? decoded : varint(p, end);
    if (decoded > MOST || count > decoded || stored > (size_t)(end - *p) || kind > GM_GMTRACE_ZSTD_WORDS)
        return false;
    unsigned char *bytes = malloc(decoded + 1);
    ZSTD_DCtx *context = ZSTD_createDCtx();
    size_t got = decoded;
    if (bytes != NULL && kind == GM_GMTRACE_RAW)
        memcpy(bytes, *p, decoded);
    if (context != NULL && kind == GM_GMTRACE_ZSTD_WORDS)
        ZSTD_DCtx_refPrefix(context, gm_gmtrace_words, gm_gmtrace_words_size);
    if (bytes != NULL && context != NULL && kind != GM_GMTRACE_RAW)
        got = ZSTD_decompressDCtx(context, bytes, decoded, *p, stored);
    *p += stored;
    bool ok = bytes != NULL && got == decoded;
    gm_text_add_char(payload, GM_GMTRACE_RAW);
    put_varint(payload, decoded);
    if (ok && (method & GM_GMTRACE_PLANES) != 0)
        join(bytes, decoded, count, payload);
    else if (ok)
        gm_text_add_bytes(payload, bytes, decoded);
    ZSTD_freeDCtx(context);
    free(bytes);
    return ok;
}

bool gm_plain(const unsigned char *file, size_t length, struct gm_text *out)
{
    GM_FREED struct gm_text payload = {0};
    bool ok = length >= GM_GMTRACE_HEADER;
    if (ok)
        gm_text_add_bytes(out, file, GM_GMTRACE_HEADER);
    for (size_t at = GM_GMTRACE_HEADER; ok && at < length;) {
        size_t n = length - at >= GM_GMTRACE_SECTION ? load_u32(file + at + 4) : SIZE_MAX;
        ok = n <= length && n <= length - at - GM_GMTRACE_SECTION;
        if (!ok)
            break;
        const unsigned char *p = file + at + GM_GMTRACE_SECTION, *end = p + n;
        bool is_end = memcmp(file + at, "END ", 4) == 0;
        payload.length = 0;
        while (ok && !is_end && p < end)
            ok = plain_stream(&p, end, &payload);
        if (is_end)
            gm_text_add_bytes(&payload, p, n);
        gm_add_section(out, (const char *)file + at, payload.data, payload.length);
        at += GM_GMTRACE_SECTION + n;
    }
    if (ok && !out->failed)
        gm_seal((unsigned char *)out->data, out->length);
    return ok && !out->failed;
}
