/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/drawing.h"

#include "analyze/base/threads.h"

#include <stdlib.h>

/* ---- fonts ------------------------------------------------------------------------------------------------------- */

struct gm_fonts {
    pthread_t thread;
    bool is_running; /* thread is to be joined */
    bool is_done;
    pthread_mutex_t lock; /* over the two above, and over the results until is_done */
    struct gm_painter *painter;
    enum gm_status status;
    struct gm_error error;
};

static void *look_up(void *argument)
{
    struct gm_fonts *fonts = argument;
    fonts->status = gm_painter_new(&fonts->painter, &fonts->error);
    return NULL;
}

struct gm_fonts *gm_fonts_start(bool in_background)
{
    struct gm_fonts *fonts = calloc(1, sizeof *fonts);
    if (fonts == NULL)
        return NULL;
    pthread_mutex_init(&fonts->lock, NULL);
    fonts->is_running = in_background && pthread_create(&fonts->thread, NULL, look_up, fonts) == 0;
    return fonts;
}

enum gm_status gm_fonts_wait(struct gm_fonts *fonts, struct gm_painter **painter, struct gm_error *err)
{
    pthread_mutex_lock(&fonts->lock);
    if (fonts->is_running)
        pthread_join(fonts->thread, NULL);
    else if (!fonts->is_done)
        look_up(fonts);
    fonts->is_running = false;
    fonts->is_done = true;
    pthread_mutex_unlock(&fonts->lock);
    *painter = fonts->painter;
    if (fonts->status != GM_OK && err != NULL)
        *err = fonts->error;
    return fonts->status;
}

void gm_fonts_free(struct gm_fonts *fonts)
{
    if (fonts == NULL)
        return;
    if (fonts->is_running)
        pthread_join(fonts->thread, NULL);
    gm_painter_free(fonts->painter);
    pthread_mutex_destroy(&fonts->lock);
    free(fonts);
}

/* ---- charts ------------------------------------------------------------------------------------------------------ */

struct gm_charts {
    struct gm_fonts *fonts;
    struct gm_charted of;
    enum gm_chart late; /* from this one on they are of what is not made yet */
    struct gm_threads threads;
    struct gm_png png[GM_CHARTS];
    enum gm_status status[GM_CHARTS];
    struct gm_error error[GM_CHARTS];
};

static void draw_one(struct gm_charts *charts, enum gm_chart i)
{
    struct gm_painter *painter = NULL;
    charts->status[i] = gm_fonts_wait(charts->fonts, &painter, &charts->error[i]);
    if (charts->status[i] == GM_OK && gm_chart_applies(charts->of.model, i))
        charts->status[i] = gm_chart_draw(&charts->png[i], painter, charts->of.model, i, &charts->error[i]);
}

/* From the last chart on: the last ones take longest. */
static void draw(void *argument, size_t n)
{
    struct gm_charts *charts = argument;
    draw_one(charts, (enum gm_chart)(charts->late - 1 - n));
}

enum gm_status gm_charts_start(struct gm_charts **started, struct gm_fonts *fonts, struct gm_charted of, int threads,
                               struct gm_error *err)
{
    *started = NULL;
    if (fonts == NULL)
        return GM_OK;
    struct gm_charts *charts = calloc(1, sizeof *charts);
    if (charts == NULL)
        return gm_no_memory(err);
    charts->fonts = fonts;
    charts->of = of;
    charts->late = of.end == (enum gm_chart)GM_CHART_COUNT ? GM_CHART_PLAN : of.end;
    *started = charts;
    gm_threads_start(&charts->threads, charts->late - of.first, (size_t)threads - (threads > 0), draw, charts);
    return GM_OK;
}

enum gm_status gm_charts_finish(struct gm_charts *charts, enum gm_status status, struct gm_run_files *files,
                                struct gm_error *err)
{
    if (charts == NULL)
        return status;
    gm_threads_finish(&charts->threads);
    for (enum gm_chart i = charts->late; i < charts->of.end; i++)
        draw_one(charts, i);
    for (enum gm_chart i = charts->of.first; i < charts->of.end; i++) {
        if (status == GM_OK && charts->status[i] != GM_OK) {
            status = charts->status[i];
            *err = charts->error[i];
        }
        if (charts->png[i].data != NULL)
            *gm_run_files_png(files, gm_chart_file_name(i)) = charts->png[i];
    }
    free(charts);
    return status;
}
