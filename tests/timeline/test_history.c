/* SPDX-License-Identifier: Apache-2.0
 *
 * Which events belong together, and the bytes of blocks, on small traces worked out by hand; and traces that lie.
 */
#include "analyze/formats/load.h"
#include "analyze/timeline/history/history.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB(n) ((uint64_t)(n) << 20)
/* Addresses and sizes of these tests: segments at 100 MiB and 200 MiB. */
#define S1 "104857600"
#define S2 "209715200"

/* Of the test. */
static struct gm_snapshot snapshot;
static struct gm_history h;

static int drop(void **state)
{
    gm_history_free(&h);
    gm_snapshot_free(&snapshot);
    return 0;
}
AROUND_EACH(NULL, drop)

static void build(const char *segments, const char *events, const char *settings)
{
    char text[8192];
    struct gm_error err = {0};
    int n = snprintf(text, sizeof text, "{\"segments\":[%s],\"device_traces\":[[%s]],\"allocator_settings\":{%s}}",
                     segments, events, settings);
    assert_true(n > 0 && (size_t)n < sizeof text);
    drop(NULL);
    assert_int_equal(gm_snapshot_load_bytes(&snapshot, text, (size_t)n, "test", NULL, &err), GM_OK);
    assert_int_equal(gm_history_build(&h, &snapshot, 0, NULL, &err), GM_OK);
}

static const struct gm_disagreement *disagreement(const char *id)
{
    for (size_t i = 0; i < h.reconciliation.disagreement_count; i++)
        if (strcmp(h.disagreements[i].id, id) == 0)
            return &h.disagreements[i];
    return NULL;
}

static void assert_sound(void)
{
    assert_true(h.is_reconstructed);
    assert_int_equal(h.reconciliation.residual_active, 0);
    assert_int_equal(h.reconciliation.residual_reserved, 0);
    assert_int_equal(h.reconciliation.worst_residual, 0);
    assert_int_equal(h.reconciliation.end_blocks_same, h.reconciliation.end_blocks);
}

#define E(action, addr, size) "{\"action\":\"" action "\",\"addr\":" addr ",\"size\":" size ",\"stream\":0}"
#define SEGMENT(address, size, type, blocks)                                                                           \
    "{\"device\":0,\"address\":" address ",\"total_size\":" size ",\"stream\":0,\"segment_type\":\"" type              \
    "\",\"blocks\":[" blocks "]}"
#define B(size, requested, state) "{\"size\":" size ",\"requested_size\":" requested ",\"state\":\"" state "\"}"

/* The allocator's documentation, example B: 3 MiB, 9 MiB and 7340132 bytes in a segment of 20 MiB; what is left over by
 * the third, 1048064 bytes, is too little to split off. */
TEST(a_remainder_stays_inside)
{
    build(SEGMENT(S1, "20971520", "large",
                  B("3145728", "3145728", "active_allocated") "," B("9437184", "9437184", "inactive") "," B(
                      "8388608", "7340132", "active_allocated")),
          E("segment_alloc", S1, "20971520") "," E("alloc", S1, "3145728") "," E("alloc", "108003328", "9437184") "," E(
              "alloc", "117440512", "7340132") "," E("free_requested", "108003328",
                                                     "9437184") "," E("free_completed", "108003328", "9437184"),
          "");
    assert_sound();
    assert_int_equal(h.allocation_count, 3);
    assert_int_equal(gm_block_bytes(&h, 2), 8388608);
    assert_int_equal(h.reconciliation.sizes_from_snapshot, 0);
    assert_int_equal(h.reconciliation.unsplit_bytes, 8388608 - 7340544);
    assert_int_equal(h.born[1], 3);
    assert_int_equal(gm_let_go(&h, 1), 5);
    assert_int_equal(h.freed[1], 6);
    assert_int_equal(h.freed[0], GM_NEVER);
    assert_int_equal(h.reconciliation.at_start.reserved, 0);
    assert_int_equal(h.reconciliation.disagreement_count, 0);
}

/* Two gigabytes and more have no room in four bytes. */
TEST(sizes_beyond_four_bytes)
{
    build(SEGMENT(S1, "3221225472", "large", B("3221225472", "3221225000", "active_allocated")),
          E("segment_alloc", S1, "3221225472") "," E("alloc", S1, "3221225000"), "");
    assert_sound();
    assert_int_equal(gm_requested(&h, 0), 3221225000);
    assert_int_equal(gm_block_bytes(&h, 0), 3221225472);
}

TEST(more_pools_than_a_byte_has)
{
    enum { N = 3 };
    h = (struct gm_history){.allocation_count = N, .pool = calloc(N, sizeof *h.pool)};
    const uint32_t pools[N] = {UINT8_MAX, UINT8_MAX + 1, 7};
    for (size_t a = 0; a < N; a++)
        assert_true(gm_history_set_pool(&h, a, pools[a]));
    for (size_t a = 0; a < N; a++)
        assert_int_equal(gm_pool_number(&h, a), pools[a]);
}

/* The segment itself is older than the trace, and freed in it; so is a block whose slack shows when what lies above it
 * is allocated: a block of 1.5 MiB + 256 KiB unsplit. */
TEST(what_is_older_than_the_trace)
{
    build(SEGMENT(S1, "20971520", "large",
                  B("1835008", "1572864", "inactive") "," B("2097152", "2097152",
                                                            "active_allocated") "," B("17039360", "0", "inactive")),
          E("segment_free", S2, "12582912") "," E("alloc", "106692608", "2097152") "," E(
              "free_requested", S1, "1572864") "," E("free_completed", S1, "1572864"),
          "");
    assert_sound();
    assert_int_equal(h.reconciliation.at_start.reserved, MIB(20) + MIB(12));
    assert_int_equal(h.reconciliation.at_start.active,
                     1835008); /* not 1572864: the alloc above it shows where it ended */
    assert_non_null(disagreement("size-learnt"));
    assert_int_equal(disagreement("free-without-alloc")->count, 1);
    assert_true(disagreement("free-without-alloc")->is_expected);
    assert_int_equal(h.reconciliation.baseline_blocks, 1);
}

TEST(pending_at_both_ends)
{
    build(SEGMENT(
              S1, "2097152", "small",
              B("512", "100", "inactive") "," B("512", "200", "active_pending_free") "," B("2096128", "0", "inactive")),
          E("free_completed", S1, "100") "," E("alloc", S1, "50") "," E("free_requested", "104858112", "200") "," E(
              "free_requested", S1, "50") "," E("free_completed", S1, "50"),
          "");
    assert_sound();
    assert_int_equal(h.reconciliation.at_start.active, 1024);
    assert_int_equal(h.reconciliation.at_start.allocated, 512); /* the first was pending already */
    assert_int_equal(h.reconciliation.at_start.requested, 300);
    assert_int_equal(h.reconciliation.at_end.active, 512);
    assert_int_equal(h.reconciliation.at_end.allocated, 0);
}

TEST(expandable_ranges_and_settings)
{
    /* Two maps make one range; a block across their seam; 512 bytes are split off where a cudaMalloc would keep them.
     */
    build("{\"device\":0,\"address\":" S1 ",\"total_size\":41943040,\"stream\":0,\"segment_type\":\"large\","
          "\"is_expandable\":true,\"blocks\":[" B("31457280", "31457280", "active_allocated") "," B(
              "10485248", "10485248", "active_allocated") "," B("512", "0", "inactive") "]}",
          E("segment_map", S1, "20971520") "," E("segment_map", "125829120", "20971520") "," E(
              "alloc", S1, "31457280") "," E("alloc", "136314880", "10485248"),
          "\"expandable_segments\":true");
    assert_sound();
    assert_int_equal(gm_block_bytes(&h, 1), 10485248);
    /* Rounding up to eighths of a power of two, from the recorded settings. */
    build(SEGMENT(S1, "20971520", "large",
                  B("5767168", "5242881", "active_allocated") "," B("15204352", "0", "inactive")),
          E("segment_alloc", S1, "20971520") "," E("alloc", S1, "5242881"),
          "\"roundup_power2_divisions\":{\"1\":8,\"2\":8,\"4\":8}");
    assert_sound();
    assert_int_equal(gm_block_bytes(&h, 0), 5767168);
    assert_int_equal(h.reconciliation.sizes_from_snapshot, 0);
}

TEST(frees_that_are_missing)
{
    /* The same address twice without a free; a free that is asked for twice; one that never completes. */
    build(SEGMENT(S1, "2097152", "small", B("512", "7", "active_allocated") "," B("2096640", "0", "inactive")),
          E("alloc", S1, "5") "," E("alloc", S1, "6") "," E("free_requested", S1, "6") "," E(
              "free_requested", S1, "6") "," E("free_completed", S1,
                                               "6") "," E("alloc", S1, "7") "," E("free_requested", "104858112", "9"),
          "");
    assert_int_equal(h.allocation_count, 4);
    assert_int_equal(h.freed[0], 2); /* by the second alloc */
    assert_int_equal(h.replaced_count, 1);
    assert_int_equal(h.freed[3], 0); /* never live: neither completed nor in the snapshot */
    assert_int_equal(disagreement("free-missing")->count, 1);
    assert_int_equal(disagreement("freed-twice")->first_event, 3);
    assert_non_null(disagreement("free-never-completed"));
    assert_int_equal(h.reconciliation.at_end.requested, 7);
}

TEST(events_that_contradict)
{
    /* An alloc over a live block, one across a segment's end, one outside, a segment freed under a live block, one
     * freed that never was. Nothing is lost silently: each is counted, and the sums stay those of the events. */
    build(SEGMENT(S1, "2097152", "small", B("2097152", "0", "inactive")),
          E("alloc", S1, "4096") "," E("alloc", "104858112", "512") "," E("alloc", "106954240", "1048576") "," E(
              "alloc", "12345", "512") "," E("segment_free", S1, "2097152") "," E("segment_free", S2, "2097152"),
          "");
    assert_true(h.is_reconstructed);
    assert_non_null(disagreement("overlap"));
    assert_non_null(disagreement("does-not-fit"));
    assert_int_equal(disagreement("outside-segments")->count, 1);
    assert_int_equal(disagreement("not-in-snapshot")->count, 4);
    assert_true(h.reconciliation.worst_residual != 0);
    assert_int_equal(h.reconciliation.at_end.requested, 4096 + 512 + 1048576 + 512);
}

TEST(sizes_beyond_reason)
{
    build(
        SEGMENT(S1, "2097152", "small", B("2097152", "9223372036854775808", "active_allocated")),
        E("alloc", "18446744073709551615", "18446744073709551615") "," E(
            "segment_alloc", "18446744073709551000",
            "9223372036854775808") "," E("segment_map", "0",
                                         "18446744073709551615") "," E("alloc", "0",
                                                                       "9223372036854775808") "," E("alloc", "512",
                                                                                                    "922337203685477580"
                                                                                                    "8") "," E("segment"
                                                                                                               "_unmap",
                                                                                                               "512",
                                                                                                               "1844674"
                                                                                                               "4073709"
                                                                                                               "55110"
                                                                                                               "4"),
        "\"max_split_size\":1");
    assert_int_equal(h.count, 6);
    assert_int_equal(h.allocation_count, 4);
}

/* The watcher sees the space before a growth and before an oom, and regularly. */
struct seen {
    uint32_t growths[8], ooms, samples;
    size_t growth_count;
};

static void see(void *self, enum gm_occasion occasion, const struct gm_space *space, uint32_t moment)
{
    struct seen *seen = self;
    assert_non_null(space);
    if (occasion == GM_OCCASION_GROWTH)
        seen->growths[seen->growth_count++] = moment;
    else if (occasion == GM_OCCASION_OOM)
        seen->ooms++;
    else
        seen->samples++;
}

TEST(watching)
{
    struct gm_error err = {0};
    struct seen seen = {.ooms = 0};
    const struct gm_watcher watcher = {&seen, see, 3, false};
    static const char text[] = "{\"segments\":[],\"device_traces\":[[" E("segment_map", S1, "2097152") "," E(
        "segment_map", "106954752",
        "2097152") "," E("alloc", S1, "512") "," E("segment_alloc", S2,
                                                   "2097152") "," E("segment_alloc", "419430400",
                                                                    "2097152") ",{\"action\":\"oom\",\"size\":512,"
                                                                               "\"device_free\":7,\"stream\":0}]]}";
    assert_int_equal(gm_snapshot_load_bytes(&snapshot, text, strlen(text), "test", NULL, &err), GM_OK);
    assert_int_equal(gm_history_build(&h, &snapshot, 0, &watcher, &err), GM_OK);
    assert_int_equal(seen.growth_count, 3); /* the two maps are one growth */
    assert_int_equal(seen.growths[0], 0);
    assert_int_equal(seen.growths[1], 3);
    assert_int_equal(seen.growths[2], 4);
    assert_int_equal(seen.ooms, 1);
    assert_int_equal(seen.samples, 2);
}
