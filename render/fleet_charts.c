/* SPDX-License-Identifier: Apache-2.0 */
#include "render/fleet_charts.h"

#include "render/charts.h"

static const struct {
    const char *file_name, *caption;
    void (*layout)(struct gm_display *display, const struct gm_fleet *fleet);
} charts[GM_FLEET_CHART_COUNT] = {
    [GM_FLEET_CHART_HEATMAP] = {"fleet_heatmap.png",
                                "Ranks down, iterations across: peak reserved, peak allocated and efficiency.",
                                gm_layout_fleet_heatmap},
    [GM_FLEET_CHART_GROWTH] = {"fleet_growth.png",
                               "Peak reserved and allocated memory over iterations, and the call sites that grew.",
                               gm_layout_fleet_growth},
};

const char *gm_fleet_chart_file_name(enum gm_fleet_chart chart)
{
    return charts[chart].file_name;
}

const char *gm_fleet_chart_caption(enum gm_fleet_chart chart)
{
    return charts[chart].caption;
}

enum gm_status gm_fleet_chart_draw(struct gm_png *png, struct gm_painter *painter, const struct gm_fleet *fleet,
                                   enum gm_fleet_chart chart, struct gm_error *err)
{
    struct gm_display display = {0};
    charts[chart].layout(&display, fleet);
    enum gm_status status = gm_display_to_png(png, painter, &display, NULL, err);
    gm_display_free(&display);
    return status;
}
