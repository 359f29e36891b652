/* SPDX-License-Identifier: Apache-2.0
 *
 * More than two runs: one table of them all, and the laws of those that are called alike but for a number.
 */
#include "analyze/document/diff_sections.h"

#include "analyze/document/columns.h"

/* A row of the table of all runs: a headline, the efficiency, or a category. */
struct line {
    const char *name;
    enum gm_headline headline;
    enum { HEADLINE, EFFICIENCY, CATEGORY } what;
};

static union gm_value cell_of(const struct gm_cell_of *cell)
{
    char text[GM_NUMBER_TEXT];
    const struct line *line = cell->row;
    const struct gm_comparison *c = cell->of;
    const struct gm_summary *run = c->runs[cell->column->offset];
    if (line->what == EFFICIENCY)
        return (union gm_value){
            .s = gm_doc_printf(cell->doc, "%s %%",
                               gm_percent_format(text, run->totals.allocated, run->totals.reserved, 1))};
    return (union gm_value){
        .s = gm_doc_bytes(cell->doc, line->what == HEADLINE
                                         ? gm_headline_bytes(run, line->headline)
                                         : gm_summary_category_bytes(run, gm_diff_all_traced(c), line->name))};
}

/* Runs as columns, some at a time, by their names, or where one does not fit, by what they are called above. */
static void say_columns(struct gm_doc *d, const struct gm_comparison *c, const struct line *lines, size_t count)
{
    enum { ACROSS = 8, WIDE = 13 };
    const size_t at_once = gm_doc_is(d, GM_TXT) ? 4 : ACROSS;
    bool all_fit = true;
    for (size_t i = 0; i < c->run_count; i++)
        all_fit = all_fit && (gm_doc_is(d, GM_MD) || gm_columns(c->labels[i]) <= WIDE);
    for (size_t from = 0; from < c->run_count; from += at_once) {
        struct gm_column columns[1 + ACROSS] = {GM_FIELD(GM_TEXT, GM_READ, NULL, NULL, struct line, name)};
        const size_t n = c->run_count - from < at_once ? c->run_count - from : at_once;
        for (size_t i = 0; i < n; i++) {
            columns[1 + i] = (struct gm_column)GM_GET(GM_FIGURE, GM_READ, NULL, NULL, cell_of);
            columns[1 + i].title =
                all_fit ? gm_doc_printf(d, GM_QUOTED, c->labels[from + i]) : gm_diff_run_name(d, from + i);
            columns[1 + i].offset = from + i;
        }
        GM_TABLE_OF(d, columns, 1 + n, lines, count, .title = from > 0 ? "And" : NULL, .in = GM_READ, .of = c);
    }
}

void gm_diff_all_runs(struct gm_doc *d, const struct gm_comparison *c)
{
    enum { CATEGORIES = 24 };
    const bool at_peak = gm_diff_all_traced(c);
    struct line lines[GM_HEAD_COUNT + 1 + CATEGORIES];
    struct gm_slice taken[CATEGORIES];
    size_t n = 0, categories = 0;
    if (c->run_count < 3)
        return;
    for (int h = 0; h < GM_HEAD_COUNT; h++)
        lines[n++] = (struct line){gm_headline_name((enum gm_headline)h), (enum gm_headline)h, HEADLINE};
    lines[n++] = (struct line){"Efficiency", GM_HEAD_COUNT, EFFICIENCY};
    for (; categories < CATEGORIES; categories++) {
        const struct gm_slice *next = gm_diff_next_category(c, NULL, c->run_count, at_peak, taken, categories);
        if (next == NULL)
            break;
        taken[categories] = *next;
        lines[n++] = (struct line){next->name, GM_HEAD_COUNT, CATEGORY};
    }
    gm_doc_open(d, NULL, "All runs");
    say_columns(d, c, lines, n);
    gm_doc_tell(d, "Categories: %s.", at_peak ? "requested bytes at the peak" : "allocated bytes at the end");
    gm_doc_close(d);
}

/* ---- laws -------------------------------------------------------------------------------------------------------- */

GM_CELL(s, law_of, struct gm_law_fit, fit, fit->law == GM_LAW_NONE ? "no law" : gm_law_name(fit->law));

static union gm_value formula_of(const struct gm_cell_of *c)
{
    const struct gm_law_fit *fit = c->row;
    struct gm_text formula = {0};
    if (fit->law == GM_LAW_NONE)
        return (union gm_value){.s = fit->why_not};
    gm_fit_formula(&formula, c->of, fit);
    const char *text = gm_doc_take(c->doc, &formula);
    return (union gm_value){.s = fit->is_sum
                                     ? gm_doc_printf(c->doc, GM_QUOTED ", the sum of its categories' laws", text)
                                     : gm_doc_printf(c->doc, GM_QUOTED, text)};
}

/* "0.3 % of the spread", "12 %, linear": how far the law, or the closest one that is none, is off. */
static union gm_value miss_of(const struct gm_cell_of *c)
{
    char error[GM_NUMBER_TEXT];
    const struct gm_law_fit *fit = c->row;
    const bool is_law = fit->law != GM_LAW_NONE;
    if (!is_law && fit->closest == GM_LAW_NONE)
        return (union gm_value){.s = NULL};
    gm_real_format(error, fit->error_percent);
    return (union gm_value){
        .s = is_law ? gm_doc_printf(c->doc, "%s %% of the %s", error, fit->law == GM_LAW_CONSTANT ? "mean" : "spread")
                    : gm_doc_printf(c->doc, "%s %% (%s)", error, gm_law_name(fit->closest))};
}

static const struct gm_column fit_columns[] = {
    GM_FIELD(GM_TEXT, GM_READ, NULL, "Of", struct gm_law_fit, what),
    GM_GET(GM_TEXT, GM_READ, NULL, "Law", law_of),
    GM_GET(GM_FIGURE, GM_READ, NULL, "Misses at most", miss_of),
    GM_GET(GM_TEXT, GM_READ | GM_UNDER, NULL, "Bytes", formula_of),
};

static void add_fit(const struct gm_cell_of *c)
{
    const struct gm_series *series = c->of;
    const struct gm_law_fit *fit = c->row;
    struct gm_json *json = &c->doc->json;
    gm_json_string(json, "what", fit->what);
    GM_LIST(c->doc, "bytes", GM_BYTES, fit->bytes, series->count);
    if (fit->law == GM_LAW_NONE) {
        gm_json_null(json, "law");
        gm_json_string(json, "why_not", fit->why_not);
        gm_json_string(json, "closest", fit->closest == GM_LAW_NONE ? NULL : gm_law_name(fit->closest));
    } else {
        gm_json_string(json, "law", gm_law_name(fit->law));
        gm_json_real(json, "c0", fit->c0);
        gm_json_real(json, "c1", fit->c1);
        gm_json_real(json, "c2", fit->c2);
        gm_json_bool(json, "from_categories", fit->is_sum);
    }
    gm_json_real(json, "error_percent", fit->error_percent);
}

static void add_series(const struct gm_cell_of *c)
{
    const struct gm_series *s = c->row;
    gm_json_string(&c->doc->json, "key", s->key);
    gm_json_string(&c->doc->json, "name", s->name);
    GM_LIST(c->doc, "runs", GM_COUNT, s->runs, s->count);
    GM_LIST(c->doc, "n", GM_REAL, s->n, s->count);
    gm_doc_nested(c->doc, "fits", add_fit, GM_NESTED_ROWS(s->fits, s->fit_count), s);
}

static void say_series(struct gm_doc *d, const struct gm_series *s)
{
    struct gm_text numbers = {0};
    for (size_t i = 0; i < s->count; i++) {
        char n[GM_NUMBER_TEXT];
        gm_text_printf(&numbers, "%s%s", i > 0 ? ", " : "", gm_real_format(n, s->n[i]));
    }
    gm_doc_tell(d, "Runs called " GM_QUOTED ", N = %s.", s->name, gm_doc_take(d, &numbers));
    GM_TABLE(d, fit_columns, s->fits, s->fit_count, .md_max = 16, .of = s);
}

void gm_diff_series(struct gm_doc *d, const struct gm_comparison *c)
{
    gm_doc_nested(d, "scaling", add_series, GM_NESTED_ROWS(c->series, c->series_count), NULL);
    if (gm_doc_is(d, GM_JSON) || c->run_count < 3 || (c->series_count == 0 && gm_doc_is(d, GM_MD)))
        return;
    gm_doc_fold(d, NULL, "Scaling law");
    if (c->series_count == 0)
        gm_doc_tell(d, "No three runs are called alike but for one number, so there is nothing to fit.");
    for (size_t i = 0; i < c->series_count; i++)
        say_series(d, &c->series[i]);
    gm_doc_close(d);
}
