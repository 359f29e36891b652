/* SPDX-License-Identifier: Apache-2.0
 *
 * memory_timeline: each device's memory over time, stacked by role (or category), with the peaks and the steps marked.
 */
#include "render/charts.h"

#include "render/timeline_plot.h"

#include <inttypes.h>

/* Several plots are lower than one. */
static double height_for(size_t devices)
{
    return devices == 1 ? 330 : devices == 2 ? 240 : devices <= 4 ? 170 : 120;
}

static const char *remark_for(struct gm_display *d, const struct gm_traced *traced)
{
    const struct gm_device_timeline *t = traced->timeline;
    const char *events = gm_digits_text(d, traced->device->trace.events);
    const char *plural = traced->device->trace.events == 1 ? "" : "s";
    if (!t->curve.has_times || traced->device->trace.span_us == GM_REPORT_NONE)
        return gm_display_printf(d, "%s event%s, without times", events, plural);
    const char *span = gm_time_text(d, traced->device->trace.span_us);
    if (t->curve.axis_note == NULL)
        return gm_display_printf(d, "%s event%s in %s", events, plural, span);
    return gm_display_printf(d, "%s event%s in %s; %s, so the axis is events", events, plural, span,
                             t->curve.axis_note);
}

static void draw_device(struct gm_page *page, const struct gm_report *report, const struct gm_traced *traced,
                        const struct gm_layers *layers, double height, bool phases[GM_PHASE_COUNT])
{
    gm_page_section(page,
                    report->device_count > 1
                        ? gm_display_printf(page->display, "Device %" PRId64, traced->device->device)
                        : gm_display_printf(page->display, "Memory over %s, by %s",
                                            traced->timeline->curve.is_by_time ? "time" : "events",
                                            gm_name(traced->timeline->curve.layers_by)),
                    remark_for(page->display, traced));
    const struct gm_curve *curve = &traced->timeline->curve;
    if (curve->column_count == 0) {
        gm_page_empty(page, "The trace has no event that is shown.");
        return;
    }
    const double marks = page->y - 4;
    page->y = marks + gm_plot_marks_height(traced);
    const struct gm_plot plot = {page->display, traced, curve, page->y, page->y + height, gm_plot_axis(traced)};
    gm_plot_draw(&plot, layers);
    gm_plot_marks(&plot, marks, phases);
    page->y = plot.bottom + gm_plot_ticks(&plot) + 12;
}

/* The column in which most is active; curves with columns only. */
static size_t highest(const struct gm_curve *curve)
{
    size_t best = 0;
    for (size_t i = 1; i < curve->column_count; i++)
        if (curve->columns[i].high.active > curve->columns[best].high.active)
            best = i;
    return best;
}

/* With one device also how much each layer has at the peak; the top of the stack first. */
static void draw_legend(struct gm_page *page, const struct gm_layers *layers, const struct gm_traced_devices *devices)
{
    struct gm_piece parts[GM_LAYERS];
    uint64_t bytes[GM_LAYERS] = {0};
    const struct gm_traced *one = &devices->v[0];
    const struct gm_curve *curve = &one->timeline->curve;
    const bool has_numbers = devices->n == 1 && curve->column_count > 0 && curve->layer_count > 0;
    if (has_numbers) {
        const size_t column = highest(curve);
        const unsigned char *slots = gm_layers_slots(page->display, layers, curve);
        if (slots == NULL)
            return;
        gm_layers_sum(layers, slots, curve, column, bytes);
        gm_page_note(page, gm_display_printf(page->display, "At the highest moment, %s: %s %s; top of the stack first",
                                             gm_moment_text(page->display, one, curve->columns[column].high_event,
                                                            one->timeline->peak_active.time_us),
                                             gm_size_text(page->display, curve->columns[column].high.active),
                                             one->timeline->reconciliation.is_reconstructed ? "active, in blocks"
                                                                                            : "requested"));
        page->y += 4;
    }
    for (size_t i = 0; i < layers->n; i++) {
        parts[i] = layers->parts[layers->n - 1 - i];
        parts[i].bytes = bytes[layers->n - 1 - i];
    }
    if (has_numbers)
        page->y += gm_legend(page->display, page->y, 2, parts, layers->n, gm_pieces_sum(parts, layers->n)) + 4;
    else
        page->y += gm_keys(page->display, page->y, parts, layers->n);
    if (layers->folded > 0)
        gm_page_note(page, gm_display_printf(page->display, "Other (%zu): %s", layers->folded, layers->folded_names));
}

/* Some traces of torch.profiler do not. */
static bool states_reserved(const struct gm_report *report)
{
    bool any = !report->lacks_end;
    for (size_t i = 0; i < report->device_count; i++)
        any = any || report->devices[i].trace.peak_reserved != GM_REPORT_NONE;
    return any;
}

static void put_notes(struct gm_page *page, const struct gm_report *report, const struct gm_traced_devices *devices)
{
    gm_traced_note_hidden(page, devices);
    gm_page_note(page, "Each pixel's column shows its highest moment, so no peak is left out");
    for (size_t i = 0; i < devices->n; i++) {
        const struct gm_device_timeline *t = devices->v[i].timeline;
        if (t->filter != NULL)
            gm_page_note(page, gm_shorten_end(page->display, t->filter, GM_PAGE_INNER, GM_TEXT_SMALL, GM_REGULAR));
        if (devices->n == 1 && t->reconciliation.coverage != NULL)
            gm_page_note(page, gm_shorten_end(page->display, t->reconciliation.coverage, GM_PAGE_INNER, GM_TEXT_SMALL,
                                              GM_REGULAR));
        if (devices->n == 1 && !report->lacks_end && !t->reconciliation.is_reconstructed &&
            t->reconciliation.reason != NULL)
            gm_page_note(page, gm_display_printf(page->display, "Not reconstructed: %s",
                                                 gm_shorten_end(page->display, t->reconciliation.reason,
                                                                GM_PAGE_INNER - 100, GM_TEXT_SMALL, GM_REGULAR)));
        if (devices->n > 1 && t->filter != NULL)
            break; /* it is the same for all */
    }
}

void gm_layout_memory_timeline(struct gm_display *display, const struct gm_report *report)
{
    const struct gm_traced_devices devices = gm_traced_devices(report);
    struct gm_traced best;
    if (!gm_traced_highest(report, &best)) {
        struct gm_page empty = gm_page_begin(display, report, "Memory timeline");
        gm_page_section(&empty, "Memory over time", NULL);
        gm_page_empty(&empty, "The snapshot has no trace: its history was not recorded.");
        gm_page_end(&empty);
        return;
    }
    struct gm_page page = gm_page_begin_with(display, report, "Memory timeline", gm_peak_line(display, report, &best));
    const struct gm_layers layers = gm_layers_of(display, &devices);
    bool has_pending = false, phases[GM_PHASE_COUNT] = {false};
    for (size_t i = 0; i < devices.n; i++) {
        draw_device(&page, report, &devices.v[i], &layers, height_for(devices.n), phases);
        has_pending |= gm_plot_has_pending(&devices.v[i].timeline->curve);
    }
    if (states_reserved(report))
        gm_plot_keys(&page, has_pending, !report->lacks_end);
    gm_plot_phase_keys(&page, phases);
    page.y += 5;
    draw_legend(&page, &layers, &devices);
    put_notes(&page, report, &devices);
    gm_page_end(&page);
}
