/* SPDX-License-Identifier: Apache-2.0
 *
 * README.md: what other allocator settings would do.
 */
#include "analyze/base/size.h"
#include "analyze/document/numbers.h"
#include "analyze/words/markdown_parts.h"
#include "analyze/words/tried.h"

enum { SUMMARY = 1200, SETTINGS = 200, COMMAND = 400 };

/* The cells of one choice of memory. */
static void add_cells(struct gm_text *out, const struct gm_tried_row *row)
{
    char change[GM_SIZE_TEXT] = "";
    if (row->replay->runs)
        gm_md_size_cell(out, row->replay->peak);
    else
        gm_text_add(out, " out of memory |");
    gm_text_printf(out, " %s |", row->has_change ? gm_size_format_delta(change, row->change) : "");
}

static void add_row(struct gm_text *out, const struct gm_settings_advice *advice, size_t i)
{
    const struct gm_tried_row row = gm_tried_row(advice, i, false);
    char count[GM_NUMBER_TEXT];
    gm_text_add(out, i == 0 ? "| baseline: " : "| ");
    if (row.settings[0] == '\0')
        gm_text_add(out, gm_tried_settings(row.settings));
    else
        gm_md_name(out, row.settings, SETTINGS, false);
    gm_text_add(out, " |");
    add_cells(out, &row);
    if (advice->is_limited) {
        const struct gm_tried_row limited = gm_tried_row(advice, i, true);
        add_cells(out, &limited);
        gm_text_printf(out, " %s |", gm_count_format(count, limited.replay->retries));
    }
    gm_text_add_char(out, '\n');
}

static void add_table(struct gm_text *out, const struct gm_settings_advice *advice)
{
    const bool is_limited = advice->is_limited;
    char size[GM_SIZE_TEXT];
    gm_text_printf(out, "\n| Settings | Peak reserved | Change |%s\n|:--|--:|--:|%s\n",
                   is_limited ? " With the limit | Change | Retries |" : "", is_limited ? "--:|--:|--:|" : "");
    for (size_t i = 0; i <= advice->tried_count && gm_md_room(out, advice->tried_count + 1 - i); i++)
        add_row(out, advice, i);
    gm_text_printf(out, "\nRecorded peak: %s reserved.\n", gm_size_format(size, gm_tried_recorded(advice)));
}

void gm_md_tried(struct gm_text *out, const struct gm_report *report)
{
    const struct gm_settings_advice *advice = report->advice;
    struct gm_text summary = {0};
    if (advice == NULL)
        return;
    gm_md_fold(out, "Other allocator settings");
    gm_tried_summary(&summary, advice);
    gm_md_prose(out, summary.failed ? "" : summary.data, SUMMARY);
    out->failed |= summary.failed;
    gm_text_free(&summary);
    gm_text_add_char(out, '\n');
    if (advice->command != NULL) {
        gm_text_add(out, "\nTo find out: ");
        gm_md_name(out, advice->command, COMMAND, false);
        gm_text_add_char(out, '\n');
    }
    if (advice->tried_count > 0)
        add_table(out, advice);
    gm_md_unfold(out);
}
