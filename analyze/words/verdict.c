/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/words/verdict.h"

#include "analyze/base/size.h"
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "analyze/document/sites.h"
#include "analyze/words/doubt.h"
#include "analyze/words/finding.h"
#include "analyze/words/to_do.h"
#include "analyze/words/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LABEL = 8, SUMMARY_LINE = 100 /* columns */ };

void gm_verdict_piece(struct gm_verdict_line *line, const char *format, ...)
{
    if (line->count == GM_VERDICT_PIECES)
        return;
    char *to = line->pieces[line->count++];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(to, GM_VERDICT_PIECE, format, args);
    va_end(args);
    if (n < 0)
        to[0] = '\0';
    if (n < GM_VERDICT_PIECE)
        return;
    size_t end = GM_VERDICT_PIECE - 4; /* cut: not inside a character */
    while (end > 0 && ((unsigned char)to[end] & 0xc0) == 0x80)
        end--;
    memcpy(to + end, "...", 4);
}

/* Of one device; 0: not known. */
static uint64_t peak_reserved(const struct gm_report *report)
{
    uint64_t peak = 0;
    for (size_t i = 0; i < report->device_count; i++) {
        uint64_t p = report->devices[i].trace.events > 0 ? report->devices[i].trace.peak_reserved : GM_REPORT_NONE;
        if (p != GM_REPORT_NONE && p > peak)
            peak = p;
    }
    return peak;
}

/* `is_all`: the summary, which has no line of its own for what is cached. */
static void make_memory(struct gm_verdict_line *line, const struct gm_report *report, bool is_all)
{
    line->label = "Memory";
    const struct gm_totals *t = &report->totals;
    char a[GM_SIZE_TEXT], b[GM_NUMBER_TEXT];
    const uint64_t peak = peak_reserved(report);
    if (t->reserved == 0) {
        gm_verdict_piece(line, "nothing is reserved in this snapshot");
    } else {
        gm_verdict_piece(line, "%s reserved", gm_size_format(a, t->reserved));
        gm_verdict_piece(line, "%s allocated", gm_size_format(a, t->allocated));
        gm_verdict_piece(line, "efficiency %s %% (%s)", gm_share_format(b, t->allocated, t->reserved),
                         gm_grade_name(gm_grade_of(gm_totals_efficiency(t))));
        if (report->device_count > 1)
            gm_verdict_piece(line, "%zu devices", report->device_count);
        if (is_all && t->inactive > 0) {
            gm_verdict_piece(line, "%s cached", gm_size_format(a, t->inactive));
            gm_verdict_piece(line, "%s releasable", gm_size_format(a, report->fragmentation.releasable));
        }
    }
    if (peak > 0)
        gm_verdict_piece(line, "peak reserved %s%s", gm_size_format(a, peak),
                         report->device_count > 1 ? " on one device" : "");
}

/* Categories, or roles. */
static void make_largest(struct gm_verdict_line *line, const struct gm_report *report)
{
    const bool are_roles = gm_report_roles_say_more(report);
    const struct gm_slice *slices = are_roles ? report->roles : report->categories;
    const size_t count = are_roles ? report->role_count : report->category_count;
    line->label = "Largest";
    for (size_t i = 0; i < count && i < 3; i++) {
        const struct gm_slice *c = &slices[i];
        char a[GM_SIZE_TEXT], b[GM_NUMBER_TEXT];
        if (c->bytes > 0)
            gm_verdict_piece(line, "%s %s (%s %%)", c->name, gm_size_format(a, c->bytes),
                             gm_share_format(b, c->bytes, report->totals.allocated));
    }
    if (line->count == 0)
        gm_verdict_piece(line, "no block is allocated");
}

static void make_cached(struct gm_verdict_line *line, const struct gm_report *report)
{
    line->label = "Cached";
    const struct gm_fragmentation *f = &report->fragmentation;
    char a[GM_SIZE_TEXT];
    if (report->totals.inactive == 0) {
        gm_verdict_piece(line, "nothing");
    } else {
        gm_verdict_piece(line, "%s unused: %s can be released", gm_size_format(a, report->totals.inactive),
                         gm_size_format((char[GM_SIZE_TEXT]){0}, f->releasable));
        gm_verdict_piece(line, "%s stranded", gm_size_format(a, f->stranded));
    }
    if (report->totals.pending > 0)
        gm_verdict_piece(line, "%s pending free", gm_size_format(a, report->totals.pending));
}

/* Only without a trace: with one, the line stands with the peak. */
static void make_to_do(struct gm_verdict_line *line, const struct gm_report *report)
{
    struct gm_to_do_list list;
    char bytes[GM_FINDING_BYTES];
    gm_to_do_make(&list, report);
    line->label = "To do";
    line->are_sentences = true;
    if (list.has_view)
        return;
    uint64_t ooms = 0;
    for (size_t i = 0; i < report->device_count; i++)
        ooms += report->devices[i].trace.ooms;
    if (ooms > 0 && (list.n == 0 || strcmp(list.v[0].finding->id, "out-of-memory") != 0))
        gm_verdict_piece(line, "ran out of memory %" PRIu64 " time%s", ooms, gm_plural(ooms));
    if (list.n > 0)
        gm_verdict_piece(line, "%s%s", list.v[0].finding->title, gm_finding_bytes(bytes, list.v[0].finding));
    if (list.n > 1)
        gm_verdict_piece(line, "%zu more", list.n - 1);
    if (line->count == 0)
        gm_verdict_piece(line, "nothing stands out");
}

static void make_place(struct gm_verdict_line *line, const struct gm_report *report, uint64_t bytes, uint64_t blocks,
                       const char *site)
{
    char a[GM_SIZE_TEXT], b[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT];
    gm_verdict_piece(line, "%s (%s %%) in %s block%s", gm_size_format(a, bytes),
                     gm_share_format(b, bytes, report->totals.allocated),
                     blocks == 1 ? "one" : gm_count_format(c, blocks), gm_plural(blocks));
    line->site = site;
}

/* Where no site is listed. */
static void make_largest_block(struct gm_verdict_line *line, const struct gm_report *report)
{
    for (size_t i = 0; i < report->top_block_count; i++) {
        const struct gm_block_row *block = &report->top_blocks[i];
        if (block->frame_count == 0)
            continue;
        make_place(line, report, block->bytes, 1, block->site);
        return;
    }
    if (report->totals.allocated == 0)
        gm_verdict_piece(line, "no block is allocated");
    else
        gm_verdict_piece(line, "no stack recorded for what is allocated");
}

/* Whether stacks say so little of what is allocated that the largest site among them would mislead. */
static bool is_nearly_stackless(const struct gm_report *report)
{
    uint64_t with_stack = report->snapshot.live_bytes_with_stack;
    return with_stack > 0 && with_stack != GM_REPORT_NONE && with_stack < report->totals.allocated / 100;
}

static void make_stackless(struct gm_verdict_line *line, const struct gm_report *report)
{
    char share[GM_NUMBER_TEXT];
    uint64_t allocated = report->totals.allocated;
    gm_percent_format(share, allocated - report->snapshot.live_bytes_with_stack, allocated, 1);
    bool is_rounded_up = strcmp(share, "100.0") == 0; /* there is a stack, if only one */
    gm_verdict_piece(line, "no stack recorded for %s %% of what is allocated", is_rounded_up ? "over 99.9" : share);
}

/* The largest site that has a stack. */
static void make_where(struct gm_verdict_line *line, const struct gm_report *report)
{
    line->label = "Where";
    if (is_nearly_stackless(report)) {
        make_stackless(line, report);
        return;
    }
    for (size_t i = 0; i < report->site_count; i++) {
        const struct gm_site_row *row = &report->sites[i];
        if (!gm_site_has_stack(row->site))
            continue;
        make_place(line, report, row->bytes, row->blocks, row->site);
        return;
    }
    make_largest_block(line, report);
}

void gm_verdict_of_end(struct gm_verdict *verdict, const struct gm_report *report)
{
    *verdict = (struct gm_verdict){0};
    make_memory(&verdict->lines[0], report, false);
    make_largest(&verdict->lines[1], report);
    make_where(&verdict->lines[2], report);
    make_to_do(&verdict->lines[3], report);
    make_cached(&verdict->lines[4], report);
}

void gm_verdict_make(struct gm_verdict *verdict, const struct gm_report *report)
{
    if (!gm_verdict_of_peak(verdict, report))
        gm_verdict_of_end(verdict, report);
}

/* "Parameter 12.69 GiB (24.9 %)" without what stands in parentheses at its end, if it fits then; else nothing. */
static void add_without_remark(struct gm_text *out, const char *piece, size_t left)
{
    char head[GM_VERDICT_PIECE];
    const size_t n = strlen(piece);
    const char *remark = n > 0 && piece[n - 1] == ')' ? strrchr(piece, '(') : NULL;
    if (remark == NULL || remark - piece < 2)
        return;
    snprintf(head, sizeof head, "%.*s", (int)(remark - piece - 1), piece);
    if (gm_columns(head) + 2 > left)
        return;
    gm_text_add(out, ", ");
    gm_columns_cut(out, head, left - 2, false);
}

/* As many pieces as fit the line. The first is cut if it must be, later ones only if they are sentences, not figures.
 * The site belongs to the last piece: it goes with it, and before its file and line do not fit the piece is cut. */
void gm_verdict_line_add(struct gm_text *out, const struct gm_verdict_line *line, size_t columns)
{
    if (line->count == 0)
        return;
    gm_columns_cell(out, line->label, LABEL, GM_CELL_LEFT);
    size_t left = columns - LABEL, i = 0, site = line->site == NULL ? 0 : gm_site_least(line->site) + 2;
    site = site < left * 3 / 4 ? site : left * 3 / 4;
    bool is_cut = false;
    for (; i < line->count && !is_cut; i++) {
        size_t comma = i > 0 ? 2 : 0, wants = gm_columns(line->pieces[i]) + comma;
        size_t room = i + 1 < line->count ? left : site < left ? left - site : 0;
        is_cut = wants > room;
        if (i > 0 && is_cut && !(line->are_sentences && room > columns / 4)) {
            if (!line->are_sentences)
                add_without_remark(out, line->pieces[i], left);
            break;
        }
        gm_text_add(out, i > 0 ? ", " : "");
        gm_columns_cut(out, line->pieces[i], room - comma, false);
        left -= wants < room ? wants : room;
    }
    if (line->site != NULL && i == line->count) {
        gm_text_add(out, ": ");
        gm_site_add(out, line->site, left - 2);
    }
    gm_text_add_char(out, '\n');
}

/* Behind the first figure, so that no narrow line leaves it out: "9.47 GiB requested (FILTERED, DOUBTFUL)". */
static void add_marks(struct gm_verdict_line *line, const struct gm_report *report)
{
    bool is_filtered = false, is_doubtful = false;
    for (size_t i = 0; i < report->device_count; i++) {
        struct gm_view view;
        struct gm_text sink = {0};
        if (!gm_view_of(&view, report, i))
            continue;
        is_filtered = is_filtered || view.timeline->filter != NULL;
        is_doubtful = is_doubtful || gm_doubt_add(&sink, &view, false);
        gm_text_free(&sink);
    }
    const char *const marks[] = {is_filtered ? "FILTERED" : NULL, is_doubtful ? "DOUBTFUL" : NULL,
                                 report->snapshot.is_salvaged ? "SALVAGED" : NULL};
    const char *before = " (";
    char *piece = line->pieces[0];
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t used = strlen(piece);
        if (marks[i] == NULL)
            continue;
        snprintf(piece + used, GM_VERDICT_PIECE - used, "%s%s", before, marks[i]);
        before = ", ";
    }
    size_t used = strlen(piece);
    if (before[0] == ',')
        snprintf(piece + used, GM_VERDICT_PIECE - used, ")");
}

/* Four lines: those of the peak with the first two in one, or those of the end without the last. */
static void add_lines(struct gm_text *out, struct gm_verdict *verdict, const struct gm_report *report)
{
    struct gm_verdict_line *first = &verdict->lines[0];
    bool is_of_peak = gm_verdict_of_peak(verdict, report);
    if (is_of_peak) {
        gm_verdict_when_in_short(first, report);
    } else {
        gm_verdict_of_end(verdict, report);
        *first = (struct gm_verdict_line){0};
        make_memory(first, report, true);
    }
    add_marks(first, report);
    gm_verdict_line_add(out, first, SUMMARY_LINE);
    for (size_t i = is_of_peak ? 2 : 1; i < (is_of_peak ? 5 : 4); i++)
        gm_verdict_line_add(out, &verdict->lines[i], SUMMARY_LINE);
}

void gm_words_summary(struct gm_text *out, const struct gm_report *report, const char *directory)
{
    struct gm_verdict verdict;
    add_lines(out, &verdict, report);
    gm_text_add(out, "Report  ");
    for (; *directory != '\0'; directory++) /* bytes as they are: a path must stay usable; but only one line */
        gm_text_add_char(out, (unsigned char)*directory < 0x20 || *directory == 0x7f ? '?' : *directory);
    gm_text_add_char(out, '\n');
}
