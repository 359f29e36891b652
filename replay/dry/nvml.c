/* SPDX-License-Identifier: Apache-2.0
 *
 * NVML: what is asked about the machine. A device's handle is its number, plus one. It idles: nothing is used, nothing
 * is spent.
 */
#include "replay/dry/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NVML_OK = 0, NVML_INVALID = 2, NVML_NOT_SUPPORTED = 3 };

static int give_device(void **handle, unsigned index)
{
    *handle = (void *)(uintptr_t)(index + 1);
    return index < (unsigned)dry_devices() ? NVML_OK : NVML_INVALID;
}

static int index_of(void *handle)
{
    return (int)(uintptr_t)handle - 1;
}

API_SETS(nvmlDeviceGetCount, *count, (unsigned)dry_devices(), unsigned *count)
API_SETS(nvmlDeviceGetCount_v2, *count, (unsigned)dry_devices(), unsigned *count)
API_IS(int, nvmlDeviceGetHandleByIndex, give_device(handle, index), unsigned index, void **handle)
API_IS(int, nvmlDeviceGetHandleByIndex_v2, give_device(handle, index), unsigned index, void **handle)

/* As cudaDeviceGetPCIBusId tells it: 0000:01:00.0 is device 0. */
API(int, nvmlDeviceGetHandleByPciBusId_v2, const char *bus, void **handle)
{
    const char *colon = strchr(bus, ':');
    return give_device(handle, colon == NULL ? UINT32_MAX - 1 : (unsigned)strtoul(colon + 1, NULL, 16) - 1);
}

API_SETS(nvmlDeviceGetIndex, *index, (unsigned)index_of(handle), void *handle, unsigned *index)

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

API_SETS(nvmlDeviceGetComputeRunningProcesses, *count, 0, void *handle, unsigned *count, void *processes)
API_SETS(nvmlDeviceGetComputeRunningProcesses_v2, *count, 0, void *handle, unsigned *count, void *processes)
API_SETS(nvmlDeviceGetComputeRunningProcesses_v3, *count, 0, void *handle, unsigned *count, void *processes)

/* No links, no fabric. */
API(int, nvmlDeviceGetNvLinkRemoteDeviceType, void *handle, unsigned link, unsigned *type)
{
    *type = 255;
    return NVML_NOT_SUPPORTED;
}

API_IS(int, nvmlDeviceGetNvLinkRemotePciInfo_v2, NVML_NOT_SUPPORTED, void *handle, unsigned link, void *info)

/* Of up to version 3: the cluster, a status, the clique, and the state: such fabric is not supported. */
static int tell_fabric(void *cluster)
{
    enum { CLUSTER = 16, BYTES = CLUSTER + 3 * sizeof(uint32_t) };
    memset(cluster, 0, BYTES);
    return NVML_OK;
}

API_IS(int, nvmlDeviceGetGpuFabricInfo, tell_fabric(info), void *handle, void *info)

API(int, nvmlDeviceGetGpuFabricInfoV, void *handle, uint32_t *info)
{
    return tell_fabric(info + 1); /* behind the version */
}

API(int, nvmlSystemGetDriverVersion, char *version, unsigned length)
{
    snprintf(version, length, "595.00");
    return NVML_OK;
}

API_IS(const char *, nvmlErrorString, dry_words(status), int status)

/* ---- memory, as newer programs ask for it; its version is in the struct and stays -------------------------------- */

struct nvml_memory_2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

API(int, nvmlDeviceGetMemoryInfo_v2, void *handle, struct nvml_memory_2 *memory)
{
    struct nvml_memory now;
    nvmlDeviceGetMemoryInfo(handle, &now);
    memory->total = now.total;
    memory->reserved = 0;
    memory->free = now.free;
    memory->used = now.used;
    return NVML_OK;
}

/* ---- where it is ------------------------------------------------------------------------------------------------- */

API(int, nvmlDeviceGetHandleByUUID, const char *uuid, void **handle)
{
    static const char before[] = "GPU-676d6472-79";
    const bool is_ours = strncmp(uuid, before, sizeof before - 1) == 0;
    return give_device(handle, is_ours ? (unsigned)strtoul(uuid + sizeof before - 1, NULL, 16) - 1 : UINT32_MAX - 1);
}

struct nvml_place {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char text[32];
};

API(int, nvmlDeviceGetPciInfo_v3, void *handle, struct nvml_place *place)
{
    *place = (struct nvml_place){.bus = (unsigned)index_of(handle) + 1, .id = 0x10de};
    snprintf(place->legacy, sizeof place->legacy, "0000:%02x:00.0", place->bus);
    snprintf(place->text, sizeof place->text, "00000000:%02X:00.0", place->bus);
    return NVML_OK;
}

API_SETS(nvmlDeviceGetMinorNumber, *minor, (unsigned)index_of(handle), void *handle, unsigned *minor)

enum { ONE_NODE = 40 };

API_SETS(nvmlDeviceGetTopologyCommonAncestor, *level, ONE_NODE, void *one, void *other, int *level)
API_SETS(nvmlDeviceGetP2PStatus, *status, 0, void *one, void *other, int what, int *status)

/* ---- how it is --------------------------------------------------------------------------------------------------- */

/* Of the device, of its memory. */
API_SETS(nvmlDeviceGetUtilizationRates, rates[0] = rates[1], 0, void *handle, unsigned rates[2])
API_SETS(nvmlDeviceGetTemperature, *degrees, 30, void *handle, int sensor, unsigned *degrees)
API_SETS(nvmlDeviceGetPowerUsage, *milliwatts, 0, void *handle, unsigned *milliwatts)
API_SETS(nvmlDeviceGetTotalEnergyConsumption, *millijoules, 0, void *handle, unsigned long long *millijoules)

API(int, nvmlDeviceGetClockInfo, void *handle, int clock, unsigned *megahertz)
{
    enum { MEMORY = 2 };
    *megahertz = (unsigned)(clock == MEMORY ? dry_card()->memory_megahertz : dry_card()->megahertz);
    return NVML_OK;
}

API_SETS(nvmlDeviceGetPersistenceMode, *is_on, 1, void *handle, unsigned *is_on)
API_SETS(nvmlDeviceGetMigMode, *now = *then, 0, void *handle, unsigned *now, unsigned *then)

/* ---- what it has not --------------------------------------------------------------------------------------------- */

API_IS(int, nvmlDeviceGetNvLinkState, NVML_NOT_SUPPORTED, void *handle, unsigned link, int *is_active)
API_IS(int, nvmlDeviceGetNvLinkVersion, NVML_NOT_SUPPORTED, void *handle, unsigned link, unsigned *version)
API_IS(int, nvmlDeviceGetNvLinkCapability, NVML_NOT_SUPPORTED, void *handle, unsigned link, int what, unsigned *can)
API_IS(int, nvmlDeviceGetNumaNodeId, NVML_NOT_SUPPORTED, void *handle, unsigned *node)
API_IS(int, nvmlDeviceGetEnforcedPowerLimit, NVML_NOT_SUPPORTED, void *handle, unsigned *milliwatts)
API_IS(int, nvmlDeviceGetPowerManagementLimit, NVML_NOT_SUPPORTED, void *handle, unsigned *milliwatts)
