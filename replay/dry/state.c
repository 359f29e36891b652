/* SPDX-License-Identifier: Apache-2.0
 *
 * The card that gmdry chose (GMDRY_CARD, GMDRY_CLOCKS, GMDRY_DEVICES, GMDRY_DATA), and the log in which it reads what
 * happened (GMDRY_LOG): one line for each thing, written at once, so that a killed process has told it, too.
 */
#include "replay/dry/private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct dry_card card;
static int devices;
static enum dry_data data;
static int64_t polls; /* of an event, or DRY_EVENTS_... */
static _Thread_local int last_error;
static _Thread_local int current_device;
static atomic_uint_fast64_t launches, copies_to_host, bytes_to_host;

static void read_card(const char *text)
{
    int used = 0;
    if (text == NULL ||
        sscanf(text, "%d.%d,%d,%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%n", &card.major, &card.minor, &card.sms, &card.l2,
               &card.total, &card.context, &used) != 6 ||
        used == 0 || card.context > card.total)
        return;
    snprintf(card.name, sizeof card.name, "%s", text + used);
    const char *wanted = getenv("GMDRY_DEVICES");
    devices = wanted == NULL ? 1 : atoi(wanted);
    devices = devices < 0 ? 0 : devices > DRY_DEVICES ? DRY_DEVICES : devices;
}

/* 0 if it is not told. */
static void read_clocks(const char *text)
{
    if (text != NULL)
        sscanf(text, "%d,%d,%d", &card.bus_bits, &card.memory_megahertz, &card.megahertz);
}

/* The devices that the program lets itself see, in its order: numbers, or UUIDs as NVML tells them. As CUDA does, up to
 * the first that is not there. */
static int physical[DRY_DEVICES];

static int device_named(const char *text, int count)
{
    char *end = NULL;
    unsigned number = 0;
    if (sscanf(text, "GPU-676d6472-79%2x-", &number) == 1)
        return (int)number - 1 < count ? (int)number - 1 : -1;
    const long listed = strtol(text, &end, 10);
    return end != text && listed >= 0 && listed < count ? (int)listed : -1;
}

static void hide_devices(const char *visible)
{
    const int count = devices;
    for (int i = 0; i < DRY_DEVICES; i++)
        physical[i] = i;
    if (visible == NULL)
        return;
    devices = 0;
    for (const char *at = visible; at != NULL && devices < count; at = strchr(at, ',')) {
        at += *at == ',';
        const int device = device_named(at, count);
        if (device < 0)
            return;
        physical[devices++] = device;
    }
}

int dry_physical(int device)
{
    dry_card();
    return device >= 0 && device < DRY_DEVICES ? physical[device] : 0;
}

API_IS(int, gmdryPhysical, dry_physical(device), int device)

static const char *const data_names[] = {"zeros", "ones", "random", "half"}; /* enum dry_data */

/* It has counted nothing yet. */
static void begin_child(void)
{
    launches = copies_to_host = bytes_to_host = 0;
    dry_reads_forget();
    dry_unlock();
}

static void start(void)
{
    read_card(getenv("GMDRY_CARD"));
    read_clocks(getenv("GMDRY_CLOCKS"));
    hide_devices(getenv("CUDA_VISIBLE_DEVICES"));
    const char *wanted = getenv("GMDRY_DATA");
    for (size_t i = 0; wanted != NULL && i < sizeof data_names / sizeof *data_names; i++)
        if (strcmp(wanted, data_names[i]) == 0)
            data = (enum dry_data)i;
    wanted = getenv("GMDRY_EVENTS");
    polls = wanted != NULL && strcmp(wanted, "sync") == 0 ? DRY_EVENTS_SYNC : wanted != NULL ? atoll(wanted) : 0;
    pthread_atfork(dry_lock, dry_unlock, begin_child);
}

const struct dry_card *dry_card(void)
{
    pthread_once(&once, start);
    return &card;
}

int dry_devices(void)
{
    dry_card();
    return devices;
}

enum dry_data dry_data(void)
{
    dry_card();
    return data;
}

int64_t dry_polls(void)
{
    dry_card();
    return polls;
}

const char *dry_data_name(void)
{
    return data_names[dry_data()];
}

void dry_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void dry_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

int dry_result(int error)
{
    if (error != DRY_OK)
        last_error = error;
    return error;
}

int dry_check_device(int device)
{
    return device >= 0 && device < dry_devices() ? DRY_OK : dry_result(DRY_BAD_DEVICE);
}

void *dry_handle(void)
{
    static char handle[64];
    return handle;
}

void *dry_new_handle(void)
{
    enum { HANDLES = 1 << 18, BYTES = 64 };
    static char handles[HANDLES][BYTES]; /* no pages, as nobody looks at them */
    static atomic_uint next;
    return handles[atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % HANDLES];
}

/* ---- the current device and the last error ----------------------------------------------------------------------- */

int dry_current(void)
{
    return current_device;
}

API(int, cudaGetDevice, int *device)
{
    *device = current_device;
    return dry_devices() > 0 ? DRY_OK : dry_result(DRY_NO_DEVICE);
}

API(int, cudaSetDevice, int device)
{
    if (dry_check_device(device) == DRY_OK)
        current_device = device;
    return dry_check_device(device);
}

API(int, cudaGetLastError, void)
{
    const int error = last_error;
    last_error = DRY_OK;
    return error;
}

API_IS(int, cudaPeekAtLastError, last_error, void)

/* ---- the log ----------------------------------------------------------------------------------------------------- */

void dry_tell(const char *format, ...)
{
    const char *path = getenv("GMDRY_LOG");
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    const int file = path != NULL && n > 0 && n < (int)sizeof line ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    if (write(file, line, (size_t)n) != n)
        fprintf(stderr, "gmdry: the log could not be written\n");
    close(file);
}

/* The name in messages, and what the library calls "not supported". NVTX and NVSHMEM have no such number,
 * cuFile's results are structs whose first word is the error. */
static const struct {
    const char *name, *prefix; /* of its functions */
    int not_supported;
} libraries[DRY_LIBRARIES] = {
    [DRY_LIBRARY_cudart] = {"CUDA runtime", "cuda", DRY_NOT_SUPPORTED},
    [DRY_LIBRARY_cuda] = {"CUDA driver", "cu", DRY_NOT_SUPPORTED},
    [DRY_LIBRARY_cublas] = {"cuBLAS", "cublas", 15},
    [DRY_LIBRARY_cublaslt] = {"cuBLASLt", "cublasLt", 15},
    [DRY_LIBRARY_cudnn] = {"cuDNN", "cudnn", 3000},
    [DRY_LIBRARY_cusolver] = {"cuSOLVER", "cusolver", 9},
    [DRY_LIBRARY_cusparse] = {"cuSPARSE", "cusparse", 10},
    [DRY_LIBRARY_cusparselt] = {"cuSPARSELt", "cusparseLt", 10},
    [DRY_LIBRARY_cufft] = {"cuFFT", "cufft", 16},
    [DRY_LIBRARY_curand] = {"cuRAND", "curand", 999},
    [DRY_LIBRARY_nvrtc] = {"NVRTC", "nvrtc", 11},
    [DRY_LIBRARY_nvml] = {"NVML", "nvml", 3},
    [DRY_LIBRARY_cupti] = {"CUPTI", "cupti", 27},
    [DRY_LIBRARY_nvtx] = {"NVTX", "nvtx", -1},
    [DRY_LIBRARY_nccl] = {"NCCL", "nccl", 3},
    [DRY_LIBRARY_nvshmem] = {"NVSHMEM", "nvshmem", -1},
    [DRY_LIBRARY_cufile] = {"cuFile", "cuFile", 5001},
};

int dry_unknown(enum dry_library library, const char *name, bool *is_said)
{
    dry_lock();
    const bool is_new = !*is_said;
    *is_said = true;
    dry_unlock();
    if (is_new) {
        fprintf(stderr, "gmdry: %s of %s is not known to the stand-in: it fails\n", name, libraries[library].name);
        dry_tell("unknown %s\n", name);
    }
    return library <= DRY_LIBRARY_cuda ? dry_result(libraries[library].not_supported)
                                       : libraries[library].not_supported;
}

/* By the longest prefix that fits; "" if none does. */
static const char *library_of(const char *function)
{
    const char *found = "";
    size_t longest = 0;
    function += strspn(function, "_");
    for (size_t i = 0; i < DRY_LIBRARIES; i++) {
        const size_t n = strlen(libraries[i].prefix);
        if (n > longest && strncmp(function, libraries[i].prefix, n) == 0) {
            longest = n;
            found = libraries[i].name;
        }
    }
    return found;
}

void dry_tell_crash(int signal, const char *function, bool is_device_address)
{
    dry_tell("crash %d %d %s %s\n", signal, is_device_address, function == NULL ? "-" : function,
             function == NULL ? "" : library_of(function));
}

void dry_estimated(const char *name)
{
    enum { MOST = 128 };
    static const char *said[MOST];
    static size_t count;
    dry_lock();
    size_t i = 0;
    while (i < count && said[i] != name)
        i++;
    const bool is_new = i == count && count < MOST;
    if (is_new)
        said[count++] = name;
    dry_unlock();
    if (is_new)
        dry_tell("estimated %s\n", name);
}

const char *dry_words(int status)
{
    return status == 0 ? "success" : "not supported (by gmdry's stand-in)";
}

bool dry_make_room(void *things, size_t count, size_t *room, size_t size)
{
    void *old, *larger;
    if (count < *room)
        return true;
    const size_t more = *room == 0 ? 64 : 2 * *room;
    memcpy(&old, things, sizeof old);
    larger = realloc(old, more * size);
    if (larger == NULL)
        return false;
    memcpy(things, &larger, sizeof larger);
    *room = more;
    return true;
}

int dry_estimate(size_t *bytes, uint64_t value, const char *name)
{
    *bytes = value;
    dry_estimated(name);
    return 0;
}

void dry_count_fill(void)
{
    atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed);
}

void dry_count_launch(void)
{
    dry_forget();
    dry_count_fill();
}

void dry_count_to_host(uint64_t bytes)
{
    if (atomic_fetch_add(&copies_to_host, 1) == 0)
        dry_tell("reads\n"); /* at once: a process that ends by a signal does not reach the end below */
    atomic_fetch_add(&bytes_to_host, bytes);
}

/* Mangled names can be longer than is worth it. */
static void tell_kernel(const char *name, uint64_t count)
{
    dry_tell("kernel %" PRIu64 " %.900s\n", count, name);
}

__attribute__((destructor)) static void end(void)
{
    dry_tell_kernels(tell_kernel);
    dry_reads_end();
    if (launches + copies_to_host > 0)
        dry_tell("counts %" PRIuFAST64 " %" PRIuFAST64 " %" PRIuFAST64 "\n", launches, copies_to_host, bytes_to_host);
}
