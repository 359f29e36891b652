/* SPDX-License-Identifier: Apache-2.0
 *
 * What is told of a file that is being read.
 */
#include "analyze/base/size.h"
#include "analyze/cli/bar.h"
#include "tests/unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Of a file that has been read for some seconds. */
static bool told(struct gm_text *out, uint64_t done, uint64_t all, uint64_t seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    const struct gm_load_progress progress = {.done = done, .all = all, .began_us = us - seconds * 1000000};
    gm_text_free(out);
    return gm_bar_add_reading(out, &progress);
}

TEST(reading)
{
    GM_FREED struct gm_text text = {0};
    double rate;
    int left, length = 0;
    assert_true(told(&text, 120 * GM_MIB, 480 * GM_MIB, 20));
    assert_int_equal(sscanf(text.data, "120.0 of 480.0 MiB, %lf MiB/s, %d s left%n", &rate, &left, &length), 2);
    assert_int_equal(length, text.length);
    assert_true(rate > 5 && rate <= 6 && left >= 60 && left < 72); /* the test itself may be slow */
    assert_true(told(&text, 120 * GM_MIB, 48 * GM_GIB, 20));
    assert_int_equal(sscanf(text.data, "120.0 MiB of 48.00 GiB, %lf MiB/s, %d min left%n", &rate, &left, &length), 2);
    assert_int_equal(length, text.length);
    assert_true(left >= 135 && left < 165);
    assert_true(told(&text, 120 * GM_MIB, 0, 20)); /* a pipe */
    assert_int_equal(sscanf(text.data, "120.0 MiB, %lf MiB/s%n", &rate, &length), 1);
    assert_int_equal(length, text.length);
    assert_true(told(&text, GM_MIB, GM_MIB, 20));
    assert_null(strstr(text.data, "left"));
    assert_false(told(&text, 0, GM_MIB, 20));
    assert_int_equal(text.length, 0);
}
