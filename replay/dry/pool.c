/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory pools, from which cudaMallocAsync takes: what a program has of one, and what the pool keeps of its device. How
 * a driver lets one grow is written nowhere. It can put pages behind any addresses, so a pool has no gaps: it is taken
 * to grow by 32 MiB at a time as long as there is so much, then by the driver's pages, and to give back all that is
 * beyond its threshold. So what it keeps is an estimate, what the program has of it is not.
 */
#include "analyze/base/arithmetic.h"
#include "replay/dry/private.h"

#include <stdlib.h>

#define STEP (UINT64_C(32) << 20)
#define PAGE (UINT64_C(2) << 20)
#define ALIGNMENT UINT64_C(512)

enum attribute { THRESHOLD = 4, RESERVED, RESERVED_HIGH, USED, USED_HIGH };

struct dry_pool {
    int device;
    bool is_gone;                              /* as soon as nothing of it is in use */
    uint64_t threshold, values[USED_HIGH + 1]; /* bytes, by attribute */
};

static struct dry_pool defaults[DRY_DEVICES], *chosen[DRY_DEVICES];

static struct dry_pool *default_of(int device)
{
    defaults[device].device = device;
    return &defaults[device];
}

static struct dry_pool *pool_of(int device)
{
    return chosen[device] != NULL ? chosen[device] : default_of(device);
}

static void set_value(struct dry_pool *pool, enum attribute attribute, uint64_t bytes)
{
    pool->values[attribute] = bytes;
    if (pool->values[attribute + 1] < bytes)
        pool->values[attribute + 1] = bytes;
}

static bool grow(struct dry_pool *pool, uint64_t needed)
{
    const uint64_t has = pool->values[RESERVED];
    const uint64_t step = gm_round_up(needed, STEP), room = has + dry_free_bytes(pool->device);
    const uint64_t wish = step <= room ? step : gm_round_up(needed, PAGE);
    if (needed <= has)
        return true;
    const bool fits = dry_charge(pool->device, wish - has);
    if (fits)
        set_value(pool, RESERVED, wish);
    return fits;
}

static void shrink(struct dry_pool *pool, uint64_t keep)
{
    const uint64_t has = pool->values[RESERVED], used = pool->values[USED];
    const uint64_t left = gm_round_up(keep > used ? keep : used, PAGE);
    if (left >= has)
        return;
    dry_discharge(pool->device, has - left);
    set_value(pool, RESERVED, left);
}

static int allocate(void **pointer, uint64_t bytes, struct dry_pool *pool)
{
    const uint64_t whole = gm_round_up(bytes, ALIGNMENT);
    *pointer = NULL;
    if (dry_devices() == 0)
        return dry_result(DRY_NO_DEVICE);
    if (bytes == 0)
        return DRY_OK;
    dry_estimated("cudaMallocAsync");
    dry_lock();
    if (pool == NULL)
        pool = pool_of(dry_current());
    const uint64_t address = grow(pool, pool->values[USED] + whole) ? dry_take(whole, pool->device, false, pool) : 0;
    if (address != 0)
        set_value(pool, USED, pool->values[USED] + whole);
    dry_unlock();
    *pointer = (void *)(uintptr_t)address;
    return address == 0 ? dry_result(DRY_NO_MEMORY) : DRY_OK;
}

static void remove_unused(struct dry_pool *pool)
{
    if (pool->is_gone && pool->values[USED] == 0)
        free(pool);
}

void dry_pool_release(struct dry_pool *pool, uint64_t bytes)
{
    set_value(pool, USED, pool->values[USED] - bytes);
    if (pool->values[RESERVED] > pool->threshold)
        shrink(pool, pool->threshold);
    remove_unused(pool);
}

API_IS(int, cudaMallocAsync, allocate(pointer, bytes, NULL), void **pointer, size_t bytes, void *stream)
API_IS(int, cuMemAllocAsync, allocate(pointer, bytes, NULL), void **pointer, size_t bytes, void *stream)
API_IS(int, cudaMallocFromPoolAsync, allocate(pointer, bytes, pool), void **pointer, size_t bytes,
       struct dry_pool *pool, void *stream)

API(int, cudaDeviceGetDefaultMemPool, struct dry_pool **pool, int device)
{
    if (dry_check_device(device) == DRY_OK)
        *pool = default_of(device);
    return dry_check_device(device);
}

API(int, cudaDeviceGetMemPool, struct dry_pool **pool, int device)
{
    if (dry_check_device(device) == DRY_OK)
        *pool = pool_of(device);
    return dry_check_device(device);
}

API(int, cudaDeviceSetMemPool, int device, struct dry_pool *pool)
{
    if (device < 0 || device >= dry_devices() || pool->device != device)
        return dry_result(DRY_INVALID);
    chosen[device] = pool;
    return DRY_OK;
}

struct properties {
    int type, handle_types, location_type, device;
};

API(int, cudaMemPoolCreate, struct dry_pool **pool, const struct properties *properties)
{
    if (dry_check_device(properties->device) != DRY_OK)
        return DRY_BAD_DEVICE;
    *pool = calloc(1, sizeof **pool);
    if (*pool == NULL)
        return dry_result(DRY_NO_MEMORY);
    (*pool)->device = properties->device;
    return DRY_OK;
}

/* What is still in use of it goes back as it is freed. */
API(int, cudaMemPoolDestroy, struct dry_pool *pool)
{
    dry_lock();
    pool->threshold = 0;
    shrink(pool, 0);
    if (chosen[pool->device] == pool)
        chosen[pool->device] = NULL;
    pool->is_gone = pool != default_of(pool->device);
    remove_unused(pool);
    dry_unlock();
    return DRY_OK;
}

API(int, cudaMemPoolTrimTo, struct dry_pool *pool, size_t keep)
{
    dry_lock();
    shrink(pool, keep);
    dry_unlock();
    return DRY_OK;
}

API(int, cudaMemPoolGetAttribute, struct dry_pool *pool, int attribute, uint64_t *value)
{
    dry_lock();
    *value = attribute == THRESHOLD                            ? pool->threshold
             : attribute >= RESERVED && attribute <= USED_HIGH ? pool->values[attribute]
                                                               : 0;
    dry_unlock();
    return DRY_OK;
}

/* The largest values can be set to the current ones. */
API(int, cudaMemPoolSetAttribute, struct dry_pool *pool, int attribute, const uint64_t *value)
{
    dry_lock();
    if (attribute == THRESHOLD)
        pool->threshold = *value;
    else if (attribute == RESERVED_HIGH || attribute == USED_HIGH)
        pool->values[attribute] = pool->values[attribute - 1];
    dry_unlock();
    return DRY_OK;
}
