/* SPDX-License-Identifier: Apache-2.0
 *
 * What is set up before the first round: sets of weights that are there twice, data that need not be on the device.
 */
#include "analyze/base/order.h"
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

#include <stdlib.h>
#include <string.h>

/* One allocation of a set: what one line of code made before the first round, and is there at the peak. */
struct member {
    const char *site;
    uint64_t bytes, address;
    uint32_t allocation, born;
    unsigned by;
    size_t shared; /* frames, with the one that was made before: add_call */
    bool goes;     /* it is freed later, for good */
    bool has_copy; /* the part that begins with it: collect_twice */
};
struct members GM_VEC(struct member);

GM_ORDERING(by_site, struct member, GM_BY(strcmp(a->site, b->site)) || GM_DOWN(bytes) || GM_UP(allocation));

static bool is_copied(const struct gm_lives *l, size_t a)
{
    return (gm_lives_by(l, a) & GM_BY_COPYING) != 0;
}

/* Large enough to be looked at by itself. */
static bool is_member(const struct gm_lives *l, size_t a)
{
    return gm_requested(l->h, a) >= l->at_peak / 5000;
}

/* By a line of the program, in the first round or before it; copies are made at any time. */
static bool is_of_start(const struct gm_lives *l, size_t a)
{
    return !l->taken[a] && gm_lives_at_peak(l, a) && is_member(l, a) &&
           (gm_lives_by(l, a) & (GM_BY_NOBODY | GM_BY_OPTIMIZER)) == 0 &&
           (gm_lives_is_early(l, l->h->born[a]) || is_copied(l, a));
}

/* Whether it is made of what was read or set up, and given up before the first forward pass is over. */
static bool is_passing(const struct gm_lives *l, size_t a)
{
    return l->h->born[a] > 0 && l->h->born[a] <= l->first_forward && !gm_lives_is_left(l, a) &&
           (gm_lives_by(l, a) & GM_BY_MODULE) == 0;
}

static bool is_set_up(const struct gm_lives *l, size_t a)
{
    const uint8_t role = l->role[a];
    return is_of_start(l, a) &&
           (role == GM_ROLE_PARAMETER || role == GM_ROLE_OPTIMIZER_STATE || role == GM_ROLE_INPUT ||
            role == GM_ROLE_KV_CACHE || is_copied(l, a) || is_passing(l, a));
}

/* Whether its stack makes as many in a later round: that is no set-up. */
static bool is_made_again(const struct gm_lives *l, const struct gm_roster *roster, size_t a)
{
    const uint32_t end = roster->first[gm_lives_stack(l, a) + 1];
    return end > roster->first[gm_lives_stack(l, a)] &&
           gm_lives_round_of(l, roster->v[end - 1]) > gm_lives_round_of(l, a);
}

/* `is_wanted`: only what is there at the peak. */
static struct members list_members(struct gm_case *c, bool (*is_wanted)(const struct gm_lives *, size_t))
{
    struct gm_lives *l = c->lives;
    const struct gm_roster *roster = l->roster;
    struct members found = {.v = NULL};
    for (size_t i = 0; i < l->there.n; i++) {
        const size_t a = l->there.v[i];
        if (!is_wanted(l, a))
            continue;
        const bool goes = !gm_lives_is_left(l, a), is_again = goes && is_made_again(l, roster, a);
        if (is_again && !is_copied(l, a))
            continue;
        c->failed |=
            !GM_VEC_PUSH(&found, ((struct member){gm_lives_site(l, gm_lives_stack(l, a)), gm_requested(l->h, a),
                                                  gm_history_address(l->h, a), (uint32_t)a, l->h->born[a],
                                                  gm_lives_by(l, a), 0, goes && !is_again, false}));
    }
    GM_SORT(found.v, found.n, by_site);
    return found;
}

/* members[from, to) of one line. */
struct part {
    size_t from, to;
    uint64_t bytes;
    uint64_t lowest;     /* address */
    uint32_t born, last; /* of its first and of its last */
    unsigned by;
    bool goes;
};

static struct part part_at(const struct members *m, size_t from)
{
    struct part part = {.from = from, .to = from, .born = GM_NEVER, .lowest = UINT64_MAX};
    for (; part.to < m->n && strcmp(m->v[part.to].site, m->v[from].site) == 0; part.to++) {
        const struct member *row = &m->v[part.to];
        part.bytes += row->bytes;
        part.lowest = gm_min(part.lowest, row->address);
        part.born = row->born < part.born ? row->born : part.born;
        part.last = row->born > part.last ? row->born : part.last;
        part.by |= row->by;
        part.goes |= row->goes;
    }
    return part;
}

/* Tensor by tensor the same sizes, or all of them half, twice, a quarter or four times as large; what copies may have
 * done so several times. */
static bool are_alike(const struct members *m, const struct part *a, const struct part *b)
{
    const size_t n = a->to - a->from, others = b->to - b->from, times = n / others;
    const double ratio = (double)a->bytes / (double)(b->bytes * times);
    size_t same = 0;
    if ((others < 2 && ((a->by ^ b->by) & GM_BY_COPYING) == 0) || n != times * others ||
        (times > 1 && ((a->by & ~b->by) & GM_BY_COPYING) == 0) ||
        (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 0.5 && ratio != 0.25))
        return false;
    for (size_t i = 0; i < n; i++)
        same += (double)m->v[a->from + i].bytes == ratio * (double)m->v[b->from + i / times].bytes;
    return n > 0 && same == n;
}

/* Whether it was made first; of what is older than the trace addresses tell. */
static bool is_earlier(uint32_t born, uint64_t address, const struct part *other)
{
    return born != other->born ? born < other->born : born == 0 && address < other->lowest;
}

/* What was given up, or is of another type: the model's own copy is the later one. */
static bool is_of_file(const struct gm_lives *l, const struct part *a, const struct part *b)
{
    return ((a->by | b->by) & GM_BY_COPYING) == 0 && ((!l->has_backward && a->bytes != b->bytes) || a->goes || b->goes);
}

/* Whether its line wraps a model for communication, too: that one is trained. */
static bool is_wrapped(struct gm_lives *l, const struct members *m, const struct part *part)
{
    bool is = false;
    for (size_t a = 0; a < l->h->allocation_count && !is; a++)
        is = gm_lives_is_role(l, a, GM_ROLE_COMMUNICATION) &&
             strcmp(gm_lives_site(l, gm_lives_stack(l, a)), m->v[part->from].site) == 0;
    return is;
}

/* The one of two that need not be there. */
static const struct part *spare(struct gm_lives *l, const struct members *m, const struct part *a, const struct part *b,
                                bool is_file)
{
    if (!is_file && ((a->by ^ b->by) & GM_BY_COPYING) != 0)
        return (a->by & GM_BY_COPYING) != 0 ? a : b;
    const struct part *later = is_earlier(a->born, a->lowest, b) ? b : a, *earlier = later == a ? b : a;
    return is_file || is_wrapped(l, m, later) ? earlier : later;
}

enum { LEAST_MADE = 3, PART_OF_ALL = 3 /* weights, with the copy: most of them are copied */ };

/* What a stack makes in the rounds: activations, anything. */
struct made {
    uint32_t kept, all;
};

/* Whether in most rounds in which the one stack makes something the other one does. */
static bool are_together(const struct gm_lives *l, uint32_t one, uint32_t other)
{
    size_t all = 0, both = 0;
    for (uint32_t r = 0; r <= l->rounds.n; r++)
        if (gm_roster_has(l, one, r)) {
            all++;
            both += gm_roster_has(l, other, r);
        }
    return 2 * both > all;
}

/* Whether the line that makes activations runs in the same rounds, called from elsewhere, as often without: a second
 * model has no graph. An evaluation comes between the rounds. */
static bool has_second_forward(struct gm_lives *l)
{
    const size_t stacks = l->snapshot->stacks.count;
    GM_FREED struct made *made = gm_lives_of_stacks(l, sizeof *made);
    bool is_found = false;
    if (made == NULL)
        return false;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (l->h->born[a] > 0 && !gm_lives_is_of_engine(l, a)) {
            made[gm_lives_stack(l, a)].all++;
            made[gm_lives_stack(l, a)].kept += gm_lives_is_role(l, a, GM_ROLE_ACTIVATION);
        }
    for (uint32_t s = 0; s < stacks; s++)
        for (uint32_t t = 0; made[s].kept >= LEAST_MADE && !is_found && t < stacks; t++)
            is_found = made[t].kept == 0 && made[t].all >= LEAST_MADE && made[t].all >= made[s].kept &&
                       gm_lives_is_line_elsewhere(l, s, t) && are_together(l, s, t);
    return is_found;
}

/* Training without an optimizer of PyTorch's keeps states of its own, as large as the weights. */
static bool may_be_states(struct gm_case *c)
{
    return (c->lives->by_any & GM_BY_OPTIMIZER) == 0 && c->lives->has_backward && !has_second_forward(c->lives);
}

GM_ORDERING(by_size, struct member, GM_DOWN(bytes));

static uint64_t sum_of(const struct members *m)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < m->n; i++)
        sum += m->v[i].bytes;
    return sum;
}

/* The bytes of what was read for which there is a weight each, so many times as large; `goes` marks it. */
static uint64_t match(struct members *read, const struct members *weights, double ratio)
{
    uint64_t matched = 0;
    for (size_t i = 0, k = 0; i < read->n; i++) {
        while (k < weights->n && (double)weights->v[k].bytes > ratio * (double)read->v[i].bytes)
            k++;
        read->v[i].goes = k < weights->n && (double)weights->v[k].bytes == ratio * (double)read->v[i].bytes;
        matched += read->v[i].goes ? read->v[i].bytes : 0;
        k += read->v[i].goes;
    }
    return matched;
}

/* Whether a part has the sizes of most other weights, which were made before it. */
static bool is_like_all_others(struct gm_case *c, const struct members *m, const struct part *a)
{
    GM_FREED struct members own = {.v = NULL}, others = {.v = NULL};
    for (size_t i = 0; i < m->n; i++) {
        const bool is_own = i >= a->from && i < a->to;
        if (is_own || (is_earlier(m->v[i].born, m->v[i].address, a) &&
                       gm_lives_is_role(c->lives, m->v[i].allocation, GM_ROLE_PARAMETER)))
            c->failed |= !GM_VEC_PUSH(is_own ? &own : &others, m->v[i]);
    }
    GM_SORT(own.v, own.n, by_size);
    GM_SORT(others.v, others.n, by_size);
    const double alike = own.n < 2 ? 0 : (double)match(&own, &others, 1), all = (double)sum_of(&others);
    return alike >= 0.9 * (double)a->bytes && alike >= 0.8 * all && all > 0;
}

GM_ORDERING(by_birth, struct member, GM_UP(allocation));

/* What a call of the program made from m[from] on that did not make the one before: all calls may make it at the same
 * lines, as of a function that builds a model. By birth; m[i].shared with the one before; so many frames deep. */
static struct part call_at(const struct members *m, size_t from, size_t depth)
{
    struct part part = {.from = from, .to = from, .born = m->v[from].born, .lowest = m->v[from].address};
    do {
        part.bytes += m->v[part.to].bytes;
        part.by |= m->v[part.to].by;
        part.to++;
    } while (part.to < m->n && m->v[part.to].shared >= depth);
    return part;
}

/* Whether gradients are as many as weights of its sizes, its own among them: no copy of what is trained. */
static bool is_trained_beside(const struct gm_lives *l, const struct members *m, const struct part *a,
                              struct gm_sizes *gradients)
{
    uint64_t trained = 0;
    gm_sizes_begin_anew(gradients);
    for (size_t i = 0; i < m->n; i++)
        if ((i < a->from || i >= a->to) && gm_lives_is_role(l, m->v[i].allocation, GM_ROLE_PARAMETER))
            gm_sizes_has_another(gradients, m->v[i].bytes);
    for (size_t i = a->from; i < a->to; i++)
        trained += gm_sizes_has_another(gradients, m->v[i].bytes) ? m->v[i].bytes : 0;
    return trained > a->bytes / 2;
}

/* Whether something that was read from a file is there when it is made: of that, most likely. */
static bool is_of_read(const struct gm_lives *l, const struct part *a)
{
    bool is = false;
    for (size_t i = 0; (l->by_any & GM_BY_LOADING) != 0 && i < l->h->allocation_count && !is; i++)
        is = (gm_lives_by(l, i) & GM_BY_LOADING) != 0 && l->h->born[i] < a->born && l->h->freed[i] > a->born;
    return is;
}

GM_ORDERING(by_address, struct member, GM_UP(address));

/* Whether they are made by turns: of one layer after the other, and no copy of what was there. Of what is older than
 * the trace addresses tell: every second one or more is beside one of the other part. */
static bool are_by_turns(struct gm_case *c, const struct members *m, const struct part *a, const struct part *b)
{
    if (a->last > 0 || b->last > 0)
        return a->born < b->last && b->born < a->last;
    GM_FREED struct members both = {.v = NULL};
    size_t turns = 0;
    for (size_t i = a->from; i < b->to; i = i + 1 == a->to ? b->from : i + 1)
        c->failed |= !GM_VEC_PUSH(&both, m->v[i]);
    GM_SORT(both.v, both.n, by_address);
    for (size_t i = 1; i < both.n; i++)
        turns += strcmp(both.v[i].site, both.v[i - 1].site) != 0;
    return turns > 1 && 2 * turns >= both.n;
}

/* Of what the line of a part made and is there to the end, what is too small to be a member. */
static void drop_small(struct gm_lives *l, const char *site, struct gm_set *set)
{
    for (size_t i = 0; i < l->there.n; i++) {
        const size_t a = l->there.v[i];
        if (!is_member(l, a) && l->h->born[a] > 0 && !l->taken[a] && gm_lives_is_left(l, a) &&
            strcmp(gm_lives_site(l, gm_lives_stack(l, a)), site) == 0)
            gm_set_drop(set, a);
    }
}

/* What copies again and again, or lets go what its line makes again later, wherever that is called from, leaves out all
 * of them. */
static void drop_part(struct gm_lives *l, const struct members *m, const struct part *part, struct gm_set *set)
{
    bool is_again = (part->by & GM_BY_COPYING) != 0;
    for (size_t i = part->from; i < part->to; i++) {
        gm_set_drop(set, m->v[i].allocation);
        is_again |= !gm_lives_is_left(l, m->v[i].allocation);
    }
    if (!is_again)
        drop_small(l, m->v[part->from].site, set);
    for (size_t a = 0; is_again && a < l->h->allocation_count; a++)
        if (!is_set_up(l, a) && strcmp(gm_lives_site(l, gm_lives_stack(l, a)), m->v[part->from].site) == 0)
            gm_set_drop(set, a);
}

/* What the program makes of what was read, before the first forward pass, would be where that is. */
static void add_made_of_file(const struct gm_lives *l, struct gm_set *set)
{
    uint32_t read = GM_NEVER;
    for (size_t i = 0; i < set->n; i++)
        if ((gm_lives_by(l, set->v[i].allocation) & GM_BY_LOADING) != 0 && l->h->born[set->v[i].allocation] < read)
            read = l->h->born[set->v[i].allocation];
    for (size_t a = 0; read != GM_NEVER && a < l->h->allocation_count; a++)
        if (l->h->born[a] > read && is_passing(l, a) &&
            (gm_lives_by(l, a) & (GM_BY_NOBODY | GM_BY_OPTIMIZER | GM_BY_LOADING)) == 0)
            gm_set_drop(set, a);
}

/* What was read from files and lies there at the peak, and all weights that were not: what is there before anything is
 * read are no states, though it may look like them. */
static struct members list_weights(struct gm_case *c, bool is_read)
{
    const struct gm_lives *l = c->lives;
    struct members found = {.v = NULL};
    uint32_t read = GM_NEVER;
    for (size_t a = 0; (l->by_any & GM_BY_LOADING) != 0 && a < l->h->allocation_count; a++)
        if ((gm_lives_by(l, a) & GM_BY_LOADING) != 0 && l->h->born[a] < read)
            read = l->h->born[a];
    for (size_t a = 0; (l->by_any & GM_BY_LOADING) != 0 && a < l->h->allocation_count; a++) {
        const unsigned by = gm_lives_by(l, a);
        const bool is_weight = /* modules may copy their layers */
            (by & (GM_BY_NOBODY | GM_BY_OPTIMIZER)) == 0 && (by & (GM_BY_COPYING | GM_BY_LAYER)) != GM_BY_COPYING &&
            (gm_lives_is_role(l, a, GM_ROLE_PARAMETER) ||
             (gm_lives_is_role(l, a, GM_ROLE_OPTIMIZER_STATE) && l->h->born[a] > 0 && l->h->born[a] < read));
        if (((by & GM_BY_LOADING) != 0) == is_read && (is_read || is_weight) && gm_lives_at_peak(l, a) &&
            gm_requested(l->h, a) >= l->at_peak / 100000)
            c->failed |=
                !GM_VEC_PUSH(&found, ((struct member){.bytes = gm_requested(l->h, a), .allocation = (uint32_t)a}));
    }
    GM_SORT(found.v, found.n, by_size);
    return found;
}

/* Whether what was read beside weights may be states that an optimizer works with: it has made none itself. */
static bool may_be_read_states(const struct gm_lives *l)
{
    bool has_own = !l->has_optimizer;
    for (size_t a = 0; a < l->h->allocation_count && !has_own; a++)
        has_own = gm_lives_is_role(l, a, GM_ROLE_OPTIMIZER_STATE) && (gm_lives_by(l, a) & GM_BY_LOADING) == 0 &&
                  gm_lives_at_peak(l, a) && gm_requested(l->h, a) >= l->at_peak / 5000;
    return !has_own;
}

/* What was read from files, if most of it has its like among the weights that were not, or most of those among it, or
 * both are as large (some layers lay theirs out anew). */
static void collect_read(struct gm_case *c, struct gm_set *set)
{
    static const double ratios[] = {1, 2, 0.5, 4, 0.25};
    GM_FREED struct members read = list_weights(c, true), weights = list_weights(c, false);
    const double all = (double)sum_of(&read), model = (double)sum_of(&weights);
    bool is_found = false;
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios && read.n > 1 && model > 0 && !is_found; i++) {
        const double matched = (double)match(&read, &weights, ratios[i]), whole = all * ratios[i];
        is_found = matched >= 0.8 * all || matched * ratios[i] >= 0.8 * model ||
                   (whole >= 0.98 * model && whole <= 1.02 * model);
        for (size_t k = 0; k < read.n && is_found && (whole <= 1.02 * model || !may_be_read_states(c->lives)); k++)
            read.v[k].goes = true;
    }
    for (size_t i = 0; i < read.n && is_found; i++)
        if (read.v[i].goes)
            gm_set_drop(set, read.v[i].allocation);
}

/* What a set that is there beside one of the same sizes may be. */
enum twice { OF_FILE, SECOND_COPY, OWN_STATES };

static bool is_state(const struct gm_case *c, const struct members *m, const struct part *part, bool may_be_own)
{
    const size_t a = m->v[part->from].allocation;
    return may_be_own || ((part->by & GM_BY_LOADING) != 0 && may_be_read_states(c->lives)) ||
           (!gm_lives_is_by_torch(c->lives, a) && gm_lives_is_beside_step(c->lives, gm_lives_stack(c->lives, a)));
}

static enum twice twice_of(const struct gm_case *c, const struct members *m, const struct part *part, bool is_file,
                           bool may_be_own)
{
    return is_file ? OF_FILE : is_state(c, m, part, may_be_own) ? OWN_STATES : SECOND_COPY;
}

/* A part that is as all weights were by then. */
static void add_if_spare(struct gm_case *c, const struct members *m, const struct part *a, enum twice wanted,
                         bool may_be_own, struct gm_sizes *gradients, struct gm_set *set)
{
    if (wanted == twice_of(c, m, a, is_of_read(c->lives, a), may_be_own) && is_like_all_others(c, m, a) &&
        !is_trained_beside(c->lives, m, a, gradients) && !is_wrapped(c->lives, m, a))
        drop_part(c->lives, m, a, set);
}

/* Whether it has the sizes of most that is trained. */
static bool is_like_trained(const struct members *m, const struct part *a, struct gm_sizes *gradients)
{
    uint64_t all = 0, alike = 0;
    gm_sizes_begin_anew(gradients);
    for (size_t i = 0; i < gradients->n; i++)
        all += gradients->v[i].bytes * gradients->v[i].there;
    for (size_t i = a->from; i < a->to; i++)
        alike += gm_sizes_has_another(gradients, m->v[i].bytes) ? m->v[i].bytes : 0;
    return gm_is_share(alike, all, 0.8) && gm_is_share(alike, a->bytes, 0.9);
}

/* What one call made that is as all weights were by then, and as what is trained. Returns its line, and where it parts
 * from what was made before; NULL: there is none. */
static const char *add_call(struct gm_case *c, struct members *m, enum twice wanted, bool may_be_own,
                            struct gm_sizes *gradients, struct gm_set *set)
{
    struct gm_lives *l = c->lives;
    uint32_t last = GM_STACK_EMPTY;
    GM_SORT(m->v, m->n, by_birth);
    for (size_t i = 0; i < m->n; i++) {
        const uint32_t stack = gm_lives_stack(l, m->v[i].allocation);
        m->v[i].shared = gm_lives_shared(l, last, stack);
        last = stack;
    }
    for (size_t i = 1; i < m->n; i++) {
        const uint32_t stack = gm_lives_stack(l, m->v[i].allocation);
        const size_t depth = gm_lives_shared(l, stack, stack);
        for (size_t d = m->v[i].shared + 1; d <= depth && set->n == 0; d++) {
            const struct part a = call_at(m, i, d);
            if (is_like_trained(m, &a, gradients))
                add_if_spare(c, m, &a, wanted, may_be_own, gradients, set);
        }
        if (set->n > 0)
            return gm_lives_parting(l, stack, gm_lives_stack(l, m->v[i - 1].allocation));
    }
    return NULL;
}

/* `*site`: left alone where the line of most of them tells. */
static void collect_twice(struct gm_case *c, enum twice wanted, struct gm_set *set, const char **site)
{
    GM_FREED struct members m = list_members(c, is_set_up);
    GM_FREED struct gm_sizes gradients = {.v = NULL};
    const bool may_be_own = may_be_states(c);
    bool is_copied_by_name = false;
    struct gm_blame blame;
    uint64_t all = 0;
    gm_sizes_of_first_gradients(&gradients, c->lives);
    for (size_t i = 0; i < m.n;) {
        const struct part a = part_at(&m, i);
        for (size_t k = a.to; k < m.n;) {
            const struct part b = part_at(&m, k);
            const bool is_file = is_of_file(c->lives, &a, &b), is_copy = ((a.by | b.by) & GM_BY_COPYING) != 0;
            const bool are_same = (are_alike(&m, &a, &b) || are_alike(&m, &b, &a)) && !are_by_turns(c, &m, &a, &b);
            const struct part *left = are_same ? spare(c->lives, &m, &a, &b, is_file) : NULL;
            if (are_same && (is_copy || !a.goes || !b.goes) &&
                wanted == (is_copy && !is_file ? SECOND_COPY : twice_of(c, &m, left, is_file, may_be_own)) &&
                (is_file || is_copy || !is_trained_beside(c->lives, &m, left, &gradients))) {
                drop_part(c->lives, &m, left, set);
                m.v[left == &a ? b.from : a.from].has_copy |= is_copy;
                is_copied_by_name |= is_copy || is_file;
            }
            k = b.to;
        }
        if (!m.v[a.from].has_copy) /* else the copy is the spare one, also if the model was cast and is the later one */
            add_if_spare(c, &m, &a, wanted, may_be_own, &gradients, set);
        i = a.to;
    }
    if (set->n == 0 && c->lives->has_backward)
        *site = add_call(c, &m, wanted, may_be_own, &gradients, set);
    for (size_t i = 0; i < m.n; i++)
        all += gm_lives_is_role(c->lives, m.v[i].allocation, GM_ROLE_PARAMETER) ? m.v[i].bytes : 0;
    gm_lives_blame(c->lives, set, &blame);
    if (!is_copied_by_name && blame.bytes < all / PART_OF_ALL)
        set->n = 0; /* layers of one size */
}

void gm_hand_states(struct gm_case *c, struct gm_set *set)
{
    if (may_be_states(c))
        collect_twice(c, OWN_STATES, set, &(const char *){NULL});
}

static void find_twice(struct gm_case *c, const struct gm_rule *rule, enum twice wanted, const char *evidence)
{
    struct gm_set set = {.v = NULL};
    const char *site = NULL;
    if (wanted == OF_FILE)
        collect_read(c, &set);
    if (set.n == 0)
        collect_twice(c, wanted, &set, &site);
    if (wanted == OF_FILE)
        add_made_of_file(c->lives, &set);
    struct gm_finding *f = gm_case_accuse(c, rule, &set, false, evidence);
    if (f != NULL && site != NULL)
        f->site = site;
}

static void find_checkpoint(struct gm_case *c, const struct gm_rule *rule)
{
    find_twice(c, rule, OF_FILE,
               "tensor by tensor they have the sizes of the model's weights, which lie beside them: what "
               "was read from a file is still on the device");
}

/* How many tensors that a backward pass needs are made before each event. NULL: no memory. */
static uint32_t *count_kept(const struct gm_lives *l)
{
    const struct gm_history *h = l->h;
    uint32_t *kept = gm_lives_scratch(l, h->count + 2, sizeof *kept);
    for (uint32_t e = 0; kept != NULL && e < h->count; e++) {
        const uint32_t a = gm_made_by(h, e);
        kept[e + 1] = kept[e] + (a != GM_NEVER && gm_lives_is_role(l, a, GM_ROLE_ACTIVATION) &&
                                 gm_lives_phase(l, h->freed[a] - 1) == GM_PHASE_BACKWARD);
    }
    return kept;
}

static bool is_parameter(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_PARAMETER);
}

/* Whether the program made it, other than in a forward pass, and not for good. */
static bool may_be_beside(const struct gm_lives *l, size_t a)
{
    return !l->taken[a] && l->h->born[a] > 0 && !is_parameter(l, a) &&
           (gm_lives_by(l, a) & (GM_BY_NOBODY | GM_BY_BACKWARD | GM_BY_OPTIMIZER | GM_BY_MODULE | GM_BY_LOADING)) ==
               0 &&
           !gm_lives_is_lasting(l, a);
}

/* The same, and a forward pass and a step run until it goes. */
static bool is_kept_beside(const struct gm_lives *l, const uint32_t *kept, size_t a)
{
    const struct gm_history *h = l->h;
    const uint32_t end = h->freed[a] < h->count ? h->freed[a] : (uint32_t)h->count;
    return may_be_beside(l, a) && kept[end] >= kept[h->born[a]] + LEAST_MADE &&
           (!l->has_optimizer || gm_lives_round(l, end) > gm_lives_round(l, h->born[a]) ||
            gm_lives_has_phase(l, h->born[a], end, GM_PHASE_OPTIMIZER));
}

/* What one stack makes while the run goes on, and keeps through a forward pass, and is at the peak tensor by tensor as
 * large as the weights: a backup, the best ones so far, those from before inner steps. Its line makes the next ones,
 * too, wherever it is called from. */
static void find_backup(struct gm_case *c, struct gm_set *set)
{
    struct gm_lives *l = c->lives;
    const size_t stacks = l->snapshot->stacks.count;
    const uint64_t weights = gm_lives_sum_at_peak(l, is_parameter);
    if (weights == 0 || gm_lives_sum_at_peak(l, may_be_beside) < weights - weights / 10)
        return;
    GM_FREED uint32_t *kept = count_kept(l);
    GM_FREED uint64_t *bytes = gm_lives_of_stacks(l, sizeof *bytes);
    GM_FREED struct gm_sizes sizes = {.v = NULL};
    gm_sizes_of_role(&sizes, l, GM_ROLE_PARAMETER);
    if (c->failed)
        return;
    for (size_t i = 0; i < l->there.n; i++) {
        const size_t a = l->there.v[i];
        bytes[gm_lives_stack(l, a)] += is_kept_beside(l, kept, a) ? gm_requested(l->h, a) : 0;
    }
    for (uint32_t s = 0; s < stacks; s++) {
        if (bytes[s] < weights - weights / 10 || gm_lives_is_beside_step(l, s))
            continue;
        uint64_t alike = 0;
        gm_sizes_begin_anew(&sizes);
        for (size_t a = 0; a < l->h->allocation_count; a++)
            if (gm_lives_stack(l, a) == s && gm_lives_at_peak(l, a) && is_kept_beside(l, kept, a) &&
                gm_sizes_has_another(&sizes, gm_requested(l->h, a)))
                alike += gm_requested(l->h, a);
        for (size_t a = 0; alike >= weights - weights / 10 && a < l->h->allocation_count; a++)
            if (l->h->born[a] > 0 &&
                (gm_lives_stack(l, a) == s ||
                 (is_kept_beside(l, kept, a) && gm_lives_is_line_elsewhere(l, s, gm_lives_stack(l, a)))))
                gm_set_drop(set, a);
    }
}

static void find_second_copy(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_set set = {.v = NULL};
    find_twice(c, rule, SECOND_COPY,
               "tensor by tensor they have the sizes of the model's weights, which lie beside them: an "
               "average, a teacher or a reference");
    if (c->lives->has_backward && gm_case_found(c, rule->id) == NULL)
        find_backup(c, &set);
    gm_case_accuse(c, rule, &set, false,
                   "tensor by tensor they have the sizes of the model's weights, which are trained beside them: a "
                   "backup, or the best ones so far");
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

enum {
    LEAST_READS = 3,  /* rounds, where nothing is trained */
    FEW = 4,          /* tensors of a line: most of them have to be large */
    STATES = 8,       /* of a weight, at most, that one line makes */
    LEAST_LAYERS = 3, /* that a line makes weights for, */
    OF_LAYER = 4      /* at most so many for each */
};

/* What the program makes before it trains anything, for as long as it runs, and no module, optimizer or copy of
 * weights. What outlives all of a run that is over looks like an activation. */
static bool is_of_program(const struct gm_lives *l, size_t a)
{
    const uint8_t role = l->role[a];
    return !l->taken[a] && gm_lives_at_peak(l, a) && gm_lives_is_left(l, a) && l->h->born[a] <= l->first_backward &&
           gm_requested(l->h, a) >= l->at_peak / 5000 &&
           (gm_lives_by(l, a) & (GM_BY_NOBODY | GM_BY_OPTIMIZER | GM_BY_MODULE | GM_BY_LAYER)) == 0 &&
           role != GM_ROLE_GRADIENT && role != GM_ROLE_WORKSPACE && role != GM_ROLE_COMMUNICATION;
}

/* The largest thing that a round makes and gives up: data of which a step takes a part are larger. */
static uint64_t largest_of_rounds(const struct gm_lives *l)
{
    uint64_t largest = 0;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (gm_requested(l->h, a) > largest && l->h->freed[a] != GM_NEVER && !gm_lives_is_of_engine(l, a) &&
            !gm_lives_is_role(l, a, GM_ROLE_WORKSPACE) &&
            (gm_lives_round(l, l->h->born[a]) > 0 || gm_lives_is_role(l, a, GM_ROLE_ACTIVATION)))
            largest = gm_requested(l->h, a);
    return largest;
}

/* Of which nobody knows who made it, before the trace, and which is there to the end: as large as a weight, it is its
 * gradient or state. */
static bool is_older_of_nobody(const struct gm_lives *l, size_t a)
{
    return l->h->born[a] == 0 && gm_lives_is_left(l, a) && gm_lives_stack(l, a) <= GM_STACK_EMPTY;
}

static size_t common_divisor(size_t a, size_t b)
{
    for (size_t rest; b > 0; a = b, b = rest)
        rest = a % b;
    return a;
}

/* Whether there are so many of one size for each of the layers that run from then on to the first backward pass:
 * weights that are not trained. */
static bool are_of_layers(const struct gm_lives *l, size_t n, uint32_t since)
{
    GM_FREED struct {
        size_t count;
        uint64_t bytes;
    } *made = gm_lives_of_stacks(l, sizeof *made);
    uint64_t all = 0, of_layers = 0;
    if (made == NULL)
        return false;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (l->h->born[a] > since && l->h->born[a] <= l->first_backward &&
            gm_lives_round(l, l->h->born[a]) == gm_lives_round(l, l->first_backward)) {
            made[gm_lives_stack(l, a)].count++;
            made[gm_lives_stack(l, a)].bytes += gm_requested(l->h, a);
        }
    for (size_t i = 0; i < l->snapshot->stacks.count; i++) {
        const size_t layers = common_divisor(n, made[i].count);
        all += made[i].bytes;
        of_layers += made[i].count > 0 && layers >= LEAST_LAYERS && n / layers <= OF_LAYER ? made[i].bytes : 0;
    }
    return of_layers > all / 2;
}

/* How often the program looks up rows of a table by hand before the first backward pass, in its round: such tables may
 * have sparse gradients, which are as large as what was looked up. */
static size_t lookups(const struct gm_lives *l)
{
    size_t n = 0;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        n += (gm_lives_by(l, a) & (GM_BY_LOOKUP | GM_BY_LAYER)) == GM_BY_LOOKUP && l->h->born[a] <= l->first_backward &&
             gm_lives_round(l, l->h->born[a]) == gm_lives_round(l, l->first_backward);
    return n;
}

/* Whether it is one tensor with room for all weights: a flat copy. */
static bool is_flat(const struct gm_lives *l, const struct member *one)
{
    uint64_t weights = 0;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        weights += a != one->allocation && gm_lives_is_role(l, a, GM_ROLE_PARAMETER) && gm_lives_at_peak(l, a)
                       ? gm_requested(l->h, a)
                       : 0;
    return one->bytes >= weights - weights / 50 && one->bytes <= weights + weights / 50;
}

/* What one line made: many, or some that are larger than all that is made of them (else all of it is read at once, as a
 * graph is); weights have gradients (of one round: `gradients`), and their states, which may be of twice as many bits,
 * and are as many as layers. */
static bool are_data(const struct gm_lives *l, const struct members *m, const struct part *part,
                     struct gm_sizes *gradients, struct gm_sizes *older, uint64_t of_rounds)
{
    const size_t n = part->to - part->from;
    size_t most = 0, same = 0;
    uint64_t trained = 0, large = 0, largest = 0;
    if (!gm_is_share(part->bytes, l->at_peak, 0.05) || (n == 1 && is_flat(l, &m->v[part->from])) || n <= lookups(l) ||
        (n >= FEW && part->last == 0 && gm_lives_is_role(l, m->v[part->from].allocation, GM_ROLE_PARAMETER)))
        return false; /* nor of older weights, of the layers of which the trace may have a part only */
    gm_sizes_begin_anew(gradients);
    gm_sizes_begin_anew(older);
    for (size_t i = part->from; i < part->to; i++) {
        trained += gm_sizes_has_another(gradients, m->v[i].bytes) ||
                           gm_sizes_has_another(gradients, m->v[i].bytes / 2) ||
                           gm_sizes_has_another(older, m->v[i].bytes)
                       ? m->v[i].bytes
                       : 0;
        large += m->v[i].bytes > of_rounds ? m->v[i].bytes : 0;
        largest = gm_max(largest, m->v[i].bytes);
        same = i > part->from && m->v[i].bytes == m->v[i - 1].bytes ? same + 1 : 1;
        most = same > most ? same : most;
    }
    return trained < part->bytes / STATES &&
           (large > part->bytes / 2 || (n >= FEW && largest <= part->bytes / 2 && !are_of_layers(l, most, part->last)));
}

/* Where nothing is trained: one tensor, not fields that take turns, from before the first round, half of the peak, but
 * for weights, and larger than what a round makes. */
static bool is_one_store(const struct gm_lives *l, const struct members *m, const struct part *part, uint64_t of_rounds)
{
    const struct member *one = &m->v[part->from];
    const uint64_t weights = is_parameter(l, one->allocation) ? 0 : gm_lives_sum_at_peak(l, is_parameter);
    return part->to == part->from + 1 && gm_lives_round(l, one->born) == 0 && one->bytes > of_rounds &&
           gm_is_share(one->bytes, l->at_peak - weights, 0.5) &&
           !gm_lives_is_role(l, one->allocation, GM_ROLE_KV_CACHE) &&
           (one->by & (GM_BY_LOADING | GM_BY_COPYING | GM_BY_MOVING)) == 0;
}

/* What a model made before the program trains anything, and is there to the end. */
static bool is_made_once(const struct gm_lives *l, size_t a)
{
    return !l->taken[a] && gm_lives_at_peak(l, a) && gm_lives_is_left(l, a) && l->h->born[a] > 0 &&
           l->h->born[a] <= l->first_backward && gm_requested(l->h, a) >= l->at_peak / 5000 &&
           (gm_lives_by(l, a) & GM_BY_MODULE) != 0 && !gm_lives_is_of_weights(l, a) &&
           !gm_lives_is_role(l, a, GM_ROLE_WORKSPACE) && !gm_is_private_pool(l->h, gm_pool_number(l->h, (uint32_t)a));
}

/* Whether the program, not a checkpoint, still calls a model when it trains, and not by that line. */
static bool is_called_once(const struct gm_lives *l, uint64_t call)
{
    bool has_others = false;
    for (uint32_t e = gm_next_made(l->h, l->first_backward); e < l->h->count; e = gm_next_made(l->h, e + 1)) {
        const uint32_t a = gm_made_by(l->h, e);
        const uint64_t other = gm_lives_module_call(l, gm_lives_stack(l, a), 1);
        if (other == call)
            return false;
        has_others |= other != 0 && (gm_lives_by(l, a) & GM_BY_RECOMPUTE) == 0;
    }
    return has_others;
}

/* [gm_stack_id] Lines of a model of whose making in training something is there to the end, too: a hook, or a list, has
 * all of it. NULL: no memory. */
static bool *lines_that_leave(struct gm_lives *l)
{
    bool *leave = gm_lives_of_stacks(l, sizeof *leave);
    for (size_t a = 0; leave != NULL && a < l->h->allocation_count; a++)
        if (l->h->born[a] > l->first_backward && (gm_lives_by(l, a) & GM_BY_MODULE) != 0 && gm_lives_is_left(l, a) &&
            !gm_lives_is_of_weights(l, a))
            leave[gm_lives_stack(l, a)] = true;
    if (leave != NULL)
        gm_lives_mark_lines(l, leave);
    return leave;
}

/* Features of a line that calls a model before the loop: most likely something smaller was made of them. */
static void find_features_before(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    struct gm_rule of_features = *rule;
    uint64_t last = 0;
    bool is_once = false;
    GM_FREED bool *leave = lines_that_leave(c->lives);
    for (size_t a = 0; leave != NULL && a < l->h->allocation_count; a++) {
        const uint64_t call = is_made_once(l, a) ? gm_lives_module_call(l, gm_lives_stack(l, a), 1) : 0;
        is_once = call == last ? is_once : call != 0 && is_called_once(l, call);
        last = call;
        if (call != 0 && is_once && !leave[gm_lives_stack(l, a)])
            gm_set_drop(&set, a);
    }
    if (!gm_is_share(gm_set_at_peak(l, &set), l->at_peak, 0.05))
        set.n = 0;
    of_features.title = "What a model made before the first step stays for the whole run";
    of_features.brief = "del what is not read later";
    of_features.fix = "Let go of them when what the steps read has been made of them, or keep them on the host";
    of_features.snippet = "  targets = summary(features)\n"
                          "+ del features";
    of_features.cost = "none, or a copy where a step reads it";
    const char *caller = gm_lives_caller(c->lives, &set, true);
    struct gm_finding *f = gm_case_accuse(c, &of_features, &set, false,
                                          "a line that calls a model before the first step, and never again, made "
                                          "them, and they are there to the end");
    if (f != NULL && caller != NULL)
        f->site = caller;
}

static void find_data(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    GM_FREED struct gm_sizes gradients = {.v = NULL}, older = {.v = NULL};
    if (!l->has_backward && (c->has_oom || l->rounds.n < LEAST_READS))
        return;
    if (l->has_backward && gm_case_may_accuse(c, is_made_once))
        find_features_before(c, rule);
    if (!gm_case_may_accuse(c, is_of_program))
        return;
    GM_FREED struct members m = list_members(c, is_of_program);
    const uint64_t of_rounds = largest_of_rounds(l);
    gm_sizes_of_first_gradients(&gradients, l);
    gm_sizes_of_those(&older, l, is_older_of_nobody);
    for (size_t i = 0; i < m.n;) {
        const struct part part = part_at(&m, i);
        const bool may_be = l->has_backward || is_one_store(l, &m, &part, of_rounds);
        for (const bool are = may_be && are_data(l, &m, &part, &gradients, &older, of_rounds) &&
                              !gm_case_is_dealt(c, m.v[part.from].site) &&
                              !is_made_again(l, l->roster, m.v[part.from].allocation);
             i < part.to; i++)
            if (are)
                gm_set_drop(&set, m.v[i].allocation);
    }
    struct gm_finding *f = gm_case_accuse(
        c, rule, &set, false,
        l->has_backward ? "tensors that are there from before the first step to the end, have no gradients and "
                          "are no weights: data"
                        : "one tensor, larger than all that a round makes, is there from before "
                          "the first round to the end: data, if a round reads a part of it");
    if (!l->has_backward)
        gm_case_is_choice(f);
}

static const struct gm_rule rules[] = {
    {.id = "checkpoint-beside-model",
     .title = "A checkpoint lies on the device beside the model that it was read into",
     .find_in_lives = find_checkpoint,
     .brief = "map_location=\"cpu\"",
     .fix = "torch.load(path, map_location=\"cpu\", mmap=True), then load_state_dict, then del what was read",
     .snippet = "- state = torch.load(path)\n"
                "+ state = torch.load(path, map_location=\"cpu\", mmap=True)\n"
                "  model.load_state_dict(state)\n"
                "+ del state",
     .means = "A state dict was loaded onto the device, and copied into a model that was there already.",
     .when = "most of what was read from files and lies there at the peak has the size of a weight each that was not "
             "(or half or twice, a quarter or four times that), or most of those weights have theirs among it, or both "
             "are as large (within 2 %); or two lines made tensors whose sizes agree so, one by one, before the first "
             "round, and only one of them is freed later, or is of another type in inference; or one line made most of "
             "the weights' sizes while what was read was there; what is made of what was read, and goes before the "
             "first forward pass, counts, too",
     .what_to_do = "`torch.load(path, map_location=\"cpu\")`, and `del` it after `load_state_dict`"},
    {.id = "second-copy-of-weights",
     .title = "The weights are there twice",
     .find_in_lives = find_second_copy,
     .brief = "keep the copy on the host",
     .fix = "Keep the copy on the host (.cpu()), in bf16, or share the layers that do not differ",
     .snippet = "- teacher = copy.deepcopy(model)\n"
                "+ teacher = copy.deepcopy(model).cpu()",
     .cost = "a copy to the device where it is used",
     .means = "An average, a teacher, a reference model or a backup has every weight once more.",
     .when =
         "the same, of two lines that stay, and not by turns, of a copy that is made at any time, or "
         "of one line and most weights that were made before, or of one call of the program, of any lines, if they are "
         "most "
         "of what is trained, too; a third of all weights and without gradients of "
         "their own, unless one copies by its name; in training without code of `torch.optim`, where one does, or a "
         "line of the forward pass runs a second time without keeping anything: else they may be states of an "
         "optimizer, as may be what was read for one that makes none; the later one, but for a line that wraps the "
         "model for communication, too; or of what one line "
         "makes while the run goes on, at least nine tenths of the weights, and "
         "keeps through a forward pass and a step",
     .what_to_do = "The average or teacher on the host or in bf16; adapters instead of a reference model"},
    {.id = "data-set-on-gpu",
     .title = "Data lie on the device for the whole run",
     .find_in_lives = find_data,
     .brief = "keep the data on the host",
     .fix = "Keep them in pinned host memory, and copy each batch: batch.to(\"cuda\", non_blocking=True)",
     .snippet = "- data = data.cuda()\n"
                "+ data = data.pin_memory()\n"
                "  for batch in data.split(n):\n"
                "+     batch = batch.to(\"cuda\", non_blocking=True)",
     .cost = "a copy for each batch, which overlaps",
     .means = "All data were moved to the device before the first step, of which a step reads a batch.",
     .severity = "warning, or info where nothing is trained",
     .when = "in training, what a line makes before the first backward pass and in no later round, in no module, is "
             "never freed, and holds 5 % of the peak, less than an eighth of it with gradients of its sizes in that "
             "round: larger tensors than all that a round makes and gives up, or at least 4 of which none "
             "holds half, not some of a size for each layer, nor weights, as their stack says, that are older than the "
             "trace; not one as large as all weights, and no more of them than lookups in tables by a "
             "function alone. Info: where nothing is trained, one tensor that a line makes before the first of 3 "
             "rounds or more, half of the peak, but for weights, and larger than all that a round makes. Told as what "
             "a model "
             "made: 5 % of the peak that a module made in training before the first backward pass, called by a line "
             "from which none is called later, though others are, not in a private pool, and by a line of whose making "
             "nothing else is there to the end",
     .what_to_do = "`pin_memory()`, and `batch.to(\"cuda\", non_blocking=True)`"},
};
const struct gm_theme gm_theme_weights = GM_THEME(rules);
