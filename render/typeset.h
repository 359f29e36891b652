/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts with letters that atlas.h has not: of pango and cairo, with the system's fonts.
 */
#pragma once

#include "analyze/base/error.h"
#include "render/display.h"
#include "render/png.h"

/* To be used by one thread at a time. */
struct gm_typesetter;

/* GM_E_MISSING: there is no font; GM_E_NOMEM. */
enum gm_status gm_typesetter_new(struct gm_typesetter **typesetter, struct gm_error *err);
void gm_typesetter_free(struct gm_typesetter *typesetter);

/* Puts a text into a picture, ellipsised, clipped to both. GM_E_NOMEM, GM_E_INTERNAL. */
enum gm_status gm_typeset(struct gm_typesetter *typesetter, const struct gm_pixels *to, struct gm_palette *palette,
                          const struct gm_text_item *text, struct gm_error *err);

/* gm_typesetter_new, ..._free and gm_typeset, as a table that a shared object of its own provides (fonts.c): its forty
 * libraries take longer to load than a small snapshot takes to read, so they are opened where such a text comes. */
#define GM_TYPESET_SYMBOL "gm_typeset_module"
#define GM_TYPESET_FILE "gmtext.so"
struct gm_typeset_module {
    const char *version; /* of the program that it belongs to */
    __typeof__(gm_typesetter_new) *make;
    __typeof__(gm_typesetter_free) *free;
    __typeof__(gm_typeset) *typeset;
};
