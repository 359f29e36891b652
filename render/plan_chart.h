/* SPDX-License-Identifier: Apache-2.0
 *
 * The picture of a plan: how much is reserved at the peak as recorded, and after each fix that is added, against what a
 * card has: the model of GM_CHART_PLAN.
 */
#ifndef GM_RENDER_PLAN_CHART_H
#define GM_RENDER_PLAN_CHART_H

#include <stddef.h>
#include <stdint.h>

struct gm_plan_step {
    const char *name, *price; /* price: NULL: none */
    uint64_t peak;            /* reserved, bytes */
};
struct gm_plan_picture {
    const char *title, *trace, *verdict; /* verdict: a sentence */
    uint64_t usable, capacity;           /* of the card; of that, what may be used */
    const struct gm_plan_step *steps;    /* the first is the recording */
    size_t count;                        /* 0: no plan was made, as the verdict says */
};

#endif
