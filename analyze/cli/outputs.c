/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/outputs.h"

#include "analyze/cli/interrupt.h"
#include "analyze/document/documents.h"
#include "analyze/export/csv.h"

#include <string.h>

static const char json_name[] = "analysis.json";

static struct gm_text *add(struct gm_outputs *outputs, const char *file_name)
{
    struct gm_output *output = &outputs->v[outputs->n++];
    *output = (struct gm_output){.file_name = file_name};
    return &output->text;
}

void gm_outputs_make(struct gm_outputs *outputs, const struct gm_analyze_options *options,
                     const struct gm_report *report)
{
    const struct gm_chart_list charts = gm_charts_list(report);
    struct gm_text *text = add(outputs, "analysis_report.txt"), *markdown = add(outputs, "README.md");
    if (options->preface != NULL) {
        gm_text_printf(text, "%s\n", options->preface);
        gm_text_printf(markdown, "```\n%s```\n\n", options->preface);
    }
    gm_analysis_text(text, report);
    gm_analysis_markdown(markdown, report, options->no_charts ? NULL : charts.v);
    gm_analysis_json(add(outputs, json_name), report);
    if (!options->no_charts && gm_chart_applies(report, GM_CHART_FLAMEGRAPH)) {
        struct gm_text *svg = add(outputs, GM_FLAMEGRAPH_SVG);
        if (gm_flamegraph_svg(svg, report, NULL) != GM_OK)
            svg->failed = true;
    }
    if (!gm_export_applies(report))
        return;
    if (!options->csv_full)
        gm_csv_write(add(outputs, "timeline.csv"), report);
    for (int i = 0; i < GM_EXPORT_COUNT; i++)
        if ((options->exports >> i & 1) != 0)
            gm_export_write(add(outputs, gm_export_file_name((enum gm_export)i)), report, (enum gm_export)i);
}

void gm_outputs_free(struct gm_outputs *outputs)
{
    for (size_t i = 0; i < outputs->n; i++)
        gm_text_free(&outputs->v[i].text);
    outputs->n = 0;
}

static enum gm_status add_files(struct gm_run *run, const struct gm_outputs *outputs, const struct gm_charts *charts,
                                struct gm_error *err)
{
    enum gm_status status = GM_OK;
    for (int i = 0; status == GM_OK && charts != NULL && i < GM_CHART_COUNT; i++) {
        const struct gm_png *png = gm_charts_png(charts, (enum gm_chart)i);
        if (png->data != NULL)
            status = gm_run_add(run, gm_chart_file_name((enum gm_chart)i), png->data, png->length, err);
    }
    for (size_t i = 0; status == GM_OK && i < outputs->n; i++) {
        const struct gm_output *output = &outputs->v[i];
        status = output->text.failed ? gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory")
                                     : gm_run_add(run, output->file_name, output->text.data, output->text.length, err);
    }
    return status;
}

/* --json wants one of the files, too. */
static void keep_json(struct gm_job *job, struct gm_outputs *outputs)
{
    for (size_t i = 0; i < outputs->n; i++)
        if (strcmp(outputs->v[i].file_name, json_name) == 0) {
            job->json = outputs->v[i].text;
            outputs->v[i].text = (struct gm_text){0};
        }
}

/* What goes to stdout when its turn has come. */
static enum gm_status say(struct gm_job *job, const struct gm_analyze_options *options, const struct gm_report *report,
                          struct gm_error *err)
{
    struct gm_text *first = options->quiet ? &job->explained : &job->summary;
    if (job->is_one_of_several && (!options->quiet || options->explain))
        gm_text_printf(first, "%s:\n", report->snapshot.path);
    gm_analysis_summary(&job->summary, report, gm_run_path(job->run));
    if (options->explain)
        gm_analysis_explain(&job->explained, report);
    bool has_failed = job->summary.failed || job->explained.failed;
    return has_failed ? gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory") : GM_OK;
}

enum gm_status gm_outputs_write(struct gm_job *job, const struct gm_analyze_context *context,
                                const struct gm_report *report, struct gm_outputs *outputs,
                                const struct gm_charts *charts, struct gm_error *err)
{
    enum gm_status status = GM_OK;
    gm_interrupt_hold();
    if (job->run == NULL)
        status = gm_run_begin(&job->run, context->options.results, job->name, context->when, err);
    if (status == GM_OK)
        status = add_files(job->run, outputs, charts, err);
    if (status == GM_OK)
        status = gm_run_commit(job->run, err);
    if (status != GM_OK) {
        gm_run_free(job->run);
        job->run = NULL;
    }
    gm_interrupt_release();
    if (status != GM_OK)
        return status;
    keep_json(job, outputs);
    return say(job, &context->options, report, err);
}
