/* SPDX-License-Identifier: Apache-2.0
 *
 * Of a plan for a card: activations that lie idle between the forward pass and their use in the backward pass, kept on
 * the host meanwhile. By residency: those with the most bytes times seconds first, until the bus has no time left.
 */
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "replay/trials/card_plan.h"

#include <stdlib.h>

enum {
    BYTES_A_US = 20000, /* of PCIe 4.0 with 16 lanes: 31.5 GB/s at most, so much is measured with pinned memory */
    IDLE = 4,           /* times the time that one copy takes, at least */
    LEAST = 1 << 20     /* bytes: below, a copy costs more than its bytes */
};

struct idle {
    uint32_t allocation, gone, again;
    uint64_t copy_us;
    double residency; /* bytes times microseconds */
};

GM_ORDERING(by_residency, struct idle, GM_DOWN(residency) || GM_UP(allocation));

/* The first event from `from` on that is not before that time. */
static uint32_t event_at(const struct gm_history *h, uint32_t from, uint32_t to, uint64_t time)
{
    size_t low = from;
    GM_BISECT(low, to, i, gm_history_time(h, (uint32_t)i) != GM_REPORT_NONE && gm_history_time(h, (uint32_t)i) < time);
    return (uint32_t)low;
}

/* false: there is no time to bring it away and back. */
static bool is_idle(struct idle *idle, const struct gm_history *h, uint32_t a)
{
    const uint32_t born = h->born[a], freed = h->freed[a];
    if (born == 0 || freed == GM_NEVER || freed <= born || gm_requested(h, a) < LEAST)
        return false;
    const uint64_t from = gm_history_time(h, born - 1), to = gm_history_time(h, freed - 1);
    const uint64_t copy = gm_requested(h, a) / BYTES_A_US + 1;
    if (from == GM_REPORT_NONE || to == GM_REPORT_NONE || to < from || to - from < IDLE * copy)
        return false;
    *idle = (struct idle){.allocation = a,
                          .gone = event_at(h, born, freed, from + copy) + 1,
                          .again = event_at(h, born, freed, to - copy),
                          .copy_us = copy,
                          .residency = (double)gm_requested(h, a) * (double)(to - from)};
    return idle->gone < idle->again;
}

bool gm_plan_offload(struct gm_remedy_change *changes, size_t *count, const struct gm_history *h, const uint8_t *role)
{
    const uint64_t first = gm_history_time(h, 0), last = h->count == 0 ? first : gm_history_time(h, h->count - 1);
    GM_FREED struct idle *all = malloc((h->allocation_count + 1) * sizeof *all);
    size_t n = 0;
    *count = 0;
    for (uint32_t a = 0; all != NULL && a < h->allocation_count; a++)
        n += role[a] == GM_ROLE_ACTIVATION && is_idle(&all[n], h, a);
    GM_SORT(all, n, by_residency);
    uint64_t left = first == GM_REPORT_NONE || last == GM_REPORT_NONE || last < first ? 0 : last - first;
    for (size_t i = 0; i < n; i++) {
        if (2 * all[i].copy_us > left)
            continue;
        left -= 2 * all[i].copy_us;
        changes[(*count)++] =
            (struct gm_remedy_change){all[i].allocation, all[i].gone, all[i].again, GM_REMEDY_AS_RECORDED};
    }
    return all != NULL;
}
