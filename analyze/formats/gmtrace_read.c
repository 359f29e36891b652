/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/formats/gmtrace_parts.h"

#include "analyze/base/vec.h"
#include "analyze/formats/source_filter.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

uint64_t gm_cursor_long(struct gm_cursor *c, uint64_t first)
{
    uint64_t v = first & 127;
    for (unsigned shift = 7; c->p < c->end; shift += 7) {
        uint64_t byte = *c->p++;
        if (shift == 63 && byte > 1)
            break;
        v |= (byte & 127) << shift;
        if (byte < 128)
            return v;
    }
    c->bad = true;
    return 0;
}

uint64_t gm_cursor_u64(struct gm_cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 8)
        v |= (uint64_t)gm_cursor_byte(c) << shift;
    return v;
}

static uint32_t load_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

enum gm_status gm_gmtrace_damaged(struct gm_gmtrace_reader *r, const char *what)
{
    return gm_fail(r->err, GM_E_CORRUPT, r->offset, "damaged .gmtrace file: section %s: %s", r->tag, what);
}

static enum gm_status ends_early(struct gm_gmtrace_reader *r, const char *where)
{
    return gm_fail(r->err, GM_E_TRUNCATED, gm_source_offset(r->source), "the .gmtrace file ends early, in %s", where);
}

enum gm_status gm_gmtrace_spend(struct gm_gmtrace_reader *r, uint64_t count, uint64_t cost)
{
    uint64_t allowed = GM_GMTRACE_FREE + GM_GMTRACE_READ_RATIO * gm_filter_source_disk_bytes(r->source);
    if (count > (allowed - r->spent) / cost)
        return gm_fail(r->err, GM_E_LIMIT, r->offset,
                       "section %s of this .gmtrace file expands to far more than the file can hold", r->tag);
    r->spent += count * cost;
    return GM_OK;
}

/* ---- bytes of the file ------------------------------------------------------------------------------------------- */

/* Appends the next `n` bytes of the file to the payload, which grows as they arrive and not before. */
static enum gm_status read_bytes(struct gm_gmtrace_reader *r, size_t n, const char *where)
{
    while (n > 0) {
        GM_TRY(gm_source_more(r->source, 1, r->err));
        size_t have = (size_t)(r->source->end - r->source->p), part = have < n ? have : n;
        if (part == 0)
            return ends_early(r, where);
        if (!gm_grow(&r->payload, &r->capacity, r->length + part, 1))
            return gm_no_memory(r->err);
        memcpy(r->payload + r->length, r->source->p, part);
        r->source->p += part;
        r->length += part;
        n -= part;
    }
    return GM_OK;
}

enum gm_status gm_gmtrace_open(struct gm_gmtrace_reader *r, struct gm_source *source, struct gm_error *err)
{
    *r = (struct gm_gmtrace_reader){.source = source, .err = err};
    GM_TRY(read_bytes(r, GM_GMTRACE_HEADER, "its header"));
    r->crc = (uint32_t)crc32(0, r->payload, GM_GMTRACE_HEADER);
    if (memcmp(r->payload, GM_GMTRACE_MAGIC, GM_GMTRACE_MAGIC_SIZE) != 0 ||
        load_u32(r->payload + 12) != crc32(0, r->payload, 12))
        return gm_fail(err, GM_E_CORRUPT, 0, "damaged .gmtrace file: its header has a wrong checksum");
    uint32_t version = load_u32(r->payload + GM_GMTRACE_MAGIC_SIZE);
    if (version != GM_GMTRACE_VERSION)
        return gm_fail(err, GM_E_FORMAT, 0, "a .gmtrace file of version %u: this program reads version %d",
                       (unsigned)version, GM_GMTRACE_VERSION);
    r->zstd = ZSTD_createDCtx();
    return r->zstd == NULL ? gm_no_memory(r->err) : GM_OK;
}

static void free_streams(struct gm_gmtrace_reader *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->owned[i]);
        r->owned[i] = NULL;
    }
    r->count = 0;
}

void gm_gmtrace_close(struct gm_gmtrace_reader *r)
{
    free_streams(r);
    free(r->payload);
    ZSTD_freeDCtx(r->zstd);
}

/* ---- sections ---------------------------------------------------------------------------------------------------- */

/* Reads one section of any tag into the payload. */
static enum gm_status read_section(struct gm_gmtrace_reader *r)
{
    r->offset = gm_source_offset(r->source);
    r->length = 0;
    GM_TRY(read_bytes(r, GM_GMTRACE_SECTION, "the head of a section"));
    for (int i = 0; i < 4; i++)
        r->tag[i] = r->payload[i] >= ' ' && r->payload[i] < 127 ? (char)r->payload[i] : '?';
    uint32_t length = load_u32(r->payload + 4), crc = load_u32(r->payload + 8);
    uint32_t real = (uint32_t)crc32(0, r->payload, 8);
    r->crc = (uint32_t)crc32(r->crc, r->payload, GM_GMTRACE_SECTION);
    r->length = 0;
    if (length > GM_GMTRACE_MAX_PAYLOAD)
        return gm_gmtrace_damaged(r, "it is too long");
    char where[32] = "section ";
    memcpy(where + 8, r->tag, sizeof r->tag);
    GM_TRY(read_bytes(r, length, where));
    real = length > 0 ? (uint32_t)crc32(real, r->payload, length) : real;
    r->crc = length > 0 ? (uint32_t)crc32(r->crc, r->payload, length) : r->crc;
    return real == crc ? GM_OK : gm_gmtrace_damaged(r, "wrong checksum");
}

static enum gm_status read_expected(struct gm_gmtrace_reader *r, const char *tag)
{
    enum gm_status status;
    do
        status = read_section(r);
    while (status == GM_OK && r->tag[0] >= 'a' && r->tag[0] <= 'z');
    if (status == GM_OK && memcmp(r->tag, tag, 4) != 0)
        return gm_fail(r->err, GM_E_CORRUPT, r->offset, "damaged .gmtrace file: section %s where %s should be", r->tag,
                       tag);
    return status;
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

/* Puts varints together whose first bytes come first, then the second bytes of those that have one, and so on. `first`
 * is how many there are. */
static bool join_planes(unsigned char *out, const unsigned char *in, size_t n, size_t first)
{
    const unsigned char *plane[GM_GMTRACE_VARINT] = {NULL};
    size_t planes = 0, at = 0;
    for (size_t count = first; count > 0; planes++) {
        if (planes == GM_GMTRACE_VARINT || count > n - at)
            return false;
        plane[planes] = in + at;
        at += count;
        size_t longer = 0;
        for (size_t i = 0; i < count; i++)
            longer += plane[planes][i] >> 7;
        count = longer;
    }
    if (at != n)
        return false;
    for (size_t i = 0; i < first; i++) {
        size_t level = 0; /* no varint is longer than there are planes: these were counted */
        while (level < planes && (*out++ = *plane[level]++) >= 128)
            level++;
    }
    return true;
}

static enum gm_status inflate_stream(struct gm_gmtrace_reader *r, unsigned char *out, size_t decoded,
                                     const unsigned char *in, size_t stored, unsigned method)
{
    size_t got = 0;
    if (method == GM_GMTRACE_ZSTD_WORDS)
        got = ZSTD_DCtx_refPrefix(r->zstd, gm_gmtrace_words, gm_gmtrace_words_size);
    if (!ZSTD_isError(got))
        got = ZSTD_decompressDCtx(r->zstd, out, decoded, in, stored);
    if (ZSTD_isError(got))
        return gm_gmtrace_damaged(r, ZSTD_getErrorName(got));
    return got == decoded ? GM_OK : gm_gmtrace_damaged(r, "a stream is not as long as it says");
}

static enum gm_status unpack(struct gm_gmtrace_reader *r, size_t i, struct gm_cursor *c)
{
    unsigned method = gm_cursor_byte(c);
    bool has_planes = (method & GM_GMTRACE_PLANES) != 0;
    method &= ~(unsigned)GM_GMTRACE_PLANES;
    uint64_t decoded = gm_cursor_varint(c);
    uint64_t first = has_planes ? gm_cursor_varint(c) : 0;
    uint64_t stored = method == GM_GMTRACE_RAW ? decoded : gm_cursor_varint(c);
    if (c->bad || method >= GM_GMTRACE_METHODS || stored > (size_t)(c->end - c->p) || first > decoded)
        return gm_gmtrace_damaged(r, "a stream has a wrong head");
    const unsigned char *in = c->p;
    c->p += stored;
    enum gm_status status = gm_gmtrace_spend(r, decoded, GM_GMTRACE_COST_BYTE);
    if (status != GM_OK)
        return status;
    r->streams[i] = (struct gm_cursor){in, in + decoded, false};
    if (method == GM_GMTRACE_RAW && !has_planes)
        return GM_OK;
    unsigned char *out = NULL, *joined = NULL;
    if (method != GM_GMTRACE_RAW) {
        out = r->owned[i] = malloc(decoded + 1);
        if (out == NULL)
            return gm_no_memory(r->err);
        status = inflate_stream(r, out, decoded, in, stored, method);
        in = out;
    }
    if (status == GM_OK && has_planes) {
        joined = malloc(decoded + 1);
        if (joined == NULL)
            return gm_no_memory(r->err);
        if (!join_planes(joined, in, decoded, first))
            status = gm_gmtrace_damaged(r, "a stream's planes do not fit together");
        free(out);
        in = r->owned[i] = joined;
    }
    r->streams[i] = (struct gm_cursor){in, in + decoded, false};
    return status;
}

enum gm_status gm_gmtrace_begin(struct gm_gmtrace_reader *r, const char *tag, size_t streams)
{
    enum gm_status status = read_expected(r, tag);
    struct gm_cursor c = {r->payload, r->payload + r->length, false};
    r->count = streams;
    for (size_t i = 0; i < streams && status == GM_OK; i++)
        status = unpack(r, i, &c);
    if (status == GM_OK && c.p != c.end)
        status = gm_gmtrace_damaged(r, "bytes after its last stream");
    return status;
}

enum gm_status gm_gmtrace_end(struct gm_gmtrace_reader *r)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->streams[i].bad)
            return gm_gmtrace_damaged(r, "a stream ends early");
        if (r->streams[i].p != r->streams[i].end)
            return gm_gmtrace_damaged(r, "a stream holds more than it should");
    }
    free_streams(r);
    return GM_OK;
}

enum gm_status gm_gmtrace_finish(struct gm_gmtrace_reader *r)
{
    uint32_t crc;
    enum gm_status status;
    do {
        crc = r->crc; /* of what comes before the section */
        status = read_section(r);
    } while (status == GM_OK && r->tag[0] >= 'a' && r->tag[0] <= 'z');
    if (status != GM_OK)
        return status;
    if (memcmp(r->tag, "END ", 4) != 0)
        return gm_gmtrace_damaged(r, "it stands where the end should be");
    struct gm_cursor c = {r->payload, r->payload + r->length, false};
    uint64_t length = gm_cursor_u64(&c);
    if (r->length != 12 || length != r->offset || load_u32(r->payload + 8) != crc)
        return gm_gmtrace_damaged(r, "the file's length or checksum is wrong");
    status = gm_source_more(r->source, 1, r->err);
    if (status == GM_OK && r->source->p != r->source->end)
        return gm_gmtrace_damaged(r, "bytes after the end of the file");
    return status;
}
