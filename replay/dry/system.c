/* SPDX-License-Identifier: Apache-2.0
 *
 * NVML and CUPTI: what is asked about the machine, and profilers (nothing to tell).
 */
#include "replay/dry/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- NVML: a device's handle is its number, plus one ------------------------------------------------------------- */

enum { NVML_OK = 0, NVML_INVALID = 2, NVML_NOT_SUPPORTED = 3 };

static int give_device(void **handle, unsigned index)
{
    *handle = (void *)(uintptr_t)(index + 1);
    return (int)index < dry_devices() ? NVML_OK : NVML_INVALID;
}

static int index_of(void *handle)
{
    return (int)(uintptr_t)handle - 1;
}

static int count_devices(unsigned *count)
{
    *count = (unsigned)dry_devices();
    return NVML_OK;
}

API(int, nvmlDeviceGetCount, unsigned *count)
{
    return count_devices(count);
}

API(int, nvmlDeviceGetCount_v2, unsigned *count)
{
    return count_devices(count);
}

API(int, nvmlDeviceGetHandleByIndex, unsigned index, void **handle)
{
    return give_device(handle, index);
}

API(int, nvmlDeviceGetHandleByIndex_v2, unsigned index, void **handle)
{
    return give_device(handle, index);
}

/* As cudaDeviceGetPCIBusId tells it: 0000:01:00.0 is device 0. */
API(int, nvmlDeviceGetHandleByPciBusId_v2, const char *bus, void **handle)
{
    const char *colon = strchr(bus, ':');
    return give_device(handle, colon == NULL ? UINT32_MAX - 1 : (unsigned)strtoul(colon + 1, NULL, 16) - 1);
}

API(int, nvmlDeviceGetIndex, void *handle, unsigned *index)
{
    *index = (unsigned)index_of(handle);
    return NVML_OK;
}

API(int, nvmlDeviceGetName, void *handle, char *name, unsigned length)
{
    snprintf(name, length, "%s", dry_card()->name);
    return NVML_OK;
}

API(int, nvmlDeviceGetUUID, void *handle, char *uuid, unsigned length)
{
    snprintf(uuid, length, "GPU-676d6472-79%02x-0000-0000-000000000000", (unsigned)index_of(handle) + 1);
    return NVML_OK;
}

API(int, nvmlDeviceGetCudaComputeCapability, void *handle, int *major, int *minor)
{
    *major = dry_card()->major;
    *minor = dry_card()->minor;
    return NVML_OK;
}

struct nvml_memory {
    unsigned long long total, free, used;
};

API(int, nvmlDeviceGetMemoryInfo, void *handle, struct nvml_memory *memory)
{
    dry_lock();
    memory->total = dry_card()->total;
    memory->free = dry_free_bytes(index_of(handle));
    memory->used = memory->total - memory->free;
    dry_unlock();
    return NVML_OK;
}

static int no_processes(unsigned *count)
{
    *count = 0;
    return NVML_OK;
}

API(int, nvmlDeviceGetComputeRunningProcesses, void *handle, unsigned *count, void *processes)
{
    return no_processes(count);
}

API(int, nvmlDeviceGetComputeRunningProcesses_v2, void *handle, unsigned *count, void *processes)
{
    return no_processes(count);
}

API(int, nvmlDeviceGetComputeRunningProcesses_v3, void *handle, unsigned *count, void *processes)
{
    return no_processes(count);
}

/* No links, no fabric. */
API(int, nvmlDeviceGetNvLinkRemoteDeviceType, void *handle, unsigned link, unsigned *type)
{
    *type = 255;
    return NVML_NOT_SUPPORTED;
}

API(int, nvmlDeviceGetNvLinkRemotePciInfo_v2, void *handle, unsigned link, void *info)
{
    return NVML_NOT_SUPPORTED;
}

API(int, nvmlDeviceGetGpuFabricInfo, void *handle, void *info)
{
    return NVML_NOT_SUPPORTED;
}

API(int, nvmlDeviceGetGpuFabricInfoV, void *handle, void *info)
{
    return NVML_NOT_SUPPORTED;
}

API(int, nvmlSystemGetDriverVersion, char *version, unsigned length)
{
    snprintf(version, length, "595.00");
    return NVML_OK;
}

static const char *words(int status)
{
    return status == 0 ? "success" : "not supported (by gmdry's stand-in)";
}

API(const char *, nvmlErrorString, int status)
{
    return words(status);
}

/* ---- CUPTI ------------------------------------------------------------------------------------------------------- */

API(int, cuptiGetVersion, uint32_t *version)
{
    *version = 26;
    return 0;
}

API(int, cuptiGetResultString, int status, const char **text)
{
    *text = words(status);
    return 0;
}

API(int, cuptiActivityGetNextRecord, void *buffer, size_t bytes, void **record)
{
    return 12; /* there are no more */
}

API(int, cuptiActivityGetNumDroppedRecords, void *context, uint32_t stream, size_t *count)
{
    *count = 0;
    return 0;
}

API(int, cuptiGetCallbackName, int domain, uint32_t id, const char **name)
{
    *name = "";
    return 0;
}
