/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradients: of what is never trained, beside buckets of their own, of tables of which little was looked up, and those
 * that can be differentiated once more.
 */
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"
#include "analyze/diagnose/sizes.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST_ROUNDS = 2,
    BRIEF = 32 /* events */,
    BUCKETS_APART = 50 /* a fiftieth */,
    TABLE_PER_LOOKUP = 8,
    LEAST_KEPT = 3,
    TINY = 64
};

static bool is_gradient(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_GRADIENT) && gm_lives_is_of_backward(l, a);
}

/* The last event of each round in which backward makes something. */
static uint32_t *ends_of_backward(const struct gm_lives *l)
{
    uint32_t *ends = calloc(l->rounds.n + 1, sizeof *ends);
    for (size_t a = 0; ends != NULL && a < l->h->allocation_count; a++) {
        uint32_t *end = gm_lives_is_of_backward(l, a) ? &ends[gm_lives_round(l, l->h->born[a])] : NULL;
        if (end != NULL && l->h->born[a] > *end)
            *end = l->h->born[a];
    }
    return ends;
}

/* ---- frozen ------------------------------------------------------------------------------------------------------ */

/* Made by a backward pass of the first rounds, and there to the end. */
static bool is_left_behind(const struct gm_lives *l, size_t a)
{
    const struct gm_history *h = l->h;
    return gm_lives_is_left(l, a) && gm_lives_is_of_backward(l, a) && gm_lives_round(l, h->born[a]) <= 1 &&
           (gm_lives_is_role(l, a, GM_ROLE_GRADIENT) || gm_lives_is_role(l, a, GM_ROLE_PARAMETER));
}

/* The moment of the first allocation after a moment. */
static uint32_t next_birth(const struct gm_history *h, uint32_t moment)
{
    while (moment < h->count && (h->of_event[moment] == GM_NEVER || h->born[h->of_event[moment]] != moment + 1))
        moment++;
    return moment + 1;
}

/* Made anew in a backward pass, and there after it. Not what is added to another gradient at once. */
static bool is_of_trained(const struct gm_lives *l, size_t a, const uint32_t *ends)
{
    const struct gm_history *h = l->h;
    if (!is_gradient(l, a) || is_left_behind(l, a))
        return false;
    const uint32_t end = ends[gm_lives_round(l, h->born[a])];
    return h->freed[a] > end && (h->freed[a] - h->born[a] > BRIEF || h->freed[a] > next_birth(h, end));
}

/* In each round the birth of the last gradient that is made anew: what backward does from there on is done for
 * nobody. `anew`: how many there are after the first round of weights that have none which is left behind: theirs are
 * added to that one. */
static uint32_t *last_of_trained(const struct gm_lives *l, size_t *anew)
{
    const struct gm_history *h = l->h;
    uint32_t *ends = ends_of_backward(l), *last = calloc(l->rounds.n + 1, sizeof *last);
    struct gm_sizes weights;
    const bool ok = gm_sizes_of_role(&weights, l, GM_ROLE_PARAMETER) && ends != NULL && last != NULL;
    *anew = 0;
    for (size_t a = 0; ok && a < h->allocation_count; a++)
        if (is_left_behind(l, a))
            gm_sizes_has_another(&weights, gm_requested(h, a));
    for (size_t a = 0; ok && a < h->allocation_count; a++) {
        if (!is_of_trained(l, a, ends))
            continue;
        const uint32_t round = gm_lives_round(l, h->born[a]);
        *anew += round > 1 && gm_sizes_has_another(&weights, gm_requested(h, a));
        last[round] = h->born[a] > last[round] ? h->born[a] : last[round];
    }
    gm_sizes_free(&weights);
    free(ends);
    if (ok)
        return last;
    free(last);
    return NULL;
}

/* Kept for that part of a backward pass, or made in it. */
static bool is_for_nobody(const struct gm_lives *l, size_t a, const uint32_t *lasts)
{
    const struct gm_history *h = l->h;
    const bool is_backward = gm_lives_is_of_backward(l, a);
    if (h->born[a] == 0 || gm_lives_is_role(l, a, GM_ROLE_PARAMETER) ||
        !(is_backward || gm_lives_is_role(l, a, GM_ROLE_ACTIVATION)))
        return false;
    const uint32_t round = gm_lives_round(l, h->born[a]), last = lasts[round];
    return last != 0 && (is_backward ? h->born[a] > last : h->born[a] < last && h->freed[a] > last) &&
           gm_lives_round(l, h->freed[a] == GM_NEVER ? (uint32_t)h->count : h->freed[a]) == round;
}

/* Without it they would not be made, or go when the next two tensors have been made. */
static void find_frozen(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    const struct gm_history *h = l->h;
    struct gm_set set = {.v = NULL};
    uint32_t first = GM_NEVER;
    uint64_t left = 0;
    size_t anew;
    uint32_t *last = last_of_trained(l, &anew);
    c->failed |= last == NULL;
    for (size_t a = 0; !c->failed && anew > 0 && l->rounds.n >= LEAST_ROUNDS && a < h->allocation_count; a++) {
        const bool is_left = is_left_behind(l, a), is_done_for = is_left || is_for_nobody(l, a, last);
        left += is_left ? gm_requested(h, a) : 0;
        first = is_left && h->born[a] < first ? h->born[a] : first;
        if (is_left || (is_done_for && gm_lives_is_of_backward(l, a)))
            c->failed |= !gm_set_add(&set, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0);
        else if (is_done_for)
            c->failed |= !gm_set_add(&set, a, gm_lives_after_others(l, a, 2), GM_REMEDY_NEVER, GM_REMEDY_AS_RECORDED);
    }
    free(last);
    if (!gm_is_share(left, l->at_peak, 0.02))
        set.n = 0;
    gm_case_accuse_backward(
        c, rule, &set, first,
        "gradients of the first backward pass that are never given up, while others are made anew in every "
        "step: no optimizer has their parameters");
}

/* ---- buckets ----------------------------------------------------------------------------------------------------- */

/* The most bytes of gradients at a time that live for more events than that; 0 if there is never more than one. */
static uint64_t all_gradients(const struct gm_lives *l, uint32_t events)
{
    const struct gm_history *h = l->h;
    uint64_t now = 0, most = 0;
    size_t count = 0, blocks = 0;
    for (uint32_t e = 0; e < h->count; e++) {
        const uint32_t a = h->of_event[e];
        if (a == GM_NEVER || !is_gradient(l, a) || h->freed[a] - h->born[a] <= events)
            continue;
        if (h->born[a] == e + 1) {
            now += gm_requested(h, a);
            count++;
        } else if (h->freed[a] == e + 1) {
            now -= now < gm_requested(h, a) ? now : gm_requested(h, a);
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

/* Of communication (DistributedDataParallel's), or made by one line of the program, there for good, and together as
 * large as all gradients. What has the size of a gradient is a weight. */
static bool is_bucket(const struct gm_lives *l, size_t a, const struct gm_sizes *weights)
{
    return gm_lives_at_peak(l, a) && !is_gradient(l, a) &&
           (gm_lives_is_role(l, a, GM_ROLE_COMMUNICATION) ||
            (gm_lives_is_lasting(l, a) && (gm_lives_by(l, a) & (GM_BY_NOBODY | GM_BY_OPTIMIZER)) == 0 &&
             !gm_sizes_has(weights, gm_requested(l->h, a))));
}

/* The stack whose sum is asked; those of communication are one. */
static size_t bucket_of(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_COMMUNICATION) ? l->snapshot->stacks.count : gm_stack_of(l->h, a);
}

enum { LEAST_BUCKET = 20 /* parts of all gradients */ };

/* The line that wraps the model makes its first buffers; others may come in later steps. */
static const char *wrapped_at(struct gm_lives *l, uint64_t gradients)
{
    size_t first = l->h->allocation_count;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (gm_lives_is_role(l, a, GM_ROLE_COMMUNICATION) && l->h->born[a] > 0 &&
            gm_requested(l->h, a) >= gradients / LEAST_BUCKET &&
            (first == l->h->allocation_count || l->h->born[a] < l->h->born[first]))
            first = a;
    return first == l->h->allocation_count ? NULL : gm_lives_place(l, gm_stack_of(l->h, first));
}

/* Whether most gradients that last give way to views in a later backward pass. */
static bool are_views(const struct gm_lives *l)
{
    const struct gm_history *h = l->h;
    uint64_t all = 0, given = 0;
    for (size_t a = 0; l->phase != NULL && a < h->allocation_count; a++) {
        const uint32_t freed = h->freed[a];
        if (!is_gradient(l, a) || freed - h->born[a] <= BRIEF)
            continue;
        all += gm_requested(h, a);
        given += freed != GM_NEVER && l->phase[freed - 1] == GM_PHASE_BACKWARD ? gm_requested(h, a) : 0;
    }
    return given > all / 2;
}

static void find_buckets(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    const uint64_t gradients = all_gradients(l, 0), lasting = all_gradients(l, BRIEF); /* not added to others at once */
    struct gm_set buckets = {.v = NULL}, set = {.v = NULL};
    struct gm_blame blame = {.bytes = 0};
    struct gm_sizes weights = {.v = NULL};
    uint64_t *sums = calloc((size_t)l->snapshot->stacks.count + 1, sizeof *sums);
    c->failed |= sums == NULL || !gm_sizes_of_role(&weights, l, GM_ROLE_GRADIENT);
    for (size_t a = 0; !c->failed && gradients >= GM_MIB && a < l->h->allocation_count; a++) {
        if (is_gradient(l, a)) /* backward still makes it, to add it to the view at once */
            c->failed |= !gm_set_add(&set, a, gm_lives_after_others(l, a, 1), GM_REMEDY_NEVER, GM_REMEDY_AS_RECORDED);
        else if (is_bucket(l, a, &weights))
            sums[bucket_of(l, a)] += gm_requested(l->h, a);
    }
    for (size_t a = 0; !c->failed && gradients >= GM_MIB && a < l->h->allocation_count; a++)
        if (is_bucket(l, a, &weights) &&
            (is_near(sums[bucket_of(l, a)], gradients) || is_near(sums[bucket_of(l, a)], lasting)))
            c->failed |= !gm_set_add(&buckets, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0);
    free(sums);
    gm_sizes_free(&weights);
    c->failed |= buckets.n > 0 && !gm_lives_blame(c->lives, &buckets, &blame);
    const bool is_wrapped = buckets.n > 0 && gm_lives_is_role(l, buckets.v[0].allocation, GM_ROLE_COMMUNICATION);
    if (buckets.n == 0 || (is_wrapped && are_views(l)))
        set.n = 0;
    for (size_t i = 0; i < buckets.n; i++) /* they are no data */
        gm_lives_take(c->lives, buckets.v[i].allocation, GM_TAKEN);
    free(buckets.v);
    struct gm_finding *f =
        gm_case_accuse(c, rule, &set, false, "a buffer as large as all gradients together is there beside them");
    const char *wrapped = f == NULL ? NULL : wrapped_at(c->lives, gradients);
    if (f != NULL)
        f->site = is_wrapped && wrapped != NULL ? wrapped : blame.site;
}

/* ---- create_graph ------------------------------------------------------------------------------------------------ */

/* What autograd made on its way, and does not free in its pass, which makes things without a break, but for what a
 * checkpoint makes once more. As many of a size as there are parameters of it are gradients; others are `kept`. A pass
 * that keeps few keeps gradients of its inputs. */
struct second_graph {
    struct gm_set set;
    uint64_t kept, gradients;
};

/* Whether it is there after the pass that makes its last at `last`, which frees what it frees last after that. */
static bool outlives_pass(const struct gm_lives *l, size_t a, uint32_t last, uint32_t next)
{
    const uint32_t freed = l->h->freed[a];
    return freed > last + 1 && (freed >= next || (l->phase != NULL && l->phase[freed - 1] != GM_PHASE_BACKWARD));
}

/* The forward pass's part of a graph that can be differentiated once more: a pass that keeps none gives it up in
 * reverse order on its way. */
static bool add_first_graph(struct gm_set *set, const struct gm_lives *l, uint32_t from, uint32_t last, uint32_t next)
{
    const size_t before = set->n;
    const bool has_modules = gm_lives_has_modules(l);
    const uint32_t round = gm_lives_round(l, from + 1);
    bool ok = true;
    for (uint32_t e = from; ok && e > 0 && gm_lives_round(l, e) == round; e--) {
        const uint32_t a = l->h->of_event[e - 1];
        if (a != GM_NEVER && l->h->born[a] == e && gm_lives_is_role(l, a, GM_ROLE_ACTIVATION) && !l->taken[a] &&
            (!has_modules || (gm_lives_by(l, a) & GM_BY_MODULE) != 0) && outlives_pass(l, a, last, next))
            ok = gm_set_add(set, a, 0, GM_REMEDY_NEVER, GM_REMEDY_AS_RECORDED);
    }
    for (size_t i = before; i < set->n; i++)
        set->v[i].gone = from + (uint32_t)((uint64_t)(last + 1 - from) * (i - before + 1) / (set->n - before));
    return ok;
}

static bool add_pass(struct second_graph *g, const struct gm_lives *l, struct gm_sizes *parameters, uint32_t from,
                     uint32_t last)
{
    const size_t before = g->set.n;
    const uint32_t next = next_birth(l->h, last + 1); /* what it frees last may go after the last that it makes */
    uint64_t kept = 0;
    if (l->has_oom && next > l->h->count) /* it did not come to its end */
        return true;
    memset(parameters->met, 0, (parameters->n + 1) * sizeof *parameters->met);
    for (uint32_t e = from; e <= last; e++) {
        const uint32_t a = gm_made_by(l->h, e);
        if (a == GM_NEVER || !gm_lives_is_of_backward(l, a) || !gm_lives_is_of_engine(l, a) ||
            !outlives_pass(l, a, last, next) || l->taken[a] || gm_lives_is_role(l, a, GM_ROLE_PARAMETER) ||
            gm_lives_is_role(l, a, GM_ROLE_WORKSPACE))
            continue;
        if (gm_sizes_has_another(parameters, gm_requested(l->h, a))) {
            g->gradients += gm_requested(l->h, a);
            continue;
        }
        kept += gm_requested(l->h, a);
        if (!gm_set_add(&g->set, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0))
            return false;
    }
    if (g->set.n < before + LEAST_KEPT) {
        g->set.n = before;
        return true;
    }
    g->kept += kept;
    return add_first_graph(&g->set, l, from, last, next);
}

static void find_second_graph(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    const struct gm_history *h = l->h;
    struct gm_sizes parameters = {.v = NULL};
    struct second_graph graph = {.kept = 0};
    uint32_t from = GM_NEVER, last = 0;
    c->failed |= !gm_sizes_of_role(&parameters, l, GM_ROLE_PARAMETER);
    for (uint32_t e = 0; !c->failed && e <= h->count; e++) {
        const uint32_t a = e < h->count ? h->of_event[e] : GM_NEVER;
        if (e < h->count && (a == GM_NEVER || h->born[a] != e + 1))
            continue;
        const bool is_recomputed = e < h->count && from != GM_NEVER && (gm_lives_by(l, a) & GM_BY_RECOMPUTE) != 0;
        const bool is_backward = e < h->count && (gm_lives_is_of_backward(l, a) || is_recomputed);
        if (!is_backward && from != GM_NEVER)
            c->failed |= !add_pass(&graph, l, &parameters, from, last);
        from = !is_backward ? GM_NEVER : from == GM_NEVER ? e : from;
        last = e;
    }
    gm_sizes_free(&parameters);
    if (graph.kept < graph.gradients / 4)
        graph.set.n = 0;
    gm_case_accuse_backward(
        c, rule, &graph.set, graph.set.n > 0 ? h->born[graph.set.v[0].allocation] : 0,
        "what the backward pass made on its way to the gradients is still there after it: it has a graph "
        "of its own");
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

/* Whether something of that size is there for good, and no optimizer keeps states for it: it would ask for dense ones.
 */
static bool is_table(const struct gm_lives *l, uint64_t bytes)
{
    bool is_there = false;
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        if (gm_requested(l->h, a) == bytes && gm_lives_is_role(l, a, GM_ROLE_OPTIMIZER_STATE))
            return false;
        is_there |= gm_requested(l->h, a) == bytes && !gm_lives_is_of_backward(l, a) && gm_lives_is_lasting(l, a) &&
                    !gm_lives_is_role(l, a, GM_ROLE_WORKSPACE);
    }
    return is_there;
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
        n += is_gradient(l, other) && gm_requested(h, other) >= gm_requested(h, a) / TINY &&
             is_table(l, gm_requested(h, other));
    }
    return n;
}

/* The most lookups between two backward passes: as many tables have their gradients last in a pass. */
static size_t count_lookups(const struct gm_lives *l)
{
    size_t n = 0, most = 0;
    for (uint32_t e = 0; e < l->h->count; e++) {
        const uint32_t a = gm_made_by(l->h, e);
        if (a == GM_NEVER)
            continue;
        if (gm_lives_is_of_backward(l, a))
            n = 0;
        else
            n += (gm_lives_by(l, a) & GM_BY_LOOKUP) != 0 && !gm_lives_is_lasting(l, a);
        most = n > most ? n : most;
    }
    return most;
}

static void find_tables(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    const uint64_t rows = looked_up(l);
    const size_t tables = count_lookups(l);
    struct gm_set set = {.v = NULL};
    struct gm_blame blame = {.bytes = 0};
    struct gm_set lookups = {.v = NULL};
    for (size_t a = 0; rows > 0 && !c->failed && a < l->h->allocation_count; a++) {
        const uint64_t size = gm_requested(l->h, a);
        if ((gm_lives_by(l, a) & GM_BY_LOOKUP) != 0 && l->h->born[a] > 0 && !gm_lives_is_of_backward(l, a))
            c->failed |= !gm_set_add(&lookups, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0);
        if (gm_lives_is_of_backward(l, a) && size / TABLE_PER_LOOKUP >= rows && gm_is_share(size, l->at_peak, 0.05) &&
            is_table(l, size) && gradients_after(l, a) < tables)
            c->failed |= !gm_set_add(&set, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, rows);
    }
    c->failed |= lookups.n > 0 && !gm_lives_blame(c->lives, &lookups, &blame);
    free(lookups.v);
    struct gm_finding *f =
        gm_case_accuse(c, rule, &set, false,
                       "gradients as large as a whole table, of which a step looks up at most an eighth as many bytes");
    if (f != NULL)
        f->site = blame.site;
}

static const struct gm_rule rules[] = {
    {.id = "frozen-gradients",
     .title = "Gradients of parameters that are not trained",
     .find = find_frozen,
     .needs_lives = true,
     .brief = "requires_grad_(False)",
     .fix = "Call requires_grad_(False) on what is not trained, or run it under torch.no_grad()",
     .snippet = "  base = load_base()\n"
                "+ base.requires_grad_(False)",
     .cost = "none",
     .severity = "warning",
     .when =
         "gradients of the first backward pass are never freed, while others of weights without such a gradient are "
         "made in later rounds, too, and hold 2 % of the peak",
     .what_to_do = "`base.requires_grad_(False)`"},
    {.id = "flat-gradient-buckets",
     .title = "Gradients are there twice: by themselves, and in flat buffers",
     .find = find_buckets,
     .needs_lives = true,
     .brief = "gradients as bucket views",
     .fix = "Let gradients be views of the buffers: DistributedDataParallel(gradient_as_bucket_view=True), or p.grad = "
            "a view of the flat tensor",
     .snippet = "- model = DistributedDataParallel(model)\n"
                "+ model = DistributedDataParallel(model, gradient_as_bucket_view=True)",
     .cost = "none",
     .severity = "warning",
     .when = "what lasts of communication, or one tensor that lasts, is as large as all gradients at a time (within 2 "
             "%)",
     .what_to_do = "`DistributedDataParallel(model, gradient_as_bucket_view=True)`"},
    {.id = "dense-embedding-gradients",
     .title = "Gradients of whole tables, of which little was looked up",
     .find = find_tables,
     .needs_lives = true,
     .brief = "nn.Embedding(sparse=True)",
     .fix = "Make the table with nn.Embedding(..., sparse=True), and train it with SGD, Adagrad or SparseAdam",
     .snippet = "- table = nn.Embedding(rows, width)\n"
                "+ table = nn.Embedding(rows, width, sparse=True)\n"
                "+ optimizer = torch.optim.SparseAdam(table.parameters())",
     .cost = "an optimizer that takes sparse gradients",
     .severity = "warning",
     .when = "a gradient is at least 8 times what lookups in tables make in a round, and 5 % of the peak, fewer "
             "gradients of "
             "weights come after it in its pass than there are lookups, and no optimizer keeps states of its size",
     .what_to_do = "`nn.Embedding(rows, width, sparse=True)`"},
    {.id = "create-graph",
     .title = "The backward pass keeps a graph of itself",
     .find = find_second_graph,
     .needs_lives = true,
     .brief = "no create_graph=True",
     .fix = "Call backward() or autograd.grad() without create_graph=True where no second derivative is taken",
     .snippet = "- loss.backward(create_graph=True)\n"
                "+ loss.backward()",
     .cost = "none",
     .severity = "warning",
     .when = "what a backward pass makes beside gradients, at least a quarter of their bytes, is there after it, and "
             "holds 1 % of the peak; what the forward pass kept for it counts, too",
     .what_to_do = "`loss.backward()` without `create_graph=True`"},
};
const struct gm_theme gm_theme_gradients = GM_THEME(rules);
