/* SPDX-License-Identifier: Apache-2.0
 *
 * --sweep: all candidates and the baseline, each replayed, best first.
 */
#pragma once

#include "replay/trials/candidates.h"
#include "replay/trials/trial.h"

#define GM_SWEEP_NONE SIZE_MAX

struct gm_sweep_row {
    const char *text;  /* of PYTORCH_ALLOC_CONF; NULL: the baseline */
    const char *since; /* as in gm_candidate */
    struct gm_trial trial;
};
enum { GM_SWEEP_RANGED = 3 }; /* rows that have a range: so many of the best, the baseline and the winners */
struct gm_sweep {
    struct gm_candidates *list;
    struct gm_sweep_row *rows; /* best first, by the lowest placement of segments */
    size_t count;
    size_t left_out;     /* settings that are not among the rows, because the search was over */
    size_t baseline;     /* its row */
    size_t winner;       /* the best row, if it is worth a change; else GM_SWEEP_NONE */
    size_t usual_winner; /* the best one that is worth a change and needs no particular version of PyTorch */
    /* One with fewer options than those, for any version, whose peak is higher by at most a hundredth of the
     * baseline's (or, where that does not run, of the winner's); GM_SWEEP_NONE: there is none */
    size_t simple_winner;
};

/* Replays everything on devices of `capacity` bytes, `taken` as in gm_whatif_options. The texts are made from
 * *baseline; a device's own baseline may differ from it. */
enum gm_status gm_sweep_run(struct gm_sweep *sweep, const struct gm_search *search, const struct gm_conf *baseline,
                            uint64_t capacity, uint64_t taken, struct gm_error *err);
void gm_sweep_free(struct gm_sweep *sweep);

/* Bytes of peak reserved that a row saves against the baseline; negative: it needs more. 0 if one of them does not
 * run. */
int64_t gm_sweep_saved(const struct gm_sweep *sweep, const struct gm_sweep_row *row);
