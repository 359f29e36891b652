/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA device on the fake: what it takes and gives back, the cap, every call's failure, streams, and what is left.
 */
#include "analyze/base/size.h"
#include "replay/cuda/cuda.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/unit.h"

#include <cuda_runtime_api.h>
#include <string.h>

static const struct fake_cuda gpu = {.memory = 256 * GM_MIB, .context = 16 * GM_MIB, .has_driver = true, .devices = 1};

static struct gm_cuda *begin(const struct fake_cuda *options, uint64_t cap)
{
    struct gm_cuda *cuda;
    struct gm_error err = {0};
    fake_cuda_start(options);
    assert_int_equal(gm_cuda_open(&cuda, 0, cap, &err), GM_OK);
    return cuda;
}

/* Closes; nothing may have been left, nothing failed, nothing is held. */
static void end_clean(struct gm_cuda *cuda)
{
    struct gm_cuda_left left, none = {0};
    struct gm_error err = {0};
    assert_int_equal(gm_cuda_failure(cuda)->status, GM_OK);
    assert_int_equal(gm_cuda_close(cuda, &left, &err), GM_OK);
    assert_memory_equal(&left, &none, sizeof left);
    assert_true(fake_cuda_holds_nothing());
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    fake_cuda_end();
}

static void refused(const struct fake_cuda *options, int ordinal, const char *words)
{
    struct gm_cuda *cuda = (struct gm_cuda *)&cuda;
    struct gm_error err = {0};
    fake_cuda_start(options);
    assert_int_equal(gm_cuda_open(&cuda, ordinal, UINT64_MAX, &err), GM_E_MISSING);
    assert_null(cuda);
    assert_non_null(strstr(err.message, words));
    assert_int_equal(gm_status_exit_code(err.status), 4);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    fake_cuda_end();
}

TEST(no_device)
{
    struct fake_cuda no_driver = gpu, no_gpu = gpu;
    no_driver.has_driver = false;
    no_gpu.devices = 0;
    refused(&no_driver, 0, "no CUDA device: cudaGetDeviceCount: CUDA driver version is insufficient");
    refused(&no_gpu, 0, "no CUDA device");
    refused(&gpu, 1, "no CUDA device 1: there are 1");
    refused(&gpu, -1, "no CUDA device -1");
}

TEST(blocks)
{
    struct gm_cuda *cuda = begin(&gpu, UINT64_MAX);
    struct gm_device device = gm_cuda_device(cuda);
    uint64_t a, b, free_bytes, total;
    assert_string_equal(gm_cuda_info(cuda)->name, "Fake GPU");
    assert_int_equal(gm_cuda_info(cuda)->free_bytes, 240 * GM_MIB);
    assert_int_equal(device.total_bytes, 256 * GM_MIB);
    assert_int_equal(device.free_bytes(device.self), 240 * GM_MIB);
    assert_int_equal(device.allocate(device.self, 20 * GM_MIB, &a), GM_DEVICE_OK);
    assert_int_equal(device.allocate(device.self, 200 * GM_MIB, &b), GM_DEVICE_OK);
    memset((void *)(uintptr_t)a, 1, 20 * GM_MIB);
    assert_int_equal(device.free_bytes(device.self), 20 * GM_MIB);
    assert_int_equal(device.allocate(device.self, 20 * GM_MIB + 1, &a), GM_DEVICE_FULL);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess); /* the error does not stay behind */
    assert_int_equal(device.release(device.self, b, 200 * GM_MIB), GM_DEVICE_OK);
    assert_true(gm_cuda_memory(cuda, &free_bytes, &total));
    assert_int_equal(free_bytes, 220 * GM_MIB);
    assert_int_equal(total, 256 * GM_MIB);
    assert_int_equal(device.release(device.self, a, 20 * GM_MIB), GM_DEVICE_OK);
    end_clean(cuda);
}

TEST(cap)
{
    struct gm_cuda *cuda = begin(&gpu, 64 * GM_MIB);
    struct gm_device device = gm_cuda_device(cuda);
    uint64_t a, b, at, size;
    assert_int_equal(device.total_bytes, 64 * GM_MIB);
    assert_int_equal(device.free_bytes(device.self), 64 * GM_MIB);
    assert_int_equal(device.allocate(device.self, 60 * GM_MIB, &a), GM_DEVICE_OK);
    assert_int_equal(device.allocate(device.self, 6 * GM_MIB, &b), GM_DEVICE_FULL);
    assert_int_equal(fake_cuda_calls("cudaMalloc"), 1); /* the device was not asked */
    assert_int_equal(device.reserve(device.self, 2 * GM_MIB, UINT64_MAX, &at, &size), GM_DEVICE_OK);
    assert_int_equal(size, 72 * GM_MIB); /* 9/8 of what there is under the cap */
    assert_int_equal(device.map(device.self, at, 6 * GM_MIB), GM_DEVICE_FULL);
    assert_int_equal(device.map(device.self, at, 4 * GM_MIB), GM_DEVICE_OK);
    assert_int_equal(device.free_bytes(device.self), 0);
    assert_int_equal(device.release(device.self, a, 60 * GM_MIB), GM_DEVICE_OK);
    assert_int_equal(device.free_bytes(device.self), 60 * GM_MIB);
    assert_int_equal(device.unmap(device.self, at, 4 * GM_MIB), GM_DEVICE_OK);
    assert_int_equal(device.unreserve(device.self, at, size), GM_DEVICE_OK);
    end_clean(cuda);
}

TEST(pages)
{
    struct gm_cuda *cuda = begin(&gpu, UINT64_MAX);
    struct gm_device device = gm_cuda_device(cuda);
    uint64_t at, size, other, other_size;
    assert_int_equal(device.reserve(device.self, 20 * GM_MIB, UINT64_MAX, &at, &size), GM_DEVICE_OK);
    assert_int_equal(device.reserve(device.self, 2 * GM_MIB, UINT64_MAX, &other, &other_size), GM_DEVICE_OK);
    assert_int_equal(size, 300 * GM_MIB); /* 288, rounded up to pages */
    assert_int_equal(other_size, 288 * GM_MIB);
    assert_int_equal(device.map(device.self, at + 20 * GM_MIB, 40 * GM_MIB), GM_DEVICE_OK);
    assert_int_equal(fake_cuda_held().mappings, 2);
    assert_int_equal(fake_cuda_held().handles, 0); /* only the mappings hold the memory */
    memset((void *)(uintptr_t)(at + 20 * GM_MIB), 1, 40 * GM_MIB);
    assert_int_equal(device.free_bytes(device.self), 200 * GM_MIB);
    /* More than there is: nothing of it stays. */
    assert_int_equal(device.map(device.self, at + 60 * GM_MIB, 220 * GM_MIB), GM_DEVICE_FULL);
    assert_int_equal(device.free_bytes(device.self), 200 * GM_MIB);
    assert_int_equal(device.map(device.self, other, 6 * GM_MIB), GM_DEVICE_OK);
    assert_int_equal(device.unmap(device.self, other + 2 * GM_MIB, 2 * GM_MIB), GM_DEVICE_OK);
    assert_int_equal(device.map(device.self, other + 2 * GM_MIB, 2 * GM_MIB), GM_DEVICE_OK);
    assert_int_equal(device.unmap(device.self, other, 6 * GM_MIB), GM_DEVICE_OK);
    assert_int_equal(device.unmap(device.self, at + 20 * GM_MIB, 40 * GM_MIB), GM_DEVICE_OK);
    assert_int_equal(device.unreserve(device.self, other, other_size), GM_DEVICE_OK);
    assert_int_equal(device.unreserve(device.self, at, size), GM_DEVICE_OK);
    end_clean(cuda);
}

static void misuse(int which, const char *words)
{
    struct gm_cuda *cuda = begin(&gpu, UINT64_MAX);
    struct gm_device device = gm_cuda_device(cuda);
    uint64_t a, at, size;
    assert_int_equal(device.allocate(device.self, 2 * GM_MIB, &a), GM_DEVICE_OK);
    assert_int_equal(device.reserve(device.self, 2 * GM_MIB, UINT64_MAX, &at, &size), GM_DEVICE_OK);
    assert_int_equal(device.map(device.self, at, 4 * GM_MIB), GM_DEVICE_OK);
    enum gm_device_status status = which == 0   ? device.release(device.self, a + 512, 2 * GM_MIB)
                                   : which == 1 ? device.release(device.self, a, 4 * GM_MIB)
                                   : which == 2 ? device.map(device.self, at + 2 * GM_MIB, 4 * GM_MIB)
                                   : which == 3 ? device.map(device.self, at + GM_MIB, 2 * GM_MIB)
                                   : which == 4 ? device.map(device.self, at + size, 2 * GM_MIB)
                                   : which == 5 ? device.unmap(device.self, at + 2 * GM_MIB, 4 * GM_MIB)
                                   : which == 6 ? device.unreserve(device.self, at, size)
                                   : which == 7 ? device.reserve(device.self, 3 * GM_MIB, UINT64_MAX, &at, &size)
                                                : device.unmap(device.self, a, 2 * GM_MIB);
    assert_int_equal(status, GM_DEVICE_FAILED);
    assert_non_null(strstr(gm_cuda_failure(cuda)->message, words));
    assert_int_equal(device.allocate(device.self, 2 * GM_MIB, &a), GM_DEVICE_FAILED); /* nothing works any more */
    struct gm_cuda_left left;
    gm_cuda_close(cuda, &left, NULL);
    assert_int_equal(left.blocks, 1);
    assert_int_equal(left.block_bytes, 2 * GM_MIB);
    assert_int_equal(left.pages, 2);
    assert_int_equal(left.page_bytes, 4 * GM_MIB);
    assert_int_equal(left.reservations, 1);
    assert_true(fake_cuda_holds_nothing());
    fake_cuda_end();
}

TEST(misuse)
{
    static const char *const words[] = {"not allocated so",
                                        "not allocated so",
                                        "is mapped already",
                                        "not whole pages of a reservation",
                                        "not whole pages of a reservation",
                                        "is not mapped",
                                        "is not to be given back like this",
                                        "pages of 3145728 bytes: the GPU maps multiples of 2097152",
                                        "not whole pages of a reservation"};
    for (int i = 0; i < (int)(sizeof words / sizeof words[0]); i++)
        misuse(i, words[i]);
}

TEST(old_driver)
{
    struct fake_cuda old = gpu;
    uint64_t at, size;
    old.lacks = "cuMemSetAccess";
    struct gm_cuda *cuda = begin(&old, UINT64_MAX);
    struct gm_device device = gm_cuda_device(cuda);
    assert_int_equal(device.allocate(device.self, 2 * GM_MIB, &at), GM_DEVICE_OK);
    assert_int_equal(device.reserve(device.self, 2 * GM_MIB, UINT64_MAX, &at, &size), GM_DEVICE_FAILED);
    assert_string_equal(gm_cuda_failure(cuda)->message,
                        "the driver has no cuMemSetAccess, which expandable segments need");
    assert_int_equal(gm_cuda_failure(cuda)->status, GM_E_MISSING);
    gm_cuda_close(cuda, NULL, NULL);
    assert_true(fake_cuda_holds_nothing());
    fake_cuda_end();
}

/* Everything that the device can do, once; true if nothing failed. */
static bool tour(struct gm_cuda *cuda)
{
    struct gm_device device = gm_cuda_device(cuda);
    uint64_t a, at, size, total;
    struct gm_cuda_mark first, second;
    struct gm_cuda_pool *pool = NULL;
    struct gm_cuda_pool_figures figures;
    void *stream = NULL, *scratch = NULL;
    char bytes[16] = {0};
    double seconds;
    bool is_ok;
    if (device.allocate(device.self, 8 * GM_MIB, &a) != GM_DEVICE_OK ||
        device.reserve(device.self, 2 * GM_MIB, UINT64_MAX, &at, &size) != GM_DEVICE_OK ||
        device.map(device.self, at, 6 * GM_MIB) != GM_DEVICE_OK || !gm_cuda_memory(cuda, &total, &total) ||
        !gm_cuda_stream(cuda, 0x1234, &stream) || !gm_cuda_mark(cuda, stream, &first))
        return false;
    is_ok = gm_cuda_mark(cuda, stream, &second) && gm_cuda_stream_waits(cuda, NULL, first) &&
            gm_cuda_wait_mark(cuda, second) && gm_cuda_elapsed(cuda, first, second, &seconds) &&
            gm_cuda_scratch(cuda, 16, &scratch) && gm_cuda_put(cuda, scratch, bytes, 16, stream) &&
            gm_cuda_get(cuda, bytes, scratch, 16, stream) && gm_cuda_drop_scratch(cuda, scratch) &&
            gm_cuda_pool_open(cuda, &pool);
    if (pool != NULL) {
        uint64_t block;
        is_ok = is_ok && gm_cuda_pool_allocate(pool, 1000, stream, &block) == GM_DEVICE_OK &&
                gm_cuda_pool_figures(pool, &figures) && gm_cuda_pool_release(pool, block, stream) == GM_DEVICE_OK &&
                gm_cuda_pool_trim(pool);
        is_ok = gm_cuda_pool_close(pool) && is_ok;
    }
    if (!is_ok)
        return false;
    gm_cuda_drop_mark(cuda, first);
    gm_cuda_drop_mark(cuda, second);
    return gm_cuda_wait(cuda) && device.unmap(device.self, at, 6 * GM_MIB) == GM_DEVICE_OK &&
           device.unreserve(device.self, at, size) == GM_DEVICE_OK &&
           device.release(device.self, a, 8 * GM_MIB) == GM_DEVICE_OK;
}

/* What opens the device can fail, too. */
static void fail_nth(uint64_t nth, uint64_t opening, uint64_t touring)
{
    struct gm_cuda *cuda = NULL;
    struct gm_error err = {0};
    fake_cuda_start(&gpu);
    fake_cuda_fail("*", nth, cudaErrorLaunchFailure);
    enum gm_status status = gm_cuda_open(&cuda, 0, UINT64_MAX, &err);
    if (nth <= opening) {
        assert_int_not_equal(status, GM_OK);
    } else {
        assert_int_equal(status, GM_OK);
        bool is_ok = tour(cuda);
        assert_int_equal(is_ok, nth > touring);
        if (!is_ok)
            err = *gm_cuda_failure(cuda);
        status = gm_cuda_close(cuda, NULL, nth > touring ? &err : NULL);
        assert_int_equal(status, nth > touring ? GM_E_INTERNAL : GM_OK);
    }
    const char *failed = fake_cuda_failed();
    assert_non_null(failed);
    if (strstr(err.message, failed) == NULL || strstr(err.message, "unspecified launch failure") == NULL)
        fail_msg("call %d, %s: %s", (int)nth, failed, err.message);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    /* Only what could not be given back may be held. */
    bool gives_back = strstr(failed, "Free") != NULL || strstr(failed, "Destroy") != NULL ||
                      strstr(failed, "Unmap") != NULL || strstr(failed, "Release") != NULL;
    if (!gives_back && !fake_cuda_holds_nothing())
        fail_msg("call %d, %s: something is held", (int)nth, failed);
}

TEST(every_call_fails)
{
    struct gm_cuda *cuda = begin(&gpu, UINT64_MAX);
    uint64_t opening = fake_cuda_calls(NULL);
    assert_true(tour(cuda));
    uint64_t touring = fake_cuda_calls(NULL);
    end_clean(cuda);
    uint64_t all = touring;
    fake_cuda_start(&gpu);
    assert_int_equal(gm_cuda_open(&cuda, 0, UINT64_MAX, NULL), GM_OK);
    assert_true(tour(cuda));
    gm_cuda_close(cuda, NULL, NULL);
    all = fake_cuda_calls(NULL);
    assert_true(all > touring && touring > opening + 30);
    for (uint64_t nth = 1; nth <= all; nth++)
        fail_nth(nth, opening, touring);
    fake_cuda_end();
}

/* Out of memory is an answer wherever memory is asked for, and nothing stays behind. */
TEST(every_call_is_full)
{
    static const char *const calls[] = {"cudaMalloc", "cuMemAddressReserve", "cuMemCreate", "cudaMallocFromPoolAsync"};
    for (int i = 0; i < 4; i++) {
        struct gm_cuda *cuda = begin(&gpu, UINT64_MAX);
        struct gm_device device = gm_cuda_device(cuda);
        struct gm_cuda_pool *pool;
        uint64_t a = 0, at, size, before;
        assert_int_equal(device.reserve(device.self, 2 * GM_MIB, UINT64_MAX, &at, &size), GM_DEVICE_OK);
        assert_true(gm_cuda_pool_open(cuda, &pool));
        before = device.free_bytes(device.self);
        fake_cuda_fail(calls[i], i == 2 ? 2 : 1, cudaErrorMemoryAllocation);
        enum gm_device_status status = i == 0   ? device.allocate(device.self, 2 * GM_MIB, &a)
                                       : i == 1 ? device.reserve(device.self, 2 * GM_MIB, UINT64_MAX, &a, &a)
                                       : i == 2 ? device.map(device.self, at, 6 * GM_MIB)
                                                : gm_cuda_pool_allocate(pool, 2 * GM_MIB, NULL, &a);
        assert_int_equal(status, GM_DEVICE_FULL);
        assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
        assert_int_equal(device.free_bytes(device.self), before);
        assert_true(gm_cuda_pool_close(pool));
        assert_int_equal(device.unreserve(device.self, at, size), GM_DEVICE_OK);
        end_clean(cuda);
    }
}

static void add_one(void *data)
{
    ++**(int **)data;
}

TEST(streams)
{
    struct fake_cuda late = gpu;
    int count = 0, *counter = &count;
    void *a, *b = NULL, *again = NULL;
    struct gm_cuda_mark mark, after;
    double seconds;
    late.is_late = true;
    struct gm_cuda *cuda = begin(&late, UINT64_MAX);
    assert_true(gm_cuda_stream(cuda, 0, &a));
    assert_null(a);
    assert_true(gm_cuda_stream(cuda, -7, &a) && gm_cuda_stream(cuda, 8, &b) && gm_cuda_stream(cuda, -7, &again));
    assert_ptr_equal(a, again);
    assert_ptr_not_equal(a, b);
    fake_cuda_queue(a, add_one, &counter, sizeof counter);
    assert_true(gm_cuda_mark(cuda, a, &mark));
    assert_int_equal(count, 0);
    assert_true(gm_cuda_wait_mark(cuda, mark));
    assert_int_equal(count, 1);
    fake_cuda_queue(a, add_one, &counter, sizeof counter);
    assert_true(gm_cuda_mark(cuda, a, &after));
    assert_true(gm_cuda_stream_waits(cuda, b, after));
    assert_int_equal(count, 1);
    assert_true(gm_cuda_wait_stream(cuda, b)); /* which waits for the other */
    assert_int_equal(count, 2);
    assert_true(gm_cuda_elapsed(cuda, mark, after, &seconds));
    assert_true(seconds > 0.0009 && seconds < 0.0011);
    gm_cuda_drop_mark(cuda, mark);
    gm_cuda_drop_mark(cuda, after);
    assert_true(gm_cuda_mark(cuda, b, &mark)); /* an event that was used before */
    assert_int_equal(fake_cuda_calls("cudaEventCreateWithFlags"), 2);
    gm_cuda_drop_mark(cuda, mark);
    end_clean(cuda);
}

static void set_byte(void *data)
{
    **(char **)data = 1;
}

/* The driver would pull the pages away under a kernel. */
TEST(unmap_waits)
{
    struct fake_cuda late = gpu;
    uint64_t at, size;
    late.is_late = true;
    struct gm_cuda *cuda = begin(&late, UINT64_MAX);
    struct gm_device device = gm_cuda_device(cuda);
    assert_int_equal(device.reserve(device.self, 2 * GM_MIB, UINT64_MAX, &at, &size), GM_DEVICE_OK);
    assert_int_equal(device.map(device.self, at, 2 * GM_MIB), GM_DEVICE_OK);
    char *byte = (char *)(uintptr_t)at;
    fake_cuda_queue(NULL, set_byte, &byte, sizeof byte);
    assert_int_equal(fake_cuda_waiting(), 1);
    assert_int_equal(device.unmap(device.self, at, 2 * GM_MIB), GM_DEVICE_OK);
    assert_int_equal(fake_cuda_waiting(), 0);
    assert_int_equal(device.unreserve(device.self, at, size), GM_DEVICE_OK);
    end_clean(cuda);
}

TEST(leaks)
{
    struct gm_cuda_left left;
    struct gm_cuda_mark mark;
    struct gm_error err = {0};
    uint64_t a, at, size;
    void *scratch;
    struct gm_cuda *cuda = begin(&gpu, UINT64_MAX);
    struct gm_device device = gm_cuda_device(cuda);
    for (uint64_t i = 1; i <= 3; i++)
        assert_int_equal(device.allocate(device.self, i * GM_MIB, &a), GM_DEVICE_OK);
    assert_int_equal(device.release(device.self, a, 3 * GM_MIB), GM_DEVICE_OK);
    assert_int_equal(device.reserve(device.self, 20 * GM_MIB, UINT64_MAX, &at, &size), GM_DEVICE_OK);
    assert_int_equal(device.map(device.self, at + 20 * GM_MIB, 40 * GM_MIB), GM_DEVICE_OK);
    assert_true(gm_cuda_mark(cuda, NULL, &mark));
    assert_true(gm_cuda_scratch(cuda, 100, &scratch));
    assert_int_equal(gm_cuda_close(cuda, &left, &err), GM_OK);
    struct gm_cuda_left expected = {.blocks = 2,
                                    .block_bytes = 3 * GM_MIB,
                                    .pages = 2,
                                    .page_bytes = 40 * GM_MIB,
                                    .reservations = 1,
                                    .marks = 1,
                                    .scratch = 1};
    assert_memory_equal(&left, &expected, sizeof left);
    assert_true(fake_cuda_holds_nothing());
    fake_cuda_end();
}

TEST(async_pool)
{
    struct gm_cuda_pool *pool;
    struct gm_cuda_pool_figures f;
    uint64_t a, b, c;
    struct gm_cuda *cuda = begin(&gpu, 96 * GM_MIB);
    assert_true(gm_cuda_pool_open(cuda, &pool));
    assert_int_equal(gm_cuda_pool_allocate(pool, 1000, NULL, &a), GM_DEVICE_OK);
    assert_int_equal(gm_cuda_pool_allocate(pool, 40 * GM_MIB, NULL, &b), GM_DEVICE_OK);
    assert_int_equal(gm_cuda_pool_allocate(pool, 33 * GM_MIB, NULL, &c), GM_DEVICE_FULL); /* 32 + 64 + 64 > 96 */
    assert_int_equal(gm_cuda_pool_release(pool, b, NULL), GM_DEVICE_OK);
    assert_true(gm_cuda_pool_figures(pool, &f));
    assert_int_equal(f.reserved, 96 * GM_MIB); /* the fake's chunks: 32 and 64 MiB */
    assert_int_equal(f.used, 1024);
    assert_int_equal(f.used_high, 40 * GM_MIB + 1024);
    assert_true(gm_cuda_pool_trim(pool));
    assert_true(gm_cuda_pool_figures(pool, &f));
    assert_int_equal(f.reserved, 32 * GM_MIB);
    assert_int_equal(f.reserved_high, 96 * GM_MIB);
    assert_int_equal(gm_cuda_pool_release(pool, b, NULL), GM_DEVICE_FAILED);
    assert_non_null(strstr(gm_cuda_failure(cuda)->message, "not allocated in the pool"));
    assert_true(gm_cuda_pool_close(pool)); /* with one block still in it */
    gm_cuda_close(cuda, NULL, NULL);
    assert_true(fake_cuda_holds_nothing());
    fake_cuda_end();
}
