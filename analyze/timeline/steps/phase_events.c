/* SPDX-License-Identifier: Apache-2.0
 *
 * The phase of every event. An allocation's stack says it (step_classify.c); what a stack does not say goes on from the
 * allocation before; a step begins with forward. A free has no stack of its own, so it is in the phase that was going
 * on. Annotations of the optimizer overrule; without any stacks what is live tells (phases_by_shape). For inference, a
 * step is prefill or decode if its stacks name it, or if the first round of a generating loop allocates many times what
 * the others do.
 */
#include "analyze/timeline/steps/step_work.h"

#include "analyze/base/order.h"

#include <stdlib.h>
#include <string.h>

enum {
    MANY_TIMES = 4, /* what a prefill allocates at least, in bytes of a decode round */
    FEWEST = 4      /* decode rounds for that to be believed */
};

/* Backward where no stack tells of it: forward piles up blocks, backward gives them back. Of what is made and given up
 * between two optimizer steps, the number that is live rises and falls once for each forward and backward: a hill,
 * whose falling side is backward. Forwards that keep nothing make no hill to speak of. */

enum {
    BRIEF = 8,      /* moments: what lives no longer is nobody's activation */
    FOOT = 32,      /* a hill is what is above one part in so many of the highest ... */
    LOW_HILL = 4,   /* ... and counts if its top is at least one part in so many */
    LEAST_LIVE = 4, /* blocks at a top */
    BEFORE_TOP = 1  /* at the top backward has made a block of its own */
};

/* A part of the trace between optimizer steps: events [from, end). */
struct stretch {
    struct gm_step_work *w;
    uint32_t from, end;
    bool has_optimizer; /* comes next: until then the last backward goes on */
};

/* By how much an event changes the number of live blocks that are made and given up within the stretch. */
static int change_at(const struct stretch *s, uint32_t event)
{
    const struct gm_history *h = &s->w->pass->history;
    uint32_t a = h->of_event[event];
    if (a == GM_NEVER || h->born[a] <= s->from || gm_let_go(h, a) > s->end || gm_let_go(h, a) - h->born[a] <= BRIEF)
        return 0;
    return (h->born[a] == event + 1) - (gm_let_go(h, a) == event + 1);
}

static int highest(const struct stretch *s)
{
    int level = 0, most = 0;
    for (uint32_t i = s->from; i < s->end; i++) {
        level += change_at(s, i);
        most = level > most ? level : most;
    }
    return most;
}

static void mark(uint8_t *phase, uint32_t from, uint32_t end)
{
    for (uint32_t i = from; i < end; i++)
        if (phase[i] != GM_PHASE_OPTIMIZER)
            phase[i] = GM_PHASE_BACKWARD;
}

/* The hill over events [first, last], with `top` blocks on top and `level` before it. */
static void mark_hill(const struct stretch *s, uint32_t first, uint32_t last, int level, int top, uint8_t *phase)
{
    while (first <= last && (level += change_at(s, first)) < top - BEFORE_TOP)
        first++;
    mark(phase, first + 1, last + 1);
}

static void mark_stretch(const struct stretch *s, uint8_t *phase)
{
    int most = highest(s), level = 0, top = 0, before = 0;
    uint32_t first = s->from, last = GM_NEVER;
    for (uint32_t i = s->from; most >= LEAST_LIVE && i < s->end; i++) {
        int now = level + change_at(s, i);
        bool was_high = level * FOOT > most, is_high = now * FOOT > most;
        if (is_high && !was_high) {
            first = i;
            before = level;
            top = 0;
        }
        top = now > top ? now : top;
        if (was_high && (!is_high || i + 1 == s->end) && top >= LEAST_LIVE && top * LOW_HILL >= most) {
            mark_hill(s, first, i, before, top, phase);
            last = i;
        }
        level = now;
    }
    if (s->has_optimizer && last != GM_NEVER)
        mark(phase, last + 1, s->end);
}

/* The first event of the optimizer step that ends the span; the event after the span if none does. */
static uint32_t optimizer_of(const struct gm_step_work *w, const struct gm_span *span)
{
    uint32_t at = span->last + 1;
    for (size_t i = 0; i < w->ranges.n; i++) {
        const struct gm_range *r = &w->ranges.v[i];
        if (r->kind == GM_RANGE_OPTIMIZER_STEP && r->first >= span->first && r->last == span->last)
            at = r->first < at ? r->first : at;
    }
    return at;
}

/* The backward pass without stacks. */
static void phases_by_shape(struct gm_step_work *w, uint8_t *phase)
{
    uint32_t from = 0;
    for (size_t i = 0; i < w->spans.n; i++) {
        struct stretch s = {w, from, optimizer_of(w, &w->spans.v[i]), true};
        mark_stretch(&s, phase);
        from = w->spans.v[i].last + 1;
    }
    struct stretch rest = {w, from, (uint32_t)w->pass->history.count, false};
    mark_stretch(&rest, phase);
}

static enum gm_phase phase_of_class(uint8_t class, enum gm_phase before)
{
    switch (class & GM_STACK_KIND) {
    case GM_STACK_FORWARD:
        return GM_PHASE_FORWARD;
    case GM_STACK_BACKWARD:
        return GM_PHASE_BACKWARD;
    case GM_STACK_OPTIMIZER:
        return GM_PHASE_OPTIMIZER;
    default:
        return before;
    }
}

/* A column of phases being filled: what goes on since event `at`. */
struct filling {
    uint8_t *phase;
    size_t at;
    enum gm_phase now;
};

/* From event `i` on it is `phase`. */
static void turn(struct filling *f, size_t i, enum gm_phase phase)
{
    if (phase == f->now && i != 0)
        return;
    memset(f->phase + f->at, (int)f->now, i - f->at);
    f->at = i;
    f->now = phase;
}

/* Begins and ends the spans up to event `i`; *half counts the beginnings and ends that are done. */
static bool pass_spans(const struct gm_step_work *w, struct filling *f, size_t *half, size_t i)
{
    for (; *half < 2 * w->spans.n; ++*half) {
        const struct gm_span *s = &w->spans.v[*half / 2];
        bool is_end = *half % 2 == 1;
        size_t at = is_end ? (size_t)s->last + 1 : s->first;
        if (at > i)
            break;
        turn(f, at, is_end || (s->fraction < 1 && at == 0) ? GM_PHASE_OTHER : GM_PHASE_FORWARD);
    }
    return *half % 2 == 1;
}

/* Training: outside of steps only what a stack says counts, if there are steps. */
static void fill_training(struct gm_step_work *w, uint8_t *phase)
{
    const struct gm_alloc_list *allocs = &w->allocs;
    struct filling f = {phase, 0, GM_PHASE_OTHER};
    size_t half = 0, count = w->pass->history.count;
    for (size_t k = 0; k < allocs->count; k++) {
        uint8_t class = gm_stack_class(&w->classes, allocs->stack[k]);
        bool is_in = pass_spans(w, &f, &half, allocs->event[k]);
        bool is_plain = (class & GM_STACK_KIND) == GM_STACK_PLAIN;
        const bool is_after =
            is_plain && f.now == GM_PHASE_BACKWARD && gm_stack_is_of_caller(&w->classes, allocs->stack[k]);
        turn(&f, allocs->event[k],
             is_after || (!is_in && w->spans.n > 0 && is_plain) ? GM_PHASE_OTHER : phase_of_class(class, f.now));
    }
    pass_spans(w, &f, &half, count);
    memset(phase + f.at, (int)f.now, count - f.at);
    for (size_t i = 0; i < w->ranges.n; i++) {
        const struct gm_range *r = &w->ranges.v[i];
        /* Only a range that allocates nothing of backward: a closure may run all of it inside of the step. */
        if ((r->kind == GM_RANGE_OPTIMIZER_STEP || r->kind == GM_RANGE_ZERO_GRAD) && r->has_start && r->has_end &&
            memchr(phase + r->first, GM_PHASE_BACKWARD, r->last - r->first + 1) == NULL)
            memset(phase + r->first, GM_PHASE_OPTIMIZER, r->last - r->first + 1);
    }
}

/* Where stacks name prefill and decode. decode alone is no evidence: images and texts are decoded too. */
static bool fill_by_names(struct gm_step_work *w, uint8_t *phase)
{
    const struct gm_history *h = &w->pass->history;
    const struct gm_alloc_list *allocs = &w->allocs;
    bool has_prefill = false, has_generate = false;
    for (size_t i = 0; i < allocs->count && !(has_prefill && has_generate); i++) {
        uint8_t class = gm_stack_class(&w->classes, allocs->stack[i]);
        has_prefill |= (class & GM_STACK_PREFILL) != 0;
        has_generate |= (class & GM_STACK_GENERATE) != 0;
    }
    if (!has_prefill)
        return false;
    enum gm_phase now = GM_PHASE_OTHER;
    for (size_t k = 0, i = 0; i < h->count; i++) {
        if (k < allocs->count && i == allocs->event[k]) {
            uint8_t class = gm_stack_class(&w->classes, allocs->stack[k++]);
            now = class & GM_STACK_PREFILL ? GM_PHASE_PREFILL : class & GM_STACK_DECODE ? GM_PHASE_DECODE : now;
            /* Where only prefill has a name, the rest of a generating loop is decode. */
            if ((class & (GM_STACK_PREFILL | GM_STACK_DECODE)) == 0 && class & GM_STACK_GENERATE && has_generate &&
                now == GM_PHASE_PREFILL)
                now = GM_PHASE_DECODE;
        }
        phase[i] = (uint8_t)now;
    }
    return true;
}

/* Bytes that span s allocates, and whether a generating function is on all of its stacks. */
static double bytes_of_span(struct gm_step_work *w, const struct gm_span *s, bool *generates)
{
    const struct gm_history *h = &w->pass->history;
    double bytes = 0;
    size_t i = gm_alloc_at(&w->allocs, s->first), end = gm_alloc_at(&w->allocs, s->last + 1);
    *generates = i < end;
    for (; i < end; i++) {
        bytes += (double)gm_event_bytes(&h->snapshot->events, h->first + w->allocs.event[i]);
        *generates = *generates && (gm_stack_class(&w->classes, w->allocs.stack[i]) & GM_STACK_GENERATE) != 0;
    }
    return bytes;
}

/* Rounds of a generating loop: those that allocate many times the median are prefill, the others decode. */
static bool fill_by_sizes(struct gm_step_work *w, uint8_t *phase, bool *is_known)
{
    size_t n = w->spans.n, generating = 0, large = 0;
    GM_FREED double *bytes = malloc((n + 1) * sizeof *bytes), *sorted = malloc((n + 1) * sizeof *sorted);
    *is_known = false;
    for (size_t s = 0; bytes != NULL && sorted != NULL && s < n; s++) {
        bool generates;
        sorted[s] = bytes[s] = bytes_of_span(w, &w->spans.v[s], &generates);
        generating += generates;
    }
    if (bytes != NULL && sorted != NULL && n > FEWEST && generating == n) {
        GM_SORT(sorted, n, gm_by_real);
        double median = sorted[n / 2];
        for (size_t s = 0; s < n; s++)
            large += bytes[s] >= MANY_TIMES * median;
        *is_known = large > 0 && large * FEWEST <= n - large && bytes[0] >= MANY_TIMES * median;
        for (size_t s = 0; *is_known && s < n; s++)
            memset(phase + w->spans.v[s].first, bytes[s] >= MANY_TIMES * median ? GM_PHASE_PREFILL : GM_PHASE_DECODE,
                   w->spans.v[s].last - w->spans.v[s].first + 1);
    }
    return bytes != NULL && sorted != NULL;
}

bool gm_step_phases(struct gm_step_work *w)
{
    const size_t n = w->pass->history.count;
    GM_FREED uint8_t *phase = malloc(n + 1);
    bool is_known = w->is_training;
    if (phase == NULL)
        return false;
    memset(phase, GM_PHASE_OTHER, n);
    if (w->is_training)
        fill_training(w, phase);
    else
        is_known = fill_by_names(w, phase);
    if (w->is_training && !w->has_stacks)
        phases_by_shape(w, phase);
    if (!is_known && !fill_by_sizes(w, phase, &is_known))
        return false;
    if (is_known) {
        phase[n] = 0;
        for (size_t i = 0; i < n; i += 2) /* see gm_phase_of */
            phase[i / 2] = (uint8_t)(phase[i] | phase[i + 1] << 4);
        gm_trim(&phase, n / 2 + 1, 1);
        w->pass->phase = phase;
        phase = NULL;
    }
    return true;
}
