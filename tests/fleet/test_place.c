/* SPDX-License-Identifier: Apache-2.0
 *
 * Rank and iteration from paths: a table of what people call their files, and patterns.
 */
#include "analyze/base/freed.h"
#include "analyze/fleet/place.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

struct row {
    const char *pattern, *path;
    int64_t rank, iteration;
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct row *row = &rows[i];
        const struct gm_place_found found =
            row->pattern == NULL ? gm_place_detect(row->path) : gm_place_match(row->pattern, row->path);
        if (found.rank != row->rank || found.iteration != row->iteration)
            fail_msg("%s (%s): rank %lld, iteration %lld", row->path, row->pattern == NULL ? "" : row->pattern,
                     (long long)found.rank, (long long)found.iteration);
    }
}

TEST(detect)
{
    static const struct row rows[] = {
        {NULL, "iteration_5/rank3_memory_snapshot.pickle", 3, 5}, /* torchtitan */
        {NULL, "out/memory_snapshot/iteration_10/rank0_memory_snapshot.pickle", 0, 10},
        {NULL, "rank_3/snapshot.pickle", 3, -1},
        {NULL, "job/rank_3/step_100/s.pickle", 3, 100},
        {NULL, "snapshot_rank3_.pickle", 3, -1},
        {NULL, "mem_rank3_iter5.pickle", 3, 5},
        {NULL, "a/iter5/rank-07.pickle", 7, 5},
        {NULL, "rank=2/step=0.pickle", 2, 0},
        {NULL, "Rank3Iter4.pickle", 3, 4},
        {NULL, "rank3iter4.pickle", 3, 4},
        {NULL, "global_rank12_global_step400.pickle", 12, 400},
        {NULL, "local_rank1/snapshot.pickle", -1, -1},
        {NULL, "rank9/local_rank1.pickle", 9, -1},
        {NULL, "LocalRank1_Rank5.pickle", 5, -1},
        {NULL, "rank1/rank2.pickle", 2, -1}, /* nearest to the end */
        {NULL, "step_100/iteration_7/rank0.pickle", 0, 7},
        {NULL, "frank3.pickle", -1, -1},
        {NULL, "ranking3.pickle", -1, -1},
        {NULL, "rank3b.pickle", -1, -1},
        {NULL, "rank3bs4.pickle", 3, -1}, /* as in the name of a run: rank3_bs4 */
        {NULL, "ctx512rank2lbs4step7.pickle", 2, 7},
        {NULL, "rank3bs.pickle", -1, -1},
        {NULL, "rank99999999999999999999.pickle", -1, -1},
        {NULL, "rank.pickle", -1, -1},
        {NULL, "rank_.pickle", -1, -1},
        {NULL, "rank__3.pickle", -1, -1},
        {NULL, "steps5.pickle", -1, -1},
        {NULL, "rank99999999999999999999.pickle", -1, -1},
        {NULL, "rank000000000000000000000004.pickle", 4, -1},
        {NULL, "rank1/a/b/c/d.pickle", -1, -1}, /* the last four parts count */
        {NULL, "rank1/a/b/d.pickle", 1, -1},
        {NULL, "rank1//a/./b/d.pickle", 1, -1},
        {NULL, "", -1, -1},
        {NULL, "/", -1, -1},
        {NULL, "rank3", 3, -1},
        {NULL, "rank3\xff.pickle", -1, -1}, /* may be a letter */
    };
    check(rows, sizeof rows / sizeof *rows);
}

TEST(patterns)
{
    static const struct row rows[] = {
        {"job*/it{iteration}/r{rank}.pickle", "x/job7/it12/r3.pickle", 3, 12},
        {"job*/it{iteration}/r{rank}.pickle", "job7/it12/r3.pickle", 3, 12},
        {"job*/it{iteration}/r{rank}.pickle", "xjob7/it12/r3.pickle", -1, -1},  /* from a part's beginning on */
        {"job*/it{iteration}/r{rank}.pickle", "job7/y/it12/r3.pickle", -1, -1}, /* '*' stays in its part */
        {"{rank}.pickle", "a/b/17.pickle", 17, -1},
        {"*_{rank}_*.pickle", "a_b_17_c.pickle", 17, -1},
        {"*{rank}.pickle", "a17.pickle", 17, -1},
        {"r?{rank}.*", "r-5.pickle", 5, -1},
        {"r{rank}", "r5.pickle", -1, -1},
        {"{iteration}-{rank}.snap", "0099-0003.snap", 3, 99},
        {"{iteration}{rank}.snap", "12.snap", -1, -1}, /* digits are never shared */
        {"*/{rank}", "a/5", 5, -1},
        {"r{rank}.p", "r99999999999999999999.p", -1, -1},
    };
    check(rows, sizeof rows / sizeof *rows);
}

TEST(pattern_is_checked)
{
    static const char *const bad[] = {"", "a", "{rank", "{ranks}", "{rank}{rank}", "{}", "{rank}}", "{Rank}"};
    struct gm_error err;
    assert_int_equal(gm_place_check_pattern("it{iteration}/{rank}", &err), GM_OK);
    assert_int_equal(gm_place_check_pattern("{rank}", &err), GM_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(gm_place_check_pattern(bad[i], &err), GM_E_USAGE);
}

/* Many stars on a long path: quick, or the test's time runs out. */
TEST(hostile)
{
    enum { STARS = 100, LETTERS = 1000 };
    GM_FREED char *pattern = calloc(2 * STARS + 16, 1), *path = calloc(LETTERS + 1, 1);
    assert_non_null(pattern);
    assert_non_null(path);
    for (int i = 0; i < STARS; i++)
        strcat(pattern, "*a");
    strcat(pattern, "b{rank}");
    memset(path, 'a', LETTERS);
    assert_int_equal(gm_place_match(pattern, path).rank, -1);
    assert_int_equal(gm_place_detect(path).rank, -1);
}
