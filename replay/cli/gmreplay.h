/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of gmreplay share: the options, and what a run has found out.
 */
#ifndef GM_REPLAY_CLI_GMREPLAY_H
#define GM_REPLAY_CLI_GMREPLAY_H

#include "analyze/allocator/conf.h"
#include "analyze/base/arena.h"
#include "analyze/base/text.h"
#include "analyze/cli/bar.h"
#include "analyze/cli/options.h"
#include "analyze/cli/terminal.h"
#include "analyze/diagnose/ignore.h"
#include "analyze/document/document.h"
#include "analyze/snapshot/snapshot.h"
#include "analyze/state/shown_names.h"
#include "analyze/timeline/trace_analyze.h"
#include "replay/compute/compute_run.h"
#include "replay/regenerate/event_recorder.h"
#include "replay/trials/bound.h"
#include "replay/trials/trial.h"
#include "replay/verify/verify.h"
#include "replay/whatif/gpus.h"
#include "replay/whatif/whatif.h"

#include <stdatomic.h>

/* A progress bar on stderr, for a person at a terminal and only if the work takes longer than a second. */

enum gm_replay_stage {
    GM_REPLAY_READING,
    GM_REPLAY_ANALYSING,
    GM_REPLAY_REPLAYING,
    GM_REPLAY_SWEEPING,
    GM_REPLAY_FITTING
};

/* Zeroed: nothing is shown, and setting a stage does nothing but note it. */
struct gm_replay_progress {
    atomic_int stage;
    struct gm_search_progress searched; /* replays of the searches */
    const char *path;
    struct gm_bar bar;
};

/* Shows nothing if stderr is no terminal or no thread can be made. */
void gm_replay_progress_start(struct gm_replay_progress *progress, const struct gm_terminal *terminal,
                              const char *path);

enum gm_replay_backend { GM_REPLAY_SIM, GM_REPLAY_NULL, GM_REPLAY_CUDA, GM_REPLAY_CUDA_ASYNC };
extern const char *const gm_replay_backend_names[]; /* enum gm_replay_backend; up to a NULL */
const char *gm_replay_backend_name(enum gm_replay_backend backend);

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
    int64_t budget;   /* seconds of the searches; -1: not given, 0: none */
    struct gm_class_changes changes;
    int64_t members, steps; /* 0: not given */
    bool pace;
    enum gm_compute_mode compute;
};

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
};

struct gm_replay_device {
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
    struct gm_snapshot snapshot;
    struct gm_category_rules *rules;
    struct gm_ignore ignore; /* findings that are no fixes of --plan */
    struct gm_kept kept; /* a device of the report each, or of the trace */
    struct gm_report report;
    struct gm_arena arena;
    struct gm_names names;
    struct gm_conf recorded, conf;
    struct gm_text conf_text;
    const struct gm_gpu *gpu;
    uint64_t capacity;
    struct gm_changed_class changed[GM_CHANGES_MOST];
    struct gm_replay_device *devices; /* [device_count]; of those with events */
    size_t *device_of;                /* [device_count] index in kept */
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

/* replay_run.c: loads, replays. GM_E_CHECK is no error of it: see gm_replay_verdict. */
enum gm_status gm_replay_run(struct gm_replay_run *run, const char *path, struct gm_error *err);
void gm_replay_free(struct gm_replay_run *run);
/* Bytes that the replay may use; UINT64_MAX: as much as it likes. */
uint64_t gm_replay_capacity(const struct gm_replay_run *run);
/* Whether the device's memory is a given size. */
bool gm_replay_is_bounded(const struct gm_replay_run *run);
/* What a replay of device `index` asks for at the end of a recording that ended out of memory. NULL: nothing; the
 * recording did not end so, or with other sizes, repeated steps, or on a GPU it is not the same request. */
const struct gm_whatif_refused *gm_replay_refused(const struct gm_replay_run *run, size_t index);
/* A device's recording ended out of memory, and the replay did not: what else the program needs is not known. */
bool gm_replay_is_open(const struct gm_replay_run *run);
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
/* Why it is GM_VERDICT_UNKNOWN; a clause. */
const char *gm_replay_unknown_words(const struct gm_replay_run *run);
/* "PASS", "FAIL", "OOM"; NULL of the others. */
const char *gm_replay_verdict(const struct gm_replay_run *run);
double gm_replay_speed(const struct gm_replay_run *run); /* events per second; 0 if it took no time */
uint64_t
gm_replay_peak_reserved(const struct gm_replay_run *run); /* of the device with the highest, untraced ones too */
/* What a recording that ended out of memory needs to get any further, whatever the settings; 0: none did, or it is not
 * known. And the higher of both. */
uint64_t gm_replay_refused_need(const struct gm_replay_run *run);
uint64_t gm_replay_need(const struct gm_replay_run *run);

/* change_options.c: finds the classes of --scale and --drop (GM_E_USAGE if one is unknown), and the bytes that each
 * request of device `index` asks for then. */
enum gm_status gm_replay_changes(struct gm_replay_run *run, struct gm_error *err);
bool gm_replay_change_requests(struct gm_replay_run *run, size_t index);
bool gm_value_scale(const char *text, void *value); /* a gm_option's parse: CLASS=FACTOR */
bool gm_value_drop(const char *text, void *value);  /* CLASS */

/* run_parts.c: the parts of device `index` into *options, if --csv, --members or --steps wants them. */
enum gm_status gm_replay_parts(struct gm_replay_run *run, size_t index, struct gm_whatif_options *options,
                               struct gm_error *err);
/* When a part ends, in microseconds; GM_REPORT_NONE without times. */
uint64_t gm_replay_part_time(const struct gm_replay_device *device, const struct gm_history *h, size_t part);
/* The recording goes on after the last step that is played. */
static inline bool gm_replay_stops_early(const struct gm_replay_device *device)
{
    return device->repetition.is_used && device->repetition.recorded < device->repetition.step + 1;
}
bool gm_replay_has_steps(const struct gm_replay_run *run); /* complete ones, on some device */

/* regenerated.c: writes the snapshot of what the model did; "-" is standard output. To be called once, last. */
enum gm_status gm_replay_write_snapshot(struct gm_replay_run *run, const char *path, struct gm_error *err);

/* untraced.c. false: no memory. */
bool gm_replay_find_untraced(struct gm_replay_run *run);
uint64_t gm_replay_most_untraced(const struct gm_replay_run *run);   /* bytes of one of them */
int64_t gm_replay_fullest_untraced(const struct gm_replay_run *run); /* that one; there is one */
void gm_replay_untraced(struct gm_doc *doc, const struct gm_replay_run *run);

/* replay_words.c, replay_json.c, replay_csv.c */
/* Appends `item` if the line has room for it; else on a new one, indented by `indent` and without the item's leading
 * blank. */
void gm_replay_put_item(struct gm_doc *doc, const char *item, size_t indent);
void gm_replay_words(struct gm_text *out, struct gm_replay_run *run, bool is_long);
void gm_replay_json(struct gm_text *out, struct gm_replay_run *run);
void gm_replay_csv(struct gm_text *out, struct gm_replay_run *run);

#endif
