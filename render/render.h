/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts: report model in, PNG bytes out. Layout (numbers to a display list of rectangles and texts, without fonts) and
 * painting (display list to pixels to PNG) are separate files. Knows nothing of snapshots or files on disk.
 */
#ifndef GM_RENDER_RENDER_H
#define GM_RENDER_RENDER_H

#include "analyze/base/error.h"
#include "analyze/report/report.h"

#include <stddef.h>

enum gm_chart {
    GM_CHART_MEMORY_OVERVIEW,
    GM_CHART_TOP_CONSUMERS,
    GM_CHART_CATEGORY_BREAKDOWN,
    GM_CHART_SIZE_DISTRIBUTION,
    GM_CHART_MEMORY_EFFICIENCY,
    GM_CHART_COUNT
};
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

#endif
