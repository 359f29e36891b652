/* SPDX-License-Identifier: Apache-2.0
 *
 * The look shared by all charts: colours and fills. Category colours come with the report, not from here.
 */
#pragma once

#include "render/display.h"

#define GM_INK 0x1f2328U   /* titles, values */
#define GM_MUTED 0x59636eU /* captions, axis labels: contrast 6:1 on white */
#define GM_GRID 0xdfe3e8U  /* grid lines, frames */
#define GM_TRACK 0xf3f5f7U /* behind bars and in empty frames */
#define GM_PAPER 0xffffffU
#define GM_ALARM 0xb42318U /* "this file is damaged" */

/* What memory is doing. Told apart by hatching as well as by colour. */
enum gm_use {
    GM_USE_ALLOCATED,
    GM_USE_ROUNDING,
    GM_USE_PENDING,
    GM_USE_CACHED, /* inactive as a whole, or the releasable part of it where the parts are shown */
    GM_USE_STRANDED,
    GM_USE_RESIDUAL,
    GM_USE_COUNT
};
struct gm_fill gm_use_fill(enum gm_use use);
struct gm_fill gm_solid(uint32_t color);

/* The colour mixed with paper: 0 is the colour, 1 is paper. */
uint32_t gm_paler(uint32_t color, double share);

/* WCAG contrast ratio of two colours, 1 to 21. */
double gm_contrast(uint32_t a, uint32_t b);
/* White or ink, whichever is easier to read on `background`. */
uint32_t gm_text_color_on(uint32_t background);
