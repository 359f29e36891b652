/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/words/block_runs.h"

#include "analyze/words/frames.h"

#include <string.h>

enum { FEWEST = 3 };

static bool are_equal(const struct gm_block_row *a, const struct gm_block_row *b)
{
    return a->bytes == b->bytes && a->device == b->device && a->stream == b->stream &&
           (a->frame_count == 0) == (b->frame_count == 0) && strcmp(a->category, b->category) == 0 &&
           strcmp(a->site, b->site) == 0;
}

struct gm_block_run gm_block_run(const struct gm_report *report, size_t first, size_t end)
{
    const struct gm_block_row *blocks = report->top_blocks;
    struct gm_block_run run = {1, blocks[first].bytes, false};
    while (first + run.count < end && are_equal(&blocks[first], &blocks[first + run.count])) {
        const struct gm_block_row *next = &blocks[first + run.count++];
        run.bytes = run.bytes > UINT64_MAX - next->bytes ? UINT64_MAX : run.bytes + next->bytes;
        run.has_other_stacks = run.has_other_stacks || !gm_frames_equal(&blocks[first], next);
    }
    return run.count >= FEWEST ? run : (struct gm_block_run){1, blocks[first].bytes, false};
}
