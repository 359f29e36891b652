/* SPDX-License-Identifier: Apache-2.0
 *
 * Places and streams as they are written on the command line.
 */
#include "analyze/cli/analyze_options.h"
#include "analyze/timeline/trace_analyze.h"
#include "tests/unit.h"

TEST(places)
{
    static const struct {
        const char *text;
        enum gm_place_kind kind;
        uint64_t value;
    } good[] = {{"0", GM_PLACE_EVENT, 0},
                {"12345", GM_PLACE_EVENT, 12345},
                {"event:12345", GM_PLACE_EVENT, 12345},
                {"9223372036854775807", GM_PLACE_EVENT, INT64_MAX},
                {"step:12", GM_PLACE_STEP, 12},
                {"3.5s", GM_PLACE_TIME, 3500000},
                {"3s", GM_PLACE_TIME, 3000000},
                {"120ms", GM_PLACE_TIME, 120000},
                {"0.0005ms", GM_PLACE_TIME, 0},
                {"1.0015ms", GM_PLACE_TIME, 1001},
                {"0.123456789s", GM_PLACE_TIME, 123456},
                {"7us", GM_PLACE_TIME, 7},
                {"9223372036853s", GM_PLACE_TIME, 9223372036853000000}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct gm_place place = {GM_PLACE_NONE, 0};
        assert_true(gm_value_place(good[i].text, &place));
        assert_int_equal(place.kind, good[i].kind);
        assert_int_equal(place.value, good[i].value);
    }
    static const char *const bad[] = {"",
                                      "s",
                                      "x",
                                      "-1",
                                      "+1",
                                      "1 ",
                                      " 1",
                                      "1.5",
                                      "1.s",
                                      ".5s",
                                      "1,5s",
                                      "3.5 s",
                                      "1m",
                                      "1S",
                                      "1e3s",
                                      "step:",
                                      "step",
                                      "step:a",
                                      "step:-1",
                                      "step:1s",
                                      "event",
                                      "event:",
                                      "event:1ms",
                                      "Step:1",
                                      "0x10",
                                      "nan",
                                      "infs",
                                      "9223372036854775808",
                                      "9223372036854s",
                                      "1.2.3s"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct gm_place place = {GM_PLACE_NONE, 77};
        assert_false(gm_value_place(bad[i], &place));
        assert_int_equal(place.kind, GM_PLACE_NONE);
        assert_int_equal(place.value, 77);
    }
}

TEST(streams)
{
    struct gm_wanted_stream stream = {0, false};
    assert_true(gm_value_stream("94219239492", &stream));
    assert_true(stream.is_given);
    assert_int_equal(stream.handle, 94219239492);
    assert_true(gm_value_stream("0", &stream));
    assert_int_equal(stream.handle, 0);
    assert_true(gm_value_stream("0x55D1c0", &stream));
    assert_int_equal(stream.handle, 0x55d1c0);
    static const char *const bad[] = {
        "", "0x", "x", "-", "--1", "12g", "0xg", "1.0", "9223372036854775808", "0x8000000000000000"};
    stream = (struct gm_wanted_stream){0, false};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(gm_value_stream(bad[i], &stream));
    assert_false(stream.is_given);
}
