/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/arithmetic.h"
#include "analyze/cli/analyzed.h"
#include "analyze/cli/job.h"
#include "analyze/document/canvas.h"
#include "analyze/document/documents.h"
#include "analyze/export/csv.h"
#include "analyze/export/export.h"
#include "replay/whatif/gpus.h"

#include <string.h>

static void make_text(struct gm_text *out, const struct gm_analyze_options *options, const struct gm_report *report)
{
    if (options->preface != NULL)
        gm_text_printf(out, "%s\n", options->preface);
    gm_analysis_text(out, report);
}

static void make_markdown(struct gm_text *out, const struct gm_analyze_options *options, const struct gm_report *report)
{
    const struct gm_chart_list charts = gm_chart_list_of(gm_charts_of_report(report));
    if (options->preface != NULL)
        gm_text_printf(out, "```\n%s```\n\n", options->preface);
    gm_analysis_markdown(out, report, options->usual.no_charts ? NULL : charts.v);
}

static void make_json(struct gm_text *out, const struct gm_analyze_options *options, const struct gm_report *report)
{
    (void)options;
    gm_analysis_json(out, report);
}

static bool has_flames(const struct gm_analyze_options *options, const struct gm_report *report)
{
    return !options->usual.no_charts && gm_chart_applies(report, GM_CHART_FLAMEGRAPH);
}

static void make_flames(struct gm_text *out, const struct gm_analyze_options *options, const struct gm_report *report)
{
    (void)options;
    if (gm_flamegraph_svg(out, report, NULL) != GM_OK)
        out->failed = true;
}

static bool has_operators(const struct gm_analyze_options *options, const struct gm_report *report)
{
    (void)options;
    return report->profile != NULL;
}

static void make_operators(struct gm_text *out, const struct gm_analyze_options *options,
                           const struct gm_report *report)
{
    (void)options;
    gm_operators_csv_write(out, report->profile);
}

static bool has_timeline(const struct gm_analyze_options *options, const struct gm_report *report)
{
    return gm_export_applies(report) && !options->csv_full;
}

static void make_timeline(struct gm_text *out, const struct gm_analyze_options *options, const struct gm_report *report)
{
    (void)options;
    gm_csv_write(out, report);
}

static const struct output {
    const char *name;
    bool (*applies)(const struct gm_analyze_options *options, const struct gm_report *report); /* NULL: always */
    void (*make)(struct gm_text *out, const struct gm_analyze_options *options, const struct gm_report *report);
} outputs[] = {
    {"analysis_report.txt", NULL, make_text},
    {"README.md", NULL, make_markdown},
    {GM_RUN_ANALYSIS, NULL, make_json},
    {GM_FLAMEGRAPH_SVG, has_flames, make_flames},
    {"operators.csv", has_operators, make_operators},
    {"timeline.csv", has_timeline, make_timeline},
};
enum { OUTPUTS = sizeof outputs / sizeof *outputs };
_Static_assert((int)OUTPUTS + (int)GM_EXPORT_COUNT <= (int)GM_TEXT_FILES, "there is room for all names");

struct gm_text_names gm_analysis_texts(const struct gm_analyze_options *options, const struct gm_report *report)
{
    struct gm_text_names names = {.n = 0};
    for (size_t i = 0; i < OUTPUTS; i++)
        if (outputs[i].applies == NULL || outputs[i].applies(options, report))
            names.v[names.n++] = outputs[i].name;
    for (int i = 0; gm_export_applies(report) && i < GM_EXPORT_COUNT; i++)
        if (gm_exports_have(options->exports, (enum gm_export)i))
            names.v[names.n++] = gm_export_file_name((enum gm_export)i);
    return names;
}

void gm_analysis_make(struct gm_text *out, const char *name, const struct gm_analyze_options *options,
                      const struct gm_report *report)
{
    for (size_t i = 0; i < OUTPUTS; i++)
        if (strcmp(outputs[i].name, name) == 0)
            outputs[i].make(out, options, report);
    for (int i = 0; i < GM_EXPORT_COUNT; i++)
        if (strcmp(gm_export_file_name((enum gm_export)i), name) == 0)
            gm_export_write(out, report, (enum gm_export)i);
}

/* --tree and --chart, behind the summary. */
static enum gm_status draw(struct gm_text *out, const struct gm_analyze_context *context,
                           const struct gm_report *report, struct gm_error *err)
{
    const struct gm_analyze_options *options = &context->options;
    const struct gm_terminal_page page = gm_terminal_page(GM_CANVAS_USUAL);
    const struct gm_gpu *card = options->gpu == NULL ? NULL : gm_gpu_find(options->gpu);
    const struct gm_text_canvas canvas = {.columns = gm_max(GM_CANVAS_LEAST, gm_min(page.columns, GM_CANVAS_MOST)),
                                          .lines = (size_t)options->usual.top,
                                          .is_utf8 = page.is_utf8,
                                          .has_colour = page.has_colour,
                                          .card = card == NULL ? NULL : card->name,
                                          .limit = card == NULL ? 0 : gm_gpu_usable(card)};
    if (options->tree)
        gm_canvas_tree(out, report, &canvas);
    if (options->chart && context->pictures.form != GM_PICTURE_NONE &&
        gm_chart_applies(report, GM_CHART_MEMORY_TIMELINE))
        return gm_pictures_add(out, &context->pictures, context->shell->fonts, report, GM_CHART_MEMORY_TIMELINE, err);
    if (options->chart)
        gm_canvas_chart(out, report, &canvas);
    return GM_OK;
}

/* What goes to stdout when its turn has come. */
static enum gm_status say(struct gm_job *job, const struct gm_analyze_context *context, const struct gm_report *report,
                          struct gm_error *err)
{
    const struct gm_analyze_options *options = &context->options;
    struct gm_text *first = options->usual.quiet ? &job->explained : &job->summary;
    if (job->is_one_of_several && (!options->usual.quiet || options->explain || options->memory_summary))
        gm_text_printf(first, "%s:\n", report->snapshot.path);
    gm_analysis_summary(&job->summary, report, gm_run_path(job->run));
    GM_TRY(draw(&job->summary, context, report, err));
    if (options->explain)
        gm_analysis_explain(&job->explained, report);
    if (options->memory_summary)
        gm_analysis_memory_summary(&job->explained, report);
    bool has_failed = job->summary.failed || job->explained.failed;
    return has_failed ? gm_no_memory(err) : GM_OK;
}

enum gm_status gm_outputs_write(struct gm_job *job, const struct gm_analyze_context *context,
                                const struct gm_report *report, struct gm_run_files *files, struct gm_error *err)
{
    GM_TRY(gm_run_files_write(&job->run, files, context->options.usual.results, job->name, context->shell->when, err));
    job->json = gm_run_files_take(files, GM_RUN_ANALYSIS);
    return say(job, context, report, err);
}
