/* SPDX-License-Identifier: Apache-2.0
 *
 * What grows from iteration to iteration: a line of least squares through each rank's iterations, and what its last
 * snapshot holds that its first did not.
 */
#include "analyze/fleet/fleet_passes.h"

#include "analyze/base/order.h"

#include <math.h>
#include <stdlib.h>

/* Student's t for 97.5 % of a distribution, by degrees of freedom: few points make an error that says little. */
static double t_of(size_t freedom)
{
    static const double t[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                               2.201, 2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
    const size_t n = sizeof t / sizeof *t;
    return freedom < n ? t[freedom] : 1.960 + 2.5 / (double)freedom; /* within 0.2 % from there on */
}

/* y over x. Centred, so that large iteration numbers cost no digits. */
static struct gm_fleet_line fit(const double *x, const double *y, size_t n)
{
    double mx = 0, my = 0, sxx = 0, sxy = 0, rest = 0;
    struct gm_fleet_line line = {.error = NAN};
    bool is_flat = true;
    for (size_t i = 0; i < n; i++) {
        is_flat = is_flat && y[i] == y[0];
        mx += x[i] / (double)n;
        my += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        sxx += (x[i] - mx) * (x[i] - mx);
        sxy += (x[i] - mx) * (y[i] - my);
    }
    if (sxx <= 0)
        return line;
    line.slope = is_flat ? 0 : sxy / sxx; /* not the rounding of a mean */
    for (size_t i = 0; i < n; i++) {
        const double miss = y[i] - my - line.slope * (x[i] - mx);
        rest += miss * miss;
    }
    if (n > 2)
        line.error = is_flat ? 0 : sqrt(rest / (double)(n - 2) / sxx);
    line.is_growing = n > 2 && line.slope >= 1024 && line.slope > t_of(n - 2) * line.error;
    return line;
}

/* Iterations from the last one until the fullest device, on the line of what it reserves, reaches the capacity. */
static double iterations_left(const struct gm_fleet_work *w, const struct gm_fleet_growth *g,
                              const struct gm_fleet_line *fullest)
{
    if (w->fleet->capacity == GM_REPORT_NONE || !fullest->is_growing)
        return -1;
    const double room = (double)w->fleet->capacity - (double)w->items[g->last].fullest;
    return room <= 0 ? 0 : room / fullest->slope;
}

struct points {
    double *x, *reserved, *fullest, *end;
};

/* The items of a row that were read, one for each iteration; returns how many. */
static size_t gather(const struct gm_fleet_work *w, size_t first, size_t end, struct points *points,
                     struct gm_fleet_growth *g)
{
    size_t n = 0;
    for (size_t i = first; i < end; i++) {
        const struct gm_fleet_item *item = &w->items[i];
        if (item->status != GM_OK || item->iteration == GM_FLEET_NONE || item->shown != i)
            continue;
        points->x[n] = (double)item->iteration;
        points->reserved[n] = (double)gm_fleet_reserved(item);
        points->fullest[n] = (double)item->fullest;
        points->end[n] = (double)item->totals.allocated;
        g->first = n == 0 ? i : g->first;
        g->last = i;
        n++;
    }
    g->count = n;
    return n;
}

GM_ORDERING(compare_growth, struct gm_fleet_growth, GM_DOWN(reserved.slope) || GM_UP(row));

static bool find_survivors(struct gm_fleet_work *w)
{
    const struct gm_fleet *f = w->fleet;
    GM_FREED size_t *pairs = calloc(2 * f->growth_count + 1, sizeof *pairs);
    if (pairs == NULL)
        return false;
    for (size_t i = 0; i < f->growth_count; i++) {
        pairs[i] = f->growths[i].first;
        pairs[f->growth_count + i] = f->growths[i].last;
    }
    return gm_fleet_compare_all(w, &w->fleet->survivors, pairs, pairs + f->growth_count, f->growth_count, GM_FLEET_END,
                                w->options->top);
}

bool gm_fleet_find_growth(struct gm_fleet_work *w)
{
    struct gm_fleet *f = w->fleet;
    struct gm_fleet_growth *growths = gm_arena_calloc(&f->arena, f->row_count, sizeof *growths);
    GM_FREED double *room = calloc(4 * f->item_count + 1, sizeof *room);
    struct points points = {room, room + f->item_count, room + 2 * f->item_count, room + 3 * f->item_count};
    size_t count = 0, end;
    const bool ok = growths != NULL && room != NULL;
    for (size_t first = 0; ok && first < f->item_count; first = end) {
        struct gm_fleet_growth g = {.row = w->items[first].row};
        for (end = first; end < f->item_count && w->items[end].row == g.row;)
            end++;
        const size_t n = gather(w, first, end, &points, &g);
        if (n < 2)
            continue;
        g.reserved = fit(points.x, points.reserved, n);
        g.allocated_end = fit(points.x, points.end, n);
        const struct gm_fleet_line fullest = fit(points.x, points.fullest, n);
        g.iterations_left = iterations_left(w, &g, &fullest);
        growths[count++] = g;
    }
    GM_SORT(growths, count, compare_growth);
    f->growths = growths;
    f->growth_count = ok ? count : 0;
    return ok && find_survivors(w);
}
