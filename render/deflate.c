/* SPDX-License-Identifier: Apache-2.0
 *
 * The compressor; see deflate.h. Input becomes tokens (a literal, or a copy of `length` bytes from `distance` back);
 * some ten thousand tokens make a block, which is written with the prefix codes that suit it.
 */
#include "render/deflate.h"

#include "render/huffman.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORTEST = 4, /* deflate allows 3; with this hash 4 pays */
    LONGEST = 258,
    WINDOW = 32768,
    HASH_BITS = 13,
    BLOCK = 24 * 1024, /* tokens */
    LITERALS = 286,
    DISTANCES = 30,
    END_OF_BLOCK = 256,
    LENGTH_CODES = 19,
};

struct gm_deflate {
    /* Where such bytes were met: last (low half) and before that; position + 1, 0: never. */
    uint64_t seen[1 << HASH_BITS];
    uint32_t tokens[BLOCK]; /* literal, or length << 16 | distance */
    size_t token_count;
    uint32_t literal_counts[LITERALS], distance_counts[DISTANCES];
    uint8_t length_symbol[LONGEST + 1]; /* length code - 257 */
    uint8_t distance_symbol[512];       /* of distance - 1 below 256; of (distance - 1) >> 7 from 256 on, + 256 */
    uint8_t *out;
    uint64_t bits;
    unsigned bit_count;
};

/* RFC 1951, 3.2.5: the first length or distance of each code, and how many extra bits follow. */
static const uint16_t length_base[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                         31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                         2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const uint16_t distance_base[DISTANCES] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                                  33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                                  1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
static const uint8_t distance_extra[DISTANCES] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                                  6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

struct gm_deflate *gm_deflate_new(void)
{
    struct gm_deflate *d = malloc(sizeof *d);
    if (d == NULL)
        return NULL;
    for (unsigned length = 3, code = 0; length <= LONGEST; length++) {
        while (code < 28 && length >= length_base[code + 1])
            code++;
        d->length_symbol[length] = (uint8_t)code;
    }
    for (unsigned distance = 1, code = 0; distance <= WINDOW; distance++) {
        while (code < 29 && distance >= distance_base[code + 1])
            code++;
        if (distance <= 256)
            d->distance_symbol[distance - 1] = (uint8_t)code;
        else
            d->distance_symbol[256 + ((distance - 1) >> 7)] = (uint8_t)code;
    }
    return d;
}

void gm_deflate_free(struct gm_deflate *deflate)
{
    free(deflate);
}

size_t gm_deflate_bound(size_t length)
{
    /* At worst a token is a literal of 15 bits; a block's codes take less than 400 bytes. */
    return length * 2 + (length / BLOCK + 2) * 400;
}

static unsigned distance_symbol(const struct gm_deflate *d, unsigned distance)
{
    return distance <= 256 ? d->distance_symbol[distance - 1] : d->distance_symbol[256 + ((distance - 1) >> 7)];
}

/* At most 32 bits at a time. */
static inline void put_bits(struct gm_deflate *d, uint32_t bits, unsigned count)
{
    d->bits |= (uint64_t)bits << d->bit_count;
    d->bit_count += count;
    while (d->bit_count >= 8) {
        *d->out++ = (uint8_t)d->bits;
        d->bits >>= 8;
        d->bit_count -= 8;
    }
}

/* ---- writing a block ------------------------------------------------------------------------------------------ */

/* RFC 1951, 3.2.7: code lengths as runs. Fills symbols (0 to 18) and the value of their extra bits; returns how many.
 */
static size_t run_lengths(uint8_t *symbols, uint8_t *extras, const uint8_t *lengths, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        size_t run = 1;
        while (i + run < n && lengths[i + run] == lengths[i])
            run++;
        if (lengths[i] == 0 && run >= 3) {
            run = run > 138 ? 138 : run;
            symbols[used] = run <= 10 ? 17 : 18;
            extras[used++] = (uint8_t)(run - (run <= 10 ? 3 : 11));
        } else if (i > 0 && lengths[i] == lengths[i - 1] && run >= 3) {
            run = run > 6 ? 6 : run;
            symbols[used] = 16;
            extras[used++] = (uint8_t)(run - 3);
        } else {
            run = 1;
            symbols[used] = lengths[i];
            extras[used++] = 0;
        }
        i += run;
    }
    return used;
}

static void put_code_lengths(struct gm_deflate *d, const uint8_t *literal_lengths, const uint8_t *distance_lengths)
{
    static const uint8_t order[LENGTH_CODES] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    static const uint8_t extra_bits[LENGTH_CODES] = {[16] = 2, [17] = 3, [18] = 7};
    size_t literals = LITERALS, distances = DISTANCES;
    while (literals > 257 && literal_lengths[literals - 1] == 0)
        literals--;
    while (distances > 1 && distance_lengths[distances - 1] == 0)
        distances--;
    uint8_t all[LITERALS + DISTANCES], symbols[LITERALS + DISTANCES], extras[LITERALS + DISTANCES];
    memcpy(all, literal_lengths, literals);
    memcpy(all + literals, distance_lengths, distances);
    size_t n = run_lengths(symbols, extras, all, literals + distances);
    uint32_t counts[LENGTH_CODES] = {0};
    for (size_t i = 0; i < n; i++)
        counts[symbols[i]]++;
    uint8_t lengths[LENGTH_CODES];
    uint16_t codes[LENGTH_CODES];
    gm_huffman_lengths(lengths, counts, LENGTH_CODES, 7);
    gm_huffman_codes(codes, lengths, LENGTH_CODES);
    unsigned shown = LENGTH_CODES;
    while (shown > 4 && lengths[order[shown - 1]] == 0)
        shown--;
    put_bits(d, (uint32_t)(literals - 257), 5);
    put_bits(d, (uint32_t)(distances - 1), 5);
    put_bits(d, shown - 4, 4);
    for (unsigned i = 0; i < shown; i++)
        put_bits(d, lengths[order[i]], 3);
    for (size_t i = 0; i < n; i++) {
        put_bits(d, codes[symbols[i]], lengths[symbols[i]]);
        put_bits(d, extras[i], extra_bits[symbols[i]]);
    }
}

static void put_block(struct gm_deflate *d, bool is_last)
{
    uint8_t literal_lengths[LITERALS], distance_lengths[DISTANCES];
    uint16_t literal_codes[LITERALS], distance_codes[DISTANCES];
    d->literal_counts[END_OF_BLOCK]++;
    gm_huffman_lengths(literal_lengths, d->literal_counts, LITERALS, 15);
    gm_huffman_codes(literal_codes, literal_lengths, LITERALS);
    gm_huffman_lengths(distance_lengths, d->distance_counts, DISTANCES, 15);
    gm_huffman_codes(distance_codes, distance_lengths, DISTANCES);
    put_bits(d, is_last, 1);
    put_bits(d, 2, 2); /* codes of its own */
    put_code_lengths(d, literal_lengths, distance_lengths);
    for (size_t i = 0; i < d->token_count; i++) {
        uint32_t token = d->tokens[i];
        if (token < 256) {
            put_bits(d, literal_codes[token], literal_lengths[token]);
            continue;
        }
        unsigned length = token >> 16, distance = (token & 0xffff) + 1;
        unsigned l = d->length_symbol[length], s = distance_symbol(d, distance);
        put_bits(d, literal_codes[257 + l], literal_lengths[257 + l]);
        put_bits(d, length - length_base[l], length_extra[l]);
        put_bits(d, distance_codes[s], distance_lengths[s]);
        put_bits(d, distance - distance_base[s], distance_extra[s]);
    }
    put_bits(d, literal_codes[END_OF_BLOCK], literal_lengths[END_OF_BLOCK]);
    d->token_count = 0;
    memset(d->literal_counts, 0, sizeof d->literal_counts);
    memset(d->distance_counts, 0, sizeof d->distance_counts);
}

static inline void add_literal(struct gm_deflate *d, uint8_t byte)
{
    if (d->token_count == BLOCK)
        put_block(d, false);
    d->tokens[d->token_count++] = byte;
    d->literal_counts[byte]++;
}

static inline void add_copy(struct gm_deflate *d, size_t length, size_t distance)
{
    if (d->token_count == BLOCK)
        put_block(d, false);
    d->tokens[d->token_count++] = (uint32_t)(length << 16 | (distance - 1));
    d->literal_counts[257 + d->length_symbol[length]]++;
    d->distance_counts[distance_symbol(d, (unsigned)distance)]++;
}

/* ---- finding copies -------------------------------------------------------------------------------------------- */

static inline uint32_t load32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline unsigned hash(const uint8_t *p)
{
    return load32(p) * 2654435761U >> (32 - HASH_BITS);
}

/* Which of the eight bytes, in memory order, is the first that is not 0. */
static inline size_t first_difference(uint64_t bits)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (size_t)__builtin_ctzll(bits) / 8;
#else
    return (size_t)__builtin_clzll(bits) / 8;
#endif
}

/* How many bytes at in[at..) equal those at in[from..), up to `most`. */
static inline size_t same(const uint8_t *in, size_t at, size_t from, size_t most)
{
    size_t n = 0;
    for (; n + 8 <= most; n += 8) {
        uint64_t a, b;
        memcpy(&a, in + at + n, 8);
        memcpy(&b, in + from + n, 8);
        if (a != b)
            return n + first_difference(a ^ b);
    }
    while (n < most && in[at + n] == in[from + n])
        n++;
    return n;
}

struct copy {
    size_t length, distance;
};

/* The longest copy for in[at..), of the places worth a look; `most` bytes are left. */
static inline struct copy find(struct gm_deflate *d, const uint8_t *in, size_t at, size_t most, size_t row)
{
    struct copy best = {0, 0};
    if (at >= 1 && in[at] == in[at - 1]) {
        best = (struct copy){same(in, at, at - 1, most), 1};
    }
    if (row > 0 && at >= row && row <= WINDOW && load32(in + at) == load32(in + at - row)) {
        size_t n = same(in, at, at - row, most);
        if (n > best.length)
            best = (struct copy){n, row};
    }
    for (uint64_t seen = d->seen[hash(in + at)]; best.length < 64; seen >>= 32) {
        const size_t place = (uint32_t)seen;
        if (place == 0 || at - (place - 1) > WINDOW)
            break;
        size_t n = same(in, at, place - 1, most);
        if (n > best.length)
            best = (struct copy){n, at - (place - 1)};
    }
    return best.length >= SHORTEST ? best : (struct copy){0, 0};
}

static inline void remember(struct gm_deflate *d, const uint8_t *in, size_t at)
{
    uint64_t *seen = &d->seen[hash(in + at)];
    *seen = *seen << 32 | ((uint32_t)at + 1);
}

/* A copy of any length, in pieces; none may be shorter than 3. */
static void add_long_copy(struct gm_deflate *d, struct copy copy)
{
    while (copy.length > 0) {
        size_t piece = copy.length > LONGEST ? LONGEST : copy.length;
        if (copy.length > LONGEST && copy.length < LONGEST + 3)
            piece = LONGEST - 3;
        add_copy(d, piece, copy.distance);
        copy.length -= piece;
    }
}

size_t gm_deflate(struct gm_deflate *d, uint8_t *out, const uint8_t *in, size_t length, size_t row)
{
    memset(d->seen, 0, sizeof d->seen);
    memset(d->literal_counts, 0, sizeof d->literal_counts);
    memset(d->distance_counts, 0, sizeof d->distance_counts);
    d->token_count = 0;
    d->out = out;
    d->bits = 0;
    d->bit_count = 0;
    const size_t remembered = 8; /* of a copy: more places cost time and gain nothing */
    size_t at = 0;
    while (at + SHORTEST <= length) {
        struct copy copy = find(d, in, at, length - at, row);
        remember(d, in, at);
        if (copy.length == 0) {
            add_literal(d, in[at++]);
            continue;
        }
        if (copy.length < 32 && at + 1 + SHORTEST <= length) { /* is it better to begin one later? */
            struct copy next = find(d, in, at + 1, length - at - 1, row);
            if (next.length > copy.length + 1) {
                add_literal(d, in[at++]);
                remember(d, in, at);
                copy = next;
            }
        }
        add_long_copy(d, copy);
        size_t end = at + copy.length;
        for (size_t i = at + 1; i < end && i < at + remembered && i + SHORTEST <= length; i++)
            remember(d, in, i);
        at = end;
    }
    while (at < length)
        add_literal(d, in[at++]);
    put_block(d, true);
    put_bits(d, 0, 7); /* to the end of the byte */
    return (size_t)(d->out - out);
}
