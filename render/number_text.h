/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as charts print them. No locale: digits are made by integer arithmetic.
 */
#pragma once

#include "analyze/report/numbers.h"
#include "render/display.h"

#include <stdint.h>

/* "89.6%" of part / total; "<0.1%" for what would show as 0.0% but is not; "n/a" if total is 0. Returns out. */
char *gm_percent_text(char out[GM_NUMBER_TEXT], uint64_t part, uint64_t total);
/* "1,234,567"; from ten million on "46.1 M", "4.61 E". Returns out. */
char *gm_count_text(char out[GM_NUMBER_TEXT], uint64_t count);
/* A tick's label without idle zeros, as gm_tick_bytes_format: "0", "500", "1.5 k", "20 M". Returns out. */
char *gm_tick_count_text(char out[GM_NUMBER_TEXT], uint64_t count);

/* These, and sizes ("1.50 GiB"), as strings that live as long as the list. */
const char *gm_size_text(struct gm_display *display, uint64_t bytes);
const char *gm_share_text(struct gm_display *display, uint64_t part, uint64_t total);
const char *gm_number_text(struct gm_display *display, uint64_t count);
const char *gm_digits_text(struct gm_display *display, uint64_t number);
const char *gm_time_text(struct gm_display *display, uint64_t us);
/* Up to three decimals, none idle: "1,234.5". */
const char *gm_decimals_text(struct gm_display *display, double value);
const char *gm_delta_text(struct gm_display *display, int64_t bytes);
