/* SPDX-License-Identifier: Apache-2.0
 *
 * What verify and what-if share: a device's streams and pools under the model's numbers, and the layout that it had
 * before the trace, adopted by the model.
 */
#pragma once

#include "analyze/timeline/history/history.h"
#include "replay/model/allocator.h"

struct gm_follow {
    struct gm_history *h;
    struct gm_allocator *model;
    uint32_t *stream_of; /* [snapshot->stream_count]: the model's number, GM_SPACE_NONE before its first use */
    uint32_t *block_of;  /* [allocation]: its block in the model, GM_SPACE_NONE: none */
    struct GM_VEC(uint32_t) pool_of; /* [pool of the history] likewise */
};

/* `model` is an initialised one; so many allocations, which may be others than the history's. false: no memory; free it
 * all the same. */
bool gm_follow_init(struct gm_follow *f, struct gm_history *h, struct gm_allocator *model, size_t allocations);
void gm_follow_free(struct gm_follow *f);

uint32_t gm_follow_stream(struct gm_follow *f, uint32_t stream); /* a gm_stream_id */
uint32_t gm_follow_pool(struct gm_follow *f, uint32_t pool);

/* The allocations of moment 0 by stream, then by address: as they are asked for where the layout is not to be kept; the
 * caller frees it. NULL: no memory. */
struct gm_placed {
    uint64_t stream; /* the handle */
    uint64_t address;
    uint32_t allocation;
};
struct gm_placed *gm_follow_requests_at_start(const struct gm_history *h, size_t *count);

/* The option expandable_segments at moment 0: what the first growth of a default pool, or pages of any, show;
 * else `recorded`. */
bool gm_follow_expandable_at_start(const struct gm_history *h, bool recorded);

/* Private pools [of the history] that grew by segments since event `from`, and never by pages: if expandable_segments
 * was on, they have an allocator of their own. The caller frees it; NULL: no memory. */
bool *gm_follow_custom_pools(const struct gm_history *h, uint32_t from);
/* The pools of the history under the model's numbers, with what is their own in the recording; `is_custom` as above.
 * The caller frees it; NULL, or model->has_no_memory: no memory. */
struct gm_allocator_home *gm_follow_homes(struct gm_allocator *model, const struct gm_history *h,
                                          const bool *is_custom);
/* The event since which the option is on and stays on, as far as growths show it; GM_NEVER: none does. */
uint32_t gm_follow_expandable_since(const struct gm_history *h);

/* Segments and blocks of moment 0 into the model, which is empty; peaks of the statistics begin there. Sizes of blocks
 * whose slack was learnt from later events: *learnt counts them, and without `use_learnt` the rule's first answer is
 * taken instead. false: no memory. */
bool gm_follow_adopt(struct gm_follow *f, bool use_learnt, uint64_t *learnt);
