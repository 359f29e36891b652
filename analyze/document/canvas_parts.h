/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/document: what the drawings on a canvas share.
 */
#pragma once

#include "analyze/document/canvas.h"
#include "analyze/report/view.h"

/* Adds the lines of one device. */
typedef void gm_canvas_draw(struct gm_text *out, const struct gm_view *view, const struct gm_text_canvas *canvas);
/* Each device behind a heading, "Device 0 `what`: 1.20 GiB requested at event 12", and in ASCII where it must be. */
void gm_canvas_devices(struct gm_text *out, const struct gm_report *report, const struct gm_text_canvas *canvas,
                       const char *what, gm_canvas_draw *draw);
/* The line so far, cut to the canvas and ended; frees it. */
void gm_canvas_line(struct gm_text *out, struct gm_text *line, const struct gm_text_canvas *canvas);
