/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of libgmdry.so share: a card that has addresses and an account of its memory, but neither pages nor
 * kernels. All of it answers as one process sees it; processes share the log, the account of
 * each device's memory and what ranks say to each other.
 */
#pragma once

#include "replay/dry/account.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function of NVIDIA's libraries; it takes more than it looks at. They lie together (crash.c). */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define DRY_PUBLIC visibility("default"), section("dry_api")
#define API(type, name, ...)                                                                                           \
    __attribute__((DRY_PUBLIC)) type name(__VA_ARGS__);                                                                \
    type name(__VA_ARGS__)
/* ... that answers what something else does. */
#define API_IS(type, name, answer, ...)                                                                                \
    API(type, name, __VA_ARGS__)                                                                                       \
    {                                                                                                                  \
        return answer;                                                                                                 \
    }
/* ... that succeeds, and what it says goes into a place. */
#define API_SETS(name, place, value, ...)                                                                              \
    API(int, name, __VA_ARGS__)                                                                                        \
    {                                                                                                                  \
        place = value;                                                                                                 \
        return 0;                                                                                                      \
    }
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

enum { DRY_NAME = 96, DRY_PATH = 4096 };
enum dry_data { DRY_ZEROS, DRY_ONES, DRY_RANDOM, DRY_HALF };

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
const char *dry_data_name(void); /* as --data has it */
void dry_lock(void);
void dry_unlock(void);
int dry_current(void);        /* the calling thread's device */
int dry_physical(int device); /* its number in the machine, of which CUDA_VISIBLE_DEVICES shows a part */
/* Remembers it as the calling thread's last error, and gives it back. */
int dry_result(int error);
int dry_check_device(int device); /* DRY_BAD_DEVICE, remembered, if there is none of that number */

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
/* In the log, the first time: a size that the function gave was not the real library's but a rule's. The name is a
 * literal, or the function's own __func__: its address is known again. */
void dry_estimated(const char *name);
int dry_estimate(size_t *bytes, uint64_t value, const char *name); /* gives such a size; 0 */
const char *dry_words(int status);                                 /* of a library's status: 0 is success */
/* In the log: the signal, and the last function that was called (NULL: none). Of a signal's handler. */
void dry_tell_crash(int signal, const char *function, bool is_device_address);
/* A line of the log. */
void dry_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void dry_count_launch(void);
void dry_count_fill(void); /* a launch that forgets nothing */
void dry_count_to_host(uint64_t bytes);
/* For one more than `count` things of `size` bytes; false: no memory. */
bool dry_make_room(void *things, size_t count, size_t *room, size_t size);
/* Something that is no null pointer and is not looked at: a library's handle or descriptor. */
void *dry_handle(void);
/* ... and no other one's that was given lately: PyTorch keeps workspaces by handle. */
void *dry_new_handle(void);

/* ---- cubin.c, fatbin.c, module.c: kernels ------------------------------------------------------------------------ */

/* What an SM gives to a block of the kernel, or to a thread of it. */
struct dry_needs {
    int registers;     /* of a thread */
    int shared, local; /* bytes: static, of a block; of a thread's stack */
    int threads;       /* the most that a block may have */
    int code, ptx;     /* capabilities that the image is for and was made of; 0: the card's */
};
/* Of a kernel whose image is not read. */
struct dry_needs dry_usual_needs(void);
/* Calls `each` for every kernel of an ELF image; false: it is none, or `each` said so. The image is believed. */
bool dry_cubin_kernels(const void *image, bool (*each)(void *context, const char *name, struct dry_needs needs),
                       void *context);
/* Of the kernel of that name; the usual ones if there is none. */
struct dry_needs dry_cubin_needs(const void *data, const char *name);
/* A fat binary, in which a kernel is looked for when its needs are asked for. NULL: no memory. */
struct dry_fatbin *dry_open_fatbin(const void *wrapper);
struct dry_needs dry_fatbin_needs(struct dry_fatbin *fatbin, const char *name); /* not with the lock */
/* By a driver's handle, or by the address that is launched with <<<>>>. */
struct dry_needs dry_kernel_needs(const void *handle);
/* At the end: of every kernel that was launched, its (mangled) name. */
void dry_tell_kernels(void (*tell)(const char *name, uint64_t launches));

/* ---- python.c ---------------------------------------------------------------------------------------------------- */

/* The hook will run before Python loads torch's memory, if there is a Python in this process. */
void dry_watch_python(void);
/* Of this process, into the function pointer at `function`; false: there is none. */
bool dry_find_function(const char *name, void *function);

/* ---- values.c: what the host wrote to a device, until a kernel runs ---------------------------------------------- */

enum dry_fold { DRY_SUM, DRY_PRODUCT, DRY_MAX, DRY_MIN, DRY_MEAN }; /* as NCCL numbers them */

/* What other ranks are to bring: known only when they have come so far. */
struct dry_promise {
    struct dry_communicator *communicator;
    struct dry_way *way;   /* of the one that brings it; NULL: all do, folded */
    uint64_t turn, offset; /* bytes, in what was said then */
    int type;              /* ncclDataType_t */
    enum dry_fold fold;
};

void dry_forget(void);
/* `data` NULL: what was there is gone. A guess is what other ranks may have written. */
void dry_keep(void *to, const void *data, uint64_t bytes, bool is_guess);
/* So many times the value; that is no reason to forget anything else. */
void dry_fill(void *to, const void *value, uint64_t size, uint64_t elements);
void dry_keep_promise(void *to, uint64_t bytes, const struct dry_promise *promise);
/* From a place of a device to another: what is known of it goes with it, promises, too. */
void dry_move(void *to, const void *from, uint64_t bytes);
/* A copy, which the caller frees; NULL: not all of it is known. May wait for other ranks. */
char *dry_kept(const void *from, uint64_t bytes, bool *is_guess);

/* ---- event_progress.c: how far the device is --------------------------------------------------------------------- */

enum { DRY_STREAMS = 8192, DRY_EVENTS_NOW = 0, DRY_EVENTS_SYNC = -1 };

int64_t dry_polls(void); /* or one of these (state.c) */
/* The next mark of a stream, which stands for all that it was given so far. */
uint64_t dry_mark(size_t stream);
uint64_t dry_last_mark(size_t stream);
/* The host waits until the mark is reached; UINT64_MAX: the last one. */
void dry_wait(size_t stream, uint64_t mark);
void dry_wait_all(void); /* for all devices */
/* What `waiter` is given from now on is done after the other's mark. */
void dry_depend(size_t waiter, size_t other, uint64_t mark);
/* The host asks; *polls counts how often. */
bool dry_is_reached(size_t stream, uint64_t mark, unsigned *polls);

/* ---- python_frames.c: which line of the user's program is running ------------------------------------------------ */

enum { DRY_FILE = 144 };

struct dry_line {
    char file[DRY_FILE]; /* of a long path the end */
    int line;
};

/* The innermost line that is neither PyTorch's nor the standard library's; of one of these if there are no others.
 * `inner`: the file of the innermost line of all. Not to be called with the lock. false: no Python runs. */
bool dry_python_line(struct dry_line *user, char inner[DRY_FILE]);

/* ---- reads.c: reads of what is made up --------------------------------------------------------------------------- */

enum { DRY_OPERATOR = 48 };

/* What the number is that is read. */
enum dry_reading {
    DRY_READS_VALUE,   /* the program's, as far as one can see */
    DRY_READS_CHECK,   /* whether all is well: it is */
    DRY_READS_TROUBLE, /* whether anything is wrong: it is not */
    DRY_READS_BOTH,    /* the one, then the other */
    /* From here on a size depends on it. */
    DRY_READS_COUNT,    /* how many elements are not zero */
    DRY_READS_SUM,      /* of all elements */
    DRY_READS_DISTINCT, /* how many elements differ */
    DRY_READS_MOST      /* the largest element */
};

enum dry_type {
    DRY_TYPE_UNKNOWN, /* a number of 4 or 8 bytes is an integer, all else are bytes */
    DRY_TYPE_BYTE,    /* bool, too */
    DRY_TYPE_SHORT,
    DRY_TYPE_INT,
    DRY_TYPE_LONG,
    DRY_TYPE_HALF,
    DRY_TYPE_BFLOAT16,
    DRY_TYPE_FLOAT,
    DRY_TYPE_DOUBLE
};

/* Counts a read of made-up bytes, and tells the user of the first one at its place. *type: with --data, of the tensor
 * at `from` (may be NULL), if it is known. Not to be called with the lock. */
enum dry_reading dry_read(const void *from, uint64_t bytes, enum dry_type *type);
void dry_reads_forget(void); /* in a child process */
void dry_reads_end(void);

/* ---- made_up.c --------------------------------------------------------------------------------------------------- */

void dry_make_up(void *to, uint64_t bytes, enum dry_reading reading, enum dry_type type);
/* Of the tensor at a device's address, if the hook knows one. Python may run; not to be called with the lock. */
enum dry_type dry_type_at(const void *address);
/* A kernel whose parameters tell of how many elements a size is made; NULL: it is none. */
struct dry_counted;
const struct dry_counted *dry_counted_kernel(const char *name);
/* Bytes of an element, of a kernel that fills (parameters: how many, the value, where); 0: it does not. */
uint64_t dry_filled_by(const char *name);
/* It is launched; also if it is none. */
void dry_note_kernel(const struct dry_counted *kernel, void *const *parameters);

/* ---- device.c: what follows from the compute capability ---------------------------------------------------------- */

struct dry_limits {
    int capability;                               /* 10 * major + minor */
    int threads, blocks, shared, shared_of_block; /* of one SM; KiB */
};

const struct dry_limits *dry_limits(void);

/* ---- exchange.c: what processes of one run say to each other ----------------------------------------------------- */

/* Each way has one writer, who says a thing in each turn. */

struct dry_way;
/* NULL: this process was not started by gmdry. */
struct dry_way *dry_way_open(const char *name, bool is_ours);
/* The turn's number, from 1 on. `data` NULL: it is not known. */
uint64_t dry_say(struct dry_way *way, const void *data, uint64_t bytes);
/* Waits until it was said; false: its writer has gone, or is not heard of for ten minutes. */
bool dry_await(struct dry_way *way, uint64_t turn);
/* What was said in a turn that has come, the caller frees it; NULL: it is not known. */
char *dry_said(struct dry_way *way, uint64_t turn, uint64_t *bytes);

/* ---- nccl.c ------------------------------------------------------------------------------------------------------ */

/* What a promise brings; the caller frees it. NULL: it is not known. Waits; the caller holds no lock. */
char *dry_fulfil(const struct dry_promise *promise, uint64_t bytes);
/* Waits until all ranks have come to that collective of a communicator, which is called by its place. */
void dry_meet(size_t communicator, uint64_t turn);
bool dry_is_alone(void); /* one rank of a job whose others are not there (--world-size) */

/* ---- order.c: which collectives streams and events wait for ------------------------------------------------------ */

enum { DRY_COMMUNICATORS = 64 };
struct dry_clock; /* of a stream or an event, which frees it: what it has seen; NULL: nothing */
void dry_order_issue(struct dry_clock **stream, size_t communicator, uint64_t turn);
void dry_order_record(struct dry_clock **event, struct dry_clock *const *stream);
void dry_order_wait(struct dry_clock **stream, struct dry_clock *const *event);
/* The host waits, for a stream or an event, or for all. */
void dry_order_reach(struct dry_clock *const *stream_or_event);
void dry_order_reach_all(void);
struct dry_clock **dry_stream_clock(void *stream); /* stream.c: of a handle */

/* ---- account.c: capacity; the caller holds the lock -------------------------------------------------------------- */

bool dry_charge(int device, uint64_t bytes); /* false: the device has not that much left */
void dry_discharge(int device, uint64_t bytes);
uint64_t dry_free_bytes(int device);
/* Of a size that is a rule's: marked as estimated once it has mattered, as memory ran short or the program asked. */
bool dry_charge_estimate(int device, uint64_t bytes);
void dry_discharge_estimate(int device, uint64_t bytes);

/* ---- space.c: addresses; the caller holds the lock --------------------------------------------------------------- */

struct dry_pool;
struct dry_range {
    uint64_t begin, bytes;
    int device;
    struct dry_pool *pool; /* NULL: none */
};

/* Addresses for `bytes` at the lowest place; 0: there are none. Reservations of virtual memory have their own part. */
uint64_t dry_take(uint64_t bytes, int device, bool is_reservation, struct dry_pool *pool);
bool dry_give(uint64_t begin, bool is_reservation, struct dry_range *range);
/* The allocation or reservation that the address is in. */
bool dry_find(uint64_t address, struct dry_range *range);
bool dry_is_device(const void *pointer);
/* Somewhere on a device, not part of any allocation: symbols of modules. */
void *dry_symbol(void);

/* ---- pool.c: memory pools; the caller holds the lock ------------------------------------------------------------- */

void dry_pool_release(struct dry_pool *pool, uint64_t bytes);
