/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/job_parts.h"

#include "analyze/document/documents.h"
#include "analyze/export/csv.h"
#include "analyze/export/export.h"

static const char json_name[] = "analysis.json";

void gm_outputs_make(struct gm_run_files *files, const struct gm_analyze_options *options,
                     const struct gm_report *report)
{
    const struct gm_chart_list charts = gm_chart_list_of(gm_charts_of_report(report));
    struct gm_text *text = gm_run_files_text(files, "analysis_report.txt"),
                   *markdown = gm_run_files_text(files, "README.md");
    if (options->preface != NULL) {
        gm_text_printf(text, "%s\n", options->preface);
        gm_text_printf(markdown, "```\n%s```\n\n", options->preface);
    }
    gm_analysis_text(text, report);
    gm_analysis_markdown(markdown, report, options->usual.no_charts ? NULL : charts.v);
    gm_analysis_json(gm_run_files_text(files, json_name), report);
    if (!options->usual.no_charts && gm_chart_applies(report, GM_CHART_FLAMEGRAPH)) {
        struct gm_text *svg = gm_run_files_text(files, GM_FLAMEGRAPH_SVG);
        if (gm_flamegraph_svg(svg, report, NULL) != GM_OK)
            svg->failed = true;
    }
    if (report->profile != NULL)
        gm_operators_csv_write(gm_run_files_text(files, "operators.csv"), report->profile);
    if (!gm_export_applies(report))
        return;
    if (!options->csv_full)
        gm_csv_write(gm_run_files_text(files, "timeline.csv"), report);
    for (int i = 0; i < GM_EXPORT_COUNT; i++)
        if ((options->exports >> i & 1) != 0)
            gm_export_write(gm_run_files_text(files, gm_export_file_name((enum gm_export)i)), report,
                            (enum gm_export)i);
}

/* What goes to stdout when its turn has come. */
static enum gm_status say(struct gm_job *job, const struct gm_analyze_options *options, const struct gm_report *report,
                          struct gm_error *err)
{
    struct gm_text *first = options->usual.quiet ? &job->explained : &job->summary;
    if (job->is_one_of_several && (!options->usual.quiet || options->explain || options->memory_summary))
        gm_text_printf(first, "%s:\n", report->snapshot.path);
    gm_analysis_summary(&job->summary, report, gm_run_path(job->run));
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
    job->json = gm_run_files_take(files, json_name);
    return say(job, &context->options, report, err);
}
