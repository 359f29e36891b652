/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of this folder share: a replay while it runs.
 */
#pragma once

#include "analyze/base/address_map.h"
#include "analyze/base/vec.h"
#include "replay/compute/compute_run.h"

struct gm_pool_piece {
    uint64_t at; /* 0: given back */
    int64_t stream;
};
struct gm_running {
    const struct gm_compute_run_options *options;
    const struct gm_history *h;
    struct gm_compute_result *result;
    struct gm_cuda *cuda;
    struct gm_work *work; /* NULL: no kernels */
    bool is_over;
    /* the pace of the recording */
    bool has_begun;
    uint64_t last_us, due_us; /* of the trace; since the first event */
    int64_t begun_ns;
    /* async.c */
    struct gm_cuda_pool *pool;
    struct gm_cuda_pool_figures now;
    bool is_stale; /* `now` is */
    struct GM_VEC(struct gm_pool_piece) pieces;
    struct GM_VEC(uint32_t) unused;
    struct gm_address_map piece_of; /* address in the model: index in pieces */
};

/* async.c */
bool gm_running_pool_open(struct gm_running *r);
bool gm_running_pool_close(struct gm_running *r);
struct gm_whatif_hooks gm_running_pool_hooks(void);
const struct gm_cuda_pool_figures *gm_running_figures(struct gm_running *r);
