/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts are drawn by several threads while the program does something else. What they are drawn with, letters among
 * it, is opened in a thread of its own while the first snapshot is loading. All charts of a call share it.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/cli/run_files.h"
#include "render/render.h"

#include <stdbool.h>

struct gm_fonts;

/* Begins to open it (in the background if asked, else when first waited for); NULL if there is no memory. */
struct gm_fonts *gm_fonts_start(bool in_background);
/* Waits for the painter; from any thread, any number of times. It stays owned by `fonts`. */
enum gm_status gm_fonts_wait(struct gm_fonts *fonts, struct gm_painter **painter, struct gm_error *err);
/* Waits for the thread, frees all; NULL is fine. */
void gm_fonts_free(struct gm_fonts *fonts);

struct gm_charts;

/* Begins to draw every chart that applies, in up to `threads` - 1 threads besides the caller's. Without fonts none are
 * wanted: *started is NULL. The model must stay as it is until gm_charts_finish. GM_E_NOMEM. */
enum gm_status gm_charts_start(struct gm_charts **started, struct gm_fonts *fonts, struct gm_charted of, int threads,
                               struct gm_error *err);
/* Draws what nobody has begun yet, waits for the rest and moves all to the files; NULL is fine. Must be called once,
 * also if something else has failed: `status` says whether, and comes back unless only a chart failed. */
enum gm_status gm_charts_finish(struct gm_charts *charts, enum gm_status status, struct gm_run_files *files,
                                struct gm_error *err);
