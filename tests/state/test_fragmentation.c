/* SPDX-License-Identifier: Apache-2.0
 *
 * Releasable, stranded, empty_cache, pins and the trace counts, each on a layout small enough to work out by hand.
 */
#include "tests/state/fixture.h"
#include "tests/unit.h"

#include <string.h>

static const uint64_t base = UINT64_C(0x7f0000000000);

static void expect(const struct gm_fragmentation *f, uint64_t releasable, uint64_t stranded, uint64_t empty_cache)
{
    assert_int_equal(f->releasable, releasable);
    assert_int_equal(f->stranded, stranded);
    assert_int_equal(f->empty_cache, empty_cache);
}

/* cudaMalloc segments: one free (20), one with a live block (5 of 20), one with only a pending block (5 of 20), one
 * free in a private pool (2). */
TEST(segments)
{
    fx_segment(base, MIB(20), GM_SEGMENT_LARGE, false);
    fx_free_block(MIB(20));
    fx_segment(base + MIB(100), MIB(20), GM_SEGMENT_LARGE, false);
    fx_live(MIB(5));
    fx_free_block(MIB(15));
    fx_segment(base + MIB(200), MIB(20), GM_SEGMENT_LARGE, false);
    fx_block(GM_BLOCK_ACTIVE_PENDING_FREE, MIB(5), MIB(5), (struct gm_stack_id){0});
    fx_free_block(MIB(15));
    size_t graph = fx_segment(base + MIB(300), MIB(2), GM_SEGMENT_SMALL, false);
    fx.g_pool[graph] = fx_pool(1, 0);
    fx_free_block(MIB(2));
    const struct gm_report *r = fx_analyze(10, -1);
    /* inactive 20 + 15 + 15 + 2; releasable the free segments; empty_cache waits for the pending block (20 + 20) and
     * leaves the private pool alone */
    expect(&r->fragmentation, MIB(22), MIB(30), MIB(40));
    assert_int_equal(r->fragmentation.inactive_blocks, 4);
    assert_int_equal(r->fragmentation.largest_inactive, MIB(20));
    assert_int_equal(r->fragmentation.unused_over_100mib.blocks, 0);
    assert_int_equal(r->fragmentation.releasable + r->fragmentation.stranded, r->totals.inactive);
}

TEST(over_100_mib)
{
    fx_segment(base, MIB(500), GM_SEGMENT_LARGE, false);
    fx_free_block(MIB(100)); /* not over */
    fx_live(MIB(200));
    fx_free_block(MIB(100) + 512);
    fx_live(512);
    fx_free_block(MIB(100) - 1024);
    const struct gm_report *r = fx_analyze(10, -1);
    assert_int_equal(r->fragmentation.unused_over_100mib.blocks, 1);
    assert_int_equal(r->fragmentation.unused_over_100mib.bytes, MIB(100) + 512);
}

/* Large pages of 20 MiB, a range of 60: live [0,1), cached [1,51), live [51,52), cached [52,60).
 * Pages from the range's start: [20,40) is free. Counted from 10 MiB earlier, as a trace may show: [10,30) and [30,50)
 * are. */
static void three_pages(void)
{
    fx_begin();
    fx_segment(base, MIB(60), GM_SEGMENT_LARGE, true);
    fx_live(MIB(1));
    fx_free_block(MIB(50));
    fx_live(MIB(1));
    fx_free_block(MIB(8));
}

TEST(pages_from_range)
{
    three_pages();
    const struct gm_report *r = fx_analyze(10, -1);
    expect(&r->fragmentation, MIB(20), MIB(38), MIB(20));
    /* page 0 keeps 19, page 2 keeps 11 + 8 */
    assert_int_equal(r->fragmentation.pin_count, 2);
    assert_int_equal(r->fragmentation.pins[0].pinned_bytes, MIB(19));
    assert_int_equal(r->fragmentation.pins[1].pinned_bytes, MIB(19));
    assert_int_equal(r->fragmentation.pins[0].block.address, base);
    assert_int_equal(r->fragmentation.pins[0].sharers, 1);
    assert_int_equal(r->fragmentation.pins[0].segment_address, base);
    assert_int_equal(r->fragmentation.pins[0].segment_bytes, MIB(20));
    assert_int_equal(r->fragmentation.pins[1].segment_address, base + MIB(40));
}

TEST(pages_from_reservation)
{
    three_pages();
    fx_trace();
    fx_event(GM_ACTION_SEGMENT_MAP, base - MIB(10), MIB(10));
    fx_event(GM_ACTION_ALLOC, base, MIB(1));
    fx_event(GM_ACTION_SEGMENT_MAP, base, MIB(60));
    fx_event(GM_ACTION_SEGMENT_UNMAP, base - MIB(10), MIB(10));
    const struct gm_report *r = fx_analyze(10, -1);
    expect(&r->fragmentation, MIB(40), MIB(18), MIB(40));
    assert_int_equal(r->devices[0].trace.segment_maps, 2);
    assert_int_equal(r->devices[0].trace.segment_unmaps, 1);
    assert_int_equal(r->devices[0].trace.peak_reserved, MIB(70));

    /* a range of another stream that touches is another reservation; so is one with a gap */
    fx.e_stream[0] = fx.e_stream[3] = fx_stream(77).v;
    fx_analyze(10, -1);
    expect(&r->fragmentation, MIB(20), MIB(38), MIB(20));
    fx.e_stream[0] = fx.e_stream[3] = fx_stream(0).v;
    fx.e_addr[0] = fx.e_addr[3] = base - MIB(11);
    fx_analyze(10, -1);
    expect(&r->fragmentation, MIB(20), MIB(38), MIB(20));
}

/* Out of order in the trace, the chain is found all the same: [-30,-10) unmapped first, then [-10,60). */
TEST(chain_of_ranges)
{
    three_pages();
    fx_trace();
    fx_event(GM_ACTION_SEGMENT_UNMAP, base - MIB(30), MIB(20));
    fx_event(GM_ACTION_SEGMENT_MAP, base + MIB(500), MIB(20));
    fx_event(GM_ACTION_SEGMENT_MAP, base - MIB(10), MIB(5));
    fx_event(GM_ACTION_SEGMENT_MAP, base - MIB(5), MIB(5));
    const struct gm_report *r = fx_analyze(10, -1);
    /* pages from -30: [10,30) and [30,50) */
    expect(&r->fragmentation, MIB(40), MIB(18), MIB(40));
}

TEST(page_sizes)
{
    /* small pages of 2 MiB: live 512 at 0, cached to 6 MiB: [2,4) and [4,6) are free */
    fx_segment(base, MIB(6), GM_SEGMENT_SMALL, true);
    fx_live(512);
    fx_free_block(MIB(6) - 512);
    const struct gm_report *r = fx_analyze(10, -1);
    expect(&r->fragmentation, MIB(4), MIB(2) - 512, MIB(4));

    /* large_segment_size_mb:32: live [0,1), cached [1,96): [32,64) and [64,96) */
    fx_begin();
    fx_setting("PYTORCH_CUDA_ALLOC_CONF", GM_SETTING_STRING)->string =
        fx_string("expandable_segments:True, large_segment_size_mb: 32");
    fx_segment(base, MIB(96), GM_SEGMENT_LARGE, true);
    fx_live(MIB(1));
    fx_free_block(MIB(95));
    fx_analyze(10, -1);
    expect(&r->fragmentation, MIB(64), MIB(31), MIB(64));
}

/* A page with a pending block stays for now, but empty_cache() waits for it. Neighbouring cached blocks count as one
 * free run. Private pools: releasable, never returned. */
TEST(pages_pending_and_private)
{
    size_t row = fx_segment(base, MIB(60), GM_SEGMENT_LARGE, true);
    fx_free_block(MIB(12));
    fx_free_block(MIB(13));
    fx_block(GM_BLOCK_ACTIVE_PENDING_FREE, MIB(5), MIB(5), (struct gm_stack_id){0});
    fx_free_block(MIB(20));
    fx_live(MIB(10));
    const struct gm_report *r = fx_analyze(10, -1);
    /* page 0 is free; page 1 [20,40) has the pending block at [25,30); page 2 has the live one at [50,60) */
    expect(&r->fragmentation, MIB(20), MIB(25), MIB(40));
    fx.g_pool[row] = fx_pool(0, 9);
    fx_analyze(10, -1);
    expect(&r->fragmentation, MIB(20), MIB(25), 0);
}

TEST(pins_of_segments)
{
    struct gm_stack_id stack = fx_stack("keep @ /home/me/proj/state.py : 3", NULL);
    fx_segment(base, MIB(20), GM_SEGMENT_LARGE, false);
    fx_free_block(MIB(8));
    fx_live(MIB(2));
    fx_free_block(MIB(9));
    fx_live(MIB(1));
    size_t other = fx_segment(base + MIB(50), MIB(20), GM_SEGMENT_LARGE, false);
    fx.g_device[other] = 1;
    fx_block(GM_BLOCK_ACTIVE_ALLOCATED, MIB(10), MIB(10), stack);
    fx_free_block(MIB(10));
    fx_segment(base + MIB(90), MIB(10), GM_SEGMENT_LARGE, false);
    fx_live(MIB(10)); /* full: pins nothing */
    const struct gm_report *r = fx_analyze(2, -1);
    /* 17 MiB shared by two, 10 MiB kept by one; only two rows are asked for */
    assert_int_equal(r->fragmentation.pin_count, 2);
    assert_int_equal(r->fragmentation.pins[0].pinned_bytes, MIB(10));
    assert_int_equal(r->fragmentation.pins[0].block.device, 1);
    assert_string_equal(r->fragmentation.pins[0].block.site, "keep  proj/state.py:3");
    assert_int_equal(r->fragmentation.pins[1].pinned_bytes, MIB(17) / 2);
    assert_int_equal(r->fragmentation.pins[1].sharers, 2);
    assert_int_equal(r->fragmentation.pins[1].block.address, base + MIB(8));
    assert_int_equal(r->fragmentation.pins[1].segment_bytes, MIB(20));
    assert_int_equal(r->devices[0].fragmentation.pin_count, 2);
    assert_int_equal(r->devices[1].fragmentation.pin_count, 1);
}

/* Pages of 20: a [0,1), cached [1,9), b [9,30), cached [30,36), c [36,40), cached [40,60). Page 0 keeps 8 for a and b,
 * page 1 keeps 6 for b and c, page 2 is free. */
TEST(pins_of_pages)
{
    fx_segment(base, MIB(60), GM_SEGMENT_LARGE, true);
    fx_live(MIB(1));
    fx_free_block(MIB(8));
    fx_live(MIB(21));
    fx_free_block(MIB(6));
    fx_live(MIB(4));
    fx_free_block(MIB(20));
    const struct gm_report *r = fx_analyze(10, -1);
    expect(&r->fragmentation, MIB(20), MIB(14), MIB(20));
    assert_int_equal(r->fragmentation.pin_count, 3);
    assert_int_equal(r->fragmentation.pins[0].pinned_bytes, MIB(7)); /* b: 4 + 3 */
    assert_int_equal(r->fragmentation.pins[0].block.bytes, MIB(21));
    assert_int_equal(r->fragmentation.pins[0].segment_bytes, MIB(40));
    assert_int_equal(r->fragmentation.pins[0].sharers, 2);
    assert_int_equal(r->fragmentation.pins[1].pinned_bytes, MIB(4));
    assert_int_equal(r->fragmentation.pins[2].pinned_bytes, MIB(3));
}

/* A page of 20: a [0,2), an empty live block, cached [2,8), b [8,20). a and b keep the page; what is nowhere keeps
 * nothing. */
TEST(pins_skip_empty_blocks)
{
    fx_segment(base, MIB(20), GM_SEGMENT_LARGE, true);
    fx_live(MIB(2));
    fx_live(0);
    fx_free_block(MIB(6));
    fx_live(MIB(12));
    const struct gm_report *r = fx_analyze(10, -1);
    assert_int_equal(r->fragmentation.pin_count, 2);
    assert_int_equal(r->fragmentation.pins[0].block.bytes, MIB(2));
    assert_int_equal(r->fragmentation.pins[1].block.bytes, MIB(12));
    assert_int_equal(r->fragmentation.pins[0].pinned_bytes, MIB(3));
    assert_int_equal(r->fragmentation.pins[0].sharers, 2);
}

TEST(trace_counts)
{
    fx_segment(base, MIB(60), GM_SEGMENT_LARGE, true);
    fx_live(MIB(60));
    fx_trace();
    fx.traces[0].max_entries = 12;
    fx.traces[0].overflowed = GM_FALSE;
    fx.e_time[fx_event(GM_ACTION_SEGMENT_ALLOC, 1, MIB(20))] = 1000;
    fx_event(GM_ACTION_SEGMENT_ALLOC, 2, MIB(100));
    fx_event(GM_ACTION_ALLOC, 2, 77);
    fx_event(GM_ACTION_FREE_REQUESTED, 2, 77);
    fx_event(GM_ACTION_FREE_COMPLETED, 2, 77);
    fx_event(GM_ACTION_SEGMENT_FREE, 2, MIB(100));
    fx_event(GM_ACTION_SEGMENT_MAP, base, MIB(40));
    fx_event(GM_ACTION_OOM, MIB(3), MIB(500));
    fx_event(GM_ACTION_SNAPSHOT, 0, 5);
    fx.e_time[fx_event(GM_ACTION_OTHER, 0, 5)] = 5000;
    fx_event(GM_ACTION_SNAPSHOT, 0, 5);
    const struct gm_report *r = fx_analyze(10, -1);
    const struct gm_trace_counts *t = &r->devices[0].trace;
    assert_int_equal(t->events, 11);
    assert_int_equal(t->allocs, 1);
    assert_int_equal(t->frees, 1);
    assert_int_equal(t->ooms, 1);
    assert_int_equal(t->segment_allocs, 2);
    assert_int_equal(t->segment_frees, 1);
    assert_int_equal(t->segment_maps, 1);
    assert_int_equal(t->segment_unmaps, 0);
    assert_int_equal(t->others, 3);
    assert_int_equal(t->max_entries, 12);
    assert_int_equal(t->overflowed, 0);
    assert_int_equal(t->span_us, 4000);
    /* 60 at the end, 20 before the map, 120 before the free, 20, 0 */
    assert_int_equal(t->peak_reserved, MIB(120));
    const struct gm_finding *oom = fx_finding("out-of-memory");
    assert_non_null(oom);
    assert_int_equal(oom->severity, GM_CRITICAL);
    assert_int_equal(oom->bytes, MIB(500));
    assert_non_null(strstr(oom->detail, "3.00 MiB left"));

    fx.e_action[0] = GM_ACTION_SEGMENT_FREE; /* the peak is the state before event 0: 20 + 20 */
    fx.e_size[1] = 0;
    fx.e_size[5] = 0;
    fx_analyze(10, -1);
    assert_int_equal(r->devices[0].trace.peak_reserved, MIB(60));
    fx.e_size[0] = MIB(50); /* 20 + 50 */
    fx_analyze(10, -1);
    assert_int_equal(r->devices[0].trace.peak_reserved, MIB(70));
}
