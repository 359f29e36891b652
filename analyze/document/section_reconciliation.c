/* SPDX-License-Identifier: Apache-2.0
 *
 * The reconciliation of the trace with the snapshot: how far it can be trusted.
 */
#include "analyze/document/sections.h"

#include <inttypes.h>

enum { PARTS = 16 };

#define ROW struct gm_reconciliation

struct entry {
    const char *name;
    uint64_t start, end;
    uint64_t snapshot; /* GM_REPORT_NONE: it does not tell this apart */
};

/* Baseline + attributed = active, + cached = reserved: at the start, at the end, and in the snapshot itself. */
static void say_balance(struct gm_doc *d, const struct gm_reconciliation *b)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_READ, NULL, NULL, struct entry, name),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Before event 0", struct entry, start),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "After the last", struct entry, end),
        GM_FIELD(GM_BYTES, GM_READ | GM_BLANK, NULL, "The snapshot", struct entry, snapshot),
    };
    const struct entry rows[] = {
        {"lived before the trace", b->baseline_bytes, gm_less(b->at_end.active, b->never_freed_bytes), GM_REPORT_NONE},
        {"+ allocated in the trace", 0, b->never_freed_bytes, GM_REPORT_NONE},
        {"= active", b->at_start.active, b->at_end.active, b->snapshot.active},
        {"+ cached", gm_less(b->at_start.reserved, b->at_start.active), gm_less(b->at_end.reserved, b->at_end.active),
         gm_less(b->snapshot.reserved, b->snapshot.active)},
        {"= reserved", b->at_start.reserved, b->at_end.reserved, b->snapshot.reserved},
    };
    GM_TABLE(d, columns, rows, sizeof rows / sizeof *rows, .in = 0);
    gm_doc_tell(d, "Residual, end - snapshot: %s active, %s reserved; %s at the worst event.",
                gm_doc_signed_bytes(d, b->residual_active), gm_doc_signed_bytes(d, b->residual_reserved),
                gm_doc_signed_bytes(d, b->worst_residual));
}

static bool are_expected(const struct gm_reconciliation *b)
{
    for (size_t i = 0; i < b->disagreement_count; i++)
        if (!b->disagreements[i].is_expected)
            return false;
    return true;
}

static void say_whether(struct gm_doc *d, const struct gm_reconciliation *b)
{
    gm_doc_tell(d, "Played forward, the trace ends in %s of the snapshot's %s blocks: same address, size and state%s",
                gm_doc_count(d, b->end_blocks_same), gm_doc_count(d, b->end_blocks),
                b->end_blocks_same == b->end_blocks ? "." : " (the others DIFFER).");
    if (b->disagreement_count == 0)
        gm_doc_tell(d, "Events and segments do not contradict each other.");
    else
        gm_doc_tell(d, "In %zu way%s events, segments and blocks do not fit together%s: see the reconciliation.",
                    b->disagreement_count, gm_plural(b->disagreement_count),
                    are_expected(b) ? ", as expected of a trace that begins in the middle of a run" : "");
}

static void say_forward_pass(struct gm_doc *d, const struct gm_reconciliation *b)
{
    if (b->sizes_from_snapshot > 0)
        gm_doc_tell(d,
                    "%s block%s did not get the size from the allocator's rules; the snapshot's was taken (%s in all).",
                    gm_doc_count(d, b->sizes_from_snapshot), gm_plural(b->sizes_from_snapshot),
                    gm_doc_bytes(d, b->sizes_from_snapshot_bytes));
    gm_doc_tell(d, "%s block%s (%s) lived before the trace.", gm_doc_count(d, b->baseline_blocks),
                gm_plural(b->baseline_blocks), gm_doc_bytes(d, b->baseline_bytes));
    gm_doc_tell(d, "%s block%s (%s) allocated in the trace %s never freed in it.",
                gm_doc_count(d, b->never_freed_blocks), gm_plural(b->never_freed_blocks),
                gm_doc_bytes(d, b->never_freed_bytes), b->never_freed_blocks == 1 ? "was" : "were");
    if (b->unsplit_bytes != GM_REPORT_NONE && b->unsplit_bytes > 0)
        gm_doc_tell(d, "%s at the end are remainders that the allocator left inside blocks.",
                    gm_doc_bytes(d, b->unsplit_bytes));
}

static union gm_value what_disagrees(const struct gm_cell_of *c)
{
    const struct gm_disagreement *row = c->row;
    const char *what = row->what != NULL ? row->what : row->id;
    return (union gm_value){.s = row->is_expected ? gm_doc_printf(c->doc, "%s (expected)", what) : what};
}

static void say_disagreements(struct gm_doc *d, const struct gm_reconciliation *b)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_TEXT, "id", struct gm_disagreement, id),
        GM_KEY(GM_TEXT, "what", struct gm_disagreement, what),
        GM_FIELD(GM_COUNT, GM_ALL, "count", "Count", struct gm_disagreement, count),
        GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Bytes", struct gm_disagreement, bytes),
        GM_FIELD(GM_COUNT, GM_ALL | GM_BLANK, "first_event", "First event", struct gm_disagreement, first_event),
        GM_KEY(GM_BOOL, "expected", struct gm_disagreement, is_expected),
        GM_GET(GM_TEXT, GM_READ | GM_UNDER, NULL, "What did not fit together", what_disagrees),
    };
    bool any_expected = false;
    for (size_t i = 0; i < b->disagreement_count; i++)
        any_expected = any_expected || b->disagreements[i].is_expected;
    GM_TABLE(d, columns, b->disagreements, b->disagreement_count, .key = "disagreements");
    if (any_expected)
        gm_doc_tell(d, "Expected: it follows from a trace that begins in the middle of a run.");
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
        GM_TABLE(d, columns, parts, count, .title = title, .in = GM_TXT, .txt_max = PARTS, .of = streams_of);
}

static void add_facts(struct gm_doc *d, const struct gm_reconciliation *b)
{
    static const struct gm_column known[] = {
        GM_INSIDE("at_start", gm_levels_columns, ROW, at_start),
        GM_INSIDE("at_end", gm_levels_columns, ROW, at_end),
        GM_INSIDE("snapshot", gm_levels_columns, ROW, snapshot),
        GM_KEY(GM_SIGNED, "residual_active_bytes", ROW, residual_active),
        GM_KEY(GM_SIGNED, "residual_reserved_bytes", ROW, residual_reserved),
        GM_KEY(GM_SIGNED, "worst_residual_bytes", ROW, worst_residual),
        GM_KEY(GM_COUNT, "end_blocks", ROW, end_blocks),
        GM_KEY(GM_COUNT, "end_blocks_same", ROW, end_blocks_same),
        GM_KEY(GM_COUNT, "sizes_from_snapshot", ROW, sizes_from_snapshot),
        GM_KEY(GM_BYTES, "sizes_from_snapshot_bytes", ROW, sizes_from_snapshot_bytes),
        GM_KEY(GM_COUNT, "baseline_blocks", ROW, baseline_blocks),
        GM_KEY(GM_BYTES, "baseline_bytes", ROW, baseline_bytes),
        GM_KEY(GM_COUNT, "never_freed_blocks", ROW, never_freed_blocks),
        GM_KEY(GM_BYTES, "never_freed_bytes", ROW, never_freed_bytes),
        GM_KEY(GM_BYTES, "unsplit_bytes", ROW, unsplit_bytes),
    };
    static const struct gm_column all[] = {
        GM_KEY(GM_BOOL, "reconstructed", ROW, is_reconstructed),
        GM_KEY(GM_TEXT, "reason", ROW, reason),
        GM_KEY(GM_TEXT, "coverage", ROW, coverage),
        GM_KEY(GM_TIME, "first_time_us", ROW, first_time_us),
        GM_KEY(GM_TIME, "last_time_us", ROW, last_time_us),
    };
    GM_FIELDS(d, all, b, NULL);
    if (b->is_reconstructed)
        GM_FIELDS(d, known, b, NULL);
}

void gm_section_reconciliation(struct gm_doc *d, const struct gm_view *v)
{
    const struct gm_reconciliation *b = &v->timeline->reconciliation;
    gm_doc_open(d, "books", NULL);
    add_facts(d, b);
    if (b->coverage != NULL)
        gm_doc_tell(d, "%s", b->coverage);
    if (v->is_reconstructed)
        say_whether(d, b);
    else
        gm_doc_tell(d, "Only requested%s bytes are known: %s.%s", v->has_reserved ? " and reserved" : "",
                    gm_view_reason(v),
                    v->lacks_end ? ""
                                 : gm_doc_printf(d, " The snapshot itself has %s active, %s reserved.",
                                                 gm_doc_bytes(d, v->device->totals.active),
                                                 gm_doc_bytes(d, v->device->totals.reserved)));
    if (v->is_reconstructed || b->disagreement_count > 0 || gm_doc_is(d, GM_JSON)) {
        gm_doc_fold(d, NULL, "Reconciliation of the trace with the snapshot");
        if (v->is_reconstructed && !gm_doc_is(d, GM_JSON)) {
            say_balance(d, b);
            say_forward_pass(d, b);
        }
        say_disagreements(d, b);
        if (v->is_reconstructed) {
            say_parts(d, "Peaks by stream", v->device, v->timeline->streams, v->timeline->stream_count);
            say_parts(d, "Peaks by pool", NULL, v->timeline->pools, v->timeline->pool_count);
        }
        gm_doc_close(d);
    }
    gm_doc_close(d);
}
