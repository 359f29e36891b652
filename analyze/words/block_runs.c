/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/words/block_runs.h"

#include "analyze/base/arithmetic.h"
#include "analyze/words/frames.h"

#include <stdio.h>
#include <string.h>

enum { FEWEST = 3 };

static bool are_equal(const struct gm_block_row *a, const struct gm_block_row *b)
{
    return a->bytes == b->bytes && a->device == b->device && a->stream == b->stream &&
           (a->frame_count == 0) == (b->frame_count == 0) && strcmp(a->category, b->category) == 0 &&
           strcmp(a->site, b->site) == 0;
}

static bool are_of_one_role(const struct gm_block_row *a, const struct gm_block_row *b)
{
    return a->role == NULL || b->role == NULL ? a->role == b->role : strcmp(a->role, b->role) == 0;
}

struct gm_block_run gm_block_run(const struct gm_report *report, size_t first, size_t end)
{
    const struct gm_block_row *blocks = report->top_blocks;
    struct gm_block_run run = {1, blocks[first].bytes, false, false};
    while (first + run.count < end && are_equal(&blocks[first], &blocks[first + run.count])) {
        const struct gm_block_row *next = &blocks[first + run.count++];
        run.bytes = gm_sat_add(run.bytes, next->bytes);
        run.has_other_stacks = run.has_other_stacks || !gm_frames_equal(&blocks[first], next);
        run.has_other_roles = run.has_other_roles || !are_of_one_role(&blocks[first], next);
    }
    return run.count >= FEWEST ? run : (struct gm_block_run){1, blocks[first].bytes, false, false};
}

const char *gm_block_kind(char out[GM_BLOCK_KIND], const struct gm_block_row *block, const struct gm_block_run *run)
{
    if (run->has_other_roles || !gm_block_has_role_only(block))
        return block->category;
    snprintf(out, GM_BLOCK_KIND, "No stack: %s", block->role);
    return out;
}

static bool are_equal_pins(const struct gm_pin_row *a, const struct gm_pin_row *b)
{
    return a->segment_address == b->segment_address && a->segment_bytes == b->segment_bytes &&
           a->pinned_bytes == b->pinned_bytes && a->sharers == b->sharers && a->block.bytes == b->block.bytes &&
           a->block.device == b->block.device && strcmp(a->block.category, b->block.category) == 0 &&
           strcmp(a->block.site, b->block.site) == 0;
}

struct gm_pin_run gm_pin_run(const struct gm_fragmentation *fragmentation, size_t first)
{
    const struct gm_pin_row *pins = fragmentation->pins;
    struct gm_pin_run run = {1, pins[first].pinned_bytes};
    for (; first + run.count < fragmentation->pin_count && are_equal_pins(&pins[first], &pins[first + run.count]);
         run.count++) {
        uint64_t more = pins[first + run.count].pinned_bytes;
        run.pinned = gm_sat_add(run.pinned, more);
    }
    return run;
}
