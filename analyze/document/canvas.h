/* SPDX-License-Identifier: Apache-2.0
 *
 * The peak and the timeline drawn with characters, for a terminal. No line is wider than the canvas.
 */
#pragma once

#include "analyze/base/text.h"
#include "analyze/report/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GM_CANVAS_LEAST = 40, GM_CANVAS_MOST = 400, GM_CANVAS_USUAL = 100 };
struct gm_text_canvas {
    size_t columns;   /* GM_CANVAS_LEAST to GM_CANVAS_MOST */
    size_t lines;     /* of a device's tree, at most; its heading is none of them */
    bool is_utf8;     /* else ASCII */
    bool has_colour;  /* frames of libraries are dim then */
    const char *card; /* whose usable bytes are `limit`; NULL: no line for it */
    uint64_t limit;
};

/* Of each device with a trace what was live at the peak of requested bytes, by call stack, outermost frame first. A
 * line has all bytes below it; those right below a line sum to it, with what is too small as "3 more". Sets
 * out->failed if there is no memory. */
void gm_canvas_tree(struct gm_text *out, const struct gm_report *report, const struct gm_text_canvas *canvas);
/* Of each device with a trace allocated and reserved bytes over time: a column of characters is the highest moment of
 * its part of the axis. */
void gm_canvas_chart(struct gm_text *out, const struct gm_report *report, const struct gm_text_canvas *canvas);
