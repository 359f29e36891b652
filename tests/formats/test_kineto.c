/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces of torch.profiler as profiles and as snapshots: what each kind of event says, in any order and through any
 * window, and what is wrong with a damaged one.
 */
#include "analyze/formats/decoders.h"
#include "analyze/formats/load.h"
#include "tests/formats/model_check.h"
#include "tests/formats/sources.h"
#include "tests/nomem/nomem.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum gm_status decode(struct gm_profile *p, const char *text, size_t step, struct gm_error *err)
{
    struct gm_source source;
    if (step == 0)
        assert_int_equal(gm_source_open_memory(&source, text, strlen(text), NULL), GM_OK);
    else
        open_steps(&source, (const unsigned char *)text, strlen(text), 2048, step);
    const enum gm_status status = gm_kineto_decode(&source, &(struct gm_decoded){.profile = p}, err);
    gm_source_free(&source);
    return status;
}

static const char *string(const struct gm_profile *p, uint32_t s)
{
    size_t n;
    return gm_profile_string(p, s, &n);
}

#define EVENT(ph, name, rest) "{\"ph\": \"" ph "\", \"name\": \"" name "\", \"pid\": 1, " rest "}"
#define MEMORY(ts, bytes, address)                                                                                     \
    EVENT("i", "[memory]",                                                                                             \
          "\"tid\": 2, \"ts\": " ts ", \"args\": {\"Bytes\": " bytes ", \"Addr\": " address                            \
          ", \"Device Type\": 1, \"Device Id\": 0, \"Total Allocated\": 700, \"Total Reserved\": 2048}")

static const char
    whole[] =
        "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"Card\", \"totalGlobalMem\": "
        "1000}],\n"
        "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 4, \"more\": [{\"rank\": "
        "9}]},\n"
        "\"profile_memory\": 1, \"with_stack\": 1, \"trace_id\": \"A\", \"traceEvents\": [\n" EVENT(
            "X", "inner",
            "\"cat\": "
            "\"cpu_op\", "
            "\"tid\": 2, "
            "\"ts\": "
            "4520305372235"
            ".001, "
            "\"dur\": "
            "2.5, "
            "\"args\": "
            "{\"External "
            "id\": 7, "
            "\"Input "
            "Dims\": [[2, "
            " 3], [], "
            "[[1]]], "
            "\"Input "
            "type\": "
            "[\"float\", "
            "\"\"], "
            "\"Sequence "
            "number\": 5}") ",\n" EVENT("X", "a/b.py(12): f",
                                        "\"cat\": \"python_function\", \"tid\": 2, \"ts\": 4520305372234, \"dur\": "
                                        "9") ",\n" EVENT("X", "ProfilerStep#4",
                                                         "\"cat\": \"user_annotation\", \"tid\": 2, \"ts\": "
                                                         "4520305372233, \"dur\": 12") ",\n" EVENT("X", "Memcpy DtoH",
                                                                                                   "\"cat\": "
                                                                                                   "\"gpu_memcpy\","
                                                                                                   " \"tid\": "
                                                                                                   "\"stream 7\", "
                                                                                                   "\"ts\": "
                                                                                                   "4520305372235, "
                                                                                                   "\"dur\": 1, "
                                                                                                   "\"args\": "
                                                                                                   "{\"bytes\": "
                                                                                                   "640}") ","
                                                                                                           "\n" MEMORY("4520305372236.000", "512", "4096") ",\n" MEMORY(
                                                                                                               "4520305"
                                                                                                               "372237."
                                                                                                               "000",
                                                                                                               "-512",
                                                                                                               "4096") ",\n" MEMORY("4520305372238.000",
                                                                                                                                    "-256",
                                                                                                                                    "8192") ",\n" EVENT("M",
                                                                                                                                                        "process_name",
                                                                                                                                                        "\"args\": {\"name\": \"python\"}") ", 5,\n"
                                                                                                                                                                                            "{\"ph\": \"X\", \"name\": \"no time\", \"dur\": 1}],\n\"baseTimeNanoseconds\": 1000000000000000, \"host_name\": \"h\"}";

static void check_whole(struct gm_profile *p)
{
    assert_true(gm_profile_finish(p));
    assert_int_equal(p->spans.n, 4);
    assert_int_equal(p->memory.n, 3);
    assert_int_equal(p->threads.n, 2);
    assert_int_equal(p->odd_events, 2);
    assert_int_equal(p->other_events, 1);
    assert_int_equal(p->rank, 3);
    assert_int_equal(p->world_size, 4);
    assert_int_equal(p->base_ns, 1000000000000000);
    assert_true(p->profile_memory && p->with_stack && !p->record_shapes && p->has_host_name && !p->is_trace_id_first);
    assert_int_equal(p->devices.n, 1);
    assert_int_equal(p->devices.v[0].memory, 1000);
    const struct gm_profile_span *step = &p->spans.v[0], *python = &p->spans.v[1], *inner = &p->spans.v[2];
    assert_string_equal(string(p, step->name), "ProfilerStep#4");
    assert_string_equal(string(p, inner->name), "inner");
    assert_int_equal(inner->start_ns, 4520305372235001);
    assert_int_equal(inner->duration_ns, 2500);
    assert_int_equal(inner->parent, 1);
    assert_int_equal(python->parent, 0);
    assert_int_equal(step->parent, GM_PROFILE_NONE);
    assert_int_equal(inner->kind, GM_SPAN_OPERATOR);
    const struct gm_profile_detail *detail = &p->details.v[inner->detail];
    assert_int_equal(detail->external, 7);
    assert_int_equal(detail->sequence, 5);
    assert_string_equal(string(p, detail->shapes), "[[2, 3], [], [[1]]]");
    assert_string_equal(string(p, detail->types), "[float, ]");
    assert_int_equal(p->spans.v[3].kind, GM_SPAN_MEMCPY);
    assert_int_equal(p->details.v[p->spans.v[3].detail].bytes, 640);
    assert_int_equal(p->memory.v[0].span, 2);
    assert_int_equal(p->memory.v[0].bytes, 512);
    assert_int_equal(p->memory.v[0].allocated, 700);
    assert_int_equal(p->memory.v[0].reserved, 2048);
    assert_int_equal(p->memory.v[2].span, 1);
}

TEST(events)
{
    for (size_t step = 0; step < 40; step++) {
        struct gm_profile p;
        struct gm_error err = {0};
        assert_int_equal(decode(&p, whole, step, &err), GM_OK);
        check_whole(&p);
        gm_profile_free(&p);
    }
}

/* Doubles would lose the last digit of times since 1970. */
TEST(times)
{
    static const struct {
        const char *text;
        int64_t ns; /* INT64_MIN: none */
    } times[] = {{"1700000000123456.789", 1700000000123456789},
                 {"1623142623460111", 1623142623460111000},
                 {"0.5", 500},
                 {"-1.25", -1250},
                 {"7.123456789", 7123},
                 {"1e3", INT64_MIN},
                 {"9999999999999999.9", INT64_MIN},
                 {"123456789012345678901234567890", INT64_MIN},
                 {"NaN", INT64_MIN},
                 {"\"5\"", INT64_MIN}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char text[256];
        struct gm_profile p;
        (void)snprintf(text, sizeof text, "[{\"ph\": \"X\", \"name\": \"a\", \"dur\": 1, \"ts\": %s}]", times[i].text);
        assert_int_equal(decode(&p, text, 0, NULL), GM_OK);
        assert_int_equal(p.spans.n, times[i].ns != INT64_MIN);
        assert_int_equal(p.odd_events, times[i].ns == INT64_MIN);
        if (p.spans.n > 0)
            assert_int_equal(p.spans.v[0].start_ns, times[i].ns);
        gm_profile_free(&p);
    }
}

/* What overlaps only partly is beside; of two equal ones the first in the file is outside. */
TEST(nesting)
{
#define SPAN(name, ts, dur) "{\"ph\": \"X\", \"name\": \"" name "\", \"ts\": " ts ", \"dur\": " dur "}"
    struct gm_profile p;
    static const char text[] = "[" SPAN("late", "5", "10") "," SPAN("a", "0", "8") "," SPAN("b", "0", "8") "," SPAN(
        "c", "8", "1") "," SPAN("empty", "15", "0") "]";
    static const struct {
        const char *name;
        uint32_t parent;
    } expected[] = {{"a", GM_PROFILE_NONE}, {"b", 0}, {"late", GM_PROFILE_NONE}, {"c", 2}, {"empty", GM_PROFILE_NONE}};
    assert_int_equal(decode(&p, text, 0, NULL), GM_OK);
    assert_true(gm_profile_finish(&p));
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(string(&p, p.spans.v[i].name), expected[i].name);
        assert_int_equal(p.spans.v[i].parent, expected[i].parent);
    }
    gm_profile_free(&p);
}

static enum gm_status load(struct gm_snapshot *s, const char *text, bool salvage, struct gm_error *err)
{
    const struct gm_load_options options = {.salvage = salvage};
    return gm_snapshot_load_bytes(s, text, strlen(text), "trace", &options, err);
}

static void assert_frame(const struct gm_snapshot *s, struct gm_frame_id frame, const char *name, const char *file,
                         uint64_t line)
{
    size_t n;
    const char *text = gm_string(s, s->frames.name[frame.v], &n);
    assert_true(n == strlen(name) && memcmp(text, name, n) == 0);
    text = gm_string(s, s->frames.filename[frame.v], &n);
    assert_true(n == strlen(file) && memcmp(text, file, n) == 0);
    assert_int_equal(s->frames.line[frame.v], line);
}

TEST(snapshot)
{
    struct gm_snapshot s;
    struct gm_error err = {0};
    assert_int_equal(load(&s, whole, false, &err), GM_OK);
    assert_null(gm_model_check(&s));
    assert_string_equal(s.source.format, "kineto");
    assert_int_equal(s.trace_count, 1);
    assert_int_equal(s.events.count, 5); /* a free is requested and completed */
    assert_int_equal(s.events.action[0], GM_ACTION_ALLOC);
    assert_int_equal(s.events.action[1], GM_ACTION_FREE_REQUESTED);
    assert_int_equal(s.events.action[2], GM_ACTION_FREE_COMPLETED);
    assert_int_equal(gm_event_addr(&s.events, 0), 4096);
    assert_int_equal(gm_event_size(&s.events, 3), 256);
    assert_int_equal(gm_event_time_us(&s.events, 0), 5520305372236);
    size_t depth; /* a step is no frame: its name differs each time */
    const struct gm_frame_id *frames = gm_stack_frames(&s, gm_event_stack(&s.events, 0), &depth);
    assert_int_equal(depth, 2);
    assert_frame(&s, frames[0], "inner", "??", 0);
    assert_frame(&s, frames[1], "f", "a/b.py", 12);
    assert_int_equal(s.annotation_count, 2);
    assert_int_equal(s.annotations[0].stage, GM_STAGE_START);
    assert_int_equal(s.annotations[1].time_us, 5520305372245);
    assert_non_null(s.profile);
    gm_snapshot_free(&s);
}

/* Of equal sizes the newest is freed first; a free without one is of memory from before the trace. */
TEST(without_addresses)
{
#define PLAIN(ts, bytes)                                                                                               \
    EVENT("i", "[memory]", "\"ts\": " ts ", \"args\": {\"Bytes\": " bytes ", \"Device Type\": 1, \"Device Id\": 0}")
    struct gm_snapshot s;
    assert_int_equal(load(&s,
                          "{\"traceEvents\": [" PLAIN("1", "512") "," PLAIN("2", "512") "," PLAIN(
                              "3", "-512") "," PLAIN("4", "-512") "," PLAIN("5", "-512") "]}",
                          false, NULL),
                     GM_OK);
    assert_int_equal(s.events.count, 8);
    uint64_t a[8];
    for (size_t i = 0; i < 8; i++)
        a[i] = gm_event_addr(&s.events, i);
    assert_true(a[0] != a[1] && a[2] == a[1] && a[4] == a[0] && a[6] != a[0] && a[6] != a[1]);
    assert_int_equal(s.warning_count, 1);
    gm_snapshot_free(&s);
}

/* What is reserved changes with the driver's help; what lived before and is not freed is told once. */
TEST(reserved)
{
#define STATED(ts, bytes, address, allocated, reserved)                                                                \
    EVENT("i", "[memory]",                                                                                             \
          "\"ts\": " ts ", \"args\": {\"Bytes\": " bytes ", \"Addr\": " address                                        \
          ", \"Device Type\": 1, \"Device Id\": 1, \"Total Allocated\": " allocated ", \"Total Reserved\": " reserved  \
          "}")
    struct gm_snapshot s;
    assert_int_equal(load(&s,
                          "{\"traceEvents\": [" STATED("1", "512", "4096", "1536", "2048") "," STATED(
                              "2", "1024", "8192", "2560", "6144") "," STATED("3", "-512", "4096", "2048", "1024") "]}",
                          false, NULL),
                     GM_OK);
    assert_null(gm_model_check(&s));
    assert_int_equal(s.trace_count, 2);
    assert_int_equal(s.traces[0].count, 0);
    static const uint8_t actions[] = {GM_ACTION_ALLOC,        GM_ACTION_SEGMENT_ALLOC,  GM_ACTION_ALLOC,
                                      GM_ACTION_SEGMENT_FREE, GM_ACTION_FREE_REQUESTED, GM_ACTION_FREE_COMPLETED};
    assert_int_equal(s.traces[1].count, 6);
    assert_memory_equal(s.events.action, actions, sizeof actions);
    assert_int_equal(gm_event_size(&s.events, 1), 4096);
    assert_int_equal(gm_event_size(&s.events, 3), 5120);
    assert_int_equal(gm_profile_reserved(s.profile, 1), 1024);
    assert_int_equal(gm_profile_reserved(s.profile, 0), 0);
    assert_int_equal(s.warning_count, 1);
    assert_non_null(strstr(s.warnings[0], "device 1: 1.00 KiB were allocated before the trace"));
    gm_snapshot_free(&s);
}

TEST(damaged)
{
    static const struct {
        const char *text, *message;
        enum gm_status status;
        uint64_t offset;
    } rows[] = {
        {"{\"traceEvents\": [{\"ph\": \"X\", ", "the JSON ends where a key was expected", GM_E_TRUNCATED, 29},
        {"{\"traceEvents\": 5}", "'traceEvents' is no list", GM_E_CORRUPT, 16},
        {"{\"schemaVersion\": 1}", "no 'traceEvents'", GM_E_FORMAT, 19},
        {"{\"traceEvents\": [{\"ph\" \"X\"}]}", "expected ':'", GM_E_CORRUPT, 23},
        {"[{\"ph\": \"X\", \"args\": {\"a\": x}}]", "expected a value, found 'x'", GM_E_CORRUPT, 27},
        {"{\"traceEvents\": [{\"name\": \"a\nb\"}]}", "no control character", GM_E_CORRUPT, 28},
        {"{\"traceEvents\": [" EVENT(
             "i", "[memory]", "\"ts\": 1, \"args\": {\"Bytes\": 1, \"Device Type\": 1, \"Device Id\": 5000}") "]}",
         "device 5000, beyond 1024", GM_E_LIMIT, GM_NO_OFFSET},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gm_snapshot s;
        struct gm_error err = {0};
        assert_int_equal(load(&s, rows[i].text, false, &err), rows[i].status);
        assert_non_null(strstr(err.message, rows[i].message));
        assert_int_equal(err.offset, rows[i].offset);
        assert_null(s.memory);
    }
}

TEST(deep)
{
    static char text[4096] = "{\"traceEvents\": [{\"args\": {\"a\": ";
    struct gm_snapshot s;
    struct gm_error err = {0};
    memset(text + strlen(text), '[', 1000);
    assert_int_equal(load(&s, text, false, &err), GM_E_LIMIT);
    assert_non_null(strstr(err.message, "nested deeper than"));
}

TEST(salvage)
{
    char text[sizeof whole];
    struct gm_snapshot s;
    struct gm_error err = {0};
    memcpy(text, whole, sizeof whole);
    *strstr(text, "8192") = '\0';
    assert_int_equal(load(&s, text, false, &err), GM_E_TRUNCATED);
    assert_int_equal(err.salvage, GM_SALVAGE_HELPS);
    assert_int_equal(load(&s, text, true, &err), GM_OK);
    assert_true(s.source.is_salvaged);
    assert_int_equal(s.events.count, 3);
    gm_snapshot_free(&s);
}

TEST(nomem)
{
    bool has_failed = true;
    for (size_t n = 1; has_failed; n++) {
        struct gm_snapshot s;
        struct gm_error err = {0};
        nomem_begin(n, true);
        const enum gm_status status = load(&s, whole, false, &err);
        has_failed = nomem_end();
        assert_int_equal(status, has_failed ? GM_E_NOMEM : GM_OK);
        gm_snapshot_free(&s);
    }
}
