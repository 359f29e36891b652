/* SPDX-License-Identifier: Apache-2.0
 *
 * A column of 64-bit numbers most of which are near each other: 4 bytes a row and not 8.
 *
 *   near[row], 32 bits   the number is base[row / GM_NEAR_ROWS] + (near << shift);
 *                        with the highest bit set it is far[the other bits], and far[0] is the absent number
 *
 * Times have a range of 35 minutes around the first of 4096 rows, addresses (multiples of 512) one of 1 TiB, sizes
 * one of 2 GiB; whatever else a file says is far, at 8 bytes more. Whoever has all numbers in an array shows them as
 * `plain`.
 */
#pragma once

#include "analyze/base/vec.h"

#define GM_FAR_NUMBER (UINT32_C(1) << 31)
enum { GM_NEAR_ROWS = 4096 };

/* Read it with gm_number_at. All zero: there is no such column. */
struct gm_number_column {
    const uint64_t *plain; /* NULL: it is packed */
    const uint32_t *near;
    const uint64_t *base, *far;
    unsigned shift;
};

static inline uint64_t gm_number_at(const struct gm_number_column *column, size_t row)
{
    if (column->plain != NULL)
        return column->plain[row];
    const uint32_t near = column->near[row];
    return (near & GM_FAR_NUMBER) != 0 ? column->far[near & ~GM_FAR_NUMBER]
                                       : column->base[row / GM_NEAR_ROWS] + ((uint64_t)near << column->shift);
}

/* What numbers of a column are like. */
struct gm_number_kind {
    unsigned shift;  /* multiples of 1 << shift are near */
    bool has_places; /* they are near each other, and not near zero */
    uint64_t absent; /* the one that is written often and means nothing */
};

/* The column while it is filled. Zero-initialise. */
struct gm_number_builder {
    uint32_t *near; /* as many rows as its owner made room for */
    struct GM_VEC(uint64_t) base;
    struct GM_VEC(uint64_t) far;
};

/* For the rows from one that is a multiple of GM_NEAR_ROWS on; `value` is the first of them. false: no memory. */
bool gm_number_begin(struct gm_number_builder *b, struct gm_number_kind kind, uint64_t value);
bool gm_number_put_far(struct gm_number_builder *b, struct gm_number_kind kind, size_t row, uint64_t value);

/* Puts the number of `row`, which has one already, or is the next. One far from others that is replaced keeps its place
 * in `far`. false: no memory. */
static inline bool gm_number_put(struct gm_number_builder *b, struct gm_number_kind kind, size_t row, uint64_t value)
{
    if (row / GM_NEAR_ROWS == b->base.n && !gm_number_begin(b, kind, value))
        return false;
    const uint64_t above = value - b->base.v[row / GM_NEAR_ROWS], near = above >> kind.shift;
    if (near >= GM_FAR_NUMBER || near << kind.shift != above)
        return gm_number_put_far(b, kind, row, value);
    b->near[row] = (uint32_t)near;
    return true;
}

static inline struct gm_number_column gm_numbers_of(const struct gm_number_builder *b, struct gm_number_kind kind)
{
    return (struct gm_number_column){.near = b->near, .base = b->base.v, .far = b->far.v, .shift = kind.shift};
}

/* Makes *to, which is zero-initialised, the same column of so many rows. false: no memory. */
bool gm_number_copy(struct gm_number_builder *to, const struct gm_number_builder *from, size_t rows);

/* Bytes of memory that it holds, with room for so many rows. */
uint64_t gm_number_bytes(const struct gm_number_builder *b, size_t rows);
void gm_number_free(struct gm_number_builder *b);
