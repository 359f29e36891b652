/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/fleet_outputs.h"

#include "analyze/cli/run_files.h"
#include "analyze/document/documents.h"
#include "render/fleet_charts.h"

static const char json_name[] = "fleet.json";

static enum gm_status draw(struct gm_run_files *files, const struct gm_fleet_context *context,
                           const struct gm_fleet *fleet, struct gm_error *err)
{
    struct gm_painter *painter;
    enum gm_status status = gm_fonts_wait(context->fonts, &painter, err);
    for (enum gm_fleet_chart i = 0; status == GM_OK && i < GM_FLEET_CHART_COUNT; i++)
        status = gm_fleet_chart_draw(gm_run_files_png(files, gm_fleet_chart_file_name(i)), painter, fleet, i, err);
    return status;
}

static enum gm_status make(struct gm_run_files *files, const struct gm_fleet_context *context,
                           const struct gm_fleet *fleet, struct gm_error *err)
{
    const char *charts[2 * GM_FLEET_CHART_COUNT + 1] = {NULL};
    for (enum gm_fleet_chart i = 0; i < GM_FLEET_CHART_COUNT; i++) {
        charts[2 * i] = gm_fleet_chart_file_name(i);
        charts[2 * i + 1] = gm_fleet_chart_caption(i);
    }
    gm_fleet_json(gm_run_files_text(files, json_name), fleet);
    gm_fleet_text(gm_run_files_text(files, "fleet_report.txt"), fleet);
    gm_fleet_markdown(gm_run_files_text(files, "README.md"), fleet, context->fonts != NULL ? charts : NULL);
    gm_fleet_csv(gm_run_files_text(files, "fleet.csv"), fleet);
    return context->fonts != NULL ? draw(files, context, fleet, err) : GM_OK;
}

enum gm_status gm_fleet_outputs_write(struct gm_run **run, struct gm_text *json, bool *latest_was_left_alone,
                                      const struct gm_fleet_context *context, const struct gm_fleet *fleet,
                                      const char *name, struct gm_error *err)
{
    struct gm_run_files files = {.count = 0};
    *run = NULL;
    enum gm_status status = make(&files, context, fleet, err);
    if (status == GM_OK)
        status = gm_run_files_publish(run, latest_was_left_alone, &files, context->options.results, name, context->when,
                                      err);
    if (status == GM_OK)
        *json = gm_run_files_take(&files, json_name);
    gm_run_files_free(&files);
    return status;
}
