/* SPDX-License-Identifier: Apache-2.0
 *
 * The runs that a program puts into memory.html: a trace each, and what analysis.json says of the file that it came
 * from.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/cli/call.h"
#include "analyze/cli/run_files.h"
#include "analyze/snapshot/snapshot.h"

struct gm_page_trace { /* zero-initialise; gm_page_trace_free */
    struct gm_text name, trace, query;
};

/* The snapshot as a .gmtrace, before it is freed. */
enum gm_status gm_page_trace_make(struct gm_page_trace *out, const struct gm_snapshot *snapshot, struct gm_error *err);
/* Who it is, each on one line as reports have it. */
void gm_page_trace_call(struct gm_page_trace *trace, const char *name, const char *path, const char *created);
void gm_page_trace_free(struct gm_page_trace *trace);

/* memory.html with those of the runs that have a trace, in their order. `rules`: of --categories. If it is one, and
 * its analysis.json is among the files, that is in it, too. What fails is told by whoever writes the files. */
void gm_page_add(struct gm_run_files *files, const struct gm_page_trace *const *traces, size_t count,
                 const struct gm_text *rules);

/* --viewer FILE: writes the empty page, or says that the program was built without it. */
void gm_page_put_empty(struct gm_call *call, const char *path);
/* That of the run directory `run` in the browser; what is in the way is told. */
void gm_page_open(struct gm_call *call, const char *run);
