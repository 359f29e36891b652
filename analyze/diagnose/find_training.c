/* SPDX-License-Identifier: Apache-2.0
 *
 * Training: gradients that live too long, copies that an optimizer makes, what activations and states would cost less.
 */
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/base/vec.h"
#include "analyze/diagnose/kept.h"
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

#include <stdlib.h>
#include <string.h>

/* ---- gradients --------------------------------------------------------------------------------------------------- */

enum {
    LEAST_AT_ONCE = 4, /* tensors of one stack side by side are a list: fewer are those of one parameter */
    APART = 1024,      /* events from one gradient of a backward pass to the next, at most */
};

/* Rounds in which an optimizer is known to step, and the first of them; whether gradients go after a later backward
 * pass than their own. */
struct steps {
    size_t count;
    uint32_t first;
    bool is_accumulating;
};

/* What the backward pass of a round makes for the weight of that gradient: to add it, and it goes at once, or to take
 * its place; without the gradient it would be it. GM_NEVER: there is none. Gradients come in the same order in each
 * round. */
static uint32_t next_of(const struct gm_lives *l, uint32_t *seen, size_t a)
{
    const struct gm_history *h = l->h;
    for (uint32_t e = *seen; e < h->count && e - *seen < APART; e++) {
        const uint32_t other = gm_made_by(h, e);
        if (other == GM_NEVER || gm_requested(h, other) != gm_requested(h, a) || !gm_lives_is_of_engine(l, other) ||
            gm_lives_is_lasting(l, other))
            continue;
        *seen = e + 1;
        return other;
    }
    return GM_NEVER;
}

/* The next round with a backward pass; the last one if there is none. */
static uint32_t next_backward(const struct gm_lives *l, const struct gm_round *rounds, uint32_t r)
{
    while (++r < l->rounds.n && rounds[r].backward == GM_NEVER) {}
    return r;
}

/* Whether gradients of that round are added to those of the next: an optimizer is known to step in others; or it is
 * known of one at most, where some make their states and nothing later, but gradients go, and not before each backward
 * pass. */
static bool is_without_step(const struct gm_round *rounds, uint32_t r, const struct steps *steps)
{
    return !rounds[r].has_step &&
           (steps->count > 1 || (steps->count > 0 && r < steps->first) || steps->is_accumulating);
}

static struct steps find_steps(const struct gm_lives *l, const struct gm_round *rounds)
{
    struct steps steps = {.count = 0};
    for (uint32_t r = 0; r <= l->rounds.n; r++) {
        steps.first = rounds[r].has_step && steps.count == 0 ? r : steps.first;
        steps.count += rounds[r].has_step;
    }
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        const uint32_t round = gm_lives_round(l, l->h->born[a]);
        steps.is_accumulating |= l->role[a] == GM_ROLE_GRADIENT && round < l->rounds.n && !gm_lives_is_left(l, a) &&
                                 l->h->freed[a] > rounds[next_backward(l, rounds, round)].backward;
    }
    return steps;
}

/* A gradient is of no use from the end of a round to where the next backward pass makes it. `seen`: [round] how far its
 * backward pass was looked at. */
static void add_gradient(struct gm_set *set, const struct gm_lives *l, const struct gm_round *rounds, uint32_t *seen,
                         size_t a, const struct steps *steps)
{
    const struct gm_history *h = l->h;
    const uint32_t born = gm_lives_round(l, h->born[a]), freed = h->freed[a];
    const uint32_t offset = rounds[born].backward < h->born[a] ? h->born[a] - rounds[born].backward : 0;
    for (uint32_t r = born, next; r < l->rounds.n && gm_lives_round_end(l, r) < freed; r = next) {
        const uint32_t gone = gm_lives_round_end(l, r);
        next = next_backward(l, rounds, r);
        const uint32_t backward = rounds[next].backward;
        if (gone >= l->first_oom || gm_lives_is_within_backward(l, gone))
            continue; /* of no use to anyone; no step ends there */
        if (freed <= backward) {
            if (freed != GM_NEVER)
                gm_set_end(set, a, gone);
            continue;
        }
        const uint32_t other = next_of(l, &seen[next], a);
        if (other != GM_NEVER && h->freed[other] > freed && gm_lives_round(l, freed) == next && r == born) {
            gm_set_end(set, a, gone);
        } else if (!is_without_step(rounds, r, steps)) { /* else they are accumulated */
            gm_set_add(set, a, gone, other != GM_NEVER ? h->born[other] : backward + offset);
            if (other != GM_NEVER)
                gm_set_drop(set, other);
        }
    }
}

/* Whether a forward pass of the trace is under way at the peak: it has made activations. */
static bool has_forward(const struct gm_lives *l)
{
    bool has = false;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        has |= l->role[a] == GM_ROLE_ACTIVATION && l->h->born[a] > 0 && gm_lives_at_peak(l, a);
    return has;
}

/* Of weights that are there at the peak: bytes of as many as have a gradient of their size, and of the others. */
static void split_weights(const struct gm_lives *l, uint64_t *with, uint64_t *without)
{
    GM_FREED struct gm_sizes sizes = {.v = NULL};
    gm_sizes_of_role(&sizes, l, GM_ROLE_GRADIENT);
    *with = *without = 0;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (gm_lives_is_role(l, a, GM_ROLE_PARAMETER) && gm_lives_at_peak(l, a))
            *(gm_sizes_has_another(&sizes, gm_requested(l->h, a)) ? with : without) += gm_requested(l->h, a);
}

enum { OTHERS = 4 /* of all weights one such part has no gradient, or it is no model of its own */ };

/* Gradients that are older than the trace, if there are other weights than theirs: two models may be held. */
static const char *tell_older(struct gm_case *c, bool *are_two)
{
    static const char words[] = "they are gradients of a backward pass before the trace, kept through a forward pass "
                                "that has no use for them; needed only if they are accumulated, which a trace without "
                                "a backward pass does not tell";
    char size[3][GM_SIZE_TEXT];
    uint64_t with = 0, without = 0;
    split_weights(c->lives, &with, &without);
    *are_two = with > 0 && without >= (with + without) / OTHERS;
    if (!*are_two)
        return words;
    return gm_case_printf(c,
                          "%s. Weights of their sizes hold %s, and %s of others have no gradient: if two models are "
                          "held, and this forward pass is of one only, del the other with its gradients before, which "
                          "is %s in all",
                          words, gm_size_format(size[0], with), gm_size_format(size[1], without),
                          gm_size_format(size[2], gm_sat_add(with, with)));
}

/* The line outside of modules that all activations at the peak were called from; NULL: there is none. */
static const char *forward_line(struct gm_case *c)
{
    const struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (l->role[a] == GM_ROLE_ACTIVATION && l->h->born[a] > 0 && gm_lives_at_peak(l, a))
            gm_set_drop(&set, a);
    const char *line = gm_lives_caller(c->lives, &set, true);
    gm_case_free_set(c, &set);
    return line;
}

/* Whether all of it goes, and before it is made anew: zero_grad() right before backward(), as most programs have it. */
static bool is_zeroed_late(const struct gm_set *set)
{
    size_t i = 0;
    while (i < set->n && set->v[i].gone != GM_REMEDY_NEVER && set->v[i].again == GM_REMEDY_NEVER)
        i++;
    return i == set->n;
}

/* Bytes that would not be there at the peak. */
static uint64_t useless_at_peak(const struct gm_lives *l, const struct gm_set *set)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < set->n; i++)
        if (gm_lives_at_peak(l, set->v[i].allocation) &&
            (set->v[i].gone <= l->peak || set->v[i].gone == GM_REMEDY_NEVER) && l->peak < set->v[i].again)
            bytes += gm_requested(l->h, set->v[i].allocation);
    return bytes;
}

static bool is_gradient(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_GRADIENT) && gm_lives_is_of_engine(l, a);
}

static void find_old_gradients(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    if (!gm_case_may_accuse(c, is_gradient))
        return;
    GM_FREED uint32_t *seen = gm_lives_scratch(l, l->rounds.n + 1, sizeof *seen);
    const struct gm_round *rounds = gm_lives_rounds(c->lives);
    bool has_backward = false;
    if (c->failed)
        return;
    const struct steps steps = find_steps(l, rounds);
    for (size_t r = 0; r <= l->rounds.n; r++) {
        has_backward |= rounds[r].backward != GM_NEVER;
        seen[r] = rounds[r].backward;
    }
    const bool is_forward = !has_backward && has_forward(l);
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (is_gradient(l, a) && l->taken[a] != GM_TAKEN) {
            if (!is_forward)
                add_gradient(&set, l, rounds, seen, a, &steps);
            else if (l->h->born[a] == 0)
                gm_set_drop(&set, a);
        }
    const uint64_t useless = useless_at_peak(l, &set);
    const bool is_usual = is_zeroed_late(&set);
    if (!gm_is_share(useless, l->at_peak, 1.0 / GM_LEAST_SHARE))
        set.n = 0;
    bool are_two = false;
    const uint32_t freer = gm_lives_freer(l, &set, 0);
    const char *freed = freer == 0 ? NULL : gm_lives_own_line(c->lives, freer);
    const char *evidence = is_forward && set.n > 0
                               ? tell_older(c, &are_two)
                               : "they are gradients of the step before, kept through the forward pass, where nothing "
                                 "reads them";
    struct gm_finding *f =
        gm_case_accuse_backward(c, rule, &set, set.n > 0 ? l->h->born[set.v[0].allocation] : 0, evidence);
    const char *backward = f == NULL ? NULL : gm_lives_backward(c->lives, (uint32_t)l->h->count, true);
    const char *line = f != NULL && is_forward && backward == NULL ? forward_line(c) : NULL;
    if (line != NULL) /* autograd's own frames are no place to change something */
        f->site = line;
    else if (backward != NULL && freed != NULL && !is_forward && strcmp(freed, backward) != 0)
        f->site = gm_case_printf(c, "%s, which frees what %s made", freed, backward);
    if (f != NULL && f->remedy != NULL) {
        f->remedy->is_usual = is_usual;
        f->remedy->is_little = is_usual && !gm_is_share(useless, l->at_peak, 1.0 / GM_USUAL_MISTAKE);
    }
    if (f != NULL && are_two)
        f->brief = "zero_grad(), or del a model";
}

/* A gradient that is there at the end of its round. */
struct held_gradient {
    uint64_t bytes;
    uint32_t round, allocation;
};

GM_ORDERING(by_bytes, struct held_gradient, GM_UP(bytes) || GM_UP(round) || GM_UP(allocation));

/* The end of the gradients [from, n) of one size and round. */
static size_t end_of_alike(const struct held_gradient *v, size_t from, size_t n)
{
    size_t to = from;
    while (to < n && v[to].bytes == v[from].bytes && v[to].round == v[from].round)
        to++;
    return to;
}

void gm_find_kept_gradients(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    GM_FREED struct GM_VEC(struct held_gradient) held = {.v = NULL};
    const struct gm_round *rounds = gm_case_may_accuse(c, is_gradient) ? gm_lives_rounds(l) : NULL;
    if (rounds == NULL)
        return;
    for (uint32_t a = 0; a < l->h->allocation_count; a++) {
        const uint32_t round = gm_lives_round_of(l, a);
        if (is_gradient(l, a) && l->taken[a] != GM_TAKEN && l->h->born[a] > 0 && rounds[round].has_step &&
            l->h->freed[a] > gm_lives_round_end(l, round))
            c->failed |= !GM_VEC_PUSH(&held, ((struct held_gradient){gm_requested(l->h, a), round, a}));
    }
    GM_SORT(held.v, held.n, by_bytes);
    /* two later steps have as many of that size again, and the first of these is over: it is not added to */
    bool is_kept = false;
    for (size_t from = 0, next, later, end; from < held.n; from = next) {
        next = end_of_alike(held.v, from, held.n);
        later = end_of_alike(held.v, next, held.n);
        end = end_of_alike(held.v, later, held.n);
        is_kept &= from > 0 && held.v[from].bytes == held.v[from - 1].bytes; /* the last ones are like those before */
        is_kept |= end > later && held.v[later].bytes == held.v[from].bytes && later - next >= next - from &&
                   end - later >= next - from &&
                   l->h->freed[held.v[from].allocation] > gm_lives_round_end(l, held.v[later].round);
        for (size_t i = from; i < next && is_kept; i++)
            gm_set_end(&set, held.v[i].allocation, gm_lives_round_end(l, held.v[i].round));
    }
    gm_case_accuse_backward(c, rule, &set, set.n > 0 ? l->h->born[set.v[0].allocation] : 0,
                            "they are gradients of several steps, there at once, so something collects them");
}

/* ---- what the optimizer's code makes for a moment ---------------------------------------------------------------- */

/* Of one stack: what it makes between a backward pass and the end of the round, all there at once. */
struct burst {
    uint64_t now, most;
    uint32_t blocks_now, blocks_most;
};

/* No module made it, nor autograd. */
static bool may_be_by_step(const struct gm_lives *l, size_t a)
{
    const unsigned by = gm_lives_by(l, a);
    return (by & (GM_BY_NOBODY | GM_BY_BACKWARD)) == 0 &&
           ((by & GM_BY_MODULE) == 0 || (by & (GM_BY_OPTIMIZER | GM_BY_CLIPPING)) != 0);
}

/* The largest list of each stack of the step: what lies side by side. */
static struct burst *find_bursts(const struct gm_lives *l, const struct gm_round *rounds)
{
    struct burst *bursts = gm_lives_of_stacks(l, sizeof *bursts);
    for (uint32_t e = 0; bursts != NULL && e < l->h->count; e++) {
        const uint32_t a = l->h->of_event[e];
        if (a == GM_NEVER || !may_be_by_step(l, a) || l->role[a] == GM_ROLE_PARAMETER ||
            rounds[gm_lives_round(l, l->h->born[a])].backward >= l->h->born[a])
            continue;
        struct burst *burst = &bursts[gm_lives_stack(l, a)];
        if (l->h->born[a] == e + 1) {
            burst->now += gm_requested(l->h, a);
            burst->most = burst->now > burst->most ? burst->now : burst->most;
            burst->blocks_now++;
            burst->blocks_most = burst->blocks_now > burst->blocks_most ? burst->blocks_now : burst->blocks_most;
        } else if (l->h->freed[a] == e + 1) {
            burst->now -= gm_requested(l->h, a) < burst->now ? gm_requested(l->h, a) : burst->now;
            burst->blocks_now -= burst->blocks_now > 0;
        }
    }
    return bursts;
}

/* Whether it goes within the step in which it was made: no state, though those of a run of few steps may go soon. */
static bool is_brief(const struct gm_lives *l, size_t a)
{
    return !l->taken[a] && l->h->born[a] > 0 && gm_lives_goes(l, a) && !gm_lives_is_of_engine(l, a) &&
           !gm_lives_is_role(l, a, GM_ROLE_OPTIMIZER_STATE) &&
           gm_lives_round(l, l->h->freed[a]) <= gm_lives_round(l, l->h->born[a]) + 1;
}

/* The moment at which another one of its size, or a larger one, has been made: of one tensor after the other two are
 * there at a time. */
static uint32_t after_another(const struct gm_lives *l, size_t a)
{
    uint32_t e = gm_next_made(l->h, l->h->born[a]);
    while (e < l->h->count && gm_requested(l->h, gm_made_by(l->h, e)) < gm_requested(l->h, a))
        e = gm_next_made(l->h, e + 1);
    return e + 1;
}

static bool may_be_transient(const struct gm_lives *l, size_t a)
{
    return may_be_by_step(l, a) && is_brief(l, a);
}

static void find_transients(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    GM_FREED struct gm_sizes sizes = {.v = NULL};
    if (!gm_case_may_accuse(c, may_be_transient))
        return;
    const struct gm_round *rounds = gm_lives_rounds(l);
    GM_FREED struct burst *bursts = rounds == NULL ? NULL : find_bursts(l, rounds);
    const uint64_t gradients = gm_lives_sum_at_peak(l, is_gradient);
    bool has_unfusable = false;
    gm_sizes_of_role(&sizes, l, GM_ROLE_GRADIENT);
    for (size_t a = 0; bursts != NULL && a < l->h->allocation_count; a++) {
        const struct burst *burst = &bursts[gm_lives_stack(l, a)];
        if (burst->blocks_most < LEAST_AT_ONCE || !is_brief(l, a))
            continue;
        const bool is_list = gm_is_share(burst->most, gradients, 0.5) && (gm_lives_by(l, a) & GM_BY_MODULE) == 0 &&
                             gm_sizes_has(&sizes, gm_requested(l->h, a)) &&
                             rounds[gm_lives_round(l, l->h->born[a])].backward < l->h->born[a];
        const bool is_of_step = (gm_lives_by(l, a) & (GM_BY_OPTIMIZER | GM_BY_CLIPPING)) != 0;
        const uint32_t end = gm_lives_round_end(l, gm_lives_round(l, l->h->born[a]));
        if (is_list && !is_of_step && /* it may be of a graph, if one of its round uses it up */
            gm_lives_has_phase(l, l->h->born[a], end < l->h->freed[a] ? end : l->h->freed[a], GM_PHASE_BACKWARD))
            continue;
        if (!is_list && !is_of_step)
            continue;
        const bool is_by_torch = gm_lives_is_by_torch(l, a) && is_of_step;
        const bool is_unfusable = is_by_torch && (gm_lives_by(l, a) & (GM_BY_FUSABLE | GM_BY_CLIPPING)) == 0;
        has_unfusable |= is_unfusable && gm_lives_at_peak(l, a);
        if (is_by_torch && !is_unfusable)
            gm_set_drop(&set, a);
        else
            gm_set_end(&set, a, is_unfusable ? after_another(l, a) : gm_lives_after_others(l, a, 1));
    }
    struct gm_finding *f = gm_case_accuse(c, rule, &set, false,
                                          "the optimizer or gradient clipping works on all tensors at once, and its "
                                          "copies of them make the peak");
    if (f != NULL && has_unfusable) {
        f->fix = "Pass foreach=False to the optimizer";
        f->snippet = "- optimizer = NAdam(params)\n"
                     "+ optimizer = NAdam(params, foreach=False)";
        f->cost = "a slower step";
    }
}

/* What PyTorch's optimizers keep, or, where none of them is there, what the program makes beside weights. */
static void find_states(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    gm_hand_states(c, &set);
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (l->role[a] == GM_ROLE_OPTIMIZER_STATE && !l->taken[a])
            gm_set_drop(&set, a);
    if (!gm_is_share(gm_set_at_peak(l, &set), l->at_peak, 0.3))
        set.n = 0;
    struct gm_blame blame;
    gm_lives_blame(c->lives, &set, &blame);
    char part[2][GM_SIZE_TEXT];
    gm_case_accuse(c, rule, &set, false,
                   gm_case_printf(c,
                                  "states of the optimizer are the largest part of what lasts; one for each weight in "
                                  "place of two (Lion, SGD with momentum), or 16 bits in place of 32, save half of it, "
                                  "%s, and 8 bits (bitsandbytes.optim.AdamW8bit) three quarters, %s",
                                  gm_size_format(part[0], blame.bytes / 2),
                                  gm_size_format(part[1], blame.bytes - blame.bytes / 4)));
}

/* ---- activations ------------------------------------------------------------------------------------------------- */

/* Whether backward needs it. */
static bool is_activation(const struct gm_lives *l, size_t a)
{
    return l->role[a] == GM_ROLE_ACTIVATION && !l->taken[a] && l->h->born[a] > 0 &&
           (gm_lives_by(l, a) & GM_BY_RECOMPUTE) == 0;
}

enum {
    PART_OF_LAYER = 20,
    SMALL_PART = 10000 /* of the peak */,
    LONG_LOOP = 16 /* passes of one line */,
    MANY_PASSES = 64 /* no layers */
};

static bool is_large(const struct gm_lives *l, size_t a)
{
    return gm_requested(l->h, a) >= l->at_peak / SMALL_PART;
}

struct passes;

/* What loops of layers are looked for with: when the forward pass that leads to the peak ends; whether an allocation
 * was made in a layer of one that was found; [gm_stack_id] and [number] of what was not: count_others(). */
struct loops {
    uint32_t end; /* moment */
    bool *is_in;
    uint32_t *counts;
    uint64_t *bytes_of_count;
    const struct passes *passes;
};

/* Whether that forward pass makes it, not one of another batch before it. */
static bool is_of_peak(const struct gm_lives *l, const struct loops *loops, size_t a)
{
    return is_activation(l, a) && is_large(l, a) && l->h->born[a] <= loops->end && l->h->freed[a] > loops->end &&
           gm_lives_round(l, l->h->born[a]) == gm_lives_round(l, l->peak);
}

/* A stack that makes as many activations in each layer. stack 0: there is none. */
struct anchor {
    uint32_t stack;
    size_t each, layers;
};

/* How many of a stack there are for each of so many layers, if it may be of all of them: the first or the last one, and
 * a tenth of all, may lack any. 0: it is not. */
static size_t in_each(size_t count, size_t layers)
{
    const size_t each = (count + layers / 2) / layers, whole = each * layers;
    return (count > whole ? count - whole : whole - count) <= gm_max(each, count / 10) ? each : 0;
}

static uint64_t bytes_of_layers(const uint64_t *bytes_of_count, size_t n, size_t layers)
{
    uint64_t bytes = 0;
    for (size_t count = layers - layers / 10 - 1; count <= n; count++)
        bytes += in_each(count, layers) > 0 ? bytes_of_count[count] : 0;
    return bytes;
}

/* The first such one: layers begin with it. There are as many layers as some activations have siblings of their stack:
 * as many as explain how often that share of what any number explains are there, if that is half of the bytes. */
static void find_anchor(const struct gm_lives *l, const struct loops *loops, double share, struct anchor *anchor)
{
    const size_t n = l->h->allocation_count;
    const uint64_t *bytes_of_count = loops->bytes_of_count;
    size_t layers = 0;
    uint64_t all = 0, most = 0;
    for (size_t k = 3; k <= n; k++)
        all += bytes_of_count[k];
    for (size_t k = 3; k <= n; k++)
        if (bytes_of_count[k] > all / PART_OF_LAYER)
            most = gm_max(most, bytes_of_layers(bytes_of_count, n, k));
    for (size_t k = 3; k <= n; k++)
        if (bytes_of_count[k] > all / PART_OF_LAYER && gm_is_share(bytes_of_layers(bytes_of_count, n, k), most, share))
            layers = k;
    if (layers == 0 || most < all / 2)
        return;
    for (uint32_t e = 0; e < l->peak; e++) {
        const uint32_t a = l->h->of_event[e];
        const size_t each = a == GM_NEVER ? 0 : in_each(loops->counts[gm_lives_stack(l, a)], layers);
        if (each == 0 || l->h->born[a] != e + 1 || !is_of_peak(l, loops, a))
            continue;
        *anchor = (struct anchor){gm_lives_stack(l, a), each, layers};
        return;
    }
}

/* Whether a backward pass frees it, as far as phases are known. */
static bool is_of_pass(const struct gm_lives *l, size_t a)
{
    const uint32_t freed = l->h->freed[a];
    return freed > l->h->count || gm_lives_phase(l, freed - 1) == GM_PHASE_BACKWARD;
}

/* The activations of one layer: away from the end of its forward to where its backward begins, but for its last, what
 * comes out of it: norms make their statistics right after that. */
static void add_layer(struct gm_set *set, const struct gm_lives *l, const uint32_t *layer, size_t n, uint32_t end)
{
    uint32_t again = GM_NEVER;
    for (size_t i = 0; i < n; i++)
        if (l->h->freed[layer[i]] > end + 1 && l->h->freed[layer[i]] < again && is_of_pass(l, layer[i]))
            again = l->h->freed[layer[i]];
    size_t last = n - gm_min(n, 1);
    while (last > 0 && !is_large(l, layer[last]) &&
           gm_lives_stack(l, layer[last]) == gm_lives_stack(l, layer[last - 1]))
        last--;
    for (size_t i = 0; i < n && again != GM_NEVER; i++)
        if (i != last && l->h->freed[layer[i]] >= again)
            gm_set_add(set, layer[i], end, again - 1);
}

/* A layer ends where the next begins, so many allocations of the anchor's stack later; the last one, where it has as
 * many as the one before. */
static void collect_layers(struct gm_set *set, const struct gm_lives *l, uint32_t anchor, size_t each)
{
    GM_FREED struct GM_VEC(uint32_t) layer = {.v = NULL};
    size_t before = SIZE_MAX, met = 0;
    bool is_open = false;
    for (uint32_t e = gm_next_made(l->h, 0); e < l->h->count; e = gm_next_made(l->h, e + 1)) {
        const uint32_t a = gm_made_by(l->h, e);
        is_open &= !gm_lives_is_of_backward(l, a);
        if (!is_activation(l, a))
            continue;
        met += gm_lives_stack(l, a) == anchor && is_large(l, a);
        if (is_open && (met > each || layer.n == before)) {
            add_layer(set, l, layer.v, layer.n, e);
            before = layer.n;
            is_open = false;
        }
        if (gm_lives_stack(l, a) == anchor && is_large(l, a) && !is_open) {
            layer.n = 0;
            met = 1;
            is_open = true;
        }
        *l->failed |= is_open && !GM_VEC_PUSH(&layer, a);
    }
}

enum { DEEPEST = 4, LEAST_CALLS = 3 };
#define WORTH 0.25 /* of the peak */

/* What one call of a module makes, so many modules deep. Returns how many of the round of the peak keep some. */
static size_t collect_calls(struct gm_set *set, const struct gm_lives *l, unsigned level)
{
    GM_FREED struct GM_VEC(uint32_t) layer = {.v = NULL};
    size_t calls = 0;
    uint64_t open = 0;
    set->n = 0;
    for (uint32_t e = gm_next_made(l->h, 0); e < l->h->count; e = gm_next_made(l->h, e + 1)) {
        const uint32_t a = gm_made_by(l->h, e);
        if (gm_lives_is_of_backward(l, a)) {
            open = layer.n = 0;
            continue;
        }
        if (!is_activation(l, a))
            continue;
        const uint64_t call = gm_lives_module_call(l, gm_lives_stack(l, a), level);
        if (call != open) {
            const size_t before = set->n;
            add_layer(set, l, layer.v, layer.n, e);
            calls += set->n > before && gm_lives_at_peak(l, set->v[before].allocation);
            layer.n = 0;
            open = call;
        }
        *l->failed |= call != 0 && !GM_VEC_PUSH(&layer, a);
    }
    return calls;
}

/* What layers that repeat keep, or passes of one line. */
static void collect_repeated(struct gm_set *set, const struct gm_lives *l, const struct anchor *anchor,
                             uint64_t activations)
{
    size_t segments = 1;
    while (segments * segments < anchor->layers)
        segments++;
    set->n = 0;
    if (anchor->stack != 0)
        collect_layers(set, l, anchor->stack, anchor->each);
    if (anchor->layers >= (set->n == 0 ? LONG_LOOP : MANY_PASSES) &&
        gm_set_at_peak(l, set) < activations - activations / 4) {
        set->n = 0; /* what single passes begin with is too much of them */
        collect_layers(set, l, anchor->stack, anchor->each * segments);
    }
}

/* A backward pass, and how much that it made a later one frees: it was asked for a graph of itself then. */
struct pass {
    uint32_t begin; /* event */
    size_t kept;
};
struct passes GM_VEC(struct pass);

/* How many passes have begun by an event. */
static size_t passes_by(const struct passes *passes, uint32_t event)
{
    size_t n = 0;
    GM_BISECT(n, passes->n, i, passes->v[i].begin <= event);
    return n;
}

static void list_passes(struct passes *passes, const struct gm_lives *l)
{
    bool is_inside = false;
    for (uint32_t e = 0; e < l->h->count; e++) {
        const bool is_backward = gm_lives_phase(l, e) == GM_PHASE_BACKWARD, is_first = is_backward && !is_inside;
        is_inside = is_backward;
        *l->failed |= is_first && !GM_VEC_PUSH(passes, ((struct pass){.begin = e}));
    }
    for (size_t a = 0; passes->n > 0 && a < l->h->allocation_count; a++)
        if (gm_lives_is_of_backward(l, a) && gm_lives_goes_in_backward(l, a)) {
            const size_t made = passes_by(passes, l->h->born[a] - 1);
            passes->v[made - 1].kept += made != passes_by(passes, l->h->freed[a] - 1);
        }
}

/* What is away until a backward pass frees it is there again, or the like of it, from a pass before that on which made
 * a graph of itself. */
static void keep_for_graphs(struct gm_set *set, size_t from, const struct passes *passes)
{
    for (size_t i = from; i < set->n; i++)
        for (size_t p = passes_by(passes, set->v[i].gone); p + 1 < passes->n; p++)
            if (passes->v[p].kept >= LEAST_CALLS && passes->v[p + 1].begin <= set->v[i].again &&
                passes->v[p].begin < set->v[i].again)
                set->v[i].again = passes->v[p].begin;
}

/* By how much the peak of requested bytes, wherever it is then, is lower with those of the set away meanwhile. */
static uint64_t saved_by(const struct gm_lives *l, const struct gm_set *set)
{
    const size_t end = l->h->count + 1;
    GM_FREED int64_t *changes = gm_lives_scratch(l, end + 1, sizeof *changes);
    int64_t now = 0;
    uint64_t most = 0;
    if (changes == NULL)
        return 0;
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        changes[gm_min(l->h->born[a], end)] += (int64_t)gm_requested(l->h, a);
        changes[gm_min(l->h->freed[a], end)] -= (int64_t)gm_requested(l->h, a);
    }
    for (size_t i = 0; i < set->n; i++) {
        changes[gm_min(set->v[i].gone, end)] -= (int64_t)gm_requested(l->h, set->v[i].allocation);
        changes[gm_min(set->v[i].again, end)] += (int64_t)gm_requested(l->h, set->v[i].allocation);
    }
    for (size_t i = 0; i < end; i++) {
        now += changes[i];
        most = gm_max(most, (uint64_t)now);
    }
    return l->at_peak - gm_min(most, l->at_peak);
}

/* How much of what the forward pass of the peak makes, but for what is made in the layers of the set, each stack makes,
 * and how many bytes there are of each number. */
static void count_others(const struct gm_lives *l, const struct gm_set *set, struct loops *loops)
{
    const size_t n = l->h->allocation_count;
    memset(loops->is_in, 0, n * sizeof *loops->is_in);
    memset(loops->counts, 0, (l->snapshot->stacks.count + 1) * sizeof *loops->counts);
    memset(loops->bytes_of_count, 0, (n + 4) * sizeof *loops->bytes_of_count);
    for (size_t i = 0; i < set->n; i++)
        for (uint32_t e = l->h->born[set->v[i].allocation] - 1;
             (i == 0 || set->v[i].gone != set->v[i - 1].gone) && e < set->v[i].gone; e++)
            if (gm_made_by(l->h, e) != GM_NEVER)
                loops->is_in[gm_made_by(l->h, e)] = true;
    for (size_t a = 0; a < n; a++)
        if (!loops->is_in[a] && is_of_peak(l, loops, a) && (gm_lives_by(l, a) & GM_BY_NOBODY) == 0)
            loops->counts[gm_lives_stack(l, a)]++;
    for (size_t a = 0; a < n; a++)
        if (!loops->is_in[a] && is_of_peak(l, loops, a))
            loops->bytes_of_count[loops->counts[gm_lives_stack(l, a)]] += gm_requested(l->h, a);
}

/* What layers keep that the set has not. */
static void add_loop(struct gm_set *set, const struct gm_lives *l, struct loops *loops, double share,
                     uint64_t activations)
{
    const size_t before = set->n;
    GM_FREED struct gm_set loop = {.v = NULL};
    struct anchor anchor = {0};
    count_others(l, set, loops);
    find_anchor(l, loops, share, &anchor);
    collect_repeated(&loop, l, &anchor, activations - gm_min(activations, gm_set_at_peak(l, set)));
    for (size_t i = 0; i < loop.n && anchor.stack != 0; i++)
        if (!loops->is_in[loop.v[i].allocation])
            gm_set_add(set, loop.v[i].allocation, loop.v[i].gone, loop.v[i].again);
    keep_for_graphs(set, before, loops->passes);
}

/* Of layers that repeat, be it inside of what repeats itself, those that keep most, and others, as of a decoder behind
 * an encoder, while each saves a tenth more; of these as many as save a quarter more together. */
static void collect_loops(struct gm_set *set, const struct gm_lives *l, const struct passes *passes,
                          uint64_t activations)
{
    static const double shares[] = {0.9, 0.5};
    const size_t n = l->h->allocation_count;
    GM_FREED bool *is_in = gm_lives_scratch(l, n + 1, sizeof *is_in);
    GM_FREED uint32_t *counts = gm_lives_of_stacks(l, sizeof *counts);
    GM_FREED uint64_t *bytes_of_count = gm_lives_scratch(l, n + 4, sizeof *bytes_of_count);
    const size_t begun = passes_by(passes, l->peak - 1);
    const bool is_inside = begun > 0 && passes->v != NULL && gm_lives_phase(l, l->peak - 1) == GM_PHASE_BACKWARD;
    struct loops loops = {is_inside ? passes->v[begun - 1].begin : l->peak, is_in, counts, bytes_of_count, passes};
    for (size_t i = 0; is_in != NULL && !*l->failed && set->n == 0 && i < sizeof shares / sizeof *shares; i++) {
        add_loop(set, l, &loops, shares[i], activations);
        set->n = gm_is_share(gm_set_at_peak(l, set), l->at_peak, WORTH) ? set->n : 0;
    }
    size_t kept = set->n;
    uint64_t saved = saved_by(l, set), last = saved;
    for (bool is_more = kept > 0; is_more;) {
        add_loop(set, l, &loops, shares[0], activations);
        const uint64_t then = saved_by(l, set);
        is_more = then > last + last / 10;
        kept = then > saved + saved / 4 ? set->n : kept;
        saved = kept == set->n ? then : saved;
        last = then;
    }
    set->n = kept;
}

/* What layers keep, of the kind that the peak's forward pass shows: they repeat, are passes of one line, or are calls
 * of modules, so many deep. Of these what leaves the lowest peak: each has to save a tenth more than those before it.
 */
static void collect_kept(const struct gm_lives *l, struct gm_set *set, uint64_t activations)
{
    GM_FREED struct gm_set other = {.v = NULL};
    GM_FREED struct passes passes = {.v = NULL};
    list_passes(&passes, l);
    collect_loops(set, l, &passes, activations);
    uint64_t saved = saved_by(l, set);
    for (unsigned level = 2; level <= DEEPEST && saved + saved / 10 < activations; level++) {
        const bool is_some = collect_calls(&other, l, level) >= LEAST_CALLS;
        keep_for_graphs(&other, 0, &passes);
        const uint64_t then = is_some ? saved_by(l, &other) : 0;
        if (then <= saved + saved / 10)
            continue;
        const struct gm_set better = other;
        other = *set;
        *set = better;
        saved = then;
    }
}

static void find_activations(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    uint64_t bytes = 0, all_bytes = 0; /* all: as where the peak is told, with what other mistakes have of them */
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        const uint64_t size = gm_lives_at_peak(l, a) ? gm_requested(l->h, a) : 0;
        bytes += is_activation(l, a) ? size : 0;
        all_bytes += gm_lives_is_role(l, a, GM_ROLE_ACTIVATION) ? size : 0;
    }
    if (l->has_backward && gm_is_share(bytes, l->at_peak, 0.5))
        collect_kept(l, &set, bytes);
    if (!gm_is_share(gm_set_at_peak(l, &set), l->at_peak, WORTH))
        set.n = 0;
    struct gm_rule of_pass = *rule;
    enum gm_runs_parts runs;
    size_t more;
    const char *other, *site = gm_lives_caller_of_parts(c->lives, &set, &runs, &other, &more);
    char all[GM_SIZE_TEXT], share[GM_NUMBER_TEXT];
    if (runs == GM_RUNS_IN_PASSES && site != NULL) {
        of_pass.fix = gm_case_printf(
            c,
            "Checkpoint whole passes of the loop around %.*s, which makes a part of them: put the loop's body into a "
            "function, and call x = torch.utils.checkpoint.checkpoint(body, x, use_reentrant=False)",
            (int)gm_site_innermost(site), site);
        of_pass.snippet = "- x = x + block(norm(x))\n"
                          "+ x = checkpoint(body, x, use_reentrant=False)  # all that a pass does";
    }
    struct gm_finding *f = gm_case_accuse_line(
        c, &of_pass, &set, site,
        gm_case_printf(c,
                       "activations of layers%s%s%s, kept from the forward to the backward pass, of %s that all "
                       "activations make (%s %%)",
                       other != NULL ? ", also of those at " : "", other != NULL ? other : "",
                       other == NULL || more == 0 ? ""
                       : more == 1                ? " and one more line"
                                                  : gm_case_printf(c, " and %zu more lines", more),
                       gm_size_format(all, all_bytes), gm_share_format(share, all_bytes, l->at_peak)));
    if (f != NULL)
        f->bytes = all_bytes;
    if (f != NULL && runs == GM_RUNS_IN_SEQUENCE && f->snippet == rule->snippet)
        f->snippet = "- x = layers(x)\n"
                     "+ x = checkpoint_sequential(layers, len(layers), x, use_reentrant=False)";
}

static const struct gm_rule rules[] = {
    {.id = "gradients-through-forward",
     .title = "Gradients of the last step live through the forward pass",
     .find_in_lives = find_old_gradients,
     .brief = "zero_grad() after step()",
     .fix = "Call optimizer.zero_grad(set_to_none=True) right after optimizer.step(), before the forward pass",
     .snippet = "- optimizer.zero_grad(); loss = model(x); loss.backward()\n"
                "- optimizer.step()\n"
                "+ loss = model(x); loss.backward()\n"
                "+ optimizer.step(); optimizer.zero_grad(set_to_none=True)",
     .means = "Gradients are freed right before the next backward pass, or zeroed in place, and so are there while the "
              "forward pass makes its activations. Nothing reads them then.",
     .when =
         "gradients are there after the round that made them, go before the next backward pass, or are zeroed, or "
         "replaced, by it, and hold 1 % of a peak at which nothing reads them; not where they are accumulated, which "
         "rounds without an optimizer step tell, or gradients that go only after several backward passes; info, where "
         "they go right before the next backward pass, as most programs zero them, and are, and save, less than a "
         "tenth; or the "
         "peak of a trace without a backward pass is in a forward pass, and gradients are older than the trace",
     .what_to_do = "`optimizer.zero_grad(set_to_none=True)` right after `optimizer.step()`; not where they are "
                   "accumulated"},
    {.id = "foreach-transients",
     .title = "Copies that the optimizer or clipping makes for a moment set the peak",
     .find_in_lives = find_transients,
     .brief = "foreach=False",
     .fix = "Pass foreach=False, or fused=True, to the optimizer and to clip_grad_norm_",
     .snippet = "- optimizer = AdamW(params)\n"
                "+ optimizer = AdamW(params, fused=True)",
     .cost = "foreach=False: a slower step; fused=True: none",
     .means = "The multi-tensor form of an optimizer, or of clipping, makes a temporary for all gradients at once. In "
              "many steps that is the peak.",
     .when =
         "what the code of torch.optim or of gradient clipping makes and frees within a step, at least 4 tensors of "
         "a stack at once, or as many of gradients' sizes that other code makes there and no backward pass of the "
         "round uses, holds 1 % of the peak",
     .what_to_do = "`fused=True` or `foreach=False`"},
    {.id = "activations-dominate",
     .title = "Activations make most of the peak",
     .find_in_lives = find_activations,
     .is_choice = true,
     .brief = "checkpoint the layers",
     .fix = "Checkpoint the layers: x = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False), or "
            "checkpoint_sequential() for those of an nn.Sequential",
     .snippet = "- x = layer(x)\n"
                "+ x = checkpoint(layer, x, use_reentrant=False)",
     .cost = "time: each layer's forward runs twice, about a third more",
     .means = "What the forward pass keeps for the backward pass is most of the peak. That is as it should be; it can "
              "be computed again instead of kept.",
     .severity = "info",
     .when =
         "activations hold half of the peak, a quarter of it those of layers that repeat at least 3 times, or of one "
         "line that runs at least 16 times, with those of other layers behind them, where each saves a tenth and all "
         "a quarter more, or of at least 3 calls of modules, where these save a tenth more, and none is checkpointed",
     .what_to_do = "`torch.utils.checkpoint`, or a smaller batch"},
    {.id = "optimizer-state-dominates",
     .title = "States of the optimizer make much of the peak",
     .find_in_lives = find_states,
     .is_choice = true,
     .brief = "optimizer states on the host",
     .fix =
         "Keep them on the host (torchao.optim.CPUOffloadOptimizer), or use an optimizer with next to none (Adafactor, "
         "SGD); sharded, a part of them is left for each rank",
     .snippet = "- optimizer = torch.optim.AdamW(params)\n"
                "+ optimizer = CPUOffloadOptimizer(params, torch.optim.AdamW)",
     .cost = "time: gradients go to the host, and weights back; or accuracy",
     .means = "Adam keeps two numbers for each weight. That is as it should be; there are optimizers, types and places "
              "that need less.",
     .severity = "info",
     .when = "optimizer state holds 30 % of the peak, with sets of the weights' sizes beside them where no code of "
             "`torch.optim` ran; the saving is that of all its bytes, the text also tells half and three quarters",
     .what_to_do = "On the host, Adafactor, SGD; 8 bits, sharding (ZeRO)"},
};
const struct gm_theme gm_theme_training = GM_THEME(rules);
