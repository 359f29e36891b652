/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/model/free_set.h"

#include "analyze/base/bisect.h"

#include <stdlib.h>
#include <string.h>

/* The first chunk whose last entry is not before `key`; chunks.n if there is none. */
static size_t chunk_of(const struct gm_free_set *set, const struct gm_free_entry *key)
{
    struct gm_free_chunk *const *chunks = set->chunks.v;
    size_t low = 0;
    GM_BISECT(low, set->chunks.n, i, gm_free_is_before(&chunks[i]->v[chunks[i]->n - 1], key));
    return low;
}

static size_t entry_of(const struct gm_free_chunk *c, const struct gm_free_entry *key)
{
    size_t low = 0;
    GM_BISECT(low, c->n, i, gm_free_is_before(&c->v[i], key));
    return low;
}

/* A new chunk at `at`, empty. */
static struct gm_free_chunk *add_chunk(struct gm_free_set *set, size_t at)
{
    if (!GM_VEC_ROOM(&set->chunks, 1))
        return NULL;
    struct gm_free_chunk *c = malloc(sizeof *c);
    if (c == NULL)
        return NULL;
    memmove(&set->chunks.v[at + 1], &set->chunks.v[at], (set->chunks.n - at) * sizeof(struct gm_free_chunk *));
    set->chunks.v[at] = c;
    set->chunks.n++;
    c->n = 0;
    return c;
}

bool gm_free_set_insert(struct gm_free_set *set, const struct gm_free_entry *key)
{
    size_t k = chunk_of(set, key);
    if (k == set->chunks.n && k > 0)
        k--;
    struct gm_free_chunk *c = set->chunks.n == 0 ? add_chunk(set, 0) : set->chunks.v[k];
    if (c == NULL)
        return false;
    if (c->n == GM_FREE_CHUNK) {
        struct gm_free_chunk *upper = add_chunk(set, k + 1);
        if (upper == NULL)
            return false;
        upper->n = GM_FREE_CHUNK / 2;
        c->n -= upper->n;
        memcpy(upper->v, c->v + c->n, upper->n * sizeof *upper->v);
        if (gm_free_is_before(&c->v[c->n - 1], key))
            c = upper;
    }
    size_t at = entry_of(c, key);
    memmove(&c->v[at + 1], &c->v[at], (c->n - at) * sizeof *c->v);
    c->v[at] = *key;
    c->n++;
    set->count++;
    return true;
}

static struct gm_free_place place(const struct gm_free_set *set, size_t chunk, size_t at)
{
    bool is_there = chunk < set->chunks.n && at < set->chunks.v[chunk]->n;
    return (struct gm_free_place){chunk, at, is_there ? &set->chunks.v[chunk]->v[at] : NULL};
}

struct gm_free_place gm_free_set_from(const struct gm_free_set *set, const struct gm_free_entry *key)
{
    size_t k = chunk_of(set, key);
    return place(set, k, k < set->chunks.n ? entry_of(set->chunks.v[k], key) : 0);
}

void gm_free_set_take(struct gm_free_set *set, const struct gm_free_place *place)
{
    struct gm_free_chunk *c = set->chunks.v[place->chunk];
    c->n--;
    memmove(&c->v[place->at], &c->v[place->at + 1], (c->n - place->at) * sizeof *c->v);
    set->count--;
    if (c->n > 0)
        return;
    free(c);
    set->chunks.n--;
    memmove(&set->chunks.v[place->chunk], &set->chunks.v[place->chunk + 1],
            (set->chunks.n - place->chunk) * sizeof(struct gm_free_chunk *));
}

/* Whether `key` would stand in that chunk, or right after it. */
static bool is_in_chunk(const struct gm_free_set *set, size_t chunk, const struct gm_free_entry *key)
{
    struct gm_free_chunk *const *const c = &set->chunks.v[chunk];
    return (chunk == 0 || gm_free_is_before(&c[-1]->v[c[-1]->n - 1], key)) &&
           (chunk + 1 == set->chunks.n || gm_free_is_before(key, &c[1]->v[0]));
}

bool gm_free_set_change(struct gm_free_set *set, const struct gm_free_place *place, const struct gm_free_entry *key)
{
    struct gm_free_chunk *c = set->chunks.v[place->chunk];
    size_t at = place->at;
    if (!is_in_chunk(set, place->chunk, key)) {
        gm_free_set_take(set, place);
        return gm_free_set_insert(set, key);
    }
    for (; at > 0 && gm_free_is_before(key, &c->v[at - 1]); at--)
        c->v[at] = c->v[at - 1];
    for (; at + 1 < c->n && gm_free_is_before(&c->v[at + 1], key); at++)
        c->v[at] = c->v[at + 1];
    c->v[at] = *key;
    return true;
}

bool gm_free_set_remove(struct gm_free_set *set, const struct gm_free_entry *key)
{
    const struct gm_free_place at = gm_free_set_from(set, key);
    if (at.entry == NULL || gm_free_is_before(key, at.entry))
        return false;
    gm_free_set_take(set, &at);
    return true;
}

struct gm_free_place gm_free_set_fit(const struct gm_free_set *set, uint64_t size)
{
    size_t k = 0, at = 0;
    GM_BISECT(k, set->chunks.n, i, set->chunks.v[i]->v[set->chunks.v[i]->n - 1].size < size);
    if (k < set->chunks.n)
        GM_BISECT(at, set->chunks.v[k]->n, i, set->chunks.v[k]->v[i].size < size);
    return place(set, k, at);
}

struct gm_free_place gm_free_set_first(const struct gm_free_set *set)
{
    return place(set, 0, 0);
}

struct gm_free_place gm_free_set_last(const struct gm_free_set *set)
{
    size_t n = set->chunks.n;
    return n == 0 ? place(set, 0, 0) : place(set, n - 1, set->chunks.v[n - 1]->n - 1);
}

void gm_free_set_next(const struct gm_free_set *set, struct gm_free_place *p)
{
    if (p->entry == NULL)
        return;
    bool is_last = p->at + 1 == set->chunks.v[p->chunk]->n;
    *p = is_last ? place(set, p->chunk + 1, 0) : place(set, p->chunk, p->at + 1);
}

void gm_free_set_prev(const struct gm_free_set *set, struct gm_free_place *p)
{
    if (p->entry == NULL)
        return;
    if (p->at > 0)
        *p = place(set, p->chunk, p->at - 1);
    else if (p->chunk > 0)
        *p = place(set, p->chunk - 1, set->chunks.v[p->chunk - 1]->n - 1);
    else
        p->entry = NULL;
}

void gm_free_set_clear(struct gm_free_set *set)
{
    for (size_t i = 0; i < set->chunks.n; i++)
        free(set->chunks.v[i]);
    free(set->chunks.v);
    *set = (struct gm_free_set){0};
}
