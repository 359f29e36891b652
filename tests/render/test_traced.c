/* SPDX-License-Identifier: Apache-2.0
 *
 * The charts of what happened over time: that heights, widths and places are those of the numbers, checked against
 * scales read off the page's own tick labels.
 */
#include "analyze/base/size.h"
#include "render/charts.h"
#include "render/theme.h"
#include "tests/render/page_checks.h"
#include "tests/render/samples.h"
#include "tests/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 1500, FIRST_PIXEL = 188 };

/* ---- memory_timeline --------------------------------------------------------------------------------------------- */

/* Rows of pixels for bytes, by two tick labels: "0" and another one. */
struct scale {
    double zero, per_byte;
};

static struct scale scale_of(const struct gm_display *d, const char *label, uint64_t bytes)
{
    const struct gm_text_item *tick = find_text(d, label), *zero = NULL;
    for (size_t i = 0; i < d->items.n && zero == NULL; i++) /* the first "0": that of the axis of bytes */
        if (d->items.v[i].kind == GM_ITEM_TEXT && strcmp(d->items.v[i].text.text, "0") == 0)
            zero = &d->items.v[i].text;
    assert_true(tick != NULL && zero != NULL && tick->y < zero->y);
    return (struct scale){zero->y * GM_DISPLAY_SCALE, (zero->y - tick->y) * GM_DISPLAY_SCALE / (double)bytes};
}

static void check_row(const struct scale *s, uint64_t bytes, double row)
{
    const double want = s->zero - s->per_byte * (double)bytes;
    if (fabs(row - want) > 1.01)
        fail_msg("%.1f MiB are at row %.0f, not %.1f", (double)bytes / 1048576, row, want);
}

/* In a column of pixels: the top of the highest layer. Areas of layers end at each other or at the bottom. */
static unsigned top_of_stack(const struct gm_display *d, size_t pixel)
{
    unsigned top = 65535;
    for (size_t i = 0; nth_area(d, i) != NULL; i++) {
        const struct gm_area_item *a = nth_area(d, i);
        const bool is_cached = a->fill.color == gm_use_fill(GM_USE_CACHED).color;
        if (a->n == PIXELS && !a->is_overlay && !is_cached && a->fill.color != GM_INK &&
            a->top[pixel] < a->bottom[pixel] && a->top[pixel] < top)
            top = a->top[pixel];
    }
    return top;
}

/* One column is one pixel: every one has the height of its active bytes, and the line is at what is reserved. */
TEST(heights)
{
    struct gm_report *report = sampled(SAMPLE_TYPICAL);
    const struct gm_display *d = laid_out(report, GM_CHART_MEMORY_TIMELINE);
    const struct gm_curve *curve = &report->timelines[0].curve;
    const struct scale scale = scale_of(d, "16 GiB", 16 * GM_GIB);
    const struct gm_area_item *line = NULL, *pending = NULL;
    for (size_t i = 0; nth_area(d, i) != NULL; i++) {
        const struct gm_area_item *a = nth_area(d, i);
        if (a->n == PIXELS && a->is_overlay)
            pending = a;
        if (a->n == PIXELS && a->fill.color == GM_INK && !a->is_overlay)
            line = a;
    }
    assert_int_equal(curve->column_count, PIXELS);
    assert_true(line != NULL && pending != NULL && line->x == FIRST_PIXEL);
    for (size_t p = 0; p < PIXELS; p++) {
        const struct gm_curve_column *c = &curve->columns[p];
        check_row(&scale, c->high.active, top_of_stack(d, p));
        check_row(&scale, c->high.reserved, line->top[p] + 1);
        check_row(&scale, c->high.active, pending->top[p]);
        check_row(&scale, c->high.active - c->pending, pending->bottom[p]);
    }
}

/* Each layer lies on the one below it, and is as high as its categories' bytes together. */
TEST(layers)
{
    struct gm_report *report = sampled(SAMPLE_TYPICAL);
    const struct gm_display *d = laid_out(report, GM_CHART_MEMORY_TIMELINE);
    const struct gm_curve *curve = &report->timelines[0].curve;
    const struct scale scale = scale_of(d, "16 GiB", 16 * GM_GIB);
    size_t found = 0;
    const struct gm_area_item *below = NULL;
    for (size_t i = 0; nth_area(d, i) != NULL; i++) {
        const struct gm_area_item *a = nth_area(d, i);
        size_t layer = 0;
        while (layer < curve->layer_count && curve->layers[layer].color != a->fill.color)
            layer++;
        if (a->n != PIXELS || a->is_overlay || layer == curve->layer_count)
            continue;
        for (size_t p = 0; p < PIXELS; p++) {
            const uint64_t bytes = curve->layer_bytes[p * curve->layer_count + layer];
            const double height = (double)a->bottom[p] - (double)a->top[p];
            assert_true(fabs(height - scale.per_byte * (double)bytes) <= 1.5);
            assert_true(below == NULL || a->bottom[p] == below->top[p]);
        }
        below = a;
        found++;
    }
    assert_int_equal(found, 10);
    assert_non_null(find_text(d, "Other (4)"));
}

/* 4000 columns on 1500 pixels: the one that is high is seen, at its place. */
TEST(spike)
{
    struct gm_report *report = sampled(SAMPLE_SPIKE);
    const struct gm_display *d = laid_out(report, GM_CHART_MEMORY_TIMELINE);
    const struct gm_curve *curve = &report->timelines[0].curve;
    const struct scale scale = scale_of(d, "40 GiB", 40 * GM_GIB);
    const size_t column = 4000 / 3, pixel = column * PIXELS / 4000;
    assert_true(curve->columns[column].high.active > 5 * curve->columns[column - 1].high.active);
    size_t high = 0, at = 0;
    for (size_t p = 0; p < PIXELS; p++)
        if (top_of_stack(d, p) < scale.zero - scale.per_byte * 30.0 * (double)GM_GIB) {
            high++;
            at = p;
        }
    assert_int_equal(high, 1);
    assert_true(at + 1 >= pixel && at <= pixel + 1);
    check_row(&scale, curve->columns[column].high.active, top_of_stack(d, at));
}

TEST(marks)
{
    struct gm_report *report = sampled(SAMPLE_TYPICAL);
    const struct gm_display *d = laid_out(report, GM_CHART_MEMORY_TIMELINE);
    const struct gm_peak *peak = &report->peaks[0];
    char size[GM_SIZE_TEXT], text[200];
    /* by hand: event 7906 is 7906 * 2345 / 7 us after the start, in column 1129 of 1500 */
    assert_int_equal(peak->event, 7906);
    snprintf(text, sizeof text, "Peak: %s requested at event 7,906, 2.648 s", gm_size_format(size, peak->requested));
    assert_int_equal(count_parts(d, text), 2); /* in the third line, and at the mark */
    const struct scale scale = scale_of(d, "16 GiB", 16 * GM_GIB);
    bool is_marked = false;
    for (size_t i = 0; nth_area(d, i) != NULL; i++) {
        const struct gm_area_item *a = nth_area(d, i);
        if (a->n > 50)
            continue;
        const double x = (double)a->x + (double)a->n / 2, y = ((double)a->top[a->n / 2] + a->bottom[a->n / 2]) / 2;
        is_marked |= fabs(x - (FIRST_PIXEL + 1129.5)) < 2 &&
                     fabs(y - (scale.zero - scale.per_byte * (double)peak->levels.active)) < 2;
    }
    assert_true(is_marked);
    snprintf(text, sizeof text, "Most reserved: %s at event ",
             gm_size_format(size, report->timelines[0].peak_reserved.levels.reserved));
    assert_non_null(find_part(d, text));
    assert_non_null(find_text(d, "Out of memory: 2.00 GiB asked for"));
    for (int i = 0; i < 6; i++) {
        snprintf(text, sizeof text, "ProfilerStep#%d", i);
        const struct gm_text_item *step = find_text(d, text);
        assert_non_null(step); /* in the middle of its sixth of the plot */
        assert_true(fabs(step->x - (94 + 750 * (i + 0.5) / 6)) < 2);
    }
    assert_non_null(find_text(d, "Phase: forward")); /* what a colour means where no band has room for its name */
    assert_non_null(find_text(d, "Phase: optimizer"));
    assert_null(find_text(d, "Phase: prefill"));
    static const char *const ticks[] = {"0 s", "0.5 s", "1 s", "1.5 s", "2 s", "2.5 s", "3 s", "3.5 s"};
    for (size_t i = 0; i < 8; i++) {
        const struct gm_text_item *tick = find_text(d, ticks[i]);
        assert_non_null(tick);
        assert_true(fabs(tick->x - (94 + 750 * 0.5e6 * (double)i / (1500 * 2345.0))) < 0.1);
    }
    assert_non_null(find_text(d, "1,491")); /* 0.5 s are in column 213, which begins with event 1491 */
}

TEST(many_steps)
{
    struct gm_report *report = sampled(SAMPLE_MANY_STEPS);
    const struct gm_display *d = laid_out(report, GM_CHART_MEMORY_TIMELINE);
    assert_non_null(find_text(d, "5,000 steps"));
    assert_non_null(find_text(d, "15,000 phases"));
    assert_null(find_part(d, "Phase: ")); /* no band has its colour */
    size_t lines = 0;
    for (size_t i = 0; i < d->items.n; i++)
        lines += d->items.v[i].kind == GM_ITEM_LINE && d->items.v[i].line.color == GM_ALARM;
    assert_int_equal(lines, 5); /* every time memory ran out has a line, if not a label */
    assert_true(d->items.n < 500);
}

TEST(panels)
{
    struct gm_report *report = sampled(SAMPLE_EIGHT);
    const struct gm_display *d = laid_out(report, GM_CHART_MEMORY_TIMELINE);
    for (int i = 0; i < 8; i++) {
        char text[32];
        snprintf(text, sizeof text, "Device %d", i);
        assert_non_null(find_text(d, text));
    }
    assert_null(find_part(d, "more device"));
    report = sampled(SAMPLE_TWENTY);
    d = laid_out(report, GM_CHART_MEMORY_TIMELINE);
    assert_int_equal(count_parts(d, "Most reserved: "), 8);
    assert_non_null(find_part(d, "+ 12 more devices"));
}

TEST(without_times)
{
    struct gm_report *report = sampled(SAMPLE_BARE);
    const struct gm_display *d = laid_out(report, GM_CHART_MEMORY_TIMELINE);
    assert_non_null(find_text(d, "280 events, without times"));
    assert_null(find_text(d, "time"));
    const struct gm_text_item *tick = find_text(d, "250");
    assert_true(tick != NULL && fabs(tick->x - (94 + 750 * 250.0 / 280)) < 0.1);
    assert_non_null(find_part(d, "Not reconstructed: the segments at the end are not in the file"));
    assert_null(find_part(d, "active, in blocks"));
}

/* ---- peak_breakdown ---------------------------------------------------------------------------------------------- */

TEST(peak_breakdown)
{
    static const struct gm_slice categories[] = {{"A", 0x112233, 60, 6}, {"B", 0x445566, 40, 4}};
    static const struct gm_slice roles[] = {{"Activation", 0x778899, 75, 6}, {"Unknown", 0xaabbcc, 25, 4}};
    static const struct gm_group_row sites[] = {
        {"f  a.py:1", "A", "Activation", 0x112233, 50, 5, NULL, NULL, 70, NULL, 0},
        {"g  b.py:2", "B", NULL, 0x445566, 25, 1, NULL, NULL, 100, NULL, 0},
        {"h  c.py:3", "B", NULL, 0x445566, 5, 1, NULL, NULL, GM_REPORT_NONE, NULL, 0}};
    const struct gm_device_report device = {.device = 4, .trace = {.events = 9}};
    struct gm_device_timeline timeline = {.reconciliation = {.first_time_us = GM_REPORT_NONE}};
    timeline.peak = (struct gm_peak_detail){.roles = roles,
                                            .role_count = 2,
                                            .sites = sites,
                                            .site_count = 3,
                                            .site_total = 10,
                                            .site_rest_bytes = 20,
                                            .site_rest_blocks = 3};
    struct gm_peak peak = {100, 7, GM_REPORT_NONE, categories, 2, {100, 120, 128, 160}};
    struct gm_report report = {
        .run_name = "r", .devices = &device, .device_count = 1, .peaks = &peak, .timelines = &timeline};
    const struct gm_display *d = laid_out(&report, GM_CHART_PEAK_BREAKDOWN);
    assert_non_null(find_text(d, "Peak: 100 B requested at event 7"));
    assert_non_null(find_text(d, "100 B requested + 28 B rounding = 128 B active; + 32 B cached = 160 B reserved. Of "
                                 "what is active 8 B are pending"));
    const struct gm_rect_item *bars[3 + 2 + 2 + 3];
    for (size_t i = 0; i < 10; i++)
        assert_non_null(bars[i] = nth_rect(d, GM_RECT_BAR, i));
    const double whole = bars[2]->x + bars[2]->w - bars[0]->x;
    assert_true(fabs(bars[0]->w - whole * 100 / 160) < 1 && fabs(bars[1]->w - whole * 28 / 160) < 1);
    assert_true(fabs(bars[2]->w - whole * 32 / 160) < 1 && bars[2]->fill.hatch != GM_HATCH_NONE);
    assert_true(fabs(bars[3]->w - whole * 0.6) < 1 && fabs(bars[4]->w - whole * 0.4) < 1);
    assert_true(fabs(bars[5]->w - whole * 0.75) < 1 && fabs(bars[6]->w - whole * 0.25) < 1);
    assert_true(fabs(bars[7]->w - 2 * bars[8]->w) < 0.01 && fabs(bars[7]->w - 10 * bars[9]->w) < 0.01);
    assert_non_null(find_text(d, "70 B (30.0% less)"));
    assert_non_null(find_text(d, "100 B (no less)"));
    assert_non_null(find_text(d, "A  \xc2\xb7  Activation  \xc2\xb7  5 blocks"));
    assert_non_null(find_text(d, "+ 7 more call sites: 20 B in 3 blocks"));
    assert_null(find_part(d, "by lifetime"));
    peak.levels.active = GM_REPORT_NONE;
    timeline.reconciliation.reason = "no segments";
    d = laid_out(&report, GM_CHART_PEAK_BREAKDOWN);
    assert_non_null(find_text(d, "Not known: no segments"));
    assert_non_null(nth_rect(d, GM_RECT_BAR, 6)); /* the rest is shown all the same */
}

/* What only another device than the highest holds has a name, too. */
TEST(peaks_of_the_devices)
{
    static const struct gm_slice first[] = {{"Loss", 0x112233, 1000, 6}}, second[] = {{"Weights", 0x445566, 500, 6}};
    static const struct gm_device_report devices[] = {{.device = 0, .trace = {.events = 9}},
                                                      {.device = 1, .trace = {.events = 9}}};
    static const struct gm_device_timeline timelines[2];
    static const struct gm_peak peaks[] = {{1000, 7, GM_REPORT_NONE, first, 1, {1000, 1000, 1000, 1000}},
                                           {500, 7, GM_REPORT_NONE, second, 1, {500, 500, 500, 500}}};
    const struct gm_report report = {
        .run_name = "r", .devices = devices, .device_count = 2, .peaks = peaks, .timelines = timelines};
    check_page(&report, GM_CHART_PEAK_BREAKDOWN);
    assert_non_null(find_text(laid_out(&report, GM_CHART_PEAK_BREAKDOWN), "Weights"));
}

/* ---- fragmentation_map ------------------------------------------------------------------------------------------- */

static const struct gm_display *map_of(const struct gm_map_segment *segments, size_t n, size_t total)
{
    static struct gm_device_report device;
    static struct gm_device_timeline timeline;
    static struct gm_peak peak;
    device = (struct gm_device_report){.trace = {.events = 1}};
    timeline = (struct gm_device_timeline){.map = {segments, n, total, 7 * GM_MIB}};
    const struct gm_report report = {
        .run_name = "r", .devices = &device, .device_count = 1, .peaks = &peak, .timelines = &timeline};
    check_page(&report, GM_CHART_FRAGMENTATION_MAP);
    return laid_out(&report, GM_CHART_FRAGMENTATION_MAP);
}

/* The bytes that bars of one look stand for, if a row of `width` is `bytes`. */
static double bytes_of(const struct gm_display *d, uint32_t color, double per_unit)
{
    double sum = 0;
    for (size_t i = 0; nth_rect(d, GM_RECT_BAR, i) != NULL; i++)
        if (nth_rect(d, GM_RECT_BAR, i)->fill.color == color)
            sum += (nth_rect(d, GM_RECT_BAR, i)->w + 0.5) * per_unit; /* and its hairline */
    return sum;
}

TEST(map)
{
    static const struct gm_map_block blocks[] = {{0, 10 * GM_MIB, 1, 0x112233, "A"},
                                                 {10 * GM_MIB, 20 * GM_MIB, 0, 0, NULL},
                                                 {30 * GM_MIB, 2 * GM_MIB, 2, 0x112233, "A"},
                                                 {32 * GM_MIB, 32 * GM_MIB, 1, 0x445566, "B"}};
    const struct gm_map_segment segment = {0x7f0000, 64 * GM_MIB, "large", 0, blocks, 4, 0};
    const struct gm_display *d = map_of(&segment, 1, 3);
    /* 44 rows of 64 MiB / 44 each, 480 units wide */
    const double per_unit = 64.0 * (double)GM_MIB / 44 / 480;
    assert_true(fabs(bytes_of(d, 0x112233, per_unit) / (double)GM_MIB - 10) < 0.05);
    assert_true(fabs(bytes_of(d, 0x445566, per_unit) / (double)GM_MIB - 32) < 0.05);
    assert_true(fabs(bytes_of(d, gm_use_fill(GM_USE_CACHED).color, per_unit) / (double)GM_MIB - 20) < 0.05);
    size_t hatched = 0;
    for (size_t i = 0; nth_rect(d, GM_RECT_BAR, i) != NULL; i++)
        hatched += nth_rect(d, GM_RECT_BAR, i)->fill.hatch == GM_HATCH_CROSS; /* what is pending */
    assert_true(hatched >= 1 && hatched <= 3);
    assert_non_null(find_text(d, "0x7f0000"));
    assert_non_null(find_text(d, "68.8%"));
    assert_non_null(find_text(d, "+ 2 more segments, none larger than these: 7.00 MiB"));
    assert_null(find_text(d, "In no block of the file"));
    const struct gm_map_segment torn = {0x7f0000, 64 * GM_MIB, "large", 0, blocks, 3, 0};
    assert_non_null(find_text(map_of(&torn, 1, 1), "In no block of the file"));
}

/* Short segments share rows; what there is no room for is said. */
TEST(map_of_many)
{
    enum { N = 3000 };
    static struct gm_map_segment segments[N];
    static const struct gm_map_block block = {0, 2 * GM_MIB, 1, 0x112233, "A"};
    for (size_t i = 0; i < N; i++)
        segments[i] = (struct gm_map_segment){i * 2 * GM_MIB, 2 * GM_MIB, "small", 0, &block, 1, 0};
    const struct gm_display *d = map_of(segments, N, N);
    assert_non_null(find_text(d, "44 of 3,000, largest first; a whole row is 2.00 MiB"));
    /* 2956 * 2 MiB, and the 7 MiB of those that the report does not list */
    assert_non_null(find_text(d, "+ 2,956 more segments, none larger than these: 5.78 GiB"));
    static const struct gm_map_block large = {0, 200 * GM_MIB, 1, 0x445566, "B"};
    segments[0] = (struct gm_map_segment){0, 200 * GM_MIB, "large", 0, &large, 1, 0};
    d = map_of(segments, 101, 101);
    assert_non_null(find_part(d, "101 of 101"));
    assert_null(find_part(d, "more segments"));
    /* how many there are and how large stand in two columns, as of segments with a row of their own */
    assert_non_null(find_part(d, " segments of"));
    assert_null(find_part(d, " segments of 2.00 MiB"));
    segments[100].bytes = GM_MIB;
    assert_non_null(find_part(map_of(segments, 101, 101), " segments up to"));
}

/* Segments that would look the same have one row; their bytes count. */
TEST(map_of_alike)
{
    static const struct gm_map_block full = {0, 86 * GM_MIB, 1, 0x112233, "A"},
                                     other = {0, 86 * GM_MIB, 1, 0x445566, "B"};
    const struct gm_map_segment segments[] = {{0x7f0000, 86 * GM_MIB, "large", 0, &full, 1, 33},
                                              {0x7f1000, 86 * GM_MIB, "large", 0, &other, 1, 0}};
    const struct gm_display *d = map_of(segments, 2, 40);
    assert_non_null(find_text(d, "34 segments of"));
    assert_non_null(find_text(d, "0x7f1000"));
    assert_null(find_text(d, "0x7f0000"));
    assert_non_null(find_part(d, "35 of 40"));
    assert_non_null(find_text(d, "+ 5 more segments, none larger than these: 7.00 MiB"));
    assert_non_null(find_text(d, "2.86 GiB"));
    assert_non_null(find_part(d, "a whole row is 86.00 MiB")); /* and not split, to show one in more detail */
}

/* A hundred thousand blocks in one segment are no more rectangles than pixels, and none is lost altogether. */
TEST(map_of_small_blocks)
{
    enum { N = 100000 };
    GM_FREED struct gm_map_block *blocks = calloc(N, sizeof *blocks);
    assert_non_null(blocks);
    for (size_t i = 0; i < N; i++)
        blocks[i] = (struct gm_map_block){i * 512, 512, i % 3 != 0, i % 3 == 0 ? 0 : 0x112233, i % 3 == 0 ? NULL : "A"};
    const struct gm_map_segment segment = {0, N * 512, "small", 0, blocks, N, 0};
    const struct gm_display *d = map_of(&segment, 1, 1);
    assert_true(d->items.n < 44 * 961 + 500);
    assert_non_null(find_text(d, "66.7%"));
}

/* ---- flamegraph -------------------------------------------------------------------------------------------------- */

TEST(flame)
{
    static const struct gm_flame_node nodes[] = {
        {.name = "all", .line = GM_REPORT_NONE, .first_child = 1, .bytes = 1000, .blocks = 9},
        {.name = "main",
         .filename = "a/b.py",
         .line = 3,
         .first_child = 2,
         .next_sibling = 3,
         .depth = 1,
         .color = 0x204060,
         .is_python = true,
         .bytes = 600,
         .blocks = 6},
        {.name = "at::empty",
         .line = GM_REPORT_NONE,
         .parent = 1,
         .depth = 2,
         .color = 0x204060,
         .bytes = 300,
         .blocks = 3,
         .self_bytes = 300},
        {.name = "(no stack recorded)",
         .line = GM_REPORT_NONE,
         .depth = 1,
         .color = 0x808080,
         .is_python = true,
         .bytes = 400,
         .blocks = 3,
         .self_bytes = 400}};
    const struct gm_device_report device = {.trace = {.events = 1}};
    const struct gm_device_timeline timeline = {.flame = {nodes, 4}};
    const struct gm_peak peak = {.requested = 1000};
    const struct gm_report report = {
        .run_name = "r", .devices = &device, .device_count = 1, .peaks = &peak, .timelines = &timeline};
    check_page(&report, GM_CHART_FLAMEGRAPH);
    const struct gm_display *d = laid_out(&report, GM_CHART_FLAMEGRAPH);
    const struct gm_rect_item *box[4];
    for (size_t i = 0; i < 4; i++)
        assert_non_null(box[i] = nth_rect(d, GM_RECT_BAR, i));
    const double whole = box[0]->w + 0.5;
    assert_true(fabs(box[1]->w + 0.5 - 0.6 * whole) < 0.01 && box[1]->fill.color == 0x204060);
    assert_true(fabs(box[2]->w + 0.5 - 0.4 * whole) < 0.01 && fabs(box[2]->x - (box[1]->x + 0.6 * whole)) < 0.01);
    assert_true(fabs(box[3]->w + 0.5 - 0.3 * whole) < 0.01 && fabs(box[3]->x - box[1]->x) < 0.01);
    assert_true(box[1]->y == box[2]->y && box[3]->y > box[1]->y && box[1]->y > box[0]->y);
    assert_true(gm_contrast(box[3]->fill.color, GM_PAPER) < gm_contrast(0x204060, GM_PAPER)); /* C++: paler */
    assert_non_null(find_text(d, "all: 1000 B requested in 9 blocks"));
    assert_non_null(find_text(d, "main  a/b.py:3"));
    assert_non_null(find_text(d, "at::empty"));
    assert_null(find_part(d, "too narrow"));
}

/* A path of Windows is cut at its folders, too: file and line stay. */
TEST(flame_of_windows)
{
    static const struct gm_flame_node nodes[] = {
        {.name = "all", .line = GM_REPORT_NONE, .first_child = 1, .bytes = 1000, .blocks = 1},
        {.name = "forward",
         .filename = "D:\\Dev\\assignment2-systems\\cs336-basics\\cs336_basics\\model.py",
         .line = 253,
         .depth = 1,
         .is_python = true,
         .bytes = 200,
         .blocks = 1}};
    const struct gm_device_report device = {.trace = {.events = 1}};
    const struct gm_device_timeline timeline = {.flame = {nodes, 2}};
    const struct gm_peak peak = {.requested = 1000};
    const struct gm_report report = {
        .run_name = "r", .devices = &device, .device_count = 1, .peaks = &peak, .timelines = &timeline};
    check_page(&report, GM_CHART_FLAMEGRAPH);
    assert_non_null(find_text(laid_out(&report, GM_CHART_FLAMEGRAPH), "forward  \xe2\x80\xa6\\model.py:253"));
}

/* Links in circles, and widths that do not add up, end somewhere. */
TEST(flame_in_circles)
{
    static const struct gm_flame_node nodes[] = {
        {.name = "all", .first_child = 1, .bytes = 1000},
        {.name = "a", .first_child = 2, .next_sibling = 2, .bytes = 900, .depth = 1},
        {.name = "b", .first_child = 1, .next_sibling = 1, .bytes = UINT64_MAX, .depth = 1}};
    const struct gm_device_report device = {.trace = {.events = 1}};
    const struct gm_device_timeline timeline = {.flame = {nodes, 3}};
    const struct gm_peak peak = {.requested = 1000};
    const struct gm_report report = {
        .run_name = "r", .devices = &device, .device_count = 1, .peaks = &peak, .timelines = &timeline};
    check_page(&report, GM_CHART_FLAMEGRAPH);
}

static const struct gm_display *flame_of(const struct gm_flame_node *nodes, size_t n, struct gm_text *svg)
{
    const struct gm_device_report device = {.trace = {.events = 1}};
    const struct gm_device_timeline timeline = {.flame = {nodes, n}};
    const struct gm_peak peak = {.requested = nodes[0].bytes};
    const struct gm_report report = {
        .run_name = "r", .devices = &device, .device_count = 1, .peaks = &peak, .timelines = &timeline};
    check_page(&report, GM_CHART_FLAMEGRAPH);
    assert_int_equal(gm_flamegraph_svg(svg, &report, NULL), GM_OK);
    return laid_out(&report, GM_CHART_FLAMEGRAPH);
}

/* What only passes a call on has no box: libraries above the program's own code, how modules are called, the threads of
 * autograd. A call that is too narrow to be seen does not count. Tooltips name all. */
TEST(flame_without_what_passes_on)
{
#define FRAME(parent_, child_, next_, bytes_, name_, file_)                                                            \
    {                                                                                                                  \
        .name = (name_), .filename = (file_), .line = 7, .parent = (parent_), .first_child = (child_),                 \
        .next_sibling = (next_), .is_python = (file_) != NULL, .bytes = (bytes_), .blocks = 1                          \
    }
    static const struct gm_flame_node nodes[] = {
        FRAME(0, 1, 0, 1000000, "all", NULL),
        FRAME(0, 3, 2, 600000, "start", "/usr/lib/python3.10/site-packages/ipykernel/kernelapp.py"),
        FRAME(0, 9, 0, 400000, "torch::autograd::Engine::thread_main(int)", NULL),
        FRAME(1, 5, 4, 599950, "run_code", "/usr/lib/python3.10/site-packages/IPython/shell.py"),
        FRAME(1, 0, 0, 50, "make", "cell.py"),
        FRAME(3, 6, 0, 599950, "<module>", "cell.py"),
        FRAME(5, 7, 0, 599950, "_call_impl", "/usr/lib/python3.10/site-packages/torch/nn/modules/module.py"),
        FRAME(6, 8, 0, 599950, "forward", "/usr/lib/python3.10/site-packages/transformers/llama.py"),
        FRAME(7, 0, 0, 300000, "silu", "net.py"),
        FRAME(2, 10, 0, 400000, "torch::autograd::Node::operator()(std::vector<int>&&)", NULL),
        FRAME(9, 12, 11, 300000, "torch::autograd::generated::MulBackward0::apply(int)", NULL),
        FRAME(9, 0, 0, 100000, "torch::autograd::generated::AddBackward0::apply(int)", NULL),
        FRAME(10, 0, 0, 300000, "at::_ops::mul::call(int)", NULL)};
#undef FRAME
    static const char *const shown[] = {"<module>  cell.py:7", "silu  net.py:7"};
    static const char *const left_out[] = {"start", "run_code", "_call_impl", "thread_main", "_ops"};
    GM_FREED struct gm_text svg = {0};
    const struct gm_display *d = flame_of(nodes, sizeof nodes / sizeof *nodes, &svg);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        assert_non_null(find_text(d, shown[i]));
    assert_non_null(find_part(d, "llama.py:7"));
    assert_non_null(find_text(d, "Node::operator()"));
    assert_non_null(find_text(d, "MulBackward0::apply"));
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        assert_null(find_part(d, left_out[i]));
        assert_non_null(strstr(svg.data, left_out[i]));
    }
    assert_non_null(find_text(d, "5 frames that only pass a call on are not shown; flamegraph.svg names them"));
    assert_non_null(find_text(d, "1 frame is too narrow to be shown"));
}

/* Names of a megabyte are cut before they are copied, for every box of the picture and of the SVG. */
TEST(flame_of_giants)
{
    enum { N = 1 << 20, NODES = 200 };
    GM_FREED char *giant = malloc(N + 1);
    assert_non_null(giant);
    for (size_t i = 0; i < N; i += 2)
        memcpy(giant + i, "\xc3\xa9", 2);
    memcpy(giant + N - 4, "a.py", 5);
    static struct gm_flame_node nodes[NODES];
    for (uint32_t i = 0; i < NODES; i++)
        nodes[i] = (struct gm_flame_node){.name = giant,
                                          .filename = giant + 2,
                                          .line = 7,
                                          .depth = i,
                                          .first_child = i + 1 < NODES ? i + 1 : 0,
                                          .is_python = true,
                                          .bytes = 100000};
    const struct gm_device_report device = {.trace = {.events = 1}};
    const struct gm_device_timeline timeline = {.flame = {nodes, NODES}};
    const struct gm_peak peak = {.requested = 100000};
    const struct gm_report report = {
        .run_name = "r", .devices = &device, .device_count = 1, .peaks = &peak, .timelines = &timeline};
    check_page(&report, GM_CHART_FLAMEGRAPH);
    const struct gm_display *d = laid_out(&report, GM_CHART_FLAMEGRAPH);
    assert_non_null(find_part(d, "136 deeper levels are not shown here")); /* 200 - 64 */
    GM_FREED struct gm_text svg = {0};
    assert_int_equal(gm_flamegraph_svg(&svg, &report, NULL), GM_OK);
    assert_true(svg.length < NODES * 2500);
}

TEST(applies)
{
    for (int s = 0; s < SAMPLE_COUNT; s++) {
        struct gm_report *report = sampled((enum sample)s);
        for (int c = 0; c < GM_CHART_PLAN; c++)
            assert_int_equal(gm_chart_applies(report, (enum gm_chart)c),
                             c < GM_CHART_MEMORY_TIMELINE || report->timelines != NULL);
    }
}
