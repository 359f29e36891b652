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

/* In the order of their names. */
enum output { TEXT, MARKDOWN, JSON, FLAMES, OPERATORS, TIMELINE, OUTPUTS };

static const char *const names[OUTPUTS] = {"analysis_report.txt", "README.md",     GM_RUN_ANALYSIS,
                                           GM_FLAMEGRAPH_SVG,     "operators.csv", "timeline.csv"};
_Static_assert((int)OUTPUTS + (int)GM_EXPORT_COUNT <= (int)GM_TEXT_FILES, "there is room for all names");

static bool applies(enum output output, const struct gm_analyze_options *options, const struct gm_report *report)
{
    return output == FLAMES      ? !options->usual.no_charts && gm_chart_applies(report, GM_CHART_FLAMEGRAPH)
           : output == OPERATORS ? report->profile != NULL
           : output == TIMELINE  ? gm_export_applies(report) && !options->csv_full
                                 : true;
}

static void make(struct gm_text *out, enum output output, const struct gm_analyze_options *options,
                 const struct gm_report *report)
{
    const struct gm_chart_list charts = gm_chart_list_of(gm_charts_of_report(report));
    const bool has_preface = options->preface != NULL;
    switch (output) {
    case TEXT:
        if (has_preface)
            gm_text_printf(out, "%s\n", options->preface);
        gm_analysis_document(out, GM_TXT, report, NULL);
        return;
    case MARKDOWN:
        if (has_preface)
            gm_text_printf(out, "```\n%s```\n\n", options->preface);
        gm_analysis_document(out, GM_MD, report, options->usual.no_charts ? NULL : charts.v);
        return;
    case JSON:
        gm_analysis_document(out, GM_JSON, report, NULL);
        return;
    case FLAMES:
        if (gm_flamegraph_svg(out, report, NULL) != GM_OK)
            out->failed = true;
        return;
    case OPERATORS:
        gm_operators_csv_write(out, report->profile);
        return;
    case TIMELINE:
        gm_csv_write(out, report);
        return;
    case OUTPUTS:
        return;
    }
}

struct gm_text_names gm_analysis_texts(const struct gm_analyze_options *options, const struct gm_report *report)
{
    struct gm_text_names of = {.n = 0};
    for (int i = 0; i < OUTPUTS; i++)
        if (applies((enum output)i, options, report))
            of.v[of.n++] = names[i];
    for (int i = 0; gm_export_applies(report) && i < GM_EXPORT_COUNT; i++)
        if (gm_exports_have(options->exports, (enum gm_export)i))
            of.v[of.n++] = gm_export_file_name((enum gm_export)i);
    return of;
}

void gm_analysis_make(struct gm_text *out, const char *name, const struct gm_analyze_options *options,
                      const struct gm_report *report)
{
    for (int i = 0; i < OUTPUTS; i++)
        if (strcmp(names[i], name) == 0)
            make(out, (enum output)i, options, report);
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
