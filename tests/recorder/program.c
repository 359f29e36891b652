/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses CUDA, as far as libgmrecord.so can tell: it loads the injection library as the driver does and
 * makes calls through fake_cupti. usage: program SCENE [NUMBER]; test_inject.py says what each scene amounts to.
 */
#include "fake_cupti.h"

#include <cupti.h>
#include <generated_nvtx_meta.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint64_t MIB = 1 << 20, BASE = UINT64_C(0x7f0000000000);
enum { OUT_OF_MEMORY = 2 };

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static void whole(int domain, uint32_t id, const char *name, const void *parameters, int result, int device)
{
    uint64_t correlation = 0;
    fake_half(domain, id, name, NULL, parameters, 0, device, false, &correlation);
    fake_half(domain, id, name, NULL, parameters, result, device, true, &correlation);
}

#define RUNTIME(name, version, parameters, result, device)                                                             \
    whole(FAKE_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_##name##_##version, #name, parameters, result, device)
#define DRIVER(name, parameters, result, device)                                                                       \
    whole(FAKE_DRIVER, CUPTI_DRIVER_TRACE_CBID_##name, #name, parameters, result, device)

/* With the driver's call inside, as the runtime makes it. */
static void cuda_malloc(uint64_t address, size_t size, int device, int result)
{
    void *given = NULL;
    CUdeviceptr pointer = address;
    uint64_t correlation = 0;
    cudaMalloc_v3020_params outer = {.devPtr = &given, .size = size};
    cuMemAlloc_v2_params inner = {.dptr = &pointer, .bytesize = size};
    fake_half(FAKE_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, "cudaMalloc", NULL, &outer, 0, device, false,
              &correlation);
    DRIVER(cuMemAlloc_v2, &inner, result, device);
    given = result == 0 ? (void *)(uintptr_t)address : NULL;
    fake_half(FAKE_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, "cudaMalloc", NULL, &outer, result, device, true,
              &correlation);
}

static void cuda_free(uint64_t address, int device, int result)
{
    cudaFree_v3020_params p = {.devPtr = (void *)(uintptr_t)address};
    RUNTIME(cudaFree, v3020, &p, result, device);
}

static void malloc_async(uint64_t address, size_t size, uintptr_t stream, int device)
{
    void *given = (void *)(uintptr_t)address;
    cudaMallocAsync_v11020_params p = {.devPtr = &given, .size = size, .hStream = (cudaStream_t)stream};
    RUNTIME(cudaMallocAsync, v11020, &p, 0, device);
}

static void free_async(uint64_t address, uintptr_t stream, int device)
{
    cudaFreeAsync_v11020_params p = {.devPtr = (void *)(uintptr_t)address, .hStream = (cudaStream_t)stream};
    RUNTIME(cudaFreeAsync, v11020, &p, 0, device);
}

static void create_and_map(uint64_t address, size_t size, uint64_t handle, int device)
{
    CUmemGenericAllocationHandle given = handle;
    CUmemAllocationProp prop = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    cuMemCreate_params create = {.handle = &given, .size = size, .prop = &prop};
    cuMemMap_params map = {.ptr = address, .size = size, .handle = handle};
    DRIVER(cuMemCreate, &create, 0, 0);
    DRIVER(cuMemMap, &map, 0, 0); /* the context says device 0, the handle knows better */
}

static void unmap(uint64_t address, size_t size)
{
    cuMemUnmap_params p = {.ptr = address, .size = size};
    DRIVER(cuMemUnmap, &p, 0, 0);
}

static void push(const char *name)
{
    int level = 0;
    nvtxRangePushA_params p = {.message = name};
    fake_nvtx(CUPTI_CBID_NVTX_nvtxRangePushA, "nvtxRangePushA", &p, &level);
}

static void pop(void)
{
    int level = 0;
    fake_nvtx(CUPTI_CBID_NVTX_nvtxRangePop, "nvtxRangePop", NULL, &level);
}

/* ---- scenes ----------------------------------------------------------------------------------------------------- */

static void plain(void)
{
    push("forward");
    cuda_malloc(BASE, 100 * MIB, 0, 0);
    push("attention");
    malloc_async(BASE + 200 * MIB, 1000, 0x10, 0);
    uint64_t now = fake_clock();
    fake_kernel(0, "softmax_kernel", now, now + 5000);
    fake_copy(0, 4096, now + 6000, now + 9000);
    struct timespec tick = {.tv_nsec = 100000};
    nanosleep(&tick, NULL);
    cuda_malloc(BASE + 400 * MIB, 50 * MIB, 0, 0);
    pop();
    cuda_malloc(BASE + 4096 * MIB, 10 * MIB, 1, 0);
    pop();
    cuda_free(BASE, 0, 0);
    cuda_malloc(0, (size_t)1 << 40, 0, OUT_OF_MEMORY);
    cuda_malloc(BASE, 70 * MIB, 0, 0);
    free_async(BASE + 200 * MIB, 0x10, 0);
    cuda_free(0, 0, 0);
}

static void virtual(void)
{
    uint64_t at = BASE + 8192 * MIB;
    for (uint64_t i = 0; i < 4; i++)
        create_and_map(at + i * 20 * MIB, 20 * MIB, 1000 + i, 1);
    unmap(at, 40 * MIB); /* two of them */
    create_and_map(at + 20 * MIB, 20 * MIB, 2000, 1);
    CUmemAllocationProp prop = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};
    cuMemCreate_params create = {.size = 20 * MIB, .prop = &prop};
    DRIVER(cuMemCreate, &create, OUT_OF_MEMORY, 0);
}

static void odd(void)
{
    cuda_free(BASE + 300 * MIB, 0, 0); /* nobody allocated that */
    cuda_malloc(BASE, MIB, 0, 0);
    cuda_malloc(BASE, 2 * MIB, 0, 0); /* its free was lost */
    cuda_malloc(BASE + 4 * MIB, MIB, 0, 0);
    cuda_free(BASE + 4 * MIB, 0, 700); /* fails */
    cuda_malloc(BASE + 8 * MIB, 4 * MIB, 1, 0);
    cudaSetDevice_v3020_params set = {.device = 1};
    RUNTIME(cudaSetDevice, v3020, &set, 0, -1);
    RUNTIME(cudaDeviceReset, v3020, &set, 0, -1);
    pop(); /* never pushed */
    for (int i = 0; i < 100; i++)
        push("deep");
    for (int i = 0; i < 100; i++)
        pop();
    push(NULL);
    cuda_malloc(BASE + 16 * MIB, 3 * MIB, 1, 0);
    pop();
}

static void ranges(void)
{
    nvtxStringHandle_t handle = (nvtxStringHandle_t)(uintptr_t)0x1234;
    nvtxDomainRegisterStringA_params name = {.string = "registered"};
    fake_nvtx(CUPTI_CBID_NVTX_nvtxDomainRegisterStringA, "nvtxDomainRegisterStringA", &name, &handle);
    nvtxEventAttributes_t by_handle = {.messageType = NVTX_MESSAGE_TYPE_REGISTERED, .message = {.registered = handle}},
                          by_text = {.messageType = NVTX_MESSAGE_TYPE_ASCII, .message = {.ascii = "text"}};
    nvtxDomainRangePushEx_params pushed = {.core = {.eventAttrib = &by_handle}};
    fake_nvtx(CUPTI_CBID_NVTX_nvtxDomainRangePushEx, "nvtxDomainRangePushEx", &pushed, NULL);
    nvtxRangeId_t id = 77;
    nvtxRangeStartEx_params started = {.eventAttrib = &by_text};
    fake_nvtx(CUPTI_CBID_NVTX_nvtxRangeStartEx, "nvtxRangeStartEx", &started, &id);
    cuda_malloc(BASE, MIB, 0, 0);
    nvtxDomainRangePop_params popped = {0};
    fake_nvtx(CUPTI_CBID_NVTX_nvtxDomainRangePop, "nvtxDomainRangePop", &popped, NULL);
    nvtxRangeEnd_params ended = {.id = id};
    fake_nvtx(CUPTI_CBID_NVTX_nvtxRangeEnd, "nvtxRangeEnd", &ended, NULL);
}

static void launches(void)
{
    static const char name[] = "_Z9my_kernelPf";
    uint64_t correlation = 0;
    cudaLaunchKernel_v7000_params p = {0};
    fake_half(FAKE_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel", name, &p, 0, 0, false,
              &correlation);
    fake_half(FAKE_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel", name, &p, 0, 0, true,
              &correlation);
    cuda_malloc(BASE, MIB, 0, 0);
}

/* Kernels as C++ compilers call them: a template, one that is no such name, and one whose name is very long. */
static void names(void)
{
    static char deep[4000] = "_Z4deepI", longest[6000] = "_Z"; /* read when the program ends */
    for (size_t at = strlen(deep); at < 900; at += 2)
        memcpy(deep + at, "i,", 3);
    for (char *at = strchr(deep, ','); at != NULL; at = strchr(at, ','))
        *at = 'f';
    strcat(deep, "EvT_");
    memset(longest + 2, 'x', sizeof longest - 3);
    const char *const all[] = {"_ZN2at6native4gemmILi128EfEEvPT0_i", "_Zwhat", deep, longest,
                               "_ZN2at6native4gemmILi128EfEEvPT0_i"};
    cuda_malloc(BASE, MIB, 0, 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fake_kernel(0, all[i], fake_clock(), fake_clock());
}

static long count;

static void *churn(void *argument)
{
    uint64_t base = BASE + (uint64_t)(uintptr_t)argument * 65536 * MIB;
    push("thread");
    for (long i = 0; i < count; i++) {
        cuda_malloc(base + (uint64_t)(i % 8) * MIB, MIB, 0, 0);
        fake_kernel(0, "kernel", fake_clock(), fake_clock());
        cuda_free(base + (uint64_t)(i % 8) * MIB, 0, 0);
    }
    cuda_malloc(base, MIB, 0, 0);
    pop();
    return NULL;
}

static void threads(void)
{
    pthread_t thread[4];
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, churn, (void *)i);
    for (size_t i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
}

/* Prints nanoseconds for a pair of calls. */
static void speed(void)
{
    uint64_t start = fake_clock();
    for (long i = 0; i < count; i++) {
        cuda_malloc(BASE, MIB, 0, 0);
        cuda_free(BASE, 0, 0);
    }
    printf("%llu\n", (unsigned long long)((fake_clock() - start) / (uint64_t)(count > 0 ? count : 1)));
}

static void forked(void)
{
    plain();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        cuda_malloc(BASE + 800 * MIB, MIB, 0, 0);
        exit(5);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
}

static void killed(void)
{
    plain();
    raise((int)count);
    sleep(10); /* a signal that would kill still does */
}

static bool inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (path == NULL || path[0] == '\0')
        return true;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*initialize)(void) = NULL;
    void *found = library != NULL ? dlsym(library, "InitializeInjection") : NULL;
    memcpy(&initialize, &found, sizeof found);
    if (initialize == NULL)
        fprintf(stderr, "%s\n", dlerror());
    return initialize != NULL && initialize() == 1 && initialize() == 1; /* a second call changes nothing */
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*play)(void);
    } scenes[] = {{"plain", plain},       {"virtual", virtual}, {"odd", odd},     {"ranges", ranges},
                  {"launches", launches}, {"threads", threads}, {"speed", speed}, {"forked", forked},
                  {"killed", killed},     {"names", names}};
    count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    if (argc < 2 || !inject())
        return 99;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        if (strcmp(argv[1], scenes[i].name) == 0)
            scenes[i].play();
    return 3;
}
