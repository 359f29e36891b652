/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept for too long: find_kept_over_rounds.c has the rules, and what outlives its round; find_kept_in_round.c
 * what is kept within one.
 */
#pragma once

#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

enum {
    GM_LEAST_FEATURES = 4,  /* outputs of layers, in a round */
    GM_WORKSPACE_EVENTS = 2 /* that it is there */
};

/* A backward pass: its first and its last event. */
struct gm_backward {
    uint32_t from, to;
};

/* A number that no module makes, or one for losses: a module may be a whole step. */
bool gm_is_loss(const struct gm_lives *l, size_t a);
/* Whether it is made in every round to be done with: not what a run keeps by intent. */
bool gm_is_of_round(const struct gm_lives *l, size_t a);
/* A graph that is not retained goes with the first backward pass after it, the last tensor first. Returns when the pass
 * of the first of them ends; GM_NEVER: there is none. */
uint32_t gm_go_with_backward(struct gm_case *c, struct gm_set *set);

/* Losses of several batches are added up before one backward pass: a choice, as they may hang together. */
void gm_find_sum(struct gm_case *c, const struct gm_rule *rule);
/* Graphs of calls of a model of which no backward pass ever uses any: of a few that are there at the peak. */
void gm_unused_passes(struct gm_case *c, struct gm_set *set);
/* find_inference.c: those, and graphs that no backward pass uses and that go at once. */
void gm_unused_graphs(struct gm_case *c, struct gm_set *set);
/* [gm_stack_id] Stacks of a call of a model of whose making no backward pass gives up anything, as an evaluation's; the
 * caller frees them. NULL: no memory. */
bool *gm_calls_without_graph(const struct gm_lives *l);
/* Something is collected in a loop inside of a round: a rollout. Each would go when the next one is made. */
void gm_find_collected(struct gm_case *c, const struct gm_rule *rule);

/* find_training.c. Gradients of several backward passes, there at once: something collects them. */
void gm_find_kept_gradients(struct gm_case *c, const struct gm_rule *rule);
/* Graphs that stay in their own round: what backward() has used is there while another forward pass runs. */
void gm_find_retained_in_round(struct gm_case *c, const struct gm_rule *rule);

/* Whether nobody trains, and each round goes on from the graph of the one before, as a sampler's steps do: no loss
 * holds what is left of them. */
bool gm_goes_on(struct gm_case *c);

/* In training, what several layers made in a round that a backward pass has used, and that is there later: what piles
 * up would go with the graph, which may need it. Where nothing is trained, what piles up only. */
void gm_kept_features(struct gm_case *c, struct gm_set *set);
/* The same of what several layers made in a call of a model, that no graph holds, and that is there long after the
 * call. */
void gm_kept_layers(struct gm_case *c, struct gm_set *set);
/* The rest of what is there at the peak and that rounds before it made, if it is much. */
void gm_find_outlived(struct gm_case *c, const struct gm_rule *rule);
