/* SPDX-License-Identifier: Apache-2.0
 *
 * What-if on small traces whose outcome is worked out by hand. Addresses of the trace: A is 2^28, B is 2^29, C 3 *
 * 2^28.
 */
#include "replay/whatif/whatif.h"

#include "analyze/allocator/recorded_settings.h"
#include "replay/verify/verify.h"
#include "tests/timeline/traced.h"

enum { A = 1 << 28, B = 2 << 28, C = 3 << 28 };

static struct gm_whatif_result run_with(struct gm_whatif_options options)
{
    struct gm_whatif_result result;
    struct gm_error err = {0};
    assert_int_equal(gm_whatif(&result, gm_traced_history(), &options, &err), GM_OK);
    return result;
}

static struct gm_whatif_result run(const char *settings, uint64_t capacity, bool from_layout)
{
    struct gm_whatif_options options = {.conf = gm_conf_default(), .capacity = capacity, .from_layout = from_layout};
    struct gm_error err = {0};
    assert_int_equal(gm_conf_parse(&options.conf, settings, strlen(settings), NULL, &err), GM_OK);
    return run_with(options);
}

static int64_t peak(const struct gm_stat s[GM_STAT_KINDS])
{
    return s[GM_STAT_ALL].peak;
}

/* 12 MiB are live before the trace, in a segment of 40; 10 come and go, 9 come. */
static void three_blocks(void)
{
    gm_traced_event("alloc", A + MIB(12), MIB(10), "attend");
    gm_traced_free(A + MIB(12), MIB(10));
    gm_traced_event("alloc", A + MIB(12), MIB(9), "feed");
    gm_traced_segment(A, MIB(40), "large");
    gm_traced_block(MIB(12), MIB(12), "attend");
    gm_traced_block(MIB(9), MIB(9), "feed");
    gm_traced_block(MIB(19), 0, NULL);
}

TEST(unchanged)
{
    three_blocks();
    struct gm_whatif_result r = run("", UINT64_MAX, true);
    assert_true(r.from_layout);
    assert_int_equal(r.events, 4);
    assert_int_equal(r.allocs, 2);
    assert_int_equal(r.start_blocks, 1);
    assert_int_equal(r.start_bytes, MIB(12));
    assert_int_equal(r.start_reserved, MIB(40));
    assert_int_equal(r.start_bytes_at_peak, MIB(12));
    assert_int_equal(peak(r.stats.reserved_bytes), MIB(40));
    assert_int_equal(peak(r.stats.allocated_bytes), MIB(22));
    assert_int_equal(r.stats.num_device_alloc, 0);
    assert_false(r.has_failed);
}

/* From an empty allocator: a segment of 12; 10 MiB get one of 10; 9 MiB take that whole (1 MiB is not split off). */
TEST(requested_again)
{
    three_blocks();
    struct gm_whatif_result r = run("", UINT64_MAX, false);
    assert_false(r.from_layout);
    assert_int_equal(r.allocs, 3);
    assert_int_equal(r.start_bytes, MIB(12));
    assert_int_equal(r.start_reserved, MIB(12));
    assert_int_equal(peak(r.stats.reserved_bytes), MIB(22));
    assert_int_equal(r.stats.allocated_bytes[GM_STAT_ALL].current, MIB(22));
    assert_int_equal(r.stats.num_device_alloc, 2);
}

/* 12 MiB wait for another stream when the trace begins: they are active then, but were never allocated in it. */
TEST(pending_at_start)
{
    gm_traced_event("free_completed", A, MIB(12), NULL);
    gm_traced_event("alloc", A, MIB(2), "feed");
    gm_traced_segment(A, MIB(20), "large");
    gm_traced_block(MIB(2), MIB(2), "feed");
    gm_traced_block(MIB(18), 0, NULL);
    struct gm_whatif_result r = run("", UINT64_MAX, false);
    assert_int_equal(r.start_bytes, MIB(12));
    assert_int_equal(peak(r.stats.active_bytes), MIB(12));
    assert_int_equal(peak(r.stats.allocated_bytes), MIB(2));
}

/* Pages of 20 MiB: 12 MiB map one, whose last 8 and one more hold the 10, and later the 9. */
TEST(expandable)
{
    three_blocks();
    struct gm_whatif_result r = run("expandable_segments:True", UINT64_MAX, false);
    assert_int_equal(r.start_reserved, MIB(20));
    assert_int_equal(peak(r.stats.reserved_bytes), MIB(40));
    assert_int_equal(r.stats.num_device_alloc, 2);
    assert_int_equal(r.stats.segment[GM_STAT_ALL].current, 0);
}

/* 12 and 10 of 30 MiB; the 10 are freed, 19 are asked for: the cached 10 go back, 18 are left. */
TEST(out_of_memory)
{
    gm_traced_grow(A, MIB(12), MIB(12), "attend");
    gm_traced_grow(B, MIB(10), MIB(10), "feed");
    gm_traced_free(B, MIB(10));
    gm_traced_event("segment_alloc", C, MIB(20), "feed");
    uint64_t event = gm_traced_event("alloc", C, MIB(19), "feed");
    gm_traced_whole(A, MIB(12), MIB(12), "attend");
    gm_traced_whole(B, MIB(10), 0, NULL);
    gm_traced_whole(C, MIB(20), MIB(19), "feed");
    struct gm_whatif_result r = run("", MIB(30), false);
    assert_true(r.has_failed);
    assert_false(r.failure.is_at_start);
    assert_int_equal(r.failure.event, event);
    assert_int_equal(r.failure.requested, MIB(19));
    assert_int_equal(r.failure.device_free, MIB(18));
    assert_int_equal(r.failure.reserved, MIB(12));
    assert_int_equal(r.failure.active, MIB(12));
    assert_int_equal(r.failure.largest_free, 0);
    assert_non_null(strstr(r.failure.why, "more than the device of 30.00 MiB"));
    assert_int_equal(r.stats.num_alloc_retries, 1);
    assert_int_equal(r.stats.num_ooms, 1);
    assert_int_equal(peak(r.stats.reserved_bytes), MIB(22));
}

/* One MiB more: 12 and 20 fit, after a retry. What was live at the start may be too much as well. */
TEST(just_enough)
{
    three_blocks();
    struct gm_whatif_result r = run("", MIB(22), false);
    assert_false(r.has_failed);
    assert_int_equal(r.stats.num_alloc_retries, 0);
    three_blocks();
    r = run("", MIB(11), false);
    assert_true(r.has_failed);
    assert_true(r.failure.is_at_start);
    assert_int_equal(r.failure.requested, MIB(12));
    assert_int_equal(r.failure.device_free, MIB(11));
}

/* 12 MiB come and go, their segment goes back by `name`, then a segment of 14 grows by "grow". */
static struct gm_whatif_result with_release(const char *name)
{
    gm_traced_grow(A, MIB(12), MIB(12), "attend");
    gm_traced_free(A, MIB(12));
    gm_traced_event("segment_free", A, MIB(12), name);
    gm_traced_grow(B, MIB(14), MIB(14), "grow");
    gm_traced_whole(B, MIB(14), MIB(14), "grow");
    return run("", UINT64_MAX, true);
}

TEST(empty_cache_is_kept)
{
    struct gm_whatif_result r = with_release("empty_cache");
    assert_int_equal(r.empty_caches, 1);
    assert_int_equal(peak(r.stats.reserved_bytes), MIB(14));
    r = with_release("another"); /* not of the request that grows */
    assert_int_equal(r.empty_caches, 1);
    r = with_release("grow"); /* a retry: with unlimited memory there is none */
    assert_int_equal(r.empty_caches, 0);
    assert_int_equal(r.stats.num_alloc_retries, 0);
    assert_int_equal(peak(r.stats.reserved_bytes), MIB(26));
    r = with_release(NULL); /* without stacks a growth right after it decides */
    assert_int_equal(r.empty_caches, 0);
}

/* Memory goes back, a free is waited for, and the next alloc, with the stack `name`, needs no growth. */
static struct gm_whatif_result with_release_before_alloc(const char *name)
{
    gm_traced_event("segment_alloc", A, MIB(12), "attend");
    gm_traced_grow(B, MIB(14), MIB(14), "attend");
    gm_traced_event("free_requested", B, MIB(14), "attend");
    gm_traced_event("segment_free", A, MIB(12), "wait");
    gm_traced_event("free_completed", B, MIB(14), "attend");
    gm_traced_event("alloc", B, MIB(14), name);
    gm_traced_whole(B, MIB(14), MIB(14), name);
    return run("", UINT64_MAX, true);
}

/* A retry may find that what it waited for is enough: its releases are not a call of empty_cache(). */
TEST(retry_without_growth)
{
    assert_int_equal(with_release_before_alloc("wait").empty_caches, 0);
    assert_int_equal(with_release_before_alloc("another").empty_caches, 1);
}

/* 12 MiB are freed, but another stream uses them until after the next request. */
static void pending_block(void)
{
    gm_traced_grow(A, MIB(12), MIB(12), "attend");
    gm_traced_event("free_requested", A, MIB(12), NULL);
    gm_traced_grow(B, MIB(12), MIB(12), "feed");
    gm_traced_event("free_completed", A, MIB(12), NULL);
    gm_traced_whole(A, MIB(12), 0, NULL);
    gm_traced_whole(B, MIB(12), MIB(12), "feed");
}

TEST(deferred_frees)
{
    pending_block();
    struct gm_whatif_result r = run("", UINT64_MAX, false);
    assert_int_equal(peak(r.stats.reserved_bytes), MIB(24));
    assert_int_equal(peak(r.stats.active_bytes), MIB(24));
    assert_int_equal(peak(r.stats.allocated_bytes), MIB(12));
    pending_block();
    r = run("", MIB(20), false); /* the retry waits for it; its later free is not there any more */
    assert_false(r.has_failed);
    assert_int_equal(r.stats.num_alloc_retries, 1);
    assert_int_equal(peak(r.stats.reserved_bytes), MIB(12));
    assert_int_equal(r.stats.active[GM_STAT_ALL].current, 1);
}

TEST(other_sizes)
{
    three_blocks();
    /* By allocation: 10 MiB halved, 9 left out, the block of the start (added last) as it is. */
    const uint64_t requested[] = {MIB(5), 0, MIB(12)};
    const struct gm_whatif_options options = {
        .conf = gm_conf_default(), .capacity = UINT64_MAX, .requested = requested};
    struct gm_whatif_result r = run_with(options);
    assert_int_equal(r.allocs, 2);
    assert_int_equal(r.left_out, 1);
    assert_int_equal(peak(r.stats.requested_bytes), MIB(17));
    assert_int_equal(peak(r.stats.reserved_bytes), MIB(32)); /* 5 MiB get a segment of 20 */
}

TEST(parts)
{
    three_blocks();
    struct gm_whatif_part list[] = {{.first = 0, .end = 1}, {.first = 1, .end = 3}, {.first = 3, .end = 4}};
    const struct gm_whatif_options options = {
        .conf = gm_conf_default(), .capacity = UINT64_MAX, .from_layout = true, .parts = list, .part_count = 3};
    run_with(options);
    assert_int_equal(list[0].peak_allocated, MIB(22));
    assert_int_equal(list[0].allocated_at_end, MIB(22));
    assert_int_equal(list[1].peak_allocated, MIB(22)); /* as it begins */
    assert_int_equal(list[1].allocated_at_end, MIB(12));
    assert_int_equal(list[2].peak_allocated, MIB(21));
    assert_int_equal(list[2].allocated_at_end, MIB(21));
    assert_int_equal(list[2].peak_reserved, MIB(40));
}

static void one_block(uint64_t address, uint64_t size)
{
    gm_traced_grow(address, size, size, "grow");
}

static void one_segment(uint64_t address, uint64_t size, uint64_t requested)
{
    gm_traced_whole(address, size, requested, "grow");
}

/* Pages of 20 MiB: five blocks; the second and the fourth go back to the device, the third is cached, and so are 40 MiB
 * of another stream: 100. For 60 MiB from the second page on one page is mapped, 120, and there is no other; the retry
 * gives all that is cached back, 40, and maps three. */
TEST(peak_before_retry)
{
    enum { D = 1 << 30, E = 5 << 28, F = 6 << 28 };
    const uint64_t x = UINT64_C(7) << 28, all[] = {A, B, C, D, E};
    struct gm_error err = {0};
    for (int i = 0; i < 5; i++)
        one_block(all[i], MIB(20));
    for (int i = 1; i < 4; i += 2) {
        gm_traced_free(all[i], MIB(20));
        gm_traced_event("segment_free", all[i], MIB(20), "empty_cache");
    }
    gm_traced_free(C, MIB(20));
    traced.stream = 7;
    one_block(x, MIB(40));
    gm_traced_free(x, MIB(40));
    traced.stream = 0;
    gm_traced_event("segment_alloc", F, MIB(60), "grow");
    uint64_t event = gm_traced_event("alloc", F, MIB(60), "grow");
    one_segment(A, MIB(20), MIB(20));
    one_segment(C, MIB(20), 0);
    one_segment(E, MIB(20), MIB(20));
    one_segment(F, MIB(60), MIB(60));
    traced.stream = 7;
    one_segment(x, MIB(40), 0);
    struct gm_whatif_part all_of_it = {.first = 0, .end = (uint32_t)event + 1};
    struct gm_whatif_options options = {
        .conf = gm_conf_default(), .capacity = MIB(130), .parts = &all_of_it, .part_count = 1};
    assert_int_equal(gm_conf_parse(&options.conf, "expandable_segments:True", 24, NULL, &err), GM_OK);
    struct gm_whatif_result r = run_with(options);
    assert_false(r.has_failed);
    assert_int_equal(r.stats.num_alloc_retries, 1);
    assert_int_equal(r.stats.reserved_bytes[GM_STAT_ALL].current, MIB(100));
    assert_int_equal(peak(r.stats.reserved_bytes), MIB(120));
    assert_int_equal(r.peak.reserved, MIB(120));
    assert_int_equal(r.peak.event, event);
    assert_int_equal(all_of_it.peak_reserved, MIB(120));
}

/* Of 20 and 20 MiB the lower one is taken, and that is the new segment: so 40 are free in the end where 40 are asked
 * for. A new segment above the old one would lead to 100 MiB. */
TEST(ties)
{
    traced.settings = "\"expandable_segments\":false,\"max_split_size\":-1";
    one_block(A, MIB(20));
    gm_traced_free(B, MIB(20));
    gm_traced_free(A, MIB(20));
    gm_traced_event("alloc", A, MIB(20), "grow");
    gm_traced_free(B + MIB(20), MIB(20));
    gm_traced_event("alloc", B, MIB(40), "grow");
    one_segment(A, MIB(20), MIB(20));
    one_segment(B, MIB(40), MIB(40));
    struct gm_whatif_result r = run("", UINT64_MAX, true);
    assert_true(r.from_layout);
    assert_int_equal(r.stats.num_device_alloc, 1);
    assert_int_equal(peak(r.stats.reserved_bytes), MIB(60));
}

/* A private pool that grows by segments while the others grow by pages has an allocator of its own, and keeps it. */
TEST(custom_pool)
{
    traced.settings = "\"expandable_segments\":true,\"max_split_size\":-1";
    gm_traced_event("segment_map", A, MIB(20), "grow");
    gm_traced_event("alloc", A, MIB(20), "grow");
    one_block(B, MIB(12));
    traced.more = ",\"is_expandable\":true";
    one_segment(A, MIB(20), MIB(20));
    traced.more = ",\"segment_pool_id\":[0,1],\"is_expandable\":false";
    one_segment(B, MIB(12), MIB(12));
    struct gm_whatif_result r = run("expandable_segments:True", UINT64_MAX, true);
    assert_true(r.from_layout);
    assert_int_equal(peak(r.stats.reserved_bytes), MIB(32)); /* and not 40 */
    assert_int_equal(r.stats.segment[GM_STAT_ALL].current, 1);
}

/* With what verification learns of private pools, from an empty allocator. */
static struct gm_whatif_result run_settled(void)
{
    const struct gm_whatif_options options = {.conf = gm_conf_default(), .capacity = UINT64_MAX};
    struct gm_history *h = gm_traced_history();
    const struct gm_conf recorded = gm_settings_recorded(&traced.snapshot, NULL);
    struct gm_whatif_result result;
    struct gm_error err = {0};
    assert_int_equal(gm_verify_settle_pools(h, &recorded, &err), GM_OK);
    assert_int_equal(gm_whatif(&result, h, &options, &err), GM_OK);
    return result;
}

/* No event names a pool. B grew although the default pool and (0,1) had room: it was of a pool that is gone, and went
 * back with it. */
TEST(gone_pool)
{
    traced.settings = "\"expandable_segments\":false,\"max_split_size\":-1";
    one_block(A, MIB(20));
    gm_traced_free(A, MIB(20));
    gm_traced_event("alloc", A, MIB(3), "attend");
    gm_traced_grow(C, MIB(20), MIB(2), "attend");
    gm_traced_grow(B, MIB(20), MIB(2), "attend");
    gm_traced_free(B, MIB(2));
    gm_traced_event("segment_free", B, MIB(20), NULL);
    gm_traced_segment(A, MIB(20), "large");
    gm_traced_block(MIB(3), MIB(3), "attend");
    gm_traced_block(MIB(17), 0, NULL);
    traced.more = ",\"segment_pool_id\":[0,1]";
    gm_traced_segment(C, MIB(20), "large");
    gm_traced_block(MIB(2), MIB(2), "attend");
    gm_traced_block(MIB(18), 0, NULL);
    struct gm_whatif_result r = run_settled();
    assert_int_equal(peak(r.stats.reserved_bytes), MIB(60)); /* and not 40 */
    assert_int_equal(r.stats.reserved_bytes[GM_STAT_ALL].current, MIB(40));
}

/* A private pool whose second request grew although its first segment is next to free. */
TEST(unsplit_pool)
{
    traced.settings = "\"expandable_segments\":false,\"max_split_size\":-1";
    traced.more = ",\"segment_pool_id\":[0,1]";
    gm_traced_grow(A, MIB(20), MIB(2), "attend");
    gm_traced_grow(B, MIB(20), MIB(3), "attend");
    one_segment(A, MIB(20), MIB(2));
    one_segment(B, MIB(20), MIB(3));
    struct gm_whatif_result r = run_settled();
    assert_int_equal(peak(r.stats.reserved_bytes), MIB(40)); /* and not 20 */
}

/* Half of a card of 60 MiB, 10 of which a CUDA context has: 30, and not 25. */
TEST(fraction_of_all)
{
    struct gm_whatif_options options = {.conf = gm_conf_default(), .capacity = MIB(50), .taken = MIB(10)};
    options.conf.memory_fraction = 0.5;
    for (int i = 0; i < 2; i++) {
        one_block(A, i == 0 ? MIB(30) : MIB(32));
        one_segment(A, i == 0 ? MIB(30) : MIB(32), i == 0 ? MIB(30) : MIB(32));
        struct gm_whatif_result r = run_with(options);
        assert_int_equal(r.has_failed, i == 1);
    }
}
