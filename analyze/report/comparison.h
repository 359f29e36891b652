/* SPDX-License-Identifier: Apache-2.0
 *
 * What differs between runs: two or more summaries compared (analyze/compare), as plain data for those who write and
 * those who draw. Every table lists what changed only, and says how much it left out as unchanged, so that
 *
 *   new_total - base_total = sum of the rows' deltas + residual
 *
 * where the residual is 0 unless the snapshot's own numbers contradict each other.
 */
#pragma once

#include "analyze/report/summary.h"

enum gm_diff_kind { GM_DIFF_NEW, GM_DIFF_GONE, GM_DIFF_GROWN, GM_DIFF_SHRUNK, GM_DIFF_MOVED, GM_DIFF_KINDS };
const char *gm_diff_kind_name(enum gm_diff_kind kind); /* "new", "gone", "grown", "shrunk", "moved" */

/* new - base, at most what fits. 0 if either is not known. */
int64_t gm_diff_delta(uint64_t base, uint64_t after);
/* a - b, likewise at most what fits, and never what has no positive counterpart. */
int64_t gm_diff_minus(int64_t a, int64_t b);
/* The absolute value. */
uint64_t gm_diff_size(int64_t delta);

struct gm_diff_row {
    const char *name;
    uint32_t color;
    struct gm_amount base, after;
    int64_t delta; /* bytes */
    enum gm_diff_kind kind;
};
struct gm_diff_site {
    struct gm_diff_row row; /* its name is the site */
    const char *via, *category;
    const struct gm_summary_site *base, *after; /* NULL: not there */
    const struct gm_summary_site *moved; /* of the other run, which holds the same there; NULL: it did not move */
    size_t twin; /* which of the rows with this name, via and category it is, from 1 on; 0: there is no other */
};
struct gm_diff_sums {
    bool is_known; /* false: one of the two runs does not have these numbers */
    uint64_t base_total, after_total;
    int64_t delta;  /* of the totals */
    int64_t listed; /* the sum of the rows' deltas */
    int64_t residual;
    uint64_t same, same_bytes;      /* rows left out because they are equal */
    uint64_t counts[GM_DIFF_KINDS]; /* rows by kind */
    int64_t deltas[GM_DIFF_KINDS];  /* their deltas */
};
struct gm_diff_table {
    struct gm_diff_sums sums;
    const struct gm_diff_row *rows; /* largest change first, then by name */
    size_t count;
};
struct gm_diff_site_table {
    struct gm_diff_sums sums;
    const struct gm_diff_site *rows; /* largest change first, then by name and stack; what moved last */
    size_t count;
};

struct gm_diff_fact {
    const char *group, *key, *base, *after; /* NULL: not there */
};

/* One device of both runs. */
struct gm_diff_device {
    const struct gm_summary_device *base, *after; /* NULL: not there */
};

/* The runs as one tree of normalised stacks, callers above callees. Node 0 is the root. */
struct gm_diff_node {
    const char *name, *file;
    bool is_python;
    uint32_t parent, depth, first_child, next_sibling; /* as in gm_flame_node */
    uint64_t base, after;                              /* bytes with everything below */
    uint64_t width;                                    /* sum over the leaves below of the larger of the two */
};
struct gm_diff_flame {
    const struct gm_diff_node *nodes;
    size_t node_count;
    bool is_at_peak; /* requested bytes at the peak; else allocated bytes at the end */
};

/* BASE against one other run. */
struct gm_diff_pair {
    size_t after; /* index of the run */
    const struct gm_diff_device *devices;
    size_t device_count;
    struct gm_diff_table categories, roles, pools, pools_reserved;
    struct gm_diff_table categories_at_peak, roles_at_peak, pools_at_peak;
    struct gm_diff_table functions, functions_at_peak; /* call sites by the frame that is shown */
    struct gm_diff_site_table sites, sites_at_peak;
    const struct gm_diff_fact *facts; /* those that differ */
    size_t fact_count;
    struct gm_diff_flame flame;
    bool is_same; /* nothing differs: totals, peaks, tables, facts */
};

/* All runs on one axis. */
enum gm_diff_axis { GM_AXIS_STEPS, GM_AXIS_PHASES, GM_AXIS_SHARE };
struct gm_diff_tick {
    double x;
    const char *label; /* "step 3", "backward", "50 %" */
};
struct gm_diff_column {
    uint64_t allocated, reserved; /* the highest there; GM_REPORT_NONE: the run has nothing there */
};
struct gm_diff_line {
    const struct gm_summary_device *device; /* the one with the highest peak; NULL: the run has no trace */
    const struct gm_diff_column *columns;
    double peak_x; /* of allocated bytes; negative: not known */
};
struct gm_diff_timeline {
    enum gm_diff_axis axis;
    const char *how;      /* one sentence: how the runs were aligned */
    double end;           /* the axis runs from 0 to this */
    double before, after; /* of it, what lies before and after the steps or phases */
    const struct gm_diff_tick *ticks;
    size_t tick_count;
    size_t column_count;
    const struct gm_diff_line *lines; /* one per run; NULL: no run has a trace */
};

/* Bytes as a function of a number in the names of runs that are otherwise called alike. */
enum gm_law { GM_LAW_NONE, GM_LAW_CONSTANT, GM_LAW_LINEAR, GM_LAW_QUADRATIC, GM_LAW_FULL };
const char *gm_law_name(enum gm_law law); /* "none", "constant", "linear", "quadratic", "linear and quadratic" */
struct gm_law_fit {
    const char *what; /* "peak requested", "peak: Attention" */
    uint32_t color;
    const uint64_t *bytes; /* of each point of the series */
    enum gm_law law;
    bool is_sum;          /* the law is the sum of the categories' laws, not fitted to these bytes */
    double c0, c1, c2;    /* bytes = c0 + c1 n + c2 n^2 */
    double error_percent; /* the largest miss, in percent of the spread of the values; of the constant: of the mean */
    const char *why_not;  /* no law: why; NULL otherwise */
    enum gm_law closest;  /* no law: what misses by error_percent; GM_LAW_NONE: nothing was tried */
};
struct gm_series {
    const char *key;  /* what the number is called: "ctx"; "": nothing names it */
    const char *name; /* the runs' common name, with N in place of the number */
    const size_t *runs;
    const double *n; /* of each run, ascending */
    size_t count;
    const struct gm_law_fit *fits; /* so many levels, then categories */
    size_t level_count, fit_count;
};

/* --fail-growth. */
struct gm_growth_limit {
    bool is_set, is_percent;
    uint64_t bytes;
    uint64_t millionths; /* of a percent */
    const char *text;    /* as given */
};
struct gm_growth {
    size_t run;
    int64_t device;   /* -1: all devices together */
    const char *what; /* "peak reserved", "peak allocated", "reserved", "allocated" */
    uint64_t base, after;
};

struct gm_diff_failure { /* an input that could not be read */
    const char *path, *why;
};

struct gm_comparison {
    struct gm_arena arena; /* owns what is below, but not the summaries, which must outlive it */
    const char *run_name, *timestamp;
    const struct gm_summary *const *runs; /* BASE first */
    const char *const *labels;            /* of the runs, told apart: "ctx128_forward" */
    size_t run_count;
    const struct gm_diff_pair *pairs; /* BASE against each of the others */
    size_t pair_count;
    struct gm_diff_timeline timeline;
    const struct gm_series *series;
    size_t series_count;
    struct gm_growth_limit limit;
    const struct gm_growth *growths; /* what is over the limit, worst first */
    size_t growth_count;
    const struct gm_diff_failure *failures;
    size_t failure_count;
    size_t top; /* rows that text outputs list of each table */
};

/* Whether the categories at the peak of all runs are known; else those at the end are told. */
bool gm_diff_all_traced(const struct gm_comparison *c);
const struct gm_slices *gm_summary_categories(const struct gm_summary *run, bool at_peak);
/* GM_REPORT_NONE: not known. */
uint64_t gm_summary_category_bytes(const struct gm_summary *run, bool at_peak, const char *name);
/* The largest category of the runs numbered runs[count] (NULL: of the first `count`) that is not among taken[n]; NULL:
 * there is no more. */
const struct gm_slice *gm_diff_next_category(const struct gm_comparison *c, const size_t *runs, size_t count,
                                             bool at_peak, const struct gm_slice *taken, size_t n);
/* The level at its peak, or at the end. */
uint64_t gm_summary_level(const struct gm_summary *run, enum gm_level level, bool at_peak);
/* The first step that the trace has from its beginning on; the first of all if there is no such. */
size_t gm_summary_first_step(const struct gm_summary_device *device);

void gm_comparison_free(struct gm_comparison *comparison);
