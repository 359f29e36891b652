/* SPDX-License-Identifier: Apache-2.0
 *
 * A GPU had no memory: is there an allocator setting with which the trace runs in what there was? Tried on the
 * simulated device, so that only what helps is recommended.
 */
#include "analyze/words/numbers.h"
#include "replay/cli/cuda.h"
#include "replay/cli/judged.h"
#include "replay/settings/recorded.h"

#include <inttypes.h>
#include <stdlib.h>

enum { TRIALS = 1 + GM_OTHER_SETTINGS };
#define MOST_EVENTS (UINT64_C(1) << 26) /* longer runs are not replayed again */

struct gm_replay_advice {
    size_t index;      /* of the device that failed */
    uint64_t capacity; /* what it had for us */
    size_t count;
    struct {
        struct gm_text settings; /* the first are those in force */
        bool is_given_up, has_failed;
        uint64_t peak;
    } trials[TRIALS];
};

static size_t failed_device(const struct gm_replay_run *run)
{
    size_t i = 0;
    while (i < run->device_count && !run->devices[i].whatif.has_failed)
        i++;
    return i;
}

static enum gm_status try_settings(struct gm_replay_run *run, struct gm_replay_advice *advice,
                                   const struct gm_conf *conf, struct gm_error *err)
{
    struct gm_whatif_result result;
    size_t t = advice->count++;
    enum gm_status status = gm_replay_again(&result, run, advice->index, conf, advice->capacity, 0, err);
    advice->trials[t].is_given_up = status == GM_E_LIMIT;
    if (status != GM_OK)
        return status == GM_E_LIMIT ? GM_OK : status;
    gm_conf_text(&advice->trials[t].settings, conf);
    advice->trials[t].has_failed = result.has_failed;
    advice->trials[t].peak = (uint64_t)result.stats.reserved_bytes[GM_STAT_ALL].peak;
    return GM_OK;
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
    enum gm_status status = GM_OK;
    for (size_t t = 0; status == GM_OK && t < TRIALS && device->whatif.events <= MOST_EVENTS; t++) {
        struct gm_conf conf = t == 0 ? device->conf : gm_replay_other_settings(device->conf, t - 1);
        if (t == 0 || !gm_settings_equal(&conf, &device->conf))
            status = try_settings(run, run->advice, &conf, err);
    }
    return status;
}

void gm_replay_free_advice(struct gm_replay_run *run)
{
    for (size_t t = 0; run->advice != NULL && t < TRIALS; t++)
        gm_text_free(&run->advice->trials[t].settings);
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
        const char *settings = advice->trials[t].settings.length == 0 ? "" : advice->trials[t].settings.data;
        bool is_async = run->options->backend == GM_REPLAY_CUDA_ASYNC;
        if (advice->trials[t].is_given_up || advice->trials[t].has_failed)
            continue;
        if (t > 0 || is_async)
            gm_text_printf(out, "  %d. %s" GM_CONF_VARIABLE "=%s\n     runs, peak reserved %s\n", ++n,
                           is_async ? "the caching allocator: " : "", settings,
                           gm_bytes_format(a, advice->trials[t].peak));
        else
            gm_text_printf(out, "  the same settings run in the model, with peak reserved %s\n",
                           gm_bytes_format(a, advice->trials[t].peak));
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
        bool is_known = !advice->trials[t].is_given_up;
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "alloc_conf",
                       advice->trials[t].settings.length == 0 ? "" : advice->trials[t].settings.data);
        if (is_known)
            gm_json_bool(json, "runs", !advice->trials[t].has_failed);
        else
            gm_json_null(json, "runs");
        gm_json_number(json, "peak_reserved_bytes",
                       is_known && !advice->trials[t].has_failed ? advice->trials[t].peak : GM_REPORT_NONE);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
    gm_json_close(json, '}');
}
