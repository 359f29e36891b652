/* SPDX-License-Identifier: Apache-2.0
 *
 * What a round of a loop does with memory. Layers that backward will need keep what they make, and backward gives it
 * back: the level climbs, or falls, by most of what a round takes. Layers of inference hand over one block and hold
 * few; a round of many such layers has nothing but them. A step comes back to its level, and either has work besides
 * its layers or holds much at once.
 */
#include "analyze/timeline/steps/step_work.h"

#include "analyze/base/order.h"

#include <math.h>
#include <stdlib.h>

enum {
    LOOKED_AT = 12, /* rounds */
    MANY = 16,      /* blocks of a round live at once ... */
    MANY_OF = 8,    /* ... and an eighth of what it allocates */
    CANDIDATES = 16,
    REPEATS = 80, /* percent, as in step_loop.c */
    INNER = 50    /* percent of a round that its inner loop must be */
};

struct body {
    struct gm_step_work *w;
    const struct gm_period *period;
    size_t rounds;
    double low[LOOKED_AT], high[LOOKED_AT];
    double kept[LOOKED_AT], old[LOOKED_AT]; /* made in the round and live two periods later; the reverse */
    size_t most_live;                       /* of the blocks that were made within a period */
};

/* The index in allocs of an allocation; SIZE_MAX: it was not made by an event. */
static size_t made_at(const struct gm_step_work *w, uint32_t a)
{
    const struct gm_history *h = &w->pass->history;
    return h->born[a] == 0 ? SIZE_MAX : gm_alloc_at(&w->allocs, h->born[a] - 1);
}

/* Allocation i comes: that of a period before is of the period no more. */
static void age(const struct body *b, size_t i, size_t *live)
{
    const struct gm_history *h = &b->w->pass->history;
    if (i < b->period->first + b->period->length)
        return;
    uint32_t old = h->of_event[b->w->allocs.event[i - b->period->length]];
    *live -= old != GM_NEVER && h->freed[old] > b->w->allocs.event[i] && *live > 0;
}

/* Allocation i of the list is live two periods after it. */
static bool is_kept(const struct body *b, size_t i, uint32_t a)
{
    size_t then = i + 2 * b->period->length;
    return then < b->w->allocs.count && b->w->pass->history.freed[a] > b->w->allocs.event[then];
}

static void walk(struct body *b)
{
    const struct gm_alloc_list *allocs = &b->w->allocs;
    const struct gm_history *h = &b->w->pass->history;
    size_t first = b->period->first, length = b->period->length, i = first, end = first + b->rounds * length, live = 0;
    struct gm_walk walk = gm_walk_from(h, allocs->event[i]);
    struct gm_change c;
    double level = 0;
    for (size_t k = 0; k < b->rounds; k++) {
        b->low[k] = INFINITY;
        b->high[k] = -INFINITY;
    }
    while (i < end && gm_walk_next(&walk, &c)) {
        bool is_next = c.event == allocs->event[i] && walk.event > c.event;
        size_t k = (i - first) / length; /* the round: frees before its first allocation count to it, too */
        if (is_next)
            age(b, i, &live);
        double bytes =
            c.kind == GM_CHANGE_ALLOC || c.kind == GM_CHANGE_FREE ? (double)gm_requested(h, c.allocation) : 0;
        if (c.kind == GM_CHANGE_ALLOC && is_next) {
            level += bytes;
            b->high[k] = fmax(b->high[k], level);
            b->kept[k] += is_kept(b, i, c.allocation) ? bytes : 0;
            b->most_live = ++live > b->most_live ? live : b->most_live;
        } else if (c.kind == GM_CHANGE_FREE && i > first) {
            size_t made = made_at(b->w, c.allocation);
            level -= bytes;
            live -= made != SIZE_MAX && made >= first && made + length >= i && live > 0;
            b->old[k] += made == SIZE_MAX || made + 2 * length < i ? bytes : 0;
            b->low[k] = fmin(b->low[k], level);
        }
        i += is_next;
    }
}

/* The lower median, so that a first round that also makes what lasts does not count. */
static double median(double *v, size_t n)
{
    GM_SORT(v, n, gm_by_real);
    return n == 0 ? 0 : v[(n - 1) / 2];
}

/* What a round leaves, or takes away, as a share of its rise. */
static double drift_of(struct body *b)
{
    double drift[LOOKED_AT], rise[LOOKED_AT];
    for (size_t k = 0; k < b->rounds; k++) {
        double low = isfinite(b->low[k]) ? b->low[k] : k == 0 ? 0 : b->high[k - 1]; /* nothing was freed */
        rise[k] = b->high[k] - low;
        drift[k] = k + 1 < b->rounds ? fabs(b->high[k + 1] - b->high[k]) : 0;
    }
    double most = median(drift, b->rounds - 1), usual = median(rise, b->rounds);
    most = fmax(most, fmax(median(b->kept, b->rounds), median(b->old, b->rounds)));
    return most == 0 ? 0 : usual > 0 ? most / usual : INFINITY;
}

/* Does a symbol come exactly once in every round? */
static bool has_single(const struct body *b, const uint32_t *symbols, uint32_t symbol_count, bool *answer)
{
    size_t length = b->period->length;
    GM_FREED uint32_t *last = calloc((size_t)symbol_count + 1, sizeof *last),
                      *bad = calloc((size_t)symbol_count + 1, sizeof *bad);
    bool ok = last != NULL && bad != NULL;
    for (size_t k = 0; ok && k < b->rounds; k++)
        for (size_t j = 0; j < length; j++) {
            uint32_t s = symbols[b->period->first + k * length + j];
            bad[s] |= last[s] != k; /* it came in this round already, or not in the one before */
            last[s] = (uint32_t)k + 1;
        }
    *answer = false;
    for (size_t j = 0; ok && j < length; j++) {
        uint32_t s = symbols[b->period->first + j];
        *answer |= bad[s] == 0 && last[s] == b->rounds;
    }
    return ok;
}

/* Is there a loop in a round, and a symbol that is not of it? */
static bool has_inner_loop(const struct body *b, const uint32_t *symbols, uint32_t symbol_count, bool *answer)
{
    const uint32_t *round = symbols + b->period->first;
    size_t length = b->period->length, lengths[CANDIDATES], count;
    *answer = false;
    if (!gm_period_candidates(round, length, symbol_count, lengths, CANDIDATES, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct gm_period p = gm_period_measure(round, length, lengths[i]);
        if (p.matches > 0 && gm_period_certainty(&p) >= REPEATS &&
            (p.last + p.length - p.first) * 100 >= length * INNER)
            return has_single(b, symbols, symbol_count, answer);
    }
    return true;
}

bool gm_loop_look(struct gm_step_work *w, const uint32_t *symbols, uint32_t symbol_count, const struct gm_period *p,
                  struct gm_loop_body *body)
{
    size_t rounds = (p->last + p->length - p->first) / p->length;
    struct body b = {.w = w, .period = p, .rounds = rounds < LOOKED_AT ? rounds : LOOKED_AT};
    *body = (struct gm_loop_body){0};
    walk(&b);
    body->drift = drift_of(&b);
    body->is_whole = b.most_live >= MANY && b.most_live * MANY_OF >= p->length;
    return body->is_whole || has_inner_loop(&b, symbols, symbol_count, &body->is_whole);
}
