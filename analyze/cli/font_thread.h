/* SPDX-License-Identifier: Apache-2.0
 *
 * Fonts take as long to find as a small snapshot takes to read, so they are looked up in a thread of their own while
 * the first snapshot is loading. All charts of a call share the result.
 */
#ifndef GM_CLI_FONT_THREAD_H
#define GM_CLI_FONT_THREAD_H

#include "analyze/base/error.h"
#include "render/render.h"

#include <stdbool.h>

struct gm_fonts;

/* Begins the look-up (in the background if asked, else when first waited for); NULL if there is no memory. */
struct gm_fonts *gm_fonts_start(bool in_background);
/* Waits for the painter; from any thread, any number of times. It stays owned by `fonts`. */
enum gm_status gm_fonts_wait(struct gm_fonts *fonts, struct gm_painter **painter, struct gm_error *err);
/* Waits for the thread, frees all; NULL is fine. */
void gm_fonts_free(struct gm_fonts *fonts);

#endif
