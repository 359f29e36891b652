/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_report.txt: the books of the trace, and how far they can be trusted.
 */
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "analyze/words/text_parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { NAME = 32, CELL = 15, PARTS = 16 };

static void add_row(struct gm_text *out, char sign, const char *name, uint64_t a, uint64_t b, uint64_t c)
{
    gm_text_printf(out, "  %c %-*s", sign, NAME - 4, name);
    gm_text_size(out, a, CELL);
    gm_text_size(out, b, CELL);
    gm_text_size(out, c, CELL);
    gm_text_add_char(out, '\n');
}

/* For what the snapshot does not tell apart. */
static void add_part(struct gm_text *out, char sign, const char *name, uint64_t a, uint64_t b)
{
    gm_text_printf(out, "  %c %-*s", sign, NAME - 4, name);
    gm_text_size(out, a, CELL);
    gm_text_size(out, b, CELL);
    gm_text_add_char(out, '\n');
}

/* Baseline + attributed = active, + cached = reserved: at the start, at the end, and in the snapshot itself. */
static void add_books(struct gm_text *out, const struct gm_view *v)
{
    const struct gm_timeline_books *b = &v->timeline->books;
    char s[GM_NUMBER_TEXT];
    gm_text_printf(out, "  %-*s%*s%*s%*s\n", NAME - 2, "", CELL, "before event 0", CELL, "after the last", CELL,
                   "the snapshot");
    add_part(out, ' ', "lived before the trace", b->baseline_bytes, gm_less(b->at_end.active, b->never_freed_bytes));
    add_part(out, '+', "allocated in the trace", 0, b->never_freed_bytes);
    add_row(out, '=', "active", b->at_start.active, b->at_end.active, b->snapshot.active);
    add_row(out, '+', "cached", gm_less(b->at_start.reserved, b->at_start.active),
            gm_less(b->at_end.reserved, b->at_end.active), gm_less(b->snapshot.reserved, b->snapshot.active));
    add_row(out, '=', "reserved", b->at_start.reserved, b->at_end.reserved, b->snapshot.reserved);
    gm_text_printf(out, "    %-46s%12s\n", "residual: active bytes, end - snapshot",
                   gm_signed_bytes_format(s, b->residual_active));
    gm_text_printf(out, "    %-46s%12s\n", "residual: reserved bytes, end - snapshot",
                   gm_signed_bytes_format(s, b->residual_reserved));
    gm_text_printf(out, "    %-46s%12s\n", "residual: the worst of the sums at any event",
                   gm_signed_bytes_format(s, b->worst_residual));
}

static void add_forward_pass(struct gm_text *out, const struct gm_timeline_books *b)
{
    char a[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT];
    gm_text_paragraph(out, 2, "The forward pass ends in %s of the snapshot's %s blocks: same address, size and state%s",
                      gm_count_format(a, b->end_blocks_same), gm_count_format(c, b->end_blocks),
                      b->end_blocks_same == b->end_blocks ? "." : " (the others DIFFER).");
    if (b->sizes_from_snapshot > 0)
        gm_text_paragraph(out, 2,
                          "%s block%s did not get the size from the allocator's rules; the snapshot's was taken (%s in "
                          "all).",
                          gm_count_format(a, b->sizes_from_snapshot), gm_plural(b->sizes_from_snapshot),
                          gm_bytes_format(c, b->sizes_from_snapshot_bytes));
    gm_text_paragraph(out, 2, "%s block%s (%s) lived before the trace.", gm_count_format(a, b->baseline_blocks),
                      gm_plural(b->baseline_blocks), gm_bytes_format(c, b->baseline_bytes));
    gm_text_paragraph(out, 2, "%s block%s (%s) allocated in the trace %s never freed in it.",
                      gm_count_format(a, b->never_freed_blocks), gm_plural(b->never_freed_blocks),
                      gm_bytes_format(c, b->never_freed_bytes), b->never_freed_blocks == 1 ? "was" : "were");
    if (b->unsplit_bytes != GM_REPORT_NONE && b->unsplit_bytes > 0)
        gm_text_paragraph(out, 2, "%s at the end are remainders that the allocator left inside blocks.",
                          gm_bytes_format(a, b->unsplit_bytes));
}

static void add_disagreements(struct gm_text *out, const struct gm_timeline_books *b)
{
    if (b->disagreement_count == 0) {
        gm_text_add(out, "  Events and segments do not contradict each other.\n");
        return;
    }
    bool any_expected = false;
    gm_text_printf(out, "\n  %12s%12s%14s  %s\n", "count", "bytes", "first event", "What did not fit together");
    for (size_t i = 0; i < b->disagreement_count; i++) {
        const struct gm_disagreement *d = &b->disagreements[i];
        any_expected = any_expected || d->is_expected;
        gm_text_count(out, d->count, 14);
        gm_text_size(out, d->bytes, 12);
        if (d->first_event == GM_REPORT_NONE)
            gm_text_repeat(out, ' ', 14);
        else
            gm_text_event(out, d->first_event, 14);
        gm_text_add(out, "  ");
        struct gm_text what = {0};
        gm_text_printf(&what, "%s%s", d->what != NULL ? d->what : d->id, d->is_expected ? " (expected)" : "");
        out->failed = out->failed || what.failed;
        gm_columns_wrap(out, what.failed ? "" : what.data, 42);
        gm_text_free(&what);
    }
    if (any_expected)
        gm_text_paragraph(out, 2, "Expected: it follows from a trace that begins in the middle of a run.");
}

/* A stream by its number in the tables, where it has one: its handle says nothing. */
static const char *stream_name(char out[GM_NUMBER_TEXT], const struct gm_view *v, const struct gm_part *part)
{
    const struct gm_device_report *d = v->device;
    for (size_t i = 0; i < d->stream_count; i++)
        if (d->streams[i].stream == part->stream) {
            snprintf(out, GM_NUMBER_TEXT, "stream %" PRIu32, d->streams[i].number);
            return out;
        }
    return part->name;
}

/* Each kind has its own moment: the rows do not add up, and a peak of all may be less than the sum of these. */
static void add_parts(struct gm_text *out, const struct gm_view *v, bool are_streams, const struct gm_part *parts,
                      size_t count)
{
    if (count == 0)
        return;
    gm_text_printf(out, "\n  %-26s%13s%13s%13s%13s\n", are_streams ? "Peaks by stream" : "Peaks by pool", "requested",
                   "allocated", "active", "reserved");
    for (size_t i = 0; i < count && i < PARTS; i++) {
        gm_text_add(out, "  ");
        char number[GM_NUMBER_TEXT];
        gm_columns_cell(out, are_streams ? stream_name(number, v, &parts[i]) : parts[i].name, 26, GM_CELL_LEFT);
        gm_text_size(out, parts[i].peak.requested, 13);
        gm_text_size(out, parts[i].peak.allocated, 13);
        gm_text_size(out, parts[i].peak.active, 13);
        gm_text_size(out, parts[i].peak.reserved, 13);
        gm_text_add_char(out, '\n');
    }
    if (count > PARTS)
        gm_text_printf(out, "  %zu more in analysis.json\n", count - PARTS);
}

static void add_timeline(struct gm_text *out, const struct gm_report *report, const struct gm_view *v)
{
    (void)report;
    const struct gm_timeline_books *b = &v->timeline->books;
    if (b->coverage != NULL)
        gm_text_paragraph(out, 2, "%s", b->coverage);
    if (v->is_reconstructed) {
        add_books(out, v);
        add_forward_pass(out, b);
    } else {
        gm_text_paragraph(out, 2,
                          "Only requested and reserved bytes are known: %s. The snapshot itself has %s active, "
                          "%s reserved.",
                          gm_view_reason(v), gm_bytes_format((char[GM_NUMBER_TEXT]){0}, v->device->totals.active),
                          gm_bytes_format((char[GM_NUMBER_TEXT]){0}, v->device->totals.reserved));
    }
    if (v->is_reconstructed || b->disagreement_count > 0)
        add_disagreements(out, b);
    if (v->is_reconstructed && v->timeline->stream_count > 1)
        add_parts(out, v, true, v->timeline->streams, v->timeline->stream_count);
    if (v->is_reconstructed && v->timeline->pool_count > 1)
        add_parts(out, v, false, v->timeline->pools, v->timeline->pool_count);
}

void gm_text_timeline(struct gm_text *out, const struct gm_report *report)
{
    gm_text_views(out, report, "TIMELINE BOOKS", add_timeline);
}
