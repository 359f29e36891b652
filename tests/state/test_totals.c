/* SPDX-License-Identifier: Apache-2.0
 *
 * Totals, ledger, histogram, top blocks, streams and pools on snapshots made by hand; every expected number is worked
 * out in the comment or is a plain sum of the blocks above it.
 */
#include "tests/state/fixture.h"
#include "tests/unit.h"

#include <string.h>

/* Device 0: a large segment of 20 MiB (8 live of which 7.5 requested, 2 pending of which 2, 10 cached), a small one of
 * 2 MiB on a side stream (512 B live, the rest cached). Device 2: 10 MiB, one block of the legacy kind without a
 * requested size. Device 1 has one event, device 3 nothing. */
static void two_devices(void)
{
    fx_begin();
    struct gm_stack_id none = {0};
    fx_segment(0x10000000, MIB(20), GM_SEGMENT_LARGE, false);
    fx_block(GM_BLOCK_ACTIVE_ALLOCATED, MIB(8), MIB(8) - KIB(512), none);
    fx_block(GM_BLOCK_ACTIVE_PENDING_FREE, MIB(2), MIB(2), none);
    fx_free_block(MIB(10));
    size_t side = fx_segment(0x20000000, MIB(2), GM_SEGMENT_SMALL, false);
    fx.g_stream[side] = fx_stream(94000000);
    fx_block(GM_BLOCK_ACTIVE_ALLOCATED, 512, 100, none);
    fx_free_block(MIB(2) - 512);
    size_t legacy = fx_segment(0x10000000, MIB(10), GM_SEGMENT_TYPE_ABSENT, false);
    fx.g_device[legacy] = 2;
    fx.g_pool[legacy] = (struct gm_pool_id){0};
    fx_block(GM_BLOCK_ACTIVE_ALLOCATED, MIB(10), GM_ABSENT, none);
    fx_trace();
    fx_trace();
    fx_event(GM_ACTION_ALLOC, 1, 512);
    fx_trace();
    fx_trace();
}

TEST(totals)
{
    two_devices();
    const struct gm_report *r = fx_analyze(50, -1);
    assert_int_equal(r->device_count, 3);
    assert_int_equal(r->devices[0].device, 0);
    assert_int_equal(r->devices[1].device, 1);
    assert_int_equal(r->devices[2].device, 2);

    const struct gm_totals *t = &r->devices[0].totals;
    assert_int_equal(t->reserved, MIB(22));
    assert_int_equal(t->allocated, MIB(8) + 512);
    assert_int_equal(t->pending, MIB(2));
    assert_int_equal(t->active, MIB(10) + 512);
    assert_int_equal(t->requested, MIB(10) - KIB(512) + 100);
    assert_int_equal(t->rounding, KIB(512) + 412);
    assert_int_equal(t->inactive, MIB(12) - 512);
    assert_int_equal(t->segments, 2);
    assert_int_equal(t->blocks, 5);
    assert_int_equal(t->active_blocks, 3);
    assert_int_equal(t->allocated_blocks, 2);
    assert_int_equal(t->inactive_blocks, 2);

    assert_int_equal(r->devices[1].totals.reserved, 0);
    assert_int_equal(r->devices[1].trace.events, 1);
    assert_int_equal(r->devices[1].trace.allocs, 1);
    assert_int_equal(r->devices[1].trace.peak_reserved, 0);
    assert_int_equal(r->devices[0].trace.peak_reserved, GM_REPORT_NONE);

    assert_int_equal(r->devices[2].totals.requested, MIB(10));
    assert_int_equal(r->devices[2].totals.rounding, 0);

    assert_int_equal(r->totals.reserved, MIB(32));
    assert_int_equal(r->totals.allocated, MIB(18) + 512);
    assert_int_equal(r->totals.segments, 3);
    assert_int_equal(r->snapshot.segments, 3);
    assert_int_equal(r->snapshot.blocks, 6);
    assert_int_equal(r->snapshot.events, 1);
    assert_int_equal(r->host_reserved, GM_REPORT_NONE);
}

TEST(one_device)
{
    two_devices();
    const struct gm_report *r = fx_analyze(50, 2);
    assert_int_equal(r->device_count, 1);
    assert_int_equal(r->totals.reserved, MIB(10));
    assert_int_equal(r->top_block_count, 1);
    assert_int_equal(r->snapshot.segments, 3); /* of the file */

    struct gm_category_rules *rules;
    struct gm_report report;
    struct gm_error err;
    assert_int_equal(gm_category_rules_default(&rules, &err), GM_OK);
    struct gm_state_options options = {.top = 1, .device = 3, .rules = rules};
    assert_int_equal(gm_state_analyze(&report, &fx.s, &options, &err), GM_E_USAGE);
    assert_non_null(strstr(err.message, "device 3"));
    assert_null(report.devices);
    gm_category_rules_free(rules);
}

TEST(streams_and_pools)
{
    two_devices();
    size_t graph = fx_segment(0x30000000, MIB(2), GM_SEGMENT_SMALL, false);
    fx.g_pool[graph] = fx_pool(0, 2);
    fx_live(MIB(2));
    size_t range = fx_segment(0x40000000, MIB(20), GM_SEGMENT_LARGE, true);
    fx.g_stream[range] = fx_stream(-5);
    fx_live(MIB(20));
    const struct gm_report *r = fx_analyze(50, -1);
    const struct gm_device_report *d = &r->devices[0];
    assert_int_equal(d->stream_count, 3);
    assert_int_equal(d->streams[0].stream, 0);
    assert_int_equal(d->streams[0].number, 0);
    assert_int_equal(d->streams[0].totals.reserved, MIB(22));
    assert_int_equal(d->streams[1].stream, 94000000);
    assert_int_equal(d->streams[1].number, 1);
    assert_int_equal(d->streams[1].totals.allocated, 512);
    assert_int_equal(d->streams[2].stream, -5);
    assert_int_equal(d->streams[2].number, 2);

    assert_int_equal(d->pool_count, 3);
    assert_string_equal(d->pools[0].name, "small");
    assert_int_equal(d->pools[0].totals.reserved, MIB(2));
    assert_false(d->pools[0].has_expandable);
    assert_string_equal(d->pools[1].name, "large");
    assert_int_equal(d->pools[1].totals.reserved, MIB(40));
    assert_true(d->pools[1].has_expandable);
    assert_false(d->pools[1].is_private);
    assert_string_equal(d->pools[2].name, "private (0,2) small");
    assert_string_equal(d->pools[2].kind, "small");
    assert_true(d->pools[2].is_private);
    assert_int_equal(d->pools[2].id_second, 2);

    assert_int_equal(r->devices[2].pool_count, 1);
    assert_string_equal(r->devices[2].pools[0].name, "unknown");
    assert_int_equal(r->devices[2].pools[0].id_first, GM_REPORT_NONE);
}

TEST(ledger)
{
    two_devices();
    fx.g_allocated[0] = MIB(8), fx.g_active[0] = MIB(10), fx.g_requested[0] = MIB(10) - KIB(512);
    fx.g_allocated[1] = fx.g_active[1] = 512, fx.g_requested[1] = 100;
    const struct gm_report *r = fx_analyze(50, -1);
    const struct gm_ledger *l = &r->devices[0].ledger;
    assert_int_equal(l->allocated_requested, MIB(8) - KIB(512) + 100);
    assert_int_equal(l->allocated_rounding, KIB(512) + 412);
    assert_int_equal(l->pending, MIB(2));
    assert_int_equal(l->releasable, 0);
    assert_int_equal(l->stranded, MIB(12) - 512);
    assert_int_equal(l->sum, MIB(22));
    assert_int_equal(l->reserved, MIB(22));
    assert_int_equal(l->residual, 0);
    assert_int_equal(l->stated_allocated, MIB(8) + 512);
    assert_int_equal(l->stated_active, MIB(10) + 512);
    assert_int_equal(l->stated_requested, MIB(10) - KIB(512) + 100);
    assert_int_equal(l->segments_disagreeing, 0);
    assert_null(l->explanation);
    assert_int_equal(r->devices[2].ledger.stated_allocated, GM_REPORT_NONE);
    assert_int_equal(r->ledger.stated_allocated, GM_REPORT_NONE);
    assert_null(fx_finding("books-do-not-balance"));

    fx.g_total[0] = MIB(24);     /* 4 MiB more than its blocks */
    fx.g_allocated[1] = KIB(64); /* a lie */
    fx_analyze(50, -1);
    l = &r->devices[0].ledger;
    assert_int_equal(l->residual, (int64_t)MIB(4));
    assert_int_equal(l->segments_disagreeing, 2);
    assert_non_null(strstr(l->explanation, "1 segment whose blocks do not sum to the segment's size"));
    assert_non_null(strstr(l->explanation, "1 segment whose stated allocated size"));
    assert_int_equal(r->ledger.residual, (int64_t)MIB(4));
    const struct gm_finding *finding = fx_finding("books-do-not-balance");
    assert_non_null(finding);
    assert_int_equal(finding->bytes, MIB(4));
}

/* Numbers that cannot be added up saturate, and the ledger says that something is wrong. */
TEST(hostile_numbers)
{
    fx_segment(UINT64_MAX - 5, UINT64_MAX, GM_SEGMENT_LARGE, false);
    fx_block(GM_BLOCK_ACTIVE_ALLOCATED, UINT64_MAX, UINT64_MAX - 1, (struct gm_stack_id){0});
    fx_free_block(UINT64_MAX);
    fx_free_block(UINT64_MAX);
    size_t row = fx_segment(3, UINT64_MAX, GM_SEGMENT_LARGE, true);
    fx.g_device[row] = INT64_MIN;
    fx_free_block(UINT64_MAX);
    fx_block(GM_BLOCK_ACTIVE_PENDING_FREE, 1, UINT64_MAX - 1, (struct gm_stack_id){0});
    fx_free_block(UINT64_MAX);
    fx_segment(0, 0, GM_SEGMENT_SMALL, true); /* no blocks, no bytes */
    fx_live(0);
    fx_trace();
    fx_event(GM_ACTION_SEGMENT_FREE, UINT64_MAX, UINT64_MAX - 1);
    fx_event(GM_ACTION_SEGMENT_MAP, UINT64_MAX - 1, UINT64_MAX - 1);
    fx_event(GM_ACTION_SEGMENT_ALLOC, GM_ABSENT, GM_ABSENT);
    const struct gm_report *r = fx_analyze(SIZE_MAX, -1);
    assert_int_equal(r->device_count, 2);
    assert_int_equal(r->devices[0].device, INT64_MIN);
    assert_int_equal(r->totals.reserved, UINT64_MAX);
    assert_int_equal(r->totals.inactive, UINT64_MAX);
    assert_int_equal(r->totals.rounding, 0); /* requested is as large as it gets */
    assert_int_equal(r->devices[1].trace.peak_reserved, UINT64_MAX);
    assert_non_null(r->ledger.explanation);
    assert_true(r->devices[0].fragmentation.releasable <= r->devices[0].totals.inactive);
}

TEST(empty)
{
    const struct gm_report *r = fx_analyze(50, -1);
    assert_int_equal(r->device_count, 0);
    assert_int_equal(r->totals.reserved, 0);
    assert_int_equal(r->category_count, 0);
    assert_int_equal(r->diagnosis.finding_count, 1);
    assert_string_equal(r->diagnosis.findings[0].id, "empty-snapshot");
    assert_null(r->ledger.explanation);
    assert_null(r->settings);
    assert_string_equal(r->snapshot.path, "made by hand");
}

TEST(top_blocks)
{
    struct gm_stack_id stack = fx_stack("linear @ /x/site-packages/torch/nn/functional.py : 7",
                                        "forward @ /home/me/net/attn\xff.py : 88", NULL);
    size_t one = fx_segment(0x9000000, MIB(20), GM_SEGMENT_LARGE, false);
    fx.g_device[one] = 1;
    fx_live(MIB(5));
    fx_live(MIB(7));
    fx_block(GM_BLOCK_ACTIVE_PENDING_FREE, MIB(8), MIB(8), stack);
    fx_segment(0x5000000, MIB(20), GM_SEGMENT_LARGE, false);
    fx_live(MIB(5));
    fx_block(GM_BLOCK_ACTIVE_ALLOCATED, MIB(9), MIB(8), stack);
    fx_live(MIB(5));
    const struct gm_report *r = fx_analyze(4, -1);
    /* by size, then device, then address; pending is not allocated */
    assert_int_equal(r->top_block_count, 4);
    assert_int_equal(r->top_blocks[0].bytes, MIB(9));
    assert_int_equal(r->top_blocks[0].requested, MIB(8));
    assert_int_equal(r->top_blocks[0].address, 0x5000000 + MIB(5));
    assert_string_equal(r->top_blocks[0].category, "Attention");
    assert_string_equal(r->top_blocks[0].pool, "large");
    assert_string_equal(r->top_blocks[0].site, "forward  net/attn\xef\xbf\xbd.py:88");
    assert_int_equal(r->top_blocks[0].frame_count, 2);
    assert_string_equal(r->top_blocks[0].frames[0].name, "linear");
    assert_int_equal(r->top_blocks[0].frames[1].line, 88);
    assert_null(r->top_blocks[0].role);
    assert_int_equal(r->top_blocks[1].bytes, MIB(7));
    assert_int_equal(r->top_blocks[1].device, 1);
    assert_string_equal(r->top_blocks[1].category, "No stack recorded");
    assert_string_equal(r->top_blocks[1].site, "no stack recorded");
    assert_int_equal(r->top_blocks[2].device, 0);
    assert_int_equal(r->top_blocks[2].address, 0x5000000);
    assert_int_equal(r->top_blocks[3].address, 0x5000000 + MIB(14));
    assert_int_equal(r->snapshot.live_blocks_with_stack, 1);
    assert_int_equal(r->snapshot.live_bytes_with_stack, MIB(9));

    /* categories: 9 MiB Attention, 22 MiB without a stack; sums to allocated */
    assert_int_equal(r->category_count, 2);
    assert_string_equal(r->categories[0].name, "No stack recorded");
    assert_int_equal(r->categories[0].bytes, MIB(22));
    assert_int_equal(r->categories[0].blocks, 4);
    assert_string_equal(r->categories[1].name, "Attention");
    assert_int_equal(r->categories[0].bytes + r->categories[1].bytes, r->totals.allocated);
    assert_int_equal(r->devices[1].category_count, 1);
}

TEST(histogram)
{
    fx_segment(0x1000, MIB(2), GM_SEGMENT_SMALL, false);
    fx_live(512);
    fx_live(KIB(4) - 512);
    fx_live(KIB(4)); /* the first of the second bin */
    fx_free_block(MIB(2) - KIB(8));
    fx_segment(0x10000000, MIB(5000), GM_SEGMENT_LARGE, false);
    fx_free_block(MIB(5000));
    const struct gm_report *r = fx_analyze(4, -1);
    assert_int_equal(r->histogram[0].from, 0);
    assert_int_equal(r->histogram[GM_HISTOGRAM_BINS - 1].to, UINT64_MAX);
    for (size_t i = 1; i < GM_HISTOGRAM_BINS; i++)
        assert_int_equal(r->histogram[i].from, r->histogram[i - 1].to);
    assert_int_equal(r->histogram[0].active.blocks, 2);
    assert_int_equal(r->histogram[0].active.bytes, KIB(4));
    assert_int_equal(r->histogram[1].active.blocks, 1);
    assert_int_equal(r->histogram[4].cached.bytes, MIB(2) - KIB(8));
    assert_int_equal(r->histogram[GM_HISTOGRAM_BINS - 1].cached.blocks, 1);
    uint64_t cached = 0, active = 0;
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++) {
        cached += r->histogram[i].cached.bytes;
        active += r->histogram[i].active.bytes;
    }
    assert_int_equal(cached, r->totals.inactive);
    assert_int_equal(active, r->totals.active);
}

TEST(settings)
{
    fx_setting("PYTORCH_CUDA_ALLOC_CONF", GM_SETTING_STRING)->string = fx_string("a:\n1");
    fx_setting("max_split_size", GM_SETTING_INTEGER)->integer = -1;
    fx_setting("garbage_collection_threshold", GM_SETTING_REAL)->real = 0.6;
    fx_setting("expandable_segments", GM_SETTING_BOOL)->integer = 0;
    fx_setting("roundup_power2_divisions.256", GM_SETTING_INTEGER)->integer = 4;
    fx_setting("who\tknows", GM_SETTING_NONE);
    const struct gm_report *r = fx_analyze(4, -1);
    assert_int_equal(r->setting_count, 6);
    assert_string_equal(r->settings[0].value, "a:\\x0a1");
    assert_false(r->settings[0].is_default);
    assert_string_equal(r->settings[1].value, "-1");
    assert_true(r->settings[1].is_default);
    assert_string_equal(r->settings[2].value, "0.6");
    assert_false(r->settings[2].is_default);
    assert_string_equal(r->settings[3].value, "False");
    assert_true(r->settings[3].is_default);
    assert_false(r->settings[4].is_default);
    assert_string_equal(r->settings[5].key, "who\\x09knows");
    assert_string_equal(r->settings[5].value, "None");
}
