/* SPDX-License-Identifier: Apache-2.0
 *
 * The devices that have a trace, for the charts of what happened over time, and how these name a moment.
 */
#ifndef GM_RENDER_TRACED_H
#define GM_RENDER_TRACED_H

#include "analyze/report/report.h"
#include "render/display.h"
#include "render/page.h"

#include <stdbool.h>
#include <stddef.h>

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

#endif
