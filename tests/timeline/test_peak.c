/* SPDX-License-Identifier: Apache-2.0
 *
 * Peaks of requested bytes of small traces, written as JSON, computed by hand.
 */
#include "tests/timeline/traced.h"

#include <stdio.h>
#include <string.h>

#define EVENT(action, addr, size)                                                                                      \
    "{\"action\":\"" action "\",\"addr\":" #addr ",\"size\":" #size ",\"time_us\":1" #addr "}"
#define EVENT_BY(action, addr, size, name)                                                                             \
    "{\"action\":\"" action "\",\"addr\":" #addr ",\"size\":" #size ",\"frames\":[{\"name\":\"" name                   \
    "\",\"filename\":\"m.py\",\"line\":1}]}"
#define BLOCK(address, size, requested, state)                                                                         \
    "{\"address\":" #address ",\"size\":" #size ",\"requested_size\":" #requested ",\"state\":\"" state "\"}"

struct result {
    uint64_t requested, event, time_us, attention, mlp, no_stack;
};

static struct result peak_of(const char *events, const char *blocks)
{
    char text[4096];
    int n = snprintf(text, sizeof text,
                     "{\"segments\":[{\"device\":0,\"address\":1000,\"total_size\":100000,\"blocks\":[%s]}],"
                     "\"device_traces\":[[%s]]}",
                     blocks, events);
    assert_true(n > 0 && (size_t)n < sizeof text);
    gm_traced_load(text, gm_traced_rules, (struct gm_timeline_options){.top = 5});
    assert_int_equal(traced.report.device_count, 1);
    const struct gm_peak *peak = &traced.report.peaks[0];
    struct result r = {.requested = peak->requested, .event = peak->event, .time_us = peak->time_us};
    for (size_t i = 0; i < peak->category_count; i++) {
        const struct gm_slice *c = &peak->categories[i];
        if (strcmp(c->name, "Attention") == 0)
            r.attention = c->bytes;
        else if (strcmp(c->name, "MLP") == 0)
            r.mlp = c->bytes;
        else if (strcmp(c->name, "No stack recorded") == 0)
            r.no_stack = c->bytes;
    }
    assert_int_equal(r.attention + r.mlp + r.no_stack, r.requested);
    return r;
}

TEST(peak_inside_the_trace)
{
    /* 100, 350, 250 (the pending free still counts), 250 + 60 */
    struct result r =
        peak_of(EVENT_BY("alloc", 1000, 100, "attend") "," EVENT_BY("alloc", 2000, 250, "feed") "," EVENT(
                    "free_requested", 1000, 100) "," EVENT("free_completed", 1000, 100) "," EVENT("alloc", 1000, 60),
                BLOCK(1000, 512, 60, "active_allocated") "," BLOCK(2000, 512, 250, "active_allocated"));
    assert_int_equal(r.requested, 350);
    assert_int_equal(r.event, 1);
    assert_int_equal(r.attention, 100);
    assert_int_equal(r.mlp, 250);
}

TEST(first_of_equal_peaks)
{
    struct result r = peak_of(EVENT("alloc", 1000, 100) "," EVENT("free_completed", 1000, 100) "," EVENT(
                                  "snapshot", 0, 0) "," EVENT("alloc", 2000, 100),
                              BLOCK(2000, 512, 100, "active_allocated"));
    assert_int_equal(r.requested, 100);
    assert_int_equal(r.event, 0);
    assert_int_equal(r.time_us, 11000);
}

TEST(blocks_older_than_the_trace)
{
    /* 700 and 40 (pending at the end) never appear in the trace, 300 is only freed: 1040 at the start, then 740, 840 */
    struct result r =
        peak_of(EVENT("free_completed", 5000, 300) "," EVENT_BY("alloc", 5000, 100, "feed"),
                BLOCK(1000, 1024, 700, "active_allocated") "," BLOCK(2024, 512, 40, "active_pending_free") "," BLOCK(
                    2536, 2464, 9, "inactive") "," BLOCK(5000, 512, 100, "active_allocated"));
    assert_int_equal(r.requested, 1040);
    assert_true(r.event == GM_REPORT_NONE);
    assert_true(r.time_us == GM_REPORT_NONE);
    assert_int_equal(r.mlp, 0);
    assert_int_equal(r.no_stack, 1040);

    /* the same, but 500 more are allocated before: 1540 after event 0 */
    r = peak_of(EVENT_BY("alloc", 9000, 500, "feed") "," EVENT("free_completed", 5000, 300) "," EVENT("free_completed",
                                                                                                      9000, 500),
                BLOCK(1000, 1024, 700, "active_allocated") "," BLOCK(2024, 512, 40, "active_pending_free"));
    assert_int_equal(r.requested, 1540);
    assert_int_equal(r.event, 0);
    assert_int_equal(r.mlp, 500);
    assert_int_equal(r.no_stack, 1040);
}

TEST(hostile_sizes_do_not_wrap)
{
    struct result r =
        peak_of(EVENT("alloc", 1000, 18446744073709551614) "," EVENT("alloc", 2000, 18446744073709551614) "," EVENT(
                    "alloc", 1000, 5) "," EVENT("free_completed", 7, 18446744073709551614),
                "");
    assert_true(r.requested >= UINT64_MAX - 2);
    assert_int_equal(r.event, 1);
}
