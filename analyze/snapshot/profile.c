/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/snapshot/profile.h"

#include "analyze/base/bisect.h"
#include "analyze/base/freed.h"
#include "analyze/base/order.h"

#include <stdlib.h>

/* The number of a row in the file stands where its parent, or its span, will: so that equal ones keep their order. */
GM_ORDERING(by_thread_and_time, struct gm_profile_span,
            GM_UP(thread) || GM_UP(start_ns) || GM_DOWN(duration_ns) || GM_UP(parent));
GM_ORDERING(by_time, struct gm_profile_memory, GM_UP(time_ns) || GM_UP(span));

/* The first span from `parent` up that the other is in. */
static uint32_t enclosing(const struct gm_profile *p, uint32_t parent, const struct gm_profile_span *span)
{
    while (parent != GM_PROFILE_NONE) {
        const struct gm_profile_span *outer = &p->spans.v[parent];
        if (gm_profile_is_around(outer, span))
            break;
        parent = outer->thread == span->thread ? outer->parent : GM_PROFILE_NONE;
    }
    return parent;
}

static void nest(struct gm_profile *p)
{
    uint32_t last = GM_PROFILE_NONE;
    for (uint32_t i = 0; i < p->spans.n; i++) {
        struct gm_profile_span *span = &p->spans.v[i];
        const bool is_on_device = gm_profile_span_is_on_device(span->kind);
        span->parent = is_on_device ? GM_PROFILE_NONE : enclosing(p, last, span);
        last = is_on_device ? last : i;
    }
}

/* Where a thread has come to: its next span, and the innermost one that has begun. */
struct cursor {
    uint32_t next, at;
};

/* The innermost span of a thread at a time that is not before that of the last question; its end is inside. What has
 * ended is never looked at again: nothing that comes later is in it. */
static uint32_t span_at(const struct gm_profile *p, struct cursor *c, uint32_t thread, int64_t time)
{
    const struct gm_profile_span *spans = p->spans.v;
    for (; c->next < p->spans.n && spans[c->next].thread == thread && spans[c->next].start_ns <= time; c->next++)
        c->at = c->next;
    while (c->at != GM_PROFILE_NONE && gm_profile_span_end(&spans[c->at]) < time)
        c->at = spans[c->at].parent;
    return c->at;
}

static bool place_memory(struct gm_profile *p)
{
    GM_FREED struct cursor *cursors = calloc(p->threads.n + 1, sizeof *cursors);
    if (cursors == NULL)
        return false;
    for (size_t t = 0; t < p->threads.n; t++) {
        size_t first = 0;
        GM_BISECT(first, p->spans.n, i, p->spans.v[i].thread < t);
        cursors[t] = (struct cursor){(uint32_t)first, GM_PROFILE_NONE};
    }
    for (size_t i = 0; i < p->memory.n; i++) {
        struct gm_profile_memory *m = &p->memory.v[i];
        m->span = span_at(p, &cursors[m->thread], m->thread, m->time_ns);
    }
    return true;
}

bool gm_profile_finish(struct gm_profile *p)
{
    for (size_t i = 0; i < p->spans.n; i++)
        p->spans.v[i].parent = (uint32_t)i;
    for (size_t i = 0; i < p->memory.n; i++)
        p->memory.v[i].span = (uint32_t)i;
    GM_SORT(p->spans.v, p->spans.n, by_thread_and_time);
    GM_SORT(p->memory.v, p->memory.n, by_time);
    nest(p);
    return place_memory(p);
}

uint64_t gm_profile_reserved(const struct gm_profile *p, int64_t device)
{
    for (size_t i = p->memory.n; i-- > 0;) {
        const struct gm_profile_memory *m = &p->memory.v[i];
        if (gm_profile_side(m) == GM_SIDE_DEVICE && m->device == device && m->reserved != GM_PROFILE_ABSENT)
            return m->reserved;
    }
    return 0;
}

uint64_t gm_profile_bytes(const struct gm_profile *p)
{
    return GM_VEC_BYTES(&p->spans) + GM_VEC_BYTES(&p->details) + GM_VEC_BYTES(&p->memory) + GM_VEC_BYTES(&p->threads) +
           GM_VEC_BYTES(&p->devices) + gm_intern_bytes(&p->strings);
}

void gm_profile_free(struct gm_profile *p)
{
    gm_intern_free(&p->strings);
    GM_FREE_ALL(p->spans.v, p->details.v, p->memory.v, p->threads.v, p->devices.v);
    *p = (struct gm_profile){.rank = -1};
}
