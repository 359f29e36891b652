/* SPDX-License-Identifier: Apache-2.0
 *
 * A replay that begins in the recorded layout and asks for the same memory gets it where the recording did: the order
 * of segments decides between equal free blocks, so nothing else repeats the recording. What is asked for otherwise
 * lies above all recorded addresses, or where another placement has it.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/bisect.h"
#include "analyze/base/size.h"
#include "replay/whatif/whatif_private.h"

static uint8_t action_of(const struct gm_playing *w, uint32_t event)
{
    return w->h->snapshot->events.action[w->h->first + event];
}

/* The next growth that was recorded right before the request that is being played, if it is `action`: its row. */
static bool find_growth(struct gm_playing *w, enum gm_action action, size_t *row)
{
    uint32_t request = w->model.origin;
    if (w->grown_for != request) {
        w->grown_for = w->growth = request;
        while (w->growth > 0 && gm_action_is_growth(action_of(w, w->growth - 1)))
            w->growth--;
        w->sim.work += (request - w->growth) / 16;
    }
    *row = w->h->first + w->growth;
    return w->growth < request && action_of(w, w->growth) == (uint8_t)action;
}

/* The end of the addresses from `address` on that are not mapped; `address` itself if it is. */
static uint64_t unused_up_to(const struct gm_space *space, uint64_t address)
{
    size_t low = 0; /* the first range that ends above `address` */
    GM_BISECT(low, space->ranges.n, i, space->ranges.v[i].address + space->ranges.v[i].size <= address);
    if (low == space->ranges.n)
        return UINT64_MAX;
    return space->ranges.v[low].address > address ? space->ranges.v[low].address : address;
}

static enum gm_device_status allocate(void *self, uint64_t size, uint64_t *address)
{
    struct gm_playing *w = self;
    const struct gm_events *e = &w->h->snapshot->events;
    size_t row;
    if (!find_growth(w, GM_ACTION_SEGMENT_ALLOC, &row) || gm_event_size(e, row) != size ||
        unused_up_to(&w->model.space, gm_event_addr(e, row)) - gm_event_addr(e, row) < size)
        return w->elsewhere.allocate(w->elsewhere.self, size, address);
    *address = gm_event_addr(e, row);
    w->growth++;
    w->sim.used += size; /* which is unlimited */
    return GM_DEVICE_OK;
}

static enum gm_device_status release(void *self, uint64_t address, uint64_t size)
{
    struct gm_playing *w = self;
    return w->elsewhere.release(w->elsewhere.self, address, size);
}

/* Its length was not recorded: up to the next reservation, or very long. */
static enum gm_device_status reserve(void *self, uint64_t page, uint64_t most, uint64_t *address, uint64_t *size)
{
    struct gm_playing *w = self;
    const struct gm_events *e = &w->h->snapshot->events;
    size_t row;
    if (!find_growth(w, GM_ACTION_SEGMENT_MAP, &row) || gm_event_addr(e, row) == 0)
        return w->elsewhere.reserve(w->elsewhere.self, page, most, address, size);
    uint64_t from = gm_event_addr(e, row), end = from + 16 * GM_TIB, mapped = unused_up_to(&w->model.space, from);
    uint64_t next = gm_allocator_next_reservation(&w->model, from - 1);
    end = mapped < end ? mapped : end;
    end = next < end ? next : end;
    if (page == 0 || end - from < page)
        return w->elsewhere.reserve(w->elsewhere.self, page, most, address, size);
    *address = from;
    *size = (end - from) / page * page;
    if (*size > most)
        *size = gm_round_up(most, page);
    return GM_DEVICE_OK;
}

static enum gm_device_status map(void *self, uint64_t address, uint64_t size)
{
    struct gm_playing *w = self;
    size_t row;
    if (find_growth(w, GM_ACTION_SEGMENT_MAP, &row))
        w->growth++;
    return w->elsewhere.map(w->elsewhere.self, address, size);
}

static enum gm_device_status unmap(void *self, uint64_t address, uint64_t size)
{
    struct gm_playing *w = self;
    return w->elsewhere.unmap(w->elsewhere.self, address, size);
}

static enum gm_device_status unreserve(void *self, uint64_t address, uint64_t size)
{
    struct gm_playing *w = self;
    return w->elsewhere.unreserve(w->elsewhere.self, address, size);
}

static uint64_t free_bytes(void *self)
{
    struct gm_playing *w = self;
    return w->elsewhere.free_bytes(w->elsewhere.self);
}

/* The addresses that the model has, and those that the recording got later. */
static void begin_around(struct gm_playing *w)
{
    const struct gm_events *e = &w->h->snapshot->events;
    const struct gm_space *space = &w->model.space;
    uint64_t from = UINT64_MAX, to = 0;
    for (size_t i = 0; i < space->ranges.n; i++) {
        from = space->ranges.v[i].address < from ? space->ranges.v[i].address : from;
        to = space->ranges.v[i].address + space->ranges.v[i].size;
    }
    for (size_t i = 0; i < w->model.reservations.n; i++) {
        const struct gm_reservation_row *r = &w->model.reservations.v[i];
        from = r->address < from ? r->address : from;
        to = r->address + r->size > to ? r->address + r->size : to;
    }
    for (size_t row = w->h->first; row < w->h->first + w->h->count; row++) {
        if (!gm_action_is_growth(e->action[row]))
            continue;
        from = gm_event_addr(e, row) < from ? gm_event_addr(e, row) : from;
        to = gm_event_addr(e, row) + gm_event_size(e, row) > to ? gm_event_addr(e, row) + gm_event_size(e, row) : to;
    }
    gm_sim_begin_around(&w->sim, from, to, w->model.total);
}

void gm_playing_repeat_places(struct gm_playing *w)
{
    begin_around(w);
    w->elsewhere = w->device;
    w->grown_for = GM_ORIGIN_UNKNOWN;
    w->device =
        (struct gm_device){w, allocate, release, reserve, map, unmap, unreserve, free_bytes, w->elsewhere.total_bytes};
}
