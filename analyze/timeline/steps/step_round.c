/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a round of a loop begins: at an allocation that comes once in each, where least is live (what a round made for
 * itself is gone), or where forward follows on backward or an optimizer. Of several such places it is the one where the
 * program goes back to an earlier line of its outermost loop, then the one after the longest pause.
 */
#include "analyze/timeline/steps/step_work.h"

#include <math.h>
#include <stdlib.h>

enum {
    LOOKED_AT = 12, /* rounds */
    DEEPEST = 64,   /* frames of a stack that are compared, outermost first */
    MOST_WRAPS = 100000
};

/* What is known of a place in the round. */
struct place {
    double level;   /* requested bytes live before its allocation, summed over the rounds */
    double pause;   /* microseconds since the event before it, likewise */
    bool turns;     /* backward or an optimizer before it, neither now */
    bool is_single; /* its symbol comes once in a round */
};

struct beginning {
    struct gm_step_work *w;
    const uint32_t *symbols;
    const struct gm_period *period;
    struct place *places;
    size_t rounds;
    double growth; /* of the level, from the first round looked at to the last */
};

static void measure_level(struct beginning *b)
{
    const struct gm_alloc_list *allocs = &b->w->allocs;
    const struct gm_history *h = &b->w->pass->history;
    size_t length = b->period->length, i = b->period->first, end = i + b->rounds * length;
    struct gm_walk walk = gm_walk_from(h, allocs->event[i]);
    struct gm_change change;
    double level = 0, first = 0, last = 0;
    while (i < end && gm_walk_next(&walk, &change)) {
        if (change.event == allocs->event[i] && walk.event > change.event) {
            size_t k = i++ - b->period->first;
            b->places[k % length].level += level;
            if (k % length == 0)
                *(k == 0 ? &first : &last) = level;
        }
        if (change.kind == GM_CHANGE_ALLOC)
            level += (double)gm_requested(h, change.allocation);
        else if (change.kind == GM_CHANGE_FREE)
            level -= (double)gm_requested(h, change.allocation);
    }
    b->growth = b->rounds > 1 ? fabs(last - first) : 0;
}

/* How deep the frame is in which the program goes back to an earlier line at place j; SIZE_MAX: in none. What backward
 * makes meanwhile has no place in the program. */
static size_t depth_of_wrap(const struct beginning *b, size_t j)
{
    struct gm_step_work *w = b->w;
    uint32_t before[DEEPEST], after[DEEPEST];
    size_t i = b->period->first + j + (j == 0 ? b->period->length : 0), last = i - 1;
    while (last > 0 && i - last < b->period->length && gm_stack_is_of_backward(w, w->allocs.stack[last]))
        last--;
    size_t n = gm_python_frames(w, w->allocs.stack[last], before, DEEPEST);
    size_t m = gm_python_frames(w, w->allocs.stack[i], after, DEEPEST);
    return gm_steps_back_at(&w->pass->snapshot->frames, before, n, after, m);
}

/* Whether forward follows on backward or an optimizer; not what the program does with gradients, on a later line. */
static bool is_turn(const struct beginning *b, size_t i)
{
    const uint8_t class = gm_stack_class(&b->w->classes, b->w->allocs.stack[i]);
    if (gm_kind_at(b->w, i - 1) < GM_STACK_BACKWARD || (class & GM_STACK_KIND) >= GM_STACK_BACKWARD)
        return false;
    return (class & GM_STACK_KIND) == GM_STACK_FORWARD || (class & GM_STACK_HAS_PYTHON) == 0 ||
           depth_of_wrap(b, i - b->period->first) != SIZE_MAX;
}

static void measure_places(struct beginning *b)
{
    const struct gm_alloc_list *allocs = &b->w->allocs;
    const struct gm_history *h = &b->w->pass->history;
    size_t length = b->period->length;
    for (size_t k = 0; k < b->rounds * length; k++) {
        size_t i = b->period->first + k;
        struct place *p = &b->places[k % length];
        uint32_t event = allocs->event[i];
        uint64_t now = gm_history_time(h, event), then = event == 0 ? GM_REPORT_NONE : gm_history_time(h, event - 1);
        if (now != GM_REPORT_NONE && then != GM_REPORT_NONE && now > then)
            p->pause += (double)(now - then);
        p->turns |= i > 0 && k < length && is_turn(b, i);
    }
}

static bool find_singles(struct beginning *b, uint32_t symbol_count)
{
    size_t length = b->period->length, first = b->period->first, whole = b->period->last + length - first;
    size_t expected = whole / length;
    GM_FREED uint32_t *counts = calloc((size_t)symbol_count + 1, sizeof *counts);
    for (size_t i = first; counts != NULL && i < first + whole; i++)
        counts[b->symbols[i]]++;
    for (size_t j = 0; counts != NULL && j < length; j++) {
        size_t times = counts[b->symbols[first + j]];
        b->places[j].is_single = times <= expected + expected / 10 + 1 && times * 10 >= expected * 8;
    }
    return counts != NULL;
}

/* May a round begin at place j? */
static bool is_possible(const struct beginning *b, size_t j, bool turns)
{
    return b->places[j].is_single && (b->places[j].turns || !turns);
}

static size_t choose(const struct beginning *b)
{
    size_t length = b->period->length, best = SIZE_MAX, best_wrap = SIZE_MAX;
    double lowest = INFINITY, low = INFINITY, high = -INFINITY;
    bool turns = false;
    for (size_t j = 0; j < length; j++)
        turns |= b->places[j].turns && b->places[j].is_single;
    for (size_t j = 0; j < length; j++) {
        low = fmin(low, b->places[j].level);
        high = fmax(high, b->places[j].level);
        if (is_possible(b, j, turns))
            lowest = fmin(lowest, b->places[j].level);
    }
    /* Which place comes first in the rounds that are looked at is chance, so levels are alike up to their growth. */
    double alike =
        (high - low) / 1000 + 1.1 * b->growth * (double)b->rounds / (double)(b->rounds > 1 ? b->rounds - 1 : 1);
    for (size_t j = 0, tried = 0; j < length; j++) {
        if (!is_possible(b, j, turns) || b->places[j].level > lowest + alike)
            continue;
        size_t wrap = tried++ < MOST_WRAPS ? depth_of_wrap(b, j) : SIZE_MAX;
        if (best == SIZE_MAX || wrap < best_wrap || (wrap == best_wrap && b->places[j].pause > b->places[best].pause)) {
            best = j;
            best_wrap = wrap;
        }
    }
    return best;
}

bool gm_round_beginning(struct gm_step_work *w, const uint32_t *symbols, uint32_t symbol_count,
                        const struct gm_period *period, size_t *beginning)
{
    size_t rounds = (period->last + period->length - period->first) / period->length;
    GM_FREED struct place *places = calloc(period->length, sizeof *places);
    struct beginning b = {w, symbols, period, places, gm_min(rounds, LOOKED_AT), 0};
    if (places == NULL || !find_singles(&b, symbol_count))
        return false;
    measure_level(&b);
    measure_places(&b);
    const size_t best = choose(&b);
    *beginning = best == SIZE_MAX ? SIZE_MAX : period->first + best;
    return true;
}
