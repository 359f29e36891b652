/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline/join: a trace of torch.profiler beside the snapshot (docs/kineto.md). join_match.c finds
 * which memory event of the trace is which event of the snapshot, join_spans.c what operator, module and kernels belong
 * to it, join_shapes.c which shape gives a size, join_values.c which shape an operator's numbers give; join.c makes the
 * report of a device of that.
 */
#pragma once

#include "analyze/base/ascii.h"
#include "analyze/report/join.h"
#include "analyze/snapshot/profile.h"
#include "analyze/timeline/trace_pass.h"

/* What ran on a device, by the call that launched it. */
struct gm_join_kernel {
    uint32_t caller, span; /* spans of the profile: on the host; on the device */
};
struct gm_join_busy { /* a stretch without a gap, and how long all before it are */
    int64_t from_ns, to_ns, before_ns;
};

struct gm_join { /* shared by all devices */
    const struct gm_profile *p;
    const struct gm_snapshot *snapshot;
    struct gm_join_report *out;
    struct gm_arena *arena;
    uint32_t *memory_of; /* [snapshot->events.count]: row of p->memory, or GM_PROFILE_NONE */

    /* [p->spans.n], spans or GM_PROFILE_NONE: the operator that something in it belongs to, the module or annotation,
     * and where that is of a forward that this is the backward of. */
    uint32_t *operation, *module;
    uint8_t *is_backward;
    struct GM_VEC(struct gm_join_kernel) kernels; /* by caller */
    int64_t *kernel_ns;                           /* [kernels.n + 1]: of those before */
    int64_t bounds_ns[2];                         /* the trace's first and last memory event */
};

/* The memory event of an allocation, or GM_PROFILE_NONE. */
static inline uint32_t gm_join_memory_of(const struct gm_trace_pass *pass, size_t a)
{
    const struct gm_history *h = &pass->history;
    return h->born[a] == 0 || h->born[a] == GM_NEVER ? GM_PROFILE_NONE
                                                     : pass->join->memory_of[h->first + h->born[a] - 1];
}

/* A string of the profile for the report; NULL stays NULL. false: no memory. */
static inline bool gm_join_tell(const struct gm_join *join, uint32_t string, const char **out)
{
    size_t n;
    *out = string == GM_PROFILE_NONE ? NULL : gm_clean_copy(join->arena, gm_profile_string(join->p, string, &n));
    return string == GM_PROFILE_NONE || *out != NULL;
}

/* join_events.c: fills out->events, if the options want them. false: no memory. */
bool gm_join_events(const struct gm_trace_pass *pass, struct gm_join_device *out);

/* join_match.c: fills memory_of and what `out` says of the two files. false: no memory. */
bool gm_join_match(struct gm_join *join);
/* What the trace's clock showed at a time of the snapshot's, on the clock of spans; and whether it ran then. */
int64_t gm_join_trace_ns(const struct gm_join *join, int64_t time_us);

/* join_spans.c. false: no memory. */
bool gm_join_spans(struct gm_join *join);
/* The kernels that were launched in a host span: rows [*first, returned) of join->kernels. */
size_t gm_join_kernels_in(const struct gm_join *join, uint32_t span, size_t *first);
/* When something ran on a device, in order and disjoint, in *busy (freed by the caller). false: no memory. */
bool gm_join_busy(const struct gm_join *join, int64_t device, struct gm_join_busy **busy, size_t *count);

/* Whether an operator's name is one of these of aten::, a list that ends with NULL. */
static inline bool gm_join_is_aten(const char *name, size_t length, const char *const *names)
{
    return gm_begins_with(name, length, "aten::") && gm_is_one_of_texts(name + 6, length - 6, names);
}

/* join_values.c: the shape of what an operator makes by its numbers, "Concrete Inputs". */
enum { GM_JOIN_DIMS = 8 };
struct gm_join_shape {
    uint64_t dims[GM_JOIN_DIMS];
    size_t n;
};
struct gm_join_operator {
    const char *name, *values; /* of which the latter is as the profile has it */
    size_t name_length, values_length;
    const struct gm_join_shape *inputs; /* those of its tensors; one at least can be read, whatever the count */
    size_t input_count;
};
struct gm_join_made {
    struct gm_join_shape shape;
    uint64_t extent; /* numbers from the first to the last, if strides are told, else 0 */
    int type;        /* PyTorch's number of what is made (c10::ScalarType); -1: not told */
    bool is_free;    /* no tensor tells it, either: it is what the program has set as usual */
};
/* false: no number tells it. */
bool gm_join_by_values(const struct gm_join_operator *op, struct gm_join_made *made);

/* join_shapes.c: the formula of `bytes` by the shapes of the operators around a span, up to and with the operation; in
 * the arena, NULL in *formula: none. false: no memory. */
bool gm_join_explain(const struct gm_join *join, uint32_t span, uint64_t bytes, const char **formula);
