/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels and what they come in. Images are accepted; of cubins (as Triton makes them) it is read which kernels they
 * have and what these need; of the program's own kernels when it is asked for. Launches are counted for each kernel and
 * do nothing.
 */
#include "replay/dry/private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct kernel {
    const char *name;
    void *module; /* NULL: of the program itself, found by the address of its stub */
    const void *stub;
    struct dry_fatbin *fatbin; /* not NULL: the needs are in there */
    struct dry_needs needs;
    uint32_t next; /* of the module, or of the same hash; 0: none */
    const struct dry_counted *counted;
    uint64_t filled; /* bytes of each element; 0: it is no kernel that fills */
    uint64_t launches;
};

struct name {
    struct name *before;
    char text[];
};

/* It stays when it is unloaded: its kernels are counted to the end. */
struct module {
    struct module *before; /* of all */
    struct name *names;    /* of its kernels */
    uint32_t first;        /* kernel */
    bool is_read;          /* false: it may have any kernel */
};
static struct module *modules;

/* Kernels stay where they are: their addresses are handles. The first is not used. */
enum { KERNELS = 1 << 20, HEADS = 1 << 16 };
static struct kernel *kernels;
static uint32_t kernel_count = 1, heads[HEADS];

/* ---- kernels; the caller holds the lock -------------------------------------------------------------------------- */

/* Address space: pages come as they are used. 0: no room. */
static uint32_t add_kernel(const char *name, void *module)
{
    if (kernels == NULL) {
        void *got = mmap(NULL, KERNELS * sizeof *kernels, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        kernels = got == MAP_FAILED ? NULL : got;
    }
    if (kernels == NULL || kernel_count == KERNELS)
        return 0;
    struct kernel *kernel = &kernels[kernel_count];
    kernel->name = name;
    kernel->module = module;
    kernel->needs = dry_usual_needs();
    kernel->counted = dry_counted_kernel(name);
    kernel->filled = dry_filled_by(name);
    return kernel_count++;
}

static uint32_t *head_of(const void *stub)
{
    return &heads[((uintptr_t)stub >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 48];
}

static struct kernel *of_stub(const void *stub)
{
    uint32_t i = kernels == NULL ? 0 : *head_of(stub);
    while (i != 0 && kernels[i].stub != stub)
        i = kernels[i].next;
    return i == 0 ? NULL : &kernels[i];
}

/* By a driver's handle or a stub's address; NULL: it is neither. */
static struct kernel *kernel_of(const void *handle)
{
    const uintptr_t offset = (uintptr_t)handle - (uintptr_t)kernels;
    if (kernels != NULL && offset < kernel_count * sizeof *kernels)
        return &kernels[offset / sizeof *kernels];
    return of_stub(handle);
}

struct dry_needs dry_kernel_needs(const void *handle)
{
    dry_lock();
    const struct kernel *kernel = kernel_of(handle);
    const struct kernel found = kernel != NULL ? *kernel : (struct kernel){.needs = dry_usual_needs()};
    dry_unlock();
    return found.fatbin != NULL ? dry_fatbin_needs(found.fatbin, found.name) : found.needs;
}

void dry_tell_kernels(void (*tell)(const char *name, uint64_t launches))
{
    for (uint32_t i = 1; i < kernel_count; i++)
        if (kernels[i].launches > 0)
            tell(kernels[i].name, kernels[i].launches);
}

/* ---- the program's own kernels ----------------------------------------------------------------------------------- */

API(void **, __cudaRegisterFatBinary, const void *wrapper)
{
    dry_watch_python(); /* of a program that has loaded Python late */
    return (void **)dry_open_fatbin(wrapper);
}

API(void, __cudaRegisterFunction, void **fatbin, const void *stub, char *device_stub, const char *name)
{
    dry_lock();
    struct kernel *known = of_stub(stub); /* of a library that is no longer there */
    const uint32_t i = known == NULL ? add_kernel(name, NULL) : 0;
    if (known != NULL) {
        known->name = name;
        known->counted = dry_counted_kernel(name);
        known->fatbin = (struct dry_fatbin *)fatbin;
    } else if (i != 0) {
        kernels[i].stub = stub;
        kernels[i].fatbin = (struct dry_fatbin *)fatbin;
        kernels[i].next = *head_of(stub);
        *head_of(stub) = i;
    }
    dry_unlock();
}

API_SETS(__cudaGetKernel, *kernel, stub, const void **kernel, const void *stub)
API_SETS(cudaGetKernel, *kernel, stub, const void **kernel, const void *stub)
API_SETS(cudaGetFuncBySymbol, *kernel, stub, const void **kernel, const void *stub)

API(int, cudaGetSymbolAddress, void **address, const void *symbol)
{
    *address = dry_symbol();
    return *address == NULL ? dry_result(DRY_NO_MEMORY) : DRY_OK;
}

static int tell_name(const char **name, const void *handle)
{
    dry_lock();
    const struct kernel *kernel = kernel_of(handle);
    dry_unlock();
    *name = kernel != NULL ? kernel->name : "";
    return kernel != NULL ? DRY_OK : DRY_INVALID;
}

API_IS(int, cudaFuncGetName, dry_result(tell_name(name, kernel)), const char **name, const void *kernel)
API_IS(int, cuFuncGetName, tell_name(name, kernel), const char **name, const void *kernel)
API_IS(int, cuKernelGetName, tell_name(name, kernel), const char **name, const void *kernel)

/* ---- modules and libraries: the same here ------------------------------------------------------------------------ */

static bool add_to_module(void *context, const char *name, struct dry_needs needs)
{
    struct module *module = context;
    const size_t bytes = strlen(name) + 1;
    struct name *copy = malloc(sizeof *copy + bytes);
    if (copy == NULL)
        return false;
    memcpy(copy->text, name, bytes);
    dry_lock();
    const uint32_t i = add_kernel(copy->text, module);
    if (i != 0) {
        copy->before = module->names;
        module->names = copy;
        kernels[i].needs = needs;
        kernels[i].next = module->first;
        module->first = i;
    }
    dry_unlock();
    if (i == 0)
        free(copy);
    return i != 0;
}

static int load(void **handle, const void *image)
{
    struct module *module = calloc(1, sizeof *module);
    if (module == NULL)
        return DRY_NO_MEMORY;
    dry_lock();
    module->before = modules;
    modules = module;
    dry_unlock();
    module->is_read = image != NULL && dry_cubin_kernels(image, add_to_module, module);
    *handle = module;
    return DRY_OK;
}

/* A kernel that an image lacks is an error, as on a card; of an image that is not read it is taken to be there. */
static int get_kernel(void **handle, struct module *module, const char *name)
{
    dry_lock();
    uint32_t i = module->first;
    while (i != 0 && strcmp(kernels[i].name, name) != 0)
        i = kernels[i].next;
    dry_unlock();
    if (i == 0 && (module->is_read || !add_to_module(module, name, dry_usual_needs())))
        return DRY_NOT_FOUND;
    *handle = &kernels[i != 0 ? i : module->first];
    return DRY_OK;
}

API_IS(int, cuModuleLoad, load(module, NULL), void **module, const char *path)
API_IS(int, cuModuleLoadData, load(module, image), void **module, const void *image)
API_IS(int, cuModuleLoadDataEx, load(module, image), void **module, const void *image, unsigned count, int *options,
       void **values)
API_IS(int, cuModuleLoadFatBinary, load(module, image), void **module, const void *image)
API_IS(int, cuLibraryLoadData, load(library, image), void **library, const void *image)
API_IS(int, cudaLibraryLoadData, load(library, image), void **library, const void *image)
API_IS(int, cuModuleGetFunction, get_kernel(function, module, name), void **function, struct module *module,
       const char *name)
API_IS(int, cuLibraryGetKernel, get_kernel(kernel, library, name), void **kernel, struct module *library,
       const char *name)
API_IS(int, cudaLibraryGetKernel, dry_result(get_kernel(kernel, library, name)), void **kernel, struct module *library,
       const char *name)

API(int, cuModuleGetGlobal_v2, void **address, size_t *bytes, void *module, const char *name)
{
    if (address != NULL)
        *address = dry_symbol();
    if (bytes != NULL)
        *bytes = 8;
    return DRY_OK;
}

API_SETS(cuKernelGetFunction, *function, kernel, const void **function, const void *kernel)

API(int, cuFuncGetModule, void **module, const void *function)
{
    dry_lock();
    const struct kernel *kernel = kernel_of(function);
    *module = kernel != NULL && kernel->module != NULL ? kernel->module : dry_handle();
    dry_unlock();
    return DRY_OK;
}

API_SETS(cuLinkCreate_v2, *link, dry_handle(), unsigned count, int *options, void **values, void **link)

API(int, cuLinkComplete, void *link, void **image, size_t *bytes)
{
    *bytes = 64;
    *image = dry_handle();
    return DRY_OK;
}

/* A description of a tensor for kernels: it lies on the host and goes to them by value. */
struct map {
    char bytes[128];
};

API_SETS(cuTensorMapEncodeTiled, *map, (struct map){{0}}, struct map *map)
API_SETS(cuTensorMapEncodeIm2col, *map, (struct map){{0}}, struct map *map)

/* ---- launches ---------------------------------------------------------------------------------------------------- */

struct size3 {
    unsigned x, y, z;
};

/* Of PyTorch's kernels: how many elements, the value, where. */
static void fill(uint64_t size, void *const *parameters)
{
    int elements;
    void *to;
    memcpy(&elements, parameters[0], sizeof elements);
    memcpy(&to, parameters[2], sizeof to);
    if (elements > 0)
        dry_fill(to, parameters[1], size, (uint64_t)elements);
}

static int launch(const void *handle, void *const *parameters)
{
    dry_lock();
    struct kernel *kernel = kernel_of(handle);
    const struct dry_counted *counted = kernel != NULL && parameters != NULL ? kernel->counted : NULL;
    const uint64_t filled = kernel != NULL && parameters != NULL ? kernel->filled : 0;
    if (kernel != NULL)
        kernel->launches++;
    dry_unlock();
    dry_note_kernel(counted, parameters);
    if (filled > 0) {
        fill(filled, parameters);
        dry_count_fill();
    } else {
        dry_count_launch();
    }
    return DRY_OK;
}

API_IS(int, cudaLaunchKernel, launch(kernel, parameters), const void *kernel, struct size3 grid, struct size3 block,
       void **parameters)
API_IS(int, cudaLaunchKernelExC, launch(kernel, parameters), const void *configuration, const void *kernel,
       void **parameters)
API_IS(int, cudaLaunchCooperativeKernel, launch(kernel, NULL), const void *kernel)
API_IS(int, __cudaLaunchKernel, launch(kernel, parameters), const void *kernel, struct size3 grid, struct size3 block,
       void **parameters)
API_IS(int, cuLaunchKernel, launch(kernel, NULL), const void *kernel)
API_IS(int, cuLaunchKernelEx, launch(kernel, NULL), const void *configuration, const void *kernel)
API_IS(int, cuLaunchCooperativeKernel, launch(kernel, NULL), const void *kernel)
