/* SPDX-License-Identifier: Apache-2.0
 *
 * Why reserved memory grew, what was stranded and what pinned it, on small traces worked out by hand.
 */
#include "analyze/diagnose/diagnose.h"

#include "tests/timeline/traced.h"

enum { A = 1 << 28, B = 2 << 28, C = 3 << 28 }; /* where segments begin */
#define D ((uint64_t)4 << 28)
#define FAR ((uint64_t)8 << 28)

static const struct gm_growth_row *growth_at(const struct gm_fragmentation_history *f, uint64_t event)
{
    for (size_t i = 0; i < f->growth_count; i++)
        if (f->growths[i].event == event)
            return &f->growths[i];
    fail_msg("no growth at event %d", (int)event);
    return NULL;
}

static void assert_reasons(const struct gm_growth_row *g, uint64_t too_small, uint64_t stream, uint64_t pool,
                           uint64_t whole, uint64_t fits)
{
    assert_int_equal(g->unusable[GM_UNUSABLE_HOLE_TOO_SMALL], too_small);
    assert_int_equal(g->unusable[GM_UNUSABLE_WRONG_STREAM], stream);
    assert_int_equal(g->unusable[GM_UNUSABLE_WRONG_POOL], pool);
    assert_int_equal(g->unusable[GM_UNUSABLE_WHOLE_SEGMENT], whole);
    assert_int_equal(g->unusable[GM_UNUSABLE_FITS], fits);
    assert_int_equal(g->cached, too_small + stream + pool + whole + fits);
}

/* A holds two holes of 8 MiB around a live block of 4; B is small, C of another stream; then D must come for 13 MiB. */
static uint64_t trace_of_holes(void)
{
    gm_traced_grow(A, MIB(20), MIB(8), "attend");
    gm_traced_event("alloc", A + MIB(8), MIB(4), "keeper");
    gm_traced_event("alloc", A + MIB(12), MIB(8), "attend");
    gm_traced_free(A, MIB(8));
    gm_traced_free(A + MIB(12), MIB(8));
    gm_traced_grow(B, MIB(2), 1000, "feed");
    traced.stream = 7;
    gm_traced_grow(C, MIB(20), MIB(4), "feed");
    traced.stream = 0;
    uint64_t event = gm_traced_event("segment_alloc", D, MIB(14), NULL);
    gm_traced_event("alloc", D, MIB(13), "attend");

    gm_traced_segment(A, MIB(20), "large");
    gm_traced_block(MIB(8), 0, NULL);
    gm_traced_block(MIB(4), MIB(4), "keeper");
    gm_traced_block(MIB(8), 0, NULL);
    gm_traced_segment(B, MIB(2), "small");
    gm_traced_block(1024, 1000, "feed");
    gm_traced_block(MIB(2) - 1024, 0, NULL);
    traced.stream = 7;
    gm_traced_segment(C, MIB(20), "large");
    gm_traced_block(MIB(4), MIB(4), "feed");
    gm_traced_block(MIB(16), 0, NULL);
    traced.stream = 0;
    gm_traced_whole(D, MIB(14), MIB(13), "attend");
    return event;
}

TEST(reasons)
{
    uint64_t last = trace_of_holes();
    const struct gm_fragmentation_history *f = &gm_traced_analyze()->fragmentation;
    assert_int_equal(f->growth_total, 4);
    assert_int_equal(f->growths_examined, 4);
    assert_int_equal(f->growth_bytes, MIB(56));
    assert_int_equal(f->driver_allocs, 4);
    assert_int_equal(f->driver_frees, 0);
    assert_int_equal(f->driver_cycles, 0);
    assert_int_equal(f->growth_count, 4);
    assert_int_equal(f->growths[0].event, 0); /* the largest, the earlier first */
    assert_int_equal(f->growths[3].bytes, MIB(2));

    const struct gm_growth_row *g = growth_at(f, 0);
    assert_reasons(g, 0, 0, 0, 0, 0);
    assert_true(g->is_first);
    assert_int_equal(g->asked, MIB(8));
    g = growth_at(f, 8); /* the small one */
    assert_reasons(g, 0, 0, MIB(16), 0, 0);
    assert_true(g->is_first);
    assert_int_equal(g->asked, 1024);
    assert_string_equal(g->pool, "small");
    g = growth_at(f, 10); /* of stream 7 */
    assert_reasons(g, 0, MIB(16), MIB(2) - 1024, 0, 0);
    assert_true(g->is_first);
    assert_int_equal(g->stream, 7);
    g = growth_at(f, last);
    assert_reasons(g, MIB(16), MIB(16), MIB(2) - 1024, 0, 0);
    assert_false(g->is_first);
    assert_false(g->is_retry);
    assert_int_equal(g->bytes, MIB(14));
    assert_int_equal(g->asked, MIB(13));
    assert_int_equal(g->largest_hole, MIB(8));
    assert_string_equal(g->pool, "large");
    assert_string_equal(g->site, "attend  m.py:1"); /* of the request: the segment has no stack */
    assert_int_equal(f->growths_avoidable, 1);
    assert_int_equal(f->growth_avoidable_bytes, MIB(14));
}

TEST(samples_and_pinners)
{
    const uint64_t growth = trace_of_holes();
    const struct gm_fragmentation_history *f = &gm_traced_analyze()->fragmentation;
    assert_true(f->sample_count > 0);
    const struct gm_fragmentation_sample *s = &f->samples[0]; /* after event 0: nothing but an unsplit segment */
    assert_int_equal(s->event, 0);
    assert_int_equal(s->largest_free, MIB(20));
    assert_int_equal(s->cached, MIB(20));
    assert_int_equal(s->stranded, 0);
    s = &f->samples[f->sample_count - 1];
    assert_int_equal(s->event, growth + 1);
    assert_int_equal(s->largest_free, MIB(16));
    assert_int_equal(s->cached, MIB(34) - 1024);
    assert_int_equal(s->stranded, MIB(34) - 1024);
    /* When they are all there is in their segments, `keeper` keeps 16 MiB, and so does the block of stream 7. Before,
     * the first block of A kept 12 MiB, the third 8 / 2. */
    assert_int_equal(f->pinner_count, 5);
    assert_int_equal(f->pinners[0].pinned_bytes, MIB(16));
    assert_string_equal(f->pinners[0].site, "keeper  m.py:1");
    assert_int_equal(f->pinners[0].address, A + MIB(8));
    assert_int_equal(f->pinners[0].event, 7);
    assert_int_equal(f->pinners[0].age_events, 5);
    assert_int_equal(f->pinners[0].age_us, 50);
    assert_int_equal(f->pinners[1].pinned_bytes, MIB(16));
    assert_int_equal(f->pinners[1].address, C);
    assert_int_equal(f->pinners[2].pinned_bytes, MIB(12));
    assert_int_equal(f->pinners[2].address, A);
    assert_int_equal(f->pinners[3].pinned_bytes, MIB(4));
    assert_int_equal(f->pinners[3].address, A + MIB(12));
    assert_int_equal(f->pinners[4].pinned_bytes, MIB(2) - 1024);
}

/* A whole free segment of the stream is too small, one of a private pool cannot go back, a hole would have fitted. */
TEST(whole_private_and_fitting)
{
    gm_traced_grow(A, MIB(20), MIB(9), "attend");
    gm_traced_free(A, MIB(9));
    gm_traced_event("segment_alloc", B, MIB(20), NULL); /* of the private pool (0,3) */
    gm_traced_event("alloc", B, MIB(9), "attend");
    gm_traced_free(B, MIB(9));
    uint64_t large = gm_traced_event("segment_alloc", C, MIB(30), NULL);
    gm_traced_event("alloc", C, MIB(30), "attend");
    uint64_t refused = gm_traced_event("segment_alloc", D, MIB(12), NULL);
    gm_traced_event("alloc", D, MIB(12), "attend");

    gm_traced_whole(A, MIB(20), 0, NULL);
    gm_traced_whole(C, MIB(30), MIB(30), "attend");
    gm_traced_whole(D, MIB(12), MIB(12), "attend");
    traced.more = ",\"segment_pool_id\":[0,3]";
    gm_traced_whole(B, MIB(20), 0, NULL);
    const struct gm_fragmentation_history *f = &gm_traced_analyze()->fragmentation;
    assert_string_equal(growth_at(f, 4)->pool, "private (0,3) large");
    assert_reasons(growth_at(f, 4), 0, 0, 0, MIB(20), 0);
    assert_reasons(growth_at(f, large), 0, 0, MIB(20), MIB(20), 0);
    assert_int_equal(growth_at(f, large)->largest_hole, MIB(20));
    assert_reasons(growth_at(f, refused), 0, 0, MIB(20), 0, MIB(20));
    assert_int_equal(f->growths_avoidable, 1); /* 30 MiB were more than the 20 cached; 12 were not */
    assert_int_equal(f->growth_avoidable_bytes, MIB(12));
    assert_int_equal(f->pinner_count, 2); /* while their segments were split */
}

/* Two growths for which the same cached bytes would have been enough: they count once. */
TEST(cached_bytes_count_once)
{
    gm_traced_grow(A, MIB(20), MIB(8), "attend");
    gm_traced_event("alloc", A + MIB(8), MIB(4), "keeper");
    gm_traced_free(A, MIB(8));
    gm_traced_grow(B, MIB(12), MIB(12), "attend");
    gm_traced_grow(C, MIB(12), MIB(12), "attend");
    gm_traced_segment(A, MIB(20), "large");
    gm_traced_block(MIB(8), 0, NULL);
    gm_traced_block(MIB(4), MIB(4), "keeper");
    gm_traced_block(MIB(8), 0, NULL);
    gm_traced_whole(B, MIB(12), MIB(12), "attend");
    gm_traced_whole(C, MIB(12), MIB(12), "attend");
    const struct gm_fragmentation_history *f = &gm_traced_analyze()->fragmentation;
    assert_int_equal(f->growth_total, 3);
    assert_int_equal(growth_at(f, 7)->unusable[GM_UNUSABLE_HOLE_TOO_SMALL], MIB(16));
    assert_int_equal(f->growths_avoidable, 1);
    assert_int_equal(f->growth_avoidable_bytes, MIB(12));
}

/* One operation maps two runs of pages; later the driver refuses until pages have gone back. */
TEST(expandable)
{
    traced.settings = "\"expandable_segments\":true";
    traced.more = ",\"is_expandable\":true";
    gm_traced_event("segment_map", A, MIB(20), "attend");
    gm_traced_event("segment_map", A + MIB(20), MIB(40), "attend");
    gm_traced_event("alloc", A, MIB(50), "attend");
    gm_traced_event("alloc", A + MIB(50), MIB(1) + 512, "keeper");
    gm_traced_free(A, MIB(50));
    gm_traced_event("segment_unmap", A, MIB(40), "feed");
    uint64_t event = gm_traced_event("segment_map", B, MIB(60), "feed");
    gm_traced_event("alloc", B, MIB(60), "feed");
    gm_traced_segment(A + MIB(40), MIB(20), "large");
    gm_traced_block(MIB(10), 0, NULL);
    gm_traced_block(MIB(1) + 512, MIB(1) + 512, "keeper");
    gm_traced_block(MIB(9) - 512, 0, NULL);
    gm_traced_whole(B, MIB(60), MIB(60), "feed");
    const struct gm_fragmentation_history *f = &gm_traced_analyze()->fragmentation;
    assert_int_equal(f->growth_total, 2);
    assert_int_equal(growth_at(f, 0)->bytes, MIB(60));
    assert_int_equal(growth_at(f, 0)->asked, MIB(50));
    assert_true(growth_at(f, 0)->is_first);
    assert_false(growth_at(f, 0)->is_retry);
    assert_reasons(growth_at(f, event), MIB(19) - 512, 0, 0, 0, 0);
    assert_true(growth_at(f, event)->is_retry);
    assert_int_equal(f->retries, 1);
    assert_int_equal(f->driver_cycles, 1);
    assert_int_equal(f->driver_allocs, 3);
    assert_int_equal(f->driver_frees, 1);
    assert_non_null(gm_traced_finding("allocation-retries"));
    /* After the free (event 5) two whole pages could have gone back, but for the 10 MiB beside `keeper` and the rest
     * above it. */
    assert_int_equal(f->samples[5].event, 5);
    assert_int_equal(f->samples[5].cached, MIB(59) - 512);
    assert_int_equal(f->samples[5].stranded, MIB(19) - 512);
    assert_int_equal(f->samples[5].largest_free, MIB(50));
    assert_string_equal(f->pinners[0].site, "keeper  m.py:1");
    assert_int_equal(f->pinners[0].pinned_bytes, MIB(19) - 512);
}

/* The same segment events with another stack: empty_cache() was called, and that is no retry. */
TEST(empty_cache_is_no_retry)
{
    gm_traced_event("segment_free", A, MIB(20), "empty_cache");
    gm_traced_grow(B, MIB(20), MIB(20), "attend");
    gm_traced_whole(B, MIB(20), MIB(20), "attend");
    const struct gm_fragmentation_history *f = &gm_traced_analyze()->fragmentation;
    assert_int_equal(f->growth_total, 1);
    assert_int_equal(f->retries, 0);
    assert_int_equal(f->driver_cycles, 1);
}

/* An operation gives back what it tried, which would have served what it asks for then. */
TEST(what_would_have_served_is_no_retry)
{
    gm_traced_grow(A, MIB(40), MIB(40), "search");
    gm_traced_free(A, MIB(40));
    gm_traced_event("segment_free", A, MIB(40), "search");
    gm_traced_grow(B, MIB(40), MIB(40), "search");
    gm_traced_whole(B, MIB(40), MIB(40), "search");
    assert_int_equal(gm_traced_analyze()->fragmentation.retries, 0);
}

/* An operation gives back what it tried, while the driver gave ten times as much at another time. */
TEST(what_is_given_back_far_below_the_peak_is_no_retry)
{
    gm_traced_grow(A, MIB(20), MIB(20), "search");
    gm_traced_free(A, MIB(20));
    gm_traced_event("segment_free", A, MIB(20), "search");
    gm_traced_grow(B, MIB(30), MIB(30), "search");
    gm_traced_grow(C, MIB(200), MIB(200), "attend");
    gm_traced_whole(B, MIB(30), MIB(30), "search");
    gm_traced_whole(C, MIB(200), MIB(200), "attend");
    assert_int_equal(gm_traced_analyze()->fragmentation.retries, 0);
}

/* At the peak of active bytes: 13 MiB fill a segment of 14 without a split, 1000 bytes a block of 1024. */
TEST(rounding)
{
    trace_of_holes();
    const struct gm_fragmentation_history *f = &gm_traced_analyze()->fragmentation;
    assert_int_equal(f->rounding_bytes, MIB(1) + 24);
    assert_int_equal(f->rounding_count, 2);
    assert_string_equal(f->rounding[0].site, "attend  m.py:1");
    assert_string_equal(f->rounding[0].category, "Attention");
    assert_int_equal(f->rounding[0].waste, MIB(1));
    assert_int_equal(f->rounding[0].bytes, MIB(14));
    assert_int_equal(f->rounding[0].allocs, 1);
    assert_string_equal(f->rounding[1].site, "feed  m.py:1");
    assert_int_equal(f->rounding[1].waste, 24);
    assert_int_equal(f->rounding[1].bytes, MIB(4) + 1024);
    assert_int_equal(f->rounding[1].allocs, 2);
}

/* 500 MiB are asked for while two holes of 300 lie beside 20 live ones. */
TEST(findings)
{
    gm_traced_grow(A, MIB(620), MIB(300), "attend");
    gm_traced_event("alloc", A + MIB(300), MIB(20), "keeper");
    gm_traced_free(A, MIB(300));
    gm_traced_grow(FAR, MIB(500), MIB(500), "attend");
    gm_traced_segment(A, MIB(620), "large");
    gm_traced_block(MIB(300), 0, NULL);
    gm_traced_block(MIB(20), MIB(20), "keeper");
    gm_traced_block(MIB(300), 0, NULL);
    gm_traced_whole(FAR, MIB(500), MIB(500), "attend");
    gm_traced_analyze();
    const struct gm_finding *f = gm_traced_finding("growth-despite-cache");
    assert_non_null(f);
    assert_int_equal(f->severity, GM_INFO); /* less than 1 GiB */
    assert_int_equal(f->bytes, MIB(500));
    assert_non_null(strstr(f->detail, "1 of 2 growths (500.0 MiB of 1.09 GiB)"));
    assert_non_null(strstr(f->detail, "at event 5, by 500.0 MiB for a request of 500.0 MiB (attend  m.py:1), while "
                                      "600.0 MiB lay in holes of at most 300.0 MiB next to live blocks."));
    assert_null(strstr(f->detail, "expandable_segments")); /* only a replay can tell */
    assert_null(gm_traced_finding("stranded-memory"));     /* of files without a trace */
    f = gm_traced_finding("peak-by-one-site");
    assert_non_null(f);
    assert_int_equal(f->bytes, MIB(500)); /* 520 fall to the 20 of `keeper`: all others are of the same site */
}

/* Ten times the size; `reused` is what the holes serve later. */
static enum gm_severity severity_of_growth(uint64_t reused, bool is_short)
{
    const uint64_t other = A + MIB(10000);
    struct gm_error err = {0};
    gm_traced_grow(A, MIB(6200), MIB(3000), "attend");
    gm_traced_event("alloc", A + MIB(3000), MIB(200), "keeper");
    gm_traced_free(A, MIB(3000));
    gm_traced_grow(other, MIB(5000), MIB(5000), "attend");
    gm_traced_event("alloc", A, reused, "attend");
    gm_traced_event("alloc", A + MIB(3200), reused, "attend");
    gm_traced_segment(A, MIB(6200), "large");
    gm_traced_block(reused, reused, "attend");
    gm_traced_block(MIB(3000) - reused, 0, NULL);
    gm_traced_block(MIB(200), MIB(200), "keeper");
    gm_traced_block(reused, reused, "attend");
    gm_traced_block(MIB(3000) - reused, 0, NULL);
    gm_traced_whole(other, MIB(5000), MIB(5000), "attend");
    gm_traced_analyze();
    traced.report.evidence.ooms = is_short;
    assert_int_equal(gm_diagnose(&traced.report, NULL, NULL, &err), GM_OK);
    const struct gm_finding *f = gm_traced_finding("growth-despite-cache");
    assert_non_null(f);
    return f->severity;
}

TEST(what_is_in_use_at_most_has_to_be_reserved)
{
    assert_int_equal(severity_of_growth(MIB(1000), true), GM_WARNING);
    assert_int_equal(severity_of_growth(MIB(1000), false), GM_INFO); /* the driver refused nothing */
    assert_int_equal(severity_of_growth(MIB(2600), true), GM_INFO);  /* 11,000 are needed of 11,200 */
}

TEST(without_segments)
{
    gm_traced_event("alloc", A, MIB(8), "attend");
    gm_traced_free(A, MIB(8));
    const struct gm_device_timeline *out = gm_traced_analyze_unfollowed();
    assert_false(out->reconciliation.is_reconstructed);
    assert_int_equal(out->fragmentation.sample_count, 0);
    assert_int_equal(out->fragmentation.pinner_count, 0);
    assert_int_equal(out->fragmentation.churn_count, 1); /* needs no segments */
}
