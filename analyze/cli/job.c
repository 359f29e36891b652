/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/job.h"

#include "analyze/base/clock.h"
#include "analyze/cli/checks.h"
#include "analyze/cli/interrupt.h"
#include "analyze/cli/notice_files.h"
#include "analyze/export/export.h"
#include "analyze/lib/lib_analyze.h"
#include "analyze/report/report.h"
#include "analyze/snapshot/snapshot.h"
#include "analyze/sqlite/sqlite.h"

/* Seconds that each stage took, for -v. */
struct times {
    double load, analyse, draw, write;
};

/* What was read, and what comes of it. The snapshot and the histories are there until they have been replayed. */
struct work {
    struct gm_result *result; /* NULL: nothing could be read */
    struct gm_judged *judged; /* the result's */
    struct times times;
};

static const struct gm_snapshot *snapshot_of(const struct work *work)
{
    return &work->result->loaded[0]->snapshot;
}

static void forget_snapshot(struct work *work, bool is_late)
{
    gm_kept_free(&work->judged->kept);
    gm_result_forget(work->result);
    if (is_late)
        gm_call_give_back();
}

static double lap(double *since)
{
    double then = *since;
    *since = gm_seconds();
    return *since - then;
}

static const char *shown_path(const struct gm_job *job)
{
    return job->shown != NULL ? job->shown : job->path;
}

static struct gm_analysis analysis_of(const struct gm_job *job, const struct gm_analyze_context *context)
{
    const struct gm_shell *shell = context->shell;
    const bool is_idle = shell->fonts == NULL || shell->draws_late; /* else the other threads draw */
    return (struct gm_analysis){.options = &context->options,
                                .rules = shell->rules,
                                .ignore = &shell->ignore,
                                .shown = job->shown,
                                .name = job->name,
                                .when = shell->when,
                                .threads = is_idle ? (unsigned)context->draw_threads : 1};
}

/* `csv` may be NULL. */
static enum gm_status analyse(struct work *work, const struct gm_job *job, const struct gm_analyze_context *context,
                              struct gm_full_csv *csv, struct gm_error *err)
{
    const struct gm_analysis analysis = analysis_of(job, context);
    work->judged->reader = (struct gm_history_reader){gm_analyzed_read_history, work->result};
    enum gm_status status =
        gm_analysis_begin(work->judged, snapshot_of(work), &analysis, csv == NULL ? NULL : gm_full_csv_sink(csv), err);
    if (csv != NULL && gm_full_csv_status(csv, NULL) != GM_OK)
        return gm_full_csv_status(csv, err); /* that is why the timeline ended */
    return csv == NULL || status != GM_OK ? status : gm_full_csv_finish(csv, &work->judged->report, err);
}

static bool wants_sqlite(const struct gm_analyze_context *context)
{
    return gm_exports_have(context->options.exports, GM_EXPORT_SQLITE);
}

/* Straight into the run: it may be larger than memory. Who calls holds signals until the run is committed or freed. */
static enum gm_status write_sqlite(const struct work *work, struct gm_job *job,
                                   const struct gm_analyze_context *context, struct gm_error *err)
{
    const struct gm_sqlite_source source = {&work->judged->report, snapshot_of(work), &work->judged->kept,
                                            context->shell->rules};
    struct gm_run_file *file = NULL;
    GM_FREED struct gm_text path = {0};
    enum gm_status status = job->run != NULL ? GM_OK
                                             : gm_run_begin(&job->run, context->options.usual.results, job->name,
                                                            context->shell->when, err);
    GM_THEN(status, gm_run_file_open(&file, job->run, GM_SQLITE_FILE, err));
    if (status == GM_OK && !gm_run_file_path(file, &path))
        status = gm_no_memory(err);
    GM_THEN(status, gm_sqlite_write(path.data, &source, gm_interrupt_is_pending, err));
    const enum gm_status closed = gm_run_file_close(file, status == GM_OK ? err : NULL);
    return status == GM_OK ? closed : status;
}

static enum gm_status load(struct work *work, struct gm_job *job, const struct gm_analyze_context *context,
                           struct gm_error *err)
{
    const struct gm_load_options options = {.salvage = context->options.usual.salvage,
                                            .max_memory = context->options.usual.max_memory,
                                            .progress = &job->reading};
    struct gm_loaded *loaded;
    GM_TRY(gm_loaded_read(&loaded, job->path, &options, err));
    work->result = gm_analyzed_new(loaded, &context->options, &context->shell->rules_text);
    gm_unload(loaded); /* the result holds it */
    if (work->result == NULL)
        return gm_no_memory(err);
    work->judged = &gm_analyzed_of(work->result)->judged;
    return GM_OK;
}

/* File in, report out. */
static enum gm_status read_report(struct work *work, struct gm_job *job, const struct gm_analyze_context *context,
                                  struct gm_full_csv *csv, struct gm_error *err)
{
    double clock = gm_seconds();
    atomic_store(&job->stage, GM_JOB_LOADS);
    enum gm_status status = load(work, job, context, err);
    work->times.load = lap(&clock);
    if (status == GM_OK) {
        atomic_store(&job->stage, GM_JOB_ANALYSES);
        status = analyse(work, job, context, csv, err);
    }
    if (status == GM_OK && work->judged->kept.count == 0)
        status = gm_analyzed_keep_page(work->result, err);
    if (status == GM_OK && work->judged->kept.count == 0 && !wants_sqlite(context))
        forget_snapshot(work, context->shell->draws_late);
    work->times.analyse = lap(&clock);
    return status;
}

static void tell_ignored(struct gm_job *job, const struct gm_analyze_context *context, const struct gm_report *report)
{
    char words[GM_IGNORED_TEXT];
    if (!context->options.usual.quiet && report->diagnosis.ignored_count > 0)
        gm_message_add(&job->messages, &context->terminal, GM_MESSAGE_NOTE, shown_path(job), "%s",
                       gm_ignored_format(words, &report->diagnosis));
}

/* Report in, charts and run directory out. While other threads draw, this one replays and writes the texts. */
static enum gm_status publish(struct work *work, struct gm_job *job, const struct gm_analyze_context *context,
                              struct gm_error *err)
{
    double clock = gm_seconds();
    struct gm_report *report = &work->judged->report;
    struct gm_run_files *files = &work->result->files;
    struct gm_charts *charts = NULL;
    struct gm_fonts *fonts = context->shell->fonts;
    const bool is_late = context->shell->draws_late;
    const struct gm_charted charted = work->result->charted;
    const struct gm_analysis analysis = analysis_of(job, context);
    enum gm_status status = GM_OK;
    atomic_store(&job->stage, GM_JOB_DRAWS);
    if (is_late)
        gm_call_give_back();
    else
        status = gm_charts_start(&charts, fonts, charted, context->draw_threads, err);
    GM_THEN(status, gm_analysis_end(work->judged, snapshot_of(work), &analysis, err));
    gm_followed_wait(&work->judged->followed); /* after a failure */
    const bool has_snapshot = work->judged->kept.count > 0;
    if (!wants_sqlite(context))
        gm_kept_free(&work->judged->kept);
    if (status == GM_OK && has_snapshot)
        status = gm_analyzed_keep_page(work->result, err);
    if (!wants_sqlite(context))
        forget_snapshot(work, context->shell->draws_late);
    if (is_late)
        GM_THEN(status, gm_charts_start(&charts, fonts, charted, context->draw_threads, err));
    if (status == GM_OK) {
        gm_ignore_count(&context->shell->ignore, report);
        tell_ignored(job, context, report);
        status = gm_result_make_all(work->result, fonts == NULL ? analysis.threads : 1, err);
    }
    status = gm_charts_finish(charts, status, files, err);
    work->times.draw = lap(&clock);
    gm_interrupt_hold();
    if (status == GM_OK) {
        atomic_store(&job->stage, GM_JOB_WRITES);
        if (wants_sqlite(context))
            status = write_sqlite(work, job, context, err);
        GM_THEN(status, gm_outputs_write(job, context, report, files, err));
        work->times.write = lap(&clock);
    }
    if (status != GM_OK) {
        gm_run_free(job->run);
        job->run = NULL;
    }
    gm_interrupt_release();
    return status;
}

static void tell_warnings(struct gm_job *job, const struct gm_analyze_context *context, const struct gm_report *report)
{
    if (context->options.usual.quiet)
        return;
    for (size_t i = 0; i < report->warning_count; i++)
        gm_message_add(&job->messages, &context->terminal, GM_MESSAGE_WARNING, shown_path(job), "warning: %s",
                       report->warnings[i]);
    if ((context->options.exports & ~(1U << GM_EXPORT_SQLITE)) != 0 && !gm_export_applies(report))
        gm_message_add(&job->messages, &context->terminal, GM_MESSAGE_WARNING, shown_path(job),
                       "warning: no trace in it, so there is nothing to export");
    if (report->snapshot.is_salvaged)
        gm_message_add(&job->messages, &context->terminal, GM_MESSAGE_WARNING, shown_path(job),
                       "warning: damaged, only what precedes byte %llu is analysed: %s",
                       (unsigned long long)report->snapshot.salvaged_offset,
                       report->snapshot.salvaged_reason == NULL ? "" : report->snapshot.salvaged_reason);
}

/* The findings for --format. */
static void note_findings(struct gm_job *job, const struct gm_analyze_context *context, const struct gm_report *report)
{
    const struct gm_analyze_options *options = &context->options;
    struct gm_notice_places places = {0};
    struct gm_error err;
    if (options->usual.formats.n == 0)
        return;
    if (gm_formats_open_places(&places, &options->usual, &err) != GM_OK)
        gm_message_add_error(&job->messages, &context->terminal, NULL, &err);
    gm_notices_add_read(&job->notices, shown_path(job), NULL);
    gm_notices_of_report(&job->notices, report, options->fail_on, &places);
    gm_formats_close_places(&places);
}

void gm_job_run(struct gm_job *job, const struct gm_analyze_context *context)
{
    struct gm_error err = {.offset = GM_NO_OFFSET};
    struct work work = {0};
    struct gm_full_csv *csv = context->options.csv_full ? gm_full_csv_new(job, context) : NULL;
    if (context->options.csv_full && csv == NULL)
        job->status = gm_no_memory(&err);
    else
        job->status = read_report(&work, job, context, csv, &err);
    if (job->status == GM_OK) {
        tell_warnings(job, context, &work.judged->report);
        job->status = publish(&work, job, context, &err);
    }
    if (job->status == GM_OK) {
        note_findings(job, context, &work.judged->report);
        job->status =
            gm_checks_run(&context->options, &work.judged->report,
                          &(struct gm_checks_told){shown_path(job), &context->terminal, &job->messages, &job->notices});
    } else {
        gm_message_add_error(&job->messages, &context->terminal, shown_path(job), &err);
        gm_notices_add_read(&job->notices, shown_path(job), err.message);
    }
    gm_result_free(work.result);
    gm_full_csv_free(csv);
    if (context->options.usual.verbose)
        gm_message_add(&job->messages, &context->terminal, GM_MESSAGE_NOTE, shown_path(job),
                       "read+decode %.3f ms, analyse %.3f ms, draw %.3f ms, write %.3f ms", 1e3 * work.times.load,
                       1e3 * work.times.analyse, 1e3 * work.times.draw, 1e3 * work.times.write);
    if (job->messages.failed && job->status == GM_OK)
        job->status = GM_E_NOMEM;
    atomic_store(&job->stage, GM_JOB_DONE);
}

void gm_job_free(struct gm_job *job)
{
    gm_text_free(&job->messages);
    gm_text_free(&job->summary);
    gm_text_free(&job->explained);
    gm_text_free(&job->json);
    gm_notices_free(&job->notices);
    gm_run_free(job->run);
    job->run = NULL;
}
