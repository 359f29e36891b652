/* SPDX-License-Identifier: Apache-2.0
 *
 * The best there is to say, where nothing else was.
 */
#include "analyze/diagnose/rules.h"

static void find_nothing(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_totals *totals = &c->report->totals;
    char size[3][GM_SIZE_TEXT], share[2][GM_NUMBER_TEXT];
    if (c->n > 0 || totals->reserved < GM_MIB || c->report->category_count == 0 ||
        gm_grade_of(gm_totals_efficiency(totals)) != GM_GRADE_EXCELLENT)
        return;
    const struct gm_slice *largest = &c->report->categories[0];
    gm_case_say(c, rule, GM_INFO, GM_REPORT_NONE,
                "%s of %s reserved is allocated (%s %%): it is what the program holds. The largest category is %s with "
                "%s (%s %%).",
                gm_size_format(size[0], totals->allocated), gm_size_format(size[1], totals->reserved),
                gm_share_format(share[0], totals->allocated, totals->reserved), largest->name,
                gm_size_format(size[2], largest->bytes), gm_share_format(share[1], largest->bytes, totals->allocated));
}

static const struct gm_rule rules[] = {
    {.id = "nothing-to-reclaim",
     .title = "Nothing to reclaim",
     .find = find_nothing,
     .severity = "info",
     .when = "no other finding, at least 1 MiB reserved and over 98 % of it allocated",
     .what_to_do = "Nothing: what is allocated is what the program holds. Look at its largest category"},
};
const struct gm_theme gm_theme_healthy = GM_THEME(rules);
