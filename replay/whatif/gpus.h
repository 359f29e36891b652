/* SPDX-License-Identifier: Apache-2.0
 *
 * Common cards and how much of their memory a PyTorch process can have.
 */
#ifndef GM_REPLAY_GPUS_H
#define GM_REPLAY_GPUS_H

#include "analyze/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct gm_gpu {
    const char *name;  /* as on the command line: "h100-80" */
    const char *title; /* "H100 SXM/PCIe 80 GB" */
    uint64_t total;    /* bytes that CUDA reports as the device's memory: the "total capacity" of PyTorch's messages */
    const char *source;
};

/* What a process loses to its CUDA context and to the kernels of the libraries before the first tensor. It depends on
 * the driver, the card and the libraries (300 to 700 MiB are usual); this is the one number that is taken off every
 * card. */
#define GM_GPU_CONTEXT (UINT64_C(512) << 20)

size_t gm_gpu_count(void);
const struct gm_gpu *gm_gpu_at(size_t i); /* smallest first */
/* NULL if there is none of that name; any case, blanks and '_' as '-'. */
const struct gm_gpu *gm_gpu_find(const char *name);
/* The card that --gpu names; GM_E_USAGE with the names that there are. */
enum gm_status gm_gpu_choose(const struct gm_gpu **gpu, const char *name, struct gm_error *err);
static inline uint64_t gm_gpu_usable(const struct gm_gpu *gpu)
{
    return gpu->total - GM_GPU_CONTEXT;
}

#endif
