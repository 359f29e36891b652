/* SPDX-License-Identifier: Apache-2.0
 *
 * The longer tables of diff_report.txt: call sites, all runs, laws.
 */
#include "analyze/document/columns.h"
#include "analyze/words/diff_text_parts.h"
#include "analyze/document/sites.h"
#include "analyze/words/text_parts.h"

#include <inttypes.h>
#include <string.h>

enum { SIZE = 11, DELTA = 12, KIND = 8, LABEL = 23, COLUMN = 13, CATEGORIES = 24, STEPS = 20 };

static void add_site(struct gm_text *out, const struct gm_diff_site *row)
{
    char text[GM_NUMBER_TEXT];
    struct gm_text name = {0};
    gm_text_printf(out, "%-*s", KIND, gm_diff_kind_name(row->row.kind));
    gm_text_printf(out, "%*s", SIZE, gm_bytes_format(text, row->row.base.bytes));
    gm_text_printf(out, "%*s", SIZE, gm_bytes_format(text, row->row.after.bytes));
    gm_text_printf(out, "%*s  ", DELTA, gm_signed_delta_format(text, row->row.delta));
    gm_columns_cut(out, row->category, GM_LINE - KIND - 2 * SIZE - DELTA - 2, false);
    gm_diff_site_name(&name, row);
    out->failed = out->failed || name.failed;
    gm_text_add(out, "\n    ");
    gm_site_row(out, name.data == NULL ? "" : name.data, GM_LINE - 4);
    gm_text_free(&name);
    if (row->via != NULL || row->twin > 0) {
        gm_text_add(out, "\n    ");
        if (row->via != NULL) {
            gm_text_add(out, "by ");
            gm_columns_cut(out, row->via, 60, false);
        }
        if (row->twin > 0)
            gm_text_printf(out, "%sstack %zu of this name", row->via != NULL ? ", " : "", row->twin);
    }
    gm_text_add_char(out, '\n');
}

static void add_kinds(struct gm_text *out, const struct gm_diff_sums *sums)
{
    bool any = false;
    for (int k = 0; k < GM_DIFF_KINDS; k++) {
        char count[GM_NUMBER_TEXT], delta[GM_NUMBER_TEXT];
        if (sums->counts[k] == 0)
            continue;
        gm_text_printf(out, "%s%s %s %s", any ? ", " : "", gm_count_format(count, sums->counts[k]),
                       gm_diff_kind_name((enum gm_diff_kind)k), gm_signed_delta_format(delta, sums->deltas[k]));
        any = true;
    }
    gm_text_add(out, any ? "\n" : "");
}

void gm_diff_text_sites(struct gm_text *out, const char *title, const struct gm_diff_site_table *table, size_t top)
{
    int64_t rest = table->sums.listed;
    if (!table->sums.is_known)
        return;
    gm_text_section(out, title);
    if (table->count == 0 && table->sums.residual == 0) {
        gm_text_add(out, "No difference.\n");
        return;
    }
    add_kinds(out, &table->sums);
    gm_text_printf(out, "%-*s%*s%*s%*s  %s\n", KIND, "", SIZE, "base", SIZE, "new", DELTA, "change", "category");
    for (size_t i = 0; i < table->count && i < top; i++) {
        add_site(out, &table->rows[i]);
        rest = gm_diff_minus(rest, table->rows[i].row.delta);
    }
    gm_diff_text_sums(out, &table->sums, top, table->count, rest);
}

/* ---- steps --------------------------------------------------------------------------------------------------------
 */

/* The first step that the trace has as a whole. */
static size_t first_whole(const struct gm_summary_device *d)
{
    for (size_t i = 0; i < d->step_count; i++)
        if (!d->steps[i].is_partial)
            return i;
    return 0;
}

static void add_device_steps(struct gm_text *out, const struct gm_summary_device *b, const struct gm_summary_device *a)
{
    const size_t x = first_whole(b), y = first_whole(a);
    const size_t n = b->step_count - x < a->step_count - y ? b->step_count - x : a->step_count - y;
    gm_diff_text_header(out, "peak requested of");
    for (size_t i = 0; i < n && i < STEPS; i++) {
        struct gm_text name = {0};
        const struct gm_summary_step *step = &b->steps[x + i], *other = &a->steps[y + i];
        gm_text_printf(&name, "step %" PRIu64, step->number);
        if (other->number != step->number)
            gm_text_printf(&name, ", and step %" PRIu64, other->number);
        out->failed = out->failed || name.failed;
        gm_diff_text_row(out, name.data == NULL ? "" : name.data, step->peak.requested, other->peak.requested);
        gm_text_free(&name);
    }
    if (n > STEPS)
        gm_text_paragraph(out, 0, "The first %d of %zu steps that both have.", STEPS, n);
    if (b->step_total != a->step_total)
        gm_text_paragraph(out, 0, "The base has %zu steps, the new run %zu.", b->step_total, a->step_total);
}

void gm_diff_text_steps(struct gm_text *out, const struct gm_diff_pair *pair)
{
    bool any = false;
    for (size_t i = 0; i < pair->device_count; i++) {
        const struct gm_summary_device *b = pair->devices[i].base, *a = pair->devices[i].after;
        if (b == NULL || a == NULL || b->step_count == 0 || a->step_count == 0)
            continue;
        if (!any)
            gm_text_section(out, "STEP BY STEP");
        any = true;
        if (pair->device_count > 1)
            gm_text_printf(out, "Device %" PRId64 "\n", a->device);
        add_device_steps(out, b, a);
    }
}

/* ---- all runs ------------------------------------------------------------------------------------------------------
 */

/* Their names, or where one does not fit, what they are called at the top of the report. */
static void add_run_columns(struct gm_text *out, const struct gm_comparison *c, size_t from, size_t n)
{
    bool all_fit = true;
    for (size_t i = 0; i < c->run_count; i++)
        all_fit = all_fit && gm_columns(c->labels[i]) <= COLUMN;
    gm_text_repeat(out, ' ', LABEL);
    for (size_t i = from; i < from + n; i++) {
        char run[RUN_NAME];
        gm_text_add_char(out, ' ');
        gm_columns_cell(out, all_fit ? c->labels[i] : gm_diff_run_name(run, i), COLUMN, GM_CELL_RIGHT);
    }
    gm_text_add_char(out, '\n');
}

/* Runs as columns, four at a time. */
void gm_diff_text_runs(struct gm_text *out, const struct gm_comparison *c)
{
    enum { AT_ONCE = 4 };
    const char *taken[CATEGORIES];
    size_t categories = 0;
    const bool at_peak = gm_diff_all_traced(c);
    if (c->run_count < 3)
        return;
    for (; categories < CATEGORIES; categories++)
        if ((taken[categories] = gm_diff_next_category(c, at_peak, taken, categories)) == NULL)
            break;
    gm_text_section(out, "ALL RUNS");
    for (size_t from = 0; from < c->run_count; from += AT_ONCE) {
        const size_t n = c->run_count - from < AT_ONCE ? c->run_count - from : AT_ONCE;
        gm_text_add(out, from > 0 ? "\n" : "");
        add_run_columns(out, c, from, n);
        for (size_t row = 0; row <= GM_HEAD_COUNT + categories; row++) {
            const bool is_head = row < GM_HEAD_COUNT, is_efficiency = row == GM_HEAD_COUNT;
            gm_columns_cell(out,
                            is_head         ? gm_headline_name((enum gm_headline)row)
                            : is_efficiency ? "Efficiency"
                                            : taken[row - GM_HEAD_COUNT - 1],
                            LABEL, GM_CELL_LEFT);
            for (size_t i = from; i < from + n; i++) {
                const struct gm_summary *run = c->runs[i];
                char text[GM_NUMBER_TEXT];
                if (is_efficiency)
                    gm_text_printf(out, " %11s %%",
                                   gm_percent_format(text, run->totals.allocated, run->totals.reserved, 1));
                else
                    gm_text_printf(out, " %13s",
                                   gm_bytes_format(text, is_head ? gm_headline_bytes(run, (enum gm_headline)row)
                                                                 : gm_diff_category_bytes(
                                                                       run, at_peak, taken[row - GM_HEAD_COUNT - 1])));
            }
            gm_text_add_char(out, '\n');
        }
    }
    gm_text_paragraph(out, 0, "Categories: %s.",
                      at_peak ? "requested bytes at the peak" : "allocated bytes at the end");
}

void gm_diff_text_series(struct gm_text *out, const struct gm_comparison *c)
{
    if (c->run_count < 3)
        return;
    gm_text_section(out, "SCALING");
    if (c->series_count == 0)
        gm_text_paragraph(out, 0, "No three runs are called alike but for one number, so there is nothing to fit.");
    for (size_t s = 0; s < c->series_count; s++) {
        const struct gm_series *series = &c->series[s];
        gm_text_paragraph(out, 0, "%s", series->name);
        struct gm_text numbers = {0};
        gm_text_add(&numbers, "N =");
        for (size_t i = 0; i < series->count; i++) {
            char n[GM_NUMBER_TEXT];
            gm_text_printf(&numbers, " %s", gm_real_format(n, series->n[i]));
        }
        out->failed = out->failed || numbers.failed;
        gm_text_paragraph(out, 2, "%s", numbers.data == NULL ? "" : numbers.data);
        gm_text_free(&numbers);
        for (size_t i = 0; i < series->fit_count; i++) {
            const struct gm_fit *fit = &series->fits[i];
            char error[GM_NUMBER_TEXT];
            struct gm_text formula = {0};
            gm_fit_formula(&formula, series, fit);
            out->failed = out->failed || formula.failed;
            if (fit->closest != GM_LAW_NONE)
                gm_text_paragraph(out, 2, "%s: no law: %s (the closest, %s, misses by %s %% of the spread)", fit->what,
                                  fit->why_not, gm_law_name(fit->closest), gm_real_format(error, fit->error_percent));
            else if (fit->law == GM_LAW_NONE)
                gm_text_paragraph(out, 2, "%s: no law: %s", fit->what, fit->why_not);
            else
                gm_text_paragraph(
                    out, 2, "%s: %s: %s (%smisses at most %s %% of the %s)", fit->what, gm_law_name(fit->law),
                    formula.data == NULL ? "" : formula.data, fit->is_sum ? "the sum of its categories' laws; " : "",
                    gm_real_format(error, fit->error_percent), fit->law == GM_LAW_CONSTANT ? "mean" : "spread");
            gm_text_free(&formula);
        }
    }
}
