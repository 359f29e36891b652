/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the step code: is what repeats a step, or the layers inside of one? And where does a round begin?
 */
#ifndef GM_TIMELINE_STEP_NEST_H
#define GM_TIMELINE_STEP_NEST_H

#include "analyze/timeline/steps/period.h"
#include "analyze/timeline/steps/step_work.h"

/* NO: the stacks say that the loop runs inside of a module, a backward pass, an optimizer's step or the making of a
 * model. YES: they say that it does not. UNKNOWN: they say too little, or the loop may run inside of a module whose
 * other work the trace lacks. */
enum gm_loop_verdict { GM_LOOP_NO, GM_LOOP_UNKNOWN, GM_LOOP_YES };

/* *verdict of the loop that `p` found in w->allocs. false: no memory. */
bool gm_loop_judge(struct gm_step_work *w, const struct gm_period *p, enum gm_loop_verdict *verdict);

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

#endif
