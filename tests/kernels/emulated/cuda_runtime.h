/* SPDX-License-Identifier: Apache-2.0
 *
 * Enough of CUDA's language to compile the project's kernels as C++ and run them on the CPU: each thread of a block is
 * a context of its own, which does all blocks one after the other. Sanitizers see every access; what the GPU does
 * faster and less exactly (__expf, rsqrtf) is exact here.
 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(threads)

struct emulated_index {
    unsigned x;
};
extern emulated_index threadIdx, blockIdx;
extern emulated_index gridDim, blockDim;

struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}

typedef int cudaError_t;
typedef void *cudaStream_t;
#define cudaSuccess 0
static inline cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}
static inline const char *cudaGetErrorName(cudaError_t)
{
    return "none";
}
static inline const char *cudaGetErrorString(cudaError_t)
{
    return "none";
}

#define __expf(x) expf(x) /* the C library has a function of that name */
static inline float rsqrtf(float x)
{
    return 1 / sqrtf(x);
}
static inline unsigned long long atomicAdd(unsigned long long *at, unsigned long long x)
{
    return __atomic_fetch_add(at, x, __ATOMIC_RELAXED);
}
static inline unsigned long long atomicMin(unsigned long long *at, unsigned long long x)
{
    unsigned long long have = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (x < have && !__atomic_compare_exchange_n(at, &have, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
    return have;
}

void __syncthreads();
float __shfl_xor_sync(unsigned lanes, float x, int other);

void emulate(unsigned blocks, unsigned threads, void (*run)(const void *job), const void *job);

#define GM_LAUNCH(place, blocks, threads, kernel, ...)                                                                 \
    do {                                                                                                               \
        (void)(place);                                                                                                 \
        auto work = [&]() { kernel(__VA_ARGS__); };                                                                    \
        emulate(                                                                                                       \
            blocks, threads, [](const void *job) { (*static_cast<const decltype(work) *>(job))(); }, &work);           \
    } while (0)
