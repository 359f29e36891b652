/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace in, results out.
 */
#include "analyze/allocator/recorded_settings.h"
#include "analyze/base/arithmetic.h"
#include "analyze/formats/load.h"
#include "analyze/state/categories.h"
#include "analyze/timeline/history/making.h"
#include "replay/cli/gmreplay.h"
#include "replay/verify/follow.h"

#include <stdlib.h>
#include <string.h>

const char *const gm_replay_backend_names[] = {"sim", "null", "cuda", "cuda-async", NULL};
const char *const gm_replay_compute_names[] = {"none", "touch", "full", NULL};

/* ---- the settings and the device --------------------------------------------------------------------------------- */

static enum gm_status choose_settings(struct gm_replay_run *run, struct gm_error *err)
{
    const char *given = run->options->alloc_conf;
    struct gm_text odd = {0};
    struct gm_error reason;
    run->recorded = gm_settings_recorded(&run->snapshot, &odd);
    if (odd.length > 0)
        gm_message_add(&run->messages, run->terminal, GM_MESSAGE_WARNING, run->snapshot.source.path,
                       "warning: of its settings text this is not understood and left out: %s", odd.data);
    odd.length = 0;
    if (run->options->torch.is_given)
        run->recorded.ties = run->options->torch.ties;
    run->conf = run->recorded;
    enum gm_status status = GM_OK;
    if (given != NULL) {
        run->conf = gm_conf_default();
        run->conf.ties = run->recorded.ties;
        status = gm_conf_parse(&run->conf, given, strlen(given), &odd, &reason);
    }
    if (odd.length > 0)
        gm_message_add(&run->messages, run->terminal, GM_MESSAGE_WARNING, NULL,
                       "warning: --alloc-conf: options that are not known here and left out: %s", odd.data);
    const bool has_no_memory = odd.failed;
    gm_text_free(&odd);
    if (has_no_memory)
        return gm_no_memory(err);
    if (status != GM_OK)
        return gm_fail(err, status, GM_NO_OFFSET, "--alloc-conf: %s", reason.message);
    if (run->options->backend == GM_REPLAY_CUDA_ASYNC)
        run->conf.backend = GM_BACKEND_NATIVE; /* of the model beside it */
    if (status == GM_OK && run->conf.backend == GM_BACKEND_ASYNC)
        return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET,
                       "backend:cudaMallocAsync is CUDA's own allocator: there is no model of it here (on a GPU, "
                       "--backend cuda-async runs it)");
    gm_conf_text(&run->conf_text, &run->conf);
    return status;
}

static enum gm_status choose_device(struct gm_replay_run *run, struct gm_error *err)
{
    const struct gm_replay_options *o = run->options;
    run->capacity = o->memory;
    if (o->gpu == NULL)
        return GM_OK;
    char note[GM_GPU_NOTE];
    GM_TRY(gm_gpu_choose(&run->gpu, note, "--gpu", o->gpu, err));
    run->capacity = gm_gpu_usable(run->gpu);
    if (note[0] != '\0')
        gm_message_add(&run->messages, run->terminal, GM_MESSAGE_NOTE, NULL, "%s", note);
    return GM_OK;
}

/* ---- histories --------------------------------------------------------------------------------------------------- */

static enum gm_status analyse(struct gm_replay_run *run, struct gm_error *err)
{
    const struct gm_timeline_options timeline = {.rules = run->rules};
    return gm_timeline_keep(&run->report, &run->kept, &run->snapshot, &timeline, err);
}

/* Only what belongs together: no roles, no steps, the second half of it is made as it is replayed. */
static enum gm_status pair_histories(struct gm_replay_run *run, struct gm_error *err)
{
    run->kept = (struct gm_kept){.v = calloc(run->snapshot.trace_count + 1, sizeof *run->kept.v)};
    if (run->kept.v == NULL)
        return gm_no_memory(err);
    for (size_t d = 0; d < run->snapshot.trace_count; d++)
        if (run->snapshot.traces[d].count > 0 &&
            !gm_history_pair(&run->kept.v[run->kept.count++].history, &run->snapshot, d))
            return gm_no_memory(err);
    return GM_OK;
}

static enum gm_status list_devices(struct gm_replay_run *run, struct gm_error *err)
{
    run->devices = calloc(run->kept.count + 1, sizeof *run->devices);
    if (run->devices == NULL)
        return gm_no_memory(err);
    for (size_t i = 0; i < run->kept.count; i++)
        if (run->kept.v[i].history.count > 0)
            run->devices[run->device_count++] = (struct gm_replay_device){.run = run, .kept = &run->kept.v[i]};
    for (size_t i = 0; i < run->device_count; i++) {
        struct gm_replay_device *d = &run->devices[i];
        d->was_refused = gm_bound_refused(&d->refused, &d->kept->history, &run->recorded.rules);
    }
    return GM_OK;
}

/* ---- replaying --------------------------------------------------------------------------------------------------- */

/* --scale and --drop may name what the device has nothing of, or change nothing. */
static bool has_other_sizes(const struct gm_replay_device *device, const struct gm_history *h)
{
    for (size_t a = 0; device->requested != NULL && a < h->allocation_count; a++)
        if (device->requested[a] != gm_requested(h, a))
            return true;
    return false;
}

static enum gm_status what_if(struct gm_replay_device *device, struct gm_history *h, struct gm_error *err)
{
    struct gm_replay_run *run = device->run;
    struct gm_whatif_options options = {.conf = run->conf, .capacity = run->capacity, .taken = gm_replay_taken(run)};
    struct gm_conf recorded = run->recorded;
    if (run->options->backend == GM_REPLAY_NULL)
        options.capacity = UINT64_MAX;
    if (!run->snapshot.has_settings)
        recorded.expandable_segments = gm_follow_expandable_at_start(h, false);
    if (run->options->alloc_conf == NULL)
        options.conf.expandable_segments = recorded.expandable_segments;
    if (run->options->changes.n > 0 && !gm_replay_change_requests(device))
        return gm_no_memory(err);
    options.requested = device->requested;
    options.from_layout =
        !has_other_sizes(device, h) && options.capacity == UINT64_MAX && gm_settings_equal(&options.conf, &recorded);
    device->conf = options.conf;
    device->from_layout = options.from_layout;
    gm_verify_other_allocator(device->verify.other_allocator, h);
    options.recorder = run->options->output != NULL ? &run->recorder : NULL;
    options.refused = gm_replay_refused(device);
    GM_TRY(gm_replay_parts(device, &options, err));
    if (!gm_replay_count_holders(device, &options))
        return gm_no_memory(err);
    if (gm_replay_on_gpu(run->options))
        return gm_replay_run_on_gpu(device, &options, err);
    GM_TRY(gm_whatif(&device->whatif, h, &options, err));
    return gm_replay_zero(device, &options, err);
}

static enum gm_status play(struct gm_replay_device *d, struct gm_history *h, struct gm_error *err)
{
    struct gm_replay_run *run = d->run;
    struct gm_event_recorder *recorder = run->options->output != NULL ? &run->recorder : NULL;
    return run->options->verify ? gm_verify_recorded(&d->verify, h, &run->conf, recorder, err) : what_if(d, h, err);
}

/* Of a history that is only paired, the rest is made beside the replay. */
static enum gm_status replay(struct gm_replay_device *d, bool is_paired, struct gm_error *err)
{
    struct gm_history *h = &d->kept->history;
    struct gm_making making;
    if (is_paired && d->run->options->output == NULL && gm_making_begin(&making, h)) {
        const enum gm_status status = play(d, &making.seen, err);
        if (!gm_making_end(&making))
            return gm_no_memory(err);
        if (making.was_right)
            return status;
    } else if (is_paired && !gm_history_reconstruct(h, NULL)) {
        return gm_no_memory(err);
    }
    if (!d->run->options->verify)
        GM_TRY(gm_verify_settle_pools(h, &d->run->recorded, err));
    return play(d, h, err);
}

/* What the options ask for has to be there. */
static enum gm_status load(struct gm_replay_run *run, const char *path, struct gm_error *err)
{
    const struct gm_load_options options = {.salvage = run->options->usual.salvage,
                                            .max_memory = run->options->usual.max_memory,
                                            .progress = &run->progress.read};
    if (run->given != NULL)
        run->snapshot = *run->given;
    else
        GM_TRY(gm_snapshot_load(&run->snapshot, path, &options, err));
    for (size_t d = 0; d < run->snapshot.trace_count; d++)
        if (run->snapshot.traces[d].count > 0)
            return GM_OK;
    return gm_fail(
        err, GM_E_FORMAT, GM_NO_OFFSET,
        "it holds no trace: there is nothing to replay (torch.cuda.memory._record_memory_history() records one)");
}

enum gm_status gm_replay_run(struct gm_replay_run *run, const char *path, struct gm_error *err)
{
    const struct gm_replay_options *o = run->options;
    bool is_repeated = o->members > 0 || o->steps > 0;
    bool needs_passes = !o->verify && (o->changes.n > 0 || o->csv != NULL || o->summary != NULL ||
                                       o->limit != UINT64_MAX || o->plan != NULL || is_repeated || gm_replay_on_gpu(o));
    GM_TRY(choose_device(run, err));
    GM_TRY(gm_replay_open_gpu(run, err));
    GM_TRY(load(run, path, err));
    GM_TRY(choose_settings(run, err));
    if (!gm_names_init(&run->names, &run->snapshot, &run->arena))
        return gm_no_memory(err);
    atomic_store(&run->progress.stage, GM_REPLAY_ANALYSING);
    if (needs_passes)
        GM_TRY(gm_replay_changes(run, err));
    GM_TRY(needs_passes ? analyse(run, err) : pair_histories(run, err));
    GM_TRY(list_devices(run, err));
    if (!gm_replay_find_untraced(run))
        return gm_no_memory(err);
    if (is_repeated && !gm_replay_has_steps(run))
        return gm_fail(
            err, GM_E_FORMAT, GM_NO_OFFSET,
            "no complete step was found in it: there is nothing to repeat (torch.profiler's step() marks them)");
    if (o->output != NULL)
        gm_recorder_init(&run->recorder, &run->snapshot);
    atomic_store(&run->progress.stage, GM_REPLAY_REPLAYING);
    for (size_t i = 0; i < run->device_count; i++)
        GM_TRY(replay(&run->devices[i], !needs_passes, err));
    GM_TRY(gm_replay_spread(run, err));
    GM_TRY(gm_replay_close_gpu(run, err));
    GM_TRY(gm_replay_recommend(run, err));
    GM_TRY(gm_replay_find_cards(run, err));
    GM_TRY(gm_replay_make_plan(run, err));
    return gm_replay_search(run, err);
}

void gm_replay_free(struct gm_replay_run *run)
{
    for (size_t i = 0; i < run->device_count; i++) {
        free(run->devices[i].parts);
        gm_repeat_free(&run->devices[i].repetition.plan);
        GM_FREE_ALL(run->devices[i].part_number, run->devices[i].role, run->devices[i].held, run->devices[i].requested);
        if (run->devices[i].gpu != NULL)
            gm_compute_free(run->devices[i].gpu);
        free(run->devices[i].gpu);
    }
    free(run->devices);
    gm_replay_search_free(run);
    GM_FREE_ALL(run->recommended, run->cards);
    gm_replay_end_gpu(run);
    gm_recorder_free(&run->recorder);
    gm_kept_free(&run->kept);
    gm_report_free(&run->report);
    gm_names_free(&run->names);
    gm_arena_free(&run->arena);
    gm_text_free(&run->conf_text);
    gm_text_free(&run->messages);
    gm_category_rules_free(run->rules);
    if (run->given == NULL)
        gm_snapshot_free(&run->snapshot);
}

/* ---- what it comes to -------------------------------------------------------------------------------------------- */

uint64_t gm_replay_capacity(const struct gm_replay_run *run)
{
    return run->options->verify || run->options->backend == GM_REPLAY_NULL ? UINT64_MAX : run->capacity;
}

bool gm_replay_is_bounded(const struct gm_replay_run *run)
{
    return run->capacity != UINT64_MAX && run->options->backend != GM_REPLAY_NULL;
}

const struct gm_whatif_refused *gm_replay_refused(const struct gm_replay_device *device)
{
    const struct gm_replay_options *o = device->run->options;
    bool is_as_recorded = o->changes.n == 0 && o->members == 0 && o->steps == 0 && !gm_replay_on_gpu(o);
    return device->was_refused && is_as_recorded ? &device->refused.request : NULL;
}

const struct gm_replay_device *gm_replay_first_failed(const struct gm_replay_run *run)
{
    for (size_t i = 0; i < run->device_count; i++)
        if (run->devices[i].whatif.has_failed) /* never one that is verified */
            return &run->devices[i];
    return NULL;
}

bool gm_replay_is_cut_short(const struct gm_replay_run *run)
{
    return gm_replay_has_failed(run) || gm_replay_is_open(run);
}

bool gm_replay_is_open(const struct gm_replay_run *run)
{
    bool is_open = false;
    for (size_t i = 0; i < run->device_count; i++) {
        const struct gm_replay_device *d = &run->devices[i];
        is_open |= d->was_refused && !d->whatif.has_failed && !gm_replay_stops_early(d);
    }
    return is_open;
}

uint64_t gm_replay_taken(const struct gm_replay_run *run)
{
    return run->gpu != NULL ? GM_GPU_CONTEXT : 0;
}

/* Of all devices, in the limit and the memory that were given, if there are any. */
static enum gm_replay_verdict judge_devices(const struct gm_replay_run *run)
{
    enum gm_replay_verdict verdict = GM_VERDICT_PASS;
    for (size_t i = 0; i < run->device_count; i++) {
        enum gm_replay_verdict here = run->options->verify ? GM_VERDICT_PASS : gm_replay_placed(&run->devices[i]);
        if (run->options->verify && !gm_verify_passed(&run->devices[i].verify))
            here = GM_VERDICT_FAIL;
        if (here == GM_VERDICT_OOM && gm_replay_hangs_on_gradients(&run->devices[i]))
            here = GM_VERDICT_UNKNOWN;
        if (here == GM_VERDICT_OOM)
            return here;
        if (here == GM_VERDICT_FAIL || (here == GM_VERDICT_UNKNOWN && verdict == GM_VERDICT_PASS))
            verdict = here;
    }
    return verdict;
}

enum gm_replay_verdict gm_replay_judged(const struct gm_replay_run *run)
{
    const struct gm_replay_options *o = run->options;
    const bool is_of_memory = o->limit != UINT64_MAX || (!o->verify && (gm_replay_is_bounded(run) || o->fit));
    const bool is_asked = o->verify || o->limit != UINT64_MAX || gm_replay_is_bounded(run);
    const uint64_t untraced = gm_replay_most_untraced(run);
    enum gm_replay_verdict verdict = judge_devices(run);
    if (verdict == GM_VERDICT_OOM)
        return verdict;
    if (verdict == GM_VERDICT_FAIL || gm_replay_has_mismatches(run) || untraced > gm_replay_capacity(run) ||
        untraced > o->limit || gm_replay_refused_need(run) > o->limit ||
        (o->verify && gm_replay_peak_reserved(run) > o->limit))
        return GM_VERDICT_FAIL;
    if (verdict == GM_VERDICT_UNKNOWN || (is_of_memory && gm_replay_is_open(run)))
        return GM_VERDICT_UNKNOWN;
    return is_asked ? GM_VERDICT_PASS : GM_VERDICT_NONE;
}

enum gm_status gm_replay_status(const struct gm_replay_run *run)
{
    const enum gm_replay_verdict verdict = gm_replay_judged(run);
    const struct gm_card_plan *plan = run->report.plan;
    const bool is_well = verdict == GM_VERDICT_NONE || verdict == GM_VERDICT_PASS;
    return is_well && (plan == NULL || (plan->is_enough && !plan->is_open)) ? GM_OK : GM_E_CHECK;
}

const char *gm_replay_unknown_words(const struct gm_replay_run *run)
{
    for (size_t i = 0; i < run->device_count; i++)
        if (gm_replay_hangs_on_gradients(&run->devices[i]))
            return "because it hangs on whether zero_grad() frees the gradients before each forward pass";
    return judge_devices(run) == GM_VERDICT_UNKNOWN ? "because it hangs on where the driver puts segments"
                                                    : "because the recording itself ended out of memory";
}

const char *gm_replay_verdict(const struct gm_replay_run *run)
{
    static const char *const words[] = {
        [GM_VERDICT_PASS] = "PASS", [GM_VERDICT_FAIL] = "FAIL", [GM_VERDICT_OOM] = "OOM", [GM_VERDICT_UNKNOWN] = NULL};
    return words[gm_replay_judged(run)];
}

double gm_replay_speed(const struct gm_replay_run *run)
{
    double seconds = 0, events = 0;
    for (size_t i = 0; i < run->device_count; i++) {
        const struct gm_replay_device *d = &run->devices[i];
        seconds += run->options->verify ? d->verify.seconds : d->whatif.seconds;
        events += (double)(run->options->verify ? d->verify.events : d->whatif.played);
    }
    return seconds > 0 ? events / seconds : 0;
}

uint64_t gm_replay_played(const struct gm_replay_run *run)
{
    uint64_t events = 0;
    for (size_t i = 0; i < run->device_count; i++)
        events += run->devices[i].whatif.played;
    return events;
}

const struct gm_replay_device *gm_replay_fullest(const struct gm_replay_run *run)
{
    const struct gm_replay_device *most = &run->devices[0];
    for (size_t i = 1; i < run->device_count; i++)
        if (gm_replay_requested(&run->devices[i]) > gm_replay_requested(most))
            most = &run->devices[i];
    return most;
}

uint64_t gm_replay_peak_reserved(const struct gm_replay_run *run)
{
    uint64_t most = gm_replay_most_untraced(run);
    for (size_t i = 0; i < run->device_count; i++)
        most = gm_max(most, gm_replay_reserved(&run->devices[i]));
    return most;
}

uint64_t gm_replay_refused_need(const struct gm_replay_run *run)
{
    uint64_t most = 0;
    for (size_t i = 0; i < run->device_count; i++)
        if (gm_replay_refused(&run->devices[i]) != NULL)
            most = gm_max(most, run->devices[i].refused.needs);
    return most;
}

uint64_t gm_replay_need(const struct gm_replay_run *run)
{
    return gm_max(gm_replay_peak_reserved(run), gm_replay_refused_need(run));
}

bool gm_replay_is_tight(uint64_t peak, uint64_t whole)
{
    return peak > whole - whole / 100 * GM_REPLAY_MARGIN;
}
