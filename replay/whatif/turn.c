/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/whatif/whatif_private.h"

#include <stdlib.h>

static bool is_renewed(const struct gm_playing *w, uint32_t a)
{
    return w->options->renewed != NULL && w->options->renewed[a] && w->h->born[a] > w->options->repeat->first;
}

/* What a repeated step needs. */
bool gm_playing_prepare_turns(struct gm_playing *w)
{
    const struct gm_repeat *repeat = w->options->repeat;
    if (repeat == NULL)
        return true;
    w->is_start = malloc((w->h->allocation_count + 1) * sizeof *w->is_start);
    w->carried = malloc((repeat->carries.n + 1) * sizeof *w->carried);
    w->is_once = calloc(w->h->allocation_count + 1, sizeof *w->is_once);
    for (size_t a = 0; w->is_start != NULL && a < w->h->allocation_count; a++)
        w->is_start[a] = w->h->born[a] == 0;
    const struct gm_repeat_left *once = &repeat->left[GM_REPEAT_IS_ONCE];
    for (size_t i = 0; w->is_once != NULL && i < once->allocations.n; i++)
        w->is_once[once->allocations.v[i]] = !is_renewed(w, once->allocations.v[i]);
    return w->is_start != NULL && w->carried != NULL && w->is_once != NULL;
}

/* Begins the first or a further turn of options->repeat. */
void gm_playing_turn(struct gm_playing *w, bool is_again)
{
    const struct gm_repeat *repeat = w->options->repeat;
    if (!is_again) {
        w->turn = w->walk;
        w->turn_release = w->next_release;
        return;
    }
    w->walk = w->turn;
    w->next_release = w->turn_release;
    uint32_t *block_of = w->follow.block_of;
    const struct gm_repeat_left *once = &repeat->left[GM_REPEAT_IS_ONCE];
    for (size_t i = 0; i < once->allocations.n; i++)
        if (is_renewed(w, once->allocations.v[i]))
            gm_playing_drop(w, once->allocations.v[i]);
    for (size_t i = 0; i < repeat->carries.n; i++) {
        uint32_t from = repeat->carries.v[i].from;
        w->carried[i] = (struct gm_carried){block_of[from], w->is_start[from]};
        block_of[from] = GM_SPACE_NONE;
    }
    for (int fate = 0; fate < GM_REPEAT_FATES; fate++) {
        const struct gm_repeat_left *left = &repeat->left[fate];
        for (size_t i = 0; i < left->allocations.n; i++)
            if (fate == GM_REPEAT_PILES_UP || w->h->born[left->allocations.v[i]] <= repeat->first)
                block_of[left->allocations.v[i]] = GM_SPACE_NONE;
    }
    for (size_t i = 0; i < repeat->carries.n; i++) {
        uint32_t block = w->carried[i].block, from = repeat->carries.v[i].from, to = repeat->carries.v[i].to;
        block_of[to] = block;
        w->is_start[to] = w->carried[i].is_start;
        if (block == GM_SPACE_NONE)
            continue;
        w->model.space.blocks.v[block].owner = to;
        gm_playing_count(w, from, -w->model.requested.v[block]);
        gm_playing_count(w, to, w->model.requested.v[block]);
    }
}
