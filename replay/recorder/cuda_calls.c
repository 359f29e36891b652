/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the runtime and the driver that have to do with memory, taken apart by their numbers in CUPTI.
 */
#include "replay/recorder/glue.h"

#include <cupti.h>

/* The legacy default stream has two names. */
static int64_t stream_number(const void *stream)
{
    return stream == (const void *)CU_STREAM_LEGACY ? 0 : (int64_t)(uintptr_t)stream;
}

static uint64_t pointer_number(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static void allocated(struct gm_cuda_call *call, void *const *where, uint64_t size, bool is_after)
{
    call->kind = GM_CUDA_ALLOC;
    call->size = size;
    call->address = is_after && where != NULL ? pointer_number(*where) : 0;
}

static uint64_t product(uint64_t a, uint64_t b)
{
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

static void runtime_malloc(uint32_t id, const void *parameters, bool is_after, struct gm_cuda_call *call)
{
    switch (id) {
    case CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020: {
        const cudaMalloc_v3020_params *p = parameters;
        allocated(call, p->devPtr, p->size, is_after);
        break;
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocManaged_v6000: {
        const cudaMallocManaged_v6000_params *p = parameters;
        allocated(call, p->devPtr, p->size, is_after);
        break;
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocPitch_v3020: {
        const cudaMallocPitch_v3020_params *p = parameters;
        uint64_t row = is_after && p->pitch != NULL && *p->pitch != 0 ? *p->pitch : p->width;
        allocated(call, p->devPtr, product(row, p->height), is_after);
        break;
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaMalloc3D_v3020: {
        const cudaMalloc3D_v3020_params *p = parameters;
        uint64_t row = is_after && p->pitchedDevPtr != NULL && p->pitchedDevPtr->pitch != 0 ? p->pitchedDevPtr->pitch
                                                                                            : p->extent.width;
        allocated(call, p->pitchedDevPtr != NULL ? &p->pitchedDevPtr->ptr : NULL,
                  product(product(row, p->extent.height), p->extent.depth), is_after);
        break;
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020:
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_ptsz_v11020: {
        const cudaMallocAsync_v11020_params *p = parameters;
        allocated(call, p->devPtr, p->size, is_after);
        call->stream = stream_number(p->hStream);
        call->pool = 1; /* the device's own */
        break;
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_v11020:
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_ptsz_v11020: {
        const cudaMallocFromPoolAsync_v11020_params *p = parameters;
        allocated(call, p->ptr, p->size, is_after);
        call->stream = stream_number(p->stream);
        call->pool = pointer_number(p->memPool);
        break;
    }
    default:
        break;
    }
}

static void runtime_other(uint32_t id, const void *parameters, struct gm_cuda_call *call)
{
    switch (id) {
    case CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020: {
        const cudaFree_v3020_params *p = parameters;
        call->kind = GM_CUDA_FREE;
        call->address = pointer_number(p->devPtr);
        break;
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_v11020:
    case CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_ptsz_v11020: {
        const cudaFreeAsync_v11020_params *p = parameters;
        call->kind = GM_CUDA_FREE;
        call->address = pointer_number(p->devPtr);
        call->stream = stream_number(p->hStream);
        break;
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020:
        call->kind = GM_CUDA_RESET;
        break;
    case CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020: {
        const cudaSetDevice_v3020_params *p = parameters;
        call->kind = GM_CUDA_SET_DEVICE;
        call->device = p->device;
        break;
    }
    default: /* only launches and copies are left of what is enabled */
        call->kind = GM_CUDA_WORK;
        break;
    }
}

static void driver_allocated(struct gm_cuda_call *call, const CUdeviceptr *where, uint64_t size, bool is_after)
{
    call->kind = GM_CUDA_ALLOC;
    call->size = size;
    call->address = is_after && where != NULL ? *where : 0;
}

static void driver_malloc(uint32_t id, const void *parameters, bool is_after, struct gm_cuda_call *call)
{
    switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2: {
        const cuMemAlloc_v2_params *p = parameters;
        driver_allocated(call, p->dptr, p->bytesize, is_after);
        break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged: {
        const cuMemAllocManaged_params *p = parameters;
        driver_allocated(call, p->dptr, p->bytesize, is_after);
        break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2: {
        const cuMemAllocPitch_v2_params *p = parameters;
        uint64_t row = is_after && p->pPitch != NULL && *p->pPitch != 0 ? *p->pPitch : p->WidthInBytes;
        driver_allocated(call, p->dptr, product(row, p->Height), is_after);
        break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz: {
        const cuMemAllocAsync_params *p = parameters;
        driver_allocated(call, p->dptr, p->bytesize, is_after);
        call->stream = stream_number(p->hStream);
        call->pool = 1;
        break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz: {
        const cuMemAllocFromPoolAsync_params *p = parameters;
        driver_allocated(call, p->dptr, p->bytesize, is_after);
        call->stream = stream_number(p->hStream);
        call->pool = pointer_number(p->pool);
        break;
    }
    default:
        break;
    }
}

static void driver_virtual(uint32_t id, const void *parameters, bool is_after, struct gm_cuda_call *call)
{
    switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemCreate: {
        const cuMemCreate_params *p = parameters;
        call->kind =
            p->prop == NULL || p->prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? GM_CUDA_CREATE : GM_CUDA_OTHER;
        call->size = p->size;
        call->device = p->prop != NULL ? p->prop->location.id : 0;
        call->handle = is_after && p->handle != NULL ? *p->handle : 0;
        break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemMap: {
        const cuMemMap_params *p = parameters;
        call->kind = GM_CUDA_MAP;
        call->address = p->ptr;
        call->size = p->size;
        call->handle = p->handle;
        break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemUnmap: {
        const cuMemUnmap_params *p = parameters;
        call->kind = GM_CUDA_UNMAP;
        call->address = p->ptr;
        call->size = p->size;
        break;
    }
    default:
        break;
    }
}

static void driver_other(uint32_t id, const void *parameters, struct gm_cuda_call *call)
{
    switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2: {
        const cuMemFree_v2_params *p = parameters;
        call->kind = GM_CUDA_FREE;
        call->address = p->dptr;
        break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz: {
        const cuMemFreeAsync_params *p = parameters;
        call->kind = GM_CUDA_FREE;
        call->address = p->dptr;
        call->stream = stream_number(p->hStream);
        break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2: {
        const cuDevicePrimaryCtxReset_v2_params *p = parameters;
        call->kind = GM_CUDA_RESET;
        call->device = p->dev;
        break;
    }
    default:
        call->kind = GM_CUDA_WORK;
        break;
    }
}

void gm_cuda_decode(enum gm_cuda_domain domain, uint32_t id, const void *parameters, bool is_after,
                    struct gm_cuda_call *call)
{
    *call = (struct gm_cuda_call){.device = -1};
    bool is_runtime = domain == GM_CUDA_RUNTIME;
    if (parameters == NULL)
        return;
    if (is_runtime)
        runtime_malloc(id, parameters, is_after, call);
    else
        driver_malloc(id, parameters, is_after, call);
    bool is_virtual =
        !is_runtime && (id == CUPTI_DRIVER_TRACE_CBID_cuMemCreate || id == CUPTI_DRIVER_TRACE_CBID_cuMemMap ||
                        id == CUPTI_DRIVER_TRACE_CBID_cuMemUnmap);
    if (is_virtual)
        driver_virtual(id, parameters, is_after, call);
    else if (call->kind == GM_CUDA_OTHER && is_runtime)
        runtime_other(id, parameters, call);
    else if (call->kind == GM_CUDA_OTHER)
        driver_other(id, parameters, call);
}
