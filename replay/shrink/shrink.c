/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/shrink/shrink.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/base/size.h"
#include "replay/shrink/shrink_private.h"
#include "replay/trials/bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const gm_shrink_goals[] = {"oom", "reserved", "fragmentation", NULL};

const char *const gm_shrink_joins[] = {"none", "site", "all", NULL};

enum { PLACEMENTS = 5 }; /* GM_PLACE_LOW and up */

/* A unit, and by what it is grouped with others. */
struct piece {
    uint64_t key;
    uint32_t unit;
};
GM_ORDERING(by_key, struct piece, GM_UP(key) || GM_UP(unit));

struct search {
    struct gm_shrunk *s;
    const struct gm_shrink_options *options;
    bool *is_dropped; /* [unit]: what is being tried */
    bool *is_there;   /* [unit] */
    bool *is_freed;   /* [item] */
    struct piece *pieces;
    size_t *starts; /* of groups in pieces */
    enum gm_status status;
    struct gm_error *err;
};

/* ---- the judge --------------------------------------------------------------------------------------------------- */

static double unused_share(const struct gm_outcome *o)
{
    return o->reserved == 0 ? 0 : (double)o->unused / (double)o->reserved;
}

/* `last`: the op that has to fail. */
static bool is_kept(const struct search *w, const struct gm_outcome *o, uint32_t last)
{
    const struct gm_outcome *whole = &w->s->whole;
    if (o->is_too_busy)
        return false;
    if (w->s->goal == GM_SHRINK_OOM)
        return o->has_failed && o->op == last && o->is_pieces == whole->is_pieces;
    const double was = (double)whole->reserved, now = (double)o->reserved, tolerance = w->options->tolerance;
    return !o->has_failed && fabs(now - was) <= tolerance * was &&
           (w->s->goal != GM_SHRINK_FRAGMENTATION || fabs(unused_share(o) - unused_share(whole)) <= tolerance);
}

static bool is_over(struct search *w)
{
    if (w->status != GM_OK || w->s->end != GM_SHRINK_IS_MINIMAL)
        return true;
    if (w->s->replays >= w->options->most_replays)
        w->s->end = GM_SHRINK_OUT_OF_REPLAYS;
    else if (w->options->is_over != NULL && w->options->is_over(w->options->asked))
        w->s->end = GM_SHRINK_OUT_OF_TIME;
    return w->s->end != GM_SHRINK_IS_MINIMAL;
}

static void count_replay(struct search *w)
{
    w->s->replays++;
    if (w->options->replays != NULL)
        atomic_store(w->options->replays, w->s->replays);
}

static bool play_at(struct search *w, struct gm_outcome *o, uint32_t placement)
{
    const struct gm_demand *p = &w->s->program;
    const double most = (double)w->s->whole.reserved * (1 + w->options->tolerance) + 1;
    const bool is_bounded = w->s->goal == GM_SHRINK_OOM || most >= 0x1p63;
    const struct gm_play play = {.program = p,
                                 .device = &w->options->device,
                                 .is_dropped = w->is_dropped,
                                 .placement = placement,
                                 .most = is_bounded ? UINT64_MAX : (uint64_t)most};
    count_replay(w);
    w->status = gm_play(o, &play, w->err);
    return w->status == GM_OK && is_kept(w, o, (uint32_t)p->ops.n - 1);
}

/* As it is, without what is dropped. */
static bool holds(struct search *w, struct gm_outcome *o)
{
    struct gm_outcome other;
    bool ok = play_at(w, o, w->s->placement);
    for (uint32_t i = 0; ok && w->s->is_robust && o->hangs_on_placement && i < PLACEMENTS; i++)
        ok = i == w->s->placement || play_at(w, &other, i);
    return ok;
}

/* ---- dropping ---------------------------------------------------------------------------------------------------- */

/* Of the peak, what comes after it is of no use. */
static void compact(struct search *w, const struct gm_outcome *o)
{
    struct gm_demand *p = &w->s->program;
    size_t kept = 0, units = 0;
    if (w->s->goal != GM_SHRINK_OOM)
        p->ops.n = (size_t)o->peak_op + 1;
    memset(w->is_there, 0, p->units * sizeof *w->is_there);
    for (size_t i = 0; i < p->ops.n; i++)
        if (!w->is_dropped[p->ops.v[i].unit] &&
            (p->ops.v[i].kind != GM_DEMAND_LET_GO || w->is_there[p->ops.v[i].what])) {
            w->is_there[p->ops.v[i].unit] = true;
            p->ops.v[kept++] = p->ops.v[i];
        }
    p->ops.n = kept;
    for (size_t i = 0; i < p->units; i++)
        units += w->is_there[i];
    if (w->options->units != NULL)
        atomic_store(w->options->units, units);
    w->s->outcome = *o;
}

/* Pieces [from, to), but for the last request; whether something was dropped. */
static bool drop(struct search *w, size_t from, size_t to)
{
    const struct gm_demand *p = &w->s->program;
    const uint32_t last = p->ops.v[p->ops.n - 1].unit;
    struct gm_outcome o;
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        const uint32_t unit = w->pieces[i].unit;
        w->is_dropped[unit] = w->is_there[unit] && unit != last;
        n += w->is_dropped[unit];
    }
    const bool ok = n > 0 && holds(w, &o);
    if (ok)
        compact(w, &o);
    for (size_t i = from; i < to; i++)
        w->is_dropped[w->pieces[i].unit] = false;
    return ok;
}

/* Where groups begin, of the pieces that are still there; how many groups. */
static size_t find_groups(struct search *w, size_t *n)
{
    size_t m = 0, kept = 0;
    for (size_t i = 0; i < *n; i++) {
        if (!w->is_there[w->pieces[i].unit])
            continue;
        w->pieces[kept] = w->pieces[i];
        if (kept == 0 || w->pieces[kept].key != w->pieces[kept - 1].key)
            w->starts[m++] = kept;
        kept++;
    }
    w->starts[m] = *n = kept;
    return m;
}

/* Groups of pieces with one key, by halves, quarters, ... down to `least` groups at once; with `least` 1 until no
 * single one can be dropped. */
static void reduce(struct search *w, size_t n, size_t least)
{
    size_t m = find_groups(w, &n);
    for (size_t size = m; size >= least && size > 0;) {
        bool has_dropped = false;
        for (size_t g = 0; g < m && !is_over(w); g += size)
            has_dropped |= drop(w, w->starts[g], w->starts[g + size < m ? g + size : m]);
        if (is_over(w) || (size == 1 && !has_dropped))
            return;
        m = find_groups(w, &n);
        if (size > 1)
            size = (size < m ? size + 1 : m + 1) / 2;
    }
}

enum grouping { BY_LIFE, BY_TIME, BY_SITE, BY_SIZE, BY_UNIT };

static uint64_t key_of(const struct search *w, enum grouping by, size_t op)
{
    const struct gm_demand *p = &w->s->program;
    const struct gm_demand_op *o = &p->ops.v[op];
    const bool is_item = o->kind == GM_DEMAND_ALLOC;
    const struct gm_demand_item *item = is_item ? &p->items.v[o->what] : NULL;
    const uint64_t size = is_item ? gm_rules_round(&w->options->device.conf.rules, item->requested) : 0;
    switch (by) {
    case BY_LIFE:
        return !is_item ? 0 : item->joined == 0 ? 1 : w->is_freed[o->what] ? 2 : 3;
    case BY_TIME:
        return op;
    case BY_SITE:
        return is_item ? item->stack + UINT64_C(1) : 0;
    case BY_SIZE:
        return size;
    case BY_UNIT:
        break;
    }
    return is_item ? size << 1 : 0;
}

/* One pass; pieces of BY_UNIT and BY_TIME have keys of their own. */
static void pass(struct search *w, enum grouping by, size_t least)
{
    const struct gm_demand *p = &w->s->program;
    size_t n = 0;
    memset(w->is_freed, 0, p->items.n * sizeof *w->is_freed);
    for (size_t i = 0; i < p->ops.n; i++)
        if (p->ops.v[i].kind == GM_DEMAND_FREE)
            w->is_freed[p->ops.v[i].what] = true;
    for (size_t i = 0; i < p->ops.n; i++)
        if (p->ops.v[i].kind != GM_DEMAND_FREE && p->ops.v[i].kind != GM_DEMAND_RETIRE)
            w->pieces[n++] = (struct piece){key_of(w, by, i), p->ops.v[i].unit};
    qsort(w->pieces, n, sizeof *w->pieces, by_key);
    for (size_t i = 0; by == BY_UNIT && i < n; i++)
        w->pieces[i].key = i;
    if (!is_over(w))
        reduce(w, n, least);
}

static void drop_units(struct search *w)
{
    size_t before;
    do {
        before = w->s->program.ops.n;
        pass(w, BY_UNIT, 1);
    } while (w->s->program.ops.n < before && !is_over(w));
}

static void drop_all(struct search *w)
{
    enum { LEAST = 64 }; /* stretches of time */
    pass(w, BY_LIFE, 1);
    pass(w, BY_TIME, w->s->program.ops.n / LEAST + 1);
    pass(w, BY_SITE, 1);
    pass(w, BY_SIZE, 1);
    drop_units(w);
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

/* What may become one: of one stream and pool, freed before the same request, or never; of one site, or any. */
struct sibling {
    uint32_t stream, pool, freed_before, site, item;
};
GM_ORDERING(by_fate, struct sibling, GM_UP(stream) || GM_UP(pool) || GM_UP(freed_before) || GM_UP(site) || GM_UP(item));

static bool are_siblings(const struct sibling *a, const struct sibling *b)
{
    return a->stream == b->stream && a->pool == b->pool && a->freed_before == b->freed_before && a->site == b->site;
}

/* As large as their blocks together; or, if then something gets room where a segment's end was too short, as what
 * segments of their own would have. */
static bool join(struct search *w, const struct sibling *v, size_t n, uint64_t unit)
{
    struct gm_demand_item *items = w->s->program.items.v, *first = &items[v[0].item];
    const struct gm_demand_item was = *first;
    const struct gm_rules *rules = &w->options->device.conf.rules;
    struct gm_outcome o;
    first->requested = first->joined = 0;
    for (size_t i = 0; i < n; i++) {
        const struct gm_demand_item *item = i == 0 ? &was : &items[v[i].item];
        first->requested += gm_round_up(gm_rules_round(rules, item->requested), unit);
        first->joined += item->joined;
        w->is_dropped[v[i].item] = i > 0;
    }
    const bool ok = holds(w, &o);
    if (ok)
        compact(w, &o);
    else
        *first = was;
    for (size_t i = 1; i < n; i++)
        w->is_dropped[v[i].item] = false;
    return ok;
}

static void join_some(struct search *w, const struct sibling *v, size_t n)
{
    if (n < 2 || is_over(w) || join(w, v, n, GM_MIN_BLOCK) || is_over(w) || join(w, v, n, GM_SMALL_SEGMENT))
        return;
    join_some(w, v, n / 2);
    join_some(w, v + n / 2, n - n / 2);
}

static size_t list_siblings(const struct search *w, struct sibling *v, uint32_t *at)
{
    const struct gm_demand *p = &w->s->program;
    uint32_t requests = 0;
    size_t n = 0;
    for (size_t i = 0; i < p->ops.n; i++) {
        const struct gm_demand_op *op = &p->ops.v[i];
        if (op->kind == GM_DEMAND_ALLOC && i + 1 < p->ops.n) {
            const struct gm_demand_item *item = &p->items.v[op->what];
            at[op->what] = (uint32_t)n;
            v[n++] = (struct sibling){item->stream, item->pool, GM_NEVER,
                                      w->options->join == GM_SHRINK_JOIN_SITE ? item->stack : 0, op->what};
        } else if (op->kind == GM_DEMAND_FREE || op->kind == GM_DEMAND_LET_GO) {
            v[at[op->what]].freed_before = op->kind == GM_DEMAND_FREE ? requests : GM_NEVER - 1 - (uint32_t)i;
        }
        requests += op->kind != GM_DEMAND_FREE;
    }
    qsort(v, n, sizeof *v, by_fate);
    return n;
}

static void join_all(struct search *w)
{
    const size_t most = w->s->program.ops.n + 1;
    GM_FREED struct sibling *v = malloc(most * sizeof *v);
    GM_FREED uint32_t *at = malloc((w->s->program.items.n + 1) * sizeof *at);
    if (v == NULL || at == NULL)
        w->status = gm_no_memory(w->err);
    const size_t n = w->status == GM_OK ? list_siblings(w, v, at) : 0;
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && are_siblings(&v[i], &v[k]); k++)
            ;
        join_some(w, v + i, k - i);
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static enum gm_status play_program(struct search *w, const struct gm_demand *program, uint32_t placement,
                                   struct gm_outcome *o)
{
    const struct gm_play play = {
        .program = program, .device = &w->options->device, .placement = placement, .most = UINT64_MAX};
    count_replay(w);
    return gm_play(o, &play, w->err);
}

/* How far it is from the recording: smaller is nearer. */
static uint64_t distance(const struct search *w, const struct gm_history *h, uint32_t oom,
                         const struct gm_demand *program, const struct gm_outcome *o)
{
    if (o->is_too_busy)
        return UINT64_MAX;
    if (w->options->device.capacity != UINT64_MAX)
        return oom == GM_NEVER || (o->has_failed && o->op == program->ops.n - 1) ? 0 : o->has_failed ? 1 : 2;
    return gm_gap(o->reserved, gm_bound_recorded(h));
}

/* Takes the program, if one of the placements makes it come nearer to the recording than *least. */
static enum gm_status offer(struct search *w, struct gm_history *h, uint32_t oom, bool with_layout, uint64_t *least)
{
    struct gm_demand program;
    struct gm_outcome o = {.hangs_on_placement = true};
    const struct gm_demand_parts parts = {oom, with_layout, w->options->without_empties};
    enum gm_status status = gm_demand_make(&program, h, &parts) ? GM_OK : gm_no_memory(w->err);
    if (status == GM_OK && program.ops.n == 0)
        status = gm_fail(w->err, GM_E_FORMAT, GM_NO_OFFSET, "device %lld asked for nothing", (long long)h->device);
    bool is_taken = false;
    for (uint32_t i = 0; status == GM_OK && i<PLACEMENTS && * least> 0 && o.hangs_on_placement; i++) {
        status = play_program(w, &program, i, &o);
        const uint64_t far = distance(w, h, oom, &program, &o);
        if (status != GM_OK || (far >= *least && (is_taken || w->s->program.ops.n > 0)))
            continue;
        *least = far;
        is_taken = true;
        w->s->whole = o;
        w->s->placement = i;
    }
    if (w->options->units != NULL)
        atomic_store(w->options->units, program.units);
    gm_demand_free(is_taken ? &w->s->program : &program);
    if (is_taken)
        w->s->program = program;
    return status;
}

/* From an empty allocator as it is; else, if that is nearer to the recording, after requests that make its layout. */
static enum gm_status choose_whole(struct search *w, struct gm_history *h, uint32_t oom)
{
    uint64_t least = UINT64_MAX;
    GM_TRY(offer(w, h, oom, false, &least));
    return least > 0 && h->is_reconstructed && h->reserved_at_start > 0 ? offer(w, h, oom, true, &least) : GM_OK;
}

static size_t count_items(const struct gm_demand *p, size_t *joined)
{
    size_t n = 0;
    for (size_t i = 0; i < p->ops.n; i++)
        if (p->ops.v[i].kind == GM_DEMAND_ALLOC && p->items.v[p->ops.v[i].what].joined > 0) {
            n++;
            *joined += p->items.v[p->ops.v[i].what].joined > 1;
        }
    return n;
}

/* What is to be kept, and the program cut off where it is reached. */
static enum gm_status set_goal(struct search *w, const struct gm_history *h, uint32_t oom)
{
    struct gm_shrunk *s = w->s;
    char memory[GM_SIZE_TEXT], peak[GM_SIZE_TEXT];
    if (s->whole.is_too_busy)
        return gm_fail(w->err, GM_E_LIMIT, GM_NO_OFFSET,
                       "device %lld: the trace keeps the model busy far beyond its length", (long long)h->device);
    s->goal = w->options->goal;
    if (s->goal == GM_SHRINK_AUTO)
        s->goal = s->whole.has_failed || oom != GM_NEVER ? GM_SHRINK_OOM : GM_SHRINK_RESERVED;
    const uint64_t capacity = w->options->device.capacity;
    if (s->goal == GM_SHRINK_OOM && (!s->whole.has_failed || capacity == UINT64_MAX)) {
        return gm_fail(
            w->err, GM_E_FORMAT, GM_NO_OFFSET, "it does not run out of memory in the model: %s reserved at most, of %s",
            gm_size_format(peak, s->whole.reserved),
            capacity == UINT64_MAX ? "unlimited memory (--memory, --gpu)" : gm_size_format(memory, capacity));
    }
    if (s->goal == GM_SHRINK_OOM && !s->whole.has_event)
        return gm_fail(w->err, GM_E_FORMAT, GM_NO_OFFSET,
                       "what fails first in the model is a request for %s that is refused at once, without an event",
                       gm_size_format(memory, s->whole.rounded));
    s->is_recorded_request = s->goal == GM_SHRINK_OOM && oom != GM_NEVER && s->whole.op == s->program.ops.n - 1;
    if (s->whole.has_failed)
        s->program.ops.n = (size_t)s->whole.op + (s->goal == GM_SHRINK_OOM);
    if (s->goal == GM_SHRINK_OOM)
        return GM_OK;
    if (s->whole.has_failed)
        GM_TRY(play_program(w, &s->program, s->placement, &s->whole));
    s->program.ops.n = (size_t)s->whole.peak_op + 1;
    return GM_OK;
}

static enum gm_status search(struct search *w)
{
    struct gm_shrunk *s = w->s;
    struct gm_outcome o;
    const size_t units = s->program.units + 1;
    w->is_dropped = calloc(units, sizeof *w->is_dropped);
    w->is_there = calloc(units, sizeof *w->is_there);
    w->is_freed = calloc(units, sizeof *w->is_freed);
    w->pieces = malloc((s->program.ops.n + 1) * sizeof *w->pieces);
    w->starts = malloc((s->program.ops.n + 1) * sizeof *w->starts);
    if (w->is_dropped == NULL || w->is_there == NULL || w->is_freed == NULL || w->pieces == NULL || w->starts == NULL)
        return gm_no_memory(w->err);
    s->is_robust = true;
    if (!holds(w, &o)) {
        s->is_robust = false;
        if (w->status == GM_OK && !holds(w, &o))
            return gm_fail(w->err, GM_E_INTERNAL, GM_NO_OFFSET, "the whole program does not do the same twice");
    }
    if (w->status != GM_OK)
        return w->status;
    compact(w, &o);
    drop_all(w);
    for (size_t before = SIZE_MAX;
         w->options->join != GM_SHRINK_JOIN_NONE && s->program.ops.n < before && !is_over(w);) {
        before = s->program.ops.n;
        join_all(w);
        drop_units(w);
    }
    return w->status;
}

/* Only the items that are left; numbers ascend with their requests. */
static enum gm_status renumber(struct search *w)
{
    struct gm_demand *p = &w->s->program;
    uint32_t n = 0, *number = malloc((p->items.n + 1) * sizeof *number);
    for (size_t i = 0; number != NULL && i < p->ops.n; i++) {
        struct gm_demand_op *op = &p->ops.v[i];
        if (op->kind == GM_DEMAND_ALLOC) {
            p->items.v[n] = p->items.v[op->what];
            number[op->what] = n++;
        }
        if (op->kind == GM_DEMAND_ALLOC || op->kind == GM_DEMAND_FREE || op->kind == GM_DEMAND_LET_GO)
            op->what = number[op->what];
    }
    p->items.n = n;
    const bool ok = number != NULL;
    free(number);
    return ok ? GM_OK : gm_no_memory(w->err);
}

enum gm_status gm_shrink(struct gm_shrunk *out, struct gm_history *h, uint32_t oom,
                         const struct gm_shrink_options *options, struct gm_error *err)
{
    struct search w = {.s = out, .options = options, .err = err};
    size_t joined = 0;
    *out = (struct gm_shrunk){.goal = options->goal};
    enum gm_status status = choose_whole(&w, h, oom);
    GM_THEN(status, set_goal(&w, h, oom));
    out->whole_items = count_items(&out->program, &joined);
    GM_THEN(status, search(&w));
    GM_THEN(status, renumber(&w));
    out->items = count_items(&out->program, &out->joined);
    GM_FREE_ALL(w.is_dropped, w.is_there, w.is_freed, w.pieces, w.starts);
    return status;
}

void gm_shrunk_free(struct gm_shrunk *shrunk)
{
    gm_demand_free(&shrunk->program);
}
