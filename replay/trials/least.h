/* SPDX-License-Identifier: Apache-2.0
 *
 * Which settings of a sweep run with the least memory. That need not be those with the lowest peak: an allocator that
 * is short of memory gives back what it has cached, and some settings leave it more to give back.
 */
#ifndef GM_REPLAY_LEAST_H
#define GM_REPLAY_LEAST_H

#include "replay/trials/fit.h"
#include "replay/trials/sweep.h"

enum { GM_LEAST_ROUNDS = 8 };

/* Looks for a row that runs with less than `below` bytes, a multiple of GM_FIT_GRANULE: all are replayed with one
 * granule less, the best of those that run is fitted, those that ran are replayed with less than that, and so on,
 * GM_LEAST_ROUNDS times at most; or until the search is over (*is_cut). *row is GM_SWEEP_NONE if there is none; *fit is
 * the row's otherwise. */
enum gm_status gm_least(struct gm_fit *fit, size_t *row, const struct gm_search *search, const struct gm_sweep *sweep,
                        uint64_t below, bool *is_cut, struct gm_error *err);

#endif
