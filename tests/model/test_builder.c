/* SPDX-License-Identifier: Apache-2.0
 *
 * The builder: equal content has one id, ids count up in order of first appearance, rare columns stay implicit until a
 * row differs.
 */
#include "analyze/model/builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int setup(void **state)
{
    *state = gm_snapshot_memory_new();
    return *state == NULL;
}

static int teardown(void **state)
{
    gm_snapshot_memory_free(*state);
    return 0;
}

static uint32_t string(struct gm_snapshot_memory *m, const char *s)
{
    return gm_intern_string(m, s, strlen(s)).v;
}

static void strings_are_interned_by_content(void **state)
{
    struct gm_snapshot_memory *m = *state;
    assert_int_equal(string(m, ""), 1); /* an empty string is present: not the absent id 0 */
    assert_int_equal(string(m, "forward"), 2);
    assert_int_equal(string(m, "forwarD"), 3);
    assert_int_equal(string(m, "forward"), 2);
    assert_int_equal(gm_intern_string(m, "a\0b", 3).v, 4);
    assert_int_equal(gm_intern_string(m, "a\0c", 3).v, 5);
    assert_int_equal(gm_intern_string(m, "a", 1).v, 6);
    /* every length around the hash's steps of 8 and 16 bytes, differing in each single byte */
    char text[40];
    for (size_t n = 1; n < sizeof text; n++)
        for (size_t i = 0; i < n; i++) {
            memset(text, 'x', n);
            text[i] = 'y';
            uint32_t id = gm_intern_string(m, text, n).v;
            assert_int_equal(gm_intern_string(m, text, n).v, id);
            assert_int_equal(m->string_start.v[id + 1] - m->string_start.v[id], n);
            assert_memory_equal(m->string_bytes.v + m->string_start.v[id], text, n);
        }
}

static void many_strings_survive_growth(void **state)
{
    struct gm_snapshot_memory *m = *state;
    char text[16];
    for (uint32_t i = 0; i < 20000; i++) {
        snprintf(text, sizeof text, "s%u", i);
        assert_int_equal(string(m, text), i + 1);
    }
    for (uint32_t i = 0; i < 20000; i++) {
        snprintf(text, sizeof text, "s%u", i);
        assert_int_equal(string(m, text), i + 1);
    }
}

static void frames_and_stacks_are_interned(void **state)
{
    struct gm_snapshot_memory *m = *state;
    struct gm_string_id f = gm_intern_string(m, "f", 1), g = gm_intern_string(m, "g", 1);
    uint32_t a = gm_intern_frame(m, f, g, 1).v, b = gm_intern_frame(m, g, f, 1).v;
    uint32_t c = gm_intern_frame(m, f, g, GM_ABSENT).v;
    assert_int_equal(a, 1);
    assert_int_equal(b, 2);
    assert_int_equal(c, 3);
    assert_int_equal(gm_intern_frame(m, f, g, 1).v, a);

    const uint32_t high = UINT32_C(5) << 28; /* a reference's kind does not count */
    assert_int_equal(gm_intern_stack(m, NULL, 0).v, GM_STACK_EMPTY);
    uint32_t ab = gm_intern_stack(m, (uint32_t[]){a | high, b | high}, 2).v;
    uint32_t ba = gm_intern_stack(m, (uint32_t[]){b | high, a | high}, 2).v;
    assert_int_equal(ab, 2);
    assert_int_equal(ba, 3);
    assert_int_equal(gm_intern_stack(m, (uint32_t[]){a | high, b | high}, 2).v, ab);
    assert_int_equal(m->stack_frames.v[m->stack_start.v[ab]].v, a);
}

static void streams_and_pools_keep_all_bits(void **state)
{
    struct gm_snapshot_memory *m = *state;
    assert_int_equal(gm_intern_stream(m, 0).v, 1);
    assert_int_equal(gm_intern_stream(m, -1).v, 2);
    assert_int_equal(gm_intern_stream(m, INT64_MIN).v, 3);
    assert_int_equal(gm_intern_stream(m, 0).v, 1);
    assert_true(m->streams.v[3] == INT64_MIN);
    assert_int_equal(gm_intern_pool(m, (struct gm_pool_key){0, 0}).v, 1);
    assert_int_equal(gm_intern_pool(m, (struct gm_pool_key){0, 2}).v, 2);
    assert_int_equal(gm_intern_pool(m, (struct gm_pool_key){2, 0}).v, 3);
    assert_int_equal(gm_intern_pool(m, (struct gm_pool_key){0, 2}).v, 2);
}

static void rare_columns_materialise_when_a_row_differs(void **state)
{
    struct gm_snapshot_memory *m = *state;
    struct gm_event_row row = {.stream = 7, .time_us = GM_ABSENT_TIME};
    for (uint64_t i = 0; i < 10000; i++) {
        row.addr = i;
        assert_true(gm_builder_add_event(m, &row));
    }
    assert_null(m->events.stream.v);
    assert_int_equal(m->events.stream.all, 7);
    assert_false(m->events.any_time);
    row.stream = 8;
    row.time_us = 0; /* zero is a time */
    assert_true(gm_builder_add_event(m, &row));
    row.stream = 7;
    for (int i = 0; i < 10000; i++)
        assert_true(gm_builder_add_event(m, &row));
    assert_true(m->events.any_time);
    struct gm_rare_column column = {m->events.stream.v, m->events.stream.all};
    assert_non_null(column.v);
    assert_int_equal(gm_rare_at(&column, 0), 7);
    assert_int_equal(gm_rare_at(&column, 9999), 7);
    assert_int_equal(gm_rare_at(&column, 10000), 8);
    assert_int_equal(gm_rare_at(&column, 10001), 7);
    assert_int_equal(gm_rare_at(&column, 20000), 7);

    /* turned around, and every other row dropped */
    static uint32_t order[10001];
    for (uint32_t i = 0; i <= 10000; i++)
        order[i] = 20000 - 2 * i;
    assert_true(gm_builder_permute_events(m, order, 10001));
    assert_int_equal(m->events.count, 10001);
    assert_int_equal(m->events.stream.v[5000], 8);
    assert_int_equal(m->events.addr[10000], 0);
    assert_int_equal(m->events.addr[9999], 2);
}

static void warnings_are_said_once_and_bounded(void **state)
{
    struct gm_snapshot_memory *m = *state;
    for (int i = 0; i < 5; i++)
        assert_true(gm_builder_warn(m, "the same\nline"));
    assert_int_equal(m->warnings.n, 1);
    assert_string_equal(m->warnings.v[0], "the same\\x0aline");
    for (int i = 0; i < 1000; i++)
        assert_true(gm_builder_warn(m, "warning %d", i));
    assert_int_equal(m->warnings.n, 101);
    assert_string_equal(m->warnings.v[100], "further warnings were left out");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(strings_are_interned_by_content, setup, teardown),
        cmocka_unit_test_setup_teardown(many_strings_survive_growth, setup, teardown),
        cmocka_unit_test_setup_teardown(frames_and_stacks_are_interned, setup, teardown),
        cmocka_unit_test_setup_teardown(streams_and_pools_keep_all_bits, setup, teardown),
        cmocka_unit_test_setup_teardown(rare_columns_materialise_when_a_row_differs, setup, teardown),
        cmocka_unit_test_setup_teardown(warnings_are_said_once_and_bounded, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
