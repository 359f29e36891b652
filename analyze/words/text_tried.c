/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_report.txt: what other allocator settings would do.
 */
#include "analyze/words/columns.h"
#include "analyze/words/text_parts.h"
#include "analyze/words/tried.h"

enum { NAME = 50 };

static void add_row(struct gm_text *out, const char *name, uint64_t peak, uint64_t before)
{
    gm_text_add(out, "  ");
    gm_columns_cell(out, name, NAME, GM_CELL_LEFT);
    gm_text_size(out, peak, 12);
    if (before != GM_REPORT_NONE)
        gm_text_delta(out, (int64_t)(peak - before), 14);
    gm_text_add_char(out, '\n');
}

static void add_table(struct gm_text *out, const struct gm_settings_advice *advice)
{
    gm_text_printf(out, "\n  %-*s%12s%14s\n", NAME, "", "reserved", "change");
    add_row(out, "recorded", gm_tried_recorded(advice), GM_REPORT_NONE);
    if (advice->before != GM_REPORT_NONE)
        add_row(out, "replayed with the recorded settings", advice->before, GM_REPORT_NONE);
    for (size_t i = 0; i < advice->tried_count; i++)
        add_row(out, gm_tried_settings(advice->tried[i].settings), advice->tried[i].peak, gm_tried_base(advice));
}

void gm_text_tried(struct gm_text *out, const struct gm_report *report)
{
    const struct gm_settings_advice *advice = report->advice;
    struct gm_text summary = {0};
    if (advice == NULL)
        return;
    gm_text_section(out, "OTHER ALLOCATOR SETTINGS");
    gm_tried_summary(&summary, advice);
    gm_text_paragraph(out, 2, "%s", summary.failed ? "" : summary.data);
    if (advice->command != NULL)
        gm_text_paragraph(out, 2, "To find out: %s", advice->command);
    out->failed |= summary.failed;
    gm_text_free(&summary);
    if (advice->tried_count > 0)
        add_table(out, advice);
}
