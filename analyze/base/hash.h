/* SPDX-License-Identifier: Apache-2.0
 *
 * Hashes that a file cannot be written against: SipHash (Aumasson and Bernstein, "SipHash: a fast short-input PRF",
 * 2012) with a key that is drawn once per process. Without the key nobody can choose bytes that collide more often than
 * chance, so tables stay as fast as on innocent files. The order of such tables differs from run to run: it must never
 * reach a result.
 */
#ifndef GM_BASE_HASH_H
#define GM_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct gm_hash_key {
    uint64_t k0, k1;
};

/* The key of this process; the same for all threads. */
struct gm_hash_key gm_hash_key(void);

/* SipHash-2-4 and SipHash-1-3: two and four, or one and three rounds. Tables take the latter, as most languages' do. */
uint64_t gm_siphash_2_4(struct gm_hash_key key, const void *bytes, size_t n);
uint64_t gm_siphash_1_3(struct gm_hash_key key, const void *bytes, size_t n);

static inline uint64_t gm_hash_bytes(const void *bytes, size_t n)
{
    return gm_siphash_1_3(gm_hash_key(), bytes, n);
}

/* Of one number, many times faster: simple tabulation (each byte of x picks a random word, which are xored). It is
 * 3-independent, and linear probing with it takes expected constant time for any set of keys chosen without knowledge
 * of the table (Patrascu and Thorup, "The power of simple tabulation hashing", 2012). Tables are filled from the key.
 */
struct gm_tabulation {
    uint32_t word[8][256];
};
const struct gm_tabulation *gm_hash_tabulation(void);

static inline uint32_t gm_hash_number(const struct gm_tabulation *t, uint64_t x)
{
    uint32_t h = 0;
    for (int i = 0; i < 8; i++)
        h ^= t->word[i][x >> 8 * i & 0xFF];
    return h;
}

#endif
