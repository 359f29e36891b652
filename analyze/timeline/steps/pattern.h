/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the step code: who makes a run grow.
 */
#ifndef GM_TIMELINE_PATTERN_H
#define GM_TIMELINE_PATTERN_H

#include "analyze/timeline/steps/step_work.h"

/* Fills out->steps.survivors, of the spans [first, last]. */
bool gm_pattern_survivors(struct gm_step_work *w, size_t first, size_t last);
/* The call site that holds most bytes more at moment `after` than at `before`; NULL if none does. */
bool gm_pattern_gained(struct gm_step_work *w, uint32_t before, uint32_t after, const struct gm_group_row **row);

#endif
