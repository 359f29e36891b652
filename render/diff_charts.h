/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures of comparisons: comparison in, PNG or SVG out.
 */
#ifndef GM_RENDER_DIFF_CHARTS_H
#define GM_RENDER_DIFF_CHARTS_H

#include "analyze/base/text.h"
#include "analyze/report/comparison.h"
#include "render/render.h"

enum gm_diff_chart {
    GM_DIFF_CHART_OVERVIEW,
    GM_DIFF_CHART_TIMELINE, /* only if a run has a trace */
    GM_DIFF_CHART_FLAMEGRAPH,
    GM_DIFF_CHART_SCALING, /* only if there is a series of runs */
    GM_DIFF_CHART_COUNT
};
bool gm_diff_chart_applies(const struct gm_comparison *c, enum gm_diff_chart chart);
const char *gm_diff_chart_file_name(enum gm_diff_chart chart); /* "diff_overview.png" */
const char *gm_diff_chart_caption(enum gm_diff_chart chart);   /* one sentence */
/* As gm_chart_draw. */
enum gm_status gm_diff_chart_draw(struct gm_png *png, struct gm_painter *painter, const struct gm_comparison *c,
                                  enum gm_diff_chart chart, struct gm_error *err);

/* As gm_flamegraph_svg. */
enum gm_status gm_diff_flamegraph_svg(struct gm_text *out, const struct gm_comparison *c, struct gm_error *err);
#define GM_DIFF_FLAMEGRAPH_SVG "diff_flamegraph.svg"

#endif
