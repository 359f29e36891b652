/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/freed.h"
#include "replay/cuda/cuda_private.h"

#include <cuda_runtime_api.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool gm_cuda_ok(struct gm_cuda *c, const char *call, unsigned code)
{
    if (code == cudaSuccess)
        return true;
    (void)cudaGetLastError(); /* the runtime keeps it for the next one who asks */
    return gm_cuda_fail(c, GM_E_INTERNAL, "%s: %s (%s)", call, cudaGetErrorString((cudaError_t)code),
                        cudaGetErrorName((cudaError_t)code));
}

bool gm_cuda_fail(struct gm_cuda *c, enum gm_status status, const char *format, ...)
{
    char text[sizeof c->failure.message];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (c->failure.status == GM_OK)
        gm_fail(&c->failure, status, GM_NO_OFFSET, "%s", text);
    return false;
}

bool gm_cuda_has_failed(const struct gm_cuda *c)
{
    return c->failure.status != GM_OK;
}

const struct gm_error *gm_cuda_failure(const struct gm_cuda *cuda)
{
    return &cuda->failure;
}

uint64_t gm_cuda_used(const struct gm_cuda *cuda)
{
    return cuda->used;
}

bool gm_cuda_no_memory(struct gm_cuda *cuda)
{
    return gm_cuda_fail(cuda, GM_E_NOMEM, "out of host memory");
}

bool gm_cuda_launch_failed(struct gm_cuda *cuda, const char *call, const char *name, const char *words)
{
    return gm_cuda_fail(cuda, GM_E_INTERNAL, "launch of %s: %s (%s)", call, words, name);
}

bool gm_cuda_lacks(struct gm_cuda *cuda, const char *who, const char *words)
{
    return gm_cuda_fail(cuda, GM_E_MISSING, "%s: %s", who, words);
}

bool gm_cuda_memory(struct gm_cuda *cuda, uint64_t *free_bytes, uint64_t *total_bytes)
{
    size_t free_now, total;
    if (!gm_cuda_ok(cuda, "cudaMemGetInfo", cudaMemGetInfo(&free_now, &total)))
        return false;
    *free_bytes = free_now;
    *total_bytes = total;
    return true;
}

static bool learn(struct gm_cuda *c)
{
    struct cudaDeviceProp properties;
    struct gm_cuda_info *info = &c->info;
    if (!gm_cuda_ok(c, "cudaSetDevice", cudaSetDevice(c->ordinal)) ||
        !gm_cuda_ok(c, "cudaGetDeviceProperties", cudaGetDeviceProperties(&properties, c->ordinal)) ||
        !gm_cuda_ok(c, "cudaDriverGetVersion", cudaDriverGetVersion(&info->driver)) ||
        !gm_cuda_ok(c, "cudaRuntimeGetVersion", cudaRuntimeGetVersion(&info->runtime)) ||
        !gm_cuda_ok(c, "cudaFree(NULL)", cudaFree(NULL)) || /* makes the context, so that its memory is not counted */
        !gm_cuda_memory(c, &info->free_bytes, &info->total_bytes))
        return false;
    snprintf(info->name, sizeof info->name, "%.*s", (int)sizeof info->name - 1, properties.name);
    info->compute_major = properties.major;
    info->compute_minor = properties.minor;
    info->processors = (unsigned)properties.multiProcessorCount;
    return true;
}

/* No driver, an old one and no GPU are one answer to a user: this machine cannot. */
static enum gm_status count(int ordinal, struct gm_error *err)
{
    int devices = 0;
    cudaError_t code = cudaGetDeviceCount(&devices);
    (void)cudaGetLastError();
    if (code != cudaSuccess)
        return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET, "no CUDA device: cudaGetDeviceCount: %s (%s)",
                       cudaGetErrorString(code), cudaGetErrorName(code));
    if (devices == 0)
        return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET, "no CUDA device");
    if (ordinal < 0 || ordinal >= devices)
        return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET, "no CUDA device %d: there are %d", ordinal, devices);
    return GM_OK;
}

enum gm_status gm_cuda_open(struct gm_cuda **cuda, int ordinal, uint64_t cap, struct gm_error *err)
{
    *cuda = NULL;
    enum gm_status status = count(ordinal, err);
    if (status != GM_OK)
        return status;
    struct gm_cuda *c = calloc(1, sizeof *c);
    if (c == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of host memory");
    c->ordinal = ordinal;
    c->cap = cap;
    if (!learn(c)) {
        status = gm_fail(err, c->failure.status, GM_NO_OFFSET, "%s", c->failure.message);
        free(c);
        return status;
    }
    *cuda = c;
    return GM_OK;
}

const struct gm_cuda_info *gm_cuda_info(const struct gm_cuda *cuda)
{
    return &cuda->info;
}

/* In the order that the driver wants: first wait, then blocks, then pages, then their addresses. */
enum gm_status gm_cuda_close(struct gm_cuda *cuda, struct gm_cuda_left *left, struct gm_error *err)
{
    struct gm_cuda_left mine = {0};
    if (cuda == NULL)
        return GM_OK;
    bool had_failed = gm_cuda_has_failed(cuda);
    gm_cuda_wait(cuda);
    mine.blocks = cuda->blocks.n;
    mine.pools = cuda->pools;
    mine.scratch = cuda->scratch.n;
    for (size_t i = 0; i < cuda->blocks.n; i++) {
        mine.block_bytes += cuda->blocks.v[i].size;
        gm_cuda_ok(cuda, "cudaFree", cudaFree((void *)(uintptr_t)cuda->blocks.v[i].address));
    }
    for (size_t i = 0; i < cuda->scratch.n; i++)
        gm_cuda_ok(cuda, "cudaFree", cudaFree(cuda->scratch.v[i]));
    gm_vmm_close(cuda, &mine);
    gm_cuda_streams_close(cuda, &mine);
    enum gm_status status = had_failed ? GM_OK : cuda->failure.status;
    if (status != GM_OK)
        gm_fail(err, status, GM_NO_OFFSET, "%s", cuda->failure.message);
    if (left != NULL)
        *left = mine;
    gm_map_free(&cuda->block_of);
    gm_map_free(&cuda->stream_of);
    GM_FREE_ALL(cuda->blocks.v, cuda->scratch.v, cuda);
    return status;
}
