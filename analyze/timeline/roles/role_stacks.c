/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks as evidence: the rules' categories by name, each stack asked once.
 */
#include "analyze/timeline/roles/role_stacks.h"

#include "analyze/state/categories.h"

#include <stdlib.h>
#include <string.h>

static const char text[] = {
#include "timeline/default_roles.inc"
};

static const struct {
    const char *name;
    enum gm_says says;
} names[] = {
    {"workspace", GM_SAYS_WORKSPACE},    {"communication", GM_SAYS_COMMUNICATION},
    {"kv cache", GM_SAYS_KV_CACHE},      {"optimizer setup", GM_SAYS_OPTIMIZER_SETUP},
    {"optimizer", GM_SAYS_OPTIMIZER},    {"recompute", GM_SAYS_RECOMPUTE},
    {"accumulate", GM_SAYS_ACCUMULATE},  {"backward", GM_SAYS_BACKWARD},
    {"loading", GM_SAYS_LOADING},        {"input", GM_SAYS_INPUT},
    {"forward", GM_SAYS_FORWARD},        {"object", GM_SAYS_OBJECT},
    {"No stack recorded", GM_SAYS_NONE},
};

enum { MAX_CATEGORIES = 32 };

struct gm_role_stacks {
    struct gm_category_rules *rules;
    struct gm_classifier *classifier;
    uint8_t says[MAX_CATEGORIES]; /* [category] */
    uint8_t *answers;             /* [stack] */
};

struct gm_role_stacks *gm_role_stacks_new(const struct gm_snapshot *snapshot)
{
    struct gm_error err = {0};
    struct gm_role_stacks *s = calloc(1, sizeof *s);
    size_t stacks = (size_t)snapshot->stacks.count + 1;
    if (s == NULL)
        return NULL;
    s->answers = malloc(stacks);
    if (s->answers == NULL || gm_category_rules_parse(&s->rules, text, sizeof text, "default.roles", &err) != GM_OK ||
        gm_classifier_new(&s->classifier, s->rules, snapshot, &err) != GM_OK) {
        gm_role_stacks_free(s);
        return NULL;
    }
    memset(s->answers, GM_SAYS_COUNT, stacks);
    memset(s->says, GM_SAYS_OTHER, sizeof s->says);
    for (uint32_t c = 0; c < gm_category_count(s->rules) && c < MAX_CATEGORIES; c++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strcmp(gm_category_name(s->rules, c), names[i].name) == 0)
                s->says[c] = (uint8_t)names[i].says;
    return s;
}

void gm_role_stacks_free(struct gm_role_stacks *s)
{
    if (s == NULL)
        return;
    gm_classifier_free(s->classifier);
    gm_category_rules_free(s->rules);
    free(s->answers);
    free(s);
}

enum gm_says gm_stack_ask(struct gm_role_stacks *s, struct gm_stack_id stack)
{
    uint8_t *answer = &s->answers[stack.v];
    if (*answer == GM_SAYS_COUNT) {
        uint32_t category = gm_classify(s->classifier, stack);
        *answer = stack.v == GM_STACK_EMPTY   ? GM_SAYS_EMPTY
                  : category < MAX_CATEGORIES ? s->says[category]
                                              : GM_SAYS_OTHER;
    }
    return (enum gm_says) * answer;
}
