/* SPDX-License-Identifier: Apache-2.0
 *
 * Why memory went back to the device. A trace does not say: it has segment_free and segment_unmap events, which come
 * from empty_cache(), or from a request that found no memory (a retry, a reclaim, garbage collection) and then got it,
 * or failed. A run of such events is part of a request if the next growth, alloc or out-of-memory has the same stack
 * and nothing but releases and completed frees lie between; without stacks, if the next event is a growth or an
 * out-of-memory; not if what went back would have served it (gm_history_had_room). Otherwise, and if the stack says so,
 * it was empty_cache(); or the end of a MemPool, which gives back only its own memory: then no stack names empty_cache
 * where frees have stacks, or memory of the default pools, which is the first that empty_cache() gives back, comes
 * after it.
 */
#pragma once

#include "analyze/timeline/history/history.h"

enum gm_release_cause { GM_RELEASE_EMPTY_CACHE, GM_RELEASE_REQUEST, GM_RELEASE_POOL };
struct gm_release_run {
    uint32_t first, last; /* events */
    enum gm_release_cause cause;
    uint32_t pool;        /* of the history, of its first event */
    bool may_be_mempools; /* no request's, and its stack does not name empty_cache, where frees have stacks */
};
struct gm_releases { /* by event */
    struct gm_release_run *v;
    size_t count;
    uint64_t requests; /* runs of that cause */
};

/* false: no memory. */
bool gm_releases_find(struct gm_releases *releases, const struct gm_history *h);
void gm_releases_free(struct gm_releases *releases);
