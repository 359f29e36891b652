/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/options.h"

#include "analyze/base/closest.h"
#include "analyze/base/size.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- help -------------------------------------------------------------------------------------------------------- */

enum { GM_HELP_COLUMN = 26, GM_HELP_WIDTH = 80 };

/* Adds `help`, without what is for the manual only, from column GM_HELP_COLUMN on, broken at blanks, with a final
 * newline. */
static void add_wrapped(struct gm_text *out, const char *help)
{
    size_t column = GM_HELP_COLUMN;
    while (*help != '\0' && *help != *GM_MORE) {
        size_t word = strcspn(help, " " GM_MORE);
        if (column > GM_HELP_COLUMN && column + 1 + word > GM_HELP_WIDTH) {
            gm_text_add_char(out, '\n');
            gm_text_repeat(out, ' ', GM_HELP_COLUMN);
            column = GM_HELP_COLUMN;
        } else if (column > GM_HELP_COLUMN) {
            gm_text_add_char(out, ' ');
            column++;
        }
        gm_text_add_bytes(out, help, word);
        column += word;
        help += word;
        help += strspn(help, " ");
    }
    gm_text_add_char(out, '\n');
}

void gm_options_help(const struct gm_program *program, struct gm_text *out)
{
    gm_text_add(out, program->head);
    for (size_t i = 0; i < program->option_count; i++) {
        const struct gm_option *option = &program->options[i];
        size_t width = 6 + 2 + strlen(option->name);
        if (option->letter != 0)
            gm_text_printf(out, "  -%c, --%s", option->letter, option->name);
        else
            gm_text_printf(out, "      --%s", option->name);
        if (option->argument != NULL) {
            gm_text_printf(out, " %s", option->argument);
            width += 1 + strlen(option->argument);
        }
        if (width + 1 > GM_HELP_COLUMN) {
            gm_text_add_char(out, '\n');
            width = 0;
        }
        gm_text_repeat(out, ' ', GM_HELP_COLUMN - width);
        add_wrapped(out, option->help);
    }
    gm_text_add(out, program->tail);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static bool parse_integer(const char *text, int64_t min, int64_t max, int64_t *value)
{
    const char *digits = text + (*text == '-');
    if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0')
        return false;
    errno = 0;
    long long parsed = strtoll(text, NULL, 10);
    *value = parsed;
    return errno == 0 && *value >= min && *value <= max;
}

static bool parse_percent(const char *text, double *value)
{
    size_t digits = strspn(text, "0123456789.");
    if (digits == 0 || strcmp(text + digits, text[digits] == '%' ? "%" : "") != 0)
        return false;
    char *end;
    *value = strtod(text, &end);
    return end == text + digits && *value >= 0 && *value <= 100;
}

/* Which of the choices text[0 .. length) is; -1: none of them. */
static int find_choice(const char *const *choices, const char *text, size_t length)
{
    for (int i = 0; choices[i] != NULL; i++)
        if (strlen(choices[i]) == length && memcmp(choices[i], text, length) == 0)
            return i;
    return -1;
}

static enum gm_status refuse_choice(const struct gm_option *option, const char *shown, const char *argument,
                                    const char *piece, size_t length, struct gm_error *err)
{
    struct gm_closest closest = gm_closest_to(piece, length);
    GM_FREED struct gm_text all = {0};
    for (size_t i = 0; option->choices[i] != NULL; i++) {
        gm_closest_offer(&closest, option->choices[i]);
        gm_text_printf(&all, "%s%s", i == 0 ? "" : option->choices[i + 1] == NULL ? " or " : ", ", option->choices[i]);
    }
    return all.failed ? gm_no_memory(err)
                      : gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s: '%s' is no %s (%s)%s", shown, argument,
                                option->argument, all.data, gm_closest_hint(&closest, "").text);
}

static enum gm_status store_choices(const struct gm_option *option, const char *shown, const char *argument,
                                    void *where, struct gm_error *err)
{
    const bool is_several = option->kind == GM_OPTION_CHOICES;
    unsigned found = 0;
    int choice = 0;
    for (const char *at = argument;; at++) {
        const size_t length = is_several ? strcspn(at, ",") : strlen(at);
        choice = find_choice(option->choices, at, length);
        if (choice < 0)
            return refuse_choice(option, shown, argument, at, length, err);
        found |= 1u << choice;
        at += length;
        if (*at == '\0')
            break;
    }
    choice += (int)option->min;
    if (is_several)
        *(unsigned *)where |= found;
    else
        memcpy(where, &choice, sizeof choice);
    return GM_OK;
}

/* Of an argument that `parse` refuses: what was probably meant by its first word that is none of option->words. */
static struct gm_closest_text hint_of_words(const struct gm_option *option, const char *argument)
{
    struct gm_closest_text hint = {""};
    GM_FREED struct gm_text words = {0};
    if (option->words != NULL)
        option->words(&words);
    for (size_t i = 0; i < words.length; i++)
        words.data[i] = words.data[i] == '\n' ? '\0' : words.data[i];
    for (const char *at = argument; words.length > 0 && !words.failed && *at != '\0' && hint.text[0] == '\0';) {
        size_t length = strcspn(at, ",:=");
        length += at[length] == ':' || at[length] == '=';
        struct gm_closest closest = gm_closest_to(at, length);
        for (const char *word = words.data; *word != '\0'; word += strlen(word) + 1)
            gm_closest_offer(&closest, word);
        if (closest.name != NULL && (strlen(closest.name) != length || memcmp(closest.name, at, length) != 0))
            hint = gm_closest_hint(&closest, "");
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return hint;
}

/* Stores the argument of `option`; `shown` is how the user spelt the option, for the message. */
static enum gm_status store(const struct gm_option *option, const char *shown, const char *argument, void *values,
                            struct gm_error *err)
{
    char *where = (char *)values + option->offset;
    int64_t integer;
    uint64_t size;
    double percent;
    switch (option->kind) {
    case GM_OPTION_TEXT:
    case GM_OPTION_LISTED:
        memcpy(where, &argument, sizeof argument);
        return GM_OK;
    case GM_OPTION_TEXTS: {
        struct gm_texts *texts = (struct gm_texts *)(void *)where;
        if (texts->n == GM_TEXTS_MOST)
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s: more than %d of them", shown, GM_TEXTS_MOST);
        texts->v[texts->n++] = argument;
        return GM_OK;
    }
    case GM_OPTION_INTEGER:
        if (!parse_integer(argument, option->min, option->max, &integer))
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s: '%s' is no whole number from %lld to %lld", shown,
                           argument, (long long)option->min, (long long)option->max);
        memcpy(where, &integer, sizeof integer);
        return GM_OK;
    case GM_OPTION_SIZE:
        if (!gm_size_parse(argument, &size))
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s: '%s' is no size (as in 512MiB or 70GiB)", shown,
                           argument);
        memcpy(where, &size, sizeof size);
        return GM_OK;
    case GM_OPTION_PERCENT:
        if (!parse_percent(argument, &percent))
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s: '%s' is no percentage from 0 to 100", shown, argument);
        memcpy(where, &percent, sizeof percent);
        return GM_OK;
    case GM_OPTION_CHOICE:
    case GM_OPTION_CHOICES:
        return store_choices(option, shown, argument, where, err);
    case GM_OPTION_PARSED:
        if (!option->parse(argument, where))
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s: '%s' is no %s (%s)%s", shown, argument, option->argument,
                           option->wants, hint_of_words(option, argument).text);
        return GM_OK;
    case GM_OPTION_FLAG:
    case GM_OPTION_HELP:
    case GM_OPTION_MANUAL:
    case GM_OPTION_VERSION:
        break; /* no argument, or none to keep */
    }
    return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "%s: an option of an unknown kind", shown);
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

static const struct gm_option *find_name(const struct gm_program *program, const char *name, size_t length)
{
    for (size_t i = 0; i < program->option_count; i++)
        if (strlen(program->options[i].name) == length && memcmp(program->options[i].name, name, length) == 0)
            return &program->options[i];
    return NULL;
}

static const struct gm_option *find_letter(const struct gm_program *program, char letter)
{
    for (size_t i = 0; i < program->option_count; i++)
        if (letter != '\0' && program->options[i].letter == letter)
            return &program->options[i];
    return NULL;
}

struct cursor {
    const struct gm_program *program;
    char **argv;
    int argc, next; /* argv[next] is the word after the current one */
    void *values;
    struct gm_parsed parsed;
};

/* One option with what may be glued to it: "=value" of a long one, the rest of the word of a short one. */
static enum gm_status take(struct cursor *at, const struct gm_option *option, const char *shown, const char *glued,
                           struct gm_error *err)
{
    const bool given = true;
    if (option->argument == NULL) {
        if (glued != NULL)
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s takes no argument", shown);
        if (option->kind == GM_OPTION_HELP)
            at->parsed.what = GM_PARSED_HELP;
        else if (option->kind == GM_OPTION_VERSION)
            at->parsed.what = GM_PARSED_VERSION;
        else
            memcpy((char *)at->values + option->offset, &given, sizeof given);
        return GM_OK;
    }
    if (glued == NULL && at->next >= at->argc)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s needs an argument: %s", shown, option->argument);
    const char *argument = glued != NULL ? glued : at->argv[at->next++];
    if (option->kind == GM_OPTION_LISTED && (strcmp(argument, "list") == 0 || strcmp(argument, "help") == 0))
        at->parsed = (struct gm_parsed){.what = GM_PARSED_LIST, .list = option->list};
    if (option->kind == GM_OPTION_MANUAL) {
        at->parsed.what = GM_PARSED_MANUAL;
        return store_choices(option, shown, argument, &at->parsed.form, err);
    }
    return store(option, shown, argument, at->values, err);
}

static enum gm_status refuse_long(const struct gm_program *program, const char *word, size_t length,
                                  struct gm_error *err)
{
    struct gm_closest closest = gm_closest_to(word + 2, length);
    for (size_t i = 0; i < program->option_count; i++)
        gm_closest_offer(&closest, program->options[i].name);
    return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "unknown option %.*s%s", (int)(length < 200 ? length + 2 : 200), word,
                   gm_closest_hint(&closest, "--").text);
}

static enum gm_status take_long(struct cursor *at, const char *word, struct gm_error *err)
{
    size_t length = strcspn(word + 2, "=");
    const char *glued = word[2 + length] == '=' ? word + 2 + length + 1 : NULL;
    const struct gm_option *option = find_name(at->program, word + 2, length);
    if (option == NULL)
        return refuse_long(at->program, word, length, err);
    char shown[64] = "--";
    memcpy(shown + 2, option->name, length < sizeof shown - 3 ? length : sizeof shown - 3);
    return take(at, option, shown, glued, err);
}

static enum gm_status take_short(struct cursor *at, const char *word, struct gm_error *err)
{
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        const struct gm_option *option = find_letter(at->program, *letter);
        if (option == NULL)
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "unknown option -%c", *letter);
        const char shown[] = {'-', *letter, '\0'};
        bool takes = option->argument != NULL;
        enum gm_status status = take(at, option, shown, takes && letter[1] != '\0' ? letter + 1 : NULL, err);
        if (status != GM_OK || takes || at->parsed.what != GM_PARSED_RUN)
            return status;
    }
    return GM_OK;
}

enum gm_status gm_options_parse(const struct gm_program *program, int argc, char **argv, void *values, int *operands,
                                struct gm_parsed *parsed, struct gm_error *err)
{
    struct cursor at = {program, argv, argc, 1, values, {.what = GM_PARSED_RUN}};
    bool options_ended = false;
    *operands = 0;
    *parsed = at.parsed;
    while (at.next < argc) {
        char *word = argv[at.next++];
        enum gm_status status = GM_OK;
        if (options_ended || word[0] != '-' || word[1] == '\0')
            argv[(*operands)++] = word;
        else if (strcmp(word, "--") == 0)
            options_ended = true;
        else
            status = word[1] == '-' ? take_long(&at, word, err) : take_short(&at, word, err);
        *parsed = at.parsed;
        if (status != GM_OK || at.parsed.what != GM_PARSED_RUN)
            return status;
    }
    return GM_OK;
}
