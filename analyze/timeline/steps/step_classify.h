/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline: what a stack says about the phase that an allocation was made in.
 */
#ifndef GM_TIMELINE_STEP_CLASSIFY_H
#define GM_TIMELINE_STEP_CLASSIFY_H

#include "analyze/timeline/history/history.h"

/* What is known of a frame, from its function and file names. */
enum {
    GM_MARK_BACKWARD = 1 << 0,
    GM_MARK_FORWARD = 1 << 1,   /* a module is called, or the program says so */
    GM_MARK_OPTIMIZER = 1 << 2, /* inside an optimizer's code */
    GM_MARK_SETUP = 1 << 3,     /* a model is made, moved or loaded */
    GM_MARK_PREFILL = 1 << 4,
    GM_MARK_DECODE = 1 << 5,
    GM_MARK_GENERATE = 1 << 6,
    GM_MARK_PYTHON = 1 << 7
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
    uint8_t *of_stack; /* [gm_stack_id], made when asked for */
    uint8_t *of_name;  /* [gm_string_id] marks of a function name, and whether they are known */
    uint8_t *of_file;  /* likewise of a file name */
    bool *name_known, *file_known;
    bool empty_is_backward; /* stacks are Python's, and the threads that run backward have none */
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
/* Asks for all stacks of the history's allocations once, and finds out whether a stack without frames is a sign. */
void gm_stack_classes_learn(struct gm_stack_classes *c, const struct gm_history *h);

#endif
