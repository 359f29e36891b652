/* SPDX-License-Identifier: Apache-2.0
 *
 * What one job leaves behind: the files of its run directory, and what it says on stdout.
 */
#ifndef GM_CLI_OUTPUTS_H
#define GM_CLI_OUTPUTS_H

#include "analyze/cli/chart_threads.h"
#include "analyze/cli/gmanalyze.h"
#include "analyze/cli/job.h"
#include "analyze/cli/run_files.h"

/* All texts, as the options want them. What fails for want of memory is told by gm_outputs_write. */
void gm_outputs_make(struct gm_run_files *files, const struct gm_analyze_options *options,
                     const struct gm_report *report);
/* Charts and texts into the job's run (begun here, unless --csv-full has begun it), which is then committed, or on
 * failure given up. `charts` is NULL if none are wanted, and has none after that. */
enum gm_status gm_outputs_write(struct gm_job *job, const struct gm_analyze_context *context,
                                const struct gm_report *report, struct gm_run_files *files, struct gm_charts *charts,
                                struct gm_error *err);

#endif
