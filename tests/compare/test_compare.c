/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a comparison, with numbers worked out by hand.
 */
#include "analyze/compare/compare.h"
#include "analyze/compare/normalise.h"
#include "analyze/compare/series.h"
#include "analyze/words/diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void near_to(double value, double expected, double distance)
{
    assert_true(value >= expected - distance && value <= expected + distance);
}

/* ---- names and files ------------------------------------------------------------------------------------------------
 */

static void check_name(const char *name, bool is_python, const char *expected)
{
    struct gm_text t = {0};
    gm_normalise_name(&t, name, is_python);
    gm_text_add_char(&t, '\0');
    assert_string_equal(t.data, expected);
    gm_text_free(&t);
}

static void test_names(void **state)
{
    (void)state;
    check_name("std::vector<int, std::allocator<int> >::push_back(int const&)", false,
               "std::vector::push_back(int const&)");
    check_name("at::native::(anonymous namespace)::foo", false, "at::native::(anonymous namespace)::foo");
    check_name("bool operator<(a const&, b const&)", false, "bool operator<(a const&, b const&)");
    check_name("operator<< <char>(x<int>&)", false, "operator<< (x&)");
    check_name("f<decltype(a->b)>::g", false, "f::g");
    check_name("p->q", false, "p->q");
    check_name("unclosed<int", false, "unclosed");
    check_name("lambda at 0x7f3aB2 of 0xz", false, "lambda at 0x of 0xz");
    check_name("sumproduct_pair(int) [clone .isra.12]", false, "sumproduct_pair(int)");
    check_name("method_vectorcall.llvm.12275804309777372242", false, "method_vectorcall");
    check_name("<module>", true, "<module>");
    check_name("f.<locals>.g", true, "f.<locals>.g");
    check_name("<bound method X of 0xdeadbeef>", true, "<bound method X of 0x>");
    check_name("", false, "");
}

static void check_file(const char *file, const char *expected)
{
    struct gm_text t = {0};
    gm_normalise_file(&t, file);
    gm_text_add_char(&t, '\0');
    assert_string_equal(t.data, expected);
    gm_text_free(&t);
}

static void test_files(void **state)
{
    (void)state;
    check_file("/home/a/checkout/model/attention.py", "attention.py");
    check_file("C:\\work\\model\\attention.py", "attention.py");
    check_file("attention.py", "attention.py");
    check_file("/tmp/torchinductor_me/ab/cabc123.py", "<compiled>");
    check_file("/tmp/ipykernel_4242/123456.py", "<notebook>");
    check_file("<ipython-input-3-abcdef>", "<notebook>");
    check_file("??", "??");
    check_file("", "");
}

/* ---- the limit ------------------------------------------------------------------------------------------------------
 */

static void test_limits(void **state)
{
    (void)state;
    struct gm_growth_limit limit;
    assert_true(gm_growth_limit_parse(&limit, "2%"));
    assert_true(limit.is_percent);
    assert_int_equal(limit.millionths, 2000000);
    assert_true(gm_growth_limit_parse(&limit, "0.5 %"));
    assert_int_equal(limit.millionths, 500000);
    assert_true(gm_growth_limit_parse(&limit, "150%"));
    assert_int_equal(limit.millionths, 150000000);
    assert_true(gm_growth_limit_parse(&limit, "0.0000001%"));
    assert_int_equal(limit.millionths, 1); /* more than nothing */
    assert_true(gm_growth_limit_parse(&limit, "500MiB"));
    assert_false(limit.is_percent);
    assert_int_equal(limit.bytes, 500 << 20);
    assert_true(gm_growth_limit_parse(&limit, "0"));
    static const char *const wrong[] = {"", "%", "-1%", "2%%", "x", "1.2.3%", "9999999999999%", "-5MiB", "2 percent"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(gm_growth_limit_parse(&limit, wrong[i]));
}

/* ---- laws -----------------------------------------------------------------------------------------------------------
 */

static struct gm_fit fit_of(const double *n, const uint64_t *bytes, size_t count)
{
    struct gm_fit fit = {.what = "x", .bytes = bytes};
    gm_fit_law(&fit, n, count);
    return fit;
}

static void test_laws(void **state)
{
    (void)state;
    const double n[] = {128, 256, 512, 1024};
    const uint64_t linear[] = {1000 + 7 * 128, 1000 + 7 * 256, 1000 + 7 * 512, 1000 + 7 * 1024};
    struct gm_fit fit = fit_of(n, linear, 3);
    assert_int_equal(fit.law, GM_LAW_LINEAR);
    near_to(fit.c0, 1000, 1e-3);
    near_to(fit.c1, 7, 1e-6);
    near_to(fit.error_percent, 0, 1e-6);
    const uint64_t square[] = {50 + 3 * 128 * 128, 50 + 3 * 256 * 256, 50 + 3 * 512 * 512, 50 + 3 * 1024 * 1024};
    fit = fit_of(n, square, 3);
    assert_int_equal(fit.law, GM_LAW_QUADRATIC);
    near_to(fit.c2, 3, 1e-6);
    const uint64_t both[] = {100 * 128 + 128 * 128, 100 * 256 + 256 * 256, 100 * 512 + 512 * 512,
                             100 * 1024 + 1024 * 1024};
    assert_int_equal(fit_of(n, both, 3).law, GM_LAW_NONE); /* three points fit any parabola */
    fit = fit_of(n, both, 4);
    assert_int_equal(fit.law, GM_LAW_FULL);
    near_to(fit.c1, 100, 1e-3);
    near_to(fit.c2, 1, 1e-6);
    const uint64_t flat[] = {10000, 10010, 10020};
    fit = fit_of(n, flat, 3);
    assert_int_equal(fit.law, GM_LAW_CONSTANT);
    near_to(fit.c0, 10010, 1e-6);
}

static void test_no_laws(void **state)
{
    (void)state;
    const double n[] = {128, 256, 512}, equal[] = {128, 128, 256}, zeros[] = {0, 0, 0};
    const uint64_t wild[] = {1000000, 9000000, 2000000}, line[] = {1000, 2000, 4000}, none[] = {0, 0, 0};
    assert_int_equal(fit_of(n, line, 2).law, GM_LAW_NONE); /* two points are no law */
    assert_non_null(fit_of(n, line, 2).why_not);
    assert_int_equal(fit_of(n, wild, 3).law, GM_LAW_NONE);
    assert_int_equal(fit_of(equal, line, 3).law, GM_LAW_NONE);
    assert_int_equal(fit_of(zeros, wild, 3).law, GM_LAW_NONE);
    assert_int_equal(fit_of(n, none, 3).law, GM_LAW_CONSTANT);
    const uint64_t huge[] = {UINT64_MAX - 1, 5, UINT64_MAX - 7};
    assert_int_equal(fit_of(n, huge, 3).law, GM_LAW_NONE);
}

/* ---- two runs by hand ----------------------------------------------------------------------------------------------
 */

/* Base: A 100, B 50, C 7 (unchanged); new: A 160, C 7, D 20. The lines of A moved. */
static const struct gm_summary_frame frames[] = {
    {"a", "m.py", true}, {"b", "m.py", true}, {"c", "m.py", true}, {"d", "m.py", true}, {"main", "train.py", true}};
static const uint32_t stacks[4][2] = {{0, 4}, {1, 4}, {2, 4}, {3, 4}};

static struct gm_summary_site site(size_t which, const char *name, uint64_t end, uint64_t peak, uint64_t line)
{
    return (struct gm_summary_site){.site = name,
                                    .frames = stacks[which],
                                    .frame_count = 2,
                                    .category = "Other",
                                    .end = {end, 1},
                                    .peak = {peak, 1},
                                    .lines = {line},
                                    .line_count = 1};
}

struct hand {
    struct gm_summary base, after;
    struct gm_summary_site base_sites[3], after_sites[3];
    struct gm_slice base_categories[1], after_categories[1];
    struct gm_summary_device base_device, after_device;
    const struct gm_summary *runs[2];
};

static void finish_run(struct gm_summary *run, const char *path, const struct gm_summary_site *sites, size_t n,
                       struct gm_slice *category, struct gm_summary_device *device, uint64_t reserved)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += sites[i].end.bytes;
    *category = (struct gm_slice){"Other", 0x808080, sum, n};
    *device = (struct gm_summary_device){.device = 0, .events = 10, .is_reconstructed = true};
    for (int k = 0; k < GM_LEVEL_COUNT; k++) {
        device->peaks[k] = (struct gm_level_peak){k == GM_LEVEL_RESERVED ? reserved : sum, 4, GM_REPORT_NONE};
        run->peaks[k] = device->peaks[k].bytes;
    }
    device->first_time_us = device->last_time_us = device->peak_step = GM_REPORT_NONE;
    run->path = run->name = path;
    run->format = "pickle";
    run->compression = "none";
    run->has_trace = true;
    run->totals = (struct gm_totals){.reserved = reserved, .allocated = sum, .active = sum, .requested = sum};
    run->sites = sites;
    run->site_count = n;
    run->frames = frames;
    run->frame_count = 5;
    run->devices = device;
    run->device_count = 1;
    run->categories = run->categories_at_peak = (struct gm_slices){category, 1};
}

static void make_hand(struct hand *h)
{
    memset(h, 0, sizeof *h);
    h->base_sites[0] = site(0, "a  x/m.py", 100, 100, 10);
    h->base_sites[1] = site(1, "b  x/m.py", 50, 50, 20);
    h->base_sites[2] = site(2, "c  x/m.py", 7, 7, 30);
    h->after_sites[0] = site(3, "d  x/m.py", 20, 20, 40);
    h->after_sites[1] = site(0, "a  x/m.py", 160, 160, 12);
    h->after_sites[2] = site(2, "c  x/m.py", 7, 7, 30);
    finish_run(&h->base, "base.pickle", h->base_sites, 3, h->base_categories, &h->base_device, 200);
    finish_run(&h->after, "new.pickle", h->after_sites, 3, h->after_categories, &h->after_device, 210);
    h->runs[0] = &h->base;
    h->runs[1] = &h->after;
}

static void test_sites(void **state)
{
    (void)state;
    struct hand h;
    struct gm_comparison c;
    const struct gm_compare_options options = {.top = 10};
    make_hand(&h);
    assert_int_equal(gm_compare(&c, h.runs, 2, &options, NULL), GM_OK);
    const struct gm_diff_site_table *t = &c.pairs[0].sites;
    assert_int_equal(t->count, 3); /* C is left out */
    assert_string_equal(t->rows[0].row.name, "a  x/m.py");
    assert_int_equal(t->rows[0].row.delta, 60);
    assert_int_equal(t->rows[0].row.kind, GM_DIFF_GROWN);
    assert_int_equal(t->rows[1].row.delta, -50);
    assert_int_equal(t->rows[1].row.kind, GM_DIFF_GONE);
    assert_int_equal(t->rows[2].row.delta, 20);
    assert_int_equal(t->rows[2].row.kind, GM_DIFF_NEW);
    assert_int_equal(t->sums.delta, 30); /* 187 - 157 */
    assert_int_equal(t->sums.listed, 30);
    assert_int_equal(t->sums.residual, 0);
    assert_int_equal(t->sums.same, 1);
    assert_int_equal(t->sums.same_bytes, 7);
    assert_false(c.pairs[0].is_same);
    gm_comparison_free(&c);
}

/* What the totals hold beyond the rows is told, not hidden. */
static void test_residual(void **state)
{
    (void)state;
    struct hand h;
    struct gm_comparison c;
    const struct gm_compare_options options = {.top = 10};
    make_hand(&h);
    h.after.totals.allocated += 5;
    assert_int_equal(gm_compare(&c, h.runs, 2, &options, NULL), GM_OK);
    assert_int_equal(c.pairs[0].sites.sums.residual, 5);
    assert_int_equal(c.pairs[0].sites_at_peak.sums.residual, 0);
    gm_comparison_free(&c);
    h.after.totals.allocated = UINT64_MAX - 1; /* a lie */
    assert_int_equal(gm_compare(&c, h.runs, 2, &options, NULL), GM_OK);
    assert_int_equal(c.pairs[0].sites.sums.delta, INT64_MAX);
    gm_comparison_free(&c);
}

static size_t growths(const char *limit, uint64_t base, uint64_t after)
{
    struct hand h;
    struct gm_comparison c;
    struct gm_compare_options options = {.top = 10};
    make_hand(&h);
    h.base_device.peaks[GM_LEVEL_RESERVED].bytes = base;
    h.after_device.peaks[GM_LEVEL_RESERVED].bytes = after;
    for (int k = 0; k < GM_LEVEL_COUNT; k++)
        if (k != GM_LEVEL_RESERVED)
            h.after_device.peaks[k] = h.base_device.peaks[k];
    assert_true(gm_growth_limit_parse(&options.limit, limit));
    assert_int_equal(gm_compare(&c, h.runs, 2, &options, NULL), GM_OK);
    size_t n = c.growth_count;
    if (n > 0)
        assert_string_equal(c.growths[0].what, "peak reserved");
    gm_comparison_free(&c);
    return n;
}

static void test_growth(void **state)
{
    (void)state;
    assert_int_equal(growths("2%", 1000, 1020), 0); /* exactly 2 % is not more */
    assert_int_equal(growths("2%", 1000, 1021), 1);
    assert_int_equal(growths("20", 1000, 1020), 0);
    assert_int_equal(growths("20", 1000, 1021), 1);
    assert_int_equal(growths("0", 1000, 1000), 0);
    assert_int_equal(growths("0%", 1000, 1001), 1);
    assert_int_equal(growths("0", 1000, 10), 0);
    assert_int_equal(growths("900%", 0, 1), 1); /* from nothing is more than any percentage */
    assert_int_equal(growths("0.1%", UINT64_C(1) << 62, (UINT64_C(1) << 62) + (UINT64_C(1) << 52)), 0);
    assert_int_equal(growths("0.01%", UINT64_C(1) << 62, (UINT64_C(1) << 62) + (UINT64_C(1) << 52)), 1);
}

/* Without a trace the totals of the files count. */
static void test_growth_of_totals(void **state)
{
    (void)state;
    struct hand h;
    struct gm_comparison c;
    struct gm_compare_options options = {.top = 10};
    make_hand(&h);
    h.after.has_trace = false;
    assert_true(gm_growth_limit_parse(&options.limit, "9"));
    assert_int_equal(gm_compare(&c, h.runs, 2, &options, NULL), GM_OK);
    assert_int_equal(c.growth_count, 2); /* allocated 157 to 187, reserved 200 to 210 */
    assert_string_equal(c.growths[0].what, "allocated");
    assert_int_equal(c.growths[0].device, -1);
    assert_string_equal(c.growths[1].what, "reserved");
    assert_false(c.pairs[0].sites_at_peak.sums.is_known);
    gm_comparison_free(&c);
}

/* One device each are compared whatever they are called; of several each with its own. */
static void test_devices(void **state)
{
    (void)state;
    struct hand h;
    struct gm_comparison c;
    const struct gm_compare_options options = {.top = 10};
    make_hand(&h);
    h.after_device.device = 3;
    assert_int_equal(gm_compare(&c, h.runs, 2, &options, NULL), GM_OK);
    assert_int_equal(c.pairs[0].device_count, 1);
    gm_comparison_free(&c);
    struct gm_summary_device two[2] = {h.after_device, h.after_device};
    two[0].device = 0;
    h.after.devices = two;
    h.after.device_count = 2;
    assert_int_equal(gm_compare(&c, h.runs, 2, &options, NULL), GM_OK);
    assert_int_equal(c.pairs[0].device_count, 2);
    assert_ptr_equal(c.pairs[0].devices[0].base, &h.base_device);
    assert_ptr_equal(c.pairs[0].devices[0].after, &two[0]);
    assert_null(c.pairs[0].devices[1].base);
    gm_comparison_free(&c);
}

/* ---- series ---------------------------------------------------------------------------------------------------------
 */

/* Three runs called alike but for one number are a series; hashes and dates are no numbers, two are no series. */
static void test_series(void **state)
{
    (void)state;
    static const char *const paths[] = {"a/ctx512_fwd.08fa910c.pickle", "a/ctx128_fwd.66f06b43.pickle",
                                        "a/ctx256_fwd.20251114.pickle", "b/ctx128_fwd.pickle",
                                        "b/ctx256_fwd.pickle",          "a/other.pickle"};
    struct hand h;
    struct gm_summary runs[6];
    const struct gm_summary *pointers[6];
    struct gm_comparison c;
    const struct gm_compare_options options = {.top = 10};
    make_hand(&h);
    for (size_t i = 0; i < 6; i++) {
        runs[i] = h.base;
        runs[i].path = runs[i].name = paths[i];
        pointers[i] = &runs[i];
    }
    assert_int_equal(gm_compare(&c, pointers, 6, &options, NULL), GM_OK);
    assert_int_equal(c.series_count, 1);
    assert_string_equal(c.series[0].key, "ctx");
    assert_string_equal(c.series[0].name, "ctxN_fwd.#.pickle");
    assert_int_equal(c.series[0].count, 3);
    near_to(c.series[0].n[0], 128, 0);
    near_to(c.series[0].n[2], 512, 0);
    assert_int_equal(c.series[0].runs[0], 1);
    assert_int_equal(c.series[0].fits[0].law, GM_LAW_CONSTANT); /* all are the same run */
    gm_comparison_free(&c);
}

/* ---- the axis -------------------------------------------------------------------------------------------------------
 */

/* Three steps of 10 events after 5 others, against one of 20 after 10: they lie over each other. */
static void test_alignment(void **state)
{
    (void)state;
    struct hand h;
    struct gm_comparison c;
    const struct gm_compare_options options = {.top = 10};
    const struct gm_summary_step base[] = {
        {.number = 7, .first_event = 5, .last_event = 14},
        {.number = 8, .first_event = 15, .last_event = 24},
        {.number = 9, .first_event = 25, .last_event = 34},
    };
    const struct gm_summary_step after[] = {{.number = 0, .first_event = 10, .last_event = 29}};
    struct gm_summary_point points[35];
    make_hand(&h);
    for (uint64_t i = 0; i < 35; i++)
        points[i] = (struct gm_summary_point){i, GM_REPORT_NONE, i, i, 100 + i};
    h.base_device.events = 35;
    h.base_device.steps = base;
    h.base_device.step_count = 3;
    h.base_device.points = points;
    h.base_device.point_count = 35;
    h.base_device.peaks[GM_LEVEL_ALLOCATED].event = 9;
    h.after_device.events = 30;
    h.after_device.steps = after;
    h.after_device.step_count = 1;
    h.after_device.points = points;
    h.after_device.point_count = 30;
    h.after_device.peaks[GM_LEVEL_ALLOCATED].event = 29;
    assert_int_equal(gm_compare(&c, h.runs, 2, &options, NULL), GM_OK);
    const struct gm_diff_timeline *t = &c.timeline;
    assert_int_equal(t->axis, GM_AXIS_STEPS);
    assert_int_equal(t->tick_count, 3);
    near_to(t->before, 0.5, 1e-9); /* both have half a step's events before the first */
    near_to(t->after, 0, 1e-9);
    near_to(t->end, 3.5, 1e-9);
    near_to(t->lines[0].peak_x, 0.5 + 0.45, 1e-9); /* the middle of its fifth event of ten */
    near_to(t->lines[1].peak_x, 0.5 + 19.5 / 20, 1e-9);
    /* the last column of the base has its last event, the new run has nothing there */
    assert_int_equal(t->lines[0].columns[t->column_count - 1].reserved, 134);
    assert_int_equal(t->lines[1].columns[t->column_count - 1].reserved, GM_REPORT_NONE);
    gm_comparison_free(&c);
}

/* Forward of 10 events against forward, backward and optimizer of 10 each: the forwards lie over each other. */
static void test_phases(void **state)
{
    (void)state;
    struct hand h;
    struct gm_comparison c;
    const struct gm_compare_options options = {.top = 10};
    const struct gm_summary_span base[] = {{GM_PHASE_FORWARD, 0, 9}};
    const struct gm_summary_span after[] = {
        {GM_PHASE_FORWARD, 0, 9}, {GM_PHASE_BACKWARD, 10, 19}, {GM_PHASE_OPTIMIZER, 20, 29}};
    make_hand(&h);
    h.base_device.events = 10;
    h.base_device.spans = base;
    h.base_device.span_count = 1;
    h.base_device.peaks[GM_LEVEL_ALLOCATED].event = 9;
    h.after_device.events = 30;
    h.after_device.spans = after;
    h.after_device.span_count = 3;
    h.after_device.peaks[GM_LEVEL_ALLOCATED].event = 9;
    assert_int_equal(gm_compare(&c, h.runs, 2, &options, NULL), GM_OK);
    const struct gm_diff_timeline *t = &c.timeline;
    assert_int_equal(t->axis, GM_AXIS_PHASES);
    assert_int_equal(t->tick_count, 3);
    assert_string_equal(t->ticks[0].label, "forward");
    assert_string_equal(t->ticks[2].label, "optimizer");
    near_to(t->end, 5, 1e-9); /* before, three phases, after */
    near_to(t->lines[0].peak_x, 1.95, 1e-9);
    near_to(t->lines[1].peak_x, 1.95, 1e-9);
    gm_comparison_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),    cmocka_unit_test(test_files),   cmocka_unit_test(test_limits),
        cmocka_unit_test(test_laws),     cmocka_unit_test(test_no_laws), cmocka_unit_test(test_sites),
        cmocka_unit_test(test_residual), cmocka_unit_test(test_growth),  cmocka_unit_test(test_growth_of_totals),
        cmocka_unit_test(test_devices),  cmocka_unit_test(test_series),  cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_phases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
