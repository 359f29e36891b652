/* SPDX-License-Identifier: Apache-2.0
 *
 * The builder: equal content has one id, ids count up in order of first appearance, rare columns stay implicit until a
 * row differs.
 */
#include "analyze/snapshot/builder.h"
#include "tests/unit.h"

#include <stdio.h>
#include <string.h>

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

TEST(strings_are_interned_by_content)
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

TEST(many_strings_survive_growth)
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

TEST(frames_and_stacks_are_interned)
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

TEST(streams_and_pools_keep_all_bits)
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

TEST(rare_columns_materialise_when_a_row_differs)
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
    struct gm_snapshot snapshot = {.memory = NULL};
    gm_builder_publish(m, &snapshot);
    assert_int_equal(gm_event_addr(&snapshot.events, 10000), 0);
    assert_int_equal(gm_event_addr(&snapshot.events, 9999), 2);
}

/* Numbers near each other and far from them, as packed and as plain arrays: what was given comes out. */
TEST(numbers)
{
    enum { ROWS = 30000 };
    struct gm_snapshot_memory *m = *state;
    static struct gm_event_row rows[ROWS];
    uint64_t random = 1;
    for (size_t i = 0; i < ROWS; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        const unsigned odd = (unsigned)(random >> 60); /* one row in 16 of each kind that is odd */
        rows[i] = (struct gm_event_row){.addr = UINT64_C(0x7f0000000000) + (random >> 36 << 9),
                                        .size = random >> 40,
                                        .time_us = INT64_C(1700000000000000) + (int64_t)i * 200000};
        rows[i].addr = odd == 0 ? GM_ABSENT : odd == 1 ? random : odd == 2 ? random >> 35 : rows[i].addr;
        rows[i].size = odd == 3 ? GM_ABSENT : odd == 4 ? random : odd == 5 ? UINT32_MAX : rows[i].size;
        rows[i].time_us = odd == 6 ? GM_ABSENT_TIME : odd == 7 ? (int64_t)random : odd == 8 ? -1 : rows[i].time_us;
        assert_true(gm_builder_add_event(m, &rows[i]));
    }
    /* most are near: 16 hours go by in these times, but little in 4096 rows */
    assert_true(gm_number_bytes(&m->events.addr, ROWS) + gm_number_bytes(&m->events.size, ROWS) +
                    gm_number_bytes(&m->events.time_us, ROWS) <
                ROWS * sizeof(uint64_t) * 5 / 2);
    struct gm_snapshot snapshot = {.memory = NULL};
    gm_builder_publish(m, &snapshot);
    const struct gm_events *e = &snapshot.events;
    for (int form = 0; form < 2; form++) {
        for (size_t i = 0; i < ROWS; i++) {
            assert_int_equal(gm_event_addr(e, i), rows[i].addr);
            assert_int_equal(gm_event_size(e, i), rows[i].size);
            assert_true(gm_event_time_us(e, i) == rows[i].time_us);
        }
        assert_true(gm_builder_unpack_events(&snapshot));
        assert_non_null(e->addr.plain);
    }
}

/* Two bytes each until one has no room there; a reader of columns has put some of the next rows then. */
TEST(stacks_beyond_two_bytes)
{
    struct gm_snapshot_memory *m = *state;
    const uint32_t stacks[] = {1, UINT16_MAX, 0, 7, UINT16_MAX + 1};
    for (size_t i = 0; i < 3; i++)
        assert_true(gm_builder_add_event(m, &(struct gm_event_row){.stack = {stacks[i]}}));
    for (size_t i = 3; i < 5; i++) {
        assert_null(m->events.wide_stack);
        assert_true(gm_put_stack(m, i, (struct gm_stack_id){stacks[i]}));
    }
    assert_null(m->events.narrow_stack);
    m->events.count = 5;
    struct gm_snapshot snapshot = {.memory = NULL};
    gm_builder_publish(m, &snapshot);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(gm_event_stack(&snapshot.events, i).v, stacks[i]);
}

TEST(warnings_are_said_once_and_bounded)
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

/* ---- hostile content --------------------------------------------------------------------------------------------- */

/* Whoever looks for an id walks along a run of used slots. */
static void assert_short_runs(const struct gm_id_set *set)
{
    size_t run = 0;
    for (size_t i = 0; i <= set->mask; i++) {
        run = set->slots[i] != 0 ? run + 1 : 0;
        assert_true(run < 1000);
    }
}

enum { HOSTILE = 20000 };

/* A hash that multiplies loses everything when a factor is 0, which a block that equals a public constant makes it,
 * whatever the seed: here those of the wyhash family, at each place of a block. */
TEST(content_cannot_be_chosen_to_collide)
{
    struct gm_snapshot_memory *m = *state;
    static const uint64_t constants[] = {UINT64_C(0xa0761d6478bd642f), UINT64_C(0xe7037ed1a0b428db),
                                         UINT64_C(0x8ebc6af09c88c6e3), UINT64_C(0x589965cc75374cc3), 0};
    for (size_t c = 0; c < sizeof constants / sizeof *constants; c++) {
        for (uint64_t i = 0; i < HOSTILE; i++) {
            const uint64_t words[6] = {i, i, constants[c], constants[c], 7, 7};
            const struct gm_pool_key pools[] = {{i, constants[c]}, {constants[c], i}};
            assert_true(gm_intern_string(m, words, sizeof words).v > 0);
            assert_true(
                gm_intern_frame(m, (struct gm_string_id){(uint32_t)i}, (struct gm_string_id){1}, constants[c]).v > 0);
            assert_true(gm_intern_pool(m, pools[0]).v > 0 && gm_intern_pool(m, pools[1]).v > 0);
            assert_true(gm_intern_stream(m, (int64_t)(i << 32)).v > 0);
        }
        for (uint32_t i = 0; i < HOSTILE; i++) {
            const uint32_t stack[] = {i, 5, (uint32_t)constants[c] & GM_MAX_ID,
                                      (uint32_t)(constants[c] >> 32) & GM_MAX_ID};
            assert_true(gm_intern_stack(m, stack, 4).v > 0);
        }
        assert_short_runs(&m->string_set);
        assert_short_runs(&m->frame_set);
        assert_short_runs(&m->stack_set);
        assert_short_runs(&m->pool_set);
        assert_short_runs(&m->stream_set);
    }
}

/* Strings, frames and stacks that share a guess: each keeps its own id. */
TEST(guesses_are_checked)
{
    struct gm_snapshot_memory *m = *state;
    uint32_t ids[2][3] = {{0}};
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 3; i++) {
            char text[41];
            memset(text, 'x', sizeof text); /* eight bytes at either end and the length are looked at */
            text[20] = (char)('a' + i);
            ids[round][i] = gm_intern_string(m, text, sizeof text).v;
            assert_int_equal(ids[round][i], 1 + i);
            uint32_t stack[100] = {0};
            stack[20] = 1 + i;
            assert_int_equal(gm_intern_stack(m, stack, 100).v, 2 + i);
        }
    for (uint32_t i = 0; i < 100000; i++) /* far more than guesses that are kept */
        assert_int_equal(gm_intern_frame(m, (struct gm_string_id){i}, (struct gm_string_id){i % 7}, i % 3).v, 1 + i);
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(gm_intern_frame(m, (struct gm_string_id){i}, (struct gm_string_id){i % 7}, i % 3).v, 1 + i);
}

AROUND_EACH(setup, teardown)
