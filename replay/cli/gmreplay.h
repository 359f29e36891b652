/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of gmreplay share: the options, and what a run has found out.
 */
#pragma once

#include "analyze/allocator/conf.h"
#include "analyze/base/arena.h"
#include "analyze/base/text.h"
#include "analyze/cli/bar.h"
#include "analyze/cli/options.h"
#include "analyze/cli/terminal.h"
#include "analyze/diagnose/ignore.h"
#include "analyze/document/document.h"
#include "analyze/export/notices.h"
#include "analyze/snapshot/snapshot.h"
#include "analyze/state/shown_names.h"
#include "analyze/timeline/trace_analyze.h"
#include "replay/compute/compute_run.h"
#include "replay/regenerate/event_recorder.h"
#include "replay/trials/bound.h"
#include "replay/trials/fit.h"
#include "replay/trials/sweep.h"
#include "replay/verify/verify.h"
#include "replay/whatif/gpus.h"
#include "replay/whatif/whatif.h"

#include <stdatomic.h>

/* A progress bar on stderr, for a person at a terminal and only if the work takes longer than a second. */

enum gm_replay_stage {
    GM_REPLAY_READING,
    GM_REPLAY_ANALYSING,
    GM_REPLAY_REPLAYING,
    GM_REPLAY_PLANNING,
    GM_REPLAY_SWEEPING,
    GM_REPLAY_FITTING
};

/* Zeroed: nothing is shown, and setting a stage does nothing but note it. */
struct gm_replay_progress {
    atomic_int stage;
    struct gm_load_progress read;
    struct gm_search_progress searched; /* replays of the searches */
    const char *path;
    struct gm_bar bar;
};

enum gm_replay_backend { GM_REPLAY_SIM, GM_REPLAY_NULL, GM_REPLAY_CUDA, GM_REPLAY_CUDA_ASYNC };
extern const char *const gm_replay_backend_names[]; /* enum gm_replay_backend; up to a NULL */
extern const char *const gm_replay_compute_names[]; /* enum gm_compute_mode; likewise */

/* --scale and --drop, as given. */
enum { GM_CHANGES_MOST = 64, GM_CHANGE_NAME = 96 };
struct gm_class_change {
    char name[GM_CHANGE_NAME]; /* "role:activation", "Optimizer step" */
    double factor;             /* 0: dropped */
};
struct gm_class_changes {
    struct gm_class_change v[GM_CHANGES_MOST];
    size_t n;
};

struct gm_replay_options {
    struct gm_usual_options usual; /* without results, name, device, top and charts */
    bool verify;
    enum gm_replay_backend backend;
    struct gm_torch {
        bool is_given;
        enum gm_ties ties;
    } torch;
    const char *alloc_conf, *gpu, *csv, *summary, *trace_out; /* NULL if not given */
    const char *output;                                       /* -o, likewise */
    uint64_t memory, limit;                                   /* UINT64_MAX: not given */
    bool sweep, fit;
    const char *plan, *chart; /* a card, and a file for its picture; NULL if not given */
    int64_t budget;           /* seconds of the searches; -1: not given, 0: none */
    struct gm_class_changes changes;
    int64_t members, steps; /* 0: not given */
    bool pace;
    enum gm_compute_mode compute;
};

#define GM_REPLAY_DEFAULTS                                                                                             \
    {                                                                                                                  \
        .budget = -1, .memory = UINT64_MAX, .limit = UINT64_MAX                                                        \
    }

/* replay_options.c: its command line, of a struct gm_replay_options. */
extern const struct gm_program gm_replay_program;

/* What options have written. */
enum gm_replay_output {
    GM_REPLAY_JSON,
    GM_REPLAY_CSV,
    GM_REPLAY_SUMMARY,
    GM_REPLAY_CHART,
    GM_REPLAY_TRACE,
    GM_REPLAY_SNAPSHOT,
    GM_REPLAY_OUTPUTS
};
/* Where it goes; NULL: nobody asked for it. */
const char *gm_replay_output_path(const struct gm_replay_options *options, int output);

/* What a change came to. */
struct gm_changed_class {
    const char *kind, *name; /* "role", "Activation" */
    double factor;
    uint64_t allocations, bytes_before, bytes_after; /* sums over all allocations, requested bytes */
};

/* --members and --steps on one device. Its parts are then: before the first step, the recorded steps, the turns of the
 * repeated one, the rest. */
struct gm_replay_repetition {
    bool is_used;            /* false: not asked for, or the device has no complete step */
    uint64_t members, steps; /* steps of each member; members is 0 if it was not asked for */
    size_t step;             /* index of the repeated step among the device's */
    uint64_t recorded;       /* steps that are played as they were recorded */
    uint64_t turns;          /* and so often is the repeated one played after them */
    uint64_t duration_us;    /* of a turn */
    uint32_t compared_from;  /* the first event of the step that shows what piles up; GM_NEVER: there is none */
    struct gm_repeat plan;
    uint64_t gradients;             /* bytes that turns keep; 0 unless memory ended in one */
    struct gm_whatif_result zeroed; /* then: if each turn frees them first */
};

struct gm_replay_device {
    struct gm_replay_run *run;
    struct gm_kept_device *kept;
    struct gm_verify_result verify;
    struct gm_whatif_result whatif;
    struct gm_whatif_part *parts; /* of what-if: before the first step, the steps, after the last */
    uint64_t *part_number;        /* of the step; parts 0 and part_count - 1 have none */
    size_t part_count;
    struct gm_replay_repetition repetition;
    struct gm_whatif_class classes[2]; /* with --summary or --limit: roles, categories */
    uint16_t *role;                    /* of the first one */
    uint64_t *held;                    /* of both */
    uint64_t *requested;               /* what-if with changes */
    struct gm_conf conf;               /* of what-if */
    bool was_refused;                  /* the recording ended in an out-of-memory: */
    struct gm_refused refused;
    struct gm_compute_result *gpu; /* NULL: it was simulated */
    bool from_layout;              /* was asked for */
    struct gm_trial_range range;   /* of the what-if */
};

/* Has segments and no events. */
struct gm_untraced_device {
    int64_t device;
    uint64_t reserved; /* bytes */
};

struct gm_replay_run {
    const struct gm_replay_options *options;
    const struct gm_terminal *terminal;
    const struct gm_snapshot *given; /* was read before, and is not the run's; NULL: it reads the file */
    struct gm_snapshot snapshot;
    struct gm_category_rules *rules;
    struct gm_ignore ignore; /* findings that are no fixes of --plan */
    struct gm_kept kept;     /* a device of the report each, or of the trace */
    struct gm_report report;
    struct gm_arena arena;
    struct gm_names names;
    struct gm_conf recorded, conf;
    struct gm_text conf_text;
    const struct gm_gpu *gpu;
    uint64_t capacity;
    struct gm_changed_class changed[GM_CHANGES_MOST];
    struct gm_replay_device *devices; /* [device_count]; of those with events */
    size_t device_count;
    struct gm_untraced_device *untraced; /* [untraced_count], in the arena */
    size_t untraced_count;
    struct gm_replay_recommended *recommended; /* recommend.c; NULL: there was nothing to try */
    struct gm_replay_cards *cards;             /* cards.c; NULL: they were not asked for, or the replay failed */
    struct gm_event_recorder recorder;         /* for -o; zeroed without */
    struct gm_replay_search *search;           /* search.c; NULL without --sweep and --fit */
    struct gm_cuda *cuda;                      /* NULL but while a GPU is used */
    struct gm_text messages;
    struct gm_replay_progress progress;
};

static inline bool gm_replay_on_gpu(const struct gm_replay_options *o)
{
    return o->backend == GM_REPLAY_CUDA || o->backend == GM_REPLAY_CUDA_ASYNC;
}

/* replay_run.c: loads (unless a snapshot is given), replays. GM_E_CHECK is no error of it: see gm_replay_verdict. */
enum gm_status gm_replay_run(struct gm_replay_run *run, const char *path, struct gm_error *err);
void gm_replay_free(struct gm_replay_run *run);
/* Of the mode that was asked for: the counters, and their peaks of reserved and of requested bytes. */
static inline const struct gm_stats *gm_replay_stats(const struct gm_replay_device *d)
{
    return d->run->options->verify ? &d->verify.stats : &d->whatif.stats;
}
static inline uint64_t gm_replay_reserved(const struct gm_replay_device *d)
{
    return (uint64_t)gm_replay_stats(d)->reserved_bytes[GM_STAT_ALL].peak;
}
static inline uint64_t gm_replay_requested(const struct gm_replay_device *d)
{
    return (uint64_t)gm_replay_stats(d)->requested_bytes[GM_STAT_ALL].peak;
}
/* Bytes that the replay may use; UINT64_MAX: as much as it likes. */
uint64_t gm_replay_capacity(const struct gm_replay_run *run);
/* Whether the device's memory is a given size. */
bool gm_replay_is_bounded(const struct gm_replay_run *run);
/* What a replay of the device asks for at the end of a recording that ended out of memory. NULL: nothing; the recording
 * did not end so, or with other sizes, repeated steps, or on a GPU it is not the same request. */
const struct gm_whatif_refused *gm_replay_refused(const struct gm_replay_device *device);
/* A device's recording ended out of memory, and the replay did not: what else the program needs is not known. */
bool gm_replay_is_open(const struct gm_replay_run *run);
/* The first device whose replay ended out of memory; NULL: none. */
const struct gm_replay_device *gm_replay_first_failed(const struct gm_replay_run *run);
static inline bool gm_replay_has_failed(const struct gm_replay_run *run)
{
    return gm_replay_first_failed(run) != NULL;
}
bool gm_replay_is_cut_short(const struct gm_replay_run *run); /* the replay or the recording ended so */
/* Bytes of the card that it cannot have: the CUDA context. */
uint64_t gm_replay_taken(const struct gm_replay_run *run);
enum gm_replay_verdict {
    GM_VERDICT_NONE, /* nothing was to be judged: neither a recording nor a limit, nor how much memory is enough */
    GM_VERDICT_PASS,
    GM_VERDICT_FAIL,
    GM_VERDICT_OOM,
    GM_VERDICT_UNKNOWN
};
enum gm_replay_verdict gm_replay_judged(const struct gm_replay_run *run);
/* GM_E_CHECK if that is not what was hoped for, or the plan is none; before outputs are written. */
enum gm_status gm_replay_status(const struct gm_replay_run *run);
/* run_parts.c: whether memory ends in a turn, and would not if each freed the gradients first. */
bool gm_replay_hangs_on_gradients(const struct gm_replay_device *device);
/* Why it is GM_VERDICT_UNKNOWN; a clause. */
const char *gm_replay_unknown_words(const struct gm_replay_run *run);
/* "PASS", "FAIL", "OOM"; NULL of the others. */
const char *gm_replay_verdict(const struct gm_replay_run *run);
double gm_replay_speed(const struct gm_replay_run *run); /* events per second; 0 if it took no time */
/* Events that were played on all devices. */
uint64_t gm_replay_played(const struct gm_replay_run *run);
/* Bytes of the device with most: reserved (untraced ones, too), requested at once. */
uint64_t gm_replay_peak_reserved(const struct gm_replay_run *run);
const struct gm_replay_device *gm_replay_fullest(const struct gm_replay_run *run);
/* What a recording that ended out of memory needs to get any further, whatever the settings; 0: none did, or it is not
 * known. And the higher of both. */
uint64_t gm_replay_refused_need(const struct gm_replay_run *run);
uint64_t gm_replay_need(const struct gm_replay_run *run);

/* change_options.c: finds the classes of --scale and --drop (GM_E_USAGE if one is unknown), and the bytes that each
 * request of the device asks for then. */
enum gm_status gm_replay_changes(struct gm_replay_run *run, struct gm_error *err);
bool gm_replay_change_requests(struct gm_replay_device *device);
bool gm_value_scale(const char *text, void *value); /* a gm_option's parse: CLASS=FACTOR */
bool gm_value_drop(const char *text, void *value);  /* CLASS */
void gm_scale_words(struct gm_text *out);           /* "Activation=" ... */
void gm_drop_words(struct gm_text *out);            /* roles and built-in categories */

/* run_parts.c: the parts of the device into *options, if --csv, --members or --steps wants them; after the replay, what
 * it would have been with other gradients (repetition.zeroed). */
enum gm_status gm_replay_parts(struct gm_replay_device *device, struct gm_whatif_options *options,
                               struct gm_error *err);
enum gm_status gm_replay_zero(struct gm_replay_device *device, const struct gm_whatif_options *options,
                              struct gm_error *err);
/* When a part ends, in microseconds; GM_REPORT_NONE without times. */
uint64_t gm_replay_part_time(const struct gm_replay_device *device, size_t part);
/* How much later than recorded the events of a part come, because a step was repeated before them; microseconds. */
uint64_t gm_replay_forecast_us(const struct gm_replay_device *device, size_t part);
/* Which member and which of its steps a part is; false: none. */
bool gm_replay_member_of(const struct gm_replay_device *device, size_t part, uint64_t *member, uint64_t *step);
/* The recording goes on after the last step that is played. */
static inline bool gm_replay_stops_early(const struct gm_replay_device *device)
{
    return device->repetition.is_used && device->repetition.recorded < device->repetition.step + 1;
}
bool gm_replay_has_steps(const struct gm_replay_run *run); /* complete ones, on some device */

/* holders.c: live requested bytes by role and by category, for --summary and --limit. Before a replay of the device:
 * has them counted. false: no memory. */
bool gm_replay_count_holders(struct gm_replay_device *device, struct gm_whatif_options *options);

/* placements.c: the what-if of each device once more, with segments in other places, where that can matter. */
enum gm_status gm_replay_spread(struct gm_replay_run *run, struct gm_error *err);
/* How the device comes out in the limit and the memory that were given, and whether otherwise in another place. */
enum gm_replay_verdict gm_replay_placed(const struct gm_replay_device *device);

/* untraced.c. false: no memory. */
bool gm_replay_find_untraced(struct gm_replay_run *run);
uint64_t gm_replay_most_untraced(const struct gm_replay_run *run);   /* bytes of one of them */
int64_t gm_replay_fullest_untraced(const struct gm_replay_run *run); /* that one; there is one */

/* cuda_backend.c: wrong combinations of options. */
enum gm_status gm_replay_check_gpu(const struct gm_replay_options *options, struct gm_error *err);
/* The GPU is opened before the trace is read: without one that is all there is to say. After all devices were replayed
 * it is closed, and nothing may be left on it; gm_replay_end_gpu is for when something else failed. */
enum gm_status gm_replay_open_gpu(struct gm_replay_run *run, struct gm_error *err);
enum gm_status gm_replay_close_gpu(struct gm_replay_run *run, struct gm_error *err);
void gm_replay_end_gpu(struct gm_replay_run *run);
/* What gm_whatif is for the other backends. */
enum gm_status gm_replay_run_on_gpu(struct gm_replay_device *device, const struct gm_whatif_options *options,
                                    struct gm_error *err);
bool gm_replay_has_mismatches(const struct gm_replay_run *run);
const struct gm_compute_memory *gm_replay_gpu_part(const struct gm_replay_device *device, size_t part);

/* ---- further replays --------------------------------------------------------------------------------------------- */

/* search.c: the device for a search, with its repeated steps; and how many threads one has. */
struct gm_search_device gm_replay_search_device(const struct gm_replay_device *device);
unsigned gm_replay_threads(const struct gm_replay_run *run);
/* Trials on one device, NULL: on all; with `spreads` in other places, too. */
enum gm_status gm_replay_try(const struct gm_replay_run *run, const struct gm_replay_device *device,
                             struct gm_trial *trials, size_t count, bool spreads, struct gm_error *err);

/* --sweep and --fit, after the replay, if one of the options was given. Fills run->search; whoever finds it filled ends
 * with gm_interrupt_release. */
enum gm_status gm_replay_search(struct gm_replay_run *run, struct gm_error *err);
/* The smallest memory with the recorded settings alone, within --budget; *fit as of gm_fit_run (is_found false, too, if
 * the recording's own replay does not run). run->search is not touched. */
enum gm_status gm_replay_fit_recorded(struct gm_fit *fit, struct gm_replay_run *run, struct gm_error *err);
void gm_replay_search_free(struct gm_replay_run *run);

enum { GM_SEARCHED_FITS = 3 };
enum gm_search_cut { GM_CUT_NOT, GM_CUT_BUDGET, GM_CUT_INTERRUPT };
struct gm_replay_search {
    struct gm_search search;
    struct gm_search_device *devices;
    struct gm_bounds *bounds;             /* of each device */
    atomic_bool lacks_memory;             /* for them */
    struct gm_text baseline_text;         /* the first device's settings */
    struct gm_sweep sweep;                /* with the memory that was given */
    struct gm_sweep roomy;                /* with unlimited memory, if that is another one and --fit asks */
    struct gm_fit fits[GM_SEARCHED_FITS]; /* of the baseline, the winner, and what needs still less memory */
    const struct gm_sweep_row *fitted[GM_SEARCHED_FITS]; /* NULL: there is none */
    double began, budget; /* seconds; a budget of 0: none. A sweep has half of it where --fit asks for the rest */
    bool has_fits, is_fitting;
    _Atomic int cut[2]; /* [is_fitting] enum gm_search_cut: why replays were left out */
};

/* recommend.c: after the replay itself, tries what may help, with --limit or on a GPU that had no memory.
 * run->recommended: free. */
enum gm_status gm_replay_recommend(struct gm_replay_run *run, struct gm_error *err);
enum { GM_REPLAY_MARGIN = 10 };                         /* percent of memory that a safe peak leaves */
bool gm_replay_is_tight(uint64_t peak, uint64_t whole); /* not as much is left */

/* --plan, after the replay itself: run->report.plan. */
enum gm_status gm_replay_make_plan(struct gm_replay_run *run, struct gm_error *err);

/* cards.c: which cards would run it, with --limit or --summary; after the replay itself. run->cards: free. */
enum gm_status gm_replay_find_cards(struct gm_replay_run *run, struct gm_error *err);

/* ---- what is told ------------------------------------------------------------------------------------------------ */

void gm_replay_csv(struct gm_text *out, struct gm_replay_run *run); /* replay_csv.c */
/* replay_notices.c: the verdict, at the request that fails, and the plan. */
void gm_replay_notices(struct gm_notices *notices, struct gm_replay_run *run, const struct gm_notice_places *places);

/* replay_document.c: all that is told of a run; and the sections of it. `is_long`: as --summary has it. */
void gm_replay_document(struct gm_text *out, enum gm_form form, struct gm_replay_run *run, bool is_long);
void gm_replay_say_device(struct gm_doc *doc, const struct gm_replay_device *device, bool is_long);
void gm_replay_say_repetition(struct gm_doc *doc, const struct gm_replay_device *device, bool is_long);
void gm_replay_say_gpu(struct gm_doc *doc, const struct gm_replay_device *device);

void gm_replay_say_oom_advice(struct gm_doc *doc, const struct gm_replay_run *run);
void gm_replay_say_limit_advice(struct gm_doc *doc, const struct gm_replay_run *run);
void gm_replay_say_cards(struct gm_doc *doc, const struct gm_replay_run *run);          /* empty arrays if not known */
void gm_replay_say_search(struct gm_doc *doc, struct gm_replay_run *run, bool is_long); /* nothing without one */

/* Columns of struct gm_trial_range; what people read of one, NULL: nothing. */
extern const struct gm_column gm_replay_range_columns[3];
const char *gm_replay_range_words(struct gm_doc *doc, const struct gm_trial_range *range);
/* Columns of a request that failed, struct gm_whatif_failure, on the struct gm_replay_device that the row is of. */
extern const struct gm_column gm_replay_failure_columns[10];
/* Who holds requested bytes at their peak, by role and by category: people are told the largest three. */
void gm_replay_say_holders(struct gm_doc *doc, const struct gm_replay_device *device, bool is_long);
/* Of a stack; "?" if it is not known. */
const char *gm_replay_site(struct gm_replay_run *run, struct gm_stack_id stack);
