/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules that another thread asks before their turn, the last one first, while replays run and the rules before them are
 * asked. Only that one finds nothing is taken from there, and only if nothing was taken of the allocations since:
 * whatever is found is found in order. So the findings are the same with it and without.
 */
#pragma once

#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

struct gm_ahead;

/* Starts `l`, in a thread of its own if the trace is long enough and one is wanted. `c` is copied, and `l` must stay
 * where it is. NULL: no memory. */
struct gm_ahead *gm_ahead_start(const struct gm_case *c, struct gm_lives *l, const struct gm_snapshot *snapshot,
                                const struct gm_kept_device *kept, bool has_thread);
/* Waits until `l` is there. false: no memory. */
bool gm_ahead_wait(struct gm_ahead *ahead);
/* Whether it is known that the i-th rule, whose turn it is, finds nothing. */
bool gm_ahead_finds_nothing(struct gm_ahead *ahead, size_t i);
/* Before `l` is freed. May be NULL. */
void gm_ahead_free(struct gm_ahead *ahead);
