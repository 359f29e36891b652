/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_report.txt: the places in the user's code that hold the most memory.
 */
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "analyze/document/sites.h"
#include "analyze/words/text_parts.h"

#include <string.h>

enum { SHOWN = 20, SIZE = 11, LEAST_BLOCKS = 7, SHARE = 8, LEAST_CATEGORY = 17 };

/* Columns of the cells that depend on what is in them. The category is cut where a site needs the room: categories have
 * their own table, and of a site the end is its line. */
struct widths {
    size_t blocks, category;
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static struct widths widths_of(const struct gm_report *report, size_t n)
{
    struct widths w = {LEAST_BLOCKS, LEAST_CATEGORY};
    size_t category = 0, site = 0;
    for (size_t i = 0; i < n; i++) {
        const struct gm_site_row *row = &report->sites[i];
        char s[GM_NUMBER_TEXT];
        w.blocks = larger(w.blocks, gm_columns(gm_count_format(s, row->blocks)) + 1);
        if (!gm_site_has_stack(row->site))
            continue;
        category = larger(category, gm_columns(row->category));
        site = larger(site, gm_columns(row->site));
    }
    size_t room = GM_LINE - SIZE - w.blocks - SHARE - 4; /* for both */
    size_t spare = site < room ? room - site : 0;
    w.category = larger(w.category, category < spare ? category : spare);
    return w;
}

static void add_row(struct gm_text *out, const struct gm_site_row *row, struct widths w, uint64_t allocated)
{
    gm_text_size(out, row->bytes, SIZE);
    gm_text_count(out, row->blocks, w.blocks);
    gm_text_percent(out, row->bytes, allocated);
    gm_text_add(out, "  ");
    size_t room = GM_LINE - SIZE - w.blocks - SHARE - 2;
    if (gm_site_has_stack(row->site)) {
        gm_columns_cell(out, row->category, w.category, GM_CELL_LEFT);
        gm_text_add(out, "  ");
        gm_site_row(out, row->site, room - w.category - 2);
    } else {
        gm_columns_cut(out, row->category, room, false); /* which says so */
    }
    gm_text_add_char(out, '\n');
}

void gm_text_sites(struct gm_text *out, const struct gm_report *report)
{
    size_t n = report->site_count < SHOWN ? report->site_count : SHOWN;
    gm_text_section(out, "LARGEST CALL SITES");
    if (n == 0) {
        gm_text_add(out, report->totals.allocated == 0 ? "  No block is allocated.\n" : "  None is listed.\n");
        return;
    }
    struct widths w = widths_of(report, n);
    gm_text_printf(out, "%*s%*s%*s  %-*s  %s\n", SIZE, "size", (int)w.blocks, "blocks", SHARE, "share", (int)w.category,
                   "category", "made in");
    for (size_t i = 0; i < n; i++)
        add_row(out, &report->sites[i], w, report->totals.allocated);
    gm_text_add(out, "  ");
    struct gm_text sum = {0};
    gm_sites_add_sum(&sum, report, n);
    out->failed = out->failed || sum.failed;
    gm_columns_wrap(out, sum.data != NULL ? sum.data : "", 2);
    gm_text_free(&sum);
}
