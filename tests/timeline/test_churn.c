/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocations made and freed in the trace, by call site, worked out by hand.
 */
#include "tests/timeline/traced.h"

enum { A = 1 << 28 };

/* Events take 10 us each. */
static void write_trace(void)
{
    gm_traced_free(A, 512);                                 /* older than the trace: no churn */
    gm_traced_event("alloc", A, 512, "attend");             /* 2: temporary, lives 10 us */
    gm_traced_free(A, 512);                                 /* 3, 4 */
    gm_traced_event("alloc", A, 1000, "attend");            /* 5: lives 20 us */
    gm_traced_event("alloc", A + 1024, 512, "feed");        /* 6: temporary: freed before any other is made */
    gm_traced_event("free_requested", A, 1000, NULL);       /* 7: not temporary: 6 was made before */
    gm_traced_event("free_requested", A + 1024, 512, NULL); /* 8: lives 20 us, though pending for longer */
    gm_traced_event("free_completed", A, 1000, NULL);       /* 9 */
    gm_traced_event("alloc", A, 512, "attend");             /* 10: never freed: no churn */
    gm_traced_event("free_completed", A + 1024, 512, NULL); /* 11 */
    gm_traced_event("alloc", A + 1024, 100, "attend");      /* 12: the last one, temporary, lives 20 us */
    gm_traced_event("snapshot", 0, 0, NULL);                /* 13 */
    gm_traced_free(A + 1024, 100);                          /* 14, 15 */
    gm_traced_segment(A, MIB(2), "small");
    gm_traced_block(512, 512, "attend");
    gm_traced_block(MIB(2) - 512, 0, NULL);
}

TEST(sites)
{
    write_trace();
    const struct gm_fragmentation_history *f = &gm_traced_analyze()->fragmentation;
    assert_int_equal(f->churn_count, 2);
    assert_string_equal(f->churn[0].site, "attend  m.py:1");
    assert_string_equal(f->churn[0].category, "Attention");
    assert_int_equal(f->churn[0].allocs, 3);
    assert_int_equal(f->churn[0].bytes, 512 + 1000 + 100);
    assert_int_equal(f->churn[0].temporary_allocs, 2);
    assert_int_equal(f->churn[0].median_life_us, 20); /* of 10, 20, 20 */
    assert_string_equal(f->churn[1].site, "feed  m.py:1");
    assert_int_equal(f->churn[1].allocs, 1);
    assert_int_equal(f->churn[1].temporary_allocs, 1);
    assert_int_equal(f->churn[1].median_life_us, 20);
    assert_int_equal(f->temporary_allocs, 3);
    assert_int_equal(f->temporary_bytes, 512 + 512 + 100);
}

/* More than are looked at for the median: each second one is. All but a few live 10 us. */
TEST(many)
{
    for (int i = 0; i < 5000; i++) {
        gm_traced_event("alloc", A, 512, "attend");
        traced.time += i % 10 == 0 ? 1000 : 0;
        gm_traced_free(A, 512);
    }
    gm_traced_segment(A, MIB(2), "small");
    gm_traced_block(MIB(2), 0, NULL);
    const struct gm_fragmentation_history *f = &gm_traced_analyze()->fragmentation;
    assert_int_equal(f->churn_count, 1);
    assert_int_equal(f->churn[0].allocs, 5000);
    assert_int_equal(f->churn[0].median_life_us, 10);
    assert_int_equal(f->temporary_allocs, 5000);
    bool is_found = false;
    for (size_t i = 0; i < traced.report.diagnosis.finding_count; i++)
        is_found |= strcmp(traced.report.diagnosis.findings[i].id, "temporary-churn") == 0;
    assert_true(is_found);
}

/* A free that is missing ends an allocation but makes it no churn: nobody knows when it went. */
TEST(missing_free)
{
    gm_traced_event("alloc", A, 512, "attend");
    gm_traced_event("alloc", A, 512, "attend");
    gm_traced_free(A, 512);
    gm_traced_segment(A, MIB(2), "small");
    gm_traced_block(MIB(2), 0, NULL);
    const struct gm_fragmentation_history *f = &gm_traced_analyze_unfollowed()->fragmentation;
    assert_int_equal(f->churn_count, 1);
    assert_int_equal(f->churn[0].allocs, 1);
}
