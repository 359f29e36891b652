/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as every writer shows them, made with integers only: no locale, no floating point, the same on every machine.
 */
#pragma once

#include <stdint.h>

enum { GM_NUMBER_TEXT = 32 };

/* "1,234,567"; "n/a" for GM_REPORT_NONE. Returns out. */
char *gm_count_format(char out[GM_NUMBER_TEXT], uint64_t count);
/* gm_size_format, but "n/a" for GM_REPORT_NONE. Returns out. */
char *gm_bytes_format(char out[GM_NUMBER_TEXT], uint64_t bytes);
/* 100 * part / whole with `decimals` (0 to 4) decimals, rounded half up, without a percent sign; "n/a" if whole is 0.
 * Exact while whole is below 16 TiB. Returns out. */
char *gm_percent_format(char out[GM_NUMBER_TEXT], uint64_t part, uint64_t whole, unsigned decimals);
/* The same with one decimal, but "<0.1" for what is there and would round to 0.0, and "99.9" for what is not all of it
 * and would round to 100.0. Returns out. */
char *gm_share_format(char out[GM_NUMBER_TEXT], uint64_t part, uint64_t whole);
/* gm_count_format and gm_size_format with a '-' where `value` is negative. Return out. */
char *gm_signed_count_format(char out[GM_NUMBER_TEXT], int64_t value);
char *gm_signed_bytes_format(char out[GM_NUMBER_TEXT], int64_t value);
/* "s", or "" for 1. */
const char *gm_plural(uint64_t count);
/* Microseconds as "850 us", "12.345 ms", "2.500 s", "3 min 20 s", "1 h 3 min"; "n/a" for GM_REPORT_NONE. */
char *gm_duration_format(char out[GM_NUMBER_TEXT], uint64_t us);
/* The time between two moments, of which `from` is the origin: "-2.000 s" if `us` is before it; "n/a" if one is not
 * known. Returns out. */
char *gm_since_us_format(char out[GM_NUMBER_TEXT], uint64_t from, uint64_t us);
struct gm_view;
/* The same since the first event of a device's trace: nobody reads microseconds since 1970. Returns out. */
char *gm_since_format(char out[GM_NUMBER_TEXT], const struct gm_view *view, uint64_t time_us);
/* "12,345", or "start" for the state before event 0. Returns out. */
char *gm_event_format(char out[GM_NUMBER_TEXT], uint64_t event);
/* A number with up to three decimals, without a locale; "n/a" for what is not finite. Returns out. */
char *gm_real_format(char out[GM_NUMBER_TEXT], double value);
/* "1.034": always three decimals, never negative. Returns out. */
char *gm_ratio_format(char out[GM_NUMBER_TEXT], double value);
/* gm_size_format_delta. Returns out. */
char *gm_delta_bytes_format(char out[GM_NUMBER_TEXT], int64_t delta);

/* ---- ticks of axes ----------------------------------------------------------------------------------------------- */

/* A label without idle zeros: "0", "512 MiB", "1.5 GiB". Returns out. */
char *gm_tick_bytes_format(char out[GM_NUMBER_TEXT], uint64_t bytes);
/* The unit for times up to `us` microseconds. */
struct gm_tick_unit {
    double us;
    const char *name;
};
struct gm_tick_unit gm_tick_unit(double us);
/* A round step (1, 2, 5 times a power of ten) of which at most `most` lie between 0 and `end`. */
double gm_tick_step(double end, unsigned most);
