/* SPDX-License-Identifier: Apache-2.0
 *
 * Expandable segments: addresses are reserved once, and memory is put behind them a page at a time (a page of the
 * allocator's, 2 or 20 MiB). The driver's functions for that are looked up when the first reservation is made.
 *
 * A page's handle is given back as soon as the page is mapped: the mapping keeps the memory, and unmapping is then all
 * that it takes to free it.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/freed.h"
#include "replay/cuda/cuda_private.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct reservation {
    uint64_t address, size, page;
    unsigned char *is_mapped; /* [page] */
};
struct gm_vmm {
    struct GM_VEC(struct reservation) reservations;
    CUmemAllocationProp properties;
    CUmemAccessDesc access;
    uint64_t granularity;
    CUresult (*name_of)(CUresult code, const char **text);
    CUresult (*words_of)(CUresult code, const char **text);
    CUresult (*granularity_of)(size_t *bytes, const CUmemAllocationProp *p, CUmemAllocationGranularity_flags which);
    CUresult (*reserve)(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr wish,
                        unsigned long long flags);
    CUresult (*unreserve)(CUdeviceptr address, size_t size);
    CUresult (*create)(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *p,
                       unsigned long long flags);
    CUresult (*release)(CUmemGenericAllocationHandle handle);
    CUresult (*map)(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                    unsigned long long flags);
    CUresult (*unmap)(CUdeviceptr address, size_t size);
    CUresult (*set_access)(CUdeviceptr address, size_t size, const CUmemAccessDesc *access, size_t count);
};

static bool is_fine(struct gm_cuda *c, const char *call, CUresult code)
{
    const char *name = NULL, *words = NULL;
    if (code == CUDA_SUCCESS)
        return true;
    if (c->vmm->name_of(code, &name) != CUDA_SUCCESS || c->vmm->words_of(code, &words) != CUDA_SUCCESS)
        return gm_cuda_fail(c, GM_E_INTERNAL, "%s: error %d", call, (int)code);
    return gm_cuda_fail(c, GM_E_INTERNAL, "%s: %s (%s)", call, words, name);
}

/* All of these exist since 10.2 (the two of errors since 6.0). */
static bool look_up(struct gm_cuda *c, const char *symbol, void **function)
{
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    if (!gm_cuda_ok(c, "cudaGetDriverEntryPointByVersion",
                    cudaGetDriverEntryPointByVersion(symbol, function, 10020, cudaEnableDefault, &found)))
        return false;
    if (found == cudaDriverEntryPointSuccess && *function != NULL)
        return true;
    return gm_cuda_fail(c, GM_E_MISSING, "the driver has no %s, which expandable segments need", symbol);
}

/* POSIX lets an object pointer be a function's. */
#define LOOK_UP(c, field, symbol) look_up(c, symbol, (void **)&(c)->vmm->field)

static bool look_all_up(struct gm_cuda *c)
{
    return LOOK_UP(c, name_of, "cuGetErrorName") && LOOK_UP(c, words_of, "cuGetErrorString") &&
           LOOK_UP(c, granularity_of, "cuMemGetAllocationGranularity") && LOOK_UP(c, reserve, "cuMemAddressReserve") &&
           LOOK_UP(c, unreserve, "cuMemAddressFree") && LOOK_UP(c, create, "cuMemCreate") &&
           LOOK_UP(c, release, "cuMemRelease") && LOOK_UP(c, map, "cuMemMap") && LOOK_UP(c, unmap, "cuMemUnmap") &&
           LOOK_UP(c, set_access, "cuMemSetAccess");
}

static bool open_vmm(struct gm_cuda *c)
{
    if (c->vmm != NULL)
        return true;
    size_t granularity = 0;
    c->vmm = calloc(1, sizeof *c->vmm);
    if (c->vmm == NULL)
        return gm_cuda_fail(c, GM_E_NOMEM, "out of host memory");
    struct gm_vmm *v = c->vmm;
    v->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    v->properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    v->properties.location.id = c->ordinal;
    v->access.location = v->properties.location;
    v->access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (!look_all_up(c) || !is_fine(c, "cuMemGetAllocationGranularity",
                                    v->granularity_of(&granularity, &v->properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM)))
        return false;
    v->granularity = granularity;
    return granularity > 0 || gm_cuda_fail(c, GM_E_INTERNAL, "cuMemGetAllocationGranularity: 0 bytes");
}

/* The reservation that holds [address, address + size), whole pages of it; NULL and a failure if there is none. */
static struct reservation *find(struct gm_cuda *c, uint64_t address, uint64_t size)
{
    size_t n = c->vmm == NULL ? 0 : c->vmm->reservations.n;
    for (size_t i = 0; i < n; i++) {
        struct reservation *r = &c->vmm->reservations.v[i];
        if (address >= r->address && address - r->address < r->size && size <= r->size - (address - r->address) &&
            (address - r->address) % r->page == 0 && size % r->page == 0)
            return r;
    }
    gm_cuda_fail(c, GM_E_INTERNAL, "0x%" PRIx64 ", %" PRIu64 " bytes: not whole pages of a reservation", address, size);
    return NULL;
}

enum gm_device_status gm_vmm_reserve(void *self, uint64_t page, uint64_t most, uint64_t *address, uint64_t *size)
{
    struct gm_cuda *c = self;
    if (gm_cuda_has_failed(c) || !open_vmm(c))
        return GM_DEVICE_FAILED;
    struct gm_vmm *v = c->vmm;
    const uint64_t total = gm_cuda_device(c).total_bytes, usual = total + total / 8;
    if (page == 0 || page % v->granularity != 0) {
        gm_cuda_fail(c, GM_E_INTERNAL, "pages of %" PRIu64 " bytes: the GPU maps multiples of %" PRIu64, page,
                     v->granularity);
        return GM_DEVICE_FAILED;
    }
    struct reservation r = {.size = gm_round_up(gm_min(most, usual), page), .page = page};
    CUdeviceptr at = 0;
    r.is_mapped = calloc(r.size / page, 1);
    if (r.is_mapped == NULL || !GM_VEC_ROOM(&v->reservations, 1)) {
        free(r.is_mapped);
        gm_cuda_fail(c, GM_E_NOMEM, "out of host memory");
        return GM_DEVICE_FAILED;
    }
    CUresult code = v->reserve(&at, r.size, 0, 0, 0);
    if (code != CUDA_SUCCESS) {
        free(r.is_mapped);
        if (code == CUDA_ERROR_OUT_OF_MEMORY)
            return GM_DEVICE_FULL;
        is_fine(c, "cuMemAddressReserve", code);
        return GM_DEVICE_FAILED;
    }
    *address = r.address = at;
    *size = r.size;
    v->reservations.v[v->reservations.n++] = r;
    return GM_DEVICE_OK;
}

static enum gm_device_status map_page(struct gm_cuda *c, uint64_t address, uint64_t page)
{
    struct gm_vmm *v = c->vmm;
    CUmemGenericAllocationHandle handle;
    CUresult code = v->create(&handle, page, &v->properties, 0);
    if (code == CUDA_ERROR_OUT_OF_MEMORY)
        return GM_DEVICE_FULL;
    if (!is_fine(c, "cuMemCreate", code))
        return GM_DEVICE_FAILED;
    bool is_mapped = is_fine(c, "cuMemMap", v->map(address, page, 0, handle, 0));
    bool is_released = is_fine(c, "cuMemRelease", v->release(handle));
    if (is_mapped && !is_released)
        is_fine(c, "cuMemUnmap", v->unmap(address, page));
    return is_mapped && is_released ? GM_DEVICE_OK : GM_DEVICE_FAILED;
}

static bool unmap_pages(struct gm_cuda *c, struct reservation *r, uint64_t from, uint64_t to)
{
    bool is_ok = true;
    for (uint64_t at = from; at < to; at += r->page) {
        unsigned char *is_mapped = &r->is_mapped[(at - r->address) / r->page];
        if (!*is_mapped || !is_fine(c, "cuMemUnmap", c->vmm->unmap(at, r->page))) {
            is_ok = false;
            continue;
        }
        *is_mapped = 0;
        c->used -= r->page;
    }
    return is_ok;
}

enum gm_device_status gm_vmm_map(void *self, uint64_t address, uint64_t size)
{
    struct gm_cuda *c = self;
    struct reservation *r = gm_cuda_has_failed(c) ? NULL : find(c, address, size);
    enum gm_device_status status = GM_DEVICE_OK;
    if (r == NULL)
        return GM_DEVICE_FAILED;
    if (!gm_cuda_has_room(c, size))
        return GM_DEVICE_FULL;
    uint64_t at = address;
    for (; at < address + size && status == GM_DEVICE_OK; at += r->page) {
        unsigned char *is_mapped = &r->is_mapped[(at - r->address) / r->page];
        if (*is_mapped) {
            gm_cuda_fail(c, GM_E_INTERNAL, "the page at 0x%" PRIx64 " is mapped already", at);
            status = GM_DEVICE_FAILED;
            break;
        }
        status = map_page(c, at, r->page);
        if (status != GM_DEVICE_OK)
            break;
        *is_mapped = 1;
        c->used += r->page;
    }
    if (status == GM_DEVICE_OK && !is_fine(c, "cuMemSetAccess", c->vmm->set_access(address, size, &c->vmm->access, 1)))
        status = GM_DEVICE_FAILED;
    if (status != GM_DEVICE_OK && !unmap_pages(c, r, address, at)) /* all or nothing */
        status = GM_DEVICE_FAILED;
    return status;
}

/* Unlike cudaFree, the driver does not wait for kernels that still use the pages. */
enum gm_device_status gm_vmm_unmap(void *self, uint64_t address, uint64_t size)
{
    struct gm_cuda *c = self;
    struct reservation *r = gm_cuda_has_failed(c) ? NULL : find(c, address, size);
    if (r == NULL || !gm_cuda_wait(c))
        return GM_DEVICE_FAILED;
    for (uint64_t at = address; at < address + size; at += r->page)
        if (!r->is_mapped[(at - r->address) / r->page]) {
            gm_cuda_fail(c, GM_E_INTERNAL, "the page at 0x%" PRIx64 " is not mapped", at);
            return GM_DEVICE_FAILED;
        }
    return unmap_pages(c, r, address, address + size) ? GM_DEVICE_OK : GM_DEVICE_FAILED;
}

enum gm_device_status gm_vmm_unreserve(void *self, uint64_t address, uint64_t size)
{
    struct gm_cuda *c = self;
    struct reservation *r = gm_cuda_has_failed(c) ? NULL : find(c, address, size);
    if (r == NULL)
        return GM_DEVICE_FAILED;
    if (r->address != address || r->size != size || memchr(r->is_mapped, 1, r->size / r->page) != NULL) {
        gm_cuda_fail(c, GM_E_INTERNAL, "the reservation at 0x%" PRIx64 " is not to be given back like this", address);
        return GM_DEVICE_FAILED;
    }
    if (!is_fine(c, "cuMemAddressFree", c->vmm->unreserve(address, size)))
        return GM_DEVICE_FAILED;
    free(r->is_mapped);
    *r = c->vmm->reservations.v[--c->vmm->reservations.n];
    return GM_DEVICE_OK;
}

void gm_vmm_close(struct gm_cuda *c, struct gm_cuda_left *left)
{
    struct gm_vmm *v = c->vmm;
    if (v == NULL)
        return;
    left->reservations = v->reservations.n;
    for (size_t i = 0; i < v->reservations.n; i++) {
        struct reservation *r = &v->reservations.v[i];
        for (uint64_t at = r->address; at < r->address + r->size; at += r->page) {
            if (!r->is_mapped[(at - r->address) / r->page])
                continue;
            left->pages++;
            left->page_bytes += r->page;
            unmap_pages(c, r, at, at + r->page);
        }
        is_fine(c, "cuMemAddressFree", v->unreserve(r->address, r->size));
        free(r->is_mapped);
    }
    GM_FREE_ALL(v->reservations.v, v);
    c->vmm = NULL;
}
