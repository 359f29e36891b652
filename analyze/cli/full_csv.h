/* SPDX-License-Identifier: Apache-2.0
 *
 * --csv-full: timeline.csv while the trace is walked, a row for each event, in bounded memory. The file needs a run
 * directory before the report is made, so the run begins with the first row; signals are held from then on.
 */
#ifndef GM_CLI_FULL_CSV_H
#define GM_CLI_FULL_CSV_H

#include "analyze/cli/gmanalyze.h"
#include "analyze/cli/job.h"

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
