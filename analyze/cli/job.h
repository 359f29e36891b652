/* SPDX-License-Identifier: Apache-2.0
 *
 * One snapshot, from file to run directory. Jobs are independent of each other and may run in any thread; what a job
 * has to say is kept until its turn comes, so that output is in the order of the operands.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/cli/analyze_options.h"
#include "analyze/cli/run_files.h"
#include "analyze/export/notices.h"
#include "analyze/formats/load.h"
#include "analyze/run/run.h"
#include "analyze/run/run_names.h"

#include <stdatomic.h>
#include <stdbool.h>

enum gm_job_stage { GM_JOB_WAITS, GM_JOB_LOADS, GM_JOB_ANALYSES, GM_JOB_DRAWS, GM_JOB_WRITES, GM_JOB_DONE };

struct gm_job {
    const char *path;
    const char *shown;       /* what messages and reports call it; NULL: the path */
    char name[GM_NAME_SIZE]; /* of its run; of several, each has another one */
    bool is_one_of_several;  /* then its summary says which */
    atomic_int stage;        /* enum gm_job_stage; the rest but `reading` is the worker's until this says done */
    struct gm_load_progress reading;

    enum gm_status status;     /* GM_OK, GM_E_CHECK (both: a run directory was written), or why there is none */
    struct gm_text messages;   /* for stderr */
    struct gm_text summary;    /* for stdout, unless it should be quiet */
    struct gm_text explained;  /* for stdout, if --explain asks for it */
    struct gm_text json;       /* analysis.json */
    struct gm_notices notices; /* for --format */
    struct gm_run *run;        /* committed; NULL on failure */
};

/* Runs the whole job; sets stage GM_JOB_DONE last. */
void gm_job_run(struct gm_job *job, const struct gm_analyze_context *context);
void gm_job_free(struct gm_job *job);

/* What becomes of the jobs of one call: runs them in `threads` threads. Each is told and freed, in the order of the
 * operands, when it and those before it are done; at last `latest` and --json. Meanwhile a person who watches sees how
 * far it is. */
void gm_outcome_run(const struct gm_analyze_context *context, struct gm_job *jobs, size_t count, int threads);
/* The same of the snapshots at `paths`. are_several: there are others, perhaps in other calls, so that names and
 * summaries say which it is. GM_E_NOMEM. */
enum gm_status gm_outcome_of_paths(struct gm_analyze_context *context, char **paths, size_t count, bool are_several,
                                   struct gm_error *err);

/* ---- the parts of a job: what it leaves behind ------------------------------------------------------------------- */

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
