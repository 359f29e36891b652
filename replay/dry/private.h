/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of libgmdry.so share: a card that has addresses and an account of its memory, but neither pages nor
 * kernels. All of it answers as one process sees it; nothing is shared between processes but the log.
 */
#ifndef GM_DRY_PRIVATE_H
#define GM_DRY_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function of NVIDIA's libraries; it takes more than it looks at. They lie together (crash.c). */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define DRY_PUBLIC visibility("default"), section("dry_api")
#define API(type, name, ...)                                                                                           \
    __attribute__((DRY_PUBLIC)) type name(__VA_ARGS__);                                                                \
    type name(__VA_ARGS__)
/* ... which versions of a library take differently: `local` is what those call that are linked with `version`. */
#define API_OF(version, type, local, name, ...)                                                                        \
    __attribute__((DRY_PUBLIC, used)) type local(__VA_ARGS__);                                                         \
    __asm__(".symver " #local "," #name "@" version);                                                                  \
    type local(__VA_ARGS__)

/* The runtime's and the driver's numbers are the same as far as they are used here. */
enum dry_error {
    DRY_OK = 0,
    DRY_INVALID = 1,
    DRY_NO_MEMORY = 2,
    DRY_NO_DEVICE = 100,
    DRY_BAD_DEVICE = 101,
    DRY_NOT_FOUND = 500,
    DRY_NOT_READY = 600,
    DRY_NOT_SUPPORTED = 801,
    DRY_CAPTURE = 900
};

enum { DRY_DEVICES = 64, DRY_NAME = 96 };
enum dry_data { DRY_ZEROS, DRY_ONES };

struct dry_card {
    int major, minor, sms;
    uint64_t l2, total, context; /* bytes; the context is taken off the total */
    int bus_bits, memory_megahertz, megahertz;
    char name[DRY_NAME]; /* as torch.cuda.get_device_name() prints it */
};

/* ---- state.c: what gmdry said in the environment, and what it is told -------------------------------------------- */

const struct dry_card *dry_card(void);
int dry_devices(void); /* 0: not started by gmdry, or no device is visible */
enum dry_data dry_data(void);
void dry_lock(void);
void dry_unlock(void);
int dry_current(void); /* the calling thread's device */
/* Remembers it as the calling thread's last error, and gives it back. */
int dry_result(int error);

enum dry_library {
    DRY_LIBRARY_cudart,
    DRY_LIBRARY_cuda,
    DRY_LIBRARY_cublas,
    DRY_LIBRARY_cublaslt,
    DRY_LIBRARY_cudnn,
    DRY_LIBRARY_cusolver,
    DRY_LIBRARY_cusparse,
    DRY_LIBRARY_cusparselt,
    DRY_LIBRARY_cufft,
    DRY_LIBRARY_curand,
    DRY_LIBRARY_nvrtc,
    DRY_LIBRARY_nvml,
    DRY_LIBRARY_cupti,
    DRY_LIBRARY_nvtx,
    DRY_LIBRARY_nccl,
    DRY_LIBRARY_nvshmem,
    DRY_LIBRARY_cufile,
    DRY_LIBRARIES
};
/* Says on stderr and in the log, the first time, that the function is not known. The library's "not supported". */
int dry_unknown(enum dry_library library, const char *name, bool *is_said);
/* In the log, the first time: a size that the function gave was not the real library's but a rule's. */
void dry_estimated(const char *name, bool *is_said);
/* In the log: the signal, and the last function that was called (NULL: none). Of a signal's handler. */
void dry_tell_crash(int signal, const char *function, bool is_device_address);
/* A line of the log. */
void dry_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void dry_count_launch(void);
void dry_count_to_host(uint64_t bytes);
/* Something that is no null pointer and is not looked at: a library's handle or descriptor. */
void *dry_handle(void);

/* ---- cubin.c, module.c: kernels ---------------------------------------------------------------------------------- */

/* What an SM gives to a block of the kernel, or to a thread of it. */
struct dry_needs {
    int registers;     /* of a thread */
    int shared, local; /* bytes: static, of a block; of a thread's stack */
    int threads;       /* the most that a block may have */
};
/* Of a kernel whose image is not read. */
struct dry_needs dry_usual_needs(void);
/* Calls `each` for every kernel of an ELF image; false: it is none, or `each` said so. The image is believed. */
bool dry_cubin_kernels(const void *image, bool (*each)(void *context, const char *name, struct dry_needs needs),
                       void *context);
/* By a driver's handle, or by the address that is launched with <<<>>>. */
struct dry_needs dry_kernel_needs(const void *handle);
/* At the end: of every kernel that was launched, its (mangled) name. */
void dry_tell_kernels(void (*tell)(const char *name, uint64_t launches));

/* ---- python.c ----------------------------------------------------------------------------------------------------
 */

/* The hook will run before Python loads torch's memory, if there is a Python in this process. */
void dry_watch_python(void);

/* ---- values.c: what the host wrote to a device, until a kernel runs ------------------------------------------------
 */

void dry_forget(void);
/* `data` NULL: what was there is gone. A guess is what other ranks may have written. */
void dry_keep(void *to, const void *data, uint64_t bytes, bool is_guess);
/* A copy, which the caller frees; NULL: not known. */
char *dry_kept(const void *from, uint64_t bytes, bool *is_guess);

/* ---- space.c: addresses and capacity; the caller holds the lock -------------------------------------------------- */

struct dry_range {
    uint64_t begin, bytes;
    int device;
};

bool dry_charge(int device, uint64_t bytes); /* false: the device has not that much left */
void dry_discharge(int device, uint64_t bytes);
uint64_t dry_free_bytes(int device);
uint64_t dry_peak_bytes(int device);
/* Addresses for `bytes` at the lowest place; 0: there are none. Reservations of virtual memory have their own part. */
uint64_t dry_take(uint64_t bytes, int device, bool is_reservation);
bool dry_give(uint64_t begin, bool is_reservation, struct dry_range *range);
/* The allocation or reservation that the address is in. */
bool dry_find(uint64_t address, struct dry_range *range);
bool dry_is_device(const void *pointer);
/* Somewhere on a device, not part of any allocation: symbols of modules. */
void *dry_symbol(void);

#endif
