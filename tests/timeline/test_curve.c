/* SPDX-License-Identifier: Apache-2.0
 *
 * The picture of a run: which axis it is given, and what its layers are.
 */
#include <stdio.h>
#include <string.h>

#include "analyze/base/text.h"
#include "tests/timeline/traced.h"
#include "tests/unit.h"

static const char rules_text[] = "tier only\n"
                                 "category Attention #112233\n"
                                 "  name attend\n";

enum { EVENTS = 3000, FEW = 200 };

static unsigned events = EVENTS;

/* Blocks come and go, one after the other; event i is at times_us(i), which runs to a million. */
static void make(uint64_t (*time_us)(unsigned i), struct gm_timeline_options options)
{
    GM_FREED struct gm_text json = {0};
    gm_text_add(&json, "{\"segments\":[],\"device_traces\":[[");
    for (unsigned i = 0; i < events; i++)
        gm_text_printf(&json,
                       "%s{\"action\":\"%s\",\"addr\":%u,\"size\":512,\"time_us\":%llu,"
                       "\"frames\":[{\"name\":\"attend\",\"filename\":\"a.py\",\"line\":1}]}",
                       i > 0 ? "," : "", i % 2 == 0 ? "alloc" : "free_completed", 1024 * (i / 2),
                       (unsigned long long)time_us(i));
    gm_text_add(&json, "]]}");
    assert_false(json.failed);
    gm_traced_load(json.data, rules_text, options);
}

static const struct gm_curve *curve_of(void)
{
    return &traced.report.timelines[0].curve;
}

static uint64_t steadily(unsigned i)
{
    return UINT64_C(5000000) + UINT64_C(1000000) * i / (events - 1);
}

/* All but 99 events at the beginning: 2,700 of the 3,000 are in the first of 1,500 parts. */
static uint64_t in_a_burst(unsigned i)
{
    return UINT64_C(5000000) + (i < events - 99 ? i / 10 : UINT64_C(1000000) - 1000 * (events - 1 - i));
}

/* All but 10 at the beginning of a second. */
static uint64_t few_in_a_burst(unsigned i)
{
    return UINT64_C(5000000) + (i < FEW - 10 ? 10 * i : UINT64_C(1000000) - 1000 * (FEW - 1 - i));
}

static uint64_t at_one_moment(unsigned i)
{
    (void)i;
    return 77;
}

static void expect_axis(uint64_t (*time_us)(unsigned), enum gm_axis wanted, bool is_by_time, const char *note)
{
    make(time_us, (struct gm_timeline_options){.top = 5, .axis = wanted});
    const struct gm_curve *curve = curve_of();
    assert_int_equal(curve->is_by_time, is_by_time);
    assert_int_equal(curve->has_times, time_us != at_one_moment);
    assert_int_equal(curve->start_us, time_us == at_one_moment ? GM_REPORT_NONE : 5000000);
    assert_true(curve->x_end > (is_by_time ? 999999 : events - 1) &&
                curve->x_end < (is_by_time ? 1000001 : events + 1));
    if (note == NULL)
        assert_null(curve->axis_note);
    else
        assert_string_equal(curve->axis_note, note);
    assert_int_equal(curve->columns[curve->column_count - 1].last_event, events - 1);
}

TEST(the_axis)
{
    expect_axis(steadily, GM_AXIS_CHOSEN, true, NULL);
    expect_axis(steadily, GM_AXIS_EVENT, false, NULL);
    expect_axis(in_a_burst, GM_AXIS_CHOSEN, false, "90 % of the events are in 0.1 % of the time");
    expect_axis(in_a_burst, GM_AXIS_TIME, true, NULL);
    expect_axis(at_one_moment, GM_AXIS_TIME, false, NULL);
    events = FEW;
    expect_axis(steadily, GM_AXIS_CHOSEN, true, NULL);
    expect_axis(few_in_a_burst, GM_AXIS_CHOSEN, false, "90 % of the events are in 0.5 % of the time");
    events = EVENTS;
}

TEST(the_layers)
{
    static const char *const names[] = {[GM_LAYERS_BY_ROLE] = "role", [GM_LAYERS_BY_CATEGORY] = "category"};
    for (enum gm_layers_by by = GM_LAYERS_BY_ROLE; by <= GM_LAYERS_BY_CATEGORY; by++) {
        make(steadily, (struct gm_timeline_options){.top = 5, .layers_by = by});
        const struct gm_curve *curve = curve_of();
        assert_string_equal(curve->layers_by, names[by]);
        assert_int_equal(curve->layer_count, 1);
        assert_int_equal(strcmp(curve->layers[0].name, "Attention") == 0, by == GM_LAYERS_BY_CATEGORY);
        assert_int_equal(curve->layer_bytes[0], 512);
    }
}
