/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_report.txt: two or more runs compared, for a terminal of 80 columns.
 */
#include "analyze/document/columns.h"
#include "analyze/words/diff_parts.h"
#include "analyze/words/diff_text_parts.h"
#include "analyze/document/sites.h"
#include "analyze/words/text_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 34, SIZE = 11, DELTA = 12, GROWTH = 11 };

char *gm_diff_run_name(char out[RUN_NAME], size_t run)
{
    if (run < 2)
        snprintf(out, RUN_NAME, "%s", run == 0 ? "BASE" : "NEW");
    else
        snprintf(out, RUN_NAME, "RUN %zu", run < 100000 ? run : 99999);
    return out;
}

static void add_head(struct gm_text *out, const struct gm_comparison *c)
{
    gm_text_add(out, "GPU MEMORY, RUNS COMPARED\n");
    gm_text_repeat(out, '=', GM_LINE);
    gm_text_add_char(out, '\n');
    gm_text_add(out, "Compared  ");
    gm_columns_wrap(out, c->run_name == NULL ? "" : c->run_name, 10);
    gm_text_add(out, "Date      ");
    gm_columns_wrap(out, c->timestamp == NULL ? "" : c->timestamp, 10);
    for (size_t i = 0; i < c->run_count; i++) {
        char events[GM_NUMBER_TEXT];
        char run[RUN_NAME];
        gm_text_printf(out, "%-10s", gm_diff_run_name(run, i));
        gm_columns_wrap(out, c->labels[i], 10);
        gm_text_add(out, "          ");
        gm_columns_cut(out, c->runs[i]->path, GM_LINE - 10, true);
        gm_text_printf(out, "\n          %s event%s%s%s\n", gm_count_format(events, c->runs[i]->events),
                       gm_plural(c->runs[i]->events),
                       c->runs[i]->has_trace ? "" : ": no trace, only the state at the end",
                       c->runs[i]->is_salvaged ? "; damaged, only a part was read" : "");
    }
    for (size_t i = 0; i < c->failure_count; i++) {
        gm_text_add(out, "NOT READ  ");
        gm_columns_cut(out, c->failures[i].path, GM_LINE - 10, true);
        gm_text_add(out, "\n          ");
        gm_columns_wrap(out, c->failures[i].why, 10);
    }
}

static void add_gate(struct gm_text *out, const struct gm_comparison *c)
{
    struct gm_text why = {0};
    if (!c->limit.is_set)
        return;
    gm_words_diff_growth(&why, c);
    out->failed = out->failed || why.failed;
    gm_text_add(out, "Growth    ");
    if (why.length == 0)
        gm_text_paragraph(out, 0, "PASS: nothing grew by more than %s", c->limit.text);
    else {
        gm_text_add(out, "FAIL: ");
        gm_columns_wrap(out, why.data, 10);
    }
    gm_text_free(&why);
}

void gm_diff_text_header(struct gm_text *out, const char *name)
{
    gm_columns_cell(out, name, NAME, GM_CELL_LEFT);
    gm_text_printf(out, "%*s%*s%*s%*s\n", SIZE, "base", SIZE, "new", DELTA, "change", GROWTH, "percent");
}

void gm_diff_text_row(struct gm_text *out, const char *name, uint64_t base, uint64_t after)
{
    char text[GM_NUMBER_TEXT];
    gm_columns_cell(out, name, NAME, GM_CELL_LEFT);
    gm_text_printf(out, "%*s", SIZE, gm_bytes_format(text, base));
    gm_text_printf(out, "%*s", SIZE, gm_bytes_format(text, after));
    gm_text_printf(out, "%*s", DELTA, gm_delta_format(text, base, after));
    gm_text_printf(out, "%*s\n", GROWTH, gm_growth_format(text, base, after));
}

static void add_headlines(struct gm_text *out, const struct gm_summary *base, const struct gm_summary *after)
{
    gm_text_section(out, "TOTALS AND PEAKS");
    gm_diff_text_header(out, "");
    for (int h = 0; h < GM_HEAD_COUNT; h++)
        gm_diff_text_row(out, gm_headline_name((enum gm_headline)h), gm_headline_bytes(base, (enum gm_headline)h),
                         gm_headline_bytes(after, (enum gm_headline)h));
    char x[GM_NUMBER_TEXT], y[GM_NUMBER_TEXT], points[GM_NUMBER_TEXT];
    gm_columns_cell(out, "Efficiency (allocated of reserved)", NAME, GM_CELL_LEFT);
    gm_text_printf(out, "%*s %%%*s %% %*s\n", SIZE - 2,
                   gm_percent_format(x, base->totals.allocated, base->totals.reserved, 1), SIZE - 2,
                   gm_percent_format(y, after->totals.allocated, after->totals.reserved, 1), DELTA,
                   gm_points_format(points, &base->totals, &after->totals));
    if (base->device_count > 1 || after->device_count > 1)
        gm_text_paragraph(out, 0, "Of several devices, each device's own peak, added up.");
}

static void add_device(struct gm_text *out, const struct gm_diff_device *d)
{
    static const struct gm_summary_device nothing = {.peaks = {{0, 0, 0}}};
    const struct gm_summary_device *b = d->base == NULL ? &nothing : d->base,
                                   *a = d->after == NULL ? &nothing : d->after;
    static const enum gm_level levels[] = {GM_LEVEL_RESERVED, GM_LEVEL_ALLOCATED};
    for (int i = 0; i < 2; i++) {
        struct gm_text name = {0};
        gm_text_printf(&name, "device %" PRId64 ", peak %s", d->after == NULL ? b->device : a->device,
                       gm_level_name(levels[i]));
        out->failed = out->failed || name.failed;
        if (!name.failed)
            gm_diff_text_row(out, name.data, b->peaks[levels[i]].bytes, a->peaks[levels[i]].bytes);
        gm_text_free(&name);
    }
}

static void add_devices(struct gm_text *out, const struct gm_comparison *c, const struct gm_diff_pair *pair)
{
    if (pair->device_count < 2 || !c->runs[0]->has_trace || !c->runs[pair->after]->has_trace)
        return;
    gm_text_section(out, "BY DEVICE");
    gm_diff_text_header(out, "");
    for (size_t i = 0; i < pair->device_count; i++)
        add_device(out, &pair->devices[i]);
}

static void add_place(struct gm_text *out, const char *which, const struct gm_summary_device *d)
{
    struct gm_text place = {0};
    gm_diff_place(&place, d);
    out->failed = out->failed || place.failed;
    gm_text_printf(out, "%-6s", which);
    gm_columns_wrap(out, place.data == NULL ? "" : place.data, 6);
    if (d->peak_range != NULL)
        gm_text_paragraph(out, 6, "in the range %s", d->peak_range);
    if (d->peak_site != NULL)
        gm_text_paragraph(out, 6, "the block that reached it was made in %s", d->peak_site);
    gm_text_free(&place);
}

static void add_places(struct gm_text *out, const struct gm_diff_pair *pair)
{
    bool any = false;
    for (size_t i = 0; i < pair->device_count; i++) {
        const struct gm_diff_device *d = &pair->devices[i];
        if (d->base == NULL || d->after == NULL || d->base->events == 0 || d->after->events == 0)
            continue;
        if (!any)
            gm_text_section(out, "WHERE THE PEAK IS (OF REQUESTED BYTES)");
        any = true;
        if (pair->device_count > 1)
            gm_text_printf(out, "Device %" PRId64 "\n", d->after->device);
        add_place(out, "base", d->base);
        add_place(out, "new", d->after);
    }
}

/* What the rows add up to, and what is left. */
void gm_diff_text_sums(struct gm_text *out, const struct gm_diff_sums *sums, size_t shown, size_t count, int64_t rest)
{
    char text[GM_NUMBER_TEXT], same[GM_NUMBER_TEXT];
    if (shown < count)
        gm_text_printf(out, "%-*s%*s\n", NAME + 2 * SIZE, "others, not listed", DELTA,
                       gm_signed_delta_format(text, rest));
    gm_text_printf(out, "%-*s", NAME, "sum of the rows");
    gm_text_printf(out, "%*s\n", 2 * SIZE + DELTA, gm_signed_delta_format(text, sums->listed));
    gm_text_printf(out, "%-*s", NAME, "difference of the totals");
    gm_text_printf(out, "%*s", SIZE, gm_bytes_format(text, sums->base_total));
    gm_text_printf(out, "%*s", SIZE, gm_bytes_format(text, sums->after_total));
    gm_text_printf(out, "%*s\n", DELTA, gm_signed_delta_format(text, sums->delta));
    gm_text_printf(out, "%-*s", NAME, "residual");
    gm_text_printf(out, "%*s\n", 2 * SIZE + DELTA, gm_signed_delta_format(text, sums->residual));
    if (sums->same > 0)
        gm_text_paragraph(out, 0, "%s unchanged: %s.", gm_count_format(same, sums->same),
                          gm_bytes_format(text, sums->same_bytes));
}

static void add_table(struct gm_text *out, const char *title, const struct gm_diff_table *table, size_t top)
{
    int64_t rest = table->sums.listed;
    if (!table->sums.is_known)
        return;
    gm_text_section(out, title);
    if (table->count == 0 && table->sums.residual == 0) {
        gm_text_add(out, "No difference.\n");
        return;
    }
    gm_diff_text_header(out, "");
    for (size_t i = 0; i < table->count && i < top; i++) {
        gm_diff_text_row(out, table->rows[i].name, table->rows[i].base.bytes, table->rows[i].after.bytes);
        rest = gm_diff_minus(rest, table->rows[i].delta);
    }
    gm_diff_text_sums(out, &table->sums, top, table->count, rest);
}

static void add_facts(struct gm_text *out, const struct gm_diff_pair *pair)
{
    gm_text_section(out, "SETTINGS AND FEATURES THAT DIFFER");
    if (pair->fact_count == 0)
        gm_text_add(out, "None.\n");
    for (size_t i = 0; i < pair->fact_count; i++) {
        const struct gm_diff_fact *f = &pair->facts[i];
        gm_text_paragraph(out, 0, "%s: %s", f->group, f->key);
        gm_text_paragraph(out, 4, "base %s", f->base == NULL ? "(not there)" : f->base);
        gm_text_paragraph(out, 4, "new  %s", f->after == NULL ? "(not there)" : f->after);
    }
}

static void add_pair(struct gm_text *out, const struct gm_comparison *c, const struct gm_diff_pair *pair)
{
    struct gm_text verdict = {0};
    if (c->pair_count > 1) {
        gm_text_add_char(out, '\n');
        gm_text_repeat(out, '=', GM_LINE);
        gm_text_add(out, "\nBASE AGAINST ");
        gm_columns_wrap(out, c->labels[pair->after], 13);
    }
    gm_diff_verdict(&verdict, c, pair);
    out->failed = out->failed || verdict.failed;
    gm_text_add(out, c->pair_count > 1 ? "" : "\n");
    gm_text_paragraph(out, 0, "%s.", verdict.data == NULL ? "" : verdict.data);
    gm_text_free(&verdict);
    add_headlines(out, c->runs[0], c->runs[pair->after]);
    add_devices(out, c, pair);
    add_places(out, pair);
    gm_diff_text_steps(out, pair);
    add_table(out, "BY CATEGORY AT THE PEAK (REQUESTED)", &pair->categories_at_peak, c->top);
    add_table(out, "BY ROLE AT THE PEAK (REQUESTED)", &pair->roles_at_peak, c->top);
    add_table(out, "BY POOL AT THE PEAK (REQUESTED)", &pair->pools_at_peak, c->top);
    add_table(out, "BY FUNCTION AT THE PEAK (REQUESTED)", &pair->functions_at_peak, c->top);
    gm_diff_text_sites(out, "CALL SITES AT THE PEAK (REQUESTED)", &pair->sites_at_peak, c->top);
    add_table(out, "BY CATEGORY AT THE END (ALLOCATED)", &pair->categories, c->top);
    add_table(out, "BY ROLE AT THE END (ALLOCATED)", &pair->roles, c->top);
    add_table(out, "BY POOL AT THE END (ALLOCATED)", &pair->pools, c->top);
    add_table(out, "BY POOL AT THE END (RESERVED)", &pair->pools_reserved, c->top);
    add_table(out, "BY FUNCTION AT THE END (ALLOCATED)", &pair->functions, c->top);
    gm_diff_text_sites(out, "CALL SITES AT THE END (ALLOCATED)", &pair->sites, c->top);
    add_facts(out, pair);
}

void gm_words_diff_text(struct gm_text *out, const struct gm_comparison *c, bool has_charts)
{
    add_head(out, c);
    add_gate(out, c);
    gm_diff_text_runs(out, c);
    gm_diff_text_series(out, c);
    for (size_t i = 0; i < c->pair_count; i++)
        add_pair(out, c, &c->pairs[i]);
    if (c->timeline.how != NULL) {
        gm_text_section(out, "TIMELINES");
        gm_text_paragraph(out, 0, "%s%s", c->timeline.how, has_charts ? " See diff_timeline.png." : "");
    }
}
