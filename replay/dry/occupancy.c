/* SPDX-License-Identifier: Apache-2.0
 *
 * How many blocks of a kernel an SM of the card runs at once, by the rules of the CUDA programming guide's occupancy:
 * registers go to warps in pieces of 256, each quarter of an SM has its own; shared memory goes to blocks in pieces,
 * from capability 8.0 on with 1 KiB of the system's beside each block's. Programs size workspaces by it.
 */
#include "replay/dry/private.h"

enum {
    WARP = 32,
    QUARTERS = 4,
    REGISTERS = 65536,
    REGISTER_PIECE = 256,
    THREADS_OF_BLOCK = 1024,
    DEFAULT_SHARED = 48 << 10
};

static int64_t round_up(int64_t value, int64_t piece)
{
    return (value + piece - 1) / piece * piece;
}

static int64_t registers_of_warp(const struct dry_needs *needs)
{
    const int64_t registers = round_up((int64_t)needs->registers * WARP, REGISTER_PIECE);
    return registers > 0 ? registers : REGISTER_PIECE;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t active_blocks(const void *kernel, int threads, size_t dynamic_shared)
{
    const struct dry_needs needs = dry_kernel_needs(kernel);
    const struct dry_limits *of = dry_limits();
    const bool is_new = dry_card()->major >= 8;
    const int64_t warps = (threads + WARP - 1) / WARP, of_warp = registers_of_warp(&needs);
    const int64_t shared = needs.shared + (int64_t)dynamic_shared + (is_new ? 1024 : 0);
    const int64_t taken = round_up(shared, is_new ? 128 : 256);
    if (threads > THREADS_OF_BLOCK || round_up(warps, QUARTERS) * of_warp > REGISTERS ||
        taken > ((int64_t)of->shared_of_block << 10) + (is_new ? 1024 : 0))
        return 0;
    int64_t blocks = least(of->blocks, of->threads / WARP / warps);
    blocks = least(blocks, REGISTERS / QUARTERS / of_warp * QUARTERS / warps);
    return taken == 0 ? blocks : least(blocks, ((int64_t)of->shared << 10) / taken);
}

static int tell_blocks(int *blocks, const void *kernel, int threads, size_t dynamic_shared)
{
    if (threads <= 0)
        return dry_result(DRY_INVALID);
    *blocks = (int)active_blocks(kernel, threads, dynamic_shared);
    return DRY_OK;
}

API_IS(int, cudaOccupancyMaxActiveBlocksPerMultiprocessor, tell_blocks(blocks, kernel, threads, shared), int *blocks,
       const void *kernel, int threads, size_t shared)
API_IS(int, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, tell_blocks(blocks, kernel, threads, shared),
       int *blocks, const void *kernel, int threads, size_t shared, unsigned flags)
API_IS(int, cuOccupancyMaxActiveBlocksPerMultiprocessor, tell_blocks(blocks, kernel, threads, shared), int *blocks,
       void *kernel, int threads, size_t shared)
API_SETS(cuOccupancyMaxActiveClusters, *clusters, dry_card()->major >= 9 ? dry_card()->sms / 2 : 0, int *clusters,
         void *kernel, const void *launch)

struct function_attributes {
    size_t shared, constant, local;
    int threads, registers, ptx, binary, cache_mode, dynamic_shared, carveout;
};

/* Of a block: as many warps as the registers suffice for, but not more than the kernel was compiled for. */
static int most_threads(const struct dry_needs *needs)
{
    const int64_t warps = REGISTERS / registers_of_warp(needs) / QUARTERS * QUARTERS;
    return (int)least(needs->threads, least(warps * WARP, THREADS_OF_BLOCK));
}

API(int, cudaFuncGetAttributes, struct function_attributes *attributes, const void *kernel)
{
    const int capability = 10 * dry_card()->major + dry_card()->minor;
    const struct dry_needs needs = dry_kernel_needs(kernel);
    *attributes = (struct function_attributes){.shared = (size_t)needs.shared,
                                               .local = (size_t)needs.local,
                                               .threads = most_threads(&needs),
                                               .registers = needs.registers,
                                               .ptx = needs.ptx != 0 ? needs.ptx : capability,
                                               .binary = needs.code != 0 ? needs.code : capability,
                                               .dynamic_shared = DEFAULT_SHARED - needs.shared,
                                               .carveout = -1};
    return DRY_OK;
}

API(int, cuFuncGetAttribute, int *value, int number, void *kernel)
{
    struct function_attributes a;
    cudaFuncGetAttributes(&a, kernel);
    const int values[] = {a.threads, (int)a.shared, (int)a.constant, (int)a.local,     a.registers,
                          a.ptx,     a.binary,      a.cache_mode,    a.dynamic_shared, a.carveout};
    *value = number >= 0 && number < (int)(sizeof values / sizeof *values) ? values[number] : 0;
    return DRY_OK;
}
