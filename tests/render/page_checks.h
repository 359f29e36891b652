/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking at display lists: finding things on a page, and what holds for every page whatever the report.
 */
#pragma once

#include "render/charts.h"
#include "tests/render/samples.h"

struct gm_box {
    double x, y, w, h;
};

/* Where a text's ink is, by the estimate of its width. */
struct gm_box ink_box(const struct gm_text_item *text);
bool do_overlap(struct gm_box a, struct gm_box b);
/* The first text that is, or has as a part; NULL if there is none. */
const struct gm_text_item *find_text(const struct gm_display *display, const char *text);
const struct gm_text_item *find_part(const struct gm_display *display, const char *part);
size_t count_parts(const struct gm_display *display, const char *part);
/* The n-th rectangle of that role, the n-th area; NULL if there are fewer. */
const struct gm_rect_item *nth_rect(const struct gm_display *display, enum gm_rect_role role, size_t n);
const struct gm_area_item *nth_area(const struct gm_display *display, size_t n);
/* The sample, and what a chart shows of a report: until the next one, or the end of the test. The test fails if there
 * is no memory. */
struct gm_report *sampled(enum sample sample);
const struct gm_display *laid_out(const struct gm_report *report, enum gm_chart chart);
/* Nothing leaves the page, no text lies on another or is painted over, every one can be read, ticks are whole. */
void check_page(const struct gm_report *report, enum gm_chart chart);
