/* SPDX-License-Identifier: Apache-2.0
 *
 * All charts of one report, drawn by several threads.
 */
#ifndef GM_CLI_CHARTS_H
#define GM_CLI_CHARTS_H

#include "render/render.h"

/* Draws every chart into png[GM_CHART_COUNT] (each to be freed by the caller, also on failure). */
enum gm_status gm_charts_draw(struct gm_png *png, struct gm_painter *painter, const struct gm_report *report,
                              int threads, struct gm_error *err);
void gm_charts_free(struct gm_png *png);
/* NULL-terminated pairs of file name and caption, for gm_words_markdown. */
struct gm_chart_list {
    const char *v[2 * GM_CHART_COUNT + 1];
};
struct gm_chart_list gm_charts_list(void);

#endif
