/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/compare: series of runs (series.c) and the laws that they follow (law_fit.c).
 */
#ifndef GM_COMPARE_SERIES_H
#define GM_COMPARE_SERIES_H

#include "analyze/compare/comparison_parts.h"

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
void gm_fit_law(struct gm_fit *fit, const double *n, size_t count);

#endif
