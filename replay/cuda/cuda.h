/* SPDX-License-Identifier: Apache-2.0
 *
 * A real GPU behind the allocator's device interface: cudaMalloc and cudaFree, virtual memory for expandable segments,
 * recorded streams as CUDA streams, events. Every call is checked. The first that fails is kept (gm_cuda_failure), and
 * nothing works after it but gm_cuda_close.
 *
 * No CUDA type stands here, and a program links no driver: what the runtime does not have is looked up when the device
 * is opened. One thread at a time.
 */
#pragma once

#include "analyze/base/error.h"
#include "replay/model/device.h"

struct gm_cuda;

struct gm_cuda_info {
    char name[128];
    int compute_major, compute_minor;
    int driver, runtime; /* versions: 13000 is 13.0 */
    unsigned processors;
    uint64_t total_bytes, free_bytes; /* cudaMemGetInfo, when the device was opened; the context has its part by then */
};

/* Opens GPU `ordinal`, of which at most `cap` bytes are used (UINT64_MAX: all there is). GM_E_MISSING: 'built without
 * CUDA', 'no CUDA device'. */
enum gm_status gm_cuda_open(struct gm_cuda **cuda, int ordinal, uint64_t cap, struct gm_error *err);

/* What was still held when the device was closed. */
struct gm_cuda_left {
    uint64_t blocks, block_bytes;
    uint64_t pages, page_bytes; /* mapped */
    uint64_t reservations, marks, scratch, pools;
};
/* Waits for everything, gives everything back. Without an earlier failure, the first one here is returned. Both may be
 * NULL. */
enum gm_status gm_cuda_close(struct gm_cuda *cuda, struct gm_cuda_left *left, struct gm_error *err);

/* A device on *cuda, which must outlive it. */
struct gm_device gm_cuda_device(struct gm_cuda *cuda);
const struct gm_cuda_info *gm_cuda_info(const struct gm_cuda *cuda);
/* The first call that failed and the driver's words; status GM_OK if none did. */
const struct gm_error *gm_cuda_failure(const struct gm_cuda *cuda);
/* Bytes that the device has given out: blocks and mapped pages. */
uint64_t gm_cuda_used(const struct gm_cuda *cuda);
/* For those who work with it: a failure like a call's, always false. */
bool gm_cuda_no_memory(struct gm_cuda *cuda);
/* cudaMemGetInfo, whatever the cap says. All functions from here on: false if a call failed. */
bool gm_cuda_memory(struct gm_cuda *cuda, uint64_t *free_bytes, uint64_t *total_bytes);

/* The CUDA stream that stands for a recorded one, made when it is new. Recorded stream 0 is the default stream; others
 * do not wait for it, like those of PyTorch's pool. */
bool gm_cuda_stream(struct gm_cuda *cuda, int64_t recorded, void **stream);
bool gm_cuda_wait_stream(struct gm_cuda *cuda, void *stream);
bool gm_cuda_wait(struct gm_cuda *cuda); /* for all of the device */
/* What a kernel launcher reported. */
bool gm_cuda_launch_failed(struct gm_cuda *cuda, const char *call, const char *name, const char *words);
/* This machine lacks something that `who` needs: GM_E_MISSING. */
bool gm_cuda_lacks(struct gm_cuda *cuda, const char *who, const char *words);

/* A place in a stream's work (an event), which can be asked for, waited for, and measured from. */
struct gm_cuda_mark {
    void *event;
};
bool gm_cuda_mark(struct gm_cuda *cuda, void *stream, struct gm_cuda_mark *mark);
bool gm_cuda_wait_mark(struct gm_cuda *cuda, struct gm_cuda_mark mark);
bool gm_cuda_stream_waits(struct gm_cuda *cuda, void *stream, struct gm_cuda_mark mark);
/* Of two marks that were passed. */
bool gm_cuda_elapsed(struct gm_cuda *cuda, struct gm_cuda_mark from, struct gm_cuda_mark to, double *seconds);
void gm_cuda_drop_mark(struct gm_cuda *cuda, struct gm_cuda_mark mark); /* for use again */

/* Memory of our own, beside what is replayed: not under the cap. */
bool gm_cuda_scratch(struct gm_cuda *cuda, uint64_t bytes, void **at);
bool gm_cuda_drop_scratch(struct gm_cuda *cuda, void *at);
/* Copies in the order of the stream; when it returns, `host` is used no more. */
bool gm_cuda_put(struct gm_cuda *cuda, void *to, const void *host, uint64_t bytes, void *stream);
bool gm_cuda_get(struct gm_cuda *cuda, void *host, const void *from, uint64_t bytes, void *stream);

/* What backend:cudaMallocAsync would do: a memory pool of the driver's, which keeps what is freed, as PyTorch has it.
 * A pool of its own, so that its figures are those of the replay. */
struct gm_cuda_pool;
struct gm_cuda_pool_figures {
    uint64_t reserved, reserved_high; /* what the pool has of the device */
    uint64_t used, used_high;
};
/* The cap of the device holds for the pool, too. */
bool gm_cuda_pool_open(struct gm_cuda *cuda, struct gm_cuda_pool **pool);
bool gm_cuda_pool_close(struct gm_cuda_pool *pool); /* what is still allocated in it goes with it, after a wait */
enum gm_device_status gm_cuda_pool_allocate(struct gm_cuda_pool *pool, uint64_t size, void *stream, uint64_t *address);
enum gm_device_status gm_cuda_pool_release(struct gm_cuda_pool *pool, uint64_t address, void *stream);
bool gm_cuda_pool_trim(struct gm_cuda_pool *pool); /* empty_cache() */
bool gm_cuda_pool_figures(struct gm_cuda_pool *pool, struct gm_cuda_pool_figures *figures);
