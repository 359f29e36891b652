/* SPDX-License-Identifier: Apache-2.0
 *
 * Why memory went back to the device. A trace does not say: it has segment_free and segment_unmap events, which come
 * from empty_cache(), or from a request that found no memory (a retry, a reclaim, garbage collection) and then got it,
 * or failed. A run of such events is part of a request if the next growth, alloc or out-of-memory has the same stack
 * and nothing but releases and completed frees lie between; without stacks, if the next event is a growth or an
 * out-of-memory. Otherwise, and if the stack says so, it was empty_cache().
 */
#ifndef GM_REPLAY_RELEASES_H
#define GM_REPLAY_RELEASES_H

#include "analyze/timeline/history/history.h"

enum gm_release_cause { GM_RELEASE_EMPTY_CACHE, GM_RELEASE_REQUEST };
struct gm_release_run {
    uint32_t first, last; /* events */
    enum gm_release_cause cause;
};
struct gm_releases { /* by event */
    struct gm_release_run *v;
    size_t count;
    uint64_t requests, empty_caches; /* runs of each cause */
};

/* false: no memory. */
bool gm_releases_find(struct gm_releases *releases, const struct gm_history *h);
void gm_releases_free(struct gm_releases *releases);

#endif
