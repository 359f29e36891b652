/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/model/uses.h"

#include "replay/model/allocator_private.h"

#include <stdlib.h>

#ifdef GM_PROFILE
volatile int gm_profile_doing;
#endif

void gm_uses_free(struct gm_uses *u)
{
    for (size_t i = 0; i < u->queues.n; i++)
        free(u->queues.v[i].blocks.v);
    free(u->rows.v);
    free(u->unused.v);
    free(u->first.v);
    free(u->events.v);
    free(u->queues.v);
    free(u->deferred.v);
    *u = (struct gm_uses){0};
}

/* Room for a use of the block on the stream, so that nothing later can fail. */
static bool make_room(struct gm_allocator *a, uint32_t block, uint32_t stream)
{
    struct gm_uses *u = &a->uses;
    while (u->first.n <= block)
        if (!GM_VEC_PUSH(&u->first, GM_SPACE_NONE))
            return false;
    while (u->events.n <= block)
        if (!GM_VEC_PUSH(&u->events, 0))
            return false;
    while (u->queues.n <= stream)
        if (!GM_VEC_PUSH(&u->queues, (struct gm_use_queue){0}))
            return false;
    return GM_VEC_ROOM(&u->rows, 1) && GM_VEC_ROOM(&u->unused, u->rows.n + 1 - u->unused.n);
}

void gm_allocator_record_stream(struct gm_allocator *a, uint32_t block, uint32_t stream)
{
    struct gm_uses *u = &a->uses;
    const struct gm_space_block *b = gm_block(a, block);
    if (b->use != GM_SPACE_ALLOCATED || b->stream == stream)
        return;
    if (!make_room(a, block, stream)) {
        a->has_no_memory = true;
        return;
    }
    for (uint32_t i = u->first.v[block]; i != GM_SPACE_NONE; i = u->rows.v[i].next)
        if (u->rows.v[i].stream == stream) {
            u->rows.v[i].is_routed |= a->routings > 0;
            return;
        }
    uint32_t row = u->unused.n > 0 ? u->unused.v[--u->unused.n] : (uint32_t)u->rows.n++;
    u->rows.v[row] = (struct gm_use_row){stream, u->first.v[block], a->routings > 0};
    u->first.v[block] = row;
}

static void forget_uses(struct gm_uses *u, uint32_t block)
{
    for (uint32_t i = u->first.v[block]; i != GM_SPACE_NONE; i = u->rows.v[i].next)
        u->unused.v[u->unused.n++] = i; /* room has been made */
    u->first.v[block] = GM_SPACE_NONE;
}

/* An event on every stream that uses the block, in place of the uses; those of a routing count only if they are wanted.
 */
static void queue_events(struct gm_allocator *a, uint32_t block, bool wants_routed)
{
    struct gm_uses *u = &a->uses;
    for (uint32_t i = u->first.v[block]; i != GM_SPACE_NONE; i = u->rows.v[i].next) {
        const struct gm_use_row *use = &u->rows.v[i];
        if (use->is_routed && !wants_routed)
            continue;
        if (GM_VEC_PUSH(&u->queues.v[use->stream].blocks, block))
            u->events.v[block]++;
        else
            a->has_no_memory = true;
    }
    forget_uses(u, block);
}

void gm_allocator_drop(struct gm_allocator *a, uint32_t block)
{
    struct gm_uses *u = &a->uses;
    if (gm_block(a, block)->use != GM_SPACE_ALLOCATED)
        return;
    gm_allocator_free_requested(a, block);
    if (block >= u->first.n || u->first.v[block] == GM_SPACE_NONE) {
        gm_allocator_free_completed(a, block);
        return;
    }
    a->polls = true;
    if (a->routings > 0)
        a->has_no_memory |= !GM_VEC_PUSH(&u->deferred, block);
    else
        queue_events(a, block, true);
}

void gm_allocator_stream_is_done(struct gm_allocator *a, uint32_t stream)
{
    if (stream < a->uses.queues.n)
        a->uses.queues.v[stream].done = a->uses.queues.v[stream].blocks.n;
}

static void end_event(struct gm_allocator *a, uint32_t block)
{
    if (a->uses.events.v[block] > 0 && --a->uses.events.v[block] == 0)
        gm_allocator_free_completed(a, block);
}

/* Frees that were put off get their events now. */
static void queue_deferred(struct gm_allocator *a)
{
    struct gm_uses *u = &a->uses;
    for (size_t i = 0; i < u->deferred.n; i++) {
        uint32_t block = u->deferred.v[i];
        queue_events(a, block, false);
        if (u->events.v[block] == 0)
            gm_allocator_free_completed(a, block);
    }
    u->deferred.n = 0;
}

void gm_uses_poll(struct gm_allocator *a)
{
    struct gm_uses *u = &a->uses;
    bool is_waiting = false;
    queue_deferred(a);
    /* PyTorch's order of streams is that of a hash map; here it is the order in which they were first seen. */
    for (size_t s = 0; s < u->queues.n; s++) {
        struct gm_use_queue *q = &u->queues.v[s];
        while (q->head < q->done)
            end_event(a, q->blocks.v[q->head++]);
        if (q->head == q->blocks.n)
            q->head = q->done = q->blocks.n = 0;
        is_waiting |= q->blocks.n > 0;
    }
    a->polls = is_waiting;
}

void gm_uses_wait_all(struct gm_allocator *a)
{
    if (!a->polls)
        return;
    queue_deferred(a);
    for (uint32_t s = 0; s < a->uses.queues.n; s++)
        gm_allocator_stream_is_done(a, s);
    gm_uses_poll(a);
}

void gm_uses_wait(struct gm_allocator *a, uint32_t block)
{
    struct gm_uses *u = &a->uses;
    if (block >= u->events.n)
        return;
    for (size_t s = 0; s < u->queues.n && u->events.v[block] > 0; s++) {
        struct gm_use_queue *q = &u->queues.v[s];
        size_t kept = q->head, done = q->head;
        for (size_t i = q->head; i < q->blocks.n; i++) {
            if (q->blocks.v[i] == block)
                continue;
            done += i < q->done;
            q->blocks.v[kept++] = q->blocks.v[i];
        }
        q->blocks.n = kept;
        q->done = done;
    }
    u->events.v[block] = 0;
    size_t kept = 0;
    for (size_t i = 0; i < u->deferred.n; i++)
        if (u->deferred.v[i] != block)
            u->deferred.v[kept++] = u->deferred.v[i];
    u->deferred.n = kept;
    forget_uses(u, block);
}
