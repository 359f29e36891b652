/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of a trace by its bytes is what tokens tell: of all committed traces, and of events as strange as one
 * can make them, whole and damaged.
 */
#include "tests/formats/profile_outcome.h"
#include "tests/formats/sources.h"
#include "tests/unit.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(struct gm_source *fast, struct gm_source *plain, const char *what, size_t which)
{
    struct profile_outcome a = profile_decode(fast, false), b = profile_decode(plain, true);
    const char *difference = profile_difference(&a, &b);
    if (difference != NULL)
        fail_msg("%s %zu: %s", what, which, difference);
    gm_profile_free(&a.p);
    gm_profile_free(&b.p);
}

TEST(committed_traces)
{
    glob_t found;
    assert_int_equal(glob(GM_TRACES "/*.trace.json.gz", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct gm_source files[2], sources[2];
        uint64_t disk_bytes;
        for (int k = 0; k < 2; k++) {
            assert_int_equal(gm_source_open_file(&files[k], found.gl_pathv[i], &disk_bytes, NULL, NULL), GM_OK);
            assert_int_equal(gm_source_open_gzip(&sources[k], &files[k], NULL), GM_OK);
        }
        check(&sources[0], &sources[1], found.gl_pathv[i], i);
    }
    globfree(&found);
}

/* ---- made-up events ---------------------------------------------------------------------------------------------- */

struct text {
    char v[1 << 16];
    size_t n;
    const unsigned char *dice; /* noise */
};

static size_t roll(struct text *t, size_t sides)
{
    t->dice += 2;
    return (size_t)(t->dice[-2] | t->dice[-1] << 8) % sides;
}

static void add(struct text *t, const char *s)
{
    const size_t n = strlen(s);
    assert_true(t->n + n < sizeof t->v);
    memcpy(t->v + t->n, s, n);
    t->n += n;
}

static void add_blank(struct text *t)
{
    static const char *const blanks[] = {" ", " ", " ", " ", " ", " ", " ", " ", "", "\n    "};
    add(t, blanks[roll(t, sizeof blanks / sizeof *blanks)]);
}

static void add_key(struct text *t, const char *key, bool is_first)
{
    add(t, is_first ? "\"" : ",");
    if (!is_first) {
        add_blank(t);
        add(t, "\"");
    }
    add(t, key);
    add(t, "\":");
    add_blank(t);
}

/* Values that keys mostly have, and some that they should not. */
static void add_value(struct text *t)
{
    static const char *const values[] = {"0",
                                         "7",
                                         "-512",
                                         "18446744073709551615",
                                         "1623142623460111",
                                         "4521990366822.844",
                                         "12345678.5",
                                         "99999999",
                                         "123456789012345678901234567890",
                                         "1e3",
                                         "2.5E-1",
                                         "0.1234567890123456789",
                                         "null",
                                         "true",
                                         "NaN",
                                         "\"\"",
                                         "\"aten::mm\"",
                                         "\"a\\n\\u00e9\\u0000b\"",
                                         "\"a string that is longer than sixteen bytes\"",
                                         "[]",
                                         "[[2, 3], [], [[1]]]",
                                         "[[2,3],[],[[1]]]",
                                         "[\"float\", \"]\", \"\"]",
                                         "[\"[\"]",
                                         "[{\"a\": [1]}, 5]",
                                         "{}",
                                         "{\"Bytes\": [3, {\"ts\": 1}]}"};
    char text[64];
    const size_t which = roll(t, sizeof values / sizeof *values + 12);
    if (which < sizeof values / sizeof *values) {
        add(t, values[which]);
        return;
    }
    static const char *const around[][3] = {{"", "", ""}, {"", ".", ""}, {"\"", "/", "\""}, {"[[", ", ", "], []]"}};
    const char *const *form = around[roll(t, 4)];
    const size_t first = roll(t, 5000), second = roll(t, 1000);
    (void)snprintf(text, sizeof text, "%s%zu%s%zu%s", form[0], first, form[1], second, form[2]);
    add(t, text);
}

static void add_args(struct text *t)
{
    static const char *const keys[] = {"External id", "Input Dims", "Input type", "Call stack", "correlation",
                                       "Bytes",       "Addr",       "Device Id",  "Ev Idx",     "Sequence number"};
    const size_t first = roll(t, 4), count = roll(t, 5);
    add(t, "{");
    for (size_t i = 0; i < count; i++) {
        add_key(t, keys[(first + i) % (sizeof keys / sizeof *keys)], i == 0);
        add_value(t);
    }
    add(t, "}");
}

static void add_event(struct text *t)
{
    static const char *const phases[] = {"\"X\"", "\"X\"", "\"i\"", "\"s\"", "5"};
    static const char *const kinds[] = {"\"cpu_op\"", "\"kernel\"", "\"cuda_sync\"", "\"gpu_memcpy\"", "null"};
    static const char *const places[] = {"7", "\"stream 7\"", "\"\"", "[1]"};
    static const char *const names[] = {"\"[memory]\"", "\"aten::empty\"", "\"aten::mm\""};
    static const char *const more[] = {"ts", "dur", "name", "pid", "id", "ph", "args"};
    add_key(t, "ph", true);
    add(t, phases[roll(t, 5)]);
    add_key(t, "cat", false);
    add(t, kinds[roll(t, 5)]);
    add_key(t, "name", false);
    add(t, names[roll(t, 3)]);
    add_key(t, "pid", false);
    add(t, "1");
    add_key(t, "tid", false);
    add(t, places[roll(t, 4)]);
    add_key(t, "ts", false);
    add_value(t);
    add_key(t, "dur", false);
    add_value(t);
    if (roll(t, 8) == 0) {
        add_key(t, more[roll(t, sizeof more / sizeof *more)], false);
        add_value(t);
    }
    add_key(t, "args", false);
    if (roll(t, 10) == 0)
        add_value(t);
    else
        add_args(t);
}

static void make_trace(struct text *t)
{
    const bool is_list = roll(t, 3) == 0;
    const size_t count = 20 + roll(t, 80);
    add(t, is_list ? "[" : "{\"traceEvents\": [");
    for (size_t i = 0; i < count; i++) {
        add(t, i == 0 ? "" : ",\n");
        if (roll(t, 40) == 0) {
            add_value(t);
            continue;
        }
        add(t, "{");
        if (roll(t, 60) != 0)
            add_event(t);
        add(t, "}");
    }
    add(t, is_list ? "]" : "], \"traceEvents\": [{\"ph\": \"X\", \"name\": \"last\", \"ts\": 1, \"dur\": 2}]}");
}

TEST(made_up_traces)
{
    static struct text t;
    for (unsigned seed = 0; seed < 2000; seed++) {
        unsigned char *dice = noise(1 << 15, seed);
        struct gm_source fast, plain;
        t.n = 0;
        t.dice = dice;
        make_trace(&t);
        if (seed % 2 == 1) /* damaged somewhere */
            t.v[roll(&t, t.n)] = "\"{}[],:\\ 0\n"[roll(&t, 11)];
        assert_true(t.dice < dice + (1 << 15));
        assert_int_equal(gm_source_open_memory(&plain, t.v, t.n, NULL), GM_OK);
        if (seed % 4 < 2)
            assert_int_equal(gm_source_open_memory(&fast, t.v, t.n, NULL), GM_OK);
        else
            open_steps(&fast, t.v, t.n, 2048, 1 + seed % 97);
        check(&fast, &plain, "seed", seed);
        free(dice);
    }
}
