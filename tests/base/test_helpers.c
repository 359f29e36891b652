/* SPDX-License-Identifier: Apache-2.0
 *
 * The small helpers of analyze/base: sums that stop, roundings, binary search, the loop of threads.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/bisect.h"
#include "analyze/base/threads.h"
#include "tests/unit.h"

TEST(sums_stop)
{
    assert_int_equal(gm_sat_add(UINT64_MAX - 1, 1), UINT64_MAX);
    assert_int_equal(gm_sat_add(UINT64_MAX - 1, 2), UINT64_MAX);
    assert_int_equal(gm_known_add(2, 3), 5);
    assert_int_equal(gm_known_add(UINT64_MAX - 1, 1), UINT64_MAX - 1);
    assert_int_equal(gm_known_add(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
    assert_int_equal(gm_sat_sub(2, 3), 0);
    assert_int_equal(gm_gap(2, 5), 3);
    assert_true(gm_signed_gap(0, UINT64_MAX) == -INT64_MAX && gm_signed_gap(UINT64_MAX, 0) == INT64_MAX);
    assert_true(gm_signed_gap(2, 5) == -3);
    assert_true(gm_signed_add(INT64_MAX, 1) == INT64_MAX && gm_signed_add(-INT64_MAX, -1) == -INT64_MAX);
    assert_true(gm_signed_add(-5, 2) == -3 && gm_signed_add(5, -2) == 3);
}

TEST(roundings)
{
    assert_int_equal(gm_round_up(0, 512), 0);
    assert_int_equal(gm_round_up(1, 512), 512);
    assert_int_equal(gm_round_up(512, 512), 512);
    assert_int_equal(gm_round_up(10, 7), 14);
    assert_true(gm_round_up(UINT64_MAX, 512) == (UINT64_MAX & ~UINT64_C(511)));
}

/* Against a walk, for every key and every range. */
TEST(bounds)
{
    static const int v[] = {1, 3, 3, 3, 7, 9};
    for (size_t from = 0; from <= 6; from++)
        for (size_t end = from; end <= 6; end++)
            for (int key = 0; key <= 10; key++) {
                size_t lower = from, upper = from, low = from, up = from;
                while (lower < end && v[lower] < key)
                    lower++;
                while (upper < end && v[upper] <= key)
                    upper++;
                GM_BISECT(low, end, i, v[i] < key);
                GM_BISECT(up, end, i, v[i] <= key);
                assert_int_equal(low, lower);
                assert_int_equal(up, upper);
            }
}

enum { TASKS = 1000 };

static void count(void *argument, size_t i)
{
    atomic_fetch_add(&((atomic_int *)argument)[i], 1);
}

TEST(each_task_is_done_once)
{
    static const size_t widths[] = {0, 1, 2, 7, TASKS + 5};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t n = 0; n <= TASKS; n += TASKS / 2) {
            atomic_int done[TASKS] = {0};
            struct gm_threads threads;
            gm_threads_run(&threads, n, widths[w], count, done);
            for (size_t i = 0; i < TASKS; i++)
                assert_int_equal(atomic_load(&done[i]), i < n);
        }
}
