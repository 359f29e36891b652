/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/write/pickle_writer.h"

#include "analyze/base/utf8.h"

#include <stdlib.h>

enum { LONG_STRING = GM_FRAME_TARGET };

void gm_pickle_fail(struct gm_pickle *p, enum gm_status status, const char *message)
{
    if (p->status == GM_OK)
        p->status = gm_fail(p->err, status, GM_NO_OFFSET, "%s", message);
}

static void send(struct gm_pickle *p, const void *bytes, size_t length)
{
    if (p->status == GM_OK)
        p->status = p->sink->write(p->sink->context, bytes, length, p->err);
}

bool gm_pickle_begin(struct gm_pickle *p, const struct gm_sink *sink, struct gm_error *err)
{
    *p = (struct gm_pickle){.sink = sink, .n = GM_FRAME_HEADER, .err = err};
    p->buffer = malloc(GM_PICKLE_BUFFER);
    if (p->buffer == NULL) {
        gm_pickle_fail(p, GM_E_NOMEM, "out of memory");
        return false;
    }
    send(p, "\x80\x04", 2);
    return true;
}

void gm_pickle_end(struct gm_pickle *p)
{
    *gm_pickle_room(p, 1) = '.';
    p->n++;
    gm_pickle_flush(p);
}

void gm_pickle_free(struct gm_pickle *p)
{
    free(p->buffer);
    p->buffer = NULL;
}

void gm_pickle_flush(struct gm_pickle *p)
{
    enum { MIN_FRAME = 4 }; /* less is not worth a header, as Python's pickler has it */
    size_t length = p->n - GM_FRAME_HEADER;
    uint64_t stated = length;
    p->n = GM_FRAME_HEADER;
    if (length == 0)
        return;
    if (length < MIN_FRAME) {
        send(p, p->buffer + GM_FRAME_HEADER, length);
        return;
    }
    p->buffer[0] = 0x95;
    memcpy(p->buffer + 1, &stated, 8);
    send(p, p->buffer, GM_FRAME_HEADER + length);
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

void gm_pickle_negative(struct gm_pickle *p, int64_t v)
{
    if (v >= INT32_MIN) {
        gm_pickle_argument(p, 'J', (uint64_t)v, 4);
        return;
    }
    /* as few bytes as hold the number and a sign bit of 1 */
    size_t width = (size_t)(64 - __builtin_clzll(~(uint64_t)v)) / 8 + 1;
    unsigned char *to = gm_pickle_room(p, 16);
    to[0] = 0x8a;
    to[1] = (unsigned char)width;
    memcpy(to + 2, &v, 8);
    p->n += 2 + width;
}

void gm_pickle_real(struct gm_pickle *p, uint64_t bits)
{
    gm_pickle_argument(p, 'G', __builtin_bswap64(bits), 8);
}

/* ---- strings ---------------------------------------------------------------------------------------------------- */

static bool is_ascii(const char *s, size_t n)
{
    unsigned char all = 0;
    for (size_t i = 0; i < n; i++)
        all |= (unsigned char)s[i];
    return all < 0x80;
}

/* The length of the character at s: 1 to 4, also for half of a surrogate pair, which Python's pickles have and read; 0
 * for a byte that no reader would take. */
static size_t readable(const char *s, size_t n)
{
    uint32_t code;
    size_t length = gm_utf8_decode(s, n, &code);
    if (length == 0 && n >= 3 && (unsigned char)s[0] == 0xed && ((unsigned char)s[1] & 0xe0) == 0xa0 &&
        ((unsigned char)s[2] & 0xc0) == 0x80)
        return 3;
    return length;
}

/* Bytes that are no UTF-8 are written as Python names them (surrogateescape): byte 0xNN becomes U+DCNN. */
static size_t encode(unsigned char *out, const char *s, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        size_t length = readable(s + i, n - i);
        if (length == 0) {
            unsigned char byte = (unsigned char)s[i++];
            out[used++] = 0xed;
            out[used++] = (unsigned char)(0xb0 | (byte >> 6 & 3));
            out[used++] = (unsigned char)(0x80 | (byte & 0x3f));
            continue;
        }
        memcpy(out + used, s + i, length);
        used += length;
        i += length;
    }
    return used;
}

static bool is_readable(const char *s, size_t n)
{
    if (is_ascii(s, n))
        return true;
    for (size_t i = 0; i < n;) {
        size_t length = readable(s + i, n - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

/* A header and bytes; long ones outside of any frame, so that no reader has to hold them twice. */
static void put_bytes(struct gm_pickle *p, const void *bytes, size_t length)
{
    unsigned char header[9] = {length <= 0xff ? 0x8c : length <= UINT32_MAX ? 'X' : 0x8d};
    size_t width = length <= 0xff ? 1 : length <= UINT32_MAX ? 4 : 8;
    uint64_t stated = length;
    memcpy(header + 1, &stated, width);
    if (length >= LONG_STRING) {
        gm_pickle_flush(p);
        send(p, header, 1 + width);
        send(p, bytes, length);
        return;
    }
    if (p->n + 1 + width + length > GM_PICKLE_BUFFER)
        gm_pickle_flush(p);
    memcpy(p->buffer + p->n, header, 1 + width);
    if (length > 0)
        memcpy(p->buffer + p->n + 1 + width, bytes, length);
    p->n += 1 + width + length;
}

void gm_pickle_string(struct gm_pickle *p, const char *bytes, size_t length)
{
    if (is_readable(bytes, length)) {
        put_bytes(p, bytes, length);
        return;
    }
    unsigned char *escaped = length <= SIZE_MAX / 3 ? malloc(length * 3) : NULL;
    if (escaped == NULL) {
        gm_pickle_fail(p, GM_E_NOMEM, "out of memory");
        return;
    }
    put_bytes(p, escaped, encode(escaped, bytes, length));
    free(escaped);
}

/* ---- memo ------------------------------------------------------------------------------------------------------- */

uint32_t gm_pickle_memoize(struct gm_pickle *p)
{
    if (p->slots >= UINT32_MAX - 1)
        gm_pickle_fail(p, GM_E_LIMIT, "more objects than a pickle can number");
    *gm_pickle_room(p, 1) = 0x94;
    p->n++;
    return ++p->slots;
}

uint32_t gm_pickle_memoize_low(struct gm_pickle *p)
{
    if (p->slots < GM_LOW_SLOTS || p->spare_count == 0)
        return gm_pickle_memoize(p);
    unsigned char slot = p->spare[--p->spare_count];
    gm_pickle_argument(p, 'q', slot, 1);
    return (uint32_t)slot + 1;
}

void gm_pickle_give_back(struct gm_pickle *p, uint32_t *slot_plus_1)
{
    if (*slot_plus_1 != 0 && *slot_plus_1 <= GM_LOW_SLOTS) {
        p->spare[p->spare_count++] = (unsigned char)(*slot_plus_1 - 1);
        *slot_plus_1 = 0;
    }
}
