/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/document/canvas_parts.h"

#include "analyze/document/columns.h"
#include "analyze/report/numbers.h"

#include <inttypes.h>

void gm_canvas_line(struct gm_text *out, struct gm_text *line, const struct gm_text_canvas *canvas)
{
    gm_columns_cut(out, line->data != NULL ? line->data : "", canvas->columns, false);
    gm_text_add_char(out, '\n');
    out->failed = out->failed || line->failed;
    gm_text_free(line);
}

static void add_heading(struct gm_text *out, const struct gm_view *view, const struct gm_text_canvas *canvas,
                        const char *what)
{
    char number[GM_NUMBER_TEXT];
    struct gm_text line = {0};
    gm_text_printf(&line, "Device %" PRId64 " %s: %s requested at ", view->device->device, what,
                   gm_bytes_format(number, view->peak->requested));
    if (view->peak->event == GM_REPORT_NONE)
        gm_text_add(&line, "the start of the trace");
    else
        gm_text_printf(&line, "event %s", gm_event_format(number, view->peak->event));
    if (view->peak->event != GM_REPORT_NONE && view->peak->time_us != GM_REPORT_NONE)
        gm_text_printf(&line, ", %s", gm_since_format(number, view, view->peak->time_us));
    gm_text_add_char(out, '\n');
    gm_canvas_line(out, &line, canvas);
}

/* Names may be of any script: a '?' for each character. */
static void add_ascii(struct gm_text *out, const struct gm_text *drawn)
{
    for (size_t i = 0; i < drawn->length; i++) {
        const unsigned char c = (unsigned char)drawn->data[i];
        if (c < 0x80)
            gm_text_add_char(out, (char)c);
        else if (c >= 0xc0) /* the first of several bytes */
            gm_text_add_char(out, '?');
    }
}

void gm_canvas_devices(struct gm_text *out, const struct gm_report *report, const struct gm_text_canvas *canvas,
                       const char *what, gm_canvas_draw *draw)
{
    GM_FREED struct gm_text drawn = {0};
    struct gm_view view;
    for (size_t i = 0; i < report->device_count; i++) {
        if (!gm_view_of(&view, report, i))
            continue;
        add_heading(&drawn, &view, canvas, what);
        draw(&drawn, &view, canvas);
    }
    if (gm_view_count(report) == 0)
        gm_text_add(&drawn, "\nNo event recorded: nothing to draw.\n");
    if (canvas->is_utf8)
        gm_text_add_bytes(out, drawn.data, drawn.length);
    else
        add_ascii(out, &drawn);
    out->failed = out->failed || drawn.failed;
}
