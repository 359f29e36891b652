/* SPDX-License-Identifier: Apache-2.0
 *
 * README.md: running out of memory, and folded the books of the trace, steps, and fragmentation over time.
 */
#include "analyze/base/size.h"
#include "analyze/document/escape.h"
#include "analyze/document/numbers.h"
#include "analyze/words/markdown_parts.h"
#include "analyze/words/oom.h"

#include <inttypes.h>

enum { OOMS = 3, HOLES = 5, STEPS = 24, ROWS = 10, SENTENCE = 500 };

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
