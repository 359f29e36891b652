/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads of the emulated GPU, and a matrix product in cuBLAS's place.
 */
#include "kernels/blas.h"

#include <cuda_runtime.h>

enum { WARP = 32, MOST = 1024 };

thread_local emulated_index threadIdx, blockIdx;
emulated_index gridDim, blockDim;

static pthread_barrier_t block_barrier, warp_barrier[MOST / WARP];
static float shuffled[MOST];

void __syncthreads()
{
    pthread_barrier_wait(&block_barrier);
}

/* All lanes take part, or the emulation waits for ever, where a GPU would do anything. */
float __shfl_xor_sync(unsigned, float x, int other)
{
    unsigned thread = threadIdx.x;
    shuffled[thread] = x;
    pthread_barrier_wait(&warp_barrier[thread / WARP]);
    float y = shuffled[thread ^ static_cast<unsigned>(other)];
    pthread_barrier_wait(&warp_barrier[thread / WARP]);
    return y;
}

struct task {
    void (*run)(const void *job);
    const void *job;
    unsigned thread;
};

static void *be_thread(void *at)
{
    const struct task *task = static_cast<const struct task *>(at);
    threadIdx.x = task->thread;
    for (unsigned block = 0; block < gridDim.x; block++) {
        blockIdx.x = block;
        task->run(task->job);
        __syncthreads(); /* shared memory is the next block's now */
    }
    return nullptr;
}

void emulate(unsigned blocks, unsigned threads, void (*run)(const void *job), const void *job)
{
    static struct task tasks[MOST];
    static pthread_t ids[MOST];
    gridDim.x = blocks;
    blockDim.x = threads;
    if (threads > MOST || threads % WARP != 0)
        abort();
    pthread_barrier_init(&block_barrier, nullptr, threads);
    for (unsigned i = 0; i < threads / WARP; i++)
        pthread_barrier_init(&warp_barrier[i], nullptr, WARP);
    for (unsigned i = 0; i < threads; i++) {
        tasks[i] = {run, job, i};
        if (pthread_create(&ids[i], nullptr, be_thread, &tasks[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], nullptr);
    pthread_barrier_destroy(&block_barrier);
    for (unsigned i = 0; i < threads / WARP; i++)
        pthread_barrier_destroy(&warp_barrier[i]);
}

bool gm_blas_multiply(struct gm_kernel_place *, const struct gm_mlp_shape *s, struct gm_kernel_error *)
{
    for (uint64_t row = 0; row < s->rows; row++)
        for (uint64_t j = 0; j < s->columns; j++) {
            float sum = 0;
            for (uint64_t k = 0; k < s->columns; k++)
                sum += s->in[row * s->columns + k] * s->weights[k * s->columns + j];
            s->out[row * s->columns + j] = sum;
        }
    return true;
}

extern "C" void gm_kernel_place_end(struct gm_kernel_place *)
{
}
