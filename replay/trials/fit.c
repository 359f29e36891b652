/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/trials/fit.h"

#include "analyze/base/arithmetic.h"
#include "replay/trials/bound.h"

#include <stdlib.h>

enum { DOUBLINGS = 8, PROBES = 3, DESCENTS = 16 };

struct fitting {
    struct gm_fit *fit;
    const struct gm_search *search;
    const struct gm_trial *like;
    struct gm_error *err;
};

/* Replays with trials[i].capacity. What is left out does not run, and cuts the fit. */
static enum gm_status try(struct fitting *f, struct gm_trial *trials, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        trials[i].is_baseline = f->like->is_baseline;
        trials[i].conf = f->like->conf;
    }
    enum gm_status status = gm_trials_run(f->search, trials, count, f->err);
    for (size_t i = 0; i < count; i++) {
        f->fit->is_cut |= trials[i].is_left_out;
        f->fit->replays += !trials[i].is_left_out;
    }
    return status;
}

static void take(struct fitting *f, const struct gm_trial *trial)
{
    f->fit->capacity = trial->capacity;
    f->fit->retries = trial->retries;
}

static enum gm_status find_lower_bound(struct fitting *f)
{
    enum gm_status status = GM_OK;
    f->fit->lower_bound = f->search->floor;
    for (size_t i = 0; status == GM_OK && i < f->search->device_count; i++) {
        const struct gm_search_device *d = &f->search->devices[i];
        const struct gm_conf *conf = f->like->is_baseline ? &d->baseline : &f->like->conf;
        uint64_t bytes;
        status = gm_bound_live(&bytes, d, &conf->rules, false, f->err);
        bytes = d->refused != NULL && d->refused->needs > bytes ? d->refused->needs : bytes;
        f->fit->lower_bound = bytes > f->fit->lower_bound ? bytes : f->fit->lower_bound;
    }
    return status;
}

/* The peak of an unlimited replay is enough, but for a memory fraction, which needs more, and for reservations, which
 * are longer on larger devices. */
static enum gm_status find_enough(struct fitting *f, uint64_t peak)
{
    struct gm_trial trial = {.capacity = gm_round_up(peak, GM_FIT_GRANULE)};
    enum gm_status status = GM_OK;
    for (int i = 0; i <= DOUBLINGS && status == GM_OK; i++) {
        status = try(f, &trial, 1);
        if (status == GM_OK && trial.runs) {
            f->fit->is_found = true;
            take(f, &trial);
            break;
        }
        if (f->fit->is_cut || trial.capacity > UINT64_MAX / 4)
            break;
        trial.capacity *= 2;
    }
    return status;
}

/* Between `bad`, which does not run, and the capacity, which does. Several at once, for the threads; as many whatever
 * their number. */
static enum gm_status bisect(struct fitting *f, uint64_t bad)
{
    enum gm_status status = GM_OK;
    while (status == GM_OK && !f->fit->is_cut && f->fit->capacity - bad > GM_FIT_GRANULE) {
        const uint64_t good = f->fit->capacity;
        struct gm_trial trials[PROBES];
        uint64_t granules = (good - bad) / GM_FIT_GRANULE, last = bad;
        size_t n = 0;
        for (uint64_t i = 1; i <= PROBES; i++) {
            uint64_t at = bad + granules * i / (PROBES + 1) * GM_FIT_GRANULE;
            if (at > last && at < good)
                trials[n++] = (struct gm_trial){.capacity = last = at};
        }
        status = try(f, trials, n);
        for (size_t i = 0; status == GM_OK && i < n; i++) {
            if (trials[i].runs) {
                take(f, &trials[i]);
                break;
            }
            bad = trials[i].capacity;
        }
    }
    return status;
}

/* A few granules below what was found: takes the smallest one that runs and looks again from there. In the end the one
 * right below is known to fail. */
static enum gm_status look_below(struct fitting *f)
{
    for (int round = 0; round < DESCENTS; round++) {
        struct gm_trial trials[GM_FIT_BELOW];
        uint64_t good = f->fit->capacity;
        size_t n = 0, lowest = 0;
        for (uint64_t i = 1; i <= GM_FIT_BELOW && good >= i * GM_FIT_GRANULE; i++) {
            uint64_t at = good - i * GM_FIT_GRANULE;
            if (i > 1 && at < f->fit->lower_bound)
                break;
            trials[n++] = (struct gm_trial){.capacity = at};
        }
        if (n == 0) /* nothing is requested: it runs without memory */
            return GM_OK;
        GM_TRY(try(f, trials, n));
        for (size_t i = 0; i < n; i++)
            lowest = trials[i].runs ? i + 1 : lowest;
        if (lowest > 0)
            take(f, &trials[lowest - 1]);
        if (f->fit->is_cut)
            return GM_OK;
        if (lowest == 0) {
            f->fit->failing = trials[0].capacity;
            f->fit->is_given_up = trials[0].is_given_up;
            f->fit->failed_device = trials[0].failed_device;
            f->fit->failure = trials[0].failure;
            return GM_OK;
        }
    }
    f->fit->is_found = false; /* it runs or not at random: there is nothing to say */
    return GM_OK;
}

/* *trial with the lowest placement, and, where that can matter, with the others. */
static enum gm_status try_everywhere(struct fitting *f, struct gm_trial *trial, bool *runs)
{
    enum gm_status status = try(f, trial, 1);
    if (status == GM_OK && trial->runs)
        status = gm_trials_spread(f->search, trial, 1, f->err);
    *runs = trial->runs && trial->range.runs == trial->range.replays;
    f->fit->replays += trial->range.replays;
    f->fit->is_cut |= trial->range.is_left_out;
    return status;
}

/* What was found may be too little elsewhere; with unlimited memory each placement has a peak. Between the two it is
 * halved. */
static enum gm_status find_everywhere(struct fitting *f)
{
    struct gm_trial trial = {.capacity = f->fit->capacity}, roomy = {.capacity = UINT64_MAX};
    bool runs;
    enum gm_status status = try_everywhere(f, &trial, &runs);
    f->fit->everywhere = runs && !f->fit->is_cut ? f->fit->capacity : UINT64_MAX;
    if (status != GM_OK || runs || f->fit->is_cut)
        return status;
    status = try_everywhere(f, &roomy, &runs);
    uint64_t bad = f->fit->capacity, good = gm_round_up(roomy.range.high, GM_FIT_GRANULE);
    trial = (struct gm_trial){.capacity = good};
    if (status == GM_OK && runs)
        status = try_everywhere(f, &trial, &runs);
    if (status != GM_OK || !runs || f->fit->is_cut)
        return status;
    while (status == GM_OK && !f->fit->is_cut && good - bad > GM_FIT_GRANULE) {
        trial = (struct gm_trial){.capacity = bad + (good - bad) / GM_FIT_GRANULE / 2 * GM_FIT_GRANULE};
        status = try_everywhere(f, &trial, &runs);
        good = runs && !f->fit->is_cut ? trial.capacity : good;
        bad = runs ? bad : trial.capacity;
    }
    f->fit->everywhere = good;
    return status;
}

static enum gm_status find_card(struct fitting *f)
{
    for (size_t i = 0; i < gm_gpu_count(); i++) {
        struct gm_trial trial = {.capacity = gm_gpu_usable(gm_gpu_at(i)), .taken = GM_GPU_CONTEXT};
        bool runs;
        if (trial.capacity < f->fit->everywhere || !gm_gpu_is_of_cuda(gm_gpu_at(i)))
            continue;
        enum gm_status status = try_everywhere(f, &trial, &runs);
        if (status != GM_OK || f->fit->is_cut)
            return status;
        if (runs) {
            f->fit->gpu = gm_gpu_at(i);
            f->fit->gpu_retries = trial.retries;
            break;
        }
    }
    return GM_OK;
}

enum gm_status gm_fit_run(struct gm_fit *fit, const struct gm_search *search, const struct gm_trial *trial,
                          uint64_t peak_reserved, struct gm_error *err)
{
    struct fitting f = {fit, search, trial, err};
    *fit = (struct gm_fit){0};
    enum gm_status status = find_lower_bound(&f);
    GM_THEN(status, find_enough(&f, peak_reserved > fit->lower_bound ? peak_reserved : fit->lower_bound));
    if (status != GM_OK || !fit->is_found)
        return status;
    uint64_t least = gm_round_up(fit->lower_bound, GM_FIT_GRANULE);
    uint64_t bad = least < GM_FIT_GRANULE ? 0 : least - GM_FIT_GRANULE;
    if (bad < fit->capacity)
        status = bisect(&f, bad);
    if (status == GM_OK && !fit->is_cut)
        status = look_below(&f);
    if (status == GM_OK && fit->is_found && !fit->is_cut && !search->is_open)
        status = find_everywhere(&f);
    return status == GM_OK && fit->is_found && !fit->is_cut && !search->is_open ? find_card(&f) : status;
}

/* ---- of all rows of a sweep -------------------------------------------------------------------------------------- */

/* Replays the rows of list[0 .. *count) with `capacity` bytes and keeps those that run. */
static enum gm_status keep_running(size_t *list, size_t *count, struct gm_trial *trials, const struct gm_search *search,
                                   const struct gm_sweep *sweep, uint64_t capacity, bool *is_cut, struct gm_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        trials[i] = sweep->rows[list[i]].trial;
        trials[i].capacity = capacity;
        trials[i].is_needed = false;
    }
    enum gm_status status = gm_trials_run(search, trials, *count, err);
    for (size_t i = 0; status == GM_OK && i < *count; i++) {
        *is_cut |= trials[i].is_left_out;
        if (trials[i].runs)
            list[kept++] = list[i];
    }
    *count = kept;
    return status;
}

enum gm_status gm_least(struct gm_fit *fit, size_t *row, const struct gm_search *search, const struct gm_sweep *sweep,
                        uint64_t below, bool *is_cut, struct gm_error *err)
{
    size_t *list = malloc((sweep->count + 1) * sizeof *list), count = sweep->count;
    GM_FREED struct gm_trial *trials = malloc((sweep->count + 1) * sizeof *trials);
    enum gm_status status = GM_OK;
    *row = GM_SWEEP_NONE;
    *is_cut = false;
    if (list == NULL || trials == NULL)
        status = gm_no_memory(err);
    for (size_t i = 0; status == GM_OK && i < count; i++)
        list[i] = i;
    for (int round = 0; status == GM_OK && round < GM_LEAST_ROUNDS && !*is_cut && below > GM_FIT_GRANULE; round++) {
        uint64_t capacity = below - GM_FIT_GRANULE;
        status = keep_running(list, &count, trials, search, sweep, capacity, is_cut, err);
        if (status != GM_OK || count == 0)
            break;
        struct gm_fit found;
        status = gm_fit_run(&found, search, &sweep->rows[list[0]].trial, capacity, err);
        *is_cut |= status == GM_OK && found.is_cut;
        if (status != GM_OK || !found.is_found)
            break;
        *fit = found;
        *row = list[0];
        below = found.capacity;
    }
    free(list);
    return status;
}
