/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps from what ends them. All but the first begin where the one before ended. The first begins where the trace has
 * what the second begins with; before that the model may have been made.
 */
#include "analyze/timeline/steps/step_work.h"

enum { ALIKE = 32, ENOUGH = 24 }; /* allocations that are compared where a step may begin, and must be equal */

static uint8_t kind_at(struct gm_step_work *w, size_t i)
{
    return gm_stack_class(&w->classes, w->allocs.stack[i]) & GM_STACK_KIND;
}

/* Two allocations by one piece of code; without stacks, of one size. */
static bool are_alike(const struct gm_step_work *w, size_t i, size_t j)
{
    const struct gm_history *h = &w->pass->history;
    const uint64_t *size = h->snapshot->events.size + h->first;
    return w->allocs.stack[i] == w->allocs.stack[j] &&
           (w->has_stacks || size[w->allocs.event[i]] == size[w->allocs.event[j]]);
}

/* Where in allocs [0, end) the first step begins, if the second one is [end, next); SIZE_MAX: nowhere. Of places at a
 * believable distance from the end the one that goes on most like the second step, if it does so enough; the later one
 * if equally. */
static size_t like_second(const struct gm_step_work *w, size_t end, size_t next)
{
    size_t length = next - end, best = SIZE_MAX, best_score = 0;
    size_t from = end > 2 * length ? end - 2 * length : 0;
    for (size_t i = from; i < end && (end - i) * 2 >= length; i++) {
        if (!are_alike(w, i, end))
            continue;
        size_t score = 0, compared = 0;
        for (; compared < ALIKE && i + compared < end && end + compared < next; compared++)
            score += are_alike(w, i + compared, end + compared);
        if (score >= best_score && score * ALIKE >= compared * ENOUGH) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

/* Without a second step: the first allocation of forward, if something else came before it. */
static size_t first_forward(struct gm_step_work *w, size_t end, bool *is_cut)
{
    size_t i = 0;
    while (i < end && kind_at(w, i) == GM_STACK_PLAIN)
        i++;
    *is_cut = i < end && kind_at(w, i) != GM_STACK_FORWARD;
    return i == end || *is_cut ? 0 : i;
}

static bool has_model_work(struct gm_step_work *w, size_t from, size_t end)
{
    if (!w->has_stacks)
        return true;
    for (size_t i = from; i < end; i++)
        if (kind_at(w, i) == GM_STACK_FORWARD || kind_at(w, i) == GM_STACK_BACKWARD)
            return true;
    return false;
}

bool gm_spans_from_ends(struct gm_step_work *w, const uint32_t *ends, size_t count)
{
    const struct gm_alloc_list *allocs = &w->allocs;
    uint32_t last_event = (uint32_t)w->pass->history.count - 1;
    size_t end = gm_alloc_at(allocs, ends[0] + 1), begin;
    size_t next = count > 1 ? gm_alloc_at(allocs, ends[1] + 1) : end;
    bool is_cut = false;
    if (next > end) {
        begin = like_second(w, end, next);
        is_cut = begin == SIZE_MAX && end * 50 < (next - end) * 49;
    } else {
        begin = SIZE_MAX;
    }
    if (begin == SIZE_MAX)
        begin = is_cut ? 0 : first_forward(w, end, &is_cut);
    const struct gm_trace *trace = &w->pass->snapshot->traces[w->pass->history.device];
    if (begin == 0 && next == end && (trace->overflowed == GM_TRUE || trace->count == trace->max_entries))
        is_cut = true; /* older events are lost, and there is no second step to compare with */
    uint32_t first = begin == 0 ? 0 : allocs->event[begin];
    for (size_t k = 0; k < count; k++) {
        struct gm_span span = {first, ends[k], k + 1, {0}, k == 0 && is_cut ? 0.5 : 1};
        if (!GM_VEC_PUSH(&w->spans, span))
            return false;
        first = ends[k] + 1;
    }
    /* What follows the last end is the beginning of a step if it is about as long as one at most. */
    size_t tail = gm_alloc_at(allocs, first), left = allocs->count - tail;
    size_t length = count > 1 ? (tail - gm_alloc_at(allocs, w->spans.v[0].first)) / count : tail - begin;
    if (first <= last_event && left * 50 > length && left * 2 <= length * 3 && has_model_work(w, tail, allocs->count))
        return GM_VEC_PUSH(&w->spans, ((struct gm_span){first, last_event, count + 1, {0}, 0.5}));
    return true;
}
