/* SPDX-License-Identifier: Apache-2.0 */
#include "render/devices.h"

#include "analyze/base/arithmetic.h"
#include "render/axis.h"
#include "render/number_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* The indices of the devices that reserve most, ties by place; ascending. Returns how many. */
static size_t largest_devices(const struct gm_report *report, size_t out[GM_DEVICES_SHOWN])
{
    size_t n = 0;
    for (size_t i = 0; i < report->device_count; i++) {
        size_t smallest = 0;
        if (n < GM_DEVICES_SHOWN) {
            out[n++] = i;
            continue;
        }
        for (size_t k = 1; k < n; k++) /* the last of the smallest has to go */
            if (report->devices[out[k]].totals.reserved <= report->devices[out[smallest]].totals.reserved)
                smallest = k;
        if (report->devices[i].totals.reserved > report->devices[out[smallest]].totals.reserved) {
            memmove(out + smallest, out + smallest + 1, (n - smallest - 1) * sizeof *out);
            out[n - 1] = i;
        }
    }
    return n;
}

struct gm_shown_devices gm_devices_shown(const struct gm_report *report)
{
    struct gm_shown_devices shown = {.n = 0};
    size_t largest[GM_DEVICES_SHOWN];
    size_t n = largest_devices(report, largest);
    for (size_t i = 0; i < report->device_count; i++) {
        const struct gm_device_report *device = &report->devices[i];
        if (shown.n < n && largest[shown.n] == i) {
            shown.v[shown.n++] = device;
        } else {
            shown.hidden++;
            shown.hidden_reserved = gm_sat_add(shown.hidden_reserved, device->totals.reserved);
            shown.hidden_allocated = gm_sat_add(shown.hidden_allocated, device->totals.allocated);
        }
    }
    return shown;
}

const char *gm_devices_text(struct gm_display *display, const struct gm_report *report)
{
    const struct gm_device_report *v = report->devices;
    size_t n = report->device_count;
    if (n == 0)
        return "no device";
    if (n == 1)
        return gm_display_printf(display, "device %" PRId64, v[0].device);
    bool is_range = true;
    for (size_t i = 1; i < n && is_range; i++)
        is_range = v[i - 1].device < INT64_MAX && v[i].device == v[i - 1].device + 1;
    if (is_range && n > 2)
        return gm_display_printf(display, "%zu devices (%" PRId64 " to %" PRId64 ")", n, v[0].device, v[n - 1].device);
    if (n > 6)
        return gm_display_printf(display, "%zu devices", n);
    const char *text = gm_display_printf(display, "devices %" PRId64, v[0].device);
    for (size_t i = 1; i < n; i++)
        text = gm_display_printf(display, "%s, %" PRId64, text, v[i].device);
    return text;
}

const char *gm_device_label(struct gm_display *display, const struct gm_device_report *device)
{
    return gm_display_printf(display, "Device %" PRId64, device->device);
}

void gm_devices_note_hidden(struct gm_page *page, const struct gm_shown_devices *shown)
{
    if (shown->hidden == 0)
        return;
    gm_page_note(page, gm_display_printf(page->display,
                                         "%zu more devices, each with no more reserved than any of these: %s "
                                         "reserved, %s allocated",
                                         shown->hidden, gm_size_text(page->display, shown->hidden_reserved),
                                         gm_size_text(page->display, shown->hidden_allocated)));
}

void gm_device_bars(struct gm_page *page, const struct gm_report *report, double pitch, double bar,
                    gm_parts_fn *parts_of, const void *of)
{
    const double label_width = 84, x = GM_PAGE_LEFT + label_width + 8, width = GM_PAGE_RIGHT - 92 - x;
    const struct gm_shown_devices shown = gm_devices_shown(report);
    struct gm_display *d = page->display;
    struct gm_piece parts[GM_DEVICE_PARTS];
    uint64_t largest = 0;
    size_t n = 0;
    for (size_t i = 0; i < shown.n; i++) {
        parts_of(parts, &n, shown.v[i], of);
        largest = gm_max(largest, gm_pieces_sum(parts, n));
    }
    const struct gm_chart_axis axis = gm_axis_bytes(largest);
    const double bottom = page->y + pitch * (double)shown.n;
    gm_axis_draw(d, &axis, x, width, page->y, bottom);
    for (size_t i = 0; i < shown.n; i++) {
        const double middle = page->y + pitch * ((double)i + 0.5);
        const uint64_t value = parts_of(parts, &n, shown.v[i], of);
        gm_put(d, GM_PAGE_LEFT, middle, label_width, gm_style_label, gm_device_label(d, shown.v[i]));
        gm_stacked_bar(d, x, middle - bar / 2, width, bar, parts, n, axis.step * axis.steps);
        gm_put_value(d, x + gm_axis_span(&axis, gm_pieces_sum(parts, n), width) + 8, GM_PAGE_RIGHT, middle,
                     gm_style_label, gm_size_text(d, value));
    }
    page->y = bottom + GM_AXIS_HEIGHT;
    gm_devices_note_hidden(page, &shown);
}

/* ---- those with a trace ------------------------------------------------------------------------------------------ */

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
    const uint64_t start =
        timeline->curve.has_times ? timeline->curve.start_us : timeline->reconciliation.first_time_us;
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
