/* SPDX-License-Identifier: Apache-2.0
 *
 * Differences by call sites. Rows and rest always add up to the difference of the totals.
 */
#include "analyze/fleet/fleet_passes.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/report/comparison.h"

#include <stdlib.h>

static uint64_t measured(const struct gm_fleet_item *item, enum gm_fleet_measure measure)
{
    return measure == GM_FLEET_HELD ? gm_fleet_held(item) : item->totals.allocated;
}

static uint64_t use_of(const struct gm_fleet_item *item, const struct gm_fleet_use *use, enum gm_fleet_measure measure)
{
    return measure == GM_FLEET_HELD ? gm_fleet_use_held(item, use) : use->end;
}

uint64_t gm_fleet_distance(const struct gm_fleet_item *a, const struct gm_fleet_item *b)
{
    size_t i = 0, k = 0;
    uint64_t sum = 0;
    while (i < a->use_count || k < b->use_count) {
        const bool has_a = i < a->use_count && (k == b->use_count || a->uses[i].site <= b->uses[k].site);
        const bool has_b = k < b->use_count && (i == a->use_count || b->uses[k].site <= a->uses[i].site);
        const uint64_t x = has_a ? gm_fleet_use_held(a, &a->uses[i]) : 0,
                       y = has_b ? gm_fleet_use_held(b, &b->uses[k]) : 0;
        sum = gm_sat_add(sum, gm_gap(x, y));
        i += has_a;
        k += has_b;
    }
    return gm_sat_add(sum,
                      gm_gap(a->has_trace ? a->rest_peak : a->rest_end, b->has_trace ? b->rest_peak : b->rest_end));
}

GM_ORDERING(compare_changes, struct gm_fleet_change,
            GM_BY(GM_ORDER(gm_gap(b->from, b->to), gm_gap(a->from, a->to))) || GM_UP(site));

/* Sums by site; `all` has a row for each site of the fleet. */
static bool keep_largest(struct gm_fleet_work *w, struct gm_fleet_changes *out, struct gm_fleet_change *all, size_t top)
{
    size_t n = 0;
    for (size_t s = 0; s < w->fleet->site_count; s++)
        if (all[s].from != all[s].to) {
            all[n] = all[s];
            all[n].delta = gm_signed_gap(all[n].to, all[n].from);
            n++;
        }
    GM_SORT(all, n, compare_changes);
    n = n > top ? top : n;
    struct gm_fleet_change *rows = gm_arena_calloc(&w->fleet->arena, n, sizeof *rows);
    if (rows == NULL)
        return false;
    out->rest = out->delta;
    for (size_t i = 0; i < n; i++) {
        rows[i] = all[i];
        out->rest = gm_diff_minus(out->rest, rows[i].delta);
    }
    out->rows = rows;
    out->count = n;
    return true;
}

bool gm_fleet_compare_all(struct gm_fleet_work *w, struct gm_fleet_changes *out, const size_t *from, const size_t *to,
                          size_t pairs, enum gm_fleet_measure measure, size_t top)
{
    GM_FREED struct gm_fleet_change *all = calloc(w->fleet->site_count + 1, sizeof *all);
    uint64_t before = 0, after = 0;
    if (all == NULL)
        return false;
    for (size_t s = 0; s < w->fleet->site_count; s++)
        all[s].site = (uint32_t)s;
    for (size_t p = 0; p < pairs; p++) {
        const struct gm_fleet_item *a = &w->items[from[p]], *b = &w->items[to[p]];
        before = gm_sat_add(before, measured(a, measure));
        after = gm_sat_add(after, measured(b, measure));
        for (size_t i = 0; i < a->use_count; i++)
            all[a->uses[i].site].from = gm_sat_add(all[a->uses[i].site].from, use_of(a, &a->uses[i], measure));
        for (size_t i = 0; i < b->use_count; i++)
            all[b->uses[i].site].to = gm_sat_add(all[b->uses[i].site].to, use_of(b, &b->uses[i], measure));
    }
    out->delta = gm_signed_gap(after, before);
    return keep_largest(w, out, all, top);
}

bool gm_fleet_compare(struct gm_fleet_work *w, struct gm_fleet_changes *out, size_t from, size_t to,
                      enum gm_fleet_measure measure, size_t top)
{
    return gm_fleet_compare_all(w, out, &from, &to, 1, measure, top);
}
