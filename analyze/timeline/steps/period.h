/* SPDX-License-Identifier: Apache-2.0
 *
 * The period of a sequence of symbols. Candidates are the commonest distances between equal symbols; whether one is
 * right is counted over the whole sequence.
 */
#ifndef GM_TIMELINE_PERIOD_H
#define GM_TIMELINE_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GM_PERIOD_SHORTEST = 8 };

/* The part of a sequence that repeats: symbols[i] == symbols[i + length] for `matches` of the i in [first, last). */
struct gm_period {
    size_t length;
    size_t first, last;
    size_t matches;
};

/* Candidate lengths, ascending; at most `most`. Symbols are below `symbol_count`. *count is 0 if nothing repeats.
 * false: no memory. */
bool gm_period_candidates(const uint32_t *symbols, size_t n, uint32_t symbol_count, size_t *lengths, size_t most,
                          size_t *count);
/* The longest dense part of the sequence that repeats after `length` (matches count 1, others against it); matches 0 if
 * it is shorter than `length`, that is, if it has not two whole periods. */
struct gm_period gm_period_measure(const uint32_t *symbols, size_t n, size_t length);

/* Percent of matches, rounded down. */
static inline int gm_period_certainty(const struct gm_period *p)
{
    return p->last <= p->first ? 0 : (int)(100 * p->matches / (p->last - p->first));
}

#endif
