/* SPDX-License-Identifier: Apache-2.0
 *
 * Which row a dictionary is, by its keys, and how its fields become columns.
 */
#ifndef GM_FORMATS_ASSEMBLE_ROW_H
#define GM_FORMATS_ASSEMBLE_ROW_H

#include "analyze/formats/assemble_value.h"

/* Makes a row of the dictionary of `count` pairs (complete values, key and value in turn) and sets *row to its
 * reference; leaves *row alone if the keys fit no row. */
enum gm_status gm_assembler_make_row(struct gm_assembler *a, const struct gm_value *pairs, size_t count, uint32_t *row,
                                     uint64_t offset, struct gm_error *err);

/* The id of a pool, remembering the last one. */
struct gm_pool_id gm_assembler_pool(struct gm_assembler *a, struct gm_pool_key key);

#endif
