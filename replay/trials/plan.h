/* SPDX-License-Identifier: Apache-2.0
 *
 * Offsets for blocks whose lifetimes are known: see bound.h for what it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_plan_block {
    uint32_t born, freed; /* moments: live from born to before freed */
    uint64_t size;        /* more than 0, at most 2^60 */
    uint64_t offset;      /* filled */
};

enum gm_planned { GM_PLANNED, GM_PLAN_TOO_MUCH, GM_PLAN_NO_MEMORY };

/* Fills offsets and the height of the plan: the end of the highest block. The blocks' order is changed: by birth.
 * GM_PLAN_TOO_MUCH: it would take more than *steps looks at pairs of blocks that live at the same time. *steps is then
 * 0, else less what it took. */
enum gm_planned gm_plan(struct gm_plan_block *blocks, size_t count, uint64_t *steps, uint64_t *height);
/* The same in count * log(count): by birth, each block into the smallest gap that is free then. The sizes' sum is at
 * most 2^62. */
enum gm_planned gm_plan_quick(struct gm_plan_block *blocks, size_t count, uint64_t *height);

/* Peak of the sum of sizes. The blocks' order is changed: by birth. false: no memory. */
bool gm_plan_peak(struct gm_plan_block *blocks, size_t count, uint64_t *peak);
