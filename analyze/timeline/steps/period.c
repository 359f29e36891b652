/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/timeline/steps/step_work.h"

#include "analyze/base/order.h"

#include <stdlib.h>

enum {
    SAMPLES = 16384, /* places at which a candidate is tried */
    SHORTLIST = 192, /* distances that are tried */
    AGAINST = 3      /* what a place that does not repeat counts against those that do */
};

/* How often each distance lies between a symbol and its next occurrence. */
static void count_distances(const uint32_t *symbols, size_t n, uint32_t *last, uint32_t *counts)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t before = last[symbols[i]];
        if (before != 0 && i + 1 - before <= n / 2)
            counts[i + 1 - before]++;
        last[symbols[i]] = (uint32_t)i + 1;
    }
}

struct distance {
    size_t length;
    uint32_t count; /* or hits among the samples */
};

GM_ORDERING(by_count, struct distance, GM_DOWN(count) || GM_UP(length));

GM_ORDERING(by_length, size_t, GM_BY(GM_ORDER(*a, *b)));

/* The commonest distances. Kept sorted by inserting: most counts fall below the least of them at once. */
static size_t shortlist(const uint32_t *counts, size_t n, struct distance *list)
{
    size_t kept = 0;
    for (size_t d = GM_PERIOD_SHORTEST; d <= n / 2; d++) {
        if (counts[d] == 0 || (kept == SHORTLIST && counts[d] <= list[kept - 1].count))
            continue;
        size_t at = kept < SHORTLIST ? kept++ : kept - 1;
        for (; at > 0 && list[at - 1].count < counts[d]; at--)
            list[at] = list[at - 1];
        list[at] = (struct distance){d, counts[d]};
    }
    return kept;
}

/* Hits of symbols[i] == symbols[i + d] out of SAMPLES, at places spread over the sequence. They are spread unevenly: an
 * even stride could fall in with the period. */
static uint32_t try_distance(const uint32_t *symbols, size_t n, size_t d)
{
    uint64_t hits = 0, tried = 0, places = n - d, stride = places <= SAMPLES ? 1 : places / SAMPLES, random = 1, i = 0;
    do { /* there is a first place: d is at most n / 2 */
        hits += symbols[i] == symbols[i + d];
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        i += 1 + (random >> 33) % (2 * stride - 1);
        tried++;
    } while (i < places);
    return (uint32_t)(hits * SAMPLES / tried);
}

bool gm_period_candidates(const uint32_t *symbols, size_t n, uint32_t symbol_count, size_t *lengths, size_t most,
                          size_t *count)
{
    *count = 0;
    if (n < 2 * GM_PERIOD_SHORTEST || n >= UINT32_MAX)
        return true;
    GM_FREED uint32_t *last = calloc((size_t)symbol_count + 1, sizeof *last);
    GM_FREED uint32_t *counts = calloc(n / 2 + 1, sizeof *counts);
    struct distance list[SHORTLIST];
    if (last == NULL || counts == NULL)
        return false;
    count_distances(symbols, n, last, counts);
    size_t kept = shortlist(counts, n, list);
    for (size_t i = 0; i < kept; i++)
        list[i].count = try_distance(symbols, n, list[i].length);
    GM_SORT(list, kept, by_count);
    for (size_t i = 0; i < kept && *count < most && list[i].count >= SAMPLES / 3; i++)
        lengths[(*count)++] = list[i].length;
    GM_SORT(lengths, *count, by_length);
    return true;
}

struct gm_period gm_period_measure(const uint32_t *symbols, size_t n, size_t length)
{
    struct gm_period best = {.length = length};
    size_t first = 0;
    int64_t sum = 0, best_sum = 0;
    for (size_t i = 0; i + length < n; i++) {
        if (sum <= 0) {
            sum = 0;
            first = i;
        }
        sum += symbols[i] == symbols[i + length] ? 1 : -AGAINST;
        if (sum > best_sum) {
            best_sum = sum;
            best.first = first;
            best.last = i + 1;
        }
    }
    if (best.last - best.first < length)
        return (struct gm_period){.length = length};
    /* sum = matches - AGAINST * (places - matches) */
    best.matches = (size_t)((best_sum + (int64_t)(AGAINST * (best.last - best.first))) / (AGAINST + 1));
    return best;
}
