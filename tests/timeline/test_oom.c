/* SPDX-License-Identifier: Apache-2.0
 *
 * Out of memory: where every byte was, and the verdict, on small traces worked out by hand.
 */
#include "tests/timeline/traced.h"

enum { A = 1 << 28, B = 2 << 28 };

static uint64_t of_category(const struct gm_oom_row *oom, const char *name)
{
    for (size_t i = 0; i < oom->category_count; i++)
        if (strcmp(oom->categories[i].name, name) == 0)
            return oom->categories[i].bytes;
    return 0;
}

/* 40 MiB: 12 live, a hole of 10, 2 live, a hole of 16. A small segment beside it has 1 KiB in use. */
static const struct gm_oom_row *oom_with_holes(uint64_t device_free, uint64_t asked)
{
    gm_traced_grow(A, MIB(40), MIB(12), "feed");
    gm_traced_event("alloc", A + MIB(12), MIB(10), "attend");
    gm_traced_event("alloc", A + MIB(22), MIB(2), "attend");
    gm_traced_free(A + MIB(12), MIB(10));
    gm_traced_grow(B, MIB(2), 1000, "other");
    gm_traced_oom(device_free, asked, "attend");
    gm_traced_free(A, MIB(12));
    gm_traced_segment(A, MIB(40), "large");
    gm_traced_block(MIB(22), 0, NULL);
    gm_traced_block(MIB(2), MIB(2), "attend");
    gm_traced_block(MIB(16), 0, NULL);
    gm_traced_segment(B, MIB(2), "small");
    gm_traced_block(1024, 1000, "other");
    gm_traced_block(MIB(2) - 1024, 0, NULL);
    const struct gm_device_timeline *out = gm_traced_analyze();
    assert_int_equal(out->oom_count, 1);
    return &out->ooms[0];
}

TEST(fragmentation)
{
    const struct gm_oom_row *oom = oom_with_holes(MIB(4), MIB(20));
    assert_int_equal(oom->event, 8);
    assert_int_equal(oom->time_us, 1080);
    assert_int_equal(oom->asked, MIB(20));
    assert_int_equal(oom->device_free, MIB(4));
    assert_string_equal(oom->pool, "large");
    assert_string_equal(oom->site, "attend  m.py:1");
    assert_int_equal(oom->levels.requested, MIB(14) + 1000);
    assert_int_equal(oom->levels.allocated, MIB(14) + 1024);
    assert_int_equal(oom->levels.active, MIB(14) + 1024);
    assert_int_equal(oom->levels.reserved, MIB(42));
    assert_int_equal(oom->pending, 0);
    assert_int_equal(oom->category_count, 3);
    assert_int_equal(of_category(oom, "MLP"), MIB(12));
    assert_int_equal(of_category(oom, "Attention"), MIB(2));
    assert_int_equal(of_category(oom, "Other"), 1000);
    assert_int_equal(oom->unusable[GM_UNUSABLE_HOLE_TOO_SMALL], MIB(26));
    assert_int_equal(oom->unusable[GM_UNUSABLE_WRONG_POOL], MIB(2) - 1024);
    assert_int_equal(oom->unusable[GM_UNUSABLE_WRONG_STREAM], 0);
    assert_int_equal(oom->unusable[GM_UNUSABLE_WHOLE_SEGMENT], 0);
    assert_int_equal(oom->unusable[GM_UNUSABLE_FITS], 0);
    assert_int_equal(oom->largest_hole, MIB(16));
    assert_int_equal(oom->hole_count, 2);
    assert_int_equal(oom->holes[0].bytes, MIB(16)); /* bounded by the segment's end and by the block of 2 MiB */
    assert_int_equal(oom->holes[0].pinned_by_bytes, MIB(2));
    assert_string_equal(oom->holes[0].pinned_by, "attend  m.py:1");
    assert_int_equal(oom->holes[0].age_us, 50);
    assert_int_equal(oom->holes[1].bytes, MIB(10)); /* between 12 MiB and 2 MiB: the smaller one is told */
    assert_int_equal(oom->holes[1].pinned_by_bytes, MIB(2));
    assert_int_equal(oom->verdict, GM_OOM_FRAGMENTATION);
    assert_string_equal(oom->verdict_detail,
                        "20.00 MiB was asked for, the driver had 4.00 MiB left, and 28.00 MiB was cached but could not "
                        "be used (largest hole 16.00 MiB): 26.00 MiB in holes that were too small, next to live "
                        "blocks, 2.00 MiB in other pools.");
    const struct gm_finding *found = gm_traced_finding("out-of-memory");
    assert_non_null(found);
    assert_int_equal(found->severity, GM_CRITICAL);
    assert_int_equal(found->bytes, MIB(20));
    assert_non_null(strstr(found->detail, oom->verdict_detail));
    assert_non_null(strstr(found->detail, "MLP 12.00 MiB"));
}

/* 14 MiB live, 28 cached, 4 free: 32 could be had at most. */
TEST(capacity)
{
    const struct gm_oom_row *oom = oom_with_holes(MIB(4), MIB(100));
    assert_int_equal(oom->verdict, GM_OOM_CAPACITY);
    assert_string_equal(oom->verdict_detail,
                        "100.0 MiB was asked for, the driver had 4.00 MiB left, and 28.00 MiB was cached: even with "
                        "all of it 68.00 MiB was missing beside 14.00 MiB in use.");
}

/* The driver could have given a segment: something else must have forbidden it. */
TEST(unknown)
{
    const struct gm_oom_row *oom = oom_with_holes(MIB(20), MIB(20));
    assert_int_equal(oom->verdict, GM_OOM_UNKNOWN);
    assert_non_null(strstr(oom->verdict_detail, "per_process_memory_fraction"));
}

/* A request of 2 MiB needs a segment of 20 MiB, which the driver has not; a hole would have served it. */
TEST(segment_is_larger)
{
    const struct gm_oom_row *oom = oom_with_holes(MIB(19), MIB(9));
    assert_int_equal(oom->verdict, GM_OOM_FRAGMENTATION);
    assert_int_equal(oom->unusable[GM_UNUSABLE_FITS], MIB(26));
    assert_int_equal(oom->hole_count, 0);
}

/* 1 GiB in two live blocks around a hole of 12 MiB: 12 MiB and 8 KiB is not served. More than 95 % is in use. */
TEST(both)
{
    gm_traced_grow(A, MIB(1024), MIB(500), "feed");
    gm_traced_event("alloc", A + MIB(500), MIB(12), "attend");
    gm_traced_event("alloc", A + MIB(512), MIB(500), "feed");
    gm_traced_event("alloc", A + MIB(1012), MIB(12), "attend");
    gm_traced_free(A + MIB(500), MIB(12));
    gm_traced_event("free_requested", A + MIB(1012), MIB(12), NULL); /* pending */
    gm_traced_oom(MIB(2), MIB(12) + KIB(8), "attend");
    gm_traced_event("free_completed", A + MIB(1012), MIB(12), NULL);
    gm_traced_segment(A, MIB(1024), "large");
    gm_traced_block(MIB(500), MIB(500), "feed");
    gm_traced_block(MIB(12), 0, NULL);
    gm_traced_block(MIB(500), MIB(500), "feed");
    gm_traced_block(MIB(12), 0, NULL);
    const struct gm_oom_row *oom = &gm_traced_analyze()->ooms[0];
    assert_int_equal(oom->pending, MIB(12));
    assert_int_equal(oom->levels.allocated, MIB(1000));
    assert_int_equal(oom->levels.active, MIB(1012));
    assert_int_equal(oom->verdict, GM_OOM_BOTH);
    assert_non_null(strstr(oom->verdict_detail, "1012.0 MiB of 1.00 GiB was in use"));
    assert_non_null(strstr(oom->verdict_detail, "12.00 MiB was freed and waited for other streams"));
}

/* Bytes live now less those live a tenth of the trace before; sites that shrank are not told. */
TEST(grew)
{
    gm_traced_grow(A, MIB(100), MIB(30), "feed"); /* before: no growth */
    for (int i = 0; i < 15; i++)
        gm_traced_event("snapshot", 0, 0, NULL);
    gm_traced_event("alloc", A + MIB(30), MIB(20), "attend"); /* event 17 */
    gm_traced_event("alloc", A + MIB(50), MIB(20), "attend"); /* 18 */
    gm_traced_oom(0, MIB(50), NULL);                          /* 19: two of 20 events before is moment 17 */
    gm_traced_segment(A, MIB(100), "large");
    gm_traced_block(MIB(30), MIB(30), "feed");
    gm_traced_block(MIB(20), MIB(20), "attend");
    gm_traced_block(MIB(20), MIB(20), "attend");
    gm_traced_block(MIB(30), 0, NULL);
    const struct gm_oom_row *oom = &gm_traced_analyze()->ooms[0];
    assert_null(oom->site);
    assert_string_equal(oom->grew_since, "since event 17, a tenth of the trace before");
    assert_int_equal(oom->grew_count, 1);
    assert_string_equal(oom->grew[0].label, "attend  m.py:1");
    assert_string_equal(oom->grew[0].category, "Attention");
    assert_int_equal(oom->grew[0].bytes, MIB(40));
    assert_int_equal(oom->grew[0].blocks, 2);
}

/* Nothing is known but the event and the requested bytes. */
TEST(without_segments)
{
    gm_traced_event("alloc", A, MIB(8), "attend");
    gm_traced_oom(MIB(1), MIB(5), NULL);
    gm_traced_free(A, MIB(8));
    const struct gm_device_timeline *out = gm_traced_analyze_unfollowed();
    const struct gm_oom_row *oom = &out->ooms[0];
    assert_int_equal(out->oom_count, 1);
    assert_int_equal(oom->asked, MIB(5));
    assert_int_equal(oom->device_free, MIB(1));
    assert_int_equal(oom->levels.requested, MIB(8));
    assert_int_equal(of_category(oom, "Attention"), MIB(8));
    assert_true(oom->levels.reserved == GM_REPORT_NONE && oom->pending == GM_REPORT_NONE);
    assert_true(oom->unusable[0] == GM_REPORT_NONE && oom->largest_hole == GM_REPORT_NONE);
    assert_int_equal(oom->hole_count, 0);
    assert_int_equal(oom->verdict, GM_OOM_UNKNOWN);
}

/* Only the first eight are told. Sizes near 2^64 do no harm. */
TEST(many_and_huge)
{
    gm_traced_grow(A, MIB(20), MIB(20), "feed");
    for (uint64_t i = 0; i < 20; i++)
        gm_traced_oom(UINT64_MAX - 7 - i, UINT64_MAX - 5 * i - 2, NULL);
    gm_traced_whole(A, MIB(20), MIB(20), "feed");
    const struct gm_device_timeline *out = gm_traced_analyze();
    assert_int_equal(out->oom_count, 8);
    assert_int_equal(out->ooms[7].event, 9);
    assert_int_equal(out->ooms[0].verdict, GM_OOM_CAPACITY);
}
