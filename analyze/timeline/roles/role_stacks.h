/* SPDX-License-Identifier: Apache-2.0
 *
 * What a stack says about the role of the block that it made. The rules are a text, default.roles, in the format of the
 * category rules; a kind of evidence is a "category" of it.
 */
#ifndef GM_TIMELINE_ROLE_STACKS_H
#define GM_TIMELINE_ROLE_STACKS_H

#include "analyze/snapshot/snapshot.h"

enum gm_says {
    GM_SAYS_NONE,  /* there is no stack */
    GM_SAYS_OTHER, /* there is one, and it tells nothing */
    GM_SAYS_EMPTY, /* a stack was taken, and it had no frames: a thread without Python, as autograd's */
    GM_SAYS_WORKSPACE,
    GM_SAYS_COMMUNICATION,
    GM_SAYS_KV_CACHE,
    GM_SAYS_OPTIMIZER_SETUP, /* code that makes the state of an optimizer */
    GM_SAYS_OPTIMIZER,
    GM_SAYS_RECOMPUTE, /* activation checkpointing runs a forward again in backward */
    GM_SAYS_ACCUMULATE,
    GM_SAYS_BACKWARD,
    GM_SAYS_LOADING,
    GM_SAYS_OBJECT, /* an object of the program makes it for itself */
    GM_SAYS_INPUT,
    GM_SAYS_FORWARD,
    GM_SAYS_COUNT
};

/* Rules and what they said so far; shared by all devices of a snapshot. */
struct gm_role_stacks;

/* NULL: no memory. The rules are compiled in, so there is nothing else that could fail. */
struct gm_role_stacks *gm_role_stacks_new(const struct gm_snapshot *snapshot);
void gm_role_stacks_free(struct gm_role_stacks *stacks);
enum gm_says gm_stack_ask(struct gm_role_stacks *stacks, struct gm_stack_id stack);

#endif
