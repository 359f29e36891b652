/* SPDX-License-Identifier: Apache-2.0
 *
 * Amounts per category as rows of the report.
 */
#ifndef GM_STATE_SLICES_H
#define GM_STATE_SLICES_H

#include "analyze/report/report.h"
#include "analyze/state/categories.h"

/* amounts[gm_category_count(rules)] as slices in `arena`, empty categories left out, most bytes first, ties by name.
 * NULL if there is no memory. */
const struct gm_slice *gm_slices_make(struct gm_arena *arena, const struct gm_category_rules *rules,
                                      const struct gm_amount *amounts, size_t *slice_count);

#endif
