/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing, linear probing, at most half full.
 */
#include "analyze/export/triples.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a, the NUL included. */
static uint64_t hash_string(uint64_t hash, const char *s)
{
    do
        hash = (hash ^ (unsigned char)*s) * 0x100000001b3u;
    while (*s++ != '\0');
    return hash;
}

static uint64_t hash_of(const char *name, const char *filename, uint64_t number)
{
    uint64_t hash = hash_string(hash_string(0xcbf29ce484222325u, name), filename);
    hash = (hash ^ number) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static bool enlarge(struct gm_triples *t)
{
    size_t size = t->mask == 0 ? 256 : 2 * (t->mask + 1);
    uint32_t *slots = calloc(size, sizeof *slots);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < t->n; i++) {
        size_t s = t->v[i].hash & (size - 1);
        while (slots[s] != 0)
            s = (s + 1) & (size - 1);
        slots[s] = (uint32_t)(i + 1);
    }
    free(t->slots);
    t->slots = slots;
    t->mask = size - 1;
    return true;
}

uint32_t gm_triples_put(struct gm_triples *t, const char *name, const char *filename, uint64_t number)
{
    name = name == NULL ? "" : name;
    filename = filename == NULL ? "" : filename;
    if (t->failed || (2 * t->n >= t->mask && !enlarge(t))) {
        t->failed = true;
        return 0;
    }
    uint64_t hash = hash_of(name, filename, number);
    size_t s = hash & t->mask;
    for (; t->slots[s] != 0; s = (s + 1) & t->mask) {
        const struct gm_triple *known = &t->v[t->slots[s] - 1];
        if (known->hash == hash && known->number == number && strcmp(known->name, name) == 0 &&
            strcmp(known->filename, filename) == 0)
            return t->slots[s] - 1;
    }
    const struct gm_triple triple = {name, filename, number, hash};
    if (!GM_VEC_PUSH(t, triple)) {
        t->failed = true;
        return 0;
    }
    t->slots[s] = (uint32_t)t->n;
    return (uint32_t)(t->n - 1);
}

void gm_triples_free(struct gm_triples *t)
{
    free(t->v);
    free(t->slots);
}
