/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradients: of what is never trained, beside buckets of their own, of tables of which little was looked up, and those
 * that can be differentiated once more.
 */
#include "analyze/base/bisect.h"
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

#include <stdlib.h>

enum { LEAST_ROUNDS = 2, BRIEF = 32 /* events */, BUCKETS_APART = 50 /* a fiftieth */, TABLE_PER_LOOKUP = 8 };

/* In the phase, or where phases are not known, by autograd's thread, which has no Python. */
static bool is_of_backward(const struct gm_lives *l, size_t a)
{
    const uint32_t born = l->h->born[a];
    return born > 0 && (l->phase != NULL ? l->phase[born - 1] == GM_PHASE_BACKWARD
                                         : l->has_backward && l->h->stack[a] == GM_STACK_EMPTY);
}

static int by_bytes(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* The sizes of parameters, ascending. */
struct sizes {
    uint64_t *v;
    size_t n;
};

static bool sizes_of_parameters(struct sizes *sizes, const struct gm_lives *l)
{
    *sizes = (struct sizes){.v = malloc((l->h->allocation_count + 1) * sizeof *sizes->v)};
    for (size_t a = 0; sizes->v != NULL && a < l->h->allocation_count; a++)
        if (gm_lives_is_role(l, a, GM_ROLE_PARAMETER))
            sizes->v[sizes->n++] = l->h->requested[a];
    if (sizes->n > 0)
        qsort(sizes->v, sizes->n, sizeof *sizes->v, by_bytes);
    return sizes->v != NULL;
}

static bool has_size(const struct sizes *sizes, uint64_t size)
{
    size_t at = 0;
    GM_BISECT(at, sizes->n, i, sizes->v[i] < size);
    return at < sizes->n && sizes->v[at] == size;
}

/* The last event of each round in which backward makes something. */
static uint32_t *ends_of_backward(const struct gm_lives *l)
{
    uint32_t *ends = calloc(l->rounds.n + 1, sizeof *ends);
    for (size_t a = 0; ends != NULL && a < l->h->allocation_count; a++) {
        uint32_t *end = &ends[gm_lives_round(l, l->h->born[a])];
        if (is_of_backward(l, a) && l->h->born[a] > *end)
            *end = l->h->born[a];
    }
    return ends;
}

/* ---- frozen ------------------------------------------------------------------------------------------------------ */

/* Made by a backward pass of the first rounds, and there to the end. */
static bool is_left_behind(const struct gm_lives *l, size_t a)
{
    const struct gm_history *h = l->h;
    return h->freed[a] == GM_NEVER && is_of_backward(l, a) && gm_lives_round(l, h->born[a]) <= 1 &&
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
    const uint32_t end = ends[gm_lives_round(l, h->born[a])];
    return gm_lives_is_role(l, a, GM_ROLE_GRADIENT) && is_of_backward(l, a) && !is_left_behind(l, a) &&
           h->freed[a] > end && (h->freed[a] - h->born[a] > BRIEF || h->freed[a] > next_birth(h, end));
}

/* In each round the birth of the last gradient that is made anew: what backward does from there on is done for
 * nobody. `anew`: how many there are after the first round. */
static uint32_t *last_of_trained(const struct gm_lives *l, size_t *anew)
{
    const struct gm_history *h = l->h;
    uint32_t *ends = ends_of_backward(l), *last = calloc(l->rounds.n + 1, sizeof *last);
    *anew = 0;
    for (size_t a = 0; ends != NULL && last != NULL && a < h->allocation_count; a++) {
        const uint32_t round = gm_lives_round(l, h->born[a]);
        if (!is_of_trained(l, a, ends))
            continue;
        *anew += round > 1;
        last[round] = h->born[a] > last[round] ? h->born[a] : last[round];
    }
    if (ends == NULL) {
        free(last);
        last = NULL;
    }
    free(ends);
    return last;
}

/* Kept for that part of a backward pass, or made in it. */
static bool is_for_nobody(const struct gm_lives *l, size_t a, uint32_t last)
{
    const struct gm_history *h = l->h;
    if (last == 0 || h->born[a] == 0 || gm_lives_is_role(l, a, GM_ROLE_PARAMETER) ||
        gm_lives_round(l, h->freed[a] == GM_NEVER ? (uint32_t)h->count : h->freed[a]) != gm_lives_round(l, h->born[a]))
        return false;
    return is_of_backward(l, a) ? h->born[a] > last
                                : h->born[a] < last && h->freed[a] > last && gm_lives_is_role(l, a, GM_ROLE_ACTIVATION);
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
        left += is_left_behind(l, a) ? h->requested[a] : 0;
        first = is_left_behind(l, a) && h->born[a] < first ? h->born[a] : first;
        if (is_left_behind(l, a) || (is_of_backward(l, a) && is_for_nobody(l, a, last[gm_lives_round(l, h->born[a])])))
            c->failed |= !gm_set_add(&set, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0);
        else if (is_for_nobody(l, a, last[gm_lives_round(l, h->born[a])]))
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

static bool is_gradient(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_GRADIENT) && is_of_backward(l, a);
}

/* The most bytes of gradients at a time; 0 if there is never more than one. */
static uint64_t all_gradients(const struct gm_lives *l)
{
    const struct gm_history *h = l->h;
    uint64_t now = 0, most = 0;
    size_t count = 0, blocks = 0;
    for (uint32_t e = 0; e < h->count; e++) {
        const uint32_t a = h->of_event[e];
        if (a == GM_NEVER || !is_gradient(l, a))
            continue;
        if (h->born[a] == e + 1) {
            now += h->requested[a];
            count++;
        } else if (h->freed[a] == e + 1) {
            now -= now < h->requested[a] ? now : h->requested[a];
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

/* As large as all gradients together: one vector, or the buckets of DistributedDataParallel. */
static bool is_bucket(const struct gm_lives *l, size_t a, uint64_t gradients)
{
    return gm_lives_at_peak(l, a) && !is_gradient(l, a) &&
           (gm_lives_is_role(l, a, GM_ROLE_COMMUNICATION) || is_near(l->h->requested[a], gradients));
}

static void find_buckets(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    const uint64_t gradients = all_gradients(l);
    struct gm_set buckets = {.v = NULL}, set = {.v = NULL};
    struct gm_blame blame = {.bytes = 0};
    uint64_t sum = 0;
    for (size_t a = 0; gradients >= GM_MIB && a < l->h->allocation_count; a++) {
        if (is_gradient(l, a))
            c->failed |= !gm_set_add(&set, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0);
        if (is_bucket(l, a, gradients)) {
            sum += l->h->requested[a];
            c->failed |= !gm_set_add(&buckets, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0);
        }
    }
    c->failed |= buckets.n > 0 && !gm_lives_blame(c->lives, &buckets, &blame);
    if (sum == 0 || !is_near(sum, gradients))
        set.n = buckets.n = 0;
    for (size_t i = 0; i < buckets.n; i++) /* they are no data */
        gm_lives_take(c->lives, buckets.v[i].allocation);
    free(buckets.v);
    struct gm_finding *f =
        gm_case_accuse(c, rule, &set, false, "a buffer as large as all gradients together is there beside them");
    if (f != NULL)
        f->site = blame.site;
}

/* ---- create_graph ------------------------------------------------------------------------------------------------ */

/* By autograd itself, not by a line of the program that merely comes after it. */
static bool is_of_engine(const struct gm_lives *l, size_t a)
{
    const bool has_no_python = l->h->stack[a] <= GM_STACK_EMPTY || (gm_lives_by(l, a) & GM_BY_NOBODY) != 0;
    return is_of_backward(l, a) && (has_no_python || (gm_lives_by(l, a) & GM_BY_BACKWARD) != 0);
}

static void find_second_graph(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    const struct gm_history *h = l->h;
    uint32_t *ends = ends_of_backward(l);
    struct sizes parameters = {.v = NULL};
    struct gm_set set = {.v = NULL};
    uint64_t kept = 0, gradients = 0;
    c->failed |= ends == NULL || !sizes_of_parameters(&parameters, l);
    for (size_t a = 0; !c->failed && a < h->allocation_count; a++) {
        if (!is_of_engine(l, a) || h->freed[a] <= ends[gm_lives_round(l, h->born[a])] || l->taken[a] ||
            gm_lives_is_role(l, a, GM_ROLE_PARAMETER) || gm_lives_is_role(l, a, GM_ROLE_WORKSPACE))
            continue;
        if (has_size(&parameters, h->requested[a])) {
            gradients += h->requested[a];
        } else {
            kept += h->requested[a];
            c->failed |= !gm_set_add(&set, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0);
        }
    }
    free(ends);
    free(parameters.v);
    if (kept < gradients / 4)
        set.n = 0;
    gm_case_accuse_backward(
        c, rule, &set, set.n > 0 ? h->born[set.v[0].allocation] : 0,
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
        const uint32_t a = l->h->of_event[e];
        if (a == GM_NEVER || l->h->born[a] != e + 1 || is_of_backward(l, a) || (gm_lives_by(l, a) & GM_BY_LOOKUP) == 0)
            continue;
        const uint32_t now = gm_lives_round(l, e + 1);
        sum = now == round ? sum + l->h->requested[a] : l->h->requested[a];
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
        if (l->h->requested[a] == bytes && gm_lives_is_role(l, a, GM_ROLE_OPTIMIZER_STATE))
            return false;
        is_there |= l->h->requested[a] == bytes && !is_of_backward(l, a) && gm_lives_is_lasting(l, a) &&
                    !gm_lives_is_role(l, a, GM_ROLE_WORKSPACE);
    }
    return is_there;
}

static void find_tables(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    const uint64_t rows = looked_up(l);
    struct gm_set set = {.v = NULL};
    struct gm_blame blame = {.bytes = 0};
    struct gm_set lookups = {.v = NULL};
    for (size_t a = 0; rows > 0 && !c->failed && a < l->h->allocation_count; a++) {
        const uint64_t size = l->h->requested[a];
        if ((gm_lives_by(l, a) & GM_BY_LOOKUP) != 0 && l->h->born[a] > 0 && !is_of_backward(l, a))
            c->failed |= !gm_set_add(&lookups, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0);
        if (is_of_backward(l, a) && size / TABLE_PER_LOOKUP >= rows && gm_is_share(size, l->at_peak, 0.05) &&
            is_table(l, size))
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
     .when = "gradients of the first backward pass are never freed, while others are made in later rounds, too, and "
             "hold 2 % of the peak",
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
     .when = "a gradient is at least 8 times what lookups in tables make in a round, and 5 % of the peak, and no "
             "optimizer keeps states of its size",
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
             "holds 1 % of the peak",
     .what_to_do = "`loss.backward()` without `create_graph=True`"},
};
const struct gm_theme gm_theme_gradients = GM_THEME(rules);
