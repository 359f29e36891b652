/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs among the largest blocks and among pins: equal ones one after the other are one entry for a reader.
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
    bool has_other_roles;  /* likewise */
};

/* The rows from `first` on, up to `end`, that have one size, category, site, device and stream; only the first row if
 * there are fewer than three. */
struct gm_block_run gm_block_run(const struct gm_report *report, size_t first, size_t end);

enum { GM_BLOCK_KIND = 64 };

/* The category of the first block of a run; "No stack: Parameter" where there is no stack and the role of all is known.
 * Returns `out`, or what lives as long as the report. */
const char *gm_block_kind(char out[GM_BLOCK_KIND], const struct gm_block_row *block, const struct gm_block_run *run);

struct gm_pin_run {
    size_t count;    /* rows, at least 1 */
    uint64_t pinned; /* by all of them, saturated */
};

/* The pins from `first` on that are in one segment or page range and have one size, share, category and site. */
struct gm_pin_run gm_pin_run(const struct gm_fragmentation *fragmentation, size_t first);

#endif
