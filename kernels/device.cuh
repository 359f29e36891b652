/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernels share: the size of a launch, the check after it, walking a source that repeats, sums over a warp.
 * Launches are grid-stride: a bounded number of thread blocks, each thread walking on by all of them.
 */
#ifndef GM_KERNELS_DEVICE_CUH
#define GM_KERNELS_DEVICE_CUH

#include "kernels/launch.h"
#include "kernels/fill_pattern.h"
#include "kernels/shape.h"

#include <cuda_runtime.h>
#include <stdio.h>

#define GM_THREADS 256u
#define GM_WARP 32u
#define GM_BLOCKS_PER_PROCESSOR 8u
#define GM_PROCESSORS 108u /* where they are not known */

/* Runs a kernel on the place's stream. Tests that have no GPU put something else here. */
#ifndef GM_LAUNCH
#define GM_LAUNCH(place, blocks, threads, kernel, ...)                                                                 \
    kernel<<<blocks, threads, 0, static_cast<cudaStream_t>((place)->stream)>>>(__VA_ARGS__)
#endif

/* Thread blocks for `work` threads' work. */
static inline unsigned gm_blocks(const struct gm_kernel_place *place, uint64_t work, unsigned threads)
{
    uint64_t most = (uint64_t)(place->processors == 0 ? GM_PROCESSORS : place->processors) * GM_BLOCKS_PER_PROCESSOR;
    uint64_t blocks = (work + threads - 1) / threads;
    return (unsigned)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

static inline bool gm_failed(struct gm_kernel_error *error, const char *call, cudaError_t code)
{
    error->call = call;
    snprintf(error->name, sizeof error->name, "%s", cudaGetErrorName(code));
    snprintf(error->words, sizeof error->words, "%s", cudaGetErrorString(code));
    return false;
}

/* After <<<>>>: what the launch itself said. What a kernel does wrong later shows where its stream is waited for. */
static inline bool gm_launched(struct gm_kernel_error *error, const char *call)
{
    cudaError_t code = cudaGetLastError();
    return code == cudaSuccess || gm_failed(error, call, code);
}

__device__ inline uint64_t gm_thread(void)
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ inline uint64_t gm_threads(void)
{
    return (uint64_t)gridDim.x * blockDim.x;
}

/* An index that walks by `stride` through a source of `period`: one division at the beginning, none after. */
struct gm_walk {
    uint64_t at, step, period;
    __device__ gm_walk(uint64_t begin, uint64_t stride, uint64_t length)
        : at(begin < length ? begin : begin % length), step(stride < length ? stride : stride % length), period(length)
    {
    }
    __device__ void next()
    {
        at += step;
        if (at >= period)
            at -= period;
    }
};

__device__ inline float gm_warp_sum(float x)
{
    for (int lanes = GM_WARP / 2; lanes > 0; lanes /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, lanes);
    return x;
}
__device__ inline float gm_warp_max(float x)
{
    for (int lanes = GM_WARP / 2; lanes > 0; lanes /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, lanes));
    return x;
}

#endif
