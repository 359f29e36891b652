/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/shrink/shrink_private.h"

#include "replay/model/sim.h"
#include "replay/verify/follow.h"

#include <stdlib.h>

struct player {
    const struct gm_play *play;
    const struct gm_demand *program;
    struct gm_outcome *out;
    struct gm_allocator model;
    struct gm_sim sim;
    struct gm_allocator_home *home; /* [pool of the history] */
    struct gm_follow follow;        /* of the program's items */
    uint32_t op;
};

static void hear(void *self, enum gm_allocator_event event, uint64_t address, uint64_t size, uint32_t stream,
                 uint32_t pool, uint32_t owner)
{
    struct player *w = self;
    if (event == GM_EVENT_FREE_COMPLETED)
        w->follow.block_of[owner] = GM_SPACE_NONE; /* a retry or empty_cache() may have waited for it */
    if (event == GM_EVENT_OOM) {
        w->out->rounded = size;
        w->out->device_free = address;
    }
    if (w->play->recorder != NULL)
        gm_recorder_hear(w->play->recorder, event, address, size, stream, pool, w->model.origin);
}

static void note_failure(struct player *w, const struct gm_demand_item *item)
{
    struct gm_outcome *o = w->out;
    const uint64_t most = w->sim.capacity < w->model.limit ? w->sim.capacity : w->model.limit;
    o->has_failed = true;
    o->op = w->op;
    o->active = w->model.space.active;
    o->has_event = o->rounded > 0;
    if (!o->has_event)
        o->rounded = item->requested;
    o->is_pieces = o->active <= most && o->rounded <= most - o->active;
}

static void ask(struct player *w, uint32_t number)
{
    const struct gm_demand_item *item = &w->program->items.v[number];
    const struct gm_allocator_home home = w->home[item->pool];
    const uint32_t stream = gm_follow_stream(&w->follow, item->stream);
    if (w->model.has_no_memory)
        return;
    w->model.highest = w->model.total;
    if (home.is_default)
        gm_allocator_complete_waited(&w->model);
    w->follow.block_of[number] = gm_allocator_malloc(&w->model, item->requested, stream, home, number);
    if (w->model.highest > w->out->reserved) {
        w->out->reserved = w->model.highest;
        w->out->unused = w->model.highest > w->model.space.active ? w->model.highest - w->model.space.active : 0;
        w->out->peak_op = w->op;
    }
    if (w->follow.block_of[number] == GM_SPACE_NONE)
        note_failure(w, item);
}

static void let_go(struct player *w, uint32_t number, bool is_completed)
{
    const uint32_t block = w->follow.block_of[number];
    if (block == GM_SPACE_NONE)
        return;
    if (w->model.space.blocks.v[block].use == GM_SPACE_ALLOCATED)
        gm_allocator_free_requested(&w->model, block);
    if (is_completed)
        gm_allocator_free_completed(&w->model, block);
}

static void empty(struct player *w, const struct gm_demand_op *op)
{
    const struct gm_history *h = w->program->h;
    if (op->kind == GM_DEMAND_EMPTY_POOL)
        gm_allocator_empty_pool(&w->model, h->pools[op->what].id_first, h->pools[op->what].id_second);
    else
        gm_allocator_empty_cache(&w->model);
    for (size_t i = w->op; i > 0 && w->program->ops.v[i - 1].unit == op->unit; i--)
        gm_allocator_set_freeable(&w->model, w->home[w->program->ops.v[i - 1].what], false);
}

static void do_op(struct player *w, const struct gm_demand_op *op)
{
    switch ((enum gm_demand_kind)op->kind) {
    case GM_DEMAND_ALLOC:
        ask(w, op->what);
        break;
    case GM_DEMAND_LET_GO:
    case GM_DEMAND_FREE:
        let_go(w, op->what, op->kind == GM_DEMAND_FREE);
        break;
    case GM_DEMAND_RETIRE:
        gm_allocator_set_freeable(&w->model, w->home[op->what], true);
        break;
    case GM_DEMAND_EMPTY:
    case GM_DEMAND_EMPTY_POOL:
        empty(w, op);
        break;
    }
}

static void play_ops(struct player *w)
{
    const struct gm_demand *p = w->program;
    const uint64_t budget = (uint64_t)p->ops.n * 256 + (UINT64_C(1) << 28);
    for (uint32_t i = 0, row = 0; i < p->ops.n; i++) {
        const struct gm_demand_op *op = &p->ops.v[i];
        if (w->play->is_dropped != NULL && w->play->is_dropped[op->unit])
            continue;
        w->op = i;
        w->model.origin = row++;
        do_op(w, op);
        w->out->is_too_busy = w->model.space.work + w->sim.work > budget;
        if (w->out->has_failed || w->out->is_too_busy || w->model.has_no_memory || w->model.has_failed ||
            w->out->reserved > w->play->most)
            return;
    }
}

static bool begin(struct player *w)
{
    const struct gm_demand *p = w->program;
    w->home = gm_follow_homes(&w->model, p->h, p->is_custom);
    if (!gm_follow_init(&w->follow, p->h, &w->model, p->items.n) || w->home == NULL)
        return false;
    if (p->h->pool_count == 0) /* nothing but a refused request */
        w->home[0] = gm_allocator_home_of(&w->model, 0, 0);
    return !w->model.has_no_memory;
}

enum gm_status gm_play(struct gm_outcome *out, const struct gm_play *play, struct gm_error *err)
{
    struct player w = {.play = play,
                       .program = play->program,
                       .out = out,
                       .sim = gm_sim_init(play->device->capacity, play->placement)};
    const struct gm_allocator_sink sink = {&w, hear};
    *out = (struct gm_outcome){.op = 0};
    w.sim.taken = play->device->taken;
    const struct gm_device simulated = gm_sim_device(&w.sim);
    gm_allocator_init(&w.model, &play->device->conf, &simulated, &sink);
    w.model.keeps_objects = play->recorder != NULL;
    if (play->recorder != NULL)
        gm_recorder_begin(play->recorder, play->as);
    const bool ok = begin(&w);
    if (ok)
        play_ops(&w);
    out->hangs_on_placement = w.model.has_tied && w.sim.given > 0;
    if (ok && play->recorder != NULL)
        gm_recorder_end(play->recorder, &w.model, w.follow.stream_of);
    const bool has_no_memory =
        !ok || w.model.has_no_memory || (play->recorder != NULL && play->recorder->has_no_memory);
    const bool has_failed = w.model.has_failed;
    gm_allocator_free(&w.model);
    gm_sim_free(&w.sim);
    gm_follow_free(&w.follow);
    free(w.home);
    if (has_no_memory)
        return gm_no_memory(err);
    return !has_failed ? GM_OK
                       : gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "the simulated device gave out an address twice");
}
