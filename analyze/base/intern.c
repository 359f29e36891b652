/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/intern.h"

#include "analyze/base/freed.h"
#include "analyze/base/hash.h"

#include <stdlib.h>
#include <string.h>

static bool grow(struct gm_intern *intern)
{
    size_t mask = intern->slots == NULL ? 255 : 2 * intern->mask + 1;
    uint32_t *slots = calloc(mask + 1, sizeof *slots);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < intern->entries.n; i++) {
        size_t at = intern->entries.v[i].hash & mask;
        while (slots[at] != 0)
            at = (at + 1) & mask;
        slots[at] = (uint32_t)i + 1;
    }
    free(intern->slots);
    intern->slots = slots;
    intern->mask = mask;
    return true;
}

/* The slot of these bytes, or the free one where they belong. There is one. */
static size_t slot_of(const struct gm_intern *intern, const void *bytes, size_t length, uint64_t hash)
{
    size_t at = hash & intern->mask;
    for (; intern->slots[at] != 0; at = (at + 1) & intern->mask) {
        const struct gm_intern_entry *entry = &intern->entries.v[intern->slots[at] - 1];
        if (entry->hash == hash && entry->length == length && (length == 0 || memcmp(entry->bytes, bytes, length) == 0))
            break;
    }
    return at;
}

uint32_t gm_intern_find(const struct gm_intern *intern, const void *bytes, size_t length)
{
    if (intern->slots == NULL)
        return GM_INTERN_NONE;
    /* 0 - 1 is GM_INTERN_NONE */
    return intern->slots[slot_of(intern, bytes, length, gm_hash_bytes(bytes, length))] - 1;
}

static uint32_t add(struct gm_intern *intern, const void *bytes, size_t length, bool is_lasting)
{
    if ((intern->slots == NULL || 2 * intern->entries.n > intern->mask) && !grow(intern))
        return GM_INTERN_NONE;
    const uint64_t hash = gm_hash_bytes(bytes, length);
    const size_t at = slot_of(intern, bytes, length, hash);
    if (intern->slots[at] != 0)
        return intern->slots[at] - 1;
    const void *kept = bytes;
    if (!is_lasting) {
        char *copy = gm_arena_calloc(&intern->arena, length + 1, 1);
        if (copy != NULL && length > 0)
            memcpy(copy, bytes, length);
        kept = copy;
    }
    const struct gm_intern_entry entry = {kept, length, hash};
    if (kept == NULL || intern->entries.n >= GM_INTERN_NONE - 1 || !GM_VEC_PUSH(&intern->entries, entry))
        return GM_INTERN_NONE;
    intern->slots[at] = (uint32_t)intern->entries.n;
    return intern->slots[at] - 1;
}

uint32_t gm_intern_add(struct gm_intern *intern, const void *bytes, size_t length)
{
    return add(intern, bytes, length, false);
}

uint32_t gm_intern_add_lasting(struct gm_intern *intern, const void *bytes, size_t length)
{
    return add(intern, bytes, length, true);
}

/* Where bytes that were met lately stand: the first and last eight tell most of them apart. */
static size_t recent_place(const unsigned char *bytes, size_t length)
{
    uint64_t first = 0, last = 0;
    if (length >= 8) {
        memcpy(&first, bytes, 8);
        memcpy(&last, bytes + length - 8, 8);
    } else {
        for (size_t i = 0; i < length; i++)
            first = first << 8 | bytes[i];
    }
    const uint64_t mixed = (first ^ (last << 23 | last >> 41) ^ length) * UINT64_C(0x9e3779b97f4a7c15);
    return mixed >> 32 & (GM_INTERN_RECENT - 1);
}

uint32_t gm_intern_again(struct gm_intern *intern, struct gm_intern_recent *recent, const void *bytes, size_t length)
{
    uint32_t *known = recent->entries[recent_place(bytes, length)];
    for (int k = 0; k < 2 && known[k] != 0; k++) {
        const struct gm_intern_entry *entry = &intern->entries.v[known[k] - 1];
        if (entry->length == length && memcmp(entry->bytes, bytes, length) == 0)
            return known[k] - 1;
    }
    known[1] = known[0];
    known[0] = gm_intern_add(intern, bytes, length) + 1; /* 0 without memory */
    return known[0] - 1;
}

uint64_t gm_intern_bytes(const struct gm_intern *intern)
{
    return intern->arena.bytes + GM_VEC_BYTES(&intern->entries) +
           (intern->slots == NULL ? 0 : (intern->mask + 1) * (uint64_t)sizeof *intern->slots);
}

void gm_intern_free(struct gm_intern *intern)
{
    gm_arena_free(&intern->arena);
    GM_FREE_ALL(intern->entries.v, intern->slots);
    *intern = (struct gm_intern){0};
}
