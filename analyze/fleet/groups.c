/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups of alike ranks: pipeline stages, experts, whatever makes ranks hold different things. In the order of the
 * ranks each joins the first group whose first rank is like it, or founds one. Two ranks are alike if their call sites
 * differ, added up, by at most GM_FLEET_ALIKE of what the larger of them holds.
 */
#include "analyze/fleet/work.h"

#include <math.h>
#include <stdlib.h>

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

/* The first rank of the group that `own`'s ranks seem to come from: at least three times as many ranks, and kin; the
 * nearest of several. SIZE_MAX if there is none. */
size_t gm_fleet_stray_from(const struct gm_fleet_work *w, const struct gm_fleet_group *own)
{
    const struct gm_fleet *f = w->fleet;
    const struct gm_fleet_item *leader = &w->items[own->items[0]];
    size_t best = SIZE_MAX;
    uint64_t nearest = 0;
    for (size_t g = 0; g < f->group_count && !own->is_rest; g++) {
        const struct gm_fleet_group *group = &f->groups[g];
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
static bool collect(struct gm_fleet_work *w, struct gm_fleet_group *groups, size_t count, const unsigned char *group_of)
{
    size_t *items = gm_arena_calloc(&w->fleet->arena, w->peer_count, sizeof *items), n = 0;
    if (items == NULL)
        return false;
    for (size_t g = 0; g < count; g++) {
        groups[g].items = &items[n];
        for (size_t i = 0; i < w->peer_count; i++)
            if (group_of[i] == g)
                items[n++] = w->peers[i];
        groups[g].count = (size_t)(&items[n] - groups[g].items);
        measure(w, &groups[g]);
    }
    return true;
}

bool gm_fleet_find_groups(struct gm_fleet_work *w)
{
    struct gm_fleet_group *groups = gm_arena_calloc(&w->fleet->arena, GM_FLEET_GROUPS, sizeof *groups);
    unsigned char *group_of = calloc(w->peer_count + 1, 1);
    size_t leaders[GM_FLEET_GROUPS], count = 0, largest = 0;
    bool ok = groups != NULL && group_of != NULL;
    for (size_t i = 0; ok && i < w->peer_count; i++) {
        size_t g = 0;
        while (g < count && !groups[g].is_rest && !is_alike(&w->items[leaders[g]], &w->items[w->peers[i]]))
            g++;
        if (g == count) {
            groups[g].is_rest = g + 1 == GM_FLEET_GROUPS;
            leaders[count++] = w->peers[i];
        }
        group_of[i] = (unsigned char)g;
    }
    ok = ok && collect(w, groups, count, group_of);
    for (size_t g = 1; ok && g < count; g++)
        if (groups[g].count > groups[largest].count && !groups[g].is_rest)
            largest = g;
    for (size_t g = 0; ok && g < count; g++)
        if (g != largest)
            ok = gm_fleet_compare(w, &groups[g].sites, leaders[largest], leaders[g], GM_FLEET_HELD, w->options->top);
    w->fleet->groups = groups;
    w->fleet->group_count = ok ? count : 0;
    w->fleet->largest_group = largest;
    free(group_of);
    return ok;
}
