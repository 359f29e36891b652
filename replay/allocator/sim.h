/* SPDX-License-Identifier: Apache-2.0
 *
 * A simulated GPU: bounded memory, addresses, nothing else. New segments are placed at the lowest address that is free
 * and aligned to 2 MiB, so placement is stable and a smaller run is a prefix of a larger one; reservations lie far
 * above, a gap apart, so that neighbours are never taken for one.
 */
#ifndef GM_REPLAY_SIM_H
#define GM_REPLAY_SIM_H

#include "analyze/base/vec.h"
#include "replay/allocator/device.h"

struct gm_sim_hole {
    uint64_t address, size;
};
struct gm_sim {        /* zero-initialise but for capacity */
    uint64_t capacity; /* bytes; UINT64_MAX: unlimited */
    uint64_t used;
    uint64_t next; /* above everything that was ever allocated */
    uint64_t next_reserve;
    struct GM_VEC(struct gm_sim_hole) holes; /* freed addresses below `next`, ascending, merged */
};

/* A device on *sim, which must outlive it. */
struct gm_device gm_sim_device(struct gm_sim *sim);
void gm_sim_free(struct gm_sim *sim);

#endif
