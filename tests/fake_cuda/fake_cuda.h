/* SPDX-License-Identifier: Apache-2.0
 *
 * A CUDA runtime and driver for tests, linked instead of cudart: one GPU whose memory is host memory of a bounded
 * amount, whose calls fail when they are told to, and whose streams do their work at once or as late as they may.
 *
 * Device memory is at the lowest free address that is aligned to 2 MiB, reservations lie above all of it; memory that
 * is not allocated, or reserved and not mapped and made accessible, cannot be touched. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fake_cuda {
    uint64_t memory;   /* of the GPU */
    uint64_t context;  /* what is gone of it before anything is allocated */
    bool has_driver;   /* false: every call says that there is none */
    int devices;       /* how many GPUs there are; they share their memory */
    bool is_late;      /* work is done when it is waited for, not before */
    const char *lacks; /* a function that the driver does not have; NULL: none */
};
/* Begins anew, whatever was before. */
void fake_cuda_start(const struct fake_cuda *options);
void fake_cuda_end(void);

/* The nth call from now on of a function (1 is the next; "*": of any) returns `error` and does nothing. One at a time;
 * NULL: none. */
void fake_cuda_fail(const char *call, uint64_t nth, int error);
/* With this error a launch does not fail: it says that the machine lacks what its kernel needs. */
enum { GM_FAKE_MISSING = -4 };
/* Calls since the start; NULL: of all functions. */
uint64_t fake_cuda_calls(const char *call);
/* The name of the call that failed as it was told to; NULL: none yet. */
const char *fake_cuda_failed(void);

/* Before the nth verify from now on is done (1 is the next), byte `offset` of its block changes. */
void fake_cuda_spoil(uint64_t nth, uint64_t offset);

struct fake_cuda_held {
    uint64_t bytes; /* of device memory, in all forms, without the context */
    uint64_t allocations, handles, mappings, reservations, streams, events, pools;
};
struct fake_cuda_held fake_cuda_held(void);
bool fake_cuda_holds_nothing(void);

/* Work for a stream (a cudaStream_t): the stream runs do_it on its copy of [data, data + size). */
void fake_cuda_queue(void *stream, void (*do_it)(void *data), const void *data, size_t size);
uint64_t fake_cuda_waiting(void); /* works not done yet, of all streams */
