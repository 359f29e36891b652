/* SPDX-License-Identifier: Apache-2.0
 *
 * A what-if on a real GPU: the allocator's model on cudaMalloc, or the same requests through a memory pool of the
 * driver's (cudaMallocAsync); kernels in the blocks, and the recorded time between events, if they are wanted.
 *
 * With the pool the model says what is asked for, when and in which order, on a simulated device without end; the
 * memory comes from the pool, and so do reserved and allocated bytes.
 */
#pragma once

#include "replay/compute/compute_work.h"
#include "replay/whatif/whatif.h"

struct gm_compute_run_options {
    bool is_async; /* the pool */
    bool is_paced; /* no event earlier after the first one than it was recorded */
    struct gm_compute_options work;
    size_t class_count; /* of work.class_of */
};

/* cudaMemGetInfo, and what of it we know. */
struct gm_compute_memory {
    bool is_known;
    uint64_t used;    /* of the device: total - free */
    uint64_t ours;    /* what the replay has */
    uint64_t scratch; /* what the work has besides; the rest is the context's, libraries' and others' */
};
struct gm_compute_result { /* zero-initialise */
    struct gm_cuda_info info;
    struct gm_compute_memory at_start, at_peak, at_end; /* at_peak: of reserved bytes */
    struct gm_compute_memory *parts;                    /* [whatif->part_count]: when they ended */
    struct gm_compute_found found;
    struct gm_cuda_pool_figures pool; /* is_async: when all was played ... */
    uint64_t model_reserved;          /* ... and the caching allocator's peak, from the model */
};

/* gm_whatif on *cuda, whose cap is the memory: `whatif` without device and hooks. An error names the event. *result is
 * to be freed in any case. */
enum gm_status gm_compute_run(struct gm_compute_result *result, struct gm_whatif_result *replayed, struct gm_history *h,
                              const struct gm_compute_run_options *options, const struct gm_whatif_options *whatif,
                              struct gm_error *err);
void gm_compute_free(struct gm_compute_result *result);
