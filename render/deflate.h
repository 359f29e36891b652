/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a picture as a zlib stream (RFC 1950, RFC 1951). Charts are runs and rows that are like the one above: these
 * two are looked for first, and are skipped as fast as memory is compared. A compressor for anything enters each byte
 * that it skips into its tables: that is two and a half times as much work for 2 % fewer bytes (libdeflate, level 3).
 */
#ifndef GM_RENDER_DEFLATE_H
#define GM_RENDER_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GM_DEFLATE_HASH_BITS = 12,
    GM_DEFLATE_WAYS = 3,        /* places that are known for a hash */
    GM_DEFLATE_BLOCK = 1 << 15, /* tokens with the same two codes */
    GM_DEFLATE_SYMBOLS = 286,   /* literals, the end of a block, lengths */
    GM_DEFLATE_DISTANCES = 30
};

/* Zero-initialise; can be used for one picture after the other. */
struct gm_deflate {
    uint8_t *out; /* the stream so far; free it with gm_deflate_free */
    size_t length, capacity;
    bool failed; /* out of memory */

    /* private */
    uint64_t bits; /* of them the lowest bit_count are to be written */
    unsigned bit_count;
    uint32_t seen[1 << GM_DEFLATE_HASH_BITS]
                 [GM_DEFLATE_WAYS];    /* where four bytes with that hash were, and 1; 0: none */
    uint32_t tokens[GM_DEFLATE_BLOCK]; /* literals; what is copied has IS_COPY */
    size_t token_count;
    uint32_t symbol_uses[GM_DEFLATE_SYMBOLS], distance_uses[GM_DEFLATE_DISTANCES];
};

/* Compresses `height` rows of `length` bytes, which follow each other, into d->out: d->length bytes. false: no memory.
 */
bool gm_deflate_rows(struct gm_deflate *d, const uint8_t *rows, size_t length, size_t height);
void gm_deflate_free(struct gm_deflate *d);

#endif
