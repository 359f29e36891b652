/* SPDX-License-Identifier: Apache-2.0
 *
 * The step is walked once; what crosses its ends is sorted, and equals are paired.
 */
#include "replay/whatif/whatif.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"

#include <stdlib.h>

size_t gm_repeat_step(const struct gm_kept_step *steps, size_t count)
{
    while (count > 0 && steps[count - 1].is_partial)
        count--;
    return count == 0 ? SIZE_MAX : count - 1;
}

/* ---- what the step does ------------------------------------------------------------------------------------------ */

/* PENDING: its free was requested and not yet completed. */
enum state { ABSENT, ALIVE, PENDING };
struct item { /* an allocation that the step touches */
    uint32_t allocation, order;
    uint8_t in, out; /* enum state, when the step begins and when it ends */
};
struct items {
    struct GM_VEC(struct item) list; /* in the order in which they are touched */
    uint32_t *of;                    /* [allocation]: index in list + 1; 0: none */
};

static struct item *item_of(struct items *items, uint32_t allocation, enum state in)
{
    if (items->of[allocation] == 0) {
        struct item item = {allocation, (uint32_t)items->list.n, (uint8_t)in, (uint8_t)in};
        if (!GM_VEC_PUSH(&items->list, item))
            return NULL;
        items->of[allocation] = (uint32_t)items->list.n;
    }
    return &items->list.v[items->of[allocation] - 1];
}

static bool walk(struct items *items, const struct gm_history *h, uint32_t first, uint32_t end)
{
    struct gm_walk w = gm_walk_start(h);
    struct gm_change c;
    w.event = first;
    while (w.replaced < h->replaced_count && h->replaced[w.replaced].event < first)
        w.replaced++;
    while (w.event < end && gm_walk_next(&w, &c)) {
        struct item *item;
        switch (c.kind) {
        case GM_CHANGE_ALLOC:
            item = item_of(items, c.allocation, ABSENT);
            break;
        case GM_CHANGE_LET_GO:
            item = item_of(items, c.allocation, ALIVE);
            break;
        case GM_CHANGE_FREE:
            item = item_of(items, c.allocation, gm_let_go(h, c.allocation) <= first ? PENDING : ALIVE);
            break;
        default:
            continue;
        }
        if (item == NULL)
            return false;
        item->out = c.kind == GM_CHANGE_ALLOC ? ALIVE : c.kind == GM_CHANGE_LET_GO ? PENDING : ABSENT;
    }
    return true;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

struct side { /* a block that crosses an end of the step */
    uint64_t requested, key;
    uint32_t stack, allocation, born, order;
};
struct sides {
    struct side *v;
    size_t n;
};

/* Stream, pool and state in one number. */
static uint64_t key_of(const struct gm_history *h, uint32_t a, uint8_t state)
{
    return (uint64_t)gm_history_stream(h, a).v << 16 | (uint64_t)gm_pool_number(h, a) << 8 | state;
}

static struct side side_of(const struct gm_history *h, const struct item *item, uint8_t state)
{
    uint32_t a = item->allocation;
    return (struct side){gm_requested(h, a), key_of(h, a, state), gm_stack_of(h, a), a, h->born[a], item->order};
}

/* The three ways to correspond. Whole orders: `order` tells any two apart. */
GM_ORDERING(same_request, struct side, GM_UP(key) || GM_UP(stack) || GM_UP(requested));
GM_ORDERING(same_place, struct side, GM_UP(key) || GM_UP(stack));
GM_ORDERING(same_bytes, struct side, GM_UP(key) || GM_UP(requested));
#define BY_AGE GM_UP(born) || GM_UP(order)
GM_ORDERING(request_order, struct side, GM_BY(same_request(a, b)) || BY_AGE);
GM_ORDERING(place_order, struct side, GM_BY(same_place(a, b)) || BY_AGE);
GM_ORDERING(bytes_order, struct side, GM_BY(same_bytes(a, b)) || BY_AGE);

enum way { BY_REQUEST, BY_PLACE, BY_BYTES };
static const struct {
    int (*same)(const void *, const void *);
    int (*order)(const void *, const void *);
} ways[] = {{same_request, request_order}, {same_place, place_order}, {same_bytes, bytes_order}};

/* Pairs what corresponds in one way and leaves the rest in *in and *out. */
static bool pair_by(struct gm_repeat_carries *pairs, struct sides *in, struct sides *out, enum way way)
{
    size_t i = 0, o = 0, ins = 0, outs = 0;
    qsort(in->v, in->n, sizeof *in->v, ways[way].order);
    qsort(out->v, out->n, sizeof *out->v, ways[way].order);
    while (i < in->n && o < out->n) {
        int order = ways[way].same(&in->v[i], &out->v[o]);
        bool is_known = in->v[i].stack != 0;
        if (order < 0 || (order == 0 && way != BY_REQUEST && is_known != (way == BY_PLACE))) {
            in->v[ins++] = in->v[i++];
        } else if (order > 0) {
            out->v[outs++] = out->v[o++];
        } else {
            struct gm_repeat_carry carry = {out->v[o++].allocation, in->v[i++].allocation};
            if (!GM_VEC_PUSH(pairs, carry))
                return false;
        }
    }
    while (i < in->n)
        in->v[ins++] = in->v[i++];
    while (o < out->n)
        out->v[outs++] = out->v[o++];
    in->n = ins;
    out->n = outs;
    return true;
}

static bool pair(struct gm_repeat_carries *pairs, struct sides *in, struct sides *out)
{
    bool ok = true;
    for (int way = BY_REQUEST; ok && way <= BY_BYTES; way++)
        ok = pair_by(pairs, in, out, (enum way)way);
    return ok;
}

/* ---- what is left alive ------------------------------------------------------------------------------------------ */

static bool leave(struct gm_repeat *repeat, const struct gm_history *h, uint32_t a, enum gm_repeat_fate fate)
{
    struct gm_repeat_left *left = &repeat->left[fate];
    left->bytes = gm_sat_add(left->bytes, gm_requested(h, a));
    return GM_VEC_PUSH(&left->allocations, a);
}

/* What the step before made and is there, not let go, when the step ends: it was not replaced. */
static bool list_witnesses(struct sides *sides, const struct gm_repeat *repeat, const struct gm_history *h,
                           uint32_t before)
{
    size_t n = 0;
    for (size_t i = before; i < repeat->first; i++)
        n += h->of_event[i] != GM_NEVER && h->born[h->of_event[i]] == i + 1;
    *sides = (struct sides){.v = malloc((n + 1) * sizeof *sides->v)};
    for (uint32_t i = before; sides->v != NULL && i < repeat->first; i++) {
        uint32_t a = h->of_event[i];
        if (a == GM_NEVER || h->born[a] != i + 1 || h->freed[a] <= repeat->end || gm_let_go(h, a) <= repeat->end)
            continue;
        const struct item item = {.allocation = a, .order = (uint32_t)sides->n};
        sides->v[sides->n++] = side_of(h, &item, ALIVE);
    }
    return sides->v != NULL;
}

/* Those of `out` that correspond to a witness pile up. */
static bool judge(struct gm_repeat *repeat, struct sides *out, const struct gm_history *h,
                  const struct gm_repeat_evidence *evidence)
{
    struct sides witnesses = {0};
    struct gm_repeat_carries pairs = {0};
    bool ok = evidence->before == GM_NEVER ||
              (list_witnesses(&witnesses, repeat, h, evidence->before) && pair(&pairs, &witnesses, out));
    for (size_t i = 0; ok && i < pairs.n; i++)
        ok = leave(repeat, h, pairs.v[i].from, GM_REPEAT_PILES_UP);
    for (size_t i = 0; ok && i < out->n; i++) {
        uint32_t a = out->v[i].allocation;
        bool is_once = h->born[a] <= repeat->first || /* it only waits for a stream since */
                       (evidence->role != NULL && gm_role_lasts(evidence->role[a]));
        ok = leave(repeat, h, a, is_once ? GM_REPEAT_IS_ONCE : GM_REPEAT_IS_REPLACED);
    }
    GM_FREE_ALL(witnesses.v, pairs.v);
    return ok;
}

static bool conclude(struct gm_repeat *repeat, const struct sides *in, struct sides *out, const struct gm_history *h,
                     const struct gm_repeat_evidence *evidence)
{
    repeat->unmatched = in->n;
    for (size_t i = 0; i < in->n; i++)
        repeat->unmatched_bytes = gm_sat_add(repeat->unmatched_bytes, in->v[i].requested);
    return judge(repeat, out, h, evidence);
}

static bool match(struct gm_repeat *repeat, const struct items *items, const struct gm_history *h,
                  const struct gm_repeat_evidence *evidence)
{
    size_t n = items->list.n;
    struct sides in = {.v = malloc((n + 1) * sizeof *in.v)}, out = {.v = malloc((n + 1) * sizeof *out.v)};
    bool ok = in.v != NULL && out.v != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        const struct item *item = &items->list.v[i];
        if (item->in != ABSENT)
            in.v[in.n++] = side_of(h, item, item->in);
        if (item->out != ABSENT)
            out.v[out.n++] = side_of(h, item, item->out);
    }
    ok = ok && pair(&repeat->carries, &in, &out) && conclude(repeat, &in, &out, h, evidence);
    GM_FREE_ALL(in.v, out.v);
    return ok;
}

bool gm_repeat_plan(struct gm_repeat *repeat, const struct gm_history *h, uint32_t first, uint32_t end,
                    const struct gm_repeat_evidence *evidence)
{
    *repeat = (struct gm_repeat){.first = first, .end = end};
    struct items items = {.of = calloc(h->allocation_count + 1, sizeof *items.of)};
    bool ok = items.of != NULL && walk(&items, h, first, end) && match(repeat, &items, h, evidence);
    GM_FREE_ALL(items.of, items.list.v);
    return ok;
}

uint64_t gm_repeat_left_bytes(const struct gm_repeat *repeat)
{
    uint64_t bytes = 0;
    for (int fate = 0; fate < GM_REPEAT_FATES; fate++)
        bytes = gm_sat_add(bytes, repeat->left[fate].bytes);
    return bytes;
}

void gm_repeat_free(struct gm_repeat *repeat)
{
    free(repeat->carries.v);
    for (int fate = 0; fate < GM_REPEAT_FATES; fate++)
        free(repeat->left[fate].allocations.v);
    *repeat = (struct gm_repeat){0};
}
