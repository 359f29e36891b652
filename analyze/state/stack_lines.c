/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/state/stack_lines.h"

#include "analyze/base/address_map.h"
#include "analyze/base/freed.h"

#include <stdlib.h>

uint32_t *gm_stack_lines(const struct gm_snapshot *snapshot, const bool *is_line)
{
    const struct gm_stacks *stacks = &snapshot->stacks;
    const struct gm_hash_key key = gm_hash_key();
    GM_FREED_BY(gm_map_free) struct gm_address_map known = {.slots = NULL};
    uint32_t *lines = malloc(((size_t)stacks->count + 1) * sizeof *lines);
    bool ok = lines != NULL, has_lines = false;
    for (uint32_t i = 0; ok && i <= stacks->count; i++) {
        uint64_t hash = key.k0;
        bool is_one = false;
        lines[i] = i;
        if (i <= GM_STACK_EMPTY || i == stacks->count)
            continue;
        for (uint64_t f = stacks->start[i]; f < stacks->start[i + 1]; f++)
            if (is_line[stacks->frame_ids[f].v]) {
                hash = gm_hash_fold(hash ^ stacks->frame_ids[f].v, key.k1 | 1);
                is_one = true;
            }
        lines[i] = is_one ? gm_map_number(&known, hash, i) : GM_STACK_EMPTY;
        ok = lines[i] != GM_MAP_NONE;
        has_lines |= is_one;
    }
    for (uint32_t i = 0; ok && !has_lines && i < stacks->count; i++)
        lines[i] = i;
    if (ok)
        return lines;
    free(lines);
    return NULL;
}
