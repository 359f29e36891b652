/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/diagnose/lives.h"

#include <stdlib.h>

GM_ORDERING(by_bytes, struct gm_size, GM_UP(bytes));

/* Each size once, ascending. */
static void merge(struct gm_sizes *sizes)
{
    size_t n = 0;
    GM_SORT(sizes->v, sizes->n, by_bytes);
    for (size_t i = 0; i < sizes->n; i++)
        if (n > 0 && sizes->v[n - 1].bytes == sizes->v[i].bytes)
            sizes->v[n - 1].there += sizes->v[i].there;
        else
            sizes->v[n++] = sizes->v[i];
    sizes->n = n;
}

/* There is room for as many as are different, twice, however many are of the same size. */
static void add(struct gm_sizes *sizes, const struct gm_lives *l, size_t a)
{
    const uint64_t bytes = gm_requested(l->h, a);
    if (sizes->n > 0 && sizes->v[sizes->n - 1].bytes == bytes) {
        sizes->v[sizes->n - 1].there++;
        return;
    }
    if (sizes->n == sizes->capacity)
        merge(sizes);
    if (sizes->n < sizes->capacity / 2 || gm_grow(&sizes->v, &sizes->capacity, 2 * sizes->n + 64, sizeof *sizes->v))
        sizes->v[sizes->n++] = (struct gm_size){.bytes = bytes, .there = 1};
    else
        *l->failed = true;
}

static void add_made_until(struct gm_sizes *sizes, const struct gm_lives *l, enum gm_role role, uint32_t end)
{
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (gm_lives_is_role(l, a, role) && l->h->born[a] <= end)
            add(sizes, l, a);
    merge(sizes);
}

void gm_sizes_of_those(struct gm_sizes *sizes, const struct gm_lives *l, bool (*are)(const struct gm_lives *, size_t))
{
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (are(l, a))
            add(sizes, l, a);
    merge(sizes);
}

void gm_sizes_of_set(struct gm_sizes *sizes, const struct gm_lives *l, const struct gm_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        add(sizes, l, set->v[i].allocation);
    merge(sizes);
}

void gm_sizes_of_role(struct gm_sizes *sizes, const struct gm_lives *l, enum gm_role role)
{
    add_made_until(sizes, l, role, GM_NEVER);
}

void gm_sizes_of_first_gradients(struct gm_sizes *sizes, const struct gm_lives *l)
{
    const uint32_t end = gm_lives_round_end(l, gm_lives_round(l, l->first_backward));
    uint32_t gone = GM_NEVER;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (gm_lives_is_role(l, a, GM_ROLE_GRADIENT) && l->h->born[a] <= end && l->h->freed[a] > end &&
            l->h->freed[a] < gone)
            gone = l->h->freed[a];
    add_made_until(sizes, l, GM_ROLE_GRADIENT, gone != GM_NEVER ? gone : end);
}

/* NULL: there is none. */
static struct gm_size *find(const struct gm_sizes *sizes, uint64_t bytes)
{
    size_t at = 0;
    GM_BISECT(at, sizes->n, i, sizes->v[i].bytes < bytes);
    return at < sizes->n && sizes->v[at].bytes == bytes ? &sizes->v[at] : NULL;
}

bool gm_sizes_has(const struct gm_sizes *sizes, uint64_t size)
{
    return find(sizes, size) != NULL;
}

bool gm_sizes_has_another(struct gm_sizes *sizes, uint64_t size)
{
    struct gm_size *of = find(sizes, size);
    return of != NULL && of->met < of->there && ++of->met > 0;
}

void gm_sizes_begin_anew(struct gm_sizes *sizes)
{
    for (size_t i = 0; i < sizes->n; i++)
        sizes->v[i].met = 0;
}
