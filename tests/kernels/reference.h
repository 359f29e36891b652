/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels once more, in plain C on host memory: what the GPU's results are compared with. Sums are in double.
 */
#pragma once

#include "kernels/kernels.h"

#define X(id, name) void reference_##name(const struct gm_kernel_job *job);
GM_KERNEL_MAP(X)
#undef X
extern void (*const kernel_references[GM_KERNEL_COUNT])(const struct gm_kernel_job *job); /* the same */
