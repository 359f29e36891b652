/* SPDX-License-Identifier: Apache-2.0
 *
 * GELU(x W + b): the product is cuBLAS's, bias and activation are one pass over its result.
 */
#include "kernels/blas.h"
#include "kernels/device.cuh"

__device__ static float gelu(float x)
{
    return x * 0.5f * (1 + erff(x * 0.70710678f));
}

/* Columns are a power of two. */
__global__ static void bias_gelu(float *y, const float *bias, uint64_t n, uint32_t columns)
{
    for (uint64_t i = gm_thread(); i < n; i += gm_threads())
        y[i] = gelu(y[i] + bias[i & (columns - 1)]);
}

__global__ static void bias_gelu4(float4 *y, const float4 *bias, uint64_t n, uint32_t columns)
{
    for (uint64_t i = gm_thread(); i < n; i += gm_threads()) {
        float4 x = y[i], b = bias[i & (columns - 1)];
        y[i] = make_float4(gelu(x.x + b.x), gelu(x.y + b.y), gelu(x.z + b.z), gelu(x.w + b.w));
    }
}

bool gm_launch_mlp(struct gm_kernel_place *place, const struct gm_kernel_job *job, struct gm_kernel_error *error)
{
    struct gm_mlp_shape s = gm_mlp_shape(job);
    if (s.rows == 0)
        return true;
    if (!gm_blas_multiply(place, &s, error))
        return false;
    uint64_t n = (uint64_t)s.rows * s.columns;
    if (s.columns >= 4)
        GM_LAUNCH(place, gm_blocks(place, n / 4, GM_THREADS), GM_THREADS, bias_gelu4, (float4 *)s.out,
                  (const float4 *)s.bias, n / 4, s.columns / 4);
    else
        GM_LAUNCH(place, gm_blocks(place, n, GM_THREADS), GM_THREADS, bias_gelu, s.out, s.bias, n, s.columns);
    return gm_launched(error, "bias_gelu");
}
