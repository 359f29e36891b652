/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/formats/kineto_ways.h"

#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { SIBLINGS_MOST = 32, BLOCK = 16 };

/* ---- sixteen bytes at once --------------------------------------------------------------------------------------- */

/* Bits: which of the bytes at p are `byte`; which are those at q. */
#ifdef __SSE2__
static unsigned blocks_equal(const unsigned char *p, const unsigned char *q)
{
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)p),
                                                      _mm_loadu_si128((const __m128i *)(const void *)q)));
}

static unsigned block_has(const unsigned char *p, char byte)
{
    return (unsigned)_mm_movemask_epi8(
        _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8(byte)));
}
#else
static unsigned blocks_equal(const unsigned char *p, const unsigned char *q)
{
    unsigned bits = 0;
    for (unsigned i = 0; i < BLOCK; i++)
        bits |= (unsigned)(p[i] == q[i]) << i;
    return bits;
}

static unsigned block_has(const unsigned char *p, char byte)
{
    unsigned bits = 0;
    for (unsigned i = 0; i < BLOCK; i++)
        bits |= (unsigned)(p[i] == (unsigned char)byte) << i;
    return bits;
}
#endif

/* Both can be read up to a multiple of BLOCK. */
static bool are_equal(const unsigned char *p, const unsigned char *q, size_t n)
{
    for (; n > BLOCK; n -= BLOCK, p += BLOCK, q += BLOCK)
        if (blocks_equal(p, q) != 0xffff)
            return false;
    return (~blocks_equal(p, q) & ((1u << n) - 1)) == 0;
}

/* ---- ways -------------------------------------------------------------------------------------------------------- */

struct gm_ways *gm_ways_new(void)
{
    struct gm_ways *ways = calloc(1, sizeof *ways);
    if (ways != NULL)
        ways->count = 1;
    return ways;
}

unsigned gm_ways_find(struct gm_ways *ways, unsigned from, const struct gm_source *source)
{
    struct gm_way *parent = &ways->ways[from];
    uint16_t *link = &parent->first;
    for (int k = 0; *link != 0 && k < SIBLINGS_MOST; k++) {
        const unsigned found = *link;
        struct gm_way *way = &ways->ways[found];
        if ((size_t)(source->end - source->p) >= (size_t)way->length + BLOCK &&
            are_equal(source->p, way->bytes, way->length)) {
            if (k > 0) { /* those met last are the first to be looked at */
                *link = way->next;
                way->next = parent->first;
                parent->first = (uint16_t)found;
            }
            return found;
        }
        link = &way->next;
    }
    return GM_WAY_NONE;
}

struct gm_way *gm_ways_add(struct gm_ways *ways, unsigned from, const unsigned char *bytes, size_t length)
{
    if (length == 0 || length > GM_WAY_LENGTH)
        return NULL;
    if (ways->count == GM_WAYS) {
        ways->count = 1;
        ways->ways[GM_WAY_ROOT].first = 0;
        return NULL;
    }
    struct gm_way *way = &ways->ways[ways->count];
    *way = (struct gm_way){.next = ways->ways[from].first, .length = (uint16_t)length};
    memcpy(way->bytes, bytes, length);
    ways->ways[from].first = (uint16_t)ways->count++;
    return way;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* Where the list at p ends if no bracket is in a string, or NULL if that is not near. */
static const unsigned char *list_end(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *const last = p + sizeof((struct gm_known_list *)NULL)->bytes - BLOCK;
    for (int depth = 0; p <= last && end - p >= BLOCK; p += BLOCK) {
        const unsigned closing = block_has(p, ']');
        for (unsigned bits = closing | block_has(p, '['); bits != 0; bits &= bits - 1) {
            depth += (closing & bits & (0u - bits)) != 0 ? -1 : 1;
            if (depth == 0)
                return p + __builtin_ctz(bits) + 1;
        }
    }
    return NULL;
}

static struct gm_known_list *list_place(struct gm_ways *ways, const unsigned char *p, size_t length)
{
    uint64_t mixed = length, word;
    for (size_t i = 0; i + 8 <= length; i += 8) {
        memcpy(&word, p + i, 8);
        mixed = (mixed ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        mixed ^= mixed >> 32;
    }
    return &ways->lists[mixed % (sizeof ways->lists / sizeof *ways->lists)];
}

const struct gm_known_list *gm_ways_list(struct gm_ways *ways, const unsigned char *p, const unsigned char *end,
                                         struct gm_known_list **place)
{
    const unsigned char *stop = list_end(p, end);
    *place = NULL;
    if (stop == NULL || end - stop < BLOCK)
        return NULL;
    const size_t length = (size_t)(stop - p);
    *place = list_place(ways, p, length);
    return (*place)->length == length && are_equal(p, (*place)->bytes, length) ? *place : NULL;
}
