/* SPDX-License-Identifier: Apache-2.0
 *
 * Periods of sequences whose periods are known by construction.
 */
#include "analyze/timeline/steps/step_work.h"
#include "tests/unit.h"

enum { MOST = 48 };

static bool is_candidate(const uint32_t *symbols, size_t n, uint32_t symbol_count, size_t length)
{
    size_t lengths[MOST], count;
    assert_true(gm_period_candidates(symbols, n, symbol_count, lengths, MOST, &count));
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || lengths[i] > lengths[i - 1]);
        found |= lengths[i] == length;
    }
    return found;
}

TEST(an_exact_period)
{
    uint32_t s[10 * 20];
    for (size_t i = 0; i < 200; i++)
        s[i] = (uint32_t)(i % 20);
    assert_true(is_candidate(s, 200, 20, 20));
    struct gm_period p = gm_period_measure(s, 200, 20);
    assert_int_equal(p.first, 0);
    assert_int_equal(p.last, 180);
    assert_int_equal(p.matches, 180);
    assert_int_equal(gm_period_certainty(&p), 100);
    assert_int_equal(gm_period_measure(s, 200, 19).matches, 0);
}

/* 30 symbols that come once, 5 rounds of 50 of which 3 places are different each time, 30 that come once. */
TEST(a_period_between_other_things)
{
    uint32_t s[30 + 250 + 30];
    uint32_t fresh = 100;
    for (size_t i = 0; i < 310; i++) {
        size_t j = (i - 30) % 50;
        s[i] = i < 30 || i >= 280 || j == 10 || j == 20 || j == 30 ? fresh++ : (uint32_t)j;
    }
    assert_true(is_candidate(s, 310, fresh, 50));
    struct gm_period p = gm_period_measure(s, 310, 50);
    assert_int_equal(p.first, 30);
    assert_int_equal(p.last, 230);         /* the last place with an equal one 50 later is 229 */
    assert_int_equal(p.matches, 200 - 12); /* 3 of 50 places never match, in 4 rounds */
    assert_int_equal(gm_period_certainty(&p), 94);
}

/* Rounds of 24 times 10 symbols and 5 of their own: the 10 repeat too, but the round explains all. */
TEST(a_round_with_an_inner_loop)
{
    uint32_t s[4 * 245];
    for (size_t i = 0; i < 980; i++)
        s[i] = (uint32_t)(i % 245 < 240 ? i % 245 % 10 : 10 + i % 245 - 240);
    assert_true(is_candidate(s, 980, 15, 245));
    assert_true(is_candidate(s, 980, 15, 10));
    struct gm_period outer = gm_period_measure(s, 980, 245), inner = gm_period_measure(s, 980, 10);
    assert_int_equal(outer.matches, 735);
    /* 230 of 245 places of a round are followed by an equal one; the last round ends within the inner loop's reach */
    assert_true(inner.matches <= 4 * 230 && inner.matches >= 4 * 230 - 10);
}

TEST(nothing_repeats)
{
    uint32_t s[500];
    size_t lengths[MOST], count;
    for (uint32_t i = 0; i < 500; i++)
        s[i] = i;
    assert_true(gm_period_candidates(s, 500, 500, lengths, MOST, &count));
    assert_int_equal(count, 0);
    assert_true(gm_period_candidates(s, 0, 0, lengths, MOST, &count));
    assert_int_equal(count, 0);
    assert_int_equal(gm_period_measure(s, 500, 10).matches, 0);
    assert_int_equal(gm_period_measure(s, 5, 10).matches, 0);
}
