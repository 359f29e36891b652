/* SPDX-License-Identifier: Apache-2.0
 *
 * Verification on small traces: that what is right passes, that each kind of wrong is found and explained, and what is
 * inferred.
 */
#include "analyze/allocator/recorded_settings.h"
#include "replay/verify/verify.h"
#include "tests/timeline/traced.h"

enum { A = 1 << 28, B = 2 << 28 };

static struct gm_verify_result run(void)
{
    struct gm_history *h = gm_traced_history();
    const struct gm_conf conf = gm_settings_recorded(&traced.snapshot, NULL);
    struct gm_verify_result result;
    struct gm_error err = {0};
    assert_int_equal(gm_verify(&result, h, &conf, &err), GM_OK);
    return result;
}

/* A segment of 20 MiB, 3 and 2 MiB in it, the first is freed, then 2 MiB at `address`. */
static struct gm_verify_result one_choice(uint64_t address)
{
    gm_traced_grow(A, MIB(20), MIB(3), "attend");
    gm_traced_event("alloc", A + MIB(3), MIB(2), "attend");
    gm_traced_free(A, MIB(3));
    gm_traced_event("alloc", address, MIB(2), "feed");
    gm_traced_segment(A, MIB(20), "large");
    gm_traced_block(MIB(3), address == A ? MIB(2) : 0, NULL); /* 1 MiB is not split off */
    gm_traced_block(MIB(2), MIB(2), "attend");
    if (address != A)
        gm_traced_block(MIB(2), MIB(2), "feed");
    gm_traced_block(address == A ? MIB(15) : MIB(13), 0, NULL);
    return run();
}

TEST(right)
{
    struct gm_verify_result r = one_choice(A);
    assert_true(gm_verify_passed(&r));
    assert_int_equal(r.allocs, 3);
    assert_int_equal(r.exact, 3);
    assert_int_equal(r.exact_uninferred, 3);
    assert_int_equal(r.growths_predicted, 1);
    assert_int_equal(r.end_blocks, 3);
    assert_int_equal(r.end_blocks_same, 3);
    assert_int_equal(r.stats.allocated_bytes[GM_STAT_ALL].peak, MIB(5));
    assert_false(r.has_mismatch);
    assert_int_equal(r.inferred_count, 0);
}

TEST(wrong_address)
{
    struct gm_verify_result r = one_choice(A + MIB(5));
    assert_false(gm_verify_passed(&r));
    assert_int_equal(r.exact, 2);
    assert_true(r.has_mismatch);
    assert_int_equal(r.mismatch_event, 5);
    assert_int_equal(r.recorded, A + MIB(5));
    assert_int_equal(r.chosen, A);
    assert_non_null(strstr(r.reason, "2097152 bytes (2097152 rounded) from the large pool, stream 0"));
    assert_non_null(strstr(r.reason, "free blocks that fit: 3145728 at 0x10000000, 15728640 at 0x10500000;"));
    assert_non_null(strstr(r.reason, "at the recorded address the model has a free block of 15728640 bytes"));
    assert_int_equal(r.end_blocks_same, r.end_blocks); /* the recorded choice was taken */
}

/* The trace grows although 15 MiB are free; or it does not although nothing is. */
TEST(wrong_growth)
{
    gm_traced_grow(A, MIB(20), MIB(5), "attend");
    gm_traced_grow(B, MIB(20), MIB(5), "attend");
    gm_traced_segment(A, MIB(20), "large");
    gm_traced_block(MIB(5), MIB(5), "attend");
    gm_traced_block(MIB(15), 0, NULL);
    gm_traced_segment(B, MIB(20), "large");
    gm_traced_block(MIB(5), MIB(5), "attend");
    gm_traced_block(MIB(15), 0, NULL);
    struct gm_verify_result r = run();
    assert_false(gm_verify_passed(&r));
    assert_int_equal(r.growths, 2);
    assert_int_equal(r.growths_predicted, 1);
    assert_int_equal(r.mismatch_event, 3);
    assert_int_equal(r.chosen, A + MIB(5));
    assert_non_null(strstr(r.reason, "the trace got a segment of 20971520 bytes at 0x20000000"));
}

/* Another thread frees 20 MiB while the lock is not held: the growth was decided before. */
TEST(unlocked_growth)
{
    for (int is_released = 0; is_released <= 1; is_released++) {
        traced.settings = is_released ? "\"PYTORCH_CUDA_ALLOC_CONF\":\"release_lock_on_cudamalloc:True\"" : NULL;
        gm_traced_grow(A, MIB(20), MIB(20), "attend");
        gm_traced_free(A, MIB(20));
        gm_traced_grow(B, MIB(20), MIB(20), "feed");
        gm_traced_whole(A, MIB(20), 0, NULL);
        gm_traced_whole(B, MIB(20), MIB(20), "feed");
        struct gm_verify_result r = run();
        assert_int_equal(gm_verify_passed(&r), is_released);
        assert_int_equal(r.exact, 1 + is_released);
        assert_int_equal(r.growths_predicted, 1 + is_released);
    }
}

TEST(wrong_release)
{
    gm_traced_grow(A, MIB(20), MIB(5), "attend");
    gm_traced_event("segment_free", A, MIB(20), NULL);
    gm_traced_free(A, MIB(5));
    gm_traced_event("segment_alloc", A, MIB(20), NULL);
    gm_traced_whole(A, MIB(20), 0, NULL);
    struct gm_verify_result r = run();
    assert_false(gm_verify_passed(&r));
    assert_int_equal(r.releases, 1);
    assert_int_equal(r.releases_allowed, 0);
    assert_int_equal(r.mismatch_event, 2);
}

TEST(wrong_end)
{
    gm_traced_grow(A, MIB(20), MIB(5), "attend");
    gm_traced_whole(A, MIB(20), 0, NULL);
    struct gm_verify_result r = run();
    assert_false(gm_verify_passed(&r));
    assert_int_equal(r.exact, 1);
    assert_int_equal(r.end_blocks, 1);
    assert_int_equal(r.end_blocks_same, 0);
    assert_int_equal(r.mismatch_event, GM_ABSENT);
    assert_string_equal(r.reason, "the snapshot has an inactive block of 20971520 bytes there, the model an allocated "
                                  "one of 5242880, which the trace never frees (event 1)");
}

/* 3 MiB are live at the start and freed later; 8 MiB are allocated 3.5 MiB after it: it had 0.5 MiB of slack. */
TEST(learnt_size)
{
    gm_traced_event("alloc", A + MIB(3) + KIB(512), MIB(8), "attend");
    gm_traced_free(A, MIB(3));
    gm_traced_segment(A, MIB(20), "large");
    gm_traced_block(MIB(3) + KIB(512), 0, NULL);
    gm_traced_block(MIB(8), MIB(8), "attend");
    gm_traced_block(MIB(8) + KIB(512), 0, NULL);
    struct gm_verify_result r = run();
    assert_true(gm_verify_passed(&r));
    assert_int_equal(r.exact, 1);
    assert_int_equal(r.exact_uninferred, 0);
    assert_int_equal(r.inferred_count, 1);
    assert_string_equal(r.inferred[0].what, "block_sizes");
}

/* The settings say expandable, the first growth was a segment: the option was switched on in between. */
TEST(switched_option)
{
    traced.settings = "\"expandable_segments\":true,\"max_split_size\":-1";
    gm_traced_grow(A, MIB(20), MIB(19) + KIB(512), "attend");
    gm_traced_event("segment_map", B, MIB(20), NULL);
    gm_traced_event("alloc", B, MIB(5), "attend");
    gm_traced_whole(A, MIB(20), MIB(19) + KIB(512), "attend");
    traced.more = ",\"is_expandable\":true";
    gm_traced_segment(B, MIB(20), "large");
    gm_traced_block(MIB(5), MIB(5), "attend");
    gm_traced_block(MIB(15), 0, NULL);
    struct gm_verify_result r = run();
    assert_true(gm_verify_passed(&r));
    assert_int_equal(r.exact, 2);
    assert_int_equal(r.exact_uninferred, 1);
    assert_int_equal(r.inferred_count, 1);
    assert_string_equal(r.inferred[0].what, "expandable_segments");
    assert_non_null(strstr(r.inferred[0].value, "False until event 2"));
}

/* It was switched on before anything grew: a remainder of 512 KiB was split off, which only pages allow. */
TEST(switched_before_growth)
{
    traced.settings = "\"expandable_segments\":true,\"max_split_size\":-1";
    gm_traced_grow(A, MIB(20), MIB(5), "attend");
    gm_traced_event("alloc", A + MIB(5), MIB(14) + KIB(512), "attend");
    gm_traced_event("segment_map", B, MIB(20), NULL);
    gm_traced_event("alloc", B, MIB(20), "attend");
    gm_traced_segment(A, MIB(20), "large");
    gm_traced_block(MIB(5), MIB(5), "attend");
    gm_traced_block(MIB(14) + KIB(512), MIB(14) + KIB(512), "attend");
    gm_traced_block(KIB(512), 0, NULL);
    traced.more = ",\"is_expandable\":true";
    gm_traced_whole(B, MIB(20), MIB(20), "attend");
    struct gm_verify_result r = run();
    assert_true(gm_verify_passed(&r));
    assert_int_equal(r.exact, 3);
    assert_int_equal(r.inferred_count, 1);
    assert_non_null(strstr(r.inferred[0].value, "False until event 2"));
}

/* A private pool that grew by a segment before the switch, and by pages then, has no allocator of its own. */
TEST(switched_in_private_pool)
{
    const uint64_t c = B + MIB(64), d = B + MIB(128);
    traced.settings = "\"expandable_segments\":true,\"max_split_size\":-1";
    gm_traced_grow(A, MIB(20), MIB(20), "attend");
    gm_traced_grow(c, MIB(2), MIB(1), "attend");
    gm_traced_event("segment_map", d, MIB(20), NULL);
    gm_traced_event("alloc", d, MIB(20), "attend");
    gm_traced_whole(A, MIB(20), MIB(20), "attend");
    traced.more = ",\"segment_pool_id\":[0,1],\"is_expandable\":false";
    gm_traced_segment(c, MIB(2), "small");
    gm_traced_block(MIB(1), MIB(1), "attend");
    gm_traced_block(MIB(1), 0, NULL);
    traced.more = ",\"segment_pool_id\":[0,1],\"is_expandable\":true";
    gm_traced_whole(d, MIB(20), MIB(20), "attend");
    struct gm_verify_result r = run();
    assert_true(gm_verify_passed(&r));
    assert_int_equal(r.inferred_count, 1);
    assert_non_null(strstr(r.inferred[0].value, "False until event 4"));
}

/* Two segments are cached. A retry gives both back; garbage collection may leave one. */
TEST(retries)
{
    for (int both = 0; both < 2; both++) {
        const uint64_t c = B + MIB(64);
        gm_traced_grow(A, MIB(20), MIB(20), "first");
        gm_traced_grow(B, MIB(30), MIB(30), "first");
        gm_traced_free(A, MIB(20));
        gm_traced_free(B, MIB(30));
        gm_traced_event("segment_free", A, MIB(20), "grow");
        if (both)
            gm_traced_event("segment_free", B, MIB(30), "grow");
        gm_traced_grow(c, MIB(40), MIB(40), "grow");
        gm_traced_whole(c, MIB(40), MIB(40), "grow");
        if (!both) {
            gm_traced_whole(B, MIB(30), 0, NULL);
        }
        struct gm_verify_result r = run();
        assert_true(gm_verify_passed(&r));
        assert_int_equal(r.retries, both);
    }
}

/* Everything is given back, and yet it was no retry: the free of B has not been waited for; max_split_size reclaims
 * what is enough, and with A alone it is not; a device that has had 200 MiB has 60, so it was garbage collection. */
TEST(releases_without_retry)
{
    enum { WAITING, RECLAIMED, NOT_ENOUGH, COLLECTED, CASES };
    static const char *const settings[CASES] = {
        NULL, "\"PYTORCH_CUDA_ALLOC_CONF\":\"max_split_size_mb:64\"",
        "\"PYTORCH_CUDA_ALLOC_CONF\":\"max_split_size_mb:64\"",
        "\"PYTORCH_CUDA_ALLOC_CONF\":\"garbage_collection_threshold:0.5\",\"garbage_collection_threshold\":0.5"};
    for (int which = 0; which < CASES; which++) {
        traced.settings = settings[which];
        const uint64_t c = B + MIB(256), last = MIB(which == COLLECTED ? 40 : 150);
        if (which == COLLECTED) {
            gm_traced_grow(c, MIB(200), MIB(200), "first");
            gm_traced_free(c, MIB(200));
            gm_traced_event("segment_free", c, MIB(200), "empty_cache");
        }
        gm_traced_grow(A, MIB(80), MIB(80), "first");
        if (which == WAITING || which == RECLAIMED) {
            gm_traced_grow(B, MIB(90), MIB(90), "first");
        }
        gm_traced_free(A, MIB(80));
        if (which == WAITING)
            gm_traced_event("free_requested", B, MIB(90), NULL);
        if (which == RECLAIMED) {
            gm_traced_free(B, MIB(90));
            gm_traced_event("segment_free", B, MIB(90), "grow");
        }
        gm_traced_event("segment_free", A, MIB(80), "grow");
        gm_traced_grow(c, last, last, "grow");
        if (which == WAITING) {
            gm_traced_event("free_completed", B, MIB(90), NULL);
            gm_traced_whole(B, MIB(90), 0, NULL);
        }
        gm_traced_whole(c, last, last, "grow");
        struct gm_verify_result r = run();
        assert_true(gm_verify_passed(&r));
        assert_int_equal(r.retries, which == NOT_ENOUGH);
    }
}

/* No settings in the file, and sizes that only divisions of 8 explain: 600 KiB become 640. */
TEST(inferred_rounding)
{
    gm_traced_grow(A, MIB(2), KIB(600), "attend");
    gm_traced_event("alloc", A + KIB(640), KIB(200), "attend");
    gm_traced_segment(A, MIB(2), "small");
    gm_traced_block(KIB(640), KIB(600), "attend");
    gm_traced_block(KIB(208), KIB(200), "attend"); /* steps of 16 KiB; with 4 divisions it would be 224 */
    gm_traced_block(MIB(2) - KIB(848), 0, NULL);
    struct gm_verify_result r = run();
    assert_true(gm_verify_passed(&r));
    assert_int_equal(r.inferred_count, 1);
    assert_string_equal(r.inferred[0].what, "roundup_power2_divisions");
    assert_int_equal(r.inferred[0].value[0], '8');
    assert_int_equal(r.exact_uninferred, 1);
}

TEST(settings)
{
    traced.settings = "\"PYTORCH_CUDA_ALLOC_CONF\":\"max_split_size_mb:64,large_segment_size_mb:32\","
                      "\"max_split_size\":134217728,\"expandable_segments\":true,"
                      "\"garbage_collection_threshold\":0.5,"
                      "\"roundup_power2_divisions\":{\"1\":0,\"2\":4,\"32768\":2}";
    gm_traced_event("segment_map", A, MIB(32), NULL);
    gm_traced_whole(A, MIB(32), 0, NULL);
    gm_traced_analyze_unfollowed();
    struct gm_error err = {0};
    GM_FREED struct gm_text text = {0};
    const struct gm_conf conf = gm_settings_recorded(&traced.snapshot, NULL);
    assert_int_equal(conf.rules.max_split, MIB(128)); /* the single setting is what was in force */
    assert_int_equal(conf.rules.large_segment, MIB(32));
    assert_true(conf.expandable_segments);
    assert_true(conf.gc_threshold == 0.5);
    assert_int_equal(conf.rules.roundup[0], 0);
    assert_int_equal(conf.rules.roundup[1], 4);
    assert_int_equal(conf.rules.roundup[15], 2);
    gm_conf_text(&text, &conf);
    assert_string_equal(text.data, "expandable_segments:True,large_segment_size_mb:32,max_split_size_mb:128,"
                                   "roundup_power2_divisions:[1:0,2:4,4:0,8:0,16:0,32:0,64:0,128:0,256:0,512:0,1024:0,"
                                   "2048:0,4096:0,8192:0,16384:0,32768:2],garbage_collection_threshold:0.5");
    struct gm_conf again = gm_conf_default();
    assert_int_equal(gm_conf_parse(&again, text.data, text.length, NULL, &err), GM_OK);
    assert_true(gm_settings_equal(&conf, &again));
}
