/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the module code: whose the bytes at the peak are. Labels (tags.c, operators.c) name single allocations;
 * calls of modules (calls.c) are told apart by how the stacks of successive allocations follow each other, and become a
 * tree (tree.c); layers (module_layers.c) are sizes that repeat.
 */
#pragma once

#include "analyze/base/intern.h"
#include "analyze/base/vec.h"
#include "analyze/timeline/trace_pass.h"

/* Whether an allocation is among what the tables are of: live at the peak, and not left out. */
static inline bool gm_module_counts(const struct gm_trace_pass *pass, size_t allocation)
{
    return gm_history_is_active(&pass->history, allocation, pass->peak_moment) && !gm_is_hidden(pass, allocation);
}

/* Adds bytes of an allocation with this role. */
void gm_purposes_add(struct gm_purposes *use, uint8_t role, uint64_t bytes);
void gm_purposes_merge(struct gm_purposes *to, const struct gm_purposes *more);

/* ---- labels ----------------------------------------------------------------------------------------------------- */

/* What asked for the memory: "aten::addmm", or a function of a library, with where its code is. *label NULL: the stack
 * does not tell. false: no memory. */
bool gm_operator_of(struct gm_trace_pass *pass, struct gm_stack_id stack, const char **label, const char **detail);
/* Likewise the node of a compiled graph that a frame of the stack belongs to, with its place in the program. */
bool gm_graph_node_of(struct gm_trace_pass *pass, struct gm_stack_id stack, const char **label, const char **detail);

/* ---- calls of modules ------------------------------------------------------------------------------------------- */

/* A place in the tree: the line `caller` of a module's (or nobody's) code calls the function `callee`. */
struct gm_call_node {
    uint32_t parent;         /* 0: the root */
    uint32_t caller, callee; /* gm_frame_id; of the callee any frame of its function */
    uint32_t round, calls;   /* so many calls in the current call of the parent, whose number is `round` */
};
/* One call, in the order of the calls that the same call of its parent made: a layer. */
struct gm_module_call {
    uint32_t parent, node, number; /* [0] is the root's */
};
struct gm_calls {
    struct GM_VEC(struct gm_call_node) nodes;
    struct GM_VEC(struct gm_module_call) calls;
    struct gm_intern node_keys, call_keys;
    uint8_t *kind; /* [gm_frame_id] enum gm_module_frame, once asked */
    uint32_t *of;  /* [allocation] the innermost call that made it; 0: none */
};
/* Tells the calls of all allocations apart. false: no memory. Free also what failed. */
bool gm_calls_find(struct gm_calls *calls, struct gm_trace_pass *pass);
void gm_calls_free(struct gm_calls *calls);

/* What a frame is to that: module_frames.c. */
enum gm_module_frame {
    GM_FRAME_UNASKED,
    GM_FRAME_NATIVE,  /* not Python: passed over */
    GM_FRAME_CODE,    /* a function */
    GM_FRAME_CALL,    /* torch.nn.Module's call: what it calls is a module's code */
    GM_FRAME_BETWEEN, /* decorators and hooks' wrappers, which may stand between that and the module's code */
    GM_FRAME_CREATE   /* __init__: code of what is being made */
};
enum gm_module_frame gm_module_frame_of(struct gm_trace_pass *pass, uint32_t frame);
/* The frames of forward_frames, outermost first, as far as frames of the snapshot are the same; the number of them, at
 * most `most`. 0: there are none, or one is not known. */
struct gm_frame_index {
    struct gm_intern keys;
    struct GM_VEC(uint32_t) frames; /* [key] */
};
bool gm_frame_index_make(struct gm_frame_index *index, const struct gm_snapshot *s);
void gm_frame_index_free(struct gm_frame_index *index);
size_t gm_forward_frames(const struct gm_snapshot *s, struct gm_frame_index *index, uint32_t row, uint32_t *frames,
                         size_t most);

bool gm_module_tree(struct gm_trace_pass *pass);   /* tree.c */
bool gm_module_layers(struct gm_trace_pass *pass); /* module_layers.c */
