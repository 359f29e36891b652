/* SPDX-License-Identifier: Apache-2.0
 *
 * What gmdiff says on a terminal: the verdict, what changed most, where it was written.
 */
#include "analyze/document/columns.h"
#include "analyze/document/sites.h"
#include "analyze/words/diff.h"
#include "analyze/words/diff_parts.h"

enum { LABEL = 9, SITES = 3 };

static void add_label(struct gm_text *out, const char *label)
{
    gm_text_printf(out, "%-*s", LABEL, label);
}

static void add_site(struct gm_text *out, const struct gm_diff_site *row)
{
    struct gm_text name = {0};
    char delta[GM_NUMBER_TEXT];
    gm_text_printf(out, "%-6s %12s  ", gm_diff_kind_name(row->row.kind), gm_delta_bytes_format(delta, row->row.delta));
    gm_diff_site_name(&name, row);
    out->failed = out->failed || name.failed;
    gm_site_row(out, name.data == NULL ? "" : name.data, GM_LINE - LABEL - 21);
    gm_text_free(&name);
    gm_text_add_char(out, '\n');
}

static void add_pair(struct gm_text *out, const struct gm_comparison *c, const struct gm_diff_pair *pair)
{
    const struct gm_diff_site_table *sites = pair->sites_at_peak.sums.is_known ? &pair->sites_at_peak : &pair->sites;
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_TXT, out);
    const char *verdict = gm_diff_verdict(&doc, c, pair);
    if (c->pair_count > 1)
        verdict = gm_doc_printf(&doc, "%s: %s", c->labels[pair->after], verdict);
    add_label(out, pair->after == 1 ? "New" : "More");
    gm_columns_wrap(out, verdict, LABEL);
    gm_doc_end(&doc);
    for (size_t i = 0; i < sites->count && i < SITES && c->pair_count == 1; i++) {
        add_label(out, i > 0 ? "" : pair->sites_at_peak.sums.is_known ? "At peak" : "At end");
        add_site(out, &sites->rows[i]);
    }
}

/* The law of the first level that has one; else why the first has none. Of several series the name is told, too. */
static void add_law(struct gm_text *out, const struct gm_comparison *c, const struct gm_series *series)
{
    struct gm_text line = {0}, law = {0};
    const struct gm_fit *fit = series->fits;
    for (size_t i = 0; i < series->level_count && fit->law == GM_LAW_NONE; i++)
        if (series->fits[i].law != GM_LAW_NONE)
            fit = &series->fits[i];
    gm_fit_formula(&law, series, fit);
    if (c->series_count > 1)
        gm_text_printf(&line, "%s: ", series->name);
    gm_text_printf(&line, "%s: %s", fit->what,
                   fit->law == GM_LAW_NONE ? fit->why_not
                   : law.data == NULL      ? ""
                                           : law.data);
    out->failed = out->failed || law.failed || line.failed;
    add_label(out, "Law");
    gm_columns_wrap(out, line.data == NULL ? "" : line.data, LABEL);
    gm_text_free(&line);
    gm_text_free(&law);
}

void gm_words_diff_summary(struct gm_text *out, const struct gm_comparison *c, const char *directory)
{
    add_label(out, "Base");
    gm_columns_wrap(out, c->labels[0], LABEL);
    for (size_t i = 0; i < c->pair_count; i++)
        add_pair(out, c, &c->pairs[i]);
    for (size_t i = 0; i < c->series_count; i++)
        add_law(out, c, &c->series[i]);
    if (c->limit.is_set) {
        add_label(out, "Growth");
        gm_text_add(out, c->growth_count > 0 ? "FAIL\n" : "PASS\n");
    }
    add_label(out, "Report");
    gm_columns_cut(out, directory == NULL ? "" : directory, 4096, true);
    gm_text_add_char(out, '\n');
}
