/* SPDX-License-Identifier: Apache-2.0
 *
 * Painting: a display list to pixels.
 */
#ifndef GM_RENDER_PAINT_H
#define GM_RENDER_PAINT_H

#include "analyze/base/error.h"
#include "render/display.h"
#include "render/fonts.h"
#include "render/png.h"

/* Paints into the canvas's own buffer, which *pixels then points to.
 */
enum gm_status gm_paint(struct gm_pixels *pixels, struct gm_painter *painter, struct gm_canvas *canvas,
                        const struct gm_display *display, struct gm_error *err);

#endif
