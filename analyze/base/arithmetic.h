/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums and roundings of numbers that a file states: they stop at the largest number instead of wrapping, but for those
 * that say so.
 */
#pragma once

#include <stdint.h>

static inline uint64_t gm_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t gm_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* a + b, at most UINT64_MAX. */
static inline uint64_t gm_sat_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* a + b, at most UINT64_MAX - 1: never what stands for "not known". */
static inline uint64_t gm_known_add(uint64_t a, uint64_t b)
{
    return gm_min(gm_sat_add(a, b), UINT64_MAX - 1);
}

/* a * b, likewise. */
static inline uint64_t gm_known_mul(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX - 1 : gm_min(product, UINT64_MAX - 1);
}

/* a - b, at least 0. */
static inline uint64_t gm_sat_sub(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* How far apart two numbers are. */
static inline uint64_t gm_gap(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* a + b and a - b, wrapping. */
static inline int64_t gm_wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
static inline int64_t gm_wrap_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* How far a number is from 0. */
static inline uint64_t gm_magnitude(int64_t a)
{
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

/* a - b between -INT64_MAX and INT64_MAX. */
static inline int64_t gm_signed_gap(uint64_t a, uint64_t b)
{
    const int64_t size = (int64_t)gm_min(gm_gap(a, b), INT64_MAX);
    return a >= b ? size : -size;
}

/* a + b between -INT64_MAX and INT64_MAX. */
static inline int64_t gm_signed_add(int64_t a, int64_t b)
{
    if (b > 0)
        return a > INT64_MAX - b ? INT64_MAX : a + b;
    return a < -INT64_MAX - b ? -INT64_MAX : a + b;
}

/* A sum that may pass 64 bits on its way, and what fits of it: from 0 to UINT64_MAX - 1; from -INT64_MAX to INT64_MAX.
 */
__extension__ typedef __int128 gm_i128;

static inline uint64_t gm_clamp(gm_i128 v)
{
    return v < 0 ? 0 : v >= UINT64_MAX ? UINT64_MAX - 1 : (uint64_t)v;
}

static inline int64_t gm_clamp_signed(gm_i128 v)
{
    return v > INT64_MAX ? INT64_MAX : v < -INT64_MAX ? -INT64_MAX : (int64_t)v;
}

/* The least multiple of `unit` that is not less than n; if that is too large a number, the largest multiple. */
static inline uint64_t gm_round_up(uint64_t n, uint64_t unit)
{
    const uint64_t rest = n % unit;
    return rest == 0 || n - rest > UINT64_MAX - unit ? n - rest : n - rest + unit;
}

/* Bytes of the multiples of `unit` that lie in [from, to) as a whole. */
static inline uint64_t gm_whole_units(uint64_t from, uint64_t to, uint64_t unit)
{
    const uint64_t first = from / unit + (from % unit != 0), end = to / unit;
    return end > first ? (end - first) * unit : 0;
}
