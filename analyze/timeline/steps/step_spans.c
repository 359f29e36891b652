/* SPDX-License-Identifier: Apache-2.0
 *
 * Which steps the trace has, from the best source: profiler steps say so themselves; optimizer steps, by annotation or
 * by the stacks of their allocations, end one each; then backward passes; else the period of the allocations. Where
 * annotations cover only part of the run (they may be another thread's) the stacks, which show every step, are
 * believed.
 */
#include "analyze/base/bisect.h"

#include "analyze/base/order.h"
#include "analyze/timeline/steps/step_work.h"

#include <stdlib.h>

/* ---- from what ends them ---------------------------------------------------------------------------------------- */

/* Steps from what ends them. All but the first begin where the one before ended. The first begins where the trace has
 * what the second begins with; before that the model may have been made. */

enum { ALIKE = 32, ENOUGH = 24 }; /* allocations that are compared where a step may begin, and must be equal */

/* Two allocations by one piece of code; without stacks, of one size. */
static bool are_alike(const struct gm_step_work *w, size_t i, size_t j)
{
    const struct gm_history *h = &w->pass->history;
    const struct gm_events *e = &h->snapshot->events;
    return w->allocs.stack[i] == w->allocs.stack[j] &&
           (w->has_stacks ||
            gm_event_size(e, h->first + w->allocs.event[i]) == gm_event_size(e, h->first + w->allocs.event[j]));
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
    while (i < end && gm_kind_at(w, i) == GM_STACK_PLAIN)
        i++;
    *is_cut = i < end && gm_kind_at(w, i) != GM_STACK_FORWARD;
    return i == end || *is_cut ? 0 : i;
}

static bool has_model_work(struct gm_step_work *w, size_t from, size_t end)
{
    if (!w->has_stacks)
        return true;
    for (size_t i = from; i < end; i++)
        if (gm_kind_at(w, i) == GM_STACK_FORWARD || gm_kind_at(w, i) == GM_STACK_BACKWARD)
            return true;
    return false;
}

static bool spans_from_ends(struct gm_step_work *w, const uint32_t *ends, size_t count)
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

static bool list_allocs(struct gm_step_work *w)
{
    const struct gm_history *h = &w->pass->history;
    const uint8_t *action = h->snapshot->events.action + h->first;
    size_t n = 0;
    for (size_t i = 0; i < h->count; i++)
        n += action[i] == GM_ACTION_ALLOC;
    w->allocs.event = calloc(n + 1, sizeof *w->allocs.event);
    w->allocs.stack = calloc(n + 1, sizeof *w->allocs.stack);
    if (w->allocs.event == NULL || w->allocs.stack == NULL)
        return false;
    uint32_t *event = w->allocs.event, *stacks = w->allocs.stack;
    n = 0;
    for (size_t i = 0; i < h->count; i++) { /* without a branch: which events are allocations cannot be foretold */
        event[n] = (uint32_t)i;
        stacks[n] = gm_event_stack(&h->snapshot->events, h->first + i).v;
        n += action[i] == GM_ACTION_ALLOC;
    }
    w->allocs.count = n;
    return true;
}

size_t gm_alloc_at(const struct gm_alloc_list *allocs, uint32_t event)
{
    size_t low = 0;
    GM_BISECT(low, allocs->count, i, allocs->event[i] < event);
    return low;
}

/* How much of the range the trace has: by time, if the trace begins clearly after the range did. */
static double fraction_of(const struct gm_history *h, const struct gm_range *r)
{
    const struct gm_trace *trace = &h->snapshot->traces[h->device];
    const struct gm_events *e = &h->snapshot->events;
    if (!r->has_start || !r->has_end)
        return 0.5; /* set by the number of its allocations later */
    if (r->first > 0 || trace->overflowed == GM_FALSE || !gm_events_have_times(e) || r->to_us <= r->from_us)
        return 1;
    double lost =
        ((double)gm_event_time_us(e, h->first) - (double)r->from_us) / ((double)r->to_us - (double)r->from_us);
    bool is_truncated = trace->overflowed == GM_TRUE || trace->count == trace->max_entries;
    return is_truncated && lost > 0.02 && lost < 1 ? 1 - lost : 1;
}

static bool from_profiler(struct gm_step_work *w)
{
    const struct gm_history *h = &w->pass->history;
    for (size_t i = 0; i < w->ranges.n; i++) {
        const struct gm_range *r = &w->ranges.v[i];
        if (r->kind != GM_RANGE_PROFILER_STEP)
            continue;
        struct gm_span span = {r->first, r->last, r->number, r->name, fraction_of(h, r)};
        if (w->spans.n > 0) { /* two may share the events of one microsecond, or overlap in a strange file */
            struct gm_span *before = &w->spans.v[w->spans.n - 1];
            if (span.first <= before->first)
                continue;
            before->last = before->last < span.first ? before->last : span.first - 1;
        }
        if (!GM_VEC_PUSH(&w->spans, span))
            return false;
    }
    if (w->spans.n > 0) {
        w->source = "ProfilerStep annotations";
        w->certainty = 100;
    }
    return true;
}

/* Ends of the optimizer ranges. Several optimizers may step one after the other: if nothing but optimizers allocates
 * between two ranges they end one step. With different optimizers in turns, the one that steps most seldom counts (the
 * later one, if as often). Two optimizers of one class have one name: they are called from two places, and differ in
 * the sizes of their temporaries, which are those of their parameters. One that is called from two places does not.
 * Without stacks, these sizes tell alone. */
enum {
    MOST_PLACES = 16,
    DEEPEST = 64, /* frames of a stack that are compared, outermost first */
    BRIEF = 8,    /* moments, as in phase_events.c */
    FEW_OF = 8    /* one part in so many of what piles up in other steps */
};
struct place {
    uint32_t name;   /* of the annotation, 0 of a burst */
    uint32_t caller; /* the lines that call the optimizer, as a number; 0 if no stack tells */
    uint64_t asked;  /* a hash of the sizes of its temporaries, the last time */
    uint32_t kind;
};
struct ends {
    uint32_t *end;
    uint32_t *kind; /* which optimizer */
    size_t n, capacity, kind_capacity;
    struct place places[MOST_PLACES]; /* all others are one kind */
    size_t place_count;
};

static bool add_end(struct ends *e, uint32_t end, uint32_t kind)
{
    if (!gm_grow(&e->end, &e->capacity, e->n + 1, sizeof *e->end) ||
        !gm_grow(&e->kind, &e->kind_capacity, e->n + 1, sizeof *e->kind))
        return false;
    e->end[e->n] = end;
    e->kind[e->n++] = kind;
    return true;
}

static void free_ends(struct ends *e)
{
    GM_FREE_ALL(e->end, e->kind);
}

/* The Python lines that call what has one of these marks, as a number; 0: there are none. */
static uint32_t caller_of(struct gm_step_work *w, uint32_t stack, unsigned marks)
{
    size_t depth, i;
    const struct gm_frame_id *frames = gm_stack_frames(w->pass->snapshot, (struct gm_stack_id){stack}, &depth);
    uint32_t caller = 0;
    for (i = depth; i > 0 && (gm_frame_marks(&w->classes, frames[i - 1]) & marks) == 0; i--)
        if (gm_frame_marks(&w->classes, frames[i - 1]) & GM_MARK_PYTHON)
            caller = (caller ^ frames[i - 1].v) * 0x9E3779B1U + 1;
    return i > 0 ? caller : 0;
}

/* Which optimizer stepped in the events [first, last]. */
static uint32_t optimizer_of(struct gm_step_work *w, struct ends *e, uint32_t name, uint32_t first, uint32_t last)
{
    const struct gm_history *h = &w->pass->history;
    struct place now = {.name = name, .kind = (uint32_t)e->place_count};
    for (size_t i = gm_alloc_at(&w->allocs, first); i < w->allocs.count && w->allocs.event[i] <= last; i++) {
        uint32_t event = w->allocs.event[i], a = h->of_event[event];
        if (w->has_stacks && gm_kind_at(w, i) != GM_STACK_OPTIMIZER)
            continue;
        if (now.caller == 0)
            now.caller = caller_of(w, w->allocs.stack[i], GM_MARK_OPTIMIZER);
        if (a != GM_NEVER && h->freed[a] <= last + 1)
            now.asked += (gm_requested(h, a) + 1) * 0x9E3779B97F4A7C15U >> 8;
    }
    for (size_t i = 0; i < e->place_count; i++) {
        struct place *p = &e->places[i];
        if (p->name == name && p->caller == now.caller && (w->has_stacks || p->asked == now.asked)) {
            p->asked = now.asked;
            return p->kind;
        }
        if (p->name == name && p->caller != 0 && now.caller != 0 && p->asked == now.asked)
            now.kind = p->kind;
    }
    if (e->place_count < MOST_PLACES)
        e->places[e->place_count++] = now;
    return now.kind;
}

/* Is there an allocation in the events [first, last] that is not an optimizer's? */
static bool has_other_work(struct gm_step_work *w, uint32_t first, uint32_t last)
{
    for (size_t i = gm_alloc_at(&w->allocs, first); i < w->allocs.count && w->allocs.event[i] <= last; i++)
        if (gm_kind_at(w, i) != GM_STACK_OPTIMIZER)
            return true;
    return false;
}

/* Whether what comes next is more of the same backward: optimizers may step as soon as a gradient is there. */
static bool is_in_backward(struct gm_step_work *w, uint32_t first, uint32_t last)
{
    const struct gm_alloc_list *allocs = &w->allocs;
    size_t before = gm_alloc_at(allocs, first), after = gm_alloc_at(allocs, last + 1);
    while (after < allocs->count && gm_kind_at(w, after) == GM_STACK_OPTIMIZER)
        after++;
    return before > 0 && after < allocs->count && gm_kind_at(w, before - 1) != GM_STACK_FORWARD &&
           gm_kind_at(w, after) == GM_STACK_BACKWARD;
}

static bool add_range_end(struct gm_step_work *w, struct ends *e, uint32_t first, uint32_t last, uint32_t name)
{
    if (e->n > 0 && last <= e->end[e->n - 1])
        return true;
    if (is_in_backward(w, first, last))
        return true;
    if (e->n > 0 && (first <= e->end[e->n - 1] || !has_other_work(w, e->end[e->n - 1] + 1, first - 1)))
        e->n--; /* the same step goes on */
    return add_end(e, last, optimizer_of(w, e, name, first, last));
}

static bool ends_of_ranges(struct gm_step_work *w, struct ends *e)
{
    bool ok = true;
    for (size_t i = 0, k = 0; ok && (i < w->ranges.n || k < w->idle.n);) {
        const struct gm_range *r = i < w->ranges.n ? &w->ranges.v[i] : NULL;
        if (k < w->idle.n && (r == NULL || w->idle.v[k].at <= r->first)) {
            const struct gm_idle_step *idle = &w->idle.v[k++];
            ok = add_range_end(w, e, idle->at, idle->at - 1, idle->name.v);
            continue;
        }
        i++;
        if (r->kind == GM_RANGE_OPTIMIZER_STEP && r->has_end)
            ok = add_range_end(w, e, r->first, r->last, r->name.v);
    }
    return ok;
}

/* The end of a burst that allocated from event `begin` on, last at `last`: the last free, before the next allocation,
 * of something that it made. */
static uint32_t end_of_burst(const struct gm_history *h, uint32_t begin, uint32_t last, uint32_t next)
{
    uint32_t end = last;
    for (uint32_t i = last + 1; i < next; i++) {
        uint32_t a = h->of_event[i];
        if (a != GM_NEVER && h->born[a] > begin)
            end = i;
    }
    return end;
}

/* Whether an optimizer is made or loaded. */
static bool sets_up_optimizer(struct gm_step_work *w, uint32_t stack)
{
    const uint8_t both = GM_MARK_OPTIMIZER | GM_MARK_SETUP;
    size_t depth;
    const struct gm_frame_id *frames = gm_stack_frames(w->pass->snapshot, (struct gm_stack_id){stack}, &depth);
    for (size_t i = 0; i < depth; i++)
        if ((gm_frame_marks(&w->classes, frames[i]) & both) == both)
            return true;
    return false;
}

/* Bursts of allocations of an optimizer, but for those in the middle of a backward. */
static bool ends_of_bursts(struct gm_step_work *w, struct ends *e)
{
    const struct gm_alloc_list *allocs = &w->allocs;
    const struct gm_history *h = &w->pass->history;
    size_t begin = SIZE_MAX; /* of the burst */
    for (size_t i = 0; i <= allocs->count; i++) {
        bool is_optimizer = i < allocs->count && gm_kind_at(w, i) == GM_STACK_OPTIMIZER;
        if (is_optimizer == (begin != SIZE_MAX))
            continue;
        if (is_optimizer) {
            begin = i;
            continue;
        }
        uint32_t next = i < allocs->count ? allocs->event[i] : (uint32_t)h->count;
        uint32_t first = allocs->event[begin], last = allocs->event[i - 1];
        uint32_t end = end_of_burst(h, first, last, next);
        if (!is_in_backward(w, first, last) && !sets_up_optimizer(w, allocs->stack[begin]) &&
            !add_end(e, end, optimizer_of(w, e, 0, first, end)))
            return false;
        begin = SIZE_MAX;
    }
    return true;
}

/* Keeps the ends of one kind, of those that take turns: between most of its ends there are others'. A kind that ends
 * fewer than a tenth as many as the commonest is an accident. */
static bool keep_one_kind(struct ends *e)
{
    GM_FREED uint64_t *sorted = malloc((e->n + 1) * sizeof *sorted); /* kinds, with the numbers of their ends */
    size_t most = 0, best = SIZE_MAX;
    uint32_t kind = 0;
    if (sorted == NULL)
        return false;
    for (size_t i = 0; i < e->n; i++)
        sorted[i] = (uint64_t)e->kind[i] << 32 | i;
    GM_SORT(sorted, e->n, gm_by_number);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0, next; i < e->n; i = next) {
            size_t apart = 0;
            for (next = i + 1; next < e->n && sorted[next] >> 32 == sorted[i] >> 32; next++)
                apart += sorted[next] > sorted[next - 1] + 1;
            size_t count = next - i;
            if (round == 0)
                most = count > most ? count : most;
            else if (apart * 2 >= count && count * 10 >= most &&
                     (count < best || (count == best && sorted[i] >> 32 == e->kind[e->n - 1]))) {
                best = count;
                kind = (uint32_t)(sorted[i] >> 32);
            }
        }
    }
    if (best == SIZE_MAX)
        return true; /* they are not taking turns */
    size_t kept = 0;
    for (size_t i = 0; i < e->n; i++)
        if (e->kind[i] == kind)
            e->end[kept++] = e->end[i];
    e->n = kept;
    return true;
}

/* How many of the allocations between two events live long enough to be a forward's, and are given up in the trace. */
static size_t piled_up(const struct gm_step_work *w, uint32_t after, uint32_t end)
{
    const struct gm_history *h = &w->pass->history;
    size_t n = 0;
    for (size_t i = gm_alloc_at(&w->allocs, after + 1); i < w->allocs.count && w->allocs.event[i] <= end; i++) {
        uint32_t a = h->of_event[w->allocs.event[i]];
        n += a != GM_NEVER && gm_let_go(h, a) != GM_NEVER && gm_let_go(h, a) - h->born[a] > BRIEF;
    }
    return n;
}

/* Without stacks: an end after which next to nothing piles up before the next one is within a backward. */
static void keep_outer(const struct gm_step_work *w, struct ends *e)
{
    size_t most = 0, kept = 0;
    for (size_t i = 0; i + 1 < e->n; i++) {
        size_t n = piled_up(w, e->end[i], e->end[i + 1]);
        most = n > most ? n : most;
    }
    for (size_t i = 0; i < e->n; i++)
        if (i + 1 == e->n || piled_up(w, e->end[i], e->end[i + 1]) * FEW_OF >= most)
            e->end[kept++] = e->end[i];
    e->n = kept;
}

/* ---- from backward passes, where optimizers make nothing, or only their states, once ---------------------------- */

/* A backward pass. Between two of them there is work of a forward pass. */
struct backward {
    uint32_t end;
    uint32_t kind;    /* the line that calls it, as a number; 0: nobody knows */
    size_t kept;      /* how much of what it made is there after it: gradients */
    bool is_followed; /* by what may be an optimizer of the program's own */
};
struct backwards GM_VEC(struct backward);

static void free_backwards(struct backwards *found)
{
    free(found->v);
}

/* Whether autograd made it, or what autograd calls on its threads: hooks, a forward pass that is computed again. */
static bool is_of_autograd(struct gm_step_work *w, size_t i)
{
    const uint32_t stack = w->allocs.stack[i];
    return gm_stack_is_of_backward(w, stack) || (gm_kind_at(w, i) == GM_STACK_FORWARD && w->classes.has_caller &&
                                                 !gm_stack_is_of_caller(&w->classes, stack));
}

/* Whether code of the program, on a later line of a function that called backward() at allocation `first`, goes on to
 * allocate after the last one of the pass, as an optimizer of its own does. */
static bool is_followed(struct gm_step_work *w, size_t first, size_t last)
{
    uint32_t line[DEEPEST], call[DEEPEST];
    if (last + 1 >= w->allocs.count || gm_kind_at(w, last + 1) != GM_STACK_PLAIN)
        return false;
    const size_t n = gm_python_frames(w, w->allocs.stack[last + 1], line, DEEPEST);
    const size_t m = gm_python_frames(w, w->allocs.stack[first], call, DEEPEST);
    return gm_steps_back_at(&w->pass->snapshot->frames, line, n, call, m) != SIZE_MAX;
}

/* The last event of a backward pass with that last allocation: of an optimizer's work, if it follows; else of what
 * threads of autograd give up, before a line of the program gives up something. */
static uint32_t end_of_backward(struct gm_step_work *w, size_t last)
{
    const struct gm_history *h = &w->pass->history;
    const struct gm_alloc_list *allocs = &w->allocs;
    size_t burst = last, i = last + 1;
    for (; i < allocs->count && gm_kind_at(w, i) != GM_STACK_FORWARD && !is_of_autograd(w, i); i++)
        burst = gm_kind_at(w, i) == GM_STACK_OPTIMIZER ? i : burst;
    const uint32_t next = burst + 1 < allocs->count ? allocs->event[burst + 1] : (uint32_t)h->count;
    uint32_t end = allocs->event[burst];
    if (burst > last)
        return end_of_burst(h, allocs->event[last + 1], end, next);
    for (uint32_t e = end + 1; e < next; e++) {
        const uint32_t a = h->of_event[e], stack = gm_event_stack(&h->snapshot->events, h->first + e).v;
        if (a != GM_NEVER && stack > GM_STACK_EMPTY && stack != gm_stack_of(h, a) &&
            (gm_stack_class(&w->classes, stack) & GM_STACK_KIND) != GM_STACK_BACKWARD)
            break;
        end = e;
    }
    return end;
}

/* Whether one of allocations (from, i) is of a forward pass: it is there when i comes. */
static bool has_forward(struct gm_step_work *w, size_t from, size_t i)
{
    const struct gm_history *h = &w->pass->history;
    while (++from < i) {
        const uint32_t a = h->of_event[w->allocs.event[from]];
        if (a != GM_NEVER && gm_let_go(h, a) > w->allocs.event[i] && gm_kind_at(w, from) != GM_STACK_OPTIMIZER)
            return true;
    }
    return false;
}

static bool add_backward(struct gm_step_work *w, size_t first, size_t last, struct backwards *found)
{
    const struct gm_history *h = &w->pass->history;
    struct backward b = {.end = end_of_backward(w, last),
                         .kind = caller_of(w, w->allocs.stack[first], GM_MARK_BACKWARD)};
    b.is_followed = b.kind == 0 || is_followed(w, first, last);
    for (size_t i = first; i <= last; i++) {
        const uint32_t a = h->of_event[w->allocs.event[i]];
        b.kept += a != GM_NEVER && gm_let_go(h, a) > b.end + 1 && is_of_autograd(w, i);
    }
    return GM_VEC_PUSH(found, b);
}

static bool find_backwards(struct gm_step_work *w, struct backwards *found)
{
    size_t first = SIZE_MAX, last = SIZE_MAX; /* of the pass */
    for (size_t i = 0; i < w->allocs.count; i++) {
        if (!is_of_autograd(w, i) || (first == SIZE_MAX && gm_kind_at(w, i) != GM_STACK_BACKWARD))
            continue;
        if (first != SIZE_MAX && i > last + 1 && has_forward(w, last, i)) {
            if (!add_backward(w, first, last, found))
                return false;
            first = i;
        }
        first = first == SIZE_MAX ? i : first;
        last = i;
    }
    return first == SIZE_MAX || add_backward(w, first, last, found);
}

/* Whether code of an optimizer allocates, or frees: zero_grad() does. */
static bool runs_optimizer(struct gm_step_work *w)
{
    const struct gm_history *h = &w->pass->history;
    for (size_t i = 0; i < h->count; i++)
        if ((gm_stack_class(&w->classes, gm_event_stack(&h->snapshot->events, h->first + i).v) & GM_STACK_KIND) ==
            GM_STACK_OPTIMIZER)
            return true;
    return false;
}

/* A backward pass that makes gradients anew begins a step; one that adds to those that are there goes on with it. Where
 * only the first makes some, or none, nobody can tell, and each is taken for a step. */
static bool ends_of_backwards(struct gm_step_work *w, struct ends *e)
{
    GM_FREED_BY(free_backwards) struct backwards found = {0};
    size_t most = 0, anew = 0;
    bool is_followed = false;
    if (!find_backwards(w, &found))
        return false;
    for (size_t i = 0; i < found.n; i++) {
        most = found.v[i].kept > most ? found.v[i].kept : most;
        is_followed |= found.v[i].is_followed;
    }
    for (size_t i = 1; i < found.n; i++)
        anew += found.v[i].kept * FEW_OF > most;
    if (is_followed && !runs_optimizer(w))
        return true; /* what repeats tells where its steps end */
    for (size_t i = 0; i < found.n; i++)
        if ((i + 1 == found.n || anew == 0 || found.v[i + 1].kept * FEW_OF > most) &&
            !add_end(e, found.v[i].end, found.v[i].kind))
            return false;
    return true;
}

/* Whether an optimizer makes anything but what lasts, its states: then it does so in each step. */
static bool makes_temporaries(struct gm_step_work *w, const struct ends *bursts)
{
    const struct gm_history *h = &w->pass->history;
    size_t n = 0;
    for (size_t i = 0; i < bursts->n; i++) {
        size_t made = 0, gone = 0;
        for (size_t k = gm_alloc_at(&w->allocs, bursts->end[i] + 1);
             k-- > 0 && gm_kind_at(w, k) == GM_STACK_OPTIMIZER;) {
            const uint32_t a = h->of_event[w->allocs.event[k]];
            made++;
            gone += a != GM_NEVER && gm_let_go(h, a) <= bursts->end[i] + 1;
        }
        n += 2 * gone > made;
    }
    return n > 0;
}

static bool from_optimizer(struct gm_step_work *w)
{
    GM_FREED_BY(free_ends) struct ends named = {0}, bursts = {0}, backwards = {0};
    if (!ends_of_ranges(w, &named) || !ends_of_bursts(w, &bursts) || !keep_one_kind(&named) || !keep_one_kind(&bursts))
        return false;
    if (w->has_stacks && named.n == 0 && !makes_temporaries(w, &bursts) &&
        (!ends_of_backwards(w, &backwards) || !keep_one_kind(&backwards)))
        return false;
    bool by_stacks = bursts.n > 2 * named.n,
         by_backwards = backwards.n > bursts.n && backwards.n > 2 * named.n &&
                        (bursts.n == 0 || backwards.end[backwards.n - 1] > bursts.end[bursts.n - 1]);
    struct ends *e = by_backwards ? &backwards : by_stacks ? &bursts : &named;
    if (!w->has_stacks)
        keep_outer(w, e);
    if (e->n == 0)
        return true;
    w->source = by_backwards ? "backward passes"
                : by_stacks  ? "stacks of optimizer steps"
                             : "Optimizer.step annotations";
    w->certainty = 100;
    return spans_from_ends(w, e->end, e->n);
}

/* A step that is cut off by an end of the trace: the share of its allocations that is there. */
static void measure_cut_spans(struct gm_step_work *w)
{
    size_t whole = 0, counted = 0;
    for (size_t i = 0; i < w->spans.n && counted < 64; i++) {
        const struct gm_span *s = &w->spans.v[i];
        if (s->fraction < 1)
            continue;
        whole += gm_alloc_at(&w->allocs, s->last + 1) - gm_alloc_at(&w->allocs, s->first);
        counted++;
    }
    for (size_t i = 0; counted > 0 && i < w->spans.n; i++) {
        struct gm_span *s = &w->spans.v[i];
        size_t n = gm_alloc_at(&w->allocs, s->last + 1) - gm_alloc_at(&w->allocs, s->first);
        double share = whole == 0 ? 0.5 : (double)n * (double)counted / (double)whole;
        if (s->fraction < 1)
            s->fraction = share > 0.99 ? 0.99 : share;
    }
}

bool gm_step_spans(struct gm_step_work *w)
{
    if (!list_allocs(w) || !from_profiler(w))
        return false;
    bool serves = false;
    for (size_t i = 0; i < w->allocs.count && !(w->is_training && w->has_stacks); i++) {
        w->has_stacks |= w->allocs.stack[i] > GM_STACK_EMPTY;
        const uint8_t class = gm_stack_class(&w->classes, w->allocs.stack[i]), kind = class & GM_STACK_KIND;
        w->is_training |= kind == GM_STACK_BACKWARD || kind == GM_STACK_OPTIMIZER;
        serves |= (class & (GM_STACK_PREFILL | GM_STACK_GENERATE)) != 0;
    }
    w->is_training |= w->idle.n > 0;
    for (size_t i = 0; i < w->ranges.n; i++)
        w->is_training |= w->ranges.v[i].kind == GM_RANGE_OPTIMIZER_STEP;
    if (w->spans.n == 0 && !from_optimizer(w))
        return false;
    const bool are_for_phases = w->pass->options->has_peaks_only; /* of which there are none without these */
    if (w->spans.n == 0 && (w->is_training || serves || !are_for_phases) && !gm_spans_from_period(w))
        return false;
    measure_cut_spans(w);
    return true;
}
