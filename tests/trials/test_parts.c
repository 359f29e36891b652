/* SPDX-License-Identifier: Apache-2.0
 *
 * Half the batch at a time: a weight of 8 MiB, an activation, its gradient, temporaries, and the gradient of the next
 * step; each event's allocation is written down by hand.
 */
#include "analyze/base/size.h"
#include "replay/trials/card_plan.h"
#include "tests/unit.h"

enum { WEIGHT, KEPT, GRADIENT, OF_BATCH, OF_WEIGHT, NEXT, STATE, ALLOCATIONS, EVENTS = 11 };

TEST(parts)
{
    (void)state;
    uint32_t born[ALLOCATIONS] = {1, 2, 3, 4, 6, 10, 11}, near[ALLOCATIONS];
    uint32_t freed[ALLOCATIONS] = {GM_NEVER, 8, 9, 5, 7, GM_NEVER, GM_NEVER};
    uint32_t of_event[EVENTS] = {WEIGHT,    KEPT, GRADIENT, OF_BATCH, OF_BATCH, OF_WEIGHT,
                                 OF_WEIGHT, KEPT, GRADIENT, NEXT,     STATE};
    uint64_t requested[ALLOCATIONS] = {8, 6, 8, 5, 4, 8, 8};
    const uint8_t role[ALLOCATIONS] = {GM_ROLE_PARAMETER, GM_ROLE_ACTIVATION, GM_ROLE_GRADIENT,       GM_ROLE_TEMPORARY,
                                       GM_ROLE_TEMPORARY, GM_ROLE_GRADIENT,   GM_ROLE_OPTIMIZER_STATE};
    struct gm_remedy_change changes[ALLOCATIONS];
    size_t count = 0;
    for (uint32_t a = 0; a < ALLOCATIONS; a++) {
        requested[a] *= GM_MIB;
        near[a] = GM_FAR_NUMBER | a;
    }
    const struct gm_history h = {.count = EVENTS,
                                 .allocation_count = ALLOCATIONS,
                                 .born = born,
                                 .freed = freed,
                                 .wide_let_go = freed,
                                 .of_event = of_event,
                                 .requested = {.near = near, .far = {.v = requested}}};
    assert_true(gm_plan_parts(changes, &count, &h, role));
    /* Gradients are there from the weight on, and from where those before went; the temporary of half a weight's size
     * stays as it is. */
    const struct gm_remedy_change expected[] = {{GRADIENT, GM_REMEDY_NEVER, 1, GM_REMEDY_AS_RECORDED},
                                                {NEXT, GM_REMEDY_NEVER, 9, GM_REMEDY_AS_RECORDED},
                                                {KEPT, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 3 * GM_MIB},
                                                {OF_BATCH, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 5 * GM_MIB / 2}};
    assert_int_equal(count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(changes[i].allocation, expected[i].allocation);
        assert_int_equal(changes[i].gone, expected[i].gone);
        assert_int_equal(changes[i].again, expected[i].again);
        assert_int_equal(changes[i].bytes, expected[i].bytes);
    }
}
