/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders for qsort, said as what they are: by which fields, up or down.
 *
 *     GM_ORDERING(by_size, struct row, GM_DOWN(bytes) || GM_UP(address) || GM_BY(strcmp(a->name, b->name)));
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>

/* -1, 0 or 1. */
#define GM_ORDER(x, y) (((x) > (y)) - ((x) < (y)))

/* The keys: a later one counts where all before it are equal. `a` and `b` are what is compared. */
#define GM_UP(field) ((order = GM_ORDER(a->field, b->field)) != 0)
#define GM_DOWN(field) ((order = GM_ORDER(b->field, a->field)) != 0)
#define GM_BY(comparison) ((order = (comparison)) != 0) /* any that is negative, 0 or positive */

/* Defines the static function `name` for arrays of `type`, and for arrays of pointers to it. */
#define GM_ORDERING(name, type, keys) GM_ORDERING_FROM(name, type, left, right, keys)
#define GM_ORDERING_OF_POINTERS(name, type, keys)                                                                      \
    GM_ORDERING_FROM(name, type, *(const type *const *)left, *(const type *const *)right, keys)
#define GM_ORDERING_FROM(name, type, first, second, keys)                                                              \
    static int name(const void *left, const void *right)                                                               \
    {                                                                                                                  \
        const type *a = first, *b = second;                                                                            \
        int order = 0;                                                                                                 \
        (void)(keys);                                                                                                  \
        return order;                                                                                                  \
    }                                                                                                                  \
    _Static_assert(1, "takes the semicolon")

/* Sorts v[0..n), which may be NULL if nothing is in it. */
#define GM_SORT(v, n, by) ((n) > 1 ? qsort((v), (n), sizeof *(v), (by)) : (void)0)

/* Of numbers, ascending. */
static inline int gm_by_real(const void *left, const void *right)
{
    return GM_ORDER(*(const double *)left, *(const double *)right);
}
static inline int gm_by_number(const void *left, const void *right)
{
    return GM_ORDER(*(const uint64_t *)left, *(const uint64_t *)right);
}
