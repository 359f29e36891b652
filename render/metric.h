/* SPDX-License-Identifier: Apache-2.0
 *
 * How wide a text is, estimated without a font, and how to shorten it. The estimate is meant to be a little too wide:
 * it is based on a wide UI font (DejaVu Sans); a text that is wider all the same is ellipsised by the painter.
 */
#pragma once

#include "render/display.h"

double gm_text_pixels(enum gm_text_size size); /* em height in logical units */

/* Where a line begins that is `width` wide, all in pixels of the picture: on whole ones. */
struct gm_origin {
    double x, baseline;
};
struct gm_origin gm_text_origin(const struct gm_text_item *text, double width);

double gm_text_width(const char *text, enum gm_text_size size, enum gm_weight weight);

/* The text, or a copy owned by the display list that is cut at the end and ends with an ellipsis, at most `width`
 * wide by the estimate. */
const char *gm_shorten_end(struct gm_display *display, const char *text, double width, enum gm_text_size size,
                           enum gm_weight weight);
/* The same for "function  path/file.py:12": the path loses leading directories first, then the function its end. The
 * file's name and line go last. */
const char *gm_shorten_site(struct gm_display *display, const char *site, double width, enum gm_text_size size,
                            enum gm_weight weight);
