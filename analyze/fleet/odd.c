/* SPDX-License-Identifier: Apache-2.0
 *
 * The odd ranks out. A rank is odd if what it holds, or reserves, is farther from a median than 5 % of the median,
 * three robust standard deviations (1.4826 times the median absolute deviation) and 1 MiB, all three. The median is
 * that of its group of alike ranks if the group is large enough to be a stage, else that of all. And a rank is odd if
 * it fell out of a large group: stages make the deviation of all ranks so large that nothing else would show.
 *
 * Each iteration is compared by itself: what is odd in one of them is not hidden by a rank that is missing there. A
 * rank is told once, where it is farthest.
 */
#include "analyze/fleet/fleet_passes.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/base/size.h"

#include <math.h>
#include <stdlib.h>

GM_ORDERING(compare_bytes, uint64_t, GM_BY(GM_ORDER(*a, *b)));

/* The lower median of v[0..n), n > 0, and what a value may differ from it. */
static uint64_t find_median(uint64_t *v, size_t n, uint64_t *tolerance)
{
    qsort(v, n, sizeof *v, compare_bytes);
    const uint64_t median = v[(n - 1) / 2];
    for (size_t i = 0; i < n; i++)
        v[i] = gm_gap(v[i], median);
    qsort(v, n, sizeof *v, compare_bytes);
    const double robust = 3 * 1.4826 * (double)v[(n - 1) / 2], share = 0.05 * (double)median;
    const double most = fmax(fmax(robust, share), (double)GM_MIB);
    *tolerance = most < 0x1p63 ? (uint64_t)most : UINT64_MAX;
    return median;
}

struct far {
    size_t item, against, column, row;
    bool by_held, by_reserved, by_group;
    uint64_t distance;
};

/* The farthest first; of equals the latest iteration, then the first item. */
GM_ORDERING(compare_far, struct far, GM_DOWN(distance) || GM_DOWN(column) || GM_UP(item));

static bool fill_odd(struct gm_fleet_work *w, struct gm_fleet_odd *odd, const struct far *far, size_t times)
{
    const struct gm_fleet_item *item = &w->items[far->item], *against = &w->items[far->against];
    *odd = (struct gm_fleet_odd){.item = far->item,
                                 .against = far->against,
                                 .iterations = times,
                                 .by_held = far->by_held,
                                 .by_reserved = far->by_reserved,
                                 .by_group = far->by_group,
                                 .held_delta = gm_signed_gap(gm_fleet_held(item), gm_fleet_held(against)),
                                 .reserved_delta = gm_signed_gap(gm_fleet_reserved(item), gm_fleet_reserved(against))};
    return gm_fleet_compare(w, &odd->sites, far->against, far->item, GM_FLEET_HELD, w->options->top);
}

/* What ranks are measured by. */
struct norm {
    uint64_t held, reserved, tolerance_held, tolerance_reserved;
    size_t typical; /* the first item whose held bytes are the median */
};

/* `v` has room for n, which is not 0. */
static struct norm norm_of(const struct gm_fleet_work *w, const size_t *items, size_t n, uint64_t *v)
{
    struct norm norm = {.typical = SIZE_MAX};
    for (size_t i = 0; i < n; i++)
        v[i] = gm_fleet_held(&w->items[items[i]]);
    norm.held = find_median(v, n, &norm.tolerance_held);
    for (size_t i = n; i-- > 0;)
        if (gm_fleet_held(&w->items[items[i]]) == norm.held)
            norm.typical = items[i];
    for (size_t i = 0; i < n; i++)
        v[i] = gm_fleet_reserved(&w->items[items[i]]);
    norm.reserved = find_median(v, n, &norm.tolerance_reserved);
    return norm;
}

/* The odd ones of a group by the norm; `origin`: the group that it fell out of, or SIZE_MAX. */
static size_t find_far(const struct gm_fleet_work *w, const struct gm_fleet_group *group, const struct norm *norm,
                       size_t origin, struct far *far)
{
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++) {
        const struct gm_fleet_item *item = &w->items[group->items[i]];
        const struct far one = {
            .item = group->items[i],
            .column = item->column,
            .row = item->row,
            .against = origin == SIZE_MAX ? norm->typical : origin,
            .by_held = gm_gap(gm_fleet_held(item), norm->held) > norm->tolerance_held,
            .by_reserved = gm_gap(gm_fleet_reserved(item), norm->reserved) > norm->tolerance_reserved,
            .by_group = origin != SIZE_MAX,
        };
        if (!one.by_held && !one.by_reserved && !one.by_group)
            continue;
        const struct gm_fleet_item *against = &w->items[one.against];
        const uint64_t held = gm_gap(gm_fleet_held(item), gm_fleet_held(against)),
                       reserved = gm_gap(gm_fleet_reserved(item), gm_fleet_reserved(against));
        far[count] = one;
        far[count++].distance = held > reserved ? held : reserved;
    }
    return count;
}

/* A group that is no exception: a pipeline stage, or most of the ranks. */
static bool is_stage(const struct gm_fleet_peers *p, const struct gm_fleet_group *group)
{
    return !group->is_rest && group->count >= 2 && group->count > p->groups[p->largest].count / 3;
}

/* The odd ones of one iteration. */
static size_t find_in_column(struct gm_fleet_work *w, size_t column, uint64_t *v, struct far *far)
{
    struct gm_fleet *f = w->fleet;
    const struct gm_fleet_peers *p = &w->peers;
    size_t count = 0;
    gm_fleet_take_column(w, column);
    if (p->count < GM_FLEET_LEAST)
        return 0;
    gm_fleet_find_groups(w);
    const struct norm all = norm_of(w, p->items, p->count, v);
    f->compared_count++;
    if (column == f->reference) {
        f->median_held = all.held;
        f->tolerance_held = all.tolerance_held;
        f->median_reserved = all.reserved;
        f->tolerance_reserved = all.tolerance_reserved;
        f->typical = all.typical;
    }
    for (size_t g = 0; g < p->group_count; g++) {
        const struct gm_fleet_group *group = &p->groups[g];
        if (!is_stage(p, group)) {
            count += find_far(w, group, &all, gm_fleet_stray_from(w, group), far + count);
        } else if (group->count >= GM_FLEET_LEAST) {
            const struct norm own = norm_of(w, group->items, group->count, v);
            count += find_far(w, group, &own, SIZE_MAX, far + count);
        }
    }
    return count;
}

/* Leaves the first of each row; times[row]: how many there were. Returns how many are left. */
static size_t keep_first_of_row(struct far *far, size_t count, size_t *times)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (times[far[i].row]++ == 0)
            far[kept++] = far[i];
    return kept;
}

bool gm_fleet_find_odds(struct gm_fleet_work *w)
{
    struct gm_fleet *f = w->fleet;
    GM_FREED uint64_t *v = calloc(f->item_count + 1, sizeof *v);
    GM_FREED struct far *far = calloc(f->item_count + 1, sizeof *far);
    size_t *times = calloc(f->row_count + 1, sizeof *times), count = 0;
    bool ok = v != NULL && far != NULL && times != NULL;
    f->typical = SIZE_MAX;
    for (size_t c = 0; ok && c < f->column_count; c++)
        count += find_in_column(w, c, v, far + count);
    GM_SORT(far, count, compare_far);
    if (ok)
        f->odd_total = count = keep_first_of_row(far, count, times);
    count = count > GM_FLEET_ODDS ? GM_FLEET_ODDS : count;
    struct gm_fleet_odd *odds = ok ? gm_arena_calloc(&f->arena, count, sizeof *odds) : NULL;
    ok = odds != NULL;
    for (size_t i = 0; ok && i < count; i++)
        ok = fill_odd(w, &odds[i], &far[i], times[far[i].row]);
    f->odds = odds;
    f->odd_count = ok ? count : 0;
    free(times);
    return ok;
}
