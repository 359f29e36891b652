/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/shrink/shrink_private.h"

#include "replay/verify/follow.h"
#include "replay/verify/releases.h"

#include <stdlib.h>

struct making {
    struct gm_demand *p;
    struct gm_history *h;
    const struct gm_demand_parts *parts;
    struct gm_releases releases;
    size_t next_release, next_segment;
    bool ok;
};

static void put(struct making *m, enum gm_demand_kind kind, uint32_t what, uint32_t unit, uint32_t event)
{
    const struct gm_demand_op op = {(uint8_t)kind, what, unit, event};
    m->ok = m->ok && GM_VEC_PUSH(&m->p->ops, op);
}

/* Units are items first: number them after all items are known. Until then those of no item are counted from here. */
#define NO_ITEM (UINT32_C(1) << 31)

static uint32_t other_unit(struct making *m)
{
    return NO_ITEM + (uint32_t)m->p->units++;
}

static uint32_t put_item(struct making *m, struct gm_demand_item item)
{
    const uint32_t number = (uint32_t)m->p->items.n;
    m->ok = m->ok && GM_VEC_PUSH(&m->p->items, item);
    put(m, GM_DEMAND_ALLOC, number, number, item.event);
    return number;
}

static struct gm_demand_item item_of(const struct gm_history *h, uint32_t a, uint32_t stream, uint32_t event)
{
    return (struct gm_demand_item){.requested = gm_requested(h, a),
                                   .stream = stream,
                                   .pool = gm_pool_number(h, a),
                                   .stack = gm_stack_of(h, a),
                                   .event = event,
                                   .joined = 1};
}

/* ---- before the trace -------------------------------------------------------------------------------------------- */

/* `item` [allocation]. */
static void put_live(struct making *m, uint32_t *item, uint32_t a)
{
    if (gm_requested(m->h, a) == 0)
        return;
    item[a] = put_item(m, item_of(m->h, a, gm_history_stream(m->h, a).v, GM_NEVER));
    if (gm_let_go(m->h, a) == 0)
        put(m, GM_DEMAND_LET_GO, item[a], other_unit(m), GM_NEVER);
}

/* As gmreplay asks for it from an empty allocator. */
static void put_before(struct making *m, uint32_t *item)
{
    size_t n = 0;
    GM_FREED struct gm_placed *list = gm_follow_requests_at_start(m->h, &n);
    m->ok = m->ok && list != NULL;
    for (size_t i = 0; m->ok && i < n; i++)
        put_live(m, item, list[i].allocation);
}

static struct gm_demand_item filler(const struct gm_space_block *b, uint64_t bytes)
{
    return (struct gm_demand_item){.requested = bytes, .stream = b->stream, .pool = b->pool, .event = GM_NEVER};
}

/* A segment as a whole, given back at once, so that what follows splits it; then its blocks from below. What was free
 * is filled until all segments are there. */
static void put_segment(struct making *m, uint32_t *item, const struct gm_space *space, uint32_t block, uint64_t size)
{
    const struct gm_space_block *b = &space->blocks.v[block];
    const bool is_one = b->next == GM_SPACE_NONE;
    if (!is_one && !b->is_expandable && !m->h->pools[b->pool].is_small) {
        const uint32_t whole = put_item(m, filler(b, size));
        put(m, GM_DEMAND_FREE, whole, whole, GM_NEVER);
    }
    for (; m->ok && block != GM_SPACE_NONE; block = space->blocks.v[block].next) {
        b = &space->blocks.v[block];
        if (b->use == GM_SPACE_FREE)
            put_item(m, filler(b, b->size));
        else
            put_live(m, item, b->owner);
    }
}

static void put_layout(struct making *m, uint32_t *item)
{
    struct gm_space space = {.reserved = 0};
    m->ok = gm_history_space_at(m->h, 0, &space);
    for (size_t i = 0; m->ok && i < space.ranges.n; i++) {
        uint32_t block = space.ranges.v[i].last;
        while (space.blocks.v[block].prev != GM_SPACE_NONE)
            block = space.blocks.v[block].prev;
        put_segment(m, item, &space, block, space.ranges.v[i].size);
    }
    gm_space_free(&space);
    const size_t count = m->p->ops.n;
    for (size_t i = 0; m->ok && i < count; i++) {
        const struct gm_demand_op op = m->p->ops.v[i];
        const bool is_kept = op.kind != GM_DEMAND_ALLOC || m->p->items.v[op.what].joined > 0;
        if (!is_kept && !(i + 1 < count && m->p->ops.v[i + 1].kind == GM_DEMAND_FREE))
            put(m, GM_DEMAND_FREE, op.what, op.what, GM_NEVER);
    }
}

/* ---- the trace --------------------------------------------------------------------------------------------------- */

/* As replay/whatif has it: of private pools, those whose memory went back then were out of use. */
static void put_release(struct making *m, const struct gm_release_run *run)
{
    const struct gm_history *h = m->h;
    const uint32_t unit = other_unit(m);
    while (m->next_segment < h->segment_count && h->segments[m->next_segment].event < run->first)
        m->next_segment++;
    for (; m->next_segment < h->segment_count && h->segments[m->next_segment].event <= run->last; m->next_segment++)
        if (!gm_history_pool_is_default(&h->pools[h->segments[m->next_segment].pool]))
            put(m, GM_DEMAND_RETIRE, h->segments[m->next_segment].pool, unit, run->first);
    put(m, run->cause == GM_RELEASE_POOL ? GM_DEMAND_EMPTY_POOL : GM_DEMAND_EMPTY, run->pool, unit, run->first);
}

static void put_change(struct making *m, uint32_t *item, const struct gm_change *c)
{
    const struct gm_history *h = m->h;
    const uint32_t a = c->allocation;
    if (c->kind == GM_CHANGE_ALLOC) {
        const uint32_t stream = gm_rare_at(&h->snapshot->events.stream, h->first + c->event);
        if (gm_requested(h, a) > 0)
            item[a] = put_item(m, item_of(h, a, stream, c->event));
    } else if (c->kind == GM_CHANGE_FREE && item[a] != GM_NEVER) {
        put(m, GM_DEMAND_FREE, item[a], item[a], c->event);
    } else if (c->kind == GM_CHANGE_LET_GO && item[a] != GM_NEVER && h->freed[a] != gm_let_go(h, a) + 1) {
        put(m, GM_DEMAND_LET_GO, item[a], other_unit(m), c->event);
    } else if (m->next_release < m->releases.count && m->releases.v[m->next_release].first == c->event) {
        const struct gm_release_run *run = &m->releases.v[m->next_release++];
        if (run->cause != GM_RELEASE_REQUEST && !m->parts->without_empties)
            put_release(m, run);
    }
}

static void put_refused(struct making *m, uint32_t event)
{
    const struct gm_events *e = &m->h->snapshot->events;
    const size_t row = m->h->first + event;
    const uint32_t pool = gm_rare_at(&e->pool, row), is_small = gm_event_size(e, row) <= GM_SMALL_SIZE;
    const uint32_t *numbers = &m->h->pool_of_id[2 * (size_t)pool];
    const uint32_t number = numbers[is_small] != 0 ? numbers[is_small] : numbers[!is_small];
    put_item(m, (struct gm_demand_item){.requested = gm_event_size(e, row),
                                        .stream = gm_rare_at(&e->stream, row),
                                        .pool = number == 0 ? 0 : number - 1,
                                        .stack = gm_event_stack(e, row).v,
                                        .event = event,
                                        .joined = 1});
}

static void number_units(struct gm_demand *p)
{
    for (size_t i = 0; i < p->ops.n; i++)
        if (p->ops.v[i].unit >= NO_ITEM)
            p->ops.v[i].unit += (uint32_t)p->items.n - NO_ITEM;
    p->units += p->items.n;
}

bool gm_demand_make(struct gm_demand *program, struct gm_history *h, const struct gm_demand_parts *parts)
{
    struct making m = {.p = program, .h = h, .parts = parts};
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change c;
    GM_FREED uint32_t *item = malloc((h->allocation_count + 1) * sizeof *item);
    *program = (struct gm_demand){.h = h, .is_custom = gm_follow_custom_pools(h, gm_follow_expandable_since(h))};
    m.ok = item != NULL && program->is_custom != NULL && gm_releases_find(&m.releases, h);
    for (size_t a = 0; m.ok && a < h->allocation_count; a++)
        item[a] = GM_NEVER;
    if (m.ok && parts->with_layout)
        put_layout(&m, item);
    else if (m.ok)
        put_before(&m, item);
    while (m.ok && walk.event < parts->refused && gm_walk_next(&walk, &c))
        put_change(&m, item, &c);
    if (m.ok && parts->refused != GM_NEVER)
        put_refused(&m, parts->refused);
    if (m.ok)
        number_units(program);
    gm_releases_free(&m.releases);
    return m.ok;
}

void gm_demand_free(struct gm_demand *program)
{
    GM_FREE_ALL(program->is_custom, program->ops.v, program->items.v);
    *program = (struct gm_demand){.units = 0};
}
