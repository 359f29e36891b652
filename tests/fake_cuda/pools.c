/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory pools: first fit in chunks of 32 MiB or more, which the pool keeps until it is trimmed.
 */
#include "tests/fake_cuda/private.h"

#include <stdlib.h>

#define CHUNK (UINT64_C(32) << 20)
#define ROUND UINT64_C(512)

struct piece {
    struct piece *next; /* of its chunk, ascending */
    uint64_t address, size;
    bool is_used;
};
struct chunk {
    struct chunk *next;
    uint64_t address, size;
    struct piece *pieces;
};
struct CUmemPoolHandle_st {
    struct CUmemPoolHandle_st *next;
    struct chunk *chunks;
    uint64_t most; /* 0: no limit */
    uint64_t reserved, reserved_high, used, used_high, threshold;
};
static struct CUmemPoolHandle_st *pools;

static void *get(size_t size)
{
    void *made = calloc(1, size);
    if (made == NULL)
        abort();
    return made;
}

static void free_chunk(struct CUmemPoolHandle_st *pool, struct chunk *chunk)
{
    while (chunk->pieces != NULL) {
        struct piece *next = chunk->pieces->next;
        free(chunk->pieces);
        chunk->pieces = next;
    }
    fake_remove((void *)(uintptr_t)chunk->address);
    fake_used -= chunk->size;
    pool->reserved -= chunk->size;
    free(chunk);
}

static void free_pool(struct CUmemPoolHandle_st *pool)
{
    while (pool->chunks != NULL) {
        struct chunk *next = pool->chunks->next;
        free_chunk(pool, pool->chunks);
        pool->chunks = next;
    }
    free(pool);
}

void fake_pools_end(void)
{
    while (pools != NULL) {
        struct CUmemPoolHandle_st *next = pools->next;
        free_pool(pools);
        pools = next;
    }
}

void fake_pools_held(struct fake_cuda_held *held)
{
    for (const struct CUmemPoolHandle_st *p = pools; p != NULL; p = p->next)
        held->pools++;
}

static bool is_pool(const struct CUmemPoolHandle_st *pool)
{
    const struct CUmemPoolHandle_st *p = pools;
    while (p != NULL && p != pool)
        p = p->next;
    return p != NULL;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
    FAKE_BEGIN();
    if (properties->allocType != cudaMemAllocationTypePinned || properties->location.type != cudaMemLocationTypeDevice)
        return fake_returns(cudaErrorInvalidValue);
    struct CUmemPoolHandle_st *made = get(sizeof *made);
    made->most = properties->maxSize;
    made->next = pools;
    *pool = pools = made;
    return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    FAKE_BEGIN();
    if (!is_pool(pool) || pool->used > 0)
        return fake_returns(cudaErrorInvalidValue);
    struct CUmemPoolHandle_st **at = &pools;
    while (*at != pool)
        at = &(*at)->next;
    *at = pool->next;
    free_pool(pool);
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value)
{
    FAKE_BEGIN();
    if (!is_pool(pool) || which != cudaMemPoolAttrReleaseThreshold)
        return fake_returns(cudaErrorInvalidValue);
    pool->threshold = *(const uint64_t *)value;
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value)
{
    FAKE_BEGIN();
    if (!is_pool(pool))
        return fake_returns(cudaErrorInvalidValue);
    uint64_t *to = value;
    if (which == cudaMemPoolAttrReservedMemCurrent)
        *to = pool->reserved;
    else if (which == cudaMemPoolAttrReservedMemHigh)
        *to = pool->reserved_high;
    else if (which == cudaMemPoolAttrUsedMemCurrent)
        *to = pool->used;
    else if (which == cudaMemPoolAttrUsedMemHigh)
        *to = pool->used_high;
    else
        return fake_returns(cudaErrorInvalidValue);
    return cudaSuccess;
}

/* All or nothing: `keep` is 0 wherever we call it. */
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    FAKE_BEGIN();
    if (!is_pool(pool) || keep != 0)
        return fake_returns(cudaErrorInvalidValue);
    for (struct chunk **at = &pool->chunks; *at != NULL;) {
        struct chunk *chunk = *at;
        if (chunk->pieces->is_used || chunk->pieces->next != NULL) {
            at = &chunk->next;
            continue;
        }
        *at = chunk->next;
        free_chunk(pool, chunk);
    }
    return cudaSuccess;
}

static struct piece *fitting(struct CUmemPoolHandle_st *pool, uint64_t size)
{
    for (struct chunk *c = pool->chunks; c != NULL; c = c->next)
        for (struct piece *p = c->pieces; p != NULL; p = p->next)
            if (!p->is_used && p->size >= size)
                return p;
    return NULL;
}

static struct piece *grow(struct CUmemPoolHandle_st *pool, uint64_t size)
{
    uint64_t chunk_size = (size + CHUNK - 1) / CHUNK * CHUNK;
    if ((pool->most != 0 && (chunk_size > pool->most || pool->reserved > pool->most - chunk_size)) ||
        !fake_takes(chunk_size))
        return NULL;
    struct chunk *chunk = get(sizeof *chunk);
    chunk->address = (uint64_t)(uintptr_t)fake_place(chunk_size);
    chunk->size = chunk_size;
    chunk->pieces = get(sizeof *chunk->pieces);
    chunk->pieces->address = chunk->address;
    chunk->pieces->size = chunk_size;
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    pool->reserved += chunk_size;
    pool->reserved_high = pool->reserved > pool->reserved_high ? pool->reserved : pool->reserved_high;
    return chunk->pieces;
}

cudaError_t cudaMallocFromPoolAsync(void **address, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    FAKE_BEGIN();
    (void)stream;
    if (!is_pool(pool) || size == 0)
        return fake_returns(cudaErrorInvalidValue);
    uint64_t rounded = (size + ROUND - 1) / ROUND * ROUND;
    struct piece *p = fitting(pool, rounded);
    if (p == NULL)
        p = grow(pool, rounded);
    if (p == NULL)
        return fake_returns(cudaErrorMemoryAllocation);
    if (p->size > rounded) {
        struct piece *rest = get(sizeof *rest);
        *rest = (struct piece){p->next, p->address + rounded, p->size - rounded, false};
        p->next = rest;
        p->size = rounded;
    }
    p->is_used = true;
    pool->used += rounded;
    pool->used_high = pool->used > pool->used_high ? pool->used : pool->used_high;
    *address = (void *)(uintptr_t)p->address;
    return cudaSuccess;
}

static bool give_back(struct CUmemPoolHandle_st *pool, struct chunk *chunk, uint64_t address)
{
    struct piece *before = NULL, *p = chunk->pieces;
    for (; p != NULL && (p->address != address || !p->is_used); p = p->next)
        before = p;
    if (p == NULL)
        return false;
    p->is_used = false;
    pool->used -= p->size;
    if (p->next != NULL && !p->next->is_used) {
        struct piece *next = p->next;
        p->size += next->size;
        p->next = next->next;
        free(next);
    }
    if (before != NULL && !before->is_used) {
        before->size += p->size;
        before->next = p->next;
        free(p);
    }
    return true;
}

/* At once: what the stream still does with it is done first. */
cudaError_t cudaFreeAsync(void *address, cudaStream_t stream)
{
    FAKE_BEGIN();
    (void)stream;
    fake_do_all();
    for (struct CUmemPoolHandle_st *pool = pools; pool != NULL; pool = pool->next)
        for (struct chunk *c = pool->chunks; c != NULL; c = c->next)
            if (give_back(pool, c, (uint64_t)(uintptr_t)address))
                return cudaSuccess;
    return fake_returns(cudaErrorInvalidValue);
}
