/* SPDX-License-Identifier: Apache-2.0
 *
 * What the model is doing, for a program that samples it (tests/bench/replay_shares.c). Only in a build with
 * GM_PROFILE: one store at each change, into a global that is there for nothing else; without it, nothing.
 */
#ifndef GM_REPLAY_PROFILE_H
#define GM_REPLAY_PROFILE_H

enum gm_doing {
    GM_DOING_OUTSIDE,     /* not in the model: the walk over the trace */
    GM_DOING_SEARCH,      /* looking for the best fit */
    GM_DOING_SPLIT_MERGE, /* splitting, merging, and the index of free blocks that follows them */
    GM_DOING_BOOKKEEPING, /* rounding, statistics, pending frees, the sink */
    GM_DOING_DEVICE,      /* growing, releasing, retries */
    GM_DOINGS
};

#ifdef GM_PROFILE
#include <stdatomic.h>
extern volatile int gm_profile_doing;
#define GM_DOING(doing) (atomic_signal_fence(memory_order_seq_cst), (void)(gm_profile_doing = (doing)))
#else
#define GM_DOING(doing) ((void)0)
#endif

#endif
