/* SPDX-License-Identifier: Apache-2.0
 *
 * The free blocks of one pool and stream, ordered by size, age and address: what the allocator searches for its best
 * fit.
 * A sorted list cut into short sorted arrays, so that a search is two binary searches and an insertion moves at most a
 * few kilobytes.
 */
#pragma once

#include "analyze/base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GM_FREE_CHUNK = 32 };

struct gm_free_entry {
    uint64_t size, address;
    uint32_t age; /* of the segment: the lower, the older; 0 where it does not count */
    uint32_t block;
};
struct gm_free_chunk {
    size_t n; /* at least 1 */
    struct gm_free_entry v[GM_FREE_CHUNK];
};
struct gm_free_set { /* zero-initialise */
    struct GM_VEC(struct gm_free_chunk *) chunks;
    size_t count;
};

static inline bool gm_free_is_before(const struct gm_free_entry *a, const struct gm_free_entry *b)
{
    if (a->size != b->size)
        return a->size < b->size;
    return a->age != b->age ? a->age < b->age : a->address < b->address;
}

/* A place in a set; valid until the set changes. `entry` is NULL past either end. */
struct gm_free_place {
    size_t chunk, at;
    const struct gm_free_entry *entry;
};

bool gm_free_set_insert(struct gm_free_set *set, const struct gm_free_entry *key); /* false: no memory */
/* The entry of that size, age and address; false: it is not there. */
bool gm_free_set_remove(struct gm_free_set *set, const struct gm_free_entry *key);
/* The entry at a place. */
void gm_free_set_take(struct gm_free_set *set, const struct gm_free_place *place);
/* The entry at a place becomes another one, wherever that belongs. false: no memory, and it is gone. */
bool gm_free_set_change(struct gm_free_set *set, const struct gm_free_place *place, const struct gm_free_entry *key);
/* The first entry that is not before `key`. */
struct gm_free_place gm_free_set_from(const struct gm_free_set *set, const struct gm_free_entry *key);
/* The first of at least `size` bytes: the best fit. */
struct gm_free_place gm_free_set_fit(const struct gm_free_set *set, uint64_t size);
struct gm_free_place gm_free_set_first(const struct gm_free_set *set);
struct gm_free_place gm_free_set_last(const struct gm_free_set *set);
void gm_free_set_next(const struct gm_free_set *set, struct gm_free_place *place);
void gm_free_set_prev(const struct gm_free_set *set, struct gm_free_place *place);
void gm_free_set_clear(struct gm_free_set *set);
