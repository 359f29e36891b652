/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder: memory calls of any CUDA program go in, a snapshot comes out. It knows no CUDA; inject.c feeds it.
 *
 * What cudaMalloc gives is a segment with one block in it, and goes with it: segment_alloc, alloc; free_requested,
 * free_completed, segment_free. Memory mapped into a reservation (cuMemMap) is the same with segment_map and
 * segment_unmap, and ranges that touch are one expandable segment at the end. Blocks are multiples of 512 bytes, as
 * what the driver hands out; `requested` is what was asked for. docs/recording.md has the whole table.
 *
 * Everything may be called from any thread; one mutex guards it. When memory runs out, recording ends there and says
 * so.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/snapshot/snapshot.h"

struct gm_recorder;

enum { GM_RECORD_DEPTH = 32, GM_RECORD_NATIVE = 64, GM_RECORD_DEVICES = 1024 };

/* What one thread is in the middle of. It belongs to the caller; zero-initialise it. */
struct gm_record_thread {
    uint32_t path[GM_RECORD_DEPTH];     /* open ranges, outermost first: string ids of the recorder */
    int32_t device_of[GM_RECORD_DEPTH]; /* `device` when they were opened */
    uint32_t depth;                     /* ranges deeper than the array are counted only */
    int32_t device;                     /* where the thread's ranges are shown */
};

struct gm_recorder_options {
    size_t max_events; /* of all devices; beyond, the oldest are dropped. So of marks */
    /* Names the code at `address`: function, and the file that it lies in. The texts are copied at once. */
    void (*resolve)(uint64_t address, char name[256], char file[256]);
};

/* What memory calls have in common. */
struct gm_record_call {
    const char *function; /* the call's name, the innermost frame */
    int64_t time_us;
    int64_t device, stream;
    uint64_t pool; /* 0: none. Others are told apart by a number of ours, in order of appearance */
    const struct gm_record_thread *thread;
    const uint64_t *native; /* code addresses, innermost first */
    size_t native_count;
};

/* NULL: no memory. */
struct gm_recorder *gm_recorder_new(const struct gm_recorder_options *options);
void gm_recorder_free(struct gm_recorder *r); /* NULL is fine */

void gm_record_alloc(struct gm_recorder *r, const struct gm_record_call *call, uint64_t address, uint64_t size);
void gm_record_map(struct gm_recorder *r, const struct gm_record_call *call, uint64_t address, uint64_t size);
/* The device is that of the memory. Freeing what is not known is counted. */
void gm_record_release(struct gm_recorder *r, const struct gm_record_call *call, uint64_t address);
void gm_record_unmap(struct gm_recorder *r, const struct gm_record_call *call, uint64_t address, uint64_t size);
/* The device was reset: what lies there is gone. */
void gm_record_reset(struct gm_recorder *r, const struct gm_record_call *call);
/* The driver had no memory for a request. */
void gm_record_refused(struct gm_recorder *r, const struct gm_record_call *call, uint64_t size);
/* A free that was recorded and then failed. */
void gm_record_free_failed(struct gm_recorder *r);

/* Ranges of a thread, and ranges that may end elsewhere, told apart by `id`. */
void gm_record_push(struct gm_recorder *r, struct gm_record_thread *thread, const char *name, int64_t time_us);
void gm_record_pop(struct gm_recorder *r, struct gm_record_thread *thread, int64_t time_us);
void gm_record_range_start(struct gm_recorder *r, int32_t device, uint64_t id, const char *name, int64_t time_us);
void gm_record_range_end(struct gm_recorder *r, uint64_t id, int64_t time_us);
/* Work on the device: a kernel, a copy. */
void gm_record_work(struct gm_recorder *r, int64_t device, const char *name, int64_t start_us, int64_t end_us);
/* Says something about the recording in the file: what is missing from it. */
void gm_record_note(struct gm_recorder *r, const char *text);

/* Fills *snapshot, which the caller frees; the recorder takes nothing more afterwards. */
enum gm_status gm_recorder_finish(struct gm_recorder *r, struct gm_snapshot *snapshot, struct gm_error *err);

/* output.c: the path that `pattern` means: %p is the process, %r its rank among those that work together (0 if it is
 * alone), %% a percent sign. */
void gm_record_path(struct gm_text *out, const char *pattern);
/* Writes the snapshot as a .gmtrace, under a hidden name that is renamed when all of it is there. */
enum gm_status gm_record_write(const struct gm_snapshot *snapshot, const char *path, struct gm_error *err);
