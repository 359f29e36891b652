/* SPDX-License-Identifier: Apache-2.0
 *
 * gm_render_gallery DIR: every chart of every sample as DIR/SAMPLE.CHART.png and the flame graph as SVG, to be
 * looked at.
 * gm_render_gallery --bench [ROUNDS]: milliseconds per phase and kilobytes of each chart of the typical sample, drawn
 * by one thread, and the wall time of all charts with two threads, the painter's start included.
 */
#include "render/charts.h"
#include "render/paint.h"
#include "tests/render/samples.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool save(const char *path, const void *data, size_t length)
{
    FILE *f = fopen(path, "wb");
    bool ok = f != NULL && fwrite(data, 1, length, f) == length;
    if (f != NULL)
        ok &= fclose(f) == 0;
    if (!ok)
        perror(path);
    printf("%7.1f KB  %s\n", (double)length / 1e3, path);
    return ok;
}

static int gallery(const char *directory)
{
    struct gm_error err;
    struct gm_painter *painter;
    if (gm_painter_new(&painter, &err) != GM_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    int failures = 0;
    for (int s = 0; s < SAMPLE_COUNT; s++) {
        struct gm_report report;
        sample_make(&report, (enum sample)s);
        for (int c = 0; c < GM_CHART_COUNT; c++) {
            struct gm_png png;
            char path[4096];
            snprintf(path, sizeof path, "%s/%s.%s", directory, sample_name((enum sample)s),
                     gm_chart_file_name((enum gm_chart)c));
            if (gm_chart_draw(&png, painter, &report, (enum gm_chart)c, &err) != GM_OK) {
                fprintf(stderr, "%s: %s\n", path, err.message);
                failures++;
                continue;
            }
            failures += !save(path, png.data, png.length);
            free(png.data);
        }
        struct gm_text svg = {0};
        char path[4096];
        snprintf(path, sizeof path, "%s/%s." GM_FLAMEGRAPH_SVG, directory, sample_name((enum sample)s));
        failures += gm_flamegraph_svg(&svg, &report, NULL) != GM_OK || !save(path, svg.data, svg.length);
        gm_text_free(&svg);
        gm_report_free(&report);
    }
    gm_painter_free(painter);
    return failures > 0;
}

struct job {
    struct gm_painter *painter;
    const struct gm_report *report;
    unsigned *next; /* shared: the next chart to draw */
    int failures;
};

static void *draw_charts(void *arg)
{
    struct job *job = arg;
    for (;;) {
        unsigned chart = __atomic_fetch_add(job->next, 1, __ATOMIC_RELAXED);
        if (chart >= GM_CHART_COUNT)
            return NULL;
        struct gm_png png;
        job->failures += gm_chart_draw(&png, job->painter, job->report, (enum gm_chart)chart, NULL) != GM_OK;
        free(png.data);
    }
}

/* What a program pays: the first use in this process. */
static int bench_start(const struct gm_report *report)
{
    double start = now_ms();
    struct gm_painter *painter;
    if (gm_painter_new(&painter, NULL) != GM_OK)
        return 1;
    double made = now_ms();
    unsigned next = 0;
    struct job jobs[2] = {{painter, report, &next, 0}, {painter, report, &next, 0}};
    pthread_t other;
    if (pthread_create(&other, NULL, draw_charts, &jobs[1]) != 0)
        return 1;
    draw_charts(&jobs[0]);
    pthread_join(other, NULL);
    printf("first use: painter %.2f ms, all charts with two threads %.2f ms\n", made - start, now_ms() - made);
    gm_painter_free(painter);
    return jobs[0].failures + jobs[1].failures > 0;
}

/* Milliseconds. */
struct phases {
    double layout, paint, compress;
};

static double sum_of(const struct phases *p)
{
    return p->layout + p->paint + p->compress;
}

/* Draws the chart; returns the PNG's bytes, 0 if it failed. */
static size_t measure(struct phases *out, struct gm_painter *painter, const struct gm_report *report,
                      enum gm_chart chart)
{
    GM_FREED_BY(gm_display_free) struct gm_display display = {0};
    struct gm_pixels pixels;
    struct gm_png png = {NULL, 0};
    struct gm_canvas *canvas = gm_painter_take(painter);
    const double start = now_ms();
    gm_chart_layout(&display, report, chart);
    const double placed = now_ms();
    bool ok = canvas != NULL && !display.failed && gm_paint(&pixels, painter, canvas, &display, NULL) == GM_OK;
    const double painted = now_ms();
    ok = ok && gm_png_compress(&png, &canvas->scratch, &canvas->palette, &pixels, NULL) == GM_OK;
    *out = (struct phases){placed - start, painted - placed, now_ms() - painted};
    if (canvas != NULL)
        gm_painter_give_back(painter, canvas);
    free(png.data);
    return ok ? png.length : 0;
}

static int bench_phases(const struct gm_report *report, int rounds)
{
    struct gm_painter *painter;
    if (gm_painter_new(&painter, NULL) != GM_OK)
        return 1;
    printf("best of %d, milliseconds:\n%-26s%8s%8s%9s%8s%8s\n", rounds, "chart", "layout", "paint", "compress", "sum",
           "KB");
    for (int c = 0; c < GM_CHART_COUNT; c++) {
        struct phases best = {.paint = 1e9};
        size_t length = 0;
        for (int i = 0; i < rounds; i++) {
            struct phases now;
            length = measure(&now, painter, report, (enum gm_chart)c);
            if (length == 0)
                return 1;
            if (sum_of(&now) < sum_of(&best))
                best = now;
        }
        printf("%-26s%8.2f%8.2f%9.2f%8.2f%8.1f\n", gm_chart_file_name((enum gm_chart)c), best.layout, best.paint,
               best.compress, sum_of(&best), (double)length / 1e3);
    }
    double start = now_ms();
    struct gm_text svg = {0};
    if (gm_flamegraph_svg(&svg, report, NULL) != GM_OK)
        return 1;
    printf("%-51s%8.2f%8.1f\n", GM_FLAMEGRAPH_SVG, now_ms() - start, (double)svg.length / 1e3);
    gm_text_free(&svg);
    gm_painter_free(painter);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s DIR | --bench [ROUNDS]\n", argv[0]);
        return 2;
    }
    if (strcmp(argv[1], "--bench") != 0)
        return gallery(argv[1]);
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
    struct gm_report report;
    sample_make(&report, SAMPLE_TYPICAL);
    int failed = bench_start(&report) || bench_phases(&report, rounds > 0 ? rounds : 1);
    gm_report_free(&report);
    return failed;
}
