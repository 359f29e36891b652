/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept within one round, for which the rules of find_kept_over_rounds.c ask: graphs of several forward passes,
 * what outlives the call that made it, lists that a loop inside of the round fills.
 */
#include "analyze/diagnose/kept.h"

#include <stdlib.h>

/* ---- graphs that backward() leaves ------------------------------------------------------------------------------- */

enum {
    LEAST_OF_GRAPH = 6,
    LEAST_GRAPHS = 2,
    UNFREED = 4, /* of so many that a backward pass finds, three stay */
    PASSING = 2  /* times as many may go before it, if it is a graph */
};

static bool may_be_of_graph(const struct gm_lives *l, size_t a)
{
    return gm_is_of_round(l, a) && l->taken[a] == GM_TAKEN_NOT && !gm_lives_is_of_engine(l, a) &&
           ((gm_lives_by(l, a) & GM_BY_MODULE) != 0 || !gm_lives_has_modules(l)) &&
           (gm_lives_by(l, a) & GM_BY_RECOMPUTE) == 0 && gm_requested(l->h, a) >= l->at_peak / 100000;
}

/* Of what a forward pass made, which is the set from `from` on, what the backward pass after it leaves, and no other
 * one frees; nothing, if that is not most of what it finds, but for what is another one's to free, or little of what
 * the forward pass made: somebody holds layers' outputs. */
static bool keep_unfreed(struct gm_set *set, const struct gm_lives *l, size_t from, struct gm_backward pass)
{
    const struct gm_history *h = l->h;
    size_t found = 0, passing = 0, n = from;
    for (size_t i = from; i < set->n; i++) {
        const uint32_t a = set->v[i].allocation, freed = h->freed[a];
        const bool is_of_later = freed > pass.to + 1 && gm_lives_goes_in_backward(l, a);
        found += freed > pass.from && !is_of_later;
        passing += freed <= pass.from && freed > h->born[a] + GM_WORKSPACE_EVENTS;
        if (freed > pass.to + 1 && freed != GM_NEVER && !is_of_later)
            set->v[n++] = set->v[i];
    }
    const bool is_graph =
        n - from >= LEAST_OF_GRAPH && (n - from) * UNFREED >= found * (UNFREED - 1) && passing <= PASSING * (n - from);
    set->n = is_graph ? n : from;
    return is_graph;
}

static bool may_be_unfreed(const struct gm_lives *l, size_t a)
{
    return may_be_of_graph(l, a) && l->h->freed[a] != GM_NEVER && !gm_lives_goes_in_backward(l, a);
}

/* What backward passes leave of the graphs that they walk. Returns where the last of these passes ends. */
static uint32_t collect_unfreed(const struct gm_case *c, struct gm_set *set)
{
    const struct gm_lives *l = c->lives;
    struct gm_backward pass = {GM_NEVER, 0};
    size_t from = 0, graphs = 0;
    uint32_t end = 0;
    if (!gm_case_may_accuse(c, may_be_unfreed))
        return 0;
    for (uint32_t e = 0; e < l->h->count; e++) {
        const uint32_t a = gm_made_by(l->h, e);
        if (a == GM_NEVER || (gm_lives_by(l, a) & GM_BY_RECOMPUTE) != 0)
            continue;
        if (gm_lives_is_of_backward(l, a) && gm_lives_is_of_engine(l, a)) {
            pass.from = pass.from == GM_NEVER ? e : pass.from;
            pass.to = e + 1;
            continue;
        }
        if (pass.from != GM_NEVER) {
            const bool is_graph = keep_unfreed(set, l, from, pass);
            graphs += is_graph;
            end = is_graph ? pass.to : end;
            from = set->n;
            pass.from = GM_NEVER;
        }
        if (may_be_of_graph(l, a))
            gm_set_end(set, a, l->h->freed[a]);
    }
    set->n = graphs >= LEAST_GRAPHS ? from : 0;
    return end;
}

void gm_find_retained_in_round(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_set set = {.v = NULL};
    const uint32_t end = collect_unfreed(c, &set);
    gm_go_with_backward(c, &set);
    const char *root = set.n > 0 ? gm_lives_backward(c->lives, end, false) : NULL;
    struct gm_finding *f = gm_case_accuse(c, rule, &set, false,
                                          "a graph is still there after its backward pass, while another forward pass "
                                          "of the same round runs, and no backward pass frees it");
    if (f == NULL)
        return;
    f->title = "A graph is kept after its backward pass";
    if (root != NULL)
        f->site = gm_case_printf(c, "%s, which keeps what is made in %s", root, f->site);
}

/* ---- graphs of one round ----------------------------------------------------------------------------------------- */

enum { LEAST_PASSES = 3, LEAST_OF_PASS = 3, INPUT_PART = 10000 /* of the peak */ };

/* Passes of a forward, each with an input and a loss of its own. */
struct passes {
    uint32_t anchor, loss; /* the stacks that they begin with, and of their losses */
    uint32_t at_peak;      /* passes that are there at the peak, */
    bool are_alike;        /* each with about as many tensors as the one before */
    struct gm_set set;     /* what they keep, given up where the next one begins */
};

static bool is_kept_by_pass(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_ACTIVATION) && l->taken[a] == GM_TAKEN_NOT &&
           (gm_lives_by(l, a) & GM_BY_MODULE) != 0;
}

bool gm_is_loss(const struct gm_lives *l, size_t a)
{
    return gm_requested(l->h, a) <= GM_LOSS_BYTES &&
           ((gm_lives_by(l, a) & GM_BY_MODULE) == 0 || (gm_lives_by(l, a) & GM_BY_LOSS) != 0);
}

/* The first of the stacks of the peak's round that make most again after a loss, of what is there: passes begin with
 * it, for what others have begun a backward pass may have used since. 0: there is none, or no memory. */
static uint32_t anchor_of(const struct gm_lives *l)
{
    GM_FREED struct {
        uint32_t met, times;
    } *stacks = gm_lives_of_stacks(l, sizeof *stacks);
    uint32_t losses = 1, most = 0;
    const uint32_t round = gm_lives_round(l, l->peak), begin = gm_lives_first_event(l, round);
    for (uint32_t e = gm_lives_first_event(l, round + 1); stacks != NULL && e-- > begin;) {
        const uint32_t a = gm_made_by(l->h, e), s = a == GM_NEVER ? 0 : gm_lives_stack(l, a);
        if (a == GM_NEVER || gm_lives_is_of_engine(l, a))
            continue;
        losses += gm_is_loss(l, a);
        if (gm_is_loss(l, a) || !gm_lives_at_peak(l, a) || !is_kept_by_pass(l, a) || stacks[s].met == losses)
            continue;
        stacks[s].met = losses;
        stacks[s].times++;
        most = stacks[s].times >= stacks[most].times ? s : most;
    }
    return most;
}

/* Whether there are enough losses between the first and the last allocation of the peak that a pass may begin with. */
static bool may_be_several(const struct gm_lives *l, uint32_t anchor)
{
    uint32_t first = GM_NEVER, last = 0;
    size_t losses = 0;
    for (size_t i = 0; i < l->there.n; i++) {
        const uint32_t a = l->there.v[i];
        if (gm_is_made(l->h, a) && gm_lives_stack(l, a) == anchor && is_kept_by_pass(l, a)) {
            first = first == GM_NEVER ? l->h->born[a] : first;
            last = l->h->born[a];
        }
    }
    for (uint32_t e = gm_next_made(l->h, first); e < last && losses + 1 < LEAST_PASSES; e = gm_next_made(l->h, e + 1))
        losses += gm_is_loss(l, gm_made_by(l->h, e)) && !gm_lives_is_of_engine(l, gm_made_by(l->h, e));
    return losses + 1 >= LEAST_PASSES;
}

/* A pass ends where the next one begins: what it keeps is passes->set from `begun` on, of which it made the first `n`
 * before its loss. */
static size_t end_pass(struct passes *p, const struct gm_lives *l, size_t begun, size_t n, size_t before, uint32_t end)
{
    for (size_t i = begun; i < p->set.n; i++)
        p->set.v[i].gone = end;
    if (begun == p->set.n || !gm_lives_at_peak(l, p->set.v[begun].allocation))
        return before;
    p->are_alike &= n >= LEAST_OF_PASS && (p->at_peak == 0 || (n * 10 >= before * 9 && n * 9 <= before * 10));
    p->at_peak++;
    return n;
}

/* What a backward pass frees there of what forward passes have kept; GM_NEVER: nothing. */
static uint32_t used_up(const struct gm_lives *l, uint32_t e)
{
    const uint32_t a = l->h->of_event[e];
    return gm_lives_phase(l, e) == GM_PHASE_BACKWARD && a != GM_NEVER && l->h->freed[a] == e + 1 &&
                   is_kept_by_pass(l, a)
               ? a
               : GM_NEVER;
}

static void find_passes(const struct gm_case *c, struct passes *p)
{
    const struct gm_lives *l = c->lives;
    const struct gm_history *h = l->h;
    bool has_loss = false, is_open = false, was_backward = false, was_own = false, was_other = false;
    size_t begun = 0, before = 0, n = 0;
    uint32_t last = 0;
    *p = (struct passes){.are_alike = true, .anchor = anchor_of(l)};
    if (!c->asks_all && !may_be_several(l, p->anchor))
        return;
    for (uint32_t e = 0; e < h->count && p->anchor != 0 && !p->set.failed; e++) {
        const uint32_t a = gm_made_by(h, e), used = used_up(l, e);
        const bool is_own = used != GM_NEVER && n > 0 && used >= p->set.v[begun].allocation &&
                            used <= p->set.v[begun + n - 1].allocation;
        was_own |= is_own;
        was_other |= used != GM_NEVER && !is_own; /* gradients on the way, of another graph */
        was_backward |= gm_lives_phase(l, e) == GM_PHASE_BACKWARD;
        if (a == GM_NEVER || gm_lives_is_of_engine(l, a))
            continue;
        if (gm_is_loss(l, a)) {
            last = n > 0 && (!has_loss || p->set.n == begun + n) ? gm_lives_stack(l, a) : last;
            has_loss = is_open;
        } else if (is_kept_by_pass(l, a)) {
            if ((!is_open || has_loss) && gm_lives_stack(l, a) == p->anchor) {
                p->loss = has_loss && h->freed[p->set.v[begun].allocation] > e ? last : p->loss;
                p->are_alike &= !was_backward || (was_other && !was_own) || e >= l->peak || p->set.n == begun ||
                                !gm_lives_at_peak(l, p->set.v[begun].allocation);
                was_backward = was_own = was_other = has_loss = false;
                before = end_pass(p, l, begun, n, before, e);
                begun = p->set.n;
                n = 0;
                is_open = true;
            }
            n += is_open && !has_loss;
            gm_set_end(&p->set, a, GM_REMEDY_NEVER);
        } else if ((gm_lives_by(l, a) & GM_BY_MODULE) == 0 && gm_requested(h, a) >= l->at_peak / INPUT_PART &&
                   has_loss) {
            is_open = has_loss = false;
            p->loss = h->freed[p->set.v[begun].allocation] > e ? last : p->loss;
        }
    }
    end_pass(p, l, begun, n, before, GM_REMEDY_NEVER);
}

/* Those of several passes; none, if there are fewer, or if the graph is one that a backward pass has walked and left.
 */
static struct passes several_passes(const struct gm_case *c)
{
    struct passes passes = {0};
    GM_FREED struct gm_set unfreed = {.v = NULL};
    if (c->lives->has_backward)
        find_passes(c, &passes);
    if (passes.at_peak >= LEAST_PASSES && passes.are_alike)
        collect_unfreed(c, &unfreed);
    if (passes.at_peak < LEAST_PASSES || !passes.are_alike || unfreed.n > 0)
        passes.set.n = 0;
    return passes;
}

/* Whether a backward pass uses most of what passes keep at the peak: else a list has what their layers made. */
static bool do_wait(const struct gm_lives *l, const struct gm_set *set)
{
    uint64_t bytes = 0, waiting = 0;
    for (size_t i = 0; i < set->n; i++) {
        const uint32_t a = set->v[i].allocation;
        bytes += gm_lives_at_peak(l, a) ? gm_requested(l->h, a) : 0;
        waiting += gm_lives_at_peak(l, a) && gm_lives_goes_in_backward(l, a) ? gm_requested(l->h, a) : 0;
    }
    return 2 * waiting >= bytes;
}

void gm_find_sum(struct gm_case *c, const struct gm_rule *rule)
{
    struct passes passes = several_passes(c);
    passes.set.n = do_wait(c->lives, &passes.set) ? passes.set.n : 0;
    struct gm_rule of_sum = *rule;
    of_sum.title = "Graphs of several forward passes wait for one backward pass";
    of_sum.brief = "backward() after each loss";
    of_sum.fix =
        "Call backward() on each loss in the loop, where gradients add up, and detach() those that nothing uses";
    of_sum.snippet = "- total = total + loss\n"
                     "+ (loss / n).backward()  # gradients add up";
    of_sum.cost = "losses that hang together must wait for one another";
    struct gm_finding *f = gm_case_accuse(c, &of_sum, &passes.set, false,
                                          "several forward passes, each with a loss of its own, wait for one backward "
                                          "pass, as where losses are added up");
    gm_case_is_choice(f);
    if (f != NULL)
        f->site =
            gm_case_printf(c, "%s, which keeps what is made in %s", gm_lives_place(c->lives, passes.loss), f->site);
}

/* ---- what outlives its call -------------------------------------------------------------------------------------- */

enum {
    LATER = 6,       /* large allocations that are made before it goes: outputs are used right after the call */
    LEAST_LAYERS = 6 /* held of one line: outputs of layers, and no levels that are read once */
};

/* Whether a backward pass gives it up: autograd makes something next, on that device. */
static bool is_used_up(const struct gm_lives *l, uint32_t freed)
{
    const uint32_t e = gm_next_made(l->h, freed);
    return gm_lives_phase(l, freed - 1) == GM_PHASE_BACKWARD ||
           (l->has_backward && e < l->h->count && gm_lives_is_of_engine(l, gm_made_by(l->h, e)));
}

static bool may_be_held(const struct gm_lives *l, size_t a)
{
    return gm_requested(l->h, a) >= l->at_peak / 1000 && gm_is_of_round(l, a) && !gm_lives_is_of_engine(l, a) &&
           !is_used_up(l, l->h->freed[a]);
}

/* The event at which so many large ones have been made since the end of a call; GM_NEVER: there are fewer. */
static uint32_t later_than(const struct gm_lives *l, uint32_t end)
{
    uint32_t n = 0, e = gm_next_made(l->h, end);
    for (; e < l->h->count; e = gm_next_made(l->h, e + 1)) {
        n += gm_requested(l->h, gm_made_by(l->h, e)) >= l->at_peak / 1000;
        if (n == LATER)
            return e;
    }
    return GM_NEVER;
}

/* A call of a model, which makes [from, to). */
struct call {
    uint32_t from, to, later; /* later_than(l, to); 0 before the first */
};

static bool next_call(const struct gm_lives *l, struct call *call)
{
    uint64_t key = 0;
    bool has_large = call->later == 0; /* since the last one; else what is later is the same */
    for (uint32_t e = gm_next_made(l->h, call->to); e < l->h->count || key != 0; e = gm_next_made(l->h, e + 1)) {
        const bool is_backward = e < l->h->count && gm_lives_is_of_backward(l, gm_made_by(l->h, e));
        const uint64_t now =
            is_backward || e >= l->h->count ? 0 : gm_lives_module_call(l, gm_lives_stack(l, gm_made_by(l->h, e)), 1);
        call->to = e;
        if (key != 0 && now != key) {
            call->later = has_large ? later_than(l, e) : call->later;
            return true;
        }
        has_large |= e < l->h->count && gm_requested(l->h, gm_made_by(l->h, e)) >= l->at_peak / 1000;
        call->from = key == 0 ? e : call->from;
        key = now;
    }
    return false;
}

/* Of a call of a model: what is held of lines that make several such. A graph holds most, and a
 * backward pass gives up what is made beside. `of_stack` is all 0 before and after. */
static void add_layers(struct gm_set *set, const struct gm_lives *l, const struct call *call, uint32_t *of_stack)
{
    uint32_t held = 0, passing = 0, used = 0;
    for (int pass = 0; pass < 3; pass++)
        for (uint32_t e = gm_next_made(l->h, call->from); e < call->to; e = gm_next_made(l->h, e + 1)) {
            const uint32_t a = gm_made_by(l->h, e);
            const bool is_held = may_be_held(l, a) && l->h->freed[a] > call->later;
            uint32_t *n = &of_stack[gm_lives_stack(l, a)];
            *n = pass == 2 ? 0 : *n + (pass == 0 && is_held);
            held += pass == 0 && is_held;
            passing += pass == 0 && !is_held && may_be_held(l, a) && l->h->freed[a] > e + 1 + GM_WORKSPACE_EVENTS;
            used += pass == 0 && gm_requested(l->h, a) >= l->at_peak / 1000 && gm_lives_goes_in_backward(l, a);
            if (pass == 1 && is_held && *n >= LEAST_LAYERS && passing >= held && 2 * used <= held)
                gm_set_end(set, a, gm_lives_after_others(l, a, 2));
        }
}

void gm_kept_layers(struct gm_case *c, struct gm_set *set)
{
    const struct gm_lives *l = c->lives;
    struct call call = {.to = 0};
    if (!gm_case_may_accuse(c, may_be_held))
        return;
    GM_FREED uint32_t *of_stack = gm_lives_of_stacks(l, sizeof *of_stack);
    while (of_stack != NULL && next_call(l, &call))
        add_layers(set, l, &call, of_stack);
}

/* ---- graphs that no backward pass uses --------------------------------------------------------------------------- */

enum {
    LEAST_UNUSED = 12, /* tensors at the peak, */
    LEAST_CALLS = 2,   /* of so many calls */
    MOST_ROUNDS = 2    /* in so many rounds: else they pile up */
};

static bool may_be_unused(const struct gm_lives *l, size_t a)
{
    return is_kept_by_pass(l, a) && !gm_lives_goes_in_backward(l, a) && !gm_lives_is_cut_off(l, a);
}

/* Whether no other call comes before the next backward pass, which has begun with its output then. */
static bool is_before_backward(const struct gm_lives *l, const struct call *call)
{
    for (uint32_t e = gm_next_made(l->h, call->to); e < l->h->count; e = gm_next_made(l->h, e + 1)) {
        const uint32_t a = gm_made_by(l->h, e);
        if (gm_lives_is_of_backward(l, a) || gm_lives_module_call(l, gm_lives_stack(l, a), 1) != 0)
            return gm_lives_is_of_backward(l, a);
    }
    return false;
}

/* What a call of a model made and a graph keeps long after it: a third of it, of several lines.
 * Returns how many are there at the peak. */
static size_t add_unused(struct gm_set *set, const struct gm_lives *l, const struct call *call)
{
    const size_t before = set->n;
    size_t kept = 0, passing = 0, at_peak = 0;
    uint32_t stack = GM_NEVER; /* of the first */
    bool are_several = false;
    for (uint32_t e = gm_next_made(l->h, call->from); e < call->to; e = gm_next_made(l->h, e + 1)) {
        const uint32_t a = gm_made_by(l->h, e);
        const bool is_large = gm_requested(l->h, a) >= l->at_peak / INPUT_PART;
        const bool is_kept = may_be_unused(l, a) && (gm_lives_is_left(l, a) || l->h->freed[a] > call->later);
        kept += is_large && is_kept;
        passing += is_large && !is_kept && gm_is_of_round(l, a) && l->h->freed[a] > e + 1 + GM_WORKSPACE_EVENTS;
        at_peak += is_large && is_kept && gm_lives_at_peak(l, a);
        if (!is_kept)
            continue;
        stack = stack == GM_NEVER ? gm_lives_stack(l, a) : stack;
        are_several |= gm_lives_stack(l, a) != stack;
        gm_set_end(set, a, gm_lives_after_others(l, a, 2));
    }
    set->n = !are_several || kept < LEAST_OF_PASS || 2 * kept < passing ? before : set->n;
    return set->n > before ? at_peak : 0;
}

void gm_unused_passes(struct gm_case *c, struct gm_set *set)
{
    const struct gm_lives *l = c->lives;
    struct gm_set unfreed = {.v = NULL};
    struct call call = {.to = 0};
    size_t at_peak = 0, calls = 0, rounds = 0;
    uint32_t round = GM_NEVER;
    *set = (struct gm_set){.v = NULL};
    if (!l->has_backward || l->has_oom || !gm_case_may_accuse(c, may_be_unused))
        return;
    GM_FREED bool *are = gm_calls_without_graph(l);
    while (are != NULL && next_call(l, &call)) {
        const uint32_t a = gm_made_by(l->h, call.from), now = gm_lives_round_of(l, a);
        const bool may_be = are[gm_lives_stack(l, a)] && !is_before_backward(l, &call);
        const size_t n = may_be ? add_unused(set, l, &call) : 0;
        if (n == 0)
            continue;
        at_peak += n;
        calls++;
        rounds += now != round;
        round = now;
    }
    const bool are_enough = at_peak >= LEAST_UNUSED && calls >= LEAST_CALLS && rounds <= MOST_ROUNDS;
    if (are_enough)
        collect_unfreed(c, &unfreed);
    if (!are_enough || unfreed.n > 0)
        set->n = 0;
    gm_case_free_set(c, &unfreed);
}

/* ---- lists of one round ------------------------------------------------------------------------------------------ */

enum { LEAST_IN_LIST = 8 };

/* What a line outside of modules makes and leaves, while a model works between one and the next: when the next one is
 * made, of those and of all, as is seen from behind. */
struct collected {
    uint32_t next, next_of_all, blocks, at_peak, worked;
};

/* What a model works on before the first step looks like data that are set up. */
static bool may_be_listed(const struct gm_lives *l, size_t a)
{
    const bool is_input =
        gm_lives_is_role(l, a, GM_ROLE_INPUT) && !l->taken[a] && gm_requested(l->h, a) >= l->at_peak / 1000;
    return (may_be_held(l, a) || is_input) && (gm_lives_by(l, a) & GM_BY_MODULE) == 0;
}

void gm_find_collected(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    if (!gm_case_may_accuse(c, may_be_held))
        return;
    GM_FREED struct collected *stacks = gm_lives_of_stacks(l, sizeof *stacks);
    uint32_t works = GM_NEVER; /* when the model works next */
    if (stacks == NULL)
        return;
    for (uint32_t e = (uint32_t)l->h->count; e > 0; e--) {
        const uint32_t a = gm_made_by(l->h, e - 1);
        if (a == GM_NEVER)
            continue;
        works = (gm_lives_by(l, a) & GM_BY_MODULE) != 0 ? e : works;
        if (!may_be_listed(l, a) || (works != GM_NEVER && l->h->freed[a] < works))
            continue;
        struct collected *s = &stacks[gm_lives_stack(l, a)];
        s->worked += works < s->next;
        s->at_peak += gm_lives_at_peak(l, a);
        s->blocks++;
        s->next = e;
    }
    for (uint32_t e = (uint32_t)l->h->count; e > 0; e--) {
        const uint32_t a = gm_made_by(l->h, e - 1);
        struct collected *s = a == GM_NEVER ? NULL : &stacks[gm_lives_stack(l, a)];
        if (s == NULL || s->at_peak < LEAST_IN_LIST || s->worked + 1 < s->blocks || !may_be_listed(l, a))
            continue;
        if (s->next_of_all > 0 && s->next_of_all < l->h->freed[a])
            gm_set_end(&set, a, s->next_of_all);
        s->next_of_all = e;
    }
    gm_case_accuse(c, rule, &set, false,
                   "one is left each time that the model has worked in a round, and all are there at the peak, so "
                   "something collects them");
}
