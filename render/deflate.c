/* SPDX-License-Identifier: Apache-2.0
 *
 * See deflate.h. A picture becomes tokens (a literal byte; or so many bytes as so far back), 2^15 of which are a block
 * with two Huffman codes of its own: of literals and lengths, and of distances.
 */
#include "render/deflate.h"

#include "analyze/base/arithmetic.h"

#include <byteswap.h>
#include <endian.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

enum {
    SYMBOLS = GM_DEFLATE_SYMBOLS,
    DISTANCES = GM_DEFLATE_DISTANCES,
    END_OF_BLOCK = 256,
    FIRST_LENGTH = 257,
    LONGEST_SYMBOL = 285,
    LONGEST = 258,
    SHORTEST = 3,
    WINDOW = 32768,
    LONGEST_CODE = 15,
    LENGTHS = 19, /* symbols of the code that the lengths of the other two are written in */
    LONGEST_LENGTHS_CODE = 7,
    MOST_TOKEN_BYTES = 6, /* 15 + 5 + 15 + 13 bits */
    MOST_HEADER_BYTES = 400,
    HASHED = sizeof(uint32_t),
    WAYS = GM_DEFLATE_WAYS,
    GOOD = 64,   /* bytes: no better copy is looked for. Measured, as the next */
    ENTERED = 16 /* copies up to this length are entered byte by byte */
};
#define IS_COPY (UINT32_C(1) << 31)

/* ---- Huffman codes ----------------------------------------------------------------------------------------------- */

struct code {
    uint8_t bits[SYMBOLS]; /* 0: not used */
    uint16_t code[SYMBOLS];
};

static int by_uses(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* How many of the `n` symbols, whose uses ascend in the keys, get codes of so many bits, at most `most`. */
static void count_lengths(size_t count[LONGEST_CODE + 1], const uint64_t *keys, size_t n, size_t most)
{
    uint64_t weight[2 * SYMBOLS] = {0};
    size_t parent[2 * SYMBOLS] = {0}, depth[2 * SYMBOLS], leaf = 0, node = n;
    const size_t root = 2 * n - 2;
    for (size_t i = 0; i < n; i++)
        weight[i] = keys[i] >> 16;
    for (size_t next = n; next <= root; next++) {
        weight[next] = 0;
        for (int child = 0; child < 2; child++) {
            const bool is_leaf = leaf < n && (node == next || weight[leaf] <= weight[node]);
            const size_t taken = is_leaf ? leaf++ : node++;
            weight[next] += weight[taken];
            parent[taken] = next;
        }
    }
    depth[root] = 0;
    size_t room = 0; /* of 2^most: what codes of these lengths would take */
    for (size_t i = root; i-- > 0;) {
        depth[i] = depth[parent[i]] + 1;
        if (i < n) {
            count[gm_min(depth[i], most)]++;
            room += (size_t)1 << (most - gm_min(depth[i], most));
        }
    }
    for (; room > (size_t)1 << most; room--) { /* two longer codes in the place of a shorter one, and of one too long */
        size_t bits = most - 1;
        while (count[bits] == 0)
            bits--;
        count[most]--;
        count[bits]--;
        count[bits + 1] += 2;
    }
}

static uint16_t reversed(unsigned code, unsigned bits)
{
    unsigned out = 0;
    for (unsigned i = 0; i < bits; i++)
        out |= (code >> i & 1) << (bits - 1 - i);
    return (uint16_t)out;
}

/* The code for symbols that are used so often. */
static void make_code(struct code *out, const uint32_t *uses, size_t symbols, size_t most)
{
    uint64_t keys[SYMBOLS];
    size_t count[LONGEST_CODE + 1] = {0}, n = 0;
    unsigned next[LONGEST_CODE + 1] = {0};
    memset(out->bits, 0, sizeof out->bits);
    for (size_t i = 0; i < symbols; i++)
        if (uses[i] > 0)
            keys[n++] = (uint64_t)uses[i] << 16 | i;
    if (n > 1) {
        qsort(keys, n, sizeof *keys, by_uses);
        count_lengths(count, keys, n, most);
    } else {
        count[1] = n;
    }
    for (size_t i = 0, bits = most, left = count[most]; i < n; i++, left--) {
        while (left == 0)
            left = count[--bits];
        out->bits[keys[i] & 0xffff] = (uint8_t)bits;
    }
    for (size_t bits = 2; bits <= most; bits++)
        next[bits] = (next[bits - 1] + (unsigned)count[bits - 1]) << 1;
    for (size_t i = 0; i < symbols; i++)
        if (out->bits[i] > 0)
            out->code[i] = reversed(next[out->bits[i]]++, out->bits[i]);
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

/* Up to 32 bits. There is room. */
static inline void put(struct gm_deflate *d, uint64_t value, unsigned bits)
{
    d->bits |= value << d->bit_count;
    d->bit_count += bits;
    if (d->bit_count >= 32) {
        const uint32_t word = htole32((uint32_t)d->bits);
        memcpy(d->out + d->length, &word, sizeof word);
        d->length += sizeof word;
        d->bits >>= 32;
        d->bit_count -= 32;
    }
}

static inline void put_symbol(struct gm_deflate *d, const struct code *code, unsigned symbol)
{
    put(d, code->code[symbol], code->bits[symbol]);
}

static bool make_room(struct gm_deflate *d, size_t bytes)
{
    if (d->failed || d->capacity - d->length >= bytes)
        return !d->failed;
    uint8_t *grown = realloc(d->out, 2 * d->capacity + bytes);
    d->failed = grown == NULL;
    if (d->failed)
        return false;
    d->out = grown;
    d->capacity = 2 * d->capacity + bytes;
    return true;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Lengths (less 3) and distances (less 1) are symbols with so many more bits. */
struct symbol {
    unsigned symbol, extra;
};

static inline unsigned log2_of(unsigned value)
{
    return 31 - (unsigned)__builtin_clz(value);
}

static inline struct symbol symbol_of_length(unsigned length)
{
    if (length == LONGEST - SHORTEST)
        return (struct symbol){LONGEST_SYMBOL, 0};
    const unsigned extra = length < 8 ? 0 : log2_of(length) - 2;
    return (struct symbol){FIRST_LENGTH + 4 * extra + (length >> extra), extra};
}

static inline struct symbol symbol_of_distance(unsigned distance)
{
    const unsigned extra = distance < 4 ? 0 : log2_of(distance) - 1;
    return (struct symbol){2 * extra + (distance >> extra), extra};
}

static inline void put_with_extra(struct gm_deflate *d, const struct code *code, struct symbol s, unsigned value)
{
    put_symbol(d, code, s.symbol);
    put(d, value & ((1U << s.extra) - 1), s.extra);
}

static size_t used(const struct code *code, size_t symbols, size_t least)
{
    while (symbols > least && code->bits[symbols - 1] == 0)
        symbols--;
    return symbols;
}

/* A part of the lengths of both codes: one of them, or zeros, or the last one again. */
struct part {
    uint8_t symbol, value, extra;
};

static size_t split_lengths(struct part *parts, const uint8_t *lengths, size_t n)
{
    size_t count = 0;
    for (size_t i = 0, run; i < n; i += run) {
        for (run = 1; i + run < n && lengths[i + run] == lengths[i] && run < (lengths[i] == 0 ? 138 : 7);)
            run++;
        if (lengths[i] == 0 && run >= SHORTEST) {
            const bool is_long = run > 10;
            parts[count++] = (struct part){is_long ? 18 : 17, (uint8_t)(run - (is_long ? 11 : 3)), is_long ? 7 : 3};
            continue;
        }
        if (run <= SHORTEST)
            run = 1;
        parts[count++] = (struct part){lengths[i], 0, 0};
        if (run > SHORTEST)
            parts[count++] = (struct part){16, (uint8_t)(run - 1 - SHORTEST), 2};
    }
    return count;
}

static void put_codes(struct gm_deflate *d, const struct code *symbols, const struct code *distances)
{
    static const uint8_t order[LENGTHS] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[SYMBOLS + DISTANCES];
    struct part parts[SYMBOLS + DISTANCES];
    uint32_t uses[LENGTHS] = {0};
    struct code code;
    const size_t s = used(symbols, SYMBOLS, FIRST_LENGTH), n = used(distances, DISTANCES, 1);
    memcpy(lengths, symbols->bits, s);
    memcpy(lengths + s, distances->bits, n);
    const size_t count = split_lengths(parts, lengths, s + n);
    for (size_t i = 0; i < count; i++)
        uses[parts[i].symbol]++;
    make_code(&code, uses, LENGTHS, LONGEST_LENGTHS_CODE);
    size_t last = LENGTHS;
    while (code.bits[order[last - 1]] == 0)
        last--;
    put(d, s - FIRST_LENGTH, 5);
    put(d, n - 1, 5);
    put(d, last - 4, 4); /* one of the lengths 0 to 8 is always among them */
    for (size_t i = 0; i < last; i++)
        put(d, code.bits[order[i]], 3);
    for (size_t i = 0; i < count; i++) {
        put_symbol(d, &code, parts[i].symbol);
        put(d, parts[i].value, parts[i].extra);
    }
}

static void put_block(struct gm_deflate *d, bool is_last)
{
    struct code symbols, distances;
    if (!make_room(d, MOST_HEADER_BYTES + d->token_count * MOST_TOKEN_BYTES))
        return;
    d->symbol_uses[END_OF_BLOCK] = 1;
    make_code(&symbols, d->symbol_uses, SYMBOLS, LONGEST_CODE);
    make_code(&distances, d->distance_uses, DISTANCES, LONGEST_CODE);
    put(d, is_last | 2U << 1, 3);
    put_codes(d, &symbols, &distances);
    for (size_t i = 0; i < d->token_count; i++) {
        const uint32_t token = d->tokens[i], length = token >> 16 & 0xff, distance = token & 0x7fff;
        if ((token & IS_COPY) == 0) {
            put_symbol(d, &symbols, token);
        } else {
            put_with_extra(d, &symbols, symbol_of_length(length), length);
            put_with_extra(d, &distances, symbol_of_distance(distance), distance);
        }
    }
    put_symbol(d, &symbols, END_OF_BLOCK);
    d->token_count = 0;
    memset(d->symbol_uses, 0, sizeof d->symbol_uses);
    memset(d->distance_uses, 0, sizeof d->distance_uses);
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

static inline void add_token(struct gm_deflate *d, uint32_t token)
{
    if (d->token_count == GM_DEFLATE_BLOCK)
        put_block(d, false);
    if (!d->failed)
        d->tokens[d->token_count++] = token;
}

static inline void add_literal(struct gm_deflate *d, uint8_t byte)
{
    add_token(d, byte);
    d->symbol_uses[byte]++;
}

static void add_copy(struct gm_deflate *d, size_t length, size_t distance)
{
    for (size_t piece; length > 0; length -= piece) {
        piece = length > LONGEST && length < LONGEST + SHORTEST ? length - SHORTEST : gm_min(length, LONGEST);
        const uint32_t l = (uint32_t)piece - SHORTEST, back = (uint32_t)distance - 1;
        add_token(d, IS_COPY | l << 16 | back);
        d->symbol_uses[symbol_of_length(l).symbol]++;
        d->distance_uses[symbol_of_distance(back).symbol]++;
    }
}

struct copy {
    size_t length, distance;
};

/* How many bytes are the same, of at most `most`. */
static inline size_t alike(const uint8_t *a, const uint8_t *b, size_t most)
{
    enum { WORD = sizeof(uint64_t), MANY = 256 };
    size_t n = 0;
    uint64_t x, y;
    while (n + WORD <= most && (memcpy(&x, a + n, WORD), memcpy(&y, b + n, WORD), x == y)) {
        n += WORD;
        while (n >= GOOD && n + MANY <= most && memcmp(a + n, b + n, MANY) == 0)
            n += MANY;
    }
    while (n < most && a[n] == b[n])
        n++;
    return n;
}

/* The places where four bytes like these were seen last, the last one first; now it is `i`. */
static inline void enter(struct gm_deflate *d, const uint8_t *bytes, size_t i, uint32_t seen[WAYS])
{
    uint32_t four;
    memcpy(&four, bytes + i, sizeof four);
    uint32_t *places = d->seen[four * UINT32_C(2654435761) >> (32 - GM_DEFLATE_HASH_BITS)];
    memcpy(seen, places, sizeof *d->seen);
    memmove(places + 1, places, sizeof *d->seen - sizeof *places);
    places[0] = (uint32_t)i + 1;
}

/* The longest copy for what stands at `i`; `length` 0: there is none. */
static inline struct copy find_copy(struct gm_deflate *d, const uint8_t *bytes, size_t row, size_t n, size_t i)
{
    const uint8_t *here = bytes + i;
    uint32_t seen[WAYS];
    struct copy copy = {0, 0};
    if (i >= row && row <= WINDOW)
        copy = (struct copy){alike(here, here - row, n - i), row};
    if (copy.length < GOOD && i > 0) {
        const size_t run = alike(here, here - 1, n - i);
        if (run > copy.length)
            copy = (struct copy){run, 1};
    }
    if (copy.length >= GOOD || n - i < HASHED)
        return copy;
    enter(d, bytes, i, seen);
    for (int w = 0; w < WAYS && seen[w] > 0 && i + 1 - seen[w] <= WINDOW; w++) {
        const size_t back = i + 1 - seen[w], length = alike(here, here - back, gm_min(n - i, LONGEST));
        if (length > copy.length + (w == 0) && length >= HASHED)
            copy = (struct copy){length, back};
    }
    return copy;
}

/* The tokens of bytes that repeat those a row before, or the byte before, or others that were seen. */
static void tokenize(struct gm_deflate *d, const uint8_t *bytes, size_t row, size_t n)
{
    uint32_t unused[WAYS];
    for (size_t i = 0; i < n;) {
        const struct copy copy = find_copy(d, bytes, row, n, i);
        if (copy.length < SHORTEST) {
            add_literal(d, bytes[i++]);
            continue;
        }
        add_copy(d, copy.length, copy.distance);
        const size_t end = i + copy.length;
        while (copy.length <= ENTERED && ++i < end && n - i >= HASHED)
            enter(d, bytes, i, unused);
        i = end;
    }
}

bool gm_deflate_rows(struct gm_deflate *d, const uint8_t *rows, size_t length, size_t height)
{
    const size_t n = length * height;
    d->length = d->token_count = d->bit_count = 0;
    d->bits = 0;
    d->failed = n >= UINT32_MAX;
    memset(d->seen, 0, sizeof d->seen);
    memset(d->symbol_uses, 0, sizeof d->symbol_uses);
    memset(d->distance_uses, 0, sizeof d->distance_uses);
    if (!make_room(d, MOST_HEADER_BYTES))
        return false;
    put(d, 0x0178, 16); /* deflate with a window of 32 KiB, made fast */
    tokenize(d, rows, length, n);
    put_block(d, true);
    if (!make_room(d, 2 * sizeof d->bits))
        return false;
    put(d, 0, -d->bit_count % 8); /* up to a whole byte */
    put(d, bswap_32(libdeflate_adler32(1, rows, n)), 32);
    for (; d->bit_count > 0; d->bit_count -= 8, d->bits >>= 8)
        d->out[d->length++] = (uint8_t)d->bits;
    return true;
}

void gm_deflate_free(struct gm_deflate *d)
{
    free(d->out);
    d->out = NULL;
    d->capacity = 0;
}
