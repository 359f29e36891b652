/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/document/sections.h"

#include "analyze/document/columns.h"
#include "analyze/document/documents.h"
#include "analyze/document/sites.h"

#include <string.h>

enum { LABEL = 8, SUMMARY_LINE = 100 /* columns */ };

/* "Parameter 12.69 GiB (24.9 %)" without what stands in parentheses at its end, if it fits then; else nothing. */
static void add_without_remark(struct gm_text *out, const char *piece, size_t left)
{
    struct gm_text head = {0};
    const size_t n = strlen(piece);
    const char *remark = n > 0 && piece[n - 1] == ')' ? strrchr(piece, '(') : NULL;
    if (remark == NULL || remark - piece < 2)
        return;
    gm_text_add_bytes(&head, piece, (size_t)(remark - piece - 1));
    if (!head.failed && gm_columns(head.data) + 2 <= left) {
        gm_text_add(out, ", ");
        gm_columns_cut(out, head.data, left - 2, false);
    }
    out->failed |= head.failed;
    gm_text_free(&head);
}

/* As many pieces as fit the line. The first is cut if it must be, later ones only if they are sentences, not figures.
 * The site belongs to the last piece: it goes with it, and before its file and line do not fit the piece is cut. */
void gm_headline_line(struct gm_text *out, const struct gm_heading *line, size_t columns)
{
    if (line->count == 0)
        return;
    gm_columns_cell(out, line->label, LABEL, GM_CELL_LEFT);
    size_t left = columns - LABEL, i = 0, site = line->site == NULL ? 0 : gm_site_least(line->site) + 2;
    site = site < left * 3 / 4 ? site : left * 3 / 4;
    bool is_cut = false;
    for (; i < line->count && !is_cut; i++) {
        size_t comma = i > 0 ? 2 : 0, wants = gm_columns(line->pieces[i]) + comma;
        size_t room = i + 1 < line->count ? left : site < left ? left - site : 0;
        is_cut = wants > room;
        if (i > 0 && is_cut && !(line->are_sentences && room > columns / 4)) {
            if (!line->are_sentences)
                add_without_remark(out, line->pieces[i], left);
            break;
        }
        gm_text_add(out, i > 0 ? ", " : "");
        gm_columns_cut(out, line->pieces[i], room - comma, false);
        left -= wants < room ? wants : room;
    }
    if (line->site != NULL && i == line->count) {
        gm_text_add(out, ": ");
        gm_site_add(out, line->site, left - 2);
    }
    gm_text_add_char(out, '\n');
}

void gm_analysis_summary(struct gm_text *out, const struct gm_report *report, const char *directory)
{
    for (size_t i = 0; i < GM_HEADLINES; i++)
        gm_headline_line(out, &report->diagnosis.summary[i], SUMMARY_LINE);
    gm_text_add(out, "Report  ");
    for (; *directory != '\0'; directory++) /* bytes as they are: a path must stay usable; but only one line */
        gm_text_add_char(out, (unsigned char)*directory < 0x20 || *directory == 0x7f ? '?' : *directory);
    gm_text_add_char(out, '\n');
}
