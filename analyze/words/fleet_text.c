/* SPDX-License-Identifier: Apache-2.0
 *
 * fleet_report.txt: all snapshots of a job on one page, for a terminal of 80 columns.
 */
#include "analyze/report/comparison.h"
#include "analyze/words/fleet_parts.h"
#include "analyze/words/sites.h"
#include "analyze/words/text_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    SIZE = 12,
    RANKS = 64,
    COLUMNS = 5,
    ODDS = 20,
    GROWTHS = 20,
    STEEPEST = 5,
    CATEGORY = 24,
    SITES = 8,
    RANGES = 12,
    LISTED = 50
};

/* A paragraph made of what was written into `text`, which is freed. */
static void add_paragraph(struct gm_text *out, struct gm_text *text, size_t indent)
{
    out->failed = out->failed || text->failed;
    gm_columns_wrap(out, text->data == NULL ? "" : text->data, indent);
    gm_text_free(text);
}

static void add_cell(struct gm_text *out, uint64_t bytes)
{
    char text[GM_NUMBER_TEXT];
    gm_text_printf(out, "%*s", SIZE, gm_bytes_format(text, bytes));
}

/* ---- head ----------------------------------------------------------------------------------------------------------
 */

static void add_head(struct gm_text *out, const struct gm_fleet *f)
{
    struct gm_text line = {0};
    gm_text_add(out, "GPU MEMORY OF A JOB\n");
    gm_text_repeat(out, '=', GM_LINE);
    gm_text_add(out, "\nRun       ");
    gm_columns_wrap(out, f->run_name == NULL ? "" : f->run_name, 10);
    gm_text_printf(out, "Date      %s\nRead      ", f->timestamp == NULL ? "" : f->timestamp);
    gm_text_printf(&line, "%zu of %zu snapshots, %zu rank%s", f->read_count, f->item_count, f->row_count,
                   gm_plural(f->row_count));
    if (gm_fleet_has_iterations(f))
        gm_text_printf(&line, ", %zu iteration%s", f->column_count, gm_plural(f->column_count));
    add_paragraph(out, &line, 10);
    gm_text_add_char(out, '\n');
    line = (struct gm_text){0};
    gm_fleet_add_verdict(&line, f);
    add_paragraph(out, &line, 0);
}

static void add_unread(struct gm_text *out, const struct gm_fleet *f)
{
    size_t shown = 0;
    if (f->read_count == f->item_count)
        return;
    gm_text_section(out, "NOT READ, LEFT OUT OF ALL THAT IS COMPARED");
    for (size_t i = 0; i < f->item_count; i++) {
        if (f->items[i].status == GM_OK || ++shown > LISTED)
            continue;
        gm_columns_cut(out, f->items[i].path, GM_LINE, true);
        gm_text_add(out, "\n    ");
        gm_columns_wrap(out, f->items[i].error == NULL ? "" : f->items[i].error, 4);
    }
    if (shown > LISTED)
        gm_text_printf(out, "and %zu more\n", shown - LISTED);
}

static void add_missing(struct gm_text *out, const struct gm_fleet *f)
{
    struct gm_text line = {0};
    bool any = f->missing_rank_count > 0 || f->duplicates > 0;
    for (size_t c = 0; c < f->column_count; c++)
        any = any || f->columns[c].missing > 0;
    if (!any)
        return;
    gm_text_section(out, "MISSING");
    if (f->missing_rank_count > 0) {
        gm_text_add(&line, "No snapshot at all of rank ");
        gm_fleet_add_numbers(&line, f->missing_ranks, f->missing_rank_count, RANGES);
        gm_text_add_char(&line, '.');
        add_paragraph(out, &line, 0);
    }
    for (size_t c = 0, n = 0; c < f->column_count; c++)
        if (f->columns[c].missing > 0 && n++ < LISTED) {
            line = (struct gm_text){0};
            gm_fleet_add_column(&line, &f->columns[c]);
            gm_text_printf(&line, ": no snapshot of %zu of the %zu ranks", f->columns[c].missing, f->row_count);
            add_paragraph(out, &line, 4);
        }
    if (f->duplicates > 0)
        gm_text_paragraph(out, 0,
                          "%zu snapshot%s the rank and iteration of another one; in tables of ranks the one that "
                          "reserves most counts.",
                          f->duplicates, f->duplicates == 1 ? " has" : "s have");
}

/* ---- tables --------------------------------------------------------------------------------------------------------
 */

static bool is_same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* " [its category]" if another one of the table is called alike. */
static void add_category(struct gm_text *out, const struct gm_fleet *f, const struct gm_fleet_changes *changes,
                         size_t row)
{
    const struct gm_fleet_site *site = &f->sites[changes->rows[row].site];
    for (size_t i = 0; i < changes->count && i < SITES; i++) {
        const struct gm_fleet_site *other = &f->sites[changes->rows[i].site];
        if (i != row && is_same(site->label, other->label) && is_same(site->via, other->via)) {
            gm_text_add(out, " [");
            gm_columns_cut(out, site->category, CATEGORY, false);
            gm_text_add_char(out, ']');
            return;
        }
    }
}

static void add_changes(struct gm_text *out, const struct gm_fleet *f, const struct gm_fleet_changes *changes)
{
    char delta[GM_NUMBER_TEXT];
    int64_t rest = changes->delta;
    for (size_t i = 0; i < changes->count && i < SITES; i++) {
        struct gm_text site = {0}, category = {0};
        gm_fleet_add_site(&site, &f->sites[changes->rows[i].site]);
        add_category(&category, f, changes, i);
        const char *tail = category.data == NULL ? "" : category.data;
        out->failed = out->failed || site.failed || category.failed;
        gm_text_printf(out, "  %*s  ", SIZE, gm_fleet_delta_text(delta, changes->rows[i].delta));
        gm_site_add(out, site.data == NULL ? "" : site.data, GM_LINE - SIZE - 4 - gm_columns(tail));
        gm_text_add(out, tail);
        gm_text_add_char(out, '\n');
        gm_text_free(&site);
        gm_text_free(&category);
        rest = gm_diff_minus(rest, changes->rows[i].delta);
    }
    if (rest != 0 || changes->count > SITES)
        gm_text_printf(out, "  %*s  other call sites\n", SIZE, gm_fleet_delta_text(delta, rest));
    gm_text_printf(out, "  %*s  in all\n", SIZE, gm_fleet_delta_text(delta, changes->delta));
}

/* Its largest call sites: who was in the way. */
static void add_held(struct gm_text *out, const struct gm_fleet *f, const struct gm_fleet_item *item)
{
    size_t shown[SITES], n = 0;
    uint64_t rest = gm_fleet_held(item);
    for (size_t i = 0; i < item->use_count; i++) {
        const uint64_t bytes = gm_fleet_use_held(item, &item->uses[i]);
        size_t at = n;
        while (at > 0 && gm_fleet_use_held(item, &item->uses[shown[at - 1]]) < bytes)
            at--;
        if (at == SITES || bytes == 0)
            continue;
        n += n < SITES;
        for (size_t k = n - 1; k > at; k--)
            shown[k] = shown[k - 1];
        shown[at] = i;
    }
    gm_text_add(out, "Held at the peak:\n");
    for (size_t i = 0; i < n; i++) {
        const struct gm_fleet_use *use = &item->uses[shown[i]];
        struct gm_text site = {0};
        gm_fleet_add_site(&site, &f->sites[use->site]);
        out->failed = out->failed || site.failed;
        gm_text_add(out, "  ");
        add_cell(out, gm_fleet_use_held(item, use));
        gm_text_add(out, "  ");
        gm_site_add(out, site.data == NULL ? "" : site.data, GM_LINE - SIZE - 4);
        gm_text_add_char(out, '\n');
        gm_text_free(&site);
        rest -= gm_fleet_use_held(item, use) < rest ? gm_fleet_use_held(item, use) : rest;
    }
    gm_text_add(out, "  ");
    add_cell(out, rest);
    gm_text_add(out, "  other call sites\n");
}

static void add_ooms(struct gm_text *out, const struct gm_fleet *f)
{
    if (f->oom_count == 0)
        return;
    gm_text_section(out, "OUT OF MEMORY, THE FIRST ONE FIRST");
    for (size_t i = 0; i < f->oom_count && i < ODDS; i++) {
        const struct gm_fleet_item *item = &f->items[f->ooms[i]];
        struct gm_text line = {0};
        gm_fleet_add_oom(&line, f, item);
        gm_text_add_char(&line, '.');
        add_paragraph(out, &line, 0);
        if (i == 0)
            add_held(out, f, item);
    }
    if (f->oom_count > ODDS)
        gm_text_printf(out, "and %zu more\n", f->oom_count - ODDS);
}

static void add_column_name(struct gm_text *out, const struct gm_fleet_column *column, size_t width)
{
    char text[GM_NUMBER_TEXT] = "-";
    if (column->iteration != GM_FLEET_NONE)
        snprintf(text, sizeof text, "%" PRId64, column->iteration);
    gm_columns_cell(out, text, width, GM_CELL_RIGHT);
}

/* Ranks down, the last iterations across. */
static void add_grid(struct gm_text *out, const struct gm_fleet *f)
{
    const size_t first = f->column_count > COLUMNS ? f->column_count - COLUMNS : 0;
    const size_t name = GM_LINE - SIZE * (f->column_count - first);
    gm_text_section(out, "PEAK RESERVED BY RANK AND ITERATION");
    gm_columns_cell(out, "", name, GM_CELL_LEFT);
    for (size_t c = first; c < f->column_count; c++)
        add_column_name(out, &f->columns[c], SIZE);
    gm_text_add_char(out, '\n');
    for (size_t r = 0; r < f->row_count && r < RANKS; r++) {
        gm_columns_cell(out, f->rows[r].label, name, GM_CELL_TAIL);
        for (size_t c = first; c < f->column_count; c++) {
            const size_t i = gm_fleet_find(f, r, c);
            if (i == SIZE_MAX || f->items[i].status != GM_OK)
                gm_text_printf(out, "%*s", SIZE, i == SIZE_MAX ? "-" : "unreadable");
            else
                add_cell(out, gm_fleet_reserved(&f->items[i]));
        }
        gm_text_add_char(out, '\n');
    }
    if (f->row_count > RANKS)
        gm_text_printf(out, "and %zu more rank%s: see fleet.csv\n", f->row_count - RANKS,
                       gm_plural(f->row_count - RANKS));
    if (first > 0)
        gm_text_printf(out, "%zu earlier iteration%s: see fleet.csv\n", first, gm_plural(first));
    for (size_t i = 0; i < f->item_count; i++)
        if (f->items[i].status == GM_OK && !f->items[i].has_trace) {
            gm_text_add(out, "Snapshots without a trace count with what they reserve at the end.\n");
            break;
        }
}

static void add_spreads(struct gm_text *out, const struct gm_fleet *f, const char *title, bool is_reserved)
{
    gm_text_section(out, title);
    gm_text_printf(out, "%-*s%*s%*s%*s%*s%*s\n", 10, "iteration", 8, "ranks", SIZE, "least", SIZE, "mean", SIZE, "most",
                   10, "most/mean");
    const size_t first = f->column_count > LISTED ? f->column_count - LISTED : 0;
    for (size_t c = first; c < f->column_count; c++) {
        const struct gm_fleet_column *column = &f->columns[c];
        const struct gm_fleet_spread *s = is_reserved ? &column->reserved : &column->allocated;
        char text[GM_NUMBER_TEXT];
        if (s->most_item == SIZE_MAX)
            continue;
        snprintf(text, sizeof text, "%" PRId64, column->iteration);
        gm_columns_cell(out, column->iteration == GM_FLEET_NONE ? "-" : text, 10, GM_CELL_LEFT);
        gm_text_printf(out, "%8zu", column->ranks);
        add_cell(out, s->least);
        add_cell(out, s->mean < 0x1p64 ? (uint64_t)s->mean : UINT64_MAX);
        add_cell(out, s->most);
        gm_text_printf(out, "%10s  ", gm_fleet_ratio(text, gm_fleet_imbalance(s)));
        gm_columns_cut(out, f->rows[f->items[s->most_item].row].label, 14, true);
        gm_text_add_char(out, '\n');
    }
    if (first > 0)
        gm_text_printf(out, "%zu earlier iteration%s: see fleet.json\n", first, gm_plural(first));
}

static void add_uncompared(struct gm_text *out, const struct gm_fleet *f)
{
    struct gm_text line = {0};
    size_t n = 0;
    for (size_t c = 0; c < f->column_count; c++) {
        if (f->columns[c].ranks >= GM_FLEET_LEAST)
            continue;
        if (n < RANGES && gm_fleet_has_iterations(f)) {
            gm_text_add(&line, n == 0 ? " at " : ", ");
            gm_fleet_add_column(&line, &f->columns[c]);
        }
        n++;
    }
    if (n > RANGES)
        gm_text_printf(&line, " and %zu more", n - RANGES);
    if (n > 0)
        gm_text_paragraph(out, 0, "Fewer than three ranks were read%s: which one is odd there cannot be told.",
                          line.data == NULL ? "" : line.data);
    out->failed = out->failed || line.failed;
    gm_text_free(&line);
}

static void add_odds(struct gm_text *out, const struct gm_fleet *f)
{
    char text[GM_NUMBER_TEXT], other[GM_NUMBER_TEXT];
    gm_text_section(out, "THE ODD RANKS OUT");
    add_uncompared(out, f);
    if (f->compared_count == 0)
        return;
    struct gm_text rule = {0};
    gm_text_add(&rule,
                "Odd is what differs by more than 5 %, three robust standard deviations and 1 MiB from the "
                "median of its group of alike ranks (below) if that is a large one, else from the median of all");
    if (f->typical != SIZE_MAX) {
        gm_text_add(&rule, ": ");
        gm_fleet_add_item(&rule, f, &f->items[f->typical]);
        gm_text_printf(&rule, ", which holds %s and reserves %s", gm_bytes_format(text, f->median_held),
                       gm_bytes_format(other, gm_fleet_reserved(&f->items[f->typical])));
    }
    gm_text_add(&rule, ". What has half in common with a group of three times as many ranks, but is not alike, is odd, "
                       "too, and compared with that.");
    if (f->column_count > 1)
        gm_text_add(&rule, " Each iteration is compared by itself; told is where a rank is farthest from the others.");
    add_paragraph(out, &rule, 0);
    if (f->odd_total == 0)
        gm_text_add(out, "None.\n");
    for (size_t i = 0; i < f->odd_count && i < ODDS; i++) {
        const struct gm_fleet_odd *odd = &f->odds[i];
        struct gm_text line = {0};
        gm_text_add_char(out, '\n');
        gm_fleet_add_item(&line, f, &f->items[odd->item]);
        gm_text_printf(&line, ": peak reserved %s (%s against ",
                       gm_bytes_format(text, gm_fleet_reserved(&f->items[odd->item])),
                       gm_fleet_delta_text(other, odd->reserved_delta));
        gm_text_printf(&line, "%s)", f->rows[f->items[odd->against].row].label);
        gm_text_printf(&line, "; of that held by call sites %s", gm_fleet_delta_text(other, odd->held_delta));
        gm_text_printf(&line, ", cache and rounding %s",
                       gm_fleet_delta_text(other, gm_diff_minus(odd->reserved_delta, odd->held_delta)));
        if (f->compared_count > 1)
            gm_text_printf(&line, "; odd in %zu of %zu iterations", odd->iterations, f->compared_count);
        add_paragraph(out, &line, 0);
        add_changes(out, f, &odd->sites);
    }
    if (f->odd_total > ODDS)
        gm_text_printf(out, "\nand %zu more\n", f->odd_total - ODDS);
}

static void add_groups(struct gm_text *out, const struct gm_fleet *f)
{
    char least[GM_NUMBER_TEXT], most[GM_NUMBER_TEXT], reserved[GM_NUMBER_TEXT];
    if (f->group_count == 0)
        return;
    gm_text_section(out, "GROUPS OF ALIKE RANKS");
    struct gm_text rule = {0};
    gm_text_add(&rule, "Alike: call sites differ, added up, by at most 5 % of what the larger rank holds. Pipeline "
                       "stages and uneven experts show as groups.");
    if (gm_fleet_has_iterations(f)) {
        gm_text_add(&rule, " These are those of ");
        gm_fleet_add_column(&rule, &f->columns[f->reference]);
        gm_text_add_char(&rule, '.');
    }
    add_paragraph(out, &rule, 0);
    if (f->group_count == 1 && f->groups[0].count > 1)
        gm_text_printf(out, "All %zu ranks that were read are alike%s.\n", f->groups[0].count,
                       gm_fleet_has_iterations(f) ? " there" : "");
    for (size_t g = 0; g < f->group_count; g++) {
        const struct gm_fleet_group *group = &f->groups[g];
        struct gm_text line = {0};
        gm_text_add_char(out, '\n');
        gm_fleet_add_members(&line, f, group, RANGES);
        gm_text_add(&line, group->is_rest ? " (like nobody)" : "");
        if (group->count > 1)
            gm_text_printf(&line, ": %zu, holding %s to %s, peak reserved up to %s", group->count,
                           gm_bytes_format(least, group->held_least), gm_bytes_format(most, group->held_most),
                           gm_bytes_format(reserved, group->reserved_most));
        else
            gm_text_printf(&line, ": holding %s, peak reserved %s", gm_bytes_format(most, group->held_most),
                           gm_bytes_format(reserved, group->reserved_most));
        gm_text_printf(&line, "%s%s",
                       g == f->largest_group && f->group_count > 1  ? "; the largest group"
                       : g != f->largest_group && group->count == 1 ? "; against the first rank of the largest group"
                       : g != f->largest_group ? "; its first rank against that of the largest group"
                                               : "",
                       g == f->largest_group ? "." : ":");
        add_paragraph(out, &line, 0);
        if (g != f->largest_group)
            add_changes(out, f, &group->sites);
    }
}

/* Growing, or among the steepest and not the same in all iterations. */
static bool is_telling(const struct gm_fleet_growth *g, size_t place)
{
    const bool is_flat = g->reserved.slope == 0 && !(g->reserved.error > 0) && g->allocated_end.slope == 0 &&
                         !(g->allocated_end.error > 0);
    return g->reserved.is_growing || g->allocated_end.is_growing || (place < STEEPEST && !is_flat);
}

static void add_growth(struct gm_text *out, const struct gm_fleet *f)
{
    char text[GM_NUMBER_TEXT];
    if (f->growth_count == 0)
        return;
    gm_text_section(out, "GROWTH OVER ITERATIONS");
    gm_text_paragraph(out, 0,
                      "Bytes per iteration by least squares, +- the standard error; growing is a slope whose 95 %% "
                      "confidence interval is above zero, from three iterations on.");
    if (f->capacity != GM_REPORT_NONE)
        gm_text_paragraph(out, 0, "Out of memory at %s a device%s%s.", gm_bytes_format(text, f->capacity),
                          f->capacity_name == NULL ? "" : ": ", f->capacity_name == NULL ? "" : f->capacity_name);
    size_t shown = 0, silent = 0;
    for (size_t i = 0; i < f->growth_count; i++) {
        const struct gm_fleet_growth *g = &f->growths[i];
        struct gm_text line = {0};
        if (!is_telling(g, i)) {
            silent++;
            continue;
        }
        if (++shown > GROWTHS)
            continue;
        gm_text_printf(&line, "%s, %zu iterations: peak reserved ", f->rows[g->row].label, g->count);
        gm_fleet_add_line(&line, &g->reserved);
        gm_text_printf(&line, "%s; allocated at the end ", g->reserved.is_growing ? " (growing)" : "");
        gm_fleet_add_line(&line, &g->allocated_end);
        gm_text_add(&line, g->allocated_end.is_growing ? " (growing)" : "");
        if (g->iterations_left >= 0)
            gm_text_printf(&line, "; full in %s iterations", gm_fleet_iterations(text, g->iterations_left));
        add_paragraph(out, &line, 4);
    }
    if (shown > GROWTHS)
        gm_text_printf(out, "and %zu more: see fleet.json\n", shown - GROWTHS);
    if (silent > 0)
        gm_text_printf(out, "%zu%s rank%s not known to grow: see fleet.json\n", silent, shown > 0 ? " other" : "",
                       silent == 1 ? " is" : "s are");
    gm_text_section(out, "SURVIVORS: END OF THE LAST AGAINST END OF THE FIRST ITERATION, ALL RANKS");
    if (f->survivors.count == 0 && f->survivors.delta == 0)
        gm_text_add(out, "No difference.\n");
    else
        add_changes(out, f, &f->survivors);
}

void gm_words_fleet_text(struct gm_text *out, const struct gm_fleet *fleet)
{
    add_head(out, fleet);
    add_unread(out, fleet);
    add_missing(out, fleet);
    if (fleet->read_count == 0)
        return;
    add_ooms(out, fleet);
    add_grid(out, fleet);
    add_spreads(out, fleet, "IMBALANCE OF PEAK RESERVED", true);
    add_spreads(out, fleet, "IMBALANCE OF PEAK ALLOCATED", false);
    add_odds(out, fleet);
    add_groups(out, fleet);
    add_growth(out, fleet);
}
