/* SPDX-License-Identifier: Apache-2.0
 *
 * The map of addresses against an array that is searched from end to end.
 */
#include "analyze/base/address_map.h"
#include "analyze/base/freed.h"
#include "tests/random_next.h"
#include "tests/unit.h"

enum { ADDRESSES = 3000, STEPS = 200000 };

TEST(random_operations)
{
    static uint32_t value[ADDRESSES]; /* by address / 512; 0: not there */
    GM_FREED_BY(gm_map_free) struct gm_address_map map = {0};
    uint64_t random = 88172645463325252U;
    size_t count = 0;
    for (int i = 0; i < STEPS; i++) {
        size_t k = random_next(&random) % ADDRESSES;
        uint64_t address = UINT64_C(0x7f0000000000) + k * 512;
        uint32_t fresh = (uint32_t)(1 + random_next(&random) % 1000), before;
        uint32_t expected = value[k] != 0 ? value[k] : GM_MAP_NONE;
        assert_int_equal(gm_map_get(&map, address), expected);
        if (random_next(&random) % 5 < 3) {
            assert_true(gm_map_put(&map, address, fresh, &before));
            assert_int_equal(before, expected);
            count += value[k] == 0;
            value[k] = fresh;
        } else {
            assert_int_equal(gm_map_take(&map, address), expected);
            count -= value[k] != 0;
            value[k] = 0;
        }
        assert_int_equal(map.count, count);
    }
}

/* Addresses that differ by the size of the table collide: taking any of them out must not hide the others. */
TEST(collisions)
{
    for (uint32_t out = 0; out < 20; out++) {
        struct gm_address_map map = {0};
        uint32_t before;
        for (uint32_t i = 0; i < 20; i++) {
            assert_true(gm_map_put(&map, (uint64_t)i << 53, i, &before));
            assert_int_equal(before, GM_MAP_NONE);
        }
        assert_int_equal(gm_map_take(&map, (uint64_t)out << 53), out);
        assert_int_equal(gm_map_take(&map, (uint64_t)out << 53), GM_MAP_NONE);
        for (uint32_t i = 0; i < 20; i++)
            assert_int_equal(gm_map_get(&map, (uint64_t)i << 53), i != out ? i : GM_MAP_NONE);
        gm_map_free(&map);
    }
}
