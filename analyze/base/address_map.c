/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/address_map.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 1024 };

static inline size_t home(const struct gm_address_map *map, uint64_t address)
{
    return gm_hash_number(map->key, address) & map->mask;
}

/* The slot of `address`, or the free one where it belongs. */
static inline size_t find(const struct gm_address_map *map, uint64_t address)
{
    size_t at = home(map, address);
    while (map->slots[at].is_used && map->slots[at].address != address)
        at = (at + 1) & map->mask;
    return at;
}

static bool grow(struct gm_address_map *map)
{
    struct gm_address_map bigger = {
        .mask = map->slots == NULL ? FIRST_SLOTS - 1 : map->mask * 2 + 1, .count = map->count, .key = gm_hash_key()};
    bigger.slots = calloc(bigger.mask + 1, sizeof *bigger.slots);
    if (bigger.slots == NULL)
        return false;
    for (size_t i = 0; map->slots != NULL && i <= map->mask; i++)
        if (map->slots[i].is_used)
            bigger.slots[find(&bigger, map->slots[i].address)] = map->slots[i];
    free(map->slots);
    *map = bigger;
    return true;
}

bool gm_map_put(struct gm_address_map *map, uint64_t address, uint32_t value, uint32_t *before)
{
    if ((map->slots == NULL || map->count * 2 > map->mask) && !grow(map))
        return false;
    struct gm_address_slot *slot = &map->slots[find(map, address)];
    *before = slot->is_used ? slot->value : GM_MAP_NONE;
    map->count += !slot->is_used;
    *slot = (struct gm_address_slot){address, value, 1};
    return true;
}

uint32_t gm_map_get(const struct gm_address_map *map, uint64_t address)
{
    if (map->slots == NULL)
        return GM_MAP_NONE;
    const struct gm_address_slot *slot = &map->slots[find(map, address)];
    return slot->is_used ? slot->value : GM_MAP_NONE;
}

uint32_t gm_map_number(struct gm_address_map *map, uint64_t address, uint32_t fresh)
{
    uint32_t known = gm_map_get(map, address), before;
    return known != GM_MAP_NONE ? known : gm_map_put(map, address, fresh, &before) ? fresh : GM_MAP_NONE;
}

uint32_t gm_map_take(struct gm_address_map *map, uint64_t address)
{
    if (map->slots == NULL)
        return GM_MAP_NONE;
    size_t hole = find(map, address);
    if (!map->slots[hole].is_used)
        return GM_MAP_NONE;
    uint32_t value = map->slots[hole].value;
    map->count--;
    /* Close the hole: whatever probed over it moves back, so that no search ends too early. */
    for (size_t at = (hole + 1) & map->mask; map->slots[at].is_used; at = (at + 1) & map->mask) {
        size_t wants = home(map, map->slots[at].address);
        if (((at - wants) & map->mask) >= ((at - hole) & map->mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole].is_used = 0;
    return value;
}

void gm_map_free(struct gm_address_map *map)
{
    free(map->slots);
    *map = (struct gm_address_map){0};
}
