/* SPDX-License-Identifier: Apache-2.0
 *
 * Common cards and how much of their memory a PyTorch process can have.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a stand-in for the card answers besides (docs/dry.md). */
struct gm_gpu_chip {
    int major, minor; /* compute capability; 0: not a card of CUDA's */
    int sms;
    uint64_t l2;          /* bytes */
    int bus_bits;         /* of the memory */
    int memory_megahertz; /* as CUDA tells it */
    int megahertz;        /* of the SMs, the most */
    const char *source;   /* of all this; NULL: not a card of CUDA's */
};

struct gm_gpu {
    const char *name; /* as on the command line: "h100-80" */
    const char *also; /* other names of it, with commas; NULL: none */
    const char *title;
    unsigned gigabytes; /* as it is sold */
    uint64_t total;     /* bytes that CUDA reports as the device's memory: the "total capacity" of PyTorch's messages */
    const char *source;
    struct gm_gpu_chip chip;
};

enum { GM_GPU_NAME = 32, GM_GPU_NOTE = 160 };

/* What a process loses to its CUDA context and to the kernels of the libraries before the first tensor. It depends on
 * the driver, the card and the libraries (300 to 700 MiB are usual); this is the one number that is taken off every
 * card. */
#define GM_GPU_CONTEXT (UINT64_C(512) << 20)

size_t gm_gpu_count(void);
const struct gm_gpu *gm_gpu_at(size_t i); /* smallest first */
/* NULL if there is none of that name. Case, blanks, '-' and '_', maker, family and build (SXM4, PCIe, HBM3) do not
 * matter: "RTX 4090", "4090", "NVIDIA H100 80GB HBM3". Where a name without a size is that of several cards, it is the
 * smallest of them. */
const struct gm_gpu *gm_gpu_find(const char *name);
/* The card that `option` ("--gpu") names; GM_E_USAGE says which name is near. `note`: a line for the user if there are
 * others of the name with another size, else "". */
enum gm_status gm_gpu_choose(const struct gm_gpu **gpu, char note[GM_GPU_NOTE], const char *option, const char *name,
                             struct gm_error *err);
void gm_gpu_names(struct gm_text *out); /* a line each */
/* "list" or "help" asks for the table: name, total, usable bytes, source. */
void gm_gpu_list(struct gm_text *out);
/* Whether it may be advised to who recorded a trace: traces are CUDA's. */
static inline bool gm_gpu_is_of_cuda(const struct gm_gpu *gpu)
{
    return gpu->chip.major != 0;
}
static inline uint64_t gm_gpu_usable(const struct gm_gpu *gpu)
{
    return gpu->total - GM_GPU_CONTEXT;
}
