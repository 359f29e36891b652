/* SPDX-License-Identifier: Apache-2.0
 *
 * The launchers that the table names. They are defined three times, and each program links one of them: on a GPU (the
 * .cu files), without a toolkit (no_kernels.c), and on the CPU for tests (tests/fake_cuda).
 */
#pragma once

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif
#define X(id, name)                                                                                                    \
    bool gm_launch_##name(struct gm_kernel_place *place, const struct gm_kernel_job *job,                              \
                          struct gm_kernel_error *error);
GM_KERNEL_MAP(X)
#undef X
#ifdef __cplusplus
}
#endif
