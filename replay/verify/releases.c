/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/verify/releases.h"

#include "analyze/base/vec.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN, NAMES_IT, NAMES_NOTHING };

struct search {
    const struct gm_history *h;
    uint8_t *names_empty_cache; /* [stack] one of the above: a stack is looked through once */
    struct GM_VEC(struct gm_release_run) runs;
    size_t end; /* of the latest run's waiting */
};

static bool has_word(const struct gm_snapshot *s, struct gm_string_id id)
{
    static const char *const words[] = {"empty_cache", "emptyCache"};
    size_t length;
    const char *text = gm_string(s, id, &length);
    return memmem(text, length, words[0], strlen(words[0])) != NULL ||
           memmem(text, length, words[1], strlen(words[1])) != NULL;
}

static bool names_empty_cache(struct search *search, struct gm_stack_id stack)
{
    const struct gm_snapshot *s = search->h->snapshot;
    uint8_t *known = &search->names_empty_cache[stack.v];
    size_t depth;
    const struct gm_frame_id *frames = gm_stack_frames(s, stack, &depth);
    if (*known != UNKNOWN)
        return *known == NAMES_IT;
    *known = NAMES_NOTHING;
    for (size_t i = 0; i < depth && *known != NAMES_IT; i++)
        if (has_word(s, s->frames.name[frames[i].v]))
            *known = NAMES_IT;
    return *known == NAMES_IT;
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

/* The cause of the run that ends at `last`. */
static enum gm_release_cause cause(struct search *search, uint32_t last)
{
    const struct gm_history *h = search->h;
    const struct gm_events *e = &h->snapshot->events;
    size_t row = h->first + last, end = end_of_waiting(search, last);
    if (names_empty_cache(search, e->stack[row]))
        return GM_RELEASE_EMPTY_CACHE;
    if (end < h->count && e->stack[row].v > GM_STACK_EMPTY && e->stack[row].v == e->stack[h->first + end].v &&
        (ends_request(e->action[h->first + end]) || e->action[h->first + end] == GM_ACTION_ALLOC))
        return GM_RELEASE_REQUEST;
    if ((size_t)last + 1 >= h->count || !ends_request(e->action[row + 1]))
        return GM_RELEASE_EMPTY_CACHE;
    bool has_stacks = e->stack[row].v != 0 && e->stack[row + 1].v != 0;
    return has_stacks && e->stack[row].v != e->stack[row + 1].v ? GM_RELEASE_EMPTY_CACHE : GM_RELEASE_REQUEST;
}

/* Whether the last run is a call of empty_cache() right before event `first`: with that event's it is one call, whose
 * events have the segments' own stacks where frees have none. */
static bool ends_in_empty_cache(const struct search *search, uint32_t first)
{
    if (search->runs.n == 0)
        return false;
    const struct gm_release_run *last = &search->runs.v[search->runs.n - 1];
    return last->cause == GM_RELEASE_EMPTY_CACHE && last->last + 1 == first;
}

bool gm_releases_find(struct gm_releases *releases, const struct gm_history *h)
{
    const struct gm_events *e = &h->snapshot->events;
    struct search search = {.h = h};
    *releases = (struct gm_releases){0};
    search.names_empty_cache = calloc((size_t)h->snapshot->stacks.count + 1, 1);
    bool ok = search.names_empty_cache != NULL;
    for (size_t i = 0; ok && i < h->count; i++) {
        size_t row = h->first + i, from = i;
        if (!gm_action_is_release(e->action[row]))
            continue;
        while (i + 1 < h->count && gm_action_is_release(e->action[h->first + i + 1]) &&
               e->stack[h->first + i + 1].v == e->stack[row].v)
            i++;
        struct gm_release_run run = {(uint32_t)from, (uint32_t)i, cause(&search, (uint32_t)i)};
        if (run.cause == GM_RELEASE_EMPTY_CACHE && ends_in_empty_cache(&search, run.first)) {
            search.runs.v[search.runs.n - 1].last = run.last;
            continue;
        }
        releases->requests += run.cause == GM_RELEASE_REQUEST;
        releases->empty_caches += run.cause == GM_RELEASE_EMPTY_CACHE;
        ok = GM_VEC_PUSH(&search.runs, run);
    }
    free(search.names_empty_cache);
    releases->v = search.runs.v;
    releases->count = search.runs.n;
    return ok;
}

void gm_releases_free(struct gm_releases *releases)
{
    free(releases->v);
    *releases = (struct gm_releases){0};
}
