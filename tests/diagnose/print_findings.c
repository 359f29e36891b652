/* SPDX-License-Identifier: Apache-2.0
 *
 * All findings, as they stand in docs/findings.md: what there is to mend as sections, the rest as a table. Fails if a
 * fix has no brief form, none as a diff, or no words on what it mends.
 */
#include "analyze/diagnose/diagnose.h"
#include "analyze/diagnose/rules.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LINES = 4, COLUMNS = 72, BRIEF = 28 };

/* As a block. NULL: nothing. */
static bool print_snippet(const char *snippet)
{
    size_t n = 0;
    puts("\n```diff");
    for (const char *line = snippet, *end; line != NULL; line = end == NULL ? NULL : end + 1, n++) {
        end = strchr(line, '\n');
        const size_t length = end == NULL ? strlen(line) : (size_t)(end - line);
        if (strchr("-+ ", line[0]) == NULL || line[1] != ' ' || length > COLUMNS || strchr(line, '`') != NULL)
            return false;
        printf("%.*s\n", (int)length, line);
    }
    puts("```");
    return 1 <= n && n <= LINES;
}

/* What mends it where a library's code made what it is about. */
static bool print_options(const struct gm_rule *rule)
{
    const struct gm_library_option *option;
    for (size_t i = 0; (option = gm_library_option_at(i)) != NULL; i++) {
        if (strcmp(option->id, rule->id) != 0)
            continue;
        printf("\nWhere code of `%s` made it: %c%s.\n", option->in, tolower((unsigned char)option->fix[0]),
               option->fix + 1);
        if (strlen(option->brief) > BRIEF || !print_snippet(option->snippet))
            return false;
    }
    return true;
}

static const char *severity_of(const struct gm_rule *rule)
{
    return rule->severity != NULL ? rule->severity : "warning";
}

/* NULL: printed; else what is wrong with the rule. */
static const char *print_section(const struct gm_rule *rule)
{
    printf("### `%s`\n\n**%s.** %s\n\nSeverity: %s. What to do: %s.\n", rule->id, rule->title, rule->means,
           severity_of(rule), rule->what_to_do);
    if (!print_snippet(rule->snippet) || !print_options(rule))
        return "no snippet of 1 to 4 lines of a diff";
    printf("\nTold when: %s.\n\n", rule->when);
    return NULL;
}

int main(void)
{
    const struct gm_rule *rule;
    puts("## Mistakes, and choices\n");
    for (size_t i = 0; (rule = gm_rule_at(i)) != NULL; i++) {
        const char *const brief = rule->brief != NULL ? rule->brief : "";
        const char *wrong = NULL;
        if ((rule->brief != NULL) != (rule->fix != NULL) || strlen(brief) > BRIEF)
            wrong = "no fix, or none that fits the headline";
        else if ((rule->snippet != NULL) != (rule->fix != NULL) || (rule->means != NULL) != (rule->fix != NULL))
            wrong = "no snippet or no words beside its fix";
        else if (rule->means != NULL)
            wrong = print_section(rule);
        if (wrong != NULL) {
            fprintf(stderr, "%s: %s\n", rule->id, wrong);
            return 1;
        }
    }
    puts("## Other findings\n\n| id | severity | when | what to do |\n|---|---|---|---|");
    for (size_t i = 0; (rule = gm_rule_at(i)) != NULL; i++)
        if (rule->means == NULL)
            printf("| `%s` | %s | %s | %s |\n", rule->id, severity_of(rule), rule->when, rule->what_to_do);
    return fflush(stdout) == 0 ? 0 : 1;
}
