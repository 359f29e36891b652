/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline: what the passes share. trace_analyze.c runs them in order, for one device after the
 * other; each fills its part of gm_device_timeline. A pass returns false only if there is no memory. The folders below
 * are one question each: history (what belongs together, how large was it), steps, roles, peaks, fragmentation, join.
 */
#pragma once

#include "analyze/base/sources.h"
#include "analyze/state/categories.h"
#include "analyze/state/shown_names.h"
#include "analyze/timeline/history/history.h"
#include "analyze/timeline/trace_analyze.h"

#include <pthread.h>

struct gm_calls; /* modules/module_work.h */
struct gm_curves;
struct gm_join; /* join/join_work.h */
struct gm_parts;
struct gm_role_stacks;
struct gm_step_work; /* steps/step_work.h */
struct gm_window;
struct gm_watch; /* fragmentation and out-of-memory: what the watcher saw; fragmentation.h */

/* An annotation of the program, and the one around it (+ 1; 0: none). Profiler steps, which number what repeats, are
 * none of them. */
struct gm_named_range {
    struct gm_string_id name;
    uint32_t around;
};

/* From this event on, up to the next change, `range` (+ 1; 0: none) is the innermost annotation. */
struct gm_range_change {
    uint32_t event, range;
};

/* One device while it is analysed. */
struct gm_trace_pass {
    const struct gm_snapshot *snapshot;
    const struct gm_timeline_options *options;
    struct gm_report *report;
    struct gm_names *names;             /* shared by all devices */
    struct gm_role_stacks *role_stacks; /* likewise; roles/role_work.h */
    size_t index;                       /* of the device in report->devices */
    struct gm_history history;
    struct gm_device_timeline *out; /* report->timelines[index], while it is being filled */
    struct gm_peak *peak;           /* report->peaks[index] likewise */
    struct gm_watch *watch;
    struct gm_watcher watcher; /* it, for the history */
    struct gm_curves *curves;  /* between gm_trace_begin_curves and gm_trace_curves */
    struct gm_parts *parts;    /* between gm_trace_part_levels and gm_trace_parts */
    struct gm_join *join; /* shared by all devices; NULL: there is no trace of torch.profiler beside the snapshot */

    pthread_t reader; /* while is_read: of options->reader */
    bool is_read;
    struct gm_calls *calls;          /* between gm_trace_calls and gm_trace_modules */
    struct gm_step_work *step_work;  /* between gm_trace_find_steps and gm_trace_steps */
    uint8_t *phase;                  /* gm_phase_of each event, from steps.c; NULL: phases are not known */
    struct gm_kept_step *kept_steps; /* if options->keep is set: all steps */
    size_t kept_step_count;
    struct gm_settled settled; /* likewise */
    struct gm_named_range *ranges;
    struct gm_range_change *range_changes; /* the innermost annotation around the events; gm_trace_range_at */
    size_t range_change_count;
    uint16_t *category;       /* [history.allocation_count] of options->rules; NULL: gm_category_of asks */
    uint8_t *role;            /* [history.allocation_count], from roles.c: index in its table */
    uint8_t *reason;          /* likewise: why */
    uint8_t *hidden;          /* [history.allocation_count] left out by --stream or --min-size; NULL: none */
    struct gm_window *window; /* shared by all devices; trace_analyze.c */
    uint32_t from, to; /* the window of moments that peaks are looked for in, inclusive; 0 .. count without filters */
    uint32_t peak_moment; /* of requested bytes, in the window; from curves.c */
    uint32_t peak_active_moment;
};

/* The row of out->steps.rows that has the event, or GM_NEVER: it is between them. */
static inline uint32_t gm_trace_step_at(const struct gm_trace_pass *pass, uint64_t event)
{
    const struct gm_steps *steps = &pass->out->steps;
    size_t row = 0;
    GM_BISECT(row, steps->row_count, i, steps->rows[i].last_event < event);
    return row < steps->row_count && steps->rows[row].first_event <= event ? (uint32_t)row : GM_NEVER;
}

/* The innermost annotation around the event, + 1; 0: none. */
static inline uint32_t gm_trace_range_at(const struct gm_trace_pass *pass, uint32_t event)
{
    size_t after = 0;
    GM_BISECT(after, pass->range_change_count, i, pass->range_changes[i].event <= event);
    return after == 0 ? 0 : pass->range_changes[after - 1].range;
}

static inline bool gm_is_hidden(const struct gm_trace_pass *pass, size_t allocation)
{
    return pass->hidden != NULL && pass->hidden[allocation];
}

/* The category of an allocation; where only those at the peak are asked for, looked up. */
static inline uint32_t gm_category_of(const struct gm_trace_pass *pass, size_t allocation)
{
    return pass->category != NULL
               ? pass->category[allocation]
               : gm_classify(pass->options->classifier, (struct gm_stack_id){gm_stack_of(&pass->history, allocation)});
}

/* The role of an allocation, GM_ROLE_UNKNOWN while roles are not known. */
static inline uint8_t gm_role_of(const struct gm_trace_pass *pass, size_t allocation)
{
    return pass->role == NULL ? (uint8_t)GM_ROLE_UNKNOWN : pass->role[allocation];
}

/* The line of the sources at a place of the program, if there are any: gm_sources_line. false: no memory. */
static inline bool gm_trace_source(struct gm_trace_pass *pass, const char *file, uint64_t line, const char **text,
                                   const char **note)
{
    return pass->options->sources == NULL || file == NULL || line == GM_REPORT_NONE ||
           gm_sources_line(pass->options->sources, &pass->report->arena, file, line, text, note, NULL) == GM_OK;
}

/* The event that led to a moment, for a report. */
static inline uint64_t gm_event_of_moment(uint32_t moment)
{
    return moment == 0 ? GM_REPORT_NONE : moment - 1;
}

/* The state before event 0, of the allocations that are not hidden. */
static inline struct gm_sums gm_sums_start(const struct gm_trace_pass *pass)
{
    struct gm_sums s = {.reserved = pass->history.reserved_at_start};
    for (size_t a = 0; a < pass->history.allocation_count; a++)
        if (!gm_is_hidden(pass, a))
            gm_sums_hold(&s, &pass->history, a, 0);
    return s;
}

/* One change. A change of a hidden allocation is none. */
static inline void gm_sums_apply(struct gm_sums *s, const struct gm_trace_pass *pass, const struct gm_change *c)
{
    const struct gm_history *h = &pass->history;
    uint32_t a = c->allocation;
    if (c->kind == GM_CHANGE_SEGMENT)
        s->reserved += c->reserved;
    if (c->kind > GM_CHANGE_FREE || gm_is_hidden(pass, a))
        return;
    const gm_i128 requested = gm_requested(h, a), block = gm_block_bytes(h, a);
    switch (c->kind) {
    case GM_CHANGE_ALLOC:
        s->requested += requested;
        s->allocated += block;
        s->active += block;
        return;
    case GM_CHANGE_LET_GO:
        s->allocated -= block;
        return;
    default:
        s->requested -= requested;
        s->active -= block;
        s->allocated -= gm_let_go(h, a) == c->event + 1 ? block : 0;
        return;
    }
}

/* What the watcher of the history saw, for the passes of fragmentation/. Fills *watcher for gm_history_build(history,
 * snapshot); `history` is not read before. `sees_only_ooms`: no growths, no samples. NULL: no memory. */
struct gm_watch *gm_watch_new(struct gm_watcher *watcher, const struct gm_history *history,
                              const struct gm_snapshot *snapshot, bool sees_only_ooms);
void gm_watch_free(struct gm_watch *watch);
/* The rules of roles/, and what they said so far. NULL: no memory. The rules are compiled in, so there is nothing else
 * that could fail. */
struct gm_role_stacks *gm_role_stacks_new(const struct gm_snapshot *snapshot);
void gm_role_stacks_free(struct gm_role_stacks *stacks);

/* The passes, in the order in which they run. */
/* The first needs only the events that belong together, not block bytes; with what it found goes on the second. */
bool gm_trace_find_steps(struct gm_trace_pass *pass);
bool gm_trace_steps(struct gm_trace_pass *pass); /* steps/: steps, phases, bands, pattern */
/* steps/: whether it is that of autograd's threads: empty, or what chooses kernels (PyTorch 2.15) is all that called
 * it. */
bool gm_stack_is_of_engine(const struct gm_snapshot *snapshot, struct gm_stack_id stack);
static inline bool gm_has_window(const struct gm_timeline_options *options)
{
    return options->from.kind != GM_PLACE_NONE || options->to.kind != GM_PLACE_NONE;
}
/* window.c: --from and --to, if there are any, as pass->from and pass->to. GM_E_USAGE if one of them is nowhere in this
 * device's trace. */
enum gm_status gm_trace_window(struct gm_trace_pass *pass, struct gm_error *err);
bool gm_trace_filter(struct gm_trace_pass *pass, bool has_window); /* window.c: what the command line left out */
void gm_trace_forget_steps(struct gm_trace_pass *pass);            /* frees step_work; fine if there is none */
void gm_trace_ask_roles(struct gm_trace_pass *pass); /* early: what gm_trace_roles will ask of stacks is remembered */
bool gm_trace_roles(struct gm_trace_pass *pass);     /* roles/: role and reason of every allocation */
/* curves.c: all four peaks, the curve, samples; part_curves.c: curves of streams and pools. Both walks over the levels
 * need only what gm_trace_begin_curves made, and the window, and may run beside other passes; the others follow them.
 */
bool gm_trace_begin_curves(struct gm_trace_pass *pass);
bool gm_trace_levels(struct gm_trace_pass *pass);
bool gm_trace_part_levels(struct gm_trace_pass *pass); /* after those */
bool gm_trace_curves(struct gm_trace_pass *pass);
void gm_trace_forget_curves(struct gm_trace_pass *pass); /* fine if there are none; likewise the next */
void gm_trace_forget_parts(struct gm_trace_pass *pass);
bool gm_trace_peak(struct gm_trace_pass *pass);         /* peaks/: the live set at the peak, next peaks, what-if-gone */
bool gm_trace_role_reasons(struct gm_trace_pass *pass); /* role_report.c: what each reason decided; after the peak */
bool gm_trace_flame(struct gm_trace_pass *pass);        /* peaks/ */
bool gm_trace_calls(struct gm_trace_pass *pass);   /* modules/: which call of a module made what, by the stacks alone */
bool gm_trace_modules(struct gm_trace_pass *pass); /* modules/: by module, operator and annotation */
void gm_trace_forget_calls(struct gm_trace_pass *pass);  /* frees pass->calls; fine if there are none */
bool gm_trace_ooms(struct gm_trace_pass *pass);          /* fragmentation/ */
bool gm_trace_fragmentation(struct gm_trace_pass *pass); /* fragmentation/ */
bool gm_trace_map(struct gm_trace_pass *pass);           /* peaks/ */
bool gm_trace_parts(struct gm_trace_pass *pass);
bool gm_trace_reconciliation(struct gm_trace_pass *pass); /* reconciliation.c */
bool gm_trace_serving(struct gm_trace_pass *pass);        /* serving.c; after out-of-memory */
bool gm_trace_dims(struct gm_trace_pass *pass);           /* dims/: sizes explained by a transformer's dimensions */
bool gm_trace_join(struct gm_trace_pass *pass);           /* join/: what operators made, by a trace of torch.profiler */
/* memory_stats.c */
bool gm_trace_memory(struct gm_trace_pass *pass, struct gm_memory_summary *out);
/* join/: before all devices, whose passes share it; gm_join_free, whatever failed. After them: whose operator each row
 * of top_blocks is. */
bool gm_join_new(struct gm_join **join, struct gm_report *report, const struct gm_snapshot *snapshot,
                 const struct gm_snapshot *beside);
void gm_join_free(struct gm_join *join);
bool gm_trace_join_blocks(struct gm_trace_pass *passes, size_t count);
/* After all devices: report->roles, and the role of each row of top_blocks. */
bool gm_trace_state_roles(struct gm_report *report, const struct gm_trace_pass *passes);

/* amounts[n] as slices in the report's arena, empty ones left out, most bytes first, ties by name. NULL: no memory. */
const struct gm_slice *gm_role_slices(struct gm_arena *arena, const struct gm_amount amounts[GM_ROLE_COUNT],
                                      size_t *slice_count);
