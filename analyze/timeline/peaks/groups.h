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
#pragma once

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

/* ---- rows -------------------------------------------------------------------------------------------------------- */

struct gm_group_table {
    struct gm_group_row *rows; /* in the report's arena, most bytes first, ties by label; peak_without is NONE */
    const uint32_t *group;     /* [count] the row's group, likewise */
    size_t count, total;       /* rows; groups there are */
    uint64_t rest_bytes, rest_blocks;
};
/* At most `top` rows. */
bool gm_group_rows(struct gm_group_table *table, const struct gm_live *live, struct gm_grouping *grouping, size_t top);

/* ---- numbers by call site---------------------------------------- ------------------------------------------------ */

enum { GM_SITE_VALUES = 3 };
typedef uint64_t gm_site_values[GM_SITE_VALUES];
struct gm_site_sum {
    const char *site;
    uint32_t stack; /* the one with most v[0] */
    gm_site_values v;
    uint64_t most; /* v[0] of that stack */
};
struct gm_site_sums {
    struct gm_grouping grouping;
    gm_site_values *of_stack;               /* [gm_stack_id], to be filled */
    struct GM_VEC(struct gm_site_sum) rows; /* [group]; until they are sorted */
};
/* Both return false if there is no memory. Free also what was not started (zero-initialised). */
bool gm_site_sums_start(struct gm_site_sums *sums, struct gm_trace_pass *pass);
/* The rows, of stacks with any v[0] or v[2]. */
bool gm_site_sums_add_up(struct gm_site_sums *sums);
void gm_site_sums_free(struct gm_site_sums *sums);
/* Sorts the rows: most v[0] first, ties by site. Returns how many of the first `most` have any. */
size_t gm_site_sums_top(struct gm_site_sums *sums, size_t most);
/* The category of a stack, its name copied for the report. false: no memory. */
bool gm_category_of_stack(struct gm_trace_pass *pass, uint32_t stack, const char **name, uint32_t *color);
/* Of those rows: bytes are v[0], blocks v[1]. false: no memory. */
bool gm_site_rows(struct gm_site_sums *sums, size_t most, const struct gm_group_row **rows, size_t *count);

enum { GM_PEAKS_KEPT = 6 }; /* the peak itself and the next five */

struct gm_found_peak {
    double bytes;
    uint32_t moment; /* the first of this height */
    uint64_t times;  /* distinct peaks of exactly this height */
};
struct gm_swings {
    double clear;    /* the fall that makes a peak distinct */
    bool is_falling; /* a peak was found; now for the valley behind it */
    double extreme;  /* the highest (or, falling, lowest) so far since the last turn */
    uint32_t moment;
    struct gm_found_peak kept[GM_PEAKS_KEPT]; /* highest first, all of different heights */
    size_t count;
};

/* `peak` is the highest of all; `bytes` are those of the first moment. */
void gm_swings_start(struct gm_swings *swings, double peak, double bytes, uint32_t moment);
void gm_swings_keep(struct gm_swings *swings);
/* The curve from start to end, in order; moments where it does not turn may be left out. */
static inline void gm_swings_see(struct gm_swings *swings, double bytes, uint32_t moment)
{
    if (swings->is_falling ? bytes < swings->extreme : bytes > swings->extreme) {
        swings->extreme = bytes;
        swings->moment = moment;
    } else if (!swings->is_falling && bytes <= swings->extreme - swings->clear) {
        gm_swings_keep(swings);
        swings->is_falling = true;
        swings->extreme = bytes;
    } else if (swings->is_falling && bytes >= swings->extreme + swings->clear) {
        swings->is_falling = false;
        swings->extreme = bytes;
        swings->moment = moment;
    }
}
/* After the last moment: where the curve ends high, that is a peak too. */
void gm_swings_end(struct gm_swings *swings);

/* What the peak of requested bytes would be if some allocations had not been made. It moves when they are gone, so
 * it is looked for anew; nothing is subtracted. */

enum { GM_REMOVABLE = 64 }; /* so many rows of a table are tried */

struct gm_removals {
    struct gm_trace_pass *pass;
    uint8_t *who;                    /* [allocation] the row it belongs to, or one of the two below */
    size_t count;                    /* rows */
    bool is_removable[GM_REMOVABLE]; /* a row without a call site cannot be removed */
};
enum { GM_WHO_OTHER = GM_REMOVABLE, GM_WHO_HIDDEN, GM_WHO_COUNT };

/* The first rows of `table`. */
bool gm_removals_start(struct gm_removals *r, struct gm_trace_pass *pass, const struct gm_group_table *table,
                       struct gm_grouping *grouping);
void gm_removals_free(struct gm_removals *r);

/* Fills peak_without of the rows and, if `savings` is not NULL, at most `most` greedy savings; *saving_count is set.
 * `swings` may be NULL; else it sees the curve. Sizes beyond 2^53 bytes are not computed with: then the rows stay as
 * they are and there are no savings and no swings. false: no memory. */
bool gm_removals_run(struct gm_removals *r, struct gm_group_row *rows, struct gm_swings *swings,
                     struct gm_saving *savings, size_t most, size_t *saving_count);
