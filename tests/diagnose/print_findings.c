/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of all findings, as it stands in docs/findings.md. Fails if a fix has no brief form.
 */
#include "analyze/diagnose/diagnose.h"
#include "analyze/diagnose/rules.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
    const struct gm_rule *rule;
    puts("| id | severity | when | what to do |\n|---|---|---|---|");
    for (size_t i = 0; (rule = gm_rule_at(i)) != NULL; i++) {
        const char *const brief = rule->brief != NULL ? rule->brief : "";
        if ((rule->brief != NULL) != (rule->fix != NULL) || strlen(brief) > 28) {
            fprintf(stderr, "%s: no fix, or none that fits the headline: \"%s\"\n", rule->id, brief);
            return 1;
        }
        printf("| `%s` | %s | %s | %s |\n", rule->id, rule->severity, rule->when, rule->what_to_do);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
