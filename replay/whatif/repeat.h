/* SPDX-License-Identifier: Apache-2.0
 *
 * A recorded step played again and again: which step that is, and which blocks take the place of which.
 *
 * A turn allocates and frees as the step did. A block that the step freed but had not allocated came from before it; in
 * a turn its place is taken by a block that the turn before (at first: the recorded step) left alive. They correspond
 * if stack, requested bytes, stream and pool are equal; of those left over, if they come from the same place of the
 * program (stack, stream, pool) with other sizes; then, if nobody knows the stack of the freed one, by bytes, stream
 * and pool. Among equals the oldest corresponds to the oldest. A block whose free was requested, but not completed,
 * when the step began or ended corresponds only to such a block. A free without a counterpart is not repeated.
 *
 * What is left alive without a counterpart piles up if the recording shows that it does: the step before left a block
 * that corresponds to it, and that is still there when the step ends. Everything else stays as many bytes: what lasts
 * by its role (parameters, gradients, optimizer state) is made once, a turn does not ask for it again; of the rest each
 * turn asks anew, and then the block of the turn before goes.
 */
#ifndef GM_REPLAY_REPEAT_H
#define GM_REPLAY_REPEAT_H

#include "analyze/base/vec.h"
#include "analyze/timeline/history/history.h"
#include "analyze/timeline/trace_analyze.h"

/* At the end of a turn, `from` names a block; in the next turn `to` is that block. Both are allocations. */
struct gm_repeat_carry {
    uint32_t from, to;
};
struct gm_repeat_carries GM_VEC(struct gm_repeat_carry);

/* What becomes of an allocation that the step leaves alive without a counterpart. */
enum gm_repeat_fate { GM_REPEAT_PILES_UP, GM_REPEAT_IS_ONCE, GM_REPEAT_IS_REPLACED, GM_REPEAT_FATES };
struct gm_repeat_left {
    struct GM_VEC(uint32_t) allocations;
    uint64_t bytes; /* requested, per turn; saturated */
};
struct gm_repeat {
    uint32_t first, end;              /* events [first, end) */
    struct gm_repeat_carries carries; /* each `from` and each `to` once */
    struct gm_repeat_left left[GM_REPEAT_FATES];
    uint64_t unmatched, unmatched_bytes; /* frees that are not repeated; saturated */
};

/* What else is known of the recording. */
struct gm_repeat_evidence {
    uint32_t before;     /* the first event of the step before; GM_NEVER: there is none */
    const uint8_t *role; /* [allocation] as in struct gm_kept_device; NULL: not known */
};

/* The step to repeat: the last one that is complete; SIZE_MAX: there is none. */
size_t gm_repeat_step(const struct gm_kept_step *steps, size_t count);

/* false: no memory. gm_repeat_free in any case. */
bool gm_repeat_plan(struct gm_repeat *repeat, const struct gm_history *h, uint32_t first, uint32_t end,
                    const struct gm_repeat_evidence *evidence);
/* Requested bytes of all that the step leaves alive without a counterpart; saturated. */
uint64_t gm_repeat_left_bytes(const struct gm_repeat *repeat);
void gm_repeat_free(struct gm_repeat *repeat);

#endif
