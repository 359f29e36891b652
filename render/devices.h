/* SPDX-License-Identifier: Apache-2.0
 *
 * Which devices a chart shows: all of up to GM_DEVICES_SHOWN; of more the ones that reserve most.
 */
#pragma once

#include "analyze/report/report.h"
#include "render/display.h"
#include "render/page.h"

#include <stdbool.h>

enum { GM_DEVICES_SHOWN = 16 };

struct gm_shown_devices {
    const struct gm_device_report *v[GM_DEVICES_SHOWN]; /* ascending, as in the report */
    size_t n;
    size_t hidden;
    uint64_t hidden_reserved, hidden_allocated;
};
struct gm_shown_devices gm_devices_shown(const struct gm_report *report);

/* "device 0", "devices 0, 2, 5", "8 devices (0 to 7)", "no device". */
const char *gm_devices_text(struct gm_display *display, const struct gm_report *report);
/* "Device 3", as a row's label. */
const char *gm_device_label(struct gm_display *display, const struct gm_device_report *device);
/* A line about the devices that are not shown, if there are any. */
void gm_devices_note_hidden(struct gm_page *page, const struct gm_shown_devices *shown);

/* Rows of stacked bars, a device each: `parts_of` stores the parts of one (at most GM_DEVICE_PARTS), and returns what
 * stands at the bar's end. */
enum { GM_DEVICE_PARTS = 20 };
typedef uint64_t gm_parts_fn(struct gm_piece *parts, size_t *count, const struct gm_device_report *device,
                             const void *of);
void gm_device_bars(struct gm_page *page, const struct gm_report *report, double pitch, double bar,
                    gm_parts_fn *parts_of, const void *of);

/* ---- the devices that have a trace, for the charts of what happened over time, and how these name a moment ------- */

enum { GM_TRACED_SHOWN = 8 };

struct gm_traced {
    const struct gm_device_report *device;
    const struct gm_device_timeline *timeline;
    const struct gm_peak *peak;
};
/* All of up to GM_TRACED_SHOWN; of more those with the highest peaks. Ascending. */
struct gm_traced_devices {
    struct gm_traced v[GM_TRACED_SHOWN];
    size_t n, hidden;
};
struct gm_traced_devices gm_traced_devices(const struct gm_report *report);
/* A line about the devices that are not shown, if there are any. */
void gm_traced_note_hidden(struct gm_page *page, const struct gm_traced_devices *shown);
/* The one with the highest peak of requested bytes, the first of several. false: no device has a trace. */
bool gm_traced_highest(const struct gm_report *report, struct gm_traced *highest);

/* "event 12,345, 3.210 s" (since the start of the trace); without a time "event 12,345"; "the start of the trace". */
const char *gm_moment_text(struct gm_display *display, const struct gm_traced *traced, uint64_t event,
                           uint64_t time_us);
/* "Peak: 23.41 GiB requested on device 0 at event 12,345, 3.210 s": the third line of a page about the peak. */
const char *gm_peak_line(struct gm_display *display, const struct gm_report *report, const struct gm_traced *traced);
/* "Device 3" in front of a heading's first letter, if there are several devices: "Device 3: what the peak ...". */
const char *gm_traced_heading(struct gm_display *display, const struct gm_report *report,
                              const struct gm_traced *traced, const char *heading);
