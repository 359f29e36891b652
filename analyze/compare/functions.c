/* SPDX-License-Identifier: Apache-2.0
 *
 * Both runs by function: the frames that call sites are shown by, whatever was called below and whoever called. Where
 * another precision or another script makes every stack a new one, this still tells what grew.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/base/vec.h"
#include "analyze/compare/comparison_parts.h"

#include <stdlib.h>
#include <string.h>

struct sums GM_VEC(struct gm_slice);

/* "forward  attention.py" of "forward  model/attention.py". */
static const char *function_of(struct gm_arena *arena, const char *site)
{
    const char *gap = strstr(site, "  ");
    const char *slash = gap == NULL ? NULL : strrchr(gap, '/');
    if (slash == NULL)
        return site;
    return gm_arena_printf(arena, "%.*s  %s", (int)(gap - site), site, slash + 1);
}

GM_ORDERING(by_name, struct gm_slice, GM_BY(strcmp(a->name, b->name)) || GM_UP(color));

/* The sites of a run by function; equal names added up. */
static bool sum(struct gm_comparison *c, const struct gm_summary *run, bool at_peak, struct gm_slices *out)
{
    struct sums sums = {0};
    size_t n = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < run->site_count; i++) {
        const struct gm_summary_site *site = &run->sites[i];
        const struct gm_amount *amount = at_peak ? &site->peak : &site->end;
        const struct gm_slice slice = {function_of(&c->arena, site->site), site->color, amount->bytes, amount->blocks};
        ok = slice.name != NULL && (amount->blocks == 0 || GM_VEC_PUSH(&sums, slice));
    }
    if (ok && sums.n > 1)
        qsort(sums.v, sums.n, sizeof *sums.v, by_name);
    for (size_t i = 0; ok && i < sums.n; i++) {
        if (n > 0 && strcmp(sums.v[n - 1].name, sums.v[i].name) == 0) {
            sums.v[n - 1].bytes = gm_known_add(sums.v[n - 1].bytes, sums.v[i].bytes);
            sums.v[n - 1].blocks = gm_known_add(sums.v[n - 1].blocks, sums.v[i].blocks);
        } else {
            sums.v[n++] = sums.v[i];
        }
    }
    struct gm_slice *own = ok ? gm_arena_calloc(&c->arena, n, sizeof *own) : NULL;
    if (own != NULL && n > 0)
        memcpy(own, sums.v, n * sizeof *own);
    free(sums.v);
    *out = (struct gm_slices){own, n};
    return own != NULL;
}

bool gm_compare_functions(struct gm_comparison *c, struct gm_diff_pair *pair)
{
    const struct gm_summary *b = c->runs[0], *a = c->runs[pair->after];
    struct gm_slices base, after;
    if (!sum(c, b, false, &base) || !sum(c, a, false, &after) ||
        !gm_compare_by_name(c, &pair->functions, &base, &after, b->totals.allocated, a->totals.allocated))
        return false;
    if (!b->has_trace || !a->has_trace)
        return true;
    return sum(c, b, true, &base) && sum(c, a, true, &after) &&
           gm_compare_by_name(c, &pair->functions_at_peak, &base, &after, b->peaks[GM_LEVEL_REQUESTED],
                              a->peaks[GM_LEVEL_REQUESTED]);
}
