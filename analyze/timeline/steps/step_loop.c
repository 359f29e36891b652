/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps from the period of the allocations. A symbol is a request's size and stack; where sizes vary from round to
 * round (a cache that grows, batches of different lengths) the stack alone. The shortest period that the stacks do not
 * put inside of a module is the step.
 */
#include "analyze/base/address_map.h"
#include "analyze/timeline/steps/step_work.h"

#include <stdlib.h>
#include <string.h>

enum {
    CANDIDATES = 48,
    REPEATS = 80,  /* percent of the allocations of the repeating part that must repeat */
    COVERS = 60,   /* percent of the trace's allocations that it must be */
    SMALLEST = 16, /* allocations */
    FOREIGN = 50,  /* one part in so many of a loop is other code */
    WINDOW = 1 << 19,
    PART_OF = 4 /* a size is of one part of a trace if that is less than one in so many */
};
static const uint32_t EVERYWHERE = UINT32_MAX, LOCAL = UINT32_MAX - 1;

/* No leak is that large (of what a round rises by), with and without stacks that say that it is no layer's. */
static const double MOST_DRIFT = 0.5, DOUBTED_DRIFT = 0.25;

struct loop {
    struct gm_step_work *w;
    uint32_t *symbols;
    uint32_t symbol_count;
    struct gm_period period;
};

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

/* symbols[i] of allocation i: numbers from 1 in order of first appearance. */
static bool name_pairs(struct loop *l)
{
    const struct gm_history *h = &l->w->pass->history;
    const struct gm_events *e = &h->snapshot->events;
    const struct gm_alloc_list *allocs = &l->w->allocs;
    GM_FREED_BY(gm_map_free) struct gm_address_map sizes = {0}, pairs = {0};
    bool ok = true;
    l->symbol_count = 1;
    for (size_t i = 0; ok && i < allocs->count; i++) {
        const uint64_t size = gm_event_size(e, h->first + allocs->event[i]);
        uint32_t bytes = gm_map_number(&sizes, size, (uint32_t)sizes.count);
        uint64_t pair = (uint64_t)bytes << 32 | allocs->stack[i];
        l->symbols[i] = bytes == GM_MAP_NONE ? bytes : gm_map_number(&pairs, pair, l->symbol_count);
        ok = l->symbols[i] != GM_MAP_NONE;
        l->symbol_count += ok && l->symbols[i] == l->symbol_count;
    }
    return ok;
}

/* ---- the period -------------------------------------------------------------------------------------------------- */

/* The better of two unjudged periods: a longer one only if it explains clearly more, as a step does that has something
 * besides its layers. */
static bool explains_more(const struct gm_period *longer, const struct gm_period *shorter)
{
    double misses_long = 1 - (double)longer->matches / (double)(longer->last - longer->first);
    double misses_short = 1 - (double)shorter->matches / (double)(shorter->last - shorter->first);
    return misses_long * 2 < misses_short;
}

/* Without stacks that tell: nearly every symbol from the repeating part on must come again a period later, and there
 * must be three rounds. A model's layers leave what comes before and after them unexplained. */
static bool explains_symbols(const struct loop *l, const struct gm_period *p, size_t n, bool *explains)
{
    size_t seen = 0, repeated = 0;
    GM_FREED uint8_t *state = calloc((size_t)l->symbol_count + 1, 1);
    *explains = false;
    if (state == NULL)
        return false;
    for (size_t i = p->first; i < n; i++) {
        uint8_t *at = &state[l->symbols[i]];
        bool repeats = i + p->length < n && l->symbols[i] == l->symbols[i + p->length];
        seen += *at == 0;
        repeated += repeats && *at != 2;
        *at = repeats || *at == 2 ? 2 : 1;
    }
    *explains = p->last - p->first >= 2 * p->length && repeated * 20 >= seen * 19;
    return true;
}

/* Whether the rounds are interrupted by code that is in none of them, as the layers of a model are that a function of
 * the program calls one after the other: then a longer period may be the step. */
static bool is_interrupted(const struct loop *l, const struct gm_period *p, bool *answer)
{
    const uint32_t *stack = l->w->allocs.stack;
    size_t end = p->last + p->length, foreign = 0;
    GM_FREED uint8_t *is_inside = calloc((size_t)l->w->pass->snapshot->stacks.count + 2, 1);
    if (is_inside == NULL)
        return false;
    for (size_t i = p->first; i < p->last; i++)
        is_inside[stack[i]] |= l->symbols[i] == l->symbols[i + p->length];
    for (size_t i = p->first; i < end; i++)
        foreign += !is_inside[stack[i]];
    *answer = foreign * FOREIGN >= end - p->first;
    return true;
}

/* The period of allocs [first, first + n); matches 0 if there is none. */
static bool find_period(struct loop *l, size_t first, size_t n)
{
    const uint32_t *symbols = l->symbols + first;
    size_t lengths[CANDIDATES], count;
    struct gm_period best = {0};
    bool is_sure = false; /* stacks say that the best one is in no module */
    l->period = (struct gm_period){0};
    if (!gm_period_candidates(symbols, n, l->symbol_count, lengths, CANDIDATES, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct gm_period p = gm_period_measure(symbols, n, lengths[i]);
        enum gm_loop_verdict verdict;
        struct gm_loop_body body = {0};
        bool explains = false;
        if (p.matches == 0 || gm_period_certainty(&p) < REPEATS || (p.last + p.length - p.first) * 100 < n * COVERS ||
            (best.matches != 0 && !explains_more(&p, &best)))
            continue;
        p.first += first;
        p.last += first;
        if (!gm_loop_judge(l->w, &p, &verdict) ||
            (verdict == GM_LOOP_UNKNOWN && !explains_symbols(l, &p, first + n, &explains)) ||
            ((verdict == GM_LOOP_YES || explains) && !gm_loop_look(l->w, l->symbols, l->symbol_count, &p, &body)))
            return false;
        /* A trace of whole rounds and nothing else was begun and ended with one: who does that has a loop. */
        body.is_whole |= explains && n == l->w->allocs.count && n % p.length == 0 && p.last + p.length - p.first == n &&
                         gm_period_certainty(&p) == 100;
        if (verdict == GM_LOOP_YES ? body.drift > MOST_DRIFT : is_sure || !body.is_whole || body.drift > DOUBTED_DRIFT)
            continue;
        best = p;
        is_sure = verdict == GM_LOOP_YES;
        bool goes_on = true;
        if (is_sure && !is_interrupted(l, &p, &goes_on))
            return false;
        if (!goes_on)
            break;
    }
    l->period = best;
    return true;
}

/* In a long run the period is looked for in its middle, and then measured on all of it. */
static bool find_period_of_all(struct loop *l)
{
    size_t n = l->w->allocs.count;
    if (n > 2 * WINDOW) {
        if (!find_period(l, (n - WINDOW) / 2, WINDOW))
            return false;
        if (l->period.matches != 0) {
            l->period = gm_period_measure(l->symbols, n, l->period.length);
            if (l->period.matches != 0 && gm_period_certainty(&l->period) >= REPEATS &&
                (l->period.last + l->period.length - l->period.first) * 100 >= n * COVERS)
                return true;
        }
    }
    return find_period(l, 0, n);
}

/* ---- spans ------------------------------------------------------------------------------------------------------- */

/* How far back from `begin` the sequence looks like what comes a period later. */
static size_t head_of(const struct loop *l, size_t begin)
{
    size_t best = begin;
    int64_t sum = 0, best_sum = 0;
    for (size_t i = begin; i-- > 0 && begin - i < l->period.length && i + l->period.length < l->w->allocs.count;) {
        sum += l->symbols[i] == l->symbols[i + l->period.length] ? 1 : -3;
        if (sum > best_sum) {
            best_sum = sum;
            best = i;
        }
    }
    return (begin - best) * 50 > l->period.length ? best : begin;
}

/* The last event of a round that is followed by no other: as many after its last allocation as the round before has.
 * What is freed after that is the end of the run. */
static uint32_t last_event(const struct gm_step_work *w)
{
    uint32_t last = (uint32_t)w->pass->history.count - 1, made = w->allocs.event[w->allocs.count - 1];
    if (w->spans.n == 0)
        return last;
    uint32_t end = w->spans.v[w->spans.n - 1].last;
    uint32_t rest = end - w->allocs.event[gm_alloc_at(&w->allocs, end + 1) - 1];
    return rest < last - made ? made + rest : last;
}

static bool add_span(struct loop *l, size_t from, size_t to, double fraction)
{
    struct gm_step_work *w = l->w;
    uint32_t last = to >= w->allocs.count ? last_event(w) : w->allocs.event[to] - 1;
    struct gm_span span = {w->allocs.event[from], last, w->spans.n + 1, {0}, fraction};
    return GM_VEC_PUSH(&w->spans, span);
}

/* Has the round that begins at allocation `begin` and is followed by no other, all of a round: as many allocations as
 * the whole ones before it have at least, and after them as many events? Without any, nearly as many as the period. */
static bool is_whole(const struct loop *l, size_t begin)
{
    const struct gm_step_work *w = l->w;
    size_t left = w->allocs.count - begin, least = l->period.length;
    uint32_t rest = (uint32_t)w->pass->history.count - 1 - w->allocs.event[w->allocs.count - 1],
             least_rest = UINT32_MAX;
    for (size_t i = 0; i < w->spans.n; i++) {
        const struct gm_span *span = &w->spans.v[i];
        size_t end = gm_alloc_at(&w->allocs, span->last + 1), allocs = end - gm_alloc_at(&w->allocs, span->first);
        if (span->fraction < 1)
            continue;
        least = allocs < least ? allocs : least;
        least_rest =
            span->last - w->allocs.event[end - 1] < least_rest ? span->last - w->allocs.event[end - 1] : least_rest;
    }
    return least_rest == UINT32_MAX ? left * 50 >= least * 49 : left >= least && rest >= least_rest;
}

/* Is the anchor's stack in no round a second time? Then a round begins wherever it is, also one whose sizes are others
 * (a prompt among single tokens, a last batch). A round: from a symbol of the anchor's to the next at about a period.
 */
static bool is_told_by_stack(const struct loop *l, size_t anchor)
{
    const struct gm_alloc_list *allocs = &l->w->allocs;
    size_t begin = SIZE_MAX, others = 0;
    for (size_t i = 0; i < allocs->count; i++) {
        if (allocs->stack[i] != allocs->stack[anchor])
            continue;
        if (l->symbols[i] != l->symbols[anchor]) {
            others++;
            continue;
        }
        if (begin != SIZE_MAX && others > 0 && (i - begin) * 2 <= l->period.length * 3)
            return false;
        begin = i;
        others = 0;
    }
    return true;
}

/* Rounds begin where the symbol at `anchor`, or its stack if that tells, comes again after half a period at least. What
 * is between two of them is a step if it is about as long as the period. */
static bool cut(struct loop *l, size_t anchor)
{
    const struct gm_alloc_list *allocs = &l->w->allocs;
    size_t length = l->period.length, n = allocs->count, begin = SIZE_MAX;
    const uint32_t *told = is_told_by_stack(l, anchor) ? allocs->stack : l->symbols;
    for (size_t i = 0; i < n; i++) {
        if (told[i] != told[anchor] || (begin != SIZE_MAX && (i - begin) * 2 < length))
            continue;
        if (begin == SIZE_MAX) {
            size_t head = head_of(l, i);
            if (head < i && !add_span(l, head, i, 0.5))
                return false;
        } else if ((i - begin) * 2 <= length * 3) {
            if (!add_span(l, begin, i, 1))
                return false;
        }
        begin = i;
    }
    if (begin == SIZE_MAX)
        return true;
    size_t left = n - begin;
    size_t end = left * 2 <= length * 3 ? n : begin + length;
    return left * 50 <= length || add_span(l, begin, end, is_whole(l, begin) ? 1 : 0.5);
}

static bool use_period(struct loop *l)
{
    struct gm_step_work *w = l->w;
    size_t anchor;
    if (!gm_round_beginning(w, l->symbols, l->symbol_count, &l->period, &anchor))
        return false;
    if (anchor == SIZE_MAX)
        return true;
    if (!cut(l, anchor))
        return false;
    size_t whole = 0;
    while (whole + 1 < w->spans.n && w->spans.v[whole].fraction < 1)
        whole++;
    if (whole + 1 >= w->spans.n) { /* fewer than two beginnings: that is no loop to tell of */
        w->spans.n = 0;
        return true;
    }
    uint32_t from = w->spans.v[whole].first, to = w->spans.v[w->spans.n - 1].first;
    w->period_events = (double)(to - from) / (double)(w->spans.n - 1 - whole);
    w->certainty = gm_period_certainty(&l->period);
    w->source = "repeating allocations";
    return true;
}

/* Stacks alone; without them sizes, but those that only a part of the trace has (of what grows, or of a prompt) are one
 * symbol. false: there is nothing to be found so. */
static bool name_roughly(struct loop *l, uint32_t *first)
{
    size_t n = l->w->allocs.count, local = 0;
    if (l->w->has_stacks) {
        memcpy(l->symbols, l->w->allocs.stack, n * sizeof *l->symbols);
        l->symbol_count = l->w->pass->snapshot->stacks.count + 1;
        return true;
    }
    for (size_t i = n; i-- > 0;)
        first[l->symbols[i]] = (uint32_t)i;
    for (size_t i = n; i-- > 0;) { /* the last of a symbol comes first, and tells */
        uint32_t *at = &first[l->symbols[i]];
        if (*at != EVERYWHERE && *at != LOCAL)
            *at = (i - *at) * PART_OF > n ? EVERYWHERE : LOCAL;
        local += *at == LOCAL;
        l->symbols[i] = *at == LOCAL ? 0 : l->symbols[i];
    }
    return 2 * local <= n;
}

bool gm_spans_from_period(struct gm_step_work *w)
{
    const size_t n = w->allocs.count;
    if (n < SMALLEST)
        return true;
    GM_FREED uint32_t *symbols = malloc(n * sizeof *symbols);
    struct loop l = {.w = w, .symbols = symbols};
    if (symbols == NULL || !name_pairs(&l) || !find_period_of_all(&l))
        return false;
    if (l.period.matches == 0) {
        GM_FREED uint32_t *first = calloc((size_t)l.symbol_count + 1, sizeof *first);
        if (first == NULL || (name_roughly(&l, first) && !find_period_of_all(&l)))
            return false;
    }
    return l.period.matches == 0 || use_period(&l);
}
