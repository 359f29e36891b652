/* SPDX-License-Identifier: Apache-2.0
 *
 * What gmanalyze concludes of a snapshot.
 */
#include "analyze/cli/analyzed.h"
#include "analyze/cli/job_parts.h"
#include "analyze/cli/operands.h"
#include "analyze/cli/page_runs.h"
#include "analyze/cli/rules_file.h"
#include "analyze/document/documents.h"
#include "analyze/lib/libgm.h"
#include "analyze/run/run_names.h"
#include "render/page/page_file.h"

#include <stdlib.h>
#include <string.h>

struct analyzed {
    struct gm_analyze_options options;
    struct gm_category_rules *rules;
    struct gm_text rules_text;
    struct gm_ignore ignore;
    struct gm_judged judged;
};

static void free_analyzed(void *found)
{
    struct analyzed *a = found;
    gm_kept_free(&a->judged.kept);
    gm_report_free(&a->judged.report);
    gm_ignore_free(&a->ignore);
    gm_category_rules_free(a->rules);
    gm_text_free(&a->rules_text);
    free(a);
}

static struct gm_text_names texts(const struct gm_result *result)
{
    const struct analyzed *a = result->found;
    return gm_analysis_texts(&a->options, &a->judged.report);
}

static enum gm_status make_page(struct gm_text *out, struct gm_result *result, struct gm_error *err)
{
    struct analyzed *a = result->found;
    const struct gm_report *report = &a->judged.report;
    struct gm_page_trace trace = {.name = {0}};
    struct gm_run_files files = {.v = {{.name = GM_RUN_ANALYSIS, .text = result->json}}, .count = 1};
    const enum gm_status status = gm_page_trace_make(&trace, &result->loaded[0]->snapshot, err);
    if (status == GM_OK) {
        gm_page_trace_call(&trace, report->run_name, report->snapshot.path, report->timestamp);
        gm_page_add(&files, (const struct gm_page_trace *[]){&trace}, 1, &a->rules_text);
        *out = gm_run_files_take(&files, GM_RUN_PAGE);
    }
    gm_page_trace_free(&trace);
    return status;
}

static enum gm_status make(struct gm_text *out, struct gm_result *result, const char *name, struct gm_error *err)
{
    const struct analyzed *a = result->found;
    if (strcmp(name, GM_RUN_PAGE) == 0)
        return make_page(out, result, err);
    gm_analysis_make(out, name, &a->options, &a->judged.report);
    return GM_OK;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static const char *const names[] = {"reserved",      "allocated",      "active",      "requested",
                                    "peak_reserved", "peak_allocated", "peak_active", "peak_requested"};
enum { NUMBERS = sizeof names / sizeof *names };

static void numbers_of(uint64_t out[NUMBERS], const struct gm_report *report, size_t d)
{
    const struct gm_device_report *device = &report->devices[d];
    const bool has_trace = report->timelines != NULL && report->peaks != NULL && device->trace.events > 0;
    const struct gm_device_timeline *t = has_trace ? &report->timelines[d] : NULL;
    const uint64_t all[NUMBERS] = {device->totals.reserved,
                                   device->totals.allocated,
                                   device->totals.active,
                                   device->totals.requested,
                                   device->trace.peak_reserved,
                                   has_trace ? t->peak_allocated.levels.allocated : GM_REPORT_NONE,
                                   has_trace ? t->peak_active.levels.active : GM_REPORT_NONE,
                                   has_trace ? report->peaks[d].requested : GM_REPORT_NONE};
    memcpy(out, all, sizeof all);
}

static uint64_t number(const struct gm_result *result, const char *name, int64_t device)
{
    const struct gm_report *report = &((const struct analyzed *)result->found)->judged.report;
    uint64_t most = GM_UNKNOWN, here[NUMBERS];
    size_t which = 0;
    while (which < NUMBERS && strcmp(names[which], name) != 0)
        which++;
    for (size_t d = 0; which < NUMBERS && d < report->device_count; d++) {
        numbers_of(here, report, d);
        const bool counts = (device < 0 || report->devices[d].device == device) && here[which] != GM_REPORT_NONE;
        if (counts && (most == GM_UNKNOWN || here[which] > most))
            most = here[which];
    }
    return most;
}

static const struct gm_result_kind kind = {
    .texts = texts, .make = make, .number = number, .free = free_analyzed, .has_page = true};
static const struct gm_result_kind kind_without_page = {
    .texts = texts, .make = make, .number = number, .free = free_analyzed};

/* ---- the analysis ------------------------------------------------------------------------------------------------ */

/* As --fail-above and the like have it; what they say of it is in the report. */
static int judge(const struct analyzed *a)
{
    const struct gm_analyze_context context = {.options = a->options, .terminal = {.program = "gmanalyze"}};
    struct gm_text messages = {0};
    const enum gm_status status =
        gm_checks_run(&context, &a->judged.report, a->judged.report.snapshot.path, &messages, NULL);
    gm_text_free(&messages);
    return gm_status_exit_code(status);
}

static enum gm_status analyze(struct gm_result *result, const char *const *options, struct gm_error *err)
{
    const struct gm_snapshot *snapshot = &result->loaded[0]->snapshot;
    char name[GM_NAME_SIZE];
    struct analyzed *a = result->found = calloc(1, sizeof *a);
    if (a == NULL)
        return gm_no_memory(err);
    a->options = (struct gm_analyze_options)GM_ANALYZE_DEFAULTS;
    GM_TRY(gm_result_options(result, &gm_analyze_program, options, &a->options, err));
    GM_TRY(gm_rules_load(&a->rules, a->options.usual.categories, &a->rules_text, err));
    GM_TRY(gm_ignore_load(&a->ignore, &a->options.usual, err));
    gm_operands_name(name, snapshot->source.path, a->options.usual.name, false);
    const struct gm_analysis of = {
        .options = &a->options, .rules = a->rules, .ignore = &a->ignore, .name = name, .when = time(NULL)};
    enum gm_status status = gm_analysis_begin(&a->judged, snapshot, &of, NULL, err);
    GM_THEN(status, gm_analysis_end(&a->judged, snapshot, &of, err));
    gm_kept_free(&a->judged.kept); /* large, and nobody asks again */
    if (status != GM_OK)
        return status;
    gm_analysis_json(&result->json, &a->judged.report);
    result->charted = gm_charts_of_report(&a->judged.report);
    result->verdict = judge(a);
    return result->json.failed ? gm_no_memory(err) : GM_OK;
}

GM_API struct gm_result *gm_analyze(struct gm_loaded *loaded, const char *const *options, struct gm_problem *problem)
{
    struct gm_error err = {.offset = GM_NO_OFFSET};
    struct gm_result *result = gm_result_new(gm_page_is_there() ? &kind : &kind_without_page, &loaded, 1);
    const struct gm_entered entered = gm_enter();
    const enum gm_status status = result == NULL ? gm_no_memory(&err) : analyze(result, options, &err);
    gm_leave(&entered);
    return gm_result_end(result, status, &err, problem);
}
