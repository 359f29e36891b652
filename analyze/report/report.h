/* SPDX-License-Identifier: Apache-2.0
 *
 * The report model: what the passes (analyze/state) concluded, as plain data for those who write (analyze/document) and
 * those who draw (render). It knows no snapshot: every string in it is its own, NUL-terminated, well-formed UTF-8 on
 * one line (gm_utf8_clean_line), but otherwise as hostile as the file: writers escape for their own format.
 *
 * Bytes are uint64_t. A number that the file does not give is GM_REPORT_NONE, a missing string or list is NULL.
 */
#pragma once

#include "analyze/base/arena.h"
#include "analyze/base/arithmetic.h"
#include "analyze/report/diagnosis.h"
#include "analyze/report/fit_plan.h"
#include "analyze/report/profile_facts.h"
#include "analyze/report/timeline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GM_REPORT_NONE UINT64_MAX

/* a + b, at most UINT64_MAX - 1; GM_REPORT_NONE if either is not known. */
static inline uint64_t gm_plus(uint64_t a, uint64_t b)
{
    return a == GM_REPORT_NONE || b == GM_REPORT_NONE ? GM_REPORT_NONE : gm_known_add(a, b);
}

/* a - b; GM_REPORT_NONE if either is not known, or a is less. */
static inline uint64_t gm_less(uint64_t a, uint64_t b)
{
    return a == GM_REPORT_NONE || b == GM_REPORT_NONE || a < b ? GM_REPORT_NONE : a - b;
}

/* The contract's totals, over a set of segments. allocated + pending = active; active + inactive = reserved (on a
 * consistent file); requested + rounding = active. */
struct gm_totals {
    uint64_t reserved, allocated, pending, active, requested, inactive, rounding;
    uint64_t segments, blocks, active_blocks, allocated_blocks, inactive_blocks;
};
/* allocated / reserved in percent; negative if nothing is reserved. */
double gm_totals_efficiency(const struct gm_totals *totals);

enum gm_grade { GM_GRADE_NONE, GM_GRADE_POOR, GM_GRADE_GOOD, GM_GRADE_EXCELLENT };
enum gm_grade gm_grade_of(double efficiency_percent); /* > 98 excellent, 95 to 98 good, below poor, < 0 none */
const char *gm_grade_name(enum gm_grade grade);       /* "excellent", "good", "poor", "n/a" */

struct gm_amount {
    uint64_t bytes, blocks;
};
static inline void gm_amount_add(struct gm_amount *to, const struct gm_amount *more)
{
    to->bytes = gm_known_add(to->bytes, more->bytes);
    to->blocks = gm_known_add(to->blocks, more->blocks);
}

/* A share of bytes: a category, a role, a lifetime. */
struct gm_slice {
    const char *name;
    uint32_t color; /* 0xRRGGBB, from the category rules: the same in every chart and every run */
    uint64_t bytes, blocks;
};
/* That of the name; all zero: there is none. */
struct gm_slice gm_slice_named(const struct gm_slice *slices, size_t count, const char *name);

struct gm_frame_row {
    const char *name, *filename;
    uint64_t line;
}; /* line GM_REPORT_NONE if unknown */

/* One block of interest. */
struct gm_block_row {
    uint64_t bytes, requested, address;
    int64_t device, stream; /* stream: the file's handle */
    uint32_t stream_number; /* 0 = default stream, 1, 2, ... in order of first appearance in the report */
    const char *pool;       /* "large", "small", "private (0,2) large", ... */
    const char *category;
    uint32_t color;
    const char *role; /* NULL: not inferred */
    const char *site; /* where it was made, short: "forward  model/attention.py:88"; "no stack recorded" */
    const struct gm_frame_row *frames; /* innermost first, all of them */
    size_t frame_count;
};

/* A place in the user's code and what it holds: all allocated blocks of one site and category. */
struct gm_site_row {
    const char *site; /* as in gm_block_row */
    const char *category;
    uint32_t color;
    uint64_t bytes, blocks;
};

/* A live block that keeps cached memory from going back to the driver. */
struct gm_pin_row {
    struct gm_block_row block;
    uint64_t pinned_bytes; /* inactive bytes of its segment or page range that would become releasable without it,
                              shared equally among the live blocks there when there are several */
    uint64_t sharers;      /* live blocks in that segment or page range, itself included */
    uint64_t segment_address, segment_bytes;
};

struct gm_fragmentation {
    uint64_t inactive_blocks, largest_inactive;
    struct gm_amount unused_over_100mib;
    uint64_t releasable, stranded; /* releasable + stranded = inactive */
    uint64_t empty_cache;          /* what torch.cuda.empty_cache() would return */
    const struct gm_pin_row *pins; /* most pinned bytes first */
    size_t pin_count;
};

enum { GM_HISTOGRAM_BINS = 12 };
struct gm_histogram_bin {
    uint64_t from, to; /* block size in [from, to) bytes; the last bin's `to` is UINT64_MAX */
    const char *label; /* "512 B - 4 KiB" */
    struct gm_amount active, cached;
};

struct gm_stream_row {
    int64_t stream;
    uint32_t number;
    struct gm_totals totals;
};
struct gm_pool_row {
    const char *name;             /* as in gm_block_row */
    const char *kind;             /* "small", "large", or "unknown" */
    uint64_t id_first, id_second; /* GM_REPORT_NONE if the file gives no pool id */
    bool is_private, has_expandable;
    struct gm_totals totals;
};

/* What the trace says that needs no reconstruction. */
struct gm_trace_counts {
    uint64_t events, allocs, frees /* free_completed */, ooms, segment_allocs, segment_frees, segment_maps,
        segment_unmaps, others;
    uint64_t outlived;      /* of `ooms`: those after which the call that failed went on with less */
    uint64_t max_entries;   /* GM_REPORT_NONE if unknown */
    int overflowed;         /* 1 yes, 0 no, -1 unknown */
    uint64_t span_us;       /* last minus first time; GM_REPORT_NONE without times */
    uint64_t peak_reserved; /* by the contract's rule; GM_REPORT_NONE without events */
};

/* The peak of requested bytes of one device, and what it was made of (from the trace, by analyze/timeline). */
struct gm_peak {
    uint64_t requested;                /* the contract's peak_requested_bytes */
    uint64_t event;                    /* index in the device's trace; GM_REPORT_NONE: the state before event 0 */
    uint64_t time_us;                  /* of that event; GM_REPORT_NONE if it has none */
    const struct gm_slice *categories; /* requested bytes, which sum to `requested`; largest first, ties by name */
    size_t category_count;
    struct gm_levels levels; /* block bytes at that moment; GM_REPORT_NONE where not reconstructed */
};

/* GM_REPORT_NONE: not known. allocated, freed: sums of all that came and went. */
struct gm_usage {
    uint64_t current, peak, allocated, freed;
};
/* The rows of the table: PyTorch's counter (in JSON, too), and what it is called. The first five are bytes. */
#define GM_USAGE_MAP(X)                                                                                                \
    X(allocated_bytes, "Allocated memory")                                                                             \
    X(active_bytes, "Active memory")                                                                                   \
    X(requested_bytes, "Requested memory")                                                                             \
    X(reserved_bytes, "GPU reserved memory")                                                                           \
    X(inactive_split_bytes, "Non-releasable memory")                                                                   \
    X(allocation, "Allocations")                                                                                       \
    X(active, "Active allocs")                                                                                         \
    X(segment, "GPU reserved segments")                                                                                \
    X(inactive_split, "Non-releasable allocs")
enum { GM_USAGE_ROWS = 9, GM_USAGE_BYTES = 5 };
enum { GM_USAGE_ALL, GM_USAGE_LARGE, GM_USAGE_SMALL, GM_USAGE_POOLS };

/* The counters at a moment. */
struct gm_usage_table {
    uint64_t event; /* that led to it; GM_REPORT_NONE: before event 0, or there is none */
    struct gm_usage rows[GM_USAGE_ROWS][GM_USAGE_POOLS], oversize_allocations, oversize_segments;
};
struct gm_memory_summary {
    int64_t device;
    uint64_t ooms, retries; /* GM_REPORT_NONE: not known */
    const char *note;       /* what peaks and sums do not count, a sentence; NULL: nothing */
    struct gm_usage_table at_end;
    const struct gm_usage_table *at_peak; /* of requested bytes; NULL: not known */
};

/* The ledger: rows that sum to reserved, from the blocks; and what the file itself states, per device. */
struct gm_ledger {
    uint64_t allocated_requested; /* requested bytes of allocated blocks */
    uint64_t allocated_rounding;
    uint64_t pending; /* block bytes */
    uint64_t releasable, stranded;
    uint64_t sum;                                               /* of the five rows above */
    uint64_t reserved;                                          /* sum of segment total_size */
    int64_t residual;                                           /* reserved - sum: 0 on a consistent file */
    uint64_t stated_allocated, stated_active, stated_requested; /* the file's own per-segment sums; NONE if absent */
    uint64_t segments_disagreeing; /* segments whose stated totals differ from the sums of their blocks */
    const char *explanation;       /* why there is a residual or a disagreement; NULL if there is none */
};

struct gm_device_report {
    int64_t device;
    struct gm_totals totals;
    struct gm_fragmentation fragmentation;
    struct gm_ledger ledger;
    const struct gm_stream_row *streams;
    size_t stream_count;
    const struct gm_pool_row *pools;
    size_t pool_count;
    const struct gm_slice *categories; /* bytes of active_allocated blocks; largest first, ties by name */
    size_t category_count;
    struct gm_trace_counts trace;
};

/* What shows at the end only to those who look at single segments and events; judgements are made of it. */
struct gm_evidence {
    uint64_t thin_segments, thin_inactive, thin_live; /* segments with >= 10 MiB cached held by <= 10 % live bytes */
    uint64_t thin_small;                              /* of their live blocks, those of at most 1 MiB */
    uint64_t stranded_fixed;                          /* stranded bytes in cudaMalloc segments of the default pools */
    uint64_t cached_private;                          /* inactive bytes in private pools */
    uint64_t oom_size, oom_free;                      /* of the first oom event; GM_REPORT_NONE: none */
    uint64_t oom_live;  /* requested bytes live then on its device; GM_REPORT_NONE: the events do not add up */
    uint64_t oom_freed; /* of them, at least this much was freed before the snapshot */
    int64_t oom_device;
    uint64_t events, ooms, overflowed_devices;
    uint64_t max_split;     /* as recorded; UINT64_MAX: unlimited */
    bool is_async;          /* cudaMallocAsync */
    bool has_idle_gc_limit; /* garbage_collection_threshold without a memory fraction */
};

struct gm_setting_row {
    const char *key, *value;
    bool is_default;
};

/* Settings of the allocator, tried by replaying the trace in a model of it (replay/trials). Peaks are of reserved
 * bytes; what was not computed is GM_REPORT_NONE. */
enum gm_advice_verdict {
    GM_ADVICE_GIVEN,     /* tried[best] lowers the peak */
    GM_ADVICE_NO_GAIN,   /* none that was tried lowers it enough */
    GM_ADVICE_NO_ROOM,   /* what was requested leaves no room for a saving */
    GM_ADVICE_NOT_JUDGED /* `reason` says why */
};
struct gm_advice_device {
    int64_t device;
    uint64_t events, allocs;
    uint64_t exact;          /* allocations for which the model chose the recorded address */
    uint64_t peak_requested; /* recorded: what no setting can go below */
    uint64_t recorded;       /* the recorded peak */
    uint64_t before;         /* what a setting must stay below: the peak as replayed with the recorded settings, or as
                              * recorded, if the recording did with less and did not end out of memory */
    uint64_t start_at_peak;  /* of the active bytes at their peak: those of blocks from before the trace */
    bool was_refused;        /* its recording ended out of memory */
    uint64_t limit;          /* what the recording shows that the allocator could have; GM_REPORT_NONE: it refused */
                             /* nothing. The next three mean nothing then */
    bool is_limit_exact;     /* else it was less than a byte more */
    uint64_t limit_event;    /* that shows it: so much was reserved, and so much left (exact), or more was too much */
    uint64_t limit_reserved, limit_left;
};
/* Replays of all devices, from an empty allocator, with one choice of memory. */
struct gm_advice_replay {
    bool runs;             /* no request failed */
    uint64_t peak;         /* sum over the devices; of those that fail, until then */
    const uint64_t *peaks; /* [device_count] */
    uint64_t retries;      /* sum */
    /* The peak by where the driver puts segments: from the lowest to the highest that was seen; 0: nobody looked */
    uint64_t low, high;
};
struct gm_advice_trial {
    const char *settings;                   /* as in PYTORCH_CUDA_ALLOC_CONF; "": PyTorch's defaults */
    struct gm_advice_replay roomy, limited; /* unlimited memory; the devices' limits, nothing if none has one */
    uint64_t
        saved; /* roomy, of `before`; 0 if a device needs more than the baseline, or than it is known to have had */
};
struct gm_settings_advice {
    enum gm_advice_verdict verdict;
    const char *reason;               /* why it was not judged: a clause; else NULL */
    const char *reason_of_fixes;      /* why what fixes save was not, where that is: likewise */
    const char *command;              /* that judges it; else NULL */
    uint64_t most_events;             /* a trace of more is not replayed */
    const char *recorded;             /* settings, as in gm_advice_trial */
    struct gm_advice_device *devices; /* those with events */
    size_t device_count;
    uint64_t before;                        /* of all devices; 0: nothing was replayed */
    uint64_t threshold;                     /* a smaller saving is no advice */
    bool is_limited;                        /* a device has a limit */
    const struct gm_advice_trial *baseline; /* the recorded settings; NULL: nothing was replayed */
    const struct gm_advice_trial *tried;    /* others, each compared with the baseline of the same memory */
    size_t tried_count, best;
    bool is_by_chance; /* the best one saves enough, but not wherever the driver puts segments: not advised */
};

struct gm_report {
    struct gm_arena arena; /* owns every string and array below */

    const char *run_name;  /* NAME of the run directory; titles use it */
    const char *timestamp; /* the one time in all outputs: local, "2025-11-14 14:30:25" */
    struct {
        const char *path;
        uint64_t disk_bytes;
        const char *format, *compression; /* the contract's words */
        uint64_t segments, blocks, events;
        bool is_salvaged;
        uint64_t salvaged_offset;
        const char *salvaged_reason;
        uint64_t unique_stacks, unique_frames;
        uint64_t live_blocks_with_stack, live_bytes_with_stack; /* of active_allocated blocks */
    } snapshot;

    struct gm_totals totals;
    struct gm_fragmentation fragmentation;
    struct gm_ledger ledger;
    const struct gm_device_report *devices; /* devices with a segment or an event, ascending */
    size_t device_count;
    bool lacks_end;              /* segments and blocks at the end are not known: a trace of torch.profiler */
    bool is_of_one_device;       /* that was asked for; the counts of `snapshot` are of all */
    const struct gm_peak *peaks; /* parallel to devices, for those with events; NULL if they were not computed */
    const struct gm_device_timeline *timelines; /* parallel to devices; empty for one without events; NULL likewise */
    const struct gm_memory_summary *memory;     /* likewise; of those without events, too */
    const struct gm_slice *categories; /* all devices; bytes sum to totals.allocated; largest first, ties by name */
    size_t category_count;
    const struct gm_slice *roles; /* likewise by role; NULL: not inferred */
    size_t role_count;
    const struct gm_block_row *top_blocks; /* active_allocated, by size, then device, then address */
    size_t top_block_count;
    const struct gm_site_row *sites; /* most bytes first, ties by site, then category; site_total have been found */
    size_t site_count, site_total;
    struct gm_histogram_bin histogram[GM_HISTOGRAM_BINS];
    struct gm_evidence evidence;
    struct gm_diagnosis diagnosis;         /* analyze/diagnose makes it of the rest */
    const struct gm_setting_row *settings; /* NULL: the file records none */
    size_t setting_count;
    bool expandable_is_on;             /* expandable_segments, as far as settings, segments and events show it */
    const struct gm_card_plan *plan;   /* NULL: for no card, or there is no trace to replay */
    struct gm_settings_advice *advice; /* NULL: there is no trace to replay, or nobody tried */
    const char *const *warnings;       /* of loading */
    size_t warning_count;
    const char *oom_card; /* the smallest that has what the first request that failed was short of; NULL: not known */
    const struct gm_profile_report *profile; /* of a trace of torch.profiler; else NULL */
    const struct gm_join_report *join;       /* of a trace beside the snapshot; NULL: there is none */
    uint64_t host_reserved, host_active;     /* pinned host memory; GM_REPORT_NONE if the file has none */
};
/* "expandable_segments:True", or words for none. */
const char *gm_settings_name(const char *settings);
/* Whether most of what is allocated has no stack, so that categories say little of it, and the roles say more. */
bool gm_report_roles_say_more(const struct gm_report *report);
/* Whether a site is the place of a stack, not the words that no stack was recorded. */
bool gm_site_has_stack(const char *site);
/* Whether the block has no stack, but a role that is known. */
bool gm_block_has_role_only(const struct gm_block_row *block);
/* Whether the recorded settings round sizes up on purpose. */
bool gm_report_rounds_up(const struct gm_report *report);
/* One sentence: why empty_cache() returns another number of bytes than can be released. NULL: it returns the same. */
const char *gm_report_empty_cache_differs(const struct gm_report *report);

void gm_report_free(struct gm_report *report);
