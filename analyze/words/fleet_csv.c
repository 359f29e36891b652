/* SPDX-License-Identifier: Apache-2.0
 *
 * fleet.csv: one row for each snapshot, in the order of fleet.json. Sizes are bytes; what is not known is an empty
 * cell.
 */
#include "analyze/words/fleet_sections.h"

#include <inttypes.h>

static void add_bytes(struct gm_text *out, uint64_t value)
{
    gm_text_add_char(out, ',');
    if (value != GM_REPORT_NONE)
        gm_text_printf(out, "%" PRIu64, value);
}

/* In quotes; a blank before what a spreadsheet would take for a formula. */
static void add_string(struct gm_text *out, const char *s)
{
    static const char formula[] = "=+-@";
    gm_text_add_char(out, '"');
    for (const char *f = formula; *f != '\0'; f++)
        if (s[0] == *f)
            gm_text_add_char(out, ' ');
    for (; *s != '\0'; s++) {
        if (*s == '"')
            gm_text_add_char(out, '"');
        gm_text_add_char(out, *s);
    }
    gm_text_add_char(out, '"');
}

static void add_number(struct gm_text *out, int64_t number)
{
    add_bytes(out, number == GM_FLEET_NONE ? GM_REPORT_NONE : (uint64_t)number);
}

static void add_item(struct gm_text *out, const struct gm_fleet_item *item)
{
    char text[GM_NUMBER_TEXT];
    const bool ok = item->status == GM_OK;
    static const enum gm_level levels[] = {GM_LEVEL_RESERVED, GM_LEVEL_ALLOCATED, GM_LEVEL_ACTIVE, GM_LEVEL_REQUESTED};
    add_string(out, item->path);
    add_number(out, item->rank);
    add_number(out, item->iteration);
    gm_text_add_char(out, ',');
    if (!ok)
        add_string(out, item->error == NULL ? "" : item->error);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        add_bytes(out, ok && item->has_trace ? item->peaks[levels[i]] : GM_REPORT_NONE);
    add_bytes(out, ok ? item->totals.reserved : GM_REPORT_NONE);
    add_bytes(out, ok ? item->totals.allocated : GM_REPORT_NONE);
    gm_text_add_char(out, ',');
    if (ok && item->totals.reserved > 0)
        gm_text_add(out, gm_percent_format(text, item->totals.allocated, item->totals.reserved, 4));
    add_bytes(out, ok ? item->events : GM_REPORT_NONE);
    add_bytes(out, ok ? item->ooms : GM_REPORT_NONE);
    gm_text_add_char(out, '\n');
}

void gm_words_fleet_csv(struct gm_text *out, const struct gm_fleet *fleet)
{
    gm_text_add(out, "path,rank,iteration,error,peak_reserved_bytes,peak_allocated_bytes,peak_active_bytes,"
                     "peak_requested_bytes,reserved_bytes,allocated_bytes,efficiency_percent,events,ooms\n");
    for (size_t i = 0; i < fleet->item_count; i++)
        add_item(out, &fleet->items[i]);
}
