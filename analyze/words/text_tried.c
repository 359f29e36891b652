/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_report.txt: what other allocator settings would do.
 */
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "analyze/words/text_parts.h"
#include "analyze/words/tried.h"

enum { LINE = 76, SIZE = 14, CHANGE = 13, RETRIES = 9 };

static size_t name_columns(bool is_limited)
{
    return LINE - SIZE - CHANGE - (is_limited ? RETRIES : 0);
}

static void add_head(struct gm_text *out, const char *name, bool is_limited)
{
    gm_text_printf(out, "\n  %-*s%*s%*s", (int)name_columns(is_limited), name, SIZE, "reserved", CHANGE, "change");
    gm_text_printf(out, "%*s\n", is_limited ? RETRIES : 0, is_limited ? "retries" : "");
}

/* The baseline has no change, and the recording was not replayed. */
static void add_recorded(struct gm_text *out, const struct gm_settings_advice *advice)
{
    gm_text_printf(out, "  %-*s", (int)name_columns(advice->is_limited), "the recording itself");
    gm_text_size(out, gm_tried_recorded(advice), SIZE);
    gm_text_add_char(out, '\n');
}

static void add_row(struct gm_text *out, const struct gm_tried_row *row, bool is_baseline, bool is_limited)
{
    struct gm_text name = {0};
    char count[GM_NUMBER_TEXT];
    gm_text_printf(&name, "%s%s", is_baseline ? "baseline: " : "", gm_tried_settings(row->settings));
    gm_text_add(out, "  ");
    gm_columns_cell(out, name.failed ? "" : name.data, name_columns(is_limited), GM_CELL_LEFT);
    if (row->replay->runs)
        gm_text_size(out, row->replay->peak, SIZE);
    else
        gm_text_printf(out, "%*s", SIZE, "out of memory");
    if (row->has_change)
        gm_text_delta(out, row->change, CHANGE);
    else if (is_limited)
        gm_text_repeat(out, ' ', CHANGE);
    if (is_limited)
        gm_text_printf(out, "%*s", RETRIES, gm_count_format(count, row->replay->retries));
    gm_text_add_char(out, '\n');
    out->failed |= name.failed;
    gm_text_free(&name);
}

static void add_table(struct gm_text *out, const struct gm_settings_advice *advice)
{
    for (int is_limited = 0; is_limited <= advice->is_limited; is_limited++) {
        add_head(out, is_limited ? "with the limit of the recording" : "with unlimited memory", is_limited);
        if (is_limited == advice->is_limited)
            add_recorded(out, advice);
        for (size_t i = 0; i <= advice->tried_count; i++) {
            const struct gm_tried_row row = gm_tried_row(advice, i, is_limited);
            add_row(out, &row, i == 0, is_limited);
        }
    }
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
