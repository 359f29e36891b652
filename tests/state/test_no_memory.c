/* SPDX-License-Identifier: Apache-2.0
 *
 * Every allocation of the rules and of the passes fails once: GM_E_NOMEM, an empty report, nothing lost (the sanitizer
 * builds see leaks).
 */
#include "tests/nomem/nomem.h"
#include "tests/state/fixture.h"
#include "tests/unit.h"

static void make(void)
{
    fx_begin();
    struct gm_stack_id stack = fx_stack("f\xff @ /a/b.py : 1", "g @ /a/c.py : 2", NULL);
    for (uint64_t i = 0; i < 5; i++) {
        size_t row = fx_segment((i + 1) << 32, MIB(300), GM_SEGMENT_LARGE, i % 2 == 0);
        fx.g_device[row] = (int64_t)i / 2;
        fx.g_pool[row] = fx_pool(0, i);
        fx_block(GM_BLOCK_ACTIVE_ALLOCATED, MIB(3), MIB(2), stack);
        fx_free_block(MIB(297));
    }
    fx.g_total[0]++;
    fx_trace();
    fx_event(GM_ACTION_SEGMENT_MAP, UINT64_C(1) << 32, MIB(20));
    fx_event(GM_ACTION_OOM, 1, 2);
    fx_setting("garbage_collection_threshold", GM_SETTING_REAL)->real = 0.5;
}

static enum gm_status run(void)
{
    struct gm_category_rules *rules;
    struct gm_report report;
    struct gm_error err;
    enum gm_status status = gm_category_rules_default(&rules, &err);
    if (status != GM_OK) {
        assert_null(rules);
        return status;
    }
    struct gm_state_options options = {.top = 10, .device = -1, .rules = rules};
    status = gm_state_analyze(&report, &fx.s, &options, &err);
    if (status != GM_OK) {
        assert_null(report.devices);
        assert_null(report.arena.head);
    }
    gm_report_free(&report);
    gm_category_rules_free(rules);
    return status;
}

TEST(each_allocation)
{
    make();
    bool has_failed = true;
    size_t failures = 0;
    for (size_t i = 1; has_failed && i < 10000; i++) {
        nomem_begin(i, false);
        enum gm_status status = run();
        has_failed = nomem_end();
        assert_true(status == GM_OK ||
                    (has_failed && status == GM_E_NOMEM)); /* the classifier goes on without memory */
        failures += status != GM_OK;
    }
    assert_false(has_failed);
    assert_true(failures > 30); /* there was something to fail */
}
