/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory: reservations, handles of memory, mappings. The driver's rules that a program can break are checked.
 */
#include "tests/fake_cuda/private.h"

#include <string.h>

#define MOST 32768

struct range {
    uint64_t address, size;
};
static struct range reservations[MOST], mappings[MOST];
static uint64_t handle_of[MOST]; /* [mapping] */
static size_t reserved, mapped;
static uint64_t next_reservation;
static struct {
    uint64_t size; /* 0: not in use */
    unsigned mappings;
    bool is_released;
} handles[MOST];

void fake_vmm_end(void)
{
    reserved = mapped = 0;
    next_reservation = 0;
    memset(handles, 0, sizeof handles);
}

void fake_vmm_held(struct fake_cuda_held *held)
{
    held->reservations = reserved;
    held->mappings = mapped;
    for (size_t i = 0; i < MOST; i++)
        held->handles += handles[i].size > 0 && !handles[i].is_released;
}

static void collect(uint64_t i)
{
    if (!handles[i].is_released || handles[i].mappings > 0)
        return;
    fake_used -= handles[i].size;
    handles[i].size = 0;
}

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags which)
{
    FAKE_DRIVER_BEGIN();
    (void)which;
    *bytes = FAKE_PAGE;
    return properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr wish,
                             unsigned long long flags)
{
    FAKE_DRIVER_BEGIN();
    if (size == 0 || size % FAKE_PAGE != 0 || alignment != 0 || wish != 0 || flags != 0 || reserved == MOST)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t at = next_reservation == 0 ? fake_reserve_base() : next_reservation;
    if (size > fake_reserve_end() - at)
        return CUDA_ERROR_OUT_OF_MEMORY;
    next_reservation = at + size + FAKE_PAGE;
    reservations[reserved++] = (struct range){at, size};
    *address = at;
    return CUDA_SUCCESS;
}

static bool is_within(struct range r, uint64_t address, uint64_t size)
{
    return address >= r.address && address - r.address < r.size && size <= r.size - (address - r.address);
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size)
{
    FAKE_DRIVER_BEGIN();
    size_t i = 0;
    while (i < reserved && (reservations[i].address != address || reservations[i].size != size))
        i++;
    for (size_t k = 0; k < mapped; k++)
        if (is_within((struct range){address, size}, mappings[k].address, 1))
            return CUDA_ERROR_INVALID_VALUE;
    if (i == reserved)
        return CUDA_ERROR_INVALID_VALUE;
    reservations[i] = reservations[--reserved];
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *properties,
                     unsigned long long flags)
{
    FAKE_DRIVER_BEGIN();
    size_t i = 0;
    if (size == 0 || size % FAKE_PAGE != 0 || flags != 0 || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    while (i < MOST && handles[i].size > 0)
        i++;
    if (i == MOST || !fake_takes(size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    handles[i].size = size;
    handles[i].mappings = 0;
    handles[i].is_released = false;
    *handle = i + 1;
    return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    FAKE_DRIVER_BEGIN();
    if (handle == 0 || handle > MOST || handles[handle - 1].size == 0 || handles[handle - 1].is_released)
        return CUDA_ERROR_INVALID_VALUE;
    handles[handle - 1].is_released = true;
    collect(handle - 1);
    return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    FAKE_DRIVER_BEGIN();
    bool is_reserved = false;
    for (size_t i = 0; i < reserved; i++)
        is_reserved |= is_within(reservations[i], address, size);
    if (!is_reserved || address % FAKE_PAGE != 0 || offset != 0 || flags != 0 || handle == 0 || handle > MOST ||
        handles[handle - 1].size != size || handles[handle - 1].is_released || mapped == MOST)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < mapped; i++)
        if (mappings[i].address < address + size && address < mappings[i].address + mappings[i].size)
            return CUDA_ERROR_INVALID_VALUE;
    handle_of[mapped] = handle - 1;
    mappings[mapped++] = (struct range){address, size};
    handles[handle - 1].mappings++;
    return CUDA_SUCCESS;
}

/* Whole mappings that make up the range; does not wait for anybody. */
CUresult cuMemUnmap(CUdeviceptr address, size_t size)
{
    FAKE_DRIVER_BEGIN();
    uint64_t sum = 0;
    for (size_t i = 0; i < mapped; i++)
        sum += is_within((struct range){address, size}, mappings[i].address, mappings[i].size) ? mappings[i].size : 0;
    if (sum != size || size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = mapped; i-- > 0;) {
        if (!is_within((struct range){address, size}, mappings[i].address, mappings[i].size))
            continue;
        uint64_t handle = handle_of[i];
        fake_shut(mappings[i].address, mappings[i].size);
        mapped--;
        mappings[i] = mappings[mapped];
        handle_of[i] = handle_of[mapped];
        handles[handle].mappings--;
        collect(handle);
    }
    return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access, size_t count)
{
    FAKE_DRIVER_BEGIN();
    uint64_t sum = 0;
    for (size_t i = 0; i < mapped; i++)
        sum += is_within((struct range){address, size}, mappings[i].address, mappings[i].size) ? mappings[i].size : 0;
    if (sum != size || count != 1 || access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return CUDA_ERROR_INVALID_VALUE;
    fake_open(address, size);
    return CUDA_SUCCESS;
}
