/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/verify/verify.h"

#include "analyze/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct verify {
    struct gm_verify_result *result;
    struct gm_history *h;
    struct gm_allocator model;
    struct gm_device device;
    uint32_t *block_of; /* [allocation] */
    /* The growth events before the current alloc that the model has not asked for: [growth, growth_end). */
    uint32_t growth, growth_end;
    bool is_growth_wrong; /* the model asked for something else than was recorded */
    struct {              /* what the model asked for then */
        uint64_t address, size;
        bool is_map;
    } wanted;
};

static const struct gm_events *events(const struct verify *v)
{
    return &v->h->snapshot->events;
}

static size_t row_of(const struct verify *v, uint32_t event)
{
    return v->h->first + event;
}

/* ---- the device that answers what the trace recorded ---------------------------------------------------------------
 */

/* The next growth event if it is of this action. */
static bool is_next(const struct verify *v, enum gm_action action)
{
    return v->growth < v->growth_end && events(v)->action[row_of(v, v->growth)] == action;
}

static enum gm_device_status refuse(struct verify *v, uint64_t address, uint64_t size, bool is_map)
{
    if (!v->is_growth_wrong) {
        v->wanted.address = address;
        v->wanted.size = size;
        v->wanted.is_map = is_map;
    }
    v->is_growth_wrong = true;
    return GM_DEVICE_FULL;
}

static enum gm_device_status allocate(void *self, uint64_t size, uint64_t *address)
{
    struct verify *v = self;
    if (!is_next(v, GM_ACTION_SEGMENT_ALLOC) || events(v)->size[row_of(v, v->growth)] != size)
        return refuse(v, GM_ABSENT, size, false);
    *address = events(v)->addr[row_of(v, v->growth++)];
    v->result->growths_predicted++;
    return GM_DEVICE_OK;
}

static enum gm_device_status release(void *self, uint64_t address, uint64_t size)
{
    (void)self;
    (void)address;
    (void)size;
    return GM_DEVICE_OK;
}

/* A reservation whose length nobody recorded: up to the next one, or to the end of what addresses can be. */
static enum gm_device_status reserve(void *self, uint64_t page, uint64_t *address, uint64_t *size)
{
    struct verify *v = self;
    if (!is_next(v, GM_ACTION_SEGMENT_MAP))
        return refuse(v, GM_ABSENT, page, true);
    *address = events(v)->addr[row_of(v, v->growth)];
    uint64_t end = *address + (UINT64_C(1) << 44);
    for (size_t i = 0; i < v->model.reservations.n; i++)
        if (v->model.reservations.v[i].address > *address && v->model.reservations.v[i].address < end)
            end = v->model.reservations.v[i].address;
    *size = (end - *address) / page * page;
    return *size > 0 ? GM_DEVICE_OK : refuse(v, *address, page, true);
}

static enum gm_device_status map(void *self, uint64_t address, uint64_t size)
{
    struct verify *v = self;
    if (!is_next(v, GM_ACTION_SEGMENT_MAP) || events(v)->addr[row_of(v, v->growth)] != address ||
        events(v)->size[row_of(v, v->growth)] != size)
        return refuse(v, address, size, true);
    v->growth++;
    v->result->growths_predicted++;
    return GM_DEVICE_OK;
}

static uint64_t free_bytes(void *self)
{
    (void)self;
    return 0;
}

/* ---- the state at moment 0 ------------------------------------------------------------------------------------------
 */

struct placed {
    uint64_t address;
    uint32_t allocation;
};

static int by_address(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->allocation < b->allocation ? -1 : a->allocation > b->allocation;
}

static uint8_t model_pool(struct verify *v, uint8_t pool)
{
    const struct gm_history_pool *p = &v->h->pools[pool];
    return gm_allocator_pool_of(&v->model, p->id_first, p->id_second, p->is_small);
}

static uint32_t model_stream(struct verify *v, uint32_t stream)
{
    return gm_allocator_stream(&v->model, stream == 0 ? 0 : v->h->snapshot->streams[stream]);
}

/* A range of an expandable segment belongs to the reservation of its pool and stream that is nearest below it with
 * nothing of others in between, or begins one. */
static bool reserve_range(struct verify *v, uint64_t address, uint32_t stream, uint8_t pool)
{
    struct gm_allocator *m = &v->model;
    struct gm_reservation_row *below = NULL;
    for (size_t i = 0; i < m->reservations.n; i++)
        if (m->reservations.v[i].address <= address)
            below = &m->reservations.v[i];
    if (below != NULL && below->stream == stream && below->pool == pool)
        return true;
    struct gm_reservation_row row = {address, UINT64_C(1) << 44, stream, pool};
    size_t at = 0;
    while (at < m->reservations.n && m->reservations.v[at].address < address)
        at++;
    if (at > 0 && m->reservations.v[at - 1].address + m->reservations.v[at - 1].size > address)
        m->reservations.v[at - 1].size = address - m->reservations.v[at - 1].address;
    if (!GM_VEC_ROOM(&m->reservations, 1))
        return false;
    memmove(&m->reservations.v[at + 1], &m->reservations.v[at], (m->reservations.n - at) * sizeof row);
    m->reservations.v[at] = row;
    m->reservations.n++;
    return true;
}

static bool adopt_segments(struct verify *v)
{
    struct gm_space start = {0};
    bool ok = gm_history_segments_at_start(v->h, &start);
    for (size_t i = 0; ok && i < start.ranges.n; i++) {
        const struct gm_space_range *range = &start.ranges.v[i];
        const struct gm_space_block *b = &start.blocks.v[range->last];
        uint32_t stream = model_stream(v, b->stream);
        uint8_t pool = model_pool(v, b->pool);
        gm_allocator_adopt_segment(&v->model, range->address, range->size, stream, pool, b->is_expandable);
        ok = !v->model.has_no_memory && (!b->is_expandable || reserve_range(v, range->address, stream, pool));
    }
    gm_space_free(&start);
    return ok;
}

static bool adopt_blocks(struct verify *v)
{
    struct gm_history *h = v->h;
    struct placed *list = malloc((h->allocation_count + 1) * sizeof *list);
    size_t n = 0;
    if (list == NULL)
        return false;
    for (size_t a = 0; a < h->allocation_count; a++) {
        v->block_of[a] = GM_SPACE_NONE;
        if (h->born[a] == 0 && h->freed[a] > 0)
            list[n++] = (struct placed){gm_history_address(h, a), (uint32_t)a};
    }
    qsort(list, n, sizeof *list, by_address);
    for (size_t i = 0; i < n && !v->model.has_no_memory; i++) {
        uint32_t a = list[i].allocation;
        v->block_of[a] =
            gm_allocator_adopt_block(&v->model, list[i].address, h->block[a], h->requested[a], a, h->let_go[a] == 0);
    }
    free(list);
    return !v->model.has_no_memory;
}

/* ---- following
 * ------------------------------------------------------------------------------------------------------- */

static void mismatch(struct verify *v, uint32_t event, uint64_t recorded, uint64_t chosen, const char *reason)
{
    struct gm_verify_result *r = v->result;
    if (r->has_mismatch)
        return;
    r->has_mismatch = true;
    r->mismatch_event = event;
    r->recorded = recorded;
    r->chosen = chosen;
    snprintf(r->reason, sizeof r->reason, "%s", reason);
}

/* Puts a recorded range in place that the model did not ask for. */
static void force_growth(struct verify *v, uint32_t event)
{
    struct gm_allocator *m = &v->model;
    bool is_map = events(v)->action[row_of(v, event)] == GM_ACTION_SEGMENT_MAP;
    uint64_t address = events(v)->addr[row_of(v, event)], size = events(v)->size[row_of(v, event)];
    uint32_t stream = model_stream(v, gm_rare_at(&events(v)->stream, row_of(v, event)));
    uint8_t pool = 0;
    for (size_t i = 0; i < v->h->segment_count; i++)
        if (v->h->segments[i].event == event)
            pool = model_pool(v, v->h->segments[i].pool);
    gm_allocator_adopt_segment(m, address, size, stream, pool, is_map);
    if (is_map)
        m->has_no_memory |= !reserve_range(v, address, stream, pool);
}

/* Gives the model's choice back and takes the recorded address. */
static void force_alloc(struct verify *v, uint32_t event, uint32_t a, uint32_t chosen)
{
    const struct gm_allocator_sink *sink = v->model.sink;
    uint64_t address = events(v)->addr[row_of(v, event)];
    v->model.sink = NULL;
    if (chosen != GM_SPACE_NONE)
        gm_allocator_free_completed(&v->model, chosen);
    for (; v->growth < v->growth_end; v->growth++)
        force_growth(v, v->growth);
    v->block_of[a] = gm_allocator_place(&v->model, address, v->h->block[a], v->h->requested[a], a);
    v->model.sink = sink;
}

static void follow_alloc(struct verify *v, uint32_t event, uint32_t a)
{
    struct gm_history *h = v->h;
    struct gm_verify_result *r = v->result;
    const struct gm_history_pool *pool = &h->pools[h->pool[a]];
    uint32_t stream = model_stream(v, gm_rare_at(&events(v)->stream, row_of(v, event)));
    uint64_t address = events(v)->addr[row_of(v, event)];
    r->allocs++;
    v->growth_end = event;
    v->is_growth_wrong = false;
    uint32_t block = gm_allocator_malloc(&v->model, h->requested[a], stream, pool->id_first, pool->id_second, a);
    uint64_t chosen = block == GM_SPACE_NONE ? GM_ABSENT : v->model.space.blocks.v[block].address;
    if (chosen == address && v->growth == v->growth_end) {
        v->block_of[a] = block;
        r->exact++;
        return;
    }
    char reason[GM_MISMATCH_TEXT];
    if (v->is_growth_wrong)
        snprintf(reason, sizeof reason, "the model wanted %" PRIu64 " bytes %s, the trace %s", v->wanted.size,
                 v->wanted.is_map ? "mapped" : "from cudaMalloc",
                 v->growth < v->growth_end ? "has another growth" : "has no growth");
    else
        snprintf(reason, sizeof reason, "%s",
                 v->growth < v->growth_end ? "the model found a block, the trace grew" : "another block was chosen");
    mismatch(v, event, address, chosen, reason);
    force_alloc(v, event, a, block);
}

/* The state of the growth events that stand before `event`: those not followed by an alloc are put in place as they
 * are (a failed attempt left them). */
static void follow_release(struct verify *v, uint32_t event)
{
    uint64_t address = events(v)->addr[row_of(v, event)], size = events(v)->size[row_of(v, event)];
    gm_allocator_give_back(&v->model, address, size);
}

static void follow(struct verify *v)
{
    struct gm_history *h = v->h;
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change c;
    bool in_growth = false;
    while (gm_walk_next(&walk, &c) && !v->model.has_no_memory) {
        uint8_t action = events(v)->action[row_of(v, c.event)];
        bool is_growth = action == GM_ACTION_SEGMENT_ALLOC || action == GM_ACTION_SEGMENT_MAP;
        if (is_growth) {
            v->result->growths++;
            if (!in_growth)
                v->growth = c.event;
            in_growth = true;
            continue;
        }
        if (c.kind == GM_CHANGE_ALLOC) {
            if (!in_growth)
                v->growth = c.event;
            follow_alloc(v, c.event, c.allocation);
            in_growth = false;
            continue;
        }
        if (in_growth) { /* not for an alloc: a failed attempt */
            for (; v->growth < c.event; v->growth++)
                if (events(v)->action[row_of(v, v->growth)] == GM_ACTION_SEGMENT_ALLOC ||
                    events(v)->action[row_of(v, v->growth)] == GM_ACTION_SEGMENT_MAP)
                    force_growth(v, v->growth);
            in_growth = false;
        }
        if (c.kind == GM_CHANGE_LET_GO && v->block_of[c.allocation] != GM_SPACE_NONE)
            gm_allocator_free_requested(&v->model, v->block_of[c.allocation]);
        else if (c.kind == GM_CHANGE_FREE && v->block_of[c.allocation] != GM_SPACE_NONE)
            gm_allocator_free_completed(&v->model, v->block_of[c.allocation]);
        else if (action == GM_ACTION_SEGMENT_FREE || action == GM_ACTION_SEGMENT_UNMAP)
            follow_release(v, c.event);
    }
}

/* Blocks of the snapshot that the model ends in. */
static void compare_end(struct verify *v)
{
    static const uint8_t use[] = {[GM_BLOCK_INACTIVE] = GM_SPACE_FREE,
                                  [GM_BLOCK_ACTIVE_ALLOCATED] = GM_SPACE_ALLOCATED,
                                  [GM_BLOCK_ACTIVE_PENDING_FREE] = GM_SPACE_PENDING};
    const struct gm_snapshot *s = v->h->snapshot;
    const struct gm_space *space = &v->model.space;
    struct gm_address_map at = {0};
    uint32_t before;
    for (uint32_t b = 0; b < space->blocks.n; b++)
        if (space->blocks.v[b].use != GM_SPACE_UNUSED_SLOT)
            v->model.has_no_memory |= !gm_map_put(&at, space->blocks.v[b].address, b, &before);
    for (size_t row = 0; row < s->blocks.count; row++) {
        if (s->segments.device[s->blocks.segment[row]] != v->h->device)
            continue;
        uint32_t b = gm_map_get(&at, s->blocks.address[row]);
        v->result->end_blocks++;
        v->result->end_blocks_same += b != GM_MAP_NONE && space->blocks.v[b].size == s->blocks.size[row] &&
                                      space->blocks.v[b].use == use[s->blocks.state[row]];
    }
    gm_map_free(&at);
}

enum gm_status gm_verify(struct gm_verify_result *result, struct gm_history *h, const struct gm_conf *conf,
                         struct gm_error *err)
{
    struct verify v = {.result = result, .h = h};
    struct timespec from, to;
    *result = (struct gm_verify_result){.device = h->device, .events = h->count};
    v.device = (struct gm_device){&v, allocate, release, reserve, map, NULL, NULL, free_bytes, UINT64_MAX};
    v.device.unmap = release;
    v.device.unreserve = release;
    gm_allocator_init(&v.model, conf, &v.device, NULL);
    v.block_of = malloc((h->allocation_count + 1) * sizeof *v.block_of);
    bool ok = v.block_of != NULL && adopt_segments(&v) && adopt_blocks(&v);
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (ok)
        follow(&v);
    clock_gettime(CLOCK_MONOTONIC, &to);
    result->seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    result->stats = v.model.stats;
    compare_end(&v);
    ok = ok && !v.model.has_no_memory;
    gm_allocator_free(&v.model);
    free(v.block_of);
    return ok ? GM_OK : gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
}
