/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory: cudaMalloc and its kin, the driver's virtual memory, and copies. Memory of the host is real, managed memory,
 * too; memory of the device is addresses. What a copy brings to the host is made up (--data).
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/freed.h"
#include "replay/dry/private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)
#define GRANULARITY (UINT64_C(2) << 20)

/* ---- allocations ------------------------------------------------------------------------------------------------- */

static int allocate(void **pointer, uint64_t bytes)
{
    *pointer = NULL;
    if (dry_devices() == 0)
        return dry_result(DRY_NO_DEVICE);
    if (bytes == 0)
        return DRY_OK;
    const int device = dry_current();
    dry_lock();
    uint64_t address = 0;
    if (dry_charge(device, bytes)) {
        address = dry_take(bytes, device, false, NULL);
        if (address == 0)
            dry_discharge(device, bytes);
    }
    dry_unlock();
    *pointer = (void *)(uintptr_t)address;
    return address == 0 ? dry_result(DRY_NO_MEMORY) : DRY_OK;
}

static int release(void *pointer)
{
    struct dry_range range;
    if (pointer == NULL)
        return DRY_OK;
    dry_lock();
    const bool is_ours = dry_give((uint64_t)(uintptr_t)pointer, false, &range);
    if (is_ours && range.pool != NULL)
        dry_pool_release(range.pool, range.bytes);
    else if (is_ours)
        dry_discharge(range.device, range.bytes);
    dry_unlock();
    return is_ours ? DRY_OK : dry_result(DRY_INVALID);
}

static bool find_range(const void *pointer, struct dry_range *range)
{
    dry_lock();
    const bool is_found = dry_find((uint64_t)(uintptr_t)pointer, range);
    dry_unlock();
    return is_found;
}

/* The host's memory that the driver knows. */
static struct pinned {
    const char *begin;
    uint64_t bytes;
} * pinned;
static size_t pinned_count, pinned_room;

static int pin(const void *pointer, uint64_t bytes)
{
    dry_lock();
    const bool ok = dry_make_room(&pinned, pinned_count, &pinned_room, sizeof *pinned);
    if (ok)
        pinned[pinned_count++] = (struct pinned){pointer, bytes};
    dry_unlock();
    return ok ? DRY_OK : dry_result(DRY_NO_MEMORY);
}

static int unpin(const void *pointer)
{
    dry_lock();
    for (size_t i = pinned_count; i-- > 0;)
        if (pinned[i].begin == pointer)
            pinned[i] = pinned[--pinned_count];
    dry_unlock();
    return DRY_OK;
}

static bool is_pinned(const void *pointer)
{
    bool is = false;
    dry_lock();
    for (size_t i = 0; i < pinned_count && !is; i++)
        is = (uint64_t)((uintptr_t)pointer - (uintptr_t)pinned[i].begin) < pinned[i].bytes;
    dry_unlock();
    return is;
}

static int allocate_host(void **pointer, uint64_t bytes)
{
    *pointer = aligned_alloc(PAGE, gm_round_up(bytes, PAGE));
    return *pointer == NULL && bytes > 0 ? dry_result(DRY_NO_MEMORY) : pin(*pointer, bytes);
}

static int free_host(void *pointer)
{
    unpin(pointer);
    free(pointer);
    return DRY_OK;
}

static int tell_free(size_t *free_bytes, size_t *total)
{
    if (dry_devices() == 0)
        return dry_result(DRY_NO_DEVICE);
    dry_lock();
    *free_bytes = dry_free_bytes(dry_current());
    dry_unlock();
    *total = dry_card()->total;
    return DRY_OK;
}

API_IS(int, cudaMalloc, allocate(pointer, bytes), void **pointer, size_t bytes)

/* It waits for the device. */
API(int, cudaFree, void *pointer)
{
    dry_wait_all();
    return release(pointer);
}

API_IS(int, cudaFreeAsync, release(pointer), void *pointer, void *stream)
API_IS(int, cuMemAlloc_v2, allocate(pointer, bytes), void **pointer, size_t bytes)
API_IS(int, cuMemFree_v2, release(pointer), void *pointer)
API_IS(int, cuMemFreeAsync, release(pointer), void *pointer, void *stream)

/* Rows at multiples of what textures want. */
API(int, cudaMallocPitch, void **pointer, size_t *pitch, size_t width, size_t height)
{
    enum { ALIGNMENT = 512 };
    *pitch = gm_round_up(width, ALIGNMENT);
    return allocate(pointer, *pitch * height);
}

API_IS(int, ncclMemAlloc, allocate(pointer, bytes) == DRY_OK ? 0 : 1, void **pointer, size_t bytes)
API_IS(int, ncclMemFree, release(pointer) == DRY_OK ? 0 : 4, void *pointer)
API_IS(int, cudaMemGetInfo, tell_free(free_bytes, total), size_t *free_bytes, size_t *total)
API_IS(int, cuMemGetInfo_v2, tell_free(free_bytes, total), size_t *free_bytes, size_t *total)
API_IS(int, cudaHostAlloc, allocate_host(pointer, bytes), void **pointer, size_t bytes, unsigned flags)
API_IS(int, cudaMallocHost, allocate_host(pointer, bytes), void **pointer, size_t bytes)
API_IS(int, cuMemAllocHost_v2, allocate_host(pointer, bytes), void **pointer, size_t bytes)
API_IS(int, cudaFreeHost, free_host(pointer), void *pointer)
API_IS(int, cuMemFreeHost, free_host(pointer), void *pointer)
API_IS(int, cudaHostRegister, pin(pointer, bytes), void *pointer, size_t bytes, unsigned flags)
API_IS(int, cudaHostUnregister, unpin(pointer), void *pointer)

/* Real memory, which kernels would fault in: not counted as the device's. It is freed by cudaFree, so never. */
API_IS(int, cudaMallocManaged, allocate_host(pointer, bytes), void **pointer, size_t bytes, unsigned flags)
API_SETS(cudaHostGetDevicePointer, *device, host, void **device, void *host, unsigned flags)

/* ---- sharing with another process -------------------------------------------------------------------------------- */

/* What a handle says: the memory is its maker's, and counted there. */
struct shared {
    uint64_t bytes;
    int device; /* of the machine */
    char unused[64 - sizeof(uint64_t) - sizeof(int)];
};

API(int, cudaIpcGetMemHandle, struct shared *handle, void *pointer)
{
    struct dry_range range;
    if (!find_range(pointer, &range))
        return dry_result(DRY_INVALID);
    *handle = (struct shared){.bytes = range.bytes, .device = dry_physical(range.device)};
    return DRY_OK;
}

/* dry_devices(): this process does not see it. */
static int visible_of(int physical)
{
    int device = 0;
    while (device < dry_devices() && dry_physical(device) != physical)
        device++;
    return device;
}

/* Addresses of its own in this process. What lies there is not known. */
API(int, cudaIpcOpenMemHandle, void **pointer, struct shared handle, unsigned flags)
{
    const int device = visible_of(handle.device);
    dry_lock();
    const uint64_t address = device < dry_devices() ? dry_take(handle.bytes, device, false, NULL) : 0;
    dry_unlock();
    *pointer = (void *)(uintptr_t)address;
    return address == 0 ? dry_result(DRY_INVALID) : DRY_OK;
}

API(int, cudaIpcCloseMemHandle, void *pointer)
{
    struct dry_range range;
    dry_lock();
    const bool is_ours = dry_give((uint64_t)(uintptr_t)pointer, false, &range);
    dry_unlock();
    return is_ours ? DRY_OK : dry_result(DRY_INVALID);
}

/* ---- what a pointer is ------------------------------------------------------------------------------------------- */

struct pointer_attributes {
    int type, device; /* cudaMemoryType */
    void *device_pointer, *host_pointer;
    long reserved[8]; /* since CUDA 13 */
};

API(int, cudaPointerGetAttributes, struct pointer_attributes *attributes, const void *pointer)
{
    const bool is_device = dry_is_device(pointer), is_known = is_device || is_pinned(pointer);
    struct dry_range range = {.device = 0};
    void *same;
    memcpy(&same, &pointer, sizeof same);
    find_range(pointer, &range);
    attributes->type = is_device ? 2 : is_known;
    attributes->device = is_known ? range.device : -2;
    attributes->device_pointer = is_known ? same : NULL;
    attributes->host_pointer = is_device ? NULL : same;
    return DRY_OK;
}

API(int, cuPointerGetAttribute, void *value, int attribute, const void *pointer)
{
    enum { CONTEXT = 1, MEMORY_TYPE = 2, DEVICE_POINTER = 3, HOST_POINTER = 4, BUFFER_ID = 7, ORDINAL = 9, START = 11 };
    struct dry_range range;
    if (!find_range(pointer, &range))
        return DRY_INVALID;
    const uint64_t address = attribute == START     ? range.begin
                             : attribute == CONTEXT ? (uint64_t)(uintptr_t)dry_handle()
                                                    : (uint64_t)(uintptr_t)pointer;
    const int number = attribute == MEMORY_TYPE ? 2 : attribute == ORDINAL ? range.device : 0;
    if (attribute == CONTEXT || attribute == DEVICE_POINTER || attribute == START || attribute == BUFFER_ID)
        memcpy(value, &address, sizeof address);
    else
        memcpy(value, &number, sizeof number);
    return attribute == HOST_POINTER ? DRY_INVALID : DRY_OK;
}

static int tell_range(uint64_t *begin, size_t *bytes, const void *address)
{
    struct dry_range range;
    if (!find_range(address, &range))
        return DRY_NOT_FOUND;
    if (begin != NULL)
        *begin = range.begin;
    if (bytes != NULL)
        *bytes = range.bytes;
    return DRY_OK;
}

API_IS(int, cuMemGetAddressRange_v2, tell_range(begin, bytes, address), uint64_t *begin, size_t *bytes,
       const void *address)
API_IS(int, cuMemGetAddressRange, tell_range(begin, bytes, address), uint64_t *begin, size_t *bytes,
       const void *address)

/* ---- virtual memory ---------------------------------------------------------------------------------------------- */

struct location {
    int type, id;
};

struct physical_properties {
    int type, handle_types;
    struct location location;
};

/* Physical memory: held by who made it and by every mapping of it. */
struct physical {
    uint64_t bytes;
    unsigned holders;
    int device;
    bool is_foreign; /* another process's, and counted there */
};

struct mapping {
    uint64_t begin, bytes;
    struct physical *physical;
};

static struct mapping *mappings; /* in no order */
static size_t mapping_count, mapping_room;

static void let_go(struct physical *physical)
{
    if (--physical->holders > 0)
        return;
    if (!physical->is_foreign)
        dry_discharge(physical->device, physical->bytes);
    free(physical);
}

API_SETS(cuMemGetAllocationGranularity, *granularity, GRANULARITY, size_t *granularity,
         const struct physical_properties *properties, int option)

API(int, cuMemAddressReserve, uint64_t *address, size_t bytes, size_t alignment, uint64_t wish,
    unsigned long long flags)
{
    dry_lock();
    *address = dry_take(bytes, dry_current(), true, NULL);
    dry_unlock();
    return *address == 0 ? DRY_NO_MEMORY : DRY_OK;
}

API(int, cuMemAddressFree, uint64_t address, size_t bytes)
{
    struct dry_range range;
    dry_lock();
    const bool is_ours = dry_give(address, true, &range);
    dry_unlock();
    return is_ours ? DRY_OK : DRY_INVALID;
}

enum { POSIX_FILE = 1, FABRIC = 8 }; /* kinds of handles */

API(int, cuMemCreate, struct physical **handle, size_t bytes, const struct physical_properties *properties,
    unsigned long long flags)
{
    const int device = properties->location.id;
    if ((properties->handle_types & FABRIC) != 0)
        return DRY_NOT_SUPPORTED;
    if (device < 0 || device >= dry_devices() || bytes == 0 || bytes % GRANULARITY != 0)
        return DRY_INVALID;
    struct physical *physical = malloc(sizeof *physical);
    dry_lock();
    const bool fits = physical != NULL && dry_charge(device, bytes);
    dry_unlock();
    if (!fits) {
        free(physical);
        return DRY_NO_MEMORY;
    }
    *physical = (struct physical){.bytes = bytes, .holders = 1, .device = device};
    *handle = physical;
    return DRY_OK;
}

API(int, cuMemRelease, struct physical *handle)
{
    dry_lock();
    let_go(handle);
    dry_unlock();
    return DRY_OK;
}

static int map(uint64_t begin, uint64_t bytes, struct physical *physical)
{
    if (bytes > physical->bytes)
        return DRY_INVALID;
    for (size_t i = 0; i < mapping_count; i++)
        if (mappings[i].begin < begin + bytes && begin < mappings[i].begin + mappings[i].bytes)
            return DRY_INVALID;
    if (!dry_make_room(&mappings, mapping_count, &mapping_room, sizeof *mappings))
        return DRY_NO_MEMORY;
    mappings[mapping_count++] = (struct mapping){begin, bytes, physical};
    physical->holders++;
    return DRY_OK;
}

API(int, cuMemMap, uint64_t begin, size_t bytes, size_t offset, struct physical *handle, unsigned long long flags)
{
    dry_lock();
    const int error = map(begin, bytes, handle);
    dry_unlock();
    return error;
}

/* Whole mappings only, as on a card. */
static int unmap(uint64_t begin, uint64_t bytes)
{
    uint64_t whole = 0;
    for (size_t i = 0; i < mapping_count; i++)
        if (mappings[i].begin >= begin && mappings[i].begin + mappings[i].bytes <= begin + bytes)
            whole += mappings[i].bytes;
    if (whole != bytes)
        return DRY_INVALID;
    for (size_t i = mapping_count; i-- > 0;)
        if (mappings[i].begin >= begin && mappings[i].begin + mappings[i].bytes <= begin + bytes) {
            let_go(mappings[i].physical);
            mappings[i] = mappings[--mapping_count];
        }
    return DRY_OK;
}

API(int, cuMemUnmap, uint64_t begin, size_t bytes)
{
    dry_lock();
    const int error = unmap(begin, bytes);
    dry_unlock();
    return error;
}

/* A file, which goes to the other process as a card's would, and says what the memory is. */
API(int, cuMemExportToShareableHandle, int *file, struct physical *handle, int type, unsigned long long flags)
{
    const struct shared shared = {.bytes = handle->bytes, .device = dry_physical(handle->device)};
    if (type != POSIX_FILE)
        return DRY_NOT_SUPPORTED;
    *file = memfd_create("gmdry", MFD_CLOEXEC);
    if (*file >= 0 && pwrite(*file, &shared, sizeof shared, 0) == sizeof shared)
        return DRY_OK;
    if (*file >= 0)
        close(*file);
    return DRY_NOT_SUPPORTED;
}

API(int, cuMemImportFromShareableHandle, struct physical **handle, void *file, int type)
{
    struct shared shared;
    if (type != POSIX_FILE)
        return DRY_NOT_SUPPORTED;
    if (pread((int)(intptr_t)file, &shared, sizeof shared, 0) != sizeof shared)
        return DRY_INVALID;
    const int device = visible_of(shared.device);
    *handle = device < dry_devices() ? malloc(sizeof **handle) : NULL;
    if (*handle == NULL)
        return DRY_INVALID;
    **handle = (struct physical){.bytes = shared.bytes, .holders = 1, .device = device, .is_foreign = true};
    return DRY_OK;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static void make_up(void *to, const void *from, uint64_t bytes)
{
    enum dry_type type;
    const enum dry_reading reading = dry_read(from, bytes, &type);
    dry_make_up(to, bytes, reading, type);
}

/* What was written there is read there, as far as it is known; between two places of the host a copy is a copy. */
static int copy(void *to, const void *from, uint64_t bytes)
{
    const bool to_device = dry_is_device(to), from_device = dry_is_device(from);
    bool is_guess = false;
    enum dry_type type;
    if (bytes == 0)
        return DRY_OK;
    GM_FREED char *known = from_device && !to_device ? dry_kept(from, bytes, &is_guess) : NULL;
    if (to_device && from_device)
        dry_move(to, from, bytes);
    else if (to_device)
        dry_keep(to, from, bytes, false);
    else if (known != NULL)
        memcpy(to, known, bytes);
    else if (from_device)
        make_up(to, from, bytes);
    else
        memmove(to, from, bytes);
    if (known != NULL && is_guess)
        dry_read(NULL, bytes, &type);
    return DRY_OK;
}

static int copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height)
{
    for (size_t i = 0; i < height; i++)
        copy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width);
    return DRY_OK;
}

API(int, cudaMemcpy, void *to, const void *from, size_t bytes, int kind)
{
    dry_wait(0, UINT64_MAX);
    dry_order_reach(dry_stream_clock(NULL));
    return copy(to, from, bytes);
}

API_IS(int, cudaMemcpyAsync, copy(to, from, bytes), void *to, const void *from, size_t bytes, int kind, void *stream)
API_IS(int, cudaMemcpy2D, copy_rows(to, to_pitch, from, from_pitch, width, height), void *to, size_t to_pitch,
       const void *from, size_t from_pitch, size_t width, size_t height, int kind)
API_IS(int, cudaMemcpy2DAsync, copy_rows(to, to_pitch, from, from_pitch, width, height), void *to, size_t to_pitch,
       const void *from, size_t from_pitch, size_t width, size_t height, int kind, void *stream)

static int copy_symbol(void *to, size_t bytes)
{
    if (!dry_is_device(to))
        make_up(to, NULL, bytes);
    return DRY_OK;
}

API_IS(int, cudaMemcpyFromSymbol, copy_symbol(to, bytes), void *to, const void *symbol, size_t bytes, size_t offset,
       int kind)
API_IS(int, cudaMemcpyFromSymbolAsync, copy_symbol(to, bytes), void *to, const void *symbol, size_t bytes,
       size_t offset, int kind, void *stream)
API_IS(int, cuMemcpyHtoD_v2, copy(to, from, bytes), void *to, const void *from, size_t bytes)
API_IS(int, cuMemcpyHtoDAsync_v2, copy(to, from, bytes), void *to, const void *from, size_t bytes, void *stream)
API_IS(int, cuMemcpyDtoDAsync_v2, copy(to, from, bytes), void *to, const void *from, size_t bytes, void *stream)
API_IS(int, cuMemcpyDtoH_v2, copy(to, from, bytes), void *to, const void *from, size_t bytes)
API_IS(int, cuMemcpyDtoHAsync_v2, copy(to, from, bytes), void *to, const void *from, size_t bytes, void *stream)

/* ---- fills ------------------------------------------------------------------------------------------------------- */

static int set(void *to, uint32_t value, uint64_t size, uint64_t elements)
{
    if (dry_is_device(to))
        dry_fill(to, &value, size, elements);
    else
        for (uint64_t i = 0; i < elements; i++)
            memcpy((char *)to + i * size, &value, size);
    return DRY_OK;
}

API_IS(int, cudaMemset, set(to, (uint32_t)value, 1, bytes), void *to, int value, size_t bytes)
API_IS(int, cudaMemsetAsync, set(to, (uint32_t)value, 1, bytes), void *to, int value, size_t bytes, void *stream)
API_IS(int, cuMemsetD8_v2, set(to, value, 1, elements), void *to, unsigned char value, size_t elements)
API_IS(int, cuMemsetD8Async, set(to, value, 1, elements), void *to, unsigned char value, size_t elements, void *stream)
API_IS(int, cuMemsetD32_v2, set(to, value, 4, elements), void *to, unsigned value, size_t elements)
API_IS(int, cuMemsetD32Async, set(to, value, 4, elements), void *to, unsigned value, size_t elements, void *stream)
