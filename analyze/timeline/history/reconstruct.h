/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the reconstruction (reconstruct.c, beginning.c, ending.c): the address space while it is told a trace.
 */
#pragma once

#include "analyze/allocator/address_space.h"
#include "analyze/allocator/rounding.h"
#include "analyze/timeline/history/history.h"

/* A segment of the snapshot, for finding the one that holds an address. */
struct gm_final_range {
    uint64_t from, to;
    uint32_t segment;
};

struct gm_reconstruction {
    struct gm_history *h;
    struct gm_space space;
    struct gm_rules rules;
    const struct gm_watcher *watcher;
    struct gm_final_range *finals; /* the device's segments, ascending, those that overlap none before them */
    size_t final_count;
    uint32_t *block_of;      /* [allocation]: its block in the space; GM_SPACE_NONE: not there */
    gm_i128 attributed;      /* block bytes of the allocations that are active */
    gm_i128 outside;         /* of them, those that lie in no segment */
    size_t segment_capacity; /* of h->segments */
    uint64_t looked_at;      /* events, for the kind of pages */
    bool is_expandable;      /* the option, as the last growth shows it */
    bool has_no_memory;
    bool counts;     /* else the functions of reconstruct_stats.c count nothing */
    bool is_at_peak; /* most is requested, and history->stats_at_peak does not have it yet */
};

/* history.c: counts something that does not fit; rows are told apart by the pointer `id`. Both strings are literals. */
void gm_history_note(struct gm_history *h, const char *id, const char *what, bool is_expected, uint64_t event,
                     uint64_t bytes);

/* The number in h->pools of a pool of the snapshot (a gm_pool_id), made when it is new; 0 if there is no memory. */
#define GM_RECONSTRUCT_NO_POOL UINT32_MAX /* the file does not say */
uint32_t gm_reconstruct_pool(struct gm_reconstruction *t, uint32_t id, bool is_small);
/* The pool and kind of a segment event's range, and of a final segment. */
uint32_t gm_reconstruct_pool_of_event(struct gm_reconstruction *t, size_t row, bool is_map);
uint32_t gm_reconstruct_pool_of_segment(struct gm_reconstruction *t, size_t segment);
/* The bytes and the pool of allocation a's block. */
void gm_reconstruct_set(struct gm_reconstruction *t, uint32_t a, uint64_t size, uint32_t pool);
/* Bytes of allocation a's block by the rules, in a free block of `available` bytes. */
uint64_t gm_reconstruct_size(const struct gm_reconstruction *t, const struct gm_space_block *block, uint64_t rounded,
                             uint64_t available);

/* beginning.c: the segments followed back to moment 0, and the allocations of that time in them. */
bool gm_reconstruct_begin(struct gm_reconstruction *t);
bool gm_reconstruct_segments(struct gm_reconstruction *t); /* only the segments */
/* The segments and pools of a whole reconstruction, without the allocations: what segments do hangs on no other event.
 * false: it would be given up, or there is no memory. */
bool gm_reconstruct_foresee(struct gm_history *h);
/* ending.c: the books, and the space compared with the snapshot block by block. */
bool gm_reconstruct_end(struct gm_reconstruction *t);

/* reconstruct_stats.c: PyTorch's counters in the history, before or after the space is told. */
void gm_reconstruct_count_start(struct gm_reconstruction *t);
/* A free block had `before` bytes, and was split or not; then allocation `a` took of it. */
void gm_reconstruct_count_take(struct gm_reconstruction *t, uint32_t a, uint64_t before, bool was_split);
void gm_reconstruct_count_let_go(struct gm_reconstruction *t, uint32_t block);
/* Frees a block in use, of allocation `a`, in the space, and counts that. */
void gm_reconstruct_release(struct gm_reconstruction *t, uint32_t block, uint32_t a);
/* A segment or pages of that pool came (sign 1) or went (-1). */
void gm_reconstruct_count_segment(struct gm_reconstruction *t, uint32_t pool, uint64_t bytes, bool is_expandable,
                                  int sign);
/* A block has another size than was thought from its beginning on; `free_above`: how many free blocks there are more.
 */
void gm_reconstruct_count_learnt(struct gm_reconstruction *t, uint32_t block, uint64_t old, int64_t free_above);
/* Before anything but an allocation happens, and at the end. */
void gm_reconstruct_keep_peak(struct gm_reconstruction *t);
