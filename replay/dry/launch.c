/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands between <<< and >>>, and the ways to functions by their names: the runtime's to the driver's, dlsym's to
 * ours.
 */
#include "replay/dry/private.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct size3 {
    unsigned x, y, z;
};

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* What stands between <<< and >>> is pushed, and popped by the function that then launches. */
static _Thread_local struct pushed {
    struct size3 grid, block;
    size_t shared;
    void *stream;
} pushed;

API_SETS(__cudaPushCallConfiguration, pushed, ((struct pushed){grid, block, shared, stream}), struct size3 grid,
         struct size3 block, size_t shared, void *stream)

API(int, __cudaPopCallConfiguration, struct size3 *grid, struct size3 *block, size_t *shared, void **stream)
{
    *grid = pushed.grid;
    *block = pushed.block;
    *shared = pushed.shared;
    *stream = pushed.stream;
    return DRY_OK;
}

/* ---- functions by name ------------------------------------------------------------------------------------------- */

/* For names that are not here: functions that say which one was called. There are some, one for each name. */
enum { SLOTS = 512 };
static struct {
    char name[64];
    bool is_said;
} slots[SLOTS];
static size_t slot_count;

static int unknown(size_t slot)
{
    return dry_unknown(DRY_LIBRARY_cuda, slots[slot].name, &slots[slot].is_said);
}

#define SLOT(n)                                                                                                        \
    static int slot_##n(void)                                                                                          \
    {                                                                                                                  \
        return unknown(n);                                                                                             \
    }
#define EIGHT(M, t) M(t##0) M(t##1) M(t##2) M(t##3) M(t##4) M(t##5) M(t##6) M(t##7)
#define MANY(M, t)                                                                                                     \
    EIGHT(M, t##0)                                                                                                     \
    EIGHT(M, t##1) EIGHT(M, t##2) EIGHT(M, t##3) EIGHT(M, t##4) EIGHT(M, t##5) EIGHT(M, t##6) EIGHT(M, t##7)
#define ALL(M) MANY(M, 00) MANY(M, 01) MANY(M, 02) MANY(M, 03) MANY(M, 04) MANY(M, 05) MANY(M, 06) MANY(M, 07)
ALL(SLOT)
#define ADDRESS(n) slot_##n,
static int (*const functions[SLOTS])(void) = {ALL(ADDRESS)};

static void *slot_for(const char *name)
{
    void *function = NULL;
    size_t i = 0;
    dry_lock();
    while (i < slot_count && strcmp(slots[i].name, name) != 0)
        i++;
    if (i == slot_count && slot_count < SLOTS)
        snprintf(slots[slot_count++].name, sizeof slots[i].name, "%.63s", name);
    if (i < slot_count)
        memcpy(&function, &functions[i], sizeof function);
    dry_unlock();
    return function;
}

/* This library, by whatever name it was loaded. */
static void *own(void)
{
    static void *handle;
    Dl_info info;
    if (handle == NULL && dladdr((void *)&handle, &info) != 0)
        handle = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    return handle;
}

/* The driver's functions have numbers at their names' ends where they were changed; without one the newest is meant. */
static void *find(const char *name)
{
    char newer[80];
    snprintf(newer, sizeof newer, "%.70s_v2", name);
    void *function = own() == NULL ? NULL : dlsym(own(), newer);
    if (function == NULL && own() != NULL)
        function = dlsym(own(), name);
    return function != NULL ? function : slot_for(name);
}

static int tell_function(const char *name, void **function, int *status)
{
    *function = find(name);
    if (status != NULL)
        *status = *function == NULL; /* not found */
    return DRY_OK;
}

API_IS(int, cudaGetDriverEntryPoint, tell_function(name, function, status), const char *name, void **function,
       unsigned long long flags, int *status)
API_IS(int, cudaGetDriverEntryPointByVersion, tell_function(name, function, status), const char *name, void **function,
       unsigned version, unsigned long long flags, int *status)
API_IS(int, cuGetProcAddress_v2, tell_function(name, function, status), const char *name, void **function, int version,
       uint64_t flags, int *status)
API_IS(int, cuGetProcAddress, tell_function(name, function, NULL), const char *name, void **function, int version,
       uint64_t flags)

/* Functions without names, by whose ids NVIDIA's libraries know them: tables, as long as their first word says. NVRTC
 * looks into one without asking whether it is there. All of ours end behind that word. */
API(int, cuGetExportTable, const void **table, const void *id)
{
    static const size_t nothing[1] = {sizeof nothing};
    *table = nothing;
    return DRY_OK;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static const struct {
    int error;
    const char *name, *words;
} errors[] = {
    {DRY_OK, "cudaSuccess", "no error"},
    {DRY_INVALID, "cudaErrorInvalidValue", "invalid argument"},
    {DRY_NO_MEMORY, "cudaErrorMemoryAllocation", "out of memory"},
    {DRY_NO_DEVICE, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {DRY_BAD_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {DRY_NOT_FOUND, "cudaErrorSymbolNotFound", "named symbol not found"},
    {DRY_NOT_READY, "cudaErrorNotReady", "device not ready"},
    {DRY_NOT_SUPPORTED, "cudaErrorNotSupported", "operation not supported (by gmdry's stand-in)"},
    {DRY_CAPTURE, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
};

static size_t row_of(int error)
{
    size_t i = sizeof errors / sizeof *errors - 1;
    while (i > 0 && errors[i].error != error)
        i--;
    return errors[i].error == error ? i : 1;
}

API_IS(const char *, cudaGetErrorString, errors[row_of(error)].words, int error)
API_IS(const char *, cudaGetErrorName, errors[row_of(error)].name, int error)
API_SETS(cuGetErrorString, *words, cudaGetErrorString(error), int error, const char **words)
API_SETS(cuGetErrorName, *name, cudaGetErrorName(error), int error, const char **name)
