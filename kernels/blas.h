/* SPDX-License-Identifier: Apache-2.0
 *
 * cuBLAS, looked up when the first matrix product is asked for: a program that never needs one starts where it is not
 * installed.
 */
#pragma once

#include "kernels/shape.h"

#ifdef __cplusplus
extern "C" {
#endif
/* out = in x weights, on place->stream. Opens the library into place->blas if that is NULL. */
bool gm_blas_multiply(struct gm_kernel_place *place, const struct gm_mlp_shape *shape, struct gm_kernel_error *error);
#ifdef __cplusplus
}
#endif
