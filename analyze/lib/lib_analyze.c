/* SPDX-License-Identifier: Apache-2.0
 *
 * What gmanalyze concludes of a snapshot.
 */
#include "analyze/lib/lib_analyze.h"

#include "analyze/cli/checks.h"
#include "analyze/cli/operands.h"
#include "analyze/cli/rules_file.h"

#include <stdlib.h>
#include <string.h>

static void free_analyzed(void *found)
{
    struct gm_analyzed *a = found;
    gm_followed_wait(&a->judged.followed);
    gm_kept_free(&a->judged.kept);
    gm_report_free(&a->judged.report);
    gm_ignore_free(&a->ignore);
    gm_page_trace_free(&a->page);
    free(a);
}

static struct gm_text_names texts(const struct gm_result *result)
{
    const struct gm_analyzed *a = gm_analyzed_of(result);
    return gm_analysis_texts(a->options, &a->judged.report);
}

static enum gm_status make(struct gm_text *out, const struct gm_result *result, const char *name, struct gm_error *err)
{
    const struct gm_analyzed *a = gm_analyzed_of(result);
    (void)err;
    gm_analysis_make(out, name, a->options, &a->judged.report);
    return GM_OK;
}

enum gm_status gm_analyzed_keep_page(struct gm_result *result, struct gm_error *err)
{
    struct gm_analyzed *a = gm_analyzed_of(result);
    const bool is_wanted = !a->options->usual.no_page && a->page.trace.length == 0 && result->loaded_count > 0;
    return is_wanted ? gm_page_trace_make(&a->page, &result->loaded[0]->snapshot, err) : GM_OK;
}

void gm_analyzed_read_history(void *result, struct gm_history *history)
{
    struct gm_error ignored;
    (void)history;
    if (gm_analyzed_keep_page(result, &ignored) != GM_OK)
        gm_page_trace_free(&gm_analyzed_of(result)->page);
}

static enum gm_status add_page(struct gm_result *result, struct gm_error *err)
{
    struct gm_analyzed *a = gm_analyzed_of(result);
    const struct gm_report *report = &a->judged.report;
    GM_TRY(gm_analyzed_keep_page(result, err));
    gm_page_trace_call(&a->page, report->run_name, report->snapshot.path, report->timestamp);
    gm_page_add(&result->files, (const struct gm_page_trace *[]){&a->page}, 1, a->rules_text);
    gm_page_trace_free(&a->page);
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
    const struct gm_report *report = &gm_analyzed_of(result)->judged.report;
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

static const struct gm_result_kind kind = {.json = GM_RUN_ANALYSIS,
                                           .texts = texts,
                                           .make = make,
                                           .add_page = add_page,
                                           .number = number,
                                           .free = free_analyzed};

/* ---- the analysis ------------------------------------------------------------------------------------------------ */

struct gm_result *gm_analyzed_new(struct gm_loaded *loaded, const struct gm_analyze_options *options,
                                  const struct gm_text *rules_text)
{
    struct gm_result *result = gm_result_new(&kind, &loaded, 1);
    struct gm_analyzed *a = result == NULL ? NULL : calloc(1, sizeof *a);
    if (a == NULL) {
        gm_result_free(result);
        return NULL;
    }
    a->options = options;
    a->rules_text = rules_text;
    result->found = a;
    result->charted = gm_charts_of_report(&a->judged.report);
    return result;
}

static enum gm_status analyze(struct gm_result *result, const char *const *given, struct gm_error *err)
{
    const struct gm_snapshot *snapshot = &result->loaded[0]->snapshot;
    struct gm_analyzed *a = gm_analyzed_of(result);
    struct gm_analyze_options *options = gm_arena_calloc(&result->arena, 1, sizeof *options);
    char name[GM_NAME_SIZE];
    if (options == NULL)
        return gm_no_memory(err);
    *options = (struct gm_analyze_options)GM_ANALYZE_DEFAULTS;
    GM_TRY(gm_result_options(result, &gm_analyze_program, given, options, err));
    GM_TRY(gm_rules_load(&result->rules, options->usual.categories, &result->rules_text, err));
    GM_TRY(gm_ignore_load(&a->ignore, &options->usual, err));
    a->options = options;
    a->rules_text = &result->rules_text;
    result->has_page = !options->usual.no_page;
    gm_operands_name(name, snapshot->source.path, options->usual.name, false);
    const struct gm_analysis of = {
        .options = options, .rules = result->rules, .ignore = &a->ignore, .name = name, .when = time(NULL)};
    enum gm_status status = gm_analysis_begin(&a->judged, snapshot, &of, NULL, err);
    GM_THEN(status, gm_analysis_end(&a->judged, snapshot, &of, err));
    gm_followed_wait(&a->judged.followed);
    gm_kept_free(&a->judged.kept); /* large, and nobody asks again */
    if (status != GM_OK)
        return status;
    result->verdict =
        gm_status_exit_code(gm_checks_run(options, &a->judged.report, &(struct gm_checks_told){.messages = NULL}));
    return gm_result_make_json(result, err);
}

GM_API struct gm_result *gm_analyze(struct gm_loaded *loaded, const char *const *options, struct gm_problem *problem)
{
    struct gm_error err = {.offset = GM_NO_OFFSET};
    struct gm_result *result = gm_analyzed_new(loaded, NULL, NULL);
    const struct gm_entered entered = gm_enter();
    const enum gm_status status = result == NULL ? gm_no_memory(&err) : analyze(result, options, &err);
    gm_leave(&entered);
    return gm_result_end(result, status, &err, problem);
}
