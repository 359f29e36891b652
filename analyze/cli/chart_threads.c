/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/job_parts.h"

#include "analyze/base/threads.h"

#include <stdlib.h>

struct gm_charts {
    struct gm_fonts *fonts;
    const struct gm_report *report;
    struct gm_threads threads;
    struct gm_png png[GM_CHART_COUNT];
    enum gm_status status[GM_CHART_COUNT];
    struct gm_error error[GM_CHART_COUNT];
};

/* From the last chart on: the last ones take longest. */
static void draw(void *argument, size_t n)
{
    struct gm_charts *charts = argument;
    const enum gm_chart i = (enum gm_chart)(GM_CHART_COUNT - 1 - n);
    struct gm_painter *painter = NULL;
    charts->status[i] = gm_fonts_wait(charts->fonts, &painter, &charts->error[i]);
    if (charts->status[i] == GM_OK && gm_chart_applies(charts->report, i))
        charts->status[i] = gm_chart_draw(&charts->png[i], painter, charts->report, i, &charts->error[i]);
}

struct gm_charts *gm_charts_start(struct gm_fonts *fonts, const struct gm_report *report, int threads)
{
    struct gm_charts *charts = calloc(1, sizeof *charts);
    if (charts == NULL)
        return NULL;
    charts->fonts = fonts;
    charts->report = report;
    gm_threads_start(&charts->threads, GM_CHART_COUNT, (size_t)threads - (threads > 0), draw, charts);
    return charts;
}

enum gm_status gm_charts_finish(struct gm_charts *charts, struct gm_error *err)
{
    gm_threads_finish(&charts->threads);
    for (int i = 0; i < GM_CHART_COUNT; i++) {
        if (charts->status[i] != GM_OK) {
            if (err != NULL)
                *err = charts->error[i];
            return charts->status[i];
        }
    }
    return GM_OK;
}

void gm_charts_take(struct gm_charts *charts, enum gm_chart chart, struct gm_run_files *files)
{
    if (charts->png[chart].data == NULL)
        return;
    *gm_run_files_png(files, gm_chart_file_name(chart)) = charts->png[chart];
    charts->png[chart] = (struct gm_png){0};
}

void gm_charts_free(struct gm_charts *charts)
{
    if (charts == NULL)
        return;
    for (int i = 0; i < GM_CHART_COUNT; i++)
        free(charts->png[i].data);
    free(charts);
}

struct gm_chart_list gm_charts_list(const struct gm_report *report)
{
    struct gm_chart_list list = {{NULL}};
    size_t n = 0;
    for (int i = 0; i < GM_CHART_COUNT; i++) {
        if (!gm_chart_applies(report, (enum gm_chart)i))
            continue;
        list.v[n++] = gm_chart_file_name((enum gm_chart)i);
        list.v[n++] = gm_chart_caption((enum gm_chart)i);
    }
    return list;
}
