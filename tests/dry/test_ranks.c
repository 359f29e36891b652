/* SPDX-License-Identifier: Apache-2.0
 *
 * Several processes of one run, as ranks of NCCL and as neighbours on a device: each test forks two, which load the
 * library and say by their exit codes whether they saw what they should.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ftw.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/dry/stand_in.h"
#include "tests/unit.h"

enum { MIB = 1 << 20, OK = 0, NO_MEMORY = 2, INT64 = 4, SUM = 0, MAX = 2, RANKS = 2 };

static char folder[64];

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

struct id {
    char bytes[128];
};
typedef int (*malloc_fn)(void **, size_t);
typedef int (*copy_fn)(void *, const void *, size_t, int);
typedef int (*fold_fn)(const void *, void *, size_t, int, int, void *, void *);
typedef int (*gather_fn)(const void *, void *, size_t, int, void *, void *);
typedef int (*peer_fn)(void *, size_t, int, int, void *, void *);

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static int make_folder(void **state)
{
    snprintf(folder, sizeof folder, "/tmp/test_ranks.XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    return setenv("GMDRY_FOLDER", folder, 1);
}

static int remove_folder(void **state)
{
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Each rank in a process of its own. */
static void run_ranks(void (*of_rank)(int rank))
{
    pid_t children[RANKS], one;
    int status = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        children[rank] = fork();
        assert_true(children[rank] >= 0);
        if (children[rank] == 0) {
            signal(SIGSEGV, SIG_DFL); /* cmocka would go on with the next test here, and fork again */
            CHECK(open_library(NULL) == 0);
            of_rank(rank);
            exit(0);
        }
    }
    while ((one = waitpid(-1, &status, 0)) > 0) { /* in the order in which they end */
        assert_true(one == children[0] || one == children[1]);
        assert_int_equal(status, 0);
    }
}

static void *join(int rank)
{
    FIND(int (*)(void **, int, struct id, int), ncclCommInitRank);
    struct id id = {"the same in all"};
    void *communicator = NULL;
    CHECK(ncclCommInitRank(&communicator, RANKS, id, rank) == OK);
    return communicator;
}

static int64_t *on_device(const int64_t *values, size_t count)
{
    FIND(malloc_fn, cudaMalloc);
    FIND(copy_fn, cudaMemcpy);
    void *device = NULL;
    CHECK(cudaMalloc(&device, MIB) == OK);
    CHECK(cudaMemcpy(device, values, count * sizeof *values, 1) == OK);
    return device;
}

static int64_t read_back(const int64_t *device)
{
    FIND(copy_fn, cudaMemcpy);
    int64_t value = -1;
    CHECK(cudaMemcpy(&value, device, sizeof value, 2) == OK);
    return value;
}

static void exchange(int rank)
{
    FIND(gather_fn, ncclAllGather);
    FIND(fold_fn, ncclAllReduce);
    FIND(fold_fn, ncclReduceScatter);
    FIND(int (*)(const void *, void *, size_t, int, int, void *, void *), ncclBroadcast);
    FIND(copy_fn, cudaMemcpy);
    FIND(int (*)(void), cudaLaunchKernel);
    void *communicator = join(rank);
    const int64_t mine[2] = {rank + 10, 100 * rank};
    int64_t *from = on_device(mine, 2), *to = on_device((int64_t[4]){0}, 4), all[4];
    CHECK(ncclAllGather(from, to, 2, INT64, communicator, NULL) == OK);
    CHECK(cudaMemcpy(all, to, sizeof all, 2) == OK);
    CHECK(memcmp(all, (int64_t[4]){10, 0, 11, 100}, sizeof all) == 0);
    CHECK(ncclAllReduce(from, to, 2, INT64, SUM, communicator, NULL) == OK);
    CHECK(read_back(to) == 21 && read_back(to + 1) == 100);
    CHECK(ncclAllReduce(from, to, 2, INT64, MAX, communicator, NULL) == OK);
    CHECK(read_back(to + 1) == 100);
    CHECK(ncclReduceScatter(from, to, 1, INT64, SUM, communicator, NULL) == OK);
    CHECK(read_back(to) == (rank == 0 ? 21 : 100));
    CHECK(ncclBroadcast(from, to, 2, INT64, 1, communicator, NULL) == OK);
    CHECK(cudaMemcpy(from, to, 16, 3) == OK); /* it goes along with copies on the device */
    CHECK(read_back(from) == 11);
    if (rank == 1)
        CHECK(cudaLaunchKernel() == OK); /* what it has is not known any more */
    CHECK(ncclBroadcast(from, to, 2, INT64, 1, communicator, NULL) == OK);
    CHECK(read_back(to) == 0);
}

static void send_and_receive(int rank)
{
    FIND(peer_fn, ncclSend);
    FIND(peer_fn, ncclRecv);
    FIND(int (*)(void), ncclGroupStart);
    FIND(int (*)(void), ncclGroupEnd);
    void *communicator = join(rank);
    int64_t *from = on_device((int64_t[1]){7 + rank}, 1), *to = on_device((int64_t[1]){0}, 1);
    for (int i = 0; i < 3; i++) {
        CHECK(ncclGroupStart() == OK);
        CHECK(ncclRecv(to, 1, INT64, 1 - rank, communicator, NULL) == OK);
        CHECK(ncclSend(from, 1, INT64, 1 - rank, communicator, NULL) == OK);
        CHECK(ncclGroupEnd() == OK);
        CHECK(read_back(to) == 8 - rank + (i > 0 ? 10 * i : 0));
        from = on_device((int64_t[1]){7 + rank + 10 * (i + 1)}, 1);
    }
}

/* The host that waits for a stream waits for the others, if the stream does: by its own collectives, or by an event. */
static void barrier(int rank)
{
    FIND(fold_fn, ncclAllReduce);
    FIND(int (*)(void **, unsigned), cudaEventCreateWithFlags);
    FIND(int (*)(void **, unsigned, int), cudaStreamCreateWithPriority);
    FIND(int (*)(void *, void *), cudaEventRecord);
    FIND(int (*)(void *), cudaEventDestroy);
    FIND(int (*)(void *, void *, unsigned), cudaStreamWaitEvent);
    FIND(int (*)(void *), cudaStreamSynchronize);
    void *communicator = join(rank), *streams[2], *event = NULL;
    int64_t *one = on_device((int64_t[1]){1}, 1);
    char path[96];
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamCreateWithPriority(&streams[i], 1, 0) == OK);
    CHECK(cudaEventCreateWithFlags(&event, 2) == OK);
    snprintf(path, sizeof path, "%s/late", folder);
    if (rank == 0) {
        usleep(300000);
        fclose(fopen(path, "w"));
    }
    CHECK(ncclAllReduce(one, one, 1, INT64, SUM, communicator, streams[0]) == OK);
    CHECK(cudaStreamSynchronize(streams[1]) == OK); /* it has nothing to wait for */
    CHECK(rank == 0 || access(path, F_OK) != 0);
    CHECK(cudaEventRecord(event, streams[0]) == OK && cudaStreamWaitEvent(streams[1], event, 0) == OK);
    CHECK(cudaStreamSynchronize(streams[1]) == OK);
    CHECK(access(path, F_OK) == 0);
    CHECK(cudaEventDestroy(event) == OK);
}

/* Of two ranks each gets a part of its own, or one in the other order. */
static void split(int rank)
{
    FIND(int (*)(void *, int, int, void **, void *), ncclCommSplit);
    FIND(int (*)(const void *, int *), ncclCommCount);
    FIND(int (*)(const void *, int *), ncclCommUserRank);
    FIND(fold_fn, ncclAllReduce);
    void *whole = join(rank), *part = NULL, *none = whole;
    int n = 0;
    CHECK(ncclCommSplit(whole, rank, 0, &part, NULL) == OK);
    CHECK(ncclCommCount(part, &n) == OK && n == 1 && ncclCommUserRank(part, &n) == OK && n == 0);
    CHECK(ncclCommSplit(whole, 5, -rank, &part, NULL) == OK);
    CHECK(ncclCommCount(part, &n) == OK && n == 2 && ncclCommUserRank(part, &n) == OK && n == 1 - rank);
    int64_t *one = on_device((int64_t[1]){rank + 1}, 1);
    CHECK(ncclAllReduce(one, one, 1, INT64, SUM, part, NULL) == OK && read_back(one) == 3);
    CHECK(ncclCommSplit(whole, -1, 0, &none, NULL) == OK && none == NULL);
}

/* What a rank has said before it ended is heard; nobody waits for what it has not. */
static void ended(int rank)
{
    FIND(gather_fn, ncclAllGather);
    void *communicator = join(rank);
    int64_t *from = on_device((int64_t[1]){rank + 3}, 1), *to = on_device((int64_t[2]){0}, 2);
    CHECK(ncclAllGather(from, to, 1, INT64, communicator, NULL) == OK);
    if (rank == 1)
        _exit(0);
    usleep(200000);
    CHECK(read_back(to + 1) == 4);
    CHECK(ncclAllGather(from, to, 1, INT64, communicator, NULL) == OK);
    CHECK(read_back(to + 1) == 0);
}

/* Both take half of a device; there is a context for each. What one leaves the other gets. */
static void share_memory(int rank)
{
    FIND(malloc_fn, cudaMalloc);
    FIND(int (*)(size_t *, size_t *), cudaMemGetInfo);
    FIND(int (*)(int), cudaSetDevice);
    size_t left = 0, total = 0;
    void *a = NULL, *b = NULL;
    char here[96], done[96];
    snprintf(here, sizeof here, "%s/here", folder);
    snprintf(done, sizeof done, "%s/done", folder);
    if (rank == 1) {
        CHECK(cudaMalloc(&a, 200 * MIB) == OK);
        fclose(fopen(here, "w"));
        while (access(done, F_OK) != 0)
            usleep(1000);
        _exit(0); /* without a word */
    }
    while (access(here, F_OK) != 0)
        usleep(1000);
    CHECK(cudaMemGetInfo(&left, &total) == OK);
    CHECK(total == 1024 * (size_t)MIB && left == 312 * (size_t)MIB); /* 1,024 - 2 * 256 - 200 */
    CHECK(cudaMalloc(&a, 313 * MIB) == NO_MEMORY && cudaMalloc(&a, 100 * MIB) == OK);
    CHECK(cudaSetDevice(1) == OK && cudaMalloc(&b, 700 * MIB) == OK && cudaSetDevice(0) == OK);
    fclose(fopen(done, "w"));
    for (int i = 0; i < 2000 && cudaMalloc(&b, 600 * MIB) != OK; i++)
        usleep(1000); /* until the other has gone */
    CHECK(b != NULL);
}

struct handle {
    char bytes[64];
};

/* Memory of one process at addresses of another, counted once. */
static void share_tensor(int rank)
{
    FIND(malloc_fn, cudaMalloc);
    FIND(int (*)(struct handle *, void *), cudaIpcGetMemHandle);
    FIND(int (*)(void **, struct handle, unsigned), cudaIpcOpenMemHandle);
    FIND(int (*)(void *), cudaIpcCloseMemHandle);
    FIND(int (*)(size_t *, size_t *), cudaMemGetInfo);
    struct handle handle = {""};
    void *a = NULL;
    size_t left = 0, total = 0;
    char path[96], part[96];
    snprintf(path, sizeof path, "%s/handle", folder);
    snprintf(part, sizeof part, "%s/part", folder);
    if (rank == 0) {
        CHECK(cudaMalloc(&a, 100 * MIB) == OK && cudaIpcGetMemHandle(&handle, a) == OK);
        FILE *file = fopen(part, "w");
        CHECK(file != NULL && fwrite(&handle, sizeof handle, 1, file) == 1 && fclose(file) == 0);
        CHECK(rename(part, path) == 0);
        while (access(path, F_OK) == 0)
            usleep(1000);
        return;
    }
    while (access(path, F_OK) != 0)
        usleep(1000);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL && fread(&handle, sizeof handle, 1, file) == 1 && fclose(file) == 0);
    CHECK(cudaIpcOpenMemHandle(&a, handle, 1) == OK && a != NULL);
    CHECK(cudaMemGetInfo(&left, &total) == OK && left == 412 * (size_t)MIB); /* 1,024 - 2 * 256 - 100 */
    CHECK(cudaIpcCloseMemHandle(a) == OK);
    CHECK(cudaIpcCloseMemHandle(a) != OK);
    CHECK(remove(path) == 0);
}

/* One rank of many that are not there: the others send what it sends itself. */
static void alone(int rank)
{
    if (rank > 0)
        return;
    setenv("GMDRY_WORLD_SIZE", "1024", 1);
    FIND(int (*)(void **, int, struct id, int), ncclCommInitRank);
    FIND(fold_fn, ncclAllReduce);
    FIND(gather_fn, ncclAllGather);
    FIND(int (*)(void *), cudaStreamSynchronize);
    FIND(int (*)(void *, int, int, void **, void *), ncclCommSplit);
    struct id id = {""};
    void *communicator = NULL, *part = NULL;
    CHECK(ncclCommInitRank(&communicator, 1024, id, 512) == OK);
    int64_t *one = on_device((int64_t[1]){3}, 1), *to = on_device((int64_t[1]){0}, 1);
    CHECK(ncclAllReduce(one, to, 1, INT64, SUM, communicator, NULL) == OK && read_back(to) == 3072);
    CHECK(ncclAllGather(one, to, 1, INT64, communicator, NULL) == OK && read_back(to + 1023) == 3);
    CHECK(cudaStreamSynchronize(NULL) == OK);
    FIND(void (*)(int, int, int), gmdryColour);
    FIND(int (*)(const void *, int *), ncclCommCount);
    int n = 0;
    gmdryColour(1, 8, 3);
    CHECK(ncclCommSplit(communicator, 1, 0, &part, NULL) == OK && ncclCommCount(part, &n) == OK && n == 8);
    CHECK(ncclCommSplit(communicator, 2, 0, &part, NULL) == OK && ncclCommCount(part, &n) == OK && n == 1024);
}

static void visible(int rank)
{
    FIND(int (*)(int *), cudaGetDeviceCount);
    FIND(malloc_fn, cudaMalloc);
    FIND(int (*)(size_t *, size_t *), cudaMemGetInfo);
    int n = 0;
    size_t left = 0, total = 0;
    void *a = NULL;
    setenv("CUDA_VISIBLE_DEVICES", rank == 0 ? "1" : "GPU-676d6472-7901-0000-0000-000000000000,9,0", 1);
    CHECK(cudaGetDeviceCount(&n) == OK && n == 1);
    CHECK(cudaMalloc(&a, 700 * MIB) == OK); /* each the other's: both fit */
    CHECK(cudaMemGetInfo(&left, &total) == OK && left == 68 * (size_t)MIB);
}

#define RANKS(name)                                                                                                    \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        run_ranks(name);                                                                                               \
    }
RANKS(exchange)
RANKS(share_tensor)
RANKS(send_and_receive)
RANKS(barrier)
RANKS(split)
RANKS(ended)
RANKS(share_memory)
RANKS(alone)
RANKS(visible)

AROUND_EACH(make_folder, remove_folder)
