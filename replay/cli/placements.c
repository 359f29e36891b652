/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the driver puts a new segment decides between equal free blocks, and nobody knows where that is: the peak as a
 * range, and a verdict only if it is the same everywhere.
 */
#include "replay/cli/gmreplay.h"

#define MOST_EVENTS (UINT64_C(1) << 26) /* longer runs are not replayed again */

static enum gm_status spread(struct gm_replay_device *d, struct gm_error *err)
{
    const struct gm_whatif_result *r = &d->whatif;
    const struct gm_search_device searched = gm_replay_search_device(d);
    const struct gm_search search = {.devices = &searched, .device_count = 1, .threads = gm_replay_threads(d->run)};
    struct gm_trial trial = {.is_baseline = true,
                             .capacity = gm_replay_capacity(d->run),
                             .taken = gm_replay_taken(d->run),
                             .from_layout = d->from_layout,
                             .runs = !r->has_failed,
                             .peak_reserved = gm_replay_reserved(d),
                             .hangs_on_placement = r->hangs_on_placement && r->played <= MOST_EVENTS};
    enum gm_status status = gm_trials_spread(&search, &trial, 1, err);
    d->range = trial.range;
    return status;
}

enum gm_status gm_replay_spread(struct gm_replay_run *run, struct gm_error *err)
{
    const bool is_judged = !run->options->verify && !gm_replay_on_gpu(run->options);
    for (size_t i = 0; is_judged && i < run->device_count; i++)
        GM_TRY(spread(&run->devices[i], err));
    return GM_OK;
}

enum gm_replay_verdict gm_replay_placed(const struct gm_replay_device *d)
{
    const uint64_t limit = d->run->options->limit;
    const bool passes = !d->whatif.has_failed && gm_replay_reserved(d) <= limit;
    for (unsigned i = 0; i < d->range.replays; i++)
        if ((d->range.peaks[i] != UINT64_MAX && d->range.peaks[i] <= limit) != passes)
            return GM_VERDICT_UNKNOWN;
    return passes ? GM_VERDICT_PASS : d->whatif.has_failed ? GM_VERDICT_OOM : GM_VERDICT_FAIL;
}

const char *gm_replay_range_words(struct gm_doc *doc, const struct gm_trial_range *range)
{
    const unsigned failed = range->replays - range->runs;
    if (range->low == range->high && (failed == 0 || range->runs == 0))
        return NULL;
    const char *more =
        failed == 0 ? "" : gm_doc_printf(doc, "; out of memory in %u of %u other places", failed, range->replays);
    if (range->low < range->high)
        return gm_doc_printf(doc, "%s to %s reserved, by where the driver puts segments%s",
                             gm_doc_bytes(doc, range->low), gm_doc_bytes(doc, range->high), more);
    return gm_doc_printf(doc, "%s reserved where the driver puts segments so that it runs%s",
                         gm_doc_bytes(doc, range->low), more);
}

static void put_range(const struct gm_cell_of *c)
{
    const struct gm_trial_range *range = c->row;
    struct gm_json *json = &c->doc->json;
    if (range->replays == 0) {
        gm_json_null(json, c->column->key);
        return;
    }
    gm_json_open_flat(json, c->column->key, '[');
    gm_json_number(json, NULL, range->low);
    gm_json_number(json, NULL, range->high);
    gm_json_close(json, ']');
}

const struct gm_column gm_replay_range_columns[3] = {
    GM_NESTED("peak_reserved_range_bytes", put_range),
    GM_KEY(GM_COUNT, "other_placements", struct gm_trial_range, replays),
    GM_KEY(GM_COUNT, "other_placements_run", struct gm_trial_range, runs),
};
