/* SPDX-License-Identifier: Apache-2.0
 *
 * The state that a run ended in, or that the recorded one was in at a moment: ranges as segments, their blocks, and
 * what the recording knows of them.
 */
#include "analyze/base/address_map.h"
#include "replay/regenerate/regenerate_private.h"

struct state {
    struct gm_event_recorder *r;
    const struct gm_space *space;
    const struct gm_allocator *model; /* whose space it is; NULL: it is the history's */
    const struct gm_recorded_device *device;
    const uint32_t *streams;        /* of the model */
    struct gm_address_map grown_at; /* of the history: the event that reserved the memory from an address on */
    struct gm_address_map segment_at, block_at; /* rows of the snapshot, of this device, by address */
    size_t reservation;                         /* the next one of the model, by address */
};

static bool map_recorded(struct state *s)
{
    const struct gm_snapshot *snapshot = s->r->snapshot;
    uint32_t before;
    for (size_t i = 0; i < snapshot->segments.count; i++) {
        if (snapshot->segments.device[i] != s->device->device)
            continue;
        if (!gm_map_put(&s->segment_at, snapshot->segments.address[i], (uint32_t)i, &before))
            return false;
        size_t first = snapshot->segments.block_first[i];
        for (size_t b = first; b < first + snapshot->segments.block_count[i]; b++)
            if (!gm_map_put(&s->block_at, snapshot->blocks.address[b], (uint32_t)b, &before))
                return false;
    }
    return true;
}

static bool put_block(struct state *s, uint32_t number)
{
    static const uint8_t states[] = {[GM_SPACE_FREE] = GM_BLOCK_INACTIVE,
                                     [GM_SPACE_ALLOCATED] = GM_BLOCK_ACTIVE_ALLOCATED,
                                     [GM_SPACE_PENDING] = GM_BLOCK_ACTIVE_PENDING_FREE};
    const struct gm_history *h = s->r->h;
    const struct gm_blocks *recorded = &h->snapshot->blocks;
    const struct gm_space_block *b = &s->space->blocks.v[number];
    bool is_owned = b->use != GM_SPACE_FREE && b->owner < h->allocation_count;
    struct gm_recorded_block block = {.address = b->address,
                                      .size = b->size,
                                      .requested = s->model != NULL ? s->model->requested.v[number]
                                                   : is_owned       ? gm_requested(h, b->owner)
                                                                    : GM_ABSENT,
                                      .state = states[b->use],
                                      .row = gm_map_get(&s->block_at, b->address)};
    bool is_same = block.row != GM_MAP_NONE && recorded->size[block.row] == b->size &&
                   recorded->state[block.row] == block.state && (!is_owned || gm_final_block(h, b->owner) == block.row);
    if (!is_same)
        block.row = GM_NO_ROW;
    if (is_owned)
        block.stack = gm_stack_of(h, b->owner);
    if (b->use == GM_SPACE_FREE && block.requested == GM_ABSENT)
        block.requested = is_same ? recorded->requested[block.row] : 0;
    return GM_VEC_PUSH(&s->r->blocks, block);
}

/* The event, of the device, that reserved the memory of a segment, whose first block is `head`. */
static uint32_t grown_by(const struct state *s, uint32_t head)
{
    if (s->model != NULL)
        return head < s->model->grown_by.n ? s->model->grown_by.v[head] : GM_ORIGIN_UNKNOWN;
    const uint32_t event = gm_map_get(&s->grown_at, s->space->blocks.v[head].address);
    return event == GM_MAP_NONE ? GM_ORIGIN_UNKNOWN : event;
}

/* The id of a pool of the history; 0: the file has none such. */
static uint32_t pool_id(const struct gm_snapshot *s, const struct gm_history_pool *pool)
{
    uint32_t id = s->pool_count;
    while (id-- > 1)
        if (s->pools[id].first == pool->id_first && s->pools[id].second == pool->id_second)
            return id;
    return 0;
}

static bool begin_segment(struct state *s, uint32_t head)
{
    const struct gm_snapshot *snapshot = s->r->snapshot;
    const struct gm_space_block *b = &s->space->blocks.v[head];
    const uint32_t event = grown_by(s, head);
    struct gm_recorded_segment segment = {.address = b->address,
                                          .row = gm_map_get(&s->segment_at, b->address),
                                          .first_block = (uint32_t)s->r->blocks.n,
                                          .is_expandable = b->is_expandable};
    if (s->model != NULL) {
        segment.stream = s->streams[b->stream];
        segment.pool = s->r->pools.v[s->device->first_pool + b->pool];
        segment.is_small = s->model->pools.v[b->pool].is_small;
    } else {
        segment.stream = b->stream;
        segment.pool = pool_id(snapshot, &s->r->h->pools[b->pool]);
        segment.is_small = s->r->h->pools[b->pool].is_small;
    }
    if (event < s->r->h->count)
        segment.stack = gm_event_stack(&snapshot->events, s->r->h->first + event).v;
    else if (event == GM_ORIGIN_UNKNOWN && segment.row != GM_MAP_NONE)
        segment.stack = snapshot->segments.stack[segment.row].v;
    return GM_VEC_PUSH(&s->r->segments, segment);
}

static void end_segment(struct state *s)
{
    struct gm_recorded_segment *segment = &s->r->segments.v[s->r->segments.n - 1];
    const struct gm_segments *recorded = &s->r->snapshot->segments;
    for (size_t i = segment->first_block; i < s->r->blocks.n; i++) {
        const struct gm_recorded_block *b = &s->r->blocks.v[i];
        segment->size += b->size;
        segment->block_count++;
        if (b->state == GM_BLOCK_INACTIVE)
            continue;
        segment->allocated += b->state == GM_BLOCK_ACTIVE_ALLOCATED ? b->size : 0;
        segment->active += b->size;
        segment->requested += b->requested;
    }
    if (segment->row == GM_MAP_NONE || recorded->total_size[segment->row] != segment->size)
        segment->row = GM_NO_ROW;
}

/* A segment is one cudaMalloc, or what is mapped without a gap of one reservation: where one reservation follows
 * another, another segment begins. */
static bool is_new_reservation(struct state *s, const struct gm_space_block *b)
{
    const struct gm_allocator *a = s->model;
    if (a == NULL)
        return false;
    while (s->reservation < a->reservations.n && a->reservations.v[s->reservation].address < b->address)
        s->reservation++;
    return b->is_expandable && s->reservation < a->reservations.n &&
           a->reservations.v[s->reservation].address == b->address;
}

static bool put_range(struct state *s, const struct gm_space_range *range)
{
    const struct gm_space *space = s->space;
    uint32_t block = range->last;
    while (space->blocks.v[block].prev != GM_SPACE_NONE)
        block = space->blocks.v[block].prev;
    if (!begin_segment(s, block) || !put_block(s, block))
        return false;
    while ((block = space->blocks.v[block].next) != GM_SPACE_NONE) {
        if (is_new_reservation(s, &space->blocks.v[block])) {
            end_segment(s);
            if (!begin_segment(s, block))
                return false;
        }
        if (!put_block(s, block))
            return false;
    }
    end_segment(s);
    return true;
}

static bool put_ranges(struct state *s)
{
    bool ok = map_recorded(s);
    for (size_t i = 0; ok && i < s->space->ranges.n; i++)
        ok = put_range(s, &s->space->ranges.v[i]);
    gm_map_free(&s->segment_at);
    gm_map_free(&s->block_at);
    gm_map_free(&s->grown_at);
    return ok;
}

bool gm_record_state(struct gm_event_recorder *r, const struct gm_recorded_device *device,
                     const struct gm_allocator *model, const uint32_t *streams)
{
    struct state s = {.r = r, .space = &model->space, .model = model, .device = device, .streams = streams};
    return put_ranges(&s);
}

bool gm_record_moment(struct gm_event_recorder *r, const struct gm_recorded_device *device,
                      const struct gm_space *space, uint32_t moment)
{
    struct state s = {.r = r, .space = space, .device = device};
    const struct gm_history *h = r->h;
    bool ok = true;
    for (size_t i = 0; ok && i < h->segment_count && h->segments[i].event < moment; i++) {
        const uint32_t event = h->segments[i].event;
        uint32_t before;
        if (gm_action_is_growth(r->snapshot->events.action[h->first + event]))
            ok = gm_map_put(&s.grown_at, gm_event_addr(&r->snapshot->events, h->first + event), event, &before);
    }
    if (ok)
        return put_ranges(&s);
    gm_map_free(&s.grown_at);
    return false;
}
