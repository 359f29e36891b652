/* SPDX-License-Identifier: Apache-2.0
 *
 * What memory is filled with: words that hang on the allocation's key and on the place in it, so that neither another
 * allocation's bytes nor the same ones moved elsewhere pass for them. Every word is also a float of magnitude 0.5 to 2
 * (25 bits vary), so that kernels that compute with it stay far from overflow and NaN.
 *
 * 16 bytes share one hash (the finaliser of MurmurHash3, a bijection of 32 bits): about four instructions a word, less
 * than the memory takes.
 */
#pragma once

#include <stdint.h>

#ifdef __CUDACC__
#define GM_ON_BOTH __host__ __device__ static inline
#else
#define GM_ON_BOTH static inline
#endif

struct gm_pattern {
    uint32_t first, second; /* of the key, mixed */
};

GM_ON_BOTH uint32_t gm_mix32(uint32_t x)
{
    x ^= x >> 16;
    x *= UINT32_C(0x85ebca6b);
    x ^= x >> 13;
    x *= UINT32_C(0xc2b2ae35);
    return x ^ x >> 16;
}

GM_ON_BOTH struct gm_pattern gm_pattern_of(uint64_t key)
{
    key += UINT64_C(0x9e3779b97f4a7c15);
    key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
    key ^= key >> 31;
    struct gm_pattern pattern = {(uint32_t)key, (uint32_t)(key >> 32)};
    return pattern;
}

/* The hash of the 16 bytes from offset 16 * index on, and of them word 0 to 3. */
GM_ON_BOTH uint32_t gm_pattern_hash(struct gm_pattern pattern, uint64_t index)
{
    uint32_t low = (uint32_t)index, high = (uint32_t)(index >> 32);
    return gm_mix32((low ^ pattern.first) + high * UINT32_C(0x9e3779b9)) ^ pattern.second;
}
GM_ON_BOTH uint32_t gm_pattern_word(uint32_t hash, unsigned word)
{
    uint32_t factor = word == 0   ? UINT32_C(0x9e3779b1)
                      : word == 1 ? UINT32_C(0x85ebca77)
                      : word == 2 ? UINT32_C(0xc2b2ae3d)
                                  : UINT32_C(0x27d4eb2f);
    return ((hash * factor + factor) & UINT32_C(0x80ffffff)) | UINT32_C(0x3f000000);
}

/* The row of a table of `rows` that row `row` of the block gathers. */
GM_ON_BOTH uint64_t gm_gathered_row(struct gm_pattern pattern, uint64_t row, uint64_t rows)
{
    return (((uint64_t)gm_pattern_hash(pattern, row) << 32) | gm_mix32((uint32_t)row + pattern.first)) % rows;
}
