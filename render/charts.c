/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of charts, and the way of one chart: layout, paint, palette, PNG.
 */
#include "render/charts.h"

#include "render/layout.h"
#include "render/paint.h"
#include "render/png.h"
#include "render/theme.h"
#include "render/traced.h"

#include <stdbool.h>
#include <time.h>

static const struct {
    const char *file_name, *caption;
    gm_layout_fn *layout;
} charts[GM_CHART_COUNT] = {
    [GM_CHART_MEMORY_OVERVIEW] = {"memory_overview.png",
                                  "Memory overview: how much of the reserved memory is allocated and how much only "
                                  "cached, per device, and which categories hold the allocated part.",
                                  gm_layout_memory_overview},
    [GM_CHART_TOP_CONSUMERS] = {"top_consumers.png",
                                "Top consumers: the 30 largest live blocks with the line that made them, coloured by "
                                "category.",
                                gm_layout_top_consumers},
    [GM_CHART_CATEGORY_BREAKDOWN] = {"category_breakdown.png",
                                     "Category breakdown: allocated memory by category, largest first.",
                                     gm_layout_category_breakdown},
    [GM_CHART_SIZE_DISTRIBUTION] = {"size_distribution.png",
                                    "Size distribution: bytes and numbers of active and cached blocks by block size.",
                                    gm_layout_size_distribution},
    [GM_CHART_MEMORY_EFFICIENCY] = {"memory_efficiency.png",
                                    "Memory efficiency: allocated over reserved with its grade, and where the rest is: "
                                    "rounding, pending, releasable, stranded.",
                                    gm_layout_memory_efficiency},
    [GM_CHART_MEMORY_TIMELINE] = {"memory_timeline.png",
                                  "Memory timeline: active memory over time, stacked by category, with reserved as a "
                                  "line and the peaks, the steps and every running out of memory marked.",
                                  gm_layout_memory_timeline},
    [GM_CHART_PEAK_BREAKDOWN] = {"peak_breakdown.png",
                                 "Peak breakdown: what the peak was made of by category, role, lifetime and call site, "
                                 "and what it would be without each of the largest call sites.",
                                 gm_layout_peak_breakdown},
    [GM_CHART_FRAGMENTATION_MAP] = {"fragmentation_map.png",
                                    "Fragmentation map: the largest segments at the end with their blocks to scale, "
                                    "coloured by category; what is free is hatched.",
                                    gm_layout_fragmentation_map},
    [GM_CHART_FLAMEGRAPH] = {"flamegraph.png",
                             "Flame graph of the peak: live bytes by call stack, callers above; widths are to scale.",
                             gm_layout_flamegraph},
};

bool gm_chart_applies(const struct gm_report *report, enum gm_chart chart)
{
    struct gm_traced unused;
    return chart < GM_CHART_MEMORY_TIMELINE || gm_traced_highest(report, &unused);
}

const char *gm_chart_file_name(enum gm_chart chart)
{
    return charts[chart].file_name;
}

const char *gm_chart_caption(enum gm_chart chart)
{
    return charts[chart].caption;
}

void gm_chart_layout(struct gm_display *display, const struct gm_report *report, enum gm_chart chart)
{
    charts[chart].layout(display, report);
}

enum { MOST_EXACT = 128 };

/* The one or two colours of an item. */
static void colors_of(const struct gm_item *item, uint32_t colors[2])
{
    if (item->kind == GM_ITEM_RECT || item->kind == GM_ITEM_AREA) {
        const struct gm_fill *fill = item->kind == GM_ITEM_RECT ? &item->rect.fill : &item->area.fill;
        bool is_overlay = item->kind == GM_ITEM_AREA && item->area.is_overlay;
        colors[0] = is_overlay ? fill->hatch_color : fill->color;
        colors[1] = fill->hatch != GM_HATCH_NONE ? fill->hatch_color : colors[0];
    } else {
        colors[0] = colors[1] = item->kind == GM_ITEM_LINE ? item->line.color : item->text.color;
    }
}

/* The distinct colours of the list in order of appearance, paper first; those of letters' edges are not known here. */
static size_t exact_colors(uint32_t out[MOST_EXACT], const struct gm_display *display)
{
    size_t n = 0;
    out[n++] = GM_PAPER;
    for (size_t i = 0; i < display->items.n; i++) {
        const struct gm_item *item = &display->items.v[i];
        uint32_t colors[2];
        colors_of(item, colors);
        for (int c = 0; c < 2; c++) {
            size_t k = 0;
            while (k < n && out[k] != colors[c])
                k++;
            if (k == n && n < MOST_EXACT)
                out[n++] = colors[c];
        }
    }
    return n;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static enum gm_status to_png(struct gm_png *png, struct gm_painter *painter, struct gm_canvas *canvas,
                             const struct gm_display *display, struct gm_chart_times *times, struct gm_error *err)
{
    struct gm_pixels pixels;
    struct gm_palette palette;
    uint32_t exact[MOST_EXACT];
    double start = seconds();
    enum gm_status status = gm_paint(&pixels, painter, canvas, display, err);
    double painted = seconds();
    if (status == GM_OK)
        status = gm_png_index(&canvas->scratch, &palette, &pixels, exact, exact_colors(exact, display), err);
    double indexed = seconds();
    if (status == GM_OK)
        status = gm_png_compress(png, &canvas->scratch, &palette, pixels.width, pixels.height, err);
    times->paint = painted - start;
    times->index = indexed - painted;
    times->compress = seconds() - indexed;
    return status;
}

enum gm_status gm_display_to_png(struct gm_png *png, struct gm_painter *painter, const struct gm_display *display,
                                 struct gm_chart_times *times, struct gm_error *err)
{
    struct gm_chart_times unused;
    *png = (struct gm_png){NULL, 0};
    struct gm_canvas *canvas = display->failed ? NULL : gm_painter_take(painter);
    if (canvas == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for a chart");
    enum gm_status status = to_png(png, painter, canvas, display, times == NULL ? &unused : times, err);
    gm_painter_give_back(painter, canvas);
    return status;
}

enum gm_status gm_chart_draw_timed(struct gm_png *png, struct gm_painter *painter, const struct gm_report *report,
                                   enum gm_chart chart, struct gm_chart_times *times, struct gm_error *err)
{
    struct gm_chart_times unused;
    if (times == NULL)
        times = &unused;
    *png = (struct gm_png){NULL, 0};
    if ((unsigned)chart >= GM_CHART_COUNT)
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "there is no chart %u", (unsigned)chart);
    struct gm_display display = {0};
    double start = seconds();
    gm_chart_layout(&display, report, chart);
    times->layout = seconds() - start;
    enum gm_status status = gm_display_to_png(png, painter, &display, times, err);
    gm_display_free(&display);
    return status;
}

enum gm_status gm_chart_draw(struct gm_png *png, struct gm_painter *painter, const struct gm_report *report,
                             enum gm_chart chart, struct gm_error *err)
{
    return gm_chart_draw_timed(png, painter, report, chart, NULL, err);
}
