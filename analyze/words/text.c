/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_report.txt: the five lines that matter, then sections: the trace first, then the state at the end. 80
 * columns.
 */
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "analyze/words/headline.h"
#include "analyze/words/sections.h"
#include "analyze/words/text_parts.h"
#include "analyze/words/words.h"

#include <inttypes.h>
#include <string.h>

enum { LABEL = 10, DOUBTS = 8 /* devices; the books of each tell the rest */ };

void gm_text_section(struct gm_text *out, const char *title)
{
    gm_text_add_char(out, '\n');
    gm_text_add(out, title);
    gm_text_add_char(out, '\n');
    gm_text_repeat(out, '-', strlen(title));
    gm_text_add_char(out, '\n');
}

void gm_text_size(struct gm_text *out, uint64_t bytes, size_t columns)
{
    char s[GM_NUMBER_TEXT];
    gm_columns_cell(out, gm_bytes_format(s, bytes), columns, GM_CELL_RIGHT);
}

void gm_text_count(struct gm_text *out, uint64_t count, size_t columns)
{
    char s[GM_NUMBER_TEXT];
    gm_text_add_char(out, ' '); /* also between figures that are too wide */
    gm_columns_cell(out, gm_count_format(s, count), columns - 1, GM_CELL_RIGHT);
}

void gm_text_percent(struct gm_text *out, uint64_t part, uint64_t whole)
{
    char s[GM_NUMBER_TEXT];
    gm_share_format(s, part, whole);
    bool is_known = whole != 0 && part != GM_REPORT_NONE && whole != GM_REPORT_NONE;
    gm_columns_cell(out, s, is_known ? 6 : 8, GM_CELL_RIGHT);
    gm_text_add(out, is_known ? " %" : "");
}

static void add_headline(struct gm_text *out, const struct gm_heading *lines)
{
    for (size_t i = 0; i < GM_HEADLINES; i++)
        gm_headline_line(out, &lines[i], GM_LINE);
}

/* "FILTERED  ..." */
static void add_mark(struct gm_text *out, const char *mark, const struct gm_text *line)
{
    if (line->failed) {
        out->failed = true;
        return;
    }
    gm_text_printf(out, "%-*s", LABEL, mark);
    gm_columns_wrap(out, line->data, LABEL);
}

/* What the command line left out: the figures below are of the rest. Once if it is the same for all devices. */
static void add_filters(struct gm_text *out, const struct gm_report *report)
{
    bool any = false, differ = gm_view_filters_differ(report);
    for (size_t i = 0; i < report->device_count && (differ || !any); i++) {
        struct gm_view view;
        struct gm_text line = {0};
        if (!gm_view_of(&view, report, i) || view.timeline->filter == NULL)
            continue;
        if (differ)
            gm_text_printf(&line, "Device %" PRId64 ": ", view.device->device);
        gm_text_add(&line, view.timeline->filter);
        add_mark(out, "FILTERED", &line);
        gm_text_free(&line);
        any = true;
    }
    if (any)
        gm_text_add_char(out, '\n');
}

static void add_doubts(struct gm_text *out, const struct gm_report *report)
{
    const struct gm_diagnosis *diagnosis = &report->diagnosis;
    for (size_t i = 0; i < diagnosis->doubt_count && i < DOUBTS; i++) {
        gm_text_printf(out, "%-*s", LABEL, "DOUBTFUL");
        gm_columns_wrap(out, diagnosis->doubts[i], LABEL);
    }
    if (diagnosis->doubt_count > 0)
        gm_text_add_char(out, '\n');
}

static void add_salvaged(struct gm_text *out, const struct gm_report *report)
{
    if (!report->snapshot.is_salvaged)
        return;
    struct gm_text line = {0};
    gm_text_printf(&line,
                   "This file is damaged and was salvaged: only what is complete before byte %" PRIu64
                   " of it was read (%s). Totals below are lower bounds.",
                   report->snapshot.salvaged_offset,
                   report->snapshot.salvaged_reason != NULL ? report->snapshot.salvaged_reason : "no reason known");
    add_mark(out, "SALVAGED", &line);
    gm_text_free(&line);
    gm_text_add_char(out, '\n');
}

static void add_source(struct gm_text *out, const struct gm_report *report)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT];
    gm_text_add(out, "\nRun       ");
    gm_columns_cut(out, report->run_name, GM_LINE - LABEL, false);
    gm_text_add(out, "\nSnapshot  ");
    gm_columns_cut(out, report->snapshot.path, GM_LINE - LABEL, true);
    struct gm_text line = {0};
    gm_text_printf(&line, "%s%s%s, %s on disk; ", report->snapshot.format,
                   strcmp(report->snapshot.compression, "none") == 0 ? "" : " in ",
                   strcmp(report->snapshot.compression, "none") == 0 ? "" : report->snapshot.compression,
                   gm_bytes_format(a, report->snapshot.disk_bytes));
    gm_text_printf(&line, "%s segment%s, ", gm_count_format(a, report->snapshot.segments),
                   gm_plural(report->snapshot.segments));
    gm_text_printf(&line, "%s block%s, %s event%s", gm_count_format(b, report->snapshot.blocks),
                   gm_plural(report->snapshot.blocks), gm_count_format(c, report->snapshot.events),
                   gm_plural(report->snapshot.events));
    if (report->is_of_one_device && report->device_count == 1)
        gm_text_printf(&line, "; this report is of device %" PRId64 " only", report->devices[0].device);
    gm_text_add_char(out, '\n');
    gm_text_repeat(out, ' ', LABEL);
    if (line.failed)
        out->failed = true;
    else
        gm_columns_wrap(out, line.data, LABEL);
    gm_text_free(&line);
}

static void add_summary_row(struct gm_text *out, const char *name, uint64_t bytes, uint64_t whole)
{
    gm_text_add(out, "  ");
    gm_columns_cell(out, name, 36, GM_CELL_LEFT);
    gm_text_size(out, bytes, 12);
    gm_text_count(out, bytes, 21);
    gm_text_percent(out, bytes, whole);
    gm_text_add_char(out, '\n');
}

/* What the blocks leave over of the segments, or hold too much. */
static void add_unexplained(struct gm_text *out, int64_t residual, uint64_t whole)
{
    char size[GM_NUMBER_TEXT], count[GM_NUMBER_TEXT], share[GM_NUMBER_TEXT];
    gm_text_printf(out, "  %-36s%12s%21s", "Unexplained (books do not balance)", gm_signed_bytes_format(size, residual),
                   gm_signed_count_format(count, residual));
    gm_text_printf(out, whole == 0 ? "%8s\n" : "%6s %%\n", gm_signed_share_format(share, residual, whole));
}

static void add_summary(struct gm_text *out, const struct gm_report *report)
{
    const struct gm_totals *t = &report->totals;
    gm_text_section(out, "SUMMARY");
    gm_text_printf(out, "  %-36s%12s%21s%8s\n", "", "size", "bytes", "share");
    add_summary_row(out, "Reserved from the driver", t->reserved, t->reserved);
    add_summary_row(out, "Allocated (handed out, not freed)", t->allocated, t->reserved);
    add_summary_row(out, "Pending (freed, a stream uses it)", t->pending, t->reserved);
    add_summary_row(out, "Active (allocated + pending)", t->active, t->reserved);
    add_summary_row(out, "Requested by the program", t->requested, t->reserved);
    add_summary_row(out, "Rounding (active - requested)", t->rounding, t->reserved);
    add_summary_row(out, "Inactive (cached, unused)", t->inactive, t->reserved);
    if (report->ledger.residual != 0)
        add_unexplained(out, report->ledger.residual, t->reserved);
    if (report->host_reserved != GM_REPORT_NONE)
        add_summary_row(out, "Pinned host memory, reserved", report->host_reserved, 0);
    if (report->host_active != GM_REPORT_NONE)
        add_summary_row(out, "Pinned host memory, active", report->host_active, 0);
    gm_text_printf(out, "  %-36s", "Efficiency (allocated / reserved)");
    gm_text_repeat(out, ' ', 4);
    gm_text_percent(out, t->allocated, t->reserved);
    gm_text_printf(out, "  (%s)\n", gm_grade_name(gm_grade_of(gm_totals_efficiency(t))));
    gm_text_add(out, "  Grades: over 98 % excellent, 95 to 98 % good, below that poor.\n");
}

static void add_end(struct gm_text *out, const struct gm_report *report)
{
    gm_text_section(out, "STATE AT THE END");
    add_headline(out, report->diagnosis.at_end);
}

static void add_to_do(struct gm_text *out, const struct gm_report *report)
{
    gm_text_section(out, "TO DO");
    if (report->diagnosis.to_do_count == 0)
        gm_text_add(out, "  Nothing stands out.\n");
    for (size_t i = 0; i < report->diagnosis.to_do_count; i++) {
        const struct gm_to_do *item = &report->diagnosis.to_do[i];
        struct gm_text title = {0};
        gm_text_printf(&title, "[%s] %s", gm_severity_name(item->severity), item->title);
        gm_text_printf(out, "%s%3zu. ", i > 0 ? "\n" : "", i + 1);
        gm_columns_wrap(out, title.failed ? "" : title.data, 5);
        gm_text_repeat(out, ' ', 5);
        gm_columns_wrap(out, item->detail, 5);
        out->failed = out->failed || title.failed;
        gm_text_free(&title);
    }
}

void gm_words_text(struct gm_text *out, const struct gm_report *report)
{
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_TXT, out);
    doc.text_name = "analysis_report.txt";
    doc.json_name = "analysis.json";
    add_salvaged(out, report);
    add_filters(out, report);
    add_doubts(out, report);
    add_headline(out, report->diagnosis.headline);
    add_source(out, report);
    if (gm_view_count(report) > 0) {
        gm_text_peak(out, report);
        gm_section_of_views(&doc, report, "Timeline books", gm_section_books, NULL);
        gm_text_peak_tables(out, report);
        gm_section_of_views(&doc, report, "Steps", gm_section_steps, gm_steps_were_found);
        gm_section_of_ooms(&doc, report);
        gm_section_of_views(&doc, report, "Fragmentation over time", gm_section_history, NULL);
        add_end(out, report);
    }
    add_summary(out, report);
    gm_section_contents(&doc, report);
    gm_section_sites(&doc, report);
    gm_text_top_blocks(out, report);
    gm_section_fragmentation(&doc, report);
    add_to_do(out, report);
    gm_section_tried(&doc, report);
    gm_section_devices(&doc, report);
    gm_section_pools(&doc, report);
    gm_section_streams(&doc, report);
    gm_section_ledger(&doc, report);
    gm_section_settings(&doc, report);
    gm_section_trace(&doc, report);
    gm_section_warnings(&doc, report);
    gm_doc_end(&doc);
}
