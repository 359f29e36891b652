/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of stacks, added up by call site.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/timeline/fragmentation/fragmentation.h"

#include <stdlib.h>
#include <string.h>

bool gm_site_sums_start(struct gm_site_sums *sums, struct gm_trace_pass *pass)
{
    *sums = (struct gm_site_sums){0};
    return gm_grouping_start(&sums->grouping, pass, GM_GROUP_NONE, 0);
}

void gm_site_sums_free(struct gm_site_sums *sums)
{
    gm_grouping_free(&sums->grouping);
    free(sums->rows.v);
    *sums = (struct gm_site_sums){0};
}

bool gm_site_sums_add(struct gm_site_sums *sums, uint32_t stack, const uint64_t v[GM_SITE_VALUES])
{
    uint32_t group = gm_grouping_of(&sums->grouping, stack, GM_ROLE_UNKNOWN);
    if (group == GM_NEVER)
        return false;
    while (sums->rows.n <= group) { /* groups are numbered in the order in which they are met */
        struct gm_site_sum fresh = {.site = sums->grouping.labels.v[sums->rows.n], .stack = stack};
        if (!GM_VEC_PUSH(&sums->rows, fresh))
            return false;
    }
    struct gm_site_sum *row = &sums->rows.v[group];
    for (int i = 0; i < GM_SITE_VALUES; i++)
        row->v[i] = gm_known_add(row->v[i], v[i]);
    if (v[0] > row->most) {
        row->most = v[0];
        row->stack = stack;
    }
    return true;
}

#define BY_VALUE(i) GM_DOWN(v[i]) || GM_BY(strcmp(a->site, b->site))
GM_ORDERING(by_first, struct gm_site_sum, BY_VALUE(0));
GM_ORDERING(by_second, struct gm_site_sum, BY_VALUE(1));
GM_ORDERING(by_third, struct gm_site_sum, BY_VALUE(2));

void gm_site_sums_sort(struct gm_site_sums *sums, int key)
{
    static int (*const orders[GM_SITE_VALUES])(const void *, const void *) = {by_first, by_second, by_third};
    if (sums->rows.n > 1)
        qsort(sums->rows.v, sums->rows.n, sizeof *sums->rows.v, orders[key]);
}

bool gm_category_of_stack(struct gm_trace_pass *pass, uint32_t stack, const char **name, uint32_t *color)
{
    const struct gm_category_rules *rules = pass->options->rules;
    uint32_t category = gm_classify(pass->options->classifier, (struct gm_stack_id){stack});
    const char *of_rules = gm_category_name(rules, category);
    *name = gm_arena_copy(&pass->report->arena, of_rules, strlen(of_rules));
    *color = gm_category_color(rules, category);
    return *name != NULL;
}
