/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline: live bytes by where they were made. Three steps:
 *
 *   gm_live       sums allocations by (stack, role); one call per allocation, cheap
 *   gm_grouping   says to which group a stack belongs: a call site, a function, a file ...; each stack is asked once
 *   gm_group_rows merges the sums into rows, most bytes first, and sums up what is not listed
 *
 * Every allocation that was added is in exactly one row or in the rest, so a table sums to what was added.
 */
#ifndef GM_TIMELINE_GROUPS_H
#define GM_TIMELINE_GROUPS_H

#include "analyze/base/intern.h"
#include "analyze/timeline/trace_pass.h"

/* ---- sums -------------------------------------------------------------------------------------------------------- */

struct gm_live_cell {
    uint32_t stack;
    uint32_t next; /* the next cell of the same stack, + 1; 0: none */
    uint8_t role;  /* GM_ROLE_UNKNOWN while roles are not known */
    struct gm_amount amount;
};
struct gm_live {
    struct gm_trace_pass *pass;
    uint32_t *first; /* [gm_stack_id] its first cell, + 1; 0: none */
    struct GM_VEC(struct gm_live_cell) cells;
};

/* All but free return false if there is no memory. Free also what was not started (zero-initialised). */
bool gm_live_start(struct gm_live *live, struct gm_trace_pass *pass);
bool gm_live_add(struct gm_live *live, size_t allocation, uint64_t bytes);
/* All allocations that are active at `moment` and not hidden, by their requested bytes. */
bool gm_live_add_moment(struct gm_live *live, uint32_t moment);
void gm_live_free(struct gm_live *live);

/* ---- groups ------------------------------------------------------------------------------------------------------ */

struct gm_grouping {
    struct gm_trace_pass *pass;
    enum gm_group_by by;                /* GM_GROUP_NONE: call sites */
    size_t depth;                       /* of GM_GROUP_STACK: frames that tell stacks apart; 0: whole stacks */
    uint32_t *of_stack;                 /* [gm_stack_id] its group, + 1; 0: not asked so far */
    uint32_t of_role[GM_ROLE_COUNT];    /* likewise */
    struct GM_VEC(const char *) labels; /* [group] */
    struct gm_intern shared;            /* labels that stand for one group, whichever stack they come from */
    struct GM_VEC(uint32_t) of_shared;  /* [number in shared] its group */
};
bool gm_grouping_start(struct gm_grouping *grouping, struct gm_trace_pass *pass, enum gm_group_by by, size_t depth);
/* The group of an allocation with this stack and role. GM_NEVER: no memory. */
uint32_t gm_grouping_of(struct gm_grouping *grouping, uint32_t stack, uint8_t role);
void gm_grouping_free(struct gm_grouping *grouping);

/* The role of an allocation, GM_ROLE_UNKNOWN while roles are not known. */
static inline uint8_t gm_role_of(const struct gm_trace_pass *pass, size_t allocation)
{
    return pass->role == NULL ? (uint8_t)GM_ROLE_UNKNOWN : pass->role[allocation];
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

struct gm_group_table {
    struct gm_group_row *rows; /* in the report's arena, most bytes first, ties by label; peak_without is NONE */
    const uint32_t *group;     /* [count] the row's group, likewise */
    size_t count, total;       /* rows; groups there are */
    uint64_t rest_bytes, rest_blocks;
};
/* At most `top` rows. */
bool gm_group_rows(struct gm_group_table *table, const struct gm_live *live, struct gm_grouping *grouping, size_t top);

#endif
