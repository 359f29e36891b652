/* SPDX-License-Identifier: Apache-2.0
 *
 * --explain: which evidence gave which role to how many blocks. The rows of a device add up to its peak, and to what is
 * allocated at its end.
 */
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "analyze/words/text_parts.h"
#include "analyze/words/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ROLE = 22 };

static void add_figures(struct gm_text *out, const char *name, const char *sure, const struct gm_role_reason *r)
{
    gm_text_add(out, "  ");
    gm_columns_cell(out, name, ROLE, GM_CELL_LEFT);
    gm_columns_cell(out, sure, 6, GM_CELL_RIGHT);
    gm_text_count(out, r->blocks_at_peak, 12);
    gm_text_size(out, r->bytes_at_peak, 13);
    gm_text_count(out, r->blocks_at_end, 12);
    gm_text_size(out, r->bytes_at_end, 13);
    gm_text_add_char(out, '\n');
}

static void add_to(struct gm_role_reason *sum, const struct gm_role_reason *r)
{
    sum->blocks_at_peak = gm_plus(sum->blocks_at_peak, r->blocks_at_peak);
    sum->bytes_at_peak = gm_plus(sum->bytes_at_peak, r->bytes_at_peak);
    sum->blocks_at_end = gm_plus(sum->blocks_at_end, r->blocks_at_end);
    sum->bytes_at_end = gm_plus(sum->bytes_at_end, r->bytes_at_end);
}

/* Says so if the sums are not what they should be. */
static void add_check(struct gm_text *out, const char *what, uint64_t sum, uint64_t whole)
{
    char a[GM_NUMBER_TEXT];
    gm_text_paragraph(out, 2, "%s: %s bytes; the sum %s.", what, gm_count_format(a, whole),
                      sum == whole ? "is the same" : "DIFFERS");
}

static void explain(struct gm_text *out, const struct gm_report *report, const struct gm_view *v)
{
    (void)report;
    const struct gm_device_timeline *t = v->timeline;
    if (t->reason_count == 0) {
        gm_text_add(out, "  Roles were not inferred.\n");
        return;
    }
    gm_text_printf(out, "  %-*s%6s%12s%13s%12s%13s\n", ROLE, "", "", "at the peak", "requested", "at the end",
                   "allocated");
    gm_text_printf(out, "  %-*s%6s%12s%13s%12s%13s\n", ROLE, "role", "sure", "blocks", "bytes", "blocks", "bytes");
    struct gm_role_reason sum = {0};
    for (size_t i = 0; i < t->reason_count; i++) {
        const struct gm_role_reason *r = &t->reasons[i];
        char sure[GM_NUMBER_TEXT];
        if (r->certainty > 0)
            snprintf(sure, sizeof sure, "%d %%", r->certainty);
        else
            snprintf(sure, sizeof sure, "-");
        add_figures(out, r->role, sure, r);
        gm_text_paragraph(out, 6, "%s", r->reason);
        add_to(&sum, r);
    }
    add_figures(out, "sum", "", &sum);
    add_check(out, "The peak of requested bytes", sum.bytes_at_peak, v->peak->requested);
    add_check(out, "Allocated at the end", sum.bytes_at_end, v->device->totals.allocated);
}

void gm_words_explain(struct gm_text *out, const struct gm_report *report)
{
    gm_text_views(out, report, "ROLES, AND WHAT THEY WERE INFERRED FROM", explain);
    if (gm_view_count(report) == 0)
        gm_text_add(out, "No event recorded: roles are inferred from the trace.\n");
}
