/* SPDX-License-Identifier: Apache-2.0
 *
 * cudaMallocAsync: a memory pool of the driver's.
 */
#include "analyze/base/freed.h"
#include "replay/cuda/cuda_private.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdlib.h>

struct gm_cuda_pool {
    struct gm_cuda *cuda;
    cudaMemPool_t handle;
    struct GM_VEC(struct gm_cuda_block) blocks;
    struct gm_address_map block_of; /* address: index in blocks */
};

bool gm_cuda_pool_open(struct gm_cuda *cuda, struct gm_cuda_pool **pool)
{
    struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned};
    uint64_t keep = UINT64_MAX, total = gm_cuda_device(cuda).total_bytes;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = cuda->ordinal;
    if (total < cuda->info.total_bytes) /* 0 is: no limit */
        properties.maxSize = total > 0 ? total : 1;
    *pool = NULL;
    struct gm_cuda_pool *p = calloc(1, sizeof *p);
    if (p == NULL)
        return gm_cuda_fail(cuda, GM_E_NOMEM, "out of host memory");
    p->cuda = cuda;
    if (!gm_cuda_ok(cuda, "cudaMemPoolCreate", cudaMemPoolCreate(&p->handle, &properties))) {
        free(p);
        return false;
    }
    if (!gm_cuda_ok(cuda, "cudaMemPoolSetAttribute",
                    cudaMemPoolSetAttribute(p->handle, cudaMemPoolAttrReleaseThreshold, &keep))) {
        (void)cudaMemPoolDestroy(p->handle); /* the failure is noted already */
        free(p);
        return false;
    }
    cuda->pools++;
    *pool = p;
    return true;
}

bool gm_cuda_pool_close(struct gm_cuda_pool *pool)
{
    struct gm_cuda *c = pool->cuda;
    bool is_ok = gm_cuda_wait(c);
    for (size_t i = 0; i < pool->blocks.n; i++)
        is_ok &= gm_cuda_ok(c, "cudaFreeAsync", cudaFreeAsync((void *)(uintptr_t)pool->blocks.v[i].address, NULL));
    is_ok &= gm_cuda_wait(c);
    is_ok &= gm_cuda_ok(c, "cudaMemPoolDestroy", cudaMemPoolDestroy(pool->handle));
    c->pools--;
    gm_map_free(&pool->block_of);
    GM_FREE_ALL(pool->blocks.v, pool);
    return is_ok;
}

enum gm_device_status gm_cuda_pool_allocate(struct gm_cuda_pool *pool, uint64_t size, void *stream, uint64_t *address)
{
    struct gm_cuda *c = pool->cuda;
    uint32_t before;
    void *at = NULL;
    if (gm_cuda_has_failed(c))
        return GM_DEVICE_FAILED;
    if (!GM_VEC_ROOM(&pool->blocks, 1) || pool->blocks.n >= UINT32_MAX - 1) {
        gm_cuda_fail(c, GM_E_NOMEM, "out of host memory");
        return GM_DEVICE_FAILED;
    }
    cudaError_t code = cudaMallocFromPoolAsync(&at, size, pool->handle, stream);
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return GM_DEVICE_FULL;
    }
    if (!gm_cuda_ok(c, "cudaMallocFromPoolAsync", code))
        return GM_DEVICE_FAILED;
    *address = (uint64_t)(uintptr_t)at;
    if (!gm_map_put(&pool->block_of, *address, (uint32_t)pool->blocks.n, &before)) {
        (void)cudaFreeAsync(at, stream);
        gm_cuda_fail(c, GM_E_NOMEM, "out of host memory");
        return GM_DEVICE_FAILED;
    }
    pool->blocks.v[pool->blocks.n++] = (struct gm_cuda_block){*address, size};
    return GM_DEVICE_OK;
}

enum gm_device_status gm_cuda_pool_release(struct gm_cuda_pool *pool, uint64_t address, void *stream)
{
    struct gm_cuda *c = pool->cuda;
    uint32_t before, index = gm_map_get(&pool->block_of, address);
    if (gm_cuda_has_failed(c))
        return GM_DEVICE_FAILED;
    if (index == GM_MAP_NONE) {
        gm_cuda_fail(c, GM_E_INTERNAL, "release of 0x%" PRIx64 ", which is not allocated in the pool", address);
        return GM_DEVICE_FAILED;
    }
    if (!gm_cuda_ok(c, "cudaFreeAsync", cudaFreeAsync((void *)(uintptr_t)address, stream)))
        return GM_DEVICE_FAILED;
    gm_map_take(&pool->block_of, address);
    pool->blocks.v[index] = pool->blocks.v[--pool->blocks.n];
    if (index < pool->blocks.n)
        gm_map_put(&pool->block_of, pool->blocks.v[index].address, index, &before);
    return GM_DEVICE_OK;
}

bool gm_cuda_pool_trim(struct gm_cuda_pool *pool)
{
    return gm_cuda_wait(pool->cuda) && gm_cuda_ok(pool->cuda, "cudaMemPoolTrimTo", cudaMemPoolTrimTo(pool->handle, 0));
}

static bool figure(struct gm_cuda_pool *pool, enum cudaMemPoolAttr which, uint64_t *value)
{
    return gm_cuda_ok(pool->cuda, "cudaMemPoolGetAttribute", cudaMemPoolGetAttribute(pool->handle, which, value));
}

bool gm_cuda_pool_figures(struct gm_cuda_pool *pool, struct gm_cuda_pool_figures *figures)
{
    return figure(pool, cudaMemPoolAttrReservedMemCurrent, &figures->reserved) &&
           figure(pool, cudaMemPoolAttrReservedMemHigh, &figures->reserved_high) &&
           figure(pool, cudaMemPoolAttrUsedMemCurrent, &figures->used) &&
           figure(pool, cudaMemPoolAttrUsedMemHigh, &figures->used_high);
}
