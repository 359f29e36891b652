/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefix codes; see huffman.h. Lengths by the usual tree over sorted counts; codes that come out too long are cut to
 * the limit, and the room they then lack is taken from the rarest symbols that have some to spare.
 */
#include "render/huffman.h"

#include <stdlib.h>

struct leaf {
    uint32_t count;
    uint16_t symbol;
};

static int by_count(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    return x->symbol < y->symbol ? -1 : 1;
}

/* Depths of the n >= 2 leaves (sorted by count, rarest first) in a Huffman tree. */
static void tree_depths(unsigned *depths, const struct leaf *leaves, size_t n)
{
    uint64_t weight[2 * GM_HUFFMAN_MOST];
    uint16_t parent[2 * GM_HUFFMAN_MOST];
    unsigned depth[2 * GM_HUFFMAN_MOST];
    for (size_t i = 0; i < n; i++)
        weight[i] = leaves[i].count;
    /* Leaves and inner nodes are two queues, each in ascending order: the two lightest are always at their fronts. */
    size_t leaf = 0, inner = n, end = n;
    for (; end < 2 * n - 1; end++) {
        weight[end] = 0;
        for (int k = 0; k < 2; k++) {
            size_t least = leaf < n && (inner == end || weight[leaf] <= weight[inner]) ? leaf++ : inner++;
            weight[end] += weight[least];
            parent[least] = (uint16_t)end;
        }
    }
    depth[end - 1] = 0;
    for (size_t i = end - 1; i-- > 0;)
        depth[i] = depth[parent[i]] + 1;
    for (size_t i = 0; i < n; i++)
        depths[i] = depth[i];
}

/* Makes the code fit: the sum of 2^-length must not exceed 1. */
static void limit(unsigned *depths, size_t n, unsigned longest)
{
    const uint64_t all = UINT64_C(1) << longest;
    uint64_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (depths[i] > longest)
            depths[i] = longest;
        used += all >> depths[i];
    }
    while (used > all) /* the rarest symbol that can be longer: it is the cheapest */
        for (size_t i = 0; i < n && used > all; i++)
            if (depths[i] < longest) {
                used -= all >> (depths[i] + 1);
                depths[i]++;
                break;
            }
    for (size_t i = n; i-- > 0;) /* and what is now left over goes to the most frequent */
        while (depths[i] > 1 && used + (all >> depths[i]) <= all) {
            used += all >> depths[i];
            depths[i]--;
        }
}

void gm_huffman_lengths(uint8_t *lengths, const uint32_t *counts, size_t n, unsigned longest)
{
    struct leaf leaves[GM_HUFFMAN_MOST];
    unsigned depths[GM_HUFFMAN_MOST];
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        lengths[i] = 0;
        if (counts[i] > 0)
            leaves[used++] = (struct leaf){counts[i], (uint16_t)i};
    }
    if (used == 1)
        lengths[leaves[0].symbol] = 1;
    if (used < 2)
        return;
    qsort(leaves, used, sizeof *leaves, by_count);
    tree_depths(depths, leaves, used);
    limit(depths, used, longest);
    for (size_t i = 0; i < used; i++)
        lengths[leaves[i].symbol] = (uint8_t)depths[i];
}

void gm_huffman_codes(uint16_t *codes, const uint8_t *lengths, size_t n)
{
    unsigned of_length[16] = {0}, next[16] = {0};
    for (size_t i = 0; i < n; i++)
        of_length[lengths[i]]++;
    of_length[0] = 0;
    for (unsigned length = 1, code = 0; length < 16; length++) {
        code = (code + of_length[length - 1]) << 1;
        next[length] = code;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned code = lengths[i] > 0 ? next[lengths[i]]++ : 0, reversed = 0;
        for (unsigned bit = 0; bit < lengths[i]; bit++)
            reversed |= (code >> bit & 1) << (lengths[i] - 1 - bit);
        codes[i] = (uint16_t)reversed;
    }
}
