/* SPDX-License-Identifier: Apache-2.0
 *
 * Peaks without some rows of a table.
 *
 * One round walks the requested bytes and, at every local maximum, lowers the total by what each row holds then: the
 * largest such difference is the peak without that row. So one walk gives the exact answer for all rows. A maximum that
 * is below the smallest answer so far cannot raise any of them and is passed over.
 *
 * The greedy list takes the row whose removal helps most and starts the next round without it. The first round notes,
 * for short runs of events (buckets), the largest total and the least that each row holds; the next rounds leave out
 * the buckets that cannot matter by these bounds.
 *
 * A saving of less than a thousandth of the peak is not worth a line and ends the list.
 *
 * Bytes are counted in doubles, which are exact up to 2^53 and have a fast maximum; more than that is refused.
 */
#include "analyze/timeline/peaks/groups.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 8192, BUCKET_LEAST = 256, SAVINGS_MOST = 16, EVENTS_MOST = 20000000, WORTHWHILE_FRACTION = 1000 };
static const double EXACT = 9007199254740992.0; /* 2^53 */

struct bucket {
    uint32_t event, end; /* its events */
    double total, most;  /* of all that is not hidden: before its first event, and the largest */
};

struct round {
    const struct gm_history *h;
    struct gm_removals *r;
    struct gm_walk walk;
    size_t n;                     /* rows, rounded up for the sake of vectors */
    double base;                  /* bytes of what is not removed */
    double keep[GM_WHO_COUNT];    /* 1: counted in base */
    double held[GM_WHO_COUNT];    /* by each row now */
    double best[GM_REMOVABLE];    /* the peak without each row, so far */
    double floor;                 /* a lower bound of all `best` that are of interest */
    double top;                   /* the peak of base ... */
    double at_top[GM_REMOVABLE];  /* ... and what each row held then */
    uint32_t evaluations, moment; /* moment: of the last change */
    bool is_rising, is_inexact;
    struct bucket *buckets; /* NULL: not wanted */
    size_t bucket_count;
    double *held_at_start, *least; /* [bucket * n + row] */
};

/* ---- who is who -------------------------------------------------------------------------------------------------- */

enum { WHO_NOT_ASKED = UINT8_MAX };

/* The rows by group, and by stack as far as stacks have been asked for. */
struct lookup {
    struct gm_grouping *grouping;
    uint8_t *by_group, *by_stack;
    size_t groups; /* those that the table was made of; later ones have no row */
};

static bool look_up(struct lookup *l, uint32_t stack, uint8_t role, uint8_t *who)
{
    uint32_t group = gm_grouping_of(l->grouping, stack, role);
    *who = group < l->groups ? l->by_group[group] : GM_WHO_OTHER;
    return group != GM_NEVER;
}

static bool name_all(struct gm_removals *r, struct lookup *l)
{
    const struct gm_history *h = &r->pass->history;
    bool is_by_role = l->grouping->by == GM_GROUP_ROLE;
    for (size_t a = 0; a < h->allocation_count; a++) {
        uint8_t *known = &l->by_stack[gm_stack_of(h, a)];
        if ((is_by_role || *known == WHO_NOT_ASKED) && !look_up(l, gm_stack_of(h, a), gm_role_of(r->pass, a), known))
            return false;
        r->who[a] = gm_is_hidden(r->pass, a) ? GM_WHO_HIDDEN : *known;
    }
    return true;
}

bool gm_removals_start(struct gm_removals *r, struct gm_trace_pass *pass, const struct gm_group_table *table,
                       struct gm_grouping *grouping)
{
    size_t stacks = (size_t)pass->snapshot->stacks.count + 1;
    *r = (struct gm_removals){.pass = pass, .count = table->count < GM_REMOVABLE ? table->count : GM_REMOVABLE};
    struct lookup l = {.grouping = grouping, .groups = grouping->labels.n};
    r->who = malloc(pass->history.allocation_count + 1);
    l.by_group = malloc(l.groups + 1);
    l.by_stack = malloc(stacks);
    bool ok = r->who != NULL && l.by_group != NULL && l.by_stack != NULL;
    if (ok) {
        memset(l.by_group, GM_WHO_OTHER, l.groups + 1);
        memset(l.by_stack, WHO_NOT_ASKED, stacks);
    }
    for (size_t i = 0; ok && i < r->count; i++) {
        /* bytes without a stack are no place that one could mend */
        r->is_removable[i] = table->rows[i].frame_count > 0 || grouping->by == GM_GROUP_ROLE;
        if (r->is_removable[i])
            l.by_group[table->group[i]] = (uint8_t)i;
    }
    ok = ok && name_all(r, &l);
    GM_FREE_ALL(l.by_group, l.by_stack);
    return ok;
}

void gm_removals_free(struct gm_removals *r)
{
    free(r->who);
    *r = (struct gm_removals){0};
}

/* ---- one round --------------------------------------------------------------------------------------------------- */

static void raise_floor(struct round *x)
{
    double floor = -1;
    for (size_t i = 0; i < x->r->count; i++)
        if (x->r->is_removable[i] && x->keep[i] > 0 && (floor < 0 || x->best[i] < floor))
            floor = x->best[i];
    x->floor = floor;
}

/* The state now is one at which the curve may be highest. */
static void evaluate(struct round *x)
{
    double base = x->base;
    if (base < x->floor)
        return;
    if (base > x->top) {
        x->top = base;
        memcpy(x->at_top, x->held, x->n * sizeof *x->held);
    }
    for (size_t i = 0; i < x->n; i++) {
        double without = base - x->held[i];
        x->best[i] = x->best[i] > without ? x->best[i] : without;
    }
    if (++x->evaluations % 16 == 0)
        raise_floor(x);
}

static void change_by(struct round *x, uint8_t who, double bytes)
{
    x->held[who] += bytes;
    x->base += x->keep[who] * bytes;
}

static void rise(struct round *x, uint32_t event, uint8_t who, double bytes)
{
    change_by(x, who, bytes);
    x->is_rising = true;
    x->is_inexact |= x->base > EXACT;
    x->moment = event + 1;
}

static void fall(struct round *x, uint32_t event, uint8_t who, double bytes)
{
    if (x->is_rising)
        evaluate(x);
    change_by(x, who, -bytes);
    x->is_rising = false;
    x->moment = event + 1;
}

/* Walks the events up to `end`. `swings` and `bucket` may be NULL. */
static inline void walk_to(struct round *x, uint32_t end, struct gm_swings *swings, struct bucket *bucket,
                           double *least)
{
    struct gm_change c;
    bool is_inside = false; /* of an event that has had a change already */
    while (x->walk.event < end && gm_walk_next(&x->walk, &c)) {
        bool has_more = x->walk.event == c.event; /* the end of a replaced allocation: the event itself comes next */
        if (c.kind != GM_CHANGE_ALLOC && c.kind != GM_CHANGE_FREE)
            continue;
        uint8_t who = x->r->who[c.allocation];
        double bytes = (double)gm_requested(x->h, c.allocation);
        if (who == GM_WHO_HIDDEN) {
            /* does not change anything */
        } else if (c.kind == GM_CHANGE_ALLOC) {
            if (swings != NULL && !is_inside && !x->is_rising)
                gm_swings_see(swings, x->base, x->moment);
            rise(x, c.event, who, bytes);
            if (bucket != NULL && x->base > bucket->most)
                bucket->most = x->base;
        } else {
            if (swings != NULL && (x->is_rising || has_more))
                gm_swings_see(swings, x->base, x->moment);
            fall(x, c.event, who, bytes);
            if (least != NULL && who < GM_REMOVABLE && x->held[who] < least[who])
                least[who] = x->held[who];
        }
        if (is_inside && swings != NULL)
            gm_swings_see(swings, x->base, x->moment); /* replaced by less: may be a low that nothing else shows */
        is_inside = has_more && who != GM_WHO_HIDDEN;
    }
}

/* All events of the window, noting buckets on the way. */
static void first_round(struct round *x, uint32_t from, uint32_t to, struct gm_swings *swings)
{
    const struct gm_trace_pass *pass = x->r->pass;
    uint32_t length = (to - from) / BUCKETS + 1;
    length = length < BUCKET_LEAST ? BUCKET_LEAST : length;
    for (size_t a = 0; a < x->h->allocation_count; a++)
        if (gm_history_is_active(x->h, a, from))
            change_by(x, x->r->who[a], (double)gm_requested(x->h, a));
    x->is_inexact = x->base > EXACT;
    x->moment = from;
    x->is_rising = true;
    if (swings != NULL)
        gm_swings_start(swings, (double)pass->peak->requested, x->base, from);
    x->walk = gm_walk_from(x->h, from);
    do { /* a window of one moment is a bucket too */
        uint32_t end = to - x->walk.event > length ? x->walk.event + length : to;
        if (x->buckets == NULL) {
            walk_to(x, end, swings, NULL, NULL);
            continue;
        }
        double *held = x->held_at_start + x->bucket_count * x->n, *least = x->least + x->bucket_count * x->n;
        struct bucket *bucket = &x->buckets[x->bucket_count++];
        *bucket = (struct bucket){x->walk.event, end, x->base, x->base};
        memcpy(held, x->held, x->n * sizeof *held);
        memcpy(least, x->held, x->n * sizeof *least);
        walk_to(x, end, swings, bucket, least);
    } while (x->walk.event < to && !x->is_inexact);
    evaluate(x);
    if (swings != NULL) {
        gm_swings_see(swings, x->base, x->moment);
        gm_swings_end(swings);
    }
}

/* The buckets that matter, with the rows removed for which `keep` is 0. false: too much work. */
static bool next_round(struct round *x, int64_t *events_left)
{
    for (size_t b = 0; b < x->bucket_count; b++) {
        const struct bucket *bucket = &x->buckets[b];
        const double *held = x->held_at_start + b * x->n, *least = x->least + b * x->n;
        double bound = bucket->most, base = bucket->total;
        for (size_t i = 0; i < x->r->count; i++)
            if (x->keep[i] <= 0) {
                bound -= least[i];
                base -= held[i];
            }
        if (bound < x->floor)
            continue;
        *events_left -= bucket->end - bucket->event;
        if (*events_left < 0)
            return false;
        x->base = base;
        memcpy(x->held, held, x->n * sizeof *held);
        x->is_rising = true;
        x->walk = gm_walk_from(x->h, bucket->event);
        walk_to(x, bucket->end, NULL, NULL, NULL);
        if (x->is_rising)
            evaluate(x);
    }
    return true;
}

/* ---- the greedy list --------------------------------------------------------------------------------------------- */

/* What was held when the peaks of earlier rounds were reached: each bounds the answers of later rounds from below. */
struct witness {
    double base;
    double held[GM_REMOVABLE];
};

static size_t choose(const struct round *x)
{
    size_t chosen = GM_REMOVABLE;
    for (size_t i = 0; i < x->r->count; i++) {
        if (!x->r->is_removable[i] || x->keep[i] <= 0)
            continue;
        if (chosen == GM_REMOVABLE || x->best[i] < x->best[chosen] ||
            (x->best[i] <= x->best[chosen] && x->at_top[i] > x->at_top[chosen]))
            chosen = i;
    }
    return chosen;
}

static void prepare_next(struct round *x, struct witness *witnesses, size_t count, size_t removed)
{
    witnesses[count - 1].base = x->top;
    memcpy(witnesses[count - 1].held, x->at_top, sizeof x->at_top);
    for (size_t k = 0; k < count; k++)
        witnesses[k].base -= witnesses[k].held[removed];
    x->keep[removed] = 0;
    x->top = -1;
    for (size_t i = 0; i < x->n; i++) {
        x->best[i] = -1;
        for (size_t k = 0; k < count; k++)
            if (witnesses[k].base - witnesses[k].held[i] > x->best[i])
                x->best[i] = witnesses[k].base - witnesses[k].held[i];
    }
    raise_floor(x);
}

/* The first round is done. */
static size_t list_savings(struct round *x, const struct gm_group_row *rows, struct gm_saving *savings, size_t most)
{
    struct witness witnesses[SAVINGS_MOST];
    int64_t events_left = EVENTS_MOST;
    double worthwhile = x->top / WORTHWHILE_FRACTION;
    for (size_t count = 0; count < most;) {
        size_t chosen = choose(x);
        if (chosen == GM_REMOVABLE || x->best[chosen] >= x->top || x->top - x->best[chosen] < worthwhile)
            return count;
        savings[count++] = (struct gm_saving){.label = rows[chosen].label,
                                              .bytes_at_peak = (uint64_t)x->at_top[chosen],
                                              .peak_after = (uint64_t)x->best[chosen],
                                              .saved = (uint64_t)(x->top - x->best[chosen])};
        if (count == most)
            return count;
        prepare_next(x, witnesses, count, chosen);
        if (!next_round(x, &events_left))
            return count;
    }
    return most;
}

static bool run(struct round *x, struct gm_group_row *rows, struct gm_swings *swings)
{
    struct gm_removals *r = x->r;
    double peak = (double)r->pass->peak->requested;
    for (size_t i = 0; i < GM_WHO_COUNT; i++)
        x->keep[i] = i != GM_WHO_HIDDEN;
    x->top = -1;
    for (size_t i = 0; i < r->count; i++)
        x->best[i] = r->is_removable[i] ? peak - (double)rows[i].bytes : peak;
    raise_floor(x);
    first_round(x, r->pass->from, r->pass->to, swings);
    return !x->is_inexact && x->top >= peak && x->top <= peak;
}

static bool make_buckets(struct round *x)
{
    size_t count = (x->r->pass->to - x->r->pass->from) / BUCKET_LEAST + 1;
    count = count < BUCKETS ? count : BUCKETS;
    x->buckets = malloc(count * sizeof *x->buckets);
    x->held_at_start = malloc((count * x->n + 1) * sizeof *x->held_at_start);
    x->least = malloc((count * x->n + 1) * sizeof *x->least);
    return x->buckets != NULL && x->held_at_start != NULL && x->least != NULL;
}

bool gm_removals_run(struct gm_removals *r, struct gm_group_row *rows, struct gm_swings *swings,
                     struct gm_saving *savings, size_t most, size_t *saving_count)
{
    struct gm_trace_pass *pass = r->pass;
    struct round x = {.h = &pass->history, .r = r, .n = (r->count + 3) / 4 * 4};
    bool ok = savings == NULL || make_buckets(&x);
    bool is_exact = ok && pass->from <= pass->to && (double)pass->peak->requested <= EXACT && run(&x, rows, swings);
    for (size_t i = 0; is_exact && i < r->count; i++)
        if (r->is_removable[i])
            rows[i].peak_without = (uint64_t)x.best[i];
    if (is_exact && savings != NULL)
        *saving_count = list_savings(&x, rows, savings, most < SAVINGS_MOST ? most : SAVINGS_MOST);
    if (!is_exact && swings != NULL)
        swings->count = 0;
    GM_FREE_ALL(x.buckets, x.held_at_start, x.least);
    return ok;
}
