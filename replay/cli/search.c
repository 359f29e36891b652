/* SPDX-License-Identifier: Apache-2.0
 *
 * Further replays of a run: --sweep and --fit, and what other files here want to try.
 */

#include "analyze/base/clock.h"
#include "analyze/base/threads.h"
#include "analyze/cli/interrupt.h"
#include "analyze/diagnose/diagnose.h"
#include "replay/cli/gmreplay.h"
#include "replay/trials/card_plan.h"

#include <stdlib.h>
#include <unistd.h>

enum { PLANNED = 1 << 20 /* events: a plan is many replays */ };

unsigned gm_replay_threads(const struct gm_replay_run *run)
{
    long n = run->options->usual.threads > 0 ? (long)run->options->usual.threads : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 1024 ? 1024 : (unsigned)n;
}

/* A real trace of a million events takes 4 to 8 seconds of one CPU. */
enum { BUDGET = 60, BUDGET_PER_MILLION = 60 };

static bool is_over(void *asked)
{
    struct gm_replay_search *s = asked;
    double due = s->is_fitting || !s->has_fits ? s->budget : s->budget / 2;
    int none = GM_CUT_NOT, cut = gm_interrupt_is_pending()                        ? GM_CUT_INTERRUPT
                                 : s->budget > 0 && gm_seconds() - s->began > due ? GM_CUT_BUDGET
                                                                                  : GM_CUT_NOT;
    if (cut != GM_CUT_NOT)
        atomic_compare_exchange_strong(&s->cut[s->is_fitting], &none, cut);
    return cut != GM_CUT_NOT;
}

static void set_budget(struct gm_replay_search *s, const struct gm_replay_run *run)
{
    double events = 0;
    for (size_t d = 0; d < run->snapshot.trace_count; d++)
        events += (double)run->snapshot.traces[d].count;
    s->began = gm_seconds();
    s->has_fits = run->options->fit;
    s->budget = run->options->budget >= 0 ? (double)run->options->budget : BUDGET + BUDGET_PER_MILLION * 1e-6 * events;
}

struct gm_search_device gm_replay_search_device(const struct gm_replay_device *device)
{
    const struct gm_replay_repetition *r = &device->repetition;
    return (struct gm_search_device){.history = &device->kept->history,
                                     .requested = device->requested,
                                     .baseline = device->conf,
                                     .refused = gm_replay_refused(device) == NULL ? NULL : &device->refused,
                                     .parts = device->parts,
                                     .part_count = r->is_used ? device->part_count : 0,
                                     .repeat = r->turns > 0 ? &r->plan : NULL,
                                     .stops_after_parts = gm_replay_stops_early(device)};
}

enum gm_status gm_replay_make_plan(struct gm_replay_run *run, struct gm_error *err)
{
    char note[GM_GPU_NOTE];
    if (run->options->plan == NULL)
        return GM_OK;
    struct gm_search_device *devices = gm_arena_calloc(&run->arena, run->device_count + 1, sizeof *devices);
    const uint8_t **roles = gm_arena_calloc(&run->arena, run->device_count + 1, sizeof *roles);
    const struct gm_search search = {.devices = devices,
                                     .device_count = run->device_count,
                                     .floor = gm_replay_most_untraced(run),
                                     .is_open = gm_replay_is_open(run),
                                     .threads = gm_replay_threads(run),
                                     .progress = &run->progress.searched};
    struct gm_plan_task task = {.report = &run->report,
                                .snapshot = &run->snapshot,
                                .conf = &run->conf,
                                .search = &search,
                                .roles = roles,
                                .most_events = PLANNED};
    if (devices == NULL || roles == NULL)
        return gm_no_memory(err);
    for (size_t i = 0; i < run->device_count; i++) {
        devices[i] = gm_replay_search_device(&run->devices[i]);
        roles[i] = run->devices[i].kept->role;
    }
    GM_TRY(gm_gpu_choose(&task.card, note, "--plan", run->options->plan, err));
    GM_TRY(gm_ignore_ask(&run->ignore, &run->report, err));
    GM_TRY(gm_diagnose(&run->report, &run->snapshot, &run->kept, err));
    atomic_store(&run->progress.stage, GM_REPLAY_PLANNING);
    const enum gm_status status = gm_card_plan_make(&task, err);
    gm_ignore_count(&run->ignore, &run->report);
    return status;
}

enum gm_status gm_replay_try(const struct gm_replay_run *run, const struct gm_replay_device *device,
                             struct gm_trial *trials, size_t count, bool spreads, struct gm_error *err)
{
    GM_FREED struct gm_search_device *devices = calloc(run->device_count + 1, sizeof *devices);
    struct gm_search search = {.devices = devices, .threads = gm_replay_threads(run)};
    if (devices == NULL)
        return gm_no_memory(err);
    for (size_t i = 0; i < run->device_count; i++)
        if (device == NULL || device == &run->devices[i])
            devices[search.device_count++] = gm_replay_search_device(&run->devices[i]);
    enum gm_status status = gm_trials_run(&search, trials, count, err);
    if (status == GM_OK && spreads)
        status = gm_trials_spread(&search, trials, count, err);
    return status;
}

static enum gm_status list_devices(struct gm_replay_search *s, struct gm_replay_run *run, struct gm_error *err)
{
    s->devices = calloc(run->device_count + 1, sizeof *s->devices);
    s->bounds = calloc(run->device_count + 1, sizeof *s->bounds);
    if (s->devices == NULL || s->bounds == NULL)
        return gm_no_memory(err);
    bool is_open = false;
    for (size_t i = 0; i < run->device_count; i++) {
        s->devices[i] = gm_replay_search_device(&run->devices[i]);
        is_open |= run->devices[i].was_refused;
    }
    s->search = (struct gm_search){.devices = s->devices,
                                   .device_count = run->device_count,
                                   .floor = gm_replay_most_untraced(run),
                                   .is_open = is_open,
                                   .threads = gm_replay_threads(run),
                                   .progress = &run->progress.searched,
                                   .is_over = is_over,
                                   .asked = s};
    set_budget(s, run);
    return GM_OK;
}

static enum gm_status run_fits(struct gm_replay_search *s, const struct gm_conf *baseline, struct gm_error *err)
{
    enum gm_status status = GM_OK;
    s->is_fitting = true;
    const struct gm_sweep *from = &s->sweep; /* the one with unlimited memory */
    if (s->sweep.rows[0].trial.capacity != UINT64_MAX) {
        status = gm_sweep_run(&s->roomy, &s->search, baseline, UINT64_MAX, 0, err);
        from = &s->roomy;
    }
    if (status != GM_OK)
        return status;
    size_t rows[GM_SEARCHED_FITS] = {from->baseline, from->winner, GM_SWEEP_NONE};
    uint64_t least = UINT64_MAX / GM_FIT_GRANULE * GM_FIT_GRANULE;
    for (size_t i = 0; status == GM_OK && i < GM_SEARCHED_FITS; i++) {
        struct gm_fit *fit = &s->fits[i];
        bool is_cut = false;
        if (i == 2) {
            status = gm_least(fit, &rows[i], &s->search, from, least, &is_cut, err);
        } else if (rows[i] != GM_SWEEP_NONE) {
            const struct gm_trial *trial = &from->rows[rows[i]].trial;
            status = gm_fit_run(fit, &s->search, trial, trial->peak_reserved, err);
            least = fit->is_found && fit->capacity < least ? fit->capacity : least;
        }
        s->fitted[i] = rows[i] != GM_SWEEP_NONE ? &from->rows[rows[i]] : NULL;
    }
    return status;
}

static void find_bounds(void *argument, size_t device)
{
    struct gm_replay_search *s = argument;
    if (gm_bounds_find(&s->bounds[device], &s->devices[device], NULL) != GM_OK)
        atomic_store(&s->lacks_memory, true);
}

/* The bounds are found meanwhile. */
static enum gm_status sweep(struct gm_replay_search *s, const struct gm_replay_run *run, const struct gm_conf *baseline,
                            uint64_t capacity, struct gm_error *err)
{
    struct gm_threads threads;
    gm_threads_start(&threads, s->search.device_count, s->search.threads > 1, find_bounds, s);
    const enum gm_status status = gm_sweep_run(&s->sweep, &s->search, baseline, capacity, gm_replay_taken(run), err);
    gm_threads_finish(&threads);
    return status == GM_OK && s->lacks_memory ? gm_no_memory(err) : status;
}

enum gm_status gm_replay_search(struct gm_replay_run *run, struct gm_error *err)
{
    const struct gm_replay_options *o = run->options;
    if (!o->sweep && !o->fit)
        return GM_OK;
    struct gm_replay_search *s = run->search = calloc(1, sizeof *s);
    if (s == NULL)
        return gm_no_memory(err);
    gm_interrupt_hold(); /* a signal ends the search, and waits until what was found is told */
    uint64_t capacity = o->sweep && o->backend != GM_REPLAY_NULL ? run->capacity : UINT64_MAX;
    const struct gm_conf *baseline = run->device_count > 0 ? &run->devices[0].conf : &run->conf;
    enum gm_status status = list_devices(s, run, err);
    gm_conf_text(&s->baseline_text, baseline);
    if (status == GM_OK && s->baseline_text.failed)
        status = gm_no_memory(err);
    atomic_store(&run->progress.stage, GM_REPLAY_SWEEPING);
    GM_THEN(status, sweep(s, run, baseline, capacity, err));
    atomic_store(&run->progress.stage, GM_REPLAY_FITTING);
    return status == GM_OK && o->fit ? run_fits(s, baseline, err) : status;
}

enum gm_status gm_replay_fit_recorded(struct gm_fit *fit, struct gm_replay_run *run, struct gm_error *err)
{
    GM_FREED struct gm_replay_search *s = calloc(1, sizeof *s);
    struct gm_trial trial = {.is_baseline = true, .capacity = UINT64_MAX};
    *fit = (struct gm_fit){0};
    if (s == NULL)
        return gm_no_memory(err);
    s->is_fitting = true;
    enum gm_status status = list_devices(s, run, err);
    GM_THEN(status, gm_trials_run(&s->search, &trial, 1, err));
    if (status == GM_OK && trial.runs)
        status = gm_fit_run(fit, &s->search, &trial, trial.peak_reserved, err);
    GM_FREE_ALL(s->devices, s->bounds);
    return status;
}

void gm_replay_search_free(struct gm_replay_run *run)
{
    if (run->search == NULL)
        return;
    gm_sweep_free(&run->search->sweep);
    gm_sweep_free(&run->search->roomy);
    gm_text_free(&run->search->baseline_text);
    GM_FREE_ALL(run->search->devices, run->search->bounds, run->search);
    run->search = NULL;
}
