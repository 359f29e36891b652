/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/diagnose/roster.h"

#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/diagnose/lives.h"

#include <stdlib.h>

GM_ORDERING(by_place, struct gm_roster_row, GM_UP(stack) || GM_UP(round) || GM_UP(place));

bool gm_roster_make(struct gm_roster *roster, const struct gm_lives *l)
{
    const struct gm_history *h = l->h;
    *roster = (struct gm_roster){.v = malloc((h->allocation_count + 1) * sizeof *roster->v)};
    if (roster->v == NULL)
        return false;
    for (uint32_t a = 0; a < h->allocation_count; a++)
        if (h->born[a] > 0 && h->born[a] != GM_NEVER)
            roster->v[roster->n++] =
                (struct gm_roster_row){gm_stack_of(h, a), gm_lives_round(l, h->born[a]), h->born[a], a};
    if (roster->n > 0)
        qsort(roster->v, roster->n, sizeof *roster->v, by_place);
    for (size_t i = 0, first = 0; i < roster->n; i++) { /* from moments to places */
        if (roster->v[i].stack != roster->v[first].stack || roster->v[i].round != roster->v[first].round)
            first = i;
        roster->v[i].place = (uint32_t)(i - first);
    }
    return true;
}

void gm_roster_free(struct gm_roster *roster)
{
    free(roster->v);
    *roster = (struct gm_roster){.v = NULL};
}

const struct gm_roster_row *gm_roster_find(const struct gm_roster *roster, uint32_t stack, uint32_t round,
                                           uint32_t place)
{
    const struct gm_roster_row wanted = {stack, round, place, 0};
    size_t at = 0;
    GM_BISECT(at, roster->n, i, by_place(&roster->v[i], &wanted) < 0);
    return at < roster->n && by_place(&roster->v[at], &wanted) == 0 ? &roster->v[at] : NULL;
}
