/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of all findings, as it stands in docs/findings.md. Fails if a fix has no brief form, or none as a diff.
 */
#include "analyze/diagnose/diagnose.h"
#include "analyze/diagnose/rules.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LINES = 4, COLUMNS = 72, BRIEF = 28 };

/* Below what there is to do, line by line. NULL: nothing. */
static bool print_snippet(const char *snippet)
{
    size_t n = 0;
    for (const char *line = snippet, *end; line != NULL; line = end == NULL ? NULL : end + 1, n++) {
        end = strchr(line, '\n');
        const size_t length = end == NULL ? strlen(line) : (size_t)(end - line);
        if (strchr("-+ ", line[0]) == NULL || line[1] != ' ' || length > COLUMNS || strchr(line, '`') != NULL)
            return false;
        printf("<br>`%.*s`", (int)length, line);
    }
    return n <= LINES;
}

/* What mends it where a library's code made what it is about. */
static bool print_options(const struct gm_rule *rule)
{
    const struct gm_library_option *option;
    for (size_t i = 0; (option = gm_library_option_at(i)) != NULL; i++) {
        if (strcmp(option->id, rule->id) != 0)
            continue;
        printf("<br>%s (where code of %s made it)", option->fix, option->in);
        if (strlen(option->brief) > BRIEF || !print_snippet(option->snippet))
            return false;
    }
    return true;
}

int main(void)
{
    const struct gm_rule *rule;
    puts("| id | severity | when | what to do |\n|---|---|---|---|");
    for (size_t i = 0; (rule = gm_rule_at(i)) != NULL; i++) {
        const char *const brief = rule->brief != NULL ? rule->brief : "";
        if ((rule->brief != NULL) != (rule->fix != NULL) || strlen(brief) > BRIEF) {
            fprintf(stderr, "%s: no fix, or none that fits the headline: \"%s\"\n", rule->id, brief);
            return 1;
        }
        printf("| `%s` | %s | %s | %s", rule->id, rule->severity != NULL ? rule->severity : "warning", rule->when,
               rule->what_to_do);
        if ((rule->snippet != NULL) != (rule->fix != NULL) || !print_snippet(rule->snippet) || !print_options(rule)) {
            fprintf(stderr, "%s: no snippet beside its fix, or none of 1 to 4 lines of a diff\n", rule->id);
            return 1;
        }
        puts(" |");
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
