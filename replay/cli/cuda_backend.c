/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cli/gmreplay.h"

#include "analyze/state/categories.h"
#include "replay/compute/compute_run.h"

#include <inttypes.h>
#include <stdlib.h>

enum gm_status gm_replay_check_gpu(const struct gm_replay_options *o, struct gm_error *err)
{
    if (!gm_replay_on_gpu(o) && (o->compute != GM_COMPUTE_NONE || o->pace))
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s is for --backend cuda and cuda-async",
                       o->pace ? "--pace" : "--compute");
    if (gm_replay_on_gpu(o) && (o->sweep || o->fit))
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s tries settings in the model: not with --backend %s",
                       o->sweep ? "--sweep" : "--fit", gm_replay_backend_names[o->backend]);
    if (o->backend == GM_REPLAY_CUDA_ASYNC && o->output != NULL)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                       "-o writes segments and blocks of the caching allocator: --backend cuda-async has none");
    if (o->backend == GM_REPLAY_CUDA_ASYNC && o->alloc_conf != NULL)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                       "--alloc-conf is for the caching allocator: --backend cuda-async does not have it");
    return GM_OK;
}

enum gm_status gm_replay_open_gpu(struct gm_replay_run *run, struct gm_error *err)
{
    struct gm_error why;
    if (!gm_replay_on_gpu(run->options))
        return GM_OK;
    enum gm_status status = gm_cuda_open(&run->cuda, 0, run->capacity, &why);
    if (status != GM_OK)
        return gm_fail(err, status, GM_NO_OFFSET, "--backend %s: %s", gm_replay_backend_names[run->options->backend],
                       why.message);
    return GM_OK;
}

enum gm_status gm_replay_close_gpu(struct gm_replay_run *run, struct gm_error *err)
{
    struct gm_cuda_left left = {0};
    struct gm_error why;
    enum gm_status status = gm_cuda_close(run->cuda, &left, &why);
    run->cuda = NULL;
    if (status != GM_OK)
        return gm_fail(err, status, GM_NO_OFFSET, "while the GPU was given back: %s", why.message);
    if (left.blocks + left.pages + left.reservations + left.marks + left.scratch + left.pools == 0)
        return GM_OK;
    return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET,
                   "left behind on the GPU, and given back now: %" PRIu64 " blocks, %" PRIu64 " pages, %" PRIu64
                   " reservations, %" PRIu64 " events, %" PRIu64 " scratch, %" PRIu64 " pools",
                   left.blocks, left.pages, left.reservations, left.marks, left.scratch, left.pools);
}

void gm_replay_end_gpu(struct gm_replay_run *run)
{
    gm_cuda_close(run->cuda, NULL, NULL);
    run->cuda = NULL;
}

/* Each allocation's kernel, by the names of its category and role. */
static unsigned char *kernels_of(const struct gm_replay_run *run, const struct gm_kept_device *kept)
{
    size_t n = kept->history.allocation_count, roles = GM_ROLE_COUNT;
    size_t categories = gm_category_count(run->rules);
    unsigned char *of = malloc(n + 1), *table = malloc(roles * categories + 1);
    for (size_t c = 0; table != NULL && c < categories; c++)
        for (size_t r = 0; r < roles; r++)
            table[c * roles + r] =
                (unsigned char)gm_compute_kernel(gm_category_name(run->rules, (uint32_t)c), gm_role_name(r));
    for (size_t a = 0; of != NULL && table != NULL && a < n; a++)
        of[a] = table[kept->category[a] * roles + kept->role[a]];
    if (table == NULL) {
        free(of);
        of = NULL;
    }
    free(table);
    return of;
}

enum gm_status gm_replay_run_on_gpu(struct gm_replay_device *device, const struct gm_whatif_options *options,
                                    struct gm_error *err)
{
    const struct gm_replay_run *run = device->run;
    struct gm_kept_device *kept = device->kept;
    const struct gm_replay_options *o = run->options;
    if (o->pace && !gm_events_have_times(&kept->history.snapshot->events))
        return gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET, "its events have no times: there is nothing to --pace by");
    unsigned char *kernel_of = kernels_of(run, kept);
    device->gpu = calloc(1, sizeof *device->gpu);
    if (kernel_of == NULL || device->gpu == NULL) {
        free(kernel_of);
        return gm_no_memory(err);
    }
    const struct gm_compute_run_options gpu = {
        .is_async = o->backend == GM_REPLAY_CUDA_ASYNC,
        .is_paced = o->pace,
        .work = {.cuda = run->cuda,
                 .mode = o->compute,
                 .allocation_count = kept->history.allocation_count,
                 .class_of = kept->category,
                 .kernel_of = kernel_of},
        .class_count = gm_category_count(run->rules),
    };
    enum gm_status status = gm_compute_run(device->gpu, &device->whatif, &kept->history, &gpu, options, err);
    free(kernel_of);
    return status;
}

bool gm_replay_has_mismatches(const struct gm_replay_run *run)
{
    for (size_t i = 0; i < run->device_count; i++)
        if (run->devices[i].gpu != NULL && run->devices[i].gpu->found.mismatches > 0)
            return true;
    return false;
}
