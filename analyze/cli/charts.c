/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/charts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct drawing {
    struct gm_png *png;
    struct gm_painter *painter;
    const struct gm_report *report;
    atomic_int next; /* the chart that nobody has taken yet */
    enum gm_status status[GM_CHART_COUNT];
    struct gm_error error[GM_CHART_COUNT];
};

static void *draw(void *argument)
{
    struct drawing *d = argument;
    for (int i; (i = atomic_fetch_add(&d->next, 1)) < GM_CHART_COUNT;)
        d->status[i] = gm_chart_draw(&d->png[i], d->painter, d->report, (enum gm_chart)i, &d->error[i]);
    return NULL;
}

enum gm_status gm_charts_draw(struct gm_png *png, struct gm_painter *painter, const struct gm_report *report,
                              int threads, struct gm_error *err)
{
    struct drawing drawing = {.png = png, .painter = painter, .report = report};
    pthread_t helper[GM_CHART_COUNT];
    int helpers = 0;
    /* This thread draws too; a helper that cannot be started only makes it slower. */
    while (helpers < GM_CHART_COUNT - 1 && helpers + 1 < threads &&
           pthread_create(&helper[helpers], NULL, draw, &drawing) == 0)
        helpers++;
    draw(&drawing);
    for (int i = 0; i < helpers; i++)
        pthread_join(helper[i], NULL);
    for (int i = 0; i < GM_CHART_COUNT; i++) {
        if (drawing.status[i] != GM_OK) {
            if (err != NULL)
                *err = drawing.error[i];
            return drawing.status[i];
        }
    }
    return GM_OK;
}

void gm_charts_free(struct gm_png *png)
{
    for (int i = 0; i < GM_CHART_COUNT; i++) {
        free(png[i].data);
        png[i] = (struct gm_png){0};
    }
}

struct gm_chart_list gm_charts_list(void)
{
    struct gm_chart_list list = {{NULL}};
    for (int i = 0; i < GM_CHART_COUNT; i++) {
        list.v[2 * i] = gm_chart_file_name((enum gm_chart)i);
        list.v[2 * i + 1] = gm_chart_caption((enum gm_chart)i);
    }
    return list;
}
