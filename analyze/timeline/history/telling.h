/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the reconstruction (reconstruct.c, beginning.c, ending.c): the address space while it is told a trace.
 */
#ifndef GM_TIMELINE_TELLING_H
#define GM_TIMELINE_TELLING_H

#include "analyze/allocator/address_space.h"
#include "analyze/allocator/rounding.h"
#include "analyze/timeline/history/reconstruct.h"

__extension__ typedef __int128 gm_telling_sum;

/* A segment of the snapshot, for finding the one that holds an address. */
struct gm_final_range {
    uint64_t from, to;
    uint32_t segment;
};

struct gm_telling {
    struct gm_history *h;
    struct gm_space space;
    struct gm_rules rules;
    const struct gm_watcher *watcher;
    struct gm_final_range *finals; /* the device's segments, ascending, those that overlap none before them */
    size_t final_count;
    uint32_t *block_of;        /* [allocation]: its block in the space; GM_SPACE_NONE: not there */
    gm_telling_sum attributed; /* block bytes of the allocations that are active */
    gm_telling_sum outside;    /* of them, those that lie in no segment */
    size_t segment_capacity;   /* of h->segments */
    uint64_t looked_at;        /* events, for the kind of pages */
    bool is_expandable;        /* the option, as the last growth shows it */
    bool has_no_memory;
};

/* The number in h->pools of a pool of the snapshot (a gm_pool_id), made when it is new; 0 if there is no memory. */
#define GM_TELLING_NO_POOL UINT32_MAX /* the file does not say */
uint32_t gm_telling_pool(struct gm_telling *t, uint32_t id, bool is_small);
/* The pool and kind of a segment event's range, and of a final segment. */
uint32_t gm_telling_pool_of_event(struct gm_telling *t, size_t row, bool is_map);
uint32_t gm_telling_pool_of_segment(struct gm_telling *t, size_t segment);
/* Bytes of allocation a's block by the rules, in a free block of `available` bytes. */
uint64_t gm_telling_size(const struct gm_telling *t, const struct gm_space_block *block, uint64_t rounded,
                         uint64_t available);

/* beginning.c: the segments followed back to moment 0, and the allocations of that time in them. */
bool gm_telling_begin(struct gm_telling *t);
bool gm_telling_segments(struct gm_telling *t); /* only the segments */
/* ending.c: the books, and the space compared with the snapshot block by block. */
bool gm_telling_end(struct gm_telling *t);

static inline uint64_t gm_telling_clamp(gm_telling_sum v)
{
    return v < 0 ? 0 : v >= (gm_telling_sum)GM_REPORT_NONE ? GM_REPORT_NONE - 1 : (uint64_t)v;
}

#endif
