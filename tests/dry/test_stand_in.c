/* SPDX-License-Identifier: Apache-2.0
 *
 * libgmdry.so as a program meets it: functions by their names, two cards of 1 GiB of which contexts take a quarter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>
#include <unistd.h>

#include "tests/dry/stand_in.h"
#include "tests/unit.h"

enum { MIB = 1 << 20, OK = 0, NO_MEMORY = 2 };

typedef int (*malloc_fn)(void **, size_t);
typedef int (*free_fn)(void *);
typedef int (*info_fn)(size_t *, size_t *);
typedef int (*set_fn)(int);
typedef int (*copy_fn)(void *, const void *, size_t, int);

TEST(capacity)
{
    FIND(malloc_fn, cudaMalloc);
    FIND(free_fn, cudaFree);
    FIND(info_fn, cudaMemGetInfo);
    FIND(set_fn, cudaSetDevice);
    FIND(int (*)(void), cudaGetLastError);
    size_t left = 0, total = 0;
    void *a = NULL, *b = NULL, *c = NULL;
    assert_int_equal(cudaMemGetInfo(&left, &total), OK);
    assert_int_equal(total, 1024 * MIB);
    assert_int_equal(left, 768 * MIB);
    assert_int_equal(cudaMalloc(&a, 700 * MIB), OK);
    assert_int_equal(cudaMalloc(&b, 69 * MIB), NO_MEMORY);
    assert_null(b);
    assert_int_equal(cudaGetLastError(), NO_MEMORY);
    assert_int_equal(cudaGetLastError(), OK);
    assert_int_equal(cudaMalloc(&b, 68 * MIB), OK);
    assert_int_equal(cudaSetDevice(1), OK); /* the other card has its own */
    assert_int_equal(cudaMalloc(&c, 768 * MIB), OK);
    assert_int_not_equal(cudaSetDevice(2), OK);
    assert_int_equal(cudaSetDevice(0), OK);
    assert_true(a != b && b != c && a != c);
    assert_int_equal(cudaFree(a), OK);
    assert_int_not_equal(cudaFree(a), OK);
    assert_int_equal(cudaMemGetInfo(&left, &total), OK);
    assert_int_equal(left, 700 * MIB);
    void *again = NULL;
    assert_int_equal(cudaMalloc(&again, MIB), OK);
    assert_ptr_equal(again, a); /* the lowest place */
    assert_int_equal(cudaFree(again) | cudaFree(b) | cudaFree(c), OK);
}

struct location {
    int type, id;
};
struct properties {
    int type, handles;
    struct location location;
    char rest[64];
};

TEST(virtual_memory)
{
    FIND(int (*)(uint64_t *, size_t, size_t, uint64_t, unsigned long long), cuMemAddressReserve);
    FIND(int (*)(uint64_t, size_t), cuMemAddressFree);
    FIND(int (*)(void **, size_t, const struct properties *, unsigned long long), cuMemCreate);
    FIND(int (*)(void *), cuMemRelease);
    FIND(int (*)(uint64_t, size_t, size_t, void *, unsigned long long), cuMemMap);
    FIND(int (*)(uint64_t, size_t), cuMemUnmap);
    FIND(info_fn, cudaMemGetInfo);
    const struct properties on_0 = {.type = 1, .location = {1, 0}};
    const struct properties of_fabric = {.type = 1, .handles = 8, .location = {1, 0}};
    uint64_t range = 0;
    void *pages[2] = {NULL, NULL}, *none = NULL;
    size_t left = 0, total = 0;
    assert_int_equal(cuMemAddressReserve(&range, (size_t)4096 * MIB, 0, 0, 0), OK); /* more than there is: addresses */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cuMemCreate(&pages[i], 300 * MIB, &on_0, 0), OK);
        assert_int_equal(cuMemMap(range + (uint64_t)i * 300 * MIB, 300 * MIB, 0, pages[i], 0), OK);
        assert_int_equal(cuMemRelease(pages[i]), OK); /* the mapping holds it */
    }
    assert_int_equal(cuMemCreate(&none, 170 * MIB, &on_0, 0), NO_MEMORY);
    assert_int_equal(cuMemCreate(&none, 2 * MIB, &of_fabric, 0), 801); /* PyTorch takes files then */
    assert_int_not_equal(cuMemUnmap(range, 100 * MIB), OK);            /* not a whole mapping */
    assert_int_equal(cuMemUnmap(range, 300 * MIB), OK);
    assert_int_equal(cudaMemGetInfo(&left, &total), OK);
    assert_int_equal(left, 468 * MIB);
    FIND(int (*)(int *, void *, int, unsigned long long), cuMemExportToShareableHandle);
    FIND(int (*)(void **, void *, int), cuMemImportFromShareableHandle);
    void *other = NULL;
    int file = -1;
    assert_int_equal(cuMemExportToShareableHandle(&file, pages[1], 1, 0), OK);
    assert_int_equal(cuMemImportFromShareableHandle(&other, (void *)(intptr_t)file, 1), OK);
    assert_int_equal(close(file), 0);
    assert_int_equal(cuMemMap(range, 300 * MIB, 0, other, 0), OK);
    assert_int_equal(cuMemRelease(other), OK);
    assert_int_equal(cuMemUnmap(range, 300 * MIB), OK);
    assert_int_equal(cudaMemGetInfo(&left, &total), OK);
    assert_int_equal(left, 468 * MIB); /* it is counted where it was made */
    assert_int_not_equal(cuMemImportFromShareableHandle(&other, (void *)(intptr_t)-1, 1), OK);
    assert_int_equal(cuMemUnmap(range + 300 * MIB, 300 * MIB), OK);
    assert_int_equal(cuMemAddressFree(range, (size_t)4096 * MIB), OK);
    assert_int_equal(cudaMemGetInfo(&left, &total), OK);
    assert_int_equal(left, 768 * MIB);
}

/* What a pool keeps grows in whole steps, and goes back where its threshold says so. */
TEST(memory_pools)
{
    enum { THRESHOLD = 4, RESERVED, RESERVED_HIGH, USED, USED_HIGH };
    FIND(int (*)(void **, int), cudaDeviceGetDefaultMemPool);
    FIND(int (*)(void **, int), cudaDeviceGetMemPool);
    FIND(int (*)(int, void *), cudaDeviceSetMemPool);
    FIND(int (*)(void *, int, uint64_t *), cudaMemPoolGetAttribute);
    FIND(int (*)(void *, int, uint64_t *), cudaMemPoolSetAttribute);
    FIND(int (*)(void *, size_t), cudaMemPoolTrimTo);
    FIND(int (*)(void **, const struct properties *), cudaMemPoolCreate);
    FIND(free_fn, cudaMemPoolDestroy);
    FIND(int (*)(void **, size_t, void *), cudaMallocAsync);
    FIND(int (*)(void *, void *), cudaFreeAsync);
    FIND(free_fn, cudaFree);
    FIND(info_fn, cudaMemGetInfo);
    FIND(uint64_t(*)(int), gmdryTaken);
    FIND(uint64_t(*)(int), gmdryRefused);
    const struct properties on_0 = {.type = 1, .location = {1, 0}};
    void *pool = NULL, *own = NULL, *now = NULL, *a = NULL, *b = NULL;
    uint64_t value = UINT64_MAX;
    size_t left = 0, total = 0;
    assert_int_equal(cudaDeviceGetDefaultMemPool(&pool, 0), OK);
    assert_int_equal(cudaMemPoolSetAttribute(pool, THRESHOLD, &value), OK);
    assert_int_equal(cudaMallocAsync(&a, 1000, NULL) | cudaMallocAsync(&b, 40 * MIB, NULL), OK);
    assert_int_equal(cudaMemPoolGetAttribute(pool, USED, &value), OK);
    assert_int_equal(value, 40 * MIB + 1024);
    assert_int_equal(cudaMemPoolGetAttribute(pool, RESERVED, &value), OK);
    assert_int_equal(value, 64 * MIB);
    assert_int_equal(cudaFreeAsync(b, NULL), OK); /* the pool keeps it */
    assert_int_equal(cudaMemGetInfo(&left, &total), OK);
    assert_int_equal(left, 704 * MIB);
    assert_int_equal(cudaMemPoolTrimTo(pool, 0), OK);
    assert_int_equal(cudaMemGetInfo(&left, &total), OK);
    assert_int_equal(left, 766 * MIB);
    assert_int_equal(cudaMemPoolGetAttribute(pool, USED_HIGH, &value), OK);
    assert_int_equal(value, 40 * MIB + 1024);
    assert_int_equal(cudaMemPoolSetAttribute(pool, USED_HIGH, &(uint64_t){0}), OK);
    assert_int_equal(cudaMemPoolGetAttribute(pool, USED_HIGH, &value), OK);
    assert_int_equal(value, 1024);
    assert_int_equal(cudaMallocAsync(&b, 768 * MIB, NULL), NO_MEMORY);
    assert_null(b);
    assert_int_equal(gmdryRefused(0), 768 * MIB);
    assert_int_equal(cudaMallocAsync(&b, 765 * MIB, NULL), OK); /* no whole step is left */
    assert_true(gmdryTaken(0) >= 768 * MIB);
    assert_int_equal(cudaFree(b) | cudaFreeAsync(a, NULL) | cudaMemPoolTrimTo(pool, 0), OK);
    assert_int_equal(cudaMemPoolCreate(&own, &on_0) | cudaDeviceSetMemPool(0, own), OK);
    assert_int_equal(cudaDeviceGetMemPool(&now, 0) | cudaMallocAsync(&a, MIB, NULL), OK);
    assert_ptr_equal(now, own);
    assert_int_equal(cudaMemPoolDestroy(own) | cudaFreeAsync(a, NULL), OK); /* it goes with what was in use of it */
    assert_int_equal(cudaMemGetInfo(&left, &total), OK);
    assert_int_equal(left, 768 * MIB);
    assert_int_equal(cudaDeviceGetMemPool(&now, 0), OK);
    assert_ptr_equal(now, pool);
}

struct attributes {
    int type, device;
    void *device_pointer, *host_pointer;
    long reserved[8];
};

TEST(copies)
{
    FIND(malloc_fn, cudaMalloc);
    FIND(free_fn, cudaFree);
    FIND(copy_fn, cudaMemcpy);
    FIND(int (*)(void **, size_t, unsigned), cudaHostAlloc);
    FIND(free_fn, cudaFreeHost);
    void *device = NULL, *pinned = NULL;
    char host[16] = "something", other[16] = "";
    assert_int_equal(cudaMalloc(&device, MIB), OK);
    assert_int_equal(cudaMemcpy(device, host, sizeof host, 1), OK);
    assert_int_equal(cudaMemcpy(other, (char *)device + 4, 6, 2), OK);
    assert_string_equal(other, "thing"); /* known until a kernel runs */
    FIND(int (*)(void), cudaLaunchKernel);
    assert_int_equal(cudaLaunchKernel(), OK);
    assert_int_equal(cudaMemcpy(host, device, sizeof host, 2), OK);
    assert_memory_equal(host, (char[16]){0}, sizeof host);
    FIND(int (*)(void *, int, size_t), cudaMemset);
    assert_int_equal(cudaMemset(device, 7, 40), OK);
    assert_int_equal(cudaMemset((char *)device + 4, 1, 2), OK);
    assert_int_equal(cudaMemcpy(host, device, 8, 2), OK);
    assert_memory_equal(host, ((char[8]){7, 7, 7, 7, 1, 1, 7, 7}), 8);
    assert_int_equal(cudaMemset(host, 3, 2), OK); /* the host's memory is real */
    assert_int_equal(host[1], 3);
    assert_int_equal(cudaHostAlloc(&pinned, 100, 0), OK);
    memcpy(pinned, "pinned", 7); /* there are pages */
    assert_int_equal(cudaMemcpy(other, pinned, 7, 0), OK);
    assert_string_equal(other, "pinned");
    assert_int_equal(cudaFreeHost(pinned) | cudaFree(device), OK);
}

/* cudaMemoryType: as Tensor.is_pinned() asks, of an address inside, too. */
TEST(what_a_pointer_is)
{
    FIND(malloc_fn, cudaMalloc);
    FIND(int (*)(void **, size_t, unsigned), cudaHostAlloc);
    FIND(free_fn, cudaFreeHost);
    FIND(int (*)(void *, size_t, unsigned), cudaHostRegister);
    FIND(free_fn, cudaHostUnregister);
    FIND(int (*)(struct attributes *, const void *), cudaPointerGetAttributes);
    void *device = NULL, *pinned = NULL;
    char host[16];
    struct attributes is = {.type = -1};
    assert_int_equal(cudaMalloc(&device, MIB) | cudaHostAlloc(&pinned, 100, 0), OK);
    assert_int_equal(cudaPointerGetAttributes(&is, (char *)device + 10), OK);
    assert_int_equal(is.type, 2);
    assert_int_equal(cudaPointerGetAttributes(&is, (char *)pinned + 99), OK);
    assert_int_equal(is.type, 1);
    assert_ptr_equal(is.device_pointer, (char *)pinned + 99);
    assert_int_equal(cudaPointerGetAttributes(&is, host), OK);
    assert_int_equal(is.type, 0);
    assert_int_equal(cudaHostRegister(host, sizeof host, 0) | cudaPointerGetAttributes(&is, host), OK);
    assert_int_equal(is.type, 1);
    assert_int_equal(cudaHostUnregister(host) | cudaFreeHost(pinned), OK);
    assert_int_equal(cudaPointerGetAttributes(&is, host), OK);
    assert_int_equal(is.type, 0);
}

/* A function that has an operator's name, as PyTorch's do. */
int _ZN2at4_ops11multinomial4callEv(copy_fn copy, void *to, const void *from); // NOLINT(bugprone-reserved-identifier)
__attribute__((noinline)) int _ZN2at4_ops11multinomial4callEv(copy_fn copy, void *to, const void *from)
{
    int status[2];
    for (int i = 0; i < 2; i++)
        status[i] = copy((char *)to + i, from, 1, 2);
    return status[0] | status[1];
}

/* What operators check of data that nobody has computed is as it should be: all is well, and nothing is wrong. */
TEST(checks)
{
    FIND(malloc_fn, cudaMalloc);
    FIND(free_fn, cudaFree);
    FIND(copy_fn, cudaMemcpy);
    FIND(int (*)(void), cudaLaunchKernel);
    void *device = NULL;
    assert_int_equal(cudaMalloc(&device, MIB), OK);
    assert_int_equal(cudaLaunchKernel(), OK); /* nobody knows what is there now */
    for (int i = 0; i < 2; i++) {
        unsigned char read[2] = {9, 9};
        assert_int_equal(_ZN2at4_ops11multinomial4callEv(cudaMemcpy, read, device), OK);
        assert_int_equal(read[0], 1);
        assert_int_equal(read[1], 0);
    }
    assert_int_equal(cudaFree(device), OK);
}

TEST(streams)
{
    FIND(int (*)(void **, unsigned, int), cudaStreamCreateWithPriority);
    FIND(int (*)(void *, int *), cudaStreamGetPriority);
    FIND(int (*)(void *, int), cudaStreamBeginCapture);
    FIND(int (*)(void *, void **), cudaStreamEndCapture);
    FIND(int (*)(void *, int *), cudaStreamIsCapturing);
    FIND(malloc_fn, cudaEventCreateWithFlags);
    FIND(int (*)(void *, void *), cudaEventRecord);
    FIND(free_fn, cudaEventQuery);
    FIND(int (*)(void *, void *, unsigned), cudaStreamWaitEvent);
    void *a = NULL, *b = NULL, *event = NULL, *graph = NULL;
    int n = 1;
    assert_int_equal(cudaStreamCreateWithPriority(&a, 1, -9) | cudaStreamCreateWithPriority(&b, 1, 0), OK);
    assert_true(a != NULL && b != NULL && a != b);
    assert_int_equal(cudaStreamGetPriority(a, &n), OK);
    assert_int_equal(n, -5);
    assert_int_equal(cudaEventCreateWithFlags(&event, 2), OK);
    assert_int_equal(cudaEventQuery(event), OK);
    assert_int_equal(cudaStreamBeginCapture(a, 0), OK);
    assert_int_not_equal(cudaStreamBeginCapture(a, 0), OK);
    assert_int_equal(cudaStreamIsCapturing(b, &n) | n, 0);
    assert_int_equal(cudaEventRecord(event, a) | cudaStreamWaitEvent(b, event, 0), OK); /* b joins */
    assert_int_equal(cudaStreamIsCapturing(b, &n), OK);
    assert_int_equal(n, 1);
    assert_int_equal(cudaStreamEndCapture(a, &graph), OK);
    assert_non_null(graph);
    assert_int_equal(cudaStreamIsCapturing(b, &n) | n, 0);
    assert_int_not_equal(cudaStreamEndCapture(a, &graph), OK);
    FIND(free_fn, cudaEventDestroy);
    assert_int_equal(cudaEventDestroy(event), OK);
}

/* GMDRY_EVENTS=2: an event is complete when it was asked for twice in vain, or somebody waited for it, or for what
 * waits for it. */
TEST(events)
{
    enum { NOT_READY = 600 };
    FIND(int (*)(void **, unsigned, int), cudaStreamCreateWithPriority);
    FIND(malloc_fn, cudaEventCreateWithFlags);
    FIND(int (*)(void *, void *), cudaEventRecord);
    FIND(free_fn, cudaEventQuery);
    FIND(free_fn, cudaEventSynchronize);
    FIND(free_fn, cudaStreamSynchronize);
    FIND(free_fn, cudaStreamQuery);
    FIND(int (*)(void *, void *, unsigned), cudaStreamWaitEvent);
    FIND(int (*)(void), cudaDeviceSynchronize);
    void *a = NULL, *b = NULL, *first = NULL, *second = NULL;
    assert_int_equal(cudaStreamCreateWithPriority(&a, 1, 0) | cudaStreamCreateWithPriority(&b, 1, 0), OK);
    assert_int_equal(cudaEventCreateWithFlags(&first, 2) | cudaEventCreateWithFlags(&second, 2), OK);
    assert_int_equal(cudaEventQuery(first), OK); /* not recorded */
    assert_int_equal(cudaEventRecord(first, a), OK);
    assert_int_equal(cudaEventQuery(first), NOT_READY);
    assert_int_equal(cudaEventQuery(first), NOT_READY);
    assert_int_equal(cudaEventQuery(first), OK);
    assert_int_equal(cudaEventRecord(first, a) | cudaEventRecord(second, a), OK);
    assert_int_equal(cudaEventSynchronize(second), OK);
    assert_int_equal(cudaEventQuery(first), OK); /* it came before */
    assert_int_equal(cudaEventRecord(first, a) | cudaStreamWaitEvent(b, first, 0), OK);
    assert_int_equal(cudaStreamSynchronize(b), OK);
    assert_int_equal(cudaEventQuery(first), OK);
    assert_int_equal(cudaEventRecord(first, a) | cudaEventRecord(second, b), OK);
    assert_int_equal(cudaStreamSynchronize(b), OK);
    assert_int_equal(cudaEventQuery(first), NOT_READY); /* the other stream's */
    assert_int_equal(cudaStreamQuery(a), NOT_READY);
    assert_int_equal(cudaDeviceSynchronize(), OK);
    assert_int_equal(cudaEventQuery(first) | cudaStreamQuery(a), OK);
    FIND(free_fn, cudaEventDestroy);
    assert_int_equal(cudaEventDestroy(first) | cudaEventDestroy(second), OK);
}

/* Offsets by hand arithmetic over the fields of cudaDeviceProp: 1032 bytes in 12; in 13 clockRate and others are gone.
 */
TEST(properties)
{
    FIND(int (*)(void *, int), cudaGetDeviceProperties_v2);
    FIND(int (*)(void *, int), cudaGetDeviceProperties);
    unsigned char p[2048];
    int n = 0;
    size_t total = 0;
    memset(p, 0xab, sizeof p);
    assert_int_equal(cudaGetDeviceProperties_v2(p, 0), OK);
    assert_string_equal((char *)p, "NVIDIA Test 1GB");
    memcpy(&total, p + 288, sizeof total);
    assert_int_equal(total, 1024 * MIB);
    memcpy(&n, p + 360, sizeof n); /* major */
    assert_int_equal(n, 9);
    memcpy(&n, p + 388, sizeof n); /* multiProcessorCount */
    assert_int_equal(n, 132);
    memcpy(&n, p + 348, sizeof n); /* clockRate */
    assert_int_equal(n, 1980000);
    memcpy(&n, p + 612, sizeof n); /* memoryBusWidth */
    assert_int_equal(n, 5120);
    memcpy(&n, p + 624, sizeof n); /* maxThreadsPerMultiProcessor */
    assert_int_equal(n, 2048);
    assert_int_equal(p[1032], 0xab);
    memset(p, 0xab, sizeof p);
    assert_int_equal(cudaGetDeviceProperties(p, 1), OK);
    memcpy(&n, p + 360, sizeof n); /* major: where clockRate was is a gap */
    assert_int_equal(n, 9);
    memcpy(&n, p + 384, sizeof n); /* deviceOverlap is gone */
    assert_int_equal(n, 132);
    assert_int_not_equal(cudaGetDeviceProperties(p, 2), OK);
}

TEST(entry_points)
{
    typedef int (*entry_fn)(const char *, void **, unsigned long long, int *);
    FIND(entry_fn, cudaGetDriverEntryPoint);
    void *function = NULL;
    int status = 1;
    assert_int_equal(cudaGetDriverEntryPoint("cuMemAddressReserve", &function, 0, &status), OK);
    assert_ptr_equal(function, dlsym(library, "cuMemAddressReserve"));
    assert_int_equal(status, 0);
    FIND(int (*)(const void **, const void *), cuGetExportTable);
    const void *table = NULL;
    assert_int_equal(cuGetExportTable(&table, "sixteen bytes id"), OK); /* NVRTC looks at its size, whatever is said */
    assert_int_equal(*(const size_t *)table, sizeof(size_t));
    assert_int_equal(cudaGetDriverEntryPoint("cuMemAlloc", &function, 0, &status), OK);
    assert_ptr_equal(function, dlsym(library, "cuMemAlloc_v2"));
}

/* Said once, by name, to a person and to gmdry; the library's own "not supported". */
TEST(unknown_functions)
{
    typedef int (*entry_fn)(const char *, void **, unsigned long long, int *);
    FIND(entry_fn, cudaGetDriverEntryPoint);
    FIND(int (*)(void), cublasSrotg_v2);
    char path[] = "/tmp/test_stand_in.XXXXXX", text[512] = "";
    const int log = mkstemp(path);
    assert_true(log >= 0);
    setenv("GMDRY_LOG", path, 1);
    assert_int_equal(cublasSrotg_v2(), 15);
    assert_int_equal(cublasSrotg_v2(), 15);
    void *function = NULL;
    assert_int_equal(cudaGetDriverEntryPoint("cuOfTomorrow", &function, 0, NULL), OK);
    assert_int_equal(((int (*)(void))(uintptr_t)function)(), 801);
    const ssize_t n = read(log, text, sizeof text - 1);
    assert_true(n > 0);
    assert_string_equal(text, "unknown cublasSrotg_v2\nunknown cuOfTomorrow\n");
    close(log);
    unlink(path);
    unsetenv("GMDRY_LOG");
}

/* PyTorch keeps a workspace for each handle, and each thread has one. */
TEST(handles)
{
    FIND(int (*)(void **), cublasCreate_v2);
    FIND(free_fn, cublasDestroy_v2);
    void *a = NULL, *b = NULL;
    assert_int_equal(cublasCreate_v2(&a), OK);
    assert_int_equal(cublasCreate_v2(&b), OK);
    assert_true(a != NULL && b != NULL && a != b);
    assert_int_equal(cublasDestroy_v2(a) | cublasDestroy_v2(b), OK);
}

AROUND_ALL(open_library, NULL)
