/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that ask for code to be run, for more memory than they are worth, or that are damaged anywhere.
 */
#include "analyze/formats/load.h"
#include "tests/formats/fixtures.h"
#include "tests/formats/model_check.h"
#include "tests/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ADD(b, literal) add_bytes((b), (literal), sizeof(literal) - 1)

/* A sanitizer's quarantine and shadow would be measured, too. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GM_IS_SANITIZED 1
#endif
#endif
#if defined(GM_IS_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MEASURES_MEMORY = 0 };
#else
enum { MEASURES_MEMORY = 1 };
#endif

static enum gm_status load(struct bytes b, bool salvage, struct gm_snapshot *s, struct gm_error *err)
{
    const struct gm_load_options options = {.salvage = salvage};
    *err = (struct gm_error){0};
    return gm_snapshot_load_bytes(s, b.p, b.n, "hostile", &options, err);
}

/* Loads and checks what has to hold of any result. */
static enum gm_status load_checked(struct bytes b, bool salvage, const char *what, size_t where)
{
    struct gm_snapshot s;
    struct gm_error err;
    enum gm_status status = load(b, salvage, &s, &err);
    if (status == GM_OK) {
        const char *wrong = gm_model_check(&s);
        if (wrong != NULL)
            fail_msg("%s, byte %zu: %s", what, where, wrong);
    } else if (err.message[0] == '\0' || err.status != status || s.memory != NULL) {
        fail_msg("%s, byte %zu: status %d without a message, or with a snapshot", what, where, (int)status);
    }
    gm_snapshot_free(&s);
    return status;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

#define ROW(name, bytes)                                                                                               \
    {                                                                                                                  \
        name, bytes, sizeof bytes - 1                                                                                  \
    }

TEST(refused)
{
    static const struct {
        const char *name, *bytes;
        size_t n;
    } rows[] = {
        ROW("GLOBAL", "cos\nsystem\n"),
        ROW("STACK_GLOBAL", "\x93"),
        ROW("REDUCE", "R"),
        ROW("BUILD", "b"),
        ROW("INST", "(ios\nsystem\n"),
        ROW("OBJ", "o"),
        ROW("NEWOBJ", "\x81"),
        ROW("NEWOBJ_EX", "\x92"),
        ROW("EXT1", "\x82\001"),
        ROW("EXT2", "\x83\001\000"),
        ROW("EXT4", "\x84\1\0\0\0"),
        ROW("PERSID", "Pabc\n"),
        ROW("BINPERSID", "Q"),
        ROW("NEXT_BUFFER", "\x97"),
        ROW("READONLY_BUFFER", "\x98"),
    };
    static const char before[] = "\x80\x04}\x94(X\x08\0\0\0segments]\x94X\x01\0\0\0k";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int salvage = 0; salvage < 2; salvage++) { /* nothing of such a file is trusted, salvage or not */
            struct bytes b = {0};
            add_bytes(&b, before, sizeof before - 1);
            add_bytes(&b, rows[i].bytes, rows[i].n);
            ADD(&b, "u.");
            struct gm_snapshot s;
            struct gm_error err;
            assert_int_equal(load(b, salvage, &s, &err), GM_E_REFUSED);
            size_t mark = strcmp(rows[i].name, "INST") == 0; /* the MARK before it is fine */
            if (strstr(err.message, rows[i].name) == NULL || err.offset != sizeof before - 1 + mark)
                fail_msg("%s: %s (byte %" PRIu64 ")", rows[i].name, err.message, err.offset);
            free(b.p);
        }
}

/* The same at the very start, in protocols that have no PROTO. */
TEST(refused_at_once)
{
    static const char *const files[] = {"cos\nsystem\n(S'true'\ntR.", "(ios\nsystem\n.", "(cos\nsystem\no."};
    static const uint64_t offsets[] = {0, 1, 1};
    for (size_t i = 0; i < 3; i++) {
        struct bytes b = {(unsigned char *)(uintptr_t)files[i], strlen(files[i])};
        struct gm_snapshot s;
        struct gm_error err;
        assert_int_equal(load(b, false, &s, &err), GM_E_REFUSED);
        assert_int_equal(err.offset, offsets[i]);
    }
}

/* ---- bombs ------------------------------------------------------------------------------------------------------- */

static struct bytes repeat_file(const char *head, size_t head_n, const char *part, size_t n, size_t times,
                                const char *tail)
{
    struct bytes b = {0};
    add_bytes(&b, head, head_n);
    add_many(&b, part, n, times);
    add_bytes(&b, tail, strlen(tail));
    return b;
}

/* Loads in a process of its own, and checks how much memory that took beyond `before` loading. */
static void expect_bounded(const char *what, struct bytes b, size_t allowed_kb)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        int wrong = 0;
        for (int salvage = 0; salvage < 2; salvage++) {
            struct gm_snapshot s;
            struct gm_error err;
            enum gm_status status = load(b, salvage, &s, &err);
            getrusage(RUSAGE_SELF, &after);
            if (status != GM_OK && err.message[0] == '\0')
                wrong = 2;
            gm_snapshot_free(&s);
        }
        size_t used = (size_t)(after.ru_maxrss - before.ru_maxrss);
        if (MEASURES_MEMORY && used > allowed_kb) {
            fprintf(stderr, "%s: %zu bytes of input took %zu KiB\n", what, b.n, used);
            wrong = 1;
        }
        _exit(wrong);
    }
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    free(b.p);
    if (!WIFEXITED(code) || WEXITSTATUS(code) != 0)
        fail_msg("%s: wait status %x", what, (unsigned)code);
}

enum { SMALL_KB = 8 << 10 }; /* windows, tables of words, and what a sanitizer adds */
enum { MILLION = MEASURES_MEMORY ? 1000000 : 100000 };

static void expect_status(struct bytes b, enum gm_status status, uint64_t offset)
{
    struct gm_snapshot s;
    struct gm_error err;
    assert_int_equal(load(b, false, &s, &err), status);
    if (offset != GM_NO_OFFSET)
        assert_int_equal(err.offset, offset);
    free(b.p);
}

TEST(claims)
{
    /* lengths, counts and indices that the file does not have the bytes for */
    static const struct {
        const char *what, *bytes;
        size_t n;
    } rows[] = {
        ROW("memo index", "\x80\002}r\xff\xff\xff\xff."),
        ROW("memo index in text", "(dp4294967295\n."),
        ROW("memo index beyond 64 bits", "(dp99999999999999999999999\n."),
        ROW("memo fetch", "\x80\002j\xff\xff\xff\xff."),
        ROW("BINUNICODE", "\x80\002X\xff\xff\xff\xff."),
        ROW("BINUNICODE8", "\x80\004\x8d\xff\xff\xff\xff\xff\xff\xff\x7f."),
        ROW("BINUNICODE8 2^63", "\x80\004\x8d\0\0\0\0\0\0\0\x80."),
        ROW("BINUNICODE8 2^64-1", "\x80\004\x8d\xff\xff\xff\xff\xff\xff\xff\xff."),
        ROW("BINBYTES8", "\x80\004\x8e\xff\xff\xff\xff\xff\xff\xff\x7f."),
        ROW("BYTEARRAY8", "\x80\005\x96\xff\xff\xff\xff\xff\xff\xff\x7f."),
        ROW("BINSTRING", "\x80\002T\xff\xff\xff\x7f."),
        ROW("BINSTRING negative", "\x80\002T\xff\xff\xff\xff."),
        ROW("LONG4", "\x80\002\x8b\xff\xff\xff\x7f."),
        ROW("LONG4 negative", "\x80\002\x8b\xff\xff\xff\xff."),
        ROW("FRAME", "\x80\004\x95\xff\xff\xff\xff\xff\xff\xff\xff}."),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes b = {0};
        add_bytes(&b, rows[i].bytes, rows[i].n);
        assert_int_not_equal(load_checked(b, false, rows[i].what, 0), GM_OK);
        expect_bounded(rows[i].what, b, SMALL_KB);
    }
    struct bytes frame = {0}; /* what a frame claims does not matter */
    ADD(&frame, "\x80\004\x95\xff\xff\xff\xff\xff\xff\xff\xff}X\x08\0\0\0segments]s.");
    assert_int_equal(load_checked(frame, false, "FRAME", 0), GM_OK);
    free(frame.p);
}

TEST(nesting)
{
    expect_status(repeat_file("\x80\002", 2, "](", 2, MILLION, "."), GM_E_LIMIT, 2 + 2 * 200 + 1);
    expect_status(repeat_file("\x80\002", 2, "(", 1, MILLION, "."), GM_E_LIMIT, 2 + 200);
    expect_status(repeat_file("", 0, "[", 1, MILLION, ""), GM_E_LIMIT, 200);
    expect_status(repeat_file("", 0, "{\"a\":", 5, MILLION, ""), GM_E_LIMIT, 5 * 200);
    expect_status(repeat_file("(", 1, "(l", 2, MILLION, "."), GM_E_FORMAT, GM_NO_OFFSET); /* no pickle begins so */
    expect_bounded("lists in lists", repeat_file("\x80\002", 2, "](", 2, MILLION, "."), SMALL_KB);
    expect_bounded("marks", repeat_file("\x80\002", 2, "(", 1, MILLION, "."), SMALL_KB);
    expect_bounded("tuples in tuples", repeat_file("\x80\002N", 3, "\x85", 1, MILLION, "."), 64 << 10);
    expect_bounded("lists in lists, appended", repeat_file("\x80\002]", 3, "]a", 2, MILLION, "."), 64 << 10);
    expect_bounded("values left lying", repeat_file("\x80\002", 2, "]", 1, 4 * MILLION, "."), 256 << 10);
    expect_bounded("numbers left lying", repeat_file("\x80\002", 2, "K\1", 2, 4 * MILLION, "."), 256 << 10);
    expect_bounded("duplicates", repeat_file("\x80\002N", 3, "2", 1, 4 * MILLION, "."), 256 << 10);
    expect_bounded("memoised numbers", repeat_file("\x80\004N", 3, "\x94", 1, 4 * MILLION, "."), 64 << 10);
    expect_bounded("json lists", repeat_file("[", 1, "[],", 3, MILLION, "0]"), 64 << 10);
    expect_bounded("json strings", repeat_file("[", 1, "\"\",", 3, MILLION, "0]"), 64 << 10);
}

/* Each list holds the one before ten times: exponential if anything were copied or walked. */
TEST(shared_lists)
{
    struct bytes b = {0};
    ADD(&b, "\x80\004]\x94");
    for (unsigned i = 0; i < 200; i++) {
        ADD(&b, "]\x94(");
        const unsigned char get[2] = {'h', (unsigned char)i};
        add_many(&b, get, 2, 10);
        ADD(&b, "e");
    }
    ADD(&b, "}X\x08\0\0\0segmentsh\307s.");
    expect_bounded("shared lists", b, SMALL_KB);
}

/* One trace of a thousand events, named a hundred thousand times. */
TEST(shared_traces)
{
    struct bytes b = {0};
    ADD(&b, "\x80\004}X\x0d\0\0\0device_traces](]\x94(");
    static const char event[] = "}X\6\0\0\0actionX\5\0\0\0allocs";
    add_many(&b, event, sizeof event - 1, 1000);
    ADD(&b, "e");
    add_many(&b, "h\0", 2, 100000);
    ADD(&b, "es.");
    expect_bounded("shared traces", b, 256 << 10);
}

/* One segment of a thousand blocks, named a hundred thousand times. */
TEST(shared_segments)
{
    static const char block[] = "}(X\5\0\0\0stateX\x08\0\0\0inactiveX\4\0\0\0sizeK\1u";
    static const char segment[] = "}\x94(X\7\0\0\0addressK\1X\x0a\0\0\0total_sizeK\1X\6\0\0\0blocks](";
    struct bytes b = {0};
    ADD(&b, "\x80\004](");
    add_bytes(&b, segment, sizeof segment - 1);
    add_many(&b, block, sizeof block - 1, 1000);
    ADD(&b, "eu");
    add_many(&b, "h\0", 2, 100000);
    ADD(&b, "e.");
    expect_bounded("shared segments", b, 256 << 10);
}

/* A report is made for each device: traces of one event for each of `count`, and of none for as many before them; half
 * of the devices have a segment, too. */
static void expect_devices(int count, enum gm_status status)
{
    struct bytes b = {0};
    static const char none[] = ", []", one[] = ", [{\"action\": \"alloc\"}]";
    char segment[120];
    ADD(&b, "{\"device_traces\": [[]");
    add_many(&b, none, sizeof none - 1, (size_t)count - 1);
    add_many(&b, one, sizeof one - 1, (size_t)count);
    ADD(&b, "], \"segments\": [");
    for (int i = 0; i < count; i += 2) {
        snprintf(segment, sizeof segment, "%s{\"device\": %d, \"address\": 512, \"total_size\": 512}",
                 i > 0 ? ", " : "", 2 * count - 1 - i);
        add_bytes(&b, segment, strlen(segment));
    }
    ADD(&b, "]}");
    struct gm_snapshot s;
    struct gm_error err;
    assert_int_equal(load(b, false, &s, &err), status);
    if (status == GM_OK)
        assert_int_equal(s.trace_count, 2 * count);
    else
        assert_string_equal(err.message, "more than 1024 devices with a segment or an event");
    gm_snapshot_free(&s);
    assert_int_equal(load(b, true, &s, &err), status);
    gm_snapshot_free(&s);
    free(b.p);
}

TEST(devices)
{
    expect_devices(1024, GM_OK);
    expect_devices(1025, GM_E_LIMIT);
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

static const char *const small_files[] = {
    "full.p0.pickle",        "full.p1.pickle",  "full.p2.pickle",        "full.p4.pickle",
    "full.p5-python.pickle", "full.cpp.pickle", "full.python2-0.pickle", "full.json",
    "full.pickle.gz",        "full.1.html",     "legacy.p2.pickle",      "legacy.json",
};
enum { SMALL_FILES = sizeof small_files / sizeof *small_files };

TEST(cut_everywhere)
{
    const unsigned every = unit_sampled(); /* more than 1: one piece in so many, with salvage or without in turn */
    for (size_t i = 0; i < SMALL_FILES; i++) {
        struct bytes b = read_fixture(small_files[i]);
        size_t last_ok = 0;
        for (size_t n = (b.n - 1) % every; n < b.n; n += every) {
            unsigned char *copy = malloc(n > 0 ? n : 1); /* of its very size, for the sanitizer */
            memcpy(copy, b.p, n);
            struct bytes cut = {copy, n};
            const bool is_salvaged = every == 1 || (b.n - 1 - n) / every % 2 == 0;
            if (every == 1 || !is_salvaged) {
                enum gm_status status = load_checked(cut, false, small_files[i], n);
                bool is_tail = status == GM_OK; /* the end of an HTML page */
                if (!is_tail && status != GM_E_TRUNCATED && status != GM_E_FORMAT)
                    fail_msg("%s cut at %zu: %d", small_files[i], n, (int)status);
                if (is_tail && strstr(small_files[i], ".html") == NULL)
                    fail_msg("%s cut at %zu loads", small_files[i], n);
            }
            if (is_salvaged && load_checked(cut, true, small_files[i], n) == GM_OK)
                last_ok = n;
            free(copy);
        }
        assert_int_equal(last_ok, b.n - 1);
        free(b.p);
    }
}

/* With salvage, a longer piece never gives less, and all but the last byte give everything. */
/* Events whose lists of frames are longer than what must be in the window for one opcode: the list that is expected
 * ends behind the end of the file. */
TEST(cut_in_a_long_list)
{
    enum { FRAMES = 200, EVENTS = 6, EVENT = 2 * FRAMES + 40 };
    struct bytes b = {0};
    ADD(&b, "\x80\x04}\x94(\x8c\x08segments\x94]\x94\x8c\x0d"
            "device_traces\x94]\x94]\x94(");
    ADD(&b, "}\x94(\x8c\x06"
            "action\x94\x8c\x05"
            "alloc\x94\x8c\x04"
            "addr\x94K\x40\x8c\x04size\x94K\x40\x8c\x06"
            "frames\x94]\x94(}\x94(");
    ADD(&b, "\x8c\x04name\x94\x8c\x01"
            "f\x94\x8c\x08"
            "filename\x94\x8c\x01"
            "f\x94\x8c\x04line\x94K\x01u");
    add_many(&b, "h\x0d", 2, FRAMES - 1); /* the frame once more */
    ADD(&b, "e\x8c\x06stream\x94K\x00u");
    for (int i = 0; i < EVENTS; i++) {
        ADD(&b, "}\x94(h\x07h\x08h\x09K\x40h\x0aK\x40h\x0b]\x94(");
        add_many(&b, "h\x0d", 2, FRAMES);
        ADD(&b, "eh\x13K\x00u");
    }
    ADD(&b, "eau.");
    assert_int_equal(load_checked(b, false, "whole", b.n), GM_OK);
    for (size_t n = b.n - (size_t)2 * EVENT; n < b.n; n++) {
        struct bytes cut = {0}; /* of its own, so that a sanitizer sees what lies behind */
        add_bytes(&cut, b.p, n);
        cut.p = realloc(cut.p, n);
        assert_int_not_equal(load_checked(cut, false, "cut", n), GM_OK);
        free(cut.p);
    }
    free(b.p);
}

TEST(salvage)
{
    static const char *const files[] = {"full.p4.pickle", "full.p2.pickle", "full.json", "full.p0.pickle"};
    const unsigned every = unit_sampled();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct bytes b = read_fixture(files[i]);
        size_t segments = 0, events = 0;
        for (size_t n = (b.n - 1) % every; n < b.n; n += every) {
            struct gm_snapshot s;
            struct gm_error err;
            if (load((struct bytes){b.p, n}, true, &s, &err) != GM_OK) {
                assert_true(segments == 0 && events == 0);
                continue;
            }
            assert_true(s.source.is_salvaged && s.source.salvaged_offset <= n && s.source.salvaged_reason[0] != '\0');
            assert_true(s.segments.count >= segments && s.events.count >= events);
            segments = s.segments.count;
            events = s.events.count;
            gm_snapshot_free(&s);
        }
        assert_int_equal(segments, 4);
        assert_int_equal(events, 16);
        free(b.p);
    }
}

/* A wrong checksum behind a complete pickle: an error, or everything with a warning. */
TEST(checksum)
{
    struct bytes b = read_fixture("full.pickle.gz");
    b.p[b.n - 8] ^= 1;
    struct gm_snapshot s;
    struct gm_error err;
    assert_int_equal(load(b, false, &s, &err), GM_E_CORRUPT);
    assert_non_null(strstr(err.message, "incorrect data check"));
    assert_int_equal(load(b, true, &s, &err), GM_OK);
    assert_true(s.source.is_salvaged && s.segments.count == 4 && s.events.count == 16);
    gm_snapshot_free(&s);
    free(b.p);
}

TEST(bit_flips)
{
    uint32_t x = 12345;
    const int rounds = 1500 / (int)unit_sampled();
    for (size_t i = 0; i < SMALL_FILES; i++) {
        struct bytes b = read_fixture(small_files[i]);
        for (int round = 0; round < rounds; round++) {
            x = x * 1664525 + 1013904223;
            size_t at = (size_t)(x >> 8) % b.n;
            unsigned char bit = (unsigned char)(1u << (x >> 5 & 7)), old = b.p[at];
            b.p[at] = round % 3 == 0 ? (unsigned char)x : old ^ bit;
            load_checked(b, round % 2 == 0, small_files[i], at);
            b.p[at] = old;
        }
        free(b.p);
    }
}

/* ---- what a snapshot says of its source -------------------------------------------------------------------------- */

TEST(source_info)
{
    static const struct {
        const char *name;
        const char *format;
        enum gm_compression compression;
        int protocol;
        bool is_bare;
    } rows[] = {
        {"full.p4.pickle", "pickle", GM_COMPRESSION_NONE, 4, false},
        {"full.p0.pickle", "pickle", GM_COMPRESSION_NONE, 0, false},
        {"full.p1.pickle", "pickle", GM_COMPRESSION_NONE, 0, false}, /* nothing in it tells 1 from 0 */
        {"bare.p2.pickle", "pickle", GM_COMPRESSION_NONE, 2, true},
        {"full.json", "json", GM_COMPRESSION_NONE, -1, false},
        {"full.pickle.gz", "pickle", GM_COMPRESSION_GZIP, 4, false},
        {"full.json.gz", "json", GM_COMPRESSION_GZIP, -1, false},
        {"full.2.html", "html", GM_COMPRESSION_NONE, 4, false},
        {"full.html.gz", "html", GM_COMPRESSION_GZIP, 4, false},
    };
    struct bytes plain = read_fixture("full.p4.pickle");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes b = read_fixture(rows[i].name);
        struct gm_snapshot s;
        struct gm_error err;
        assert_int_equal(load(b, false, &s, &err), GM_OK);
        assert_string_equal(s.source.path, "hostile");
        assert_int_equal(s.source.disk_bytes, b.n);
        assert_string_equal(s.source.format, rows[i].format);
        assert_int_equal(s.source.compression, rows[i].compression);
        if (strcmp(rows[i].name, "full.p1.pickle") != 0 || s.source.pickle_protocol != 1)
            assert_int_equal(s.source.pickle_protocol, rows[i].protocol);
        assert_int_equal(s.source.is_bare_segment_list, rows[i].is_bare);
        assert_false(s.source.is_salvaged);
        if (rows[i].protocol == 4)
            assert_int_equal(s.source.decoded_bytes, plain.n);
        gm_snapshot_free(&s);
        free(b.p);
    }
    free(plain.p);
}

/* Events of 19 bytes, of which gzip makes a thousand times less. */
static struct bytes many_events(size_t count)
{
    static const char event[] = ",{\"action\":\"alloc\"}";
    struct bytes text = {0};
    ADD(&text, "{\"segments\":[],\"device_traces\":[[{\"action\":\"alloc\"}");
    add_many(&text, event, sizeof event - 1, count - 1);
    ADD(&text, "]]}");
    struct bytes packed = gzip_bytes(text.p, text.n);
    free(text.p);
    return packed;
}

static enum gm_status load_within(struct bytes b, uint64_t max_memory, struct gm_error *err)
{
    const struct gm_load_options options = {.max_memory = max_memory};
    struct gm_snapshot s;
    *err = (struct gm_error){0};
    enum gm_status status = gm_snapshot_load_bytes(&s, b.p, b.n, "hostile", &options, err);
    assert_true(status == GM_OK || s.memory == NULL);
    gm_snapshot_free(&s);
    return status;
}

/* A column's row takes 30 bytes and more, three times that with the work on it, and no more than twice that. */
TEST(memory)
{
    enum { EVENTS = 200000 };
    struct gm_error err;
    struct bytes b = many_events(EVENTS);
    assert_int_equal(load_within(b, 0, &err), GM_OK);
    assert_int_equal(load_within(b, UINT64_MAX, &err), GM_OK);
    assert_int_equal(load_within(b, UINT64_C(3) * 80 * EVENTS, &err), GM_OK);
    assert_int_equal(load_within(b, UINT64_C(3) * 15 * EVENTS, &err), GM_E_LIMIT);
    assert_non_null(strstr(err.message, "it needs more than 8.58 MiB of memory, which is the limit"));
    free(b.p);
    b = many_events(50 * EVENTS); /* 600 MiB, of a file of 700 KB */
    assert_true(b.n < 1 << 20);
    assert_int_equal(load_within(b, 0, &err), GM_E_LIMIT);
    assert_non_null(strstr(err.message, "far more than a snapshot of its size"));
    free(b.p);
}
