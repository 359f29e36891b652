/* SPDX-License-Identifier: Apache-2.0
 *
 * README.md: running out of memory, and folded the books of the trace, steps, and fragmentation over time.
 */
#include "analyze/base/size.h"
#include "analyze/document/escape.h"
#include "analyze/words/markdown_parts.h"
#include "analyze/document/numbers.h"
#include "analyze/words/oom.h"

#include <inttypes.h>

enum { OOMS = 3, HOLES = 5, STEPS = 24, ROWS = 10, SENTENCE = 500 };

/* ---- out of memory ---------------------------------------------------------------------------------------------- */

static void add_byte_row(struct gm_text *out, const char *name, uint64_t bytes, uint64_t whole)
{
    gm_text_printf(out, "| %s |", name);
    gm_md_size_cell(out, bytes);
    gm_md_percent_cell(out, bytes, whole);
    gm_text_add_char(out, '\n');
}

static void add_bytes(struct gm_text *out, const struct gm_view *v, const struct gm_oom_row *oom)
{
    const struct gm_levels l = gm_view_levels(v, oom->levels);
    gm_text_add(out, "\n| Where every byte was | Size | Of reserved |\n|:--|--:|--:|\n");
    add_byte_row(out, "Live, requested", l.requested, l.reserved);
    add_byte_row(out, "+ live, rounding", gm_less(l.active, l.requested), l.reserved);
    for (int i = 0; v->is_reconstructed && i < GM_UNUSABLE_COUNT; i++) {
        if (oom->unusable[i] == 0)
            continue;
        gm_text_printf(out, "| + cached: %s |", gm_unusable_name((enum gm_unusable)i));
        gm_md_size_cell(out, oom->unusable[i]);
        gm_md_percent_cell(out, oom->unusable[i], l.reserved);
        gm_text_add_char(out, '\n');
    }
    const uint64_t lacking = gm_oom_not_attributed(v, oom);
    if (lacking > 0)
        add_byte_row(out, "+ cached: not attributed", lacking, l.reserved);
    add_byte_row(out, "**= reserved**", l.reserved, l.reserved);
    if (v->is_reconstructed && oom->pending > 0 && oom->pending != GM_REPORT_NONE)
        add_byte_row(out, "of it live but freed (pending a stream)", oom->pending, l.reserved);
}

static void add_grew(struct gm_text *out, const struct gm_oom_row *oom)
{
    if (oom->grew_count == 0)
        return;
    gm_text_add(out, "\nWho grew ");
    gm_md_prose(out, oom->grew_since != NULL ? oom->grew_since : "last", 100);
    gm_text_add(out, ":\n\n| By | Blocks | Made in |\n|--:|--:|:--|\n");
    for (size_t i = 0; i < oom->grew_count && i < HOLES && gm_md_room(out, oom->grew_count - i); i++) {
        gm_text_add_char(out, '|');
        gm_md_size_cell(out, oom->grew[i].bytes);
        gm_md_count_cell(out, oom->grew[i].blocks);
        gm_text_add_char(out, ' ');
        gm_md_label(out, oom->grew[i].label);
        gm_text_add(out, " |\n");
    }
}

static void add_oom(struct gm_text *out, const struct gm_view *v, const struct gm_oom_row *oom)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT];
    gm_text_printf(out, "\n**Event %s** (%s): %s asked for, ", gm_count_format(a, oom->event),
                   gm_since_format(b, v, oom->time_us), gm_bytes_format(c, oom->asked));
    gm_text_printf(out, "the device had %s free. Verdict: **%s**. ",
                   oom->device_free == GM_REPORT_NONE ? "an unknown amount" : gm_bytes_format(a, oom->device_free),
                   gm_oom_verdict_name(oom->verdict));
    if (oom->verdict_detail != NULL)
        gm_md_prose(out, oom->verdict_detail, SENTENCE);
    if (oom->site != NULL) {
        gm_text_add(out, " Asked in ");
        gm_md_label(out, oom->site);
    }
    gm_text_add_char(out, '\n');
    add_bytes(out, v, oom);
    add_grew(out, oom);
}

void gm_md_ooms(struct gm_text *out, const struct gm_report *report)
{
    bool is_first = true;
    for (size_t i = 0; i < report->device_count; i++) {
        struct gm_view v;
        if (!gm_view_of(&v, report, i) || v.timeline->oom_count == 0)
            continue;
        if (is_first)
            gm_text_add(out, "\n## Out of memory\n");
        is_first = false;
        if (!gm_md_room(out, report->device_count - i))
            return;
        char s[GM_NUMBER_TEXT];
        gm_text_printf(out, "\nDevice %" PRId64 ": %s allocation%s failed.\n", v.device->device,
                       gm_count_format(s, v.device->trace.ooms), gm_plural(v.device->trace.ooms));
        for (size_t k = 0; k < v.timeline->oom_count && k < OOMS && gm_md_room(out, v.timeline->oom_count - k); k++)
            add_oom(out, &v, &v.timeline->ooms[k]);
    }
}

/* ---- books ------------------------------------------------------------------------------------------------------ */

static void add_book_row(struct gm_text *out, const char *name, uint64_t a, uint64_t b, uint64_t c)
{
    gm_text_printf(out, "| %s |", name);
    gm_md_size_cell(out, a);
    gm_md_size_cell(out, b);
    gm_md_size_cell(out, c);
    gm_text_add_char(out, '\n');
}

static void add_balance(struct gm_text *out, const struct gm_timeline_books *b)
{
    char s[GM_NUMBER_TEXT], t[GM_NUMBER_TEXT], u[GM_NUMBER_TEXT];
    gm_text_add(out, "\n| | Before event 0 | After the last | The snapshot |\n|:--|--:|--:|--:|\n");
    gm_text_add(out, "| Lived before the trace |");
    gm_md_size_cell(out, b->baseline_bytes);
    gm_md_size_cell(out, gm_less(b->at_end.active, b->never_freed_bytes));
    gm_text_add(out, " |\n| + allocated in the trace |");
    gm_md_size_cell(out, 0);
    gm_md_size_cell(out, b->never_freed_bytes);
    gm_text_add(out, " |\n");
    add_book_row(out, "= active", b->at_start.active, b->at_end.active, b->snapshot.active);
    add_book_row(out, "+ cached", gm_less(b->at_start.reserved, b->at_start.active),
                 gm_less(b->at_end.reserved, b->at_end.active), gm_less(b->snapshot.reserved, b->snapshot.active));
    add_book_row(out, "**= reserved**", b->at_start.reserved, b->at_end.reserved, b->snapshot.reserved);
    gm_text_printf(out, "\nResidual: %s active, %s reserved, %s at the worst event. ",
                   gm_signed_bytes_format(s, b->residual_active), gm_signed_bytes_format(t, b->residual_reserved),
                   gm_signed_bytes_format(u, b->worst_residual));
    gm_text_printf(out, "The forward pass ends in %s of %s blocks of the snapshot.\n",
                   gm_count_format(s, b->end_blocks_same), gm_count_format(t, b->end_blocks));
}

void gm_md_books(struct gm_text *out, const struct gm_report *report)
{
    struct gm_view v;
    if (!gm_view_highest(&v, report))
        return;
    const struct gm_timeline_books *b = &v.timeline->books;
    gm_md_fold(out, "Books of the trace: how far it can be trusted");
    if (b->coverage != NULL) {
        gm_md_prose(out, b->coverage, SENTENCE);
        gm_text_add_char(out, '\n');
    }
    if (v.is_reconstructed)
        add_balance(out, b);
    else
        gm_text_add(out, "\nThe trace was not reconstructed: only requested and reserved bytes are known.\n");
    if (b->disagreement_count > 0)
        gm_text_add(out, "\n| Count | Bytes | First event | What did not fit together | Expected |\n"
                         "|--:|--:|--:|:--|:--|\n");
    for (size_t i = 0; i < b->disagreement_count && gm_md_room(out, b->disagreement_count - i); i++) {
        const struct gm_disagreement *d = &b->disagreements[i];
        char s[GM_NUMBER_TEXT];
        gm_text_add_char(out, '|');
        gm_md_count_cell(out, d->count);
        gm_md_size_cell(out, d->bytes);
        gm_text_printf(out, " %s | ", d->first_event == GM_REPORT_NONE ? "-" : gm_count_format(s, d->first_event));
        gm_md_prose(out, d->what != NULL ? d->what : d->id, 200);
        gm_text_printf(out, " | %s |\n", d->is_expected ? "yes" : "**no**");
    }
    gm_md_unfold(out);
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static void add_step(struct gm_text *out, const struct gm_step_row *row, bool is_first)
{
    char s[GM_NUMBER_TEXT], d[GM_SIZE_TEXT];
    gm_text_add(out, "| ");
    gm_md_prose(out, row->label != NULL ? row->label : "-", GM_MD_NAME);
    gm_text_printf(out, " | %s |", gm_duration_format(s, gm_less(row->to_us, row->from_us)));
    gm_md_size_cell(out, row->peak.requested);
    gm_md_size_cell(out, row->end.requested);
    gm_text_printf(out, " %s |", is_first ? "-" : gm_size_format_delta(d, row->growth));
    gm_md_count_cell(out, row->allocs);
    gm_text_add_char(out, '\n');
}

void gm_md_steps(struct gm_text *out, const struct gm_report *report)
{
    struct gm_view v;
    if (!gm_view_highest(&v, report) || v.timeline->steps.source == NULL || v.timeline->steps.row_count == 0)
        return;
    const struct gm_steps *s = &v.timeline->steps;
    gm_md_fold(out, "Steps");
    gm_text_printf(out, "Pattern: **%s**. ", gm_run_pattern_name(s->pattern));
    if (s->pattern_detail != NULL)
        gm_md_prose(out, s->pattern_detail, SENTENCE);
    gm_text_add(out, " Steps are from ");
    gm_md_prose(out, s->source, 100);
    gm_text_printf(out,
                   " (%d %% sure).\n\n| Step | Took | Peak | At its end | Growth | Allocations |\n"
                   "|:--|--:|--:|--:|--:|--:|\n",
                   s->certainty);
    size_t edge = s->row_count <= STEPS + 1 ? s->row_count : STEPS / 2;
    for (size_t i = 0; i < s->row_count && gm_md_room(out, s->row_count - i); i++) {
        if (i == edge && s->row_count - edge > edge) {
            size_t total = s->row_total > s->row_count ? s->row_total : s->row_count;
            gm_text_printf(out, "| ... %zu more | | | | | |\n", total - 2 * edge);
            i = s->row_count - edge;
        }
        add_step(out, &s->rows[i], i == 0);
    }
    gm_md_unfold(out);
}

/* ---- fragmentation over time ------------------------------------------------------------------------------------- */

static void add_growths(struct gm_text *out, const struct gm_view *v, const struct gm_fragmentation_history *h)
{
    gm_text_add(out, "\n| Event | Time | Added | Asked | Cached then | Most of it useless because | Asked in |\n"
                     "|--:|--:|--:|--:|--:|:--|:--|\n");
    for (size_t i = 0; i < h->growth_count && i < ROWS && gm_md_room(out, h->growth_count - i); i++) {
        const struct gm_growth_row *g = &h->growths[i];
        enum gm_unusable most = gm_unusable_most(g->unusable);
        gm_text_add_char(out, '|');
        gm_md_count_cell(out, g->event);
        gm_md_since_cell(out, v, g->time_us);
        gm_md_size_cell(out, g->bytes);
        gm_md_size_cell(out, g->asked);
        gm_md_size_cell(out, g->cached);
        gm_text_printf(out, " %s%s | ",
                       g->is_first                 ? "nothing of its kind was cached"
                       : most == GM_UNUSABLE_COUNT ? "-"
                                                   : gm_unusable_name(most),
                       g->is_retry ? "; a retry" : "");
        gm_md_label(out, g->site);
        gm_text_add(out, " |\n");
    }
}

static void add_pinners(struct gm_text *out, const struct gm_fragmentation_history *h)
{
    gm_text_add(out, "\n| Pinned | By a block of | After event | Category | Made in |\n|--:|--:|--:|:--|:--|\n");
    for (size_t i = 0; i < h->pinner_count && i < ROWS && gm_md_room(out, h->pinner_count - i); i++) {
        const struct gm_pinner_row *p = &h->pinners[i];
        gm_text_add_char(out, '|');
        gm_md_size_cell(out, p->pinned_bytes);
        gm_md_size_cell(out, p->bytes);
        gm_md_event_cell(out, p->event);
        gm_text_add_char(out, ' ');
        gm_md_prose(out, p->category != NULL ? p->category : "-", GM_MD_NAME);
        gm_text_add(out, " | ");
        gm_md_label(out, p->site);
        gm_text_add(out, " |\n");
    }
}

void gm_md_history(struct gm_text *out, const struct gm_report *report)
{
    struct gm_view v;
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT];
    if (!gm_view_highest(&v, report) || !v.is_reconstructed)
        return;
    const struct gm_fragmentation_history *h = &v.timeline->fragmentation;
    gm_md_fold(out, "Fragmentation over time");
    gm_text_printf(out, "Reserved memory grew %s time%s by %s; ", gm_count_format(a, h->growth_total),
                   gm_plural(h->growth_total), gm_bytes_format(b, h->growth_bytes));
    gm_text_printf(out, "for %s of it enough was cached in the right pool and stream. ",
                   gm_bytes_format(a, h->growth_avoidable_bytes));
    gm_text_printf(out, "Rounding at the peak of active bytes: %s. Retries after the driver refused: %s. ",
                   gm_bytes_format(b, h->rounding_bytes), gm_count_format(c, h->retries));
    gm_text_printf(out, "Freed before any other allocation: %s allocation%s, %s.\n",
                   gm_count_format(a, h->temporary_allocs), gm_plural(h->temporary_allocs),
                   gm_bytes_format(b, h->temporary_bytes));
    if (h->growth_count > 0)
        add_growths(out, &v, h);
    if (h->pinner_count > 0)
        add_pinners(out, h);
    gm_md_unfold(out);
}
