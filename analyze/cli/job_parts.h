/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of one job: what it leaves behind (the files of its run directory, what it says on stdout), and the rest.
 */
#ifndef GM_CLI_JOB_PARTS_H
#define GM_CLI_JOB_PARTS_H

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/cli/analyze_options.h"
#include "analyze/cli/job.h"
#include "analyze/cli/run_files.h"
#include "analyze/report/report.h"
#include "analyze/snapshot/snapshot.h"
#include "analyze/timeline/trace_analyze.h"

/* The files into the job's run (begun here, unless --csv-full has begun it), which is then committed, or on failure
 * given up. */
enum gm_status gm_outputs_write(struct gm_job *job, const struct gm_analyze_context *context,
                                const struct gm_report *report, struct gm_run_files *files, struct gm_error *err);

/* --csv-full: timeline.csv while the trace is walked, a row for each event, in bounded memory. The file needs a
 * run directory before the report is made, so the run begins with the first row; signals are held from then on. */

struct gm_full_csv;

/* A receiver for the job's rows; NULL if there is no memory. */
struct gm_full_csv *gm_full_csv_new(struct gm_job *job, const struct gm_analyze_context *context);
/* What to give to the timeline. */
const struct gm_sample_sink *gm_full_csv_sink(const struct gm_full_csv *csv);
/* GM_OK, or why it no longer takes rows. */
enum gm_status gm_full_csv_status(const struct gm_full_csv *csv, struct gm_error *err);
/* After the analysis: the rows of states before event 0, and the end of the file. Nothing if there were no events. */
enum gm_status gm_full_csv_finish(struct gm_full_csv *csv, const struct gm_report *report, struct gm_error *err);
/* After everything else: a run whose file was not finished is given up, and signals are no longer held. NULL is fine.
 */
void gm_full_csv_free(struct gm_full_csv *csv);

#endif
