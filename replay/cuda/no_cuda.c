/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPU of a build without a CUDA toolkit: it cannot be opened, so nothing else is ever called.
 */
#include "replay/cuda/cuda.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

enum gm_status gm_cuda_open(struct gm_cuda **cuda, int ordinal, uint64_t cap, struct gm_error *err)
{
    *cuda = NULL;
    return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET, "built without CUDA");
}

enum gm_status gm_cuda_close(struct gm_cuda *cuda, struct gm_cuda_left *left, struct gm_error *err)
{
    if (left != NULL)
        *left = (struct gm_cuda_left){0};
    return GM_OK;
}

/* A call that nobody makes, and what it would return. */
#define NEVER(value, type, name, ...)                                                                                  \
    type name(__VA_ARGS__)                                                                                             \
    {                                                                                                                  \
        return value;                                                                                                  \
    }
NEVER((struct gm_device){0}, struct gm_device, gm_cuda_device, struct gm_cuda *cuda)
NEVER(NULL, const struct gm_cuda_info *, gm_cuda_info, const struct gm_cuda *cuda)
NEVER(NULL, const struct gm_error *, gm_cuda_failure, const struct gm_cuda *cuda)
NEVER(false, bool, gm_cuda_memory, struct gm_cuda *cuda, uint64_t *free_bytes, uint64_t *total_bytes)
NEVER(false, bool, gm_cuda_stream, struct gm_cuda *cuda, int64_t recorded, void **stream)
NEVER(false, bool, gm_cuda_wait_stream, struct gm_cuda *cuda, void *stream)
NEVER(false, bool, gm_cuda_wait, struct gm_cuda *cuda)
NEVER(false, bool, gm_cuda_launch_failed, struct gm_cuda *cuda, const char *call, const char *name, const char *words)
NEVER(false, bool, gm_cuda_lacks, struct gm_cuda *cuda, const char *who, const char *words)
NEVER(false, bool, gm_cuda_mark, struct gm_cuda *cuda, void *stream, struct gm_cuda_mark *mark)
NEVER(false, bool, gm_cuda_wait_mark, struct gm_cuda *cuda, struct gm_cuda_mark mark)
NEVER(false, bool, gm_cuda_stream_waits, struct gm_cuda *cuda, void *stream, struct gm_cuda_mark mark)
NEVER(false, bool, gm_cuda_elapsed, struct gm_cuda *cuda, struct gm_cuda_mark from, struct gm_cuda_mark to,
      double *seconds)
NEVER(false, bool, gm_cuda_scratch, struct gm_cuda *cuda, uint64_t bytes, void **at)
NEVER(false, bool, gm_cuda_drop_scratch, struct gm_cuda *cuda, void *at)
NEVER(false, bool, gm_cuda_put, struct gm_cuda *cuda, void *to, const void *host, uint64_t bytes, void *stream)
NEVER(false, bool, gm_cuda_get, struct gm_cuda *cuda, void *host, const void *from, uint64_t bytes, void *stream)
NEVER(false, bool, gm_cuda_pool_open, struct gm_cuda *cuda, struct gm_cuda_pool **pool)
NEVER(false, bool, gm_cuda_pool_close, struct gm_cuda_pool *pool)
NEVER(GM_DEVICE_FAILED, enum gm_device_status, gm_cuda_pool_allocate, struct gm_cuda_pool *pool, uint64_t size,
      void *stream, uint64_t *address)
NEVER(GM_DEVICE_FAILED, enum gm_device_status, gm_cuda_pool_release, struct gm_cuda_pool *pool, uint64_t address,
      void *stream)
NEVER(false, bool, gm_cuda_pool_trim, struct gm_cuda_pool *pool)
NEVER(false, bool, gm_cuda_pool_figures, struct gm_cuda_pool *pool, struct gm_cuda_pool_figures *figures)
NEVER(0, uint64_t, gm_cuda_used, const struct gm_cuda *cuda)
NEVER(false, bool, gm_cuda_no_memory, struct gm_cuda *cuda)

void gm_cuda_drop_mark(struct gm_cuda *cuda, struct gm_cuda_mark mark)
{
}
