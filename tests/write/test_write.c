/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots that were not read from a file: the pickle's very bytes for small ones, worked out by hand from the opcode
 * table, and what the loader finds in larger ones. Also files: complete or not there at all.
 */
#include "analyze/base/freed.h"
#include "analyze/formats/load.h"
#include "analyze/snapshot/builder.h"
#include "replay/write/write.h"
#include "tests/unit.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a sink to look into ---------------------------------------------------------------------------------------- */

struct bytes {
    unsigned char *p;
    size_t n, fail_after; /* fail_after: 0 for never */
};

static enum gm_status collect(void *context, const void *data, size_t length, struct gm_error *err)
{
    struct bytes *b = context;
    if (b->fail_after != 0 && b->n + length > b->fail_after)
        return gm_fail(err, GM_E_WRITE, GM_NO_OFFSET, "the sink is full");
    b->p = realloc(b->p, b->n + length + 1);
    assert_non_null(b->p);
    memcpy(b->p + b->n, data, length);
    b->n += length;
    return GM_OK;
}

static struct bytes written(const struct gm_snapshot *s)
{
    struct bytes b = {0};
    const struct gm_sink sink = {.write = collect, .context = &b};
    struct gm_error err = {0};
    if (gm_write_pickle(s, &sink, &err) != GM_OK)
        fail_msg("%s", err.message);
    return b;
}

/* ---- snapshots by hand ------------------------------------------------------------------------------------------ */

/* Of the test: what is filled, the snapshot of it, what was written of that and what was read of that. */
static struct gm_snapshot_memory *m;
static struct made {
    struct gm_snapshot s;
    struct gm_trace trace;
} made;
static struct bytes b;
static struct gm_snapshot again;

static int forget(void **state)
{
    gm_snapshot_free(&again);
    free(b.p);
    gm_snapshot_free(&made.s);
    again = (struct gm_snapshot){0};
    b = (struct bytes){0};
    made = (struct made){0};
    return 0;
}
AROUND_EACH(NULL, forget)

static void begin(void)
{
    forget(NULL);
    m = gm_snapshot_memory_new();
    assert_non_null(m);
}

/* A snapshot of one trace with these events. */
static void make(const struct gm_event_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_true(gm_builder_add_event(m, &rows[i]));
    gm_builder_publish(m, &made.s);
    made.trace = (struct gm_trace){.first = 0, .count = count, .max_entries = GM_ABSENT};
    made.s.traces = &made.trace;
    made.s.trace_count = 1;
}

static const struct gm_event_row plain = {
    .action = GM_ACTION_SNAPSHOT, .addr = GM_ABSENT, .size = GM_ABSENT, .time_us = GM_ABSENT_TIME};

static void write_and_read(void)
{
    struct gm_error err = {0};
    b = written(&made.s);
    if (gm_snapshot_load_bytes(&again, b.p, b.n, "written", NULL, &err) != GM_OK)
        fail_msg("%s", err.message);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------ */

TEST(empty)
{
    begin();
    gm_builder_publish(m, &made.s);
    b = written(&made.s);
    /* PROTO 4, FRAME, { ( 'segments' MEMOIZE ] 'device_traces' MEMOIZE ] u . */
    static const unsigned char expected[] = "\x80\x04\x95\x21\0\0\0\0\0\0\0}(\x8c\x08segments\x94]\x8c\x0d"
                                            "device_traces\x94]u.";
    assert_int_equal(b.n, sizeof expected - 1);
    assert_memory_equal(b.p, expected, b.n);
    free(b.p);
    made.s.source.is_bare_segment_list = true;
    b = written(&made.s);
    assert_int_equal(b.n, 4); /* two bytes are not worth a frame */
    assert_memory_equal(b.p, "\x80\x04].", 4);
}

/* The opcode of the one event's "size", behind the word (BININT1 is 2 bytes, and so on). */
static void check_number(uint64_t v, const char *opcode, size_t length)
{
    begin();
    struct gm_event_row row = plain;
    row.action = GM_ACTION_ALLOC;
    row.size = v;
    make(&row, 1);
    write_and_read();
    static const char key[] = "\x8c\x04size\x94";
    const unsigned char *at = memmem(b.p, b.n, key, sizeof key - 1);
    assert_non_null(at);
    assert_memory_equal(at + sizeof key - 1, opcode, length);
    assert_int_equal(at[sizeof key - 1 + length], 'u'); /* nothing of the number is left */
    assert_int_equal(gm_event_size(&again.events, 0), v);
}

TEST(numbers)
{
    check_number(0, "K\0", 2);
    check_number(255, "K\xff", 2);
    check_number(256, "M\0\1", 3);
    check_number(65535, "M\xff\xff", 3);
    check_number(65536, "J\0\0\1\0", 5);
    check_number(0x7fffffff, "J\xff\xff\xff\x7f", 5);
    check_number(0x80000000, "\x8a\5\0\0\0\x80\0", 7);
    check_number(UINT64_C(0x7f1234567890), "\x8a\6\x90\x78\x56\x34\x12\x7f", 8);
    check_number(UINT64_C(0x8f1234567890), "\x8a\7\x90\x78\x56\x34\x12\x8f\0", 9);
    check_number(INT64_MAX, "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", 10);
    check_number(UINT64_C(1) << 63, "\x8a\x09\0\0\0\0\0\0\0\x80\0", 11);
    check_number(UINT64_MAX - 1, "\x8a\x09\xfe\xff\xff\xff\xff\xff\xff\xff\0", 11);
}

TEST(negatives)
{
    static const struct {
        int64_t v;
        const char *opcode;
        size_t length;
    } cases[] = {{-1, "J\xff\xff\xff\xff", 5},
                 {INT32_MIN, "J\0\0\0\x80", 5},
                 {(int64_t)INT32_MIN - 1, "\x8a\5\xff\xff\xff\x7f\xff", 7},
                 {-(INT64_C(1) << 39), "\x8a\5\0\0\0\0\x80", 7},
                 {INT64_MIN + 1, "\x8a\x08\1\0\0\0\0\0\0\x80", 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        struct gm_event_row row = plain;
        row.action = GM_ACTION_FREE;
        row.time_us = cases[i].v;
        make(&row, 1);
        write_and_read();
        static const char key[] = "\x8c\x07time_us\x94";
        const unsigned char *at = memmem(b.p, b.n, key, sizeof key - 1);
        assert_non_null(at);
        assert_memory_equal(at + sizeof key - 1, cases[i].opcode, cases[i].length);
        assert_true(gm_event_time_us(&again.events, 0) == cases[i].v);
    }
}

/* Two events of one stack: one list, one dictionary, each key and word once, and fetched by two bytes from then on. */
TEST(sharing)
{
    begin();
    struct gm_frame_id frame = gm_intern_frame(m, gm_intern_string(m, "f", 1), gm_intern_string(m, "a.py", 4), 7);
    struct gm_event_row row = plain;
    row.action = GM_ACTION_ALLOC;
    row.addr = 512;
    row.stack = gm_intern_stack(m, &frame.v, 1);
    const struct gm_event_row rows[] = {row, row};
    make(rows, 2);
    b = written(&made.s);
    static const unsigned char events[] =
        "](}(\x8c\6action\x94\x8c\5alloc\x94\x8c\4addr\x94M\0\2\x8c\6frames\x94]\x94}\x94(\x8c\4name\x94\x8c\1f\x94"
        "\x8c\x08"
        "filename\x94\x8c\4a.py\x94\x8c\4line\x94K\7uau}(h\2h\3h\4M\0\2h\5h\6ueau.";
    assert_true(b.n > sizeof events);
    assert_memory_equal(b.p + b.n - (sizeof events - 1), events, sizeof events - 1);
}

/* ---- strings and frames ----------------------------------------------------------------------------------------- */

static void check_string(const char *text, size_t length, const char *arrives, size_t arrives_length)
{
    begin();
    struct gm_event_row row = plain;
    row.action = GM_ACTION_ALLOC;
    row.user_metadata = gm_intern_string(m, text, length).v;
    make(&row, 1);
    write_and_read();
    size_t n;
    const char *got = gm_string(&again, (struct gm_string_id){gm_rare_at(&again.events.user_metadata, 0)}, &n);
    assert_int_equal(n, arrives_length);
    assert_memory_equal(got, arrives, n);
}

TEST(strings)
{
    static const char *const same[] = {"", "plain", "caf\xc3\xa9", "\xf0\x9f\x9a\x80", "\xed\xa0\xbd", "\xed\xbf\xbf"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        check_string(same[i], strlen(same[i]), same[i], strlen(same[i]));
    check_string("a\0b", 3, "a\0b", 3);
    check_string("\xff", 1, "\xed\xb3\xbf", 3);                   /* U+DCFF */
    check_string("caf\xe9", 4, "caf\xed\xb3\xa9", 6);             /* U+DCE9 */
    check_string("\xc0\xaf", 2, "\xed\xb3\x80\xed\xb2\xaf", 6);   /* overlong */
    check_string("x\xe6\xa8", 3, "x\xed\xb3\xa6\xed\xb2\xa8", 7); /* cut */
    static const size_t lengths[] = {255, 256, 65535, 65536, 200000, 3000000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char *text = malloc(lengths[i]);
        assert_non_null(text);
        memset(text, 'z', lengths[i]);
        check_string(text, lengths[i], text, lengths[i]);
        free(text);
    }
}

/* Frames hold 64 KiB and a little more, one after the other; together with what lies outside they are all there is. */
TEST(frames)
{
    enum { COUNT = 20000 };
    begin();
    GM_FREED struct gm_event_row *rows = calloc(COUNT, sizeof *rows);
    assert_non_null(rows);
    for (uint32_t i = 0; i < COUNT; i++) {
        rows[i] = plain;
        rows[i].action = (uint8_t)(1 + i % (GM_ACTION_COUNT - 1));
        rows[i].addr = (uint64_t)i << 33;
        rows[i].size = i;
    }
    make(rows, COUNT);
    write_and_read();
    size_t frames = 0, at = 2;
    while (at < b.n) {
        uint64_t length;
        assert_int_equal(b.p[at], 0x95);
        memcpy(&length, b.p + at + 1, 8);
        at += 9 + (size_t)length;
        assert_true(at == b.n || (length >= 65536 && length < 65536 + 200));
        frames++;
    }
    assert_int_equal(at, b.n);
    assert_true(frames > 3);
    assert_int_equal(again.events.count, COUNT);
    assert_memory_equal(again.events.action, made.s.events.action, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(gm_event_size(&again.events, i), gm_event_size(&made.s.events, i));
        assert_int_equal(gm_event_addr(&again.events, i), gm_event_addr(&made.s.events, i));
    }
}

/* ---- settings, ring --------------------------------------------------------------------------------------------- */

TEST(settings)
{
    begin();
    const struct gm_setting settings[] = {
        {.key = "max_split_size", .type = GM_SETTING_INTEGER, .integer = -1},
        {.key = "roundup_power2_divisions.1", .type = GM_SETTING_INTEGER, .integer = 4},
        {.key = "roundup_power2_divisions.2", .type = GM_SETTING_INTEGER, .integer = 8},
        {.key = "garbage_collection_threshold", .type = GM_SETTING_REAL, .real = 0.8},
        {.key = "expandable_segments", .type = GM_SETTING_BOOL, .integer = 1},
        {.key = "nothing", .type = GM_SETTING_NONE}};
    make(&plain, 0);
    made.trace.max_entries = 100;
    made.trace.overflowed = GM_TRUE;
    made.s.has_settings = true;
    made.s.settings = settings;
    made.s.setting_count = sizeof settings / sizeof *settings;
    write_and_read();
    assert_int_equal(again.setting_count, made.s.setting_count);
    for (size_t i = 0; i < again.setting_count; i++) {
        assert_string_equal(again.settings[i].key, settings[i].key);
        assert_int_equal(again.settings[i].type, settings[i].type);
        assert_true(again.settings[i].integer == settings[i].integer && again.settings[i].real == settings[i].real);
    }
    assert_int_equal(again.traces[0].max_entries, 100);
    assert_int_equal(again.traces[0].overflowed, GM_TRUE);
}

/* ---- failures --------------------------------------------------------------------------------------------------- */

TEST(full_sink)
{
    begin();
    make(&plain, 1);
    b = written(&made.s);
    for (size_t room = 1; room < b.n; room++) {
        struct bytes part = {.fail_after = room};
        const struct gm_sink sink = {.write = collect, .context = &part};
        struct gm_error err = {0};
        assert_int_equal(gm_write_pickle(&made.s, &sink, &err), GM_E_WRITE);
        assert_string_equal(err.message, "the sink is full");
        free(part.p);
    }
}

static size_t entries(const char *folder)
{
    DIR *d = opendir(folder);
    assert_non_null(d);
    size_t n = 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

TEST(files)
{
    char folder[] = "/tmp/gm-write-XXXXXX", path[PATH_MAX], link[PATH_MAX];
    assert_non_null(mkdtemp(folder));
    begin();
    make(&plain, 1);
    b = written(&made.s);
    struct gm_error err = {0};
    static const char *const names[] = {"a.pickle", "a.pickle.gz", "a.pickle.zst"};
    static const enum gm_compression expected[] = {GM_COMPRESSION_NONE, GM_COMPRESSION_GZIP, GM_COMPRESSION_ZSTD};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        for (int turn = 0; turn < 2; turn++) /* the second one replaces the first */
            assert_int_equal(gm_write_snapshot_file(&made.s, NULL, path, &err), GM_OK);
        struct gm_snapshot s;
        assert_int_equal(gm_snapshot_load(&s, path, NULL, &err), GM_OK);
        assert_int_equal(s.source.compression, expected[i]);
        assert_int_equal(s.source.decoded_bytes, b.n);
        assert_int_equal(s.events.count, 1);
        gm_snapshot_free(&s);
    }
    assert_int_equal(entries(folder), 3);
    /* through a link: the link stays one */
    snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink("a.pickle", link), 0);
    assert_int_equal(gm_write_snapshot_file(&made.s, NULL, link, &err), GM_OK);
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(entries(folder), 4);
    /* what cannot be written leaves nothing */
    snprintf(path, sizeof path, "%s/no/such/folder", folder);
    assert_int_equal(gm_write_snapshot_file(&made.s, NULL, path, &err), GM_E_WRITE);
    assert_non_null(strstr(err.message, "No such file"));
    assert_int_equal(gm_write_snapshot_file(&made.s, NULL, folder, &err), GM_E_WRITE);
    assert_int_equal(gm_write_snapshot_file(&made.s, NULL, "/dev/full", &err), GM_E_WRITE);
    assert_int_equal(gm_write_snapshot_file(&made.s, NULL, "/dev/null", &err), GM_OK);
    assert_int_equal(entries(folder), 4);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    unlink(link);
    assert_int_equal(rmdir(folder), 0);
}
