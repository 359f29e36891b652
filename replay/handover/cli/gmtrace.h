/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of gmtrace share.
 */
#pragma once

#include "analyze/base/text.h"
#include "analyze/cli/call.h"
#include "analyze/cli/options.h"
#include "analyze/document/document.h"
#include "analyze/timeline/trace_analyze.h"
#include "replay/shrink/shrink.h"

#include <stdbool.h>

enum gm_verb { GM_VERB_INFO, GM_VERB_CUT, GM_VERB_REDACT, GM_VERB_SHRINK, GM_VERB_MERGE, GM_VERB_COUNT };
extern const char *const gm_verb_names[];

struct gm_verb_options {
    struct gm_usual_options usual; /* json, categories, device, max_memory, salvage, quiet, verbose */
    enum gm_verb verb;             /* the first operand, by gm_trace_program's check */
    struct gm_place from, to;
    bool to_peak;
    const char *output, *salt, *kept; /* NULL: not given */
    struct gm_texts packages;
    /* shrink */
    int goal;         /* enum gm_shrink_goal */
    double tolerance; /* percent */
    uint64_t memory;  /* UINT64_MAX: not given */
    const char *gpu, *script;
    int64_t replays, timeout; /* seconds */
    enum gm_shrink_join join;
    bool ranks, after_gap; /* merge */
};
#define GM_VERB_DEFAULTS                                                                                               \
    {                                                                                                                  \
        .usual.device = -1, .tolerance = 1, .memory = UINT64_MAX, .replays = 200000, .timeout = 120,                   \
        .join = GM_SHRINK_JOIN_SITE                                                                                    \
    }

extern const struct gm_program gm_trace_program;

/* A recording in memory, and what was found out about it. */
struct gm_recording {
    struct gm_snapshot snapshot;
    struct gm_report report;
    struct gm_kept kept; /* parallel to the report's devices */
};

/* What a recording holds, of which part may be cut. */
void gm_info_document(struct gm_text *out, enum gm_form form, const struct gm_recording *recording);

/* Not a trace of torch.profiler. */
enum gm_status gm_trace_load(struct gm_snapshot *out, const struct gm_verb_options *o, struct gm_call *call,
                             const char *path, struct gm_error *err);
/* A snapshot that shares texts and stacks with the recording, as one that has only what it needs: as a reader will find
 * it. */
enum gm_status gm_trace_settle(struct gm_snapshot *out, const struct gm_snapshot *made, struct gm_error *err);
/* Says itself what goes wrong. */
void gm_trace_write(struct gm_call *call, const struct gm_snapshot *snapshot, const char *path);
/* Words are for stdout, unless an output goes there. Frees the text. */
void gm_trace_tell(struct gm_call *call, const struct gm_verb_options *o, struct gm_text *text);

enum gm_status gm_trace_shrink(struct gm_recording *r, const struct gm_verb_options *o, struct gm_call *call,
                               struct gm_error *err);
/* All of it, with its messages: the traces up to a NULL as one. */
void gm_trace_merge(const struct gm_verb_options *o, struct gm_call *call, char *const *paths);
