/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts on a terminal that draws pictures.
 */
#pragma once

#include "analyze/cli/drawing.h"

#include <stddef.h>

enum gm_picture_form {
    GM_PICTURE_NONE,
    GM_PICTURE_SIXEL, /* render/sixel.h */
    GM_PICTURE_KITTY  /* PNG in kitty's graphics protocol: sw.kovidgoyal.net/kitty/graphics-protocol */
};

struct gm_pictures {
    enum gm_picture_form form;
    size_t columns, width; /* of the terminal: characters, pixels */
};

/* Asks the terminal that stdout is, in the half second that a slow one may need; what was typed meanwhile is lost.
 * GM_PICTURE_NONE: stdout is none, or another process has it, or TERM is "dumb", or it does not say. */
struct gm_pictures gm_pictures_ask(void);
/* Adds a chart that applies to its model, and the end of the line. The form must not be GM_PICTURE_NONE. */
enum gm_status gm_pictures_add(struct gm_text *out, const struct gm_pictures *pictures, struct gm_fonts *fonts,
                               const void *model, enum gm_chart chart, struct gm_error *err);
