/* SPDX-License-Identifier: Apache-2.0
 *
 * The devices as the card says they are: properties, attributes. What the card's row does not say follows
 * from its compute capability, or is what such cards have.
 */
#include "replay/dry/private.h"

#include <stdio.h>
#include <string.h>

enum { RUNTIME_12 = 12080, RUNTIME_13 = 13000, DRIVER = 13020 };

/* ---- what follows from the compute capability -------------------------------------------------------------------- */

/* As in the CUDA programming guide's table of technical specifications, checked against NVIDIA's own arch_traits.h (in
 * cccl), which has 32 blocks for 12.0. That of the next lower capability counts. */
static const struct dry_limits limits[] = {
    {60, 2048, 32, 64, 48},   {70, 2048, 32, 96, 96},    {75, 1024, 16, 64, 64},
    {80, 2048, 32, 164, 163}, {86, 1536, 16, 100, 99},   {89, 1536, 24, 100, 99},
    {90, 2048, 32, 228, 227}, {100, 2048, 32, 228, 227}, {120, 1536, 24, 100, 99},
};

const struct dry_limits *dry_limits(void)
{
    const int capability = 10 * dry_card()->major + dry_card()->minor;
    size_t i = sizeof limits / sizeof *limits - 1;
    while (i > 0 && limits[i].capability > capability)
        i--;
    return &limits[i];
}

/* ---- properties -------------------------------------------------------------------------------------------------- */

/* The fields of cudaDeviceProp, in order: OLD(...) are those that CUDA 13 has dropped. What lies behind is 0. */
#define FIELDS(NOW, OLD)                                                                                               \
    NOW(char, name, [256])                                                                                             \
    NOW(char, uuid, [16])                                                                                              \
    NOW(char, luid, [8])                                                                                               \
    NOW(unsigned, luid_node_mask, )                                                                                    \
    NOW(size_t, total_memory, )                                                                                        \
    NOW(size_t, shared_of_block, )                                                                                     \
    NOW(int, registers_of_block, )                                                                                     \
    NOW(int, warp, )                                                                                                   \
    NOW(size_t, pitch, )                                                                                               \
    NOW(int, threads_of_block, )                                                                                       \
    NOW(int, threads_dim, [3])                                                                                         \
    NOW(int, grid, [3])                                                                                                \
    OLD(int, clock_rate, )                                                                                             \
    NOW(size_t, constant_memory, )                                                                                     \
    NOW(int, major, )                                                                                                  \
    NOW(int, minor, )                                                                                                  \
    NOW(size_t, texture_alignment, )                                                                                   \
    NOW(size_t, texture_pitch, )                                                                                       \
    OLD(int, overlaps, )                                                                                               \
    NOW(int, sms, )                                                                                                    \
    OLD(int, has_timeout, )                                                                                            \
    NOW(int, is_integrated, )                                                                                          \
    NOW(int, maps_host, )                                                                                              \
    OLD(int, compute_mode, )                                                                                           \
    NOW(int, texture_1d, [2])                                                                                          \
    OLD(int, texture_1d_linear, )                                                                                      \
    NOW(int, textures_and_surfaces, [37])                                                                              \
    NOW(size_t, surface_alignment, )                                                                                   \
    NOW(int, concurrent_kernels, )                                                                                     \
    NOW(int, ecc, )                                                                                                    \
    NOW(int, pci_bus, )                                                                                                \
    NOW(int, pci_device, )                                                                                             \
    NOW(int, pci_domain, )                                                                                             \
    NOW(int, tcc, )                                                                                                    \
    NOW(int, engines, )                                                                                                \
    NOW(int, unified, )                                                                                                \
    OLD(int, memory_clock, )                                                                                           \
    NOW(int, bus_width, )                                                                                              \
    NOW(int, l2, )                                                                                                     \
    NOW(int, l2_persisting, )                                                                                          \
    NOW(int, threads_of_sm, )                                                                                          \
    NOW(int, priorities, )                                                                                             \
    NOW(int, l1, [2])                                                                                                  \
    NOW(size_t, shared_of_sm, )                                                                                        \
    NOW(int, registers_of_sm, )                                                                                        \
    NOW(int, managed, )                                                                                                \
    NOW(int, multi_gpu_board, )                                                                                        \
    NOW(int, board_group, )                                                                                            \
    NOW(int, host_atomics, )                                                                                           \
    OLD(int, double_ratio, )                                                                                           \
    NOW(int, pageable, )                                                                                               \
    NOW(int, concurrent_managed, )                                                                                     \
    NOW(int, preempts, )                                                                                               \
    NOW(int, host_pointers, )                                                                                          \
    NOW(int, cooperative, )                                                                                            \
    OLD(int, cooperative_devices, )                                                                                    \
    NOW(size_t, shared_opt_in, )                                                                                       \
    NOW(int, host_page_tables, )                                                                                       \
    NOW(int, direct_managed, )                                                                                         \
    NOW(int, blocks_of_sm, )                                                                                           \
    NOW(int, policy_window, )                                                                                          \
    NOW(size_t, reserved_shared, )                                                                                     \
    NOW(int, behind, [10])

#define FIELD(type, name, count) type name count;
#define NO_FIELD(type, name, count)
struct properties_12 {
    FIELDS(FIELD, FIELD)
};
struct properties_13 {
    FIELDS(FIELD, NO_FIELD)
};

static struct properties_12 properties(int device)
{
    const struct dry_card *card = dry_card();
    const struct dry_limits *of = dry_limits();
    struct properties_12 p = {
        .uuid = {'g', 'm', 'd', 'r', 'y', (char)(device + 1)},
        .total_memory = card->total,
        .shared_of_block = 48 << 10,
        .registers_of_block = 65536,
        .warp = 32,
        .pitch = INT32_MAX,
        .threads_of_block = 1024,
        .threads_dim = {1024, 1024, 64},
        .grid = {INT32_MAX, 65535, 65535},
        .clock_rate = 1000 * card->megahertz,
        .constant_memory = 65536,
        .major = card->major,
        .minor = card->minor,
        .texture_alignment = 512,
        .texture_pitch = 32,
        .overlaps = 1,
        .sms = card->sms,
        .maps_host = 1,
        .texture_1d = {131072, 32768},
        .surface_alignment = 512,
        .concurrent_kernels = 1,
        .pci_bus = device + 1,
        .engines = 3,
        .unified = 1,
        .memory_clock = 1000 * card->memory_megahertz,
        .bus_width = card->bus_bits,
        .l2 = (int)card->l2,
        .threads_of_sm = of->threads,
        .priorities = 1,
        .l1 = {1, 1},
        .shared_of_sm = (size_t)of->shared << 10,
        .registers_of_sm = 65536,
        .managed = 1,
        .concurrent_managed = 1,
        .preempts = 1,
        .host_pointers = 1,
        .cooperative = 1,
        .shared_opt_in = (size_t)of->shared_of_block << 10,
        .blocks_of_sm = of->blocks,
        .reserved_shared = card->major >= 8 ? 1024 : 0,
    };
    memcpy(p.name, card->name, sizeof card->name);
    return p;
}

/* That of CUDA 12; that of 13 has the plain name. */
API(int, cudaGetDeviceProperties_v2, struct properties_12 *p, int device)
{
    if (dry_check_device(device) != DRY_OK)
        return DRY_BAD_DEVICE;
    *p = properties(device);
    return DRY_OK;
}

API(int, cudaGetDeviceProperties, struct properties_13 *p, int device)
{
    if (dry_check_device(device) != DRY_OK)
        return DRY_BAD_DEVICE;
    const struct properties_12 all = properties(device);
#define COPY(type, name, count) memcpy(&p->name, &all.name, sizeof p->name);
    FIELDS(COPY, NO_FIELD)
    return DRY_OK;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

/* By the numbers that the runtime and the driver share. */
static int attribute(int number, int device)
{
    const struct properties_12 p = properties(device);
    const struct {
        int number, value;
    } rows[] = {
        {1, p.threads_of_block}, /* of a block, and of its dimensions */
        {2, p.threads_dim[0]},
        {3, p.threads_dim[1]},
        {4, p.threads_dim[2]},
        {5, p.grid[0]},
        {6, p.grid[1]},
        {7, p.grid[2]},
        {8, (int)p.shared_of_block},
        {9, (int)p.constant_memory},
        {10, p.warp},
        {11, INT32_MAX},
        {12, p.registers_of_block},
        {13, p.clock_rate},
        {14, (int)p.texture_alignment},
        {16, p.sms},
        {33, p.pci_bus},
        {36, p.memory_clock},
        {37, p.bus_width},
        {38, p.l2},
        {39, p.threads_of_sm},
        {40, p.engines},
        {75, p.major},
        {76, p.minor},
        {81, (int)p.shared_of_sm},
        {82, p.registers_of_sm},
        {97, (int)p.shared_opt_in},
        {106, p.blocks_of_sm},
        {111, (int)p.reserved_shared},
        {120, p.major >= 9}, /* thread block clusters */
    };
    /* What every card of the table can: overlap, mapping, concurrent kernels, unified addresses, priorities, caches,
     * managed memory, preemption, cooperative launches, virtual memory with handles of files, memory pools. */
    static const int can[] = {15, 19, 31, 41, 78, 79, 80, 83, 89, 90, 91, 95, 99, 102, 103, 115};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].number == number)
            return rows[i].value;
    for (size_t i = 0; i < sizeof can / sizeof *can; i++)
        if (can[i] == number)
            return 1;
    return 0; /* integrated, compute mode, pageable memory, textures, multicast, fabric */
}

API(int, cudaDeviceGetAttribute, int *value, int number, int device)
{
    if (dry_check_device(device) != DRY_OK)
        return DRY_BAD_DEVICE;
    *value = attribute(number, device);
    return DRY_OK;
}

API_IS(int, cuDeviceGetAttribute, cudaDeviceGetAttribute(value, number, device), int *value, int number, int device)

API(int, cuDeviceComputeCapability, int *major, int *minor, int device)
{
    *major = dry_card()->major;
    *minor = dry_card()->minor;
    return dry_check_device(device);
}

API(int, cuDeviceTotalMem_v2, size_t *bytes, int device)
{
    *bytes = dry_card()->total;
    return dry_check_device(device);
}

API(int, cuDeviceGetName, char *name, int length, int device)
{
    snprintf(name, (size_t)length, "%s", dry_card()->name);
    return dry_check_device(device);
}

API(int, cuDeviceGetUuid_v2, char *uuid, int device)
{
    memcpy(uuid, properties(device).uuid, 16);
    return dry_check_device(device);
}

API_IS(int, cuDeviceGetUuid, cuDeviceGetUuid_v2(uuid, device), char *uuid, int device)

static int tell_bus(char *text, int length, int device)
{
    snprintf(text, (size_t)length, "0000:%02x:00.0", (unsigned)device + 1);
    return dry_check_device(device);
}

API_IS(int, cudaDeviceGetPCIBusId, tell_bus(text, length, device), char *text, int length, int device)
API_IS(int, cuDeviceGetPCIBusId, tell_bus(text, length, device), char *text, int length, int device)

/* ---- how many, which versions ------------------------------------------------------------------------------------ */

static int count_devices(int *count)
{
    *count = dry_devices();
    return *count > 0 ? DRY_OK : dry_result(DRY_NO_DEVICE);
}

API_IS(int, cudaGetDeviceCount, count_devices(count), int *count)
API_IS(int, cuDeviceGetCount, count_devices(count), int *count)

API(int, cuDeviceGet, int *device, int ordinal)
{
    *device = ordinal;
    return dry_check_device(ordinal);
}

API_SETS(cudaDriverGetVersion, *version, DRIVER, int *version)
API_SETS(cuDriverGetVersion, *version, DRIVER, int *version)
API_SETS(nvmlSystemGetCudaDriverVersion_v2, *version, DRIVER, int *version)
API_SETS(nvmlSystemGetCudaDriverVersion, *version, DRIVER, int *version)

API_OF("libcudart.so.12", int, dry_runtime_version_12, cudaRuntimeGetVersion, int *version)
{
    *version = RUNTIME_12;
    return DRY_OK;
}

API_OF("libcudart.so.13", int, dry_runtime_version_13, cudaRuntimeGetVersion, int *version)
{
    *version = RUNTIME_13;
    return DRY_OK;
}

API(int, cudaDeviceCanAccessPeer, int *can, int device, int peer)
{
    *can = device != peer;
    return dry_check_device(device) != DRY_OK ? DRY_BAD_DEVICE : dry_check_device(peer);
}

API(int, cudaDeviceGetP2PAttribute, int *value, int attribute_number, int device, int peer)
{
    *value = attribute_number == 2; /* access */
    return dry_check_device(device);
}

API(int, cudaDeviceGetLimit, size_t *value, int limit)
{
    *value = limit == 0 ? 1024 : limit == 2 ? 8 << 20 : 0; /* stack, heap */
    return DRY_OK;
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

API(int, cuDevicePrimaryCtxGetState, int device, unsigned *flags, int *is_active)
{
    *flags = 0;
    *is_active = 1;
    return dry_check_device(device);
}

API(int, cuDevicePrimaryCtxRetain, void **context, int device)
{
    *context = dry_handle();
    return dry_check_device(device);
}

API_SETS(cuCtxGetCurrent, *context, dry_handle(), void **context)
API_IS(int, cuCtxPushCurrent_v2, DRY_OK, void *context)

API(int, cuCtxPopCurrent_v2, void **context)
{
    if (context != NULL)
        *context = dry_handle();
    return DRY_OK;
}

API_SETS(cuCtxGetDevice, *device, dry_current(), int *device)
API_IS(int, cuCtxGetLimit, cudaDeviceGetLimit(value, limit), size_t *value, int limit)
