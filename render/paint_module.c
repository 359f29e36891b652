/* SPDX-License-Identifier: Apache-2.0 */
#include "render/paint_module.h"

const struct gm_paint_module gm_paint_module = {GM_VERSION,           gm_painter_new, gm_painter_free, gm_painter_take,
                                                gm_painter_give_back, gm_paint,       gm_png_compress};
