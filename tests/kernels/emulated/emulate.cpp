/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads of the emulated GPU, and a matrix product in cuBLAS's place. Each runs on a stack of its own until it has
 * to wait: the others come as late as they can, so that what lacks a barrier is always wrong.
 */
#include "kernels/blas.h"

#include <cuda_runtime.h>

#include <ucontext.h>

enum { WARP = 32, MOST = 1024, STACK = 1 << 16 };

struct barrier {
    unsigned arrived, round;
};

emulated_index threadIdx, blockIdx, gridDim, blockDim;

static barrier block_barrier, warp_barrier[MOST / WARP];
static ucontext_t threads_at[MOST], caller;
static char stacks[MOST][STACK];
static float shuffled[MOST];

static void go_on_with_next()
{
    const unsigned self = threadIdx.x;
    threadIdx.x = (self + 1) % blockDim.x;
    swapcontext(&threads_at[self], &threads_at[threadIdx.x]);
    threadIdx.x = self;
}

static void wait_for(barrier *barrier, unsigned size)
{
    const unsigned round = barrier->round;
    if (++barrier->arrived == size)
        *barrier = {0, round + 1};
    while (barrier->round == round)
        go_on_with_next();
}

void __syncthreads()
{
    wait_for(&block_barrier, blockDim.x);
}

/* All lanes take part, or the emulation waits for ever, where a GPU would do anything. */
float __shfl_xor_sync(unsigned, float x, int other)
{
    unsigned thread = threadIdx.x;
    shuffled[thread] = x;
    wait_for(&warp_barrier[thread / WARP], WARP);
    float y = shuffled[thread ^ static_cast<unsigned>(other)];
    wait_for(&warp_barrier[thread / WARP], WARP);
    return y;
}

static struct {
    void (*run)(const void *job);
    const void *job;
} task;

/* The first one to end ends all: they have passed the last barrier. */
static void be_thread()
{
    for (unsigned block = 0; block < gridDim.x; block++) {
        blockIdx.x = block;
        task.run(task.job);
        __syncthreads(); /* shared memory is the next block's now */
    }
}

static void make_thread(ucontext_t *thread, char *stack)
{
    if (getcontext(thread) != 0)
        abort();
    thread->uc_stack.ss_sp = stack;
    thread->uc_stack.ss_size = STACK;
    thread->uc_link = &caller;
    makecontext(thread, be_thread, 0);
}

void emulate(unsigned blocks, unsigned threads, void (*run)(const void *job), const void *job)
{
    task = {run, job};
    gridDim.x = blocks;
    blockDim.x = threads;
    threadIdx.x = 0;
    if (threads > MOST || threads % WARP != 0)
        abort();
    for (unsigned i = 0; i < threads; i++)
        make_thread(&threads_at[i], stacks[i]);
    swapcontext(&caller, &threads_at[0]);
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
