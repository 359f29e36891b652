/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows as zlib streams: zlib reads them back, whatever they hold; what is alike costs next to nothing.
 */
#include "render/deflate.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

enum kind { NOISE, FEW_VALUES, RARER_AND_RARER, RUNS, ROWS_ALIKE, FLAT, KINDS };

static void fill(uint8_t *bytes, size_t length, size_t n, enum kind kind, uint32_t *seed)
{
    uint8_t value = 0;
    for (size_t i = 0, left = 0; i < n; i++) {
        const uint32_t random = next(seed);
        switch (kind) {
        case NOISE:
            bytes[i] = (uint8_t)random;
            break;
        case FEW_VALUES:
            bytes[i] = (uint8_t)(random % 3);
            break;
        case RARER_AND_RARER: /* each value half as often as the one before: the longest codes */
            bytes[i] = (uint8_t)__builtin_ctz(random | 1U << 23);
            break;
        case RUNS:
            if (left-- == 0) {
                left = random % 700;
                value = (uint8_t)(random >> 10);
            }
            bytes[i] = value;
            break;
        case ROWS_ALIKE:
            bytes[i] = i < length || random % 1000 == 0 ? (uint8_t)random : bytes[i - length];
            break;
        case FLAT:
        case KINDS:
            bytes[i] = 7;
            break;
        }
    }
}

static void is_read_back(struct gm_deflate *d, const uint8_t *bytes, size_t length, size_t height)
{
    uLongf n = (uLongf)(length * height);
    uint8_t *back = malloc(n);
    assert_non_null(back);
    assert_true(gm_deflate_rows(d, bytes, length, height));
    assert_int_equal(uncompress(back, &n, d->out, d->length), Z_OK);
    assert_int_equal(n, length * height);
    assert_memory_equal(back, bytes, n);
    free(back);
}

TEST(read_back)
{
    static const struct {
        size_t length, height;
    } sizes[] = {{1, 1},    {2, 1},     {1, 3000},  {7, 5},     {257, 3},
                 {259, 40}, {1801, 60}, {32768, 3}, {32769, 3}, {40000, 4}};
    struct gm_deflate *d = calloc(1, sizeof *d);
    uint8_t *bytes = malloc(200000);
    uint32_t seed = 19;
    assert_non_null(d);
    assert_non_null(bytes);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (enum kind kind = NOISE; kind < KINDS; kind++) {
            const size_t n = sizes[s].length * sizes[s].height;
            assert_true(n <= 200000);
            fill(bytes, sizes[s].length, n, kind, &seed);
            is_read_back(d, bytes, sizes[s].length, sizes[s].height);
            if (kind == FLAT)
                assert_true(d->length < 60 + n / 500);
            assert_true(d->length <= n + n / 16 + 400);
        }
    free(bytes);
    gm_deflate_free(d);
    free(d);
}
