/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/diagnose/lives.h"

#include <stdlib.h>

static void start(struct gm_sizes *sizes, const struct gm_lives *l)
{
    const size_t n = l->h->allocation_count + 1;
    *sizes = (struct gm_sizes){.v = calloc(n, sizeof *sizes->v + sizeof *sizes->met)};
    sizes->met = sizes->v == NULL ? NULL : (uint32_t *)(sizes->v + n);
}

static bool sort(struct gm_sizes *sizes)
{
    GM_SORT(sizes->v, sizes->n, gm_by_number);
    return sizes->v != NULL;
}

static bool made_until(struct gm_sizes *sizes, const struct gm_lives *l, enum gm_role role, uint32_t end)
{
    start(sizes, l);
    for (size_t a = 0; sizes->v != NULL && a < l->h->allocation_count; a++)
        if (gm_lives_is_role(l, a, role) && l->h->born[a] <= end)
            sizes->v[sizes->n++] = gm_requested(l->h, a);
    return sort(sizes);
}

bool gm_sizes_of_those(struct gm_sizes *sizes, const struct gm_lives *l, bool (*are)(const struct gm_lives *, size_t))
{
    start(sizes, l);
    for (size_t a = 0; sizes->v != NULL && a < l->h->allocation_count; a++)
        if (are(l, a))
            sizes->v[sizes->n++] = gm_requested(l->h, a);
    return sort(sizes);
}

bool gm_sizes_of_role(struct gm_sizes *sizes, const struct gm_lives *l, enum gm_role role)
{
    return made_until(sizes, l, role, GM_NEVER);
}

bool gm_sizes_of_first_gradients(struct gm_sizes *sizes, const struct gm_lives *l)
{
    const uint32_t end = gm_lives_round_end(l, gm_lives_round(l, l->first_backward));
    uint32_t gone = GM_NEVER;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (gm_lives_is_role(l, a, GM_ROLE_GRADIENT) && l->h->born[a] <= end && l->h->freed[a] > end &&
            l->h->freed[a] < gone)
            gone = l->h->freed[a];
    return made_until(sizes, l, GM_ROLE_GRADIENT, gone != GM_NEVER ? gone : end);
}

/* Where it stands first, if it is there. */
static size_t place_of(const struct gm_sizes *sizes, uint64_t size)
{
    size_t at = 0;
    GM_BISECT(at, sizes->n, i, sizes->v[i] < size);
    return at;
}

bool gm_sizes_has(const struct gm_sizes *sizes, uint64_t size)
{
    const size_t at = place_of(sizes, size);
    return at < sizes->n && sizes->v[at] == size;
}

bool gm_sizes_has_another(struct gm_sizes *sizes, uint64_t size)
{
    const size_t at = place_of(sizes, size);
    if (at == sizes->n || sizes->v[at] != size)
        return false;
    const size_t next = at + sizes->met[at]++;
    return next < sizes->n && sizes->v[next] == size;
}
