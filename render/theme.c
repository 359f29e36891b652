/* SPDX-License-Identifier: Apache-2.0 */
#include "render/theme.h"

#include <math.h>

struct gm_fill gm_use_fill(enum gm_use use)
{
    static const struct gm_fill fills[GM_USE_COUNT] = {
        [GM_USE_ALLOCATED] = {0x2b6cb0, 0, GM_HATCH_NONE},
        [GM_USE_ROUNDING] = {0xb9d5ee, 0x6fa3d4, GM_HATCH_DOTS},
        [GM_USE_PENDING] = {0xe8a33d, 0, GM_HATCH_NONE},
        [GM_USE_CACHED] = {0xe6e9ed, 0xb4bcc6, GM_HATCH_DIAGONAL},
        [GM_USE_STRANDED] = {0xf8e0d2, 0xdb966f, GM_HATCH_CROSS},
        [GM_USE_RESIDUAL] = {0x6b4d8f, 0, GM_HATCH_NONE},
    };
    return fills[use];
}

struct gm_fill gm_solid(uint32_t color)
{
    return (struct gm_fill){color, 0, GM_HATCH_NONE};
}

uint32_t gm_paler(uint32_t color, double share)
{
    uint32_t out = 0;
    for (int shift = 0; shift < 24; shift += 8) {
        const double c = (double)(color >> shift & 0xff), paper = (double)(GM_PAPER >> shift & 0xff);
        out |= (uint32_t)(c + (paper - c) * share) << shift;
    }
    return out;
}

static double luminance(uint32_t color)
{
    double sum = 0;
    static const double weights[3] = {0.2126, 0.7152, 0.0722};
    for (int i = 0; i < 3; i++) {
        double c = (double)(color >> (16 - 8 * i) & 0xff) / 255;
        sum += weights[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

double gm_contrast(uint32_t a, uint32_t b)
{
    double la = luminance(a), lb = luminance(b);
    return la > lb ? (la + 0.05) / (lb + 0.05) : (lb + 0.05) / (la + 0.05);
}

uint32_t gm_text_color_on(uint32_t background)
{
    return gm_contrast(GM_PAPER, background) >= gm_contrast(GM_INK, background) ? GM_PAPER : GM_INK;
}
