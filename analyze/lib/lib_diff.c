/* SPDX-License-Identifier: Apache-2.0
 *
 * What gmdiff concludes of several snapshots.
 */
#include "analyze/lib/lib_diff.h"

#include "analyze/cli/rules_file.h"
#include "analyze/cli/shell.h"
#include "analyze/compare/summary_make.h"
#include "analyze/document/documents.h"
#include "analyze/state/shown_names.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS = 2000 };

static void free_diffed(void *found)
{
    struct gm_diffed *d = found;
    gm_comparison_free(&d->comparison);
    for (size_t i = 0; i < d->count; i++) {
        gm_summary_free(&d->inputs[i].summary);
        gm_page_trace_free(&d->inputs[i].page);
    }
    GM_FREE_ALL(d->inputs, d);
}

static struct gm_text_names texts(const struct gm_result *result)
{
    const struct gm_text_names names = {
        {GM_DIFF_JSON, "diff_report.txt", "README.md", "pr_comment.md", GM_DIFF_FLAMEGRAPH_SVG},
        gm_diff_of(result)->options->usual.no_charts ? 4 : 5};
    return names;
}

static enum gm_status make(struct gm_text *out, const struct gm_result *result, const char *name, struct gm_error *err)
{
    const struct gm_diffed *d = gm_diff_of(result);
    const struct gm_comparison *c = &d->comparison;
    const struct gm_chart_list charts = gm_chart_list_of(result->charted);
    const char *const *drawn = d->options->usual.no_charts ? NULL : charts.v;
    if (strcmp(name, GM_DIFF_FLAMEGRAPH_SVG) == 0)
        return gm_diff_flamegraph_svg(out, c, err);
    if (strcmp(name, GM_DIFF_JSON) == 0)
        gm_diff_document(out, GM_JSON, c, NULL);
    else if (strcmp(name, "diff_report.txt") == 0)
        gm_diff_document(out, GM_TXT, c, drawn);
    else if (strcmp(name, "README.md") == 0)
        gm_diff_document(out, GM_MD, c, drawn);
    else
        gm_diff_comment(out, c);
    return GM_OK;
}

/* With all runs that could be read, called as in the reports. */
static enum gm_status add_page(struct gm_result *result, struct gm_error *err)
{
    const struct gm_diffed *d = gm_diff_of(result);
    GM_FREED const struct gm_page_trace **traces = calloc(d->count, sizeof *traces);
    enum gm_status status = traces == NULL ? gm_no_memory(err) : GM_OK;
    size_t n = 0;
    for (size_t i = 0; status == GM_OK && i < d->count; i++) {
        struct gm_diff_input *input = &d->inputs[i];
        if (input->status != GM_OK)
            continue;
        if (result->loaded_count > 0)
            status = gm_page_trace_make(&input->page, &result->loaded[i]->snapshot, err);
        gm_page_trace_call(&input->page, d->comparison.labels[n], input->summary.path, d->comparison.timestamp);
        traces[n++] = &input->page;
    }
    if (status == GM_OK)
        gm_page_add(&result->files, traces, n, d->rules_text);
    for (size_t i = 0; i < d->count; i++)
        gm_page_trace_free(&d->inputs[i].page);
    return status;
}

static const struct gm_result_kind kind = {
    .json = GM_DIFF_JSON, .texts = texts, .make = make, .add_page = add_page, .free = free_diffed};

struct gm_result *gm_diff_new(struct gm_loaded *const *loaded, const struct gm_diffed *of)
{
    struct gm_result *result = gm_result_new(&kind, loaded, loaded == NULL ? 0 : of->count);
    struct gm_diffed *d = malloc(sizeof *d);
    struct gm_diff_input *inputs = calloc(of->count, sizeof *inputs);
    if (result == NULL || d == NULL || inputs == NULL) {
        GM_FREE_ALL(d, inputs);
        gm_result_free(result);
        return NULL;
    }
    *d = *of;
    d->inputs = inputs;
    result->found = d;
    return result;
}

enum gm_status gm_diff_summarise(struct gm_diff_input *input, const struct gm_snapshot *snapshot,
                                 const struct gm_diffed *d, struct gm_error *err)
{
    const struct gm_summary_options reading = {.rules = d->rules, .device = d->options->usual.device, .points = POINTS};
    char name[GM_NAME_SIZE];
    gm_name_detect(name, snapshot->source.path);
    input->is_salvaged = snapshot->source.is_salvaged;
    return gm_summary_make(&input->summary, snapshot, name, &reading, err);
}

/* "BASE_vs_NEW", "BASE_vs_NEW_and_2_more". */
static void name_run(struct gm_diffed *d)
{
    GM_FREED struct gm_text text = {0};
    const struct gm_comparison *c = &d->comparison;
    if (d->options->usual.name != NULL)
        gm_text_add(&text, d->options->usual.name);
    else if (c->labels != NULL)
        gm_text_printf(&text, "%.60s_vs_%.60s", c->labels[0], c->labels[1]);
    if (d->options->usual.name == NULL && c->run_count > 2)
        gm_text_printf(&text, "_and_%zu_more", c->run_count - 2);
    gm_name_clean(d->name, text.failed ? "diff" : text.data);
}

/* Of the inputs that could not be read. */
static bool tell_failures(struct gm_diffed *d)
{
    struct gm_comparison *c = &d->comparison;
    struct gm_diff_failure *failures = gm_arena_calloc(&c->arena, d->count, sizeof *failures);
    bool ok = (c->failures = failures) != NULL;
    for (size_t i = 0; ok && i < d->count; i++)
        if (d->inputs[i].status != GM_OK) {
            struct gm_diff_failure *failure = &failures[c->failure_count++];
            *failure = (struct gm_diff_failure){gm_clean_copy(&c->arena, d->inputs[i].path),
                                                gm_clean_copy(&c->arena, d->inputs[i].error.message)};
            ok = failure->path != NULL && failure->why != NULL;
        }
    return ok;
}

enum gm_status gm_diff_conclude(struct gm_result *result, struct gm_error *err)
{
    struct gm_diffed *d = gm_diff_of(result);
    struct gm_comparison *c = &d->comparison;
    const struct gm_compare_options compare = {.limit = d->options->limit, .top = (size_t)d->options->usual.top};
    const struct gm_summary **runs = gm_arena_calloc(&result->arena, d->count, sizeof *runs);
    GM_FREED struct gm_text growth = {0};
    size_t n = 0;
    for (size_t i = 0; runs != NULL && i < d->count; i++)
        if (d->inputs[i].status == GM_OK)
            runs[n++] = &d->inputs[i].summary;
    enum gm_status status = runs == NULL ? gm_no_memory(err) : gm_compare(c, runs, n, &compare, err);
    if (status == GM_OK) {
        name_run(d);
        status = gm_shell_name(&c->arena, &c->run_name, &c->timestamp, d->name, d->when, err);
    }
    if (status != GM_OK)
        return status;
    result->charted = gm_charts_of_comparison(c);
    gm_diff_growth(&growth, c);
    result->verdict = growth.length > 0 ? gm_status_exit_code(GM_E_CHECK) : 0;
    const bool ok = tell_failures(d) && !growth.failed;
    return ok ? GM_OK : gm_no_memory(err);
}

static enum gm_status diff(struct gm_result *result, const char *const *given, struct gm_error *err)
{
    struct gm_diff_options *options = gm_arena_calloc(&result->arena, 1, sizeof *options);
    struct gm_diffed *d = gm_diff_of(result);
    if (options == NULL)
        return gm_no_memory(err);
    *options = (struct gm_diff_options)GM_DIFF_DEFAULTS;
    GM_TRY(gm_result_options(result, &gm_diff_program, given, options, err));
    GM_TRY(gm_rules_load(&result->rules, options->usual.categories, &result->rules_text, err));
    d->options = options;
    d->rules = result->rules;
    d->rules_text = &result->rules_text;
    result->has_page = !options->usual.no_page;
    for (size_t i = 0; i < d->count; i++)
        GM_TRY(gm_diff_summarise(&d->inputs[i], &result->loaded[i]->snapshot, d, err));
    GM_TRY(gm_diff_conclude(result, err));
    return gm_result_make_json(result, err);
}

GM_API struct gm_result *gm_diff(struct gm_loaded *const *loaded, size_t count, const char *const *options,
                                 struct gm_problem *problem)
{
    const struct gm_diffed of = {.count = count, .when = time(NULL)};
    struct gm_error err = {.offset = GM_NO_OFFSET};
    struct gm_result *result = gm_diff_new(loaded, &of);
    const struct gm_entered entered = gm_enter();
    const enum gm_status status = result == NULL ? gm_no_memory(&err) : diff(result, options, &err);
    gm_leave(&entered);
    return gm_result_end(result, status, &err, problem);
}
