/* SPDX-License-Identifier: Apache-2.0
 *
 * Corners of the count of operators that the committed traces do not have, and want of memory.
 */
#include "analyze/formats/load.h"
#include "analyze/profile/profile_report.h"
#include "tests/nomem/nomem.h"
#include "tests/unit.h"

#include <string.h>

#define SPAN(name, tid, ts, dur, args)                                                                                 \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" name "\", \"pid\": 1, \"tid\": " tid ", \"ts\": " ts           \
    ", \"dur\": " dur ", \"args\": {" args "}},"
#define MEMORY(ts, bytes, type)                                                                                        \
    "{\"ph\": \"i\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 1, \"ts\": " ts ", \"args\": {\"Bytes\": " bytes     \
    ", \"Device Type\": " type ", \"Device Id\": 0}},"
#define TRACE(events) "{\"traceEvents\": [" events "0]}"

static void load(struct gm_snapshot *s, const char *text)
{
    assert_int_equal(gm_snapshot_load_bytes(s, text, strlen(text), "trace", NULL, NULL), GM_OK);
}

static const struct gm_operator_row *find(const struct gm_operator_table *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->v[i].name, name) == 0)
            return &t->v[i];
    fail_msg("no row %s", name);
    return NULL;
}

static void expect(const struct gm_operator_row *r, uint64_t calls, int64_t total, int64_t self, int64_t time_ns,
                   int64_t self_ns)
{
    assert_int_equal(r->calls, calls);
    assert_int_equal(r->total.device_bytes, total);
    assert_int_equal(r->self.device_bytes, self);
    assert_int_equal(r->total.time_ns, time_ns);
    assert_int_equal(r->self.time_ns, self_ns);
}

/* One alone inside another of its name is not counted again, however often; two are. */
static const char same_names[] =
    TRACE(SPAN("a", "1", "0", "10", "") SPAN("a", "1", "1", "8", "") SPAN("a", "1", "2", "6", "")
              SPAN("b", "1", "3", "2", "") MEMORY("3", "512", "1") MEMORY("9", "100", "1")
                  SPAN("c", "1", "20", "10", "") SPAN("c", "1", "21", "1", "") SPAN("c", "1", "23", "1", ""));

TEST(same_names)
{
    struct gm_snapshot s;
    struct gm_report report = {.run_name = NULL};
    load(&s, same_names);
    assert_int_equal(gm_profile_analyze(&report, s.profile, 0, NULL), GM_OK);
    expect(find(&report.profile->operators, "a"), 1, 612, 100, 10000, 8000);
    expect(find(&report.profile->operators, "b"), 1, 512, 512, 2000, 2000);
    expect(find(&report.profile->operators, "c"), 3, 0, 0, 12000, 10000);
    gm_report_free(&report);
    gm_snapshot_free(&s);
}

/* Memory is of all threads, both ends are inside, and what no operator has is a row of its own. */
TEST(memory_of_all_threads)
{
    struct gm_snapshot s;
    struct gm_report report = {.run_name = NULL};
    load(&s, TRACE(SPAN("x", "1", "5", "5", "") SPAN("y", "2", "0", "5", "") SPAN("aten::is_leaf", "1", "20", "9", "")
                       MEMORY("5", "64", "1") MEMORY("10", "8", "1") MEMORY("21", "-3", "1") MEMORY("22", "7", "0")));
    assert_int_equal(gm_profile_analyze(&report, s.profile, 0, NULL), GM_OK);
    expect(find(&report.profile->operators, "x"), 1, 72, 72, 5000, 5000);
    expect(find(&report.profile->operators, "y"), 1, 64, 64, 5000, 5000);
    expect(find(&report.profile->operators, "[memory]"), 2, -3, -3, 0, 0);
    assert_int_equal(find(&report.profile->operators, "[memory]")->total.host_bytes, 7);
    assert_int_equal(report.profile->operators.count, 3);
    gm_report_free(&report);
    gm_snapshot_free(&s);
}

/* Kernels belong to the operator of their external id, and have rows of their own; lists of tensors are []. */
TEST(kernels_and_shapes)
{
    struct gm_snapshot s;
    struct gm_report report = {.run_name = NULL};
    load(&s, TRACE(SPAN("op", "1", "0", "9", "\"External id\": 3, \"Input Dims\": [[[1, 2], [3]], [], [4, 5]]") SPAN(
                 "in", "1", "1", "2",
                 "\"External id\": 4") "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, "
                                       "\"ts\": 5, "
                                       "\"dur\": 20, \"args\": {\"External id\": 4}},"
                                       "{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy DtoH\", \"pid\": "
                                       "0, \"tid\": "
                                       "7, \"ts\": 30, \"dur\": 2, \"args\": {\"External id\": 3, \"bytes\": 640}},"));
    assert_int_equal(gm_profile_analyze(&report, s.profile, 0, NULL), GM_OK);
    const struct gm_operator_row *op = find(&report.profile->operators, "op");
    assert_int_equal(op->total.device_time_ns, 22000);
    assert_int_equal(op->self.device_time_ns, 2000);
    assert_true(find(&report.profile->operators, "k")->is_on_device);
    assert_int_equal(find(&report.profile->operators, "k")->total.device_time_ns, 20000);
    assert_string_equal(find(&report.profile->shapes, "op")->shapes, "[[], [], [4, 5]]");
    assert_string_equal(find(&report.profile->shapes, "in")->shapes, "[]");
    assert_int_equal(report.profile->copy_count, 1);
    assert_int_equal(report.profile->copies[0].bytes, 640);
    assert_int_equal(report.profile->copies[0].before, GM_REPORT_NONE);
    gm_report_free(&report);
    gm_snapshot_free(&s);
}

TEST(no_memory)
{
    struct gm_snapshot s;
    bool has_failed = true;
    load(&s, same_names);
    for (size_t n = 1; has_failed; n++) {
        struct gm_report report = {.run_name = NULL};
        nomem_begin(n, true);
        const enum gm_status status = gm_profile_analyze(&report, s.profile, 0, NULL);
        has_failed = nomem_end();
        assert_int_equal(status, has_failed ? GM_E_NOMEM : GM_OK);
        gm_report_free(&report);
    }
    gm_snapshot_free(&s);
}
