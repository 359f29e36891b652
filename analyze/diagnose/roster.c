/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/diagnose/roster.h"

#include "analyze/base/bisect.h"
#include "analyze/diagnose/lives.h"

#include <stdlib.h>

/* Allocations are in the order of birth: dealt out to their stacks they stay in it. */
bool gm_roster_make(struct gm_roster *roster, const struct gm_lives *l)
{
    const struct gm_history *h = l->h;
    const size_t stacks = (size_t)l->snapshot->stacks.count + 1;
    roster->first = calloc(stacks + 2, sizeof *roster->first);
    for (size_t a = 0; roster->first != NULL && a < h->allocation_count; a++)
        if (gm_is_made(h, a)) {
            roster->first[(size_t)gm_stack_of(h, a) + 2]++;
            roster->n++;
        }
    roster->v = calloc(roster->n + 1, sizeof *roster->v);
    if (roster->v == NULL || roster->first == NULL)
        return false;
    for (size_t s = 2; s <= stacks; s++)
        roster->first[s] += roster->first[s - 1];
    for (uint32_t a = 0; a < h->allocation_count; a++)
        if (gm_is_made(h, a))
            roster->v[roster->first[(size_t)gm_stack_of(h, a) + 1]++] =
                (struct gm_roster_row){.round = gm_lives_round(l, h->born[a]), .allocation = a};
    for (size_t s = 0; s < stacks; s++)
        for (size_t i = roster->first[s] + 1; i < roster->first[s + 1]; i++)
            roster->v[i].place = roster->v[i].round == roster->v[i - 1].round ? roster->v[i - 1].place + 1 : 0;
    return true;
}

void gm_roster_free(struct gm_roster *roster)
{
    free(roster->v);
    free(roster->first);
    roster->v = NULL;
    roster->first = NULL;
    roster->n = 0;
}

const struct gm_roster_row *gm_roster_find(const struct gm_roster *roster, uint32_t stack, uint32_t round,
                                           uint32_t place)
{
    const struct gm_roster_row *of_stack = roster->v + roster->first[stack];
    const size_t n = roster->first[stack + 1] - roster->first[stack];
    size_t at = 0;
    GM_BISECT(at, n, i, of_stack[i].round < round);
    return place < n - at && of_stack[at + place].round == round ? &of_stack[at + place] : NULL;
}
