/* SPDX-License-Identifier: Apache-2.0
 *
 * The blocks that are live at one moment of a trace, by address. Private to analyze/timeline.
 */
#ifndef GM_TIMELINE_LIVE_H
#define GM_TIMELINE_LIVE_H

#include "analyze/model/snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_live_block {
    uint64_t address;
    uint64_t requested;
    struct gm_stack_id stack;
    uint32_t is_used; /* of the slot */
};

/* An open-addressing table with linear probing. Zero-initialise. Thousands of blocks are live where millions come and
 * go, so it stays in the cache whatever the length of the trace. */
struct gm_live {
    struct gm_live_block *slots;
    size_t mask, count; /* mask + 1 slots, a power of two */
};

/* Puts a block in; *before is what was at its address, with is_used == 0 if nothing was. false: no memory. */
bool gm_live_put(struct gm_live *live, const struct gm_live_block *block, struct gm_live_block *before);
/* Takes the block at `address` out; false if there is none. */
bool gm_live_take(struct gm_live *live, uint64_t address, struct gm_live_block *block);
bool gm_live_has(const struct gm_live *live, uint64_t address);
void gm_live_free(struct gm_live *live);

#endif
