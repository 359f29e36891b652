/* SPDX-License-Identifier: Apache-2.0
 *
 * More than two runs in Markdown: one table of them all, their categories, and the laws of series.
 */
#include "analyze/words/diff_markdown_parts.h"

#include "analyze/words/diff_parts.h"
#include "analyze/words/markdown_parts.h"

enum { LABEL = GM_DIFF_MD_LABEL, RUNS = GM_DIFF_MD_RUNS, ROWS = 24, COLUMNS = 8, FITS = 16 };

bool gm_diff_md_room(struct gm_text *out, size_t left)
{
    if (out->length < GM_MD_BUDGET)
        return true;
    gm_diff_md_more(out, 0, left);
    return false;
}

void gm_diff_md_more(struct gm_text *out, size_t shown, size_t count)
{
    if (shown < count)
        gm_text_printf(out, "\n%zu more: see `diff_report.txt` and `diff.json`.\n", count - shown);
}

static void add_all_runs(struct gm_text *out, const struct gm_comparison *c)
{
    gm_text_add(out, "\n| Run | Peak reserved | Peak allocated | Peak requested | Reserved | Allocated | Efficiency |\n"
                     "|:--|--:|--:|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < c->run_count && i < RUNS && gm_diff_md_room(out, c->run_count - i); i++) {
        static const enum gm_headline heads[] = {GM_HEAD_PEAK_RESERVED, GM_HEAD_PEAK_ALLOCATED, GM_HEAD_PEAK_REQUESTED,
                                                 GM_HEAD_RESERVED, GM_HEAD_ALLOCATED};
        const struct gm_summary *run = c->runs[i];
        gm_text_add(out, "| ");
        gm_md_name(out, c->labels[i], LABEL, false);
        gm_text_add(out, " |");
        for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
            gm_md_size_cell(out, gm_headline_bytes(run, heads[h]));
        gm_md_percent_cell(out, run->totals.allocated, run->totals.reserved);
        gm_text_add_char(out, '\n');
    }
    gm_diff_md_more(out, RUNS, c->run_count);
}

/* Runs as columns: names of categories are long. */
static void add_categories(struct gm_text *out, const struct gm_comparison *c)
{
    const size_t runs = c->run_count < COLUMNS ? c->run_count : COLUMNS;
    const bool at_peak = gm_diff_all_traced(c);
    const char *taken[ROWS], *next;
    size_t n = 0;
    gm_md_fold(out, at_peak ? "Categories at the peak, requested" : "Categories at the end, allocated");
    gm_text_add(out, "| |");
    for (size_t i = 0; i < runs; i++) {
        gm_text_add_char(out, ' ');
        gm_md_name(out, c->labels[i], LABEL, false);
        gm_text_add(out, " |");
    }
    gm_text_add(out, "\n|:--|");
    for (size_t i = 0; i < runs; i++)
        gm_text_add(out, "--:|");
    gm_text_add_char(out, '\n');
    while ((next = gm_diff_next_category(c, at_peak, taken, n)) != NULL && n < ROWS && gm_diff_md_room(out, 1)) {
        taken[n++] = next;
        gm_text_add(out, "| ");
        gm_md_prose(out, next, GM_MD_NAME);
        gm_text_add(out, " |");
        for (size_t i = 0; i < runs; i++)
            gm_md_size_cell(out, gm_diff_category_bytes(c->runs[i], at_peak, next));
        gm_text_add_char(out, '\n');
    }
    if (next != NULL || runs < c->run_count)
        gm_text_add(out, "\nThe rest is in `diff_report.txt` and `diff.json`.\n");
    gm_md_unfold(out);
}

void gm_diff_md_runs(struct gm_text *out, const struct gm_comparison *c)
{
    if (c->run_count < 3)
        return;
    add_all_runs(out, c);
    add_categories(out, c);
}

static void add_fit(struct gm_text *out, const struct gm_series *series, const struct gm_fit *fit)
{
    struct gm_text formula = {0};
    char error[GM_NUMBER_TEXT];
    gm_text_add(out, "| ");
    gm_md_prose(out, fit->what, GM_MD_NAME);
    gm_text_printf(out, " | %s | ", fit->law == GM_LAW_NONE ? "no law" : gm_law_name(fit->law));
    gm_fit_formula(&formula, series, fit);
    if (fit->law == GM_LAW_NONE)
        gm_md_prose(out, fit->why_not, 200);
    else
        gm_md_name(out, formula.data == NULL ? "" : formula.data, GM_MD_PATH, false);
    out->failed = out->failed || formula.failed;
    if (fit->is_sum)
        gm_text_add(out, ", the sum of its categories' laws");
    if (fit->law != GM_LAW_NONE || fit->closest != GM_LAW_NONE)
        gm_text_printf(out, " | %s %%", gm_real_format(error, fit->error_percent));
    else
        gm_text_add(out, " | n/a");
    gm_text_printf(out, "%s%s |\n", fit->closest != GM_LAW_NONE ? ", " : "",
                   fit->closest != GM_LAW_NONE ? gm_law_name(fit->closest) : "");
    gm_text_free(&formula);
}

void gm_diff_md_series(struct gm_text *out, const struct gm_comparison *c)
{
    for (size_t s = 0; s < c->series_count && gm_diff_md_room(out, c->series_count - s); s++) {
        const struct gm_series *series = &c->series[s];
        gm_md_fold(out, "Scaling law");
        gm_text_add(out, "Runs called ");
        gm_md_name(out, series->name, GM_MD_PATH, true);
        gm_text_add(out, ", N = ");
        for (size_t i = 0; i < series->count && i < RUNS; i++) {
            char n[GM_NUMBER_TEXT];
            gm_text_printf(out, "%s%s", i > 0 ? ", " : "", gm_real_format(n, series->n[i]));
        }
        gm_text_add(out, series->count > RUNS ? " ...\n\n" : ".\n\n");
        gm_text_add(out, "| | Law | Bytes | Misses at most |\n|:--|:--|:--|--:|\n");
        for (size_t i = 0; i < series->fit_count && i < FITS && gm_diff_md_room(out, series->fit_count - i); i++)
            add_fit(out, series, &series->fits[i]);
        gm_diff_md_more(out, FITS, series->fit_count);
        gm_md_unfold(out);
    }
}
