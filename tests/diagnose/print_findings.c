/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of all findings, as it stands in docs/findings.md.
 */
#include "analyze/diagnose/diagnose.h"
#include "analyze/diagnose/rules.h"

#include <stdio.h>

int main(void)
{
    const struct gm_rule *rule;
    puts("| id | severity | when | what to do |\n|---|---|---|---|");
    for (size_t i = 0; (rule = gm_rule_at(i)) != NULL; i++)
        printf("| `%s` | %s | %s | %s |\n", rule->id, rule->severity, rule->when, rule->what_to_do);
    return fflush(stdout) == 0 ? 0 : 1;
}
