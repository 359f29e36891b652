/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/timeline/dims/dims_work.h"

#include <stdlib.h>

struct sized {
    uint64_t size;
    uint8_t role;
    bool is_live;
};
GM_ORDERING(by_size, struct sized, GM_UP(size));

static size_t count_sizes(struct gm_size_count *out, const struct sized *all, size_t n)
{
    size_t sizes = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || all[i].size != all[i - 1].size)
            out[sizes++] = (struct gm_size_count){.size = all[i].size};
        struct gm_size_count *count = &out[sizes - 1];
        const enum gm_role role = (enum gm_role)all[i].role;
        count->made++;
        count->kept += role == GM_ROLE_ACTIVATION;
        count->passing += role == GM_ROLE_TEMPORARY || role == GM_ROLE_INPUT || role == GM_ROLE_UNKNOWN;
        count->live[all[i].role] += all[i].is_live;
    }
    return sizes;
}

bool gm_census_take(struct gm_census *census, const struct gm_trace_pass *pass)
{
    const struct gm_history *h = &pass->history;
    struct sized *all = malloc((h->allocation_count + 1) * sizeof *all);
    size_t n = 0;
    *census = (struct gm_census){0};
    if (all == NULL)
        return false;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (!gm_is_hidden(pass, a))
            all[n++] = (struct sized){gm_requested(h, a), pass->role[a], gm_history_is_active(h, a, pass->peak_moment)};
    GM_SORT(all, n, by_size);
    size_t sizes = 1;
    for (size_t i = 1; i < n; i++)
        sizes += all[i].size != all[i - 1].size;
    census->v = malloc(sizes * sizeof *census->v);
    if (census->v != NULL)
        census->n = count_sizes(census->v, all, n);
    free(all);
    return census->v != NULL;
}

void gm_census_free(struct gm_census *census)
{
    free(census->v);
    *census = (struct gm_census){0};
}

struct gm_size_count gm_census_find(const struct gm_census *census, uint64_t size)
{
    size_t low = 0;
    GM_BISECT(low, census->n, i, census->v[i].size < size);
    return low < census->n && census->v[low].size == size ? census->v[low] : (struct gm_size_count){.size = size};
}
