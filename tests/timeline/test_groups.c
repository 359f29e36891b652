/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of the live set at the peak: by call site, stack, function, file, category; top and rest; lifetimes.
 */
#include <stdio.h>
#include <string.h>

#include "tests/timeline/traced.h"
#include "tests/unit.h"

#define FRAME(name, file, line) "{\"name\":\"" name "\",\"filename\":\"" file "\",\"line\":" #line "}"
#define TORCH FRAME("_call_impl", "/x/site-packages/torch/nn/modules/module.py", 1)
#define ALLOC(addr, size, frames) "{\"action\":\"alloc\",\"addr\":" #addr ",\"size\":" #size ",\"frames\":[" frames "]}"
#define FREE(addr, size) "{\"action\":\"free_completed\",\"addr\":" #addr ",\"size\":" #size "}"

/* Two layers call attend (line 10), one of them feeds (line 20) too; another feed is in another file. */
#define LAYER1 TORCH "," FRAME("layer", "/p/model/layer.py", 1) "," FRAME("main", "/p/train.py", 5)
#define LAYER2 TORCH "," FRAME("layer", "/p/model/layer.py", 2) "," FRAME("main", "/p/train.py", 5)
static const char events[] = ALLOC(1000, 100, FRAME("attend", "/p/model/attention.py", 10) "," LAYER1) "," ALLOC(
    2000, 200,
    FRAME("attend", "/p/model/attention.py",
          10) "," LAYER2) "," ALLOC(3000, 50,
                                    FRAME("feed", "/p/model/mlp.py",
                                          20) "," LAYER2) "," ALLOC(4000, 400,
                                                                    FRAME("feed", "/p/other/mlp.py",
                                                                          30)) "," ALLOC(5000, 8,
                                                                                         FRAME("attend",
                                                                                               "/p/model/attention.py",
                                                                                               11)) "," ALLOC(6000, 1,
                                                                                                              "");

static void make(enum gm_group_by group, size_t depth, size_t top)
{
    char json[8192];
    /* 7 bytes lived before; 30000 is not in the trace */
    int n =
        snprintf(json, sizeof json,
                 "{\"segments\":[{\"device\":0,\"address\":30000,\"total_size\":512,\"blocks\":[{\"address\":30000,"
                 "\"size\":512,\"requested_size\":7,\"state\":\"active_allocated\"}]}],\"device_traces\":[[%s,%s]]}",
                 events, FREE(1000, 100));
    assert_true(n > 0 && (size_t)n < sizeof json);
    gm_traced_load(json, gm_traced_rules, (struct gm_timeline_options){.top = top, .group = group, .depth = depth});
    assert_int_equal(traced.report.peaks[0].requested, 766);
}

struct expected {
    const char *label;
    uint64_t bytes, blocks;
    const char *category;
};

static void check_rows(const struct gm_group_row *rows, size_t count, const struct expected *expected, size_t n)
{
    assert_int_equal(count, n);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(rows[i].label, expected[i].label);
        assert_int_equal(rows[i].bytes, expected[i].bytes);
        assert_int_equal(rows[i].blocks, expected[i].blocks);
        assert_string_equal(rows[i].category, expected[i].category);
    }
}
#define CHECK_GROUPS(...)                                                                                              \
    do {                                                                                                               \
        const struct expected expected[] = __VA_ARGS__;                                                                \
        const struct gm_peak_detail *detail = &traced.report.timelines[0].peak;                                        \
        check_rows(detail->groups, detail->group_count, expected, sizeof expected / sizeof *expected);                 \
        assert_int_equal(detail->group_total, sizeof expected / sizeof *expected);                                     \
        assert_int_equal(detail->group_rest_bytes, 0);                                                                 \
    } while (0)

TEST(call_sites_merge_stacks)
{
    make(GM_GROUP_NONE, 0, 10);
    const struct gm_peak_detail *detail = &traced.report.timelines[0].peak;
    const struct expected expected[] = {{"feed  other/mlp.py:30", 400, 1, "MLP"},
                                        {"attend  model/attention.py:10", 300, 2, "Attention"},
                                        {"feed  model/mlp.py:20", 50, 1, "MLP"},
                                        {"attend  model/attention.py:11", 8, 1, "Attention"},
                                        {"no stack recorded", 8, 2, "No stack recorded"}};
    check_rows(detail->sites, detail->site_count, expected, 5);
    assert_int_equal(detail->site_total, 5);
    assert_int_equal(detail->site_rest_bytes, 0);
    assert_int_equal(detail->sites[0].color, 0x445566);
    assert_null(detail->groups);
    assert_null(detail->group_by);
    /* the stack of most of its bytes: that of the second layer */
    assert_int_equal(detail->sites[1].frame_count, 4);
    assert_int_equal(detail->sites[1].frames[2].line, 2);
    assert_null(detail->sites[4].frames);
    /* without it, and without what nobody can name */
    assert_int_equal(detail->sites[1].peak_without, 466);
    assert_true(detail->sites[4].peak_without == GM_REPORT_NONE);
}

TEST(rest_is_summed)
{
    make(GM_GROUP_STACK, 0, 2);
    const struct gm_peak_detail *detail = &traced.report.timelines[0].peak;
    assert_int_equal(detail->site_count, 2);
    assert_int_equal(detail->site_total, 5);
    assert_int_equal(detail->site_rest_bytes, 66);
    assert_int_equal(detail->site_rest_blocks, 4);
    assert_int_equal(detail->group_count, 2);
    assert_int_equal(detail->group_total, 6);
    assert_int_equal(detail->group_rest_bytes, 166);
    assert_int_equal(detail->group_rest_blocks, 5);
}

TEST(by_stack)
{
    make(GM_GROUP_STACK, 0, 10);
    assert_string_equal(traced.report.timelines[0].peak.group_by, "stack");
    CHECK_GROUPS({{"feed  other/mlp.py:30", 400, 1, "MLP"},
                  {"attend  model/attention.py:10 < layer  model/layer.py:2 < main  p/train.py:5", 200, 1, "Attention"},
                  {"attend  model/attention.py:10 < layer  model/layer.py:1 < main  p/train.py:5", 100, 1, "Attention"},
                  {"feed  model/mlp.py:20 < layer  model/layer.py:2 < main  p/train.py:5", 50, 1, "MLP"},
                  {"attend  model/attention.py:11", 8, 1, "Attention"},
                  {"no stack recorded", 8, 2, "No stack recorded"}});
    make(GM_GROUP_STACK, 1, 10); /* one frame: the call site */
    CHECK_GROUPS({{"feed  other/mlp.py:30", 400, 1, "MLP"},
                  {"attend  model/attention.py:10", 300, 2, "Attention"},
                  {"feed  model/mlp.py:20", 50, 1, "MLP"},
                  {"attend  model/attention.py:11", 8, 1, "Attention"},
                  {"no stack recorded", 8, 2, "No stack recorded"}});
    make(GM_GROUP_STACK, 2, 10);
    CHECK_GROUPS({{"feed  other/mlp.py:30", 400, 1, "MLP"},
                  {"attend  model/attention.py:10 < layer  model/layer.py:2", 200, 1, "Attention"},
                  {"attend  model/attention.py:10 < layer  model/layer.py:1", 100, 1, "Attention"},
                  {"feed  model/mlp.py:20 < layer  model/layer.py:2", 50, 1, "MLP"},
                  {"attend  model/attention.py:11", 8, 1, "Attention"},
                  {"no stack recorded", 8, 2, "No stack recorded"}});
}

TEST(by_function_and_file)
{
    make(GM_GROUP_FUNCTION, 0, 10);
    CHECK_GROUPS({{"feed  other/mlp.py", 400, 1, "MLP"},
                  {"attend  model/attention.py", 308, 3, "Attention"},
                  {"feed  model/mlp.py", 50, 1, "MLP"},
                  {"no stack recorded", 8, 2, "No stack recorded"}});
    assert_int_equal(traced.report.timelines[0].peak.groups[1].peak_without, 458);
    make(GM_GROUP_FILE, 0, 10);
    CHECK_GROUPS({{"/p/other/mlp.py", 400, 1, "MLP"},
                  {"/p/model/attention.py", 308, 3, "Attention"},
                  {"/p/model/mlp.py", 50, 1, "MLP"},
                  {"no stack recorded", 8, 2, "No stack recorded"}});
}

TEST(by_category)
{
    make(GM_GROUP_CATEGORY, 0, 10);
    CHECK_GROUPS(
        {{"MLP", 450, 2, "MLP"}, {"Attention", 308, 3, "Attention"}, {"No stack recorded", 8, 2, "No stack recorded"}});
    assert_int_equal(traced.report.timelines[0].peak.groups[0].peak_without, 316);
}

TEST(by_role_sums_as_the_roles)
{
    make(GM_GROUP_ROLE, 0, 20);
    const struct gm_peak_detail *detail = &traced.report.timelines[0].peak;
    assert_int_equal(detail->group_count, detail->role_count);
    uint64_t sum = 0;
    for (size_t i = 0; i < detail->group_count; i++) {
        assert_string_equal(detail->groups[i].label, detail->roles[i].name);
        assert_int_equal(detail->groups[i].bytes, detail->roles[i].bytes);
        assert_true(detail->groups[i].peak_without <= 766);
        sum += detail->groups[i].bytes;
    }
    assert_int_equal(sum, 766);
}

static uint64_t slice(const struct gm_peak_detail *detail, const char *name)
{
    for (size_t i = 0; i < detail->lifetime_count; i++)
        if (strcmp(detail->lifetimes[i].name, name) == 0)
            return detail->lifetimes[i].bytes;
    return 0;
}

/* 40 snapshot events between: longer than a temporary lives. */
TEST(lifetimes)
{
    char json[16384], gap[8192];
    int n = 0;
    for (int i = 0; i < 40; i++)
        n += snprintf(gap + n, sizeof gap - (size_t)n, "{\"action\":\"snapshot\",\"addr\":0,\"size\":0},");
    snprintf(
        json, sizeof json,
        "{\"segments\":[{\"device\":0,\"address\":30000,\"total_size\":1024,\"blocks\":[{\"address\":30000,"
        "\"size\":512,\"requested_size\":7,\"state\":\"active_allocated\"},{\"address\":30512,"
        "\"size\":512,\"requested_size\":20,\"state\":\"active_allocated\"}]}],\"device_traces\":[[%s,%s,%s%s,%s,%s,"
        "%s,%s]]}",
        ALLOC(1000, 100, ""), ALLOC(30512, 20, ""), gap, ALLOC(2000, 3000, ""), FREE(2000, 3000), FREE(1000, 100),
        FREE(9000, 50000), ALLOC(8000, 1, ""));
    gm_traced_load(json, gm_traced_rules, (struct gm_timeline_options){.top = 5});
    const struct gm_peak_detail *detail = &traced.report.timelines[0].peak;
    assert_int_equal(traced.report.peaks[0].requested, 53127);
    assert_int_equal(slice(detail, "before the trace, freed later"), 50000);
    assert_int_equal(slice(detail, "before the trace, never freed"), 7);
    assert_int_equal(slice(detail, "in the trace, never freed"), 20);
    assert_int_equal(slice(detail, "temporary"), 3000);
    assert_int_equal(slice(detail, "made and freed in the trace"), 100);
}
