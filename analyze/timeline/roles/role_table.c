/* SPDX-License-Identifier: Apache-2.0
 *
 * The decision table: rules in order, the first that fits decides. docs/roles.md explains the order and where the
 * certainties come from.
 */
#include "analyze/timeline/roles/role_work.h"

#include <string.h>

/* What a rule asks for: a bit per value, 0: any. */
struct rule {
    enum gm_role role;
    int certainty;
    uint32_t says, life, claim;
    uint8_t part, world;
    const char *reason;
};

#define S(x) (1u << GM_SAYS_##x)
#define L(x) (1u << GM_LIFE_##x)
#define C(x) (1u << GM_CLAIM_##x)
#define P(x) (1u << GM_PART_##x)
#define W(x) (1u << GM_WORLD_##x)
#define OPTIMIZERS (S(OPTIMIZER) | S(OPTIMIZER_SETUP))
#define BACKWARDS (S(BACKWARD) | S(ACCUMULATE) | S(EMPTY))
#define WEIGHTS (S(LOADING) | S(OBJECT))
#define OUTLIVED (L(LATER) | L(LASTING))
#define OLD_ONES (L(OLD) | L(OLD_BACKWARD) | L(OLD_TAIL) | L(OLD_REPLACED) | L(OLD_FREED))
#define ANY 0

static const struct rule rules[] = {
    /* what belongs to a library, whatever else there is */
    {GM_ROLE_WORKSPACE, 97, S(WORKSPACE), ANY, ANY, ANY, ANY,
     "its stack asks for a workspace of cuBLAS, cuDNN or the like"},
    {GM_ROLE_WORKSPACE, 94, ANY, ANY, C(WORKSPACE), ANY, ANY, "it has the size of cuBLAS's workspace, and stays"},
    {GM_ROLE_COMMUNICATION, 90, S(COMMUNICATION), ANY, ANY, ANY, ANY, "its stack is in a collective operation"},
    {GM_ROLE_TEMPORARY, 80, S(KV_CACHE), L(BRIEF), ANY, ANY, ANY, "made in a KV cache's code and freed at once"},
    {GM_ROLE_KV_CACHE, 88, S(KV_CACHE), ANY, ANY, ANY, ANY, "its stack is in the code of a KV cache"},

    /* the optimizer */
    {GM_ROLE_PARAMETER, 85, ANY, ANY, C(HEIR), ANY, ANY, "it took a parameter's place"},
    {GM_ROLE_OPTIMIZER_STATE, 80, ANY, ANY, C(HEIR), ANY, ANY, "it took the place of an optimizer's state"},
    {GM_ROLE_KV_CACHE, 75, ANY, ANY, C(HEIR), ANY, ANY, "it took a cache's place"},
    {GM_ROLE_OPTIMIZER_STATE, 97, S(OPTIMIZER_SETUP), OUTLIVED | L(OPEN) | OLD_ONES, ANY, ANY, ANY,
     "its stack sets up an optimizer's state"},
    {GM_ROLE_OPTIMIZER_STATE, 93, S(OPTIMIZER), OUTLIVED, C(FITS), ANY, ANY,
     "made in an optimizer step, outlived it, and has a parameter's size"},
    {GM_ROLE_OPTIMIZER_STATE, 80, S(OPTIMIZER), OUTLIVED, ANY, ANY, ANY, "made in an optimizer step, and outlived it"},
    {GM_ROLE_OPTIMIZER_STATE, 80, S(OPTIMIZER), OLD_ONES, ANY, ANY, ANY,
     "its stack is in an optimizer, and it is older than the trace"},
    {GM_ROLE_OPTIMIZER_STATE, 75, S(OPTIMIZER), L(OPEN), C(FITS), ANY, ANY,
     "made in the optimizer step in which the trace ends, and has a parameter's size"},
    {GM_ROLE_TEMPORARY, 60, S(OPTIMIZER), L(OPEN), ANY, ANY, ANY, "made in the optimizer step in which the trace ends"},
    {GM_ROLE_TEMPORARY, 95, OPTIMIZERS, ANY, ANY, ANY, ANY, "made and freed in one optimizer step"},

    /* backward */
    {GM_ROLE_OPTIMIZER_STATE, 60, ANY, L(LASTING), C(OWN_STATE), P(BACKWARD), ANY,
     "made by the program's own code after a backward, never freed, and of a parameter's size in some type"},
    {GM_ROLE_TEMPORARY, 85, S(RECOMPUTE), L(BRIEF), ANY, ANY, ANY, "recomputed in backward and freed at once"},
    {GM_ROLE_ACTIVATION, 88, S(RECOMPUTE), ANY, ANY, ANY, ANY, "recomputed in backward (activation checkpointing)"},
    {GM_ROLE_GRADIENT, 97, S(ACCUMULATE), OUTLIVED | L(OPEN) | OLD_ONES, ANY, ANY, ANY,
     "its stack has AccumulateGrad, and it outlived backward"},
    {GM_ROLE_GRADIENT, 95, BACKWARDS, OUTLIVED, C(FITS), ANY, ANY,
     "made in backward, outlived it, and has a parameter's size"},
    {GM_ROLE_GRADIENT, 80, BACKWARDS, L(TAIL), C(FITS), ANY, ANY,
     "made in backward, freed after its end, and has a parameter's size"},
    {GM_ROLE_GRADIENT, 70, BACKWARDS, L(OPEN), C(FITS), ANY, ANY,
     "made in the backward in which the trace ends, and has a parameter's size"},
    {GM_ROLE_GRADIENT, 60, BACKWARDS, OUTLIVED, ANY, ANY, ANY, "made in backward, and outlived it"},
    {GM_ROLE_GRADIENT, 55, BACKWARDS, OLD_ONES, ANY, ANY, ANY,
     "its stack is in backward, and it is older than the trace"},
    {GM_ROLE_TEMPORARY, 55, BACKWARDS, L(OPEN), ANY, ANY, ANY, "made in the backward in which the trace ends"},
    {GM_ROLE_TEMPORARY, 92, BACKWARDS, ANY, ANY, ANY, ANY, "made and freed in one backward"},

    /* caches of inference that no stack names */
    {GM_ROLE_KV_CACHE, 75, ANY, ANY, C(GROWING), ANY, W(INFERENCE),
     "one of several of its size, and the next ones are longer by the same number of bytes"},
    {GM_ROLE_KV_CACHE, 55, ANY, ANY, C(SLOTS), ANY, W(INFERENCE),
     "made by the program's own code beside the weights, to stay, or for many passes of the model to read"},

    /* weights, input */
    {GM_ROLE_OPTIMIZER_STATE, 70, ANY, ANY, C(COPY), ANY, ANY,
     "twice the size of a parameter, and an optimizer's states have that size: a copy of higher precision"},
    {GM_ROLE_TEMPORARY, 75, WEIGHTS, L(BRIEF), ANY, ANY, ANY, "made while weights are set up, and freed at once"},
    {GM_ROLE_PARAMETER, 92, WEIGHTS, ANY, ANY, ANY, ANY, "its stack makes, loads or moves weights"},
    {GM_ROLE_PARAMETER, 75, ANY, ANY, C(TRAINED), ANY, ANY, "never freed, and gradients of its size were made"},
    {GM_ROLE_GRADIENT, 70, ANY, ANY, C(KEPT_GRADIENT), ANY, ANY,
     "never freed, one of each parameter's size, and no gradient of that size outlived a backward: written in place"},
    {GM_ROLE_OPTIMIZER_STATE, 60, ANY, ANY, C(OWN_STATE), ANY, ANY,
     "never freed, of a parameter's size, and more of them than parameters"},
    {GM_ROLE_PARAMETER, 65, ANY, ANY, C(CLONE), ANY, ANY,
     "never freed, of a parameter's size, more than parameters, and not the optimizer's: a second set of weights"},
    {GM_ROLE_TEMPORARY, 70, S(INPUT), L(BRIEF), ANY, ANY, ANY, "made while input is moved, and freed at once"},
    {GM_ROLE_INPUT, 80, S(INPUT), ANY, ANY, ANY, ANY,
     "its stack makes a batch, or moves a tensor outside of any module"},

    /* the model, by life */
    {GM_ROLE_ACTIVATION, 93, ANY, L(BACKWARD), ANY, P(FORWARD), ANY, "made before backward, freed in it"},
    {GM_ROLE_TEMPORARY, 80, S(FORWARD), L(BRIEF), ANY, P(BACKWARD), ANY,
     "made by a model's forward within backward, and freed at once"},
    {GM_ROLE_ACTIVATION, 80, S(FORWARD), ANY, ANY, P(BACKWARD), ANY, "made by a model's forward within backward"},
    {GM_ROLE_TEMPORARY, 88, ANY, L(BRIEF), ANY, ANY, W(TRAINING) | W(INFERENCE),
     "freed a few events after it was made"},
    {GM_ROLE_TEMPORARY, 85, S(FORWARD), L(RUN), ANY, ANY, W(TRAINING), "made in forward, and freed before backward"},
    {GM_ROLE_ACTIVATION, 70, ANY, L(KEPT), C(NONE), ANY, W(TRAINING),
     "made in forward, freed before backward, and kept for half a step or longer"},
    {GM_ROLE_ACTIVATION, 75, S(FORWARD) | S(OTHER) | S(NONE), L(RUN) | L(KEPT) | L(LATER), ANY, ANY, W(INFERENCE),
     "made and freed later in a run without backward"},
    {GM_ROLE_ACTIVATION, 75, S(FORWARD), L(LATER), ANY, ANY, ANY, "made in forward, freed after backward"},
    {GM_ROLE_ACTIVATION, 75, S(FORWARD), L(OPEN), ANY, ANY, W(TRAINING), "made in the forward in which the trace ends"},
    {GM_ROLE_PARAMETER, 60, ANY, ANY, C(INFERENCE), ANY, W(INFERENCE),
     "there before the first forward, never freed, in a run without backward"},
    {GM_ROLE_ACTIVATION, 65, S(FORWARD) | S(OTHER), L(OPEN), ANY, ANY, W(INFERENCE),
     "made after the first forward of a run without backward, and never freed"},
    {GM_ROLE_ACTIVATION, 55, S(FORWARD), L(LASTING), ANY, ANY, ANY, "made in forward, and never freed"},
    {GM_ROLE_ACTIVATION, 55, S(FORWARD), OLD_ONES, ANY, ANY, ANY,
     "its stack is in a model's forward, and it is older than the trace"},
    {GM_ROLE_ACTIVATION, 50, S(OTHER) | S(NONE), ANY, C(LEFT), ANY, ANY,
     "made after the first backward, or by a line that runs after the first step, outside of backward and optimizer, "
     "and never freed"},
    {GM_ROLE_ACTIVATION, 60, S(OTHER) | S(NONE), L(LATER), ANY, P(FORWARD), W(TRAINING),
     "made outside of backward and optimizer, freed after one of them"},
    {GM_ROLE_ACTIVATION, 50, S(OTHER) | S(NONE), L(OPEN), ANY, P(FORWARD), W(TRAINING),
     "made after the last backward or optimizer step of the trace"},
    {GM_ROLE_INPUT, 45, S(OTHER), L(LASTING), ANY, P(FORWARD), W(TRAINING),
     "made by the program itself before the first backward, never freed, and no gradient has its size: data"},
    {GM_ROLE_TEMPORARY, 65, S(OTHER) | S(NONE), L(RUN), ANY, ANY, W(TRAINING),
     "freed before the next backward or optimizer step"},

    /* older than the trace, without a stack: by size */
    {GM_ROLE_ACTIVATION, 85, ANY, L(OLD_BACKWARD), ANY, ANY, ANY, "older than the trace, freed in backward"},
    {GM_ROLE_WORKSPACE, 60, ANY, ANY, C(WORKSPACE_MAYBE), ANY, ANY,
     "older than the trace, one or two of the size of cuBLAS's workspace"},
    {GM_ROLE_PARAMETER, 90, ANY, ANY, C(PARAMETER), ANY, ANY,
     "older than the trace; as many of its size as gradients were made"},
    {GM_ROLE_PARAMETER, 65, ANY, ANY, C(SECOND), ANY, ANY,
     "older than the trace; of a parameter's size, more than parameters and states: a second set of weights"},
    {GM_ROLE_OPTIMIZER_STATE, 85, ANY, ANY, C(STATE), ANY, ANY,
     "older than the trace; of a parameter's size, the same number again"},
    {GM_ROLE_GRADIENT, 75, ANY, ANY, C(STALE_GRADIENT), ANY, ANY,
     "older than the trace, of a gradient's size, and freed before gradients were made anew"},
    {GM_ROLE_ACTIVATION, 65, ANY, L(OLD_TAIL) | L(OLD_FREED) | L(OLD_REPLACED), C(NONE), ANY,
     W(TRAINING) | W(INFERENCE), "older than the trace, freed in it, and no gradient: kept from a round before"},
    {GM_ROLE_OPTIMIZER_STATE, 70, ANY, ANY, C(MASTER), ANY, ANY,
     "older than the trace; twice the size of a gradient, as many or a multiple"},
    {GM_ROLE_PARAMETER, 70, ANY, ANY, C(SHARED_PARAMETER), ANY, ANY,
     "all sizes come in the same multiple: one of each group is a parameter"},
    {GM_ROLE_GRADIENT, 65, ANY, ANY, C(SHARED_GRADIENT), ANY, ANY,
     "all sizes come in the same multiple: one of each group is a gradient"},
    {GM_ROLE_OPTIMIZER_STATE, 70, ANY, ANY, C(SHARED_STATE), ANY, ANY,
     "all sizes come in the same multiple: the rest of each group are states"},
    {GM_ROLE_ACTIVATION, 60, ANY, ANY, C(ALIKE), ANY, ANY,
     "older than the trace, never freed, and of a size of which every round keeps some"},
    {GM_ROLE_PARAMETER, 60, ANY, ANY, C(FROZEN), ANY, ANY,
     "older than the trace, never freed, and no gradient has its size: frozen weights"},
    {GM_ROLE_PARAMETER, 55, ANY, ANY, C(INFERENCE), ANY, W(NOTHING),
     "without a stack, beside blocks that a model's forward made, and none of a backward"},

    /* nothing fits */
    {GM_ROLE_UNKNOWN, 0, ANY, ANY, C(PRIVATE), ANY, ANY,
     "older than the trace, without a stack, in a private pool (a CUDA graph's)"},
    {GM_ROLE_UNKNOWN, 0, S(NONE) | S(EMPTY), OLD_ONES, ANY, ANY, ANY,
     "older than the trace, without a stack, and its size tells nothing"},
    {GM_ROLE_UNKNOWN, 0, S(OTHER), ANY, ANY, ANY, ANY, "neither its stack nor its life tells"},
    {GM_ROLE_UNKNOWN, 0, ANY, ANY, ANY, ANY, ANY, "no stack, and its life tells nothing"},
};
enum { RULES = sizeof rules / sizeof *rules };
_Static_assert(RULES <= UINT8_MAX, "a reason is a byte");
_Static_assert(GM_SAYS_COUNT <= 16 && GM_LIFE_COUNT <= 15 && GM_CLAIM_COUNT <= 32, "the key's bits");

struct gm_role_rule gm_role_rule(size_t reason)
{
    return (struct gm_role_rule){rules[reason].role, rules[reason].reason, rules[reason].certainty};
}

size_t gm_role_rule_count(void)
{
    return RULES;
}

static bool fits(uint32_t mask, unsigned value)
{
    return mask == ANY || (mask >> value & 1) != 0;
}

static uint8_t first_fitting(enum gm_world world, enum gm_says says, enum gm_life life, enum gm_claim claim,
                             enum gm_role_part part)
{
    uint8_t i = 0;
    while (!fits(rules[i].says, says) || !fits(rules[i].life, life) || !fits(rules[i].claim, claim) ||
           !fits(rules[i].part, part) || !fits(rules[i].world, world))
        i++; /* the last rule fits all */
    return i;
}

/* What takes the place of a parameter, a state or a cache is one. In the order of birth, as an heir may have heirs. */
static void inherit(struct gm_role_work *w)
{
    uint8_t rule_of[GM_ROLE_COUNT] = {0}; /* its number + 1 */
    for (size_t i = 0; i < RULES; i++)
        if (rules[i].claim == C(HEIR))
            rule_of[rules[i].role] = (uint8_t)(i + 1);
    for (size_t i = 0; i < w->heirs.n; i++) {
        uint32_t heir = w->heirs.v[i].heir;
        uint8_t role = w->pass->role[w->heirs.v[i].old];
        if (rule_of[role] == 0)
            continue;
        w->pass->reason[heir] = (uint8_t)(rule_of[role] - 1);
        w->pass->role[heir] = role;
    }
}

/* Whether stacks that make objects in every step gave up some of theirs: the last step's are not weights either. */
static void mark_given_up(struct gm_role_work *w)
{
    for (size_t a = 0; a < w->h->allocation_count; a++)
        if (w->h->born[a] > 0 && gm_life_of(w, a) < GM_LIFE_LASTING && w->runs[gm_stack_of(w->h, a)] != 0)
            w->runs[gm_stack_of(w->h, a)] = 2;
}

void gm_role_decide(struct gm_role_work *w)
{
    struct gm_trace_pass *pass = w->pass;
    uint8_t known[1 << 15]; /* a rule's number + 1 by all that rules ask for; 0: not asked yet */
    memset(known, 0, sizeof known);
    mark_given_up(w);
    for (size_t a = 0; a < w->h->allocation_count; a++) {
        enum gm_says says = gm_role_says(w, a);
        if (says == GM_SAYS_OBJECT && w->runs[gm_stack_of(w->h, a)] == 2)
            says = GM_SAYS_OTHER; /* every step makes such objects anew: no weights */
        uint8_t *rule = &known[(unsigned)says << 11 | (unsigned)w->claim[a] << 6 | w->life[a]];
        if (*rule == 0)
            *rule = (uint8_t)(1 + first_fitting(w->world, says, gm_life_of(w, a), (enum gm_claim)w->claim[a],
                                                gm_life_part(w, a)));
        pass->reason[a] = (uint8_t)(*rule - 1);
        pass->role[a] = (uint8_t)rules[pass->reason[a]].role;
    }
    inherit(w);
}
