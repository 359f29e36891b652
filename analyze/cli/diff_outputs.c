/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/diff_outputs.h"

#include "analyze/cli/run_files.h"
#include "analyze/document/documents.h"
#include "render/diff_charts.h"

static const char json_name[] = "diff.json";

static enum gm_status draw(struct gm_run_files *files, const struct gm_diff_context *context,
                           const struct gm_comparison *c, struct gm_error *err)
{
    struct gm_painter *painter;
    enum gm_status status = gm_fonts_wait(context->fonts, &painter, err);
    for (enum gm_diff_chart i = 0; status == GM_OK && i < GM_DIFF_CHART_COUNT; i++)
        if (gm_diff_chart_applies(c, i))
            status = gm_diff_chart_draw(gm_run_files_png(files, gm_diff_chart_file_name(i)), painter, c, i, err);
    if (status == GM_OK)
        status = gm_diff_flamegraph_svg(gm_run_files_text(files, GM_DIFF_FLAMEGRAPH_SVG), c, err);
    return status;
}

static enum gm_status make(struct gm_run_files *files, const struct gm_diff_context *context,
                           const struct gm_comparison *c, struct gm_error *err)
{
    const char *charts[2 * GM_DIFF_CHART_COUNT + 1] = {NULL};
    size_t n = 0;
    for (enum gm_diff_chart i = 0; context->fonts != NULL && i < GM_DIFF_CHART_COUNT; i++)
        if (gm_diff_chart_applies(c, i)) {
            charts[n++] = gm_diff_chart_file_name(i);
            charts[n++] = gm_diff_chart_caption(i);
        }
    gm_diff_json(gm_run_files_text(files, json_name), c);
    gm_diff_text(gm_run_files_text(files, "diff_report.txt"), c, context->fonts != NULL);
    gm_diff_markdown(gm_run_files_text(files, "README.md"), c, context->fonts != NULL ? charts : NULL);
    gm_diff_comment(gm_run_files_text(files, "pr_comment.md"), c);
    return context->fonts != NULL ? draw(files, context, c, err) : GM_OK;
}

enum gm_status gm_diff_outputs_write(struct gm_run **run, struct gm_text *json, bool *latest_was_left_alone,
                                     const struct gm_diff_context *context, const struct gm_comparison *c,
                                     const char *name, struct gm_error *err)
{
    struct gm_run_files files = {.count = 0};
    *run = NULL;
    enum gm_status status = make(&files, context, c, err);
    if (status == GM_OK)
        status = gm_run_files_publish(run, latest_was_left_alone, &files, context->options.results, name, context->when,
                                      err);
    if (status == GM_OK)
        *json = gm_run_files_take(&files, json_name);
    gm_run_files_free(&files);
    return status;
}
