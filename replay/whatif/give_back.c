/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a replay on a device that is not simulated: it gets everything back, so that what is left there is a leak.
 */
#include "replay/whatif/whatif_private.h"

/* Pages of one reservation; a range may have those of several that touch. */
static bool empty_reservation(struct gm_playing *w, const struct gm_reservation_row *r)
{
    const struct gm_space *space = &w->model.space;
    uint64_t end = r->address + r->size;
    for (size_t i = 0; i < space->ranges.n; i++) {
        const struct gm_space_range *range = &space->ranges.v[i];
        uint64_t from = range->address > r->address ? range->address : r->address;
        uint64_t to = range->address + range->size < end ? range->address + range->size : end;
        if (from < to && w->device.unmap(w->device.self, from, to - from) != GM_DEVICE_OK)
            return false;
    }
    return w->device.unreserve(w->device.self, r->address, r->size) == GM_DEVICE_OK;
}

void gm_playing_give_back(struct gm_playing *w)
{
    const struct gm_space *space = &w->model.space;
    bool ok = true;
    for (size_t i = 0; ok && i < space->ranges.n; i++) {
        const struct gm_space_range *range = &space->ranges.v[i];
        if (!space->blocks.v[range->last].is_expandable)
            ok = w->device.release(w->device.self, range->address, range->size) == GM_DEVICE_OK;
    }
    for (size_t i = 0; ok && i < w->model.reservations.n; i++)
        ok = empty_reservation(w, &w->model.reservations.v[i]);
    w->result->stopped_at = GM_NEVER;
    gm_playing_heed(w, ok);
}
