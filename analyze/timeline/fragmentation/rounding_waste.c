/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes by which blocks are larger than what was asked for, by call site, at the peak of active bytes.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/timeline/fragmentation/fragmentation.h"

#include <stdlib.h>

struct sums {
    uint64_t waste, bytes, blocks;
};

static void add_live(const struct gm_trace_pass *pass, struct sums *by_stack)
{
    const struct gm_history *h = &pass->history;
    for (size_t a = 0; a < h->allocation_count; a++) {
        if (!gm_history_is_active(h, a, pass->peak_active_moment) || gm_is_hidden(pass, a))
            continue;
        struct sums *s = &by_stack[h->stack[a]];
        s->waste = gm_known_add(s->waste, h->block[a] > h->requested[a] ? h->block[a] - h->requested[a] : 0);
        s->bytes = gm_known_add(s->bytes, h->block[a]);
        s->blocks++;
    }
}

static bool fill_rows(struct gm_trace_pass *pass, struct gm_site_sums *sites, struct gm_fragmentation_history *out)
{
    size_t n = 0;
    gm_site_sums_sort(sites, 0);
    while (n < sites->rows.n && n < pass->options->top && sites->rows.v[n].v[0] > 0)
        n++;
    struct gm_site_stat *rows = gm_arena_calloc(&pass->report->arena, n, sizeof *rows);
    bool ok = rows != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        const struct gm_site_sum *sum = &sites->rows.v[i];
        rows[i] = (struct gm_site_stat){.site = sum->site,
                                        .waste = sum->v[0],
                                        .bytes = sum->v[1],
                                        .allocs = sum->v[2],
                                        .median_life_us = GM_REPORT_NONE};
        ok = gm_category_of_stack(pass, sum->stack, &rows[i].category, &rows[i].color);
    }
    out->rounding = rows;
    out->rounding_count = n;
    return ok;
}

bool gm_fragmentation_rounding(struct gm_trace_pass *pass, struct gm_fragmentation_history *out)
{
    size_t stacks = pass->snapshot->stacks.count;
    struct gm_site_sums sites = {0};
    struct sums *by_stack = calloc(stacks + 1, sizeof *by_stack);
    bool ok = by_stack != NULL && gm_site_sums_start(&sites, pass);
    if (ok)
        add_live(pass, by_stack);
    for (uint32_t s = 0; ok && s <= stacks; s++) {
        if (by_stack[s].blocks == 0)
            continue;
        out->rounding_bytes = gm_known_add(out->rounding_bytes, by_stack[s].waste);
        const uint64_t v[GM_SITE_VALUES] = {by_stack[s].waste, by_stack[s].bytes, by_stack[s].blocks};
        ok = gm_site_sums_add(&sites, s, v);
    }
    ok = ok && fill_rows(pass, &sites, out);
    gm_site_sums_free(&sites);
    free(by_stack);
    return ok;
}
