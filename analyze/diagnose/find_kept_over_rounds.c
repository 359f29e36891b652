/* SPDX-License-Identifier: Apache-2.0
 *
 * What lives on after its round: the tensors of the last one, graphs that a sum keeps, tensors in a list; and the rules
 * of all that is kept for too long.
 */
#include "analyze/diagnose/kept.h"

#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST_ROUNDS = 3,     /* of which something is left, or it does not pile up */
    LEAST_STALE = 2,      /* rounds that end with something of theirs in use, or it is no habit */
    LEAK_ROUNDS = 10,     /* of which little is left each: a slow leak */
    LEAK_SHARE = 10,      /* parts of what a round needs else, where something is trained: else results are collected */
    LEAK_MOST = 32 << 20, /* bytes of a round: 80 GiB last for an hour of rounds that take a second */
    BEGINNING = 3,        /* parts of a round: what is made before the last one of them is used in it */
    MANY_STACKS = 8,      /* where nothing is trained: results are of fewer, a graph is not */
    A_FEW_NUMBERS = 4096, /* bytes of each result: more are no numbers */
    GRAPH_BLOCKS = 3,     /* in a round, of them */
    GRAPH_ALIKE = 2,      /* of one stack, and about as large: of a graph; fewer are single tensors */
    GRAPH_STACKS = 2,     /* with a part of its bytes each */
    GRAPH_PART = 10,
    GRAPH_SMALL = 1000, /* parts of its bytes */
    TELLING = 100,      /* parts of the largest of them: smaller ones say nothing of what is between two */
    CONSUMED = 6,       /* parts of its bytes that a backward pass has used: it is none, */
    OF_BRANCH = 2,      /* or of twice as many where another branch of its forward pass was used */
    MUCH = 10,          /* parts of the peak: what is less may be meant to be there */
    DENSE = 4,          /* one of five that are made is there later, or more */
    NO_NUMBER = GM_BY_NOBODY | GM_BY_BACKWARD | GM_BY_OPTIMIZER | GM_BY_MODULE |
                GM_BY_TORCH /* make no sum of losses, but a scale of gradients */
};

enum { LEFT = 1, STALE = 2, PILED = 3 }; /* LEFT: for one more round, however long in it */

/* How the allocations of one stack outlive their rounds. */
struct gm_habit {
    uint32_t stale, piled; /* rounds */
    uint32_t stale_round, piled_round;
    uint32_t round, first, successor; /* while they are walked backwards: the first of the round, of the next one, */
    uint32_t second;                  /* and of the one after that */
    uint32_t left, left_round;        /* rounds of which something is there to the end */
    uint64_t now, size;               /* bytes of that: of the round so far; of each round. GM_ABSENT: they differ */
};

static bool is_made(const struct gm_lives *l, size_t a)
{
    return l->taken[a] != GM_TAKEN && l->h->born[a] > 0 &&
           (gm_lives_by(l, a) & (GM_BY_OPTIMIZER | GM_BY_COPYING | GM_BY_LOADING)) == 0;
}

/* What there is to the end from before a loop, or as the first of one, may look like it, but not what is made after a
 * backward pass. */
static bool is_set_up(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_PARAMETER) || gm_lives_is_role(l, a, GM_ROLE_INPUT);
}

bool gm_is_of_round(const struct gm_lives *l, size_t a)
{
    const uint8_t role = l->role[a];
    return is_made(l, a) && !is_set_up(l, a) && !gm_lives_is_of_weights(l, a) && role != GM_ROLE_WORKSPACE &&
           role != GM_ROLE_KV_CACHE && role != GM_ROLE_COMMUNICATION;
}

/* So many rounds begin between its birth and its end. */
static uint32_t outlived(const struct gm_lives *l, size_t a)
{
    return gm_lives_round(l, l->h->freed[a]) - gm_lives_round_of(l, a);
}

/* Whether it is still there when its successor is made, and gone when that one has one: a step may seem to begin a
 * little before the line that lets go. */
static bool is_stale(const struct gm_history *h, size_t a, const struct gm_habit *habit, uint32_t rounds)
{
    return h->freed[a] != GM_NEVER && h->freed[a] > habit->successor &&
           (rounds == 1 || (rounds == 2 && h->freed[a] < habit->second && habit->second != GM_NEVER));
}

static void end_left(struct gm_habit *habit)
{
    if (habit->left > 0)
        habit->size = habit->left == 1 || habit->size == habit->now ? habit->now : GM_ABSENT;
    habit->now = 0;
}

/* Of a few rounds, each of which trains, a leak is what all leave alike, to the end. */
static void note_left(const struct gm_lives *l, size_t a, uint32_t round, struct gm_habit *habit)
{
    if (!gm_lives_is_left(l, a))
        return;
    if (habit->left == 0 || habit->left_round != round) {
        end_left(habit);
        habit->left++;
        habit->left_round = round;
    }
    habit->now += gm_requested(l->h, a);
}

static bool do_all_train(const struct gm_lives *l)
{
    uint32_t n = 0, last = GM_NEVER;
    for (uint32_t e = gm_next_made(l->h, 0); e < l->h->count; e = gm_next_made(l->h, e + 1)) {
        const uint32_t a = gm_made_by(l->h, e), round = gm_lives_round(l, e + 1);
        const bool is_backward = gm_lives_is_of_backward(l, a) && gm_lives_is_of_engine(l, a);
        n += is_backward && round != last;
        last = is_backward ? round : last;
    }
    return n >= l->rounds.n;
}

/* What is older than the trace and goes in it. */
struct gone {
    uint64_t bytes;
    uint32_t freed;
    bool is_met;
};
struct all_gone GM_VEC(struct gone);
GM_ORDERING(by_size, struct gone, GM_UP(bytes) || GM_UP(freed));

/* Whether one as large as the allocation, which counts once, goes while that is there. */
static bool has_predecessor(const struct gm_lives *l, size_t a, struct all_gone *gone)
{
    const struct gm_history *h = l->h;
    size_t at = 0;
    GM_BISECT(at, gone->n, i,
              gone->v[i].bytes < gm_requested(h, a) ||
                  (gone->v[i].bytes == gm_requested(h, a) && gone->v[i].freed <= h->born[a]));
    while (at < gone->n && gone->v[at].bytes == gm_requested(h, a) && gone->v[at].is_met)
        at++;
    if (at == gone->n || gone->v[at].bytes != gm_requested(h, a) || gone->v[at].freed >= h->freed[a])
        return false;
    return gone->v[at].is_met = true;
}

/* The round before the trace counts, too, where nearly all of the first round that is stale took the place of something
 * as large that is older. */
static void add_older_stale(const struct gm_lives *l, const uint8_t *kinds, struct gm_habit *habits)
{
    GM_FREED struct all_gone gone = {.v = NULL};
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (l->h->born[a] == 0 && l->h->freed[a] <= l->last_made && !gm_lives_goes_in_backward(l, a))
            *l->failed |= !GM_VEC_PUSH(&gone, ((struct gone){gm_requested(l->h, a), l->h->freed[a], false}));
    if (gone.n == 0)
        return;
    GM_SORT(gone.v, gone.n, by_size);
    for (uint32_t s = GM_STACK_EMPTY + 1; s < l->snapshot->stacks.count; s++) {
        size_t all = 0, alike = 0;
        for (uint32_t i = l->roster->first[s]; habits[s].stale + 1 == LEAST_STALE && i < l->roster->first[s + 1]; i++) {
            const bool is = kinds[l->roster->v[i]] == STALE;
            all += is;
            alike += is && has_predecessor(l, l->roster->v[i], &gone);
        }
        habits[s].stale += all > 0 && alike >= all - all / 10;
    }
}

/* Rounds before the trace count, too: of what outlives its round those that left something of the stack, as large, to
 * the end. It may be the same round of which the trace has but the end. */
static void add_older_rounds(const struct gm_lives *l, const uint8_t *kinds, struct gm_habit *habits)
{
    GM_FREED struct gm_older {
        uint32_t older, kept, rounds, last;
    } *of = gm_lives_of_stacks(l, sizeof *of);
    GM_FREED struct gm_sizes sizes = {.v = NULL};
    struct gm_set kept = {.v = NULL};
    for (uint32_t i = 0; of != NULL && i < l->roster->n; i++) {
        const uint32_t a = l->roster->v[i];
        struct gm_older *stack = &of[gm_lives_stack(l, a)];
        if ((kinds[a] != LEFT && kinds[a] != PILED) || gm_lives_round_of(l, a) == 0)
            continue;
        stack->rounds += stack->kept++ == 0 || stack->last != gm_lives_round_of(l, a);
        stack->last = gm_lives_round_of(l, a);
        gm_set_drop(&kept, a);
    }
    gm_sizes_of_set(&sizes, l, &kept);
    for (size_t a = 0; of != NULL && a < l->h->allocation_count; a++)
        of[gm_lives_stack(l, a)].older += l->h->born[a] == 0 && l->taken[a] != GM_TAKEN && gm_lives_is_left(l, a) &&
                                          gm_sizes_has(&sizes, gm_requested(l->h, a));
    for (uint32_t s = GM_STACK_EMPTY + 1; of != NULL && s < l->snapshot->stacks.count; s++)
        habits[s].piled += of[s].kept > 0 ? of[s].older * of[s].rounds / of[s].kept : 0;
    *l->failed |= kept.failed;
    free(kept.v);
}

/* Backwards, so that the next allocations of a stack in later rounds are known. */
static uint8_t *classify(const struct gm_lives *l, struct gm_habit *habits)
{
    const struct gm_history *h = l->h;
    uint8_t *kinds = gm_lives_scratch(l, h->allocation_count + 1, 1);
    for (uint32_t e = (uint32_t)h->count; kinds != NULL && e > 0; e--) {
        const uint32_t a = h->of_event[e - 1];
        if (a == GM_NEVER || h->born[a] != e)
            continue;
        struct gm_habit *habit = &habits[gm_lives_stack(l, a)];
        const bool is_piling = e > l->first_backward || habit->piled >= LEAST_ROUNDS ||
                               (habit->left + 1 >= LEAST_ROUNDS && habit->size == gm_requested(l->h, a));
        if (!gm_is_of_round(l, a) && (!is_piling || !is_set_up(l, a) || !is_made(l, a)))
            continue;
        const uint32_t round = gm_lives_round(l, e), rounds = outlived(l, a);
        if (habit->round != round) {
            habit->second = habit->successor;
            habit->successor = habit->round > 0 ? habit->first : GM_NEVER;
            habit->round = round;
        }
        habit->first = e;
        note_left(l, a, round, habit);
        if (is_stale(h, a, habit, rounds)) {
            kinds[a] = STALE;
            habit->stale += habit->stale == 0 || habit->stale_round != round;
            habit->stale_round = round;
        } else if (rounds == 1 || (rounds == 2 && !gm_lives_is_left(l, a))) { /* always two: a chain, no pile */
            kinds[a] = LEFT;
        } else if (rounds > 1 && !gm_lives_goes_in_backward(l, a)) {
            kinds[a] = PILED;
            habit->piled += habit->piled == 0 || habit->piled_round != round;
            habit->piled_round = round;
        }
    }
    if (kinds != NULL) {
        add_older_rounds(l, kinds, habits);
        add_older_stale(l, kinds, habits);
    }
    if (kinds != NULL && l->rounds.n >= LEAST_ROUNDS && do_all_train(l))
        for (size_t s = 0; s < l->snapshot->stacks.count; s++) {
            end_left(&habits[s]);
            if (habits[s].size != GM_ABSENT && habits[s].left >= l->rounds.n && habits[s].piled < LEAST_ROUNDS)
                habits[s].piled = LEAST_ROUNDS;
        }
    return kinds;
}

/* What becomes of what was made beside those of a set in one forward pass. */
struct beside {
    uint64_t used, later; /* bytes that a backward pass gives up, from one of the set to the next: it is no graph that
                             lives on, but tensors that somebody holds; and from the last one on, so far */
    uint64_t ended;       /* bytes of the latter where that backward pass begins: a retained graph has its end, too */
    size_t kept, passing; /* blocks in the same call of a model, and until the next: of the set; gone sooner, without
                             a backward pass: a graph would have kept most */
    size_t between, open; /* of those that pass: from one of the set to the next; from the last one on, so far */
    size_t most;          /* of the set in one call: those with less than half as many may just hand it their output */
};

static void end_call(struct beside *all, struct beside *call)
{
    if (call->kept > 2 * all->most)
        all->used = all->kept = all->passing = all->between = 0;
    all->most = gm_max(all->most, call->kept);
    if (2 * call->kept >= all->most) {
        all->used += call->used;
        all->kept += call->kept;
        all->passing += call->kept > 0 ? call->passing : 0;
        all->between += call->between;
    }
    call->used = call->kept = call->passing = call->between = 0;
}

/* Of one that is not in the set. */
static void note_other(const struct gm_lives *l, size_t a, bool is_large, bool is_open, struct beside *call)
{
    const uint32_t freed = l->h->freed[a];
    if (freed == GM_NEVER || !gm_is_of_round(l, a))
        return;
    const bool is_used = gm_lives_goes_in_backward(l, a);
    call->later += is_used && is_open ? gm_requested(l->h, a) : 0;
    const bool is_passing = is_large && !is_used && freed > l->h->born[a] + GM_WORKSPACE_EVENTS;
    call->passing += is_passing;
    call->open += is_passing && is_open;
}

/* The set is in the order of birth. Small ones say nothing of what was made before their call. */
static struct beside look_beside(const struct gm_lives *l, const struct gm_set *set, const uint8_t *kinds, uint8_t kind)
{
    const struct gm_history *h = l->h;
    struct beside all = {.kept = 0}, call = {.kept = 0};
    uint64_t largest = 0, now = 0, of = 0,
             tail = 0; /* of that: the call of the last of the set; of call.later: in it */
    uint32_t round = 0;
    size_t i = 0;
    bool is_open = false, is_of_modules = false;
    for (size_t k = 0; k < set->n; k++) {
        largest = gm_max(largest, gm_requested(h, set->v[k].allocation));
        is_of_modules |= kind == PILED && gm_lives_module_call(l, gm_lives_stack(l, set->v[k].allocation), 1) != 0;
    }
    for (uint32_t e = gm_next_made(h, 0); e < h->count && i < set->n; e = gm_next_made(h, e + 1)) {
        const uint32_t a = gm_made_by(h, e);
        const bool is_backward = gm_lives_is_of_backward(l, a) && gm_lives_is_of_engine(l, a);
        const bool is_large = gm_requested(h, a) >= largest / TELLING;
        const uint64_t in = is_backward ? 0 : gm_lives_module_call(l, gm_lives_stack(l, a), 1);
        const bool is_new = is_backward || gm_lives_round(l, e + 1) != round;
        all.ended += is_open && is_backward ? (kind == PILED ? tail : call.later) : 0;
        is_open &= !is_new;
        if (is_new || (in != 0 && in != now))
            end_call(&all, &call);
        round = gm_lives_round(l, e + 1);
        now = in != 0 ? in : now;
        if (set->v[i].allocation == a) {
            const bool is_input = in == 0 && is_of_modules; /* or so: there before the call */
            i++;
            call.kept += is_large;
            call.used += is_open && (is_large || call.kept > 0) ? call.later : 0;
            call.later = is_large || call.kept > 0 ? 0 : call.later;
            call.between += is_open && is_large ? call.open : 0;
            call.open = is_large ? 0 : call.open;
            is_open |= is_large && !is_input;
            of = in;
            tail = 0;
        } else if (!is_backward && kinds[a] == 0) {
            const uint64_t before = call.later;
            note_other(l, a, is_large, is_open, &call);
            tail += in != 0 && in == of ? call.later - before : 0;
        }
        call.later = is_open ? call.later : 0;
        call.open = is_open ? call.open : 0;
    }
    end_call(&all, &call);
    return all;
}

/* Whether what is stale goes together, when all that come in their place are there, as a variable's content does: hooks
 * put one after the other in its place. */
static bool go_at_once(const struct gm_lives *l, const uint8_t *kinds)
{
    size_t groups = 0, gone = 0;
    bool is_open = false;
    for (uint32_t e = 0; e < l->h->count; e++) {
        const uint32_t a = l->h->of_event[e];
        if (a == GM_NEVER)
            continue;
        if (l->h->born[a] == e + 1) {
            is_open = false;
        } else if (l->h->freed[a] == e + 1 && kinds[a] == STALE && gm_requested(l->h, a) >= l->at_peak / 1000) {
            groups += !is_open;
            gone++;
            is_open = true;
        }
    }
    return groups * 2 <= gone;
}

/* How the bytes of a set are spread: a graph is made by several operators, or several times in each round by one. */
struct spread {
    uint64_t bytes, most; /* of all; of the stack that has most */
    size_t stacks;        /* that have a part worth a word */
    size_t of_modules;    /* stacks in modules, where something is trained: what one makes the next one reads */
    size_t blocks, most_blocks, module_blocks;
    size_t computed; /* that are no inputs */
    uint32_t most_rounds;
};

static bool is_graph(const struct spread *spread)
{
    return spread->most < spread->bytes / 10 * 6 || spread->of_modules >= GRAPH_STACKS ||
           (spread->blocks >= GRAPH_BLOCKS * (size_t)spread->most_rounds &&
            (spread->stacks >= GRAPH_STACKS || spread->most_blocks >= GRAPH_ALIKE * (size_t)spread->most_rounds));
}

static void spread_out(const struct gm_lives *l, const struct gm_set *set, uint8_t kind, struct spread *spread)
{
    GM_FREED uint64_t *bytes = gm_lives_of_stacks(l, sizeof *bytes);
    const struct gm_history *h = l->h;
    uint32_t most = 0;
    uint64_t largest = 0; /* of that stack */
    uint32_t round = GM_NEVER;
    *spread = (struct spread){.blocks = 0};
    const bool is_trained = kind == PILED && l->has_backward;
    if (bytes == NULL)
        return;
    for (size_t i = 0; i < set->n; i++) {
        const uint32_t a = set->v[i].allocation;
        bytes[gm_lives_stack(l, a)] += gm_requested(h, a);
        spread->bytes += gm_requested(h, a);
        most = bytes[gm_lives_stack(l, a)] > bytes[most] ? gm_lives_stack(l, a) : most;
    }
    spread->most = bytes[most];
    for (size_t s = 0; s < l->snapshot->stacks.count; s++) {
        spread->stacks += bytes[s] > 0 && bytes[s] >= spread->bytes / GRAPH_PART;
        spread->of_modules +=
            is_trained && (l->by[s] & GM_BY_MODULE) != 0 && bytes[s] >= spread->bytes / GRAPH_SMALL && bytes[s] > 0;
    }
    for (size_t i = 0; i < set->n; i++)
        if (gm_lives_stack(l, set->v[i].allocation) == most) {
            const uint32_t of = gm_lives_round_of(l, set->v[i].allocation);
            largest = gm_max(largest, gm_requested(h, set->v[i].allocation));
            spread->most_rounds += of != round;
            round = of;
        }
    for (size_t i = 0; i < set->n; i++) {
        const uint32_t a = set->v[i].allocation;
        const bool is_large = gm_requested(h, a) >= l->at_peak / 10000;
        spread->blocks += is_large;
        spread->most_blocks += is_large && gm_lives_stack(l, a) == most && gm_requested(h, a) >= largest / 2;
        spread->module_blocks += is_large && (gm_lives_by(l, a) & GM_BY_MODULE) != 0;
        spread->computed += is_large && !is_set_up(l, a);
    }
}

/* Whether rounds before the trace left some of the set's stacks, too. */
static bool has_older(const struct gm_lives *l, const struct gm_set *set)
{
    GM_FREED bool *is_of_set = gm_set_stacks(l, set);
    bool has = false;
    for (size_t a = 0; is_of_set != NULL && a < l->h->allocation_count && !has; a++)
        has = !gm_is_made(l->h, a) && gm_lives_stack(l, a) > GM_STACK_EMPTY && is_of_set[gm_lives_stack(l, a)];
    return has;
}

/* A sum that is added to in its place is made in the first round, after the first that it holds, as are others of its
 * line, or before the trace, as some that it holds were, and is there when the last is made: its stack; 0: there is
 * none. The set is in the order of birth. */
static uint32_t sum_of(const struct gm_lives *l, const struct gm_set *set)
{
    const struct gm_history *h = l->h;
    const uint32_t first = set->v[0].allocation, last = set->v[set->n - 1].allocation;
    const bool may_be_older = has_older(l, set);
    uint32_t sum = 0;
    for (size_t a = may_be_older ? 0 : first; a < h->allocation_count; a++) {
        const uint32_t stack = gm_lives_stack(l, a);
        const bool is_older = h->born[a] == 0;
        if ((is_older ? stack <= GM_STACK_EMPTY : a < first) || gm_requested(h, a) > GM_LOSS_BYTES ||
            (l->by[stack] & NO_NUMBER) != 0)
            continue;
        const bool is_first = is_older || gm_lives_round_of(l, a) == gm_lives_round_of(l, first);
        if (sum == 0 && is_first && h->freed[a] > h->born[last])
            sum = stack;
        else if (stack == sum && !is_first)
            return 0;
    }
    return sum;
}

/* A sum or a loss that holds a graph is made after what it holds, before a forward pass of the next round, and lives
 * on: the stack that makes the last such number of most rounds, which may begin at the optimizer's step; 0: there is
 * none. The set is in the order of birth. */
static uint32_t number_of(const struct gm_lives *l, const struct gm_set *set)
{
    GM_FREED uint32_t *votes = gm_lives_of_stacks(l, sizeof *votes);
    uint32_t round = GM_NEVER, last = 0, most = 0; /* the round of what is held; GM_NEVER: it is over */
    size_t i = 0;
    for (uint32_t e = 0; votes != NULL && e < l->h->count; e++) {
        const uint32_t a = gm_made_by(l->h, e);
        if (a == GM_NEVER || gm_lives_is_of_engine(l, a) || (gm_lives_by(l, a) & GM_BY_OPTIMIZER) != 0)
            continue;
        const uint32_t now = gm_lives_round(l, e + 1);
        const bool is_large = gm_requested(l->h, a) >= l->at_peak / 1000;
        while (i < set->n && set->v[i].allocation < a)
            i++;
        if (round != GM_NEVER && is_large && now != round) {
            votes[last]++;
            most = last != 0 && votes[last] > votes[most] ? last : most;
            round = GM_NEVER;
            last = 0;
        }
        if (round == GM_NEVER && is_large && i < set->n && set->v[i].allocation == a)
            round = now;
        if (round != GM_NEVER && gm_is_loss(l, a) && l->kinds[a] >= STALE)
            last = gm_lives_stack(l, a);
    }
    return votes != NULL && votes[most] >= LEAST_STALE ? most : 0;
}

/* Whether what that stack makes is what a backward pass begins with, mostly, which uses up its graph; also of none. */
static bool starts_backward(const struct gm_lives *l, uint32_t number)
{
    size_t n = 0, starts = 0;
    for (size_t a = 0; number != 0 && a < l->h->allocation_count; a++) {
        if (gm_lives_stack(l, a) != number || l->kinds[a] < STALE)
            continue;
        uint32_t next = gm_next_made(l->h, l->h->born[a]);
        while (next < l->h->count && !gm_lives_is_of_engine(l, gm_made_by(l->h, next)) &&
               (gm_lives_by(l, gm_made_by(l->h, next)) & GM_BY_MODULE) == 0)
            next = gm_next_made(l->h, next + 1);
        n++;
        starts += next < l->h->count && gm_lives_is_of_engine(l, gm_made_by(l->h, next));
    }
    return 2 * starts >= n;
}

/* What a set is: tensors that a variable or a list holds, graphs, outputs of layers that a hook holds. A graph may be
 * the branch that ends in a number that is held: what passes before it begins says nothing. */
enum shape { SINGLE, GRAPH, FEATURES };

static enum shape shape_of(const struct gm_lives *l, const struct gm_set *set, const struct spread *spread,
                           const uint8_t *kinds, uint8_t kind)
{
    const struct beside beside = look_beside(l, set, kinds, kind);
    const bool is_branch =
        kind == PILED && l->has_backward && (sum_of(l, set) != 0 || !starts_backward(l, number_of(l, set)));
    const bool are_few = kind == STALE && spread->blocks < GM_LEAST_FEATURES * (size_t)spread->most_rounds;
    if (beside.used + (are_few || (kind == PILED && !is_branch) ? beside.ended : 0) <
            spread->bytes * (is_branch ? OF_BRANCH : 1) / CONSUMED &&
        beside.kept * DENSE >= (is_branch ? beside.between : beside.passing) && is_graph(spread) &&
        (kind == PILED ? spread->computed > 0
                       : l->has_backward && (spread->module_blocks > 0 || !gm_lives_has_modules(l))))
        return GRAPH;
    return gm_max(spread->module_blocks, kind == PILED ? 0 : spread->most_blocks) >=
                       GM_LEAST_FEATURES * (size_t)spread->most_rounds &&
                   (kind == PILED || !go_at_once(l, kinds))
               ? FEATURES
               : SINGLE;
}

/* The allocations of that kind, of stacks that make a habit of it. */
static enum shape collect(const struct gm_lives *l, const uint8_t *kinds, const struct gm_habit *habits, uint8_t kind,
                          struct gm_set *set)
{
    const struct gm_history *h = l->h;
    struct spread spread;
    for (size_t a = 0; a < h->allocation_count; a++) {
        const struct gm_habit *habit = &habits[gm_lives_stack(l, a)];
        const bool is_piled = habit->piled >= LEAST_ROUNDS, is_last = kinds[a] == LEFT && h->freed[a] == GM_NEVER;
        if (kind == STALE ? (kinds[a] == STALE || is_last) && habit->stale >= LEAST_STALE && !is_piled
                          : kinds[a] > 0 && is_piled)
            gm_set_end(set, a, gm_lives_round_end(l, gm_lives_round(l, h->born[a])));
    }
    if (set->n > 0)
        spread_out(l, set, kind, &spread);
    return set->n == 0 ? SINGLE : shape_of(l, set, &spread, kinds, kind);
}

/* Whether classify() may tell of it, or add_held() add it. */
static bool may_be_kept(const struct gm_lives *l, size_t a)
{
    return (outlived(l, a) > 0 || (l->has_backward && !gm_lives_goes_in_backward(l, a))) &&
           (gm_is_of_round(l, a) || (is_set_up(l, a) && is_made(l, a)));
}

/* Whether one of a set is made while another is there: else each only takes the place of the one before. */
static bool is_pile(const struct gm_history *h, const struct gm_set *set)
{
    uint32_t gone = 0;
    size_t i = 0;
    for (; i < set->n && h->born[set->v[i].allocation] >= gone; i++)
        gone = (uint32_t)gm_max(gone, h->freed[set->v[i].allocation]);
    return i < set->n;
}

/* Memory ran out in code that no round before had run, and no backward pass ever came: what seem to be rounds may be
 * parts of the first forward pass, as steps of a recurrent network, and what they leave is what that pass needs. */
static bool may_be_of_one_pass(const struct gm_lives *l)
{
    bool is_new = l->has_oom && !l->has_backward;
    const uint32_t stack = is_new ? gm_lives_stack_at(l, l->first_oom) : GM_STACK_EMPTY,
                   last = gm_lives_round(l, l->first_oom);
    for (size_t a = 0; is_new && a < l->h->allocation_count; a++)
        is_new = gm_lives_stack(l, a) != stack || gm_lives_round_of(l, a) >= last;
    return is_new;
}

static enum shape collect_kind(struct gm_case *c, uint8_t kind, struct gm_set *set)
{
    struct gm_lives *l = c->lives;
    if (!gm_case_may_accuse(c, may_be_kept))
        return SINGLE;
    if (l->habits == NULL)
        l->habits = gm_lives_of_stacks(l, sizeof *l->habits);
    if (l->habits == NULL)
        return SINGLE;
    if (l->kinds == NULL)
        l->kinds = classify(l, l->habits);
    const enum shape shape = l->kinds == NULL ? SINGLE : collect(l, l->kinds, l->habits, kind, set);
    if (kind == PILED && ((!is_pile(l->h, set) && !has_older(l, set)) || may_be_of_one_pass(l)))
        set->n = 0;
    return shape;
}

/* Those of the rounds before the trace: what is there to the end of what the same stacks made; where nobody knows who
 * did, of their sizes, if it is nothing else. They would have gone with their rounds. */
static void add_older(const struct gm_lives *l, struct gm_set *set)
{
    GM_FREED bool *is_of_set = gm_set_stacks(l, set);
    GM_FREED struct gm_sizes sizes = {.v = NULL};
    gm_sizes_of_set(&sizes, l, set);
    for (size_t a = 0; is_of_set != NULL && a < l->h->allocation_count; a++) {
        const uint32_t stack = gm_lives_stack(l, a);
        if (l->h->born[a] == 0 && l->taken[a] != GM_TAKEN && gm_lives_is_left(l, a) &&
            (stack > GM_STACK_EMPTY ? is_of_set[stack]
                                    : !gm_lives_is_of_weights(l, a) && gm_sizes_has(&sizes, gm_requested(l->h, a))))
            gm_set_drop(set, a);
    }
}

/* What the same lines made where something else calls them, as an evaluation now and then, and which is there to the
 * end: it is collected, too, and would go when its round has used it. */
static void add_elsewhere(struct gm_lives *l, struct gm_set *set)
{
    GM_FREED bool *is_of_set = gm_set_stacks(l, set);
    GM_FREED bool *is_of_lines = gm_set_stacks(l, set);
    if (is_of_set == NULL || is_of_lines == NULL)
        return;
    gm_lives_mark_lines(l, is_of_lines);
    for (uint32_t s = 0; s < l->snapshot->stacks.count; s++) {
        const size_t before = set->n;
        for (uint32_t i = l->roster->first[s]; is_of_lines[s] && !is_of_set[s] && i < l->roster->first[s + 1]; i++)
            if (gm_is_of_round(l, l->roster->v[i]) && gm_lives_is_left(l, l->roster->v[i]))
                gm_set_end(set, l->roster->v[i], gm_lives_after_others(l, l->roster->v[i], 2));
        set->n = set->n - before < LEAST_STALE ? before : set->n;
    }
}

/* What holds a graph is made last: the stack that made the last tensor of most rounds that outlives its round; 0: there
 * is none. */
static uint32_t root_of(struct gm_lives *l)
{
    const struct gm_history *h = l->h;
    GM_FREED uint32_t *votes = gm_lives_of_stacks(l, sizeof *votes);
    uint32_t round = 0, last = 0, most = 0;
    for (uint32_t e = 0; votes != NULL && e < h->count; e++) {
        const uint32_t a = gm_made_by(h, e);
        if (a == GM_NEVER || (gm_lives_by(l, a) & GM_BY_NOBODY) != 0)
            continue;
        const uint32_t now = gm_lives_round(l, e + 1);
        if (now != round) {
            votes[last]++;
            most = last != 0 && votes[last] > votes[most] ? last : most;
            round = now;
            last = 0;
        }
        last = outlived(l, a) > 0 && !gm_lives_is_lasting(l, a) ? gm_lives_stack(l, a) : last;
    }
    return most;
}

/* Whether the stack makes losses: by its name, by a function of PyTorch's that no module calls, or numbers. */
static bool makes_loss(const struct gm_lives *l, uint32_t stack)
{
    bool does = (l->by[stack] & GM_BY_LOSS) != 0 || (l->by[stack] & (GM_BY_TORCH | GM_BY_MODULE)) == GM_BY_TORCH;
    for (uint32_t i = l->roster->first[stack]; i < l->roster->first[stack + 1] && !does; i++)
        does = gm_requested(l->h, l->roster->v[i]) <= GM_LOSS_BYTES;
    return does;
}

/* Whether most of what that line makes goes in its round: it holds nothing, and is only the last to make something
 * before a round ends. */
static bool is_bystander(struct gm_lives *l, const char *line)
{
    uint64_t kept = 0, gone = 0;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (l->h->born[a] > 0 && strcmp(gm_lives_site(l, gm_lives_stack(l, a)), line) == 0)
            *(outlived(l, a) > 0 ? &kept : &gone) += gm_requested(l->h, a);
    return gone > kept;
}

/* The first backward pass after each of the moments at which those of the set were made. */
static struct gm_backward *next_backwards(const struct gm_lives *l, const struct gm_set *set)
{
    const struct gm_history *h = l->h;
    struct gm_backward *passes = gm_lives_scratch(l, set->n + 1, sizeof *passes), now = {GM_NEVER, GM_NEVER};
    bool is_inside = false;
    size_t left = set->n;
    for (uint32_t e = (uint32_t)h->count; passes != NULL && e > 0; e--) {
        const uint32_t a = h->of_event[e - 1];
        if (a != GM_NEVER && h->born[a] == e) {
            const bool is_backward = gm_lives_is_of_backward(l, a) && gm_lives_is_of_engine(l, a);
            now.to = is_backward && !is_inside ? e : now.to;
            now.from = is_backward ? e : now.from;
            is_inside = is_backward;
            for (; left > 0 && set->v[left - 1].allocation >= a; left--)
                passes[left - 1] = now;
        }
    }
    return passes;
}

/* [gm_stack_id] Those of which something piles up, and others of their lines, as of an evaluation now and then. NULL:
 * no memory. */
static bool *piling_lines(struct gm_lives *l)
{
    bool *marked = gm_lives_of_stacks(l, sizeof *marked);
    for (size_t s = 0; marked != NULL && s < l->snapshot->stacks.count; s++)
        marked[s] = l->habits[s].piled >= LEAST_ROUNDS;
    if (marked != NULL)
        gm_lives_mark_lines(l, marked);
    return marked;
}

/* What the same lines made is held to the end of a round, too, or piles up elsewhere: not freed by the backward pass
 * after it, as far as phases are known. */
static void add_held(struct gm_case *c, struct gm_set *set)
{
    struct gm_lives *l = c->lives;
    const struct gm_history *h = l->h;
    struct gm_set held = {.v = NULL};
    GM_FREED bool *piles = piling_lines(l);
    for (size_t a = 0; piles != NULL && a < h->allocation_count; a++) {
        const struct gm_habit *habit = &l->habits[gm_lives_stack(l, a)];
        const bool is_stale = habit->stale >= LEAST_STALE, is_pile = piles[gm_lives_stack(l, a)];
        const bool is_elsewhere = habit->piled < LEAST_ROUNDS && !is_stale &&
                                  (l->kinds[a] == PILED || h->freed[a] == GM_NEVER); /* nor in the set */
        if ((l->kinds[a] == 0 || is_elsewhere) && gm_is_of_round(l, a) && (is_pile || is_stale) &&
            !gm_lives_goes_in_backward(l, a))
            gm_set_end(&held, a, GM_REMEDY_NEVER);
    }
    GM_FREED struct gm_backward *passes = next_backwards(l, &held);
    for (size_t i = 0; passes != NULL && i < held.n; i++)
        if (passes[i].from < h->freed[held.v[i].allocation])
            gm_set_end(set, held.v[i].allocation, GM_REMEDY_NEVER);
    gm_case_free_set(c, &held);
}

/* When a backward pass that goes on from there has made something as large as what a forward pass made: its gradient;
 * where it makes none soon, nor in twice the events that each has if all are alike, when these are over. */
static uint32_t after_gradient_of(const struct gm_lives *l, uint32_t of, uint32_t from, uint32_t to, uint32_t each)
{
    enum { LOOKED_AT = 64 /* allocations */ };
    const uint32_t end = (uint32_t)gm_min(to, from + 2 * (uint64_t)each);
    size_t n = 0;
    for (uint32_t e = gm_next_made(l->h, from); e < end && n < LOOKED_AT; e = gm_next_made(l->h, e + 1), n++)
        if (gm_requested(l->h, gm_made_by(l->h, e)) == gm_requested(l->h, of))
            return e + 1;
    return from + each;
}

uint32_t gm_go_with_backward(struct gm_case *c, struct gm_set *set)
{
    const struct gm_history *h = c->lives->h;
    GM_FREED struct gm_backward *passes = next_backwards(c->lives, set);
    for (size_t i = 0, next; passes != NULL && i < set->n; i = next) {
        const struct gm_backward pass = passes[i];
        next = i + 1;
        while (next < set->n && h->born[set->v[next].allocation] < pass.from)
            next++;
        uint32_t at = pass.from;
        for (size_t k = next; k-- > i;) {
            at = after_gradient_of(c->lives, set->v[k].allocation, at, pass.to, (pass.to - at) / (uint32_t)(k - i + 1));
            set->v[k].gone = at < set->v[k].gone ? at : set->v[k].gone;
        }
    }
    return passes == NULL || set->n == 0 ? GM_NEVER : passes[0].to;
}

GM_ORDERING(by_allocation, struct gm_remedy_change, GM_UP(allocation));

/* Whether backward passes give up as much as them of what was made between them: then they need these, too. */
static bool are_in_graph(const struct gm_lives *l, const struct gm_set *set, uint8_t kind)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < set->n; i++)
        bytes += gm_requested(l->h, set->v[i].allocation);
    return look_beside(l, set, l->kinds, kind).used >= bytes;
}

static bool is_among(const uint64_t *v, size_t n, uint64_t value)
{
    size_t i = 0;
    while (i < n && v[i] != value)
        i++;
    return i < n;
}

bool *gm_calls_without_graph(const struct gm_lives *l)
{
    enum { CALLS = 64 /* lines that call a model; of more nothing is told */ };
    uint64_t used[CALLS];
    size_t n = 0;
    bool *are = gm_lives_of_stacks(l, sizeof *are);
    for (size_t a = 0; are != NULL && a < l->h->allocation_count && n < CALLS; a++) {
        const uint64_t call = gm_lives_goes_in_backward(l, a) ? gm_lives_module_call(l, gm_lives_stack(l, a), 1) : 0;
        if (call != 0 && !is_among(used, n, call))
            used[n++] = call;
    }
    for (uint32_t s = 0; are != NULL && n < CALLS && s < l->snapshot->stacks.count; s++) {
        const uint64_t call = gm_lives_module_call(l, s, 1);
        are[s] = call != 0 && !is_among(used, n, call);
    }
    return are;
}

/* What calls without a graph make is done with soon; or all of it. */
static void go_soon(const struct gm_lives *l, struct gm_set *set, bool is_all)
{
    GM_FREED bool *are = gm_calls_without_graph(l);
    for (size_t i = 0; are != NULL && i < set->n; i++)
        if (is_all || are[gm_lives_stack(l, set->v[i].allocation)])
            set->v[i].gone = gm_lives_after_others(l, set->v[i].allocation, 2);
}

void gm_kept_features(struct gm_case *c, struct gm_set *set)
{
    const uint8_t least = c->lives->has_backward ? STALE : PILED; /* else find_features() asks for what is replaced */
    for (uint8_t kind = PILED; kind >= least; kind--) {
        set->n = 0;
        if (collect_kind(c, kind, set) != FEATURES || set->n == 0)
            continue;
        add_held(c, set);
        GM_SORT(set->v, set->n, by_allocation);
        const bool is_graph = kind == PILED || are_in_graph(c->lives, set, kind);
        if (is_graph)
            gm_go_with_backward(c, set);
        go_soon(c->lives, set, !is_graph);
        if (kind == PILED)
            add_older(c->lives, set);
        return;
    }
    set->n = 0;
}

/* When a forward pass makes something large after that moment: until then backward passes may walk one graph. */
static uint32_t next_forward(const struct gm_lives *l, uint32_t moment)
{
    for (uint32_t e = moment; e < l->h->count; e++) {
        const uint32_t a = gm_made_by(l->h, e);
        if (a != GM_NEVER && gm_is_of_round(l, a) && !gm_lives_is_of_engine(l, a) &&
            gm_requested(l->h, a) >= l->at_peak / 1000)
            return e;
    }
    return (uint32_t)l->h->count;
}

bool gm_goes_on(struct gm_case *c)
{
    struct gm_set set = {.v = NULL};
    bool does = !c->lives->has_backward && collect_kind(c, PILED, &set) == GRAPH && set.n > 0;
    does = does && number_of(c->lives, &set) == 0 && !makes_loss(c->lives, root_of(c->lives));
    gm_case_free_set(c, &set);
    return does;
}

/* Of many rounds without training few stacks leave results, not a graph. */
static enum shape collect_told(struct gm_case *c, uint8_t kind, struct gm_set *set)
{
    const enum shape shape = collect_kind(c, kind, set);
    struct gm_blame blame = {.stacks = MANY_STACKS};
    if (shape == GRAPH && !c->lives->has_backward && c->lives->rounds.n >= LEAK_ROUNDS)
        gm_lives_blame(c->lives, set, &blame);
    return blame.stacks < MANY_STACKS ? SINGLE : shape;
}

/* Only where the set is what the rule is about. */
static void accuse_if(struct gm_case *c, const struct gm_rule *rule, uint8_t kind, enum shape shape,
                      const char *evidence)
{
    struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    const char *root = NULL;
    uint32_t number = 0;
    if (collect_told(c, kind, &set) != shape || set.n == 0) {
        gm_case_free_set(c, &set);
        return;
    }
    if (shape == GRAPH && kind == PILED) {
        const uint32_t sum = sum_of(l, &set);
        number = sum != 0 ? sum : number_of(l, &set);
        const uint32_t held = number != 0 ? number : root_of(l);
        /* who called that line is told if it is not in the function that calls what is kept */
        const bool is_beside =
            number != 0 && gm_lives_is_beside(l, number, gm_lives_stack(l, set.v[0].allocation), SIZE_MAX / 2);
        root = held == 0 ? NULL : number == 0 || is_beside ? gm_lives_site(l, held) : gm_lives_place(l, number);
    }
    if (shape == GRAPH && kind == STALE) {
        add_held(c, &set);
        GM_SORT(set.v, set.n, by_allocation);
        root = gm_lives_backward(l, next_forward(l, gm_go_with_backward(c, &set)), false);
    }
    struct gm_blame rounds = {.site = NULL}; /* these tell the line */
    if (kind == PILED && shape == SINGLE) {
        gm_lives_blame(l, &set, &rounds);
        add_elsewhere(l, &set);
    }
    if (kind == PILED)
        add_older(l, &set);
    struct gm_finding *f = gm_case_accuse(c, rule, &set, false, evidence);
    if (f != NULL && rounds.site != NULL)
        f->site = rounds.site;
    if (f == NULL || root == NULL || (kind == PILED && number == 0 && is_bystander(l, root)))
        return;
    const char *from = number != 0 ? strstr(f->site, GM_SITE_FROM) : NULL;
    f->site = gm_case_printf(c, "%s, which keeps what is made in %s", root,
                             from != NULL ? from + strlen(GM_SITE_FROM) : f->site);
}

/* What a set is left of: rounds, how far apart; and what these make when all that they leave is there. */
struct left {
    uint32_t rounds, first, last; /* the numbers of the first and the last one */
    uint32_t alike;               /* as far after the one before as that one */
    uint32_t used;  /* in which modules make a third or more of what they make after that: it is no result */
    bool is_joined; /* all of it was put into one, for which it was collected */
};

static void end_round(struct left *left, uint32_t round, uint32_t *gap, size_t before, size_t work)
{
    left->alike += left->rounds > 1 && round - left->last == *gap;
    *gap = left->rounds > 0 ? round - left->last : 0;
    left->first = left->rounds == 0 ? round : left->first;
    left->last = round;
    left->rounds++;
    left->used += work > before && (work - before) * BEGINNING >= work;
}

/* The set is in the order of birth. */
static struct left look_at_left(const struct gm_lives *l, const struct gm_set *set, uint64_t bytes)
{
    struct left left = {.rounds = 0};
    uint32_t round = 0, gap = 0;
    size_t i = 0, from = 0, work = 0, before = 0;
    for (uint32_t e = 0; e <= l->h->count; e++) {
        const uint32_t a = e < l->h->count ? gm_made_by(l->h, e) : GM_NEVER;
        const uint32_t now = a != GM_NEVER ? gm_lives_round(l, e + 1) : round;
        if (e == l->h->count || now != round) {
            if (i > from)
                end_round(&left, round, &gap, before, work);
            round = now;
            from = i;
            work = before = 0;
        }
        if (a == GM_NEVER)
            continue;
        work += (gm_lives_by(l, a) & GM_BY_MODULE) != 0;
        left.is_joined |= i == set->n && gm_requested(l->h, a) >= bytes / 2;
        if (i < set->n && set->v[i].allocation == a) {
            before = work;
            i++;
        }
    }
    return left;
}

/* A leak is small; or nobody wants what is kept: it is of rounds here and there, as if some key was new to a cache; or
 * its own round uses it, and nothing does later. */
static void find_leak(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    uint64_t bytes = 0, at_end = 0;
    const enum shape shape = collect_told(c, PILED, &set);
    if (l->rounds.n < LEAK_ROUNDS || set.n == 0 || (shape == GRAPH && !l->has_backward)) {
        gm_case_free_set(c, &set);
        return;
    }
    for (size_t i = 0; i < set.n; i++) {
        const uint32_t a = set.v[i].allocation;
        bytes += gm_requested(l->h, a);
        at_end += gm_lives_is_left(l, a) ? gm_requested(l->h, a) : 0;
    }
    const uint64_t of_round = gm_sat_sub(l->at_peak, gm_set_at_peak(l, &set)) / LEAK_SHARE;
    const bool is_little =
        l->has_backward ? bytes / l->rounds.n <= gm_min(of_round, LEAK_MOST) : bytes / set.n <= A_FEW_NUMBERS;
    const struct left left = look_at_left(l, &set, bytes);
    const bool is_odd = left.rounds * 2 < left.last - left.first && left.alike * 2 < left.rounds;
    const bool is_used = !l->has_backward && left.used * 2 > left.rounds && !left.is_joined;
    const bool is_cache = left.rounds >= LEAK_ROUNDS && shape != GRAPH && (is_used || is_odd);
    struct gm_rule bounded = *rule;
    if (is_cache) {
        bounded.brief = "bound that cache";
        bounded.fix = "Bound what is kept for later rounds: the oldest goes when there are enough";
        bounded.snippet = "  cache[key] = make(key)\n"
                          "+ if len(cache) > 16: cache.pop(next(iter(cache)))";
    }
    if (at_end < bytes / 2 || (!is_little && !is_cache))
        set.n = 0;
    add_older(l, &set);
    gm_case_accuse(c, &bounded, &set, false,
                   is_cache ? "it is left of rounds of the loop, to its end, and is used in its own, like a cache "
                              "that nothing bounds"
                            : "a little more is left of every round of the loop, to its end");
}

/* Made to be done with, in a round before that of the peak, and for no backward pass that came. */
static bool is_past(const struct gm_lives *l, size_t a)
{
    return gm_is_of_round(l, a) && gm_lives_round_of(l, a) < gm_lives_round(l, l->peak) &&
           !gm_lives_goes_in_backward(l, a);
}

/* The same, and there two rounds later. */
static bool is_outlived(const struct gm_lives *l, size_t a)
{
    return is_past(l, a) && outlived(l, a) >= 2;
}

void gm_find_outlived(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    struct spread spread;
    if (gm_case_found(c, "hooks-keep-features") != NULL /* their graph stays as well */ ||
        (l->has_oom && !l->has_backward) || !gm_is_share(gm_lives_sum_at_peak(l, is_outlived), l->at_peak, 1. / MUCH))
        return;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (is_outlived(l, a) || (is_past(l, a) && gm_lives_is_left(l, a)))
            gm_set_end(&set, a, gm_lives_round_end(l, gm_lives_round_of(l, a)));
    spread_out(l, &set, PILED, &spread);
    gm_case_accuse(
        c, l->has_backward && spread.computed > 0 && is_graph(&spread) ? gm_rule_named("loss-keeps-graph") : rule, &set,
        false, "a past round made it, no backward pass uses it, and it is there two rounds later");
}

/* ---- the rules --------------------------------------------------------------------------------------------------- */

static void find_kept_graph(struct gm_case *c, const struct gm_rule *rule)
{
    accuse_if(c, rule, PILED, GRAPH,
              "what several operators made in a round of the loop is still there rounds later, so something holds "
              "their graph");
    if (gm_case_found(c, rule->id) == NULL)
        gm_find_sum(c, rule);
}

static void find_list(struct gm_case *c, const struct gm_rule *rule)
{
    accuse_if(c, rule, PILED, SINGLE,
              "one is left of every round of the loop, rounds later, so something collects them");
    if (c->failed || gm_case_found(c, rule->id) != NULL)
        return;
    struct gm_set stale = {.v = NULL}; /* a graph that is kept has all that its layers made, as if a list had it */
    const bool is_graph = collect_kind(c, STALE, &stale) == GRAPH;
    gm_case_free_set(c, &stale);
    if (!is_graph)
        gm_find_collected(c, rule);
    if (!c->failed && gm_case_found(c, rule->id) == NULL)
        gm_find_kept_gradients(c, rule);
}

static void find_retained(struct gm_case *c, const struct gm_rule *rule)
{
    if (!c->lives->has_backward)
        return;
    accuse_if(c, rule, STALE, GRAPH,
              "a graph of the last round of the loop is still there after its backward pass, while the next "
              "forward pass makes the same tensors again");
    if (!c->failed && gm_case_found(c, rule->id) == NULL)
        gm_find_retained_in_round(c, rule);
}

static void find_stale(struct gm_case *c, const struct gm_rule *rule)
{
    accuse_if(c, rule, STALE, SINGLE,
              "those of the last round of the loop are still there when the next ones are made in the same line, and "
              "go right after, so a variable holds them");
}

static const struct gm_rule rules[] = {
    {.id = "slow-leak",
     .grows = true,
     .title = "Something is left of every round",
     .find_in_lives = find_leak,
     .brief = "keep numbers, not tensors",
     .fix = "Keep numbers, not tensors: value.item(), and bound what is collected",
     .snippet = "- history.append(value)\n"
                "+ history.append(value.item())",
     .means = "Every round leaves a little behind: little enough for hours, and then memory runs out.",
     .when =
         "what was made in a round of the loop is there three rounds later, or two at the end, of at least 10 rounds, "
         "most of it to the end of the run, at most a tenth of what a round needs else and at most 32 MiB (where "
         "nothing "
         "is trained: at most 4096 bytes each); or of at least 10: here and there, of less than every second one, or, "
         "where nothing is trained, before modules make a third or more of what the "
         "round makes, and nothing is made of all of it; if these are single tensors; what is older than the trace and "
         "there to the end, of the same stacks, or, without one, of their sizes, counts, too; not graphs where nothing "
         "is trained",
     .what_to_do = "`history.append(value.item())`; a bound for caches"},
    {.id = "loss-keeps-graph",
     .grows = true,
     .title = "Graphs of past rounds are kept",
     .find_in_lives = find_kept_graph,
     .brief = "add up loss.item()",
     .fix = "Add up loss.item() or loss.detach(), and evaluate under torch.inference_mode()",
     .snippet = "- total += loss\n"
                "+ total += loss.item()",
     .means = "A sum or a list holds the loss itself and not its number. Its graph holds the activations of its step, "
              "and so those of all steps are there.",
     .severity = "warning, or info of batches that wait for one backward pass",
     .when = "what was made in a round of the loop (a step, or a pass of a loop of Python) is there three rounds "
             "later, or two at the end, and no backward pass gives it up, of at least 3 rounds (those before the trace "
             "by what they left of the same stack), or is left in as many "
             "bytes by each of 3 that all train, "
             "and, with what is older, holds 1 % of the peak; by several stacks, or by 3 a round of which one stack "
             "makes 2 that are about as large, or by 2 of modules in a run that trains, not of inputs alone; if that "
             "is a fifth of what the "
             "same calls of the model made (in training, where a number made after it is held, too, which no backward "
             "pass begins with: a fifth of what they made from its first to its last), and backward passes use little "
             "between, or, without such a number, of what that call makes after it. Info: at least 3 forward passes, "
             "each with a loss, are there at the peak, and no backward pass since has used what they made before it, "
             "but one does later, or none came. What is left of fewer rounds counts if it is [much](#kept-for-later)",
     .what_to_do = "`total += loss.item()` instead of `total += loss`; `torch.inference_mode()` around evaluation"},
    {.id = "tensors-in-a-list",
     .grows = true,
     .title = "Tensors of every round are collected on the device",
     .find_in_lives = find_list,
     .brief = "append tensor.cpu()",
     .fix = "Append tensor.cpu(), or only the number that is needed (tensor.item())",
     .snippet = "- outputs.append(out)\n"
                "+ outputs.append(out.cpu())",
     .cost = "a copy to the host for each",
     .means = "Results are collected where they were made, on the device, round after round.",
     .when =
         "the same, if it is no such graph, or of fewer than 8 stacks in 10 rounds where nothing is trained, and "
         "what the same lines made where something else calls them, if 2 are there to the end; or gradients of a step "
         "while two later ones made as many of their sizes again; or at least 8 "
         "tensors of one stack outside of modules that are "
         "there at the peak, and between which a module worked each time, if no backward pass "
         "frees them",
     .what_to_do = "`outputs.append(out.cpu())`"},
    {.id = "retain-graph",
     .title = "The graph of the last step is kept through the next one",
     .find_in_lives = find_retained,
     .brief = "no retain_graph=True",
     .fix = "Call backward() without retain_graph=True, and del what holds the graph at the end of the step",
     .snippet = "- loss.backward(retain_graph=True)\n"
                "+ loss.backward()",
     .means = "The graph of a step is still there when the next one builds its own: it was asked to stay, or something "
              "that carries it is.",
     .when =
         "in training, what several stacks (or 3 of which one stack makes 2), of a module, where there are some, "
         "made in a round is freed in the next "
         "one only after the same stack made its successor, twice or more often (once before the trace, if as much "
         "went then); or most (6 or more, three in "
         "four) of what a forward pass made, but for what another backward pass frees, is there after its backward "
         "pass, and no backward pass frees it, twice or more often, unless more than twice as many passed before that",
     .what_to_do = "`loss.backward()` without `retain_graph=True`; `del` of outputs that carry a graph"},
    {.id = "stale-reference",
     .title = "Tensors of the last round live while the next ones are made",
     .find_in_lives = find_stale,
     .brief = "del it at the loop's end",
     .fix = "del the variable at the end of the loop's body, or leave it out",
     .snippet = "  for batch in loader:\n"
                "      out = model(batch)\n"
                "+     del out",
     .means = "A variable of the loop still holds the last round's result while this round's is made: at the peak "
              "there are two.",
     .when = "the same of single tensors, in any run; also of outputs of several layers that go at once",
     .what_to_do = "`del logits` at the end of the loop's body"},
};
const struct gm_theme gm_theme_kept = GM_THEME(rules);
