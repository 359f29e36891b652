/* SPDX-License-Identifier: Apache-2.0
 *
 * Address reservations of expandable segments, as far as map and unmap events show them: touching ranges of one stream
 * are one chain, and pages are counted from the chain's lowest address.
 */
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/state/state_pass.h"

#include <stdlib.h>
#include <string.h>

bool gm_reservations_add(struct gm_reservations *r, uint32_t stream, uint64_t from, uint64_t to)
{
    if (r->n > 0) { /* a reservation grows and shrinks at its end, so most events touch the range before */
        struct gm_reservation *last = &r->v[r->n - 1];
        if (last->stream == stream && from <= last->to && to >= last->from) {
            last->from = from < last->from ? from : last->from;
            last->to = to > last->to ? to : last->to;
            return true;
        }
    }
    struct gm_reservation fresh = {stream, from, to};
    return GM_VEC_PUSH(r, fresh);
}

GM_ORDERING(compare, struct gm_reservation, GM_UP(stream) || GM_UP(from) || GM_UP(to));

void gm_reservations_merge(struct gm_reservations *r)
{
    if (r->n < 2)
        return;
    qsort(r->v, r->n, sizeof *r->v, compare);
    size_t n = 1;
    for (size_t i = 1; i < r->n; i++) {
        struct gm_reservation *last = &r->v[n - 1];
        if (last->stream != r->v[i].stream || r->v[i].from > last->to)
            r->v[n++] = r->v[i];
        else if (r->v[i].to > last->to)
            last->to = r->v[i].to;
    }
    r->n = n;
}

/* The last chain of the segment's stream that begins at or before the segment, if it reaches the segment. */
uint64_t gm_reservation_start(const struct gm_device_pass *device, const struct gm_snapshot *s, size_t segment)
{
    const struct gm_reservations *r = &device->reservations;
    uint64_t address = s->segments.address[segment];
    struct gm_reservation wanted = {s->segments.stream[segment].v, address, UINT64_MAX};
    size_t low = 0;
    GM_BISECT(low, r->n, i, compare(&r->v[i], &wanted) <= 0);
    if (low == 0 || r->v[low - 1].stream != wanted.stream || r->v[low - 1].to < address)
        return address;
    return r->v[low - 1].from;
}

uint64_t gm_page_size(const struct gm_pass *pass, size_t segment)
{
    return pass->snapshot->segments.type[segment] == GM_SEGMENT_SMALL ? GM_SMALL_SEGMENT
                                                                      : pass->conf.rules.large_segment;
}
