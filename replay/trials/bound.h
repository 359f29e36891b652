/* SPDX-License-Identifier: Apache-2.0
 *
 * What no allocator can do without, and how near an offline plan comes to it. Block bytes here are requests rounded up
 * to multiples of 512, the least that any settings make of them.
 *
 *   live    peak of the sum of blocks whose free was not requested yet. No replay runs with less.
 *   active  the same until the free is completed: other streams may still use them. What is planned.
 *   plan    a plan made with knowledge of the future: every block has one offset for all its life, and blocks that
 *           live at the same time do not overlap. Its height is an upper bound of what the best plan needs, `active` a
 *           lower bound.
 *   separate_...  the same if streams, pools, and small (up to 1 MiB) and large blocks may not share memory: each one
 *           has its own; sums.
 *
 * The plan is the greedy one by size: larger blocks first, each into the smallest gap that has room beside those that
 * live at the same time, else on top (Y. Pisarchyk, J. Lee: Efficient Memory Management for Deep Neural Net Inference,
 * arXiv:2001.03288, 2020). Blocks that live all the time lie at the bottom. Its work is bounded (GM_PLAN_STEPS); beyond
 * it the plan is a quick one: in order of birth.
 */
#pragma once

#include "analyze/allocator/rounding.h"
#include "replay/trials/trial.h"

#define GM_PLAN_STEPS (UINT64_C(1) << 25) /* pairs of blocks that live at the same time that are looked at */

struct gm_bounds {
    uint64_t recorded_reserved; /* gm_bound_recorded */
    bool is_known;              /* false: sizes that no device has; nothing of the rest is known then */
    uint64_t live, active, separate;
    uint64_t plan, separate_plan;
    bool is_quick, is_separate_quick; /* GM_PLAN_STEPS were not enough for the plan, or for one of the separate ones */
};

/* GM_E_NOMEM. */
enum gm_status gm_bounds_find(struct gm_bounds *bounds, const struct gm_search_device *device, struct gm_error *err);

/* Peak of the blocks' bytes under `rules`: `live`, or with `until_completed` `active`. No replay with these rules runs
 * with less than the live ones. 0: not known, the sizes add up to 2^62 and more. */
enum gm_status gm_bound_live(uint64_t *bytes, const struct gm_search_device *device, const struct gm_rules *rules,
                             bool until_completed, struct gm_error *err);
/* A request that the recording refused, and after it not half as much was asked for, all together, as was in use: the
 * program, or the step of it, ended there, and who catches the error or saves a checkpoint asks for little. To get any
 * further it needs at least the blocks that were not freed then, and that request. */
struct gm_refused {
    uint64_t size;                    /* rounded, by the recorded settings */
    uint64_t in_use;                  /* blocks, in multiples of 512: the least that any settings make of them */
    struct gm_whatif_refused request; /* its size here: what any settings make of it */
    uint64_t needs;                   /* both */
    uint32_t like; /* the last allocation that the same stack made: a change of it is one of the request; GM_NEVER */
};
/* `recorded`: the rules that `size` was rounded by. false: there is none, or its sizes are no device's. */
bool gm_bound_refused(struct gm_refused *refused, struct gm_history *h, const struct gm_rules *recorded);
/* Peak of segment bytes as the contract defines it: segments and pages of the trace on top of those before it. */
uint64_t gm_bound_recorded(const struct gm_history *h);

/* What the recording's allocator could have of its device, as far as the trace shows that it was too little: an oom
 * says what the device had left; and what was reserved, with a growth that memory went back for, was too much. */
struct gm_recorded_limit {
    uint64_t bytes;    /* never below the recorded peak; GM_ABSENT: nothing was refused */
    bool is_exact;     /* else it had less than a byte more than this, */
    uint32_t event;    /* by this one, */
    uint64_t reserved; /* when so much was reserved ... */
    uint64_t left;     /* ... and so much left (exact), or so much more was too much */
};
/* `recorded`: the settings. false: no memory. */
bool gm_bound_limit(struct gm_recorded_limit *limit, const struct gm_history *h, const struct gm_conf *recorded);
