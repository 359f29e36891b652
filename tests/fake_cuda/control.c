/* SPDX-License-Identifier: Apache-2.0
 *
 * The beginning of every call, failures as they are told, and the calls that only answer.
 */
#include "tests/fake_cuda/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS 64

struct fake_cuda fake;
uint64_t fake_used;

static struct {
    const char *name;
    uint64_t count;
} calls[CALLS];
static uint64_t all_calls;
static struct {
    const char *call;
    uint64_t left;
    int error;
    const char *failed;
} plan;
static cudaError_t last_error;

void fake_cuda_start(const struct fake_cuda *options)
{
    fake_cuda_end();
    fake = *options;
    fake_used = 0;
    memset(calls, 0, sizeof calls);
    all_calls = 0;
    memset(&plan, 0, sizeof plan);
    last_error = cudaSuccess;
    fake_memory_start();
}

void fake_cuda_end(void)
{
    fake_streams_end();
    fake_pools_end();
    fake_vmm_end();
    fake_memory_end();
}

void fake_cuda_fail(const char *call, uint64_t nth, int error)
{
    plan.call = call;
    plan.left = nth;
    plan.error = error;
    plan.failed = NULL;
}

const char *fake_cuda_failed(void)
{
    return plan.failed;
}

uint64_t fake_cuda_calls(const char *call)
{
    if (call == NULL)
        return all_calls;
    for (int i = 0; i < CALLS && calls[i].name != NULL; i++)
        if (strcmp(calls[i].name, call) == 0)
            return calls[i].count;
    return 0;
}

int fake_begins(const char *call)
{
    int i = 0;
    while (i < CALLS && calls[i].name != NULL && strcmp(calls[i].name, call) != 0)
        i++;
    if (i == CALLS) {
        fprintf(stderr, "fake CUDA: no room to count calls of %s\n", call);
        abort();
    }
    calls[i].name = call;
    calls[i].count++;
    all_calls++;
    if (!fake.has_driver)
        return cudaErrorInsufficientDriver;
    if (plan.call == NULL || (strcmp(plan.call, "*") != 0 && strcmp(plan.call, call) != 0) || --plan.left > 0)
        return 0;
    plan.call = NULL;
    plan.failed = call;
    return plan.error;
}

cudaError_t fake_returns(cudaError_t error)
{
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

struct fake_cuda_held fake_cuda_held(void)
{
    struct fake_cuda_held held = {.bytes = fake_used};
    fake_memory_held(&held);
    fake_vmm_held(&held);
    fake_streams_held(&held);
    fake_pools_held(&held);
    return held;
}

bool fake_cuda_holds_nothing(void)
{
    struct fake_cuda_held held = fake_cuda_held(), none = {0};
    return memcmp(&held, &none, sizeof held) == 0;
}

bool fake_takes(uint64_t size)
{
    uint64_t there = fake.memory - fake.context;
    if (size > there || fake_used > there - size)
        return false;
    fake_used += size;
    return true;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

static const struct {
    unsigned code;
    const char *name, *driver_name, *words;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "CUDA_SUCCESS", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "CUDA_ERROR_UNKNOWN",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE",
     "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

static int error_row(unsigned code)
{
    for (int i = 0; i < (int)(sizeof errors / sizeof errors[0]); i++)
        if (errors[i].code == code)
            return i;
    return -1;
}

const char *cudaGetErrorName(cudaError_t error)
{
    int row = error_row(error);
    return row < 0 ? "cudaErrorUnknown" : errors[row].name;
}

const char *cudaGetErrorString(cudaError_t error)
{
    int row = error_row(error);
    return row < 0 ? "unknown error" : errors[row].words;
}

CUresult cuGetErrorName(CUresult error, const char **text)
{
    int row = error_row(error);
    *text = row < 0 ? NULL : errors[row].driver_name;
    return row < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    int row = error_row(error);
    *text = row < 0 ? NULL : errors[row].words;
    return row < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    FAKE_BEGIN();
    *count = fake.devices;
    return fake_returns(fake.devices == 0 ? cudaErrorNoDevice : cudaSuccess);
}

cudaError_t cudaSetDevice(int device)
{
    FAKE_BEGIN();
    return fake_returns(device >= 0 && device < fake.devices ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    FAKE_BEGIN();
    (void)device;
    memset(properties, 0, sizeof *properties);
    strcpy(properties->name, "Fake GPU");
    properties->multiProcessorCount = 4;
    properties->major = 9;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    FAKE_BEGIN();
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    FAKE_BEGIN();
    *version = 13000;
    return cudaSuccess;
}

/* Objects and functions have pointers of one form, as POSIX wants it for dlsym. */
#define ENTRY(name)                                                                                                    \
    if (strcmp(symbol, #name) == 0) {                                                                                  \
        __typeof__(name) *entry = name;                                                                                \
        memcpy(function, &entry, sizeof entry);                                                                        \
        return cudaSuccess;                                                                                            \
    }

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags, enum cudaDriverEntryPointQueryResult *found)
{
    FAKE_BEGIN();
    (void)version;
    (void)flags;
    *found = cudaDriverEntryPointSuccess;
    if (fake.lacks == NULL || strcmp(fake.lacks, symbol) != 0) {
        ENTRY(cuGetErrorName)
        ENTRY(cuGetErrorString)
        ENTRY(cuMemGetAllocationGranularity)
        ENTRY(cuMemAddressReserve)
        ENTRY(cuMemAddressFree)
        ENTRY(cuMemCreate)
        ENTRY(cuMemRelease)
        ENTRY(cuMemMap)
        ENTRY(cuMemUnmap)
        ENTRY(cuMemSetAccess)
    }
    *function = NULL;
    *found = cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}
