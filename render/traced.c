/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices with a trace; see traced.h.
 */
#include "render/traced.h"

#include "render/number_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* The i-th device of the report, if it has a trace. */
static bool traced_at(const struct gm_report *report, size_t i, struct gm_traced *out)
{
    if (report->timelines == NULL || report->peaks == NULL || report->devices[i].trace.events == 0)
        return false;
    *out = (struct gm_traced){&report->devices[i], &report->timelines[i], &report->peaks[i]};
    return true;
}

bool gm_traced_highest(const struct gm_report *report, struct gm_traced *highest)
{
    bool is_found = false;
    for (size_t i = 0; i < report->device_count; i++) {
        struct gm_traced traced;
        if (!traced_at(report, i, &traced) || (is_found && traced.peak->requested <= highest->peak->requested))
            continue;
        *highest = traced;
        is_found = true;
    }
    return is_found;
}

struct gm_traced_devices gm_traced_devices(const struct gm_report *report)
{
    struct gm_traced_devices shown = {.n = 0};
    for (size_t i = 0; i < report->device_count; i++) {
        struct gm_traced traced;
        if (!traced_at(report, i, &traced))
            continue;
        if (shown.n < GM_TRACED_SHOWN) {
            shown.v[shown.n++] = traced;
            continue;
        }
        shown.hidden++;
        size_t lowest = 0; /* the last of the lowest has to go */
        for (size_t k = 1; k < shown.n; k++)
            if (shown.v[k].peak->requested <= shown.v[lowest].peak->requested)
                lowest = k;
        if (traced.peak->requested > shown.v[lowest].peak->requested) {
            memmove(shown.v + lowest, shown.v + lowest + 1, (shown.n - lowest - 1) * sizeof *shown.v);
            shown.v[shown.n - 1] = traced;
        }
    }
    return shown;
}

void gm_traced_note_hidden(struct gm_page *page, const struct gm_traced_devices *shown)
{
    if (shown->hidden > 0)
        gm_page_note(page,
                     gm_display_printf(page->display, "+ %zu more device%s, each with no higher peak than any of these",
                                       shown->hidden, shown->hidden == 1 ? "" : "s"));
}

const char *gm_moment_text(struct gm_display *display, const struct gm_traced *traced, uint64_t event, uint64_t time_us)
{
    if (event == GM_REPORT_NONE)
        return "the start of the trace";
    const char *number = gm_digits_text(display, event);
    const struct gm_device_timeline *timeline = traced->timeline;
    const uint64_t start = timeline->curve.has_times ? timeline->curve.start_us : timeline->books.first_time_us;
    if (time_us == GM_REPORT_NONE || start == GM_REPORT_NONE || time_us < start)
        return gm_display_printf(display, "event %s", number);
    return gm_display_printf(display, "event %s, %s", number, gm_time_text(display, time_us - start));
}

const char *gm_peak_line(struct gm_display *display, const struct gm_report *report, const struct gm_traced *traced)
{
    if (traced->peak->requested == 0)
        return "Nothing was live at any moment of the trace";
    const char *device =
        report->device_count > 1 ? gm_display_printf(display, " on device %" PRId64, traced->device->device) : "";
    return gm_display_printf(display, "Peak: %s requested%s at %s", gm_size_text(display, traced->peak->requested),
                             device, gm_moment_text(display, traced, traced->peak->event, traced->peak->time_us));
}

const char *gm_traced_heading(struct gm_display *display, const struct gm_report *report,
                              const struct gm_traced *traced, const char *heading)
{
    if (report->device_count <= 1)
        return heading;
    return gm_display_printf(display, "Device %" PRId64 ": %c%s", traced->device->device,
                             tolower((unsigned char)heading[0]), heading + 1);
}
