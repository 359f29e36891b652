/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/formats/gmtrace_write_parts.h"

#include <stdlib.h>
#include <zlib.h>

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

void gm_put_varint_long(struct gm_text *t, uint64_t v)
{
    unsigned char bytes[GM_GMTRACE_VARINT];
    size_t n = 0;
    for (; v >= 128; v >>= 7)
        bytes[n++] = (unsigned char)(v | 128);
    bytes[n++] = (unsigned char)v;
    gm_text_add_bytes(t, bytes, n);
}

static void put_u32(struct gm_text *t, uint32_t v)
{
    const unsigned char bytes[4] = {(unsigned char)v, (unsigned char)(v >> 8), (unsigned char)(v >> 16),
                                    (unsigned char)(v >> 24)};
    gm_text_add_bytes(t, bytes, sizeof bytes);
}

void gm_put_u64(struct gm_text *t, uint64_t v)
{
    put_u32(t, (uint32_t)v);
    put_u32(t, (uint32_t)(v >> 32));
}

void gm_put_id(struct gm_text *t, uint32_t id, uint32_t *newest, uint64_t first)
{
    if (id <= *newest) {
        gm_put_varint(t, first + 2 + (*newest - id));
        return;
    }
    if (id == *newest + 1) {
        gm_put_varint(t, first);
    } else {
        gm_put_varint(t, first + 1);
        gm_put_varint(t, id - *newest - 2);
    }
    *newest = id;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

enum gm_status gm_gmtrace_writer_open(struct gm_gmtrace_writer *w, const struct gm_snapshot *snapshot, int level,
                                      size_t rows, struct gm_text *out, struct gm_error *err)
{
    *w = (struct gm_gmtrace_writer){.s = snapshot, .rows = rows, .out = out, .begin = out->length, .err = err};
    w->zstd = ZSTD_createCCtx();
    if (w->zstd == NULL)
        return gm_no_memory(w->err);
    ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_contentSizeFlag, 0);
    gm_text_add_bytes(out, GM_GMTRACE_MAGIC, GM_GMTRACE_MAGIC_SIZE);
    put_u32(out, GM_GMTRACE_VERSION);
    if (out->failed)
        return gm_no_memory(w->err);
    const unsigned char *header = (const unsigned char *)out->data + w->begin;
    put_u32(out, (uint32_t)crc32(0, header, 12));
    if (out->failed)
        return gm_no_memory(w->err);
    w->crc = (uint32_t)crc32(0, (const unsigned char *)out->data + w->begin, GM_GMTRACE_HEADER);
    return GM_OK;
}

void gm_gmtrace_writer_close(struct gm_gmtrace_writer *w)
{
    for (size_t i = 0; i < GM_EVNT_STREAMS; i++)
        gm_text_free(&w->stream[i]);
    gm_text_free(&w->payload);
    gm_text_free(&w->packed);
    gm_text_free(&w->planes);
    ZSTD_freeCCtx(w->zstd);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static bool room(struct gm_text *t, size_t n)
{
    t->length = 0;
    if (t->capacity >= n)
        return true;
    gm_text_free(t);
    t->data = malloc(n);
    t->failed = t->data == NULL;
    t->capacity = t->failed ? 0 : n;
    return !t->failed;
}

/* Sorts the bytes of varints by their place in it. Returns how many varints there are; 0 if each is one byte, or if
 * there is no memory. */
static size_t split_planes(struct gm_text *to, const struct gm_text *from)
{
    const unsigned char *p = (const unsigned char *)from->data;
    size_t at[GM_GMTRACE_VARINT + 1] = {0}, level = 0;
    for (size_t i = 0; i < from->length; i++) {
        at[level + 1]++;
        level = p[i] >= 128 ? level + 1 : 0;
    }
    size_t count = at[1];
    if (count == from->length || !room(to, from->length))
        return 0;
    for (size_t k = 1; k <= GM_GMTRACE_VARINT; k++)
        at[k] += at[k - 1];
    for (size_t i = 0; i < from->length; i++) {
        to->data[at[level]++] = from->data[i];
        level = p[i] >= 128 ? level + 1 : 0;
    }
    to->length = from->length;
    return count;
}

/* Compresses into w->packed; false if that is no gain, or if there is no memory, which w->payload then knows. */
static bool pack(struct gm_gmtrace_writer *w, const struct gm_text *from, bool words, size_t below)
{
    if (from->length < 8)
        return false;
    if (!room(&w->packed, ZSTD_compressBound(from->length))) {
        w->payload.failed = true;
        return false;
    }
    if (words)
        ZSTD_CCtx_refPrefix(w->zstd, gm_gmtrace_words, gm_gmtrace_words_size);
    size_t n = ZSTD_compress2(w->zstd, w->packed.data, w->packed.capacity, from->data, from->length);
    w->payload.failed |= ZSTD_isError(n) != 0; /* it has room, so only memory can be missing */
    if (ZSTD_isError(n) || n >= below)
        return false;
    w->packed.length = n;
    return true;
}

static void add_stream(struct gm_gmtrace_writer *w, const struct gm_text *from, bool is_varints, bool words)
{
    struct gm_text *payload = &w->payload;
    size_t begin = payload->length, best = from->length;
    gm_put_varint(payload, GM_GMTRACE_RAW);
    gm_put_varint(payload, from->length);
    gm_text_add_bytes(payload, from->data, from->length);
    if (pack(w, from, words, best)) {
        payload->length = begin;
        best = w->packed.length;
        gm_put_varint(payload, words ? GM_GMTRACE_ZSTD_WORDS : GM_GMTRACE_ZSTD);
        gm_put_varint(payload, from->length);
        gm_put_varint(payload, best);
        gm_text_add_bytes(payload, w->packed.data, best);
    }
    size_t count = is_varints ? split_planes(&w->planes, from) : 0;
    payload->failed |= w->planes.failed;
    if (count > 0 && pack(w, &w->planes, false, best - best / 32)) {
        payload->length = begin;
        gm_put_varint(payload, GM_GMTRACE_ZSTD | GM_GMTRACE_PLANES);
        gm_put_varint(payload, from->length);
        gm_put_varint(payload, count);
        gm_put_varint(payload, w->packed.length);
        gm_text_add_bytes(payload, w->packed.data, w->packed.length);
    }
}

/* ---- sections ---------------------------------------------------------------------------------------------------- */

static enum gm_status append(struct gm_gmtrace_writer *w, const char *tag, const struct gm_text *payload)
{
    if (payload->failed)
        return gm_no_memory(w->err);
    if (payload->length > GM_GMTRACE_MAX_PAYLOAD)
        return gm_fail(w->err, GM_E_LIMIT, GM_NO_OFFSET, "section %s is too large for a .gmtrace file: %zu bytes", tag,
                       payload->length);
    size_t begin = w->out->length;
    gm_text_add_bytes(w->out, tag, 4);
    put_u32(w->out, (uint32_t)payload->length);
    if (w->out->failed)
        return gm_no_memory(w->err);
    uint32_t crc = (uint32_t)crc32(0, (const unsigned char *)w->out->data + begin, 8);
    if (payload->length > 0)
        crc = (uint32_t)crc32(crc, (const unsigned char *)payload->data, (uInt)payload->length);
    put_u32(w->out, crc);
    gm_text_add_bytes(w->out, payload->data, payload->length);
    if (w->out->failed)
        return gm_no_memory(w->err);
    w->crc = (uint32_t)crc32(w->crc, (const unsigned char *)w->out->data + begin, (uInt)(w->out->length - begin));
    return GM_OK;
}

/* A reader gives as much memory as the file has bytes to pay for. Should a trace be so regular that they do not
 * suffice, bytes that no compressor takes away are added. */
static enum gm_status pad(struct gm_gmtrace_writer *w, uint64_t cost)
{
    size_t length = w->out->length - w->begin + GM_GMTRACE_SECTION + w->payload.length;
    w->spent += cost;
    uint64_t allowed = GM_GMTRACE_FREE + GM_GMTRACE_WRITE_RATIO * length;
    if (w->spent <= allowed)
        return GM_OK;
    GM_FREED struct gm_text noise = {0};
    uint64_t state = (w->spent | 1) * UINT64_C(0x9e3779b97f4a7c15); /* other noise each time */
    for (uint64_t n = (w->spent - allowed) / GM_GMTRACE_WRITE_RATIO / 8 + 1; n > 0; n--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        gm_put_u64(&noise, state);
    }
    return append(w, GM_GMTRACE_PAD, &noise);
}

enum gm_status gm_gmtrace_section(struct gm_gmtrace_writer *w, const char *tag, size_t streams, uint32_t bytes,
                                  uint32_t words, uint64_t cost)
{
    w->payload.length = 0;
    for (size_t i = 0; i < streams; i++) {
        if (w->stream[i].failed)
            return gm_no_memory(w->err);
        add_stream(w, &w->stream[i], (bytes >> i & 1) == 0, words >> i & 1);
        cost += w->stream[i].length * GM_GMTRACE_COST_BYTE;
        w->stream[i].length = 0;
    }
    enum gm_status status = w->payload.failed ? gm_no_memory(w->err) : pad(w, cost);
    return status == GM_OK ? append(w, tag, &w->payload) : status;
}

enum gm_status gm_gmtrace_writer_end(struct gm_gmtrace_writer *w)
{
    w->payload.length = 0;
    gm_put_u64(&w->payload, w->out->length - w->begin);
    put_u32(&w->payload, w->crc);
    return append(w, "END ", &w->payload);
}
