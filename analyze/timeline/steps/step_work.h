/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the step code: what its parts hand to each other. First annotations become ranges of events; then one
 * source gives the spans that are steps; phases, rows, bands and the pattern follow from those.
 */
#pragma once

#include "analyze/base/vec.h"
#include "analyze/timeline/history/history.h"
#include "analyze/timeline/trace_pass.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of a frame, from its function and file names. */
enum {
    GM_MARK_BACKWARD = 1 << 0,
    GM_MARK_FORWARD = 1 << 1,   /* a module is called, or the program says so */
    GM_MARK_OPTIMIZER = 1 << 2, /* inside an optimizer's code */
    GM_MARK_SETUP = 1 << 3,     /* a model is made, moved or loaded */
    GM_MARK_PREFILL = 1 << 4,
    GM_MARK_DECODE = 1 << 5,
    GM_MARK_GENERATE = 1 << 6,
    GM_MARK_PYTHON = 1 << 7,
    GM_MARK_ASKED = 1 << 8
};

/* The answer for a stack: one of the first four, and the flags that any of its frames has. */
enum {
    GM_STACK_PLAIN,
    GM_STACK_FORWARD,
    GM_STACK_BACKWARD,
    GM_STACK_OPTIMIZER,
    GM_STACK_KIND = 3,
    GM_STACK_PREFILL = 1 << 2,
    GM_STACK_DECODE = 1 << 3,
    GM_STACK_GENERATE = 1 << 4,
    GM_STACK_HAS_NATIVE = 1 << 5, /* frames that are not Python's */
    GM_STACK_HAS_PYTHON = 1 << 6,
    GM_STACK_ASKED = 1 << 7
};

struct gm_stack_classes {
    const struct gm_snapshot *snapshot;
    uint8_t *of_stack;      /* [gm_stack_id], made when asked for */
    uint16_t *of_name;      /* [gm_string_id] marks of a function name, made when asked for */
    uint16_t *of_file;      /* likewise of a file name */
    bool empty_is_backward; /* stacks are Python's, and the threads that run backward have none */
    bool *calls_backward;   /* [gm_string_id] functions that threads begin with which call it, and wait for it; */
    bool has_caller;        /* there is one */
};

bool gm_stack_classes_init(struct gm_stack_classes *c, const struct gm_snapshot *snapshot);
void gm_stack_classes_free(struct gm_stack_classes *c);

/* The marks of a frame. */
uint8_t gm_frame_marks(struct gm_stack_classes *c, struct gm_frame_id frame);
/* The answer for a stack; without frames GM_STACK_PLAIN, or, for one that is there but empty,
 * GM_STACK_BACKWARD if empty_is_backward. */
uint8_t gm_stack_classify(struct gm_stack_classes *c, uint32_t stack);
static inline uint8_t gm_stack_class(struct gm_stack_classes *c, uint32_t stack)
{
    return c->of_stack[stack] != 0 ? c->of_stack[stack] : gm_stack_classify(c, stack);
}
/* Whether it is of a thread that calls backward, also by torch.autograd.grad(): such a thread goes on only after it.
 * What backward calls itself (hooks) begins elsewhere. */
bool gm_stack_is_of_caller(const struct gm_stack_classes *c, uint32_t stack);
/* Asks for all stacks of the history's allocations once, and finds out whether a stack without frames is a sign. */
void gm_stack_classes_learn(struct gm_stack_classes *c, const struct gm_history *h);

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

/* What the stack of allocation i of the list says: GM_STACK_PLAIN ... GM_STACK_OPTIMIZER. */
static inline uint8_t gm_kind_at(struct gm_step_work *w, size_t i)
{
    return gm_stack_class(&w->classes, w->allocs.stack[i]) & GM_STACK_KIND;
}

/* The parts, in order. Each returns false only if there is no memory. */
bool gm_step_ranges(struct gm_step_work *w);  /* step_ranges.c: annotations */
bool gm_step_spans(struct gm_step_work *w);   /* step_spans.c: the steps, from the best source */
bool gm_step_phases(struct gm_step_work *w);  /* phase_events.c: pass->phase */
bool gm_step_rows(struct gm_step_work *w);    /* step_rows.c: out->steps.rows */
bool gm_step_bands(struct gm_step_work *w);   /* step_bands.c */
bool gm_step_names(struct gm_step_work *w);   /* likewise: pass->ranges, pass->range_changes */
bool gm_step_pattern(struct gm_step_work *w); /* pattern.c */

/* step_loop.c: steps from the period of the allocations. Leaves no spans if there is none. */
bool gm_spans_from_period(struct gm_step_work *w);

/* The first allocation in allocs at or after `event`. */
size_t gm_alloc_at(const struct gm_alloc_list *allocs, uint32_t event);

/* ---- the period of a sequence of symbols: candidates are the commonest distances between equal symbols; whether one
 * is right is counted over the whole sequence -------------------------------------------------------------------------
 */

enum { GM_PERIOD_SHORTEST = 8 };

/* The part of a sequence that repeats: symbols[i] == symbols[i + length] for `matches` of the i in [first, last). */
struct gm_period {
    size_t length;
    size_t first, last;
    size_t matches;
};

/* Candidate lengths, ascending; at most `most`. Symbols are below `symbol_count`. *count is 0 if nothing repeats.
 * false: no memory. */
bool gm_period_candidates(const uint32_t *symbols, size_t n, uint32_t symbol_count, size_t *lengths, size_t most,
                          size_t *count);
/* The longest dense part of the sequence that repeats after `length` (matches count 1, others against it); matches 0 if
 * it is shorter than `length`, that is, if it has not two whole periods. */
struct gm_period gm_period_measure(const uint32_t *symbols, size_t n, size_t length);

/* Percent of matches, rounded down. */
static inline int gm_period_certainty(const struct gm_period *p)
{
    return p->last <= p->first ? 0 : (int)(100 * p->matches / (p->last - p->first));
}

/* NO: the stacks say that the loop runs inside of a module, a backward pass, an optimizer's step or the making of a
 * model. YES: they say that it does not. UNKNOWN: they say too little, or the loop may run inside of a module whose
 * other work the trace lacks. */
enum gm_loop_verdict { GM_LOOP_NO, GM_LOOP_UNKNOWN, GM_LOOP_YES };

/* *verdict of the loop that `p` found in w->allocs. false: no memory. */
bool gm_loop_judge(struct gm_step_work *w, const struct gm_period *p, enum gm_loop_verdict *verdict);

/* Whether backward made it, also by a hook, which begins elsewhere than the thread that calls backward. */
bool gm_stack_is_of_backward(struct gm_step_work *w, uint32_t stack);

/* The Python frames of a stack, outermost first, at most `most`; returns how many. */
size_t gm_python_frames(struct gm_step_work *w, uint32_t stack, uint32_t *out, size_t most);

/* step_whole.c: what a loop does with memory, where stacks do not tell. */
struct gm_loop_body {
    double drift;  /* what a round leaves behind, or takes away, of what it rises by: much in layers whose activations
                      are kept or given back */
    bool is_whole; /* a round has what a layer has not: work besides an inner loop, or many of its blocks at once */
};
bool gm_loop_look(struct gm_step_work *w, const uint32_t *symbols, uint32_t symbol_count, const struct gm_period *p,
                  struct gm_loop_body *body);

/* step_round.c: where in the first round of the repeating part a round begins, as an index in w->allocs; SIZE_MAX: no
 * symbol comes once in each round. */
bool gm_round_beginning(struct gm_step_work *w, const uint32_t *symbols, uint32_t symbol_count,
                        const struct gm_period *period, size_t *beginning);
