/* SPDX-License-Identifier: Apache-2.0
 *
 * --backend cuda and cuda-async.
 */
#ifndef GM_CLI_CUDA_BACKEND_H
#define GM_CLI_CUDA_BACKEND_H

#include "analyze/document/document.h"
#include "replay/cli/gmreplay.h"

bool gm_replay_on_gpu(const struct gm_replay_options *options);
/* cuda_backend.c: wrong combinations of options. */
enum gm_status gm_replay_check_gpu(const struct gm_replay_options *options, struct gm_error *err);
/* The GPU is opened before the trace is read: without one that is all there is to say. After all devices were replayed
 * it is closed, and nothing may be left on it; gm_replay_end_gpu is for when something else failed. */
enum gm_status gm_replay_open_gpu(struct gm_replay_run *run, struct gm_error *err);
enum gm_status gm_replay_close_gpu(struct gm_replay_run *run, struct gm_error *err);
void gm_replay_end_gpu(struct gm_replay_run *run);
/* What gm_whatif is for the other backends. */
enum gm_status gm_replay_run_on_gpu(struct gm_replay_run *run, size_t index, const struct gm_whatif_options *options,
                                    struct gm_error *err);
bool gm_replay_has_mismatches(const struct gm_replay_run *run);

/* cuda_words.c */
void gm_replay_gpu_head_words(struct gm_doc *doc, const struct gm_replay_run *run);
void gm_replay_gpu_words(struct gm_doc *doc, struct gm_replay_run *run, size_t index);
void gm_replay_gpu_json(struct gm_doc *doc, struct gm_replay_run *run, size_t index);
const struct gm_compute_memory *gm_replay_gpu_part(const struct gm_replay_device *device, size_t part);

#endif
