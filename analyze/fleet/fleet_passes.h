/* SPDX-License-Identifier: Apache-2.0
 *
 * The passes over a fleet. Private to analyze/fleet.
 */
#pragma once

#include "analyze/fleet/fleet.h"

/* Limits of what is kept for the page. */
enum { GM_FLEET_ODDS = 200, GM_FLEET_GROUPS = 32 };
/* Alike: the call sites of two ranks differ by at most this part of the larger of the two. */
#define GM_FLEET_ALIKE 0.05

/* The ranks of one iteration, and how they fall into groups. */
struct gm_fleet_peers {
    size_t *items; /* those that were read, one for each row */
    size_t count;
    size_t *members; /* the same, in the order of the groups, which point here */
    unsigned char *group_of;
    struct gm_fleet_group *groups;
    size_t group_count, largest;
};

struct gm_fleet_work {
    struct gm_fleet *fleet;
    struct gm_fleet_item *items; /* the fleet's, while they are filled */
    const struct gm_fleet_options *options;
    size_t placed_count;    /* items that have a row: the first ones */
    size_t *order, *starts; /* those of column c, by row: order[starts[c]] and on, before order[starts[c + 1]] */
    struct gm_fleet_peers peers;
};

enum gm_fleet_measure { GM_FLEET_HELD, GM_FLEET_END };

/* By how much each call site differs from item `from` to item `to`; each returns false if there is no memory. */
bool gm_fleet_compare(struct gm_fleet_work *w, struct gm_fleet_changes *out, size_t from, size_t to,
                      enum gm_fleet_measure measure, size_t top);
/* The same summed over pairs. */
bool gm_fleet_compare_all(struct gm_fleet_work *w, struct gm_fleet_changes *out, const size_t *from, const size_t *to,
                          size_t pairs, enum gm_fleet_measure measure, size_t top);
/* Sum over call sites of the absolute differences of held bytes. */
uint64_t gm_fleet_distance(const struct gm_fleet_item *a, const struct gm_fleet_item *b);

void gm_fleet_take_column(struct gm_fleet_work *w, size_t column); /* the peers are then its ranks */
void gm_fleet_find_groups(struct gm_fleet_work *w);                /* of the peers */
/* Those of the reference column, with what makes them differ, for the page. */
bool gm_fleet_tell_groups(struct gm_fleet_work *w);
bool gm_fleet_find_odds(struct gm_fleet_work *w);
/* The first rank of the group of the peers that `own`'s ranks seem to come from; SIZE_MAX if there is none. */
size_t gm_fleet_stray_from(const struct gm_fleet_work *w, const struct gm_fleet_group *own);
bool gm_fleet_find_growth(struct gm_fleet_work *w);
