/* SPDX-License-Identifier: Apache-2.0
 *
 * The address space at moment 0. The snapshot's segments are followed backwards through the segment events; the
 * allocations that lived before the trace are placed in what is there then. At any other moment: those segments, what
 * segment events did since, and in them what lives.
 */
#include "analyze/timeline/history/reconstruct.h"

static bool undo_events(struct gm_reconstruction *t)
{
    struct gm_history *h = t->h;
    const struct gm_events *e = &h->snapshot->events;
    for (size_t i = h->device_event_count; i > 0; i--) {
        const uint32_t event = h->device_events[i - 1];
        size_t row = h->first + event;
        uint8_t action = e->action[row];
        enum gm_space_status status;
        if (gm_action_is_growth(action)) {
            status = gm_space_unmap(&t->space, gm_event_addr(e, row), gm_event_size(e, row));
            if (status == GM_SPACE_CONFLICT)
                gm_history_note(h, "segment-not-in-snapshot",
                                "segments were allocated and never freed but are not in the snapshot", false, event,
                                gm_event_size(e, row));
        } else if (gm_action_is_release(action)) {
            bool is_map = action == GM_ACTION_SEGMENT_UNMAP;
            status = gm_space_map(&t->space, gm_event_addr(e, row), gm_event_size(e, row), gm_rare_at(&e->stream, row),
                                  gm_reconstruct_pool_of_event(t, row, is_map), is_map);
            if (status == GM_SPACE_CONFLICT)
                gm_history_note(h, "segment-freed-again", "freed segments are there after their end", false, event,
                                gm_event_size(e, row));
        } else {
            continue;
        }
        if (status == GM_SPACE_NO_MEMORY)
            return false;
        if (t->space.work > ((uint64_t)h->count + 64) * 64 + (UINT64_C(1) << 22))
            break; /* telling the events will meet the same and give up */
    }
    return true;
}

/* The option before the first growth that shows it: what the first growth says, else the setting as it is. */
static void guess_expandable(struct gm_reconstruction *t)
{
    const uint8_t *action = t->h->snapshot->events.action + t->h->first;
    for (size_t i = 0; i < t->h->device_event_count; i++) {
        const uint32_t event = t->h->device_events[i];
        if (!gm_action_is_growth(action[event]))
            continue;
        bool is_map = action[event] == GM_ACTION_SEGMENT_MAP;
        uint32_t pool = gm_reconstruct_pool_of_event(t, t->h->first + event, is_map);
        if (t->h->pools[pool].id_first != 0 || t->h->pools[pool].id_second != 0)
            continue;
        t->is_expandable = is_map;
        return;
    }
}

/* Block bytes of an allocation of that time: what the snapshot says if it is still there, else what the request and the
 * room up to the next one allow. */
static uint64_t size_at_start(const struct gm_reconstruction *t, uint32_t a, const struct gm_space_block *in,
                              uint64_t room)
{
    const struct gm_history *h = t->h;
    const uint32_t block = gm_final_block(h, a);
    if (block != GM_NO_BLOCK)
        return h->snapshot->blocks.size[block];
    uint64_t rounded = gm_rules_round(&t->rules, gm_requested(h, a));
    return rounded >= room ? rounded : gm_reconstruct_size(t, in, rounded, room);
}

/* Takes `size` bytes at an address in a free block. GM_SPACE_NONE: no memory. */
static uint32_t put(struct gm_space *space, uint32_t at, const struct gm_at_address *p, uint64_t size, bool is_let_go)
{
    const uint64_t below = p->address - space->blocks.v[at].address;
    if (below > 0)
        at = gm_space_cut(space, at, below);
    if (at != GM_SPACE_NONE)
        at = gm_space_take(space, at, size, p->allocation);
    if (at != GM_SPACE_NONE && is_let_go)
        gm_space_let_go(space, at);
    return at;
}

/* Places one allocation; those before it lie below. `next` is the address of the one after it. */
static void place(struct gm_reconstruction *t, const struct gm_at_address *p, uint64_t next)
{
    struct gm_history *h = t->h;
    uint32_t a = p->allocation, range = gm_space_range_of(&t->space, p->address);
    uint64_t rounded = gm_rules_round(&t->rules, gm_requested(h, a));
    t->block_of[a] = GM_SPACE_NONE;
    if (range == GM_SPACE_NONE) {
        gm_reconstruct_set(t, a, rounded, gm_reconstruct_pool(t, GM_RECONSTRUCT_NO_POOL, rounded <= GM_SMALL_SIZE));
        t->outside += rounded;
        t->attributed += rounded;
        gm_history_note(h, "outside-segments", "blocks were allocated outside all segments", false, GM_REPORT_NONE,
                        rounded);
        return;
    }
    uint32_t at = t->space.ranges.v[range].last; /* what is left above those placed before */
    const struct gm_space_block *b = &t->space.blocks.v[at];
    uint64_t end = t->space.ranges.v[range].address + t->space.ranges.v[range].size;
    uint64_t room = (next < end ? next : end) - p->address;
    uint64_t size = size_at_start(t, a, b, room);
    gm_reconstruct_set(t, a, size, b->pool);
    t->attributed += size;
    if (b->use != GM_SPACE_FREE || b->address > p->address || size > end - p->address || size == 0) {
        gm_history_note(h, "overlap-at-start", "blocks older than the trace overlap others or their segment's end",
                        false, GM_REPORT_NONE, size);
        return;
    }
    t->block_of[a] = put(&t->space, at, p, size, gm_let_go(h, a) == 0);
    t->has_no_memory |= t->block_of[a] == GM_SPACE_NONE;
}

static bool place_baseline(struct gm_reconstruction *t)
{
    struct gm_history *h = t->h;
    size_t n;
    GM_FREED struct gm_at_address *list = gm_history_placed(h, 0, &n);
    if (list == NULL)
        return false;
    for (size_t a = 0; a < h->allocation_count; a++)
        t->block_of[a] = GM_SPACE_NONE;
    for (size_t i = 0; i < n && !t->has_no_memory; i++)
        place(t, &list[i], i + 1 < n ? list[i + 1].address : UINT64_MAX);
    for (size_t i = 0; i < n; i++) {
        h->reconciliation.baseline_blocks++;
        h->reconciliation.baseline_bytes =
            gm_clamp((gm_i128)h->reconciliation.baseline_bytes + gm_block_bytes(h, list[i].allocation));
    }
    return !t->has_no_memory;
}

bool gm_reconstruct_segments(struct gm_reconstruction *t)
{
    const struct gm_snapshot *s = t->h->snapshot;
    for (size_t i = 0; i < t->final_count; i++) {
        uint32_t segment = t->finals[i].segment;
        uint32_t pool = t->h->final_pool[segment] = gm_reconstruct_pool_of_segment(t, segment);
        if (gm_space_map(&t->space, t->finals[i].from, t->finals[i].to - t->finals[i].from,
                         s->segments.stream[segment].v, pool,
                         s->segments.is_expandable[segment] == GM_TRUE) == GM_SPACE_NO_MEMORY)
            return false;
    }
    if (!undo_events(t))
        return false;
    guess_expandable(t);
    return true;
}

bool gm_reconstruct_begin(struct gm_reconstruction *t)
{
    return gm_reconstruct_segments(t) && place_baseline(t);
}

/* ---- at any moment ----------------------------------------------------------------------------------------------- */

/* false: no memory. */
static bool apply_segment(struct gm_space *space, const struct gm_history *h, const struct gm_history_segment *segment)
{
    const struct gm_events *e = &h->snapshot->events;
    const size_t row = h->first + segment->event;
    const uint8_t action = e->action[row];
    if (gm_event_addr(e, row) == GM_ABSENT || gm_event_size(e, row) == GM_ABSENT)
        return true;
    if (gm_action_is_release(action))
        return gm_space_unmap(space, gm_event_addr(e, row), gm_event_size(e, row)) != GM_SPACE_NO_MEMORY;
    return gm_space_map(space, gm_event_addr(e, row), gm_event_size(e, row), segment->stream, segment->pool,
                        action == GM_ACTION_SEGMENT_MAP) != GM_SPACE_NO_MEMORY;
}

/* The allocations below it in its range are placed. What does not fit together was counted when the history was made;
 * here it is left out. false: no memory. */
static bool place_at(struct gm_space *space, const struct gm_history *h, const struct gm_at_address *p, uint32_t moment)
{
    const uint32_t range = gm_space_range_of(space, p->address);
    const uint32_t at = range == GM_SPACE_NONE ? GM_SPACE_NONE : space->ranges.v[range].last;
    const struct gm_space_block *b = at == GM_SPACE_NONE ? NULL : &space->blocks.v[at];
    const uint64_t size = gm_block_bytes(h, p->allocation);
    if (b == NULL || b->use != GM_SPACE_FREE || b->address > p->address || size == 0 ||
        p->address - b->address >= b->size || size > b->size - (p->address - b->address))
        return true;
    return put(space, at, p, size, gm_let_go(h, p->allocation) <= moment) != GM_SPACE_NONE;
}

bool gm_history_space_at(struct gm_history *h, uint32_t moment, struct gm_space *space)
{
    bool ok = gm_history_segments_at_start(h, space);
    for (size_t i = 0; ok && i < h->segment_count && h->segments[i].event < moment; i++)
        ok = apply_segment(space, h, &h->segments[i]);
    size_t n = 0;
    GM_FREED struct gm_at_address *list = ok ? gm_history_placed(h, moment, &n) : NULL;
    ok = list != NULL;
    for (size_t i = 0; ok && i < n; i++)
        ok = place_at(space, h, &list[i], moment);
    return ok;
}
