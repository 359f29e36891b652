/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs among the largest blocks: equal blocks one after the other are one entry for a reader.
 */
#ifndef GM_WORDS_BLOCK_RUNS_H
#define GM_WORDS_BLOCK_RUNS_H

#include "analyze/report/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_block_run {
    size_t count;          /* rows, at least 1 */
    uint64_t bytes;        /* of all of them, saturated */
    bool has_other_stacks; /* one of them was made by another stack than the first */
};

/* The rows from `first` on, up to `end`, that have one size, category, site, device and stream; only the first row if
 * there are fewer than three. */
struct gm_block_run gm_block_run(const struct gm_report *report, size_t first, size_t end);

#endif
