/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/timeline/live.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 1024 };

/* Fibonacci hashing: addresses are multiples of 512, so the high bits of the product are what differs. */
static inline size_t home(const struct gm_live *live, uint64_t address)
{
    return (size_t)((address * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & live->mask;
}

/* The slot of `address`, or the free one where it belongs. */
static inline size_t find(const struct gm_live *live, uint64_t address)
{
    size_t at = home(live, address);
    while (live->slots[at].is_used && live->slots[at].address != address)
        at = (at + 1) & live->mask;
    return at;
}

static bool grow(struct gm_live *live)
{
    struct gm_live bigger = {.mask = live->slots == NULL ? FIRST_SLOTS - 1 : live->mask * 2 + 1, .count = live->count};
    bigger.slots = calloc(bigger.mask + 1, sizeof *bigger.slots);
    if (bigger.slots == NULL)
        return false;
    for (size_t i = 0; live->slots != NULL && i <= live->mask; i++)
        if (live->slots[i].is_used)
            bigger.slots[find(&bigger, live->slots[i].address)] = live->slots[i];
    free(live->slots);
    *live = bigger;
    return true;
}

bool gm_live_put(struct gm_live *live, const struct gm_live_block *block, struct gm_live_block *before)
{
    if ((live->slots == NULL || live->count * 2 > live->mask) && !grow(live))
        return false;
    struct gm_live_block *slot = &live->slots[find(live, block->address)];
    *before = *slot;
    live->count += !slot->is_used;
    *slot = *block;
    slot->is_used = 1;
    return true;
}

bool gm_live_take(struct gm_live *live, uint64_t address, struct gm_live_block *block)
{
    if (live->slots == NULL)
        return false;
    size_t hole = find(live, address);
    if (!live->slots[hole].is_used)
        return false;
    *block = live->slots[hole];
    live->count--;
    /* Close the hole: whatever probed over it moves back, so that no search ends too early. */
    for (size_t at = (hole + 1) & live->mask; live->slots[at].is_used; at = (at + 1) & live->mask) {
        size_t wants = home(live, live->slots[at].address);
        if (((at - wants) & live->mask) >= ((at - hole) & live->mask)) {
            live->slots[hole] = live->slots[at];
            hole = at;
        }
    }
    live->slots[hole].is_used = 0;
    return true;
}

bool gm_live_has(const struct gm_live *live, uint64_t address)
{
    return live->slots != NULL && live->slots[find(live, address)].is_used;
}

void gm_live_free(struct gm_live *live)
{
    free(live->slots);
    *live = (struct gm_live){0};
}
