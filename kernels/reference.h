/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels once more, in plain C on host memory: what the GPU's results are compared with. Sums are in double.
 */
#pragma once

#include "kernels/kernels.h"

void gm_reference_fill(const struct gm_kernel_job *job);
void gm_reference_verify(const struct gm_kernel_job *job);
void gm_reference_copy(const struct gm_kernel_job *job);
void gm_reference_elementwise(const struct gm_kernel_job *job);
void gm_reference_rmsnorm(const struct gm_kernel_job *job);
void gm_reference_layernorm(const struct gm_kernel_job *job);
void gm_reference_softmax(const struct gm_kernel_job *job);
void gm_reference_attention(const struct gm_kernel_job *job);
void gm_reference_mlp(const struct gm_kernel_job *job);
void gm_reference_adamw(const struct gm_kernel_job *job);
void gm_reference_embedding(const struct gm_kernel_job *job);
