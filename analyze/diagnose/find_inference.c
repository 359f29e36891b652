/* SPDX-License-Identifier: Apache-2.0
 *
 * Inference: graphs that nobody needs, features that somebody holds, caches of keys and values.
 */
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/diagnose/kept.h"
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

#include <stdlib.h>

/* ---- without inference_mode -------------------------------------------------------------------------------------- */

enum {
    LATER = 6,         /* large allocations that are made while it lives, at least */
    AT_ONCE = 4,       /* that are freed without an allocation in between, at least */
    USED_FOR = 2,      /* large allocations after which an operator's input is done with */
    WORKSPACE = 2,     /* events */
    GRAPH_PARTS = 4,   /* a graph has a quarter of what is made, or more */
    USED_UP_PARTS = 8, /* an eighth of the layers */
    LAYERS_OF_GRAPH = 8,
    FEW_LINES = 2 /* keys and values: a graph has more operators */
};

/* The large allocations, by birth; and for each of all allocations how many of them were made before it. */
struct large {
    uint32_t *v, n;
};

/* Whether it is there for rounds: then something collects what they made (find_kept_over_rounds.c), and no_grad is not
 * all. */
static bool is_collected(const struct gm_lives *l, size_t a)
{
    return l->h->freed[a] != GM_NEVER && gm_lives_round(l, l->h->freed[a]) > gm_lives_round(l, l->h->born[a]) + 1;
}

/* Before the rounds, not in a module's forward, and there to the end; where there are none, and no modules, nobody
 * knows what is set up. */
static bool is_set_up(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_lasting(l, a) && gm_lives_round(l, l->h->born[a]) == 0 &&
           (gm_lives_by(l, a) & GM_BY_MODULE) == 0 && (l->rounds.n > 0 || !gm_lives_has_modules(l));
}

static bool is_of_forward(const struct gm_lives *l, size_t a)
{
    const uint8_t role = l->role[a];
    return l->taken[a] <= GM_TAKEN_IN_FORM && l->h->born[a] > 0 && !gm_lives_is_of_weights(l, a) &&
           role != GM_ROLE_KV_CACHE && role != GM_ROLE_WORKSPACE && role != GM_ROLE_INPUT &&
           (gm_lives_by(l, a) & (GM_BY_LOADING | GM_BY_COPYING | GM_BY_OPTIMIZER)) == 0 &&
           !(l->has_backward && gm_lives_is_of_engine(l, a)) && !is_set_up(l, a) && (l->goes_on || !is_collected(l, a));
}

/* Before any of that is asked: a rule that another thread has found to find nothing is not asked at all. */
static void ask_what_goes_on(struct gm_case *c)
{
    if (!c->lives->is_asked)
        c->lives->goes_on = gm_goes_on(c);
    c->lives->is_asked = true;
}

static void find_large(const struct gm_lives *l, struct large *large)
{
    large->v = gm_lives_scratch(l, l->h->count + 1, sizeof *large->v);
    for (uint32_t e = 0; large->v != NULL && e < l->h->count; e++) {
        const uint32_t a = gm_made_by(l->h, e);
        if (a != GM_NEVER && gm_requested(l->h, a) >= l->at_peak / 1000 && is_of_forward(l, a))
            large->v[large->n++] = a;
    }
}

/* The number of those of large->v that were born before a moment. */
static uint32_t born_before(const struct large *large, const struct gm_lives *l, uint32_t moment)
{
    size_t low = 0;
    GM_BISECT(low, large->n, i, l->h->born[large->v[i]] < moment);
    return (uint32_t)low;
}

/* A graph goes at once, when its output does. Those freed at events [from, to), of which the last is the output. */
static void add_graph(struct gm_set *set, const struct gm_lives *l, const struct large *large, uint32_t from,
                      uint32_t to)
{
    uint32_t held = 0, last = 0;
    for (int is_second = 0; is_second < 2 && held >= (is_second ? AT_ONCE : 0); is_second++)
        for (uint32_t e = from; e < to; e++) {
            const uint32_t a = l->h->of_event[e];
            if (a == GM_NEVER || l->h->freed[a] != e + 1 || gm_requested(l->h, a) < l->at_peak / 1000 ||
                !is_of_forward(l, a))
                continue;
            const uint32_t at = born_before(large, l, l->h->born[a]);
            if (born_before(large, l, e + 1) - at < (is_second ? USED_FOR + 2 : LATER) || at + USED_FOR >= large->n)
                continue;
            held += !is_second;
            last = at > last ? at : last;
            if (is_second && at != last)
                gm_set_end(set, a, l->h->born[large->v[at + USED_FOR]] - 1);
        }
}

static bool is_made_outside(const struct gm_lives *l, uint32_t e)
{
    const uint32_t a = gm_made_by(l->h, e);
    return a != GM_NEVER && (gm_lives_by(l, a) & GM_BY_MODULE) == 0;
}

/* Whether a stack made several of what is in a set from there on: it is of more than one layer. What is made one right
 * after the other may be what one operator gives back. */
static bool has_layers(const struct gm_lives *l, const struct gm_set *set, size_t from)
{
    enum { LOOKED_AT = 256 };
    for (size_t i = from; i < set->n && i < from + LOOKED_AT; i++)
        for (size_t k = from; k < i; k++) {
            const uint32_t a = set->v[i].allocation, other = set->v[k].allocation;
            const uint64_t first = gm_min(l->h->born[a], l->h->born[other]);
            if (gm_lives_stack(l, a) == gm_lives_stack(l, other) &&
                gm_next_made(l->h, (uint32_t)first) + 1 != gm_max(l->h->born[a], l->h->born[other]))
                return true;
        }
    return false;
}

/* Whether they are of one call of a function, which is over when they go: its variables. */
static bool are_of_call(struct gm_lives *l, const struct gm_set *set, size_t from, uint32_t end)
{
    enum { CALLEES = 1 /* operators that PyTorch has in Python */ };
    const uint32_t stack = gm_lives_stack(l, set->v[from].allocation);
    const uint32_t next = end < l->h->count ? gm_made_by(l->h, end) : GM_NEVER;
    bool are = next == GM_NEVER || !gm_lives_is_beside(l, stack, gm_lives_stack(l, next), CALLEES);
    for (size_t i = from + 1; are && i < set->n; i++)
        are = gm_lives_is_beside(l, stack, gm_lives_stack(l, set->v[i].allocation), CALLEES);
    return are;
}

/* Whether the allocation that was made after it was made by the same line: of a list, one after the other. */
static bool is_in_row(const struct gm_lives *l, size_t a)
{
    const uint32_t after = gm_next_made(l->h, l->h->born[a]);
    return after < l->h->count && gm_lives_stack(l, gm_made_by(l->h, after)) == gm_lives_stack(l, a);
}

/* What a group of the set [from, set->n) is among what was made from its first to its last member, and what happened
 * until it went. */
struct group {
    uint32_t n, passing; /* members; of the large ones */
    uint32_t later;      /* made after its last member and given up before it: by who uses it again and again */
    uint32_t consumed;   /* large ones made before the first backward pass after its first member, which frees them, */
    uint32_t own;        /* and all of them, of those made from the first to the last */
    uint32_t of_list;    /* of the sizes of weights, in a row: of updates, sums or copies of them */
    uint32_t of_modules; /* members */
    uint32_t lines;      /* different stacks that made it: at most FEW_LINES + 1 are told apart */
    uint32_t layers, used_up; /* layers with a weight that ran until it went; those that read what went then: a graph
                                 keeps it for the weight's gradient */
    bool has_backward;        /* there is one */
    bool is_sure;             /* of its own pass it has a quarter, and as many as layers in it, none of which used up
                                 what it read */
};

static bool is_backward(const struct gm_lives *l, uint32_t e)
{
    return gm_lives_phase(l, e) == GM_PHASE_BACKWARD;
}

static uint32_t count_lines(const struct gm_lives *l, const struct gm_set *set, size_t from)
{
    uint32_t met[FEW_LINES + 1], n = 0;
    for (size_t i = from; i < set->n && n <= FEW_LINES; i++) {
        const uint32_t stack = gm_lives_stack(l, set->v[i].allocation);
        uint32_t k = 0;
        while (k < n && met[k] != stack)
            k++;
        if (k == n)
            met[n++] = stack;
    }
    return n;
}

/* What came and went from its first member on. */
static void look_after(struct group *found, const struct gm_lives *l, uint32_t first, uint32_t last, uint32_t end)
{
    const struct gm_history *h = l->h;
    bool is_first = true; /* of backward passes */
    uint32_t begun = 0;   /* it */
    for (uint32_t e = first; e < end; e++) {
        const uint32_t a = h->of_event[e];
        const bool goes = a != GM_NEVER && h->freed[a] == e + 1;
        const bool is_over =
            gm_lives_phase(l, e) == GM_PHASE_FORWARD ||
            (!gm_lives_has_modules(l) && !is_backward(l, e) && gm_made_by(h, e) != GM_NEVER && is_of_forward(l, a));
        is_first = is_first && !(found->has_backward && is_over);
        begun = is_backward(l, e) && !found->has_backward ? e : begun;
        found->has_backward |= is_backward(l, e);
        found->later += goes && h->born[a] > last;
        found->consumed += goes && is_first && is_backward(l, e) && h->born[a] <= begun && is_of_forward(l, a) &&
                           gm_requested(h, a) >= l->at_peak / 1000;
    }
}

/* Autocast's, which a layer reads in place of the other one. */
static bool may_be_cast(const struct gm_lives *l, size_t a, size_t of)
{
    return gm_requested(l->h, a) == 2 * gm_requested(l->h, of) || 2 * gm_requested(l->h, a) == gm_requested(l->h, of);
}

/* What a layer reads in place of what was made before it: its own cast of that, which may be too small to be large. */
static uint32_t read_by(const struct gm_lives *l, uint32_t layer, uint32_t before)
{
    for (uint32_t e = gm_next_made(l->h, l->h->born[before]); e < l->h->born[layer]; e = gm_next_made(l->h, e + 1)) {
        const uint32_t a = gm_made_by(l->h, e);
        if (gm_lives_stack(l, a) == gm_lives_stack(l, layer) && 2 * gm_requested(l->h, a) == gm_requested(l->h, before))
            return a;
    }
    return before;
}

/* What layers with a weight read was most likely made just before. */
static void count_layers(struct group *found, const struct gm_lives *l, const struct large *large, uint32_t first,
                         uint32_t end)
{
    const struct gm_history *h = l->h;
    uint32_t before = GM_NEVER, layer = GM_NEVER;
    found->layers = found->used_up = 0;
    for (uint32_t i = born_before(large, l, first); i < large->n && h->born[large->v[i]] <= end; i++) {
        const uint32_t a = large->v[i];
        if (h->freed[a] <= h->born[a] + WORKSPACE)
            continue;
        if (before != GM_NEVER && (gm_lives_by(l, layer) & GM_BY_LINEAR) != 0 && !may_be_cast(l, layer, before)) {
            const uint32_t freed = h->freed[read_by(l, layer, before)];
            found->layers++;
            found->used_up += freed > h->born[layer] && freed < h->born[a];
        }
        before = layer;
        layer = a;
    }
}

static struct group look_at_group(const struct gm_lives *l, const struct large *large, const struct gm_sizes *weights,
                                  const struct gm_set *set, size_t from, uint32_t end)
{
    const struct gm_history *h = l->h;
    struct group found = {.n = (uint32_t)(set->n - from), .lines = count_lines(l, set, from)};
    uint32_t first = GM_NEVER, last = 0;
    for (size_t i = from; i < set->n; i++) {
        const uint32_t a = set->v[i].allocation, born = h->born[a];
        first = born < first ? born : first;
        last = born > last ? born : last;
        found.of_list += gm_sizes_has(weights, gm_requested(h, a)) && is_in_row(l, a);
        found.of_modules += (gm_lives_by(l, a) & GM_BY_MODULE) != 0;
    }
    for (uint32_t i = born_before(large, l, first); i < large->n && h->born[large->v[i]] <= last; i++) {
        const uint32_t a = large->v[i];
        found.passing += h->freed[a] > h->born[a] + WORKSPACE;
        found.own += h->freed[a] != GM_NEVER && h->freed[a] <= end && is_backward(l, h->freed[a] - 1);
    }
    look_after(&found, l, first, last, end);
    count_layers(&found, l, large, first, last);
    found.is_sure = found.layers >= LAYERS_OF_GRAPH && found.used_up == 0 && found.n >= found.layers &&
                    found.n * GRAPH_PARTS >= found.passing;
    count_layers(&found, l, large, first, end);
    return found;
}

/* Not a list of copies of weights, nor what no module made where there are some, nor what few lines made for many later
 * passes to read, unless it is a graph for sure; in training most of what that forward pass kept, and no backward pass
 * has used it: none came, or the next one frees others. A graph that a backward pass has used and did not free is
 * another mistake. */
static bool is_graph(const struct gm_lives *l, const struct group *g)
{
    if (2 * g->of_list > g->n || (g->of_modules == 0 && gm_lives_has_modules(l)) ||
        (g->lines <= FEW_LINES && !g->is_sure && g->later >= GRAPH_PARTS * g->n))
        return false;
    return !l->has_backward || (g->lines > 1 && g->own * GRAPH_PARTS < g->n && g->n * GRAPH_PARTS >= g->passing &&
                                (!g->has_backward || g->consumed >= AT_ONCE));
}

/* Without those of a group [from, set->n) that were there before the last backward pass before its last member: one
 * forward pass did not make both. */
static void trim_group(const struct gm_lives *l, struct gm_set *set, size_t from)
{
    uint32_t begin = 0;
    size_t kept = from;
    for (size_t i = from; i < set->n; i++)
        begin = l->h->born[set->v[i].allocation] > begin ? l->h->born[set->v[i].allocation] : begin;
    while (begin > 0 && !is_backward(l, begin - 1))
        begin--;
    for (size_t i = from; i < set->n; i++)
        if (l->h->born[set->v[i].allocation] > begin)
            set->v[kept++] = set->v[i];
    set->n = kept + 1 < from + AT_ONCE ? from : kept; /* its output is none of them */
}

/* How many of a set are a graph's for sure, and no graph's for sure: most layers used up what they read. */
struct sure {
    size_t kept, held;
};

/* Groups that go at once: of graphs, or, if most are those of one layer, what its function has of its own, which goes
 * when it returns. */
static struct sure collect_groups(struct gm_lives *l, struct gm_set *set, const struct large *large,
                                  const struct gm_sizes *weights, bool may_be_held)
{
    size_t groups = 0, inside = 0;
    struct sure sure = {0};
    uint32_t round = 0, stack = GM_NEVER; /* of the group before */
    bool is_inside = false;               /* since then nothing was made but by modules */
    for (uint32_t e = 0, from = 0; e <= l->h->count; e++) {
        const bool is_end = e == l->h->count || l->snapshot->events.action[l->h->first + e] == GM_ACTION_ALLOC ||
                            (l->has_backward && is_backward(l, e));
        const size_t before = set->n;
        if (is_end && e > from)
            add_graph(set, l, large, from, e);
        from = is_end ? e + 1 : from;
        if (set->n > before && l->has_backward)
            trim_group(l, set, before);
        if (set->n > before) {
            struct group group = look_at_group(l, large, weights, set, before, e);
            group.is_sure &=
                e <= l->last_made || sure.kept > 0; /* not only that the run ended, in the midst of a pass */
            const bool is_used_up = !may_be_held && !group.is_sure &&
                                    (group.used_up * USED_UP_PARTS > group.layers ||
                                     (!gm_lives_has_modules(l) && !l->has_backward && 2 * group.n < group.passing));
            set->n = is_graph(l, &group) && !is_used_up ? set->n : before;
            sure.kept += group.is_sure ? set->n - before : 0;
            sure.held +=
                !group.is_sure && group.layers >= AT_ONCE && 2 * group.used_up > group.layers ? set->n - before : 0;
        }
        if (set->n > before) {
            const uint32_t of = gm_lives_stack(l, set->v[before].allocation);
            groups++;
            inside += (is_inside || (of == stack && gm_lives_round(l, e) == round) ||
                       (may_be_held && (!gm_lives_has_modules(l) || are_of_call(l, set, before, e)))) &&
                      !has_layers(l, set, before);
            round = gm_lives_round(l, e);
            stack = of;
        }
        is_inside = (is_inside || set->n > before) && (e == l->h->count || !is_made_outside(l, e));
    }
    if (inside * 2 >= groups && 2 * sure.kept < set->n)
        set->n = 0;
    return sure;
}

static bool may_go_at_once(const struct gm_lives *l, size_t a)
{
    return l->h->freed[a] != GM_NEVER && !(l->has_backward && gm_lives_goes_in_backward(l, a)) && is_of_forward(l, a);
}

/* What is small goes with a graph, too, and there is a lot of it in long ones: what was made since the first of those
 * of the set that go at the same time. */
static void add_small(const struct gm_lives *l, struct gm_set *set, const struct large *large)
{
    const struct gm_history *h = l->h;
    GM_FREED uint32_t *first =
        gm_lives_scratch(l, h->count + 1, sizeof *first); /* by what is made next; 0: nothing of the set goes then */
    for (size_t i = 0; first != NULL && i < set->n; i++) {
        const uint32_t a = set->v[i].allocation;
        uint32_t *of = &first[gm_next_made(h, h->freed[a])];
        *of = *of == 0 || h->born[a] < *of ? h->born[a] : *of;
    }
    for (size_t a = 0; first != NULL && set->n > 0 && a < h->allocation_count; a++) {
        const uint64_t bytes = gm_requested(h, a);
        if (bytes >= l->at_peak / 1000 || bytes < l->at_peak / 100000 || !may_go_at_once(l, a))
            continue;
        const uint32_t begun = first[gm_next_made(h, h->freed[a])], at = born_before(large, l, h->born[a]) + USED_FOR;
        if (begun > 0 && h->born[a] > begun && at < large->n && h->born[large->v[at]] < h->freed[a])
            gm_set_end(set, a, h->born[large->v[at]] - 1);
    }
}

/* A variable may have the last graph to the end: what the same stacks made and nobody frees, if no backward pass since
 * has used it. */
static void add_last(const struct gm_lives *l, struct gm_set *set, const struct large *large)
{
    GM_FREED bool *is_of_graph = gm_set_stacks(l, set);
    uint32_t walked = (uint32_t)l->h->count;
    while (l->has_backward && walked > 0 && !is_backward(l, walked - 1))
        walked--;
    for (uint32_t i = 0; i + USED_FOR < large->n && l->h->born[large->v[i]] <= walked; i++) {
        const uint32_t a = large->v[i];
        if (l->h->freed[a] == GM_NEVER && is_of_graph != NULL && is_of_graph[gm_lives_stack(l, a)])
            gm_set_end(set, a, l->h->born[large->v[i + USED_FOR]] - 1);
    }
}

/* Returns whether it is graphs, which have most of what forward passes make: features are few. `may_be_held`: also
 * while layers use up what they read, or functions most of it, as no graph lets them; then a function's variables hold
 * it, or a list. */
static bool collect_graphs(struct gm_lives *l, struct gm_set *set, bool may_be_held)
{
    GM_FREED struct large large = {.v = NULL};
    GM_FREED struct gm_sizes weights = {.v = NULL};
    size_t passing = 0;
    if (l->has_oom || (!l->has_backward && l->has_optimizer))
        return false;
    find_large(l, &large);
    gm_sizes_of_role(&weights, l, GM_ROLE_PARAMETER);
    const struct sure sure = collect_groups(l, set, &large, &weights, may_be_held);
    for (uint32_t i = 0; i < large.n; i++)
        passing += l->h->freed[large.v[i]] != GM_NEVER && l->h->freed[large.v[i]] > l->h->born[large.v[i]] + WORKSPACE;
    const bool are_graphs =
        l->has_backward || ((set->n * GRAPH_PARTS >= passing || 2 * sure.kept >= set->n) && 2 * sure.held <= set->n);
    if (are_graphs && !may_be_held) {
        add_small(l, set, &large);
        add_last(l, set, &large);
    }
    return are_graphs;
}

void gm_unused_graphs(struct gm_case *c, struct gm_set *set)
{
    ask_what_goes_on(c);
    if (!gm_case_may_accuse(c, may_go_at_once) || !collect_graphs(c->lives, set, false))
        set->n = 0;
    if (set->n == 0) {
        gm_case_free_set(c, set);
        gm_unused_passes(c, set);
    }
}

static void find_graphs(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_set set = {.v = NULL};
    gm_unused_graphs(c, &set);
    const char *caller = gm_lives_caller(c->lives, &set, true);
    struct gm_finding *f = gm_case_accuse(
        c, rule, &set, false,
        c->lives->has_backward ? "no backward pass uses what this forward pass makes, which stays until all of it goes "
                                 "at once, as a graph does"
                               : "no backward pass is in the trace, yet what the forward pass makes stays until all of "
                                 "it goes at once, as a graph does");
    if (f != NULL && caller != NULL && !c->lives->has_backward) /* else a part of that call may be trained */
        f->site = caller;
}

/* ---- features ---------------------------------------------------------------------------------------------------- */

enum { LEAST_FEATURES = 4, SOON = 64 /* events */ };

/* Whether the same allocation of the next round is made first, and then this one goes: something was set anew. */
static bool is_replaced(const struct gm_lives *l, const struct gm_roster *roster, uint32_t row)
{
    const struct gm_history *h = l->h;
    const uint32_t a = roster->v[row], freed = h->freed[a], round = gm_lives_round_of(l, a);
    const bool may_be = freed != GM_NEVER && gm_lives_round(l, freed) > round; /* or it went before, for most */
    const uint32_t next = may_be ? gm_roster_like(l, row, round + 1) : GM_NEVER;
    return next != GM_NEVER && freed > h->born[roster->v[next]] && freed - h->born[roster->v[next]] <= SOON;
}

GM_ORDERING(by_allocation, struct gm_remedy_change, GM_UP(allocation));

/* Nobody would hold a layer's output longer than until the next one's is there. */
static void until_next(const struct gm_lives *l, struct gm_set *set)
{
    GM_SORT(set->v, set->n, by_allocation);
    for (size_t i = 0; i + 1 < set->n; i++) {
        const uint32_t next = l->h->born[set->v[i + 1].allocation];
        if (next > set->v[i].gone && gm_lives_round(l, next) == gm_lives_round(l, l->h->born[set->v[i].allocation]))
            set->v[i].gone = next;
    }
}

static bool tell_features(struct gm_case *c, const struct gm_rule *rule,
                          void (*find)(struct gm_case *, struct gm_set *), const char *evidence)
{
    struct gm_set set = {.v = NULL};
    find(c, &set);
    return gm_case_accuse(c, rule, &set, false, evidence) != NULL;
}

static void find_features_of_training(struct gm_case *c, const struct gm_rule *rule)
{
    if (!tell_features(c, rule, gm_kept_features,
                       "layers made them, the backward pass has used their neighbours, and they are still there, as if "
                       "a hook or a dictionary held them"))
        tell_features(c, rule, gm_kept_layers,
                      "layers of one call of the model made them, which keeps no graph, and they are there long after "
                      "it, as if a hook or a list held them");
}

static void find_features(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    const struct gm_history *h = l->h;
    if (l->has_backward) {
        find_features_of_training(c, rule);
        return;
    }
    if (tell_features(c, rule, gm_kept_features,
                      "layers made them in round after round, and they are still there, as if a hook or a list held "
                      "them"))
        return;
    ask_what_goes_on(c);
    const struct gm_roster *roster = l->roster;
    struct gm_set set = {.v = NULL};
    uint64_t stacks_most = 0;
    for (uint32_t i = 0; i < roster->n; i++) {
        const uint32_t a = roster->v[i];
        if (l->taken[a] || gm_requested(h, a) < l->at_peak / 1000 || gm_lives_is_role(l, a, GM_ROLE_KV_CACHE))
            continue;
        const uint32_t round = gm_lives_round_of(l, a);
        const uint32_t before = gm_lives_is_left(l, a) && round > 1 ? gm_roster_like(l, i, round - 1) : GM_NEVER;
        const bool is_last = before != GM_NEVER && is_replaced(l, roster, before);
        if (!is_last && !is_replaced(l, roster, i))
            continue;
        stacks_most += is_last || round == l->rounds.n - 1;
        gm_set_end(&set, a, gm_lives_after_others(l, a, 2));
    }
    if (stacks_most >= LEAST_FEATURES) {
        until_next(l, &set);
        gm_case_accuse(c, rule, &set, false,
                       "each is there until the same layer makes the next one in the following round, as if a hook or "
                       "a dictionary held it");
        return;
    }
    set.n = 0;
    if (collect_graphs(c->lives, &set, true))
        set.n = 0;
    until_next(l, &set);
    gm_case_accuse(c, rule, &set, false,
                   "one of each layer stays until all of them go at once, while most of what the layers make passes, "
                   "as if a hook or a list held them");
}

/* ---- caches of keys and values ----------------------------------------------------------------------------------- */

enum { LEAST_SIZES = 5, LOOKED_BACK = 24 /* allocations: a layer's, and those for all layers */, EVENTS_BACK = 256 };

/* Of one stack: what it makes of a shorter one that goes then. */
struct growth {
    uint64_t longest, step; /* by how much the last one was longer */
    uint32_t grown, steps;  /* sizes; those that grew by as much as the one before */
};

static void note_growth(struct growth *g, uint64_t bytes, uint64_t step)
{
    if (bytes <= g->longest)
        return;
    g->grown++;
    g->steps += step == g->step;
    g->step = step;
    g->longest = bytes;
}

/* What was made of `old`, which goes at event e: the latest that is longer, by no more than as much again, and not much
 * later than when `old` goes; and the others of its size: values go with their keys. */
static void look_back(const struct gm_lives *l, uint32_t old, uint32_t e, struct growth *growths)
{
    const uint64_t bytes = gm_requested(l->h, old);
    const uint32_t least = e > EVENTS_BACK && e - EVENTS_BACK > l->h->born[old] ? e - EVENTS_BACK : l->h->born[old];
    uint64_t longer = 0;
    for (uint32_t n = 0; n < LOOKED_BACK && e > least; e--) {
        const uint32_t a = gm_made_by(l->h, e - 1);
        n += a != GM_NEVER;
        if (a == GM_NEVER || gm_requested(l->h, a) <= bytes || gm_requested(l->h, a) > 2 * bytes ||
            (longer > 0 && gm_requested(l->h, a) != longer) || (gm_lives_by(l, a) & GM_BY_NOBODY) != 0 ||
            l->h->freed[a] <= l->h->freed[old])
            continue;
        longer = gm_requested(l->h, a);
        note_growth(&growths[gm_lives_stack(l, a)], longer, longer - bytes);
    }
}

/* By stack; NULL: no memory. */
static struct growth *look_at_growth(const struct gm_lives *l)
{
    const struct gm_history *h = l->h;
    struct growth *growths = gm_lives_of_stacks(l, sizeof *growths);
    for (uint32_t e = 0; growths != NULL && e < h->count; e++) {
        const uint32_t old = h->of_event[e];
        if (old != GM_NEVER && h->freed[old] == e + 1 && gm_requested(h, old) >= l->at_peak / 1000)
            look_back(l, old, e, growths);
    }
    return growths;
}

static bool is_grown(const struct growth *g)
{
    return g->grown >= LEAST_SIZES && 2 * g->steps >= g->grown;
}

/* What becomes of each allocation where caches grow. */
struct heirs {
    struct growth *growths; /* [gm_stack_id] */
    bool *grows;            /* [gm_stack_id] whether it makes caches longer, or another call of that line does */
    uint32_t *next;         /* [allocation] what is made longer in its place; GM_NEVER: nothing */
    bool *is_next;          /* [allocation] whether it is in place of another one */
    uint64_t *whole;        /* [allocation] how long it is in the end; 0: it does not grow */
};

static bool is_of_growth(const struct gm_lives *l, const struct heirs *heirs, size_t a)
{
    return l->h->born[a] > 0 && heirs->grows[gm_lives_stack(l, a)];
}

static bool may_grow(const struct gm_lives *l, const struct heirs *heirs, size_t a)
{
    return is_of_growth(l, heirs, a) ||
           (l->h->born[a] > 0 && l->role[a] == GM_ROLE_KV_CACHE && l->h->freed[a] <= l->last_made);
}

/* What is made longer in place of an allocation while that is there: the latest that is in place of no other. */
static uint32_t next_longer(const struct gm_lives *l, const struct heirs *heirs, uint32_t old)
{
    const struct gm_history *h = l->h;
    const uint64_t bytes = gm_requested(h, old);
    for (uint32_t e = (uint32_t)gm_min(h->freed[old], h->count); e-- > h->born[old];) {
        const uint32_t a = gm_made_by(h, e);
        if (a != GM_NEVER && !heirs->is_next[a] && gm_requested(h, a) > bytes && gm_requested(h, a) <= 2 * bytes &&
            is_of_growth(l, heirs, a))
            return a;
    }
    return GM_NEVER;
}

/* Free also after failure. */
static void find_heirs(struct heirs *heirs, struct gm_lives *l)
{
    const size_t n = l->h->allocation_count;
    *heirs = (struct heirs){.growths = look_at_growth(l), .grows = gm_lives_of_stacks(l, sizeof *heirs->grows)};
    bool has_any = false;
    for (size_t i = 0; heirs->growths != NULL && !*l->failed && i < l->snapshot->stacks.count; i++)
        has_any |= heirs->grows[i] = is_grown(&heirs->growths[i]);
    if (!has_any)
        return;
    heirs->next = gm_lives_scratch(l, n + 1, sizeof *heirs->next);
    heirs->is_next = gm_lives_scratch(l, n + 1, sizeof *heirs->is_next);
    heirs->whole = gm_lives_scratch(l, n + 1, sizeof *heirs->whole);
    gm_lives_mark_lines(l, heirs->grows);
    for (uint32_t a = 0; a < n && !*l->failed; a++) {
        heirs->next[a] = may_grow(l, heirs, a) ? next_longer(l, heirs, a) : GM_NEVER;
        if (heirs->next[a] != GM_NEVER)
            heirs->is_next[heirs->next[a]] = true;
    }
    for (size_t a = n; a-- > 0 && !*l->failed;) {
        const uint64_t longest = heirs->growths[gm_lives_stack(l, a)].longest;
        heirs->whole[a] = gm_max(is_of_growth(l, heirs, a) ? longest : 0,
                                 heirs->next[a] != GM_NEVER ? heirs->whole[heirs->next[a]] : 0);
    }
}

/* Keys and values may be parts of something larger, as of what makes queries, too, until the first longer ones are made
 * of them. Those are there with the first cache then, and it goes when the call that made it is over. */
static void add_joint(struct gm_lives *l, struct gm_set *set, struct heirs *heirs, uint32_t joint, uint32_t *first)
{
    const struct gm_history *h = l->h;
    uint64_t left = gm_requested(h, joint);
    size_t parts = 0;
    for (uint32_t e = h->born[joint]; e < h->count && e + 1 < h->freed[joint]; e++) {
        const uint32_t a = gm_made_by(h, e);
        const uint64_t step = a == GM_NEVER ? 0 : heirs->growths[gm_lives_stack(l, a)].step;
        if (a == GM_NEVER || !is_of_growth(l, heirs, a) || heirs->is_next[a] ||
            gm_sat_sub(gm_requested(h, a), step) > left)
            continue;
        left -= gm_sat_sub(gm_requested(h, a), step);
        heirs->is_next[a] = true;
        *first = (uint32_t)gm_min(*first, joint);
        gm_set_add(set, a, h->born[*first] - 1, h->born[*first] - 1);
        parts++;
    }
    if (parts > 0)
        gm_set_end(set, joint, gm_lives_end_of_call(l, joint));
}

/* A cache that is made anew for each word, and whatever else is as large as it is on the way: what the first one took
 * up, and what a search puts into another order. If it is made once, the longest is there from the beginning. */
static void find_grown_cache(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_lives *l = c->lives;
    const struct gm_history *h = l->h;
    struct gm_set set = {.v = NULL};
    struct heirs heirs;
    uint64_t longest = 0;
    uint32_t stack = 0, first = GM_NEVER; /* that makes the longest; the first cache that is begun */
    find_heirs(&heirs, l);
    for (uint32_t a = 0; heirs.growths != NULL && !c->failed && a < h->allocation_count; a++) {
        const struct growth *g = &heirs.growths[gm_lives_stack(l, a)];
        if (h->born[a] > 0 && is_grown(g) && g->longest > longest) {
            stack = gm_lives_stack(l, a);
            longest = g->longest;
        }
    }
    for (uint32_t a = 0; longest > 0 && a < h->allocation_count; a++) {
        const bool is_cat = is_of_growth(l, &heirs, a);
        const uint32_t next = heirs.next[a];
        if (!may_grow(l, &heirs, a) || (!is_cat && gm_requested(h, a) < l->at_peak / 1000))
            continue;
        if (gm_requested(h, a) >= (is_cat ? heirs.whole[a] : longest)) {
            if (!is_cat)
                add_joint(l, &set, &heirs, a, &first);
            continue;
        }
        gm_set_drop(&set, a);
        if (next == GM_NEVER || set.failed)
            continue;
        set.v[set.n - 1].gone = h->born[next] - 1;
        set.v[set.n - 1].bytes = heirs.whole[next];
        if (!heirs.is_next[a] && !is_cat) { /* what was taken up is not the cache */
            first = (uint32_t)gm_min(first, a);
            gm_set_add(&set, a, h->born[first] - 1, h->born[first] - 1);
        }
    }
    GM_FREE_ALL(heirs.growths, heirs.grows, heirs.next, heirs.is_next, heirs.whole);
    const char *place = longest > 0 ? gm_lives_place(l, stack) : NULL;
    struct gm_finding *f = gm_case_accuse(
        c, rule, &set, true,
        gm_case_printf(c,
                       "%s makes a longer tensor each time, and the one before is freed, so old and new lie side by "
                       "side and every length leaves a hole that the next one does not fit",
                       place == NULL ? "the same line" : place));
    if (f != NULL)
        f->site = place;
}

static void find_cache(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    struct gm_rule of_cache = *rule;
    uint64_t bytes = 0;
    size_t blocks = 0; /* one: a pool, out of which all sequences have their part */
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        if (l->role[a] != GM_ROLE_KV_CACHE || l->taken[a])
            continue;
        bytes += gm_lives_at_peak(l, a) ? gm_requested(l->h, a) : 0;
        blocks += gm_lives_at_peak(l, a);
        gm_set_shrink(&set, a, gm_requested(l->h, a) / 2);
    }
    if (!gm_is_share(bytes, l->at_peak, 0.4))
        set.n = 0;
    char part[2][GM_SIZE_TEXT];
    if (blocks == 1)
        of_cache.fix = "If the pool was sized by the memory that was free, ask for less of the card "
                       "(gpu_memory_utilization); else make it for fewer tokens, or keep it in 8 bits";
    gm_case_accuse(c, &of_cache, &set, false,
                   gm_case_printf(c,
                                  "the cache of keys and values is the largest part of the peak%s; 8 bits in place of "
                                  "16 save half of it, %s, and a model with a fourth of the heads of keys "
                                  "(grouped-query attention) three quarters, %s",
                                  blocks == 1
                                      ? ", one pool: if it was sized by the memory that was free, it tells nothing "
                                        "of the smallest card"
                                      : "",
                                  gm_size_format(part[0], bytes / 2), gm_size_format(part[1], bytes - bytes / 4)));
}

/* ---- a forward pass, and the trace is over ----------------------------------------------------------------------- */

enum { LEAST_KEPT = 10 /* of the peak: a tenth */, PASSING = 2 /* events: a workspace, or a mere number */ };

/* Whether a graph keeps what the forward pass made: not a few tensors that a variable holds. */
static bool keeps_graph(const struct gm_lives *l)
{
    const bool has_modules = gm_lives_has_modules(l);
    size_t made = 0, kept = 0;
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        const bool is_made = is_of_forward(l, a) && (!has_modules || (gm_lives_by(l, a) & GM_BY_MODULE) != 0) &&
                             gm_requested(l->h, a) >= l->at_peak / 10000 && l->h->freed[a] > l->h->born[a] + PASSING;
        made += is_made;
        kept += is_made && l->h->freed[a] == GM_NEVER;
    }
    return kept >= AT_ONCE && kept * GRAPH_PARTS >= made;
}

/* Whether a backward pass follows nobody knows who has not seen one. */
static void find_forward_only(struct gm_case *c, const struct gm_rule *rule)
{
    char size[GM_SIZE_TEXT], share[GM_NUMBER_TEXT];
    if (c->has_oom || c->lives->rounds.n > 1 || gm_case_found(c, "no-inference-mode") != NULL ||
        gm_steps_has_phase(&c->view.timeline->steps, GM_PHASE_BACKWARD, GM_REPORT_NONE))
        return;
    const struct gm_peak_detail *peak = &c->view.timeline->peak;
    const uint64_t bytes = gm_slice_named(peak->roles, peak->role_count, "Activation").bytes;
    if (gm_slice_named(peak->roles, peak->role_count, "Gradient").bytes > 0 ||
        bytes < c->view.peak->requested / LEAST_KEPT ||
        gm_slice_named(peak->lifetimes, peak->lifetime_count, "in the trace, never freed").bytes < bytes / 2 ||
        !keeps_graph(c->lives))
        return;
    struct gm_finding *f =
        gm_case_say(c, rule, GM_INFO, bytes,
                    "Activations are %s at the peak (%s %%) and still there at the end of the trace, which has no "
                    "backward pass. If none follows, run the model under torch.inference_mode(), which keeps none of "
                    "them; if one does, record a whole step, which tells what its peak is made of.",
                    gm_size_format(size, bytes), gm_share_format(share, bytes, c->view.peak->requested));
    f->brief = "if no backward pass follows: torch.inference_mode()";
}

/* A program that ended, or was dumped, while or right after its weights were made: what uses them is yet to come. */
static void find_weights_only(struct gm_case *c, const struct gm_rule *rule)
{
    enum { INPUTS = 8 /* so few may follow the last weight */ };
    const struct gm_lives *l = c->lives;
    const struct gm_peak_detail *peak = &c->view.timeline->peak;
    const uint64_t bytes = gm_slice_named(peak->roles, peak->role_count, "Parameter").bytes;
    char size[GM_SIZE_TEXT], share[GM_NUMBER_TEXT];
    size_t last = l->h->allocation_count;
    while (last > 0 && !gm_lives_is_role(l, last - 1, GM_ROLE_PARAMETER))
        last--;
    if (c->has_oom || gm_lives_has_modules(l) || !gm_is_share(bytes, c->view.peak->requested, 0.95) || last == 0 ||
        l->h->born[last - 1] == 0 || l->h->allocation_count - last > INPUTS)
        return;
    struct gm_finding *f = gm_case_say(
        c, rule, GM_INFO, bytes,
        "Weights are %s at the peak (%s %%), the trace ends when the last of them is made, and nothing of it "
        "was made inside a module: what a forward or backward pass needs on top is not recorded, and no "
        "verdict is due. Record at least one step.",
        gm_size_format(size, bytes), gm_share_format(share, bytes, c->view.peak->requested));
    f->brief = "record a step: too early to say what is needed";
}

static const struct gm_rule rules[] = {
    {.id = "no-inference-mode",
     .title = "Graphs are kept that no backward pass uses",
     .find_in_lives = find_graphs,
     .brief = "torch.inference_mode()",
     .fix = "Run it under torch.inference_mode()",
     .snippet = "- out = model(x)\n"
                "+ with torch.inference_mode():\n"
                "+     out = model(x)",
     .means = "A forward pass whose result is only looked at keeps all that a backward pass would need.",
     .when = "the trace did not run out of memory, and at least 4 tensors of a forward pass that outlived 6 later ones "
             "each are freed at once, not by one layer after the other; not lists of the sizes of weights, nor what no "
             "module made, where there are some, nor, unless none of 8 layers or more of its own pass gives up what it "
             "read, and it has as many tensors, a quarter of that pass: what two lines made for many later passes to "
             "read, or while an eighth of the layers with a weight give up what they read; nor, without modules or "
             "training, less than half of what is made in between; in training most of what "
             "that forward pass kept, and the next backward pass, if one came, freed others; with what the same "
             "lines made and nobody frees, before the last backward pass, if there is one; or, of calls of a "
             "model of whose making no backward pass gives up anything, at least 12 tensors of 2 or more, in at most 2 "
             "rounds, "
             "are there at the peak, if each keeps a third or more of what it makes, of several lines",
     .what_to_do = "`with torch.inference_mode():`"},
    {.id = "forward-only",
     .title = "Activations are kept, and the trace ends before a backward pass",
     .find_in_lives = find_forward_only,
     .rank = GM_RANK_SITE,
     .severity = "info",
     .when = "no backward pass, no gradients, no out-of-memory; activations hold a tenth of the peak, half as much of "
             "it is never freed, and so are at least 4 tensors, and a quarter, of what the forward pass made",
     .what_to_do = "`with torch.inference_mode():` if none follows; else record a whole step"},
    {.id = "weights-only",
     .title = "Only weights are recorded, and nothing that uses them",
     .find_in_lives = find_weights_only,
     .rank = GM_RANK_SITE,
     .severity = "info",
     .when = "weights are 95 % of the peak, nothing is made inside of modules, at most 8 allocations follow the last "
             "weight, and there is no out-of-memory",
     .what_to_do = "Record a whole step; where the program failed before it, mend that"},
    {.id = "kv-cache-by-cat",
     .title = "A cache is grown by torch.cat",
     .find_in_lives = find_grown_cache,
     .brief = "allocate the cache once",
     .fix = "Allocate the cache once for the longest sequence and write into it (cache[:, :, i] = k)",
     .snippet = "- cache = torch.cat([cache, k], dim=2)\n"
                "+ cache = torch.empty(batch, heads, longest, width)  # once, before\n"
                "+ cache[:, :, i] = k",
     .means = "A cache that grows by `torch.cat` is copied for each token: the old one and the new one are there at "
              "once, and each size leaves a hole that fits no other.",
     .when =
         "one stack makes at least 5 longer and longer tensors, most of them by as much as the one before, each while "
         "a shorter one is there, whoever made that, which goes then; other calls of its line make them, too. The "
         "saving "
         "is that of the longest from the beginning, in place of what keys and values were parts of at first, too",
     .what_to_do = "Allocate once, write in place: a static cache"},
    {.id = "kv-cache-dominates",
     .title = "The cache of keys and values makes most of the peak",
     .find_in_lives = find_cache,
     .is_choice = true,
     .brief = "KV cache in 8 bits",
     .fix = "Keep it in 8 bits, in pages that are given out as they are needed, or for fewer tokens or sequences",
     .snippet = "- cache = torch.empty(shape, dtype=torch.float16)\n"
                "+ cache = torch.empty(shape, dtype=torch.float8_e4m3fn)",
     .cost = "accuracy with 8 bits",
     .means = "The server holds its weights easily; what fills the device are keys and values of the sequences that it "
              "may serve.",
     .severity = "info",
     .when =
         "the role KV cache holds 40 % of the peak; the saving is that of half the bytes; the text also tells three "
         "quarters",
     .what_to_do = "8 bits, pages, fewer tokens or sequences, grouped heads"},
};
const struct gm_theme gm_theme_inference = GM_THEME(rules);

static const struct gm_rule of_features[] = {
    {.id = "hooks-keep-features",
     .title = "Features of every layer are held until the next round",
     .find_in_lives = find_features,
     .brief = "keep less of each feature",
     .fix = "Keep only what is needed of a feature (its mean, a copy on the host), and clear it after its use",
     .snippet = "- features[name] = output\n"
                "+ features[name] = output.mean().item()",
     .means = "A hook, or a module's attribute, holds what layers put out, until the next round replaces it.",
     .when =
         "at least 4 tensors of a round are freed, one after the other, just after the next round has made the same "
         "ones, or, in training, outlive their round although its backward pass has used what was made between "
         "them (then with what their lines leave in other calls), or are made by one line in a call of the model that "
         "keeps no graph (as much passes, and backward "
         "passes use at most half as many) and are there when 6 large tensors have been made after it, 6 of them, and "
         "hold 1 % of "
         "the peak; in inference also 4 tensors of modules in each of 3 rounds that are there to the end or two rounds "
         "later, if less than a quarter of what is made beside them is kept, and what is freed at once, if it is less "
         "than a quarter of what is made, or most "
         "layers with a weight were done with what they read, and, where there are no modules, or one call of a "
         "function made it and is over then, if a line makes several of it, not one right after the other",
     .what_to_do = "`features[name] = output.mean().item()`, or `handle.remove()`"},
};
const struct gm_theme gm_theme_features = GM_THEME(of_features);
