/* SPDX-License-Identifier: Apache-2.0
 *
 * A simulated GPU: bounded memory, addresses, nothing else.
 *
 * The placement rule: a new segment lies at the lowest address that is free and aligned to 2 MiB, at or above the
 * first; addresses that were given back are used again, joined with free neighbours. A reservation for an expandable
 * segment has 9/8 of the device's memory, as in PyTorch, lies above all segments, a gap of 2 MiB after the one before,
 * and its addresses are not used again. So placement hangs on nothing but the order of the requests, and ties between
 * equal blocks are decided alike in every run.
 */
#ifndef GM_REPLAY_SIM_H
#define GM_REPLAY_SIM_H

#include "analyze/base/vec.h"
#include "replay/allocator/device.h"

struct gm_sim_hole {
    uint64_t address, size;
};
struct gm_sim {        /* gm_sim_init */
    uint64_t capacity; /* bytes; UINT64_MAX: unlimited */
    uint64_t taken;    /* bytes that the device has beyond `capacity`, and others have: a CUDA context */
    uint64_t used;
    uint64_t first;         /* of the addresses for segments; lower ones are not the sim's to give out */
    uint64_t next;          /* above everything that is allocated */
    uint64_t first_reserve; /* of those for reservations */
    uint64_t next_reserve;
    struct GM_VEC(struct gm_sim_hole) holes; /* freed addresses below `next`, ascending, merged */
    uint64_t work;                           /* steps spent on searching and moving holes */
};

struct gm_sim gm_sim_init(uint64_t capacity);
/* All that it gives out from now on lies above `address` (less than 2^61), where others have `used` bytes. */
void gm_sim_begin_above(struct gm_sim *sim, uint64_t address, uint64_t used);
/* A device on *sim, which must outlive it. */
struct gm_device gm_sim_device(struct gm_sim *sim);
void gm_sim_free(struct gm_sim *sim);

#endif
