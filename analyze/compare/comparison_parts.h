/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/compare: the parts of a comparison. Each returns false if there is no memory.
 */
#pragma once

#include "analyze/base/arithmetic.h"
#include "analyze/compare/compare.h"

/* Running sums of differences, exact whatever the inputs. */
struct gm_diff_tally {
    gm_i128 listed, deltas[GM_DIFF_KINDS];
};

/* Whether it changed; then kind and delta are set. An absent amount is {0, 0}. */
bool gm_diff_row_changed(struct gm_diff_row *row, bool in_base, bool in_after);
void gm_diff_count(struct gm_diff_sums *sums, struct gm_diff_tally *tally, const struct gm_diff_row *row);
void gm_diff_finish(struct gm_diff_sums *sums, const struct gm_diff_tally *tally, uint64_t base_total,
                    uint64_t after_total);
/* Largest change first, then by name. */
int gm_diff_row_order(const struct gm_diff_row *a, const struct gm_diff_row *b);

/* Sorted by name, equal names added up; returns how many are left. */
size_t gm_slices_merge(struct gm_slice *v, size_t count);

/* Both lists are sorted by name and have no name twice. A list that is NULL is not known, and so is the table. */
bool gm_compare_by_name(struct gm_comparison *c, struct gm_diff_table *out, const struct gm_slices *base,
                        const struct gm_slices *after, uint64_t base_total, uint64_t after_total);
bool gm_compare_tables(struct gm_comparison *c, struct gm_diff_pair *pair);
bool gm_compare_sites(struct gm_comparison *c, struct gm_diff_pair *pair);
bool gm_compare_facts(struct gm_comparison *c, struct gm_diff_pair *pair);
bool gm_compare_devices(struct gm_comparison *c, struct gm_diff_pair *pair);
bool gm_compare_flame(struct gm_comparison *c, struct gm_diff_pair *pair);
bool gm_compare_timeline(struct gm_comparison *c);
bool gm_compare_series(struct gm_comparison *c);
bool gm_compare_growth(struct gm_comparison *c);

/* Series of runs (series.c) and the laws that they follow (law_fit.c). */

/* A claim needs three different numbers at least, one more than the law has coefficients, and may miss no value by more
 * than GM_FIT_MOST percent of the spread of the values. */
#define GM_FIT_MOST 1.0
/* Both terms without a constant look much like both terms with a small one: they may miss less. */
#define GM_FIT_BARE 0.1
/* Values whose spread is at most so many percent of their mean do not depend on the number. */
#define GM_FIT_FLAT 0.5

/* Sets series->fits. false: no memory. */
bool gm_series_fit(struct gm_comparison *c, struct gm_series *series);

/* The law of one set of values: fit->bytes[count] of the numbers n[count], ascending. */
void gm_fit_law(struct gm_law_fit *fit, const double *n, size_t count);
