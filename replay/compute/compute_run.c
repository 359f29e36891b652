/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/compute/compute_run.h"

#include "replay/compute/compute_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/* Recorded time: the replay never runs ahead of it. Time that goes backwards (a repeated step begins again, or the
 * trace is odd) counts as none. */

#define MOST_US (UINT64_C(1) << 52) /* more than a century */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool running_pace(void *self, uint32_t event)
{
    struct gm_running *r = self;
    uint64_t time = gm_history_time(r->h, event);
    if (time == GM_REPORT_NONE)
        return true;
    if (!r->has_begun)
        r->begun_ns = now_ns();
    else if (time > r->last_us)
        r->due_us += time - r->last_us < MOST_US - r->due_us ? time - r->last_us : MOST_US - r->due_us;
    r->has_begun = true;
    r->last_us = time;
    int64_t begun_us = r->begun_ns / 1000, at_us = begun_us + (int64_t)r->due_us;
    if (now_ns() / 1000 >= at_us)
        return true;
    const struct timespec until = {.tv_sec = at_us / 1000000, .tv_nsec = at_us % 1000000 * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        continue;
    return true;
}

/* cudaMemGetInfo now. */
static bool measure(struct gm_running *r, struct gm_compute_memory *memory)
{
    uint64_t free_bytes, total;
    if (!gm_cuda_memory(r->cuda, &free_bytes, &total))
        return false;
    *memory = (struct gm_compute_memory){.is_known = true,
                                         .used = total - free_bytes,
                                         .ours = gm_cuda_used(r->cuda) +
                                                 (r->pool != NULL ? gm_running_figures(r)->reserved : 0),
                                         .scratch = r->result->found.scratch_bytes};
    return true;
}

/* ---- the hooks of both; the first three are the caching allocator's ---------------------------------------------- */

static enum gm_device_status allocated(void *self, uint32_t event, const struct gm_whatif_block *block)
{
    struct gm_running *r = self;
    const struct gm_compute_piece piece = {.name = block->address,
                                           .at = block->address,
                                           .bytes = block->size,
                                           .allocation = block->allocation,
                                           .stream = block->stream};
    (void)event;
    return gm_work_allocated(r->work, &piece) ? GM_DEVICE_OK : GM_DEVICE_FAILED;
}

static bool let_go(void *self, uint32_t event, uint64_t address, bool is_pending)
{
    return gm_work_let_go(((struct gm_running *)self)->work, event, address, is_pending);
}

static bool freed(void *self, uint32_t event, uint64_t address)
{
    return gm_work_freed(((struct gm_running *)self)->work, event, address);
}

static bool rose(void *self)
{
    struct gm_running *r = self;
    return measure(r, &r->result->at_peak);
}

static bool ended(void *self, size_t part)
{
    struct gm_running *r = self;
    return measure(r, &r->result->parts[part]);
}

static bool finished(void *self)
{
    struct gm_running *r = self;
    r->is_over = true;
    if (r->work != NULL && !gm_work_finish(r->work))
        return false;
    if (!measure(r, &r->result->at_end))
        return false;
    if (r->pool != NULL)
        r->result->pool = *gm_running_figures(r);
    return gm_cuda_failure(r->cuda)->status == GM_OK;
}

static struct gm_whatif_hooks hooks_of(struct gm_running *r)
{
    struct gm_whatif_hooks hooks = {0};
    if (r->pool != NULL)
        hooks = gm_running_pool_hooks();
    else if (r->work != NULL)
        hooks = (struct gm_whatif_hooks){.allocated = allocated, .let_go = let_go, .freed = freed};
    hooks.self = r;
    hooks.before = r->options->is_paced ? running_pace : NULL;
    hooks.rose = rose;
    hooks.ended = ended;
    hooks.finished = finished;
    return hooks;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static bool open_all(struct gm_running *r, const struct gm_whatif_options *whatif)
{
    const struct gm_compute_run_options *o = r->options;
    struct gm_compute_result *result = r->result;
    result->info = *gm_cuda_info(r->cuda);
    result->found.classes = calloc(o->class_count + 1, sizeof *result->found.classes);
    result->parts = calloc(whatif->part_count + 1, sizeof *result->parts);
    if (result->found.classes == NULL || result->parts == NULL)
        return gm_cuda_no_memory(r->cuda);
    return (!o->is_async || gm_running_pool_open(r)) &&
           (o->work.mode == GM_COMPUTE_NONE || gm_work_open(&r->work, &o->work, &result->found)) &&
           measure(r, &result->at_start);
}

/* The pool's figures are the allocator's, then. */
static void take_figures(const struct gm_running *r, struct gm_whatif_result *replayed)
{
    const struct gm_cuda_pool_figures *f = &r->result->pool;
    struct gm_stats *s = &replayed->stats;
    r->result->model_reserved = (uint64_t)s->reserved_bytes[GM_STAT_ALL].peak;
    s->reserved_bytes[GM_STAT_ALL].peak = (int64_t)f->reserved_high;
    s->reserved_bytes[GM_STAT_ALL].current = (int64_t)f->reserved;
    s->allocated_bytes[GM_STAT_ALL].peak = s->active_bytes[GM_STAT_ALL].peak = (int64_t)f->used_high;
    s->allocated_bytes[GM_STAT_ALL].current = s->active_bytes[GM_STAT_ALL].current = (int64_t)f->used;
    s->num_ooms += replayed->has_failed;
}

static enum gm_status tell_failure(const struct gm_running *r, const struct gm_whatif_result *replayed,
                                   struct gm_error *err)
{
    const struct gm_error *why = gm_cuda_failure(r->cuda);
    if (r->is_over)
        return gm_fail(err, why->status, GM_NO_OFFSET, "device %" PRId64 ", after the last event: %s", r->h->device,
                       why->message);
    if (replayed->stopped_at == GM_NEVER)
        return gm_fail(err, why->status, GM_NO_OFFSET, "device %" PRId64 ", before the first event: %s", r->h->device,
                       why->message);
    return gm_fail(err, why->status, GM_NO_OFFSET, "device %" PRId64 ", event %" PRIu32 ": %s", r->h->device,
                   replayed->stopped_at, why->message);
}

enum gm_status gm_compute_run(struct gm_compute_result *result, struct gm_whatif_result *replayed, struct gm_history *h,
                              const struct gm_compute_run_options *options, const struct gm_whatif_options *whatif,
                              struct gm_error *err)
{
    struct gm_running r = {.options = options, .h = h, .result = result, .cuda = options->work.cuda};
    struct gm_device device = gm_cuda_device(r.cuda);
    struct gm_whatif_options all = *whatif;
    enum gm_status status = GM_OK;
    *replayed = (struct gm_whatif_result){.device = h->device, .stopped_at = GM_NEVER};
    if (open_all(&r, whatif)) {
        struct gm_whatif_hooks hooks = hooks_of(&r);
        all.hooks = &hooks;
        all.device = options->is_async ? NULL : &device;
        all.capacity = UINT64_MAX;
        status = gm_whatif(replayed, h, &all, err);
        if (status == GM_OK && options->is_async)
            take_figures(&r, replayed);
        r.is_over |= status == GM_OK;
    }
    gm_work_close(r.work); /* failures are kept */
    gm_running_pool_close(&r);
    return gm_cuda_failure(r.cuda)->status != GM_OK ? tell_failure(&r, replayed, err) : status;
}

void gm_compute_free(struct gm_compute_result *result)
{
    GM_FREE_ALL(result->found.classes, result->parts);
}
