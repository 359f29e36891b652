/* SPDX-License-Identifier: Apache-2.0
 *
 * The odd ranks out. A rank is odd if what it holds, or reserves, is farther from the median of the ranks than 5 % of
 * the median, three robust standard deviations (1.4826 times the median absolute deviation) and 1 MiB, all three.
 */
#include "analyze/fleet/work.h"

#include "analyze/base/size.h"

#include <math.h>
#include <stdlib.h>

static int compare_bytes(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a == *b ? 0 : *a < *b ? -1 : 1;
}

static uint64_t gap(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* The lower median of v[0..n), n > 0, and what a value may differ from it. */
static uint64_t find_median(uint64_t *v, size_t n, uint64_t *tolerance)
{
    qsort(v, n, sizeof *v, compare_bytes);
    const uint64_t median = v[(n - 1) / 2];
    for (size_t i = 0; i < n; i++)
        v[i] = gap(v[i], median);
    qsort(v, n, sizeof *v, compare_bytes);
    const double robust = 3 * 1.4826 * (double)v[(n - 1) / 2], share = 0.05 * (double)median;
    const double most = fmax(fmax(robust, share), (double)GM_MIB);
    *tolerance = most < 0x1p63 ? (uint64_t)most : UINT64_MAX;
    return median;
}

struct far {
    size_t item;
    uint64_t distance;
};

static int compare_far(const void *left, const void *right)
{
    const struct far *a = left, *b = right;
    if (a->distance != b->distance)
        return a->distance > b->distance ? -1 : 1;
    return a->item == b->item ? 0 : a->item < b->item ? -1 : 1;
}

static bool fill_odd(struct gm_fleet_work *w, struct gm_fleet_odd *odd, size_t item)
{
    const struct gm_fleet *f = w->fleet;
    const struct gm_fleet_item *it = &w->items[item], *typical = &w->items[f->typical];
    odd->item = item;
    odd->by_held = gap(gm_fleet_held(it), f->median_held) > f->tolerance_held;
    odd->by_reserved = gap(gm_fleet_reserved(it), f->median_reserved) > f->tolerance_reserved;
    odd->held_delta = gm_fleet_delta(gm_fleet_held(typical), gm_fleet_held(it));
    odd->reserved_delta = gm_fleet_delta(gm_fleet_reserved(typical), gm_fleet_reserved(it));
    return gm_fleet_compare(w, &odd->sites, f->typical, item, GM_FLEET_HELD, w->options->top);
}

bool gm_fleet_find_odds(struct gm_fleet_work *w)
{
    struct gm_fleet *f = w->fleet;
    const size_t n = w->peer_count;
    f->typical = SIZE_MAX;
    if (n < 3)
        return true;
    uint64_t *v = calloc(n, sizeof *v);
    struct far *far = calloc(n, sizeof *far);
    size_t count = 0;
    bool ok = v != NULL && far != NULL;
    for (size_t i = 0; ok && i < n; i++)
        v[i] = gm_fleet_held(&w->items[w->peers[i]]);
    if (ok)
        f->median_held = find_median(v, n, &f->tolerance_held);
    for (size_t i = 0; ok && i < n; i++)
        v[i] = gm_fleet_reserved(&w->items[w->peers[i]]);
    if (ok)
        f->median_reserved = find_median(v, n, &f->tolerance_reserved);
    for (size_t i = 0; ok && i < n; i++) {
        const struct gm_fleet_item *item = &w->items[w->peers[i]];
        const uint64_t held = gap(gm_fleet_held(item), f->median_held),
                       reserved = gap(gm_fleet_reserved(item), f->median_reserved);
        if (held == 0 && f->typical == SIZE_MAX)
            f->typical = w->peers[i];
        if (held > f->tolerance_held || reserved > f->tolerance_reserved)
            far[count++] = (struct far){w->peers[i], held > reserved ? held : reserved};
    }
    if (ok && count > 1)
        qsort(far, count, sizeof *far, compare_far);
    f->odd_total = count;
    count = count > GM_FLEET_ODDS ? GM_FLEET_ODDS : count;
    struct gm_fleet_odd *odds = ok ? gm_arena_calloc(&f->arena, count, sizeof *odds) : NULL;
    ok = odds != NULL;
    for (size_t i = 0; ok && i < count; i++)
        ok = fill_odd(w, &odds[i], far[i].item);
    f->odds = odds;
    f->odd_count = ok ? count : 0;
    free(v);
    free(far);
    return ok;
}
