/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose memory it was: the role of every allocation of a device, with the reason. docs/roles.md has the whole story.
 */
#include "analyze/timeline/roles/role_work.h"

#include "analyze/state/categories.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- what stacks say -------------------------------------------------------------------------------------------- */

/* Stacks as evidence: the rules' categories by name, each stack asked once. */

static const char evidence[] = {
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
    const struct gm_snapshot *snapshot;
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
    s->snapshot = snapshot;
    s->answers = malloc(stacks);
    if (s->answers == NULL ||
        gm_category_rules_parse(&s->rules, evidence, sizeof evidence, "default.roles", &err) != GM_OK ||
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
    GM_FREE_ALL(s->answers, s);
}

enum gm_says gm_stack_ask(struct gm_role_stacks *s, struct gm_stack_id stack)
{
    uint8_t *answer = &s->answers[stack.v];
    if (*answer == GM_SAYS_COUNT) {
        uint32_t category = gm_classify(s->classifier, stack);
        *answer = gm_stack_is_of_engine(s->snapshot, stack) ? GM_SAYS_EMPTY
                  : category < MAX_CATEGORIES               ? s->says[category]
                                                            : GM_SAYS_OTHER;
    }
    return (enum gm_says) * answer;
}

void gm_trace_ask_roles(struct gm_trace_pass *pass)
{
    for (size_t a = 0; pass->role_stacks != NULL && a < pass->history.allocation_count; a++)
        (void)gm_stack_ask(pass->role_stacks, (struct gm_stack_id){gm_stack_of(&pass->history, a)});
}

/* Paul Tol's "muted" scheme: told apart with any colour-blindness; its grey is for what is unknown. No category of
 * default.categories has one of them. */
static const struct {
    const char *name;
    uint32_t color;
} roles[GM_ROLE_COUNT] = {
    [GM_ROLE_PARAMETER] = {"Parameter", 0x332288},
    [GM_ROLE_GRADIENT] = {"Gradient", 0xCC6677},
    [GM_ROLE_OPTIMIZER_STATE] = {"Optimizer state", 0xDDCC77},
    [GM_ROLE_ACTIVATION] = {"Activation", 0x117733},
    [GM_ROLE_TEMPORARY] = {"Temporary", 0x88CCEE},
    [GM_ROLE_WORKSPACE] = {"Workspace", 0x882255},
    [GM_ROLE_KV_CACHE] = {"KV cache", 0x44AA99},
    [GM_ROLE_COMMUNICATION] = {"Communication buffer", 0x999933},
    [GM_ROLE_INPUT] = {"Input", 0xAA4499},
    [GM_ROLE_UNKNOWN] = {"Unknown", 0xDDDDDD},
};

/* What the names of a run's optimizers tell: how many tensors of a parameter's size they keep for it. */

/* As torch.optim has them. Adam's amsgrad would be a third: it is rarer than a second set of weights. */
static const struct {
    const char *name; /* the class's name begins with it, in lower case */
    uint32_t states;
} optimizers[] = {
    {"adam", 2}, {"nadam", 2},   {"radam", 2}, {"sparseadam", 2}, {"adadelta", 2}, {"rprop", 2},
    {"asgd", 2}, {"adagrad", 1}, {"sgd", 1},   {"lion", 1},       {"muon", 1},
};
enum { MOST_STATES = 3 };

static uint32_t states_of(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        size_t k = 0;
        while (k < n && optimizers[i].name[k] == tolower((unsigned char)name[k]))
            k++;
        if (optimizers[i].name[k] == '\0')
            return optimizers[i].states;
    }
    return MOST_STATES;
}

/* How many states of its size an optimizer keeps for each parameter at most, by the names of those that ran. */
static uint32_t role_most_states(const struct gm_snapshot *s)
{
    static const char prefix[] = "Optimizer.step#";
    uint32_t most = 0;
    for (size_t i = 0; i < s->annotation_count && most < MOST_STATES; i++) {
        size_t n;
        const char *text = gm_string(s, s->annotations[i].name, &n);
        if (n < sizeof prefix || memcmp(text, prefix, sizeof prefix - 1) != 0)
            continue;
        uint32_t states = states_of(text + sizeof prefix - 1, n - (sizeof prefix - 1));
        most = states > most ? states : most;
    }
    return most == 0 ? MOST_STATES : most;
}

const char *gm_role_name(size_t role)
{
    return roles[role].name;
}

uint32_t gm_role_color(size_t role)
{
    return roles[role].color;
}

bool gm_role_lasts(size_t role)
{
    return role == GM_ROLE_PARAMETER || role == GM_ROLE_GRADIENT || role == GM_ROLE_OPTIMIZER_STATE;
}

const struct gm_slice *gm_role_slices(struct gm_arena *arena, const struct gm_amount amounts[GM_ROLE_COUNT],
                                      size_t *slice_count)
{
    struct gm_slice *slices = gm_arena_calloc(arena, GM_ROLE_COUNT, sizeof *slices);
    for (size_t r = 0; slices != NULL && r < GM_ROLE_COUNT; r++)
        slices[r] = (struct gm_slice){roles[r].name, roles[r].color, amounts[r].bytes, amounts[r].blocks};
    return gm_slices_sort(slices, GM_ROLE_COUNT, slice_count);
}

bool gm_trace_roles(struct gm_trace_pass *pass)
{
    size_t n = pass->history.allocation_count;
    struct gm_role_work work = {.pass = pass,
                                .h = &pass->history,
                                .stacks = pass->role_stacks,
                                .most_states = role_most_states(pass->snapshot)};
    pass->role = malloc(n + 1);
    pass->reason = malloc(n + 1);
    work.life = malloc(n + 1);
    work.claim = calloc(n + 1, 1);
    work.runs = calloc((size_t)pass->snapshot->stacks.count + 1, 1);
    bool ok = pass->role != NULL && pass->reason != NULL && work.life != NULL && work.claim != NULL &&
              work.runs != NULL && gm_role_lives(&work) && gm_role_sizes(&work) && gm_role_caches(&work);
    if (ok)
        gm_role_decide(&work);
    GM_FREE_ALL(work.life, work.claim, work.runs, work.heirs.v, work.backwards.v, work.optimizers.v);
    return ok;
}
