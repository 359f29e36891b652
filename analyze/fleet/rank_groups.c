/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups of alike ranks: pipeline stages, experts, whatever makes ranks hold different things. In the order of the
 * ranks each joins the first group whose first rank is like it, or founds one. Two ranks are alike if their call sites
 * differ, added up, by at most GM_FLEET_ALIKE of what the larger of them holds.
 */
#include "analyze/fleet/fleet_passes.h"

#include <math.h>
#include <string.h>

static bool is_alike(const struct gm_fleet_item *a, const struct gm_fleet_item *b)
{
    const uint64_t x = gm_fleet_held(a), y = gm_fleet_held(b);
    return (double)gm_fleet_distance(a, b) <= GM_FLEET_ALIKE * (double)(x > y ? x : y);
}

/* Whether they have at least half of the bytes of the smaller one in common. */
static bool is_kin(const struct gm_fleet_item *a, const struct gm_fleet_item *b, uint64_t distance)
{
    const double x = (double)gm_fleet_held(a), y = (double)gm_fleet_held(b);
    return x + y - (double)distance >= fmin(x, y);
}

/* At least three times as many ranks, and kin; the nearest of several. */
size_t gm_fleet_stray_from(const struct gm_fleet_work *w, const struct gm_fleet_group *own)
{
    const struct gm_fleet_peers *p = &w->peers;
    const struct gm_fleet_item *leader = &w->items[own->items[0]];
    size_t best = SIZE_MAX;
    uint64_t nearest = 0;
    for (size_t g = 0; g < p->group_count && !own->is_rest; g++) {
        const struct gm_fleet_group *group = &p->groups[g];
        if (group == own || group->is_rest || group->count / 3 < own->count)
            continue;
        const uint64_t distance = gm_fleet_distance(leader, &w->items[group->items[0]]);
        if ((best == SIZE_MAX || distance < nearest) && is_kin(leader, &w->items[group->items[0]], distance)) {
            best = group->items[0];
            nearest = distance;
        }
    }
    return best;
}

static void measure(const struct gm_fleet_work *w, struct gm_fleet_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct gm_fleet_item *item = &w->items[group->items[i]];
        const uint64_t held = gm_fleet_held(item), reserved = gm_fleet_reserved(item);
        if (i == 0 || held < group->held_least)
            group->held_least = held;
        if (held > group->held_most)
            group->held_most = held;
        if (reserved > group->reserved_most)
            group->reserved_most = reserved;
    }
}

/* Members side by side, in the order of the groups. */
static void collect(struct gm_fleet_work *w)
{
    struct gm_fleet_peers *p = &w->peers;
    size_t n = 0;
    for (size_t g = 0; g < p->group_count; g++) {
        struct gm_fleet_group *group = &p->groups[g];
        *group = (struct gm_fleet_group){.items = &p->members[n], .is_rest = g + 1 == GM_FLEET_GROUPS};
        for (size_t i = 0; i < p->count; i++)
            if (p->group_of[i] == g)
                p->members[n++] = p->items[i];
        group->count = (size_t)(&p->members[n] - group->items);
        measure(w, group);
    }
}

void gm_fleet_find_groups(struct gm_fleet_work *w)
{
    struct gm_fleet_peers *p = &w->peers;
    size_t leaders[GM_FLEET_GROUPS], count = 0;
    for (size_t i = 0; i < p->count; i++) {
        size_t g = 0;
        while (g < count && g + 1 < GM_FLEET_GROUPS && !is_alike(&w->items[leaders[g]], &w->items[p->items[i]]))
            g++;
        if (g == count)
            leaders[count++] = p->items[i];
        p->group_of[i] = (unsigned char)g;
    }
    p->group_count = count;
    p->largest = 0;
    collect(w);
    for (size_t g = 1; g < count; g++)
        if (p->groups[g].count > p->groups[p->largest].count && !p->groups[g].is_rest)
            p->largest = g;
}

bool gm_fleet_tell_groups(struct gm_fleet_work *w)
{
    struct gm_fleet *f = w->fleet;
    const struct gm_fleet_peers *p = &w->peers;
    if (f->column_count == 0)
        return true;
    gm_fleet_take_column(w, f->reference);
    gm_fleet_find_groups(w);
    struct gm_fleet_group *groups = gm_arena_calloc(&f->arena, p->group_count, sizeof *groups);
    size_t *members = gm_arena_calloc(&f->arena, p->count, sizeof *members);
    bool ok = groups != NULL && members != NULL;
    for (size_t g = 0, n = 0; ok && g < p->group_count; n += groups[g++].count) {
        groups[g] = p->groups[g];
        groups[g].items = memcpy(&members[n], p->groups[g].items, groups[g].count * sizeof *members);
        if (g != p->largest)
            ok = gm_fleet_compare(w, &groups[g].sites, p->groups[p->largest].items[0], groups[g].items[0],
                                  GM_FLEET_HELD, w->options->top);
    }
    f->groups = groups;
    f->group_count = ok ? p->group_count : 0;
    f->largest_group = p->largest;
    return ok;
}
