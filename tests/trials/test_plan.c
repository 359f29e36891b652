/* SPDX-License-Identifier: Apache-2.0
 *
 * Offline plans: small ones worked out by hand; random ones for what every plan must keep to.
 */
#include "replay/trials/plan.h"
#include "tests/unit.h"

#define STEPS(n) (&(uint64_t){n})
#define PLENTY STEPS(UINT64_C(1) << 40)

static void check_apart(const struct gm_plan_block *b, size_t n, uint64_t height)
{
    uint64_t top = 0;
    for (size_t i = 0; i < n; i++) {
        top = b[i].offset + b[i].size > top ? b[i].offset + b[i].size : top;
        for (size_t k = i + 1; k < n; k++)
            if (b[i].born < b[k].freed && b[k].born < b[i].freed)
                assert_true(b[i].offset + b[i].size <= b[k].offset || b[k].offset + b[k].size <= b[i].offset);
    }
    assert_int_equal(top, height);
}

/* The peak from its definition: at each birth, what lives then. */
static uint64_t slow_peak(const struct gm_plan_block *b, size_t n)
{
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t sum = 0;
        for (size_t k = 0; k < n; k++)
            sum += b[k].born <= b[i].born && b[i].born < b[k].freed ? b[k].size : 0;
        most = sum > most ? sum : most;
    }
    return most;
}

TEST(nothing)
{
    struct gm_plan_block none = {0};
    uint64_t height = 7, peak = 7;
    assert_int_equal(gm_plan(&none, 0, PLENTY, &height), GM_PLANNED);
    assert_int_equal(height, 0);
    assert_true(gm_plan_peak(&none, 0, &peak));
    assert_int_equal(peak, 0);
}

/* 6 and 4 one after the other share their place; 5 lives beside both: 11. */
TEST(shared_place)
{
    struct gm_plan_block b[] = {{0, 2, 6, 0}, {2, 4, 4, 0}, {1, 3, 5, 0}};
    uint64_t height = 0, peak = 0;
    assert_int_equal(gm_plan(b, 3, PLENTY, &height), GM_PLANNED);
    assert_int_equal(height, 11);
    check_apart(b, 3, height);
    assert_true(gm_plan_peak(b, 3, &peak));
    assert_int_equal(peak, 11);
}

/* By size: 80 at 0, 75 at 80, 70 at 155, 65 at 225, 64 at 290. When 75 and 65 are gone there are gaps of those sizes:
 * a block of 63 takes the smaller one, though the other lies lower. */
TEST(smallest_gap)
{
    struct gm_plan_block b[] = {{0, 5, 80, 0}, {0, 2, 75, 0}, {0, 5, 70, 0}, {0, 2, 65, 0},
                                {0, 5, 64, 0}, {2, 4, 63, 0}, {5, 6, 1, 0}};
    uint64_t height = 0;
    assert_int_equal(gm_plan(b, 7, PLENTY, &height), GM_PLANNED);
    check_apart(b, 7, height);
    assert_int_equal(height, 354);
    for (int i = 0; i < 7; i++)
        assert_true(b[i].size != 63 || b[i].offset == 225);
}

TEST(lives_always)
{
    struct gm_plan_block b[] = {{0, 9, 1, 0}, {3, 4, 100, 0}, {0, 9, 2, 0}, {5, 6, 100, 0}};
    uint64_t height = 0;
    assert_int_equal(gm_plan(b, 4, STEPS(8), &height), GM_PLANNED); /* the always living ones take no steps */
    assert_int_equal(height, 103);
    for (int i = 0; i < 4; i++)
        assert_true(b[i].size == 100 ? b[i].offset == 3 : b[i].offset < 3);
}

TEST(too_much)
{
    struct gm_plan_block b[100];
    uint64_t height = 0, steps = 50;
    for (uint32_t i = 0; i < 100; i++)
        b[i] = (struct gm_plan_block){i, i + 100, 512, 0};
    assert_int_equal(gm_plan(b, 100, &steps, &height), GM_PLAN_TOO_MUCH);
    assert_int_equal(steps, 0);
    assert_int_equal(gm_plan(b, 100, PLENTY, &height), GM_PLANNED);
    assert_int_equal(height, 100 * 512);
}

/* In order of birth: 6 at 0, 5 at 6, 4 in the gap of the 6; a block of 2 takes what is left of it, and 3 go on top. */
TEST(quick)
{
    struct gm_plan_block b[] = {{0, 2, 6, 0}, {1, 9, 5, 0}, {2, 9, 4, 0}, {3, 9, 3, 0}, {4, 9, 2, 0}};
    uint64_t height = 0;
    assert_int_equal(gm_plan_quick(b, 5, &height), GM_PLANNED);
    assert_int_equal(height, 14);
    check_apart(b, 5, height);
    for (int i = 0; i < 5; i++)
        assert_true(b[i].size != 2 || b[i].offset == 4);
    /* Of those born together the longest-lived lie lowest. */
    struct gm_plan_block together[] = {{0, 1, 7, 0}, {0, 5, 1, 0}, {2, 5, 8, 0}};
    assert_int_equal(gm_plan_quick(together, 3, &height), GM_PLANNED);
    assert_int_equal(height, 9);
    assert_int_equal(gm_plan_quick(b, 0, &height), GM_PLANNED);
    assert_int_equal(height, 0);
    struct gm_plan_block large[] = {{0, 1, UINT64_C(1) << 60, 0}, {0, 1, UINT64_C(1) << 60, 0}};
    assert_int_equal(gm_plan_quick(large, 2, &height), GM_PLANNED);
    assert_int_equal(height, UINT64_C(1) << 61);
}

static uint32_t draw(uint64_t *seed, uint32_t n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(*seed >> 33) % n;
}

TEST(random_ones)
{
    uint64_t seed = 1;
    for (int round = 0; round < 300; round++) {
        struct gm_plan_block b[120], again[120];
        size_t n = 1 + draw(&seed, 120);
        uint64_t height = 0, peak = 0, second = 0;
        for (size_t i = 0; i < n; i++) {
            uint32_t born = draw(&seed, 60);
            b[i] = (struct gm_plan_block){born, born + 1 + draw(&seed, 30), 512 * (1 + (uint64_t)draw(&seed, 50)), 0};
            if (draw(&seed, 10) == 0)
                b[i].freed = UINT32_MAX;
            again[n - 1 - i] = b[i];
        }
        assert_true(gm_plan_peak(b, n, &peak));
        assert_int_equal(peak, slow_peak(b, n));
        assert_int_equal(gm_plan(b, n, PLENTY, &height), GM_PLANNED);
        check_apart(b, n, height);
        assert_true(height >= peak);
        assert_int_equal(gm_plan(again, n, PLENTY, &second), GM_PLANNED); /* the order of the input is no matter */
        assert_int_equal(second, height);
        assert_int_equal(gm_plan_quick(b, n, &height), GM_PLANNED);
        check_apart(b, n, height);
        assert_true(height >= peak);
        assert_int_equal(gm_plan_quick(again, n, &second), GM_PLANNED);
        assert_int_equal(second, height);
    }
}
