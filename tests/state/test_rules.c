/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules language: what is refused and where, what each kind of pattern matches, and which category wins.
 */
#include "analyze/state/category_rules.h"
#include "tests/state/fixture.h"
#include "tests/unit.h"

#include <stdio.h>
#include <string.h>

static struct gm_category_rules *parse(const char *text)
{
    struct gm_category_rules *rules;
    struct gm_error err;
    if (gm_category_rules_parse(&rules, text, strlen(text), "my.rules", &err) != GM_OK)
        fail_msg("%s", err.message);
    return rules;
}

/* The name of the category that `text`'s rules give the stack. */
static const char *classify(const struct gm_category_rules *rules, struct gm_stack_id stack)
{
    static char name[100];
    struct gm_classifier *classifier;
    struct gm_error err;
    assert_int_equal(gm_classifier_new(&classifier, rules, &fx.s, &err), GM_OK);
    uint32_t category = gm_classify(classifier, stack);
    assert_int_equal(gm_classify(classifier, stack), category); /* remembered */
    snprintf(name, sizeof name, "%s", gm_category_name(rules, category));
    gm_classifier_free(classifier);
    return name;
}

TEST(refused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "my.rules: no category in this file"},
        {"tier a\n\n# x\n", "my.rules: no category in this file"},
        {"\n\nword x\n", "my.rules:3: a pattern before the first 'noise' or 'tier': 'word'"},
        {"category X\n", "my.rules:1: a category stands before the first 'tier'"},
        {"tier a b\n", "my.rules:1: 'tier' takes a name of one word"},
        {"tier\n", "my.rules:1: 'tier' takes a name of one word"},
        {"tier a\nword x\n", "my.rules:2: a pattern belongs under 'noise' or a category; in a tier write 'stop' before "
                             "it: 'word'"},
        {"tier a\ncategory\n", "my.rules:2: 'category' needs a name"},
        {"tier a\ncategory X #12345\nword x", "my.rules:2: a colour is written #RRGGBB: '#12345'"},
        {"tier a\ncategory X #12345g\nword x", "my.rules:2: a colour is written #RRGGBB: '#12345g'"},
        {"tier a\ncategory Other\nword x", "my.rules:2: this name is reserved: 'Other'"},
        {"tier a\ncategory No stack recorded #000000\nword x",
         "my.rules:2: this name is reserved: 'No stack recorded'"},
        {"tier a\ncategory X\ncategory Y\nword y\n", "my.rules:2: this category has no rule"},
        {"tier a\ncategory X\nnot word x\n", "my.rules:2: this category has no rule"},
        {"tier a\ncategory X\nword x\ncategory X\nword y\n", "my.rules:4: this category stands twice in one tier: 'X'"},
        {"tier a\ncategory X #000001\nword x\ntier b\ncategory X #000002\nword y\n",
         "my.rules:5: this category already has another colour: 'X'"},
        {"tier a\ncategory X\nboth x\n",
         "my.rules:3: 'both' takes exactly two patterns, for the function and for the file"},
        {"tier a\ncategory X\nboth x y z\n",
         "my.rules:3: 'both' takes exactly two patterns, for the function and for the file"},
        {"tier a\ncategory X\nword\n", "my.rules:3: a pattern is missing after: 'word'"},
        {"tier a\ncategory X\nnot\n", "my.rules:3: a pattern is missing"},
        {"tier a\ncategory X\nword a*\n", "my.rules:3: 'word' and 'op' take no '*': 'a*'"},
        {"tier a\ncategory X\nregex a\n",
         "my.rules:3: unknown word (known: tier category noise stop not word name file both op): 'regex'"},
        {"tier a\ncategory X\nword x\nstop name y\n",
         "my.rules:4: 'stop' belongs between a 'tier' line and its first category"},
        {"noise here\n", "my.rules:1: 'noise' stands alone on its line"},
        {"noise\nnot word x\n", "my.rules:2: 'not' belongs under a category"},
        {"tier a\ntier b\ntier c\ntier d\ntier e\ntier f\ntier g\ntier h\ntier i\n", "my.rules:9: more than 8 tiers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gm_category_rules *rules;
        struct gm_error err;
        enum gm_status status = gm_category_rules_parse(&rules, cases[i].text, strlen(cases[i].text), "my.rules", &err);
        assert_int_equal(status, GM_E_USAGE);
        assert_null(rules);
        assert_string_equal(err.message, cases[i].message);
    }
}

TEST(names_and_colors)
{
    struct gm_category_rules *rules =
        parse("\xef\xbb\xbftier one\r\n  category  My Model #0a1B2c \r\n\tword x\r\ncategory Plain\nword y\n"
              "tier two\ncategory My Model\nword z");
    assert_int_equal(gm_category_count(rules), 4);
    assert_string_equal(gm_category_name(rules, 0), "My Model");
    assert_int_equal(gm_category_color(rules, 0), 0x0A1B2C);
    assert_string_equal(gm_category_name(rules, 1), "Plain");
    assert_string_equal(gm_category_name(rules, 2), "Other");
    assert_string_equal(gm_category_name(rules, 3), "No stack recorded");
    struct gm_category_rules *again = parse("tier t\ncategory A\nword a\ncategory Plain\nword b\n");
    assert_int_equal(gm_category_color(rules, 1), gm_category_color(again, 1)); /* by name, wherever it stands */
    assert_true(gm_category_color(rules, 2) != gm_category_color(rules, 3));
    gm_category_rules_free(again);
    gm_category_rules_free(rules);
}

TEST(globs)
{
    static const struct {
        const char *glob, *text;
        bool matches;
    } cases[] = {{"", "", true},
                 {"", "a", false},
                 {"*", "", true},
                 {"**", "abc", true},
                 {"abc", "abc", true},
                 {"abc", "abcd", false},
                 {"ab", "abc", false},
                 {"a?c", "abc", true},
                 {"a?c", "ac", false},
                 {"*c", "abcc", true},
                 {"a*b*c", "axxbyybc", true},
                 {"a*b*c", "acb", false},
                 {"*ab", "aab", true},
                 {"*aab", "aaaab", true},
                 {"a*", "a", true},
                 {"?", "", false},
                 {"*?", "x", true},
                 {"x*y", "xy", true},
                 {"x*y", "xyz", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (gm_glob_match(cases[i].glob, cases[i].text, strlen(cases[i].text)) != cases[i].matches)
            fail_msg("'%s' and '%s'", cases[i].glob, cases[i].text);
}

TEST(words)
{
    static const struct {
        const char *word, *text;
        bool matches;
    } cases[] = {{"moe", "moe", true},
                 {"moe", "fused_moe", true},
                 {"moe", "DeepseekMoE", true},
                 {"moe", "MoEGate", true},
                 {"moe", "smoed", false},
                 {"moe", "amoeba moe", true},
                 {"moe", "amoeba", false},
                 {"conv", "conv2d", true},
                 {"conv2d", "conv2d.py", true},
                 {"mlp", "GPTMlp", true},
                 {"mlp", "MLPBlock", true},
                 {"mlp", "mlperf", false},
                 {"attention", "selfAttention", true},
                 {"attention", "Selfattention", false},
                 {"attn", "xattn attn2", true},
                 {"kv_cache", "my_kv_cache_x", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        snprintf(text, sizeof text, "tier t\ncategory A\nword %s\n", cases[i].word);
        struct gm_category_rules *rules = parse(text);
        struct gm_match_scratch scratch;
        assert_true(gm_match_scratch_new(&scratch, rules));
        gm_match_string(rules, &scratch, GM_MATCH_NAME, "", 0);
        const uint64_t nothing = scratch.mask[0];
        gm_match_string(rules, &scratch, GM_MATCH_NAME, cases[i].text, strlen(cases[i].text));
        bool matches = scratch.mask[0] != nothing;
        gm_match_scratch_free(&scratch);
        gm_category_rules_free(rules);
        if (matches != cases[i].matches)
            fail_msg("'%s' in '%s'", cases[i].word, cases[i].text);
    }
}

/* Each kind of pattern, on frames that it should and should not match. */
TEST(patterns)
{
    struct gm_category_rules *rules = parse("tier t\n"
                                            "category Word\n word gate\n"
                                            "category Name\n name *::relu(* my?name\n"
                                            "category Base\n file special*.py\n"
                                            "category Path\n file */layers/deep/*\n"
                                            "category Both\n both step *optim*\n"
                                            "category Op\n op index\n"
                                            "category Not\n name not* \n not both *x* *.PY\n not word never\n");
    static const struct {
        const char *frame, *category;
    } cases[] = {
        {"MoE_Gate @ a.py", "Word"},
        {"f @ x/Gate.py", "Word"},
        {"f @ gate/x.py", "Other"},       /* a word counts in the last part of the path only */
        {"ns::f(gate) @ x.cpp", "Other"}, /* not in a C++ parameter */
        {"at::(anonymous namespace)::gate(int) @ x", "Word"},
        {"at::native::RELU(at::Tensor const&) @ ??", "Name"},
        {"my name @ x", "Name"},
        {"f @ C:\\proj\\Special_case.py", "Base"},
        {"f @ special/x.py", "Other"},
        {"f @ /home/a/layers/deep/x/y.py", "Path"},
        {"f @ /home/a/layers/x.py", "Other"},
        {"step @ my_optimizer.py", "Both"},
        {"step @ loop.py", "Other"},
        {"steps @ my_optimizer.py", "Other"},
        {"at::_ops::index_Tensor::call(at::Tensor const&) @ ??", "Op"},
        {"at::_ops::index::redispatch() @ ??", "Op"},
        {"at::_ops::indexes::call() @ ??", "Other"},
        {"at::_ops::index @ ??", "Other"},
        {"nothing @ a.cpp", "Not"},
        {"notx @ a.py", "Other"},
        {"notx @ a.cpp", "Not"},
        {"not_never @ a.cpp", "Other"},
        {" @ ", "Other"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gm_stack_id stack = fx_stack(cases[i].frame, NULL);
        const char *category = classify(rules, stack);
        if (strcmp(category, cases[i].category) != 0)
            fail_msg("%s: %s, not %s", cases[i].frame, category, cases[i].category);
    }
    assert_string_equal(classify(rules, (struct gm_stack_id){0}), "No stack recorded");
    assert_string_equal(classify(rules, (struct gm_stack_id){GM_STACK_EMPTY}), "No stack recorded");
    gm_category_rules_free(rules);
}

TEST(who_wins)
{
    struct gm_category_rules *rules = parse("noise\n name skip*\n"
                                            "tier component\n stop name closure\n"
                                            "category Attention\n word attention shared\n"
                                            "category MLP\n word mlp shared skipped\n"
                                            "tier operation\n"
                                            "category Linear\n word linear\n"
                                            "category Attention\n word softmax\n");
    struct gm_stack_id component = fx_stack("linear @ f.py", "forward @ attention.py", NULL);
    struct gm_stack_id innermost = fx_stack("linear @ f.py", "forward @ mlp.py", "forward @ attention.py", NULL);
    struct gm_stack_id order = fx_stack("shared @ f.py", "forward @ mlp.py", NULL);
    struct gm_stack_id operation = fx_stack("linear @ f.py", "softmax @ f.py", NULL);
    struct gm_stack_id noise = fx_stack("skip_mlp @ mlp.py", "softmax @ f.py", NULL);
    struct gm_stack_id stopped = fx_stack("linear @ f.py", "closure @ f.py", "step @ mlp.py", NULL);
    struct gm_stack_id last = fx_stack("x @ f.py", "closure @ mlp.py", "step @ attention.py", NULL);
    assert_string_equal(classify(rules, component), "Attention");
    assert_string_equal(classify(rules, innermost), "MLP");
    assert_string_equal(classify(rules, order), "Attention");
    assert_string_equal(classify(rules, operation), "Linear");
    assert_string_equal(classify(rules, noise), "Attention");
    assert_string_equal(classify(rules, stopped), "Linear");
    assert_string_equal(classify(rules, last), "MLP"); /* the frame that stops is still looked at */
    assert_int_equal(gm_category_count(rules), 5);
    gm_category_rules_free(rules);
}

/* Stacks as PyTorch and the big libraries produce them, with the category that a person would name. */
TEST(default_rules)
{
    struct gm_category_rules *rules;
    struct gm_error err;
    assert_int_equal(gm_category_rules_default(&rules, &err), GM_OK);
    static const struct {
        const char *category, *frames[5];
    } cases[] = {
        {"Attention",
         {"linear @ /v/site-packages/torch/nn/functional.py : 9",
          "forward @ /v/site-packages/torch/nn/modules/linear.py", "forward @ /home/u/model/attention.py : 88"}},
        {"Attention", {"at::_ops::softmax::call() @ ??", "SelfAttention.forward @ /home/u/model/net.py"}},
        {"Attention", {"_flash_attn_forward @ /v/site-packages/flash_attn/flash_attn_interface.py"}},
        {"Attention", {"sdpa_attention_forward @ /v/site-packages/transformers/integrations/sdpa_attention.py"}},
        {"MLP", {"silu @ /v/site-packages/torch/nn/functional.py", "forward @ megatron/core/transformer/mlp.py"}},
        {"MLP", {"at::native::mul(at::Tensor const&) @ ??", "feed_forward @ train.py"}},
        {"Expert/MoE", {"linear @ functional.py", "forward @ /x/vllm/model_executor/layers/fused_moe/layer.py"}},
        {"Expert/MoE", {"forward @ /x/megatron/core/transformer/moe/experts.py"}},
        {"Linear/MatMul", {"forward @ /v/site-packages/torch/nn/modules/linear.py", "forward @ net.py"}},
        {"Linear/MatMul", {"at::_ops::addmm::call(at::Tensor const&) @ ??", "forward @ net.py"}},
        {"Embedding", {"embedding @ /v/site-packages/torch/nn/functional.py"}},
        {"Embedding", {"forward @ /v/site-packages/torchrec/modules/embedding_modules.py"}},
        {"Normalization", {"layer_norm @ /v/site-packages/torch/nn/functional.py", "forward @ net.py"}},
        {"Normalization", {"at::native::batch_norm(at::Tensor const&) @ Normalization.cpp"}},
        {"Activation function", {"at::_ops::gelu::call() @ ??", "forward @ net.py"}},
        {"Activation function", {"relu @ /v/site-packages/torch/nn/functional.py", "forward @ net.py"}},
        {"Convolution", {"_conv_forward @ /v/site-packages/torch/nn/modules/conv.py", "forward @ net.py"}},
        {"Convolution", {"at::_ops::cudnn_convolution::call() @ ??"}},
        {"Loss", {"at::_ops::log_softmax_int::call() @ ??", "cross_entropy @ functional.py", "train @ train.py"}},
        {"Loss", {"forward @ /v/site-packages/torch/nn/modules/loss.py"}},
        {"Backward pass",
         {"at::_ops::mm::call() @ ??", "torch::autograd::generated::AddmmBackward0::apply() @ ??",
          "torch::autograd::Engine::evaluate_function() @ ??"}},
        {"Backward pass", {"torch::autograd::AccumulateGrad::apply() @ ??"}},
        {"Backward pass", {"clip_grad_norm_ @ /v/site-packages/torch/nn/utils/clip_grad.py", "step @ loop.py"}},
        {"Optimizer step",
         {"_init_group @ /v/site-packages/torch/optim/adamw.py", "step @ /v/site-packages/torch/optim/adamw.py"}},
        {"Optimizer step", {"at::_ops::zeros_like::call() @ ??", "step @ /home/u/optim/lion.py"}},
        {"Communication", {"all_gather_into_tensor @ /v/site-packages/torch/distributed/distributed_c10d.py"}},
        {"Communication", {"ncclAllReduce @ ??", "c10d::ProcessGroupNCCL::allreduce() @ ProcessGroupNCCL.cpp"}},
        {"Communication", {"dispatch @ /x/deep_ep/buffer.py"}},
        {"Model forward", {"forward @ all_gather_demo.py"}},
        {"Communication", {"broadcast_coalesced @ /v/site-packages/torch/nn/parallel/comm.py", "main @ train.py"}},
        {"Model loading", /* a replica of DataParallel */
         {"torch::cuda::broadcast_coalesced(c10::ArrayRef<at::Tensor>, unsigned long) @ ??",
          "broadcast_coalesced @ /v/site-packages/torch/nn/parallel/comm.py",
          "_broadcast_coalesced_reshape @ /v/site-packages/torch/nn/parallel/replicate.py",
          "replicate @ /v/site-packages/torch/nn/parallel/replicate.py"}},
        {"Data loading",
         {"at::_ops::new_empty::call() @ ??", "cumsum @ /v/site-packages/torch_geometric/utils/functions.py",
          "collate @ /v/site-packages/torch_geometric/data/collate.py",
          "from_data_list @ /v/site-packages/torch_geometric/data/batch.py"}},
        {"Graph message passing", {"softmax @ /v/site-packages/torch_geometric/utils/_softmax.py", "forward @ net.py"}},
        {"FSDP", {"_alloc_storage @ /v/site-packages/torch/distributed/fsdp/_common_utils.py"}},
        {"FSDP", {"unshard @ /v/site-packages/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py"}},
        {"Linear/MatMul",
         {"linear @ /v/site-packages/torch/nn/functional.py",
          "forward @ /v/site-packages/torch/distributed/fsdp/fully_sharded_data_parallel.py", "main @ train.py"}},
        {"KV cache code", {"update @ /v/site-packages/transformers/cache_utils.py", "forward @ attention.py"}},
        {"KV cache code", {"allocate_kv_cache @ /x/vllm/worker/cache_engine.py"}},
        {"Data loading", {"pin_memory @ /v/site-packages/torch/utils/data/_utils/pin_memory.py"}},
        {"Data loading",
         {"at::_ops::_to_copy::call() @ ??",
          "torch::autograd::dispatch_to(at::Tensor const&, c10::Device, bool) @ python_variable_methods.cpp",
          "main @ train.py"}},
        {"Compiled/Triton", {"call @ /tmp/torchinductor_me/ab/cabcdef.py", "forward @ net.py"}},
        {"cuBLAS/cuDNN workspace",
         {"at::cuda::getNewWorkspace() @ ", "at::cuda::getCurrentCUDABlasHandle() @ ??", "forward @ attention.py"}},
        {"Model loading",
         {"convert @ /v/site-packages/torch/nn/modules/module.py",
          "_apply @ /v/site-packages/torch/nn/modules/module.py", "to @ /v/site-packages/torch/nn/modules/module.py",
          "main @ train.py"}},
        {"Model loading", {"__init__ @ /v/site-packages/torch/nn/modules/linear.py", "__init__ @ net.py"}},
        {"Model loading", {"_load_pretrained_model @ /v/site-packages/transformers/modeling_utils.py"}},
        {"Backward pass", {"backward @ /v/site-packages/flash_attn/flash_attn_interface.py"}},
        {"Attention", /* recomputed in the backward pass */
         {"forward @ attention.py", "recompute_fn @ /v/site-packages/torch/utils/checkpoint.py",
          "torch::autograd::Engine::evaluate_function() @ ??"}},
        {"Linear/MatMul", /* Lightning runs the step inside of the optimizer */
         {"linear @ functional.py", "training_step @ my.py", "closure @ loop.py",
          "step @ /v/site-packages/torch/optim/adam.py"}},
        {"Model forward", {"forward @ net.py", "main @ train.py"}},
        {"Elementwise arithmetic", {"at::_ops::mul_Tensor::call() @ ??", "forward @ net.py"}},
        {"Other", {"bar @ /path/to/bar.py", "foo @ /path/to/foo.py"}},
        {"Other", {"torch::unwind::unwind() @ ??", "_PyEval_EvalFrameDefault @ ??", "<module> @ main.py"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fx_begin();
        const char *const *f = cases[i].frames;
        const char *category = classify(rules, fx_stack(f[0], f[1], f[2], f[3], NULL));
        if (strcmp(category, cases[i].category) != 0)
            fail_msg("%s / %s: %s, not %s", f[0], f[1] != NULL ? f[1] : "", category, cases[i].category);
    }
    gm_category_rules_free(rules);
}

/* Names of any bytes and any length, and more frames than patterns. */
TEST(hostile_names)
{
    struct gm_category_rules *rules = parse("tier t\ncategory A\nname *a*b*c*d*e*\nword \xff\xfe\n");
    static char huge[30000];
    memset(huge, 'a', sizeof huge - 1);
    struct gm_stack_id stack = fx_stack(huge, "x @ \\\\\\", "\xff\xfe @ (((", NULL);
    assert_string_equal(classify(rules, stack), "A");
    gm_category_rules_free(rules);
}

/* Every name with every file: as many frames as pairs, and each string is matched once. */
TEST(pairs)
{
    enum { SIDE = 9 };
    struct gm_category_rules *rules = parse("tier t\ncategory A\nboth *x3* *y4*\ncategory B\nword x3 y5\n");
    struct gm_stack_id stacks[SIDE * SIDE / 2];
    struct gm_classifier *classifier;
    struct gm_error err;
    size_t count = 0;
    for (int name = 0; name < SIDE; name++)
        for (int file = 0; file < SIDE && count < sizeof stacks / sizeof *stacks; file++) {
            char frame[40];
            snprintf(frame, sizeof frame, "fx%d @ /z/fy%d.py", name, file);
            stacks[count++] = fx_stack(frame, NULL);
        }
    assert_int_equal(gm_classifier_new(&classifier, rules, &fx.s, &err), GM_OK);
    for (size_t i = 0; i < count; i++) { /* "x3" is no word in "fx3" */
        bool is_both = i / SIDE == 3 && i % SIDE == 4;
        assert_string_equal(gm_category_name(rules, gm_classify(classifier, stacks[i])), is_both ? "A" : "Other");
    }
    assert_int_equal(count, SIDE * SIDE / 2);
    assert_int_equal(gm_classifier_matches(classifier), (count + SIDE - 1) / SIDE + SIDE);
    gm_classifier_free(classifier);
    gm_category_rules_free(rules);
}
