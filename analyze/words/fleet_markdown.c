/* SPDX-License-Identifier: Apache-2.0
 *
 * README.md of a fleet's run directory.
 */
#include "analyze/report/comparison.h"
#include "analyze/words/escape.h"
#include "analyze/words/fleet_parts.h"
#include "analyze/words/markdown_parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { RANKS = 100, COLUMNS = 8, ROWS = 40, SITES = 5, ODDS = 10, RANGES = 12 };

static void add_prose(struct gm_text *out, struct gm_text *text)
{
    out->failed = out->failed || text->failed;
    gm_escape_prose(out, text->data == NULL ? "" : text->data);
    gm_text_free(text);
}

static void add_image(struct gm_text *out, const char *const *chart)
{
    gm_text_add(out, "\n![");
    gm_escape_alt(out, chart[1]);
    gm_text_add(out, "](");
    gm_escape_url(out, chart[0]);
    gm_text_add(out, ")\n");
}

static void add_unread(struct gm_text *out, const struct gm_fleet *f)
{
    if (f->read_count == f->item_count)
        return;
    gm_text_printf(out, "\n**%zu of %zu snapshots could not be read and are left out:**\n\n",
                   f->item_count - f->read_count, f->item_count);
    for (size_t i = 0, n = 0; i < f->item_count; i++) {
        const struct gm_fleet_item *item = &f->items[i];
        if (item->status == GM_OK || n++ >= ROWS)
            continue;
        if (!gm_md_room(out, f->item_count - i))
            return;
        gm_text_add(out, "- ");
        gm_md_name(out, item->path, GM_MD_PATH, true);
        gm_text_add(out, ": ");
        gm_md_prose(out, item->error == NULL ? "" : item->error, 200);
        gm_text_add_char(out, '\n');
    }
}

static void add_missing(struct gm_text *out, const struct gm_fleet *f)
{
    size_t incomplete = 0;
    for (size_t c = 0; c < f->column_count; c++)
        incomplete += f->columns[c].missing > 0;
    if (f->missing_rank_count > 0) {
        gm_text_printf(out, "\n**No snapshot at all of rank%s ", gm_plural(f->missing_rank_count));
        gm_fleet_add_numbers(out, f->missing_ranks, f->missing_rank_count, RANGES);
        gm_text_add(out, ".**\n");
    }
    if (incomplete > 0)
        gm_text_printf(out, "\n%zu of %zu iterations lack snapshots of some of the %zu ranks.\n", incomplete,
                       f->column_count, f->row_count);
    if (f->duplicates > 0)
        gm_text_printf(out,
                       "\n%zu snapshot%s the rank and iteration of another one; the one that reserves most counts.\n",
                       f->duplicates, f->duplicates == 1 ? " has" : "s have");
}

static void add_ooms(struct gm_text *out, const struct gm_fleet *f)
{
    if (f->oom_count < 2) /* one is told in the first paragraph */
        return;
    gm_md_fold(out, "Out of memory, the first one first");
    for (size_t i = 0; i < f->oom_count && i < ODDS && gm_md_room(out, f->oom_count - i); i++) {
        struct gm_text line = {0};
        gm_fleet_add_oom(&line, f, &f->items[f->ooms[i]]);
        gm_text_printf(out, "%zu. ", i + 1);
        add_prose(out, &line);
        gm_text_add_char(out, '\n');
    }
    if (f->oom_count > ODDS)
        gm_text_printf(out, "\nand %zu more in fleet.json\n", f->oom_count - ODDS);
    gm_md_unfold(out);
}

static void add_grid(struct gm_text *out, const struct gm_fleet *f)
{
    const size_t first = f->column_count > COLUMNS ? f->column_count - COLUMNS : 0;
    gm_md_fold(out, "Peak reserved by rank and iteration");
    gm_text_add(out, "| |");
    for (size_t c = first; c < f->column_count; c++)
        if (f->columns[c].iteration == GM_FLEET_NONE)
            gm_text_add(out, " - |");
        else
            gm_text_printf(out, " %" PRId64 " |", f->columns[c].iteration);
    gm_text_add(out, "\n|:--|");
    for (size_t c = first; c < f->column_count; c++)
        gm_text_add(out, "--:|");
    gm_text_add_char(out, '\n');
    for (size_t r = 0; r < f->row_count && r < RANKS && gm_md_room(out, f->row_count - r); r++) {
        gm_text_add(out, "| ");
        if (f->rows[r].rank == GM_FLEET_NONE)
            gm_md_name(out, f->rows[r].label, GM_MD_NAME, true);
        else
            gm_text_add(out, f->rows[r].label);
        gm_text_add(out, " |");
        for (size_t c = first; c < f->column_count; c++) {
            const size_t i = gm_fleet_find(f, r, c);
            if (i == SIZE_MAX || f->items[i].status != GM_OK)
                gm_text_add(out, i == SIZE_MAX ? " - |" : " unreadable |");
            else
                gm_md_size_cell(out, gm_fleet_reserved(&f->items[i]));
        }
        gm_text_add_char(out, '\n');
    }
    if (f->row_count > RANKS)
        gm_text_printf(out, "\nand %zu more rank%s in fleet.csv\n", f->row_count - RANKS,
                       gm_plural(f->row_count - RANKS));
    gm_md_unfold(out);
}

static void add_changes(struct gm_text *out, const struct gm_fleet *f, const struct gm_fleet_changes *changes)
{
    char text[GM_NUMBER_TEXT];
    int64_t rest = changes->delta;
    gm_text_add(out, "| Change | Call site | Category |\n|--:|:--|:--|\n");
    for (size_t i = 0; i < changes->count && i < SITES && gm_md_room(out, changes->count - i); i++) {
        const struct gm_fleet_site *site = &f->sites[changes->rows[i].site];
        struct gm_text name = {0};
        gm_fleet_add_site(&name, site);
        out->failed = out->failed || name.failed;
        gm_text_printf(out, "| %s | ", gm_fleet_delta_text(text, changes->rows[i].delta));
        gm_md_name(out, name.data == NULL ? "" : name.data, GM_MD_PATH, true);
        gm_text_add(out, " | ");
        gm_md_prose(out, site->category, GM_MD_NAME);
        gm_text_add(out, " |\n");
        gm_text_free(&name);
        rest = gm_diff_minus(rest, changes->rows[i].delta);
    }
    if (rest != 0)
        gm_text_printf(out, "| %s | other call sites | |\n", gm_fleet_delta_text(text, rest));
    gm_text_printf(out, "| %s | in all | |\n", gm_fleet_delta_text(text, changes->delta));
}

static void add_columns(struct gm_text *out, const struct gm_fleet *f)
{
    char text[GM_NUMBER_TEXT];
    const size_t first = f->column_count > ROWS ? f->column_count - ROWS : 0;
    gm_text_add(out, "\n| Iteration | Ranks | Least | Mean | Most | Most / mean | Highest |\n"
                     "|:--|--:|--:|--:|--:|--:|:--|\n");
    for (size_t c = first; c < f->column_count && gm_md_room(out, f->column_count - c); c++) {
        const struct gm_fleet_column *column = &f->columns[c];
        const struct gm_fleet_spread *s = &column->reserved;
        if (s->most_item == SIZE_MAX)
            continue;
        snprintf(text, sizeof text, "%" PRId64, column->iteration);
        gm_text_printf(out, "| %s | %zu |", column->iteration == GM_FLEET_NONE ? "-" : text, column->ranks);
        gm_md_size_cell(out, s->least);
        gm_md_size_cell(out, s->mean < 0x1p64 ? (uint64_t)s->mean : UINT64_MAX);
        gm_md_size_cell(out, s->most);
        gm_text_printf(out, " %s | ", gm_fleet_ratio(text, gm_fleet_imbalance(s)));
        gm_md_name(out, f->rows[f->items[s->most_item].row].label, GM_MD_NAME, true);
        gm_text_add(out, " |\n");
    }
    gm_text_add(out, "\nPeak reserved; without a trace what is reserved at the end.\n");
}

/* Of a rank; files may be called anything. */
static void add_row_name(struct gm_text *out, const struct gm_fleet *f, size_t item, const char *otherwise)
{
    if (f->items[item].rank == GM_FLEET_NONE)
        gm_text_add(out, otherwise);
    else
        gm_fleet_add_item(out, f, &f->items[item]);
}

static void add_odds(struct gm_text *out, const struct gm_fleet *f)
{
    char text[GM_NUMBER_TEXT];
    for (size_t i = 0; i < f->odd_count && i < ODDS && gm_md_room(out, f->odd_count - i); i++) {
        const struct gm_fleet_odd *odd = &f->odds[i];
        struct gm_text title = {0};
        gm_text_add(&title, "Odd: ");
        add_row_name(&title, f, odd->item, "a snapshot");
        gm_text_printf(&title, ", peak reserved %s against ", gm_fleet_delta_text(text, odd->reserved_delta));
        add_row_name(&title, f, odd->against, "another");
        out->failed = out->failed || title.failed;
        gm_md_fold(out, title.data == NULL ? "" : title.data);
        gm_text_free(&title);
        gm_md_name(out, f->items[odd->item].path, GM_MD_PATH, true);
        gm_text_add(out, " against ");
        gm_md_name(out, f->items[odd->against].path, GM_MD_PATH, true);
        gm_text_printf(out, ": held by call sites %s", gm_fleet_delta_text(text, odd->held_delta));
        gm_text_printf(out, ", cache and rounding %s\n\n",
                       gm_fleet_delta_text(text, gm_diff_minus(odd->reserved_delta, odd->held_delta)));
        add_changes(out, f, &odd->sites);
        gm_md_unfold(out);
    }
    if (f->odd_total > ODDS)
        gm_text_printf(out, "\n%zu more odd ranks in fleet_report.txt and fleet.json\n", f->odd_total - ODDS);
}

static void add_groups(struct gm_text *out, const struct gm_fleet *f)
{
    if (f->group_count < 2)
        return;
    gm_md_fold(out, "Groups of alike ranks");
    if (gm_fleet_has_iterations(f)) {
        gm_text_add(out, "At ");
        gm_fleet_add_column(out, &f->columns[f->reference]);
        gm_text_add(out, ":\n\n");
    }
    gm_text_add(out, "| Ranks | Number | Least held | Most held | Peak reserved up to |\n|:--|--:|--:|--:|--:|\n");
    for (size_t g = 0; g < f->group_count && gm_md_room(out, f->group_count - g); g++) {
        const struct gm_fleet_group *group = &f->groups[g];
        struct gm_text names = {0};
        gm_fleet_add_members(&names, f, group, 8);
        gm_text_add(out, "| ");
        add_prose(out, &names);
        gm_text_printf(out, " | %zu |", group->count);
        gm_md_size_cell(out, group->held_least);
        gm_md_size_cell(out, group->held_most);
        gm_md_size_cell(out, group->reserved_most);
        gm_text_add_char(out, '\n');
    }
    gm_md_unfold(out);
}

static void add_growth(struct gm_text *out, const struct gm_fleet *f)
{
    char text[GM_NUMBER_TEXT];
    if (f->growth_count == 0)
        return;
    gm_md_fold(out, "Growth over iterations");
    gm_text_add(out, "| | Iterations | Peak reserved, bytes per iteration | Allocated at the end | Full in |\n"
                     "|:--|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < f->growth_count && i < ROWS && gm_md_room(out, f->growth_count - i); i++) {
        const struct gm_fleet_growth *g = &f->growths[i];
        gm_text_add(out, "| ");
        gm_md_name(out, f->rows[g->row].label, GM_MD_NAME, true);
        gm_text_printf(out, " | %zu | ", g->count);
        gm_fleet_add_line(out, &g->reserved);
        gm_text_add(out, g->reserved.is_growing ? " (growing) | " : " | ");
        gm_fleet_add_line(out, &g->allocated_end);
        gm_text_add(out, g->allocated_end.is_growing ? " (growing) | " : " | ");
        if (g->iterations_left >= 0)
            gm_text_printf(out, "%s iterations |\n", gm_fleet_iterations(text, g->iterations_left));
        else
            gm_text_add(out, "- |\n");
    }
    gm_text_add(out, "\nWhat the last iteration holds at its end that the first one did not, all ranks:\n\n");
    add_changes(out, f, &f->survivors);
    gm_md_unfold(out);
}

void gm_words_fleet_markdown(struct gm_text *out, const struct gm_fleet *fleet, const char *const *charts)
{
    struct gm_text verdict = {0};
    gm_text_add(out, "# GPU memory of a job: ");
    gm_md_name(out, fleet->run_name == NULL ? "" : fleet->run_name, GM_MD_PATH, false);
    gm_text_printf(out, "\n\n%zu of %zu snapshots read, %zu rank%s", fleet->read_count, fleet->item_count,
                   fleet->row_count, gm_plural(fleet->row_count));
    if (gm_fleet_has_iterations(fleet))
        gm_text_printf(out, ", %zu iteration%s", fleet->column_count, gm_plural(fleet->column_count));
    gm_text_add(out, ". ");
    gm_fleet_add_verdict(&verdict, fleet);
    add_prose(out, &verdict);
    gm_text_add_char(out, '\n');
    add_unread(out, fleet);
    add_missing(out, fleet);
    for (const char *const *chart = charts; chart != NULL && chart[0] != NULL; chart += 2)
        add_image(out, chart);
    if (fleet->read_count == 0)
        return;
    add_columns(out, fleet);
    add_ooms(out, fleet);
    add_odds(out, fleet);
    add_groups(out, fleet);
    add_growth(out, fleet);
    add_grid(out, fleet);
}
