/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_report.txt: tables by device, pool and stream, and what the trace counts.
 */
#include "analyze/base/size.h"
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "analyze/words/text_parts.h"

#include <inttypes.h>
#include <stdio.h>

static void add_device_number(struct gm_text *out, int64_t device)
{
    char s[GM_NUMBER_TEXT];
    snprintf(s, sizeof s, "%" PRId64, device);
    gm_columns_cell(out, s, 6, GM_CELL_RIGHT);
}

/* The largest categories of one device in one line: names are cut, sizes never. */
static void add_slices(struct gm_text *out, const struct gm_device_report *d)
{
    size_t n = 0, left = GM_LINE - 8;
    while (n < d->category_count && n < 3 && d->categories[n].bytes > 0)
        n++;
    if (n == 0)
        gm_text_add_char(out, '-');
    for (size_t i = 0; i < n; i++) {
        char size[GM_SIZE_TEXT];
        gm_size_format(size, d->categories[i].bytes);
        size_t room = left / (n - i); /* for this name, its size and a comma */
        size_t fixed = 1 + gm_columns(size) + 2;
        size_t name = gm_columns(d->categories[i].name);
        size_t columns = name + fixed <= room ? name : room - fixed;
        gm_columns_cut(out, d->categories[i].name, columns, false);
        gm_text_printf(out, " %s%s", size, i + 1 < n ? ", " : "");
        left -= columns + fixed;
    }
}

/* The three largest categories of each device, where there are several devices. */
static void add_device_categories(struct gm_text *out, const struct gm_report *report)
{
    gm_text_add(out, "\n  Largest categories\n");
    for (size_t i = 0; i < report->device_count; i++) {
        const struct gm_device_report *d = &report->devices[i];
        add_device_number(out, d->device);
        gm_text_add(out, "  ");
        add_slices(out, d);
        gm_text_add_char(out, '\n');
    }
}

void gm_text_devices(struct gm_text *out, const struct gm_report *report)
{
    gm_text_section(out, "PER DEVICE");
    if (report->device_count == 0) {
        gm_text_add(out, "  No device holds a segment or an event.\n");
        return;
    }
    gm_text_printf(out, "%6s%12s%12s%8s%12s%12s%12s\n", "device", "reserved", "allocated", "eff.", "pending",
                   "releas'ble", "stranded");
    for (size_t i = 0; i < report->device_count; i++) {
        const struct gm_device_report *d = &report->devices[i];
        add_device_number(out, d->device);
        gm_text_size(out, d->totals.reserved, 12);
        gm_text_size(out, d->totals.allocated, 12);
        gm_text_percent(out, d->totals.allocated, d->totals.reserved);
        gm_text_size(out, d->totals.pending, 12);
        gm_text_size(out, d->fragmentation.releasable, 12);
        gm_text_size(out, d->fragmentation.stranded, 12);
        gm_text_add_char(out, '\n');
    }
    if (report->device_count > 1)
        add_device_categories(out, report);
}

static void add_totals(struct gm_text *out, const struct gm_totals *t)
{
    gm_text_size(out, t->reserved, 12);
    gm_text_size(out, t->allocated, 12);
    gm_text_size(out, t->inactive, 12);
    gm_text_percent(out, t->allocated, t->reserved);
    gm_text_add_char(out, '\n');
}

void gm_text_pools(struct gm_text *out, const struct gm_report *report)
{
    gm_text_section(out, "PER POOL");
    gm_text_printf(out, "%6s  %-28s%12s%12s%12s%8s\n", "device", "pool", "reserved", "allocated", "cached", "eff.");
    if (report->device_count == 0)
        gm_text_add(out, "  None.\n");
    for (size_t i = 0; i < report->device_count; i++) {
        const struct gm_device_report *d = &report->devices[i];
        for (size_t k = 0; k < d->pool_count; k++) {
            struct gm_text name = {0};
            gm_text_printf(&name, "%s%s", d->pools[k].name, d->pools[k].has_expandable ? ", expandable" : "");
            add_device_number(out, d->device);
            gm_text_add(out, "  ");
            gm_columns_cell(out, name.failed ? "" : name.data, 28, GM_CELL_LEFT);
            add_totals(out, &d->pools[k].totals);
            out->failed = out->failed || name.failed;
            gm_text_free(&name);
        }
    }
}

void gm_text_streams(struct gm_text *out, const struct gm_report *report)
{
    gm_text_section(out, "PER STREAM");
    gm_text_printf(out, "%6s  %-28s%12s%12s%12s%8s\n", "device", "stream", "reserved", "allocated", "cached", "eff.");
    if (report->device_count == 0)
        gm_text_add(out, "  None.\n");
    for (size_t i = 0; i < report->device_count; i++) {
        const struct gm_device_report *d = &report->devices[i];
        for (size_t k = 0; k < d->stream_count; k++) {
            const struct gm_stream_row *stream = &d->streams[k];
            char name[64];
            if (stream->stream == 0)
                snprintf(name, sizeof name, "0 (default)");
            else
                snprintf(name, sizeof name, "%" PRIu32 " (0x%" PRIx64 ")", stream->number, (uint64_t)stream->stream);
            add_device_number(out, d->device);
            gm_text_add(out, "  ");
            gm_columns_cell(out, name, 28, GM_CELL_LEFT);
            add_totals(out, &stream->totals);
        }
    }
}

static void add_trace(struct gm_text *out, const struct gm_device_report *d)
{
    const struct gm_trace_counts *t = &d->trace;
    const struct {
        const char *name;
        uint64_t count;
    } rows[] = {{"allocations", t->allocs},
                {"frees completed", t->frees},
                {"out of memory", t->ooms},
                {"segments from cudaMalloc", t->segment_allocs},
                {"segments freed", t->segment_frees},
                {"segment ranges mapped", t->segment_maps},
                {"segment ranges unmapped", t->segment_unmaps},
                {"other events", t->others}};
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    gm_text_printf(out, "  Device %" PRId64 ": %s events in %s, peak reserved %s\n", d->device,
                   gm_count_format(a, t->events),
                   t->span_us == GM_REPORT_NONE ? "unknown time" : gm_duration_format(b, t->span_us),
                   gm_bytes_format((char[GM_NUMBER_TEXT]){0}, t->peak_reserved));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].count == 0)
            continue;
        gm_text_printf(out, "    %-28s", rows[i].name);
        gm_text_count(out, rows[i].count, 14);
        gm_text_add_char(out, '\n');
    }
    if (t->max_entries != GM_REPORT_NONE)
        gm_text_printf(out, "    %-28s%14s\n", "room in the recorder", gm_count_format(a, t->max_entries));
    if (t->overflowed > 0)
        gm_text_add(out, "    The recorder was full: events before the first one here are lost.\n");
}

void gm_text_trace(struct gm_text *out, const struct gm_report *report)
{
    bool any = false;
    gm_text_section(out, "TRACE");
    for (size_t i = 0; i < report->device_count; i++) {
        if (report->devices[i].trace.events == 0)
            continue;
        add_trace(out, &report->devices[i]);
        any = true;
    }
    if (!any)
        gm_text_add(out, "  No event recorded: the snapshot shows one moment only.\n");
}
