/* SPDX-License-Identifier: Apache-2.0
 *
 * What other allocator settings would do. JSON: json_tried.c.
 */
#include "analyze/words/sections.h"
#include "analyze/words/tried.h"

struct trial {
    const char *name;
    struct gm_tried_row row, limited;
};

static union gm_value peak_of(struct gm_doc *d, const struct gm_tried_row *row)
{
    char text[GM_NUMBER_TEXT];
    if (row->replay == NULL)
        return (union gm_value){.s = NULL};
    return (union gm_value){.s = row->replay->runs ? gm_doc_printf(d, "%s", gm_bytes_format(text, row->replay->peak))
                                                   : "out of memory"};
}

static union gm_value change_of(struct gm_doc *d, const struct gm_tried_row *row)
{
    char text[GM_NUMBER_TEXT];
    return (union gm_value){.s = row->has_change ? gm_doc_printf(d, "%s", gm_delta_bytes_format(text, row->change))
                                                 : ""};
}

static union gm_value roomy_peak(const struct gm_cell_of *c)
{
    return peak_of(c->doc, &((const struct trial *)c->row)->row);
}

static union gm_value roomy_change(const struct gm_cell_of *c)
{
    return change_of(c->doc, &((const struct trial *)c->row)->row);
}

static union gm_value limited_peak(const struct gm_cell_of *c)
{
    return peak_of(c->doc, &((const struct trial *)c->row)->limited);
}

static union gm_value limited_change(const struct gm_cell_of *c)
{
    return change_of(c->doc, &((const struct trial *)c->row)->limited);
}

static union gm_value limited_retries(const struct gm_cell_of *c)
{
    return (union gm_value){.u = ((const struct trial *)c->row)->limited.replay->retries};
}

static const struct gm_column roomy[] = {
    GM_FIELD(GM_TEXT, GM_READ, NULL, "With unlimited memory", struct trial, name),
    GM_GET(GM_FIGURE, GM_READ, NULL, "Peak reserved", roomy_peak),
    GM_GET(GM_FIGURE, GM_READ, NULL, "Change", roomy_change),
};
static const struct gm_column limited[] = {
    GM_FIELD(GM_TEXT, GM_READ, NULL, "With the limit of the recording", struct trial, name),
    GM_GET(GM_FIGURE, GM_READ, NULL, "Peak reserved", limited_peak),
    GM_GET(GM_FIGURE, GM_READ, NULL, "Change", limited_change),
    GM_GET(GM_COUNT, GM_READ, NULL, "Retries", limited_retries),
};

static void say_trials(struct gm_doc *d, const struct gm_settings_advice *advice)
{
    const size_t count = advice->tried_count + 1;
    struct trial *rows = gm_doc_rows(d, count, sizeof *rows);
    char recorded[GM_NUMBER_TEXT];
    for (size_t i = 0; rows != NULL && i < count; i++) {
        rows[i].row = gm_tried_row(advice, i, false);
        rows[i].limited = gm_tried_row(advice, i, advice->is_limited);
        rows[i].name =
            gm_doc_printf(d, "%s" GM_QUOTED, i == 0 ? "baseline: " : "", gm_settings_name(rows[i].row.settings));
    }
    if (rows == NULL)
        return;
    gm_doc_table(d, &(struct gm_table){GM_COLUMNS(roomy), GM_ROWS(rows, count)});
    if (advice->is_limited)
        gm_doc_table(d, &(struct gm_table){GM_COLUMNS(limited), GM_ROWS(rows, count)});
    gm_doc_say(d, GM_SAY, GM_READ, NULL, "The recording itself reserved %s at its peak.",
               gm_bytes_format(recorded, gm_tried_recorded(advice)));
}

void gm_section_tried(struct gm_doc *d, const struct gm_report *report)
{
    const struct gm_settings_advice *advice = report->advice;
    struct gm_text summary = {0};
    if (advice == NULL)
        return;
    gm_tried_summary(&summary, advice);
    gm_doc_fold(d, NULL, "Other allocator settings");
    gm_doc_say(d, GM_SAY, GM_READ, NULL, "%s", gm_doc_take(d, &summary));
    if (advice->command != NULL)
        gm_doc_say(d, GM_SAY, GM_READ, NULL, "To find out: " GM_QUOTED, advice->command);
    if (advice->tried_count > 0)
        say_trials(d, advice);
    gm_doc_close(d);
}
