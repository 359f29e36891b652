/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of gmtrace share.
 */
#ifndef GM_HANDOVER_CLI_GMTRACE_H
#define GM_HANDOVER_CLI_GMTRACE_H

#include "analyze/base/text.h"
#include "analyze/cli/options.h"
#include "analyze/document/document.h"
#include "analyze/timeline/trace_analyze.h"

#include <stdbool.h>

enum gm_verb { GM_VERB_INFO, GM_VERB_CUT, GM_VERB_REDACT, GM_VERB_COUNT };
extern const char *const gm_verb_names[]; /* up to a NULL */

struct gm_verb_options {
    struct gm_usual_options usual; /* json, categories, device, max_memory, salvage, quiet, verbose */
    enum gm_verb verb;             /* the first operand, by gm_trace_program's check */
    struct gm_place from, to;
    bool to_peak;
    const char *output, *salt, *kept; /* NULL: not given */
    struct gm_texts packages;
};
#define GM_VERB_DEFAULTS                                                                                               \
    {                                                                                                                  \
        .usual.device = -1                                                                                             \
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

#endif
