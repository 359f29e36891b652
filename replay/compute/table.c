/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/compute/compute_work.h"

#include <strings.h>

struct row {
    const char *name;
    enum gm_kernel_id kernel;
};

/* Roles that decide whatever the category is. */
static const struct row first_roles[] = {
    {"Optimizer state", GM_KERNEL_ADAMW}, {"KV cache", GM_KERNEL_COPY},  {"Communication buffer", GM_KERNEL_COPY},
    {"Workspace", GM_KERNEL_ELEMENTWISE}, {"Parameter", GM_KERNEL_COPY}, {"Input", GM_KERNEL_COPY},
};

static const struct row categories[] = {
    {"Model loading", GM_KERNEL_COPY},
    {"Data loading", GM_KERNEL_COPY},
    {"cuBLAS/cuDNN workspace", GM_KERNEL_ELEMENTWISE},
    {"FSDP", GM_KERNEL_COPY},
    {"Optimizer step", GM_KERNEL_ADAMW},
    {"Activation checkpointing", GM_KERNEL_COPY},
    {"Communication", GM_KERNEL_COPY},
    {"KV cache code", GM_KERNEL_COPY},
    {"Backward pass", GM_KERNEL_ELEMENTWISE},
    {"Expert/MoE", GM_KERNEL_MLP},
    {"Attention", GM_KERNEL_ATTENTION},
    {"MLP", GM_KERNEL_MLP},
    {"Recurrent/SSM", GM_KERNEL_MLP},
    {"Graph message passing", GM_KERNEL_EMBEDDING},
    {"Embedding", GM_KERNEL_EMBEDDING},
    {"Loss", GM_KERNEL_SOFTMAX},
    {"Sampling/logits", GM_KERNEL_SOFTMAX},
    {"Detection heads", GM_KERNEL_MLP},
    {"Autocast/precision cast", GM_KERNEL_COPY},
    {"Quantization", GM_KERNEL_RMSNORM}, /* a scale for each row */
    {"Convolution", GM_KERNEL_MLP},
    {"Normalization", GM_KERNEL_LAYERNORM},
    {"Linear/MatMul", GM_KERNEL_MLP},
    {"Linear algebra", GM_KERNEL_MLP},
    {"Copy/concat/reshape", GM_KERNEL_COPY},
    {"Indexing/gather", GM_KERNEL_EMBEDDING},
    {"Reduction/sort", GM_KERNEL_RMSNORM},
    {"Tensor creation", GM_KERNEL_COPY},
};

static const struct row *find(const struct row *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

enum gm_kernel_id gm_compute_kernel(const char *category, const char *role)
{
    const struct row *row = find(first_roles, sizeof first_roles / sizeof first_roles[0], role);
    if (row == NULL)
        row = find(categories, sizeof categories / sizeof categories[0], category);
    return row == NULL ? GM_KERNEL_ELEMENTWISE : row->kernel;
}
