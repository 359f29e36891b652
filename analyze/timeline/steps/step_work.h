/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the step code: what its parts hand to each other. First annotations become ranges of events; then one
 * source gives the spans that are steps; phases, rows, bands and the pattern follow from those.
 */
#ifndef GM_TIMELINE_STEP_WORK_H
#define GM_TIMELINE_STEP_WORK_H

#include "analyze/base/vec.h"
#include "analyze/timeline/levels.h"
#include "analyze/timeline/steps/step_classify.h"
#include "analyze/timeline/trace_pass.h"

/* An annotation's START and END, as the events between them. */
enum gm_range_kind { GM_RANGE_USER, GM_RANGE_PROFILER_STEP, GM_RANGE_OPTIMIZER_STEP, GM_RANGE_ZERO_GRAD };
struct gm_range {
    struct gm_string_id name;
    uint8_t kind;
    bool has_start, has_end; /* false: the annotation is not in the file, the trace's first or last event stands in */
    unsigned depth;
    uint64_t number;        /* of a profiler step */
    uint32_t first, last;   /* events; a range without events is not kept */
    int64_t from_us, to_us; /* GM_ABSENT_TIME without times */
};

/* An optimizer step in which nothing happened to memory: where its events would be. */
struct gm_idle_step {
    struct gm_string_id name;
    uint32_t at; /* the first event after it */
};

/* A step. */
struct gm_span {
    uint32_t first, last;
    uint64_t number;
    struct gm_string_id label; /* an annotation's name; absent: "step N" */
    double fraction;           /* of a step that the trace has: below 1 if it is cut off */
};

/* The allocations of the trace in order, as the period and the alignment of steps look at them. */
struct gm_alloc_list {
    uint32_t *event; /* [count] */
    uint32_t *stack; /* [count] */
    size_t count;
};

struct gm_step_work {
    struct gm_trace_pass *pass;
    struct gm_stack_classes classes;
    struct gm_alloc_list allocs;
    struct GM_VEC(struct gm_range) ranges;   /* by first event, the longer first */
    struct GM_VEC(struct gm_idle_step) idle; /* ascending */
    struct GM_VEC(struct gm_span) spans;     /* in order, disjoint */
    const char *source;
    double period_events;
    int certainty;
    bool is_training;               /* somebody runs backward or an optimizer */
    bool has_stacks;                /* of allocations, with frames */
    uint64_t *span_end, *span_peak; /* [spans.n] requested bytes; from the rows */
    uint64_t *span_active;          /* [spans.n] highest active bytes */
    gm_i128 level_before;           /* requested bytes before the first span */
    uint64_t capacity;              /* of the device, from an oom; GM_REPORT_NONE */
};

/* The parts, in order. Each returns false only if there is no memory. */
bool gm_step_ranges(struct gm_step_work *w);                     /* step_ranges.c: annotations */
bool gm_step_spans(struct gm_step_work *w);                      /* step_spans.c: the steps, from the best source */
bool gm_step_phases(struct gm_step_work *w);                     /* phase_events.c: pass->phase */
bool gm_step_rows(struct gm_step_work *w);                       /* step_rows.c: out->steps.rows, pass->step */
bool gm_step_bands(struct gm_step_work *w);                      /* step_bands.c */
bool gm_step_names(struct gm_step_work *w);                      /* step_names.c: pass->range, pass->ranges */
bool gm_step_pattern(struct gm_step_work *w);                    /* pattern.c */

/* step_ends.c: steps from events that end them (the ends of optimizer steps), ascending. */
bool gm_spans_from_ends(struct gm_step_work *w, const uint32_t *ends, size_t count);
/* step_loop.c: steps from the period of the allocations. Leaves no spans if there is none. */
bool gm_spans_from_period(struct gm_step_work *w);

/* The first allocation in allocs at or after `event`. */
size_t gm_alloc_at(const struct gm_alloc_list *allocs, uint32_t event);

/* Call sites by a number of bytes per stack, most first, equal labels summed; the largest few. */
bool gm_site_rows(struct gm_trace_pass *pass, const int64_t *bytes, const int64_t *blocks,
                  const struct gm_group_row **rows, size_t *count);

/* pattern.c: fills out->steps.survivors, of the spans [first, last]. */
bool gm_pattern_survivors(struct gm_step_work *w, size_t first, size_t last);
/* The call site that holds most bytes more at moment `after` than at `before`; NULL if none does. */
bool gm_pattern_gained(struct gm_step_work *w, uint32_t before, uint32_t after, const struct gm_group_row **row);

#endif
