/* SPDX-License-Identifier: Apache-2.0
 *
 * What gmfleet says on a terminal.
 */
#include "analyze/document/columns.h"
#include "analyze/words/fleet_sections.h"

enum { MEMBERS = 4 };

void gm_words_fleet_summary(struct gm_text *out, const struct gm_fleet *fleet, const char *directory)
{
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_TXT, out);
    gm_doc_say(&doc, GM_SAY_LABEL, GM_TXT, "Read", "%s", gm_fleet_read_text(&doc, fleet));
    gm_doc_say(&doc, GM_SAY_LABEL, GM_TXT, "Job", "%s", gm_fleet_verdict(&doc, fleet));
    for (size_t g = 0; fleet->group_count > 1 && g < fleet->group_count && g < MEMBERS; g++)
        gm_doc_say(&doc, GM_SAY_LABEL, GM_TXT, g == 0 ? "Groups" : "", "%s",
                   gm_fleet_members(&doc, fleet, &fleet->groups[g], 6));
    if (fleet->group_count > MEMBERS)
        gm_doc_say(&doc, GM_SAY_LABEL, GM_TXT, "", "and %zu more", fleet->group_count - MEMBERS);
    gm_text_add(out, "Report    ");
    gm_columns_cut(out, directory == NULL ? "" : directory, 4096, true);
    gm_text_add_char(out, '\n');
    gm_doc_end(&doc);
}
