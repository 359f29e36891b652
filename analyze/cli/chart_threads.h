/* SPDX-License-Identifier: Apache-2.0
 *
 * All charts of one report, drawn by several threads while the caller does something else.
 */
#ifndef GM_CLI_CHART_THREADS_H
#define GM_CLI_CHART_THREADS_H

#include "analyze/cli/font_thread.h"
#include "analyze/cli/run_files.h"
#include "render/render.h"

struct gm_charts;

/* Begins to draw every chart that applies, in up to `threads` - 1 threads besides the caller's; NULL: no memory. The
 * report must stay as it is until gm_charts_finish. */
struct gm_charts *gm_charts_start(struct gm_fonts *fonts, const struct gm_report *report, int threads);
/* Draws what nobody has begun yet and waits for the rest. Must be called once, also if the charts are not wanted any
 * more. */
enum gm_status gm_charts_finish(struct gm_charts *charts, struct gm_error *err);
/* Moves a chart after that to the files, if it applies. */
void gm_charts_take(struct gm_charts *charts, enum gm_chart chart, struct gm_run_files *files);
void gm_charts_free(struct gm_charts *charts); /* NULL is fine */

/* NULL-terminated pairs of file name and caption of the charts that apply, for gm_analysis_markdown. */
struct gm_chart_list {
    const char *v[2 * GM_CHART_COUNT + 1];
};
struct gm_chart_list gm_charts_list(const struct gm_report *report);

#endif
