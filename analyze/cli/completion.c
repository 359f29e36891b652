/* SPDX-License-Identifier: Apache-2.0
 *
 * Scripts with which bash, zsh and fish complete a program's command line: templates (completion.bash ...) whose marks
 * (@PROGRAM@ ...) are replaced by what its table has. All that they propose is in them: no program runs while somebody
 * types.
 */
#include "analyze/cli/manual.h"
#include "analyze/run/run_names.h"

#include <string.h>

static const char bash[] = {
#include "cli/completion_bash.inc"
    '\0'};
static const char zsh[] = {
#include "cli/completion_zsh.inc"
    '\0'};
static const char fish[] = {
#include "cli/completion_fish.inc"
    '\0'};

/* ---- what there is to propose ------------------------------------------------------------------------------------ */

enum kind { WORDS, LIST, FILES, DIRECTORIES, NOTHING };

static enum kind kind_of(const struct gm_option *option)
{
    const char *argument = option->argument;
    if (option->choices != NULL || option->words != NULL)
        return option->is_list || option->kind == GM_OPTION_CHOICES ? LIST : WORDS;
    if (strcmp(argument, "FILE") == 0 || strcmp(argument, "OUT") == 0)
        return FILES;
    return strcmp(argument, "DIR") == 0 ? DIRECTORIES : NOTHING;
}

/* The words of an option, each after a blank and in `quote`s. */
static void add_words(struct gm_text *out, const struct gm_option *option, char quote)
{
    GM_FREED struct gm_text words = {0};
    for (size_t i = 0; option->choices != NULL && option->choices[i] != NULL; i++)
        gm_text_printf(&words, "%s\n", option->choices[i]);
    if (option->words != NULL)
        option->words(&words);
    if (option->kind == GM_OPTION_LISTED)
        gm_text_add(&words, "list\n");
    for (const char *at = words.data; at != NULL && *at != '\0';) {
        const size_t n = strcspn(at, "\n");
        gm_text_printf(out, " %c%.*s%c", quote, (int)n, at, quote);
        at += n + 1;
    }
    out->failed |= words.failed;
}

/* A help up to GM_MORE, or an argument, for a place in '...' where `special` have a '\\' before them. */
static void add_escaped(struct gm_text *out, const char *text, const char *special)
{
    for (; *text != '\0' && *text != *GM_MORE; text++)
        gm_text_printf(out, "%s%c", *text == '\'' ? "'\\'" : strchr(special, *text) != NULL ? "\\" : "", *text);
}

/* "pickle|pickle.gz|pickle.zst|pkl ..." */
static void add_suffixes(struct gm_text *out, const struct gm_program *program)
{
    (void)program;
    for (size_t i = 0; gm_snapshot_suffixes[i] != NULL; i++) {
        gm_text_printf(out, "%s%s", i == 0 ? "" : "|", gm_snapshot_suffixes[i] + 1);
        for (size_t k = 0; gm_compression_suffixes[k] != NULL; k++)
            gm_text_printf(out, "|%s%s", gm_snapshot_suffixes[i] + 1, gm_compression_suffixes[k]);
    }
}

static void add_name(struct gm_text *out, const struct gm_program *program)
{
    gm_text_add(out, program->name);
}

static void add_operands(struct gm_text *out, const struct gm_program *program)
{
    gm_text_add(out, program->operands == GM_OPERANDS_COMMAND ? "command" : "snapshots");
}

/* Behind a command all is its own; behind a snapshot options go on. */
static void add_rest(struct gm_text *out, const struct gm_program *program)
{
    gm_text_add(out, program->operands == GM_OPERANDS_COMMAND ? "*::" : "*:");
}

static void add_names(struct gm_text *out, const struct gm_program *program)
{
    for (size_t i = 0; i < program->option_count; i++)
        gm_text_printf(out, " --%s", program->options[i].name);
}

/* ---- of each shell ----------------------------------------------------------------------------------------------- */

static void add_cases(struct gm_text *out, const struct gm_program *program)
{
    static const char *const kinds[] = {"words", "list", "files", "directories", "nothing"};
    for (size_t i = 0; i < program->option_count; i++) {
        const struct gm_option *option = &program->options[i];
        if (option->argument == NULL)
            continue;
        gm_text_add(out, "    ");
        if (option->letter != 0)
            gm_text_printf(out, "-%c | ", option->letter);
        gm_text_printf(out, "--%s) kind=%s words=(", option->name, kinds[kind_of(option)]);
        add_words(out, option, '\'');
        gm_text_add(out, " ) ;;\n");
    }
}

static bool is_repeated(const struct gm_option *option)
{
    return option->kind == GM_OPTION_TEXTS || option->kind == GM_OPTION_CHOICES || option->kind == GM_OPTION_PARSED;
}

static void add_zsh_options(struct gm_text *out, const struct gm_program *program)
{
    for (size_t i = 0; i < program->option_count; i++) {
        const struct gm_option *option = &program->options[i];
        const char *equals = option->argument != NULL ? "=" : "", *name = option->name;
        if (option->letter != 0)
            gm_text_printf(out, "        '(-%c --%s)'{-%c%s,--%s%s}'[", option->letter, name, option->letter,
                           option->argument != NULL ? "+" : "", name, equals);
        else
            gm_text_printf(out, "        '%s--%s%s[", is_repeated(option) ? "*" : "", name, equals);
        add_escaped(out, option->help, "[]");
        gm_text_add(out, "]");
        if (option->argument != NULL) {
            gm_text_add(out, ":");
            add_escaped(out, option->argument, ":");
            gm_text_printf(out, ":{_%s_argument --%s}", program->name, name);
        }
        gm_text_add(out, "' \\\n");
    }
}

static void add_fish_options(struct gm_text *out, const struct gm_program *program)
{
    static const char *const ways[] = {" -x -a '", " -x -a '(__fish_append ,", " -r -F",
                                       " -x -a '(__fish_complete_directories)'", " -x"};
    static const char *const ends[] = {"'", ")'", "", "", ""};
    for (size_t i = 0; i < program->option_count; i++) {
        const struct gm_option *option = &program->options[i];
        gm_text_printf(out, "complete -c %s -l %s", program->name, option->name);
        if (option->letter != 0)
            gm_text_printf(out, " -s %c", option->letter);
        if (option->argument != NULL) {
            gm_text_add(out, ways[kind_of(option)]);
            add_words(out, option, '"');
            gm_text_add(out, ends[kind_of(option)]);
        }
        gm_text_add(out, " -d '");
        add_escaped(out, option->help, "\\");
        gm_text_add(out, "'\n");
    }
}

static const struct {
    const char *mark;
    void (*add)(struct gm_text *out, const struct gm_program *program);
} marks[] = {
    {"@PROGRAM@", add_name},
    {"@OPERANDS@", add_operands},
    {"@REST@", add_rest},
    {"@OPTIONS@", add_names},
    {"@CASES@", add_cases},
    {"@SUFFIXES@", add_suffixes},
    {"@ZSH_OPTIONS@", add_zsh_options},
    {"@FISH_OPTIONS@", add_fish_options},
};

void gm_completion(const struct gm_program *program, enum gm_manual shell, struct gm_text *out)
{
    const char *at = shell == GM_MANUAL_BASH ? bash : shell == GM_MANUAL_ZSH ? zsh : fish;
    while (*at != '\0') {
        size_t m = 0;
        while (m < sizeof marks / sizeof *marks && strncmp(at, marks[m].mark, strlen(marks[m].mark)) != 0)
            m++;
        if (m < sizeof marks / sizeof *marks) {
            marks[m].add(out, program);
            at += strlen(marks[m].mark);
        } else {
            gm_text_add_char(out, *at++);
        }
    }
}
