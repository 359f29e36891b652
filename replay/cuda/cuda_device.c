/* SPDX-License-Identifier: Apache-2.0
 *
 * cudaMalloc and cudaFree as the device interface has them, and memory of our own beside it.
 */
#include "replay/cuda/cuda_private.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>

bool gm_cuda_has_room(const struct gm_cuda *c, uint64_t size)
{
    return size <= c->cap && c->used <= c->cap - size;
}

static bool note(struct gm_cuda *c, uint64_t address, uint64_t size)
{
    uint32_t before;
    if (!GM_VEC_ROOM(&c->blocks, 1) || c->blocks.n >= UINT32_MAX - 1 ||
        !gm_map_put(&c->block_of, address, (uint32_t)c->blocks.n, &before))
        return gm_cuda_fail(c, GM_E_NOMEM, "out of host memory");
    c->blocks.v[c->blocks.n++] = (struct gm_cuda_block){address, size};
    c->used += size;
    return true;
}

static enum gm_device_status allocate(void *self, uint64_t size, uint64_t *address)
{
    struct gm_cuda *c = self;
    void *at = NULL;
    if (gm_cuda_has_failed(c))
        return GM_DEVICE_FAILED;
    if (!gm_cuda_has_room(c, size))
        return GM_DEVICE_FULL;
    cudaError_t code = cudaMalloc(&at, size);
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return GM_DEVICE_FULL;
    }
    if (!gm_cuda_ok(c, "cudaMalloc", code))
        return GM_DEVICE_FAILED;
    *address = (uint64_t)(uintptr_t)at;
    if (note(c, *address, size))
        return GM_DEVICE_OK;
    (void)cudaFree(at); /* the failure is noted already */
    return GM_DEVICE_FAILED;
}

/* Takes a block out of the list; the last one gets its place. */
static void forget(struct gm_cuda *c, uint32_t index)
{
    uint32_t before;
    gm_map_take(&c->block_of, c->blocks.v[index].address);
    c->used -= c->blocks.v[index].size;
    c->blocks.v[index] = c->blocks.v[--c->blocks.n];
    if (index < c->blocks.n) /* is there: no memory is needed to change it */
        gm_map_put(&c->block_of, c->blocks.v[index].address, index, &before);
}

static enum gm_device_status release(void *self, uint64_t address, uint64_t size)
{
    struct gm_cuda *c = self;
    if (gm_cuda_has_failed(c))
        return GM_DEVICE_FAILED;
    uint32_t index = gm_map_get(&c->block_of, address);
    if (index == GM_MAP_NONE || c->blocks.v[index].size != size) {
        gm_cuda_fail(c, GM_E_INTERNAL, "release of 0x%" PRIx64 ", %" PRIu64 " bytes, which were not allocated so",
                     address, size);
        return GM_DEVICE_FAILED;
    }
    if (!gm_cuda_ok(c, "cudaFree", cudaFree((void *)(uintptr_t)address)))
        return GM_DEVICE_FAILED;
    forget(c, index);
    return GM_DEVICE_OK;
}

static uint64_t free_bytes(void *self)
{
    struct gm_cuda *c = self;
    uint64_t free_now = 0, total, left = c->cap - c->used;
    if (gm_cuda_has_failed(c) || !gm_cuda_memory(c, &free_now, &total))
        return 0;
    return free_now < left ? free_now : left;
}

struct gm_device gm_cuda_device(struct gm_cuda *cuda)
{
    uint64_t total = cuda->info.total_bytes < cuda->cap ? cuda->info.total_bytes : cuda->cap;
    return (struct gm_device){.self = cuda,
                              .allocate = allocate,
                              .release = release,
                              .reserve = gm_vmm_reserve,
                              .map = gm_vmm_map,
                              .unmap = gm_vmm_unmap,
                              .unreserve = gm_vmm_unreserve,
                              .free_bytes = free_bytes,
                              .total_bytes = total};
}

bool gm_cuda_scratch(struct gm_cuda *cuda, uint64_t bytes, void **at)
{
    if (!GM_VEC_ROOM(&cuda->scratch, 1))
        return gm_cuda_fail(cuda, GM_E_NOMEM, "out of host memory");
    if (!gm_cuda_ok(cuda, "cudaMalloc", cudaMalloc(at, bytes)))
        return false;
    cuda->scratch.v[cuda->scratch.n++] = *at;
    return true;
}

bool gm_cuda_drop_scratch(struct gm_cuda *cuda, void *at)
{
    for (size_t i = 0; i < cuda->scratch.n; i++)
        if (cuda->scratch.v[i] == at) {
            cuda->scratch.v[i] = cuda->scratch.v[--cuda->scratch.n];
            return gm_cuda_ok(cuda, "cudaFree", cudaFree(at));
        }
    return gm_cuda_fail(cuda, GM_E_INTERNAL, "scratch memory that is none was given back");
}

bool gm_cuda_put(struct gm_cuda *cuda, void *to, const void *host, uint64_t bytes, void *stream)
{
    return gm_cuda_ok(cuda, "cudaMemcpyAsync", cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, stream)) &&
           gm_cuda_wait_stream(cuda, stream);
}

bool gm_cuda_get(struct gm_cuda *cuda, void *host, const void *from, uint64_t bytes, void *stream)
{
    return gm_cuda_ok(cuda, "cudaMemcpyAsync", cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, stream)) &&
           gm_cuda_wait_stream(cuda, stream);
}
