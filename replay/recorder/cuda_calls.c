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

/* New memory; its address is known after the call. */
static void allocated(struct gm_cuda_call *call, uint64_t address, uint64_t size)
{
    call->kind = GM_CUDA_ALLOC;
    call->size = size;
    call->address = address;
}

/* The same out of a memory pool, 1: the device's own. */
static void allocated_in(struct gm_cuda_call *call, uint64_t address, uint64_t size, const void *stream, uint64_t pool)
{
    allocated(call, address, size);
    call->stream = stream_number(stream);
    call->pool = pool;
}

static void freed(struct gm_cuda_call *call, uint64_t address, const void *stream)
{
    call->kind = GM_CUDA_FREE;
    call->address = address;
    call->stream = stream_number(stream);
}

static void mapped(struct gm_cuda_call *call, enum gm_cuda_kind kind, uint64_t address, uint64_t size)
{
    call->kind = kind;
    call->address = address;
    call->size = size;
}

static uint64_t product(uint64_t a, uint64_t b)
{
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* A call by its number: *p are its parameters. PTSZ: of it and of its twin for the default stream of each thread. */
#define CALL(name, parameters_of, ...)                                                                                 \
    case CUPTI_##name: {                                                                                               \
        const parameters_of##_params *p = parameters;                                                                  \
        __VA_ARGS__;                                                                                                   \
        break;                                                                                                         \
    }
#define RUNTIME(name, version, ...) CALL(RUNTIME_TRACE_CBID_##name##_##version, name##_##version, __VA_ARGS__)
#define RUNTIME_PTSZ(name, version, ...)                                                                               \
    case CUPTI_RUNTIME_TRACE_CBID_##name##_ptsz_##version:                                                             \
        RUNTIME(name, version, __VA_ARGS__)
#define DRIVER(name, ...) CALL(DRIVER_TRACE_CBID_##name, name, __VA_ARGS__)
#define DRIVER_PTSZ(name, ...)                                                                                         \
    case CUPTI_DRIVER_TRACE_CBID_##name##_ptsz:                                                                        \
        DRIVER(name, __VA_ARGS__)
/* What a pointer among the parameters points to, once it is written. */
#define MADE(where) (is_after && (where) != NULL ? pointer_number(*(where)) : 0)
#define MADE_AT(where) (is_after && (where) != NULL ? *(where) : 0)

static void decode_runtime(uint32_t id, const void *parameters, bool is_after, struct gm_cuda_call *call)
{
    switch (id) {
        RUNTIME(cudaMalloc, v3020, allocated(call, MADE(p->devPtr), p->size))
        RUNTIME(cudaMallocManaged, v6000, allocated(call, MADE(p->devPtr), p->size))
        RUNTIME(cudaMallocPitch, v3020, const uint64_t pitch = MADE_AT(p->pitch);
                allocated(call, MADE(p->devPtr), product(pitch != 0 ? pitch : p->width, p->height)))
        RUNTIME(cudaMalloc3D, v3020, const struct cudaPitchedPtr *made = is_after ? p->pitchedDevPtr : NULL;
                const uint64_t row = made != NULL && made->pitch != 0 ? made->pitch : p->extent.width;
                allocated(call, made != NULL ? pointer_number(made->ptr) : 0,
                          product(product(row, p->extent.height), p->extent.depth)))
        RUNTIME_PTSZ(cudaMallocAsync, v11020, allocated_in(call, MADE(p->devPtr), p->size, p->hStream, 1))
        RUNTIME_PTSZ(cudaMallocFromPoolAsync, v11020,
                     allocated_in(call, MADE(p->ptr), p->size, p->stream, pointer_number(p->memPool)))
        RUNTIME(cudaFree, v3020, freed(call, pointer_number(p->devPtr), NULL))
        RUNTIME_PTSZ(cudaFreeAsync, v11020, freed(call, pointer_number(p->devPtr), p->hStream))
        RUNTIME(cudaSetDevice, v3020, call->kind = GM_CUDA_SET_DEVICE; call->device = p->device)
    case CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020:
        call->kind = GM_CUDA_RESET;
        break;
    default: /* only launches and copies are left of what is enabled */
        call->kind = GM_CUDA_WORK;
        break;
    }
}

static void created(struct gm_cuda_call *call, const cuMemCreate_params *p, uint64_t handle)
{
    call->kind =
        p->prop == NULL || p->prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? GM_CUDA_CREATE : GM_CUDA_OTHER;
    call->size = p->size;
    call->device = p->prop != NULL ? p->prop->location.id : 0;
    call->handle = handle;
}

static void decode_driver(uint32_t id, const void *parameters, bool is_after, struct gm_cuda_call *call)
{
    switch (id) {
        DRIVER(cuMemAlloc_v2, allocated(call, MADE_AT(p->dptr), p->bytesize))
        DRIVER(cuMemAllocManaged, allocated(call, MADE_AT(p->dptr), p->bytesize))
        DRIVER(cuMemAllocPitch_v2, const uint64_t pitch = MADE_AT(p->pPitch);
               allocated(call, MADE_AT(p->dptr), product(pitch != 0 ? pitch : p->WidthInBytes, p->Height)))
        DRIVER_PTSZ(cuMemAllocAsync, allocated_in(call, MADE_AT(p->dptr), p->bytesize, p->hStream, 1))
        DRIVER_PTSZ(cuMemAllocFromPoolAsync,
                    allocated_in(call, MADE_AT(p->dptr), p->bytesize, p->hStream, pointer_number(p->pool)))
        DRIVER(cuMemCreate, created(call, p, MADE_AT(p->handle)))
        DRIVER(cuMemMap, mapped(call, GM_CUDA_MAP, p->ptr, p->size); call->handle = p->handle)
        DRIVER(cuMemUnmap, mapped(call, GM_CUDA_UNMAP, p->ptr, p->size))
        DRIVER(cuMemFree_v2, freed(call, p->dptr, NULL))
        DRIVER_PTSZ(cuMemFreeAsync, freed(call, p->dptr, p->hStream))
        DRIVER(cuDevicePrimaryCtxReset_v2, call->kind = GM_CUDA_RESET; call->device = p->dev)
    default:
        call->kind = GM_CUDA_WORK;
        break;
    }
}

void gm_cuda_decode(enum gm_cuda_domain domain, uint32_t id, const void *parameters, bool is_after,
                    struct gm_cuda_call *call)
{
    *call = (struct gm_cuda_call){.device = -1};
    if (parameters != NULL)
        (domain == GM_CUDA_RUNTIME ? decode_runtime : decode_driver)(id, parameters, is_after, call);
}
