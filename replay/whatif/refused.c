/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/whatif/whatif_private.h"

void gm_playing_ask_refused(struct gm_playing *w)
{
    const struct gm_events *e = &w->h->snapshot->events;
    const size_t row = w->h->first + w->refused->event;
    const uint32_t pool = gm_rare_at(&e->pool, row); /* where it is not recorded, the default one */
    const struct gm_pool_key id = pool == 0 ? (struct gm_pool_key){0, 0} : w->h->snapshot->pools[pool];
    const struct gm_allocator_home home = gm_allocator_home_of(&w->model, id.first, id.second);
    const uint32_t stream = gm_playing_stream(w, gm_rare_at(&e->stream, row));
    const struct gm_whatif_failure request = {
        .is_refused = true, .event = w->refused->event, .stack = gm_event_stack(e, row), .requested = w->refused->size};
    w->model.highest = w->model.total;
    w->was_served = gm_allocator_malloc(&w->model, request.requested, stream, home, GM_SPACE_NONE) != GM_SPACE_NONE;
    if (!w->was_served)
        gm_playing_fail(w, &request, !home.is_default);
}
