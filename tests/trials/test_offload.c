/* SPDX-License-Identifier: Apache-2.0
 *
 * Which activations of a plan lie on the host, and for how long: a trace of ten events, one every 100 ms, in which
 * three allocations live from the first to the last, and one for 100 ms. A GiB takes 54 ms on the bus.
 */
#include "analyze/base/size.h"
#include "replay/trials/card_plan.h"
#include "tests/unit.h"

enum { EVENTS = 10, KEPT, SHORT = 3, ALLOCATIONS };

struct case_of {
    uint64_t time_us[EVENTS];
    uint32_t born[ALLOCATIONS], freed[ALLOCATIONS];
    uint64_t requested[ALLOCATIONS];
    uint32_t near[ALLOCATIONS];
    uint8_t role[ALLOCATIONS];
    struct gm_snapshot snapshot;
    struct gm_history history;
    struct gm_remedy_change changes[ALLOCATIONS];
    size_t count;
};

static void offload(struct case_of *c, uint64_t gib, uint64_t step_us)
{
    *c = (struct case_of){.snapshot = {.events = {.time_us = {.plain = c->time_us}}}};
    for (unsigned e = 0; e < EVENTS; e++)
        c->time_us[e] = 1000000 + e * step_us;
    for (uint32_t a = 0; a < ALLOCATIONS; a++) {
        c->born[a] = a == SHORT ? 5 : 1;
        c->freed[a] = a == SHORT ? 6 : EVENTS;
        c->requested[a] = gib * GM_GIB + a;
        c->near[a] = GM_FAR_NUMBER | a;
        c->role[a] = a == 1 ? GM_ROLE_PARAMETER : GM_ROLE_ACTIVATION;
    }
    c->history = (struct gm_history){.snapshot = &c->snapshot,
                                     .count = EVENTS,
                                     .allocation_count = ALLOCATIONS,
                                     .born = c->born,
                                     .freed = c->freed,
                                     .requested = {.near = c->near, .far = {.v = c->requested}}};
    assert_true(gm_plan_offload(c->changes, &c->count, &c->history, c->role));
}

TEST(idle)
{
    (void)state;
    struct case_of c;
    offload(&c, 1, 100000);
    assert_int_equal(c.count, 2); /* not the parameter, nor what lives for a moment */
    for (size_t i = 0; i < c.count; i++) {
        assert_int_equal(c.changes[i].allocation, i == 0 ? 2 : 0); /* the larger one first */
        assert_int_equal(c.changes[i].gone, 2);                    /* the event at 100 ms is the first after the copy */
        assert_int_equal(c.changes[i].again, 9);                   /* 54 ms before the last event */
        assert_int_equal(c.changes[i].bytes, GM_REMEDY_AS_RECORDED);
    }
}

/* Both of 4 GiB go there and back in the 900 ms of the trace; one of 5 GiB does not lie for long enough. */
TEST(bus)
{
    (void)state;
    struct case_of c;
    offload(&c, 4, 100000);
    assert_int_equal(c.count, 2);
    offload(&c, 5, 100000);
    assert_int_equal(c.count, 0);
    offload(&c, 1, 20000);
    assert_int_equal(c.count, 0);
    offload(&c, 1, 25000);
    assert_int_equal(c.count, 2);
}
