/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeping what no column holds (analyze/snapshot/extras.h). While rows are made, a kept value is a reference of the
 * assembler; when loading ends, rows get the numbers that they have in the snapshot and values become loose
 * ones. All of this is off the hot path: a row that is nothing but columns costs two comparisons.
 */
#ifndef GM_FORMATS_KEEP_H
#define GM_FORMATS_KEEP_H

#include "analyze/formats/assemble_value.h"

/* The reference that stands for "the file has no such key". */
#define GM_KEPT_MISSING GM_REF(GM_KIND_CONSTANT, GM_MAX_ID)

/* Keeps the pairs of row `row` whose keys are not in `columns`, a mask of known keys. `row` must not be lower than in
 * the call before. false: no memory. */
bool gm_keep_row(struct gm_assembler *a, enum gm_row_kind kind, uint32_t row, uint64_t columns,
                 const struct gm_value *pairs, size_t count);
bool gm_keep(struct gm_assembler *a, enum gm_row_kind kind, uint32_t row, uint32_t key, uint32_t ref);

/* Frames are interned: those of equal name, file and line are one, with what the first of them had beside. */
bool gm_keep_frame(struct gm_assembler *a, uint32_t frame, bool is_new, uint64_t columns, const struct gm_value *pairs,
                   size_t count);

/* Learns the order of a row's keys. */
bool gm_keep_order_slow(struct gm_assembler *a, enum gm_order_kind kind, uint64_t present, const struct gm_value *pairs,
                        size_t count);
static inline size_t gm_order_slot(uint64_t present)
{
    return (size_t)(present * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}
static inline bool gm_keep_order(struct gm_assembler *a, enum gm_order_kind kind, uint64_t present,
                                 const struct gm_value *pairs, size_t count)
{
    return a->order_seen[kind][gm_order_slot(present)] == present || gm_keep_order_slow(a, kind, present, pairs, count);
}

/* Row i of the snapshot's table `to` is what row order[i] of the assembler's table `from` was: hands over what was kept
 * for it. GM_E_LIMIT if rows that are named again and again would multiply that. */
enum gm_status gm_keep_rows(struct gm_assembler *a, enum gm_row_kind from, enum gm_row_kind to, const uint32_t *order,
                            size_t count, struct gm_error *err);
/* For a list of segments with `blocks` blocks, both tables. */
enum gm_status gm_keep_segments(struct gm_assembler *a, const struct gm_node *list, bool is_host, size_t blocks,
                                struct gm_error *err);
/* For tables whose rows stayed where they were. false: no memory. */
bool gm_keep_all(struct gm_assembler *a, enum gm_row_kind kind);

/* For the outermost dictionary: what it has beside the tables, and the order of its keys. false: no memory. */
bool gm_keep_top(struct gm_assembler *a, const struct gm_node *root);

/* At last, all that was handed over becomes loose values. `settings` is a reference or GM_NO_REF. false: no memory. */
bool gm_keep_values(struct gm_assembler *a, uint32_t settings, struct gm_loose *settings_tree);

#endif
