/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents as GitHub's Markdown. GitHub refuses comments of more than 65,536 characters, and README.md is there to be
 * pasted into one: tables and sections stop when BUDGET is used up and say that they do, those that are folded already
 * at FOLDS.
 */
#include "analyze/document/columns.h"
#include "analyze/document/escape.h"
#include "analyze/document/sites.h"
#include "analyze/document/writer.h"

#include <string.h>

enum { BUDGET = 56000, FOLDS = 40000, NAME = 60, PATH = 100 };

static void add_more(struct gm_doc *doc, const char *what)
{
    gm_text_printf(doc->out, "\n%s: see `%s` and `%s`.\n", what, doc->text_name, doc->json_name);
}

static bool is_in_fold(const struct gm_doc *doc)
{
    for (size_t i = 0; i < doc->depth; i++)
        if (doc->sections[i].is_folded)
            return true;
    return false;
}

static bool is_used_up(const struct gm_doc *doc)
{
    return doc->out->length >= (is_in_fold(doc) ? (size_t)FOLDS : (size_t)BUDGET);
}

/* Whether there is room for one more row or section, each a few KB at the very most. */
static bool has_room(struct gm_doc *doc)
{
    bool *is_full = &doc->is_full[is_in_fold(doc)];
    if (!*is_full && is_used_up(doc))
        add_more(doc, "More than fits here");
    *is_full |= is_used_up(doc);
    return !*is_full;
}

static void add_title(struct gm_doc *doc, const char *title, const char *name)
{
    gm_text_printf(doc->out, "# %s: ", title);
    gm_escape_cut(doc->out, name, PATH, false, gm_escape_code);
    gm_text_add_char(doc->out, '\n');
}

/* s[0..n) of a sentence: a name, or the prose between two names with the blanks at its ends. */
static void add_piece(struct gm_doc *doc, const char *s, size_t n, bool is_name, bool is_first)
{
    struct gm_text piece = {0};
    gm_text_add_bytes(&piece, s, n);
    const char *text = gm_doc_take(doc, &piece);
    if (is_name) {
        gm_escape_cut(doc->out, text, PATH, true, gm_escape_code);
        return;
    }
    gm_text_add(doc->out, n > 0 && s[0] == ' ' && !is_first ? " " : "");
    (is_first ? gm_escape_prose : gm_escape_prose_on)(doc->out, text);
    gm_text_add(doc->out, n > 1 && s[n - 1] == ' ' ? " " : "");
}

/* begins_line: its first word could begin a list or a heading. */
static void add_sentence(struct gm_doc *doc, const char *sentence, bool begins_line)
{
    bool is_name = false;
    for (const char *from = sentence;; is_name = !is_name) {
        const char *to = strchr(from, is_name ? GM_QUOTED[sizeof GM_QUOTED - 2] : GM_QUOTED[0]);
        const size_t n = to == NULL ? strlen(from) : (size_t)(to - from);
        if (n > 0 || is_name)
            add_piece(doc, from, n, is_name, begins_line && from == sentence);
        if (to == NULL)
            return;
        from = to + 1;
    }
}

static void open_section(struct gm_doc *doc, const char *key, const char *title)
{
    struct gm_doc_section *section = &doc->sections[doc->depth - 1];
    (void)key;
    if (title == NULL)
        return;
    section->is_hidden = !has_room(doc);
    doc->in_list = false;
    if (section->is_hidden)
        return;
    gm_text_add(doc->out, section->is_folded ? "\n<details>\n<summary>" : doc->depth > 1 ? "\n#### " : "\n## ");
    add_sentence(doc, title, false);
    gm_text_add(doc->out, section->is_folded ? "</summary>\n" : "\n");
}

static void close_section(struct gm_doc *doc)
{
    const struct gm_doc_section *section = &doc->sections[doc->depth - 1];
    if (section->has_title && section->is_folded)
        gm_text_add(doc->out, "\n</details>\n");
    doc->in_list = false;
}

/* A site, or several, one a line. */
static void add_sites(struct gm_doc *doc, const char *lines)
{
    while (lines != NULL) {
        const char *site = gm_doc_next_line(doc, &lines);
        struct gm_text cut = {0};
        gm_site_add(&cut, site, PATH);
        (gm_site_has_stack(site) ? gm_escape_code : gm_escape_prose)(doc->out, gm_doc_take(doc, &cut));
        gm_text_add(doc->out, lines != NULL ? "<br>" : "");
    }
}

/* "1. **info:** A title<br>", and below it what follows the title. */
static void say_step(struct gm_doc *doc, const char *mark, const char *sentence)
{
    const char *rest = sentence;
    gm_text_printf(doc->out, "%zu. **%s:** ", ++doc->steps, mark);
    add_sentence(doc, gm_doc_next_line(doc, &rest), false);
    if (rest != NULL) {
        gm_text_add(doc->out, "<br>\n   ");
        add_sentence(doc, rest, true);
    }
    gm_text_add_char(doc->out, '\n');
}

/* A fenced block in the item before it. Its lines hold names out of a file: a fence is longer than any backticks. */
static void say_diff(struct gm_doc *doc, const char *lines)
{
    size_t ticks = 2, run = 0;
    for (const char *c = lines; *c != '\0'; c++) {
        run = *c == '`' ? run + 1 : 0;
        ticks = run > ticks ? run : ticks;
    }
    gm_text_add(doc->out, "\n   ");
    gm_text_repeat(doc->out, '`', ticks + 1);
    gm_text_add(doc->out, "diff\n");
    while (lines != NULL) {
        gm_text_add(doc->out, "   ");
        gm_columns_cut(doc->out, gm_doc_next_line(doc, &lines), PATH, false);
        gm_text_add_char(doc->out, '\n');
    }
    gm_text_add(doc->out, "   ");
    gm_text_repeat(doc->out, '`', ticks + 1);
    gm_text_add(doc->out, "\n\n");
}

static void say(struct gm_doc *doc, enum gm_say how, const char *key, const char *sentence)
{
    static const char *const before[] = {[GM_SAY] = "",
                                         [GM_SAY_ITEM] = "- ",
                                         [GM_SAY_STRONG] = "**",
                                         [GM_SAY_WARNING] = "> [!WARNING]\n> ",
                                         [GM_SAY_MARK] = "> [!WARNING]\n> ",
                                         [GM_SAY_LABEL] = "- ",
                                         [GM_SAY_STEP] = "",
                                         [GM_SAY_DIFF] = ""};
    const bool is_item = how == GM_SAY_ITEM || how == GM_SAY_LABEL || how == GM_SAY_STEP;
    if (!has_room(doc))
        return;
    if (how == GM_SAY_DIFF) {
        say_diff(doc, sentence);
        return;
    }
    if (doc->out->length > 0 && !(is_item && doc->in_list))
        gm_text_add_char(doc->out, '\n');
    doc->in_list = is_item;
    if (how == GM_SAY_STEP) {
        say_step(doc, key, sentence);
        return;
    }
    if (how == GM_SAY_LINE) {
        gm_escape_code(doc->out, sentence);
        gm_text_add_char(doc->out, '\n');
        return;
    }
    gm_text_add(doc->out, before[how]);
    if (how == GM_SAY_MARK || how == GM_SAY_LABEL)
        gm_text_printf(doc->out, "**%s:** ", key);
    add_sentence(doc, sentence, how != GM_SAY_STRONG && how != GM_SAY_LABEL && how != GM_SAY_MARK);
    gm_text_add(doc->out, how == GM_SAY_STRONG ? "**\n" : "\n");
}

/* What is ours, with numbers in it. */
static void add_figure(struct gm_text *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '<')
            gm_text_add(out, "&lt;");
        else
            gm_text_add_char(out, *text);
}

static void add_text(struct gm_doc *doc, enum gm_unit unit, const char *text)
{
    struct gm_text *out = doc->out;
    if (gm_unit_is_figure(unit)) {
        add_figure(out, text);
        return;
    }
    if (unit == GM_NAME || unit == GM_PATH)
        gm_escape_cut(out, text, unit == GM_NAME ? NAME : PATH, unit == GM_PATH, gm_escape_code);
    else if (unit == GM_SITE)
        add_sites(doc, text);
    else
        add_sentence(doc, text, false);
}

/* What is not known of a name is "-", of words nothing. */
static void add_cell(const struct gm_cell_of *cell, bool is_foot)
{
    char small[GM_NUMBER_TEXT];
    struct gm_text *out = cell->doc->out;
    const enum gm_unit unit = cell->column->unit;
    const bool is_known = gm_value_is_known(unit, gm_doc_value(cell));
    const char *text = gm_cell_text(small, cell, is_foot);
    if (!is_known && !gm_unit_is_figure(unit) && (is_foot || unit == GM_TEXT || (cell->column->in & GM_UNDER) != 0))
        text = "";
    gm_text_add_char(out, ' ');
    if (is_known || gm_unit_is_figure(unit))
        add_text(cell->doc, is_foot && !gm_unit_is_figure(unit) ? GM_TEXT : unit, text);
    else
        add_figure(out, text);
    gm_text_add(out, text[0] == '\0' ? "|" : " |");
}

static bool is_shown(const struct gm_column *column)
{
    return (column->in & GM_MD) != 0;
}

static void add_fields(struct gm_doc *doc, const struct gm_column *columns, size_t count, const struct gm_cell_of *row)
{
    char small[GM_NUMBER_TEXT];
    struct gm_cell_of cell = *row;
    for (size_t i = 0; i < count && has_room(doc); i++) {
        cell.column = &columns[i];
        if (!is_shown(cell.column) || gm_doc_is_left_out(&cell))
            continue;
        gm_text_add(doc->out, doc->in_list ? "- " : "\n- ");
        gm_text_printf(doc->out, "%s: ", cell.column->title);
        add_text(doc, cell.column->unit, gm_cell_text(small, &cell, false));
        gm_text_add_char(doc->out, '\n');
        doc->in_list = true;
    }
}

/* Columns that stand below their rows in text are left out where they say nothing of any row. */
static bool has_column(struct gm_doc *doc, const struct gm_table *table, size_t i, size_t shown)
{
    struct gm_cell_of cell = {doc, NULL, table->of, &table->columns[i]};
    bool any = is_shown(cell.column) && (cell.column->in & GM_UNDER) == 0;
    for (size_t n = 0; is_shown(cell.column) && !any && n < shown; n++) {
        cell.row = gm_table_row(doc, table, n);
        any = gm_value_is_known(cell.column->unit, gm_doc_value(&cell));
    }
    return any;
}

static void add_head(struct gm_doc *doc, const struct gm_table *table, uint64_t columns)
{
    struct gm_text *out = doc->out;
    gm_text_add(out, "\n|");
    for (size_t i = 0; i < table->column_count; i++) {
        if ((columns >> i & 1) == 0)
            continue;
        gm_text_add_char(out, ' ');
        add_sentence(doc, table->columns[i].title == NULL ? "" : table->columns[i].title, false);
        gm_text_add(out, table->columns[i].title == NULL ? "|" : " |");
    }
    gm_text_add(out, "\n|");
    for (size_t i = 0; i < table->column_count; i++)
        if ((columns >> i & 1) != 0)
            gm_text_add(out, gm_unit_is_figure(table->columns[i].unit) ? "--:|" : ":--|");
    gm_text_add_char(out, '\n');
}

static void add_row(struct gm_doc *doc, const struct gm_table *table, uint64_t columns, const void *row, bool is_foot)
{
    struct gm_cell_of cell = {doc, row, table->of, NULL};
    gm_text_add_char(doc->out, '|');
    for (size_t i = 0; i < table->column_count; i++) {
        cell.column = &table->columns[i];
        if ((columns >> i & 1) != 0)
            add_cell(&cell, is_foot);
    }
    gm_text_add_char(doc->out, '\n');
}

static void add_table(struct gm_doc *doc, const struct gm_table *table)
{
    const size_t shown = gm_doc_shown(doc, table);
    size_t n = 0;
    uint64_t columns = 0; /* a bit for each that is shown */
    if (!has_room(doc))
        return;
    for (size_t i = 0; i < table->column_count; i++)
        columns |= (uint64_t)has_column(doc, table, i, shown) << i;
    doc->in_list = false;
    if (table->title != NULL) {
        gm_text_add_char(doc->out, '\n');
        add_sentence(doc, table->title, true);
        gm_text_add_char(doc->out, '\n');
    }
    add_head(doc, table, columns);
    for (; n < shown + table->foot_count && !is_used_up(doc); n++)
        add_row(doc, table, columns, gm_table_row(doc, table, n), n >= shown);
    n = n < shown ? n : shown;
    if (n < (table->is_silent ? shown : table->count))
        add_more(doc, gm_doc_printf(doc, "%zu %s", table->count - n, table->cut == GM_CUT_HEAD ? "earlier" : "more"));
    doc->is_full[is_in_fold(doc)] |= is_used_up(doc);
}

const struct gm_writer gm_markdown_writer = {GM_MD, add_title, open_section, close_section,
                                             NULL,  say,       add_fields,   add_table};

void gm_doc_picture(struct gm_doc *doc, const char *file, const char *caption)
{
    if (!gm_doc_is(doc, GM_MD))
        return;
    gm_text_add(doc->out, "\n![");
    gm_escape_alt(doc->out, caption);
    gm_text_add(doc->out, "](");
    gm_escape_url(doc->out, file);
    gm_text_add(doc->out, ")\n");
}
