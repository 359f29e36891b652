/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/verify/releases.h"

#include "analyze/allocator/recorded_settings.h"
#include "analyze/base/vec.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN, NAMES_EMPTY_CACHE, NAMES_POOL, NAMES_NOTHING };

struct search {
    const struct gm_history *h;
    uint8_t *names; /* [stack] one of the above: a stack is looked through once */
    struct GM_VEC(struct gm_release_run) runs;
    size_t end;      /* of the latest run's waiting */
    bool has_stacks; /* frees have */
    bool is_plain;   /* no block is too large for a request */
};

static bool has_word(const struct gm_snapshot *s, struct gm_string_id id, const char *word)
{
    size_t length;
    const char *text = gm_string(s, id, &length);
    return memmem(text, length, word, strlen(word)) != NULL;
}

static uint8_t what_it_names(struct search *search, struct gm_stack_id stack)
{
    const struct gm_snapshot *s = search->h->snapshot;
    uint8_t *known = &search->names[stack.v];
    size_t depth;
    const struct gm_frame_id *frames = gm_stack_frames(s, stack, &depth);
    if (*known != UNKNOWN)
        return *known;
    *known = NAMES_NOTHING;
    for (size_t i = 0; i < depth && *known != NAMES_POOL; i++) {
        const struct gm_string_id name = s->frames.name[frames[i].v];
        if (has_word(s, name, "~MemPool"))
            *known = NAMES_POOL;
        else if (has_word(s, name, "empty_cache") || has_word(s, name, "emptyCache"))
            *known = NAMES_EMPTY_CACHE;
    }
    return *known;
}

static bool ends_request(uint8_t action)
{
    return gm_action_is_growth(action) || action == GM_ACTION_OOM;
}

/* The first event after `last` that is neither a release nor a completed free: those a request may wait for. Runs are
 * asked for in order. */
static size_t end_of_waiting(struct search *search, uint32_t last)
{
    const struct gm_history *h = search->h;
    if (search->end <= last)
        search->end = (size_t)last + 1;
    while (search->end < h->count) {
        uint8_t action = h->snapshot->events.action[h->first + search->end];
        if (!gm_action_is_release(action) && action != GM_ACTION_FREE_COMPLETED)
            break;
        search->end++;
    }
    return search->end;
}

/* Whether what went back would have served the growth that follows it, and the alloc: an expandable segment may grow by
 * less than that. */
static bool had_room(const struct gm_history *h, uint32_t event)
{
    const struct gm_events *e = &h->snapshot->events;
    uint32_t i = event;
    uint64_t growth = gm_history_growth(h, event, &i);
    if (i < h->count && e->action[h->first + i] == GM_ACTION_ALLOC && gm_event_size(e, h->first + i) > growth)
        growth = gm_event_size(e, h->first + i);
    return growth > 0 && gm_history_had_room(h, event, growth);
}

/* Whether the run was a request's. */
static bool is_of_request(struct search *search, uint32_t last)
{
    const struct gm_history *h = search->h;
    const struct gm_events *e = &h->snapshot->events;
    size_t row = h->first + last, end = end_of_waiting(search, last);
    if (what_it_names(search, gm_event_stack(e, row)) != NAMES_NOTHING || (search->is_plain && had_room(h, last + 1)))
        return false;
    if (end < h->count && gm_event_stack(e, row).v > GM_STACK_EMPTY &&
        gm_event_stack(e, row).v == gm_event_stack(e, h->first + end).v &&
        (ends_request(e->action[h->first + end]) || e->action[h->first + end] == GM_ACTION_ALLOC))
        return true;
    if ((size_t)last + 1 >= h->count || !ends_request(e->action[row + 1]))
        return false;
    bool has_stacks = gm_event_stack(e, row).v != 0 && gm_event_stack(e, row + 1).v != 0;
    return !has_stacks || gm_event_stack(e, row).v == gm_event_stack(e, row + 1).v;
}

/* Of a run that is all of one private pool, or not. */
static void find_cause(struct search *search, struct gm_release_run *run, bool is_of_pool)
{
    const struct gm_stack_id stack = gm_event_stack(&search->h->snapshot->events, search->h->first + run->last);
    const bool is_of = is_of_request(search, run->last);
    run->may_be_mempools = !is_of && search->has_stacks && what_it_names(search, stack) != NAMES_EMPTY_CACHE;
    run->cause = is_of                                ? GM_RELEASE_REQUEST
                 : is_of_pool && run->may_be_mempools ? GM_RELEASE_POOL
                                                      : GM_RELEASE_EMPTY_CACHE;
}

static bool is_same_pool(const struct gm_history *h, uint32_t a, uint32_t b)
{
    return h->pools[a].id_first == h->pools[b].id_first && h->pools[a].id_second == h->pools[b].id_second;
}

/* The run that begins at `first`: events of one stack, and *is_of_pool whether they are of one private pool. */
static struct gm_release_run run_from(const struct gm_history *h, uint32_t first, bool *is_of_pool)
{
    const struct gm_events *e = &h->snapshot->events;
    struct gm_release_run run = {.first = first, .last = first};
    run.pool = gm_history_segment_pool(h, first);
    *is_of_pool = gm_is_private_pool(h, run.pool);
    for (size_t i = first + (size_t)1; i < h->count; i++) {
        if (!gm_action_is_release(e->action[h->first + i]) ||
            gm_event_stack(e, h->first + i).v != gm_event_stack(e, h->first + first).v)
            break;
        const uint32_t pool = gm_history_segment_pool(h, (uint32_t)i);
        if (*is_of_pool && !gm_is_private_pool(h, pool))
            break;
        *is_of_pool = *is_of_pool && is_same_pool(h, run.pool, pool);
        run.last = (uint32_t)i;
    }
    return run;
}

/* What to do with a call that comes right after the last run. Events of several stacks may be one call: they have the
 * segments' own where frees have none. But empty_cache() gives back the default pools' memory before that of others. */
static bool continues(struct search *search, const struct gm_release_run *run, bool was_of_pool)
{
    const struct gm_history *h = search->h;
    struct gm_release_run *last = search->runs.n == 0 ? NULL : &search->runs.v[search->runs.n - 1];
    if (last == NULL || last->last + 1 != run->first || last->cause != GM_RELEASE_EMPTY_CACHE ||
        run->cause != GM_RELEASE_EMPTY_CACHE || last->may_be_mempools || run->may_be_mempools)
        return false;
    if (was_of_pool && !gm_is_private_pool(h, run->pool)) {
        last->cause = GM_RELEASE_POOL;
        return false;
    }
    last->last = run->last;
    return true;
}

bool gm_releases_find(struct gm_releases *releases, const struct gm_history *h)
{
    const struct gm_events *e = &h->snapshot->events;
    const struct gm_conf conf = gm_settings_recorded(h->snapshot, NULL);
    struct search search = {
        .h = h, .is_plain = conf.rules.max_split == UINT64_MAX, .has_stacks = gm_history_frees_have_stacks(h)};
    *releases = (struct gm_releases){0};
    search.names = calloc((size_t)h->snapshot->stacks.count + 1, 1);
    bool ok = search.names != NULL, was_of_pool = false;
    uint32_t next = 0; /* the event after the last run */
    for (size_t i = 0; ok && i < h->device_event_count; i++) {
        const uint32_t event = h->device_events[i];
        if (event < next || !gm_action_is_release(e->action[h->first + event]))
            continue;
        bool is_of_pool = false;
        struct gm_release_run run = run_from(h, event, &is_of_pool);
        find_cause(&search, &run, is_of_pool);
        next = run.last + 1;
        if (continues(&search, &run, was_of_pool)) {
            was_of_pool = was_of_pool && is_of_pool && is_same_pool(h, search.runs.v[search.runs.n - 1].pool, run.pool);
            continue;
        }
        was_of_pool = is_of_pool;
        ok = GM_VEC_PUSH(&search.runs, run);
    }
    free(search.names);
    for (size_t i = 0; i < search.runs.n; i++)
        releases->requests += search.runs.v[i].cause == GM_RELEASE_REQUEST;
    releases->v = search.runs.v;
    releases->count = search.runs.n;
    return ok;
}

void gm_releases_free(struct gm_releases *releases)
{
    free(releases->v);
    *releases = (struct gm_releases){0};
}
