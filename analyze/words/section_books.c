/* SPDX-License-Identifier: Apache-2.0
 *
 * The books of the trace, and how far they can be trusted. JSON: json_timeline.c.
 */
#include "analyze/words/sections.h"

#include <inttypes.h>

enum { PARTS = 16 };

struct book {
    const char *name;
    uint64_t start, end;
    bool is_in_snapshot; /* else the snapshot does not tell it apart */
    uint64_t snapshot;
};

static union gm_value of_snapshot(const struct gm_cell_of *c)
{
    char text[GM_NUMBER_TEXT];
    const struct book *row = c->row;
    return (union gm_value){.s = row->is_in_snapshot ? gm_doc_printf(c->doc, "%s", gm_bytes_format(text, row->snapshot))
                                                     : ""};
}

/* Baseline + attributed = active, + cached = reserved: at the start, at the end, and in the snapshot itself. */
static void say_balance(struct gm_doc *d, const struct gm_timeline_books *b)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_READ, NULL, NULL, struct book, name),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Before event 0", struct book, start),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "After the last", struct book, end),
        GM_GET(GM_FIGURE, GM_READ, NULL, "The snapshot", of_snapshot),
    };
    const struct book rows[] = {
        {"lived before the trace", b->baseline_bytes, gm_less(b->at_end.active, b->never_freed_bytes), false, 0},
        {"+ allocated in the trace", 0, b->never_freed_bytes, false, 0},
        {"= active", b->at_start.active, b->at_end.active, true, b->snapshot.active},
        {"+ cached", gm_less(b->at_start.reserved, b->at_start.active), gm_less(b->at_end.reserved, b->at_end.active),
         true, gm_less(b->snapshot.reserved, b->snapshot.active)},
        {"= reserved", b->at_start.reserved, b->at_end.reserved, true, b->snapshot.reserved},
    };
    char active[GM_NUMBER_TEXT], reserved[GM_NUMBER_TEXT], worst[GM_NUMBER_TEXT];
    gm_doc_table(d, &(struct gm_table){GM_COLUMNS(columns), GM_ROWS(rows, sizeof rows / sizeof *rows)});
    gm_doc_say(d, GM_SAY, GM_READ, NULL, "Residual, end - snapshot: %s active, %s reserved; %s at the worst event.",
               gm_signed_bytes_format(active, b->residual_active),
               gm_signed_bytes_format(reserved, b->residual_reserved),
               gm_signed_bytes_format(worst, b->worst_residual));
}

static void say_forward_pass(struct gm_doc *d, const struct gm_timeline_books *b)
{
    char a[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT];
    gm_doc_say(d, GM_SAY, GM_READ, NULL,
               "The forward pass ends in %s of the snapshot's %s blocks: same address, size and state%s",
               gm_count_format(a, b->end_blocks_same), gm_count_format(c, b->end_blocks),
               b->end_blocks_same == b->end_blocks ? "." : " (the others DIFFER).");
    if (b->sizes_from_snapshot > 0)
        gm_doc_say(d, GM_SAY, GM_READ, NULL,
                   "%s block%s did not get the size from the allocator's rules; the snapshot's was taken (%s in all).",
                   gm_count_format(a, b->sizes_from_snapshot), gm_plural(b->sizes_from_snapshot),
                   gm_bytes_format(c, b->sizes_from_snapshot_bytes));
    gm_doc_say(d, GM_SAY, GM_READ, NULL, "%s block%s (%s) lived before the trace.",
               gm_count_format(a, b->baseline_blocks), gm_plural(b->baseline_blocks),
               gm_bytes_format(c, b->baseline_bytes));
    gm_doc_say(d, GM_SAY, GM_READ, NULL, "%s block%s (%s) allocated in the trace %s never freed in it.",
               gm_count_format(a, b->never_freed_blocks), gm_plural(b->never_freed_blocks),
               gm_bytes_format(c, b->never_freed_bytes), b->never_freed_blocks == 1 ? "was" : "were");
    if (b->unsplit_bytes != GM_REPORT_NONE && b->unsplit_bytes > 0)
        gm_doc_say(d, GM_SAY, GM_READ, NULL, "%s at the end are remainders that the allocator left inside blocks.",
                   gm_bytes_format(a, b->unsplit_bytes));
}

static union gm_value first_event(const struct gm_cell_of *c)
{
    char text[GM_NUMBER_TEXT];
    const uint64_t event = ((const struct gm_disagreement *)c->row)->first_event;
    return (union gm_value){.s = event == GM_REPORT_NONE ? "-"
                                                         : gm_doc_printf(c->doc, "%s", gm_count_format(text, event))};
}

static union gm_value what_disagrees(const struct gm_cell_of *c)
{
    const struct gm_disagreement *row = c->row;
    const char *what = row->what != NULL ? row->what : row->id;
    return (union gm_value){.s = row->is_expected ? gm_doc_printf(c->doc, "%s (expected)", what) : what};
}

static void say_disagreements(struct gm_doc *d, const struct gm_timeline_books *b)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_COUNT, GM_READ, NULL, "Count", struct gm_disagreement, count),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Bytes", struct gm_disagreement, bytes),
        GM_GET(GM_FIGURE, GM_READ, NULL, "First event", first_event),
        GM_GET(GM_TEXT, GM_READ | GM_UNDER, NULL, "What did not fit together", what_disagrees),
    };
    bool any_expected = false;
    for (size_t i = 0; i < b->disagreement_count; i++)
        any_expected = any_expected || b->disagreements[i].is_expected;
    if (b->disagreement_count == 0)
        gm_doc_say(d, GM_SAY, GM_READ, NULL, "Events and segments do not contradict each other.");
    gm_doc_table(d, &(struct gm_table){GM_COLUMNS(columns), GM_ROWS(b->disagreements, b->disagreement_count)});
    if (any_expected)
        gm_doc_say(d, GM_SAY, GM_READ, NULL, "Expected: it follows from a trace that begins in the middle of a run.");
}

/* A stream by its number in the tables, where it has one: its handle says nothing. */
static union gm_value part_name(const struct gm_cell_of *c)
{
    const struct gm_part *part = c->row;
    const struct gm_device_report *device = c->of;
    for (size_t i = 0; device != NULL && i < device->stream_count; i++)
        if (device->streams[i].stream == part->stream)
            return (union gm_value){.s = gm_doc_printf(c->doc, "stream %" PRIu32, device->streams[i].number)};
    return (union gm_value){.s = part->name};
}

/* Each kind has its own moment: the rows do not add up, and a peak of all may be less than the sum of these. */
static void say_parts(struct gm_doc *d, const char *title, const struct gm_device_report *streams_of,
                      const struct gm_part *parts, size_t count)
{
    static const struct gm_column columns[] = {
        GM_GET(GM_TEXT, GM_TXT, NULL, NULL, part_name),
        GM_FIELD(GM_BYTES, GM_TXT, NULL, "Requested", struct gm_part, peak.requested),
        GM_FIELD(GM_BYTES, GM_TXT, NULL, "Allocated", struct gm_part, peak.allocated),
        GM_FIELD(GM_BYTES, GM_TXT, NULL, "Active", struct gm_part, peak.active),
        GM_FIELD(GM_BYTES, GM_TXT, NULL, "Reserved", struct gm_part, peak.reserved),
    };
    if (count > 1)
        gm_doc_table(d, &(struct gm_table){.title = title,
                                           .in = GM_TXT,
                                           GM_COLUMNS(columns),
                                           GM_ROWS(parts, count),
                                           .txt_max = PARTS,
                                           .of = streams_of});
}

void gm_section_books(struct gm_doc *d, const struct gm_view *v)
{
    const struct gm_timeline_books *b = &v->timeline->books;
    char active[GM_NUMBER_TEXT], reserved[GM_NUMBER_TEXT];
    if (b->coverage != NULL)
        gm_doc_say(d, GM_SAY, GM_READ, NULL, "%s", b->coverage);
    if (v->is_reconstructed) {
        say_balance(d, b);
        say_forward_pass(d, b);
    } else {
        gm_doc_say(d, GM_SAY, GM_READ, NULL,
                   "Only requested and reserved bytes are known: %s. The snapshot itself has %s active, %s reserved.",
                   gm_view_reason(v), gm_bytes_format(active, v->device->totals.active),
                   gm_bytes_format(reserved, v->device->totals.reserved));
    }
    if (v->is_reconstructed || b->disagreement_count > 0)
        say_disagreements(d, b);
    if (!v->is_reconstructed)
        return;
    say_parts(d, "Peaks by stream", v->device, v->timeline->streams, v->timeline->stream_count);
    say_parts(d, "Peaks by pool", NULL, v->timeline->pools, v->timeline->pool_count);
}
