/* SPDX-License-Identifier: Apache-2.0
 *
 * The compressor against zlib's inflate: whatever goes in must come out; and its prefix codes must be complete.
 */
#include "render/deflate.h"
#include "render/huffman.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

/* Compresses, inflates, compares; returns the compressed length. */
static size_t round_trip(struct gm_deflate *d, const uint8_t *in, size_t n, size_t row)
{
    uint8_t *packed = malloc(gm_deflate_bound(n)), *back = malloc(n + 1);
    assert_true(packed != NULL && back != NULL);
    size_t length = gm_deflate(d, packed, in, n, row);
    assert_true(length <= gm_deflate_bound(n));
    z_stream z = {0};
    assert_int_equal(inflateInit2(&z, -15), Z_OK);
    z.next_in = packed;
    z.avail_in = (uInt)length;
    z.next_out = back;
    z.avail_out = (uInt)(n + 1);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.total_out, n);
    assert_int_equal(z.avail_in, 0);
    assert_memory_equal(back, in, n);
    inflateEnd(&z);
    free(packed);
    free(back);
    return length;
}

static void test_small(void **state)
{
    (void)state;
    struct gm_deflate *d = gm_deflate_new();
    assert_non_null(d);
    uint8_t bytes[600];
    for (size_t n = 0; n < sizeof bytes; n++) {
        memset(bytes, 7, sizeof bytes);
        round_trip(d, bytes, n, 0); /* one run of every length: all length codes */
        round_trip(d, bytes, n, 3);
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)i;
        round_trip(d, bytes, n, 100);
    }
    gm_deflate_free(d);
}

static void test_large(void **state)
{
    (void)state;
    enum { N = 700000 };
    struct gm_deflate *d = gm_deflate_new();
    uint8_t *in = malloc(N);
    assert_true(d != NULL && in != NULL);
    uint32_t seed = 1;
    for (size_t i = 0; i < N; i++) /* noise: nothing to find, several blocks of literals only */
        in[i] = (uint8_t)next_random(&seed);
    assert_true(round_trip(d, in, N, 1801) < N + N / 50);
    for (unsigned alphabet = 1; alphabet <= 64; alphabet *= 4) {
        for (size_t i = 0; i < N;) { /* runs, copies from any distance, single bytes */
            uint32_t kind = next_random(&seed) % 4, length = next_random(&seed) % 700 + 1;
            uint8_t byte = (uint8_t)(next_random(&seed) % alphabet);
            size_t back = next_random(&seed) % 40000 + 1;
            for (; length > 0 && i < N; length--, i++) {
                in[i] = kind == 0 || back > i ? byte
                        : kind == 1           ? (uint8_t)(next_random(&seed) % alphabet)
                                              : in[i - back];
                if (kind == 1 && length > 20)
                    length = 20;
            }
        }
        round_trip(d, in, N, 1801);
        round_trip(d, in, N - 1, 0);
        round_trip(d, in, N, 32768);
        round_trip(d, in, N, 32769); /* farther than deflate can reach */
    }
    memset(in, 0, N);
    assert_true(round_trip(d, in, N, 1801) < 1000);
    gm_deflate_free(d);
    free(in);
}

static void check_complete(const uint32_t *counts, size_t n, unsigned longest)
{
    uint8_t lengths[GM_HUFFMAN_MOST];
    gm_huffman_lengths(lengths, counts, n, longest);
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(lengths[i] > 0, counts[i] > 0);
        assert_true(lengths[i] <= longest);
        if (lengths[i] > 0)
            sum += UINT64_C(1) << (longest - lengths[i]);
    }
    assert_true(sum == UINT64_C(1) << longest);
}

static void test_huffman(void **state)
{
    (void)state;
    uint32_t counts[GM_HUFFMAN_MOST];
    uint32_t a = 1, b = 1;
    for (size_t i = 0; i < 40; i++) { /* Fibonacci numbers make the deepest tree there is */
        counts[i] = a;
        uint32_t c = a + b;
        a = b;
        b = c;
    }
    for (size_t n = 2; n <= 40; n++)
        check_complete(counts, n, 15);
    for (size_t n = 2; n <= 19; n++)
        check_complete(counts, n, 7);
    uint32_t seed = 5;
    for (int round = 0; round < 500; round++) {
        size_t n = next_random(&seed) % 285 + 2;
        for (size_t i = 0; i < n; i++)
            counts[i] = next_random(&seed) % 3 == 0 ? 0 : 1 + (next_random(&seed) >> (next_random(&seed) % 24));
        counts[0] = counts[n - 1] = 1;
        check_complete(counts, n, 15);
        check_complete(counts, n, 9);
    }
    const uint32_t known[] = {45, 13, 12, 16, 9, 5}; /* a textbook's: 1, 3, 3, 3, 4, 4 */
    uint8_t lengths[6];
    gm_huffman_lengths(lengths, known, 6, 15);
    const uint8_t want[] = {1, 3, 3, 3, 4, 4};
    assert_memory_equal(lengths, want, 6);
    const uint32_t one[] = {0, 9, 0};
    gm_huffman_lengths(lengths, one, 3, 15);
    assert_true(lengths[0] == 0 && lengths[1] == 1 && lengths[2] == 0);
    /* RFC 1951, 3.2.2: lengths 3 3 3 3 3 2 4 4 give 010 011 100 101 110 00 1110 1111; here with bits reversed */
    const uint8_t example[] = {3, 3, 3, 3, 3, 2, 4, 4};
    const uint16_t reversed[] = {2, 6, 1, 5, 3, 0, 7, 15};
    uint16_t codes[8];
    gm_huffman_codes(codes, example, 8);
    assert_memory_equal(codes, reversed, sizeof reversed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_huffman),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
