/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of live blocks against an array that is searched from end to end.
 */
#include "analyze/timeline/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ADDRESSES = 3000, STEPS = 200000 };

static uint64_t random_next(uint64_t *state) /* xorshift */
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void random_operations(void **state)
{
    (void)state;
    static uint64_t requested[ADDRESSES]; /* by address / 512; 0: not live */
    struct gm_live live = {0};
    uint64_t random = 88172645463325252U;
    size_t count = 0;
    for (int i = 0; i < STEPS; i++) {
        size_t k = random_next(&random) % ADDRESSES;
        uint64_t address = UINT64_C(0x7f0000000000) + k * 512;
        struct gm_live_block block = {address, 1 + random_next(&random) % 1000, {(uint32_t)k}, 1}, before;
        assert_int_equal(gm_live_has(&live, address), requested[k] != 0);
        if (random_next(&random) % 5 < 3) {
            assert_true(gm_live_put(&live, &block, &before));
            assert_int_equal(before.is_used, requested[k] != 0);
            if (before.is_used)
                assert_int_equal(before.requested, requested[k]);
            count += requested[k] == 0;
            requested[k] = block.requested;
        } else {
            bool was = gm_live_take(&live, address, &block);
            assert_int_equal(was, requested[k] != 0);
            if (was) {
                assert_int_equal(block.requested, requested[k]);
                assert_int_equal(block.stack.v, k);
                count--;
            }
            requested[k] = 0;
        }
        assert_int_equal(live.count, count);
    }
    gm_live_free(&live);
}

/* Addresses that differ by the size of the table collide: taking any of them out must not hide the others. */
static void collisions(void **state)
{
    (void)state;
    for (uint64_t out = 0; out < 20; out++) {
        struct gm_live live = {0};
        struct gm_live_block block, before;
        for (uint64_t i = 0; i < 20; i++) {
            block = (struct gm_live_block){i << 53, i, {0}, 1};
            assert_true(gm_live_put(&live, &block, &before));
            assert_false(before.is_used);
        }
        assert_true(gm_live_take(&live, out << 53, &block));
        assert_int_equal(block.requested, out);
        assert_false(gm_live_take(&live, out << 53, &block));
        for (uint64_t i = 0; i < 20; i++)
            assert_int_equal(gm_live_has(&live, i << 53), i != out);
        gm_live_free(&live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_operations), cmocka_unit_test(collisions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
