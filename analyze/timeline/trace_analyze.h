/* SPDX-License-Identifier: Apache-2.0
 *
 * What the trace says about the run before the snapshot: snapshot in, more of the report model out.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/report/report.h"
#include "analyze/snapshot/snapshot.h"
#include "analyze/timeline/history/history.h"

struct gm_category_rules; /* analyze/state/categories.h */
struct gm_classifier;     /* likewise */
struct gm_sources;        /* analyze/base/sources.h */

/* A place in the trace, as --from and --to name it. */
enum gm_place_kind { GM_PLACE_NONE, GM_PLACE_EVENT, GM_PLACE_TIME, GM_PLACE_STEP };
struct gm_place {
    enum gm_place_kind kind;
    uint64_t value; /* an event number, microseconds since the first event with a time, or a step's number */
};
enum gm_axis { GM_AXIS_CHOSEN, GM_AXIS_TIME, GM_AXIS_EVENT };
enum gm_layers_by { GM_LAYERS_BY_ROLE, GM_LAYERS_BY_CATEGORY };
enum gm_group_by { GM_GROUP_NONE, GM_GROUP_STACK, GM_GROUP_FUNCTION, GM_GROUP_FILE, GM_GROUP_CATEGORY, GM_GROUP_ROLE };

/* Called with the books after every event of a device, in order. false stops the calls (the receiver has failed). */
struct gm_sample_sink {
    void *self;
    bool (*put)(void *self, int64_t device, const struct gm_sample *sample);
};

/* Roles by number, for those who sum by them. */
enum gm_role {
    GM_ROLE_PARAMETER,
    GM_ROLE_GRADIENT,
    GM_ROLE_OPTIMIZER_STATE,
    GM_ROLE_ACTIVATION,
    GM_ROLE_TEMPORARY,
    GM_ROLE_WORKSPACE,
    GM_ROLE_KV_CACHE,
    GM_ROLE_COMMUNICATION,
    GM_ROLE_INPUT,
    GM_ROLE_UNKNOWN,
    GM_ROLE_COUNT
};

/* What the passes found out about each allocation of a device, for those who go on from there (replay). */
struct gm_kept_device {
    struct gm_history history;
    uint16_t *category; /* [history.allocation_count] of the rules */
    uint8_t *role;      /* [history.allocation_count] enum gm_role */
    uint8_t *phase;     /* gm_phase_of each event; NULL: phases are not known */
    struct gm_kept_step {
        uint64_t number;
        uint32_t first, last; /* events */
        bool is_partial;      /* an end of the trace cuts it off */
    } * steps;                /* all of them, in order, disjoint */
    size_t step_count;
    uint32_t from, to; /* the moments of --from and --to; all of the trace where it has no such place */
    struct gm_settled settled;
};
struct gm_kept { /* one for each device of the report, in its order; zero-initialise */
    struct gm_kept_device *v;
    size_t count;
};
void gm_kept_free(struct gm_kept *kept);
/* The code of a module that made each allocation, and the line that called it: "gpt.py:36 > attention.py". */
struct gm_module_places { /* in an arena */
    uint32_t *of;         /* [history.allocation_count] index in `name`; 0: it was made in no module's code */
    const char **name;    /* [count] */
    uint32_t count;
};
struct gm_names; /* analyze/state/shown_names.h */
/* false: no memory. Takes a walk over the trace. */
bool gm_kept_modules(struct gm_module_places *places, const struct gm_kept_device *kept, struct gm_names *names,
                     struct gm_arena *arena);

const char *gm_role_name(size_t role); /* "Optimizer state" */
uint32_t gm_role_color(size_t role);   /* 0xRRGGBB */
/* Whether a run makes it once and has it from step to step: parameters, their gradients, optimizer state. */
bool gm_role_lasts(size_t role);

/* What the command line says of a run that serves a model; zeroed: nothing. */
struct gm_serving_wishes {
    const char *card;           /* NULL: none */
    uint64_t capacity;          /* of it: bytes that a process can have */
    uint64_t tokens, sequences; /* that the KV cache has room for; that are served at once */
};

/* --dims: what the command line says of a transformer; what it leaves out is inferred. */
struct gm_wanted_dims {
    bool is_wanted;
    struct gm_dims dims;
};
/* "infer", or "batch=4,hidden=512". A `parse` of options.h. */
bool gm_dims_parse(const char *text, void *value);
void gm_dims_words(struct gm_text *out); /* "infer", "batch=" ...: a line each */

/* Who reads the history of a device while passes do: in a thread of its own, from when levels are known. */
struct gm_history_reader {
    void (*read)(void *self, struct gm_history *history);
    void *self;
};
/* Who begins to, in threads of its own, when the history is reconstructed, and may go on when the passes are over and
 * `keep` has what the history points to. `wait`: before that is freed, where the analysis fails. */
struct gm_history_follower {
    void (*begin)(void *self, const struct gm_history *history);
    void (*wait)(void *self);
    void *self;
};

struct gm_timeline_options {
    const struct gm_category_rules *rules;
    struct gm_classifier *classifier; /* of these rules and the snapshot */
    size_t top;                       /* rows of the longer tables */
    struct gm_place from, to;         /* peaks and tables are of [from, to] only; the books are always of all */
    int64_t stream;                   /* allocations of this stream only (the file's handle) ... */
    bool has_stream;                  /* ... if this is set */
    uint64_t min_size;                /* allocations of at least so many requested bytes only */
    enum gm_axis axis;                /* of the curves; CHOSEN: time, unless nearly all events crowd in little of it */
    enum gm_layers_by layers_by;      /* what the curves' layers are; without roles, categories */
    enum gm_group_by group;
    struct gm_sources *sources; /* of which lines are shown beside places; NULL: none */
    size_t depth;               /* frames of a stack that --group stack and the flame graph tell apart; 0: all */
    bool has_native;            /* the flame graph has C++ frames below Python's too */
    const struct gm_sample_sink *every_event; /* NULL: not wanted */
    struct gm_serving_wishes serving;
    struct gm_wanted_dims dims;
    const struct gm_snapshot *beside; /* a trace of torch.profiler, loaded (report->join); NULL: none */
    bool wants_joined;                /* each allocation with what it tells (gm_join_device.events) */
    struct gm_kept *keep;             /* likewise; filled if the analysis succeeds, gm_kept_free */
    bool is_brief;                    /* peaks, steps, roles and what is kept, without what only a whole report tells */
    bool has_peaks_only;              /* of what is brief peaks with their categories, and phases: no roles, no curves,
                                       * no call sites, no steps but those that phases need, without what they hold */
    const struct gm_history_reader *reader;     /* not called for a short trace; NULL: none */
    const struct gm_history_follower *follower; /* likewise, and only with `keep` */
};

/* Adds to a report that gm_state_analyze made of the same snapshot: peaks and timelines of every device with events,
 * roles of all. On failure (GM_E_NOMEM; GM_E_USAGE if from or to is nowhere in the trace) the report has none. */
enum gm_status gm_timeline_analyze(struct gm_report *report, const struct gm_snapshot *snapshot,
                                   const struct gm_timeline_options *options, struct gm_error *err);
/* State and trace for those who go on from there: a short report, and *kept (gm_kept_free). Of the options the rules
 * and what the command line says count; classifier, top and keep are set here. Errors as above. */
enum gm_status gm_timeline_keep(struct gm_report *report, struct gm_kept *kept, const struct gm_snapshot *snapshot,
                                const struct gm_timeline_options *options, struct gm_error *err);
