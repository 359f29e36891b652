/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/job.h"

#include "analyze/cli/charts.h"
#include "analyze/cli/checks.h"
#include "analyze/cli/interrupt.h"
#include "analyze/load/load.h"
#include "analyze/model/snapshot.h"
#include "analyze/report/report.h"
#include "analyze/state/categories.h"
#include "analyze/state/state.h"
#include "analyze/timeline/timeline.h"
#include "analyze/words/words.h"

#include <string.h>

/* Seconds that each stage took, for -v. */
struct times {
    double load, analyse, draw, write;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double lap(double *since)
{
    double then = *since;
    *since = now();
    return *since - then;
}

/* The report with the two strings that analysis does not know. */
static enum gm_status name_report(struct gm_report *report, const struct gm_job *job, time_t when, struct gm_error *err)
{
    struct tm local;
    char stamp[32] = "";
    if (localtime_r(&when, &local) != NULL)
        strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &local);
    report->run_name = gm_arena_copy(&report->arena, job->name, strlen(job->name));
    report->timestamp = gm_arena_copy(&report->arena, stamp, strlen(stamp));
    if (report->run_name == NULL || report->timestamp == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    return GM_OK;
}

/* Both analyses; they share what is learnt about the stacks. */
static enum gm_status analyse(struct gm_report *report, const struct gm_analyze_context *context,
                              const struct gm_snapshot *snapshot, struct gm_error *err)
{
    struct gm_state_options state = {
        .top = (size_t)context->options.top, .device = context->options.device, .rules = context->rules};
    enum gm_status status = gm_classifier_new(&state.classifier, state.rules, snapshot, err);
    if (status != GM_OK)
        return status;
    const struct gm_timeline_options timeline = {
        .rules = state.rules, .classifier = state.classifier, .top = state.top};
    status = gm_state_analyze(report, snapshot, &state, err);
    if (status == GM_OK)
        status = gm_timeline_analyze(report, snapshot, &timeline, err);
    gm_classifier_free(state.classifier);
    return status;
}

/* File in, report out. */
static enum gm_status read_report(struct gm_job *job, const struct gm_analyze_context *context,
                                  struct gm_report *report, struct times *times, struct gm_error *err)
{
    const struct gm_load_options load = {.salvage = context->options.salvage};
    double clock = now();
    struct gm_snapshot snapshot = {0};
    atomic_store(&job->stage, GM_JOB_LOADS);
    enum gm_status status = gm_snapshot_load(&snapshot, job->path, &load, err);
    times->load = lap(&clock);
    if (status == GM_OK) {
        atomic_store(&job->stage, GM_JOB_ANALYSES);
        status = analyse(report, context, &snapshot, err);
    }
    if (status == GM_OK)
        status = name_report(report, job, context->when, err);
    gm_snapshot_free(&snapshot);
    times->analyse = lap(&clock);
    return status;
}

static enum gm_status add_text(struct gm_run *run, const char *file_name, const struct gm_text *text,
                               struct gm_error *err)
{
    if (text->failed)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    return gm_run_add(run, file_name, text->data, text->length, err);
}

static enum gm_status add_reports(struct gm_job *job, struct gm_run *run, const struct gm_report *report,
                                  const char *const *charts, struct gm_error *err)
{
    struct gm_text text = {0}, markdown = {0};
    gm_words_text(&text, report);
    gm_words_markdown(&markdown, report, charts);
    gm_words_json(&job->json, report);
    enum gm_status status = add_text(run, "analysis_report.txt", &text, err);
    if (status == GM_OK)
        status = add_text(run, "README.md", &markdown, err);
    if (status == GM_OK)
        status = add_text(run, "analysis.json", &job->json, err);
    gm_text_free(&text);
    gm_text_free(&markdown);
    return status;
}

/* Everything into a new run directory. `png` is NULL without charts. */
static enum gm_status write_run(struct gm_job *job, const struct gm_analyze_context *context,
                                const struct gm_report *report, const struct gm_png *png, struct gm_error *err)
{
    const struct gm_chart_list charts = gm_charts_list();
    gm_interrupt_hold();
    enum gm_status status = gm_run_begin(&job->run, context->options.results, job->name, context->when, err);
    for (int i = 0; status == GM_OK && png != NULL && i < GM_CHART_COUNT; i++)
        status = gm_run_add(job->run, charts.v[2 * i], png[i].data, png[i].length, err);
    if (status == GM_OK)
        status = add_reports(job, job->run, report, png == NULL ? NULL : charts.v, err);
    if (status == GM_OK)
        status = gm_run_commit(job->run, err);
    if (status != GM_OK) {
        gm_run_free(job->run);
        job->run = NULL;
    }
    gm_interrupt_release();
    if (status != GM_OK)
        return status;
    if (job->is_one_of_several)
        gm_text_printf(&job->summary, "%s:\n", report->snapshot.path);
    gm_words_summary(&job->summary, report, gm_run_path(job->run));
    return job->summary.failed ? gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory") : GM_OK;
}

/* Report in, charts and run directory out. */
static enum gm_status publish(struct gm_job *job, const struct gm_analyze_context *context,
                              const struct gm_report *report, struct times *times, struct gm_error *err)
{
    double clock = now();
    struct gm_png png[GM_CHART_COUNT] = {0};
    enum gm_status status = GM_OK;
    if (context->fonts != NULL) {
        struct gm_painter *painter;
        atomic_store(&job->stage, GM_JOB_DRAWS);
        status = gm_fonts_wait(context->fonts, &painter, err);
        if (status == GM_OK)
            status = gm_charts_draw(png, painter, report, context->draw_threads, err);
        times->draw = lap(&clock);
    }
    if (status == GM_OK) {
        atomic_store(&job->stage, GM_JOB_WRITES);
        status = write_run(job, context, report, context->fonts == NULL ? NULL : png, err);
        times->write = lap(&clock);
    }
    gm_charts_free(png);
    return status;
}

static void tell_warnings(struct gm_job *job, const struct gm_analyze_context *context, const struct gm_report *report)
{
    if (context->options.quiet)
        return;
    for (size_t i = 0; i < report->warning_count; i++)
        gm_message_add(&job->messages, &context->terminal, GM_MESSAGE_WARNING, job->path, "warning: %s",
                       report->warnings[i]);
    if (report->snapshot.is_salvaged)
        gm_message_add(&job->messages, &context->terminal, GM_MESSAGE_WARNING, job->path,
                       "warning: damaged, only what precedes byte %llu is analysed: %s",
                       (unsigned long long)report->snapshot.salvaged_offset,
                       report->snapshot.salvaged_reason == NULL ? "" : report->snapshot.salvaged_reason);
}

void gm_job_run(struct gm_job *job, const struct gm_analyze_context *context)
{
    struct gm_error err = {.offset = GM_NO_OFFSET};
    struct gm_report report = {0};
    struct times times = {0};
    job->status = read_report(job, context, &report, &times, &err);
    if (job->status == GM_OK) {
        tell_warnings(job, context, &report);
        job->status = publish(job, context, &report, &times, &err);
    }
    if (job->status == GM_OK)
        job->status = gm_checks_run(context, &report, job->path, &job->messages);
    else
        gm_message_add_error(&job->messages, &context->terminal, job->path, &err);
    gm_report_free(&report);
    if (context->options.verbose)
        gm_message_add(&job->messages, &context->terminal, GM_MESSAGE_NOTE, job->path,
                       "read+decode %.3f ms, analyse %.3f ms, draw %.3f ms, write %.3f ms", 1e3 * times.load,
                       1e3 * times.analyse, 1e3 * times.draw, 1e3 * times.write);
    if (job->messages.failed && job->status == GM_OK)
        job->status = GM_E_NOMEM;
    atomic_store(&job->stage, GM_JOB_DONE);
}

void gm_job_free(struct gm_job *job)
{
    gm_text_free(&job->messages);
    gm_text_free(&job->summary);
    gm_text_free(&job->json);
    gm_run_free(job->run);
    job->run = NULL;
}
