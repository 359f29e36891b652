/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents for a terminal: no line is wider than GM_LINE. The columns of a table are as wide as what stands in them;
 * where that is too much the names give way, the widest one first, and numbers that no memory has at last. Of documents
 * with an appendix each section is written apart, until it is known where it stands.
 */
#include "analyze/document/columns.h"
#include "analyze/document/sites.h"
#include "analyze/document/writer.h"

#include <string.h>

enum { INDENT = 2, LABEL = 10, STEP = 5, GAP = 2, UNDER = 6, LEAST = 8, CELLS = 24 };

static void add_upper(struct gm_text *out, const char *title, char under)
{
    for (const char *c = title; *c != '\0'; c++)
        gm_text_add_char(out, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    gm_text_add_char(out, '\n');
    gm_text_repeat(out, under, under == '=' ? GM_LINE : gm_columns(title));
    gm_text_add_char(out, '\n');
}

static void add_title(struct gm_doc *doc, const char *title, const char *name)
{
    (void)name; /* one of the key-values that follow */
    add_upper(doc->out, title, '=');
}

static void open_section(struct gm_doc *doc, const char *key, const char *title)
{
    (void)key;
    if (doc->lines > 0 && doc->depth == 1) {
        doc->first = doc->out;
        doc->out = &doc->section;
    }
    if (doc->lines > 0 && doc->fold == 0 && doc->sections[doc->depth - 1].is_folded) {
        doc->fold = doc->depth;
        doc->out = &doc->appendix;
    }
    if (title == NULL)
        return;
    gm_text_add_char(doc->out, '\n');
    if (doc->depth > (doc->fold > 0 ? doc->fold : 1)) {
        gm_text_add(doc->out, "  ");
        gm_columns_wrap(doc->out, title, INDENT);
        return;
    }
    add_upper(doc->out, title, '-');
}

static size_t lines_of(const struct gm_text *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->length; i++)
        n += text->data[i] == '\n';
    return n;
}

static void move(struct gm_text *to, struct gm_text *from)
{
    if (from->length > 0)
        gm_text_add_bytes(to, from->data, from->length);
    to->failed |= from->failed;
    gm_text_free(from);
}

static void close_section(struct gm_doc *doc)
{
    if (doc->fold > 0 && doc->depth == doc->fold) {
        doc->out = &doc->section;
        doc->fold = 0;
    }
    if (doc->lines == 0 || doc->depth > 1)
        return;
    const bool fits = lines_of(doc->first) + lines_of(&doc->section) <= doc->lines;
    move(fits ? doc->first : &doc->appendix, &doc->section);
    doc->out = doc->first;
    doc->first = NULL;
}

static void end(struct gm_doc *doc)
{
    if (doc->appendix.length > 0) {
        gm_text_add_char(doc->out, '\n');
        add_upper(doc->out, "Appendix", '=');
    }
    move(doc->out, &doc->appendix);
}

/* "SALVAGED  This file ..." */
static void say_labelled(struct gm_text *out, const char *label, const char *sentence)
{
    gm_columns_cell(out, label, LABEL, GM_CELL_LEFT);
    gm_columns_wrap(out, sentence, LABEL);
}

static bool is_below_heading(const struct gm_text *out)
{
    return out->failed || out->length < 2 || out->data[out->length - 2] == '-' || out->data[out->length - 2] == '\n';
}

/* "  1. [info] A title", and below it what follows the title. */
static void say_step(struct gm_doc *doc, const char *mark, const char *sentence)
{
    const char *rest = sentence, *title = gm_doc_next_line(doc, &rest);
    gm_text_printf(doc->out, "%s%3zu. ", doc->steps == 0 && is_below_heading(doc->out) ? "" : "\n", doc->steps + 1);
    gm_columns_wrap(doc->out, gm_doc_printf(doc, "[%s] %s", mark, title), STEP);
    doc->steps++;
    if (rest == NULL)
        return;
    gm_text_repeat(doc->out, ' ', STEP);
    gm_columns_wrap(doc->out, rest, STEP);
}

/* What is too long loses its end; "@@ SITE @@" is as short as the site can be. */
static void add_diff_line(struct gm_doc *doc, const char *line, size_t columns)
{
    static const char mark[] = "@@ ";
    const size_t n = strlen(line), around = 2 * (sizeof mark - 1);
    if (strncmp(line, mark, sizeof mark - 1) != 0 || n < around) {
        gm_columns_cut(doc->out, line, columns, false);
        return;
    }
    gm_text_add(doc->out, mark);
    gm_site_add(doc->out, gm_doc_printf(doc, "%.*s", (int)(n - around), line + sizeof mark - 1), columns - around);
    gm_text_add(doc->out, " @@");
}

static void say_diff(struct gm_doc *doc, const char *lines)
{
    while (lines != NULL) {
        gm_text_repeat(doc->out, ' ', STEP + INDENT);
        add_diff_line(doc, gm_doc_next_line(doc, &lines), GM_LINE - STEP - INDENT);
        gm_text_add_char(doc->out, '\n');
    }
}

static void say(struct gm_doc *doc, enum gm_say how, const char *key, const char *sentence)
{
    const size_t in_section = doc->depth > 0 ? INDENT : 0;
    if (how == GM_SAY_DIFF) {
        say_diff(doc, sentence);
        return;
    }
    if (how == GM_SAY_STEP) {
        say_step(doc, key, sentence);
        return;
    }
    if (how == GM_SAY_MARK || how == GM_SAY_LABEL) {
        say_labelled(doc->out, key, sentence);
        gm_text_add(doc->out, how == GM_SAY_MARK ? "\n" : "");
        return;
    }
    if (how == GM_SAY_WARNING || (how == GM_SAY_STRONG && doc->depth == 0))
        gm_text_add_char(doc->out, '\n');
    if (how == GM_SAY_WARNING)
        gm_text_add(doc->out, "WARNING: ");
    else
        gm_text_repeat(doc->out, ' ', in_section);
    if (how == GM_SAY_LINE)
        gm_text_printf(doc->out, "  %s\n", sentence);
    else
        gm_columns_wrap(doc->out, sentence, how == GM_SAY_ITEM ? in_section + 4 : in_section);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static bool is_shown(const struct gm_column *column)
{
    return (column->in & (GM_TXT | GM_UNDER)) == GM_TXT;
}

/* A table whose cells are written, before it is known how wide they may be. */
struct grid {
    const struct gm_column *columns[CELLS];
    size_t widths[CELLS];
    size_t column_count, row_count; /* with the titles */
    const char **cells;
};

static void put(struct grid *g, size_t row, size_t column, const char *text)
{
    const size_t wants = gm_columns(text);
    g->cells[row * g->column_count + column] = text;
    g->widths[column] = wants > g->widths[column] ? wants : g->widths[column];
}

static bool fill(struct grid *g, struct gm_doc *doc, const struct gm_table *table)
{
    const size_t shown = gm_doc_shown(doc, table);
    for (size_t i = 0; i < table->column_count && g->column_count < CELLS; i++)
        if (is_shown(&table->columns[i]))
            g->columns[g->column_count++] = &table->columns[i];
    g->row_count = 1 + shown + table->foot_count;
    g->cells = gm_doc_rows(doc, g->row_count * g->column_count, sizeof *g->cells);
    for (size_t row = 0; g->cells != NULL && row < g->row_count; row++)
        for (size_t k = 0; k < g->column_count; k++) {
            char small[GM_NUMBER_TEXT];
            const struct gm_column *column = g->columns[k];
            const char *title = column->title == NULL ? "" : column->title;
            const struct gm_cell_of cell = {doc, row == 0 ? NULL : gm_table_row(doc, table, row - 1), table->of,
                                            column};
            const char *text = row == 0 ? title : gm_cell_text(small, &cell, row > shown);
            put(g, row, k, text == small ? gm_doc_printf(doc, "%s", small) : text);
        }
    return g->cells != NULL;
}

/* The column that is widest, the last one of equals: of names that can give way, or if there are none, of all. */
static size_t widest_of(const struct grid *g)
{
    size_t names = SIZE_MAX, all = 0;
    for (size_t k = 0; k < g->column_count; k++) {
        all = g->widths[k] >= g->widths[all] ? k : all;
        if (!gm_unit_is_figure(g->columns[k]->unit) && g->widths[k] > LEAST &&
            (names == SIZE_MAX || g->widths[k] >= g->widths[names]))
            names = k;
    }
    return names != SIZE_MAX ? names : all;
}

static void fit(struct grid *g)
{
    size_t total = INDENT;
    for (size_t k = 0; k < g->column_count; k++)
        total += g->widths[k] + (k > 0 ? GAP : 0);
    for (; total > GM_LINE && g->column_count > 0; total--)
        g->widths[widest_of(g)]--;
}

static void add_cell(struct gm_text *out, const struct grid *g, size_t row, size_t k)
{
    const struct gm_column *column = g->columns[k];
    const char *text = g->cells[row * g->column_count + k];
    const bool is_last = k + 1 == g->column_count;
    if (column->unit == GM_SITE && is_last)
        gm_site_row(out, text, g->widths[k]);
    else if (is_last && !gm_unit_is_figure(column->unit))
        gm_columns_cut(out, text, g->widths[k], column->unit == GM_PATH);
    else if (column->unit == GM_SITE) {
        const size_t from = out->length;
        gm_site_add(out, text, g->widths[k]);
        const size_t used = out->failed ? g->widths[k] : gm_columns(out->data + from);
        gm_text_repeat(out, ' ', g->widths[k] - used);
    } else
        gm_columns_cell(out, text, g->widths[k],
                        gm_unit_is_figure(column->unit) ? GM_CELL_RIGHT
                        : column->unit == GM_PATH       ? GM_CELL_TAIL
                                                        : GM_CELL_LEFT);
}

static bool has_titles(const struct grid *g)
{
    for (size_t k = 0; k < g->column_count; k++)
        if (g->cells[k][0] != '\0')
            return true;
    return false;
}

static void drop_blanks(struct gm_text *out)
{
    while (!out->failed && out->length > 0 && out->data[out->length - 1] == ' ')
        out->data[--out->length] = '\0';
}

/* A site, or several, one a line. */
static void add_sites(struct gm_doc *doc, const char *lines)
{
    while (lines != NULL) {
        gm_text_repeat(doc->out, ' ', UNDER);
        gm_site_row(doc->out, gm_doc_next_line(doc, &lines), GM_LINE - UNDER);
        gm_text_add_char(doc->out, '\n');
    }
}

/* What stands below a row. */
static void add_under(struct gm_doc *doc, const struct gm_table *table, const void *row)
{
    for (size_t i = 0; i < table->column_count; i++) {
        char small[GM_NUMBER_TEXT];
        const struct gm_cell_of cell = {doc, row, table->of, &table->columns[i]};
        if ((cell.column->in & GM_TXT) == 0 || is_shown(cell.column) ||
            !gm_value_is_known(cell.column->unit, gm_doc_value(&cell)))
            continue;
        const char *text = gm_cell_text(small, &cell, true);
        if (cell.column->unit == GM_SITE) {
            add_sites(doc, text);
            continue;
        }
        gm_text_repeat(doc->out, ' ', UNDER);
        gm_columns_wrap(doc->out, text, UNDER);
    }
}

static void add_grid(struct gm_doc *doc, const struct gm_table *table, const struct grid *g)
{
    struct gm_text *out = doc->out;
    const size_t shown = gm_doc_shown(doc, table);
    for (size_t row = has_titles(g) ? 0 : 1; row < g->row_count; row++) {
        gm_text_repeat(out, ' ', INDENT);
        for (size_t k = 0; k < g->column_count; k++) {
            gm_text_repeat(out, ' ', k > 0 ? GAP : 0);
            add_cell(out, g, row, k);
        }
        drop_blanks(out);
        gm_text_add_char(out, '\n');
        if (row > 0)
            add_under(doc, table, gm_table_row(doc, table, row - 1));
        if (table->cut == GM_CUT_MIDDLE && shown < table->count && row == shown / 2)
            gm_text_printf(out, "  ... %zu more ...\n", table->count - shown);
    }
}

static void add_table(struct gm_doc *doc, const struct gm_table *table)
{
    const size_t shown = gm_doc_shown(doc, table);
    struct grid g = {.column_count = 0};
    if (!is_below_heading(doc->out))
        gm_text_add_char(doc->out, '\n');
    if (table->title != NULL) {
        gm_text_repeat(doc->out, ' ', INDENT);
        gm_columns_wrap(doc->out, table->title, INDENT);
    }
    if (!fill(&g, doc, table))
        return;
    fit(&g);
    add_grid(doc, table, &g);
    if (shown < table->count && table->cut != GM_CUT_MIDDLE && !table->is_silent)
        gm_text_printf(doc->out, "  %zu %s: see %s\n", table->count - shown,
                       table->cut == GM_CUT_HEAD ? "earlier" : "more", doc->json_name);
}

/* ---- key-values -------------------------------------------------------------------------------------------------- */

static void add_fields(struct gm_doc *doc, const struct gm_column *columns, size_t count, const struct gm_cell_of *row)
{
    size_t width = 0;
    struct gm_cell_of cell = *row;
    for (size_t i = 0; i < count; i++)
        if (is_shown(&columns[i]) && gm_columns(columns[i].title) > width)
            width = gm_columns(columns[i].title);
    for (size_t i = 0; i < count; i++) {
        char small[GM_NUMBER_TEXT];
        cell.column = &columns[i];
        if (!is_shown(cell.column) || gm_doc_is_left_out(&cell))
            continue;
        const size_t indent = doc->depth > 0 ? INDENT : 0;
        gm_text_repeat(doc->out, ' ', indent);
        gm_columns_cell(doc->out, cell.column->title, width + GAP, GM_CELL_LEFT);
        gm_columns_wrap(doc->out, gm_cell_text(small, &cell, false), indent + width + GAP);
    }
}

const struct gm_writer gm_text_writer = {GM_TXT, add_title, open_section, close_section,
                                         end,    say,       add_fields,   add_table};
