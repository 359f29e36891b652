/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/trials/trial.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/threads.h"
#include "replay/model/sim.h"
#include "replay/trials/alike.h"
#include "replay/trials/bound.h"

#include <stdlib.h>
#include <string.h>

/* A trial on one device: what the threads share out among themselves. */
struct unit {
    enum gm_status status;
    struct gm_error error;
    bool is_left_out;
    struct gm_whatif_result result;
    struct gm_conf reduced;
    size_t same_as; /* the unit whose replay is this one's, too; itself if it is replayed */
};

struct work {
    const struct gm_search *search;
    const struct gm_trial *trials;
    size_t count;
    struct unit *units; /* [trial * device_count + device] */
    size_t *replayed;   /* those that are, in order */
    size_t replayed_count;
};

/* The refused request fares as the last one of its stack: nobody knows better. */
static struct gm_whatif_refused as_changed(const struct gm_search_device *d, const uint64_t *requested)
{
    struct gm_whatif_refused request = d->refused->request;
    const uint32_t like = d->refused->like;
    const uint64_t recorded = like == GM_NEVER ? 0 : gm_requested(d->history, like);
    if (requested != NULL && recorded > 0 && requested[like] != recorded)
        request.size = (uint64_t)((double)request.size * ((double)requested[like] / (double)recorded));
    return request;
}

static void run_unit(const struct gm_search *search, const struct gm_trial *trial, size_t device, struct unit *unit)
{
    const struct gm_search_device *d = &search->devices[device];
    struct gm_whatif_options options = {.conf = trial->is_baseline ? d->baseline : trial->conf,
                                        .capacity = trial->capacity,
                                        .taken = trial->taken,
                                        .from_layout = trial->from_layout,
                                        .placement = trial->placement,
                                        .requested = d->requested,
                                        .counts_reserved_only = !trial->counts_allocated};
    struct gm_whatif_refused refused = {.size = 0};
    if (trial->requests != NULL) {
        const struct gm_trial_requests *other = &trial->requests[device];
        options.requested = other->requested != NULL ? other->requested : d->requested;
        options.moves = other->moves;
        options.move_count = other->move_count;
        options.on_one_stream = other->on_one_stream;
    }
    if (d->refused != NULL)
        refused = as_changed(d, options.requested);
    options.refused = refused.size > 0 ? &refused : NULL;
    if (trial->is_of_device)
        options.capacity = d->capacity;
    if (trial->is_fraction || (trial->is_of_device && options.conf.memory_fraction < 1)) {
        options.capacity = gm_sat_add(options.capacity, options.capacity);
        options.conf.memory_fraction = 0.5;
    }
    options.repeat = d->repeat;
    options.stops_after_parts = d->stops_after_parts;
    options.part_count = d->part_count;
    options.parts = malloc((d->part_count + 1) * sizeof *options.parts);
    if (options.parts == NULL) {
        unit->status = gm_no_memory(&unit->error);
        return;
    }
    if (d->part_count > 0)
        memcpy(options.parts, d->parts, d->part_count * sizeof *options.parts);
    unit->status = gm_whatif(&unit->result, d->history, &options, &unit->error);
    free(options.parts);
}

static void work_on(void *argument, size_t n)
{
    struct work *w = argument;
    const size_t i = w->replayed[n];
    const struct gm_trial *trial = &w->trials[i / w->search->device_count];
    if (!trial->is_needed && w->search->is_over != NULL && w->search->is_over(w->search->asked))
        w->units[i].is_left_out = true;
    else
        run_unit(w->search, trial, i % w->search->device_count, &w->units[i]);
    if (w->search->progress != NULL)
        atomic_fetch_add(&w->search->progress->done, 1);
}

/* Of two trials of which the settings come to the same. */
static bool are_replays_alike(const struct gm_trial *a, const struct gm_trial *b)
{
    return a->requests == NULL && b->requests == NULL && !a->from_layout && !b->from_layout &&
           a->capacity == b->capacity && a->is_of_device == b->is_of_device && a->is_fraction == b->is_fraction &&
           a->taken == b->taken && a->placement == b->placement && a->is_needed >= b->is_needed;
}

/* Whether any two may be. */
static bool has_alike(const struct work *w)
{
    size_t plain = 0;
    for (size_t i = 0; i < w->count; i++)
        plain += are_replays_alike(&w->trials[i], &w->trials[i]);
    return plain > 1;
}

/* Which units are replayed on a device: of those that come out the same the first one. */
static void choose_replayed(struct work *w, size_t device, const struct gm_asked *asked)
{
    const size_t devices = w->search->device_count;
    for (size_t i = 0; i < w->count; i++) {
        struct unit *unit = &w->units[i * devices + device];
        const struct gm_trial *trial = &w->trials[i];
        unit->reduced =
            gm_conf_reduced(trial->is_baseline ? &w->search->devices[device].baseline : &trial->conf, asked);
        for (size_t k = 0; k < i && unit->same_as == i * devices + device; k++) {
            const struct unit *other = &w->units[k * devices + device];
            if (other->same_as == k * devices + device && are_replays_alike(&w->trials[k], trial) &&
                gm_confs_are_alike(&other->reduced, &unit->reduced, asked))
                unit->same_as = other->same_as;
        }
    }
}

static enum gm_status run_units(struct work *w, struct gm_error *err)
{
    const size_t unit_count = w->count * w->search->device_count;
    struct gm_asked *asked = malloc(sizeof *asked);
    struct gm_threads threads;
    w->units = calloc(unit_count + 1, sizeof *w->units);
    w->replayed = malloc((unit_count + 1) * sizeof *w->replayed);
    const bool ok = asked != NULL && w->units != NULL && w->replayed != NULL;
    for (size_t i = 0; ok && i < unit_count; i++)
        w->units[i].same_as = i;
    for (size_t d = 0; ok && d < w->search->device_count && has_alike(w); d++) {
        gm_asked_find(asked, &w->search->devices[d]);
        choose_replayed(w, d, asked);
    }
    free(asked);
    if (!ok)
        return gm_no_memory(err);
    for (size_t i = 0; i < unit_count; i++)
        if (w->units[i].same_as == i)
            w->replayed[w->replayed_count++] = i;
    if (w->search->progress != NULL)
        atomic_fetch_add(&w->search->progress->all, w->replayed_count);
    gm_threads_run(&threads, w->replayed_count, w->search->threads, work_on, w);
    for (size_t i = 0; i < unit_count; i++)
        w->units[i] = w->units[w->units[i].same_as];
    return GM_OK;
}

static void add_unit(struct gm_trial *trial, size_t device, const struct unit *unit)
{
    const struct gm_whatif_result *r = &unit->result;
    const uint64_t peak = (uint64_t)r->stats.reserved_bytes[GM_STAT_ALL].peak;
    if (r->has_failed && trial->runs) {
        trial->failed_device = device;
        trial->failure = r->failure;
    }
    trial->is_left_out |= unit->is_left_out;
    trial->hangs_on_placement |= r->hangs_on_placement;
    trial->is_given_up |= unit->status == GM_E_LIMIT;
    trial->runs = trial->runs && !r->has_failed;
    trial->peak_reserved = peak > trial->peak_reserved ? peak : trial->peak_reserved;
    trial->sum_reserved = gm_sat_add(trial->sum_reserved, peak);
    trial->device_allocs += (uint64_t)r->stats.num_device_alloc;
    trial->retries += (uint64_t)r->stats.num_alloc_retries;
    if (trial->devices != NULL)
        trial->devices[device] = (struct gm_trial_device){
            peak, r->start_bytes_at_peak, (uint64_t)r->stats.reserved_bytes[GM_STAT_ALL].current, r->left_reserved,
            (uint64_t)r->stats.allocated_bytes[GM_STAT_ALL].peak};
}

enum gm_status gm_trials_run(const struct gm_search *search, struct gm_trial *trials, size_t count,
                             struct gm_error *err)
{
    const size_t devices = search->device_count;
    struct work w = {.search = search, .trials = trials, .count = count};
    enum gm_status status = run_units(&w, err);
    for (size_t i = 0; status == GM_OK && i < count; i++) {
        struct gm_trial *trial = &trials[i];
        trial->runs = true;
        trial->failed_device = devices;
        trial->is_given_up = trial->is_left_out = trial->hangs_on_placement = false;
        trial->peak_reserved = trial->sum_reserved = trial->device_allocs = trial->retries = 0;
        for (size_t d = 0; status == GM_OK && d < devices; d++) {
            const struct unit *unit = &w.units[i * devices + d];
            add_unit(trial, d, unit);
            if (unit->status != GM_OK && unit->status != GM_E_LIMIT) {
                status = unit->status;
                if (err != NULL)
                    *err = unit->error;
            }
        }
        trial->runs = trial->runs && !trial->is_given_up && !trial->is_left_out &&
                      (trial->is_of_device || trial->capacity >= search->floor);
    }
    GM_FREE_ALL(w.units, w.replayed);
    return status;
}

/* One more placement's outcome. */
static void widen(struct gm_trial_range *range, const struct gm_trial *trial)
{
    range->is_left_out |= trial->is_left_out;
    range->sums[range->replays] = trial->runs ? trial->sum_reserved : UINT64_MAX;
    range->peaks[range->replays++] = trial->runs ? trial->peak_reserved : UINT64_MAX;
    if (!trial->runs)
        return;
    range->runs++;
    range->low = trial->peak_reserved < range->low ? trial->peak_reserved : range->low;
    range->high = trial->peak_reserved > range->high ? trial->peak_reserved : range->high;
}

enum gm_status gm_trials_spread(const struct gm_search *search, struct gm_trial *trials, size_t count,
                                struct gm_error *err)
{
    GM_FREED struct gm_trial *others = malloc((count * GM_OTHER_PLACEMENTS + 1) * sizeof *others);
    size_t n = 0;
    if (others == NULL)
        return gm_no_memory(err);
    for (size_t i = 0; i < count; i++)
        for (uint32_t p = 0; trials[i].hangs_on_placement && p < GM_OTHER_PLACEMENTS; p++) {
            others[n] = trials[i];
            others[n].devices = NULL;
            others[n].is_needed = false;
            others[n++].placement = GM_PLACE_LOW + 1 + p;
        }
    enum gm_status status = gm_trials_run(search, others, n, err);
    for (size_t i = 0, at = 0; status == GM_OK && i < count; i++) {
        const uint64_t peak = trials[i].peak_reserved;
        struct gm_trial_range *range = &trials[i].range;
        *range = (struct gm_trial_range){.low = peak, .high = peak};
        for (uint32_t p = 0; trials[i].hangs_on_placement && p < GM_OTHER_PLACEMENTS; p++) {
            if (!trials[i].runs && range->runs == 0 && others[at].runs)
                range->low = range->high = others[at].peak_reserved;
            widen(range, &others[at++]);
        }
        if (range->is_left_out)
            *range = (struct gm_trial_range){.is_left_out = true, .low = peak, .high = peak};
    }
    return status;
}
