/* SPDX-License-Identifier: Apache-2.0
 *
 * Which part of a step every moment belongs to, and how every allocation lived: one walk over the events.
 *
 * The part follows from the stacks of allocations; a free takes the part of its own stack, if it has one of its own,
 * else that of the allocation before it. After the last allocation of a backward that is doubtful: zero_grad() and the
 * optimizer may free without allocating anything. Such frees are in the backward's tail, and sizes decide about them.
 */
#include "analyze/timeline/roles/role_work.h"

#include "analyze/base/order.h"

#include <stdlib.h>

enum { RECENT = 4, HEIR_EVENTS = 24 };

struct lives {
    struct gm_role_work *w;
    const struct gm_events *events;
    enum gm_role_part part;
    uint32_t run_start;      /* event of the first allocation of the run */
    uint32_t last_alloc;     /* event of the last allocation */
    uint32_t last_of_all;    /* of the whole trace: what inference frees later, the end of the program frees */
    uint32_t recent[RECENT]; /* the last allocations outside of backward; GM_NEVER: none, or it has its old one */
    unsigned next_recent;
    uint32_t last_heir; /* the allocation; GM_NEVER: none */
    uint64_t half;      /* the events of half a step; UINT64_MAX: there are no steps */
    bool has_allocs, has_training;
};

static bool part_of_phase(const struct gm_trace_pass *pass, uint32_t event, enum gm_role_part *part)
{
    if (pass->phase == NULL || gm_phase_of(pass->phase, event) == GM_PHASE_OTHER)
        return false;
    *part = gm_phase_of(pass->phase, event) == GM_PHASE_BACKWARD    ? GM_PART_BACKWARD
            : gm_phase_of(pass->phase, event) == GM_PHASE_OPTIMIZER ? GM_PART_OPTIMIZER
                                                                    : GM_PART_FORWARD;
    return true;
}

enum gm_says gm_role_says(struct gm_role_work *w, size_t a)
{
    const struct gm_history *h = w->h;
    enum gm_says says = gm_stack_ask(w->stacks, (struct gm_stack_id){gm_stack_of(h, a)});
    if (says == GM_SAYS_EMPTY && !(h->born[a] > 0 ? w->empty_is_backward : w->old_empty_is_backward))
        says = GM_SAYS_NONE;
    if (says > GM_SAYS_OTHER || h->born[a] == 0)
        return says;
    enum gm_role_part part;
    if (!part_of_phase(w->pass, h->born[a] - 1, &part) || (says == GM_SAYS_OTHER && part == GM_PART_FORWARD))
        return says; /* forward's phase has more than what the model makes: a stack would tell */
    return part == GM_PART_BACKWARD    ? GM_SAYS_BACKWARD
           : part == GM_PART_OPTIMIZER ? GM_SAYS_OPTIMIZER
                                       : GM_SAYS_FORWARD;
}

/* Whether evidence of this kind tells the part by itself. */
static bool part_of_says(enum gm_says says, enum gm_role_part *part)
{
    if (gm_is_of_optimizer(says))
        *part = GM_PART_OPTIMIZER;
    else if (gm_is_of_backward(says) || says == GM_SAYS_RECOMPUTE)
        *part = GM_PART_BACKWARD;
    else
        return false;
    return true;
}

/* The part of an allocation's event; *part as it was before if nothing tells. */
static void part_of_alloc(struct lives *l, uint32_t event, enum gm_says says, enum gm_role_part *part)
{
    if (part_of_says(says, part) || part_of_phase(l->w->pass, event, part))
        return;
    if (says == GM_SAYS_OTHER || gm_is_of_weights(says) || says == GM_SAYS_INPUT || says == GM_SAYS_FORWARD ||
        (says == GM_SAYS_NONE && l->w->pass->phase != NULL))
        *part = GM_PART_FORWARD;
}

/* The part in which an event frees allocation a; false: it is only that of the allocation before it. */
static bool part_of_free(struct lives *l, uint32_t event, uint32_t a, enum gm_role_part *part)
{
    uint32_t stack = gm_event_stack(l->events, l->w->h->first + event).v;
    *part = l->part;
    if (stack > GM_STACK_EMPTY && stack != gm_stack_of(l->w->h, a)) {
        if (!part_of_says(gm_stack_ask(l->w->stacks, (struct gm_stack_id){stack}), part))
            *part = GM_PART_FORWARD;
        return true;
    }
    return part_of_phase(l->w->pass, event, part) && *part != GM_PART_BACKWARD; /* a phase has its tail, too */
}

/* ---- the tail of a backward -------------------------------------------------------------------------------------- */

static bool frees(const struct lives *l, uint32_t event, uint32_t *a)
{
    uint8_t action = l->events->action[l->w->h->first + event];
    *a = l->w->h->of_event[event];
    return (action == GM_ACTION_FREE_REQUESTED || gm_action_is_free(action)) && *a != GM_NEVER &&
           gm_let_go(l->w->h, *a) == event + 1;
}

/* The run in backward ends before event `end`. Each event is in one tail at most. If the last allocation stays, it may
 * be the sum of those of its size that go after it: parts of a gradient to which several uses of a weight contribute.
 */
static void mark_tail(struct lives *l, uint32_t end)
{
    const struct gm_history *h = l->w->h;
    const uint32_t last = h->of_event[l->last_alloc];
    const uint64_t summed = gm_let_go(h, last) > end ? gm_requested(h, last) : UINT64_MAX;
    for (uint32_t i = l->last_alloc + 1; i < end; i++) {
        uint32_t a;
        enum gm_role_part part;
        if (!frees(l, i, &a) || part_of_free(l, i, a, &part) || gm_requested(h, a) == summed)
            continue;
        enum gm_life life = gm_life_of(l->w, a);
        if (life == GM_LIFE_OLD_BACKWARD)
            gm_life_set(l->w, a, GM_LIFE_OLD_TAIL, GM_PART_FORWARD);
        else if ((life == GM_LIFE_BRIEF || life == GM_LIFE_RUN) && gm_life_part(l->w, a) == GM_PART_BACKWARD)
            gm_life_set(l->w, a, GM_LIFE_TAIL, GM_PART_BACKWARD);
    }
}

/* ---- heirs ------------------------------------------------------------------------------------------------------ */

/* Who computes `parameter = f(parameter)` makes the new tensor, drops its temporaries and then the old tensor: the old
 * one's role is the new one's. An optimizer may do so twice in a step, so the old one may be an heir itself; others let
 * tensors live for a while. */
static bool find_heir(struct lives *l, uint32_t event, uint32_t old, enum gm_role_part part)
{
    struct gm_role_work *w = l->w;
    const struct gm_history *h = w->h;
    bool is_young = part == GM_PART_OPTIMIZER ? h->born[old] > l->run_start && old != l->last_heir
                                              : event + 1 - h->born[old] <= GM_BRIEF_EVENTS;
    if (gm_life_part(w, old) == GM_PART_BACKWARD || is_young)
        return true;
    for (unsigned k = 1; k <= RECENT; k++) {
        uint32_t *recent = &l->recent[(l->next_recent - k) % RECENT];
        uint32_t a = *recent;
        if (a == GM_NEVER || event - (h->born[a] - 1) > HEIR_EVENTS || gm_let_go(h, a) <= event + 1 ||
            gm_requested(h, a) != gm_requested(h, old))
            continue;
        *recent = GM_NEVER;
        l->last_heir = a;
        if (h->born[old] == 0)
            gm_life_set(w, old, GM_LIFE_OLD_REPLACED, part);
        return GM_VEC_PUSH(&w->heirs, ((struct gm_heir){a, old}));
    }
    return true;
}

GM_ORDERING(by_heir, struct gm_heir, GM_UP(heir));

/* ---- events ----------------------------------------------------------------------------------------------------- */

static bool see_alloc(struct lives *l, uint32_t event, uint32_t a)
{
    struct gm_role_work *w = l->w;
    enum gm_says says = gm_role_says(w, a);
    enum gm_role_part part = l->part;
    part_of_alloc(l, event, says, &part);
    if (part != l->part || !l->has_allocs) {
        if (l->part == GM_PART_BACKWARD && l->has_allocs)
            mark_tail(l, event);
        l->part = part;
        l->run_start = event;
        if ((part == GM_PART_BACKWARD && !GM_VEC_PUSH(&w->backwards, event)) ||
            (part == GM_PART_OPTIMIZER && !GM_VEC_PUSH(&w->optimizers, event)))
            return false;
        l->has_training |= part != GM_PART_FORWARD;
        l->has_allocs = true;
    }
    l->last_alloc = event;
    gm_life_set(w, a, GM_LIFE_UNDECIDED, part);
    if (part != GM_PART_BACKWARD)
        l->recent[l->next_recent++ % RECENT] = a;
    return true;
}

static enum gm_life life_of_free(const struct lives *l, uint32_t event, uint32_t a, enum gm_role_part part)
{
    const struct gm_history *h = l->w->h;
    uint32_t born = h->born[a];
    enum gm_role_part made = gm_life_part(l->w, a);
    if (born == 0)
        return part == GM_PART_BACKWARD ? GM_LIFE_OLD_BACKWARD : GM_LIFE_OLD_FREED;
    bool is_brief = event - (born - 1) <= GM_BRIEF_EVENTS;
    if (part == made && born > l->run_start)
        return is_brief                                             ? GM_LIFE_BRIEF
               : made == GM_PART_FORWARD && event - born >= l->half ? GM_LIFE_KEPT
                                                                    : GM_LIFE_RUN;
    if (part == GM_PART_BACKWARD && made != GM_PART_BACKWARD)
        return GM_LIFE_BACKWARD;
    bool is_of_program = gm_stack_ask(l->w->stacks, (struct gm_stack_id){gm_stack_of(h, a)}) == GM_SAYS_OTHER;
    return is_brief && (made == GM_PART_FORWARD || is_of_program) ? GM_LIFE_BRIEF : GM_LIFE_LATER;
}

/* Whether the end of the program frees it, not a line that is done with it. In training that is what two backward
 * passes have left alone. */
static bool is_freed_at_exit(const struct lives *l, size_t a)
{
    const uint32_t born = l->w->h->born[a];
    const size_t backwards = l->w->backwards.n;
    const uint32_t end = born == 0 ? gm_let_go(l->w->h, a) : l->w->h->freed[a];
    return end > l->last_of_all && (l->has_training ? backwards >= 2 && born <= l->w->backwards.v[backwards - 2]
                                                    : born <= l->run_start || born + GM_BRIEF_EVENTS <= l->last_of_all);
}

static bool walk(struct lives *l)
{
    const struct gm_history *h = l->w->h;
    for (uint32_t i = 0; i < h->count; i++) {
        uint32_t a = h->of_event[i];
        if (a == GM_NEVER)
            continue;
        if (l->events->action[h->first + i] == GM_ACTION_ALLOC) {
            if (!see_alloc(l, i, a))
                return false;
        } else if (gm_let_go(h, a) == i + 1 && !is_freed_at_exit(l, a)) {
            enum gm_role_part part;
            part_of_free(l, i, a, &part);
            gm_life_set(l->w, a, life_of_free(l, i, a, part), h->born[a] == 0 ? part : gm_life_part(l->w, a));
            if (part != GM_PART_BACKWARD && !find_heir(l, i, a, part))
                return false;
        }
    }
    if (l->part == GM_PART_BACKWARD && l->has_allocs)
        mark_tail(l, (uint32_t)h->count);
    return true;
}

/* ---- after the walk --------------------------------------------------------------------------------------------- */

/* Older than the trace: with a stack it is as if it had been made in it, before all else. */
static void settle_old(struct lives *l, size_t a)
{
    enum gm_role_part part = GM_PART_FORWARD;
    enum gm_life life = GM_LIFE_OLD;
    if (gm_let_go(l->w->h, a) != GM_NEVER && !is_freed_at_exit(l, a))
        life = GM_LIFE_OLD_FREED;
    else if (gm_role_says(l->w, a) != GM_SAYS_NONE)
        life = part_of_says(gm_role_says(l->w, a), &part) || l->has_training || !l->has_allocs ? GM_LIFE_LASTING
                                                                                               : GM_LIFE_OPEN;
    gm_life_set(l->w, a, life, part);
}

/* What was never freed; and frees that are missing, or of blocks that were pending at the start. */
static void settle(struct lives *l)
{
    const struct gm_history *h = l->w->h;
    for (size_t a = 0; a < h->allocation_count; a++) {
        enum gm_role_part part = gm_life_part(l->w, a);
        if (h->born[a] == 0 && gm_life_of(l->w, a) == GM_LIFE_UNDECIDED)
            settle_old(l, a);
        else if (gm_life_of(l->w, a) == GM_LIFE_UNDECIDED)
            gm_life_set(l->w, a,
                        h->freed[a] != GM_NEVER && !is_freed_at_exit(l, a) ? GM_LIFE_LATER
                        : h->born[a] > l->run_start                        ? GM_LIFE_OPEN
                                                                           : GM_LIFE_LASTING,
                        part);
    }
}

/* How the other allocations of a stack ended. */
struct fate {
    uint32_t in_run, in_backward, later;
};

/* The trace ends before these do: they will end as those of the same stack did, if there were any. */
static bool foresee(struct gm_role_work *w)
{
    const struct gm_history *h = w->h;
    size_t stacks = (size_t)h->snapshot->stacks.count + 1, open = 0;
    for (size_t a = 0; a < h->allocation_count; a++)
        open += h->born[a] > 0 && gm_life_of(w, a) == GM_LIFE_OPEN && gm_stack_of(h, a) > GM_STACK_EMPTY;
    if (open == 0)
        return true;
    GM_FREED struct fate *fates = calloc(stacks, sizeof *fates);
    if (fates == NULL)
        return false;
    for (size_t a = 0; a < h->allocation_count; a++) {
        enum gm_life life = gm_life_of(w, a);
        struct fate *fate = &fates[gm_stack_of(h, a)];
        fate->in_run += life == GM_LIFE_BRIEF || life == GM_LIFE_RUN || life == GM_LIFE_KEPT;
        fate->in_backward += life == GM_LIFE_BACKWARD;
        fate->later += h->born[a] > 0 && (life == GM_LIFE_LATER || life == GM_LIFE_LASTING);
    }
    for (size_t a = 0; a < h->allocation_count; a++) {
        const struct fate *fate = &fates[gm_stack_of(h, a)];
        if (h->born[a] == 0 || gm_life_of(w, a) != GM_LIFE_OPEN || gm_stack_of(h, a) <= GM_STACK_EMPTY)
            continue;
        enum gm_life life = GM_LIFE_OPEN;
        if (fate->in_backward > fate->in_run && fate->in_backward > fate->later)
            life = GM_LIFE_BACKWARD;
        else if (fate->later > fate->in_run && fate->later > 0)
            life = GM_LIFE_LASTING;
        else if (gm_life_part(w, a) != GM_PART_BACKWARD && fate->in_run > 3 * (uint64_t)fate->later &&
                 h->count - h->born[a] <= GM_BRIEF_EVENTS)
            life = GM_LIFE_RUN;
        gm_life_set(w, a, life, gm_life_part(w, a));
    }
    return true;
}

static uint64_t half_a_step(const struct gm_steps *steps)
{
    uint64_t events = 0;
    for (size_t i = 0; i < steps->row_count; i++)
        events += steps->rows[i].last_event - steps->rows[i].first_event + 1;
    return steps->row_count == 0 ? UINT64_MAX : events / steps->row_count / 2;
}

/* An empty stack tells something only if others are not empty. */
static bool has_frames(const struct gm_history *h)
{
    const struct gm_events *e = &h->snapshot->events;
    for (size_t i = h->first; i < h->first + h->count; i++)
        if (e->action[i] == GM_ACTION_ALLOC && gm_event_stack(e, i).v > GM_STACK_EMPTY)
            return true;
    return false;
}

bool gm_role_lives(struct gm_role_work *w)
{
    const struct gm_history *h = w->h;
    const struct gm_steps *steps = &w->pass->out->steps;
    struct lives l = {.w = w,
                      .events = &h->snapshot->events,
                      .recent = {GM_NEVER, GM_NEVER, GM_NEVER, GM_NEVER},
                      .last_heir = GM_NEVER,
                      .half = half_a_step(steps)};
    w->empty_is_backward = has_frames(h);
    gm_i128 weights = 0, empty = 0;
    for (size_t a = 0; a < h->allocation_count; a++) {
        w->life[a] = GM_LIFE_UNDECIDED;
        if (h->born[a] > 0)
            continue;
        const enum gm_says says = gm_stack_ask(w->stacks, (struct gm_stack_id){gm_stack_of(h, a)});
        weights += gm_is_of_weights(says) ? gm_requested(h, a) : 0;
        empty += says == GM_SAYS_EMPTY ? gm_requested(h, a) : 0;
    }
    w->old_empty_is_backward = w->empty_is_backward && weights >= empty;
    for (uint32_t i = 0; i < h->count; i++)
        if (l.events->action[h->first + i] == GM_ACTION_ALLOC) {
            l.last_of_all = i;
            const struct gm_stack_id stack = gm_event_stack(l.events, h->first + i);
            w->runs[stack.v] |= stack.v > GM_STACK_EMPTY && steps->row_count > 0 && i > steps->rows[0].last_event;
            w->has_engine |= w->empty_is_backward && gm_is_of_backward(gm_stack_ask(w->stacks, stack));
        }
    for (uint32_t i = 0; i < h->count; i++) /* what is freed before the first allocation is freed in its part */
        if (l.events->action[h->first + i] == GM_ACTION_ALLOC && h->of_event[i] != GM_NEVER) {
            part_of_alloc(&l, i, gm_role_says(w, h->of_event[i]), &l.part);
            break;
        }
    if (!walk(&l))
        return false;
    w->world = l.has_training ? GM_WORLD_TRAINING : l.has_allocs ? GM_WORLD_INFERENCE : GM_WORLD_NOTHING;
    settle(&l);
    GM_SORT(w->heirs.v, w->heirs.n, by_heir);
    return foresee(w);
}
