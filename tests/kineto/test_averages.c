/* SPDX-License-Identifier: Apache-2.0
 *
 * Corners of the count of operators that the committed traces do not have, and want of memory.
 */
#include "analyze/base/freed.h"
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
    GM_FREED_BY(gm_report_free) struct gm_report report = {.run_name = NULL};
    load(&s, same_names);
    assert_int_equal(gm_profile_analyze(&report, s.profile, 0, NULL), GM_OK);
    expect(find(&report.profile->operators, "a"), 1, 612, 100, 10000, 8000);
    expect(find(&report.profile->operators, "b"), 1, 512, 512, 2000, 2000);
    expect(find(&report.profile->operators, "c"), 3, 0, 0, 12000, 10000);
    gm_snapshot_free(&s);
}

/* Memory is of all threads, both ends are inside, and what no operator has is a row of its own. */
TEST(memory_of_all_threads)
{
    struct gm_snapshot s;
    GM_FREED_BY(gm_report_free) struct gm_report report = {.run_name = NULL};
    load(&s, TRACE(SPAN("x", "1", "5", "5", "") SPAN("y", "2", "0", "5", "") SPAN("aten::is_leaf", "1", "20", "9", "")
                       MEMORY("5", "64", "1") MEMORY("10", "8", "1") MEMORY("21", "-3", "1") MEMORY("22", "7", "0")));
    assert_int_equal(gm_profile_analyze(&report, s.profile, 0, NULL), GM_OK);
    expect(find(&report.profile->operators, "x"), 1, 72, 72, 5000, 5000);
    expect(find(&report.profile->operators, "y"), 1, 64, 64, 5000, 5000);
    expect(find(&report.profile->operators, "[memory]"), 2, -3, -3, 0, 0);
    assert_int_equal(find(&report.profile->operators, "[memory]")->total.host_bytes, 7);
    assert_int_equal(report.profile->operators.count, 3);
    gm_snapshot_free(&s);
}

/* Kernels belong to the operator of their external id, and have rows of their own; lists of tensors are []. */
TEST(kernels_and_shapes)
{
    struct gm_snapshot s;
    GM_FREED_BY(gm_report_free) struct gm_report report = {.run_name = NULL};
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
    gm_snapshot_free(&s);
}

#define PYTHON(name, tid, ts, dur)                                                                                     \
    "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"" name "\", \"pid\": 1, \"tid\": " tid ", \"ts\": " ts  \
    ", \"dur\": " dur ", \"args\": {}},"
#define EVALUATES "autograd::engine::evaluate_function: "
#define NUMBERS(sequence, thread) "\"Sequence number\": " sequence ", \"Fwd thread id\": " thread
/* Two threads with the same sequence numbers, and backward of both on a third; PyTorch calls them 7 and 8. */
#define KERNEL(name, ts, dur, external)                                                                                \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name "\", \"pid\": 0, \"tid\": 7, \"ts\": " ts                 \
    ", \"dur\": " dur ", \"args\": {\"External id\": " external "}},"
/* clang-format off */
static const char nodes[] = TRACE(
    PYTHON("a.py(1): main", "1", "0", "100")
    PYTHON("a.py(2): forward", "1", "1", "20")
    SPAN("mul", "1", "2", "5", "\"External id\": 9, " NUMBERS("5", "0"))
    SPAN("add", "1", "9", "2", NUMBERS("6", "0"))
    PYTHON("torch/autograd/__init__.py(9): backward", "1", "40", "50")
    PYTHON("c.py(1): run", "1", "41", "40")
    PYTHON("b.py(1): work", "2", "0", "100")
    SPAN("mul", "2", "2", "5", NUMBERS("5", "0"))
    SPAN("sub", "2", "8", "1", NUMBERS("7", "0"))
    SPAN(EVALUATES "Add", "3", "50", "4", NUMBERS("6", "7"))
    SPAN("Add", "3", "51", "2", NUMBERS("6", "7"))
    SPAN(EVALUATES "Mul", "3", "60", "8", NUMBERS("5", "8"))
    SPAN("Mul", "3", "61", "6", NUMBERS("5", "8"))
    SPAN("inside", "3", "62", "1", "")
    SPAN(EVALUATES "Last", "3", "70", "8", "")
    SPAN("Last", "3", "71", "2", "")
    SPAN("Mul", "3", "80", "1", NUMBERS("5", "7"))
    SPAN("Sub", "3", "90", "1", NUMBERS("7", "8"))
    KERNEL("k", "5", "20", "9"));
/* clang-format on */

TEST(stacks_of_nodes)
{
    static const char forward[] = "a.py(2): forward;a.py(1): main", run[] = "c.py(1): run;a.py(1): main";
    static const struct {
        const char *name, *stack;
    } rows[] = {{"mul", forward},
                {"mul", "b.py(1): work"},
                {"k", forward},
                {EVALUATES "Add", run},
                {"Add", forward},
                {EVALUATES "Mul", "b.py(1): work"},
                {"Mul", forward},
                {"Mul", "b.py(1): work"},
                {"inside", "b.py(1): work"},
                {EVALUATES "Last", "b.py(1): work"},
                {"Last", ""},
                {"add", forward},
                {"sub", "b.py(1): work"},
                {"Sub", "b.py(1): work"}};
    struct gm_snapshot s;
    GM_FREED_BY(gm_report_free) struct gm_report report = {.run_name = NULL};
    load(&s, nodes);
    assert_int_equal(gm_profile_analyze(&report, s.profile, 0, NULL), GM_OK);
    const struct gm_operator_table *t = &report.profile->stacks;
    assert_int_equal(t->count, sizeof rows / sizeof *rows);
    for (size_t i = 0; i < t->count; i++) {
        bool is_there = false;
        for (size_t k = 0; k < t->count; k++)
            is_there =
                is_there || (strcmp(t->v[k].name, rows[i].name) == 0 && strcmp(t->v[k].stack, rows[i].stack) == 0);
        if (!is_there)
            fail_msg("no %s with the stack %s", rows[i].name, rows[i].stack);
    }
    gm_snapshot_free(&s);
}

TEST(no_memory)
{
    struct gm_snapshot s;
    bool has_failed = true;
    load(&s, nodes);
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
