/* SPDX-License-Identifier: Apache-2.0
 *
 * What of retries and failures the trace shows.
 */
#include "replay/verify/private.h"
#include "replay/verify/releases.h"

static bool is_release(uint8_t action)
{
    return action == GM_ACTION_SEGMENT_FREE || action == GM_ACTION_SEGMENT_UNMAP;
}

/* Whether a whole segment of a default pool is still free: then what went back before `event` was garbage collection or
 * the reclaim of max_split_size, for a retry leaves none. */
static bool has_spared(struct gm_verifying *v, uint32_t event)
{
    if (event == 0 || !is_release(gm_events_of(v)->action[gm_row(v, event - 1)]))
        return false;
    for (size_t p = 0; p < v->model.pools.n; p++) {
        const struct gm_allocator_pool *pool = &v->model.pools.v[p];
        if (pool->id_first != 0 || pool->id_second != 0)
            continue;
        for (size_t i = 0; i < pool->bins.n; i++) {
            const struct gm_free_set *set = &pool->bins.v[i].set;
            struct gm_free_place at = gm_free_set_first(set);
            for (; at.entry != NULL && v->looked_at < 64 * (uint64_t)v->h->count; gm_free_set_next(set, &at)) {
                const struct gm_space_block *b = &v->model.space.blocks.v[at.entry->block];
                v->looked_at++;
                if (!b->is_expandable && b->prev == GM_SPACE_NONE && b->next == GM_SPACE_NONE)
                    return true;
            }
        }
    }
    return false;
}

void gm_retries_note(struct gm_verifying *v, uint32_t event)
{
    if (has_spared(v, event))
        v->model.has_no_memory |= !GM_VEC_PUSH(&v->spared, event);
}

bool gm_retries_count(struct gm_verifying *v)
{
    struct gm_verify_result *result = v->result;
    const struct gm_history *h = v->h;
    const uint8_t *action = h->snapshot->events.action + h->first;
    struct gm_releases releases;
    bool ok = gm_releases_find(&releases, h);
    for (size_t i = 0, spared = 0; ok && i < releases.count; i++) {
        uint32_t next = releases.v[i].last + 1;
        while (spared < v->spared.n && v->spared.v[spared] < next)
            spared++;
        bool is_spared = spared < v->spared.n && v->spared.v[spared] == next;
        result->retries += releases.v[i].cause == GM_RELEASE_REQUEST && next < h->count && !is_spared &&
                           (action[next] == GM_ACTION_SEGMENT_ALLOC || action[next] == GM_ACTION_SEGMENT_MAP ||
                            action[next] == GM_ACTION_ALLOC);
    }
    for (size_t i = 0; i < h->count; i++)
        result->ooms += action[i] == GM_ACTION_OOM;
    result->retries += result->ooms;
    gm_releases_free(&releases);
    return ok;
}
