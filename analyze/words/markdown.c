/* SPDX-License-Identifier: Apache-2.0
 *
 * README.md: what GitHub shows for a run directory, and what people paste into a pull request. What matters stands on
 * top and open, the rest is folded.
 */
#include "analyze/document/columns.h"
#include "analyze/document/escape.h"
#include "analyze/document/numbers.h"
#include "analyze/document/sites.h"
#include "analyze/words/block_runs.h"
#include "analyze/words/markdown_parts.h"
#include "analyze/words/sections.h"
#include "analyze/words/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FINDING_DETAIL = 1200, FINDINGS = 24000 /* bytes of them all */, DOUBTS = 8 /* devices */ };

/* `left` entries are to come; false, and said so, if `end` is reached. */
static bool has_room_until(struct gm_text *out, size_t end, size_t left)
{
    if (out->length < end)
        return true;
    gm_text_printf(out, "\n%zu more: see `analysis_report.txt` and `analysis.json`.\n", left);
    return false;
}

bool gm_md_room(struct gm_text *out, size_t left)
{
    return has_room_until(out, GM_MD_BUDGET, left);
}

void gm_md_name(struct gm_text *out, const char *name, size_t columns, bool keep_tail)
{
    gm_escape_cut(out, name, columns, keep_tail, gm_escape_code);
}

void gm_md_site(struct gm_text *out, const char *site)
{
    if (!gm_site_has_stack(site)) { /* the category says so */
        gm_text_add_char(out, '-');
        return;
    }
    struct gm_text shown = {0};
    gm_site_add(&shown, site, GM_MD_PATH);
    out->failed = out->failed || shown.failed;
    gm_escape_code(out, shown.data != NULL ? shown.data : "");
    gm_text_free(&shown);
}

void gm_md_prose(struct gm_text *out, const char *text, size_t columns)
{
    gm_escape_cut(out, text, columns, false, gm_escape_prose);
}

void gm_md_size_cell(struct gm_text *out, uint64_t bytes)
{
    char s[GM_NUMBER_TEXT];
    gm_text_printf(out, " %s |", gm_bytes_format(s, bytes));
}

void gm_md_count_cell(struct gm_text *out, uint64_t count)
{
    char s[GM_NUMBER_TEXT];
    gm_text_printf(out, " %s |", gm_count_format(s, count));
}

void gm_md_percent_cell(struct gm_text *out, uint64_t part, uint64_t whole)
{
    char s[GM_NUMBER_TEXT];
    gm_text_add_char(out, ' ');
    gm_md_prose(out, gm_share_format(s, part, whole), GM_NUMBER_TEXT);
    gm_text_add(out, whole == 0 ? " |" : " % |");
}

void gm_md_fold(struct gm_text *out, const char *title)
{
    gm_text_printf(out, "\n<details>\n<summary>%s</summary>\n\n", title);
}

void gm_md_unfold(struct gm_text *out)
{
    gm_text_add(out, "\n</details>\n");
}

static void add_salvaged(struct gm_text *out, const struct gm_report *report)
{
    if (!report->snapshot.is_salvaged)
        return;
    gm_text_printf(out,
                   "> [!WARNING]\n> The file is damaged and was salvaged: only what is complete before byte %" PRIu64
                   " of it was read. Reason: ",
                   report->snapshot.salvaged_offset);
    gm_md_prose(out, report->snapshot.salvaged_reason != NULL ? report->snapshot.salvaged_reason : "", 300);
    gm_text_add(out, "\n\n");
}

/* What the command line left out. Once if it is the same for all devices. */
static void add_filters(struct gm_text *out, const struct gm_report *report)
{
    bool any = false, differ = gm_view_filters_differ(report);
    for (size_t i = 0; i < report->device_count && (differ || !any); i++) {
        struct gm_view view;
        if (!gm_view_of(&view, report, i) || view.timeline->filter == NULL)
            continue;
        if (!gm_md_room(out, report->device_count - i))
            return;
        gm_text_add(out, "**Filtered:** ");
        if (differ)
            gm_text_printf(out, "device %" PRId64 ": ", view.device->device);
        gm_md_prose(out, view.timeline->filter, 300);
        gm_text_add(out, "\n\n");
        any = true;
    }
}

static void add_doubts(struct gm_text *out, const struct gm_report *report)
{
    for (size_t i = 0; i < report->diagnosis.doubt_count && i < DOUBTS; i++) {
        gm_text_add(out, "> [!WARNING]\n> ");
        gm_md_prose(out, report->diagnosis.doubts[i], 600);
        gm_text_add(out, "\n\n");
    }
}

static void add_headline(struct gm_text *out, const struct gm_heading *lines)
{
    for (size_t i = 0; i < GM_HEADLINES; i++) {
        const struct gm_heading *line = &lines[i];
        if (line->count == 0)
            continue;
        gm_text_printf(out, "- **%s:** ", line->label);
        for (size_t k = 0; k < line->count; k++) {
            gm_text_add(out, k > 0 ? ", " : "");
            gm_md_prose(out, line->pieces[k], 200);
        }
        if (line->site != NULL) {
            gm_text_add(out, ": ");
            gm_md_site(out, line->site);
        }
        gm_text_add_char(out, '\n');
    }
}

static void add_image(struct gm_text *out, const char *const *chart)
{
    gm_text_add(out, "\n![");
    gm_escape_alt(out, chart[1]);
    gm_text_add(out, "](");
    gm_escape_url(out, chart[0]);
    gm_text_add(out, ")\n");
}

static void add_summary_row(struct gm_text *out, const char *name, uint64_t bytes, const char *what, uint64_t whole)
{
    gm_text_printf(out, "| %s |", name);
    gm_md_size_cell(out, bytes);
    gm_md_percent_cell(out, bytes, whole);
    gm_text_printf(out, " %s |\n", what);
}

static void add_unexplained(struct gm_text *out, int64_t residual, uint64_t whole)
{
    char s[GM_NUMBER_TEXT];
    gm_text_printf(out, "| Unexplained (books do not balance) | %s | ", gm_signed_bytes_format(s, residual));
    gm_md_prose(out, gm_signed_share_format(s, residual, whole), GM_NUMBER_TEXT);
    gm_text_printf(out, "%s | reserved minus allocated, pending and cached |\n", whole == 0 ? "" : " %");
}

static void add_summary(struct gm_text *out, const struct gm_report *report)
{
    const struct gm_totals *t = &report->totals;
    const struct gm_fragmentation *f = &report->fragmentation;
    gm_text_add(out, "\n## Summary\n\n| | Size | Of reserved | |\n|:--|--:|--:|:--|\n");
    add_summary_row(out, "**Reserved**", t->reserved, "from the driver", t->reserved);
    add_summary_row(out, "**Allocated**", t->allocated, "handed out and not freed", t->reserved);
    add_summary_row(out, "Pending free", t->pending, "freed, but a stream may still use it", t->reserved);
    add_summary_row(out, "Requested", t->requested, "what the program asked for, of active blocks", t->reserved);
    add_summary_row(out, "Rounding", t->rounding, "active minus requested", t->reserved);
    add_summary_row(out, "Cached", t->inactive, "reserved, in nobody's use", t->reserved);
    add_summary_row(out, "- releasable", f->releasable, "segments or pages without a live block", t->reserved);
    add_summary_row(out, "- stranded", f->stranded, "beside live blocks", t->reserved);
    if (report->ledger.residual != 0)
        add_unexplained(out, report->ledger.residual, t->reserved);
    add_summary_row(out, "`empty_cache()` returns", f->empty_cache, "to the driver", t->reserved);
    const char *why = gm_report_empty_cache_differs(report);
    if (why == NULL)
        return;
    gm_text_add_char(out, '\n');
    gm_md_prose(out, why, 200);
    gm_text_add_char(out, '\n');
}

static void add_blocks(struct gm_text *out, const struct gm_report *report)
{
    size_t n = report->top_block_count;
    gm_text_add(out, "| # | Size | Category | Made in | Device | Stream |\n|--:|--:|:--|:--|--:|--:|\n");
    for (size_t i = 0; i < n && gm_md_room(out, n - i);) {
        const struct gm_block_row *block = &report->top_blocks[i];
        const struct gm_block_run run = gm_block_run(report, i, n);
        char s[GM_NUMBER_TEXT], kind[GM_BLOCK_KIND];
        gm_bytes_format(s, block->bytes);
        if (run.count > 1)
            gm_text_printf(out, "| %zu-%zu | %zu x %s | ", i + 1, i + run.count, run.count, s);
        else
            gm_text_printf(out, "| %zu | %s | ", i + 1, s);
        gm_md_prose(out, gm_block_kind(kind, block, &run), GM_MD_NAME);
        gm_text_add(out, " | ");
        gm_md_site(out, block->site);
        gm_text_printf(out, " | %" PRId64 " | %" PRIu32 " |\n", block->device, block->stream_number);
        i += run.count;
    }
}

static void add_top_blocks(struct gm_text *out, const struct gm_report *report)
{
    if (report->top_block_count == 0)
        return;
    char title[64];
    snprintf(title, sizeof title, "The %zu largest blocks", report->top_block_count);
    gm_md_fold(out, report->top_block_count > 1 ? title : "The largest block");
    add_blocks(out, report);
    gm_md_unfold(out);
    gm_md_stacks(out, report);
}

static void add_to_do(struct gm_text *out, const struct gm_report *report)
{
    const struct gm_to_do *items = report->diagnosis.to_do;
    const size_t n = report->diagnosis.to_do_count;
    gm_text_add(out, "\n## To do\n\n");
    if (n == 0)
        gm_text_add(out, "Nothing stands out.\n");
    const size_t end = out->length + FINDINGS < GM_MD_BUDGET ? out->length + FINDINGS : GM_MD_BUDGET;
    for (size_t i = 0; i < n && has_room_until(out, end, n - i); i++) {
        gm_text_printf(out, "%zu. **%s:** ", i + 1, gm_severity_name(items[i].severity));
        gm_md_prose(out, items[i].title, 200);
        gm_text_add(out, "<br>\n   ");
        gm_md_prose(out, items[i].detail, FINDING_DETAIL);
        gm_text_add_char(out, '\n');
    }
}

static void add_source(struct gm_text *out, const struct gm_report *report)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT], d[GM_NUMBER_TEXT];
    gm_text_add(out, "\nSnapshot ");
    gm_md_name(out, report->snapshot.path, GM_MD_PATH, true);
    gm_text_printf(out, ": %s, %s, %s segment%s, %s block%s, %s event%s.", report->snapshot.format,
                   gm_bytes_format(a, report->snapshot.disk_bytes), gm_count_format(b, report->snapshot.segments),
                   gm_plural(report->snapshot.segments), gm_count_format(c, report->snapshot.blocks),
                   gm_plural(report->snapshot.blocks), gm_count_format(d, report->snapshot.events),
                   gm_plural(report->snapshot.events));
    if (report->is_of_one_device && report->device_count == 1)
        gm_text_printf(out, " This report is of device %" PRId64 " only.", report->devices[0].device);
    gm_text_add_char(out, '\n');
}

/* The chart that stands on top: the timeline if there is one. NULL: there are no charts. */
static const char *const *first_chart(const char *const *charts)
{
    if (charts == NULL || charts[0] == NULL)
        return NULL;
    for (const char *const *chart = charts; chart[0] != NULL; chart += 2)
        if (strcmp(chart[0], "memory_timeline.png") == 0)
            return chart;
    return charts;
}

static void add_charts(struct gm_text *out, const char *const *charts, const char *const *first)
{
    bool has_title = false;
    for (const char *const *chart = charts; chart != NULL && chart[0] != NULL; chart += 2) {
        if (chart == first)
            continue;
        if (!has_title)
            gm_text_add(out, "\n## Charts\n");
        has_title = true;
        add_image(out, chart);
    }
}

static void add_state(struct gm_doc *d, const struct gm_report *report)
{
    struct gm_text *out = d->out;
    if (gm_view_count(report) > 0) {
        gm_text_add(out, "\n## State at the end\n\n");
        add_headline(out, report->diagnosis.at_end);
    }
    add_summary(out, report);
    gm_section_devices(d, report);
    gm_section_contents(d, report);
    gm_section_sites(d, report);
    add_top_blocks(out, report);
}

static bool is_reconstructed(const struct gm_view *v)
{
    return v->is_reconstructed;
}

void gm_words_markdown(struct gm_text *out, const struct gm_report *report, const char *const *charts)
{
    const char *const *first = first_chart(charts);
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_MD, out);
    doc.text_name = "analysis_report.txt";
    doc.json_name = "analysis.json";
    gm_text_add(out, "# GPU memory: ");
    gm_md_name(out, report->run_name, GM_MD_PATH, false);
    gm_text_add(out, "\n\n");
    add_salvaged(out, report);
    add_filters(out, report);
    add_doubts(out, report);
    add_headline(out, report->diagnosis.headline);
    if (first != NULL) {
        add_image(out, first);
        gm_text_add(out, "\nImages do not travel with pasted text: drag the PNG files into the pull request.\n");
    }
    add_source(out, report);
    gm_md_peak(out, report);
    gm_section_of_ooms(&doc, report);
    gm_md_peak_details(out, report);
    add_to_do(out, report);
    gm_section_tried(&doc, report);
    gm_section_of_views(&doc, report, "Steps", gm_section_steps, gm_steps_were_found);
    gm_section_of_views(&doc, report, "Fragmentation over time", gm_section_history, is_reconstructed);
    gm_section_of_views(&doc, report, "Books of the trace: how far it can be trusted", gm_section_books, NULL);
    add_state(&doc, report);
    add_charts(out, charts, first);
    gm_text_add(out, "\n## Details\n");
    gm_section_pins(&doc, report);
    gm_section_pools(&doc, report);
    gm_section_streams(&doc, report);
    gm_section_ledger(&doc, report);
    gm_section_settings(&doc, report);
    gm_section_trace(&doc, report);
    gm_section_warnings(&doc, report);
    gm_doc_end(&doc);
}
