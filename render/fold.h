/* SPDX-License-Identifier: Apache-2.0
 *
 * Categories as charts show them: the large ones by name, several small ones together as "Other (n)".
 */
#pragma once

#include "analyze/report/report.h"
#include "render/page.h"

enum { GM_FOLD_ROWS = 20 };
extern const struct gm_fill gm_folded_fill; /* of what stands for several categories */

struct gm_folded {
    struct gm_piece parts[GM_FOLD_ROWS]; /* largest first; the folded one, if any, last. No part is 0 */
    uint64_t blocks[GM_FOLD_ROWS];
    size_t n;
    size_t folded_from; /* the slices from this one on are in the last part, if is_folded */
    size_t folded;      /* how many categories the last part stands for; 0: it is one of its own */
    uint64_t bytes;     /* of all slices */
};

/* Folds what is less than GM_FOLD_PERMILLE of the sum, or would make more than `rows` (at most GM_FOLD_ROWS) parts.
 * One category alone is never folded. */
enum { GM_FOLD_PERMILLE = 5 };
struct gm_folded gm_fold_categories(struct gm_display *display, const struct gm_slice *slices, size_t count,
                                    size_t rows);
/* The same parts, in the same order and colours, for the categories of one device. Parts may be 0. */
void gm_fold_like(const struct gm_folded *model, const struct gm_slice *slices, size_t count,
                  struct gm_piece out[GM_FOLD_ROWS]);
/* "Other (3): Loss, Input, KV cache", cut to the page's width, and that it is not the category
 * called Other; nothing if nothing was folded. `slices`: the ones that were folded. */
void gm_fold_note(struct gm_page *page, const struct gm_slice *slices, const struct gm_folded *f);
