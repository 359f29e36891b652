/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices that have segments and no events: nothing can be replayed there, and what they have reserved stays so.
 */
#include "analyze/base/order.h"
#include "replay/cli/gmreplay.h"

#include <stdlib.h>

static bool has_events(const struct gm_snapshot *s, int64_t device)
{
    return device >= 0 && (uint64_t)device < s->trace_count && s->traces[device].count > 0;
}

GM_ORDERING(by_device, struct gm_untraced_device, GM_UP(device));

bool gm_replay_find_untraced(struct gm_replay_run *run)
{
    const struct gm_snapshot *s = &run->snapshot;
    struct gm_untraced_device *list = gm_arena_calloc(&run->arena, s->segments.count, sizeof *list);
    size_t n = 0, kept = 0;
    if (list == NULL)
        return false;
    for (size_t i = 0; i < s->segments.count; i++)
        if (!has_events(s, s->segments.device[i]))
            list[n++] = (struct gm_untraced_device){s->segments.device[i], s->segments.total_size[i]};
    GM_SORT(list, n, by_device);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && list[kept - 1].device == list[i].device)
            list[kept - 1].reserved = gm_plus(list[kept - 1].reserved, list[i].reserved);
        else
            list[kept++] = list[i];
    }
    run->untraced = list;
    run->untraced_count = kept;
    return true;
}

uint64_t gm_replay_most_untraced(const struct gm_replay_run *run)
{
    uint64_t most = 0;
    for (size_t i = 0; i < run->untraced_count; i++)
        most = run->untraced[i].reserved > most ? run->untraced[i].reserved : most;
    return most;
}

int64_t gm_replay_fullest_untraced(const struct gm_replay_run *run)
{
    size_t best = 0;
    for (size_t i = 1; i < run->untraced_count; i++)
        best = run->untraced[i].reserved > run->untraced[best].reserved ? i : best;
    return run->untraced[best].device;
}
