/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_report.txt: cells, paragraphs and tables that the sections about the trace share.
 */
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "analyze/words/text_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void gm_text_paragraph(struct gm_text *out, size_t indent, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    struct gm_text line = {0};
    if (n >= 0) { /* room first: the buffer knows when memory runs out */
        gm_text_repeat(&line, ' ', (size_t)n + 1);
        if (!line.failed)
            vsnprintf(line.data, (size_t)n + 1, format, again);
    }
    va_end(again);
    out->failed = out->failed || line.failed;
    gm_text_repeat(out, ' ', indent);
    gm_columns_wrap(out, line.failed || line.data == NULL ? "" : line.data, indent);
    gm_text_free(&line);
}

void gm_text_event(struct gm_text *out, uint64_t event, size_t columns)
{
    char s[GM_NUMBER_TEXT];
    gm_text_add_char(out, ' '); /* also between figures that are too wide */
    gm_columns_cell(out, gm_event_format(s, event), columns - 1, GM_CELL_RIGHT);
}

void gm_text_since(struct gm_text *out, const struct gm_view *view, uint64_t time_us, size_t columns)
{
    char s[GM_NUMBER_TEXT];
    gm_text_add_char(out, ' ');
    gm_columns_cell(out, gm_since_format(s, view, time_us), columns - 1, GM_CELL_RIGHT);
}

static void add_slice(struct gm_text *out, const char *name, uint64_t bytes, uint64_t blocks, uint64_t whole)
{
    gm_text_add(out, "    ");
    gm_columns_cell(out, name, 34, GM_CELL_LEFT);
    gm_text_size(out, bytes, 12);
    if (blocks == GM_REPORT_NONE)
        gm_text_repeat(out, ' ', 12);
    else
        gm_text_count(out, blocks, 12);
    gm_text_percent(out, bytes, whole);
    gm_text_add_char(out, '\n');
}

void gm_text_slices(struct gm_text *out, const char *title, const struct gm_slice *slices, size_t count, size_t shown,
                    uint64_t whole)
{
    gm_text_printf(out, "  %-36s%12s%12s%8s\n", title, "size", "blocks", "share");
    if (count == 0) {
        gm_text_add(out, whole == 0 ? "    Nothing.\n" : "    Not known.\n");
        return;
    }
    if (count <= shown + 1) /* a row for one other would say less than that one */
        shown = count;
    uint64_t sum = 0, rest = 0, rest_blocks = 0;
    for (size_t i = 0; i < count; i++) {
        sum = gm_plus(sum, slices[i].bytes);
        if (i < shown) {
            add_slice(out, slices[i].name, slices[i].bytes, slices[i].blocks, whole);
            continue;
        }
        rest = gm_plus(rest, slices[i].bytes);
        rest_blocks = gm_plus(rest_blocks, slices[i].blocks);
    }
    if (count > shown) {
        char name[64];
        snprintf(name, sizeof name, "%zu smaller", count - shown);
        add_slice(out, name, rest, rest_blocks, whole);
    }
    uint64_t lacking = gm_less(whole, sum);
    if (lacking != GM_REPORT_NONE && lacking > 0)
        add_slice(out, "not attributed", lacking, GM_REPORT_NONE, whole);
}

void gm_text_views(struct gm_text *out, const struct gm_report *report, const char *title,
                   void (*section)(struct gm_text *out, const struct gm_report *report, const struct gm_view *view))
{
    size_t count = gm_view_count(report);
    bool is_first = true;
    if (count > 0)
        gm_text_section(out, title);
    for (size_t i = 0; i < report->device_count; i++) {
        struct gm_view view;
        if (!gm_view_of(&view, report, i))
            continue;
        if (!is_first)
            gm_text_add_char(out, '\n');
        if (count > 1)
            gm_text_printf(out, "  Device %" PRId64 "\n", view.device->device);
        section(out, report, &view);
        is_first = false;
    }
}
