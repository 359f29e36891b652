/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan in order of birth: what an allocator does that neither cuts its memory into segments nor into pools.
 */
#include "analyze/base/freed.h"
#include "replay/trials/plan.h"

#include "analyze/allocator/address_space.h"
#include "analyze/base/order.h"
#include "replay/model/free_set.h"

#include <stdlib.h>

#define SPAN (UINT64_C(1) << 63) /* more than all sizes together */

struct death {
    uint32_t freed, index;
};

/* Those born together: the longest-lived lie lowest, of these the largest. */
GM_ORDERING(by_birth, struct gm_plan_block, GM_UP(born) || GM_DOWN(freed) || GM_DOWN(size));

GM_ORDERING(by_death, struct death, GM_UP(freed) || GM_UP(index));

struct quick {
    struct gm_space space;
    struct gm_free_set set;
    uint32_t *number; /* [block]: in the space */
    struct death *deaths;
};

static bool enter(struct quick *q, uint32_t number)
{
    const struct gm_space_block *b = &q->space.blocks.v[number];
    return gm_free_set_insert(&q->set, &(struct gm_free_entry){b->size, b->address, 0, number});
}

static void leave(struct quick *q, uint32_t number)
{
    if (number == GM_SPACE_NONE || q->space.blocks.v[number].use != GM_SPACE_FREE)
        return;
    const struct gm_space_block *b = &q->space.blocks.v[number];
    gm_free_set_remove(&q->set, &(struct gm_free_entry){b->size, b->address, 0, number});
}

static bool place(struct quick *q, struct gm_plan_block *block, uint32_t index)
{
    struct gm_free_place at = gm_free_set_fit(&q->set, block->size);
    const struct gm_free_entry entry = *at.entry; /* the last one is larger than all blocks together */
    uint32_t gap = entry.block;
    bool has_rest = entry.size > block->size;
    gm_free_set_take(&q->set, &at);
    q->number[index] = gm_space_take(&q->space, gap, block->size, index);
    if (q->number[index] == GM_SPACE_NONE)
        return false;
    block->offset = q->space.blocks.v[q->number[index]].address;
    return !has_rest || enter(q, gap);
}

static bool give_back(struct quick *q, uint32_t index)
{
    const struct gm_space_block *b = &q->space.blocks.v[q->number[index]];
    leave(q, b->prev);
    leave(q, b->next);
    uint32_t gap = gm_space_release(&q->space, q->number[index]);
    return gap != GM_SPACE_NONE && enter(q, gap);
}

static bool place_all(struct quick *q, struct gm_plan_block *blocks, size_t count, uint64_t *height)
{
    if (gm_space_map(&q->space, 0, SPAN, 0, 0, false) != GM_SPACE_OK || !enter(q, gm_space_free_at(&q->space, 0)))
        return false;
    qsort(blocks, count, sizeof *blocks, by_birth);
    for (size_t i = 0; i < count; i++)
        q->deaths[i] = (struct death){blocks[i].freed, (uint32_t)i};
    qsort(q->deaths, count, sizeof *q->deaths, by_death);
    *height = 0;
    for (size_t i = 0, dead = 0; i < count; i++) {
        for (; q->deaths[dead].freed <= blocks[i].born; dead++)
            if (!give_back(q, q->deaths[dead].index))
                return false;
        if (!place(q, &blocks[i], (uint32_t)i))
            return false;
        uint64_t end = blocks[i].offset + blocks[i].size;
        *height = end > *height ? end : *height;
    }
    return true;
}

enum gm_planned gm_plan_quick(struct gm_plan_block *blocks, size_t count, uint64_t *height)
{
    struct quick q = {.number = malloc((count + 1) * sizeof *q.number),
                      .deaths = malloc((count + 1) * sizeof *q.deaths)};
    bool ok = q.number != NULL && q.deaths != NULL && place_all(&q, blocks, count, height);
    gm_space_free(&q.space);
    gm_free_set_clear(&q.set);
    GM_FREE_ALL(q.number, q.deaths);
    return ok ? GM_PLANNED : GM_PLAN_NO_MEMORY;
}
