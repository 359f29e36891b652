/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a comparison, with numbers worked out by hand.
 */
#include "analyze/compare/compare.h"
#include "render/diff_charts.h"
#include "tests/render/page_checks.h"
#include "tests/unit.h"

#include <string.h>

static void near_to(double value, double expected, double distance)
{
    assert_true(value >= expected - distance && value <= expected + distance);
}

/* ---- two runs by hand -------------------------------------------------------------------------------------------- */

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

/* Of the test. */
static struct hand {
    struct gm_summary base, after;
    struct gm_summary_site base_sites[3], after_sites[3];
    struct gm_slice base_categories[1], after_categories[1];
    struct gm_summary_device base_device, after_device;
    const struct gm_summary *runs[2];
} h;
static struct gm_comparison c; /* of the runs that were compared last */

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

static int make_hand(void **state)
{
    memset(&h, 0, sizeof h);
    h.base_sites[0] = site(0, "a  x/m.py", 100, 100, 10);
    h.base_sites[1] = site(1, "b  x/m.py", 50, 50, 20);
    h.base_sites[2] = site(2, "c  x/m.py", 7, 7, 30);
    h.after_sites[0] = site(3, "d  x/m.py", 20, 20, 40);
    h.after_sites[1] = site(0, "a  x/m.py", 160, 160, 12);
    h.after_sites[2] = site(2, "c  x/m.py", 7, 7, 30);
    finish_run(&h.base, "base.pickle", h.base_sites, 3, h.base_categories, &h.base_device, 200);
    finish_run(&h.after, "new.pickle", h.after_sites, 3, h.after_categories, &h.after_device, 210);
    h.runs[0] = &h.base;
    h.runs[1] = &h.after;
    return 0;
}

static int forget(void **state)
{
    gm_comparison_free(&c);
    c = (struct gm_comparison){0};
    return 0;
}
AROUND_EACH(make_hand, forget)

static void compare(const struct gm_summary *const *runs, size_t count, const char *limit)
{
    struct gm_compare_options options = {.top = 10};
    assert_true(limit == NULL || gm_growth_limit_parse(&options.limit, limit));
    forget(NULL);
    assert_int_equal(gm_compare(&c, runs, count, &options, NULL), GM_OK);
}

TEST(sites)
{
    compare(h.runs, 2, NULL);
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
}

/* What the totals hold beyond the rows is told, not hidden. */
TEST(residual)
{
    h.after.totals.allocated += 5;
    compare(h.runs, 2, NULL);
    assert_int_equal(c.pairs[0].sites.sums.residual, 5);
    assert_int_equal(c.pairs[0].sites_at_peak.sums.residual, 0);
    h.after.totals.allocated = UINT64_MAX - 1; /* a lie */
    compare(h.runs, 2, NULL);
    assert_int_equal(c.pairs[0].sites.sums.delta, INT64_MAX);
}

static size_t growths(const char *limit, uint64_t base, uint64_t after)
{
    h.base_device.peaks[GM_LEVEL_RESERVED].bytes = base;
    h.after_device.peaks[GM_LEVEL_RESERVED].bytes = after;
    for (int k = 0; k < GM_LEVEL_COUNT; k++)
        if (k != GM_LEVEL_RESERVED)
            h.after_device.peaks[k] = h.base_device.peaks[k];
    compare(h.runs, 2, limit);
    size_t n = c.growth_count;
    if (n > 0)
        assert_string_equal(c.growths[0].what, "peak reserved");
    return n;
}

TEST(growth)
{
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
TEST(growth_of_totals)
{
    h.after.has_trace = false;
    compare(h.runs, 2, "9");
    assert_int_equal(c.growth_count, 2); /* allocated 157 to 187, reserved 200 to 210 */
    assert_string_equal(c.growths[0].what, "allocated");
    assert_int_equal(c.growths[0].device, -1);
    assert_string_equal(c.growths[1].what, "reserved");
    assert_false(c.pairs[0].sites_at_peak.sums.is_known);
}

/* One device each are compared whatever they are called; of several each with its own. */
TEST(devices)
{
    h.after_device.device = 3;
    compare(h.runs, 2, NULL);
    assert_int_equal(c.pairs[0].device_count, 1);
    struct gm_summary_device two[2] = {h.after_device, h.after_device};
    two[0].device = 0;
    h.after.devices = two;
    h.after.device_count = 2;
    compare(h.runs, 2, NULL);
    assert_int_equal(c.pairs[0].device_count, 2);
    assert_ptr_equal(c.pairs[0].devices[0].base, &h.base_device);
    assert_ptr_equal(c.pairs[0].devices[0].after, &two[0]);
    assert_null(c.pairs[0].devices[1].base);
}

/* ---- series ------------------------------------------------------------------------------------------------------ */

/* Three runs called alike but for one number are a series; hashes and dates are no numbers, two are no series. */
TEST(series)
{
    static const char *const paths[] = {"a/ctx512_fwd.08fa910c.pickle", "a/ctx128_fwd.66f06b43.pickle",
                                        "a/ctx256_fwd.20251114.pickle", "b/ctx128_fwd.pickle",
                                        "b/ctx256_fwd.pickle",          "a/other.pickle"};
    struct gm_summary runs[6];
    const struct gm_summary *pointers[6];
    for (size_t i = 0; i < 6; i++) {
        runs[i] = h.base;
        runs[i].path = runs[i].name = paths[i];
        pointers[i] = &runs[i];
    }
    compare(pointers, 6, NULL);
    assert_int_equal(c.series_count, 1);
    assert_string_equal(c.series[0].key, "ctx");
    assert_string_equal(c.series[0].name, "ctxN_fwd.#.pickle");
    assert_int_equal(c.series[0].count, 3);
    near_to(c.series[0].n[0], 128, 0);
    near_to(c.series[0].n[2], 512, 0);
    assert_int_equal(c.series[0].runs[0], 1);
    assert_int_equal(c.series[0].fits[0].law, GM_LAW_CONSTANT); /* all are the same run */
}

/* A constant, a line and both terms: three runs tell each of them, and so their sum, which they would not tell alone.
 */
TEST(sum_of_laws)
{
    static const char *const paths[] = {"ctx128.pickle", "ctx256.pickle", "ctx512.pickle"};
    struct gm_summary runs[3];
    struct gm_slice slices[3][3];
    const struct gm_summary *pointers[3];
    for (size_t i = 0; i < 3; i++) {
        const uint64_t n = UINT64_C(128) << i;
        slices[i][0] = (struct gm_slice){"a", 0, 5000000, 1};
        slices[i][1] = (struct gm_slice){"b", 0, 70000 * n, 1};
        slices[i][2] = (struct gm_slice){"c", 0, 10000 * n + 400 * n * n, 1};
        runs[i] = h.base;
        runs[i].path = runs[i].name = paths[i];
        runs[i].categories_at_peak = (struct gm_slices){slices[i], 3};
        runs[i].peaks[GM_LEVEL_REQUESTED] = 5000000 + 80000 * n + 400 * n * n;
        runs[i].peaks[GM_LEVEL_ALLOCATED] = runs[i].peaks[GM_LEVEL_REQUESTED] + 512;
        runs[i].peaks[GM_LEVEL_RESERVED] = runs[i].peaks[GM_LEVEL_REQUESTED] + (i == 1 ? 60000000 : 0);
        pointers[i] = &runs[i];
    }
    compare(pointers, 3, NULL);
    assert_int_equal(c.series_count, 1);
    assert_int_equal(c.series[0].level_count, 3);
    assert_int_equal(c.series[0].fit_count, 6);
    const struct gm_law_fit *fits = c.series[0].fits;
    assert_int_equal(fits[0].law, GM_LAW_NONE); /* reserved is something else */
    assert_int_not_equal(fits[0].closest, GM_LAW_NONE);
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(fits[i].law, GM_LAW_FULL);
        assert_true(fits[i].is_sum && fits[i].why_not == NULL && fits[i].closest == GM_LAW_NONE);
        near_to(fits[i].c0, 5000000, 1e-2);
        near_to(fits[i].c1, 80000, 1e-3);
        near_to(fits[i].c2, 400, 1e-5);
    }
    near_to(fits[2].error_percent, 0, 1e-6);
    assert_true(fits[1].error_percent > 1e-5); /* by the 512 bytes */
    struct gm_display d = {0};
    gm_layout_diff_scaling(&d, &c);
    assert_false(d.failed);
    assert_int_equal(count_parts(&d, "sum of the categories' laws: 4.77 MiB + 78.13 KiB x ctx + 400 B x ctx"), 2);
    assert_non_null(find_part(&d, "no law: neither a line nor a square fits"));
    assert_non_null(find_text(&d, "Its categories at the peak"));
    assert_non_null(find_text(&d, "constant: 4.77 MiB (misses at most 0%)"));
    assert_non_null(nth_area(&d, 4)); /* the lines of two levels and three categories */
    assert_null(nth_area(&d, 5));
    gm_display_free(&d);
    gm_layout_diff_overview(&d, &c);
    assert_false(d.failed);
    assert_int_equal(count_parts(&d, "+123.0 MiB (+592.0%)"), 4); /* three levels, and the bar of categories */
    gm_display_free(&d);
}

/* ---- the axis ---------------------------------------------------------------------------------------------------- */

/* Three steps of 10 events after 5 others, against one of 20 after 10: they lie over each other. */
TEST(alignment)
{
    const struct gm_summary_step base[] = {
        {.number = 7, .first_event = 5, .last_event = 14},
        {.number = 8, .first_event = 15, .last_event = 24},
        {.number = 9, .first_event = 25, .last_event = 34},
    };
    const struct gm_summary_step after[] = {{.number = 0, .first_event = 10, .last_event = 29}};
    struct gm_summary_point points[35];
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
    compare(h.runs, 2, NULL);
    const struct gm_diff_timeline *t = &c.timeline;
    assert_int_equal(t->axis, GM_AXIS_STEPS);
    assert_int_equal(t->tick_count, 3);
    assert_string_equal(t->ticks[0].label, "1st step"); /* step 7 of one lies over step 0 of the other */
    assert_string_equal(t->ticks[2].label, "3rd step");
    near_to(t->before, 0.5, 1e-9); /* both have half a step's events before the first */
    near_to(t->after, 0, 1e-9);
    near_to(t->end, 3.5, 1e-9);
    near_to(t->lines[0].peak_x, 0.5 + 0.45, 1e-9); /* the middle of its fifth event of ten */
    near_to(t->lines[1].peak_x, 0.5 + 19.5 / 20, 1e-9);
    /* the last column of the base has its last event, the new run has nothing there */
    assert_int_equal(t->lines[0].columns[t->column_count - 1].reserved, 134);
    assert_int_equal(t->lines[1].columns[t->column_count - 1].reserved, GM_REPORT_NONE);
}

/* Forward of 10 events against forward, backward and optimizer of 10 each: the forwards lie over each other. */
TEST(phases)
{
    const struct gm_summary_span base[] = {{GM_PHASE_FORWARD, 0, 9}};
    const struct gm_summary_span after[] = {
        {GM_PHASE_FORWARD, 0, 9}, {GM_PHASE_BACKWARD, 10, 19}, {GM_PHASE_OPTIMIZER, 20, 29}};
    h.base_device.events = 10;
    h.base_device.spans = base;
    h.base_device.span_count = 1;
    h.base_device.peaks[GM_LEVEL_ALLOCATED].event = 9;
    h.after_device.events = 30;
    h.after_device.spans = after;
    h.after_device.span_count = 3;
    h.after_device.peaks[GM_LEVEL_ALLOCATED].event = 9;
    compare(h.runs, 2, NULL);
    const struct gm_diff_timeline *t = &c.timeline;
    assert_int_equal(t->axis, GM_AXIS_PHASES);
    assert_int_equal(t->tick_count, 3);
    assert_string_equal(t->ticks[0].label, "forward");
    assert_string_equal(t->ticks[2].label, "optimizer");
    near_to(t->end, 5, 1e-9); /* before, three phases, after */
    near_to(t->lines[0].peak_x, 1.95, 1e-9);
    near_to(t->lines[1].peak_x, 1.95, 1e-9);
}
