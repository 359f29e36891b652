/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts: report model in, PNG bytes out. Layout (numbers to a display list of rectangles and texts, without fonts) and
 * painting (display list to pixels to PNG) are separate files. Knows nothing of snapshots or files on disk.
 */
#ifndef GM_RENDER_RENDER_H
#define GM_RENDER_RENDER_H

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/report/report.h"

#include <stdbool.h>
#include <stddef.h>

enum gm_chart {
    GM_CHART_MEMORY_OVERVIEW,
    GM_CHART_TOP_CONSUMERS,
    GM_CHART_CATEGORY_BREAKDOWN,
    GM_CHART_SIZE_DISTRIBUTION,
    GM_CHART_MEMORY_EFFICIENCY,
    GM_CHART_MEMORY_TIMELINE, /* from here on: only with a trace */
    GM_CHART_PEAK_BREAKDOWN,
    GM_CHART_FRAGMENTATION_MAP,
    GM_CHART_FLAMEGRAPH,
    GM_CHART_COUNT
};
/* Whether there is something to draw: the charts of what happened over time need a device with events whose timeline
 * was computed. Callers draw, write and list only charts that apply, and flamegraph.svg exactly if GM_CHART_FLAMEGRAPH
 * does. (One that does not apply can be drawn all the same: it says why it is empty.) */
bool gm_chart_applies(const struct gm_report *report, enum gm_chart chart);
const char *gm_chart_file_name(enum gm_chart chart); /* "memory_overview.png" */
const char *gm_chart_caption(enum gm_chart chart);   /* one sentence: what to look for, for README alt text */

struct gm_png {
    unsigned char *data;
    size_t length;
}; /* owned: free(data) */

/* What painting needs once per process (fonts). Create one, share it among threads. */
struct gm_painter;
enum gm_status gm_painter_new(struct gm_painter **painter, struct gm_error *err);
void gm_painter_free(struct gm_painter *painter);

/* Draws one chart. May be called from several threads at once with the same painter and report. */
enum gm_status gm_chart_draw(struct gm_png *png, struct gm_painter *painter, const struct gm_report *report,
                             enum gm_chart chart, struct gm_error *err);

/* flamegraph.svg: the flame graph as text, with all that is too small or too deep for the picture. Needs no script to
 * be read (each box has its numbers as a tooltip); the one that it has zooms and searches. Names from the file appear
 * as escaped text only. Sets out->failed if memory runs out, which is also the only error. */
enum gm_status gm_flamegraph_svg(struct gm_text *out, const struct gm_report *report, struct gm_error *err);
#define GM_FLAMEGRAPH_SVG "flamegraph.svg"

#endif
