/* SPDX-License-Identifier: Apache-2.0
 *
 * Which name was meant: by hand, and against the distance written down as the recursion that defines it.
 */
#include "analyze/base/closest.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

static const char *meant(const char *word, const char *const *names)
{
    struct gm_closest c = gm_closest_to(word, strlen(word));
    for (; *names != NULL; names++)
        gm_closest_offer(&c, *names);
    return c.name;
}

TEST(by_hand)
{
    static const char *const names[] = {"limit", "memory", "fail-above", "sim", "cuda-async", "gpu", NULL};
    assert_string_equal(meant("limt", names), "limit");            /* one missing */
    assert_string_equal(meant("memroy", names), "memory");         /* two swapped */
    assert_string_equal(meant("FAIL_ABOVE", names), "fail-above"); /* written otherwise */
    assert_string_equal(meant("fail above", names), "fail-above");
    assert_string_equal(meant("fail-abov", names), "fail-above");
    assert_string_equal(meant("fail", names), "fail-above"); /* its beginning */
    assert_string_equal(meant("cuda", names), "cuda-async");
    assert_string_equal(meant("gpus", names), "gpu");
    assert_string_equal(meant("sin", names), "sim");
    assert_null(meant("voodoo", names));
    assert_null(meant("s", names)); /* too little to tell */
    assert_null(meant("", names));
    assert_null(meant("son", names)); /* two of three letters are wrong */
    char word[500];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_null(meant(word, names));
}

TEST(equally_near)
{
    static const char *const names[] = {"a10", "h100", "b10", "h101", NULL};
    assert_string_equal(meant("h10", names), "h100"); /* begins so */
    assert_string_equal(meant("c10", names), "a10");  /* comes first */
}

TEST(hints)
{
    struct gm_closest c = gm_closest_to("limt=5", 4);
    assert_string_equal(gm_closest_hint(&c, "--").text, "");
    gm_closest_offer(&c, "limit");
    assert_string_equal(gm_closest_hint(&c, "--").text, "; did you mean '--limit'?");
}

/* The definition: optimal string alignment. */
static size_t defined(const char *a, size_t n, const char *b, size_t m)
{
    if (n == 0 || m == 0)
        return n + m;
    size_t best = defined(a, n - 1, b, m - 1) + (a[n - 1] != b[m - 1]);
    size_t other = 1 + defined(a, n - 1, b, m);
    best = other < best ? other : best;
    other = 1 + defined(a, n, b, m - 1);
    best = other < best ? other : best;
    if (n > 1 && m > 1 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1]) {
        other = 1 + defined(a, n - 2, b, m - 2);
        best = other < best ? other : best;
    }
    return best;
}

TEST(against_definition)
{
    srand(7);
    for (int round = 0; round < 3000; round++) {
        char a[7], b[7];
        const size_t n = 2 + (size_t)(rand() % 5), m = (size_t)(rand() % 7);
        for (size_t i = 0; i < n; i++)
            a[i] = (char)('a' + rand() % 3);
        for (size_t i = 0; i < m; i++)
            b[i] = (char)('a' + rand() % 3);
        a[n] = b[m] = '\0';
        struct gm_closest c = gm_closest_to(a, n);
        const size_t most = c.distance;
        size_t want = defined(a, n, b, m);
        if (want > 1 && strncmp(a, b, n) == 0)
            want = 1;
        gm_closest_offer(&c, b);
        assert_int_equal(c.name != NULL, want <= most);
        if (c.name != NULL)
            assert_int_equal(c.distance, want);
    }
}
