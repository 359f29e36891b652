/* SPDX-License-Identifier: Apache-2.0
 *
 * The manual page (macros of man(7)) and the table of options for docs/cli.md. The page is the help's head and tail
 * taken apart: "NAME: ...", paragraphs "Examples:", "Usage: ..." and "Exit codes: ...", operands as rows that begin
 * with two blanks; options with what their texts have behind GM_MORE.
 */
#include "analyze/cli/manual.h"

#include <string.h>

const char *const gm_manual_forms[] = {"man", "markdown", "bash", "zsh", "fish", NULL};

static const char *const programs[] = {"gmanalyze", "gmdiff", "gmdry", "gmfleet", "gmreplay", "gmtrace"};

enum { WIDTH = 78 };

/* ---- text for man ------------------------------------------------------------------------------------------------ */

/* A paragraph that is filled: column of the line that is being written, and whether it stands in `...`. */
struct filling {
    struct gm_text *out;
    size_t column;
    bool is_code;
};

/* One character; what man(7) would take for its own is escaped. */
static void add_plain(struct gm_text *out, char c)
{
    if (c == '\\')
        gm_text_add(out, "\\e");
    else if (c == '-')
        gm_text_add(out, "\\-");
    else
        gm_text_add_char(out, c);
}

static void add_plain_bytes(struct gm_text *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        add_plain(out, text[i]);
}

/* Whether at[0] begins "[words](page)". */
static bool is_link(const char *at)
{
    const char *end = strpbrk(at + 1, "[]");
    return at[0] == '[' && end != NULL && strncmp(end, "](", 2) == 0;
}

static void add_word(struct filling *f, const char *word, size_t length)
{
    GM_FREED struct gm_text escaped = {0};
    for (size_t i = 0; i < length; i++) {
        if (word[i] == '`')
            gm_text_add(&escaped, (f->is_code = !f->is_code) ? "\\fB" : "\\fR");
        else if (!f->is_code && is_link(word + i))
            continue;
        else if (!f->is_code && word[i] == ']' && word[i + 1] == '(')
            i += strcspn(word + i, ")"); /* its page is named by its words */
        else
            add_plain(&escaped, word[i]);
    }
    if (f->column > 0 && f->column + 1 + escaped.length > WIDTH) {
        gm_text_add_char(f->out, '\n');
        f->column = 0;
    } else if (f->column > 0) {
        gm_text_add_char(f->out, ' ');
        f->column++;
    }
    if (f->column == 0 && (word[0] == '.' || word[0] == '\''))
        gm_text_add(f->out, "\\&");
    gm_text_add_bytes(f->out, escaped.data, escaped.length);
    f->column += escaped.length;
    f->out->failed |= escaped.failed;
}

static void fill(struct filling *f, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t n = strcspn(text + i, " \n" GM_MORE);
        n = n < length - i ? n : length - i;
        if (n > 0)
            add_word(f, text + i, n);
        i += n + 1;
    }
}

static void end_filling(struct filling *f)
{
    if (f->column > 0)
        gm_text_add_char(f->out, '\n');
    f->column = 0;
}

static void add_paragraph(struct gm_text *out, const char *text, size_t length)
{
    struct filling f = {out, 0, false};
    fill(&f, text, length);
    end_filling(&f);
}

/* ---- head and tail of the help ----------------------------------------------------------------------------------- */

/* The next paragraph from *at on, and *at behind it. Its length; 0: there is none. */
static size_t next_paragraph(const char **paragraph, const char **at)
{
    *at += strspn(*at, "\n");
    const char *end = strstr(*at, "\n\n");
    *paragraph = *at;
    *at = end == NULL ? *at + strlen(*at) : end;
    return (size_t)(*at - *paragraph);
}

/* What follows `mark` in the paragraph that begins with it; 0: there is none. */
static size_t find_paragraph(const char **paragraph, const char *text, const char *mark)
{
    for (size_t length, n = strlen(mark); (length = next_paragraph(paragraph, &text)) > 0;)
        if (strncmp(*paragraph, mark, n) == 0) {
            *paragraph += n;
            return length - n;
        }
    return 0;
}

/* A paragraph of rows "  WORD  text", whose texts may go on in lines that are indented more. */
static void add_rows(struct gm_text *out, const char *text, size_t length)
{
    struct filling f = {out, 0, false};
    for (const char *line = text, *end = text + length; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line)), *stop = newline != NULL ? newline : end;
        const char *gap = strstr(line + 2, "  ");
        if (line[2] != ' ' && gap != NULL && gap < stop) {
            end_filling(&f);
            gm_text_add(out, ".TP\n\\fI");
            add_plain_bytes(out, line + 2, (size_t)(gap - line - 2));
            gm_text_add(out, "\\fR\n");
            line = gap;
        }
        fill(&f, line, (size_t)(stop - line));
        line = stop + 1;
    }
    end_filling(&f);
}

/* "0 done; 1 done, but ...": a row for each. */
static void add_codes(struct gm_text *out, const char *text, size_t length)
{
    for (const char *at = text, *end = text + length; at < end;) {
        const char *next = at;
        do
            next = memchr(next + 1, ';', (size_t)(end - next - 1));
        while (next != NULL && strchr("012345", next[2]) == NULL);
        gm_text_printf(out, ".TP\n%c\n", *at);
        add_paragraph(out, at + 1, (size_t)((next != NULL ? next : end) - at - 1));
        at = next != NULL ? next + 2 : end;
    }
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static void add_synopsis(struct gm_text *out, const struct gm_program *program)
{
    const char *usage, *name_end = strchr(program->head, ':') + 2, *line_end = strchr(name_end, '\n');
    const size_t length = find_paragraph(&usage, program->head, "Usage: ");
    const char *rest = memchr(usage, '\n', length), *operands = rest != NULL ? rest + 1 : usage + length;
    struct filling f = {out, 0, false};
    gm_text_add(out, ".SH NAME\n");
    add_word(&f, program->name, strlen(program->name));
    add_word(&f, "-", 1);
    fill(&f, name_end, (size_t)(line_end - name_end));
    end_filling(&f);
    gm_text_printf(out, ".SH SYNOPSIS\n.B %s\n", program->name);
    add_paragraph(out, usage + strlen(program->name), (size_t)(operands - usage) - strlen(program->name));
    gm_text_add(out, ".SH DESCRIPTION\n");
    add_rows(out, operands, length - (size_t)(operands - usage));
    const char *at = program->tail, *paragraph;
    for (size_t n; (n = next_paragraph(&paragraph, &at)) > 0;)
        if (paragraph[0] != ' ' && strncmp(paragraph, "Exit codes: ", 12) != 0) {
            gm_text_add(out, ".PP\n");
            add_paragraph(out, paragraph, n);
        }
}

/* "`-o DIR`, `--results DIR`" */
static void add_names(struct gm_text *out, const struct gm_option *option)
{
    const char *blank = option->argument != NULL ? " " : "",
               *argument = option->argument != NULL ? option->argument : "";
    if (option->letter != 0)
        gm_text_printf(out, "`-%c%s%s`, ", option->letter, blank, argument);
    gm_text_printf(out, "`--%s%s%s`", option->name, blank, argument);
}

/* The help, and what is for the manual only as sentences behind it. */
static void add_help(struct gm_text *out, const struct gm_option *option)
{
    const size_t brief = strcspn(option->help, GM_MORE);
    gm_text_add_bytes(out, option->help, brief);
    if (option->help[brief] != '\0')
        gm_text_printf(out, ". %s", option->help + brief + 1);
}

static void add_options(struct gm_text *out, const struct gm_program *program)
{
    gm_text_add(out, ".SH OPTIONS\n");
    for (size_t i = 0; i < program->option_count; i++) {
        GM_FREED struct gm_text names = {0}, text = {0};
        gm_text_add(out, ".TP\n");
        add_names(&names, &program->options[i]);
        add_paragraph(out, names.data != NULL ? names.data : "", names.length);
        add_help(&text, &program->options[i]);
        add_paragraph(out, text.data != NULL ? text.data : "", text.length);
        out->failed |= names.failed || text.failed;
    }
}

static bool has_option(const struct gm_program *program, const char *name)
{
    for (size_t i = 0; i < program->option_count; i++)
        if (strcmp(program->options[i].name, name) == 0)
            return true;
    return false;
}

static void add_files(struct gm_text *out, const struct gm_program *program)
{
    gm_text_add(out, ".SH FILES\n");
    if (has_option(program, "results"))
        gm_text_add(out, ".TP\n.I results/YYYYMMDD_HHMMSS_NAME/\na run directory: there when it is complete, and never "
                         "overwritten\n.TP\n.I results/latest\na symbolic link to the newest of them\n");
    gm_text_add(out,
                ".TP\n.IR FILE \" of an option\"\nis written under a hidden name beside it, and appears when it is "
                "complete\n");
}

static void add_man(struct gm_text *out, const struct gm_program *program)
{
    const char *text;
    size_t length;
    gm_text_add(out, ".TH ");
    for (const char *c = program->name; *c != '\0'; c++)
        gm_text_add_char(out, (char)(*c - 'a' + 'A'));
    gm_text_printf(out, " 1 %s \"gmanalyze %s\"\n", GM_DATE, GM_VERSION);
    add_synopsis(out, program);
    add_options(out, program);
    gm_text_add(out, ".SH EXIT STATUS\n");
    length = find_paragraph(&text, program->tail, "Exit codes: ");
    add_codes(out, text, length);
    add_files(out, program);
    gm_text_add(out, ".SH EXAMPLES\n.EX\n");
    length = find_paragraph(&text, program->head, "Examples:\n");
    add_plain_bytes(out, text, length);
    gm_text_add(out, "\n.EE\n.SH SEE ALSO\n");
    for (size_t i = 0, n = 0; i < sizeof programs / sizeof *programs; i++)
        if (strcmp(programs[i], program->name) != 0)
            gm_text_printf(out, "%s.BR %s (1)", n++ == 0 ? "" : " ,\n", programs[i]);
    gm_text_add(out,
                "\n.PP\nPages that are called *.md here are in\n.I share/doc/gmanalyze/docs\nof an installation.\n");
}

static void add_markdown(struct gm_text *out, const struct gm_program *program)
{
    gm_text_add(out, "| option | meaning |\n|---|---|\n");
    for (size_t i = 0; i < program->option_count; i++) {
        GM_FREED struct gm_text text = {0};
        gm_text_add(out, "| ");
        add_names(out, &program->options[i]);
        gm_text_add(out, " | ");
        add_help(&text, &program->options[i]);
        for (const char *c = text.data != NULL ? text.data : ""; *c != '\0'; c++)
            gm_text_printf(out, "%s%c", *c == '|' ? "\\" : "", *c);
        gm_text_add(out, " |\n");
        out->failed |= text.failed;
    }
}

void gm_manual(const struct gm_program *program, enum gm_manual form, struct gm_text *out)
{
    if (form == GM_MANUAL_MAN)
        add_man(out, program);
    else if (form == GM_MANUAL_MARKDOWN)
        add_markdown(out, program);
    else
        gm_completion(program, form, out);
}
