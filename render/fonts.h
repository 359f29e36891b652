/* SPDX-License-Identifier: Apache-2.0
 *
 * What letters are drawn with, by the typesetter and for the atlas.
 */
#pragma once

#include "render/typeset.h"

#include <pango/pangocairo.h>

#define GM_FAMILY "DejaVu Sans"

/* The layout to set `text` with: right size, weight and fonts that have its characters. Stays the typesetter's. */
PangoLayout *gm_typesetter_layout(struct gm_typesetter *typesetter, const char *text, enum gm_text_size size,
                                  enum gm_weight weight);
