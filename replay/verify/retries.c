/* SPDX-License-Identifier: Apache-2.0
 *
 * What of retries and failures the trace shows. A request that finds no memory may give some back in three ways:
 * garbage collection, the reclaim of max_split_size, and a retry, which waits for all frees and gives all back. The
 * first two are not counted, and of one request one retry at most.
 */
#include "replay/verify/verify_private.h"

#include "analyze/base/arithmetic.h"
#include "replay/verify/releases.h"

#include <stdlib.h>

static bool is_default(uint64_t id_first, uint64_t id_second)
{
    return id_first == 0 && id_second == 0;
}

static bool has_spared(struct gm_verifying *v)
{
    const struct gm_stats *stats = &v->model.stats;
    if (stats->active[GM_STAT_ALL].current > stats->allocation[GM_STAT_ALL].current)
        return true; /* a free that is not complete */
    for (size_t p = 0; p < v->model.pools.n; p++) {
        const struct gm_allocator_pool *pool = &v->model.pools.v[p];
        if (!is_default(pool->id_first, pool->id_second))
            continue;
        for (size_t i = 0; i < pool->bins.n; i++) {
            const struct gm_free_set *set = &pool->bins.v[i].set;
            struct gm_free_place at = gm_free_set_first(set);
            for (; at.entry != NULL && v->looked_at < 64 * (uint64_t)v->h->count; gm_free_set_next(set, &at)) {
                v->looked_at++;
                if (gm_allocator_can_give_back(&v->model, at.entry->block))
                    return true;
            }
        }
    }
    return false;
}

void gm_retries_see_release(struct gm_verifying *v, uint32_t event)
{
    if (event == 0 || !gm_action_is_release(gm_action_at(v, event - 1))) {
        free(v->garbage);
        v->collected = v->garbage_count = 0;
        v->garbage_bytes = 0;
        v->reserved_before = v->model.total;
        v->garbage = v->model.conf.gc_threshold <= 0 ? NULL : gm_allocator_garbage(&v->model, &v->garbage_count);
    }
    const bool is_next = v->collected < v->garbage_count && gm_action_at(v, event) == GM_ACTION_SEGMENT_FREE &&
                         v->garbage[v->collected].address == gm_addr_at(v, event);
    if (is_next && v->collected > 0 && v->garbage[v->collected].round != v->garbage[v->collected - 1].round)
        v->garbage_bytes = v->reserved_before - v->model.total;
    v->collected = is_next ? v->collected + 1 : SIZE_MAX;
}

/* Whether the releases that were just followed are some whole rounds of garbage collection. */
static bool was_garbage(const struct gm_verifying *v)
{
    return v->garbage != NULL && v->collected > 0 && v->collected <= v->garbage_count &&
           (v->collected == v->garbage_count || v->garbage[v->collected].round != v->garbage[v->collected - 1].round);
}

/* A growth without a release before it: had there been a limit that wants garbage collected, it would have been. */
static void see_growth(struct gm_verifying *v)
{
    size_t count = 0;
    if (v->model.conf.gc_threshold <= 0 || v->model.total <= v->uncollected ||
        v->looked_at >= 64 * (uint64_t)v->h->count)
        return;
    const uint64_t work = v->model.space.work;
    free(gm_allocator_garbage(&v->model, &count));
    v->looked_at += v->model.space.work - work;
    if (count > 0)
        v->uncollected = v->model.total;
}

void gm_retries_note(struct gm_verifying *v, uint32_t event)
{
    const uint8_t *action = gm_events_of(v)->action + v->h->first;
    const bool is_first = event == 0 || !gm_action_is_growth(action[event - 1]);
    if (event == 0 || !gm_action_is_release(action[event - 1])) {
        if (is_first && gm_action_is_growth(action[event]))
            see_growth(v);
        return;
    }
    const struct gm_release_note note = {
        event, was_garbage(v), has_spared(v), v->garbage_bytes, v->reserved_before, v->model.total};
    v->model.has_no_memory |= !GM_VEC_PUSH(&v->notes, note);
}

/* Whether garbage collection gave back what the note is about, and not a retry. The limit is not recorded, but it was
 * never less than what was reserved, and never so low that it would have collected more. */
static bool is_collected(const struct gm_verifying *v, const struct gm_release_note *note)
{
    const double peak = (double)v->model.stats.reserved_bytes[GM_STAT_ALL].peak;
    const uint64_t least = (uint64_t)(v->model.conf.gc_threshold * peak);
    const uint64_t wanted_above = least > v->uncollected ? least : v->uncollected;
    return v->collects && note->is_garbage && note->before > wanted_above &&
           note->before - wanted_above > note->garbage;
}

/* Whether the run is what max_split_size reclaims for the alloc or oom at `end`: segments of its stream, enough with
 * the last of them. A retry comes after that and only if it was not enough. */
static bool is_reclaim(struct gm_verifying *v, const struct gm_release_run *run, uint32_t end)
{
    const struct gm_events *e = gm_events_of(v);
    const struct gm_rules *rules = &v->model.conf.rules;
    const uint32_t stream = gm_rare_at(&e->stream, gm_row(v, end));
    const uint64_t rounded = gm_rules_round(rules, gm_size_at(v, end));
    const uint64_t key = rounded > rules->max_split ? rounded : rules->max_split;
    uint64_t sum = 0;
    for (uint32_t i = run->first; i <= run->last; i++) {
        const size_t row = gm_row(v, i);
        if (!gm_action_is_release(e->action[row]))
            continue;
        if (e->action[row] != GM_ACTION_SEGMENT_FREE || gm_event_size(e, row) < rules->max_split || sum >= key ||
            gm_rare_at(&e->stream, row) != stream)
            return false;
        sum = gm_sat_add(sum, gm_event_size(e, row));
    }
    return rules->max_split != UINT64_MAX && rounded > GM_SMALL_SIZE && sum >= key;
}

/* Whether the device would have had the segment anyway, for it had as much at another time: then it was garbage
 * collection, which comes before the device is asked, and takes no pages. */
static bool was_affordable(const struct gm_verifying *v, const struct gm_release_run *run,
                           const struct gm_release_note *note)
{
    const struct gm_events *e = gm_events_of(v);
    const size_t growth = gm_row(v, run->last + 1);
    if (v->model.conf.gc_threshold <= 0 || e->action[growth] != GM_ACTION_SEGMENT_ALLOC)
        return false;
    uint64_t sum = gm_sat_add(note->reserved, gm_event_size(e, growth));
    for (size_t row = gm_row(v, run->first); row < growth; row++)
        if (e->action[row] == GM_ACTION_SEGMENT_UNMAP)
            return false;
        else if (e->action[row] == GM_ACTION_SEGMENT_FREE)
            sum = gm_sat_add(sum, gm_event_size(e, row));
    return sum <= (uint64_t)v->model.stats.reserved_bytes[GM_STAT_ALL].peak;
}

/* A request to a pool that is not tried again: its failure is no sign of a retry. */
static bool is_final_oom(const struct gm_verifying *v, uint32_t event)
{
    const uint32_t pool = gm_rare_at(&gm_events_of(v)->pool, gm_row(v, event));
    const struct gm_pool_key *ids = &v->h->snapshot->pools[pool];
    return pool != 0 && !gm_allocator_retries(&v->model, ids->first, ids->second);
}

/* Whether the last run of releases before an alloc or oom at `end` was a retry's. */
static bool is_retry(struct gm_verifying *v, const struct gm_release_run *run, const struct gm_release_note *note,
                     uint32_t end)
{
    if (note != NULL && (is_collected(v, note) || note->has_spared || was_affordable(v, run, note)))
        return false;
    return !is_reclaim(v, run, end);
}

uint32_t gm_retries_end_of_request(const struct gm_verifying *v, uint32_t event)
{
    while (event < v->h->count) {
        const uint8_t action = gm_action_at(v, event);
        if (!gm_action_is_growth(action) && !gm_action_is_release(action) && action != GM_ACTION_FREE_COMPLETED)
            break;
        event++;
    }
    return event;
}

typedef bool (*run_test)(struct gm_verifying *v, const struct gm_release_run *run, const struct gm_release_note *note,
                         uint32_t end);

/* Of how many of the requests that ended, after memory had gone back for them, the test says yes. */
static uint64_t count_runs(struct gm_verifying *v, const struct gm_releases *releases, run_test test)
{
    const struct gm_history *h = v->h;
    const uint8_t *action = h->snapshot->events.action + h->first;
    uint64_t count = 0;
    uint32_t end = 0;
    for (size_t i = 0, n = 0; i < releases->count; i++) {
        const struct gm_release_run *run = &releases->v[i];
        const uint32_t next = run->last + 1;
        end = end < next ? gm_retries_end_of_request(v, next) : end;
        if (run->cause != GM_RELEASE_REQUEST || end >= h->count ||
            (i + 1 < releases->count && releases->v[i + 1].first < end)) /* that one will tell */
            continue;
        while (n < v->notes.n && v->notes.v[n].event < next)
            n++;
        const struct gm_release_note *note = n < v->notes.n && v->notes.v[n].event == next ? &v->notes.v[n] : NULL;
        if (action[end] == GM_ACTION_ALLOC || (action[end] == GM_ACTION_OOM && is_final_oom(v, end)))
            count += test(v, run, note, end);
    }
    return count;
}

/* Whether it was garbage that went back, and neither a retry nor a reclaim can have done it. */
static bool is_surely_garbage(struct gm_verifying *v, const struct gm_release_run *run,
                              const struct gm_release_note *note, uint32_t end)
{
    return note != NULL && note->is_garbage && note->has_spared && !is_reclaim(v, run, end);
}

bool gm_retries_count(struct gm_verifying *v)
{
    struct gm_verify_result *result = v->result;
    const uint8_t *action = gm_events_of(v)->action + v->h->first;
    struct gm_releases releases;
    const bool ok = gm_releases_find(&releases, v->h);
    /* Without a limit nothing is collected: the settings say it, or, if the program has called
     * set_per_process_memory_fraction(), that garbage was. */
    v->collects = v->model.conf.memory_fraction < 1 || (ok && count_runs(v, &releases, is_surely_garbage) > 0);
    result->retries += ok ? count_runs(v, &releases, is_retry) : 0;
    for (size_t i = 0; i < v->h->device_event_count; i++)
        if (action[v->h->device_events[i]] == GM_ACTION_OOM) {
            result->ooms++;
            result->retries += !is_final_oom(v, v->h->device_events[i]);
        }
    gm_releases_free(&releases);
    return ok;
}
