/* SPDX-License-Identifier: Apache-2.0
 *
 * A row as a dictionary. Which keys it has the columns tell (what is absent is not written) and the extras, which
 * overrule them.
 */
#ifndef GM_WRITE_ROW_H
#define GM_WRITE_ROW_H

#include "replay/write/snapshot_writer.h"

/* Writes key and value of a field, or nothing if the row does not have it. */
typedef void gm_put_field(struct gm_writer *w, const void *table, enum gm_put_word field, size_t row);

void gm_put_row_with_extras(struct gm_writer *w, const struct gm_put_order *order, gm_put_field *put, const void *table,
                            size_t row, const struct gm_extra *extras, size_t count);

/* What stands between the braces. Inlined with its `put`, which runs some hundred million times for a large trace. */
__attribute__((always_inline)) static inline void gm_put_pairs(struct gm_writer *w, enum gm_order_kind kind,
                                                               gm_put_field *put, const void *table, size_t row,
                                                               const struct gm_extra *extras, size_t count)
{
    const struct gm_put_order *order = &w->orders[kind];
    gm_pickle_op(&w->p, GM_PUT_MARK);
    if (count == 0) {
        for (size_t i = 0; i < order->count; i++)
            put(w, table, (enum gm_put_word)order->keys[i].field, row);
    } else {
        gm_put_row_with_extras(w, order, put, table, row, extras, count);
    }
    gm_pickle_op(&w->p, GM_PUT_SETITEMS);
}

/* Rows are written in order, so their extras are met in order. */
struct gm_extras_cursor {
    const struct gm_extras *extras;
    size_t at;
};
struct gm_extras_cursor gm_extras_from(const struct gm_extras *extras, size_t row);
/* The extras of `row`, which must not be lower than in the call before: how many, and the first of them. */
size_t gm_extras_next(struct gm_extras_cursor *c, size_t row, const struct gm_extra **first);

#endif
