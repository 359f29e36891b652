/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/compare/compare.h"

#include "analyze/compare/comparison_parts.h"

#include <string.h>

static bool same_table(const struct gm_diff_sums *sums)
{
    bool same = sums->delta == 0 && sums->residual == 0;
    for (int k = 0; k < GM_DIFF_KINDS; k++)
        same = same && sums->counts[k] == 0;
    return same;
}

static bool is_same(const struct gm_comparison *c, const struct gm_diff_pair *pair)
{
    const struct gm_summary *base = c->runs[0], *after = c->runs[pair->after];
    const struct gm_diff_sums *const tables[] = {&pair->categories.sums,
                                                 &pair->roles.sums,
                                                 &pair->pools.sums,
                                                 &pair->pools_reserved.sums,
                                                 &pair->categories_at_peak.sums,
                                                 &pair->roles_at_peak.sums,
                                                 &pair->pools_at_peak.sums,
                                                 &pair->sites.sums,
                                                 &pair->sites_at_peak.sums};
    bool same = memcmp(&base->totals, &after->totals, sizeof base->totals) == 0 &&
                memcmp(base->peaks, after->peaks, sizeof base->peaks) == 0 && pair->fact_count == 0 &&
                base->has_trace == after->has_trace && base->device_count == after->device_count;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        same = same && same_table(tables[i]);
    return same;
}

static bool compare_pair(struct gm_comparison *c, struct gm_diff_pair *pair)
{
    bool ok = gm_compare_devices(c, pair) && gm_compare_tables(c, pair) && gm_compare_sites(c, pair) &&
              gm_compare_functions(c, pair) && gm_compare_facts(c, pair) && gm_compare_flame(c, pair);
    pair->is_same = ok && is_same(c, pair);
    return ok;
}

static bool compare_all(struct gm_comparison *c)
{
    struct gm_diff_pair *pairs = gm_arena_calloc(&c->arena, c->run_count, sizeof *pairs);
    c->pairs = pairs;
    bool ok = pairs != NULL && gm_compare_labels(c);
    for (size_t i = 1; ok && i < c->run_count; i++) {
        pairs[i - 1].after = i;
        ok = compare_pair(c, &pairs[i - 1]);
        c->pair_count = i;
    }
    return ok && gm_compare_timeline(c) && gm_compare_series(c) && gm_compare_growth(c);
}

enum gm_status gm_compare(struct gm_comparison *comparison, const struct gm_summary *const *runs, size_t count,
                          const struct gm_compare_options *options, struct gm_error *err)
{
    *comparison = (struct gm_comparison){.limit = options->limit, .top = options->top, .run_count = count};
    const struct gm_summary **own = gm_arena_calloc(&comparison->arena, count, sizeof *own);
    bool ok = own != NULL;
    if (ok) {
        memcpy(own, runs, count * sizeof *own);
        comparison->runs = own;
        if (options->limit.text != NULL)
            ok = (comparison->limit.text =
                      gm_arena_copy(&comparison->arena, options->limit.text, strlen(options->limit.text))) != NULL;
    }
    if (ok && compare_all(comparison))
        return GM_OK;
    gm_comparison_free(comparison);
    return gm_no_memory(err);
}
