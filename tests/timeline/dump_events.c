/* SPDX-License-Identifier: Apache-2.0
 *
 * dump_events FILE: the reconstructed books after every event of every device: "device requested allocated active
 * reserved" a line, before them the state before event 0. For check_random.py.
 */
#include "tests/timeline/each_history.h"

#include <inttypes.h>

static void line(const struct gm_history *h, const int64_t sums[4])
{
    printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", h->device, sums[0], sums[1], sums[2],
           sums[3]);
}

static void dump(const struct gm_history *h)
{
    const struct gm_levels *start = &h->reconciliation.at_start;
    int64_t sums[4] = {(int64_t)start->requested, (int64_t)start->allocated, (int64_t)start->active,
                       (int64_t)start->reserved};
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change c;
    line(h, sums);
    while (gm_walk_next(&walk, &c)) {
        int64_t requested = c.allocation == GM_NEVER ? 0 : (int64_t)gm_requested(h, c.allocation);
        int64_t block = c.allocation == GM_NEVER ? 0 : (int64_t)gm_block_bytes(h, c.allocation);
        if (c.kind == GM_CHANGE_ALLOC) {
            sums[0] += requested;
            sums[1] += block;
            sums[2] += block;
        } else if (c.kind == GM_CHANGE_LET_GO) {
            sums[1] -= block;
        } else if (c.kind == GM_CHANGE_FREE) {
            sums[0] -= requested;
            sums[1] -= h->let_go[c.allocation] == c.event + 1 ? block : 0;
            sums[2] -= block;
        } else if (c.kind == GM_CHANGE_SEGMENT) {
            sums[3] += c.reserved;
        }
        if (walk.event > c.event)
            line(h, sums);
    }
}

int main(int argc, char **argv)
{
    return gm_each_history(argc, argv, dump);
}
