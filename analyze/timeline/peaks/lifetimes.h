/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline: how long what is live at the peak has lived and will live, in a few classes
 * (docs/peaks.md).
 */
#ifndef GM_TIMELINE_LIFETIMES_H
#define GM_TIMELINE_LIFETIMES_H

#include "analyze/timeline/trace_pass.h"

enum gm_lifetime {
    GM_LIFETIME_ALWAYS, /* before the trace, never freed */
    GM_LIFETIME_OLD,    /* before the trace, freed in it */
    GM_LIFETIME_KEPT,   /* made in the trace, never freed */
    /* Made and freed in the trace: */
    GM_LIFETIME_TEMPORARY,     /* freed at most GM_TEMPORARY_EVENTS after it was made */
    GM_LIFETIME_ONE_STEP,      /* inside the step of the peak */
    GM_LIFETIME_SEVERAL_STEPS, /* not inside it */
    GM_LIFETIME_IN_TRACE,      /* one of these two: the peak is in no known step */
    GM_LIFETIME_COUNT
};
enum { GM_TEMPORARY_EVENTS = 32 };

/* The step of the peak, or NULL. */
const struct gm_step_row *gm_lifetime_step(const struct gm_trace_pass *pass);
enum gm_lifetime gm_lifetime_of(const struct gm_history *h, const struct gm_step_row *step, size_t allocation);
/* amounts as slices, empty ones left out, most bytes first, ties by name. NULL: no memory. */
const struct gm_slice *gm_lifetime_slices(struct gm_arena *arena, const struct gm_amount amounts[GM_LIFETIME_COUNT],
                                          size_t *slice_count);

#endif
