/* SPDX-License-Identifier: Apache-2.0
 *
 * Many ranks and iterations of one job on one page, as plain data: what gmfleet's writers and charts read. Strings are
 * as in report.h; what is not known is GM_REPORT_NONE, GM_FLEET_NONE or NULL. All orders are fixed by what was read,
 * never by the order in which it was. The rules are in docs/fleet.md.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/report/summary.h"

#define GM_FLEET_NONE INT64_C(-1) /* no rank or iteration found */

/* The first time that a snapshot's trace ran out of memory. */
struct gm_fleet_oom {
    int64_t device;
    uint64_t event, time_us;
    uint64_t asked, device_free; /* bytes; GM_REPORT_NONE */
    uint64_t reserved;           /* by PyTorch on that device just then */
    const char *site;            /* who asked */
};

/* What a call site holds in one snapshot: at the end in block bytes, at the peaks in requested bytes. */
struct gm_fleet_use {
    uint32_t site; /* in gm_fleet.sites */
    uint64_t end, peak;
};

struct gm_fleet_item { /* one snapshot */
    const char *path, *name;
    int64_t rank, iteration;
    size_t row, column;         /* in gm_fleet.rows and .columns; SIZE_MAX: no rank and not read, so in none */
    size_t shown;               /* the item of its cell, see gm_fleet_find */
    enum gm_status status;      /* of reading it; the rest is there if it is GM_OK */
    const char *error;          /* NULL */
    const char *each;           /* the run directory that --each made; NULL */
    enum gm_status each_status; /* of making it; not GM_OK: each_error says why */
    const char *each_error;
    int64_t stated_rank;                    /* by a trace of torch.profiler; -1: not stated */
    bool has_trace, is_salvaged, lacks_end; /* the last: as in struct gm_report */
    uint64_t disk_bytes, events, ooms;
    uint64_t device_count;
    struct gm_totals totals;
    uint64_t peaks[GM_LEVEL_COUNT];
    uint64_t fullest;        /* what gm_fleet_reserved is of the device that reserves most */
    struct gm_fleet_oom oom; /* if ooms > 0 */
    const char *peak_site, *peak_phase;
    const struct gm_fleet_use *uses; /* ascending by site */
    size_t use_count;
    uint64_t rest_end, rest_peak;      /* of call sites that are not in uses */
    const struct gm_slice *categories; /* of gm_fleet_held */
    size_t category_count;
    size_t warning_count;
};

/* What ranks are compared by. With a trace the peaks, without one the totals. */
uint64_t gm_fleet_reserved(const struct gm_fleet_item *item);
/* A trace of torch.profiler states no allocated blocks, and some (as of the host) state nothing of what is reserved. */
bool gm_fleet_knows(const struct gm_fleet_item *item, enum gm_level level);
uint64_t gm_fleet_allocated(const struct gm_fleet_item *item);
uint64_t gm_fleet_held(const struct gm_fleet_item *item); /* requested at the peak; else allocated: the sites' sum */
uint64_t gm_fleet_use_held(const struct gm_fleet_item *item, const struct gm_fleet_use *use);

struct gm_fleet_site {
    const char *label, *via, *category; /* via may be NULL */
    uint32_t color;
};

/* A row of the heat map: a rank, or where no rank was found a file's name (if a snapshot of it could be read). */
struct gm_fleet_row {
    int64_t rank;
    const char *label;
};

/* How the ranks of one iteration compare. */
struct gm_fleet_spread {
    uint64_t least, median, most; /* median: the lower of two */
    double mean;
    size_t most_item;
};
double gm_fleet_imbalance(const struct gm_fleet_spread *spread); /* most / mean; 0 if the mean is 0 */

struct gm_fleet_column {
    int64_t iteration;
    size_t items, failed;                       /* snapshots of it; those that were not read */
    size_t ranks;                               /* that were read */
    size_t missing;                             /* ranks of the job without a snapshot here */
    struct gm_fleet_spread reserved, allocated; /* of those that were read */
};

/* A difference by call sites; `rows`, and what is not in them as `rest`, add up to `delta`. */
struct gm_fleet_change {
    uint32_t site;
    uint64_t from, to;
    int64_t delta;
};
struct gm_fleet_changes {
    const struct gm_fleet_change *rows; /* largest first */
    size_t count;
    int64_t rest, delta;
};

/* Ranks of an iteration of which one can be odd: of two nobody knows which. */
enum { GM_FLEET_LEAST = 3 };
struct gm_fleet_odd {     /* a rank that is unlike the others, where it is farthest from them */
    size_t item, against; /* explained against this one: the typical one, or the first of the nearest group */
    size_t iterations;    /* in how many of them it is odd */
    bool by_held, by_reserved, by_group;
    int64_t reserved_delta, held_delta; /* what is left of reserved is cache, rounding and fragmentation */
    struct gm_fleet_changes sites;      /* of held */
};

struct gm_fleet_group { /* ranks that hold nearly the same */
    const size_t *items;
    size_t count;
    uint64_t held_least, held_most, reserved_most;
    struct gm_fleet_changes sites; /* its first rank against that of the largest group; empty for that one */
    bool is_rest;                  /* those that are like nobody, of very many groups */
};

struct gm_fleet_line {   /* least squares over iterations; slope and error in bytes per iteration */
    double slope, error; /* error: standard error of the slope; NaN for two points */
    bool is_growing;     /* the slope's 95 % confidence interval is above zero, and the slope at least 1 KiB */
};

struct gm_fleet_growth {     /* of a rank over its iterations */
    size_t row, first, last; /* items */
    size_t count;
    struct gm_fleet_line reserved, allocated_end; /* peak reserved; allocated at the end of the snapshots */
    double iterations_left; /* until its fullest device reserves the capacity; negative: never, or not known */
};

struct gm_fleet {
    struct gm_arena arena;
    const char *run_name, *timestamp;
    const struct gm_fleet_item *items; /* by rank, name, iteration, path */
    size_t item_count, read_count;
    const struct gm_fleet_site *sites;
    size_t site_count;
    const struct gm_fleet_row *rows;
    size_t row_count;
    const struct gm_fleet_column *columns; /* by iteration; GM_FLEET_NONE last */
    size_t column_count;
    size_t reference; /* the column whose groups are told: the latest with two thirds of the most ranks read */
    size_t typical;   /* item: the one whose held bytes are the median there; SIZE_MAX: fewer than three ranks */
    uint64_t median_reserved, median_held, tolerance_reserved, tolerance_held;
    size_t compared_count;               /* columns with three ranks or more: the odd ones of each are found */
    const struct gm_fleet_odd *odds;     /* one for a row, the farthest from the median first */
    size_t odd_count, odd_total;         /* odd_total: with those that are not listed */
    const struct gm_fleet_group *groups; /* of the reference, by first member */
    size_t group_count, largest_group;
    const struct gm_fleet_growth *growths; /* rows with two iterations or more: the steepest reserved first */
    size_t growth_count;
    struct gm_fleet_changes survivors; /* end of last against end of first iteration, all such rows */
    uint64_t capacity;                 /* bytes for each device; GM_REPORT_NONE: not told */
    const char *capacity_name;         /* "H100 ..."; NULL */
    const size_t *ooms;                /* items that ran out of memory, the first one first */
    size_t oom_count;
    const int64_t *missing_ranks; /* between 0 and the largest, without any snapshot */
    size_t missing_rank_count;
    size_t duplicates; /* snapshots whose rank and iteration another one has, too */
};

/* The item of a cell: of several, the one with the most reserved; SIZE_MAX if there is none. */
size_t gm_fleet_find(const struct gm_fleet *fleet, size_t row, size_t column);
void gm_fleet_free(struct gm_fleet *fleet);
