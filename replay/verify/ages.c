/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of the objects from before the trace is older. Since PyTorch 2.12 that decides between equal free blocks, and
 * no file tells it. The guess is the order of their addresses; whenever the trace takes another one of equal blocks,
 * that one is moved before them, with all that are known to be older than it. What is known is never given up: a choice
 * that contradicts earlier ones stays a mismatch.
 */
#include "replay/verify/verify_private.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_AGES = 1 << 14, MOST_TIED = 64 };

static bool is_known(const struct gm_ages *g, uint32_t older, uint32_t younger)
{
    return g->known[(size_t)older * g->words + younger / 64] >> younger % 64 & 1;
}

static void know(struct gm_ages *g, uint32_t older, uint32_t younger)
{
    g->known[(size_t)older * g->words + younger / 64] |= UINT64_C(1) << younger % 64;
}

static bool open_ages(struct gm_verifying *v)
{
    struct gm_ages *g = &v->ages;
    if (g->known != NULL)
        return true;
    g->words = ((size_t)g->count + 63) / 64;
    g->known = calloc((size_t)g->count * g->words, sizeof *g->known);
    g->at = malloc(4 * (size_t)g->count * sizeof *g->at);
    v->model.has_no_memory |= g->known == NULL || g->at == NULL;
    if (v->model.has_no_memory)
        return false;
    g->place = g->at + g->count;
    g->moved = g->place + g->count;
    g->age = g->moved + g->count;
    for (uint32_t i = 0; i < g->count; i++)
        g->at[i] = g->place[i] = i;
    return true;
}

void gm_ages_begin(struct gm_verifying *v)
{
    if (v->infers && v->model.conf.ties != GM_TIES_LOWEST && v->model.next_age <= MOST_AGES)
        v->ages.count = v->model.next_age;
}

void gm_ages_end(struct gm_verifying *v)
{
    GM_FREE_ALL(v->ages.known, v->ages.at);
}

static bool is_old(const struct gm_verifying *v, const struct gm_free_entry *e)
{
    return e->age < v->ages.count;
}

void gm_ages_note(struct gm_verifying *v, uint64_t requested)
{
    struct gm_ages *g = &v->ages;
    g->tied_count = 0;
    if (g->count == 0 || v->model.has_no_memory)
        return;
    const struct gm_free_set *set = gm_allocator_free_blocks(
        &v->model, gm_verifying_pool(v, requested),
        gm_follow_stream(&v->follow, gm_rare_at(&gm_events_of(v)->stream, gm_row(v, v->request))));
    struct gm_free_place at = {0};
    if (set != NULL)
        at = gm_free_set_fit(set, gm_rules_round(&v->model.conf.rules, requested));
    if (at.entry == NULL || !is_old(v, at.entry))
        return;
    const struct gm_free_entry first = *at.entry;
    for (; at.entry != NULL && at.entry->size == first.size && is_old(v, at.entry) && g->tied_count < MOST_TIED;
         gm_free_set_next(set, &at))
        if (g->tied_count == 0 || at.entry->age != g->tied[g->tied_count - 1].age)
            g->tied[g->tied_count++] = *at.entry;
    if (g->tied_count < 2)
        g->tied_count = 0;
}

void gm_ages_confirm(struct gm_verifying *v, uint64_t recorded)
{
    struct gm_ages *g = &v->ages;
    if (g->tied_count == 0 || g->tied[0].address != recorded || !open_ages(v))
        return;
    for (size_t i = 1; i < g->tied_count; i++)
        know(g, g->at[g->tied[0].age], g->at[g->tied[i].age]);
}

/* All that are known to be older than object `of`, and itself: moved[id] is 1. */
static void find_older(struct gm_verifying *v, uint32_t of)
{
    struct gm_ages *g = &v->ages;
    uint32_t *list = g->age; /* free until the new ages are made */
    size_t n = 0;
    memset(g->moved, 0, g->count * sizeof *g->moved);
    g->moved[of] = 1;
    list[n++] = of;
    for (size_t i = 0; i < n; i++)
        for (uint32_t id = 0; id < g->count; id++)
            if (g->moved[id] == 0 && is_known(g, id, list[i])) {
                g->moved[id] = 1;
                list[n++] = id;
            }
    v->model.space.work += n * g->count / 16;
}

/* Puts the moved ones, in their order, before the object at `place`. */
static void move_before(struct gm_ages *g, uint32_t place)
{
    uint32_t *order = g->age, n = 0;
    memcpy(order, g->at, place * sizeof *order);
    n = place;
    for (int is_moved = 1; is_moved >= 0; is_moved--)
        for (uint32_t i = place; i < g->count; i++)
            if (g->moved[g->at[i]] == (uint32_t)is_moved)
                order[n++] = g->at[i];
    memcpy(g->moved, g->at, g->count * sizeof *g->moved); /* as it was */
    memcpy(g->at, order, g->count * sizeof *order);
    for (uint32_t i = 0; i < g->count; i++)
        g->place[g->at[i]] = i;
    for (uint32_t i = 0; i < g->count; i++)
        g->age[i] = g->place[g->moved[i]];
}

bool gm_ages_learn(struct gm_verifying *v, uint64_t recorded)
{
    struct gm_ages *g = &v->ages;
    size_t taken = 1;
    while (taken < g->tied_count && g->tied[taken].address != recorded)
        taken++;
    if (taken >= g->tied_count || !open_ages(v))
        return false;
    const uint32_t older = g->at[g->tied[taken].age], place = g->tied[0].age;
    find_older(v, older);
    for (size_t i = 0; i < g->tied_count; i++)
        if (i != taken && g->moved[g->at[g->tied[i].age]] != 0)
            return false;
    for (size_t i = 0; i < g->tied_count; i++)
        if (i != taken)
            know(g, older, g->at[g->tied[i].age]);
    move_before(g, place);
    gm_allocator_renumber(&v->model, g->age, g->count);
    g->learnt++;
    return true;
}
