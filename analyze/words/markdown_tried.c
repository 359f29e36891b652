/* SPDX-License-Identifier: Apache-2.0
 *
 * README.md: what other allocator settings would do.
 */
#include "analyze/base/size.h"
#include "analyze/words/markdown_parts.h"
#include "analyze/words/tried.h"

enum { SUMMARY = 1200, SETTINGS = 200, COMMAND = 400 };

static void add_row(struct gm_text *out, const char *settings, uint64_t peak, uint64_t before)
{
    char change[GM_SIZE_TEXT] = "";
    gm_text_add(out, "| ");
    if (settings[0] == '\0')
        gm_text_add(out, gm_tried_settings(settings));
    else
        gm_md_name(out, settings, SETTINGS, false);
    gm_text_add(out, " |");
    gm_md_size_cell(out, peak);
    gm_text_printf(out, " %s |\n",
                   before == GM_REPORT_NONE ? "" : gm_size_format_delta(change, (int64_t)(peak - before)));
}

static void add_table(struct gm_text *out, const struct gm_settings_advice *advice)
{
    gm_text_add(out, "\n| Settings | Peak reserved | Change |\n|:--|--:|--:|\n| recorded |");
    gm_md_size_cell(out, gm_tried_recorded(advice));
    gm_text_add(out, " |\n");
    if (advice->before != GM_REPORT_NONE) {
        gm_text_add(out, "| replayed with the recorded settings |");
        gm_md_size_cell(out, advice->before);
        gm_text_add(out, " |\n");
    }
    for (size_t i = 0; i < advice->tried_count && gm_md_room(out, advice->tried_count - i); i++)
        add_row(out, advice->tried[i].settings, advice->tried[i].peak, gm_tried_base(advice));
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
