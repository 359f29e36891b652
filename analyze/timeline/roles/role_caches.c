/* SPDX-License-Identifier: Apache-2.0
 *
 * Caches of inference that no stack names. One that grows makes a longer tensor in each round, by one line of code for
 * all layers, and gives the shorter one up when the longer one is there. One that does not is made once, by the program
 * itself, when the weights are there and before the first forward.
 */
#include "analyze/timeline/roles/role_work.h"

#include <stdlib.h>

enum { ROUNDS = 3, LAYERS = 2, LEAST_SLOTS = 1 << 20 /* bytes */ };

/* What the allocations of one stack did. */
struct growth {
    uint64_t last;                 /* bytes of the last one */
    uint32_t alike;                /* how many in a row had that size */
    uint32_t longer;               /* how often a longer one came after LAYERS alike at least */
    uint32_t succeeded, abandoned; /* given up when a longer one was there, or not */
};

static void see_alloc(struct growth *g, uint64_t bytes)
{
    g->longer += bytes > g->last && g->alike >= LAYERS;
    g->alike = bytes == g->last ? g->alike + 1 : 1;
    g->last = bytes;
}

static bool is_cache(const struct growth *g)
{
    return g->longer >= ROUNDS && g->succeeded > 2 * (uint64_t)g->abandoned;
}

static void claim_growing(struct gm_role_work *w, const struct growth *growths)
{
    for (size_t a = 0; a < w->h->allocation_count; a++)
        if (w->claim[a] == GM_CLAIM_NONE && w->h->stack[a] > GM_STACK_EMPTY && is_cache(&growths[w->h->stack[a]]) &&
            gm_life_of(w, a) != GM_LIFE_BRIEF)
            w->claim[a] = GM_CLAIM_GROWING;
}

static void claim_slots(struct gm_role_work *w)
{
    const struct gm_history *h = w->h;
    uint32_t loaded = 0, first_forward = GM_NEVER;
    for (size_t a = 0; a < h->allocation_count; a++) {
        const enum gm_says says = h->born[a] == 0 ? GM_SAYS_NONE : gm_role_says(w, a);
        if (says == GM_SAYS_LOADING && gm_life_of(w, a) >= GM_LIFE_LASTING && h->born[a] < first_forward)
            loaded = h->born[a];
        if (says == GM_SAYS_FORWARD && first_forward == GM_NEVER)
            first_forward = h->born[a];
    }
    for (size_t a = 0; loaded > 0 && first_forward != GM_NEVER && a < h->allocation_count; a++)
        if (h->born[a] > loaded && h->born[a] < first_forward && h->requested[a] >= LEAST_SLOTS &&
            w->claim[a] == GM_CLAIM_NONE && gm_role_says(w, a) == GM_SAYS_OTHER && gm_life_of(w, a) >= GM_LIFE_LASTING)
            w->claim[a] = GM_CLAIM_SLOTS;
}

bool gm_role_caches(struct gm_role_work *w)
{
    const struct gm_history *h = w->h;
    if (w->world != GM_WORLD_INFERENCE)
        return true;
    struct growth *growths = calloc((size_t)h->snapshot->stacks.count + 1, sizeof *growths);
    if (growths == NULL)
        return false;
    const uint8_t *action = h->snapshot->events.action + h->first;
    for (uint32_t i = 0; i < h->count; i++) {
        const uint32_t a = h->of_event[i];
        if (a == GM_NEVER || h->stack[a] <= GM_STACK_EMPTY)
            continue;
        struct growth *g = &growths[h->stack[a]];
        if (action[i] == GM_ACTION_ALLOC)
            see_alloc(g, h->requested[a]);
        else if (h->let_go[a] == i + 1 && h->requested[a] < g->last)
            g->succeeded++;
        else if (h->let_go[a] == i + 1)
            g->abandoned++;
    }
    claim_growing(w, growths);
    claim_slots(w);
    free(growths);
    return true;
}
