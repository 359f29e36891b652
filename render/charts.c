/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of charts, and the way of one chart: layout, paint, PNG.
 */
#include "render/charts.h"

#include "analyze/report/comparison.h"
#include "analyze/report/fleet_model.h"
#include "render/devices.h"
#include "render/paint.h"
#include "render/png.h"
#include "render/sixel.h"

#include <stdlib.h>

/* ---- when there is something to draw ----------------------------------------------------------------------------- */

static bool always(const void *model)
{
    return model != NULL;
}

static bool has_end(const void *report)
{
    return !((const struct gm_report *)report)->lacks_end;
}

static bool has_trace(const void *report)
{
    struct gm_traced unused;
    return gm_traced_highest(report, &unused);
}

static bool has_both(const void *report)
{
    return has_end(report) && has_trace(report);
}

static bool has_plan(const void *report)
{
    return ((const struct gm_report *)report)->plan != NULL;
}

static bool has_timelines(const void *comparison)
{
    return ((const struct gm_comparison *)comparison)->timeline.lines != NULL;
}

static bool has_series(const void *comparison)
{
    return ((const struct gm_comparison *)comparison)->series_count > 0;
}

static bool has_growths(const void *fleet)
{
    return ((const struct gm_fleet *)fleet)->growth_count > 0;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define ALL(X) GM_REPORT_CHARTS(X) GM_COMPARISON_CHARTS(X) GM_FLEET_CHARTS(X)
#define LAY_OUT(id, name, when, caption)                                                                               \
    static void name(struct gm_display *display, const void *model)                                                    \
    {                                                                                                                  \
        gm_layout_##name(display, model);                                                                              \
    }
ALL(LAY_OUT)

static const struct {
    const char *file_name, *caption;
    bool (*applies)(const void *model);
    void (*layout)(struct gm_display *display, const void *model);
} charts[GM_CHARTS] = {
#define ROW(id, name, when, caption) {#name ".png", caption, when, name},
    ALL(ROW)};

bool gm_chart_applies(const void *model, enum gm_chart chart)
{
    return charts[chart].applies(model);
}

const char *gm_chart_file_name(enum gm_chart chart)
{
    return charts[chart].file_name;
}

struct gm_chart_list gm_chart_list_of(struct gm_charted charted)
{
    struct gm_chart_list list = {{NULL}};
    size_t n = 0;
    for (enum gm_chart i = charted.first; i < charted.end; i++) {
        if (!gm_chart_applies(charted.model, i))
            continue;
        list.v[n++] = charts[i].file_name;
        list.v[n++] = charts[i].caption;
    }
    return list;
}

void gm_chart_layout(struct gm_display *display, const void *model, enum gm_chart chart)
{
    charts[chart].layout(display, model);
}

/* ---- from a layout to a picture ---------------------------------------------------------------------------------- */

/* What is made of a chart. */
struct product {
    struct gm_png *png; /* NULL: sixels are wanted */
    struct gm_text *sixels;
    size_t most_width; /* of these */
};

static size_t shrinking(size_t width, size_t most_width)
{
    size_t factor = 1;
    while (factor < width && width / factor > most_width)
        factor++;
    return factor;
}

size_t gm_chart_width(size_t most_width)
{
    const size_t width = GM_DISPLAY_WIDTH * GM_DISPLAY_SCALE;
    return width / shrinking(width, most_width);
}

static enum gm_status make(const struct product *product, struct gm_canvas *canvas, struct gm_pixels *pixels,
                           struct gm_error *err)
{
    if (product->png != NULL)
        return gm_png_compress(product->png, &canvas->scratch, &canvas->palette, pixels, err);
    gm_pixels_shrink(pixels, &canvas->palette, shrinking(pixels->width, product->most_width));
    gm_sixel_add(product->sixels, pixels, &canvas->palette);
    return product->sixels->failed ? gm_no_memory(err) : GM_OK;
}

static enum gm_status draw(const struct product *product, struct gm_painter *painter, const void *model,
                           enum gm_chart chart, struct gm_error *err)
{
    struct gm_display display = {0};
    struct gm_canvas *canvas;
    struct gm_pixels pixels;
    enum gm_status status;
    if ((unsigned)chart >= GM_CHARTS)
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "there is no chart %u", (unsigned)chart);
    gm_chart_layout(&display, model, chart);
    if (display.failed || (canvas = gm_painter_take(painter)) == NULL) {
        status = gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for a chart");
    } else {
        status = gm_paint(&pixels, painter, canvas, &display, err);
        GM_THEN(status, make(product, canvas, &pixels, err));
        gm_painter_give_back(painter, canvas);
    }
    gm_display_free(&display);
    return status;
}

enum gm_status gm_chart_draw(struct gm_png *png, struct gm_painter *painter, const void *model, enum gm_chart chart,
                             struct gm_error *err)
{
    *png = (struct gm_png){NULL, 0};
    return draw(&(struct product){.png = png}, painter, model, chart, err);
}

enum gm_status gm_chart_sixel(struct gm_text *out, struct gm_painter *painter, const void *model, enum gm_chart chart,
                              size_t most_width, struct gm_error *err)
{
    return draw(&(struct product){.sixels = out, .most_width = most_width}, painter, model, chart, err);
}
