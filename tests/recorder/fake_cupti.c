/* SPDX-License-Identifier: Apache-2.0
 *
 * As much of CUPTI as libgmrecord.so calls. A context is the number of its device plus one.
 */
#include "fake_cupti.h"

#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { IDS = 2048, HELD = 64 };

static struct {
    CUpti_CallbackFunc callback;
    void *user;
    bool is_enabled[2][IDS], has_nvtx;
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    pthread_mutex_t lock;
    union {
        CUpti_ActivityKernel10 kernel;
        CUpti_ActivityMemcpy6 copy;
    } held[HELD];
    size_t held_count;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_mode(const char *mode)
{
    const char *set = getenv("FAKE_CUPTI");
    return set != NULL && strcmp(set, mode) == 0;
}

/* ---- what the program says -------------------------------------------------------------------------------------- */

void fake_half(int domain, uint32_t id, const char *name, const char *symbol, const void *parameters, int result,
               int device, bool is_after, uint64_t *correlation)
{
    if (fake.callback == NULL || id >= IDS || !fake.is_enabled[domain][id])
        return;
    CUpti_CallbackData data = {.callbackSite = is_after ? CUPTI_API_EXIT : CUPTI_API_ENTER,
                               .functionName = name,
                               .functionParams = parameters,
                               .functionReturnValue = is_after ? &result : NULL,
                               .symbolName = symbol,
                               .context = device < 0 ? NULL : (CUcontext)(uintptr_t)(device + 1),
                               .correlationData = correlation};
    fake.callback(fake.user, domain == FAKE_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, id,
                  &data);
}

void fake_nvtx(uint32_t id, const char *name, const void *parameters, const void *result)
{
    CUpti_NvtxData data = {.functionName = name, .functionParams = parameters, .functionReturnValue = result};
    if (fake.callback != NULL && fake.has_nvtx)
        fake.callback(fake.user, CUPTI_CB_DOMAIN_NVTX, id, &data);
}

static void deliver(void)
{
    uint8_t *buffer = NULL;
    size_t size = 0, max = 0, bytes = fake.held_count * sizeof fake.held[0];
    if (fake.request == NULL || fake.held_count == 0)
        return;
    fake.request(&buffer, &size, &max);
    if (buffer != NULL && size >= bytes) {
        memcpy(buffer, fake.held, bytes);
        fake.complete(NULL, 0, buffer, size, bytes);
    }
    fake.held_count = 0;
}

void fake_kernel(int device, const char *name, uint64_t start, uint64_t end)
{
    pthread_mutex_lock(&fake.lock);
    if (fake.held_count == HELD)
        deliver();
    memset(&fake.held[fake.held_count], 0, sizeof fake.held[0]);
    fake.held[fake.held_count++].kernel = (CUpti_ActivityKernel10){.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                                                   .start = start,
                                                                   .end = end,
                                                                   .deviceId = (uint32_t)device,
                                                                   .name = name};
    pthread_mutex_unlock(&fake.lock);
}

void fake_copy(int device, uint64_t bytes, uint64_t start, uint64_t end)
{
    pthread_mutex_lock(&fake.lock);
    if (fake.held_count == HELD)
        deliver();
    memset(&fake.held[fake.held_count], 0, sizeof fake.held[0]);
    fake.held[fake.held_count++].copy = (CUpti_ActivityMemcpy6){.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                                                .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                                                .bytes = bytes,
                                                                .start = start,
                                                                .end = end,
                                                                .deviceId = (uint32_t)device};
    pthread_mutex_unlock(&fake.lock);
}

/* Not the machine's clock: the recorder has to find the difference. */
uint64_t fake_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- CUPTI ------------------------------------------------------------------------------------------------------ */

CUptiResult cuptiGetVersion(uint32_t *version)
{
    *version = is_mode("old") ? 26 : CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                                                                     : "CUPTI_ERROR";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *user)
{
    if (is_mode("busy"))
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    fake.callback = callback;
    fake.user = user;
    *subscriber = (CUpti_SubscriberHandle)&fake;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    fake.callback = NULL;
    return subscriber == (CUpti_SubscriberHandle)&fake ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id)
{
    (void)subscriber;
    if (id >= IDS || (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API))
        return CUPTI_ERROR_INVALID_PARAMETER;
    fake.is_enabled[domain == CUPTI_CB_DOMAIN_RUNTIME_API ? FAKE_RUNTIME : FAKE_DRIVER][id] = enable != 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain)
{
    (void)subscriber;
    fake.has_nvtx = domain == CUPTI_CB_DOMAIN_NVTX && enable != 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *device)
{
    *device = (uint32_t)(uintptr_t)context - 1;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    *timestamp = fake_clock();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete)
{
    fake.request = request;
    fake.complete = complete;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    (void)kind;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    uint8_t *next = *record == NULL ? buffer : (uint8_t *)*record + sizeof fake.held[0];
    if (next >= buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(void *)next;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    *dropped = is_mode("drops") ? 17 : 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    pthread_mutex_lock(&fake.lock);
    deliver();
    pthread_mutex_unlock(&fake.lock);
    return CUPTI_SUCCESS;
}
