/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline: what the parts of the history share.
 */
#ifndef GM_TIMELINE_RECONSTRUCT_H
#define GM_TIMELINE_RECONSTRUCT_H

#include "analyze/allocator/rounding.h"
#include "analyze/timeline/history/history.h"

/* Counts something that does not fit; rows are told apart by the pointer `id`. Both strings are literals. */
void gm_history_note(struct gm_history *h, const char *id, const char *what, bool is_expected, uint64_t event,
                     uint64_t bytes);

#endif
