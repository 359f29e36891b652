/* SPDX-License-Identifier: Apache-2.0
 *
 * What a file says and no column holds: keys that we do not know or do not analyse, fields of an odd type, and in which
 * order the keys stand. Nothing here is analysed; it is kept so that a snapshot can be written as it was read
 * (replay/write). Files that PyTorch writes have next to none of it.
 */
#ifndef GM_MODEL_EXTRAS_H
#define GM_MODEL_EXTRAS_H

#include "analyze/base/bisect.h"

#include <stddef.h>
#include <stdint.h>

/* The tables that rows belong to. GM_ROW_TOP is the outermost dictionary, which has one row. */
enum gm_row_kind {
    GM_ROW_TOP,
    GM_ROW_SEGMENT,
    GM_ROW_BLOCK,
    GM_ROW_HOST_SEGMENT,
    GM_ROW_HOST_BLOCK,
    GM_ROW_EVENT,
    GM_ROW_FRAME,
    GM_ROW_ANNOTATION,
    GM_ROW_KIND_COUNT
};

/* A value of any shape. */
enum gm_loose_type {
    GM_LOOSE_MISSING, /* the file has no such key, although a column has a value for it */
    GM_LOOSE_NONE,
    GM_LOOSE_FALSE,
    GM_LOOSE_TRUE,
    GM_LOOSE_POSITIVE, /* bits: the number, 0 and up */
    GM_LOOSE_NEGATIVE, /* bits: two's complement */
    GM_LOOSE_REAL,     /* bits: those of the double */
    GM_LOOSE_STRING,   /* bits: gm_string_id */
    GM_LOOSE_POOL,     /* bits: gm_pool_id, a pair of integers */
    GM_LOOSE_FRAME,    /* bits: gm_frame_id */
    GM_LOOSE_STACK,    /* bits: gm_stack_id */
    GM_LOOSE_LIST,     /* `count` values from loose[bits] on */
    GM_LOOSE_DICT      /* likewise, keys and values in turn. Equal `bits` of two containers: one shared object */
};
struct gm_loose {
    uint8_t type; /* enum gm_loose_type */
    uint32_t count;
    uint64_t bits;
};

/* "Row `row` has, for `key`, this value", whatever the columns say. */
struct gm_extra {
    uint32_t row; /* frames: the gm_frame_id */
    uint32_t key; /* gm_string_id */
    struct gm_loose value;
};
struct gm_extras {
    const struct gm_extra *v; /* by row, then as in the file */
    size_t count;
};

/* One order of the keys of a kind of row that fits (nearly) all rows of the file; count 0: not known. Segments and
 * blocks with a stack that is not empty have an order of their own, since PyTorch adds those last; so do events with
 * the key `frames`. */
struct gm_key_order {
    const uint32_t *keys; /* gm_string_id */
    size_t count;
};
enum gm_order_kind {
    GM_ORDER_TOP,
    GM_ORDER_SEGMENT,
    GM_ORDER_SEGMENT_WITH_FRAMES,
    GM_ORDER_BLOCK,
    GM_ORDER_BLOCK_WITH_FRAMES,
    GM_ORDER_EVENT,
    GM_ORDER_EVENT_WITH_FRAMES,
    GM_ORDER_FRAME,
    GM_ORDER_ANNOTATION,
    GM_ORDER_COUNT
};

/* The extras of one row: extras->v[from ... from + result). */
static inline size_t gm_extras_of(const struct gm_extras *extras, uint32_t row, size_t *from)
{
    size_t first = 0;
    GM_BISECT(first, extras->count, i, extras->v[i].row < row);
    size_t end = *from = first;
    while (end < extras->count && extras->v[end].row == row)
        end++;
    return end - first;
}

#endif
