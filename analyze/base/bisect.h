/* SPDX-License-Identifier: Apache-2.0
 *
 * Binary search in rows that are sorted: lower and upper bounds.
 */
#pragma once

#include <stddef.h>

/* Moves `low`, a size_t, up to the first index below `end` for which `is_before` is false, or to `end`. `is_before` is
 * an expression of the index `i`, true up to some index and false from there on: `v[i].key < key` gives the lower
 * bound, `v[i].key <= key` the upper one. */
#define GM_BISECT(low, end, i, is_before)                                                                              \
    do {                                                                                                               \
        for (size_t end_ = (end); (low) < end_;) {                                                                     \
            const size_t i = (low) + (end_ - (low)) / 2;                                                               \
            if (is_before)                                                                                             \
                (low) = i + 1;                                                                                         \
            else                                                                                                       \
                end_ = i;                                                                                              \
        }                                                                                                              \
    } while (0)
