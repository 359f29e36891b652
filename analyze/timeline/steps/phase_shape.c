/* SPDX-License-Identifier: Apache-2.0
 *
 * Backward where no stack tells of it: forward piles up blocks, backward gives them back. Of what is made and given up
 * between two optimizer steps, the number that is live rises and falls once for each forward and backward: a hill,
 * whose falling side is backward. Forwards that keep nothing make no hill to speak of.
 */
#include "analyze/timeline/steps/step_work.h"

#include <string.h>

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
    if (a == GM_NEVER || h->born[a] <= s->from || h->let_go[a] > s->end || h->let_go[a] - h->born[a] <= BRIEF)
        return 0;
    return (h->born[a] == event + 1) - (h->let_go[a] == event + 1);
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

void gm_phases_by_shape(struct gm_step_work *w, uint8_t *phase)
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
