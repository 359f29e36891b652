/* SPDX-License-Identifier: Apache-2.0
 *
 * Pixels for terminals that draw sixels (DEC VT340 Graphics Programming, chapter 14; xterm, foot, mlterm, Windows
 * Terminal ...).
 */
#pragma once

#include "analyze/base/text.h"
#include "render/png.h"

/* Every square of factor x factor pixels becomes one, their mean, in place; what is left over at the right and below is
 * left out. */
void gm_pixels_shrink(struct gm_pixels *pixels, struct gm_palette *palette, size_t factor);

/* Appends a picture. Sets out->failed if there is no memory. */
void gm_sixel_add(struct gm_text *out, const struct gm_pixels *pixels, const struct gm_palette *palette);
