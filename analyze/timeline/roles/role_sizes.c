/* SPDX-License-Identifier: Apache-2.0
 *
 * What sizes tell. A gradient has the size of its parameter, and so has each state of the optimizer. So where gradients
 * were seen to be made, their number tells how many of the blocks of a size, among those that have no stack, are
 * parameters, and how many times that number is left for states. Where none were seen, the numbers of all sizes may
 * still have a common factor: parameters and two states come in threes, with gradients in fours.
 */
#include "analyze/base/address_map.h"
#include "analyze/timeline/roles/role_work.h"

#include <string.h>

/* cuBLAS's default workspaces: 8 MiB + 128 KiB, and 32 MiB since compute capability 9.0. */
enum { WORKSPACE = 4096 * 1024 * 2 + 16 * 1024 * 8, WORKSPACE_90 = 32 << 20, WORKSPACES_90 = 2 };

enum { MANY_TAILS = 5 }; /* blocks: more than a backward's last temporaries */
enum { MANY_BLOCKS = 16 };
enum { RUNS_LOOKED_AT = 8 /* of backward, for gradients that are added to others */ };

/* How many allocations of a kind one run has made, and the run that made most. */
struct per_run {
    uint32_t most, run, in_run;
};

struct size_row {
    uint64_t bytes;
    struct per_run gradients;      /* per run of backward; those of `tails` too, if settle_tails says so */
    struct per_run renewed;        /* of these, those that are given up */
    struct per_run tails;          /* likewise: given up before anything else was allocated */
    struct per_run states;         /* per run of an optimizer; those that took no parameter's place */
    struct per_run passing;        /* per run of backward: made and freed in it, of the size of something older */
    uint32_t kept, kept_in;        /* by the forward of rounds, for good; in how many of them */
    size_t last_round;             /* of these */
    bool is_stepped;               /* an optimizer makes temporaries of that size */
    uint32_t anew;                 /* the last moment at which a run had made the most of `gradients` */
    uint32_t outlived;             /* gradients that outlived their backward, in all */
    uint32_t parameters;           /* with a stack that says so */
    uint32_t trained;              /* with a stack that does not, made before the first backward and never freed */
    uint32_t old, replaced, freed; /* without a stack: never freed; replaced by an optimizer; freed elsewhere */
    uint32_t freed_by_optimizer;   /* of `freed` */
    bool are_freed_replaced;       /* `freed` was added to `replaced` */
    uint32_t give[GM_CLAIM_COUNT]; /* how many of these still get a claim */
};

struct sizes {
    struct gm_role_work *w;
    struct gm_address_map index;
    struct GM_VEC(struct size_row) rows;
    struct GM_VEC(uint32_t) trainable;    /* allocations that may be parameters, though their stack does not say so */
    struct GM_VEC(uint32_t) bare;         /* allocations from before the trace without a stack */
    gm_i128 old_bytes, old_blocks;        /* of `old` and `replaced` */
    gm_i128 matched_bytes;                /* of them, as many as there are gradients of their size */
    gm_i128 fitting_bytes;                /* of them, those of which there are gradients of their size at all */
    bool tails_are_gradients;             /* zero_grad() comes right after the optimizer, and neither allocates */
    bool has_old_forward;                 /* a block from before the trace has a stack in a model's forward */
    gm_i128 outlived_bytes;               /* gradients that outlived backward, of sizes that parameters may have */
    gm_i128 parameter_bytes, state_bytes; /* with a stack */
};

/* The row of a size; NULL: no memory. */
static struct size_row *row_of(struct sizes *s, uint64_t bytes)
{
    const uint32_t i = gm_map_number(&s->index, bytes, (uint32_t)s->rows.n);
    const struct size_row fresh = {.bytes = bytes,
                                   .gradients.run = UINT32_MAX,
                                   .renewed.run = UINT32_MAX,
                                   .tails.run = UINT32_MAX,
                                   .states.run = UINT32_MAX,
                                   .passing.run = UINT32_MAX};
    return i == GM_MAP_NONE || (i == s->rows.n && !GM_VEC_PUSH(&s->rows, fresh)) ? NULL : &s->rows.v[i];
}

static const struct size_row *find(const struct sizes *s, uint64_t bytes)
{
    uint32_t i = gm_map_get(&s->index, bytes);
    return i == GM_MAP_NONE ? NULL : &s->rows.v[i];
}

/* Lived before the trace, nothing known of its making. */
static bool is_bare(struct gm_role_work *w, size_t a)
{
    return w->h->born[a] == 0 && w->h->freed[a] != 0 && gm_role_says(w, a) == GM_SAYS_NONE &&
           !gm_is_private_pool(w->h, gm_pool_number(w->h, a));
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static void count_bare(struct size_row *row, enum gm_life life, enum gm_role_part part)
{
    row->old += life == GM_LIFE_OLD;
    row->replaced += life == GM_LIFE_OLD_REPLACED && part == GM_PART_OPTIMIZER;
    row->freed += life == GM_LIFE_OLD_FREED || life == GM_LIFE_OLD_TAIL;
    row->freed_by_optimizer += life == GM_LIFE_OLD_FREED && part == GM_PART_OPTIMIZER;
}

static void count_in_run(struct per_run *count, size_t run)
{
    if (count->run != (uint32_t)run) {
        count->run = (uint32_t)run;
        count->in_run = 0;
    }
    count->in_run++;
    if (count->most < count->in_run)
        count->most = count->in_run;
}

/* What has been walked past, while allocations are walked in order of birth. */
struct walk {
    size_t backward, optimizer, heir;
};

static void advance(struct walk *at, const struct gm_role_work *w, uint32_t a)
{
    uint32_t born = w->h->born[a];
    while (born != 0 && at->backward < w->backwards.n && w->backwards.v[at->backward] < born)
        at->backward++;
    while (born != 0 && at->optimizer < w->optimizers.n && w->optimizers.v[at->optimizer] < born)
        at->optimizer++;
    while (at->heir < w->heirs.n && w->heirs.v[at->heir].heir < a)
        at->heir++;
}

/* Made before anything else than a forward ran, to stay, by code that tells nothing better and makes nothing after the
 * first step. What a model's forward makes stays, too, where the trace ends in its first backward pass. */
static bool is_trainable(const struct gm_role_work *w, const struct walk *at, uint32_t a, enum gm_says says)
{
    return (w->h->born[a] == 0 || (at->backward == 0 && at->optimizer == 0)) && !gm_is_of_rounds(w, a) &&
           gm_life_of(w, a) >= GM_LIFE_LASTING &&
           (says <= GM_SAYS_OTHER || says == GM_SAYS_INPUT ||
            (says == GM_SAYS_FORWARD && (w->backwards.n > 1 || w->optimizers.n > 0)));
}

/* Counts one allocation, if its size matters. */
static bool count_one(struct sizes *s, const struct walk *at, uint32_t a)
{
    struct gm_role_work *w = s->w;
    enum gm_life life = gm_life_of(w, a);
    enum gm_says says = gm_role_says(w, a);
    bool is_bare_one = is_bare(w, a), is_new = w->h->born[a] != 0;
    bool is_gradient = gm_is_of_backward(says) && !gm_is_beside_backward(w, a) &&
                       (gm_outlived(w, a) || life == GM_LIFE_OPEN || life == GM_LIFE_TAIL || life == GM_LIFE_OLD);
    /* what is open in a later step than the first are temporaries: states are there by then */
    bool is_state =
        gm_is_of_optimizer(says) && (!is_new || (gm_outlived(w, a) && (life != GM_LIFE_OPEN || at->optimizer <= 1)));
    s->has_old_forward |= !is_new && (says == GM_SAYS_FORWARD || says == GM_SAYS_KV_CACHE);
    bool is_parameter = gm_is_of_weights(says), may_be_one = is_trainable(w, at, a, says);
    if (!is_bare_one && !is_gradient && !is_state && !is_parameter && !may_be_one)
        return true;
    struct size_row *row = row_of(s, gm_requested(w->h, a));
    if (row == NULL || (is_bare_one && !GM_VEC_PUSH(&s->bare, a)) || (may_be_one && !GM_VEC_PUSH(&s->trainable, a)))
        return false;
    if (is_bare_one)
        count_bare(row, life, gm_life_part(w, a));
    else if (is_gradient) {
        count_in_run(life == GM_LIFE_TAIL ? &row->tails : &row->gradients, is_new ? at->backward : 0);
        row->anew = row->gradients.in_run == row->gradients.most ? w->h->born[a] : row->anew;
        row->outlived += life != GM_LIFE_TAIL;
        if (life < GM_LIFE_LASTING)
            count_in_run(&row->renewed, at->backward);
    } else if (is_parameter) /* a copy that every round makes anew is none of those that have gradients */
        row->parameters += !is_new || life >= GM_LIFE_LASTING || at->backward == 0;
    else if (may_be_one)
        row->trained++;
    else if (at->heir == w->heirs.n || w->heirs.v[at->heir].heir != a)
        count_in_run(&row->states, is_new ? at->optimizer : 0);
    return true;
}

static bool count(struct sizes *s)
{
    struct walk at = {0};
    for (size_t a = 0; a < s->w->h->allocation_count; a++) {
        enum gm_life life = gm_life_of(s->w, a);
        if (gm_life_is_short(life))
            continue;
        advance(&at, s->w, (uint32_t)a);
        if (!count_one(s, &at, (uint32_t)a))
            return false;
    }
    return true;
}

/* What comes and goes in backward and optimizer, of sizes that something older has. */
static void count_passing(struct sizes *s)
{
    struct gm_role_work *w = s->w;
    struct walk at = {0};
    for (size_t a = 0; s->bare.n > 0 && a < w->h->allocation_count && at.backward < RUNS_LOOKED_AT; a++) {
        enum gm_life life = gm_life_of(w, a);
        uint32_t i = GM_MAP_NONE;
        if ((life == GM_LIFE_BRIEF || life == GM_LIFE_RUN) && gm_life_part(w, a) != GM_PART_FORWARD)
            i = gm_map_get(&s->index, gm_requested(w->h, a));
        if (i == GM_MAP_NONE)
            continue;
        advance(&at, w, (uint32_t)a);
        s->rows.v[i].is_stepped |= gm_life_part(w, a) == GM_PART_OPTIMIZER;
        if (gm_life_part(w, a) == GM_PART_BACKWARD)
            count_in_run(&s->rows.v[i].passing, at.backward);
    }
}

/* Made by a round before the last, in forward, and never freed. */
static bool is_kept_by_round(struct gm_role_work *w, size_t a)
{
    const struct gm_steps *steps = &w->pass->out->steps;
    const uint32_t born = w->h->born[a];
    const enum gm_says says = gm_role_says(w, a);
    const size_t last = steps->row_count > 0 ? steps->rows[steps->row_count - 1].first_event : w->h->count - 1;
    const bool is_of_rounds =
        says == GM_SAYS_FORWARD || (says <= GM_SAYS_OTHER && steps->row_count > 0 && born > steps->rows[0].last_event);
    return gm_life_of(w, a) >= GM_LIFE_LASTING && gm_life_part(w, a) == GM_PART_FORWARD && born > 0 && born <= last &&
           is_of_rounds && (w->world == GM_WORLD_INFERENCE || gm_life_of(w, a) == GM_LIFE_LASTING);
}

static void count_kept(struct sizes *s)
{
    const struct gm_steps *steps = &s->w->pass->out->steps;
    size_t round = 0;
    for (size_t a = 0; s->bare.n > 0 && a < s->w->h->allocation_count; a++) {
        const uint32_t i = is_kept_by_round(s->w, a) ? gm_map_get(&s->index, gm_requested(s->w->h, a)) : GM_MAP_NONE;
        if (i == GM_MAP_NONE)
            continue;
        while (round < steps->row_count && steps->rows[round].last_event < s->w->h->born[a])
            round++;
        struct size_row *row = &s->rows.v[i];
        row->kept_in += row->kept == 0 || row->last_round != round || gm_role_says(s->w, a) == GM_SAYS_FORWARD;
        row->last_round = round;
        row->kept++;
    }
}

static bool is_workspace_90(const struct size_row *row)
{
    return row->bytes == WORKSPACE_90 && row->gradients.most == 0 && row->old <= WORKSPACES_90;
}

/* Made in the first forward or backward, to stay: a weight's stack makes weights, and the gradients of all weights of
 * that size, if there are any, are made anew. */
static bool is_made_workspace_90(struct gm_role_work *w, size_t a, const struct size_row *row)
{
    const enum gm_says says = gm_role_says(w, a);
    const size_t early = says == GM_SAYS_EMPTY ? 1 : 0;
    if (row == NULL || row->bytes != WORKSPACE_90 || w->h->born[a] == 0 || gm_life_of(w, a) < GM_LIFE_LASTING ||
        row->old > 0 || row->trained > 1 || early >= w->backwards.n || w->h->born[a] > w->backwards.v[early])
        return false;
    if (row->parameters + row->states.most == 0)
        return row->outlived <= 1;
    return says == GM_SAYS_FORWARD || (says == GM_SAYS_EMPTY && row->renewed.most >= row->parameters);
}

/* An optimizer that makes its states anew in each step frees the old ones; gradients are given up once at most, and not
 * at all if none is made anew. */
static void settle_freed(struct size_row *row)
{
    const uint64_t freed = row->freed_by_optimizer;
    if (freed > 0 && (row->gradients.most > 0 ? freed >= 2 * (uint64_t)row->gradients.most
                                              : 4 * (uint64_t)row->states.most >= 3 * freed)) {
        row->replaced += row->freed;
        row->freed = 0;
        row->are_freed_replaced = true;
    }
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Without a stack, and there for good or replaced by an optimizer. */
static uint32_t all_of(const struct size_row *row)
{
    return row->old + row->replaced;
}

static bool is_parameter_size(const struct size_row *row)
{
    return row != NULL && (row->parameters > 0 || row->states.most > 0 || all_of(row) + row->trained > 0);
}

/* Whether the blocks of the size may be groups of m, with a gradient each that stays where it is: what backward adds to
 * it comes and goes, or an optimizer works with the size. */
static bool is_kept_in(const struct size_row *row, uint32_t m)
{
    uint32_t old = all_of(row);
    return row->gradients.most == 0 && old > 0 && old % m == 0 && (row->passing.most > 0 || row->is_stepped);
}

/* Whether backward makes as many of the size, to add them, as there are groups of m; its last may go in its tail. */
static bool are_added(const struct size_row *row, uint32_t m)
{
    return row->passing.most * m == all_of(row) || (row->passing.most + row->tails.most) * m == all_of(row);
}

/* The m for which most bytes that have no gradient of their own are in such groups; 0: none. `is_seen`: only by what
 * backward adds to them. */
static uint32_t kept_in(const struct sizes *s, bool is_seen)
{
    for (uint32_t m = 2 + s->w->most_states; m >= 2; m--) {
        gm_i128 fits = 0, all = 0;
        for (size_t i = 0; i < s->rows.n; i++) {
            const struct size_row *row = &s->rows.v[i];
            gm_i128 bytes = row->gradients.most == 0 ? (gm_i128)row->bytes * all_of(row) : 0;
            all += bytes;
            fits += is_kept_in(row, m) && ((!is_seen && row->passing.most == 0) || are_added(row, m)) ? bytes : 0;
        }
        if (all > 0 && 4 * fits >= 3 * all)
            return m;
    }
    return 0;
}

/* Beside as many parameters, whose stacks are known, and as many as backward makes to add them: gradients that stay. */
static bool is_kept_beside(const struct size_row *row)
{
    const uint32_t old = all_of(row);
    return row->gradients.most == 0 && old > 0 && old == row->parameters + row->trained && are_added(row, 1);
}

static bool are_kept_beside(const struct sizes *s)
{
    gm_i128 fits = 0, all = 0;
    for (size_t i = 0; i < s->rows.n; i++) {
        const gm_i128 bytes = (gm_i128)s->rows.v[i].bytes * all_of(&s->rows.v[i]);
        all += bytes;
        fits += is_kept_beside(&s->rows.v[i]) ? bytes : 0;
    }
    return all > 0 && 4 * fits >= 3 * all;
}

/* What backward's tail gives up are gradients if zero_grad() comes before anything else is allocated: then most
 * gradients are there, many blocks or a good part of what is older. Else they are the last of its own temporaries,
 * which may have a parameter's size, too; so they are if gradients are kept. */
static void settle_tails(struct sizes *s)
{
    gm_i128 outlived = 0, tails = 0, old = 0;
    uint64_t blocks = 0;
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct size_row *row = &s->rows.v[i];
        outlived += (gm_i128)row->bytes * row->gradients.most;
        tails += (gm_i128)row->bytes * row->tails.most;
        old += (gm_i128)row->bytes * all_of(row);
        blocks += row->tails.most;
    }
    s->tails_are_gradients = tails > 4 * outlived && (blocks >= MANY_TAILS || 8 * tails >= old) &&
                             kept_in(s, true) == 0 && !are_kept_beside(s);
    for (size_t i = 0; s->tails_are_gradients && i < s->rows.n; i++)
        s->rows.v[i].gradients.most += s->rows.v[i].tails.most;
}

/* How many states of a size were made in the trace. */
static uint32_t new_states(const struct size_row *row)
{
    return row->states.most > row->replaced ? row->states.most - row->replaced : 0;
}

/* What is older and goes when gradients of its size have been made anew for the last time was there for good, unless an
 * optimizer gives it up. */
static void settle_old(struct sizes *s)
{
    struct gm_role_work *w = s->w;
    for (size_t i = 0; i < s->bare.n; i++) {
        const uint32_t a = s->bare.v[i];
        struct size_row *row = row_of(s, gm_requested(w->h, a));
        const bool is_freed = gm_life_of(w, a) == GM_LIFE_OLD_FREED || gm_life_of(w, a) == GM_LIFE_OLD_TAIL;
        if (!is_freed || gm_life_part(w, a) == GM_PART_OPTIMIZER || row->anew == 0 || gm_let_go(w->h, a) <= row->anew)
            continue;
        row->freed--;
        row->old++;
        gm_life_set(w, a, GM_LIFE_OLD, GM_PART_FORWARD);
    }
}

static void sum_up(struct sizes *s)
{
    settle_old(s);
    settle_tails(s);
    for (size_t i = 0; i < s->rows.n; i++) {
        struct size_row *row = &s->rows.v[i];
        settle_freed(row);
        uint32_t old = all_of(row);
        s->parameter_bytes += (gm_i128)row->bytes * row->parameters;
        s->outlived_bytes += is_parameter_size(row) ? (gm_i128)row->bytes * row->outlived : 0;
        s->state_bytes += (gm_i128)row->bytes * smaller(new_states(row), row->gradients.most);
        if (row->bytes == WORKSPACE || is_workspace_90(row))
            continue;
        s->old_bytes += (gm_i128)row->bytes * old;
        s->old_blocks += old;
        s->matched_bytes += (gm_i128)row->bytes * smaller(row->gradients.most, old);
        s->fitting_bytes += row->gradients.most > 0 ? (gm_i128)row->bytes * old : 0;
    }
}

/* ---- shares ----------------------------------------------------------------------------------------------------- */

/* How many parameters of a size have no stack. */
static uint32_t bare_parameters(const struct size_row *row)
{
    uint32_t gradients = row->gradients.most;
    return smaller(gradients > row->parameters ? gradients - row->parameters : 0, all_of(row));
}

/* How many states each parameter has among the blocks without a stack: as many as nine tenths of the bytes, or of the
 * blocks, allow. Some sizes have more (buffers of the same size), so the rest stays unknown; some have more gradients
 * than parameters, which are sums of several. */
static uint32_t states_each(const struct sizes *s)
{
    if (2 * s->state_bytes >= s->matched_bytes)
        return 0; /* they were made in the trace */
    for (uint32_t k = s->w->most_states; k > 0; k--) {
        gm_i128 fits = 0, blocks = 0, all = 0;
        for (size_t i = 0; i < s->rows.n; i++) {
            const struct size_row *row = &s->rows.v[i];
            uint64_t left = (uint64_t)all_of(row) - bare_parameters(row) + new_states(row);
            bool has_them = row->gradients.most > 0 && left >= (uint64_t)k * row->gradients.most;
            fits += has_them ? (gm_i128)row->bytes * bare_parameters(row) : 0;
            blocks += has_them ? bare_parameters(row) : 0;
            all += bare_parameters(row);
        }
        if (10 * fits >= 9 * s->matched_bytes || (all > MANY_BLOCKS && 10 * blocks >= 9 * all))
            return k;
    }
    return 0;
}

/* Groups of m: a parameter each, a gradient if `has_gradients`, states. */
static void share_row(struct size_row *row, uint32_t m, bool has_gradients)
{
    uint32_t old = all_of(row);
    row->give[GM_CLAIM_SHARED_PARAMETER] = old / m;
    row->give[GM_CLAIM_SHARED_GRADIENT] = has_gradients ? old / m : 0;
    row->give[GM_CLAIM_SHARED_STATE] = old - old / m - row->give[GM_CLAIM_SHARED_GRADIENT];
}

/* Twice the size of parameters that have no states: copies of higher precision and their states, with gradients or not.
 */
static bool is_of_master(const struct sizes *s, const struct size_row *row)
{
    const struct size_row *half = row->bytes % 2 == 0 ? find(s, row->bytes / 2) : NULL;
    if (half == NULL || half->gradients.most == 0 || half->states.most > 0)
        return false;
    uint32_t old = all_of(row), least = (row->gradients.most > 0 ? 2 : 1) * half->gradients.most;
    return old >= least && all_of(half) <= half->gradients.most;
}

/* Whether the older ones of the size are what earlier rounds kept. */
static bool are_kept(const struct size_row *row)
{
    return row->kept_in >= 2 && 4 * (uint64_t)row->kept >= row->old;
}

/* Of each size as many parameters as gradients, and states; what is left over is a second set. Sizes without gradients
 * are master copies, or come in groups of `kept_in`, or are not trained. */
static void share_by_gradients(struct sizes *s, uint32_t kept_in)
{
    uint32_t k = states_each(s);
    for (size_t i = 0; i < s->rows.n; i++) {
        struct size_row *row = &s->rows.v[i];
        uint32_t left = all_of(row), gradients = row->gradients.most;
        row->give[GM_CLAIM_STALE_GRADIENT] = smaller(gradients, row->freed);
        if (is_of_master(s, row)) {
            row->give[GM_CLAIM_MASTER] = left;
        } else if (kept_in > 0 && is_kept_in(row, kept_in)) {
            share_row(row, kept_in, true);
        } else if (gradients == 0) {
            row->give[are_kept(row) ? GM_CLAIM_ALIKE : GM_CLAIM_FROZEN] = row->old;
        } else {
            const bool are_sums = left < (k + 1) * gradients && left % (k + 1) == 0 && row->parameters == 0;
            const uint32_t parameters = are_sums && new_states(row) == 0 ? left / (k + 1) : bare_parameters(row);
            const uint32_t states = k * gradients - smaller(new_states(row), k * gradients);
            row->give[GM_CLAIM_PARAMETER] = parameters;
            left -= parameters;
            row->give[GM_CLAIM_STATE] = smaller(states, left);
            row->give[are_kept(row) ? GM_CLAIM_ALIKE : GM_CLAIM_SECOND] = left - row->give[GM_CLAIM_STATE];
        }
    }
}

static uint32_t common_factor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Whether the blocks without a stack come in groups of m, and of no more: all but 2 % of the bytes and 5 % of the
 * blocks, at least three sizes. */
static bool comes_in(const struct sizes *s, uint32_t m)
{
    uint32_t factor = 0, sizes = 0;
    gm_i128 fits = 0, blocks = 0;
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct size_row *row = &s->rows.v[i];
        uint32_t old = all_of(row);
        if (old == 0 || old % m != 0 || row->bytes == WORKSPACE || is_workspace_90(row))
            continue;
        factor = common_factor(factor, old);
        fits += (gm_i128)row->bytes * old;
        blocks += old;
        sizes++;
    }
    return factor == m && sizes >= 3 && 100 * fits >= 98 * s->old_bytes && 100 * blocks >= 95 * s->old_blocks;
}

static void share_by_factor(struct sizes *s, uint32_t m, bool has_gradients)
{
    for (size_t i = 0; i < s->rows.n; i++)
        if (all_of(&s->rows.v[i]) % m == 0 && s->rows.v[i].bytes != WORKSPACE)
            share_row(&s->rows.v[i], m, has_gradients);
}

/* Whether what was made before the first step to stay comes size by size as often as weights that a module made: once
 * or several times each. Then it is of them, however many gradients there are. */
static bool are_of_weights(const struct sizes *s)
{
    uint32_t times = 0, sizes = 0;
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct size_row *row = &s->rows.v[i];
        if (row->trained == 0)
            continue;
        if (row->parameters == 0 || row->trained % row->parameters != 0 ||
            (times > 0 && row->trained / row->parameters != times))
            return false;
        times = row->trained / row->parameters;
        sizes++;
    }
    return sizes >= 2;
}

/* What was made before the first step to stay, by code that tells nothing: as many parameters as gradients, or, if
 * their gradients are not made anew, half of them beside what an optimizer made of their size. The rest are states, if
 * no optimizer of torch ran, or copies. `are_of_weights`: they are no parameters. */
static void share_trainable(struct size_row *row, bool is_by_hand, bool are_of_weights)
{
    uint64_t known = (uint64_t)row->parameters + all_of(row);
    uint32_t lacking = known < row->gradients.most && !are_of_weights ? row->gradients.most - (uint32_t)known : 0;
    if (row->gradients.most == 0 && row->states.most > 0 && known == 0) {
        row->give[GM_CLAIM_KEPT_GRADIENT] = row->trained / 2;
        lacking = row->trained - row->trained / 2;
    }
    row->give[GM_CLAIM_TRAINED] = smaller(lacking, row->trained);
    if (row->gradients.most > 0)
        row->give[is_by_hand && row->states.most == 0 ? GM_CLAIM_OWN_STATE : GM_CLAIM_CLONE] =
            row->trained - row->give[GM_CLAIM_TRAINED];
}

/* How many weights of the size have gradients. */
static uint32_t weights_of(const struct size_row *row)
{
    return row == NULL ? 0 : smaller(row->gradients.most, row->parameters + row->trained + all_of(row));
}

/* Half, twice or four times as large as gradients, once or several times for each: in other types than these. */
static bool are_states_of_others(const struct sizes *s, const struct size_row *row)
{
    for (uint64_t f = 2; f <= 4 && row->trained > 0; f *= 2) {
        const uint32_t of_less = row->bytes % f == 0 ? weights_of(find(s, row->bytes / f)) : 0,
                       of_more = f == 2 ? weights_of(find(s, row->bytes * f)) : 0;
        if ((of_less > 0 && row->trained % of_less == 0) || (of_more > 0 && row->trained % of_more == 0))
            return true;
    }
    return false;
}

static void share_kept(struct size_row *row)
{
    if (!is_kept_beside(row))
        return;
    memset(row->give, 0, sizeof row->give);
    row->give[GM_CLAIM_SHARED_GRADIENT] = all_of(row);
    row->give[GM_CLAIM_TRAINED] = row->trained;
}

static void share(struct sizes *s)
{
    const bool of_weights = are_of_weights(s);
    for (size_t i = 0; i < s->rows.n; i++) {
        struct size_row *row = &s->rows.v[i];
        share_trainable(row, s->w->optimizers.n == 0, of_weights);
        if (row->gradients.most == 0 && s->w->optimizers.n == 0 && are_states_of_others(s, row))
            row->give[GM_CLAIM_OWN_STATE] = row->trained;
    }
    bool has_backward = s->w->backwards.n > 0;
    bool has_forward = s->w->world == GM_WORLD_INFERENCE || (s->w->world == GM_WORLD_NOTHING && s->has_old_forward);
    /* Gradients that stay where they are (set_to_none=False) outlive no backward: they are older than the trace. */
    bool has_gradients = s->outlived_bytes > s->old_bytes / 2000 || (s->tails_are_gradients && s->fitting_bytes > 0);
    uint32_t kept = has_backward ? kept_in(s, false) : 0;
    if (has_gradients || kept > 0)
        share_by_gradients(s, kept);
    else if (comes_in(s, 4))
        share_by_factor(s, 4, true);
    else if (comes_in(s, 3))
        share_by_factor(s, 3, has_backward);
    else if (has_backward && comes_in(s, 2))
        share_by_factor(s, 2, true);
    else if (has_backward)
        share_by_gradients(s, 0);
    else if (has_forward)
        for (size_t i = 0; i < s->rows.n; i++)
            if (4 * s->parameter_bytes < s->old_bytes || s->rows.v[i].parameters > 0)
                s->rows.v[i].give[are_kept(&s->rows.v[i]) ? GM_CLAIM_ALIKE : GM_CLAIM_INFERENCE] = s->rows.v[i].old;
    for (size_t i = 0; has_backward && i < s->rows.n; i++)
        share_kept(&s->rows.v[i]);
}

/* ---- claims ----------------------------------------------------------------------------------------------------- */

static void give(struct sizes *s, size_t a, enum gm_claim first, enum gm_claim last)
{
    uint32_t row = gm_map_get(&s->index, gm_requested(s->w->h, a)); /* counted, so it is there */
    for (enum gm_claim c = first; c <= last; c++)
        if (s->rows.v[row].give[c] > 0) {
            s->rows.v[row].give[c]--;
            s->w->claim[a] = (uint8_t)c;
            return;
        }
}

/* Blocks that are still there come first, in the order of their addresses, which is about that of their making. */
static void claim_bare(struct sizes *s)
{
    static const enum gm_life turns[] = {GM_LIFE_OLD, GM_LIFE_OLD, GM_LIFE_OLD_REPLACED, GM_LIFE_OLD_FREED,
                                         GM_LIFE_OLD_TAIL};
    struct gm_role_work *w = s->w;
    for (size_t turn = 0; turn < sizeof turns / sizeof *turns; turn++)
        for (size_t i = 0; i < s->bare.n; i++) {
            uint32_t a = s->bare.v[i];
            uint64_t bytes = gm_requested(w->h, a);
            if (gm_life_of(w, a) != turns[turn] || (turn < 2 && (turn == 0) != (gm_let_go(w->h, a) == GM_NEVER)))
                continue;
            if (turns[turn] == GM_LIFE_OLD_REPLACED && gm_life_part(w, a) != GM_PART_OPTIMIZER) {
                w->claim[a] = find(s, bytes)->gradients.most > 0 ? GM_CLAIM_SECOND : GM_CLAIM_NONE;
                continue;
            }
            bool is_freed = turns[turn] == GM_LIFE_OLD_FREED || turns[turn] == GM_LIFE_OLD_TAIL;
            if (is_freed && !find(s, bytes)->are_freed_replaced)
                give(s, a, GM_CLAIM_STALE_GRADIENT, GM_CLAIM_STALE_GRADIENT);
            else if (bytes == WORKSPACE)
                w->claim[a] = GM_CLAIM_WORKSPACE;
            else if (is_workspace_90(find(s, bytes)))
                w->claim[a] = GM_CLAIM_WORKSPACE_MAYBE;
            else
                give(s, a, GM_CLAIM_PARAMETER, GM_CLAIM_INFERENCE);
        }
}

static bool is_set_up(enum gm_says says)
{
    return gm_is_of_weights(says) || says == GM_SAYS_OTHER;
}

/* An optimizer's states have that size, and half of it is a parameter's and its gradient's, of which it has no states.
 * Parameters of which each has a gradient of its own size are none. */
static bool is_copy_size(const struct sizes *s, const struct size_row *row)
{
    if (row == NULL || row->bytes % 2 != 0 || row->states.most == 0 ||
        (row->parameters > 0 && row->gradients.most >= row->parameters))
        return false;
    const struct size_row *half = find(s, row->bytes / 2);
    return half != NULL && half->gradients.most > 0 && half->states.most == 0 && half->parameters >= row->parameters;
}

/* Whether gradients of that size are made, or of one that another type has. */
static bool is_of_gradients(const struct sizes *s, uint64_t bytes)
{
    for (uint64_t f = 1; f <= 4; f *= 2) {
        const struct size_row *less = bytes % f == 0 ? find(s, bytes / f) : NULL, *more = find(s, bytes * f);
        if ((less != NULL && less->gradients.most > 0) || (more != NULL && more->gradients.most > 0))
            return true;
    }
    return false;
}

/* Claims of blocks with a stack, and of what is no business of sizes. */
static void claim_others(struct sizes *s)
{
    struct gm_role_work *w = s->w;
    const struct gm_history *h = w->h;
    for (size_t a = 0; a < h->allocation_count; a++) {
        enum gm_life life = gm_life_of(w, a);
        if (gm_life_is_short(life) || is_bare(w, a))
            continue;
        if ((gm_requested(h, a) == WORKSPACE && (life == GM_LIFE_OLD || life >= GM_LIFE_LASTING)) ||
            is_made_workspace_90(w, a, find(s, gm_requested(h, a))))
            w->claim[a] = GM_CLAIM_WORKSPACE;
        else if (h->born[a] == 0 && gm_role_says(w, a) == GM_SAYS_NONE && gm_is_private_pool(h, gm_pool_number(h, a)))
            w->claim[a] = GM_CLAIM_PRIVATE;
        else if (gm_life_of(w, a) >= GM_LIFE_LASTING && gm_life_part(w, a) == GM_PART_FORWARD &&
                 is_set_up(gm_role_says(w, a)) && is_copy_size(s, find(s, gm_requested(h, a))))
            w->claim[a] = GM_CLAIM_COPY;
        else if (life == GM_LIFE_LASTING && gm_is_beside_backward(w, a) && w->optimizers.n == 0 &&
                 is_of_gradients(s, gm_requested(h, a)))
            w->claim[a] = GM_CLAIM_OWN_STATE;
        else if (life == GM_LIFE_LASTING && gm_life_part(w, a) == GM_PART_FORWARD && w->backwards.n > 0 &&
                 (h->born[a] > w->backwards.v[0] || gm_is_of_rounds(w, a)) && gm_role_says(w, a) <= GM_SAYS_OTHER)
            w->claim[a] = GM_CLAIM_LEFT;
        else if (gm_life_part(w, a) != GM_PART_FORWARD && is_parameter_size(find(s, gm_requested(h, a))))
            w->claim[a] = GM_CLAIM_FITS;
    }
}

bool gm_role_sizes(struct gm_role_work *w)
{
    struct sizes s = {.w = w};
    bool ok = count(&s);
    if (ok) {
        count_passing(&s);
        count_kept(&s);
        sum_up(&s);
        share(&s);
        claim_others(&s);
        claim_bare(&s);
        for (size_t i = 0; i < s.trainable.n; i++)
            if (w->claim[s.trainable.v[i]] == GM_CLAIM_NONE)
                give(&s, s.trainable.v[i], GM_CLAIM_TRAINED,
                     gm_role_says(w, s.trainable.v[i]) == GM_SAYS_INPUT ? GM_CLAIM_OWN_STATE : GM_CLAIM_CLONE);
    }
    gm_map_free(&s.index);
    GM_FREE_ALL(s.rows.v, s.bare.v, s.trainable.v);
    return ok;
}
