/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the driver puts a new segment decides between equal free blocks, and nobody knows where that is: the peak as a
 * range, and a verdict only if it is the same everywhere.
 */
#include "replay/cli/cuda_backend.h"
#include "replay/cli/judged.h"
#include "replay/cli/search.h"

#define MOST_EVENTS (UINT64_C(1) << 26) /* longer runs are not replayed again */

static enum gm_status spread(struct gm_replay_run *run, size_t index, struct gm_error *err)
{
    struct gm_replay_device *device = &run->devices[index];
    const struct gm_whatif_result *r = &device->whatif;
    const struct gm_search_device searched = gm_replay_search_device(run, index);
    const struct gm_search search = {.devices = &searched, .device_count = 1, .threads = gm_replay_threads(run)};
    struct gm_trial trial = {.is_baseline = true,
                             .capacity = gm_replay_capacity(run),
                             .taken = gm_replay_taken(run),
                             .from_layout = device->from_layout,
                             .runs = !r->has_failed,
                             .peak_reserved = (uint64_t)r->stats.reserved_bytes[GM_STAT_ALL].peak,
                             .hangs_on_placement = r->hangs_on_placement && r->played <= MOST_EVENTS};
    enum gm_status status = gm_trials_spread(&search, &trial, 1, err);
    device->range = trial.range;
    return status;
}

enum gm_status gm_replay_spread(struct gm_replay_run *run, struct gm_error *err)
{
    enum gm_status status = GM_OK;
    if (run->options->verify || gm_replay_on_gpu(run->options))
        return GM_OK;
    for (size_t i = 0; status == GM_OK && i < run->device_count; i++)
        status = spread(run, i, err);
    return status;
}

enum gm_replay_verdict gm_replay_placed(const struct gm_replay_run *run, size_t index)
{
    const struct gm_replay_device *d = &run->devices[index];
    const uint64_t limit = run->options->limit;
    const uint64_t peak = (uint64_t)d->whatif.stats.reserved_bytes[GM_STAT_ALL].peak;
    const bool passes = !d->whatif.has_failed && peak <= limit;
    for (unsigned i = 0; i < d->range.replays; i++)
        if ((d->range.peaks[i] != UINT64_MAX && d->range.peaks[i] <= limit) != passes)
            return GM_VERDICT_UNKNOWN;
    return passes ? GM_VERDICT_PASS : d->whatif.has_failed ? GM_VERDICT_OOM : GM_VERDICT_FAIL;
}

void gm_replay_range_words(struct gm_doc *doc, const char *before, const struct gm_trial_range *range)
{
    const unsigned failed = range->replays - range->runs;
    if (range->low == range->high && (failed == 0 || range->runs == 0))
        return;
    gm_text_add(doc->out, before);
    if (range->low < range->high)
        gm_text_printf(doc->out, "%s to %s reserved, by where the driver puts segments", gm_doc_bytes(doc, range->low),
                       gm_doc_bytes(doc, range->high));
    else
        gm_text_printf(doc->out, "%s reserved where the driver puts segments so that it runs",
                       gm_doc_bytes(doc, range->low));
    if (failed > 0)
        gm_text_printf(doc->out, "; out of memory in %u of %u other places", failed, range->replays);
    gm_text_add_char(doc->out, '\n');
}

void gm_replay_range_json(struct gm_doc *doc, const struct gm_trial_range *range)
{
    if (range->replays == 0) {
        gm_json_null(&doc->json, "peak_reserved_range_bytes");
    } else {
        gm_json_open_flat(&doc->json, "peak_reserved_range_bytes", '[');
        gm_json_number(&doc->json, NULL, range->low);
        gm_json_number(&doc->json, NULL, range->high);
        gm_json_close(&doc->json, ']');
    }
    gm_json_number(&doc->json, "other_placements", range->replays);
    gm_json_number(&doc->json, "other_placements_run", range->runs);
}
