/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts: a model in, PNG bytes out. Layout (numbers to a display list of rectangles and texts, without fonts) and
 * painting (display list to pixels to PNG) are separate files. Knows nothing of snapshots or files on disk.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "render/chart_list.h"

#include <stdbool.h>
#include <stddef.h>

struct gm_report;
struct gm_comparison;
struct gm_fleet;

#define GM_CHART_NUMBER(id, name, when, caption) GM_CHART_##id,
#define GM_CHART_ONE(id, name, when, caption) +1
enum gm_chart {
    GM_REPORT_CHARTS(GM_CHART_NUMBER) GM_COMPARISON_CHARTS(GM_CHART_NUMBER) GM_FLEET_CHARTS(GM_CHART_NUMBER)
};
enum {
    GM_CHART_COUNT = 0 GM_REPORT_CHARTS(GM_CHART_ONE), /* those of reports are the first */
    GM_CHARTS_TO_COMPARISON = GM_CHART_COUNT GM_COMPARISON_CHARTS(GM_CHART_ONE),
    GM_CHARTS = GM_CHARTS_TO_COMPARISON GM_FLEET_CHARTS(GM_CHART_ONE)
};
/* Whether there is something to draw of its model: the charts of what happened over time need a device with events
 * whose timeline was computed. Callers draw, write and list only charts that apply, and flamegraph.svg exactly if
 * GM_CHART_FLAMEGRAPH does. (One that does not apply can be drawn all the same: it says why it is empty.) */
bool gm_chart_applies(const void *model, enum gm_chart chart);
const char *gm_chart_file_name(enum gm_chart chart); /* "memory_overview.png" */

/* The charts of one model, from `first` to before `end`. */
struct gm_charted {
    const void *model;
    enum gm_chart first, end;
};
static inline struct gm_charted gm_charts_of_report(const struct gm_report *report)
{
    return (struct gm_charted){report, (enum gm_chart)0, (enum gm_chart)GM_CHART_COUNT};
}
static inline struct gm_charted gm_charts_of_comparison(const struct gm_comparison *comparison)
{
    return (struct gm_charted){comparison, (enum gm_chart)GM_CHART_COUNT, (enum gm_chart)GM_CHARTS_TO_COMPARISON};
}
static inline struct gm_charted gm_charts_of_fleet(const struct gm_fleet *fleet)
{
    return (struct gm_charted){fleet, (enum gm_chart)GM_CHARTS_TO_COMPARISON, (enum gm_chart)GM_CHARTS};
}
/* NULL-terminated pairs of file name and caption of those that apply, for README.md. */
struct gm_chart_list {
    const char *v[2 * GM_CHARTS + 1];
};
struct gm_chart_list gm_chart_list_of(struct gm_charted charted);

struct gm_png {
    unsigned char *data;
    size_t length;
}; /* owned: free(data) */

/* What painting needs once per process (fonts). Create one, share it among threads. */
struct gm_painter;
enum gm_status gm_painter_new(struct gm_painter **painter, struct gm_error *err);
void gm_painter_free(struct gm_painter *painter);

/* Draws one chart of its model. May be called from several threads at once with the same painter and model. */
enum gm_status gm_chart_draw(struct gm_png *png, struct gm_painter *painter, const void *model, enum gm_chart chart,
                             struct gm_error *err);
/* The same chart for a terminal that draws sixels, added to `out`: as many pixels wide as gm_chart_width says. */
enum gm_status gm_chart_sixel(struct gm_text *out, struct gm_painter *painter, const void *model, enum gm_chart chart,
                              size_t most_width, struct gm_error *err);
/* Pixels: the width of a PNG, or its half, third ... that is no wider than `most_width`. */
size_t gm_chart_width(size_t most_width);

/* flamegraph.svg: the flame graph as text, with all that is too small or too deep for the picture. Needs no script to
 * be read (each box has its numbers as a tooltip); the one that it has zooms and searches. Names from the file appear
 * as escaped text only. Sets out->failed if memory runs out, which is also the only error. */
enum gm_status gm_flamegraph_svg(struct gm_text *out, const struct gm_report *report, struct gm_error *err);
enum gm_status gm_diff_flamegraph_svg(struct gm_text *out, const struct gm_comparison *c, struct gm_error *err);
#define GM_FLAMEGRAPH_SVG "flamegraph.svg"
#define GM_DIFF_FLAMEGRAPH_SVG "diff_flamegraph.svg"
