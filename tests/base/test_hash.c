/* SPDX-License-Identifier: Apache-2.0
 *
 * SipHash against published values, and tables against keys that were chosen to collide in them. What counts is the
 * longest run of used slots: whoever looks for a key walks along one.
 */
#include "analyze/base/address_map.h"
#include "analyze/base/freed.h"
#include "analyze/base/hash.h"
#include "analyze/base/intern.h"
#include "tests/unit.h"

/* SipHash-2-4 of 00 01 02 ..., n bytes, with the key 00 ... 0f: the vectors of its authors. */
static const uint64_t vectors_2_4[64] = {
    UINT64_C(0x726fdb47dd0e0e31), UINT64_C(0x74f839c593dc67fd), UINT64_C(0x0d6c8009d9a94f5a),
    UINT64_C(0x85676696d7fb7e2d), UINT64_C(0xcf2794e0277187b7), UINT64_C(0x18765564cd99a68d),
    UINT64_C(0xcbc9466e58fee3ce), UINT64_C(0xab0200f58b01d137), UINT64_C(0x93f5f5799a932462),
    UINT64_C(0x9e0082df0ba9e4b0), UINT64_C(0x7a5dbbc594ddb9f3), UINT64_C(0xf4b32f46226bada7),
    UINT64_C(0x751e8fbc860ee5fb), UINT64_C(0x14ea5627c0843d90), UINT64_C(0xf723ca908e7af2ee),
    UINT64_C(0xa129ca6149be45e5), UINT64_C(0x3f2acc7f57c29bdb), UINT64_C(0x699ae9f52cbe4794),
    UINT64_C(0x4bc1b3f0968dd39c), UINT64_C(0xbb6dc91da77961bd), UINT64_C(0xbed65cf21aa2ee98),
    UINT64_C(0xd0f2cbb02e3b67c7), UINT64_C(0x93536795e3a33e88), UINT64_C(0xa80c038ccd5ccec8),
    UINT64_C(0xb8ad50c6f649af94), UINT64_C(0xbce192de8a85b8ea), UINT64_C(0x17d835b85bbb15f3),
    UINT64_C(0x2f2e6163076bcfad), UINT64_C(0xde4daaaca71dc9a5), UINT64_C(0xa6a2506687956571),
    UINT64_C(0xad87a3535c49ef28), UINT64_C(0x32d892fad841c342), UINT64_C(0x7127512f72f27cce),
    UINT64_C(0xa7f32346f95978e3), UINT64_C(0x12e0b01abb051238), UINT64_C(0x15e034d40fa197ae),
    UINT64_C(0x314dffbe0815a3b4), UINT64_C(0x027990f029623981), UINT64_C(0xcadcd4e59ef40c4d),
    UINT64_C(0x9abfd8766a33735c), UINT64_C(0x0e3ea96b5304a7d0), UINT64_C(0xad0c42d6fc585992),
    UINT64_C(0x187306c89bc215a9), UINT64_C(0xd4a60abcf3792b95), UINT64_C(0xf935451de4f21df2),
    UINT64_C(0xa9538f0419755787), UINT64_C(0xdb9acddff56ca510), UINT64_C(0xd06c98cd5c0975eb),
    UINT64_C(0xe612a3cb9ecba951), UINT64_C(0xc766e62cfcadaf96), UINT64_C(0xee64435a9752fe72),
    UINT64_C(0xa192d576b245165a), UINT64_C(0x0a8787bf8ecb74b2), UINT64_C(0x81b3e73d20b49b6f),
    UINT64_C(0x7fa8220ba3b2ecea), UINT64_C(0x245731c13ca42499), UINT64_C(0xb78dbfaf3a8d83bd),
    UINT64_C(0xea1ad565322a1a0b), UINT64_C(0x60e61c23a3795013), UINT64_C(0x6606d7e446282b93),
    UINT64_C(0x6ca4ecb15c5f91e1), UINT64_C(0x9f626da15c9625f3), UINT64_C(0xe51b38608ef25f57),
    UINT64_C(0x958a324ceb064572),
};

/* SipHash-1-3 of the same, n + 1 bytes, with the key 0: CPython 3.11's hash(bytes(range(n + 1))) under
 * PYTHONHASHSEED=0.
 */
static const uint64_t vectors_1_3[24] = {
    UINT64_C(0x68a914128e01e473), UINT64_C(0x010bac45c41e3669), UINT64_C(0x4d4c9a4a8ef6e0ad),
    UINT64_C(0x7cc43f98813e4dbd), UINT64_C(0x5abe2169dff36275), UINT64_C(0xe3c25f87624f1cdb),
    UINT64_C(0x2f098ab0c751325a), UINT64_C(0xead411e67ebe2eea), UINT64_C(0x75927f9d95124362),
    UINT64_C(0xaf9f77a65ab51a1d), UINT64_C(0xfe64ce8b6617fcff), UINT64_C(0xa6baf4fb0f9fe1c2),
    UINT64_C(0xa0cf3211850f8e0d), UINT64_C(0x7f86049379fbfe67), UINT64_C(0xf30eb725bb91c9ea),
    UINT64_C(0x8972188433a5c5b7), UINT64_C(0x4883c49a2c009c1d), UINT64_C(0xadc2c0b63044067d),
    UINT64_C(0x091f4a3329f87d19), UINT64_C(0x639e355ae68c0100), UINT64_C(0xb17bef2cb5213239),
    UINT64_C(0xf8aeb1066236ccfe), UINT64_C(0x37332b1389daa4ff), UINT64_C(0x31185a47af932f3a),
};

TEST(siphash_as_published)
{
    const struct gm_hash_key key = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    unsigned char bytes[64];
    for (size_t n = 0; n < 64; n++) {
        bytes[n] = (unsigned char)n;
        assert_true(gm_siphash_2_4(key, bytes, n) == vectors_2_4[n]);
    }
    for (size_t n = 0; n < sizeof vectors_1_3 / sizeof *vectors_1_3; n++)
        assert_true(gm_siphash_1_3((struct gm_hash_key){0}, bytes, n + 1) == vectors_1_3[n]);
}

TEST(the_key_stays)
{
    const struct gm_hash_key a = gm_hash_key(), b = gm_hash_key();
    assert_memory_equal(&a, &b, sizeof a);
    assert_true(a.k0 != 0 || a.k1 != 0);
}

static size_t longest_run(const struct gm_address_map *map)
{
    size_t run = 0, longest = 0;
    for (size_t i = 0; i <= map->mask; i++) {
        run = map->slots[i].is_used ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

enum { KEYS = 50000, RUN = 500 };

/* Multiples of the inverse of 2^64 divided by the golden ratio: a multiplication by it, as Fibonacci hashing does it,
 * makes small numbers of them, whose upper half is 0. Then every 2^16th, and every 2^32nd. */
TEST(addresses_cannot_be_chosen)
{
    uint64_t golden = UINT64_C(0x9e3779b97f4a7c15), inverse = golden;
    for (int i = 0; i < 5; i++)
        inverse *= 2 - golden * inverse; /* Newton: each time twice as many bits are right */
    assert_true(golden * inverse == 1);
    const uint64_t steps[] = {inverse, UINT64_C(1) << 16, UINT64_C(1) << 32, 512, 1};
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        struct gm_address_map map = {0};
        uint32_t before;
        for (uint32_t i = 0; i < KEYS; i++)
            assert_true(gm_map_put(&map, i * steps[k], i, &before));
        assert_true(longest_run(&map) < RUN);
        for (uint32_t i = 0; i < KEYS; i++)
            assert_int_equal(gm_map_get(&map, i * steps[k]), i);
        gm_map_free(&map);
    }
}

/* Strings whose FNV-1a, folded, ends in the same 13 bits: found by trying. */
TEST(strings_cannot_be_chosen)
{
    GM_FREED_BY(gm_intern_free) struct gm_intern intern = {0};
    uint32_t wanted = 0;
    for (uint64_t i = 0; wanted < 3000; i++) {
        uint64_t h = 0xCBF29CE484222325;
        for (int k = 0; k < 8; k++)
            h = (h ^ (i >> 8 * k & 0xFF)) * 0x100000001B3;
        if (((h ^ h >> 32) & 0x1FFF) == 7)
            assert_int_equal(gm_intern_add(&intern, &i, sizeof i), wanted++);
    }
    size_t run = 0;
    for (size_t i = 0; i <= intern.mask; i++) {
        run = intern.slots[i] != 0 ? run + 1 : 0;
        assert_true(run < RUN);
    }
}

TEST(lasting_strings_are_not_copied)
{
    GM_FREED_BY(gm_intern_free) struct gm_intern intern = {0};
    static const char a[] = "forward", b[] = "forward";
    assert_int_equal(gm_intern_add_lasting(&intern, a, 7), 0);
    assert_int_equal(gm_intern_add(&intern, b, 7), 0);
    assert_int_equal(gm_intern_add_lasting(&intern, "", 0), 1);
    assert_ptr_equal(intern.entries.v[0].bytes, a);
}
