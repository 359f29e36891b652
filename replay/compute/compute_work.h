/* SPDX-License-Identifier: Apache-2.0
 *
 * What a replay on a GPU does with its blocks. Each block is filled with a pattern of its own when it is allocated, and
 * verified before it is freed: blocks that overlap, or that change under their owner, are found. In between the kernel
 * of its class may run in it, reading the two blocks that its stream got before it; then it is filled again. All of it
 * is queued on the block's stream, in the order of the trace.
 *
 * A block that other streams still use when it is let go is verified on another stream, which waits for its own one;
 * before the block is used again, that is waited for.
 */
#pragma once

#include "kernels/kernels.h"
#include "replay/cuda/cuda.h"

enum gm_compute_mode { GM_COMPUTE_NONE, GM_COMPUTE_TOUCH, GM_COMPUTE_FULL };

/* The recorded handle of the stream that stands for those that use a block after it was let go: no program has it. */
#define GM_COMPUTE_OTHERS INT64_MIN
#define GM_COMPUTE_AT_END UINT32_MAX

/* What was launched: sums. */
struct gm_compute_sums {
    uint64_t launches, bytes, flops; /* as gm_kernel has them */
    double seconds;                  /* from a mark before each launch to one after it */
    uint64_t verified, mismatches;   /* blocks; those of them that were not what they were filled with */
};
struct gm_compute_mismatch {
    uint32_t allocation;
    uint32_t event;                 /* that let it go; UINT32_MAX (GM_COMPUTE_AT_END): none */
    bool is_at_end;                 /* it was still live then */
    uint64_t address, bytes, words; /* block; words of 4 bytes that are wrong */
    uint64_t first;                 /* byte offset of the first of them */
};
enum { GM_COMPUTE_NAMED = 16 }; /* mismatches that are kept */

struct gm_compute_found {
    struct gm_compute_sums *classes; /* [options.class_count], the caller's */
    struct gm_compute_sums kernels[GM_KERNEL_COUNT];
    uint64_t mismatches;
    size_t named;
    struct gm_compute_mismatch mismatch[GM_COMPUTE_NAMED]; /* the first ones */
    uint64_t scratch_bytes;
};

struct gm_compute_options {
    struct gm_cuda *cuda;
    enum gm_compute_mode mode;
    size_t allocation_count;
    const uint16_t *class_of;       /* [allocation]: which sums it adds to */
    const unsigned char *kernel_of; /* [allocation]: enum gm_kernel_id; GM_COMPUTE_FULL only */
};

/* One thing on a stream. */
struct gm_compute_piece {
    uint64_t name;      /* its address for the allocator; tells pieces apart */
    uint64_t at, bytes; /* where it really is */
    uint32_t allocation;
    int64_t stream;
};

struct gm_work;
/* All of them: false if something failed, which is then the failure of options->cuda. *found must outlive the work and
 * is zero but for its classes. Opening launches every kernel that may be needed once, on memory of its own. */
bool gm_work_open(struct gm_work **work, const struct gm_compute_options *options, struct gm_compute_found *found);
bool gm_work_allocated(struct gm_work *work, const struct gm_compute_piece *piece);
bool gm_work_let_go(struct gm_work *work, uint32_t event, uint64_t name, bool is_pending);
/* Of a piece that was not let go: as if it were let go now. Unknown names are ignored. */
bool gm_work_freed(struct gm_work *work, uint32_t event, uint64_t name);
/* Verifies what lives, waits for everything, and counts it. */
bool gm_work_finish(struct gm_work *work);
bool gm_work_close(struct gm_work *work); /* may be NULL */

/* table.c: which kernel stands for what a program did with a block: by role where that decides, else by category, else
 * by role again; docs/compute.md has the table. Names as reports show them; any case. Those that are not in the table
 * (rules of a user's own): elementwise. */
enum gm_kernel_id gm_compute_kernel(const char *category, const char *role);
