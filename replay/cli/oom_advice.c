/* SPDX-License-Identifier: Apache-2.0
 *
 * A GPU had no memory: is there an allocator setting with which the trace runs in what there was? Tried on the
 * simulated device, so that only what helps is recommended.
 */
#include "analyze/document/numbers.h"
#include "replay/cli/cuda_backend.h"
#include "replay/cli/judged.h"
#include "replay/cli/searched.h"
#include "replay/trials/few.h"

#include <inttypes.h>
#include <stdlib.h>

#define MOST_EVENTS (UINT64_C(1) << 26) /* longer runs are not replayed again */

struct gm_replay_advice {
    size_t index;      /* of the device that failed */
    uint64_t capacity; /* what it had for us */
    size_t count;
    struct gm_trial trials[1 + GM_FEW_MOST]; /* the first are the settings in force */
};

static size_t failed_device(const struct gm_replay_run *run)
{
    size_t i = 0;
    while (i < run->device_count && !run->devices[i].whatif.has_failed)
        i++;
    return i;
}

static enum gm_status try_settings(struct gm_replay_run *run, struct gm_replay_advice *advice, struct gm_error *err)
{
    const struct gm_search_device device = gm_replay_search_device(run, advice->index);
    const struct gm_search search = {.devices = &device, .device_count = 1, .threads = gm_replay_threads(run)};
    struct gm_conf few[GM_FEW_MOST];
    advice->count = 1 + gm_few_settings(few, &device.baseline);
    for (size_t t = 0; t < advice->count; t++)
        advice->trials[t] =
            (struct gm_trial){.conf = t == 0 ? device.baseline : few[t - 1], .capacity = advice->capacity};
    return gm_trials_run(&search, advice->trials, advice->count, err);
}

enum gm_status gm_replay_advise(struct gm_replay_run *run, struct gm_error *err)
{
    size_t index = failed_device(run);
    if (!gm_replay_on_gpu(run->options) || index == run->device_count)
        return GM_OK;
    const struct gm_replay_device *device = &run->devices[index];
    const struct gm_whatif_failure *f = &device->whatif.failure;
    run->advice = calloc(1, sizeof *run->advice);
    if (run->advice == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    run->advice->index = index;
    run->advice->capacity = f->device_free + f->reserved;
    return device->whatif.events > MOST_EVENTS ? GM_OK : try_settings(run, run->advice, err);
}

void gm_replay_free_advice(struct gm_replay_run *run)
{
    free(run->advice);
}

void gm_replay_advice_words(struct gm_text *out, const struct gm_replay_run *run)
{
    const struct gm_replay_advice *advice = run->advice;
    char a[GM_NUMBER_TEXT];
    int n = 0;
    if (advice == NULL)
        return;
    gm_text_printf(out, "recommendations (tried in the model, with the %s that the GPU had for this):\n",
                   gm_bytes_format(a, advice->capacity));
    for (size_t t = 0; t < advice->count; t++) {
        const struct gm_trial *trial = &advice->trials[t];
        bool is_async = run->options->backend == GM_REPLAY_CUDA_ASYNC;
        if (!trial->runs)
            continue;
        if (t > 0 || is_async) {
            gm_text_printf(out, "  %d. %s" GM_CONF_VARIABLE "=", ++n, is_async ? "the caching allocator: " : "");
            gm_conf_text(out, &trial->conf);
            gm_text_printf(out, "\n     runs, peak reserved %s\n", gm_bytes_format(a, trial->peak_reserved));
        } else {
            gm_text_printf(out, "  the same settings run in the model, with peak reserved %s\n",
                           gm_bytes_format(a, trial->peak_reserved));
        }
    }
    if (n > 0)
        gm_text_add(out, "     (" GM_CONF_OLD_VARIABLE ")\n");
    else
        gm_text_add(out, "  none of the settings that were tried runs\n");
    gm_text_printf(out, "  %d. hold less: at the peak of requested memory\n     by role", ++n);
    gm_replay_holder_words(out, run, advice->index, false, 13);
    gm_text_add(out, "     by category");
    gm_replay_holder_words(out, run, advice->index, true, 17);
    gm_text_add(out, "  --fit, without --backend, tells how much memory is enough\n");
}

void gm_replay_advice_json(struct gm_json *json, const struct gm_replay_run *run)
{
    const struct gm_replay_advice *advice = run->advice;
    if (advice == NULL)
        return;
    gm_json_open(json, "recommendations", '{');
    gm_json_signed(json, "device", run->devices[advice->index].whatif.device);
    gm_json_number(json, "memory_bytes", advice->capacity);
    gm_json_open(json, "replayed", '[');
    for (size_t t = 0; t < advice->count; t++) {
        const struct gm_trial *trial = &advice->trials[t];
        gm_json_open_flat(json, NULL, '{');
        gm_replay_json_conf(json, "alloc_conf", &trial->conf);
        if (trial->is_given_up)
            gm_json_null(json, "runs");
        else
            gm_json_bool(json, "runs", trial->runs);
        gm_json_number(json, "peak_reserved_bytes", trial->runs ? trial->peak_reserved : GM_REPORT_NONE);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
    gm_json_close(json, '}');
}
