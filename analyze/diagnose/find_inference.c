/* SPDX-License-Identifier: Apache-2.0
 *
 * Inference: graphs that nobody needs, features that somebody holds, caches of keys and values.
 */
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

#include <stdlib.h>
#include <string.h>

/* ---- without inference_mode -------------------------------------------------------------------------------------- */

enum {
    LATER = 6,      /* large allocations that are made while it lives, at least */
    AT_ONCE = 4,    /* that are freed without an allocation in between, at least */
    USED_FOR = 2,   /* large allocations after which an operator's input is done with */
    WORKSPACE = 2,  /* events */
    GRAPH_PARTS = 4 /* a graph has a quarter of what is made, or more */
};

/* The large allocations, by birth; and for each of all allocations how many of them were made before it. */
struct large {
    uint32_t *v, n;
};

/* Whether it is there for rounds: then something collects what they made (find_kept.c), and no_grad is not all. */
static bool is_collected(const struct gm_lives *l, size_t a)
{
    return l->h->freed[a] != GM_NEVER && gm_lives_round(l, l->h->freed[a]) > gm_lives_round(l, l->h->born[a]) + 1;
}

static bool is_set_up(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_lasting(l, a) && gm_lives_round(l, l->h->born[a]) == 0 && l->rounds.n > 0;
}

static bool is_of_forward(const struct gm_lives *l, size_t a)
{
    const uint8_t role = l->role[a];
    return !l->taken[a] && l->h->born[a] > 0 && role != GM_ROLE_PARAMETER && role != GM_ROLE_KV_CACHE &&
           role != GM_ROLE_WORKSPACE && role != GM_ROLE_INPUT && role != GM_ROLE_GRADIENT &&
           role != GM_ROLE_OPTIMIZER_STATE &&
           (gm_lives_by(l, a) & (GM_BY_LOADING | GM_BY_COPYING | GM_BY_OPTIMIZER)) == 0 &&
           !(l->has_backward && gm_lives_is_of_engine(l, a)) && !is_set_up(l, a) && !is_collected(l, a);
}

static bool find_large(const struct gm_lives *l, struct large *large)
{
    large->v = malloc((l->h->count + 1) * sizeof *large->v);
    large->n = 0;
    for (uint32_t e = 0; large->v != NULL && e < l->h->count; e++) {
        const uint32_t a = gm_made_by(l->h, e);
        if (a != GM_NEVER && gm_requested(l->h, a) >= l->at_peak / 1000 && is_of_forward(l, a))
            large->v[large->n++] = a;
    }
    return large->v != NULL;
}

/* The number of those of large->v that were born before a moment. */
static uint32_t born_before(const struct large *large, const struct gm_lives *l, uint32_t moment)
{
    size_t low = 0;
    GM_BISECT(low, large->n, i, l->h->born[large->v[i]] < moment);
    return (uint32_t)low;
}

/* A graph goes at once, when its output does. Those freed at events [from, to), of which the last is the output. */
static bool add_graph(struct gm_set *set, const struct gm_lives *l, const struct large *large, uint32_t from,
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
            if (is_second && at != last &&
                !gm_set_add(set, a, l->h->born[large->v[at + USED_FOR]], GM_REMEDY_NEVER, GM_REMEDY_AS_RECORDED))
                return false;
        }
    return true;
}

static bool is_made_outside(const struct gm_lives *l, uint32_t e)
{
    const uint32_t a = gm_made_by(l->h, e);
    return a != GM_NEVER && (gm_lives_by(l, a) & GM_BY_MODULE) == 0;
}

/* Whether a stack made several of what is in a set from there on: it is of more than one layer. */
static bool has_layers(const struct gm_lives *l, const struct gm_set *set, size_t from)
{
    enum { LOOKED_AT = 256 };
    for (size_t i = from; i < set->n && i < from + LOOKED_AT; i++)
        for (size_t k = from; k < i; k++)
            if (gm_stack_of(l->h, set->v[i].allocation) == gm_stack_of(l->h, set->v[k].allocation))
                return true;
    return false;
}

/* What goes at once. Returns whether it is a graph, which has most of what the forward pass makes: features are few. */
static bool collect_at_once(struct gm_case *c, struct gm_set *set)
{
    const struct gm_lives *l = c->lives;
    const struct gm_events *events = &l->snapshot->events;
    struct large large;
    size_t passing = 0, groups = 0, inside = 0;
    bool is_inside = false; /* since the last group nothing was made but by modules */
    if (l->has_backward || l->has_optimizer || l->has_oom)
        return false;
    c->failed |= !find_large(l, &large);
    for (uint32_t e = 0, from = 0; !c->failed && e <= l->h->count; e++) {
        const bool is_end = e == l->h->count || events->action[l->h->first + e] == GM_ACTION_ALLOC;
        const size_t before = set->n;
        if (is_end && e > from)
            c->failed |= !add_graph(set, l, &large, from, e);
        groups += set->n > before;
        inside += set->n > before && is_inside && !has_layers(l, set, before);
        is_inside = (is_inside || set->n > before) && (e == l->h->count || !is_made_outside(l, e));
        from = is_end ? e + 1 : from;
    }
    for (uint32_t i = 0; !c->failed && i < large.n; i++)
        passing += l->h->freed[large.v[i]] != GM_NEVER && l->h->freed[large.v[i]] > l->h->born[large.v[i]] + WORKSPACE;
    free(large.v);
    if (inside * 2 >= groups) /* what a layer's function has of its own goes when it returns */
        set->n = 0;
    return set->n * GRAPH_PARTS >= passing;
}

/* ---- in training ------------------------------------------------------------------------------------------------- */

static bool is_backward(const struct gm_lives *l, uint32_t e)
{
    return l->phase[e] == GM_PHASE_BACKWARD;
}

/* What a group of the set [from, set->n) is among what was made from its first to its last member, and what happened
 * until it went. */
struct unused {
    uint32_t passing, aged; /* of the large ones */
    uint32_t consumed;      /* large ones that a backward pass frees meanwhile, */
    uint32_t own;           /* of these, those made from the first to the last */
    bool has_backward;      /* there is one */
    bool has_stacks;        /* different lines made it: not a list */
};

static struct unused look_at_group(const struct gm_lives *l, const struct large *large, const struct gm_set *set,
                                   size_t from, uint32_t end)
{
    const struct gm_history *h = l->h;
    struct unused found = {0};
    uint32_t first = GM_NEVER, last = 0;
    for (size_t i = from; i < set->n; i++) {
        const uint32_t born = h->born[set->v[i].allocation];
        first = born < first ? born : first;
        last = born > last ? born : last;
        found.has_stacks |= gm_stack_of(h, set->v[i].allocation) != gm_stack_of(h, set->v[from].allocation);
    }
    for (uint32_t i = born_before(large, l, first); i < large->n && h->born[large->v[i]] <= last; i++) {
        const uint32_t a = large->v[i];
        found.passing += h->freed[a] > h->born[a] + WORKSPACE;
        found.aged += h->freed[a] != GM_NEVER && born_before(large, l, h->freed[a]) - i >= USED_FOR + 2;
        found.own += h->freed[a] != GM_NEVER && h->freed[a] <= end && is_backward(l, h->freed[a] - 1);
    }
    for (uint32_t e = first; e < end; e++) {
        const uint32_t a = h->of_event[e];
        found.has_backward |= is_backward(l, e);
        found.consumed += is_backward(l, e) && a != GM_NEVER && h->freed[a] == e + 1 && is_of_forward(l, a) &&
                          !gm_lives_is_of_engine(l, a) && gm_requested(h, a) >= l->at_peak / 1000;
    }
    return found;
}

/* Graphs that go at once while no backward pass runs, though it was time for one or others were used by one: of an
 * evaluation, or a teacher. A graph that a backward pass has used and did not free is another mistake. */
static void collect_unused(struct gm_case *c, struct gm_set *set)
{
    const struct gm_lives *l = c->lives;
    struct large large;
    if (l->phase == NULL || l->has_oom)
        return;
    c->failed |= !find_large(l, &large);
    for (uint32_t e = 0, from = 0; !c->failed && e <= l->h->count; e++) {
        const bool is_end =
            e == l->h->count || l->snapshot->events.action[l->h->first + e] == GM_ACTION_ALLOC || is_backward(l, e);
        const size_t before = set->n;
        if (is_end && e > from)
            c->failed |= !add_graph(set, l, &large, from, e);
        from = is_end ? e + 1 : from;
        if (set->n == before || c->failed)
            continue;
        const struct unused group = look_at_group(l, &large, set, before, e);
        const size_t n = set->n - before;
        if (!group.has_stacks || group.own * GRAPH_PARTS >= n || n * GRAPH_PARTS < group.passing ||
            n * 2 < group.aged || (group.has_backward && group.consumed < AT_ONCE))
            set->n = before;
    }
    free(large.v);
}

static void find_graphs(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_set set = {.v = NULL};
    if (c->lives->has_backward)
        collect_unused(c, &set);
    else if (!collect_at_once(c, &set))
        set.n = 0;
    gm_case_accuse(c, rule, &set, false,
                   c->lives->has_backward
                       ? "no backward pass uses what this forward pass makes, which stays until all of it goes at "
                         "once, as a graph does"
                       : "no backward pass is in the trace, yet what the forward pass makes stays until all of it goes "
                         "at once, as a graph does");
}

/* ---- features ---------------------------------------------------------------------------------------------------- */

enum { LEAST_FEATURES = 4, SOON = 64 /* events */ };

/* Whether the same allocation of the next round is made first, and then this one goes: something was set anew. */
static bool is_replaced(const struct gm_lives *l, const struct gm_roster *roster, const struct gm_roster_row *row)
{
    const struct gm_history *h = l->h;
    const struct gm_roster_row *next = gm_roster_find(roster, row->stack, row->round + 1, row->place);
    if (next == NULL || h->freed[row->allocation] == GM_NEVER)
        return false;
    const uint32_t made = h->born[next->allocation], freed = h->freed[row->allocation];
    return freed > made && freed - made <= SOON;
}

GM_ORDERING(by_allocation, struct gm_remedy_change, GM_UP(allocation));

/* Nobody would hold a layer's output longer than until the next one's is there. */
static void until_next(const struct gm_lives *l, struct gm_set *set)
{
    if (set->n > 0)
        qsort(set->v, set->n, sizeof *set->v, by_allocation);
    for (size_t i = 0; i + 1 < set->n; i++) {
        const uint32_t next = l->h->born[set->v[i + 1].allocation];
        if (next > set->v[i].gone && gm_lives_round(l, next) == gm_lives_round(l, l->h->born[set->v[i].allocation]))
            set->v[i].gone = next;
    }
}

static void find_features_of_training(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_set set = {.v = NULL};
    if (gm_kept_features(c, &set))
        for (size_t i = 0; i < set.n; i++)
            set.v[i].gone = gm_lives_after_others(c->lives, set.v[i].allocation, 2);
    gm_case_accuse(c, rule, &set, false,
                   "layers made them, the backward pass has used their neighbours, and they are still there, as if a "
                   "hook or a dictionary held them");
}

static void find_features(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    const struct gm_history *h = l->h;
    if (l->has_backward) {
        find_features_of_training(c, rule);
        return;
    }
    const struct gm_roster *roster = gm_lives_roster(c->lives);
    struct gm_set set = {.v = NULL};
    uint64_t stacks_most = 0;
    c->failed |= roster == NULL;
    for (size_t i = 0; !c->failed && i < roster->n; i++) {
        const struct gm_roster_row *row = &roster->v[i];
        const uint64_t size = gm_requested(h, row->allocation);
        const struct gm_roster_row *before =
            row->round > 1 ? gm_roster_find(roster, row->stack, row->round - 1, row->place) : NULL;
        const bool is_last = h->freed[row->allocation] == GM_NEVER && before != NULL && is_replaced(l, roster, before);
        if (l->taken[row->allocation] || size < l->at_peak / 1000 ||
            gm_lives_is_role(l, row->allocation, GM_ROLE_KV_CACHE) || (!is_last && !is_replaced(l, roster, row)))
            continue;
        stacks_most += is_last || row->round == l->rounds.n - 1;
        c->failed |= !gm_set_add(&set, row->allocation, gm_lives_after_others(l, row->allocation, 2), GM_REMEDY_NEVER,
                                 GM_REMEDY_AS_RECORDED);
    }
    if (stacks_most >= LEAST_FEATURES) {
        until_next(l, &set);
        gm_case_accuse(c, rule, &set, false,
                       "each is there until the same layer makes the next one in the following round, as if a hook or "
                       "a dictionary held it");
        return;
    }
    set.n = 0;
    if (collect_at_once(c, &set))
        set.n = 0;
    until_next(l, &set);
    gm_case_accuse(c, rule, &set, false,
                   "one of each layer stays until all of them go at once, while most of what the layers make passes, "
                   "as if a hook or a list held them");
}

/* ---- caches of keys and values ----------------------------------------------------------------------------------- */

enum { LEAST_SIZES = 8 };

/* Of one stack: whether its tensors become longer and longer, each made while a shorter one is there to be copied. */
struct growth {
    uint64_t last, first;
    uint32_t grown, shrunk, copied, live;
};

static void find_grown_cache(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    const struct gm_history *h = l->h;
    struct gm_set set = {.v = NULL};
    uint64_t longest = 0;
    struct growth *growths = calloc((size_t)l->snapshot->stacks.count + 1, sizeof *growths);
    c->failed |= growths == NULL;
    for (uint32_t e = 0; !c->failed && e < h->count; e++) {
        const uint32_t a = h->of_event[e];
        if (a != GM_NEVER && h->born[a] > 0 && h->freed[a] == e + 1)
            growths[gm_stack_of(h, a)].live--;
        if (a == GM_NEVER || h->born[a] != e + 1)
            continue;
        struct growth *g = &growths[gm_stack_of(h, a)];
        g->live++;
        g->copied += gm_requested(h, a) > g->last && g->live > 1;
        g->grown += gm_requested(h, a) > g->last;
        g->shrunk += gm_requested(h, a) < g->last;
        g->first = g->first == 0 ? gm_requested(h, a) : g->first;
        g->last = gm_requested(h, a);
    }
    for (size_t a = 0; !c->failed && a < h->allocation_count; a++) {
        const struct growth *g = &growths[gm_stack_of(h, a)];
        const bool is_grown = g->grown >= LEAST_SIZES && g->shrunk * 8 <= g->grown && g->copied * 2 > g->grown &&
                              g->last > g->first && g->last >= l->at_peak / 200 && gm_requested(h, a) < g->last;
        if (h->born[a] > 0 && is_grown && (gm_lives_by(l, a) & GM_BY_NOBODY) == 0) {
            c->failed |= !gm_set_add(&set, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0);
            longest = g->last > longest ? g->last : longest;
        }
    }
    for (size_t a = 0; !c->failed && longest > 0 && a < h->allocation_count; a++) { /* what the first cat took up */
        const struct growth *g = &growths[gm_stack_of(h, a)];
        if (l->role[a] == GM_ROLE_KV_CACHE && g->grown < LEAST_SIZES && h->freed[a] <= l->last_made &&
            gm_requested(h, a) < longest)
            c->failed |= !gm_set_add(&set, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0);
    }
    free(growths);
    gm_case_accuse(c, rule, &set, true,
                   "the same line makes a longer tensor each time and frees the one before, so old and new lie side by "
                   "side and every length leaves a hole that the next one does not fit");
}

static void find_cache(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    uint64_t bytes = 0;
    for (size_t a = 0; !c->failed && a < l->h->allocation_count; a++) {
        if (l->role[a] != GM_ROLE_KV_CACHE || l->taken[a])
            continue;
        bytes += gm_lives_at_peak(l, a) ? gm_requested(l->h, a) : 0;
        c->failed |= !gm_set_add(&set, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, gm_requested(l->h, a) / 2);
    }
    if (gm_is_share(bytes, l->at_peak, 0.4))
        gm_case_accuse(c, rule, &set, false, "the cache of keys and values is the largest part of the peak");
    else
        free(set.v);
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
                    "backward pass. If "
                    "none follows, run the model under torch.inference_mode(), which keeps none of them; if one does, "
                    "record a whole "
                    "step, which tells what its peak is made of.",
                    gm_size_format(size, bytes), gm_share_format(share, bytes, c->view.peak->requested));
    f->brief = "if no backward pass follows: torch.inference_mode()";
}

static const struct gm_rule rules[] = {
    {.id = "no-inference-mode",
     .title = "Graphs are kept that no backward pass uses",
     .find = find_graphs,
     .needs_lives = true,
     .brief = "torch.inference_mode()",
     .fix = "Run it under torch.inference_mode()",
     .snippet = "- out = model(x)\n"
                "+ with torch.inference_mode():\n"
                "+     out = model(x)",
     .cost = "none",
     .severity = "warning",
     .when = "the trace did not run out of memory, and at least 4 tensors of a forward pass that outlived 6 later ones "
             "each are freed at once, not by one layer after the other; in training, if no backward pass has used "
             "them: most of what that forward pass "
             "kept, and either there was no backward pass meanwhile, or it freed others",
     .what_to_do = "`with torch.inference_mode():`"},
    {.id = "forward-only",
     .title = "Activations are kept, and the trace ends before a backward pass",
     .find = find_forward_only,
     .needs_lives = true,
     .rank = GM_RANK_SITE,
     .severity = "info",
     .when = "no backward pass, no gradients, no out-of-memory; activations hold a tenth of the peak, half as much of "
             "it is never freed, and so are at least 4 tensors, and a quarter, of what the forward pass made",
     .what_to_do = "`with torch.inference_mode():` if none follows; else record a whole step"},
    {.id = "kv-cache-by-cat",
     .title = "A cache is grown by torch.cat",
     .find = find_grown_cache,
     .needs_lives = true,
     .brief = "allocate the cache once",
     .fix = "Allocate the cache once for the longest sequence and write into it (cache[:, :, i] = k)",
     .snippet = "- cache = torch.cat([cache, k], dim=2)\n"
                "+ cache = torch.empty(batch, heads, longest, width)  # once, before\n"
                "+ cache[:, :, i] = k",
     .cost = "none",
     .severity = "warning",
     .when = "one stack makes at least 8 longer and longer tensors, each while a shorter one is there, which goes then",
     .what_to_do = "Allocate once, write in place: a static cache"},
    {.id = "kv-cache-dominates",
     .title = "The cache of keys and values makes most of the peak",
     .find = find_cache,
     .needs_lives = true,
     .is_choice = true,
     .brief = "KV cache in 8 bits",
     .fix = "Keep it in 8 bits, in pages that are given out as they are needed, or for fewer tokens or sequences",
     .snippet = "- cache = torch.empty(shape, dtype=torch.float16)\n"
                "+ cache = torch.empty(shape, dtype=torch.float8_e4m3fn)",
     .cost = "accuracy with 8 bits",
     .severity = "info",
     .when = "the role KV cache holds 40 % of the peak; the saving is that of half the bytes",
     .what_to_do = "8 bits, pages, fewer tokens or sequences, grouped heads"},
};
const struct gm_theme gm_theme_inference = GM_THEME(rules);

static const struct gm_rule of_features[] = {
    {.id = "hooks-keep-features",
     .title = "Features of every layer are held until the next round",
     .find = find_features,
     .needs_lives = true,
     .brief = "keep less of each feature",
     .fix = "Keep only what is needed of a feature (its mean, a copy on the host), and clear it after its use",
     .snippet = "- features[name] = output\n"
                "+ features[name] = output.mean().item()",
     .cost = "none",
     .severity = "warning",
     .when = "at least 4 tensors of a round are freed just after the next round has made the same ones, or, in "
             "training, outlive their round although its backward pass has used what was made between them, and hold "
             "1 % of the peak",
     .what_to_do = "`features[name] = output.mean().item()`, or `handle.remove()`"},
};
const struct gm_theme gm_theme_features = GM_THEME(of_features);
