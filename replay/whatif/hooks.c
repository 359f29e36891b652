/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/whatif/whatif.h"

#include "replay/whatif/whatif_private.h"

uint32_t gm_playing_tell_allocated(struct gm_playing *w, uint32_t a, uint32_t block)
{
    const struct gm_whatif_hooks *hooks = w->options->hooks;
    if (block == GM_SPACE_NONE || hooks->allocated == NULL)
        return block;
    const struct gm_space_block *b = &w->model.space.blocks.v[block];
    const struct gm_whatif_block told = {.allocation = a,
                                         .address = b->address,
                                         .size = b->size,
                                         .requested = gm_playing_request(w, a),
                                         .stream = w->model.handles.v[b->stream]};
    enum gm_device_status status = hooks->allocated(hooks->self, w->model.origin, &told);
    if (status == GM_DEVICE_OK)
        return block;
    gm_playing_heed(w, status == GM_DEVICE_FULL);
    if (status == GM_DEVICE_FULL) {
        struct gm_whatif_failure *f = &w->result->failure;
        w->model.stats.requested_bytes[GM_STAT_ALL] = w->before;
        f->rounded = told.requested; /* nobody knows what another allocator makes of it */
        f->largest_free = GM_ABSENT;
        f->device_free = hooks->refused(hooks->self, f->why, sizeof f->why);
    }
    return GM_SPACE_NONE;
}

void gm_playing_tell_let_go(struct gm_playing *w, uint32_t a, uint32_t block)
{
    const struct gm_whatif_hooks *hooks = w->options->hooks;
    if (hooks == NULL || hooks->let_go == NULL)
        return;
    /* The moment after the next event is the earliest for a free of two events. */
    bool is_pending = w->h->freed[a] != gm_let_go(w->h, a) + 1;
    gm_playing_heed(w, hooks->let_go(hooks->self, w->model.origin, w->model.space.blocks.v[block].address, is_pending));
}

void gm_playing_tell_freed(struct gm_playing *w, uint64_t address)
{
    const struct gm_whatif_hooks *hooks = w->options->hooks;
    if (hooks->freed != NULL && !w->model.has_failed)
        gm_playing_heed(w, hooks->freed(hooks->self, w->model.origin, address));
}
