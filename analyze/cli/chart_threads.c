/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/chart_threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct gm_charts {
    struct gm_fonts *fonts;
    const struct gm_report *report;
    pthread_t helper[GM_CHART_COUNT];
    int helpers;
    atomic_int next; /* how many have been taken, from the last chart on: the last ones take longest */
    struct gm_png png[GM_CHART_COUNT];
    enum gm_status status[GM_CHART_COUNT];
    struct gm_error error[GM_CHART_COUNT];
};

static void *draw(void *argument)
{
    struct gm_charts *charts = argument;
    struct gm_painter *painter = NULL;
    struct gm_error err = {.status = GM_OK};
    enum gm_status status = gm_fonts_wait(charts->fonts, &painter, &err);
    for (int n; (n = atomic_fetch_add(&charts->next, 1)) < GM_CHART_COUNT;) {
        int i = GM_CHART_COUNT - 1 - n;
        charts->status[i] = status;
        charts->error[i] = err;
        if (status == GM_OK && gm_chart_applies(charts->report, (enum gm_chart)i))
            charts->status[i] =
                gm_chart_draw(&charts->png[i], painter, charts->report, (enum gm_chart)i, &charts->error[i]);
    }
    return NULL;
}

struct gm_charts *gm_charts_start(struct gm_fonts *fonts, const struct gm_report *report, int threads)
{
    struct gm_charts *charts = calloc(1, sizeof *charts);
    if (charts == NULL)
        return NULL;
    charts->fonts = fonts;
    charts->report = report;
    /* The caller draws too; a helper that cannot be started only makes it slower. */
    while (charts->helpers < GM_CHART_COUNT - 1 && charts->helpers + 1 < threads &&
           pthread_create(&charts->helper[charts->helpers], NULL, draw, charts) == 0)
        charts->helpers++;
    return charts;
}

enum gm_status gm_charts_finish(struct gm_charts *charts, struct gm_error *err)
{
    draw(charts);
    for (int i = 0; i < charts->helpers; i++)
        pthread_join(charts->helper[i], NULL);
    for (int i = 0; i < GM_CHART_COUNT; i++) {
        if (charts->status[i] != GM_OK) {
            if (err != NULL)
                *err = charts->error[i];
            return charts->status[i];
        }
    }
    return GM_OK;
}

const struct gm_png *gm_charts_png(const struct gm_charts *charts, enum gm_chart chart)
{
    return &charts->png[chart];
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
