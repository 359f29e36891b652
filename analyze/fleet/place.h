/* SPDX-License-Identifier: Apache-2.0
 *
 * Rank and iteration of a snapshot, from its path.
 */
#pragma once

#include "analyze/base/error.h"

#include <stdint.h>

struct gm_place_found {
    int64_t rank, iteration; /* -1: not found */
};

/* From words in the last four parts of the path (docs/fleet.md): the number of "rank" and that of "iteration", "iter"
 * or "step" that stand nearest to its end. */
struct gm_place_found gm_place_detect(const char *path);

/* Whether a --pattern can be used: it has {rank} or {iteration}, each once at most, and no other braces. */
enum gm_status gm_place_check_pattern(const char *pattern, struct gm_error *err);
/* By such a pattern, matched against the end of the path: '*' is any text and '?' any character within a part. Without
 * a match nothing is found. */
struct gm_place_found gm_place_match(const char *pattern, const char *path);
