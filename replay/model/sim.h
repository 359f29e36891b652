/* SPDX-License-Identifier: Apache-2.0
 *
 * A simulated GPU: bounded memory, addresses, nothing else.
 *
 * Nobody can know where a driver will put a new segment; so there are several placements, all aligned to 2 MiB, and in
 * each of them addresses that were given back are used again, joined with free neighbours:
 *   GM_PLACE_LOW   the lowest address that is free, at or above the first one;
 *   GM_PLACE_HIGH  the highest one;
 *   from GM_PLACE_RANDOM on  any, drawn from a generator with that seed.
 * A reservation for an expandable segment has 9/8 of the device's memory, as in PyTorch, lies above all segments, a gap
 * of 2 MiB from the others, above, below or either way, and its addresses are not used again. So a placement hangs on
 * nothing but the order of the requests, and ties between equal blocks are decided alike in every run.
 */
#pragma once

#include "analyze/base/vec.h"
#include "replay/model/device.h"

struct gm_sim_hole {
    uint64_t address, size;
};
enum { GM_PLACE_LOW, GM_PLACE_HIGH, GM_PLACE_RANDOM };
struct gm_sim {        /* gm_sim_init */
    uint64_t capacity; /* bytes; UINT64_MAX: unlimited */
    uint64_t taken;    /* bytes that the device has beyond `capacity`, and others have: a CUDA context */
    uint64_t used;
    uint32_t placement;
    uint64_t random;               /* the generator's state */
    uint64_t others, others_end;   /* addresses that are not the sim's to give out */
    uint64_t reserve, reserve_end; /* what is left of the addresses for reservations */
    uint64_t given;                /* segments and reservations so far */
    bool has_begun;
    struct GM_VEC(struct gm_sim_hole) holes; /* from then on: free addresses for segments, ascending, merged */
    uint64_t work;                           /* steps spent on searching and moving holes */
};

struct gm_sim gm_sim_init(uint64_t capacity, uint32_t placement);
/* Others have `used` bytes, and the addresses from `from` to `to` (less than 2^61): a low placement goes on above them,
 * a high one below (if there is room), others on both sides. Before anything is asked for. */
void gm_sim_begin_around(struct gm_sim *sim, uint64_t from, uint64_t to, uint64_t used);
/* A device on *sim, which must outlive it. */
struct gm_device gm_sim_device(struct gm_sim *sim);
void gm_sim_free(struct gm_sim *sim);
