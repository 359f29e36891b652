/* SPDX-License-Identifier: Apache-2.0
 *
 * A map from addresses to numbers: open addressing, linear probing, backward-shift deletion (Knuth, The Art of Computer
 * Programming vol. 3, 6.4, algorithm R). Thousands of addresses are live where millions come and go, so it stays in
 * the cache whatever the length of a trace. No file can choose addresses that collide (analyze/base/hash.h).
 */
#pragma once

#include "analyze/base/hash.h"

#include <stdbool.h>

#define GM_MAP_NONE UINT32_MAX /* no value; cannot be stored */

struct gm_address_slot {
    uint64_t address;
    uint32_t value;
    uint32_t is_used;
};
struct gm_address_map { /* zero-initialise */
    struct gm_address_slot *slots;
    size_t mask, count; /* mask + 1 slots, a power of two */
    struct gm_hash_key key;
};

/* Sets the value of `address`; *before is the value it had, or GM_MAP_NONE. false: no memory, nothing changed. */
bool gm_map_put(struct gm_address_map *map, uint64_t address, uint32_t value, uint32_t *before);
/* The value of `address`, which becomes `fresh` if it has none yet. GM_MAP_NONE: no memory. */
uint32_t gm_map_number(struct gm_address_map *map, uint64_t address, uint32_t fresh);
/* Both return the value, or GM_MAP_NONE; `take` also removes it. */
uint32_t gm_map_get(const struct gm_address_map *map, uint64_t address);
uint32_t gm_map_take(struct gm_address_map *map, uint64_t address);
void gm_map_free(struct gm_address_map *map);
