/* SPDX-License-Identifier: Apache-2.0
 *
 * What gmdiff concludes of several snapshots.
 */
#include "analyze/cli/gmdiff.h"
#include "analyze/cli/page_runs.h"
#include "analyze/cli/rules_file.h"
#include "analyze/document/documents.h"
#include "analyze/lib/libgm.h"
#include "analyze/run/run_names.h"
#include "render/page/page_file.h"

#include <stdlib.h>
#include <string.h>

struct compared {
    struct gm_diff_options options;
    struct gm_category_rules *rules;
    struct gm_text rules_text;
    struct gm_summary *summaries; /* [count] */
    size_t count;
    struct gm_comparison comparison;
};

static void free_compared(void *found)
{
    struct compared *c = found;
    gm_comparison_free(&c->comparison);
    for (size_t i = 0; c->summaries != NULL && i < c->count; i++)
        gm_summary_free(&c->summaries[i]);
    free(c->summaries);
    gm_category_rules_free(c->rules);
    gm_text_free(&c->rules_text);
    free(c);
}

static struct gm_text_names texts(const struct gm_result *result)
{
    const struct compared *c = result->found;
    return gm_diff_texts(!c->options.usual.no_charts);
}

/* memory.html with all of them. */
static enum gm_status make_page(struct gm_text *out, struct gm_result *result, struct gm_error *err)
{
    const struct compared *c = result->found;
    struct gm_page_trace *traces = calloc(c->count, sizeof *traces);
    const struct gm_page_trace **list = calloc(c->count, sizeof *list);
    struct gm_run_files files = {.count = 0};
    enum gm_status status = traces == NULL || list == NULL ? gm_no_memory(err) : GM_OK;
    for (size_t i = 0; status == GM_OK && i < c->count; i++) {
        list[i] = &traces[i];
        status = gm_page_trace_make(&traces[i], &result->loaded[i]->snapshot, err);
        gm_page_trace_call(&traces[i], c->comparison.labels[i], c->summaries[i].path, c->comparison.timestamp);
    }
    if (status == GM_OK) {
        gm_page_add(&files, list, c->count, &c->rules_text);
        *out = gm_run_files_take(&files, GM_RUN_PAGE);
    }
    for (size_t i = 0; traces != NULL && i < c->count; i++)
        gm_page_trace_free(&traces[i]);
    free(traces);
    free(list);
    return status;
}

static enum gm_status make(struct gm_text *out, struct gm_result *result, const char *name, struct gm_error *err)
{
    const struct compared *c = result->found;
    if (strcmp(name, GM_RUN_PAGE) == 0)
        return make_page(out, result, err);
    return gm_diff_make(out, name, &c->comparison, !c->options.usual.no_charts, err);
}

static const struct gm_result_kind kind = {.texts = texts, .make = make, .free = free_compared, .has_page = true};
static const struct gm_result_kind kind_without_page = {.texts = texts, .make = make, .free = free_compared};

static enum gm_status summarise(struct compared *c, const struct gm_result *result, struct gm_error *err)
{
    const struct gm_summary_options reading = gm_diff_reading(&c->options, c->rules);
    c->summaries = calloc(result->loaded_count, sizeof *c->summaries);
    if (c->summaries == NULL)
        return gm_no_memory(err);
    for (; c->count < result->loaded_count; c->count++) {
        const struct gm_snapshot *snapshot = &result->loaded[c->count]->snapshot;
        char name[GM_NAME_SIZE];
        gm_name_detect(name, snapshot->source.path);
        GM_TRY(gm_summary_make(&c->summaries[c->count], snapshot, name, &reading, err));
    }
    return GM_OK;
}

static enum gm_status diff(struct gm_result *result, const char *const *options, struct gm_error *err)
{
    char name[GM_NAME_SIZE];
    struct gm_text why = {0};
    struct compared *c = result->found = calloc(1, sizeof *c);
    const struct gm_summary **runs = gm_arena_calloc(&result->arena, result->loaded_count, sizeof(struct gm_summary *));
    if (c == NULL || runs == NULL)
        return gm_no_memory(err);
    c->options = (struct gm_diff_options)GM_DIFF_DEFAULTS;
    GM_TRY(gm_result_options(result, &gm_diff_program, options, &c->options, err));
    GM_TRY(gm_rules_load(&c->rules, c->options.usual.categories, &c->rules_text, err));
    GM_TRY(summarise(c, result, err));
    for (size_t i = 0; i < c->count; i++)
        runs[i] = &c->summaries[i];
    GM_TRY(gm_diff_compare(&c->comparison, name, runs, c->count, &c->options, time(NULL), err));
    GM_TRY(gm_diff_make(&result->json, GM_DIFF_JSON, &c->comparison, !c->options.usual.no_charts, err));
    result->charted = gm_charts_of_comparison(&c->comparison);
    gm_diff_growth(&why, &c->comparison);
    result->verdict = why.length > 0 ? gm_status_exit_code(GM_E_CHECK) : 0;
    const bool has_failed = why.failed || result->json.failed;
    gm_text_free(&why);
    return has_failed ? gm_no_memory(err) : GM_OK;
}

GM_API struct gm_result *gm_diff(struct gm_loaded *const *loaded, size_t count, const char *const *options,
                                 struct gm_problem *problem)
{
    struct gm_error err = {.offset = GM_NO_OFFSET};
    struct gm_result *result = gm_result_new(gm_page_is_there() ? &kind : &kind_without_page, loaded, count);
    const struct gm_entered entered = gm_enter();
    const enum gm_status status = result == NULL ? gm_no_memory(&err) : diff(result, options, &err);
    gm_leave(&entered);
    return gm_result_end(result, status, &err, problem);
}
