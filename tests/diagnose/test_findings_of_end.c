/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings: said when their evidence is there, silent when it is small or when the setting is in force. And sites.
 */
#include "tests/state/fixture.h"
#include "tests/unit.h"

#include <string.h>

static void expect_finding(const char *id, uint64_t bytes, const char *part)
{
    const struct gm_finding *finding = fx_finding(id);
    if (finding == NULL)
        fail_msg("no %s", id);
    assert_int_equal(finding->bytes, bytes);
    if (strstr(finding->detail, part) == NULL)
        fail_msg("%s lacks '%s': %s", id, part, finding->detail);
}

/* 1000 MiB, 5 live at each end: 990 cached, stranded. */
static void stranded(void)
{
    fx_begin();
    struct gm_stack_id stack = fx_stack("keep @ /home/u/proj/a.py : 5", NULL);
    fx_segment(0x7000000000, MIB(1000), GM_SEGMENT_LARGE, false);
    fx_block(GM_BLOCK_ACTIVE_ALLOCATED, MIB(5), MIB(5), stack);
    fx_free_block(MIB(990));
    fx_block(GM_BLOCK_ACTIVE_ALLOCATED, MIB(5), MIB(5), stack);
}

TEST(cache)
{
    stranded();
    const struct gm_report *r = fx_analyze(10, -1);
    expect_finding("large-cache", MIB(990), "99.0 %");
    expect_finding("large-cache", MIB(990), "is 1.0 %: poor"); /* the grade of the same bytes is not said again */
    assert_null(fx_finding("allocator-efficiency"));
    assert_int_equal(fx_finding("large-cache")->severity, GM_WARNING);
    assert_int_equal(fx_finding("large-unused-blocks")->severity, GM_INFO); /* nor is the warning */
    assert_null(strstr(fx_finding("large-unused-blocks")->detail, "empty_cache()"));
    expect_finding("large-unused-blocks", MIB(990), "One cached block is over 100 MiB: 990.0 MiB. It serves again");
    expect_finding("pinned-segments", MIB(990), "proj/a.py:5");
    expect_finding("stranded-memory", MIB(990), "990.0 MiB (99.0 % of reserved) is cached inside partly used");
    assert_null(strstr(fx_finding("stranded-memory")->detail, "expandable_segments")); /* nothing is promised */
    expect_finding("no-trace", GM_REPORT_NONE, "max_entries=100_000), or more");
    assert_null(fx_finding("no-stacks"));
    assert_null(fx_finding("conflicting-settings"));
    for (size_t i = 1; i < r->diagnosis.finding_count; i++)
        assert_true(r->diagnosis.findings[i - 1].severity >= r->diagnosis.findings[i].severity);

    fx_setting("expandable_segments", GM_SETTING_BOOL)->integer = 1;
    fx_analyze(10, -1);
    assert_null(fx_finding("stranded-memory"));
    fx.settings[0].integer = 0;
    fx_analyze(10, -1);
    assert_non_null(fx_finding("stranded-memory"));
}

TEST(silent_when_small)
{
    struct gm_stack_id stack = fx_stack("keep @ /home/u/proj/a.py : 5", NULL);
    fx_segment(0x7000000000, MIB(20), GM_SEGMENT_LARGE, false);
    fx_block(GM_BLOCK_ACTIVE_ALLOCATED, MIB(5), MIB(4), stack);
    fx_block(GM_BLOCK_ACTIVE_PENDING_FREE, MIB(5), MIB(4), stack);
    fx_free_block(MIB(10));
    fx_trace();
    fx_event(GM_ACTION_ALLOC, 0, 1);
    const struct gm_report *r = fx_analyze(10, -1);
    assert_int_equal(r->diagnosis.finding_count, 1);
    assert_string_equal(r->diagnosis.findings[0].id, "allocator-efficiency");
    assert_int_equal(r->diagnosis.findings[0].severity, GM_INFO);
    assert_non_null(strstr(r->diagnosis.findings[0].detail, "small in bytes"));
}

TEST(grades)
{
    static const struct {
        uint64_t live;
        const char *word;
    } cases[] = {{1000, NULL}, {981, NULL}, {980, "good"}, {950, "good"}, {949, "poor"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fx_begin();
        fx_segment(0x7000000000, MIB(1000), GM_SEGMENT_LARGE, false);
        fx_live(MIB(cases[i].live));
        fx_free_block(MIB(1000 - cases[i].live));
        const struct gm_diagnosis *told = &fx_analyze(10, -1)->diagnosis;
        const struct gm_finding *grade = fx_finding("allocator-efficiency");
        for (size_t k = 0; k < told->to_do_count; k++) /* a good one is nothing to do */
            assert_null(strstr(told->to_do[k].title, "is good"));
        assert_int_equal(grade != NULL, cases[i].word != NULL);
        if (grade != NULL)
            assert_non_null(strstr(grade->title, cases[i].word));
    }
}

/* 100 GiB with 6 GiB cached in blocks: poor, but less than a tenth, so that the cache finding is silent. */
TEST(poor_is_not_small)
{
    fx_segment(0x7000000000, MIB(100000), GM_SEGMENT_LARGE, false);
    fx_live(MIB(94000));
    fx_free_block(MIB(6000));
    fx_analyze(10, -1);
    assert_null(fx_finding("large-cache"));
    expect_finding("allocator-efficiency", MIB(6000), "94.0 %");
    assert_int_equal(fx_finding("allocator-efficiency")->severity, GM_WARNING);
    assert_null(strstr(fx_finding("allocator-efficiency")->detail, "small"));
    fx.b_size[0] = MIB(4700); /* 300 of 5000: an info, but not small either */
    fx.b_size[1] = MIB(300);
    fx.g_total[0] = MIB(5000);
    fx.b_address[1] = fx.b_address[0] + MIB(4700);
    fx_analyze(10, -1);
    expect_finding("allocator-efficiency", MIB(300), "94.0 %");
    assert_int_equal(fx_finding("allocator-efficiency")->severity, GM_INFO);
    assert_null(strstr(fx_finding("allocator-efficiency")->detail, "small"));
}

TEST(nothing_to_reclaim)
{
    struct gm_stack_id stack = fx_stack("forward @ /home/u/model/attention.py : 88", NULL);
    fx_segment(0x7000000000, MIB(1000), GM_SEGMENT_LARGE, false);
    fx_block(GM_BLOCK_ACTIVE_ALLOCATED, MIB(750), MIB(750), stack);
    fx_live(MIB(250));
    const struct gm_report *r = fx_analyze(10, -1); /* without a trace there is that to say */
    assert_null(fx_finding("nothing-to-reclaim"));
    fx_trace();
    fx_event(GM_ACTION_ALLOC, 0, 1);
    fx.b_stack[1] = stack;
    fx_analyze(10, -1);
    assert_int_equal(r->diagnosis.finding_count, 1);
    expect_finding("nothing-to-reclaim", GM_REPORT_NONE, "Attention with 1000.0 MiB (100.0 %)");
    assert_int_equal(r->diagnosis.findings[0].severity, GM_INFO);
}

/* Device 0: 800 MiB live (requested) and 9416 MiB cached at the end. After the error 1 GiB was allocated and `freed` of
 * them. */
static void after_oom(uint64_t freed)
{
    fx_begin();
    struct gm_stack_id stack = fx_stack("keep @ /home/u/proj/a.py : 5", NULL);
    fx_segment(0x7000000000, MIB(10240), GM_SEGMENT_LARGE, false);
    fx_block(GM_BLOCK_ACTIVE_ALLOCATED, MIB(824), MIB(800), stack);
    fx_free_block(MIB(9416));
    fx_trace();
    fx_event(GM_ACTION_FREE_COMPLETED, 8, MIB(77)); /* before the error: no part of it */
    fx_event(GM_ACTION_ALLOC, 8, MIB(66));
    fx_event(GM_ACTION_OOM, MIB(3), MIB(500));
    fx_event(GM_ACTION_FREE_REQUESTED, 1, freed);
    fx_event(GM_ACTION_FREE_COMPLETED, 1, freed);
    fx_event(GM_ACTION_ALLOC, 2, MIB(1024));
    fx_event(GM_ACTION_OOM, MIB(4), MIB(700));
}

TEST(oom_unwound)
{
    static const char *const about_cache[] = {"large-cache", "large-unused-blocks", "pinned-segments"};
    after_oom(MIB(9440)); /* 800 + 9440 - 1024 = 9216 were live, 8416 of them are gone */
    fx_analyze(10, -1);
    expect_finding("out-of-memory", MIB(500), "2 allocations failed. The first one was on device 0 and asked for 500");
    expect_finding("out-of-memory", MIB(500),
                   "the driver had 3.00 MiB left. When it failed, 9.00 GiB was live "
                   "(requested bytes); 8.22 GiB was freed afterwards, before the "
                   "snapshot was taken. So");
    assert_null(strstr(fx_finding("out-of-memory")->detail, "have served"));
    for (size_t i = 0; i < sizeof about_cache / sizeof *about_cache; i++) {
        assert_non_null(fx_finding(about_cache[i]));
        assert_int_equal(fx_finding(about_cache[i])->severity, GM_INFO);
        assert_non_null(strstr(fx_finding(about_cache[i])->detail, "what the step that ran out of memory left"));
    }
    assert_null(fx_finding("stranded-memory"));

    /* Half exactly is not most: 800 + 1824 - 1024 = 1600 live, 800 gone. */
    fx.e_size[4] = MIB(1824);
    fx_analyze(10, -1);
    expect_finding("out-of-memory", MIB(500), "1.56 GiB was live (requested bytes); 800.0 MiB was freed");
    expect_finding("out-of-memory", MIB(500), "was taken. The categories");
    assert_int_equal(fx_finding("large-cache")->severity, GM_WARNING);

    /* Most was freed, but the cache is far more than that: it was there before. */
    fx.e_size[4] = MIB(3024);
    fx_analyze(10, -1);
    expect_finding("out-of-memory", MIB(500), "So the snapshot shows what survived");
    assert_int_equal(fx_finding("large-cache")->severity, GM_WARNING);

    /* Nothing was freed since. */
    fx.e_size[4] = MIB(1024);
    fx_analyze(10, -1);
    expect_finding("out-of-memory", MIB(500), "800.0 MiB was live (requested bytes). The categories");
}

/* Events that cannot be: no live bytes are claimed, and nothing wraps. */
TEST(oom_hostile)
{
    static const uint64_t cases[][2] = {
        {0, UINT64_MAX - 1}, {UINT64_MAX - 1, 0}, {UINT64_MAX - 1, UINT64_MAX - 1}, {5, MIB(2000)}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        after_oom(cases[i][0]);
        fx.e_size[5] = cases[i][1];
        fx_analyze(10, -1);
        expect_finding("out-of-memory", MIB(500), "3.00 MiB left. The categories");
        assert_null(strstr(fx_finding("out-of-memory")->detail, " was live"));
        fx.e_size[4] = fx.e_size[5] = fx.e_size[2] = fx.e_addr[2] = GM_ABSENT;
        fx_analyze(10, -1);
        expect_finding("out-of-memory", GM_REPORT_NONE, "on device 0. When it failed, 800.0 MiB was live");
    }
}

TEST(live_memory)
{
    fx_segment(0x7000000000, MIB(1000), GM_SEGMENT_LARGE, false);
    fx_block(GM_BLOCK_ACTIVE_ALLOCATED, MIB(900), MIB(800), (struct gm_stack_id){0});
    fx_block(GM_BLOCK_ACTIVE_PENDING_FREE, MIB(100), MIB(100), (struct gm_stack_id){0});
    fx_trace();
    fx.traces[0].overflowed = GM_TRUE;
    fx_event(GM_ACTION_ALLOC, 0, 1);
    fx_analyze(10, -1);
    expect_finding("rounding-waste", MIB(100), "10.0 %");
    expect_finding("pending-frees", MIB(100), "record_stream");
    expect_finding("no-stacks", MIB(900), "100.0 %");
    expect_finding("trace-overflowed", GM_REPORT_NONE, "max_entries");

    fx.traces[0].overflowed = GM_TRUTH_ABSENT; /* a ring that is exactly full counts as overflowed */
    fx_event(GM_ACTION_ALLOC, 0, 1);
    fx.traces[0].max_entries = 2;
    fx_analyze(10, -1);
    assert_non_null(fx_finding("trace-overflowed"));
    fx.traces[0].max_entries = 3;
    fx_analyze(10, -1);
    assert_null(fx_finding("trace-overflowed"));
}

TEST(settings_in_force)
{
    stranded();
    fx_setting("max_split_size", GM_SETTING_INTEGER)->integer = (int64_t)MIB(128);
    fx_setting("expandable_segments", GM_SETTING_BOOL)->integer = 1;
    fx_setting("garbage_collection_threshold", GM_SETTING_REAL)->real = 0.8;
    struct gm_setting *conf = fx_setting("PYTORCH_CUDA_ALLOC_CONF", GM_SETTING_STRING);
    conf->string = fx_string("per_process_memory_fraction:0.5");
    fx_analyze(10, -1);
    expect_finding("conflicting-settings", GM_REPORT_NONE, "128");
    assert_null(fx_finding("gc-threshold-without-limit"));
    conf->string = (struct gm_string_id){0};
    fx.settings[0].integer = -1;
    fx_analyze(10, -1);
    assert_null(fx_finding("conflicting-settings"));
    assert_non_null(fx_finding("gc-threshold-without-limit"));
}

/* A settings text with blanks says what it says without. */
TEST(settings_with_blanks)
{
    static const char *const texts[] = {"expandable_segments:True", "expandable_segments: True",
                                        " max_split_size_mb : 300 ,\texpandable_segments : True"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        stranded();
        fx_setting("PYTORCH_CUDA_ALLOC_CONF", GM_SETTING_STRING)->string = fx_string(texts[i]);
        fx_analyze(10, -1);
        assert_null(fx_finding("stranded-memory"));
    }
}

TEST(pools_and_streams)
{
    stranded();
    fx.g_pool[0] = fx_pool(0, 4);
    fx.g_stream[0] = fx_stream(1234);
    fx_analyze(10, -1);
    expect_finding("private-pool-cache", MIB(990), "99.0 %");
    assert_null(fx_finding("side-stream-cache")); /* it is all there is */
    assert_null(fx_finding("stranded-memory"));   /* default pools only */

    size_t other = fx_segment(0x7100000000, MIB(2), GM_SEGMENT_SMALL, false);
    fx_live(MIB(2));
    fx_analyze(10, -1);
    expect_finding("side-stream-cache", MIB(990), "record_stream");
    fx.g_device[other] = 1; /* its only stream there, too */
    fx_analyze(10, -1);
    assert_null(fx_finding("side-stream-cache"));
    fx.g_device[other] = 0;
    fx.g_total[other] = 0; /* a stream without reserved memory is none */
    fx.b_size[fx.s.blocks.count - 1] = 0;
    fx_analyze(10, -1);
    assert_null(fx_finding("side-stream-cache"));
}

TEST(salvaged)
{
    fx.s.source.is_salvaged = true;
    fx.s.source.salvaged_offset = 4711;
    fx.s.source.salvaged_reason = "it ends\nhere";
    static const char *const warnings[] = {"one", "t\x01wo"};
    fx.s.warnings = warnings;
    fx.s.warning_count = 2;
    const struct gm_report *r = fx_analyze(10, -1);
    expect_finding("salvaged-file", GM_REPORT_NONE, "byte 4711: it ends\\x0ahere");
    assert_int_equal(r->warning_count, 2);
    assert_string_equal(r->warnings[1], "t\\x01wo");
}

TEST(sites)
{
    static const struct {
        const char *site, *frames[5];
    } cases[] = {
        {"forward  model/attention.py:88",
         {"at::_ops::linear::call() @ ??", "linear @ /v/site-packages/torch/nn/functional.py : 3",
          "_call_impl @ /v/site-packages/torch/nn/modules/module.py : 1", "forward @ /home/u/model/attention.py : 88"}},
        {"forward  transformers/.../llama/modeling_llama.py:7",
         {"wrapper @ /v/transformers/utils/generic.py : 1",
          "forward @ /v/site-packages/transformers/models/llama/modeling_llama.py : 7", "main @ /home/u/train.py : 1"}},
        {"run  dir/x.py", {"run @ C:\\some\\dir\\x.py"}},
        {"run  diffusers/models/x.py", {"run @ C:\\site-packages\\diffusers\\models\\x.py"}},
        {"run  diffusers/x.py", {"run @ /v/site-packages/y/dist-packages/diffusers/x.py"}},
        {"run  site-packages/x.py", {"run @ /v/site-packages/x.py"}},
        {"run  my-packages-old/x.py", {"run @ /v/my-packages-old/x.py"}},
        {"BmmBackward0::apply",
         {"torch::unwind::unwind() @ ??", "at::_ops::bmm::call(at::Tensor const&) @ ??",
          "torch::autograd::generated::BmmBackward0::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&) @ "
          "??",
          "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&) @ ??"}},
        {"blas::gemm", {"void at::cuda::blas::gemm<float>(char, char, long) @ "}},
        {"step  torch/optim/adam.py:9",
         {"at::_ops::zeros_like::call() @ ??", "step @ /v/site-packages/torch/optim/adam.py : 9"}},
        {"<module>  u/main.py:1", {"<module> @ /home/u/main.py : 1"}},
        {"unknown function", {" @ ??"}},
        {"odd", {"odd"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fx_begin();
        const char *const *f = cases[i].frames;
        struct gm_stack_id stack = fx_stack(f[0], f[1], f[2], f[3], NULL);
        fx_segment(0x7000000000, MIB(20), GM_SEGMENT_LARGE, false);
        fx_block(GM_BLOCK_ACTIVE_ALLOCATED, MIB(20), MIB(20), stack);
        const struct gm_report *r = fx_analyze(10, -1);
        assert_string_equal(r->top_blocks[0].site, cases[i].site);
    }
}
