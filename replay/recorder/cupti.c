/* SPDX-License-Identifier: Apache-2.0
 *
 * The thin part: CUPTI is looked up when it is needed, its callbacks become calls of the recorder.
 *
 * A runtime call may come with the driver calls that it consists of; what happens inside of one on its thread is left
 * out. Frees are recorded before they happen, everything else after: nobody can be given the address in between.
 */
#include "analyze/base/address_map.h"
#include "replay/recorder/demangle.h"
#include "replay/recorder/glue.h"

#include <cupti.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CUPTI_FUNCTIONS(X)                                                                                             \
    X(cuptiGetVersion)                                                                                                 \
    X(cuptiGetResultString)                                                                                            \
    X(cuptiSubscribe)                                                                                                  \
    X(cuptiUnsubscribe)                                                                                                \
    X(cuptiEnableCallback)                                                                                             \
    X(cuptiEnableDomain)                                                                                               \
    X(cuptiGetDeviceId)                                                                                                \
    X(cuptiGetTimestamp)                                                                                               \
    X(cuptiActivityRegisterCallbacks)                                                                                  \
    X(cuptiActivityEnable)                                                                                             \
    X(cuptiActivityGetNextRecord)                                                                                      \
    X(cuptiActivityGetNumDroppedRecords)                                                                               \
    X(cuptiActivityFlushAll)

/* CUPTI's callbacks about buffers carry no pointer of ours, so there is one of this. */
static struct {
    struct gm_recorder *recorder;
#define X(name) __typeof__(&name) name;
    CUPTI_FUNCTIONS(X)
#undef X
    CUpti_SubscriberHandle subscriber;
    bool is_on, has_activity;
    unsigned backtrace;
    int64_t clock_offset_ns; /* ours minus CUPTI's */
    pthread_mutex_t lock;    /* of the maps */
    struct gm_address_map device_of_handle, number_of_name;
    char **names; /* of registered strings */
    size_t name_count;
} glue = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct gm_record_thread thread;
static _Thread_local unsigned inside;    /* of how many runtime calls the thread is */
static _Thread_local const void *caller; /* where CUPTI goes on after our callback */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t now_us(void)
{
    return now_ns() / 1000;
}

/* ---- handles and names ------------------------------------------------------------------------------------------ */

static void remember_handle(uint64_t handle, int64_t device)
{
    uint32_t before;
    pthread_mutex_lock(&glue.lock);
    (void)gm_map_put(&glue.device_of_handle, handle, (uint32_t)device, &before); /* else: the context's device */
    pthread_mutex_unlock(&glue.lock);
}

static int64_t device_of_handle(uint64_t handle)
{
    pthread_mutex_lock(&glue.lock);
    uint32_t device = gm_map_get(&glue.device_of_handle, handle);
    pthread_mutex_unlock(&glue.lock);
    return device == GM_MAP_NONE ? -1 : (int64_t)device;
}

static void register_name(uint64_t handle, const char *name)
{
    uint32_t before;
    pthread_mutex_lock(&glue.lock);
    char **grown = realloc(glue.names, (glue.name_count + 1) * sizeof *grown);
    char *copy = strdup(name);
    if (grown != NULL)
        glue.names = grown;
    if (grown != NULL && copy != NULL && gm_map_put(&glue.number_of_name, handle, (uint32_t)glue.name_count, &before)) {
        glue.names[glue.name_count++] = copy;
        copy = NULL;
    }
    free(copy);
    pthread_mutex_unlock(&glue.lock);
}

/* The text of a range; names that are not known still have to be something, since ranges nest. */
static const char *name_of(const struct gm_nvtx_call *call)
{
    if (call->name != NULL || call->registered == 0)
        return call->name != NULL ? call->name : "(no text)";
    pthread_mutex_lock(&glue.lock);
    uint32_t number = gm_map_get(&glue.number_of_name, call->registered);
    const char *name = number == GM_MAP_NONE ? "(unknown text)" : glue.names[number];
    pthread_mutex_unlock(&glue.lock);
    return name; /* texts stay for good */
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static int64_t device_of_context(CUcontext context)
{
    uint32_t device;
    if (context == NULL || glue.cuptiGetDeviceId(context, &device) != CUPTI_SUCCESS)
        return thread.device;
    thread.device = (int32_t)device;
    return device;
}

struct native {
    uint64_t at[GM_RECORD_NATIVE];
    size_t count;
};

/* From whoever called us on; what lies inside of that is ours. */
static void find_native(struct native *native)
{
    enum { OURS = 6 };
    void *at[GM_RECORD_NATIVE + OURS];
    native->count = 0;
    if (glue.backtrace == 0)
        return;
    int n = backtrace(at, (int)glue.backtrace + OURS), i = 0;
    while (i < n && at[i] != caller)
        i++;
    for (; i < n && native->count < glue.backtrace; i++)
        native->at[native->count++] = (uint64_t)(uintptr_t)at[i];
}

static void before_call(const struct gm_cuda_call *c, const struct gm_record_call *call)
{
    if (c->kind == GM_CUDA_FREE)
        gm_record_release(glue.recorder, call, c->address);
    else if (c->kind == GM_CUDA_UNMAP)
        gm_record_unmap(glue.recorder, call, c->address, c->size);
    else if (c->kind == GM_CUDA_RESET)
        gm_record_reset(glue.recorder, call);
}

static void after_call(const struct gm_cuda_call *c, const struct gm_record_call *call, int result)
{
    bool is_ok = result == 0, is_refused = result == CUDA_ERROR_OUT_OF_MEMORY;
    bool takes = c->kind == GM_CUDA_ALLOC || c->kind == GM_CUDA_CREATE;
    bool gives = c->kind == GM_CUDA_FREE || c->kind == GM_CUDA_UNMAP;
    if (takes && is_refused)
        gm_record_refused(glue.recorder, call, c->size);
    else if (c->kind == GM_CUDA_ALLOC && is_ok)
        gm_record_alloc(glue.recorder, call, c->address, c->size);
    else if (c->kind == GM_CUDA_CREATE && is_ok)
        remember_handle(c->handle, c->device);
    else if (c->kind == GM_CUDA_MAP && is_ok)
        gm_record_map(glue.recorder, call, c->address, c->size);
    else if (c->kind == GM_CUDA_SET_DEVICE && is_ok)
        thread.device = (int32_t)c->device;
    else if (gives && !is_ok && c->address != 0)
        gm_record_free_failed(glue.recorder);
}

static void add_kernel(int64_t device, const char *name, int64_t start_us, int64_t end_us)
{
    char shown[GM_NAME_SHOWN];
    gm_demangle(shown, name);
    gm_record_work(glue.recorder, device, shown, start_us, end_us);
}

static void on_call(enum gm_cuda_domain domain, CUpti_CallbackId id, const CUpti_CallbackData *data)
{
    bool is_after = data->callbackSite == CUPTI_API_EXIT;
    if (domain == GM_CUDA_DRIVER && inside > 0)
        return;
    if (domain == GM_CUDA_RUNTIME && is_after)
        inside -= inside > 0;
    else if (domain == GM_CUDA_RUNTIME)
        inside++;
    struct gm_cuda_call c;
    gm_cuda_decode(domain, id, data->functionParams, is_after, &c);
    if (c.kind == GM_CUDA_OTHER)
        return;
    int64_t time = now_us();
    if (c.kind == GM_CUDA_WORK) { /* enabled only where the device does not report its work itself */
        if (!is_after && data->correlationData != NULL)
            *data->correlationData = (uint64_t)time;
        else if (data->correlationData != NULL)
            add_kernel(device_of_context(data->context),
                       data->symbolName != NULL ? data->symbolName : data->functionName,
                       (int64_t)*data->correlationData, time);
        return;
    }
    if (c.kind == GM_CUDA_MAP)
        c.device = device_of_handle(c.handle);
    struct native native;
    find_native(&native);
    struct gm_record_call call = {.function = data->functionName != NULL ? data->functionName : "?",
                                  .time_us = time,
                                  .device = c.device >= 0 ? c.device : device_of_context(data->context),
                                  .stream = c.stream,
                                  .pool = c.pool,
                                  .thread = &thread,
                                  .native = native.at,
                                  .native_count = native.count};
    if (!is_after)
        before_call(&c, &call);
    else
        after_call(&c, &call, data->functionReturnValue != NULL ? *(const int *)data->functionReturnValue : 0);
}

static void on_range(CUpti_CallbackId id, const CUpti_NvtxData *data)
{
    struct gm_nvtx_call c;
    gm_nvtx_decode(id, data->functionParams, data->functionReturnValue, &c);
    if (c.kind == GM_NVTX_PUSH)
        gm_record_push(glue.recorder, &thread, name_of(&c), now_us());
    else if (c.kind == GM_NVTX_POP)
        gm_record_pop(glue.recorder, &thread, now_us());
    else if (c.kind == GM_NVTX_START)
        gm_record_range_start(glue.recorder, thread.device, c.id, name_of(&c), now_us());
    else if (c.kind == GM_NVTX_END)
        gm_record_range_end(glue.recorder, c.id, now_us());
    else if (c.kind == GM_NVTX_REGISTER && c.name != NULL && c.registered != 0)
        register_name(c.registered, c.name);
}

static void CUPTIAPI on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    (void)user;
    if (!__atomic_load_n(&glue.is_on, __ATOMIC_ACQUIRE) || data == NULL)
        return;
    caller = __builtin_return_address(0);
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
        on_call(GM_CUDA_RUNTIME, id, data);
    else if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
        on_call(GM_CUDA_DRIVER, id, data);
    else if (domain == CUPTI_CB_DOMAIN_NVTX)
        on_range(id, data);
}

/* ---- what the device reports ------------------------------------------------------------------------------------ */

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
    enum { BYTES = 1 << 20 };
    *buffer = aligned_alloc(8, BYTES);
    *size = *buffer != NULL ? BYTES : 0; /* records are dropped then, and counted */
    *max_records = 0;
}

static void add_work(uint32_t device, const char *name, uint64_t start, uint64_t end)
{
    if (start == 0 && end == 0)
        return; /* CUPTI could not time it */
    add_kernel(device, name, ((int64_t)start + glue.clock_offset_ns) / 1000,
               ((int64_t)end + glue.clock_offset_ns) / 1000);
}

static const char *copy_name(uint8_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
        return "memcpy host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
        return "memcpy device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
        return "memcpy device to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
        return "memcpy peer to peer";
    default:
        return "memcpy";
    }
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    CUpti_Activity *record = NULL;
    while (buffer != NULL && glue.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
            const CUpti_ActivityKernel10 *kernel = (const void *)record;
            add_work(kernel->deviceId, kernel->name != NULL ? kernel->name : "kernel", kernel->start, kernel->end);
        } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
            const CUpti_ActivityMemcpy6 *copy = (const void *)record;
            add_work(copy->deviceId, copy_name(copy->copyKind), copy->start, copy->end);
        } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
            const CUpti_ActivityMemset4 *set = (const void *)record;
            add_work(set->deviceId, "memset", set->start, set->end);
        }
    }
    free(buffer);
}

/* ---- start and stop --------------------------------------------------------------------------------------------- */

static void *open_library(void)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    static const char *const folders[] = {"lib64", "extras/CUPTI/lib64"};
    const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    const char *given = getenv("GM_RECORD_CUPTI");
    if (given != NULL && given[0] != '\0')
        return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library != NULL)
            return library;
    }
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++)
        for (size_t j = 0; homes[i] != NULL && j < sizeof folders / sizeof *folders; j++) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s/libcupti.so", homes[i], folders[j]);
            void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (library != NULL)
                return library;
        }
    return NULL;
}

static enum gm_status look_up(struct gm_error *err)
{
    void *library = open_library();
    if (library == NULL)
        return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET,
                       "CUPTI was not found (%s). Put the folder of libcupti.so into LD_LIBRARY_PATH, or name the file "
                       "in GM_RECORD_CUPTI",
                       dlerror());
#define X(name)                                                                                                        \
    {                                                                                                                  \
        void *found = dlsym(library, #name);                                                                           \
        if (found == NULL)                                                                                             \
            return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET, "this CUPTI has no %s", #name);                            \
        memcpy(&glue.name, &found, sizeof found);                                                                      \
    }
    CUPTI_FUNCTIONS(X)
#undef X
    /* NVTX loads whoever is named here when the program uses it for the first time. */
    Dl_info info;
    void *function;
    memcpy(&function, &glue.cuptiSubscribe, sizeof function);
    if (dladdr(function, &info) != 0 && info.dli_fname != NULL)
        setenv("NVTX_INJECTION64_PATH", info.dli_fname, 0);
    return GM_OK;
}

static enum gm_status cupti_failed(struct gm_error *err, const char *function, CUptiResult result)
{
    const char *text = NULL;
    if (glue.cuptiGetResultString(result, &text) != CUPTI_SUCCESS || text == NULL)
        text = "unknown error";
    return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET, "%s: %s%s", function, text,
                   result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                       ? " (another tool, a profiler for instance, is listening already)"
                       : "");
}

static const CUpti_CallbackId runtime_calls[] = {CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020,
                                                 CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020,
                                                 CUPTI_RUNTIME_TRACE_CBID_cudaMallocManaged_v6000,
                                                 CUPTI_RUNTIME_TRACE_CBID_cudaMallocPitch_v3020,
                                                 CUPTI_RUNTIME_TRACE_CBID_cudaMalloc3D_v3020,
                                                 CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020,
                                                 CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_ptsz_v11020,
                                                 CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_v11020,
                                                 CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_ptsz_v11020,
                                                 CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_v11020,
                                                 CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_ptsz_v11020,
                                                 CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020,
                                                 CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020};
static const CUpti_CallbackId driver_calls[] = {CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
                                                CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2,
                                                CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2,
                                                CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged,
                                                CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync,
                                                CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz,
                                                CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync,
                                                CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz,
                                                CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync,
                                                CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz,
                                                CUPTI_DRIVER_TRACE_CBID_cuMemCreate,
                                                CUPTI_DRIVER_TRACE_CBID_cuMemMap,
                                                CUPTI_DRIVER_TRACE_CBID_cuMemUnmap,
                                                CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2};
/* Work as the host sees it, for a CUPTI whose records we do not know. */
static const CUpti_CallbackId runtime_work[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,     CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,      CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemset_v3020,           CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020};
static const CUpti_CallbackId driver_work[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2};

/* Calls that this CUPTI does not know cannot happen either; but the first of the list must be there. */
static CUptiResult enable(CUpti_CallbackDomain domain, const CUpti_CallbackId *calls, size_t count)
{
    CUptiResult first = CUPTI_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        CUptiResult result = glue.cuptiEnableCallback(1, glue.subscriber, domain, calls[i]);
        first = i == 0 ? result : first;
    }
    return first;
}

#define ENABLE(domain, calls) enable(CUPTI_CB_DOMAIN_##domain, calls, sizeof calls / sizeof *calls)

/* Records are laid out as in the headers of the same major version; false: they are not, or the device cannot. */
static bool enable_activity(void)
{
    uint32_t version = 0;
    uint64_t theirs = 0;
    if (glue.cuptiGetVersion(&version) != CUPTI_SUCCESS || version / 10000 != CUPTI_API_VERSION / 10000 ||
        glue.cuptiGetTimestamp(&theirs) != CUPTI_SUCCESS)
        return false;
    glue.clock_offset_ns = now_ns() - (int64_t)theirs;
    return glue.cuptiActivityRegisterCallbacks(give_buffer, take_buffer) == CUPTI_SUCCESS &&
           glue.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS &&
           glue.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY) == CUPTI_SUCCESS &&
           glue.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET) == CUPTI_SUCCESS;
}

static void enable_work(void)
{
    glue.has_activity = enable_activity();
    if (glue.has_activity)
        return;
    bool ok = ENABLE(RUNTIME_API, runtime_work) == CUPTI_SUCCESS && ENABLE(DRIVER_API, driver_work) == CUPTI_SUCCESS;
    gm_record_note(glue.recorder, ok ? "kernels and copies are shown when they were launched, not when they ran: CUPTI "
                                       "is of another version than the recorder"
                                     : "CUPTI does not tell of kernels and copies");
}

enum gm_status gm_cupti_start(struct gm_recorder *r, unsigned backtrace_depth, bool with_work, struct gm_error *err)
{
    GM_TRY(look_up(err));
    glue.recorder = r;
    glue.backtrace = backtrace_depth < GM_RECORD_NATIVE ? backtrace_depth : GM_RECORD_NATIVE;
    CUptiResult result = glue.cuptiSubscribe(&glue.subscriber, on_callback, NULL);
    if (result != CUPTI_SUCCESS)
        return cupti_failed(err, "cuptiSubscribe", result);
    result = ENABLE(RUNTIME_API, runtime_calls);
    if (result == CUPTI_SUCCESS)
        result = ENABLE(DRIVER_API, driver_calls);
    if (result != CUPTI_SUCCESS) {
        glue.cuptiUnsubscribe(glue.subscriber);
        return cupti_failed(err, "cuptiEnableCallback", result);
    }
    if (glue.cuptiEnableDomain(1, glue.subscriber, CUPTI_CB_DOMAIN_NVTX) != CUPTI_SUCCESS)
        gm_record_note(r, "CUPTI does not tell of NVTX ranges");
    if (with_work)
        enable_work();
    __atomic_store_n(&glue.is_on, true, __ATOMIC_RELEASE);
    return GM_OK;
}

void gm_cupti_stop(void)
{
    if (!__atomic_exchange_n(&glue.is_on, false, __ATOMIC_ACQ_REL))
        return;
    size_t dropped = 0;
    if (glue.has_activity) {
        glue.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
        if (glue.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped > 0) {
            char text[100];
            snprintf(text, sizeof text, "CUPTI dropped %zu records of kernels and copies", dropped);
            gm_record_note(glue.recorder, text);
        }
    }
    glue.cuptiUnsubscribe(glue.subscriber);
}
