/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots made in memory, with everything odd that the model can hold.
 */
#pragma once

#include "analyze/snapshot/snapshot.h"

/* A snapshot with `events` events that look random (`seed`): few addresses, so that frees, double frees and allocations
 * over each other are the rule; extreme sizes and times; all rare columns. To be freed by gm_snapshot_free. */
void gm_random_snapshot(struct gm_snapshot *snapshot, unsigned seed, size_t events);

/* One that is as regular as can be: the same allocation made and freed `pairs` times, three events each. */
void gm_regular_snapshot(struct gm_snapshot *snapshot, size_t pairs);
