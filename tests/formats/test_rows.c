/* SPDX-License-Identifier: Apache-2.0
 *
 * Odd rows: what the assembler keeps of them and what it says.
 */
#include "analyze/base/freed.h"
#include "analyze/base/text.h"
#include "analyze/formats/load.h"
#include "tests/unit.h"

#include <stdio.h>
#include <string.h>

static struct gm_snapshot load(const char *json)
{
    struct gm_snapshot s;
    struct gm_error err = {0};
    if (gm_snapshot_load_bytes(&s, json, strlen(json), "test", NULL, &err) != GM_OK)
        fail_msg("%s", err.message);
    return s;
}

static bool warns(const struct gm_snapshot *s, const char *words)
{
    for (size_t i = 0; i < s->warning_count; i++)
        if (strstr(s->warnings[i], words) != NULL)
            return true;
    return false;
}

TEST(one_odd_entry_does_not_lose_the_stack)
{
    static const char *const odd[] = {"null", "5", "{}", "{\"name\":\"q\"}", "[]", "\"f\""};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (int first = 0; first < 2; first++) {
            char json[600];
            const char *frame = "{\"name\":\"g\",\"filename\":\"a.py\",\"line\":1}";
            snprintf(json, sizeof json,
                     "[{\"address\":0,\"total_size\":1,\"blocks\":[{\"size\":1,\"state\":\"active_allocated\","
                     "\"frames\":[%s,%s,%s]}]}]",
                     first ? odd[i] : frame, first ? frame : odd[i], frame);
            struct gm_snapshot s = load(json);
            size_t depth;
            gm_stack_frames(&s, s.blocks.stack[0], &depth);
            assert_int_equal(depth, 2);
            assert_true(warns(&s, "no frames"));
            gm_snapshot_free(&s);
        }
}

TEST(every_stream_handle_is_a_stream)
{
    static const struct {
        const char *text;
        int64_t stream;
    } rows[] = {{"0", 0},
                {"-1", -1},
                {"-9223372036854775808", INT64_MIN},
                {"9223372036854775807", INT64_MAX},
                {"9223372036854775808", INT64_MIN},
                {"18446744073709551615", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[200];
        snprintf(json, sizeof json, "[{\"address\":0,\"total_size\":1,\"stream\":%s,\"blocks\":[]}]", rows[i].text);
        struct gm_snapshot s = load(json);
        assert_int_not_equal(s.segments.stream[0].v, 0);
        assert_true(s.streams[s.segments.stream[0].v] == rows[i].stream);
        assert_int_equal(s.warning_count, 0);
        gm_snapshot_free(&s);
    }
    GM_FREED_BY(gm_snapshot_free)
    struct gm_snapshot s = load("[{\"address\":0,\"total_size\":1,\"stream\":null,\"blocks\":[]}]");
    assert_int_equal(s.segments.stream[0].v, 0);
}

TEST(stacks_of_the_forward_pass_are_known)
{
    struct gm_snapshot s = load("[{\"address\":0,\"total_size\":1,\"blocks\":[{\"size\":1,"
                                "\"state\":\"active_allocated\",\"frames\":[],\"forward_frames\":[\"a\\n\"]}]}]");
    assert_int_equal(s.warning_count, 0);
    gm_snapshot_free(&s);
}

TEST(warnings_say_what_happened)
{
    struct gm_snapshot s = load("[{\"address\":0,\"total_size\":1,\"surprise\":1,\"segment_type\":7,"
                                "\"blocks\":[{\"size\":1,\"state\":\"weird\"}]}]");
    assert_int_equal(s.blocks.state[0], GM_BLOCK_INACTIVE);
    assert_true(warns(&s, "unknown key 'surprise' in a segment"));
    assert_true(warns(&s, "field 'segment_type' of a segment"));
    assert_true(warns(&s, "unknown state are counted as inactive"));
    gm_snapshot_free(&s);
}

/* Events that follow each other wait as a run, 1,000 at a time; what comes between them ends it. */
TEST(what_is_no_event_ends_a_run)
{
    enum { COUNT = 3500 };
    for (int odd = 0; odd <= COUNT; odd += 700) {
        GM_FREED struct gm_text json = {0};
        gm_text_add(&json, "{\"segments\":[],\"device_traces\":[[");
        for (int i = 0; i < COUNT; i++)
            gm_text_printf(&json, "%s%s{\"action\":\"alloc\",\"addr\":512,\"size\":%d}", i > 0 ? "," : "",
                           i == odd ? "null,7," : "", i);
        gm_text_add(&json, "]]}");
        struct gm_snapshot s = load(json.data);
        assert_int_equal(s.traces[0].count, COUNT);
        assert_int_equal(warns(&s, "2 entries of device_traces[0] are no events"), odd < COUNT);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(gm_event_size(&s.events, i), i);
        gm_snapshot_free(&s);
    }
}
