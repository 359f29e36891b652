/* SPDX-License-Identifier: Apache-2.0
 *
 * One snapshot in about a hundred kilobytes: what is compared with other snapshots, after the snapshot itself is gone.
 * Plain data that owns all it points to, without an address of the file in it. Strings are as in report.h: clean, on
 * one line, otherwise as hostile as the file. What is not known is GM_REPORT_NONE or NULL.
 */
#pragma once

#include "analyze/report/report.h"

/* The kinds of bytes that have a peak. */
enum gm_level { GM_LEVEL_REQUESTED, GM_LEVEL_ALLOCATED, GM_LEVEL_ACTIVE, GM_LEVEL_RESERVED, GM_LEVEL_COUNT };
const char *gm_level_name(enum gm_level level); /* "requested" */

struct gm_level_peak {
    uint64_t bytes;   /* GM_REPORT_NONE: not known */
    uint64_t event;   /* that led to it; GM_REPORT_NONE: the state before event 0, or the device has no events */
    uint64_t time_us; /* of that event */
};

/* A frame of a normalised stack (docs/diff.md): the function without template arguments, the file without folders. */
struct gm_summary_frame {
    const char *name, *file;
    bool is_python;
};

/* A call site: all blocks whose normalised stacks are equal. */
enum { GM_SITE_LINES = 4 };
struct gm_summary_site {
    const char *site;       /* the frame that gmanalyze shows, without its line: "forward  model/attention.py" */
    const char *via;        /* what it called that made the block: "softmax"; NULL: nothing to add */
    const uint32_t *frames; /* innermost first, in gm_summary.frames */
    size_t frame_count;     /* 0: no stack recorded */
    const char *category;   /* of most of its bytes */
    uint32_t color;
    struct gm_amount end;          /* allocated blocks of the snapshot, block bytes */
    struct gm_amount peak;         /* live at the peaks of the devices, requested bytes */
    uint64_t lines[GM_SITE_LINES]; /* of the frame that is shown, ascending */
    size_t line_count;
    bool has_more_lines;
};

/* A part of the trace: its highest levels. All parts together are the whole trace. */
struct gm_summary_point {
    uint64_t last_event, time_us; /* of that event; GM_REPORT_NONE */
    uint64_t requested, allocated, reserved;
};
struct gm_summary_step {
    uint64_t number, first_event, last_event;
    struct gm_levels peak, end;
    bool is_partial;
};
struct gm_summary_span { /* a phase */
    enum gm_phase phase;
    uint64_t first_event, last_event;
};

struct gm_summary_device {
    int64_t device;
    struct gm_totals totals;
    uint64_t events;
    bool is_reconstructed;                      /* false: allocated and active bytes over time are not known */
    struct gm_level_peak peaks[GM_LEVEL_COUNT]; /* of a device without events in a file with a trace: its totals */
    uint64_t first_time_us, last_time_us;
    /* Where the program was at the peak of requested bytes. */
    const char *peak_site;    /* the line that made the block that reached it; NULL: not known */
    const char *peak_phase;   /* "backward"; NULL */
    uint64_t peak_step;       /* its number; GM_REPORT_NONE */
    const char *peak_range;   /* the innermost annotated range; NULL */
    const char *steps_source; /* NULL: no steps were found */
    const struct gm_summary_point *points;
    size_t point_count;
    const struct gm_summary_step *steps;
    size_t step_count, step_total;
    const struct gm_summary_span *spans;
    size_t span_count;
    uint64_t ooms;
};

/* What the run was made with: rows that are compared by group and key. */
struct gm_summary_fact {
    const char *group, *key, *value; /* group: "setting", "device", "feature", "recording" */
};

struct gm_summary {
    struct gm_arena arena;
    const char *path, *name;
    const char *format, *compression;
    uint64_t disk_bytes, segments, blocks, events;
    bool is_salvaged, has_trace, lacks_end; /* the last: as in struct gm_report */
    struct gm_totals totals;
    uint64_t peaks[GM_LEVEL_COUNT]; /* each device's own peak, added up; GM_REPORT_NONE without a trace */
    const struct gm_summary_device *devices;
    size_t device_count;
    /* Names and bytes, without a name twice, by name. At the end: allocated block bytes. At the peak: requested bytes
     * at the peaks of the devices; NULL without a trace. */
    struct gm_slices {
        const struct gm_slice *v; /* NULL: not known */
        size_t n;
    } categories, roles, pools, pools_reserved, categories_at_peak, roles_at_peak, pools_at_peak;
    const struct gm_summary_frame *frames;
    size_t frame_count;
    const struct gm_summary_site *sites;
    size_t site_count;
    const struct gm_summary_fact *facts; /* by group, then key */
    size_t fact_count;
    const char *const *warnings;
    size_t warning_count;
    const char *const *doubts; /* as of struct gm_diagnosis */
    size_t doubt_count;
};

void gm_summary_free(struct gm_summary *summary);
