/* SPDX-License-Identifier: Apache-2.0
 *
 * A recorded step played again and again: which step that is, and which blocks take the place of which.
 *
 * A turn allocates and frees as the step did. A block that the step freed but had not allocated came from before it; in
 * a turn its place is taken by a block that the turn before (at first: the recorded step) left alive. They correspond
 * if stack, requested bytes, stream and pool are equal; of those left over, if they come from the same place of the
 * program (stack, stream, pool) with other sizes; then, if nobody knows the stack of the freed one, by bytes, stream
 * and pool. Among equals the oldest corresponds to the oldest. A block whose free was requested, but not completed,
 * when the step began or ended corresponds only to such a block. What is left alive without a counterpart piles up; a
 * free without one is not repeated.
 */
#ifndef GM_REPLAY_REPEAT_H
#define GM_REPLAY_REPEAT_H

#include "analyze/base/vec.h"
#include "analyze/timeline/history/history.h"
#include "analyze/timeline/timeline.h"

/* At the end of a turn, `from` names a block; in the next turn `to` is that block. Both are allocations. */
struct gm_repeat_carry {
    uint32_t from, to;
};
struct gm_repeat {
    uint32_t first, end;                           /* events [first, end) */
    struct GM_VEC(struct gm_repeat_carry) carries; /* each `from` and each `to` once */
    struct GM_VEC(uint32_t) kept;                  /* allocations that each turn leaves alive for good, oldest first */
    uint64_t kept_bytes;                           /* requested, per turn; saturated */
    uint64_t unmatched, unmatched_bytes;           /* frees that are not repeated; saturated */
};

/* The step to repeat: the last one that is complete; SIZE_MAX: there is none. */
size_t gm_repeat_step(const struct gm_kept_step *steps, size_t count);

/* false: no memory. gm_repeat_free in any case. */
bool gm_repeat_plan(struct gm_repeat *repeat, const struct gm_history *h, uint32_t first, uint32_t end);
void gm_repeat_free(struct gm_repeat *repeat);

#endif
