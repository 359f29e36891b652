/* SPDX-License-Identifier: Apache-2.0
 *
 * The usual letters, drawn when the program was built (make_atlas.c): a chart whose texts have no others needs neither
 * a font nor the forty libraries that read one. Not hinted and at whole pixels, without ligatures: those of typeset.h
 * look the same.
 */
#pragma once

#include "render/display.h"

#include <stdint.h>

/* What layouts write that is not ASCII: superscript two, middle dot, ellipsis. */
#define GM_ATLAS_OTHERS 0xb2, 0xb7, 0x2026
enum { GM_ASCII_FIRST = ' ', GM_ASCII_LETTERS = 95, GM_LETTERS = GM_ASCII_LETTERS + 3, GM_ELLIPSIS = GM_LETTERS - 1 };
enum { GM_ATLAS_UNIT = 1024 /* of which a pixel has that many */ };

struct gm_letter {
    int32_t advance;   /* in units */
    int16_t left, top; /* of what is seen, from its place on the baseline, in pixels */
    uint8_t width, height;
    uint32_t shares; /* gm_atlas_shares from there on: [height][width], how much of each pixel it covers, in 255ths */
};

/* Of one size and weight. */
struct gm_letters {
    struct gm_letter v[GM_LETTERS];
    int16_t kerns[GM_LETTERS][GM_LETTERS]; /* how much farther the second begins behind the first, in units */
};
extern const struct gm_letters gm_atlas[GM_TEXT_SIZES][GM_WEIGHTS];
extern const uint8_t gm_atlas_shares[];
