/* SPDX-License-Identifier: Apache-2.0
 *
 * Hashes that a file cannot be written against: SipHash (Aumasson and Bernstein, "SipHash: a fast short-input PRF",
 * 2012) with a key that is drawn once per process. Without the key nobody can choose bytes that collide more often than
 * chance, so tables stay as fast as on innocent files. The order of such tables differs from run to run: it must never
 * reach a result.
 */
#pragma once

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

/* The halves of a product, xored. */
static inline uint64_t gm_hash_fold(uint64_t x, uint64_t y)
{
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)x * y;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Of one number, many times faster: multiplied by both halves of the key, one after the other. (After one alone numbers
 * of equal distances crowd together under one key in some hundreds.) */
static inline uint32_t gm_hash_number(struct gm_hash_key key, uint64_t x)
{
    return (uint32_t)gm_hash_fold(gm_hash_fold(x ^ key.k0, key.k1 | 1), key.k0 | 1);
}
