/* SPDX-License-Identifier: Apache-2.0
 *
 * backend:cudaMallocAsync: every block that the model hands out is allocated from the pool as well, with the bytes that
 * were requested. As in PyTorch a free is the stream's: it happens when the block is let go, after what the stream has
 * still to do; if other streams use the block, on a stream that waits for them.
 */
#include "replay/compute/compute_private.h"

#include "analyze/base/size.h"

#include <stdio.h>
#include <stdlib.h>

bool gm_running_pool_open(struct gm_running *r)
{
    r->is_stale = true;
    return gm_cuda_pool_open(r->cuda, &r->pool);
}

bool gm_running_pool_close(struct gm_running *r)
{
    bool ok = r->pool == NULL || gm_cuda_pool_close(r->pool);
    gm_map_free(&r->piece_of);
    GM_FREE_ALL(r->pieces.v, r->unused.v);
    return ok;
}

/* Its last ones, if it does not tell any more: the failure is kept. */
const struct gm_cuda_pool_figures *gm_running_figures(struct gm_running *r)
{
    if (r->is_stale && gm_cuda_failure(r->cuda)->status == GM_OK)
        gm_cuda_pool_figures(r->pool, &r->now);
    r->is_stale = false;
    return &r->now;
}

static bool note(struct gm_running *r, uint64_t name, struct gm_pool_piece piece)
{
    uint32_t before, at = r->unused.n > 0 ? r->unused.v[r->unused.n - 1] : (uint32_t)r->pieces.n;
    if (!GM_VEC_ROOM(&r->pieces, 1) || !GM_VEC_ROOM(&r->unused, r->pieces.n + 1) ||
        !gm_map_put(&r->piece_of, name, at, &before))
        return gm_cuda_no_memory(r->cuda);
    if (r->unused.n > 0)
        r->unused.n--;
    else
        r->pieces.n++;
    r->pieces.v[at] = piece;
    return true;
}

static enum gm_device_status allocated(void *self, uint32_t event, const struct gm_whatif_block *block)
{
    struct gm_running *r = self;
    void *stream;
    uint64_t at;
    (void)event;
    if (!gm_cuda_stream(r->cuda, block->stream, &stream))
        return GM_DEVICE_FAILED;
    enum gm_device_status status = gm_cuda_pool_allocate(r->pool, block->requested, stream, &at);
    r->is_stale = true;
    if (status != GM_DEVICE_OK)
        return status;
    const struct gm_compute_piece piece = {.name = block->address,
                                           .at = at,
                                           .bytes = block->requested,
                                           .allocation = block->allocation,
                                           .stream = block->stream};
    bool ok = note(r, block->address, (struct gm_pool_piece){at, block->stream}) &&
              (r->work == NULL || gm_work_allocated(r->work, &piece));
    return ok ? GM_DEVICE_OK : GM_DEVICE_FAILED;
}

static bool let_go(void *self, uint32_t event, uint64_t address, bool is_pending)
{
    struct gm_running *r = self;
    uint32_t at = gm_map_get(&r->piece_of, address);
    if (at == GM_MAP_NONE || r->pieces.v[at].at == 0)
        return true;
    struct gm_pool_piece *piece = &r->pieces.v[at];
    void *stream;
    if (r->work != NULL && !gm_work_let_go(r->work, event, address, is_pending))
        return false;
    /* Without kernels nothing is on the others' stream, or on any. */
    if (!gm_cuda_stream(r->cuda, is_pending && r->work != NULL ? GM_COMPUTE_OTHERS : piece->stream, &stream) ||
        gm_cuda_pool_release(r->pool, piece->at, stream) != GM_DEVICE_OK)
        return false;
    piece->at = 0;
    r->is_stale = true;
    return true;
}

static bool freed(void *self, uint32_t event, uint64_t address)
{
    struct gm_running *r = self;
    if (!let_go(self, event, address, false))
        return false;
    uint32_t at = gm_map_take(&r->piece_of, address);
    if (at != GM_MAP_NONE)
        r->unused.v[r->unused.n++] = at;
    return r->work == NULL || gm_work_freed(r->work, event, address);
}

static bool emptied(void *self, uint32_t event)
{
    struct gm_running *r = self;
    (void)event;
    r->is_stale = true;
    return gm_cuda_pool_trim(r->pool);
}

static void levels(void *self, uint64_t *reserved, uint64_t *allocated_now)
{
    const struct gm_cuda_pool_figures *now = gm_running_figures(self);
    *reserved = now->reserved;
    *allocated_now = now->used;
}

static uint64_t refused(void *self, char *why, size_t size)
{
    struct gm_running *r = self;
    const struct gm_cuda_pool_figures *now = gm_running_figures(r);
    struct gm_device device = gm_cuda_device(r->cuda);
    uint64_t left = device.free_bytes(device.self);
    uint64_t under_cap = device.total_bytes - (now->reserved < device.total_bytes ? now->reserved : device.total_bytes);
    char a[GM_SIZE_TEXT], b[GM_SIZE_TEXT], c[GM_SIZE_TEXT];
    left = left < under_cap ? left : under_cap;
    snprintf(why, size, "the driver's memory pool has %s, %s of it in use, and of the device %s are left",
             gm_size_format(a, now->reserved), gm_size_format(b, now->used), gm_size_format(c, left));
    return left;
}

struct gm_whatif_hooks gm_running_pool_hooks(void)
{
    return (struct gm_whatif_hooks){.allocated = allocated,
                                    .let_go = let_go,
                                    .freed = freed,
                                    .emptied = emptied,
                                    .levels = levels,
                                    .refused = refused};
}
