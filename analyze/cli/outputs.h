/* SPDX-License-Identifier: Apache-2.0
 *
 * What one job leaves behind: the files of its run directory, and what it says on stdout.
 */
#ifndef GM_CLI_OUTPUTS_H
#define GM_CLI_OUTPUTS_H

#include "analyze/cli/chart_threads.h"
#include "analyze/cli/gmanalyze.h"
#include "analyze/cli/job.h"
#include "analyze/export/export.h"

/* The files that are not charts, complete and in memory. Zero-initialise. */
enum { GM_OUTPUTS = 5 + GM_EXPORT_COUNT };
struct gm_output {
    const char *file_name;
    struct gm_text text;
};
struct gm_outputs {
    struct gm_output v[GM_OUTPUTS];
    size_t n;
};

/* All texts, as the options want them. What fails for want of memory is told by gm_outputs_write. */
void gm_outputs_make(struct gm_outputs *outputs, const struct gm_analyze_options *options,
                     const struct gm_report *report);
/* Everything into the job's run (begun here, unless --csv-full has begun it), which is then committed, or on failure
 * given up. `charts` is NULL if none are wanted. */
enum gm_status gm_outputs_write(struct gm_job *job, const struct gm_analyze_context *context,
                                const struct gm_report *report, struct gm_outputs *outputs,
                                const struct gm_charts *charts, struct gm_error *err);
void gm_outputs_free(struct gm_outputs *outputs);

#endif
