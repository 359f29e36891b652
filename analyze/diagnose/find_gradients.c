/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradients: of what is never trained, beside buckets of their own, of tables of which little was looked up, and those
 * that can be differentiated once more.
 */
#include "analyze/diagnose/kept.h"
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST_ROUNDS = 2,
    BRIEF = 32 /* events */,
    BUCKETS_APART = 50 /* a fiftieth */,
    TABLE_PER_LOOKUP = 8,
    LEAST_KEPT = 3,
    LEAST_LISTS = 3,
    TINY = 64
};

static bool is_gradient(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_GRADIENT) && gm_lives_is_of_backward(l, a);
}

/* The last event of each round in which backward makes something. */
static uint32_t *ends_of_backward(const struct gm_lives *l)
{
    uint32_t *ends = gm_lives_scratch(l, l->rounds.n + 1, sizeof *ends);
    for (size_t a = 0; ends != NULL && a < l->h->allocation_count; a++)
        if (gm_lives_is_of_backward(l, a))
            ends[gm_lives_round(l, l->h->born[a])] = l->h->born[a];
    return ends;
}

/* ---- frozen ------------------------------------------------------------------------------------------------------ */

/* Made by a backward pass of the first rounds, be they older than the trace, and there to the end, though others were
 * given up since: else it is a gradient of the last step. */
static bool is_left_behind(const struct gm_lives *l, size_t a)
{
    const uint32_t born = l->h->born[a];
    return gm_lives_is_left(l, a) && gm_lives_is_role(l, a, GM_ROLE_GRADIENT) && born < l->last_zeroed &&
           (born == 0 || (gm_lives_is_of_backward(l, a) && gm_lives_round(l, born) <= 1));
}

/* Made anew in a backward pass, and there after it. Not what is added to another gradient at once. */
static bool is_of_trained(const struct gm_lives *l, size_t a, const uint32_t *ends)
{
    const struct gm_history *h = l->h;
    if (!is_gradient(l, a) || is_left_behind(l, a))
        return false;
    const uint32_t end = ends[gm_lives_round(l, h->born[a])];
    return h->freed[a] > end && (h->freed[a] - h->born[a] > BRIEF || h->freed[a] > gm_next_made(h, end) + 1);
}

/* A weight, be it only of the rounds of one task, as a prompt that is trained is. */
static bool may_be_weight(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_PARAMETER) ||
           (gm_lives_is_role(l, a, GM_ROLE_ACTIVATION) && gm_lives_goes(l, a) &&
            (gm_lives_by(l, a) & GM_BY_MODULE) == 0 &&
            gm_lives_round(l, l->h->freed[a]) > gm_lives_round(l, l->h->born[a]) + 1);
}

/* In each round the birth of the last gradient that is made anew: what backward does from there on is done for
 * nobody. `anew`: how many of them go, of weights that have none which is left behind: theirs are added to that one. */
static uint32_t *last_of_trained(const struct gm_lives *l, const uint32_t *ends, size_t *anew)
{
    const struct gm_history *h = l->h;
    uint32_t *last = gm_lives_scratch(l, l->rounds.n + 1, sizeof *last);
    GM_FREED struct gm_sizes weights = {.v = NULL};
    gm_sizes_of_those(&weights, l, may_be_weight);
    *anew = 0;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (is_left_behind(l, a))
            gm_sizes_has_another(&weights, gm_requested(h, a));
    for (size_t a = 0; last != NULL && a < h->allocation_count; a++) {
        if (!is_of_trained(l, a, ends))
            continue;
        const uint32_t round = gm_lives_round(l, h->born[a]);
        *anew += !gm_lives_is_left(l, a) && gm_sizes_has_another(&weights, gm_requested(h, a));
        last[round] = h->born[a];
    }
    return last;
}

/* Kept for that part of a backward pass, or made in it. */
static bool is_for_nobody(const struct gm_lives *l, size_t a, const uint32_t *lasts)
{
    const struct gm_history *h = l->h;
    const uint32_t round = gm_lives_round(l, h->born[a]), last = lasts[round];
    return last != 0 &&
           (gm_lives_is_of_backward(l, a)
                ? h->born[a] > last
                : gm_lives_is_role(l, a, GM_ROLE_ACTIVATION) && h->born[a] < last && h->freed[a] > last) &&
           gm_lives_round(l, h->freed[a]) == round;
}

/* Of a round: the births of the first gradient that is made anew, and of the first that is as large as those that are
 * left behind; how much is made of these before that one; and the activations that go between the two, and later. */
struct frozen_first {
    uint32_t trained, begin;
    uint64_t bytes, before, after;
};

enum {
    OWN_PASS = 4 /* parts: what is trained behind weights that are not, as a prompt is, has no activations of its own */
};

/* Whether it goes between the two, and most that is left behind is made then: a model that is not trained ran after the
 * one that is, as a reference does. */
static bool is_before_trained(const struct gm_lives *l, size_t a, const struct frozen_first *r, uint64_t left)
{
    return gm_lives_is_role(l, a, GM_ROLE_ACTIVATION) && r->trained != GM_NEVER && r->bytes >= left / 2 &&
           l->h->born[a] < r->begin && l->h->freed[a] > r->begin && l->h->freed[a] < r->trained;
}

/* `ends`: of their backward passes; `behind`: the sizes of all that is left behind, `left` bytes. */
static void look_at_rounds(struct frozen_first *rounds, const struct gm_lives *l, const uint32_t *ends,
                           const struct gm_sizes *behind, uint64_t left)
{
    const struct gm_history *h = l->h;
    for (size_t r = 0; r <= l->rounds.n; r++)
        rounds[r] = (struct frozen_first){.trained = GM_NEVER, .begin = GM_NEVER};
    for (size_t a = h->allocation_count; a-- > 0;)
        if (is_of_trained(l, a, ends))
            rounds[gm_lives_round_of(l, a)].trained = h->born[a];
    for (size_t a = 0; a < h->allocation_count; a++) {
        struct frozen_first *r = &rounds[gm_lives_round_of(l, a)];
        if (h->born[a] > 0 && h->born[a] < r->trained && gm_lives_is_of_backward(l, a) &&
            gm_sizes_has(behind, gm_requested(h, a))) {
            r->begin = r->bytes == 0 ? h->born[a] : r->begin;
            r->bytes += gm_requested(h, a);
        }
    }
    for (size_t a = 0; a < h->allocation_count; a++) {
        struct frozen_first *r = &rounds[gm_lives_round_of(l, a)];
        if (is_before_trained(l, a, r, left))
            r->before += gm_requested(h, a);
        else if (gm_lives_is_role(l, a, GM_ROLE_ACTIVATION) && h->born[a] < r->begin && h->freed[a] > r->trained &&
                 gm_lives_goes_in_backward(l, a))
            r->after += gm_requested(h, a);
    }
}

/* [gm_stack_id] Those whose activations go so, wherever a round tells. NULL: no memory. */
static bool *stacks_of_frozen(const struct gm_lives *l, const uint32_t *ends, const struct gm_sizes *behind,
                              uint64_t left)
{
    const struct gm_history *h = l->h;
    bool *are = gm_lives_of_stacks(l, sizeof *are);
    GM_FREED struct frozen_first *rounds = gm_lives_scratch(l, l->rounds.n + 1, sizeof *rounds);
    GM_FREED struct {
        uint64_t all, before;
    } *bytes = gm_lives_of_stacks(l, sizeof *bytes);
    if (*l->failed)
        return are;
    look_at_rounds(rounds, l, ends, behind, left);
    for (size_t a = 0; a < h->allocation_count; a++) {
        const struct frozen_first *r = &rounds[gm_lives_round_of(l, a)];
        if (h->born[a] == 0 || !gm_lives_is_role(l, a, GM_ROLE_ACTIVATION) || h->born[a] > r->trained ||
            r->after < r->before / OWN_PASS)
            continue;
        bytes[gm_lives_stack(l, a)].all += gm_requested(h, a);
        bytes[gm_lives_stack(l, a)].before += is_before_trained(l, a, r, left) ? gm_requested(h, a) : 0;
    }
    for (size_t s = 0; s < l->snapshot->stacks.count; s++)
        are[s] = bytes[s].before > 0 && bytes[s].before >= bytes[s].all - bytes[s].all / 10;
    return are;
}

/* Whether all that is made while it is there goes before it does: a bias is summed up in more than one. */
static bool is_workspace(const struct gm_lives *l, size_t a)
{
    const struct gm_history *h = l->h;
    bool is = h->freed[a] - h->born[a] <= BRIEF;
    for (uint32_t e = gm_next_made(h, h->born[a]); is && e + 1 < h->freed[a]; e = gm_next_made(h, e + 1))
        is = h->freed[gm_made_by(h, e)] <= h->freed[a];
    return is;
}

/* A workspace of the product whose result was made right before it and outlives it: nothing is made meanwhile. */
static bool is_of_product(const struct gm_lives *l, size_t a)
{
    const struct gm_history *h = l->h;
    const uint32_t before = h->born[a] < 2 ? GM_NEVER : gm_made_by(h, h->born[a] - 2);
    return before != GM_NEVER && h->freed[before] > h->freed[a] && h->freed[a] <= gm_next_made(h, h->born[a]);
}

/* Whether a block of twice its size is made while it is there: autocast's gradient of a weight is cast. */
static bool is_cast(const struct gm_lives *l, size_t a)
{
    const struct gm_history *h = l->h;
    uint32_t e = gm_next_made(h, h->born[a]);
    while (e + 1 < h->freed[a] && e < h->count && gm_requested(h, gm_made_by(h, e)) != 2 * gm_requested(h, a))
        e = gm_next_made(h, e + 1);
    return e + 1 < h->freed[a] && e < h->count;
}

/* What the forward pass kept only for gradients that are left behind, as the input of a layer, goes when one of these
 * has been made: its node makes at most one more. Where a gradient of what is trained came since something went last,
 * it is the input of that layer, too. Gradients under autocast are half as large at first. */
static void add_inputs(struct gm_set *set, const struct gm_lives *l, const struct gm_sizes *left)
{
    const struct gm_history *h = l->h;
    size_t since = BRIEF; /* a gradient that is left behind, so many were made */
    uint64_t left_last = 0;
    bool has_trained = false;
    for (uint32_t e = 0; e < h->count; e++) {
        const uint32_t a = h->of_event[e];
        if (a == GM_NEVER)
            continue;
        const uint64_t size = gm_requested(h, a);
        if (gm_made_by(h, e) != GM_NEVER && !gm_lives_is_of_backward(l, a)) {
            since = BRIEF;
            has_trained = false;
        } else if (gm_made_by(h, e) != GM_NEVER && size >= l->at_peak / 5000 && !is_of_product(l, a) &&
                   (gm_sizes_has(left, size) || (gm_sizes_has(left, 2 * size) && is_cast(l, a)))) {
            since = 0;
            left_last = size;
        } else if (gm_made_by(h, e) != GM_NEVER) {
            const bool is_bias = since == 0 && size < left_last / TINY; /* of the layer whose weight is not trained */
            since += !is_workspace(l, a);
            has_trained |= is_gradient(l, a) && !is_bias;
        } else if (h->freed[a] == e + 1 && gm_lives_is_role(l, a, GM_ROLE_ACTIVATION)) {
            if (since <= 1 && !has_trained)
                gm_set_end(set, a, gm_lives_after_others(l, a, 2));
            has_trained = false;
        }
    }
}

/* One that backward adds to another at once. */
static bool is_added(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_of_backward(l, a) && gm_lives_is_of_engine(l, a) && l->h->freed[a] - l->h->born[a] <= BRIEF;
}

/* What is older than the trace, and seems to be gradients by size, are some if most of it is added to in each round but
 * the first and the last. */
static bool are_older_ones(const struct gm_lives *l)
{
    GM_FREED struct gm_sizes added = {.v = NULL};
    uint64_t all = 0, alike = 0;
    gm_sizes_of_those(&added, l, is_added);
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        const uint64_t bytes = l->h->born[a] == 0 && is_left_behind(l, a) ? gm_requested(l->h, a) : 0;
        bool is = bytes > 0;
        for (size_t round = 1; is && round + 1 < l->rounds.n; round++)
            is = gm_sizes_has_another(&added, bytes);
        all += bytes;
        alike += is ? bytes : 0;
    }
    return alike >= all - all / 10;
}

enum { STATES_OF_ONE = 3 /* that an optimizer keeps, at most */ };

static bool is_state(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_OPTIMIZER_STATE) && gm_requested(l->h, a) > GM_LOSS_BYTES;
}

static bool has_in_any_bits(const struct gm_sizes *sizes, uint64_t size)
{
    return gm_sizes_has(sizes, size) || gm_sizes_has(sizes, 2 * size) || gm_sizes_has(sizes, size / 2);
}

/* Whether nearly all states are as large as gradients, a few for each: of factors, or 8 bits, sizes tell nothing. */
static bool are_of_gradients(const struct gm_sizes *states, const struct gm_sizes *gradients)
{
    uint64_t all = 0, alike = 0;
    for (size_t i = 0; i < states->n; i++) {
        const struct gm_size *state = &states->v[i];
        uint64_t count = 0;
        for (size_t k = 0; k < gradients->n; k++) {
            const uint64_t size = gradients->v[k].bytes;
            count += size == state->bytes || size == 2 * state->bytes || 2 * size == state->bytes
                         ? gradients->v[k].there
                         : 0;
        }
        all += state->bytes * state->there;
        alike += state->there <= STATES_OF_ONE * count ? state->bytes * state->there : 0;
    }
    return all > 0 && alike >= all - all / 10;
}

/* Whether one ran that needs no states: what it trains has none. */
static bool has_sgd(const struct gm_snapshot *s)
{
    static const char name[] = "Optimizer.step#SGD";
    bool has = false;
    for (size_t i = 0; i < s->annotation_count && !has; i++) {
        size_t n;
        const char *text = gm_string(s, s->annotations[i].name, &n);
        has = n >= sizeof name - 1 && memcmp(text, name, sizeof name - 1) == 0;
    }
    return has;
}

/* Gradients that are given up in each round, as model.zero_grad() does it, and have no state where others have one. Not
 * of tables, of which a lookup each tells: they may have an optimizer of their own, without states. */
static void find_stateless(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    GM_FREED struct gm_sizes states = {.v = NULL}, gradients = {.v = NULL}, sizes = {.v = NULL}, weights = {.v = NULL};
    struct gm_set set = {.v = NULL};
    uint32_t first = GM_NEVER;
    gm_sizes_of_those(&states, l, is_state);
    gm_sizes_of_first_gradients(&gradients, l);
    gm_sizes_of_role(&weights, l, GM_ROLE_PARAMETER);
    bool is_told = are_of_gradients(&states, &gradients) && !has_sgd(l->snapshot);
    for (size_t a = 0; a < l->h->allocation_count; a++) /* what is older than the trace is known by its size only */
        is_told &= l->h->born[a] > 0 || !gm_lives_is_role(l, a, GM_ROLE_PARAMETER);
    size_t n = 0, lookups = 0;
    for (size_t i = 0; is_told && i < gradients.n; i++)
        if (has_in_any_bits(&weights, gradients.v[i].bytes) && !has_in_any_bits(&states, gradients.v[i].bytes))
            gradients.v[n++] = gradients.v[i];
    gradients.n = n;
    for (size_t a = 0; n > 0 && a < l->h->allocation_count; a++) {
        lookups += (gm_lives_by(l, a) & GM_BY_LOOKUP) != 0;
        if (is_gradient(l, a) && gm_sizes_has(&gradients, gm_requested(l->h, a))) {
            first = l->h->born[a] < first ? l->h->born[a] : first;
            gm_set_drop(&set, a);
        }
    }
    if (set.n < 2 * lookups || !gm_is_share(gm_set_at_peak(l, &set), l->at_peak, 0.05))
        set.n = 0;
    gm_sizes_of_set(&sizes, l, &set);
    if (set.n > 0)
        add_inputs(&set, l, &sizes);
    gm_case_accuse_backward(
        c, rule, &set, first,
        "gradients that every step makes anew, with all that is kept for them, of sizes of which the optimizer has no "
        "state, while it keeps states as large as others: it does not have their parameters");
}

/* Without it they would not be made, or go when the next two tensors have been made. */
static void find_frozen(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    const struct gm_history *h = l->h;
    struct gm_set set = {.v = NULL}, kept = {.v = NULL}; /* `kept`: by passes of a model of which nothing is trained */
    uint32_t first = GM_NEVER;
    uint64_t left = 0;
    size_t anew;
    for (size_t a = 0; l->rounds.n >= LEAST_ROUNDS && a < h->allocation_count; a++)
        left += is_left_behind(l, a) ? gm_requested(h, a) : 0;
    if (!gm_is_share(left, l->at_peak, 0.001)) {
        find_stateless(c, rule);
        return;
    }
    if (!are_older_ones(l))
        return;
    GM_FREED uint32_t *ends = ends_of_backward(l);
    GM_FREED struct gm_sizes behind = {.v = NULL};
    gm_sizes_of_those(&behind, l, is_left_behind);
    if (c->failed)
        return;
    GM_FREED uint32_t *last = last_of_trained(l, ends, &anew);
    GM_FREED bool *is_frozen = stacks_of_frozen(l, ends, &behind, left);
    for (size_t a = 0; !c->failed && anew > 0 && a < h->allocation_count; a++) {
        const bool is_left = is_left_behind(l, a),
                   is_kept = gm_lives_is_role(l, a, GM_ROLE_ACTIVATION) && is_frozen[gm_lives_stack(l, a)],
                   is_done_for = is_left || is_kept || is_for_nobody(l, a, last);
        first = is_left && h->born[a] < first ? h->born[a] : first;
        if (is_left || (is_done_for && gm_lives_is_of_backward(l, a)))
            gm_set_drop(&set, a);
        else if (is_done_for)
            gm_set_end(&set, a, gm_lives_after_others(l, a, 2));
        if (is_kept && (gm_lives_by(l, a) & GM_BY_MODULE) != 0)
            gm_set_drop(&kept, a);
    }
    const char *caller = kept.n > 0 ? gm_lives_caller(c->lives, &kept, true) : NULL;
    gm_case_free_set(c, &kept);
    if (set.n > 0 && caller == NULL)
        add_inputs(&set, l, &behind);
    if (!gm_is_share(gm_set_at_peak(l, &set), l->at_peak, 0.02))
        set.n = 0;
    struct gm_finding *f = gm_case_accuse_backward(
        c, rule, &set, first,
        "gradients of the first backward pass that are never given up, with all that is kept or made for them, while "
        "others are made anew in every step: no optimizer has their parameters");
    if (f != NULL && caller != NULL)
        f->site = caller;
}

/* ---- buckets ----------------------------------------------------------------------------------------------------- */

/* Whether it is one, be it older than the trace, that lives for more events than that; the trace may end sooner. */
static bool is_one_for(const struct gm_lives *l, size_t a, uint32_t events)
{
    return gm_lives_is_role(l, a, GM_ROLE_GRADIENT) && gm_min(l->h->freed[a], l->h->count + 1) - l->h->born[a] > events;
}

/* The most bytes of gradients at a time that live for more events than that; 0 if there is never more than one. */
static uint64_t all_gradients(const struct gm_lives *l, uint32_t events)
{
    const struct gm_history *h = l->h;
    uint64_t now = 0, most = 0;
    size_t count = 0, blocks = 0;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (h->born[a] == 0 && is_one_for(l, a, events)) {
            most = now += gm_requested(h, a);
            blocks = ++count;
        }
    for (uint32_t e = 0; e < h->count; e++) {
        const uint32_t a = h->of_event[e];
        if (a == GM_NEVER || !is_one_for(l, a, events))
            continue;
        if (h->born[a] == e + 1) {
            now += gm_requested(h, a);
            count++;
        } else if (h->freed[a] == e + 1) {
            now = gm_sat_sub(now, gm_requested(h, a));
            count -= count > 0;
        }
        most = now > most ? now : most;
        blocks = count > blocks ? count : blocks;
    }
    return blocks > 1 ? most : 0;
}

static bool is_near(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) <= b / BUCKETS_APART;
}

/* Made by a line of the program outside of its model, and not in a forward pass: maybe of gradients, for a moment. */
static bool may_be_flat(const struct gm_lives *l, size_t a)
{
    return gm_lives_phase(l, l->h->born[a] - 1) != GM_PHASE_FORWARD && l->h->born[a] > l->first_backward &&
           (gm_lives_by(l, a) & (GM_BY_MODULE | GM_BY_LOSS | GM_BY_BACKWARD)) == 0;
}

/* Of communication (DistributedDataParallel's), or made by one line of the program, there for good, or a flat copy, and
 * together as large as all gradients. */
static bool is_bucket(const struct gm_lives *l, size_t a)
{
    return gm_lives_at_peak(l, a) && !is_gradient(l, a) &&
           (gm_lives_is_role(l, a, GM_ROLE_COMMUNICATION) ||
            ((gm_lives_is_lasting(l, a) || may_be_flat(l, a)) &&
             (gm_lives_by(l, a) & (GM_BY_NOBODY | GM_BY_OPTIMIZER)) == 0));
}

/* The stack whose sum is asked; those of communication are one. */
static size_t bucket_of(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_COMMUNICATION) ? l->snapshot->stacks.count : gm_lives_stack(l, a);
}

enum { LEAST_BUCKET = 20 /* parts of all gradients */ };

/* The line that wraps the model makes its first buffers; others may come in later steps. */
static const char *wrapped_at(struct gm_lives *l, uint64_t gradients)
{
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (gm_lives_is_role(l, a, GM_ROLE_COMMUNICATION) && l->h->born[a] > 0 &&
            gm_requested(l->h, a) >= gradients / LEAST_BUCKET)
            return gm_lives_place(l, gm_lives_stack(l, a));
    return NULL;
}

/* Whether most gradients that last give way to views in a later backward pass. */
static bool are_views(const struct gm_lives *l)
{
    const struct gm_history *h = l->h;
    uint64_t all = 0, given = 0;
    for (size_t a = 0; a < h->allocation_count; a++) {
        const uint32_t freed = h->freed[a];
        if (!is_gradient(l, a) || freed - h->born[a] <= BRIEF)
            continue;
        all += gm_requested(h, a);
        given += gm_lives_goes_in_backward(l, a) ? gm_requested(h, a) : 0;
    }
    return given > all / 2;
}

/* What one stack made of them; of that what has no gradient's size, and is no weight. A large weight may fill one. */
struct buckets {
    uint64_t bytes, others;
    uint32_t line; /* another stack's, whose line it is: that one has these, too; 0: none */
};

/* The last of them may be made by the same line from elsewhere. */
static void join_lines(struct gm_lives *l, struct buckets *buckets, uint64_t all)
{
    const size_t stacks = l->snapshot->stacks.count;
    for (uint32_t s = 0; s < stacks; s++)
        for (uint32_t t = 0; buckets[s].bytes >= all / 2 && t < stacks; t++)
            if (buckets[t].bytes > 0 && gm_lives_is_line_elsewhere(l, s, t)) {
                buckets[t].line = s;
                buckets[s].bytes += buckets[t].bytes;
                buckets[s].others += buckets[t].others;
                buckets[t].bytes = 0;
            }
}

static size_t line_of(const struct gm_lives *l, const struct buckets *buckets, size_t a)
{
    const size_t of = bucket_of(l, a);
    return buckets[of].line != 0 ? buckets[of].line : of;
}

/* What is there for good, not by autograd, and has a gradient's size. */
static uint64_t weights_of(const struct gm_lives *l, const struct gm_sizes *gradients)
{
    uint64_t bytes = 0;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (gm_lives_is_lasting(l, a) && !gm_lives_is_of_engine(l, a) && gm_sizes_has(gradients, gm_requested(l->h, a)))
            bytes += gm_requested(l->h, a);
    return bytes;
}

/* Buffers that last: of communication, or of the line that made the last of them. Weights that lie in one are none:
 * those of gradients must be there by themselves. */
static void find_kept_buckets(struct gm_set *set, struct gm_lives *l, const struct gm_sizes *gradients)
{
    GM_FREED struct buckets *buckets = gm_lives_of_stacks(l, sizeof *buckets);
    uint64_t sums = 0;
    size_t last = SIZE_MAX;
    for (size_t i = 0; buckets != NULL && i < l->there.n; i++) {
        const uint32_t a = l->there.v[i];
        if (!is_bucket(l, a))
            continue;
        buckets[bucket_of(l, a)].bytes += gm_requested(l->h, a);
        buckets[bucket_of(l, a)].others += gm_sizes_has(gradients, gm_requested(l->h, a)) ? 0 : gm_requested(l->h, a);
        sums += gm_requested(l->h, a);
    }
    if (sums < GM_MIB)
        return;
    const uint64_t all = all_gradients(l, 0), lasting = all_gradients(l, BRIEF); /* not added to others at once */
    if (!is_near(gm_min(sums, all), all) && !is_near(gm_min(sums, lasting), lasting))
        return;
    const uint64_t weights = weights_of(l, gradients);
    if (all >= GM_MIB)
        join_lines(l, buckets, all);
    for (size_t i = 0; i < l->there.n; i++) {
        const uint32_t a = l->there.v[i];
        const struct buckets *of = is_bucket(l, a) ? &buckets[line_of(l, buckets, a)] : NULL;
        const uint64_t sum = of == NULL || of->others <= of->bytes / 2 ? 0 : of->bytes;
        if ((is_near(sum, all) || is_near(sum, lasting)) && sum >= GM_MIB && weights >= sum / 2)
            last = line_of(l, buckets, a);
    }
    for (size_t a = 0; last != SIZE_MAX && a < l->h->allocation_count; a++)
        if ((is_bucket(l, a) || (may_be_flat(l, a) && !is_gradient(l, a))) && line_of(l, buckets, a) == last)
            gm_set_drop(set, a);
}

/* Gradients that are views of a buffer: backward still makes each, to add it to its view at once. */
static void add_views(struct gm_set *set, const struct gm_lives *l)
{
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (is_gradient(l, a))
            gm_set_end(set, a, gm_lives_after_others(l, a, 1));
        else if (is_one_for(l, a, 0))
            gm_set_drop(set, a);
}

static void find_buckets(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    GM_FREED struct gm_sizes gradients = {.v = NULL};
    gm_sizes_of_role(&gradients, l, GM_ROLE_GRADIENT);
    find_kept_buckets(&set, l, &gradients);
    const bool is_wrapped = set.n > 0 && gm_lives_is_role(l, set.v[0].allocation, GM_ROLE_COMMUNICATION);
    for (size_t i = 0; i < set.n; i++) /* they are no data */
        gm_lives_take(l, set.v[i].allocation, GM_TAKEN);
    struct gm_set views = {.v = NULL};
    if (is_wrapped)
        set.n = 0;
    if (!is_wrapped || !are_views(l))
        add_views(is_wrapped ? &set : &views, l);
    struct gm_finding *f =
        gm_case_accuse(c, rule, &set, false, "a buffer as large as all gradients together is there beside them");
    if (f != NULL && views.n > 0) /* it is the gradients that go */
        f->remedy = gm_case_remedy_of(c, &views);
    gm_case_free_set(c, &views);
    const char *wrapped = f == NULL || !is_wrapped ? NULL : wrapped_at(l, all_gradients(l, 0));
    if (wrapped != NULL)
        f->site = wrapped;
}

/* Buffers of DistributedDataParallel from before the first backward pass, where others, which it makes anew by the
 * order in which gradients come, hold all gradients: these get none. */
static void find_idle_buckets(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    uint64_t others = 0;
    for (size_t i = 0; i < l->there.n; i++) {
        const uint32_t a = l->there.v[i];
        if (!gm_lives_is_role(l, a, GM_ROLE_COMMUNICATION))
            continue;
        const bool is_first = l->h->born[a] > 0 && l->h->born[a] <= l->first_backward && gm_lives_is_lasting(l, a);
        others += is_first ? 0 : gm_requested(l->h, a);
        if (is_first)
            gm_set_drop(&set, a);
    }
    const uint64_t all = set.n > 0 ? all_gradients(l, 0) : 0;
    if (all == 0 || others < all - all / 10)
        set.n = 0;
    gm_case_accuse(c, rule, &set, false,
                   "the wrapper made them when it was set up, and no gradient came: those that were made anew hold as "
                   "much as all gradients, so these are of parameters that were frozen after that");
}

/* ---- create_graph ------------------------------------------------------------------------------------------------ */

/* What autograd made on its way, and does not free in its pass, which makes things without a break, but for what a
 * checkpoint makes once more. As many of a size as there are parameters of it are gradients; others are `kept`: a
 * graph, if what the forward pass kept for it is there, too, and no later backward pass uses it. A pass that keeps few
 * keeps gradients of its inputs. */
struct second_graph {
    struct gm_set set;
    uint64_t kept, gradients;
    uint64_t first;       /* bytes of what forward passes kept for it: of graphs that are merely held, nearly all */
    uint32_t walked;      /* the last event of the pass before */
    bool is_of_transform; /* of torch.func, whose pass always has a graph of itself */
};

static bool is_on_the_way(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_of_backward(l, a) && gm_lives_is_of_engine(l, a) && !gm_lives_is_role(l, a, GM_ROLE_WORKSPACE);
}

/* Whether it is there after the pass that makes its last at `last`, which frees what it frees last after that. */
static bool outlives_pass(const struct gm_lives *l, size_t a, uint32_t last, uint32_t next)
{
    const uint32_t freed = l->h->freed[a];
    return freed > last + 1 && (freed >= next || !gm_lives_goes_in_backward(l, a));
}

/* The forward pass's part of a graph that can be differentiated once more: a pass that keeps none gives it up in
 * reverse order on its way. Returns whether it keeps half of it, or there is none. */
static bool add_first_graph(struct gm_set *set, const struct gm_lives *l, uint32_t from, uint32_t last, uint32_t next)
{
    const size_t before = set->n;
    uint64_t found = 0, kept = 0;
    const bool has_modules = gm_lives_has_modules(l);
    const uint32_t round = gm_lives_round(l, from + 1);
    for (uint32_t e = from; e > 0 && gm_lives_round(l, e) == round; e--) {
        const uint32_t a = l->h->of_event[e - 1];
        if (a == GM_NEVER || l->h->born[a] != e || !gm_lives_is_role(l, a, GM_ROLE_ACTIVATION) ||
            (has_modules && (gm_lives_by(l, a) & GM_BY_MODULE) == 0) || l->h->freed[a] <= from)
            continue;
        found += gm_requested(l->h, a);
        if (!outlives_pass(l, a, last, next))
            continue;
        kept += gm_requested(l->h, a);
        gm_set_end(set, a, 0);
    }
    for (size_t i = before; i < set->n; i++)
        set->v[i].gone = from + (uint32_t)((uint64_t)(last + 1 - from) * (i - before + 1) / (set->n - before));
    return kept >= found / 2;
}

/* Whether a later backward pass walks it, from here on in the set: piece by piece, and makes something in between. What
 * nothing uses goes at once. */
static bool is_used_up(const struct gm_lives *l, const struct gm_set *set, size_t from)
{
    uint32_t before = GM_NEVER;
    size_t pieces = 0;
    for (size_t i = from; i < set->n; i++) {
        const uint32_t freed = l->h->freed[set->v[i].allocation];
        const uint32_t next = freed == GM_NEVER ? GM_NEVER : gm_next_made(l->h, freed) + 1;
        pieces += next <= l->h->count && next != before && gm_lives_is_of_engine(l, l->h->of_event[next - 1]);
        before = next;
    }
    return pieces * 2 > set->n - from;
}

static void add_pass(struct second_graph *g, const struct gm_lives *l, struct gm_sizes *parameters, uint32_t from,
                     uint32_t last)
{
    const size_t before = g->set.n;
    const uint32_t next = gm_next_made(l->h, last + 1) + 1; /* what it frees last may go after the last that it makes */
    uint64_t kept = 0;
    if ((l->has_oom && next > l->h->count) /* it did not come to its end */ || g->is_of_transform)
        return;
    gm_sizes_begin_anew(parameters);
    for (uint32_t e = from; e <= last; e++) {
        const uint32_t a = gm_made_by(l->h, e);
        if (a == GM_NEVER || !is_on_the_way(l, a) || !outlives_pass(l, a, last, next))
            continue;
        if (gm_sizes_has_another(parameters, gm_requested(l->h, a))) {
            g->gradients += gm_requested(l->h, a);
            continue;
        }
        kept += gm_requested(l->h, a);
        gm_set_drop(&g->set, a);
    }
    const size_t n = g->set.n;
    const bool is_second =
        n >= before + LEAST_KEPT && !is_used_up(l, &g->set, before) && add_first_graph(&g->set, l, from, last, next);
    g->kept += is_second ? kept : 0;
    for (size_t i = n; is_second && i < g->set.n; i++)
        g->first += l->h->born[g->set.v[i].allocation] > g->walked ? gm_requested(l->h, g->set.v[i].allocation) : 0;
    g->walked = last + 1;
    g->set.n = is_second ? g->set.n : before;
}

static struct second_graph look_for_second_graph(const struct gm_lives *l)
{
    const struct gm_history *h = l->h;
    GM_FREED struct gm_sizes parameters = {.v = NULL};
    struct second_graph graph = {.kept = 0};
    uint32_t from = GM_NEVER, last = 0;
    gm_sizes_of_role(&parameters, l, GM_ROLE_PARAMETER);
    for (size_t a = 0; a <= h->allocation_count; a++) {
        const bool is_one = a < h->allocation_count;
        if (is_one && !gm_is_made(h, a))
            continue;
        const uint32_t e = is_one ? h->born[a] - 1 : (uint32_t)h->count;
        const bool is_recomputed = is_one && from != GM_NEVER && (gm_lives_by(l, a) & GM_BY_RECOMPUTE) != 0;
        const bool is_backward = is_one && (gm_lives_is_of_backward(l, a) || is_recomputed);
        const bool is_next = is_backward && (gm_lives_by(l, a) & GM_BY_ROOT) != 0; /* right after another */
        if ((!is_backward || is_next) && from != GM_NEVER)
            add_pass(&graph, l, &parameters, from, last);
        if (is_one && (gm_lives_by(l, a) & GM_BY_ROOT) != 0)
            graph.is_of_transform = (gm_lives_by(l, a) & GM_BY_FUNCTION) != 0;
        from = !is_backward ? GM_NEVER : from == GM_NEVER || is_next ? e : from;
        last = e;
    }
    return graph;
}

static void find_second_graph(struct gm_case *c, const struct gm_rule *rule)
{
    struct second_graph graph = look_for_second_graph(c->lives);
    if (graph.kept < graph.gradients / 4 || graph.kept < graph.first / 4)
        graph.set.n = 0;
    gm_case_accuse_backward(
        c, rule, &graph.set, graph.set.n > 0 ? c->lives->h->born[graph.set.v[0].allocation] : 0,
        "what the backward pass made on its way to the gradients is still there after it: it has a graph of its own");
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* The most that lookups in tables made in a round; 0: there are none. */
static uint64_t looked_up(const struct gm_lives *l)
{
    uint64_t sum = 0, most = 0;
    uint32_t round = 0;
    for (uint32_t e = 0; e < l->h->count; e++) {
        const uint32_t a = gm_made_by(l->h, e);
        if (a == GM_NEVER || gm_lives_is_of_backward(l, a) || (gm_lives_by(l, a) & GM_BY_LOOKUP) == 0)
            continue;
        const uint32_t now = gm_lives_round(l, e + 1);
        sum = now == round ? sum + gm_requested(l->h, a) : gm_requested(l->h, a);
        round = now;
        most = sum > most ? sum : most;
    }
    return most;
}

/* How much of that size is there for good; whether an optimizer keeps states for it. */
struct table {
    size_t count;
    bool has_states;
};
static struct table table_of(const struct gm_lives *l, uint64_t bytes)
{
    struct table table = {.count = 0};
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        const bool is_alike = gm_requested(l->h, a) == bytes;
        table.has_states |= is_alike && gm_lives_is_role(l, a, GM_ROLE_OPTIMIZER_STATE);
        table.count += is_alike && !gm_lives_is_of_backward(l, a) && gm_lives_is_lasting(l, a) &&
                       !gm_lives_is_role(l, a, GM_ROLE_WORKSPACE) && !gm_lives_is_role(l, a, GM_ROLE_OPTIMIZER_STATE) &&
                       !gm_lives_is_role(l, a, GM_ROLE_ACTIVATION); /* of a graph that is kept */
    }
    return table;
}

/* How many gradients of weights its pass makes after it, but for tiny ones: what a forward pass begins with comes
 * last. */
static size_t gradients_after(const struct gm_lives *l, size_t a)
{
    const struct gm_history *h = l->h;
    size_t n = 0;
    for (uint32_t e = h->born[a]; e < h->count; e++) {
        const uint32_t other = gm_made_by(h, e);
        if (other == GM_NEVER)
            continue;
        if (!gm_lives_is_of_backward(l, other))
            break;
        n += is_gradient(l, other) && gm_requested(h, other) >= gm_requested(h, a) / TINY;
    }
    return n;
}

/* The most lookups between two backward passes: as many tables have their gradients last in a pass. */
static size_t count_lookups(const struct gm_lives *l)
{
    size_t n = 0, most = 0;
    for (uint32_t e = gm_next_made(l->h, 0); e < l->h->count; e = gm_next_made(l->h, e + 1)) {
        const uint32_t a = gm_made_by(l->h, e);
        if (gm_lives_is_of_backward(l, a))
            n = 0;
        else
            n += (gm_lives_by(l, a) & GM_BY_LOOKUP) != 0;
        most = n > most ? n : most;
    }
    return most;
}

/* What is looked up of a table, if that is a gradient of one: its node sorts the indices, and makes several lists of as
 * many numbers for it; the largest block that goes with them has a row for each. 0: it makes no such lists. */
static uint64_t rows_of_gradient(const struct gm_lives *l, size_t a)
{
    const struct gm_history *h = l->h;
    uint64_t list = 0, rows = 0;
    size_t lists = 0, gone = 0;
    for (uint32_t e = h->born[a]; e < h->count && e - h->born[a] < 2 * BRIEF; e++) {
        const uint32_t other = h->of_event[e];
        const uint64_t size = other == GM_NEVER ? 0 : gm_requested(h, other);
        const bool is_made = gm_made_by(h, e) != GM_NEVER, is_freed = other != GM_NEVER && h->freed[other] == e + 1;
        if (is_made && (lists > 0 ? gone == lists : size > gm_requested(h, a) / TABLE_PER_LOOKUP)) /* another node */
            break;
        if (is_made && list == 0 && size > TINY)
            list = size;
        lists += is_made && list > 0 && size == list;
        gone += is_freed && list > 0 && size == list && gone < lists;
        rows = is_freed && gm_lives_is_of_engine(l, other) && size > rows && size < gm_requested(h, a) ? size : rows;
    }
    return lists >= LEAST_LISTS && gone == lists ? rows : 0;
}

/* Of the pass of a gradient of a table: bytes of rows that were looked up of all tables of its size; gradients of all
 * tables, and of anything else; whether a layer makes one of its size, too, as the head of a model of words does. */
struct pass {
    uint64_t rows, tables, others;
    bool has_layer;
};
static struct pass pass_of(const struct gm_lives *l, size_t table)
{
    const uint64_t size = gm_requested(l->h, table);
    const uint32_t round = gm_lives_round(l, l->h->born[table]);
    struct pass pass = {.rows = 0};
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        if (!gm_lives_is_of_engine(l, a) || gm_lives_round(l, l->h->born[a]) != round)
            continue;
        const bool is_alike = gm_requested(l->h, a) == size;
        const uint64_t rows = is_alike || is_gradient(l, a) ? rows_of_gradient(l, a) : 0;
        pass.rows += is_alike ? rows : 0;
        pass.has_layer |= is_alike && rows == 0;
        *(rows > 0 ? &pass.tables : &pass.others) += is_alike || is_gradient(l, a) ? gm_requested(l->h, a) : 0;
    }
    return pass;
}

#define LEAST_OF_TABLE 0.001 /* of the peak: a gradient of one; all of them: */
#define LEAST_OF_TABLES 0.05

/* Whether gradients of a size, which every pass makes anew, are of tables. */
struct kind {
    uint64_t size;
    bool are_of_tables;
};
struct kinds GM_VEC(struct kind);

static bool is_known_table(const struct kinds *kinds, uint64_t size)
{
    size_t i = 0;
    while (i < kinds->n && kinds->v[i].size != size)
        i++;
    return i < kinds->n && kinds->v[i].are_of_tables;
}

/* Whether its pass looks up a small part of its tables. Where an optimizer keeps states for each row, it may have
 * gradients of all, unless tables are most of what it trains. */
static bool is_of_tables(const struct gm_lives *l, struct kinds *kinds, size_t a)
{
    struct kind kind = {.size = gm_requested(l->h, a)};
    for (size_t i = 0; i < kinds->n; i++)
        if (kinds->v[i].size == kind.size)
            return kinds->v[i].are_of_tables;
    const struct table table = table_of(l, kind.size);
    const struct pass pass = table.count == 0 ? (struct pass){.rows = UINT64_MAX} : pass_of(l, a);
    kind.are_of_tables = gm_is_share(pass.tables, l->at_peak, LEAST_OF_TABLES) &&
                         pass.rows <= table.count * (kind.size / TABLE_PER_LOOKUP) &&
                         (!table.has_states || (!pass.has_layer && pass.tables >= pass.others));
    *l->failed |= !GM_VEC_PUSH(kinds, kind);
    return kind.are_of_tables;
}

/* What is looked up by code whose name tells it; so many times in a forward pass. */
struct looked_up {
    uint64_t most;
    size_t tables;
    bool is_known;
};
static uint64_t look_up(const struct gm_lives *l, struct looked_up *found)
{
    if (!found->is_known)
        *found = (struct looked_up){looked_up(l), count_lookups(l), true};
    return found->most;
}

/* Bytes of the rows of a table that were looked up, of which that is the gradient; 0: it is none, or those are no small
 * part of it. */
static uint64_t rows_of(const struct gm_lives *l, struct kinds *kinds, size_t a, struct looked_up *by_name)
{
    const uint64_t size = gm_requested(l->h, a);
    if (!gm_is_share(size, l->at_peak, LEAST_OF_TABLE) || !gm_lives_is_of_backward(l, a) ||
        !gm_lives_is_of_engine(l, a))
        return 0;
    const uint64_t sorted = rows_of_gradient(l, a);
    if (sorted > 0 && is_of_tables(l, kinds, a))
        return sorted;
    if (!gm_is_share(size, l->at_peak, LEAST_OF_TABLES))
        return 0;
    const struct table table = table_of(l, size);
    const bool is_told = table.count > 0 && !table.has_states && size / TABLE_PER_LOOKUP >= look_up(l, by_name) &&
                         gradients_after(l, a) < by_name->tables;
    return is_told ? by_name->most : 0;
}

/* The stack of a weight of that size; 0: none is known. */
static uint32_t made_with(const struct gm_lives *l, uint64_t bytes)
{
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (gm_requested(l->h, a) == bytes && gm_lives_is_lasting(l, a) && gm_lives_is_role(l, a, GM_ROLE_PARAMETER))
            return gm_lives_stack(l, a);
    return 0;
}

/* Of what made the table, or of the backward pass if that is not known; and of what made the rows, or, if its name
 * tells it, any lookup. */
static void find_tables(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL}, lookups = {.v = NULL};
    struct gm_blame blame = {.bytes = 0};
    GM_FREED struct kinds kinds = {.v = NULL};
    struct looked_up by_name = {.most = 0};
    uint64_t most = 0;
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        const uint64_t rows = rows_of(l, &kinds, a, &by_name);
        most = rows > most ? rows : most;
        if (rows > 0)
            gm_set_shrink(&set, a, rows);
    }
    for (size_t a = 0; most > 0 && a < l->h->allocation_count; a++) /* what an optimizer makes of them */
        if ((gm_lives_by(l, a) & GM_BY_OPTIMIZER) != 0 && gm_lives_is_role(l, a, GM_ROLE_TEMPORARY) &&
            is_known_table(&kinds, gm_requested(l->h, a)))
            gm_set_shrink(&set, a, most);
    for (size_t a = 0; set.n > 0 && a < l->h->allocation_count; a++)
        if (l->h->born[a] > 0 && !gm_lives_is_of_backward(l, a) && !gm_lives_is_lasting(l, a) &&
            (look_up(l, &by_name) > 0
                 ? (gm_lives_by(l, a) & GM_BY_LOOKUP) != 0
                 : gm_requested(l->h, a) == most && l->h->born[a] < l->h->born[set.v[0].allocation]))
            gm_set_drop(&lookups, a);
    if (lookups.n > 0)
        gm_lives_blame(c->lives, &lookups, &blame);
    gm_case_free_set(c, &lookups);
    const uint32_t table = set.n > 0 ? made_with(l, gm_requested(l->h, set.v[0].allocation)) : 0;
    const bool is_moved = (l->by[table] & GM_BY_MOVING) != 0; /* where it was made, nobody knows */
    const uint32_t born = set.n > 0 ? l->h->born[set.v[0].allocation] : 0;
    struct gm_finding *f = gm_case_accuse_backward(
        c, rule, &set, born,
        "gradients as large as a whole table, of which a step looks up at most an eighth as many bytes");
    if (f == NULL || blame.site == NULL)
        return;
    const char *own = is_moved ? gm_lives_backward(c->lives, born, true) : gm_lives_own_line(c->lives, table);
    f->site = table == 0 || own == NULL
                  ? blame.site
                  : gm_case_printf(c, "%s, looked up in %s", own, gm_lives_own_line(c->lives, blame.stack));
}

static const struct gm_rule rules[] = {
    {.id = "create-graph",
     .title = "The backward pass keeps a graph of itself",
     .find_in_lives = find_second_graph,
     .brief = "no create_graph=True",
     .fix = "Call backward() or autograd.grad() without create_graph=True where no second derivative is taken",
     .snippet = "- loss.backward(create_graph=True)\n"
                "+ loss.backward()",
     .means = "The backward pass was asked for a graph of itself, so that a second derivative could be taken. Nobody "
              "takes one, and that graph, with all that the forward pass kept, outlives the step.",
     .when =
         "what a backward pass makes beside gradients, at least a quarter of their bytes and of what forward passes "
         "kept for it, is there after it, and holds 1 % of the peak; so is half of what the forward pass kept for it, "
         "which counts, too; no later backward pass gives it up piece by piece, and it was not asked for by "
         "torch.func, "
         "whose transforms always keep it",
     .what_to_do = "`loss.backward()` without `create_graph=True`"},
    {.id = "frozen-gradients",
     .title = "Gradients of parameters that are not trained",
     .find_in_lives = find_frozen,
     .brief = "requires_grad_(False)",
     .fix = "Call requires_grad_(False) on what is not trained, or run it under torch.no_grad()",
     .snippet = "  base = load_base()\n"
                "+ base.requires_grad_(False)",
     .means = "Parameters that no optimizer steps still require gradients: each has one, which is added to and never "
              "freed, and the backward pass keeps the inputs of their layers for nothing.",
     .when =
         "gradients of the first backward pass, or older ones that each pass adds to, are never freed, while "
         "others of weights without such a gradient are after it, and hold 2 % of the peak with what is kept or made "
         "for them "
         "only; or gradients of every step, of 5 %, "
         "have sizes of which the optimizer keeps no state, while nearly all its states are as large as other "
         "gradients (not where SGD runs, something is looked up for every second of them, or weights are older "
         "than the trace); what a backward pass gives up right after such a gradient is the input of its layer, which "
         "only that needs, unless one of what is trained came in "
         "between; where most of them are made before any of what is trained, stacks of which activations go meanwhile "
         "are of a model that is not trained, and told as its call",
     .what_to_do = "`base.requires_grad_(False)`"},
    {.id = "flat-gradient-buckets",
     .title = "Gradients are there twice: by themselves, and in flat buffers",
     .find_in_lives = find_buckets,
     .brief = "gradients as bucket views",
     .fix = "Let gradients be views of the buffers: DistributedDataParallel(gradient_as_bucket_view=True), or p.grad = "
            "a view of the flat tensor",
     .snippet = "- model = DistributedDataParallel(model)\n"
                "+ model = DistributedDataParallel(model, gradient_as_bucket_view=True)",
     .means = "Communication copies all gradients into flat buffers. If the gradients are not views into these, they "
              "are there twice.",
     .when = "what lasts of communication, or what one line makes that lasts, where weights lie elsewhere, or a line "
             "outside of the model and not in a forward pass for a moment, is as large as all gradients at a time "
             "(within 2 %); most of it has no gradient's size",
     .what_to_do = "`DistributedDataParallel(model, gradient_as_bucket_view=True)`"},
    {.id = "idle-gradient-buckets",
     .title = "Buffers for gradients that nobody makes",
     .find_in_lives = find_idle_buckets,
     .brief = "freeze before wrapping",
     .fix = "Call requires_grad_(False) before DistributedDataParallel wraps the model, or wrap only what is trained",
     .snippet = "- teacher = DistributedDataParallel(teacher)\n"
                "+ teacher.requires_grad_(False)  # nothing to reduce",
     .means = "DistributedDataParallel has a buffer for the gradient of each parameter that is trained when it wraps "
              "the model. Frozen later, they keep it.",
     .when = "what communication has had since before the first backward pass, to the end, while what it made later "
             "is as large as nine tenths of all gradients at a time",
     .what_to_do = "`requires_grad_(False)` before `DistributedDataParallel(model)`"},
    {.id = "dense-embedding-gradients",
     .title = "Gradients of whole tables, of which little was looked up",
     .find_in_lives = find_tables,
     .brief = "nn.Embedding(sparse=True)",
     .fix = "Make the table with nn.Embedding(..., sparse=True), and train it with SGD, Adagrad or SparseAdam",
     .snippet = "- table = nn.Embedding(rows, width)\n"
                "+ table = nn.Embedding(rows, width, sparse=True)\n"
                "+ optimizer = torch.optim.SparseAdam(table.parameters())",
     .cost = "an optimizer that takes sparse gradients",
     .means = "Looking up a few rows of a table makes a gradient as large as the table, mostly zeros, and optimizers "
              "keep states of that size for it.",
     .when = "gradients of tables are 5 % of the peak, and those of a size at least 8 times what was looked up. They "
             "are known by the lists of indices that its backward pass sorts, or, if no optimizer keeps states of its "
             "size, by the name of a lookup, where fewer gradients of weights come after it in its pass than there are "
             "lookups; where an optimizer keeps states of its size, tables must have half of all gradients, and no "
             "layer make another of its size",
     .what_to_do = "`nn.Embedding(rows, width, sparse=True)`"},
};
const struct gm_theme gm_theme_gradients = GM_THEME(rules);
