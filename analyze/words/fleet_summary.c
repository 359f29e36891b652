/* SPDX-License-Identifier: Apache-2.0
 *
 * What gmfleet says on a terminal.
 */
#include "analyze/words/fleet_parts.h"

enum { LABEL = 9, MEMBERS = 4 };

void gm_words_fleet_summary(struct gm_text *out, const struct gm_fleet *fleet, const char *directory)
{
    struct gm_text line = {0};
    gm_text_printf(out, "%-*s%zu of %zu snapshots, %zu rank%s", LABEL, "Read", fleet->read_count, fleet->item_count,
                   fleet->row_count, gm_plural(fleet->row_count));
    if (gm_fleet_has_iterations(fleet))
        gm_text_printf(out, ", %zu iteration%s", fleet->column_count, gm_plural(fleet->column_count));
    gm_text_printf(out, "\n%-*s", LABEL, "Job");
    gm_fleet_add_verdict(&line, fleet);
    out->failed = out->failed || line.failed;
    gm_columns_wrap(out, line.data == NULL ? "" : line.data, LABEL);
    gm_text_free(&line);
    for (size_t g = 0; fleet->group_count > 1 && g < fleet->group_count && g < MEMBERS; g++) {
        line = (struct gm_text){0};
        gm_text_printf(out, "%-*s", LABEL, g == 0 ? "Groups" : "");
        gm_fleet_add_members(&line, fleet, &fleet->groups[g], 6);
        out->failed = out->failed || line.failed;
        gm_columns_wrap(out, line.data == NULL ? "" : line.data, LABEL);
        gm_text_free(&line);
    }
    if (fleet->group_count > MEMBERS)
        gm_text_printf(out, "%-*sand %zu more\n", LABEL, "", fleet->group_count - MEMBERS);
    gm_text_printf(out, "%-*s", LABEL, "Report");
    gm_columns_cut(out, directory == NULL ? "" : directory, 4096, true);
    gm_text_add_char(out, '\n');
}
