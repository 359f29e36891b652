/* SPDX-License-Identifier: Apache-2.0
 *
 * What the writers make of the sample reports: sentences that depend on a figure, the same twice, memory that runs out.
 * The whole texts are golden in golden.py.
 */
#include "analyze/document/documents.h"

#include "analyze/diagnose/diagnose.h"
#include "sample.h"
#include "tests/nomem/nomem.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum format { TEXT, MARKDOWN, JSON, SUMMARY, EXPLAIN, FORMATS };

static void write_format(struct gm_text *out, const struct gm_report *report, enum format format)
{
    if (format == TEXT)
        gm_analysis_document(out, GM_TXT, report, NULL);
    else if (format == MARKDOWN)
        gm_analysis_document(out, GM_MD, report, sample_charts);
    else if (format == JSON)
        gm_analysis_document(out, GM_JSON, report, NULL);
    else if (format == EXPLAIN)
        gm_analysis_explain(out, report);
    else
        gm_analysis_summary(out, report, "results/20251114_143025_x");
}

TEST(same_twice)
{
    for (size_t i = 0; sample_names[i] != NULL; i++)
        for (enum format format = 0; format < FORMATS; format++) {
            struct gm_text out[2] = {{0}, {0}};
            for (int k = 0; k < 2; k++) {
                struct gm_report report;
                assert_true(sample_report(&report, sample_names[i]));
                write_format(&out[k], &report, format);
                gm_report_free(&report);
            }
            assert_int_equal(out[0].length, out[1].length);
            assert_memory_equal(out[0].data, out[1].data, out[0].length);
            gm_text_free(&out[0]);
            gm_text_free(&out[1]);
        }
}

/* The time is in one field of one output. */
TEST(time_stands_once)
{
    struct gm_report report;
    assert_true(sample_report(&report, "small"));
    for (enum format format = 0; format < FORMATS; format++) {
        struct gm_text out = {0};
        write_format(&out, &report, format);
        const char *found = strstr(out.data, report.timestamp);
        assert_int_equal(found != NULL, format == JSON);
        assert_null(found != NULL ? strstr(found + 1, report.timestamp) : NULL);
        gm_text_free(&out);
    }
    gm_report_free(&report);
}

TEST(summary_is_six_lines)
{
    for (size_t i = 0; sample_names[i] != NULL; i++) {
        struct gm_report report;
        struct gm_text out = {0};
        assert_true(sample_report(&report, sample_names[i]));
        gm_analysis_summary(&out, &report, "/tmp/a\nb\x1b[31m/20251114_143025_x");
        size_t lines = 0;
        for (size_t k = 0; k < out.length; k++) {
            lines += out.data[k] == '\n';
            assert_true(out.data[k] == '\n' || (unsigned char)out.data[k] >= 0x20);
        }
        assert_int_equal(lines, 6);
        const char end[] = "/tmp/a?b?[31m/20251114_143025_x\n";
        assert_string_equal(out.data + out.length - strlen(end), end);
        gm_text_free(&out);
        gm_report_free(&report);
    }
}

/* Out of memory in pieces: a setting that a replay has shown to help comes first, if there is one. */
TEST(fragmentation_asks_for_settings)
{
    static const struct gm_oom_row oom = {.event = 7, .verdict = GM_OOM_FRAGMENTATION, .verdict_detail = "."};
    static const struct gm_finding settings = {.id = "replayed-settings",
                                               .title = "Another setting",
                                               .detail = "...",
                                               .bytes = 1,
                                               .brief = "expandable_segments:True (replayed: ...",
                                               .rank = GM_RANK_WRONG_FIGURES};
    for (int has_advice = 0; has_advice < 2; has_advice++) {
        struct gm_report report;
        struct gm_text out = {0};
        assert_true(sample_report(&report, "train"));
        struct gm_device_report device = report.devices[0];
        struct gm_device_timeline timeline = report.timelines[0];
        device.trace.ooms = 1;
        timeline.ooms = &oom;
        timeline.oom_count = 1;
        report.devices = &device;
        report.timelines = &timeline;
        report.diagnosis.findings = &settings;
        report.diagnosis.finding_count = (size_t)has_advice;
        assert_int_equal(gm_diagnose_tell(&report, NULL), GM_OK);
        gm_analysis_summary(&out, &report, "results/x");
        assert_non_null(strstr(out.data, has_advice
                                             ? "\nDo this expandable_segments:True (replayed: ...\n"
                                             : "\nWhy     ran out of memory (fragmentation), enough was cached, but "
                                               "not in one piece\n"));
        gm_text_free(&out);
        gm_report_free(&report);
    }
}

/* 12 MiB more or less than can be released, with a private pool or a pending free that makes the difference. */
static void assert_why(bool is_private, bool is_pending, int64_t more, const char *expected)
{
    for (enum format format = TEXT; format <= MARKDOWN; format++) {
        struct gm_report report;
        struct gm_text out = {0}, flat = {0};
        assert_true(sample_report(&report, "small"));
        struct gm_device_report device = report.devices[0];
        struct gm_pool_row pool = device.pools[0];
        pool.is_private = is_private;
        device.pools = &pool;
        device.pool_count = 1;
        report.devices = &device;
        report.totals.pending = is_pending ? 1 : 0;
        report.fragmentation.empty_cache = (uint64_t)((int64_t)report.fragmentation.releasable + more);
        write_format(&out, &report, format);
        for (size_t i = 0; i < out.length; i++)
            if (out.data[i] != '`' && !(out.data[i] == ' ' && i > 0 && strchr(" \n", out.data[i - 1]) != NULL))
                gm_text_add_char(&flat, out.data[i] == '\n' ? ' ' : out.data[i]);
        assert_int_equal(strstr(flat.data, "torch.cuda.empty_cache() ") != NULL, expected != NULL);
        assert_true(expected == NULL || strstr(flat.data, expected) != NULL);
        gm_text_free(&flat);
        gm_text_free(&out);
        gm_report_free(&report);
    }
}

TEST(empty_cache_is_explained)
{
    assert_why(true, true, 0, NULL);
    assert_why(true, false, -12, "torch.cuda.empty_cache() leaves private pools in use (CUDA graphs, MemPool) alone.");
    assert_why(false, true, 12,
               "torch.cuda.empty_cache() waits for pending frees first and gives back their blocks, too. ");
    assert_why(true, true, 12,
               "gives back their blocks, too, and leaves private pools in use (CUDA graphs, MemPool) alone.");
}

static void assert_where(uint64_t with_stack, const char *expected)
{
    for (enum format format = 0; format < FORMATS; format++) {
        if (format == JSON || format == EXPLAIN)
            continue;
        struct gm_report report;
        struct gm_text out = {0};
        assert_true(sample_report(&report, "small"));
        report.snapshot.live_bytes_with_stack = with_stack;
        assert_int_equal(gm_diagnose_tell(&report, NULL), GM_OK);
        write_format(&out, &report, format);
        const char *where = strstr(out.data, format == MARKDOWN ? "**Where:** " : "Where   ");
        assert_non_null(where);
        where += strlen(format == MARKDOWN ? "**Where:** " : "Where   ");
        assert_memory_equal(where, expected, strlen(expected));
        gm_text_free(&out);
        gm_report_free(&report);
    }
}

/* 768 MiB are allocated. A site is named from 1 % on; below, how much has no stack, and never 100.0 %. */
TEST(where_without_stacks)
{
    const uint64_t allocated = 768 * UINT64_C(1048576);
    assert_where(allocated, "512.0 MiB (66.7 %) in one block: ");
    assert_where(allocated / 100, "512.0 MiB (66.7 %) in one block: ");
    assert_where(allocated / 200, "no stack recorded for 99.5 % of what is allocated\n");
    assert_where(allocated / 1000, "no stack recorded for 99.9 % of what is allocated\n");
    assert_where(512, "no stack recorded for over 99.9 % of what is allocated\n");
}

/* Whichever allocation fails, the writer ends, says so, and leaks nothing (that is for the sanitizer to see). */
static void refuse_each(const char *sample, size_t step)
{
    struct gm_report report;
    assert_true(sample_report(&report, sample));
    for (enum format format = 0; format < FORMATS; format++)
        for (size_t n = 1;; n += step * unit_sampled()) {
            struct gm_text out = {0};
            nomem_begin(n, false);
            write_format(&out, &report, format);
            const bool was_refused = nomem_end();
            assert_int_equal(out.failed, was_refused);
            gm_text_free(&out);
            if (!was_refused)
                break;
        }
    gm_report_free(&report);
}

TEST(no_memory)
{
    refuse_each("eight", 1);
    refuse_each("opaque", 1);
    refuse_each("oom", 7);
}
