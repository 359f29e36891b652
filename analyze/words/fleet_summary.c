/* SPDX-License-Identifier: Apache-2.0
 *
 * What gmfleet says on a terminal.
 */
#include "analyze/document/columns.h"
#include "analyze/words/fleet_sections.h"

enum { MEMBERS = 4, ROWS = 2 + MEMBERS + 1 };

void gm_words_fleet_summary(struct gm_text *out, const struct gm_fleet *fleet, const char *directory)
{
    static const char *const titles[ROWS] = {"Read", "Job", "Groups", "", "", "", ""};
    struct gm_doc doc;
    struct gm_column columns[ROWS];
    gm_doc_begin(&doc, GM_TXT, out);
    const char *rows[ROWS] = {gm_fleet_read_text(&doc, fleet), gm_fleet_verdict(&doc, fleet)};
    size_t n = 2;
    for (size_t i = 0; i < ROWS; i++)
        columns[i] = (struct gm_column){NULL, titles[i], GM_TXT, GM_TEXT, i * sizeof *rows, sizeof *rows, NULL, NULL};
    for (size_t g = 0; fleet->group_count > 1 && g < fleet->group_count && g < MEMBERS; g++)
        rows[n++] = gm_fleet_members(&doc, fleet, &fleet->groups[g], 6);
    if (fleet->group_count > MEMBERS)
        rows[n++] = gm_doc_printf(&doc, "and %zu more", fleet->group_count - MEMBERS);
    gm_doc_fields(&doc, columns, n, rows, NULL);
    gm_text_add(out, "Report   ");
    gm_columns_cut(out, directory == NULL ? "" : directory, 4096, true);
    gm_text_add_char(out, '\n');
    gm_doc_end(&doc);
}
