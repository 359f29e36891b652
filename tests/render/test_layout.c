/* SPDX-License-Identifier: Apache-2.0
 *
 * The charts' display lists, without fonts: what holds on every page whatever the report, and what each chart shows.
 */
#include "analyze/base/size.h"
#include "render/charts.h"
#include "render/metric.h"
#include "render/page.h"
#include "render/theme.h"
#include "tests/render/page_checks.h"
#include "tests/render/random_report.h"
#include "tests/render/samples.h"
#include "tests/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(samples)
{
    for (int s = 0; s < SAMPLE_COUNT; s++) {
        struct gm_report *report = sampled((enum sample)s);
        for (int c = 0; c < GM_CHART_COUNT; c++) {
            print_message("%s, %s\n", sample_name((enum sample)s), gm_chart_file_name((enum gm_chart)c));
            check_page(report, (enum gm_chart)c);
        }
    }
}

/* ---- reports at random ---------------------------------------------------------------------------------------- */

TEST(random_reports)
{
    for (uint64_t seed = 1; seed <= 300; seed += unit_sampled()) {
        struct gm_report report;
        random_report(&report, seed);
        for (int c = 0; c < GM_CHART_COUNT; c++) {
            print_message("\rseed %u, %s            ", (unsigned)seed, gm_chart_file_name((enum gm_chart)c));
            check_page(&report, (enum gm_chart)c);
        }
        gm_report_free(&report);
    }
    print_message("\n");
}

/* ---- what each chart shows -------------------------------------------------------------------------------------- */

TEST(titles)
{
    static const char *const titles[GM_CHART_PLAN] = {
        "Memory overview",           "Top consumers",     "Category breakdown",
        "Size distribution",         "Memory efficiency", "Memory timeline",
        "What the peak was made of", "Fragmentation map", "Flame graph of the peak"};
    struct gm_report *report = sampled(SAMPLE_EIGHT);
    report->totals = (struct gm_totals){.reserved = 10 * GM_GIB, .allocated = 9 * GM_GIB, .inactive = GM_GIB};
    for (int c = 0; c < GM_CHART_PLAN; c++) {
        const struct gm_display *d = laid_out(report, (enum gm_chart)c);
        assert_non_null(find_text(d, titles[c]));
        assert_non_null(find_text(d, "Run iter10_rank0  \xc2\xb7  8 devices (0 to 7)"));
        if (c < GM_CHART_MEMORY_TIMELINE || c == GM_CHART_FRAGMENTATION_MAP)
            assert_non_null(find_text(d, "10.00 GiB reserved  \xc2\xb7  9.00 GiB allocated  \xc2\xb7  1.00 GiB cached  "
                                         "\xc2\xb7  90.0% efficient"));
    }
}

TEST(chart_table)
{
    static const char *const names[GM_CHART_COUNT] = {"memory_overview.png",    "top_consumers.png",
                                                      "category_breakdown.png", "size_distribution.png",
                                                      "memory_efficiency.png",  "memory_timeline.png",
                                                      "peak_breakdown.png",     "fragmentation_map.png",
                                                      "flamegraph.png",         "plan.png"};
    struct gm_report *report = sampled(SAMPLE_EMPTY);
    const struct gm_chart_list list = gm_chart_list_of(gm_charts_of_report(report));
    for (int c = 0; c < GM_CHART_COUNT; c++)
        assert_string_equal(gm_chart_file_name((enum gm_chart)c), names[c]);
    for (int c = 0; c < GM_CHART_MEMORY_TIMELINE; c++) { /* the others do not apply */
        assert_string_equal(list.v[2 * c], names[c]);
        assert_true(strlen(list.v[2 * c + 1]) > 20);
    }
    assert_null(list.v[2 * GM_CHART_MEMORY_TIMELINE]);
}

TEST(empty_frames)
{
    struct gm_report *report = sampled(SAMPLE_EMPTY);
    for (int c = 0; c < GM_CHART_COUNT; c++) {
        const struct gm_display *d = laid_out(report, (enum gm_chart)c);
        assert_non_null(find_text(d, "Nothing to draw"));
        assert_int_equal(gm_chart_applies(report, (enum gm_chart)c), c < GM_CHART_MEMORY_TIMELINE);
        assert_true(find_part(d, "The snapshot has no ") != NULL || find_part(d, "No block was allocated") != NULL);
        assert_null(nth_rect(d, GM_RECT_BAR, 0));
    }

    report = sampled(SAMPLE_ALL_CACHED);
    const struct gm_display *d = laid_out(report, GM_CHART_MEMORY_OVERVIEW);
    assert_non_null(find_text(d, "No block was allocated when the snapshot was taken."));
    assert_non_null(nth_rect(d, GM_RECT_BAR, 0)); /* the cached bytes are shown all the same */
}

/* What follows an empty frame keeps its distance. */
TEST(after_empty_frame)
{
    struct gm_report *report = sampled(SAMPLE_EMPTY);
    const struct gm_display *d = laid_out(report, GM_CHART_MEMORY_OVERVIEW);
    const struct gm_rect_item *frame = NULL;
    for (size_t i = 0; i < d->items.n && frame == NULL; i++)
        if (d->items.v[i].kind == GM_ITEM_RECT && d->items.v[i].rect.fill.color == GM_TRACK)
            frame = &d->items.v[i].rect;
    const struct gm_text_item *heading = find_text(d, "Allocated memory by category");
    assert_true(frame != NULL && heading != NULL);
    assert_true(ink_box(heading).y - (frame->y + frame->h) > 20);
}

TEST(top_consumers)
{
    struct gm_report *report = sampled(SAMPLE_TYPICAL);
    const struct gm_display *d = laid_out(report, GM_CHART_TOP_CONSUMERS);
    const struct gm_rect_item *first = nth_rect(d, GM_RECT_BAR, 0);
    assert_non_null(first);
    for (size_t i = 0; i < 30; i++) {
        const struct gm_rect_item *bar = nth_rect(d, GM_RECT_BAR, i);
        assert_non_null(bar);
        assert_int_equal(bar->fill.color, report->top_blocks[i].color);
        assert_true(fabs(bar->x - first->x) < 1e-9); /* all start at zero */
        double want = first->w * (double)report->top_blocks[i].bytes / (double)report->top_blocks[0].bytes;
        assert_true(fabs(bar->w - want) < 0.01);
        char size[GM_SIZE_TEXT];
        assert_non_null(find_text(d, gm_size_format(size, report->top_blocks[i].bytes)));
        assert_non_null(find_part(d, report->top_blocks[i].category));
    }
    assert_null(nth_rect(d, GM_RECT_BAR, 30));
    const struct gm_text_item *site = find_part(d, "/attention_with_a_rather_long_file_name.py:188");
    assert_non_null(site);
    assert_memory_equal(site->text, "forward  \xe2\x80\xa6/", 13);
}

/* Blocks that would have the same row have one: those without a stack, and those of one line. */
TEST(alike_blocks)
{
    struct gm_report *report = sampled(SAMPLE_TYPICAL);
    struct gm_block_row *blocks = (struct gm_block_row *)(uintptr_t)report->top_blocks;
    blocks[0].bytes = 1000 * GM_MIB;
    for (size_t i = 1; i < 30; i++) {
        blocks[i] = blocks[0];
        blocks[i].frame_count = 0;
        blocks[i].site = i < 20 ? "no stack recorded" : "step  train.py:9";
    }
    blocks[25].frame_count = 7;
    const struct gm_display *d = laid_out(report, GM_CHART_TOP_CONSUMERS);
    assert_non_null(nth_rect(d, GM_RECT_BAR, 2));
    assert_null(nth_rect(d, GM_RECT_BAR, 3));
    assert_non_null(find_text(d, "no stack recorded"));
    assert_non_null(find_part(d, "10 x "));
    const struct gm_text_item *size = find_part(d, "19 x ");
    assert_non_null(size);
    assert_true(gm_text_width(size->text, size->size, size->weight) <= size->max_width); /* not cut */
}

/* Thirty rows with names of ten megabytes each are cut to what can be shown before they are measured or copied. */
TEST(giant_sites)
{
    enum { N = 10 << 20, ROWS = 30 };
    static const char tail[] = "  some/where/file.py:1";
    GM_FREED char *giant = malloc(N + sizeof tail);
    assert_non_null(giant);
    memset(giant, 'W', N);
    memcpy(giant + N, tail, sizeof tail);
    struct gm_block_row rows[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = (struct gm_block_row){.bytes = GM_MIB, .site = giant, .category = "MLP"};
    struct gm_report report = {.run_name = "r", .top_blocks = rows, .top_block_count = ROWS};
    const struct gm_display *d = laid_out(&report, GM_CHART_TOP_CONSUMERS);
    assert_non_null(find_part(d, "WW\xe2\x80\xa6  some/where/file.py:1"));
}

TEST(category_breakdown)
{
    struct gm_report *report = sampled(SAMPLE_MANY_SMALL);
    uint64_t total = 0, small_bytes = 0;
    size_t small = 0;
    for (size_t i = 0; i < report->category_count; i++)
        total += report->categories[i].bytes;
    for (size_t i = 0; i < report->category_count; i++)
        if (report->categories[i].bytes < total / 200) {
            small_bytes += report->categories[i].bytes;
            small++;
        }
    assert_true(small > 2);
    const struct gm_display *d = laid_out(report, GM_CHART_CATEGORY_BREAKDOWN);
    char text[64], size[GM_SIZE_TEXT];
    snprintf(text, sizeof text, "Other (%zu)", small);
    assert_non_null(find_text(d, text));
    assert_non_null(find_text(d, gm_size_format(size, small_bytes)));
    snprintf(text, sizeof text, "Other (%zu): ", small);
    const struct gm_text_item *note = find_part(d, text);
    assert_non_null(note);
    assert_true(gm_text_width(note->text, note->size, note->weight) <= note->max_width);
    assert_string_equal(note->text + strlen(note->text) - 4, " ..."); /* too many to name them all */

    /* Bars: first the stacked one, then one per row. Both have one piece per shown category, in their order. */
    size_t rows = report->category_count - small + 1;
    double sum = 0;
    for (size_t i = 0; i < rows; i++) {
        const struct gm_rect_item *piece = nth_rect(d, GM_RECT_BAR, i);
        const struct gm_rect_item *bar = nth_rect(d, GM_RECT_BAR, rows + i);
        const struct gm_rect_item *swatch = nth_rect(d, GM_RECT_SWATCH, i);
        const struct gm_rect_item *first = nth_rect(d, GM_RECT_BAR, rows);
        assert_true(piece != NULL && bar != NULL && swatch != NULL);
        sum += piece->w + 0.5;
        assert_int_equal(piece->fill.color, bar->fill.color);
        assert_int_equal(piece->fill.color, swatch->fill.color);
        uint64_t bytes = i + 1 < rows ? report->categories[i].bytes : small_bytes;
        if (i + 1 < rows)
            assert_int_equal(bar->fill.color, report->categories[i].color);
        assert_true(fabs(bar->w - first->w * (double)bytes / (double)report->categories[0].bytes) < 0.01);
        assert_true(fabs(piece->w + 0.5 - GM_PAGE_INNER * (double)bytes / (double)total) < 1.5);
    }
    assert_null(nth_rect(d, GM_RECT_BAR, 2 * rows));
    assert_true(fabs(sum - GM_PAGE_INNER) < 1);
}

/* The folded ones and the category that is called Other are told apart. */
/* A snapshot without stacks: its roles are what the picture can tell. */
TEST(roles_without_stacks)
{
    static const struct gm_slice none[] = {{.name = "No stack recorded", .bytes = 100 * GM_MIB, .blocks = 4}};
    static const struct gm_slice roles[] = {
        {.name = "Optimizer state", .color = 0xddcc77, .bytes = 60 * GM_MIB, .blocks = 2},
        {.name = "Parameter", .color = 0x332288, .bytes = 40 * GM_MIB, .blocks = 2}};
    static const struct gm_slice unknown[] = {{.name = "Unknown", .bytes = 100 * GM_MIB, .blocks = 4}};
    static const struct gm_block_row block = {
        .bytes = GM_MIB, .site = "no stack recorded", .category = "No stack recorded", .role = "Parameter"};
    struct gm_report report = {.run_name = "r",
                               .totals = {.reserved = 100 * GM_MIB, .allocated = 100 * GM_MIB, .allocated_blocks = 4},
                               .categories = none,
                               .category_count = 1,
                               .roles = roles,
                               .role_count = 2,
                               .top_blocks = &block,
                               .top_block_count = 1};
    const struct gm_display *d = laid_out(&report, GM_CHART_CATEGORY_BREAKDOWN);
    assert_non_null(find_text(d, "Allocated memory by role"));
    assert_non_null(find_text(d, "60.00 MiB"));
    d = laid_out(&report, GM_CHART_TOP_CONSUMERS);
    assert_non_null(find_text(d, "No stack: Parameter"));
    report.roles = unknown;
    report.role_count = 1;
    d = laid_out(&report, GM_CHART_CATEGORY_BREAKDOWN);
    assert_null(find_text(d, "Allocated memory by role"));
}

TEST(other_and_other)
{
    static const struct gm_slice slices[] = {{"MLP", 0x112233, 9000, 9},
                                             {"Other", 0x888888, 900, 4},
                                             {"Loss", 0x223344, 20, 2},
                                             {"Input", 0x334455, 10, 1},
                                             {"FSDP", 0x445566, 0, 0}};
    struct gm_report report = {.run_name = "r", .categories = slices, .category_count = 5};
    static const enum gm_chart charts[] = {GM_CHART_CATEGORY_BREAKDOWN, GM_CHART_MEMORY_OVERVIEW};
    for (size_t c = 0; c < 2; c++) {
        report.category_count = 5;
        const struct gm_display *d = laid_out(&report, charts[c]);
        assert_non_null(find_text(d, "Other"));
        assert_non_null(find_text(d, "Other (2)"));
        assert_non_null(find_text(d, "Other (2): Loss, Input"));
        assert_non_null(find_part(d, "Other, without a number"));
        assert_null(find_text(d, "FSDP"));

        report.category_count = 3; /* one small category alone is not folded */
        d = laid_out(&report, charts[c]);
        assert_non_null(find_text(d, "Loss"));
        assert_null(find_part(d, "Other ("));
    }
}

TEST(devices)
{
    static const enum gm_chart with_devices[] = {GM_CHART_MEMORY_OVERVIEW, GM_CHART_CATEGORY_BREAKDOWN,
                                                 GM_CHART_MEMORY_EFFICIENCY};
    for (size_t c = 0; c < 3; c++) {
        struct gm_report *report = sampled(SAMPLE_TWENTY);
        const struct gm_display *d = laid_out(report, with_devices[c]);
        size_t shown = 0;
        for (size_t i = 0; i < report->device_count; i++) {
            char label[32];
            snprintf(label, sizeof label, "Device %zu", i);
            size_t larger = 0;
            for (size_t k = 0; k < report->device_count; k++)
                larger += report->devices[k].totals.reserved > report->devices[i].totals.reserved;
            bool is_shown = find_text(d, label) != NULL;
            if (larger >= 16)
                assert_false(is_shown);
            shown += is_shown;
        }
        assert_int_equal(shown, 16);
        assert_non_null(find_part(d, "4 more devices"));
    }
}

TEST(overview_bar)
{
    struct gm_report report = {.run_name = "r"};
    report.totals = (struct gm_totals){.reserved = 8 * GM_GIB, .allocated = 6 * GM_GIB, .inactive = 2 * GM_GIB};
    const struct gm_display *d = laid_out(&report, GM_CHART_MEMORY_OVERVIEW);
    const struct gm_rect_item *allocated = nth_rect(d, GM_RECT_BAR, 0), *cached = nth_rect(d, GM_RECT_BAR, 1);
    assert_true(allocated != NULL && cached != NULL);
    assert_true(fabs(allocated->w - GM_PAGE_INNER * 0.75) < 1 && fabs(cached->w - GM_PAGE_INNER * 0.25) < 1);
    assert_true(fabs(cached->x - (allocated->x + allocated->w)) < 1);
    assert_int_not_equal(cached->fill.hatch, GM_HATCH_NONE);
    assert_int_equal(allocated->fill.hatch, GM_HATCH_NONE);
    assert_non_null(find_text(d, "75.0%"));
    assert_non_null(find_text(d, "25.0%"));
}

/* 250 MiB are reserved, and the blocks tell of 8.5 KiB: that is not a full bar of allocated memory. */
TEST(unbalanced_books)
{
    struct gm_device_report devices[2] = {{.device = 0}, {.device = 1}};
    devices[0].totals = (struct gm_totals){.reserved = 250 * GM_MIB, .allocated = 8704};
    devices[0].ledger = (struct gm_ledger){.reserved = 250 * GM_MIB, .sum = 8704, .residual = 250 * GM_MIB - 8704};
    struct gm_report report = {.run_name = "r", .devices = devices, .device_count = 1};
    report.totals = devices[0].totals;
    report.ledger = devices[0].ledger;
    report.histogram[0].label = "small";
    report.histogram[0].active = (struct gm_amount){8704, 17};
    static const enum gm_chart charts[] = {GM_CHART_MEMORY_OVERVIEW, GM_CHART_SIZE_DISTRIBUTION};
    for (size_t c = 0; c < 2; c++) {
        const struct gm_display *d = laid_out(&report, charts[c]);
        assert_non_null(find_text(d, "Unexplained"));
        assert_non_null(find_text(d, "<0.1%"));
        assert_non_null(find_text(d, "99.9%"));
        assert_null(find_text(d, "100.0%"));
        assert_non_null(find_part(d, "reserved, but the file's blocks do not say for what"));
    }
    report.device_count = 2; /* the second one reserves nothing */
    const struct gm_display *d = laid_out(&report, GM_CHART_MEMORY_OVERVIEW);
    const struct gm_rect_item *bars[4];
    for (size_t i = 0; i < 4; i++)
        assert_non_null(bars[i] = nth_rect(d, GM_RECT_BAR, i));
    const uint32_t unexplained = gm_use_fill(GM_USE_RESIDUAL).color;
    assert_true(bars[0]->w <= 1 && bars[1]->w > GM_PAGE_INNER - 2 && bars[1]->fill.color == unexplained);
    assert_true(bars[2]->w <= 1 && bars[3]->w > 400 && bars[3]->fill.color == unexplained); /* by device */
    char size[GM_SIZE_TEXT]; /* reserved, at the bar's end */
    assert_non_null(find_text(d, gm_size_format(size, 250 * GM_MIB)));

    report.ledger.residual = -4096;
    report.device_count = 1;
    for (size_t c = 0; c < 2; c++) {
        d = laid_out(&report, charts[c]);
        assert_non_null(find_text(d, "Unexplained: the file's blocks sum to 4.00 KiB more than is reserved"));
    }
    report.ledger.residual = 0;
    for (size_t c = 0; c < 2; c++) {
        d = laid_out(&report, charts[c]);
        assert_null(find_part(d, "Unexplained"));
    }
}

/* Only the bins from the first to the last with a block are shown, three at least; the rest is told. */
TEST(shown_bins)
{
    static const struct {
        size_t first, last;              /* with a block */
        size_t shown_first, shown_count; /* rows */
        const char *note;
    } cases[] = {{0, 11, 0, 12, NULL},
                 {2, 6, 2, 5, "Not shown: no block is smaller than 2 KiB, and none has 64 KiB or more"},
                 {0, 3, 0, 4, "Not shown: no block has 8 KiB or more"},
                 {7, 11, 7, 5, "Not shown: no block is smaller than 64 KiB"},
                 {0, 0, 0, 3, "Not shown: no block has 4 KiB or more"},
                 {5, 5, 4, 3, "Not shown: no block is smaller than 8 KiB, and none has 64 KiB or more"},
                 {11, 11, 9, 3, "Not shown: no block is smaller than 256 KiB"}};
    static const char *const labels[GM_HISTOGRAM_BINS] = {"bin 0", "bin 1", "bin 2", "bin 3", "bin 4",  "bin 5",
                                                          "bin 6", "bin 7", "bin 8", "bin 9", "bin 10", "bin 11"};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct gm_report report = {.run_name = "r"};
        for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++)
            report.histogram[i] = (struct gm_histogram_bin){.from = i == 0 ? 0 : UINT64_C(512) << i,
                                                            .to = i == 11 ? UINT64_MAX : UINT64_C(1024) << i,
                                                            .label = labels[i]};
        report.histogram[cases[c].first].active = (struct gm_amount){1000, 1};
        report.histogram[cases[c].last].cached = (struct gm_amount){1000, 1};
        const struct gm_display *d = laid_out(&report, GM_CHART_SIZE_DISTRIBUTION);
        for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++) {
            bool is_wanted = i >= cases[c].shown_first && i < cases[c].shown_first + cases[c].shown_count;
            assert_int_equal(find_text(d, labels[i]) != NULL, is_wanted);
        }
        if (cases[c].note != NULL)
            assert_non_null(find_text(d, cases[c].note));
        else
            assert_null(find_part(d, "Not shown"));
        const struct gm_text_item *label = find_text(d, labels[cases[c].first]);
        const struct gm_rect_item *bar = nth_rect(d, GM_RECT_BAR, 0);
        assert_true(label != NULL && bar != NULL && bar->y < label->y && label->y - bar->y < 20); /* in its row */
    }
}

TEST(size_distribution)
{
    struct gm_report *report = sampled(SAMPLE_TYPICAL);
    memset(report->histogram, 0, sizeof report->histogram);
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++)
        report->histogram[i].label = "bin";
    report->histogram[3].active = (struct gm_amount){4 * GM_MIB, 40};
    report->histogram[3].cached = (struct gm_amount){1 * GM_MIB, 10};
    const struct gm_display *d = laid_out(report, GM_CHART_SIZE_DISTRIBUTION);
    const struct gm_rect_item *bars[4];
    for (size_t i = 0; i < 4; i++)
        assert_non_null(bars[i] = nth_rect(d, GM_RECT_BAR, i));
    assert_null(nth_rect(d, GM_RECT_BAR, 4));
    assert_true(fabs(bars[0]->w - 4 * bars[1]->w) < 0.01); /* bytes */
    assert_true(fabs(bars[2]->w - 4 * bars[3]->w) < 0.01); /* blocks */
    assert_int_equal(bars[1]->fill.hatch, GM_HATCH_DIAGONAL);
    assert_non_null(find_text(d, "4.00 MiB"));
    assert_non_null(find_text(d, "40"));
}

TEST(efficiency)
{
    struct gm_device_report device = {.device = 3};
    device.totals = (struct gm_totals){.reserved = 1000, .allocated = 960, .inactive = 40};
    device.ledger = (struct gm_ledger){.allocated_requested = 950,
                                       .allocated_rounding = 10,
                                       .releasable = 30,
                                       .stranded = 10,
                                       .sum = 1000,
                                       .reserved = 1000};
    struct gm_report report = {.run_name = "r", .devices = &device, .device_count = 1};
    report.totals = device.totals;
    report.ledger = device.ledger;
    const struct gm_display *d = laid_out(&report, GM_CHART_MEMORY_EFFICIENCY);
    assert_non_null(find_text(d, "96.0%"));
    assert_non_null(find_text(d, "good"));
    assert_non_null(find_text(d, "30 B  (3.0%)"));
    assert_non_null(find_text(d, "10 B  (1.0%)"));
    assert_non_null(find_text(d, "The other 50 B of the reserved memory"));
    assert_null(find_text(d, "Unexplained"));
    const struct gm_rect_item *bar = nth_rect(d, GM_RECT_BAR, 0);
    const struct gm_text_item *zero = find_text(d, "0%"), *hundred = find_text(d, "100%");
    assert_true(bar != NULL && zero != NULL && hundred != NULL);
    assert_true(fabs(bar->x - zero->x) < 1e-6 && fabs(bar->w - 0.96 * (hundred->x - zero->x)) < 0.01);

    report.ledger.residual = -7;
    d = laid_out(&report, GM_CHART_MEMORY_EFFICIENCY);
    assert_non_null(find_text(d, "Unexplained"));
}
