/* SPDX-License-Identifier: Apache-2.0
 *
 * README.md of a comparison and pr_comment.md. They tell the same; the comment has no pictures (they do not travel) and
 * shows less at first. Both stop their tables before GitHub's limit of a comment.
 */
#include "analyze/document/columns.h"
#include "analyze/words/diff_markdown_parts.h"
#include "analyze/words/diff_parts.h"
#include "analyze/document/escape.h"
#include "analyze/words/markdown_parts.h"
#include "analyze/document/sites.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    LABEL = GM_DIFF_MD_LABEL,
    SITES = 15,
    ROWS = 12,
    RUNS = GM_DIFF_MD_RUNS,
    FACTS = 30,
    FAILURES = 10,
    LIMIT = 40,
    DEVICES = 48
};

/* Of texts that are ours but for names in them. */
static void add_prose(struct gm_text *out, struct gm_text *text)
{
    out->failed = out->failed || text->failed;
    gm_md_prose(out, text->data == NULL ? "" : text->data, 600);
    gm_text_free(text);
}

static void add_growth_cell(struct gm_text *out, uint64_t base, uint64_t after)
{
    char growth[GM_NUMBER_TEXT];
    gm_growth_format(growth, base, after);
    gm_text_printf(out, " %s%s |", growth[0] == '<' ? "&lt;" : "", growth + (growth[0] == '<'));
}

static void add_delta_cell(struct gm_text *out, uint64_t base, uint64_t after)
{
    char delta[GM_NUMBER_TEXT];
    gm_text_printf(out, " %s |", gm_delta_format(delta, base, after));
}

/* ---- the first lines ------------------------------------------------------------------------------------------------
 */

static void add_verdict(struct gm_text *out, const struct gm_comparison *c)
{
    struct gm_text why = {0}, verdict = {0};
    gm_words_diff_growth(&why, c);
    out->failed = out->failed || why.failed;
    if (c->limit.is_set) {
        gm_text_printf(out, "**%s**: ", why.length > 0 ? "FAIL" : "PASS");
        if (why.length > 0) {
            add_prose(out, &why);
        } else {
            gm_text_add(out, "nothing grew by more than ");
            gm_md_name(out, c->limit.text, LIMIT, false);
        }
        gm_text_add(out, ".\n\n");
    }
    gm_text_free(&why);
    gm_diff_verdict(&verdict, c, &c->pairs[0]);
    gm_text_add(out, c->limit.is_set ? "" : "**");
    add_prose(out, &verdict);
    gm_text_add(out, c->limit.is_set ? ".\n\n" : ".**\n\n");
}

static void add_runs_line(struct gm_text *out, const struct gm_comparison *c)
{
    gm_text_add(out, "Base ");
    gm_md_name(out, c->labels[0], LABEL, false);
    gm_text_add(out, ", new ");
    gm_md_name(out, c->labels[1], LABEL, false);
    if (c->run_count > 2)
        gm_text_printf(out, ", and %zu more", c->run_count - 2);
    gm_text_add(out, ".\n");
}

static void add_failures(struct gm_text *out, const struct gm_comparison *c)
{
    for (size_t i = 0; i < c->failure_count && i < FAILURES; i++) {
        gm_text_add(out, "> [!WARNING]\n> Not read: ");
        gm_md_name(out, c->failures[i].path, GM_MD_PATH, true);
        gm_text_add(out, ": ");
        gm_md_prose(out, c->failures[i].why, 200);
        gm_text_add(out, "\n\n");
    }
    gm_diff_md_more(out, FAILURES, c->failure_count);
    for (size_t i = 0; i < c->run_count && i < FAILURES; i++)
        if (c->runs[i]->is_salvaged) {
            gm_text_add(out, "> [!WARNING]\n> Damaged, only a part of it was read: ");
            gm_md_name(out, c->labels[i], LABEL, false);
            gm_text_add(out, "\n\n");
        }
}

static void add_headlines(struct gm_text *out, const struct gm_summary *base, const struct gm_summary *after)
{
    char x[GM_NUMBER_TEXT], y[GM_NUMBER_TEXT], points[GM_NUMBER_TEXT];
    gm_text_add(out, "| | Base | New | Change | |\n|:--|--:|--:|--:|--:|\n");
    for (int h = 0; h < GM_HEAD_COUNT; h++) {
        const uint64_t b = gm_headline_bytes(base, (enum gm_headline)h),
                       a = gm_headline_bytes(after, (enum gm_headline)h);
        const bool is_bold = h == GM_HEAD_PEAK_RESERVED || h == GM_HEAD_PEAK_ALLOCATED;
        if (b == GM_REPORT_NONE && a == GM_REPORT_NONE)
            continue;
        gm_text_printf(out, "| %s%s%s |", is_bold ? "**" : "", gm_headline_name((enum gm_headline)h),
                       is_bold ? "**" : "");
        gm_md_size_cell(out, b);
        gm_md_size_cell(out, a);
        add_delta_cell(out, b, a);
        add_growth_cell(out, b, a);
        gm_text_add_char(out, '\n');
    }
    gm_text_printf(out, "| Efficiency | %s %% | %s %% | %s | |\n",
                   gm_percent_format(x, base->totals.allocated, base->totals.reserved, 1),
                   gm_percent_format(y, after->totals.allocated, after->totals.reserved, 1),
                   gm_points_format(points, &base->totals, &after->totals));
}

/* ---- what changed ---------------------------------------------------------------------------------------------------
 */

static void add_sums(struct gm_text *out, const struct gm_diff_sums *sums)
{
    char listed[GM_NUMBER_TEXT], delta[GM_NUMBER_TEXT], residual[GM_NUMBER_TEXT], same[GM_NUMBER_TEXT];
    gm_text_printf(out, "\nAll rows: %s; difference of the totals: %s; residual: %s; %s unchanged.\n",
                   gm_signed_delta_format(listed, sums->listed), gm_signed_delta_format(delta, sums->delta),
                   gm_signed_delta_format(residual, sums->residual), gm_count_format(same, sums->same));
}

static void add_row_cells(struct gm_text *out, const struct gm_diff_row *row)
{
    gm_md_size_cell(out, row->base.bytes);
    gm_md_size_cell(out, row->after.bytes);
    add_delta_cell(out, row->base.bytes, row->after.bytes);
}

static void add_table(struct gm_text *out, const char *title, const struct gm_diff_table *table)
{
    if (!table->sums.is_known || (table->count == 0 && table->sums.residual == 0))
        return;
    gm_md_fold(out, title);
    gm_text_add(out, "| | Base | New | Change | |\n|:--|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < table->count && i < ROWS && gm_diff_md_room(out, table->count - i); i++) {
        const struct gm_diff_row *row = &table->rows[i];
        gm_text_add(out, "| ");
        gm_md_prose(out, row->name, GM_MD_NAME);
        gm_text_add(out, " |");
        add_row_cells(out, row);
        add_growth_cell(out, row->base.bytes, row->after.bytes);
        gm_text_add_char(out, '\n');
    }
    gm_diff_md_more(out, ROWS, table->count);
    add_sums(out, &table->sums);
    gm_md_unfold(out);
}

static void add_site(struct gm_text *out, const struct gm_diff_site *row)
{
    struct gm_text name = {0}, shown = {0};
    gm_diff_site_name(&name, row);
    gm_site_add(&shown, name.data == NULL ? "" : name.data, GM_MD_PATH);
    out->failed = out->failed || name.failed || shown.failed;
    gm_text_printf(out, "| %s |", gm_diff_kind_name(row->row.kind));
    add_row_cells(out, &row->row);
    gm_text_add_char(out, ' ');
    gm_md_prose(out, row->category, GM_MD_NAME);
    gm_text_add(out, " | ");
    if (gm_site_has_stack(row->row.name))
        gm_escape_code(out, shown.data == NULL ? "" : shown.data);
    else
        gm_text_add(out, "no stack recorded");
    if (row->via != NULL) {
        gm_text_add(out, " by ");
        gm_md_name(out, row->via, 40, false);
    }
    if (row->twin > 0)
        gm_text_printf(out, " (stack %zu)", row->twin);
    gm_text_add(out, " |\n");
    gm_text_free(&name);
    gm_text_free(&shown);
}

static void add_sites(struct gm_text *out, const char *what, const struct gm_diff_site_table *table)
{
    char title[200];
    if (!table->sums.is_known || (table->count == 0 && table->sums.residual == 0))
        return;
    snprintf(title, sizeof title,
             "Call sites %s: %" PRIu64 " new, %" PRIu64 " gone, %" PRIu64 " grown, %" PRIu64 " shrunk", what,
             table->sums.counts[GM_DIFF_NEW], table->sums.counts[GM_DIFF_GONE], table->sums.counts[GM_DIFF_GROWN],
             table->sums.counts[GM_DIFF_SHRUNK]);
    gm_md_fold(out, title);
    gm_text_add(out, "| | Base | New | Change | Category | Made in |\n|:--|--:|--:|--:|:--|:--|\n");
    for (size_t i = 0; i < table->count && i < SITES && gm_diff_md_room(out, table->count - i); i++)
        add_site(out, &table->rows[i]);
    gm_diff_md_more(out, SITES, table->count);
    add_sums(out, &table->sums);
    gm_md_unfold(out);
}

/* What the sums at the top are made of. */
static void add_devices(struct gm_text *out, const struct gm_comparison *c, const struct gm_diff_pair *pair)
{
    static const enum gm_level levels[] = {GM_LEVEL_RESERVED, GM_LEVEL_ALLOCATED, GM_LEVEL_REQUESTED};
    const size_t rows = sizeof levels / sizeof *levels * pair->device_count;
    if (pair->device_count < 2 || !c->runs[0]->has_trace || !c->runs[pair->after]->has_trace)
        return;
    gm_md_fold(out, "Peaks of each device");
    gm_text_add(out, "| | Base | New | Change | |\n|:--|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < rows && i < DEVICES && gm_diff_md_room(out, rows - i); i++) {
        const struct gm_diff_device *d = &pair->devices[i / 3];
        const enum gm_level level = levels[i % 3];
        uint64_t b = 0, a = 0;
        int64_t device = -1;
        if (d->base != NULL) {
            b = d->base->peaks[level].bytes;
            device = d->base->device;
        }
        if (d->after != NULL) {
            a = d->after->peaks[level].bytes;
            device = d->after->device;
        }
        gm_text_printf(out, "| device %" PRId64 ", %s |", device, gm_level_name(level));
        gm_md_size_cell(out, b);
        gm_md_size_cell(out, a);
        add_delta_cell(out, b, a);
        add_growth_cell(out, b, a);
        gm_text_add_char(out, '\n');
    }
    gm_diff_md_more(out, DEVICES, rows);
    gm_md_unfold(out);
}

static void add_places(struct gm_text *out, const struct gm_diff_pair *pair)
{
    bool any = false;
    for (size_t i = 0; i < pair->device_count && gm_diff_md_room(out, pair->device_count - i); i++) {
        const struct gm_summary_device *const both[2] = {pair->devices[i].base, pair->devices[i].after};
        if (both[0] == NULL || both[1] == NULL || both[0]->events == 0 || both[1]->events == 0)
            continue;
        if (!any)
            gm_md_fold(out, "Where the peak is");
        any = true;
        for (int k = 0; k < 2; k++) {
            struct gm_text place = {0};
            gm_text_printf(out, "- %s", k == 0 ? "base" : "new");
            if (pair->device_count > 1)
                gm_text_printf(out, ", device %" PRId64, both[k]->device);
            gm_text_add(out, ": ");
            gm_diff_place(&place, both[k]);
            add_prose(out, &place);
            if (both[k]->peak_range != NULL) {
                gm_text_add(out, ", in the range ");
                gm_md_name(out, both[k]->peak_range, GM_MD_NAME, false);
            }
            if (both[k]->peak_site != NULL) {
                gm_text_add(out, ", reached by ");
                gm_md_site(out, both[k]->peak_site);
            }
            gm_text_add_char(out, '\n');
        }
    }
    if (any)
        gm_md_unfold(out);
}

static void add_facts(struct gm_text *out, const struct gm_diff_pair *pair)
{
    if (pair->fact_count == 0)
        return;
    gm_md_fold(out, "Settings and features that differ");
    gm_text_add(out, "| | | Base | New |\n|:--|:--|:--|:--|\n");
    for (size_t i = 0; i < pair->fact_count && i < FACTS && gm_diff_md_room(out, pair->fact_count - i); i++) {
        const struct gm_diff_fact *f = &pair->facts[i];
        gm_text_printf(out, "| %s | ", f->group);
        gm_md_name(out, f->key, GM_MD_NAME, false);
        gm_text_add(out, " | ");
        gm_md_name(out, f->base == NULL ? "not there" : f->base, GM_MD_NAME, false);
        gm_text_add(out, " | ");
        gm_md_name(out, f->after == NULL ? "not there" : f->after, GM_MD_NAME, false);
        gm_text_add(out, " |\n");
    }
    gm_diff_md_more(out, FACTS, pair->fact_count);
    gm_md_unfold(out);
}

/* ---- the two files --------------------------------------------------------------------------------------------------
 */

static void add_pair(struct gm_text *out, const struct gm_comparison *c, const struct gm_diff_pair *pair)
{
    add_devices(out, c, pair);
    add_places(out, pair);
    add_sites(out, "at the peak", &pair->sites_at_peak);
    add_table(out, "By function at the peak, requested", &pair->functions_at_peak);
    add_table(out, "By category at the peak, requested", &pair->categories_at_peak);
    add_table(out, "By role at the peak, requested", &pair->roles_at_peak);
    add_table(out, "By pool at the peak, requested", &pair->pools_at_peak);
    add_sites(out, "at the end", &pair->sites);
    add_table(out, "By function at the end, allocated", &pair->functions);
    add_table(out, "By category at the end, allocated", &pair->categories);
    add_table(out, "By role at the end, allocated", &pair->roles);
    add_table(out, "By pool at the end, allocated", &pair->pools);
    add_table(out, "By pool at the end, reserved", &pair->pools_reserved);
    add_facts(out, pair);
}

static void add_image(struct gm_text *out, const char *const *chart)
{
    gm_text_add(out, "\n![");
    gm_escape_alt(out, chart[1]);
    gm_text_add(out, "](");
    gm_escape_url(out, chart[0]);
    gm_text_add(out, ")\n");
}

void gm_words_diff_comment(struct gm_text *out, const struct gm_comparison *c)
{
    gm_text_add(out, "### GPU memory\n\n");
    add_verdict(out, c);
    add_failures(out, c);
    add_headlines(out, c->runs[0], c->runs[1]);
    gm_text_add_char(out, '\n');
    add_runs_line(out, c);
    gm_diff_md_runs(out, c);
    gm_diff_md_series(out, c);
    add_pair(out, c, &c->pairs[0]);
}

void gm_words_diff_markdown(struct gm_text *out, const struct gm_comparison *c, const char *const *charts)
{
    gm_text_add(out, "# GPU memory compared: ");
    gm_md_name(out, c->run_name == NULL ? "" : c->run_name, GM_MD_PATH, false);
    gm_text_add(out, "\n\n");
    add_verdict(out, c);
    add_failures(out, c);
    add_headlines(out, c->runs[0], c->runs[1]);
    for (size_t i = 0; i < c->run_count && i < RUNS; i++) {
        gm_text_printf(out, "%s- %s: ", i == 0 ? "\n" : "", i == 0 ? "base" : i == 1 ? "new" : "more");
        gm_md_name(out, c->runs[i]->path, GM_MD_PATH, true);
        gm_text_add_char(out, '\n');
    }
    gm_diff_md_more(out, RUNS, c->run_count);
    for (const char *const *chart = charts; chart != NULL && chart[0] != NULL; chart += 2)
        add_image(out, chart);
    if (c->timeline.how != NULL)
        gm_text_printf(out, "\n%s\n", c->timeline.how);
    gm_diff_md_runs(out, c);
    gm_diff_md_series(out, c);
    for (size_t i = 0; i < c->pair_count && gm_diff_md_room(out, c->pair_count - i); i++) {
        if (c->pair_count > 1) {
            gm_text_add(out, "\n## Base against ");
            gm_md_name(out, c->labels[c->pairs[i].after], LABEL, false);
            gm_text_add_char(out, '\n');
        }
        add_pair(out, c, &c->pairs[i]);
    }
}
