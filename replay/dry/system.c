/* SPDX-License-Identifier: Apache-2.0
 *
 * NVML, CUPTI and NCCL: what is asked about the machine, profilers (nothing to tell), and ranks. Collectives return at
 * once: what they would have brought is not there, as no data are.
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

/* ---- NCCL -------------------------------------------------------------------------------------------------------- */

enum { NCCL_VERSION = 22809, NCCL_NO_MEMORY = 1 };

struct nccl_id {
    char bytes[128];
};

struct communicator {
    int ranks, rank, device;
};

static int give_communicator(struct communicator **communicator, int ranks, int rank)
{
    *communicator = malloc(sizeof **communicator);
    if (*communicator == NULL)
        return NCCL_NO_MEMORY;
    **communicator = (struct communicator){ranks, rank, dry_current()};
    return 0;
}

API(int, ncclGetVersion, int *version)
{
    *version = NCCL_VERSION;
    return 0;
}

API(const char *, ncclGetErrorString, int status)
{
    return words(status);
}

API(const char *, ncclGetLastError, void *communicator)
{
    return "";
}

API(int, ncclGetUniqueId, struct nccl_id *id)
{
    memset(id, 0, sizeof *id);
    return 0;
}

API(int, ncclCommInitRank, struct communicator **communicator, int ranks, struct nccl_id id, int rank)
{
    return give_communicator(communicator, ranks, rank);
}

API(int, ncclCommInitRankConfig, struct communicator **communicator, int ranks, struct nccl_id id, int rank,
    void *config)
{
    return give_communicator(communicator, ranks, rank);
}

API(int, ncclCommInitRankScalable, struct communicator **communicator, int ranks, int rank, int ids, struct nccl_id *id,
    void *config)
{
    return give_communicator(communicator, ranks, rank);
}

API(int, ncclCommInitAll, struct communicator **communicators, int count, const int *devices)
{
    int status = 0;
    for (int i = 0; status == 0 && i < count; i++)
        status = give_communicator(&communicators[i], count, i);
    return status;
}

/* How many have the same colour is not known here; as if all had. */
API(int, ncclCommSplit, struct communicator *communicator, int colour, int key, struct communicator **part,
    void *config)
{
    *part = NULL;
    return colour < 0 ? 0 : give_communicator(part, communicator->ranks, communicator->rank);
}

API(int, ncclCommCount, const struct communicator *communicator, int *ranks)
{
    *ranks = communicator->ranks;
    return 0;
}

API(int, ncclCommUserRank, const struct communicator *communicator, int *rank)
{
    *rank = communicator->rank;
    return 0;
}

API(int, ncclCommCuDevice, const struct communicator *communicator, int *device)
{
    *device = communicator->device;
    return 0;
}

API(int, ncclCommGetAsyncError, void *communicator, int *status)
{
    *status = 0;
    return 0;
}

/* The others are taken to have sent what this one has: sizes and shapes that ranks compare are the same then. */
static void take_same(void *to, const void *from, size_t elements, int type, int copies)
{
    static const unsigned char sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1}; /* by ncclDataType_t */
    const size_t bytes = elements * (type >= 0 && type < (int)sizeof sizes ? sizes[type] : 1);
    bool is_guess;
    char *known = bytes > 0 ? dry_kept(from, bytes, &is_guess) : NULL;
    for (int i = 0; bytes > 0 && i < copies; i++)
        dry_keep((char *)to + (size_t)i * bytes, known, bytes, true);
    free(known);
}

API(int, ncclAllGather, const void *from, void *to, size_t elements, int type, const struct communicator *communicator,
    void *stream)
{
    take_same(to, from, elements, type, communicator->ranks);
    return 0;
}

API(int, ncclBroadcast, const void *from, void *to, size_t elements, int type, int root, void *communicator,
    void *stream)
{
    take_same(to, from, elements, type, 1);
    return 0;
}

API(int, ncclBcast, void *buffer, size_t elements, int type, int root, void *communicator, void *stream)
{
    take_same(buffer, buffer, elements, type, 1);
    return 0;
}

API(int, ncclRedOpCreatePreMulSum, int *operation, void *scalar, int type, int residence, void *communicator)
{
    *operation = 5; /* the first after the built-in ones */
    return 0;
}
