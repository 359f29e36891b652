/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of gmdry share: its options, the folder that a run has for itself, and what its processes said.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/base/vec.h"
#include "analyze/cli/options.h"
#include "replay/whatif/gpus.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gm_dry_data { GM_DRY_ZEROS, GM_DRY_ONES, GM_DRY_RANDOM, GM_DRY_HALF };
extern const char *const gm_dry_data_names[]; /* up to a NULL */
enum gm_dry_stacks { GM_DRY_PYTHON, GM_DRY_ALL };
extern const char *const gm_dry_stack_names[]; /* likewise */

enum { GM_DRY_EVENTS_SYNC = -1 };

struct gm_dry_options {
    struct gm_usual_options usual;            /* without categories, device, top and threads */
    const char *gpu, *snapshot, *find;        /* NULL if not given, but for gpu */
    uint64_t memory, limit;                   /* bytes; 0: not given */
    int64_t devices, steps, world_size, rank; /* steps 0: all; world_size 0, rank -1: not given */
    int64_t events;                           /* polls until one is complete; GM_DRY_EVENTS_SYNC: the host waits */
    enum gm_dry_data data;
    enum gm_dry_stacks stacks;
    bool sweep;
    bool hides_output; /* what COMMAND prints goes to the folder's `output` */
};

/* ---- folder.c: a temporary folder with the libraries' names, the hook, and what processes say -------------------- */

struct gm_dry_folder {
    char path[PATH_MAX / 2];
    char library[PATH_MAX]; /* libgmdry.so */
    int keeper, pipe;       /* the process that removes it when we end, in whatever way, and how it knows */
};

/* GM_E_MISSING if libgmdry.so is not beside the program; GM_E_WRITE; GM_E_INTERNAL. */
enum gm_status gm_dry_folder_make(struct gm_dry_folder *folder, struct gm_error *err);
/* Returns when it is gone. */
void gm_dry_folder_remove(struct gm_dry_folder *folder);

/* ---- child.c ----------------------------------------------------------------------------------------------------- */

/* Runs `command` (up to a NULL) to its end. *exit_code as a shell tells it: 128 and the signal's number for one that
 * was killed, 127 for one that is not there. GM_E_INTERNAL if no process can be made. */
enum gm_status gm_dry_run(int *exit_code, char **command, const struct gm_dry_folder *folder,
                          const struct gm_dry_options *options, const struct gm_gpu *gpu, struct gm_error *err);
/* What the card's memory is, and what of it the context has. */
uint64_t gm_dry_total(const struct gm_dry_options *options, const struct gm_gpu *gpu);
uint64_t gm_dry_usable(const struct gm_dry_options *options, const struct gm_gpu *gpu);

/* ---- told.c ------------------------------------------------------------------------------------------------------ */

enum { GM_DRY_DEVICES = 64 };

struct gm_dry_device {
    uint64_t peak_allocated, peak_reserved, ooms, retries;
    unsigned processes; /* that used it; the peaks are those of the one that needs most */
    uint64_t used;      /* peak of all processes together, with contexts and NCCL's buffers; 0: not known */
};

struct gm_dry_process {
    char *snapshot; /* NULL: its allocator keeps no trace */
    int rank;       /* -1: none */
    bool is_late;   /* recorded only from where the program began to */
    bool is_short;  /* recorded only up to where the program ended it, and allocated more; peaks are of all */
    bool is_user;   /* of some device's memory */
    bool is_untraced;
    uint64_t steps;
    uint64_t allocated, reserved; /* peaks of the device of which it needs most */
    uint64_t wanted;              /* bytes, when it was out of memory; 0: it never was */
};

struct gm_dry_kernel {
    char *name; /* as its image has it, mangled */
    uint64_t launches;
};

/* What PyTorch the command's processes have met, the best of them. */
enum gm_dry_torch { GM_DRY_TORCH_NONE, GM_DRY_TORCH_WANTED, GM_DRY_TORCH_CPU, GM_DRY_TORCH_CUDA };

/* Where made-up data were read. */
struct gm_dry_read {
    char *called, *inner, *site; /* operators: the one called, and what it read by ("": itself); file:line */
    uint64_t count;
    bool is_size; /* else a value, of which nobody knows what the program does with it */
};

struct gm_dry_names GM_VEC(char *);

struct gm_dry_told {
    enum gm_dry_torch torch;
    struct GM_VEC(struct gm_dry_process) processes; /* by rank, then by their snapshots' paths */
    size_t traced_count;                            /* those with a snapshot come first */
    size_t silent_count; /* processes that used a device and were ended, as by a signal, before they told anything */
    struct gm_dry_device devices[GM_DRY_DEVICES];
    size_t device_count;                         /* the largest number in use, plus one */
    struct gm_dry_names unknown, estimated;      /* of functions */
    struct GM_VEC(struct gm_dry_kernel) kernels; /* the most launched first */
    uint64_t launches, copies_to_host, bytes_to_host;
    char crash[160];                         /* how a process of the command crashed, in words; "": none did */
    bool reads;                              /* something made up was copied to the host: */
    struct GM_VEC(struct gm_dry_read) sites; /* in the order of their first reads; there may be none, without Python */
};

enum gm_status gm_dry_told_read(struct gm_dry_told *told, const struct gm_dry_folder *folder, struct gm_error *err);
void gm_dry_told_free(struct gm_dry_told *told);

/* ---- range.c: the values of --find ------------------------------------------------------------------------------- */

enum { GM_DRY_VALUE = 32 };

struct gm_dry_range {
    char name[64];
    double low, step;
    bool is_factor; /* value i is low * step^i, else low + step * i */
    int decimals;
    size_t count; /* of values, at least 1 */
};

/* GM_E_USAGE. */
enum gm_status gm_dry_range_read(struct gm_dry_range *range, const char *text, struct gm_error *err);
/* Value i, as it is put into COMMAND, and as a number. */
double gm_dry_range_value(const struct gm_dry_range *range, size_t i, char text[GM_DRY_VALUE]);
/* A copy of `command` (up to a NULL) with value i for {NAME}, to be freed; NULL: no memory. */
char **gm_dry_command(char *const *command, const struct gm_dry_range *range, size_t i);
void gm_dry_command_free(char **command);
bool gm_dry_command_has(char *const *command, const struct gm_dry_range *range); /* {NAME} */

/* ---- find_largest.c: which value is tried next ------------------------------------------------------------------- */

struct gm_dry_try {
    size_t index;
    double value, seconds;
    uint64_t reserved, allocated; /* peaks of the device that needs most */
    uint64_t bytes;               /* of them what is compared with the capacity */
    bool fits;
};

struct gm_dry_find {
    const struct gm_dry_range *range;
    uint64_t capacity;
    struct GM_VEC(struct gm_dry_try) tries; /* as they were run; the caller's, who frees them */
};

/* The index of the next value; range->count: there is nothing more to find out. */
size_t gm_dry_find_next(const struct gm_dry_find *find);
const struct gm_dry_try *gm_dry_find_largest(const struct gm_dry_find *find); /* that fits; NULL: none */
const struct gm_dry_try *gm_dry_find_failing(const struct gm_dry_find *find); /* the smallest; NULL: none */

/* ---- replayed.c: what gmreplay finds in the snapshots ------------------------------------------------------------ */

struct gm_dry_replayed {
    bool is_known;              /* the next three */
    uint64_t memory;            /* bytes that are enough for each device, with retries */
    const struct gm_gpu *card;  /* the smallest with which it runs; NULL: none of the table */
    uint64_t retries;           /* there */
    struct gm_dry_swept *swept; /* of the first process; NULL: it was not asked for */
};

struct gm_dry_result;
struct gm_doc;
struct gm_terminal;
/* To be freed in any case. What is wrong with a snapshot is an error. */
enum gm_status gm_dry_replay(struct gm_dry_replayed *replayed, const struct gm_dry_result *result,
                             const struct gm_terminal *terminal, struct gm_error *err);
void gm_dry_replayed_free(struct gm_dry_replayed *replayed);
/* Nothing if it was not asked for. */
void gm_dry_sweep_words(struct gm_text *out, const struct gm_dry_result *result);
void gm_dry_sweep_json(struct gm_doc *doc, const struct gm_dry_result *result);

/* ---- words.c ----------------------------------------------------------------------------------------------------- */

enum gm_dry_verdict { GM_DRY_NONE, GM_DRY_FITS, GM_DRY_OOM, GM_DRY_FAIL };

struct gm_dry_result {
    const struct gm_dry_options *options;
    const struct gm_gpu *gpu;
    char *const *command;
    const struct gm_dry_told *told;
    int exit_code;
    enum gm_dry_verdict verdict;
    const struct gm_dry_find *find; /* NULL: not asked for */
    struct gm_dry_replayed replayed;
};

/* The smallest card that runs CUDA and has `peak` bytes for a program; NULL: none. */
const struct gm_gpu *gm_dry_card_with(uint64_t peak);
/* The device that needs most. */
const struct gm_dry_device *gm_dry_largest(const struct gm_dry_told *told);
/* What was tried, and what came of it. */
void gm_dry_found(struct gm_text *out, const struct gm_dry_result *result);
void gm_dry_line(struct gm_text *out, const struct gm_dry_result *result);
/* The places where made-up data were read, under it. */
void gm_dry_sites(struct gm_text *out, const struct gm_dry_result *result);
void gm_dry_json(struct gm_text *out, const struct gm_dry_result *result);

/* ---- attempt.c --------------------------------------------------------------------------------------------------- */

struct gm_dry_attempt {
    struct gm_dry_folder folder;
    struct gm_dry_told told;
    struct gm_dry_result result; /* of told */
    char **own;                  /* the command, if it was made for this one */
    double seconds;
    bool is_made; /* the folder */
};

/* Runs `command`; its failure is a result. To be freed in any case. */
enum gm_status gm_dry_attempt(struct gm_dry_attempt *attempt, const struct gm_dry_options *options,
                              const struct gm_gpu *gpu, char **command, struct gm_error *err);
void gm_dry_attempt_free(struct gm_dry_attempt *attempt);
/* find->range is given. *kept: the run with the largest value that fits, or, if none does, with the smallest; to be
 * freed in any case, as find->tries. */
enum gm_status gm_dry_seek(struct gm_dry_find *find, struct gm_dry_attempt *kept, const struct gm_dry_options *options,
                           const struct gm_gpu *gpu, char **command, struct gm_error *err);
