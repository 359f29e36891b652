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
    uint64_t bytes;
    uint32_t allocation, born;
    unsigned by;
    bool goes; /* it is freed later */
};
struct members GM_VEC(struct member);

GM_ORDERING(by_site, struct member, GM_BY(strcmp(a->site, b->site)) || GM_DOWN(bytes) || GM_UP(allocation));

static bool is_copied(const struct gm_lives *l, size_t a)
{
    return (gm_lives_by(l, a) & GM_BY_COPYING) != 0;
}

/* By a line of the program, in the first round or before it; copies are made at any time. */
static bool is_of_start(const struct gm_lives *l, size_t a)
{
    return !l->taken[a] && gm_lives_at_peak(l, a) && gm_requested(l->h, a) >= l->at_peak / 5000 &&
           (gm_lives_by(l, a) & (GM_BY_NOBODY | GM_BY_OPTIMIZER)) == 0 &&
           (gm_lives_round(l, l->h->born[a]) <= 1 || is_copied(l, a));
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
    return is_of_start(l, a) && (role == GM_ROLE_PARAMETER || role == GM_ROLE_OPTIMIZER_STATE ||
                                 role == GM_ROLE_UNKNOWN || role == GM_ROLE_INPUT || role == GM_ROLE_KV_CACHE ||
                                 (gm_lives_by(l, a) & GM_BY_LOADING) != 0 || is_copied(l, a) || is_passing(l, a));
}

static struct members list_members(struct gm_case *c)
{
    struct gm_lives *l = c->lives;
    struct members found = {.v = NULL};
    for (size_t a = 0; !c->failed && a < l->h->allocation_count; a++) {
        if (!is_set_up(l, a))
            continue;
        const char *site = gm_names_site(&l->names, (struct gm_stack_id){gm_stack_of(l->h, a)});
        c->failed |= site == NULL ||
                     !GM_VEC_PUSH(&found, ((struct member){site, gm_requested(l->h, a), (uint32_t)a, l->h->born[a],
                                                           gm_lives_by(l, a), !gm_lives_is_left(l, a)}));
    }
    if (found.n > 0)
        qsort(found.v, found.n, sizeof *found.v, by_site);
    return found;
}

/* members[from, to) of one line. */
struct part {
    size_t from, to;
    uint64_t bytes;
    uint32_t born, last; /* of its first and of its last */
    unsigned by;
    bool goes;
};

static struct part part_at(const struct members *m, size_t from)
{
    struct part part = {.from = from, .to = from, .born = GM_NEVER};
    for (; part.to < m->n && strcmp(m->v[part.to].site, m->v[from].site) == 0; part.to++) {
        const struct member *row = &m->v[part.to];
        part.bytes += row->bytes;
        part.born = row->born < part.born ? row->born : part.born;
        part.last = row->born > part.last ? row->born : part.last;
        part.by |= row->by;
        part.goes |= row->goes;
    }
    return part;
}

/* Tensor by tensor the same sizes, or all of them half, twice, a quarter or four times as large; or each of `b` some
 * times in `a`, which read some files. */
static bool are_alike(const struct members *m, const struct part *a, const struct part *b)
{
    const size_t n = b->to - b->from, times = (a->to - a->from) / n;
    const double ratio = (double)a->bytes / (double)times / (double)b->bytes;
    size_t same = 0;
    if ((n < 2 && ((a->by ^ b->by) & GM_BY_COPYING) == 0) || a->to - a->from != n * times ||
        (times > 1 && (a->by & GM_BY_LOADING) == 0) ||
        (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 0.5 && ratio != 0.25))
        return false;
    for (size_t i = 0; i < n * times; i++)
        same += (double)m->v[a->from + i].bytes == ratio * (double)m->v[b->from + i / times].bytes;
    return same == n * times;
}

/* What was read from a file, or is of another type: the model's own copy is the later one. */
static bool is_of_file(const struct gm_lives *l, const struct part *a, const struct part *b)
{
    return ((a->by | b->by) & GM_BY_COPYING) == 0 &&
           (((a->by | b->by) & GM_BY_LOADING) != 0 || (!l->has_backward && a->bytes != b->bytes) || a->goes || b->goes);
}

/* The one of two that need not be there. */
static const struct part *spare(const struct part *a, const struct part *b, bool is_file)
{
    if (is_file && ((a->by ^ b->by) & GM_BY_LOADING) != 0)
        return (a->by & GM_BY_LOADING) != 0 ? a : b;
    if (is_file && a->goes != b->goes)
        return a->goes ? a : b;
    if (is_file)
        return a->born < b->born ? a : b;
    if (((a->by ^ b->by) & GM_BY_COPYING) != 0)
        return (a->by & GM_BY_COPYING) != 0 ? a : b;
    return a->born < b->born ? b : a;
}

enum { LEAST_MADE = 3 };

/* What a stack makes in the rounds: activations, anything. */
struct made {
    uint32_t kept, all;
};

static bool is_same_line(struct gm_names *names, uint32_t a, uint32_t b)
{
    const struct gm_frame_row *one = gm_names_telling_frame(names, (struct gm_stack_id){a});
    const struct gm_frame_row *other = gm_names_telling_frame(names, (struct gm_stack_id){b});
    return one != NULL && other != NULL && one->line == other->line && one->filename != NULL &&
           other->filename != NULL && strcmp(one->filename, other->filename) == 0;
}

/* Whether in most rounds in which the one stack makes something the other one does. */
static bool are_together(const struct gm_roster *roster, size_t rounds, uint32_t one, uint32_t other)
{
    size_t all = 0, both = 0;
    for (uint32_t r = 0; r <= rounds; r++)
        if (gm_roster_find(roster, one, r, 0) != NULL) {
            all++;
            both += gm_roster_find(roster, other, r, 0) != NULL;
        }
    return 2 * both > all;
}

/* Whether the line that makes activations runs in the same rounds, called from elsewhere, as often without: a second
 * model has no graph. An evaluation comes between the rounds. */
static bool has_second_forward(struct gm_case *c)
{
    struct gm_lives *l = c->lives;
    const size_t stacks = l->snapshot->stacks.count;
    const struct gm_roster *roster = gm_lives_roster(l);
    struct made *made = calloc(stacks + 1, sizeof *made);
    bool is_found = false;
    c->failed |= made == NULL || roster == NULL;
    for (size_t a = 0; !c->failed && a < l->h->allocation_count; a++)
        if (l->h->born[a] > 0 && !gm_lives_is_of_engine(l, a)) {
            made[gm_stack_of(l->h, a)].all++;
            made[gm_stack_of(l->h, a)].kept += gm_lives_is_role(l, a, GM_ROLE_ACTIVATION);
        }
    for (uint32_t s = 0; !c->failed && s < stacks; s++)
        for (uint32_t t = 0; made[s].kept >= LEAST_MADE && !is_found && t < stacks; t++)
            is_found = made[t].kept == 0 && made[t].all >= LEAST_MADE && made[t].all >= made[s].kept &&
                       is_same_line(&l->names, s, t) && are_together(roster, l->rounds.n, s, t);
    free(made);
    return is_found;
}

/* Training without an optimizer of PyTorch's keeps states of its own, as large as the weights. */
static bool may_be_states(struct gm_case *c)
{
    const struct gm_lives *l = c->lives;
    for (size_t i = 0; i < l->snapshot->stacks.count; i++)
        if ((l->by[i] & GM_BY_OPTIMIZER) != 0)
            return false;
    return l->has_backward && !has_second_forward(c);
}

GM_ORDERING(by_size, struct member, GM_DOWN(bytes));

/* Whether a part has the sizes of all other weights, which several lines made before it. false, too: no memory. */
static bool is_like_all_others(struct gm_case *c, const struct members *m, const struct part *a)
{
    struct members others = {.v = NULL};
    bool is_later = a->to - a->from >= 2;
    for (size_t i = 0; is_later && !c->failed && i < m->n; i++)
        if ((i < a->from || i >= a->to) && gm_lives_is_role(c->lives, m->v[i].allocation, GM_ROLE_PARAMETER)) {
            is_later = m->v[i].born < a->born;
            c->failed |= !GM_VEC_PUSH(&others, m->v[i]);
        }
    bool is_like = is_later && !c->failed && others.n == a->to - a->from;
    if (is_like)
        qsort(others.v, others.n, sizeof *others.v, by_size);
    for (size_t i = 0; is_like && i < others.n; i++)
        is_like = others.v[i].bytes == m->v[a->from + i].bytes;
    free(others.v);
    return is_like;
}

/* Whether they are made by turns: of one layer after the other, and no copy of what was there. */
static bool are_by_turns(const struct part *a, const struct part *b)
{
    return a->born < b->last && b->born < a->last;
}

/* What copies again and again leaves out all of them. */
static void drop_part(struct gm_case *c, const struct members *m, const struct part *part, struct gm_set *set)
{
    struct gm_lives *l = c->lives;
    for (size_t i = part->from; i < part->to; i++)
        c->failed |= !gm_set_add(set, m->v[i].allocation, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0);
    for (size_t a = 0; (part->by & GM_BY_COPYING) != 0 && !c->failed && a < l->h->allocation_count; a++) {
        const char *site = !is_copied(l, a) || is_set_up(l, a)
                               ? ""
                               : gm_names_site(&l->names, (struct gm_stack_id){gm_stack_of(l->h, a)});
        c->failed |= site == NULL || (strcmp(site, m->v[part->from].site) == 0 &&
                                      !gm_set_add(set, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0));
    }
}

/* What the program makes of what was read, before the first forward pass, would be where that is. */
static void add_made_of_file(struct gm_case *c, struct gm_set *set)
{
    const struct gm_lives *l = c->lives;
    uint32_t read = GM_NEVER;
    for (size_t i = 0; i < set->n; i++)
        if ((gm_lives_by(l, set->v[i].allocation) & GM_BY_LOADING) != 0 && l->h->born[set->v[i].allocation] < read)
            read = l->h->born[set->v[i].allocation];
    for (size_t a = 0; read != GM_NEVER && !c->failed && a < l->h->allocation_count; a++)
        if (l->h->born[a] > read && is_passing(l, a) &&
            (gm_lives_by(l, a) & (GM_BY_NOBODY | GM_BY_OPTIMIZER | GM_BY_LOADING)) == 0)
            c->failed |= !gm_set_add(set, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0);
}

static void find_twice(struct gm_case *c, const struct gm_rule *rule, bool is_wanted_of_file, const char *evidence)
{
    struct members m = list_members(c);
    struct gm_set set = {.v = NULL};
    const bool are_states = may_be_states(c);
    for (size_t i = 0; !c->failed && i < m.n;) {
        const struct part a = part_at(&m, i);
        for (size_t k = a.to; !c->failed && k < m.n;) {
            const struct part b = part_at(&m, k);
            const bool is_file = is_of_file(c->lives, &a, &b);
            if (is_file == is_wanted_of_file && (are_alike(&m, &a, &b) || are_alike(&m, &b, &a)) &&
                (((a.by | b.by) & GM_BY_LOADING) != 0 || !are_by_turns(&a, &b)) &&
                (is_file || !are_states || ((a.by | b.by) & GM_BY_COPYING) != 0))
                drop_part(c, &m, spare(&a, &b, is_file), &set);
            k = b.to;
        }
        if (!is_wanted_of_file && !are_states && set.n == 0 && is_like_all_others(c, &m, &a))
            drop_part(c, &m, &a, &set);
        i = a.to;
    }
    free(m.v);
    if (is_wanted_of_file)
        add_made_of_file(c, &set);
    gm_case_accuse(c, rule, &set, false, evidence);
}

static void find_checkpoint(struct gm_case *c, const struct gm_rule *rule)
{
    find_twice(c, rule, true,
               "tensor by tensor they have the sizes of the model's weights, which lie beside them: what "
               "was read from a file is still on the device");
}

static void find_second_copy(struct gm_case *c, const struct gm_rule *rule)
{
    find_twice(c, rule, false,
               "tensor by tensor they have the sizes of the model's weights, which lie beside them: an "
               "average, a teacher or a reference");
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

enum { DATA_BLOCKS = 16 };

/* Whether gradients of that size are made: then it is a weight. */
static bool has_gradient(const struct gm_lives *l, uint64_t bytes)
{
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (l->role[a] == GM_ROLE_GRADIENT && gm_requested(l->h, a) == bytes)
            return true;
    return false;
}

/* What outlives all of a run that is over looks like one. */
static bool is_activation_of_setup(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_ACTIVATION) && is_of_start(l, a) && l->h->born[a] <= l->first_forward;
}

/* The largest thing that a round makes and gives up: data of which a step takes a part are larger. */
static uint64_t largest_of_rounds(const struct gm_lives *l)
{
    uint64_t largest = 0;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (gm_requested(l->h, a) > largest && l->h->freed[a] != GM_NEVER && !gm_lives_is_of_engine(l, a) &&
            !gm_lives_is_role(l, a, GM_ROLE_WORKSPACE) && gm_lives_round(l, l->h->born[a]) > 0)
            largest = gm_requested(l->h, a);
    return largest;
}

static void find_data(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    const uint64_t of_rounds = largest_of_rounds(l);
    for (size_t a = 0; !c->failed && l->has_backward && a < l->h->allocation_count; a++)
        if ((is_set_up(l, a) || is_activation_of_setup(l, a)) && gm_lives_is_lasting(l, a) &&
            (gm_lives_by(l, a) & (GM_BY_MODULE | GM_BY_LAYER)) == 0 &&
            gm_is_share(gm_requested(l->h, a), l->at_peak, 0.1) && gm_requested(l->h, a) >= of_rounds &&
            !has_gradient(l, gm_requested(l->h, a)))
            c->failed |= !gm_set_add(&set, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0);
    if (set.n <= DATA_BLOCKS)
        gm_case_accuse(c, rule, &set, false,
                       "few large tensors that are there from before the first step to the end, have no gradients and "
                       "are no weights: data");
    else
        free(set.v);
}

static const struct gm_rule rules[] = {
    {.id = "checkpoint-beside-model",
     .title = "A checkpoint lies on the device beside the model that it was read into",
     .find = find_checkpoint,
     .needs_lives = true,
     .brief = "map_location=\"cpu\"",
     .fix = "torch.load(path, map_location=\"cpu\", mmap=True), then load_state_dict, then del what was read",
     .snippet = "- state = torch.load(path)\n"
                "+ state = torch.load(path, map_location=\"cpu\", mmap=True)\n"
                "  model.load_state_dict(state)\n"
                "+ del state",
     .cost = "none",
     .severity = "warning",
     .when =
         "two lines made tensors whose sizes agree one by one (or by a factor of 2 or 4, or those read from files some "
         "times) before the first round, and one of them read a file, is freed later, or is of another type in "
         "inference; what is made of what was read, and goes before the first forward pass, counts, too",
     .what_to_do = "`torch.load(path, map_location=\"cpu\")`, and `del` it after `load_state_dict`"},
    {.id = "second-copy-of-weights",
     .title = "The weights are there twice",
     .find = find_second_copy,
     .needs_lives = true,
     .brief = "keep the copy on the host",
     .fix = "Keep the copy on the host (.cpu()), in bf16, or share the layers that do not differ",
     .snippet = "- teacher = copy.deepcopy(model)\n"
                "+ teacher = copy.deepcopy(model).cpu()",
     .cost = "a copy to the device where it is used",
     .severity = "warning",
     .when = "the same, of two lines of which none read a file, and not by turns, of a copy that is made at any time, "
             "or of "
             "one line and all weights that were made before; in "
             "training without code of `torch.optim`, where one copies by its name, or a line of the forward pass runs "
             "a second time without keeping anything: else they may be states of an optimizer",
     .what_to_do = "The average or teacher on the host or in bf16; adapters instead of a reference model"},
    {.id = "data-set-on-gpu",
     .title = "Data lie on the device for the whole run",
     .find = find_data,
     .needs_lives = true,
     .brief = "keep the data on the host",
     .fix = "Keep them in pinned host memory, and copy each batch: batch.to(\"cuda\", non_blocking=True)",
     .snippet = "- data = data.cuda()\n"
                "+ data = data.pin_memory()\n"
                "  for batch in data.split(n):\n"
                "+     batch = batch.to(\"cuda\", non_blocking=True)",
     .cost = "a copy for each batch, which overlaps",
     .severity = "warning",
     .when = "in training, at most 16 tensors of 10 % of the peak each, made before the first step by no module, never "
             "freed, without gradients of their size, and larger than all that a round makes and gives up",
     .what_to_do = "`pin_memory()`, and `batch.to(\"cuda\", non_blocking=True)`"},
};
const struct gm_theme gm_theme_weights = GM_THEME(rules);
