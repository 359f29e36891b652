/* SPDX-License-Identifier: Apache-2.0
 *
 * The address space at any moment: the segments of moment 0, what segment events did since, and in them what lives.
 * What does not fit together was counted when the history was made; here it is left out.
 */
#include "analyze/timeline/history/history.h"

#include <stdlib.h>

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

/* The allocations below it in its range are placed. false: no memory. */
static bool place(struct gm_space *space, const struct gm_history *h, const struct gm_at_address *p, uint32_t moment)
{
    const uint32_t range = gm_space_range_of(space, p->address);
    uint32_t at = range == GM_SPACE_NONE ? GM_SPACE_NONE : space->ranges.v[range].last;
    const struct gm_space_block *b = at == GM_SPACE_NONE ? NULL : &space->blocks.v[at];
    const uint64_t size = gm_block_bytes(h, p->allocation);
    if (b == NULL || b->use != GM_SPACE_FREE || b->address > p->address || size == 0 ||
        p->address - b->address >= b->size || size > b->size - (p->address - b->address))
        return true;
    if (p->address > b->address)
        at = gm_space_cut(space, at, p->address - b->address);
    if (at != GM_SPACE_NONE)
        at = gm_space_take(space, at, size, p->allocation);
    if (at != GM_SPACE_NONE && h->let_go[p->allocation] <= moment)
        gm_space_let_go(space, at);
    return at != GM_SPACE_NONE;
}

bool gm_history_space_at(struct gm_history *h, uint32_t moment, struct gm_space *space)
{
    bool ok = gm_history_segments_at_start(h, space);
    for (size_t i = 0; ok && i < h->segment_count && h->segments[i].event < moment; i++)
        ok = apply_segment(space, h, &h->segments[i]);
    size_t n = 0;
    struct gm_at_address *list = ok ? gm_history_placed(h, moment, &n) : NULL;
    ok = list != NULL;
    for (size_t i = 0; ok && i < n; i++)
        ok = place(space, h, &list[i], moment);
    free(list);
    return ok;
}
