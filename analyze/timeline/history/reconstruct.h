/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to history.c: block bytes, pools and the books, from the address space.
 */
#ifndef GM_TIMELINE_RECONSTRUCT_H
#define GM_TIMELINE_RECONSTRUCT_H

#include "analyze/timeline/history/history.h"
#include "replay/space/rules.h"

/* Fills block, pool, pools, is_reconstructed and books of a history whose events are paired. false: no memory. */
bool gm_history_reconstruct(struct gm_history *history, const struct gm_watcher *watcher);

/* The allocator's arithmetic under the settings that the snapshot recorded. */
struct gm_rules gm_history_rules(const struct gm_snapshot *snapshot);

/* Counts something that does not fit; rows are told apart by the pointer `id`. Both strings are literals. */
void gm_history_note(struct gm_history *h, const char *id, const char *what, bool is_expected, uint64_t event,
                     uint64_t bytes);

#endif
