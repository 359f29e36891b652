/* SPDX-License-Identifier: Apache-2.0
 *
 * What the pictures of comparisons share.
 */
#pragma once

#include "analyze/report/comparison.h"
#include "render/charts.h"

#define GM_GREW 0xb42318U
#define GM_SHRANK 0x1d5fa8U

/* Title, and the runs. */
struct gm_page gm_diff_page_begin(struct gm_display *display, const struct gm_comparison *c, const char *title);
/* Of the i-th run; told apart with any colour-blindness, BASE is grey. */
uint32_t gm_run_color(size_t i);
enum { GM_RUNS_DRAWN = 8 };
/* "base: ctx128_forward" in at most `width`. */
const char *gm_run_label(struct gm_display *display, const struct gm_comparison *c, size_t i, double width,
                         enum gm_text_size size);
/* "+1.20 GiB (+10.8%)". */
const char *gm_change_text(struct gm_display *display, uint64_t base, uint64_t after);
/* Grew, shrank, or neither. */
uint32_t gm_change_color(int64_t delta);
