/* SPDX-License-Identifier: Apache-2.0
 *
 * The report model, second half: what happened over time on one device (analyze/timeline concludes it from the trace).
 * Included by report.h; the same rules hold: own strings, clean and on one line; bytes are uint64_t; what is not known
 * is GM_REPORT_NONE or NULL.
 *
 * A moment is the state after some number of events: event i leads from moment i to moment i + 1, moment 0 is the state
 * before the first event of the trace. Reports show events, so `event` below is the event that led to the moment, and
 * GM_REPORT_NONE for moment 0.
 *
 * Four kinds of bytes, never added to each other (analyze/snapshot/snapshot.h): requested, allocated, active, reserved.
 */
#pragma once

#include "analyze/report/dims.h"
#include "analyze/report/join.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_slice;
struct gm_frame_row;

/* The books at one moment. requested counts active blocks; active - allocated is pending; reserved - active is cached.
 */
struct gm_levels {
    uint64_t requested, allocated, active, reserved;
};
struct gm_moment {
    uint64_t event;   /* that led here; GM_REPORT_NONE: before event 0 */
    uint64_t time_us; /* of that event; GM_REPORT_NONE if it has none */
    struct gm_levels levels;
};

/* ---- how far the trace can be trusted ---------------------------------------------------------------------------- */

/* A way in which events disagree with each other or with the segments; only those that occurred are listed. */
struct gm_disagreement {
    const char *id;   /* stable, kebab-case: "free-without-alloc" */
    const char *what; /* one clause, to follow the number: "frees had no alloc in the trace" */
    uint64_t count, bytes;
    uint64_t first_event; /* GM_REPORT_NONE: it is not about one */
    bool is_expected;     /* follows from a trace that begins in the middle of a run; no contradiction */
};

/* The books: forward from the state before event 0 to the snapshot's own blocks. */
struct gm_reconciliation {
    bool is_reconstructed;        /* false: only requested bytes are known; `reason` says why */
    const char *reason;           /* NULL if reconstructed */
    struct gm_levels at_start;    /* moment 0 */
    struct gm_levels at_end;      /* after the last event, as reconstructed */
    struct gm_levels snapshot;    /* as the snapshot's segments and blocks say */
    int64_t residual_active;      /* at_end.active - snapshot.active: 0 if the events explain the snapshot */
    int64_t residual_reserved;    /* likewise */
    int64_t worst_residual;       /* of baseline + attributed - active at any event, the largest in magnitude: 0 */
    uint64_t end_blocks;          /* blocks in the snapshot, inactive ones too */
    uint64_t end_blocks_same;     /* of them, those that the forward pass ends in: same address, size and state */
    uint64_t sizes_from_snapshot; /* blocks whose size the allocator's rules did not give: the snapshot's was taken */
    uint64_t sizes_from_snapshot_bytes;             /* the sum of those differences */
    uint64_t baseline_blocks, baseline_bytes;       /* lived before event 0; block bytes */
    uint64_t never_freed_blocks, never_freed_bytes; /* allocated in the trace and live at its end; block bytes */
    uint64_t unsplit_bytes;                         /* at the end: remainders that the allocator left inside blocks */
    uint64_t first_time_us, last_time_us;           /* GM_REPORT_NONE without times */
    const struct gm_disagreement *disagreements;    /* most bytes first */
    size_t disagreement_count;
    const char *coverage; /* one sentence: "The trace covers 2.4 steps / 3.1 s; 214 frees had no alloc in it." */
};

/* ---- curves ----------------------------------------------------------------------------------------------------- */

/* The run in at most a few thousand columns of equal length on one axis. Every event is in exactly one column; a column
 * keeps its extremes, so no peak vanishes. */
struct gm_curve_column {
    uint64_t first_event, last_event; /* of the column, inclusive; first_event > last_event: no event in it */
    double x0, x1;                    /* on the axis: microseconds since gm_curve.start_us, or event numbers */
    struct gm_levels low, high;       /* smallest and largest of each kind in the column, each at its own moment */
    uint64_t high_event;              /* the event after which `active` is highest in the column */
    uint64_t pending;                 /* active - allocated there */
};
struct gm_layer { /* of the stacked picture: a role or a category */
    const char *name;
    uint32_t color;
};
struct gm_curve {
    bool has_times;        /* every event has one, and they differ */
    bool is_by_time;       /* the axis is microseconds; else event numbers */
    uint64_t start_us;     /* the earliest time; GM_REPORT_NONE without times */
    const char *axis_note; /* why the axis is events though there are times, one clause; NULL */
    double x_end;          /* the axis runs from 0 to this */
    const struct gm_curve_column *columns;
    size_t column_count;
    const char *layers_by;         /* "role" or "category" */
    const struct gm_layer *layers; /* most bytes first */
    size_t layer_count;
    const uint64_t
        *layer_bytes; /* [column * layer_count + layer]: block bytes at high_event; they sum to high.active */
};
/* Rows for timeline.csv: the extremes of each column as events, in order. */
struct gm_sample {
    uint64_t event, time_us;
    struct gm_levels levels;
};

/* One stream or one pool of the device, over time. Its curve has the highest of each kind in `column_count` parts of
 * the axis of gm_curve; several of that one's columns are one of these. */
struct gm_part {
    const char *name;             /* "stream 0", "large", "private (0,2) small"; unique in its list */
    int64_t stream;               /* of a stream: the file's handle */
    uint64_t id_first, id_second; /* of a pool; GM_REPORT_NONE: blocks outside all segments */
    bool is_small;
    struct gm_levels peak; /* the largest of each kind, each at its own moment */
    struct gm_levels at_end;
    const struct gm_levels *columns;
    size_t column_count;
};

/* ---- peaks ------------------------------------------------------------------------------------------------------ */

/* One row of a table of live bytes at a peak: a call site, a stack, a function, a file ... */
struct gm_group_row {
    const char *label;    /* as gm_block_row.site, or what --group asked for */
    const char *category; /* of most of its bytes */
    const char *role;     /* likewise; NULL if not inferred */
    uint32_t color;       /* of the category */
    uint64_t bytes, blocks;
    const char *source, *source_note;  /* the site's line, or why it is not known; NULL: no --source, no file */
    uint64_t peak_without;             /* what the peak of requested bytes would be without it; NONE: not computed */
    const struct gm_frame_row *frames; /* the stack of most of its bytes, innermost first; NULL if there is none */
    size_t frame_count;
};
/* The greedy list: each row removed in addition to those before it. */
struct gm_saving {
    const char *label;
    uint64_t bytes_at_peak; /* what it holds at the peak that is left when the rows before are gone */
    uint64_t peak_after;
    uint64_t saved; /* by this row: the peak before minus peak_after */
};
struct gm_next_peak { /* a distinct lower peak: between it and any higher one the curve falls clearly */
    struct gm_moment moment;
    const char *top_label; /* the call site that holds most there */
    uint64_t top_bytes;
    uint64_t step;  /* index in steps; GM_REPORT_NONE */
    uint64_t times; /* so many distinct peaks reach exactly this height; `moment` is the first of them */
};

/* The whole live set at the peak of requested bytes, in requested bytes; each list sums to moment.levels.requested. */
struct gm_peak_detail {
    uint64_t times; /* so many distinct peaks reach exactly this height; 0: not counted */
    const struct gm_slice *roles;
    size_t role_count;
    const struct gm_slice *lifetimes; /* "before the trace, never freed", "within one step", "temporary" ... */
    size_t lifetime_count;
    const struct gm_group_row *sites; /* source lines, most bytes first; site_total exist, the rest in site_rest */
    size_t site_count, site_total;
    uint64_t site_rest_bytes, site_rest_blocks;
    const struct gm_group_row *groups; /* by --group, if it was given; NULL otherwise */
    size_t group_count, group_total;
    uint64_t group_rest_bytes, group_rest_blocks;
    const char *group_by; /* "stack", "function", "file", "category", "role"; NULL */
    const struct gm_next_peak *next;
    size_t next_count;
    const struct gm_saving *savings;
    size_t saving_count;
};

/* Frames of the live set at the peak as a tree, callers above callees (icicle). Node 0 is the root ("all"). */
struct gm_flame_node {
    const char *name, *filename; /* of the frame; for blocks without a stack a word in parentheses */
    uint64_t line;               /* GM_REPORT_NONE */
    uint32_t parent;             /* a smaller index; the root's is itself */
    uint32_t depth;
    uint32_t first_child, next_sibling; /* 0: none; children by bytes, largest first */
    uint32_t color;                     /* of the category that holds most of its bytes */
    bool is_python;
    uint64_t bytes, blocks;           /* with everything below */
    uint64_t self_bytes, self_blocks; /* blocks whose innermost frame this is */
};
struct gm_flame {
    const struct gm_flame_node *nodes;
    size_t node_count;
};

/* Requested bytes by what they are for; they add up to those of the row. */
#define GM_PURPOSE_MAP(X) X(weights) X(gradients) X(states) X(activations) X(temporaries) X(others)
struct gm_purposes {
#define X(name) uint64_t name;
    GM_PURPOSE_MAP(X)
#undef X
};

struct gm_tag_row {
    const char *label;
    const char *detail; /* NULL, or where it comes from, one line */
    uint64_t bytes, blocks;
    struct gm_purposes use;
};

/* Ways to name a block. */
#define GM_TAG_MAP(X)                                                                                                  \
    X(OPERATOR, "operators", "By operator")                                                                            \
    X(ANNOTATION, "annotations", "By annotation (record_function)")                                                    \
    X(METADATA, "metadata", "By metadata (set or attached by the program)")                                            \
    X(REGION, "compiled_regions", "By compiled region")                                                                \
    X(NODE, "graph_nodes", "By node of a compiled graph")
enum gm_tag {
#define X(name, key, title) GM_TAG_##name,
    GM_TAG_MAP(X)
#undef X
        GM_TAG_COUNT
};
struct gm_tag_table {
    const struct gm_tag_row *rows; /* most bytes first, ties by label */
    size_t count, total;           /* listed; there are */
    struct gm_tag_row rest;        /* those that are not listed; no label */
    struct gm_tag_row untold;      /* of which the recording says nothing */
};

/* A call of a module, in the tree of such calls: "line 36 of gpt.py calls forward of gpt.py". Node 0 is the root, in
 * whose `own` is what no module's code made. */
struct gm_module_node {
    const char *function, *file; /* of the module's code that was called: "forward", the file's path; NULL: the root */
    const char *caller;          /* file of the line that called it; NULL: nothing did */
    uint64_t caller_line;        /* GM_REPORT_NONE */
    const char *source, *source_note; /* that line's text, or why it is not known; NULL: no --source, no file */
    uint32_t parent, depth;
    uint32_t first_child, next_sibling; /* 0: none; children by bytes, largest first */
    uint64_t bytes, blocks;             /* with everything below */
    uint64_t own;                       /* bytes that its own code made, in none of the modules below */
    struct gm_purposes use;
    uint64_t calls;             /* told apart, that hold something at the peak */
    uint64_t least, most;       /* bytes of a call */
    const uint64_t *call_bytes; /* [call_count], in order of the calls; no more than GM_CALLS_LISTED of them */
    size_t call_count;
};
enum { GM_CALLS_LISTED = 1000 };

/* The same sizes, made by the same stacks, again and again in the order in which blocks were made. */
struct gm_layers_row {
    const char *role;
    uint64_t times, blocks, bytes; /* so many times, each of so many blocks and bytes */
    uint64_t outside;              /* bytes of the role that are in none of them */
};

struct gm_modules {
    struct gm_tag_table tags[GM_TAG_COUNT];
    const struct gm_module_node *nodes;
    size_t node_count; /* 0: no stack has a module's code in it; the root is one of them */
    const struct gm_layers_row *layers;
    size_t layer_count;
};

/* ---- roles ------------------------------------------------------------------------------------------------------ */

/* Why blocks have the role they have: one row per (role, reason) with what it decided. */
struct gm_role_reason {
    const char *role, *reason; /* reason: one clause, "its stack has AccumulateGrad" */
    int certainty;             /* percent: how often this evidence is right, by our own estimate (docs/roles.md) */
    uint64_t blocks_at_peak, bytes_at_peak; /* requested bytes */
    uint64_t blocks_at_end, bytes_at_end;   /* block bytes of allocated blocks */
};

/* ---- steps ------------------------------------------------------------------------------------------------------ */

enum gm_phase {
    GM_PHASE_OTHER,
    GM_PHASE_FORWARD,
    GM_PHASE_BACKWARD,
    GM_PHASE_OPTIMIZER,
    GM_PHASE_PREFILL,
    GM_PHASE_DECODE,
    GM_PHASE_COUNT
};
/* Of an event of many, which have half a byte each. */
static inline enum gm_phase gm_phase_of(const uint8_t *phases, size_t event)
{
    return (enum gm_phase)(phases[event / 2] >> (event % 2 * 4) & 15);
}
const char *gm_phase_name(enum gm_phase phase); /* "forward" */

struct gm_step_row {
    const char *label; /* "ProfilerStep#3", "step 3" if found by period */
    uint64_t number;
    uint64_t first_event, last_event;
    uint64_t from_us, to_us; /* GM_REPORT_NONE */
    struct gm_levels peak, end;
    uint64_t peak_event;
    int64_t growth;                      /* requested bytes at its end minus at the end of the step before */
    uint64_t phase_peak[GM_PHASE_COUNT]; /* requested; GM_REPORT_NONE: the step has no such phase */
    uint64_t allocs, alloc_bytes;
    bool is_partial; /* an end of the trace cuts it off: in no slope, no median */
};
struct gm_band { /* a named range of the run, to draw and to list: steps, annotations, phases */
    const char *name;
    enum gm_phase phase; /* GM_PHASE_OTHER if it is none */
    unsigned depth;      /* nesting: 0 is the outermost */
    bool is_step;
    uint64_t first_event, last_event, from_us, to_us;
};
enum gm_run_pattern { GM_PATTERN_UNKNOWN, GM_PATTERN_STABLE, GM_PATTERN_GROWTH, GM_PATTERN_SPIKE, GM_PATTERN_WARM_UP };
const char *
gm_run_pattern_name(enum gm_run_pattern pattern); /* "stable", "gradual growth", "sudden spike", "warm-up" */

struct gm_steps;
/* Whether a band of that phase covers the event; GM_REPORT_NONE: whether there is one at all. */
bool gm_steps_has_phase(const struct gm_steps *steps, enum gm_phase phase, uint64_t event);
struct gm_steps {
    const char *source; /* where the steps come from: "ProfilerStep annotations", "repeating allocations"; NULL: none */
    double period_events;           /* if found by period; 0 otherwise */
    int certainty;                  /* percent of allocations that repeat; 100 for annotations */
    const struct gm_step_row *rows; /* if there are too many: the first, the last, and those with the highest peaks */
    size_t row_count, row_total;
    double covered; /* steps that the trace has, with fractions; 0 without steps */
    size_t warm_up; /* leading steps that differ from those after them */
    const struct gm_band *bands;
    size_t band_count;
    enum gm_run_pattern pattern;
    const char *pattern_detail;           /* one sentence with the numbers that decided it; NULL if unknown */
    const char *grown_at;                 /* the call site that it names, of what grows; NULL: none */
    double slope;                         /* bytes per step, of requested bytes at the ends of steps (least squares) */
    uint64_t steps_to_oom;                /* at that slope, NONE if it does not grow or the capacity is unknown */
    uint64_t capacity;                    /* evidence for it: reserved + device_free at an oom; NONE */
    const struct gm_group_row *survivors; /* by call site: allocated in a step and still live two steps later */
    size_t survivor_count;
};

/* ---- out of memory ---------------------------------------------------------------------------------------------- */

/* Why cached bytes could not serve a request. A row per reason, in this order; they sum to all cached bytes. */
enum gm_unusable {
    GM_UNUSABLE_HOLE_TOO_SMALL, /* right pool and stream, but no hole is large enough, next to live blocks */
    GM_UNUSABLE_WRONG_STREAM,
    GM_UNUSABLE_WRONG_POOL,    /* small for large, or another private pool */
    GM_UNUSABLE_WHOLE_SEGMENT, /* could have gone back to the driver (an unsplit segment, whole pages) */
    GM_UNUSABLE_FITS,          /* a hole was large enough: the allocator refused it by a rule (max_split_size ...) */
    GM_UNUSABLE_COUNT
};
const char *gm_unusable_name(enum gm_unusable reason);

struct gm_hole { /* a free range that was too small, and the live block that keeps it from being larger */
    uint64_t bytes, pinned_by_bytes;
    const char *pinned_by; /* its call site; NULL if the hole is bounded by its segment */
    uint64_t age_us;       /* of the pinning block; NONE */
};
enum gm_oom_verdict { GM_OOM_UNKNOWN, GM_OOM_CAPACITY, GM_OOM_FRAGMENTATION, GM_OOM_BOTH };
struct gm_oom_row {
    uint64_t event, time_us;
    uint64_t asked;       /* rounded bytes of the request */
    uint64_t device_free; /* what the driver had left; GM_REPORT_NONE */
    const char *pool;     /* that the request would have come from: "large", "small" */
    int64_t stream;
    const char *site; /* of the request, if the event has a stack; NULL */
    struct gm_levels levels;
    uint64_t pending;
    const struct gm_slice *categories; /* live then, requested bytes, sums to levels.requested */
    size_t category_count;
    const struct gm_slice *roles;
    size_t role_count;
    uint64_t unusable[GM_UNUSABLE_COUNT]; /* cached bytes by reason: sum = reserved - active */
    uint64_t largest_hole;                /* in the right pool and stream */
    const struct gm_hole *holes;          /* the largest that did not fit, largest first */
    size_t hole_count;
    const struct gm_group_row *grew; /* call sites by bytes gained since one step (or a tenth of the trace) before */
    size_t grew_count;
    const char *grew_since; /* "since step 12", "since event 1200" */
    enum gm_oom_verdict verdict;
    uint64_t missing;           /* capacity: bytes that the device lacked, had all of the cache gone back; else 0 */
    const char *verdict_detail; /* one sentence with the numbers */
};

/* ---- fragmentation over time ------------------------------------------------------------------------------------ */

struct gm_fragmentation_sample {
    uint64_t event, time_us;
    uint64_t largest_free, cached, stranded; /* stranded: cached bytes that could not go back to the driver */
};
struct gm_growth_row { /* one segment_alloc, or one run of segment_map */
    uint64_t event, time_us;
    uint64_t bytes, asked; /* what it added; the request behind it in rounded bytes, NONE if unknown */
    const char *pool;
    int64_t stream;
    const char *site; /* of the request; NULL */
    uint64_t cached;  /* cached bytes before it, of which: */
    uint64_t unusable[GM_UNUSABLE_COUNT];
    uint64_t largest_hole; /* in the right pool and stream */
    uint64_t pending;
    bool is_first; /* nothing of its pool and stream was cached: no fragmentation */
    bool is_retry; /* segments were given back just before it: the driver had refused */
};
struct gm_pinner_row { /* a live block, and the cached bytes that it kept from going back, when that was most */
    const char *site, *category;
    uint32_t color;
    uint64_t bytes, requested, address;
    uint64_t pinned_bytes;
    uint64_t event;              /* when it pinned that much */
    uint64_t age_events, age_us; /* then; NONE if it lived before the trace */
};
struct gm_site_stat { /* rounding waste and churn, by call site */
    const char *site, *category;
    uint32_t color;
    uint64_t allocs, bytes;    /* churn: made and freed in the trace; rounding: block bytes */
    uint64_t temporary_allocs; /* churn: of `allocs`, freed before any other allocation was made */
    uint64_t waste;            /* rounding: block - requested */
    uint64_t median_life_us;   /* NONE without times */
};
struct gm_fragmentation_history {
    const struct gm_fragmentation_sample *samples;
    size_t sample_count;
    const struct gm_growth_row *growths; /* the largest, by bytes; growth_total in all */
    size_t growth_count, growth_total;
    uint64_t growth_bytes, growth_avoidable_bytes; /* avoidable: cached bytes of the right pool and
                                                    * stream were enough; none of them counts for two growths */
    uint64_t growths_avoidable;                    /* so many of them */
    uint64_t growths_examined; /* so many could be looked at (bounded work), so what is avoidable is at least that */
    const struct gm_pinner_row *pinners;
    size_t pinner_count;
    const struct gm_site_stat *rounding; /* at the peak of active bytes, most waste first */
    size_t rounding_count;
    uint64_t rounding_bytes;          /* all sites */
    const struct gm_site_stat *churn; /* temporary allocations, most allocations first */
    size_t churn_count;
    uint64_t temporary_allocs, temporary_bytes; /* freed before any other allocation was made */
    uint64_t driver_allocs, driver_frees;       /* cudaMalloc and map; cudaFree and unmap */
    uint64_t driver_cycles;                     /* times that it grew again after some memory had gone back */
    uint64_t retries;                           /* growths with is_retry */
};

/* ---- map of the segments at the end ----------------------------------------------------------------------------- */

struct gm_map_block {
    uint64_t offset, bytes;
    uint8_t state;  /* 0 cached, 1 allocated, 2 pending */
    uint32_t color; /* of the category; 0 for cached */
    const char *category;
};
struct gm_map_segment {
    uint64_t address, bytes;
    const char *pool;
    uint32_t stream_number;
    const struct gm_map_block *blocks;
    size_t block_count;
    size_t alike; /* how many more have its size, pool, stream and blocks like these; they are not listed */
};
struct gm_segment_map {
    const struct gm_map_segment *segments; /* the largest, by bytes, then address */
    size_t segment_count, segment_total;
    uint64_t rest_bytes; /* of those neither listed nor alike */
};

enum gm_serving_part {
    GM_SERVING_WEIGHTS,
    GM_SERVING_CACHE,
    GM_SERVING_GRAPHS, /* what private pools hold: of CUDA graphs, or torch.cuda.MemPool */
    GM_SERVING_WORKSPACE,
    GM_SERVING_PASSING, /* activations and temporaries */
    GM_SERVING_REST,
    GM_SERVING_FRAGMENTATION, /* free, but not to be given back: of the other pools */
    GM_SERVING_UNUSED,        /* the rest of what is free there */
    GM_SERVING_PARTS
};
struct gm_serving_row {
    const char *name;
    uint64_t bytes, blocks; /* of blocks; blocks GM_REPORT_NONE: it has none */
};

/* At the moment when most is reserved, from the first block of the cache (or of a private pool) on; of several that one
 * when most is requested. */
struct gm_serving {
    uint64_t event; /* that led to the moment; GM_REPORT_NONE: before event 0 */
    uint64_t reserved;
    struct gm_serving_row rows[GM_SERVING_PARTS]; /* they sum to `reserved` */
    uint64_t cache;                               /* requested bytes of the KV cache */
    /* Bytes that the cache grows by in a decode step, of all sequences together, and how many steps show it; none:
     * it does not grow, or not by the same each time. */
    uint64_t growth, steps;
    /* What the command line says; 0: it does not. tokens: that the cache has room for then, of all sequences. */
    uint64_t tokens, sequences;
    const char *card;  /* whose memory `capacity` is; NULL: what the recording could have, or it is not known */
    uint64_t capacity; /* bytes that the process may reserve; GM_REPORT_NONE */
    uint64_t per_token, per_sequence; /* bytes; a sequence's share of what passes is in it, too. GM_REPORT_NONE */
    /* Capacity less what is reserved, and what that is good for. */
    uint64_t room, more_tokens, more_sequences, more_steps;
};

/* ---- all of one device ------------------------------------------------------------------------------------------ */

struct gm_device_timeline {
    struct gm_reconciliation reconciliation;
    struct gm_moment peak_allocated, peak_active, peak_reserved; /* the peak of requested bytes is gm_peak */
    struct gm_curve curve;
    const struct gm_sample *samples;
    size_t sample_count;
    const struct gm_part *streams, *pools; /* most reserved bytes first; NULL while not reconstructed */
    size_t stream_count, pool_count;
    struct gm_peak_detail peak;
    struct gm_flame flame;
    struct gm_modules modules;
    const struct gm_role_reason *reasons;
    size_t reason_count;
    struct gm_steps steps;
    const struct gm_oom_row *ooms; /* the first few; the trace's count says how many there are */
    size_t oom_count;
    struct gm_fragmentation_history fragmentation;
    struct gm_segment_map map;
    const struct gm_serving *serving;  /* NULL: the run trains, or has no KV cache and no private pool */
    const struct gm_dims_report *dims; /* NULL: not asked for */
    const struct gm_join_device *join; /* NULL: no trace of torch.profiler is joined */
    const char *filter;                /* what the command line left out, one sentence; NULL: nothing */
};
