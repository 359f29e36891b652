/* SPDX-License-Identifier: Apache-2.0
 *
 * A history that is read while its second half (gm_history_reconstruct) is made in another thread.
 */
#pragma once

#include "analyze/timeline/history/history.h"

#include <pthread.h>

struct gm_making {
    struct gm_history *history;
    struct gm_history seen; /* what may be read meanwhile */
    uint8_t *no_pools;
    uint64_t *start_bytes; /* [history->other_count]: of what is older than the trace, as its first part shows them */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t has_told;
    uint32_t told;      /* events so far; GM_NEVER: it is over */
    bool has_no_memory; /* then */
    bool was_right;     /* then: start_bytes are what they came to, and the history is reconstructed */
};

/* Begins it, of a history that is paired. Until gm_making_end nobody reads `history` itself, but `seen`: all that
 * pairing tells, and segments and pools as they will be. All allocations are in the default pools, so they have no pool
 * numbers there, and block bytes are asked for by gm_making_block_bytes. false: it is too short, may have other pools,
 * or cannot be reconstructed; nothing was begun. */
bool gm_making_begin(struct gm_making *making, struct gm_history *history);
/* Waits for it. false: no memory. Unless was_right, what was read is not what `history` says: read that. */
bool gm_making_end(struct gm_making *making);

/* gm_block_bytes of a history, or of `seen`: it waits for what may still change them. But of blocks older than the
 * trace it does so for the first part of the events only, for most sizes that are learnt are learnt there. */
uint64_t gm_making_block_bytes(const struct gm_history *history, size_t allocation);
