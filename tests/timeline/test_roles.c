/* SPDX-License-Identifier: Apache-2.0
 *
 * Roles of small runs, written as JSON. A run is told event by event; what is live at its end becomes the snapshot's
 * blocks. The expected bytes follow from what the run does.
 */
#include "analyze/formats/load.h"
#include "analyze/state/categories.h"
#include "analyze/state/state.h"
#include "analyze/timeline/trace_analyze.h"
#include "tests/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define F(name, file) "{\"name\":\"" name "\",\"filename\":\"" file "\",\"line\":1}"
#define MODULE F("_call_impl", "/x/torch/nn/modules/module.py")
#define FORWARD F("forward", "net.py") "," MODULE
#define ENGINE F("torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)", "??")
#define BACKWARD F("torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)", "??") "," ENGINE
#define ACCUMULATE F("torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)", "??") "," ENGINE
#define STEP F("step", "/x/torch/optim/adamw.py") "," F("wrapper", "/x/torch/optim/optimizer.py")
#define INIT F("_init_group", "/x/torch/optim/adamw.py") "," STEP
#define LOAD F("convert", "/x/torch/nn/modules/module.py") "," F("_apply", "/x/torch/nn/modules/module.py")
#define MAIN F("<module>", "train.py")
#define NO_STACK NULL
#define EMPTY_STACK ""

enum { MAX_LIVE = 400 };

struct run {
    FILE *events;
    char *text;
    size_t length, live_count;
    struct live {
        uint64_t address, size;
        const char *stack;
        bool is_live;
    } live[MAX_LIVE];
};

static void begin(struct run *r)
{
    memset(r, 0, sizeof *r);
    r->events = open_memstream(&r->text, &r->length);
    assert_non_null(r->events);
}

static void event(struct run *r, const char *action, const struct live *b, const char *stack)
{
    fflush(r->events);
    fprintf(r->events, "%s{\"action\":\"%s\",\"addr\":%" PRIu64 ",\"size\":%" PRIu64, r->length > 0 ? "," : "", action,
            b->address, b->size);
    if (stack != NULL)
        fprintf(r->events, ",\"frames\":[%s]", stack);
    fprintf(r->events, "}");
}

/* A block; in the trace unless it is old. The result is for drop(). */
static size_t add(struct run *r, uint64_t size, const char *stack, bool is_old)
{
    size_t i = r->live_count++;
    assert_true(i < MAX_LIVE);
    r->live[i] = (struct live){UINT64_C(0x10000000) * (i + 1), size, stack, true};
    if (!is_old)
        event(r, "alloc", &r->live[i], stack);
    return i;
}
static size_t old(struct run *r, uint64_t size)
{
    return add(r, size, NULL, true);
}
static size_t make(struct run *r, uint64_t size, const char *stack)
{
    return add(r, size, stack, false);
}

/* `stack`: of the free; NULL: that of the allocation. */
static void drop(struct run *r, size_t i, const char *stack)
{
    const char *told = stack != NULL ? stack : r->live[i].stack;
    event(r, "free_requested", &r->live[i], told);
    event(r, "free_completed", &r->live[i], told);
    r->live[i].is_live = false;
}

/* So many short-lived allocations that what was made before is no longer recent. */
static void churn(struct run *r, const char *stack)
{
    for (int i = 0; i < 12; i++)
        drop(r, make(r, 64, stack), NULL);
}

struct result {
    struct gm_report report;
};

static void analyze_text(struct result *result, const char *text)
{
    struct gm_snapshot snapshot;
    struct gm_error err = {0};
    struct gm_category_rules *rules;
    struct gm_classifier *classifier;
    assert_int_equal(gm_snapshot_load_bytes(&snapshot, text, strlen(text), "test", NULL, &err), GM_OK);
    assert_int_equal(gm_category_rules_default(&rules, &err), GM_OK);
    const struct gm_state_options options = {.top = 500, .device = -1, .rules = rules};
    assert_int_equal(gm_state_analyze(&result->report, &snapshot, &options, &err), GM_OK);
    assert_int_equal(gm_classifier_new(&classifier, rules, &snapshot, &err), GM_OK);
    const struct gm_timeline_options timeline = {.rules = rules, .classifier = classifier, .top = 5};
    assert_int_equal(gm_timeline_analyze(&result->report, &snapshot, &timeline, &err), GM_OK);
    gm_classifier_free(classifier);
    gm_category_rules_free(rules);
    gm_snapshot_free(&snapshot); /* what the report says must be its own */
}

/* Ends the run; every block is a segment of its own. */
static void finish(struct run *r, struct result *result, const char *pool)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    assert_non_null(f);
    fclose(r->events);
    fprintf(f, "{\"segments\":[");
    bool is_first = true;
    for (size_t i = 0; i < r->live_count; i++) {
        const struct live *b = &r->live[i];
        if (!b->is_live)
            continue;
        fprintf(f,
                "%s{\"device\":0,\"address\":%" PRIu64 ",\"total_size\":%" PRIu64 ",\"segment_type\":\"large\","
                "\"segment_pool_id\":[%s],\"blocks\":[{\"address\":%" PRIu64 ",\"size\":%" PRIu64
                ",\"requested_size\":%" PRIu64 ",\"state\":\"active_allocated\",\"frames\":[%s]}]}",
                is_first ? "" : ",", b->address, b->size, pool, b->address, b->size, b->size,
                b->stack != NULL ? b->stack : "");
        is_first = false;
    }
    fprintf(f, "],\"device_traces\":[[%s]]}", r->text != NULL ? r->text : "");
    fclose(f);
    analyze_text(result, text);
    free(text);
    free(r->text);
}

static uint64_t at_end(const struct result *r, const char *role)
{
    uint64_t found = 0, sum = 0;
    for (size_t i = 0; i < r->report.role_count; i++) {
        sum += r->report.roles[i].bytes;
        if (strcmp(r->report.roles[i].name, role) == 0)
            found = r->report.roles[i].bytes;
    }
    assert_int_equal(sum, r->report.totals.allocated);
    return found;
}

static uint64_t at_peak(const struct result *r, const char *role)
{
    const struct gm_device_timeline *t = &r->report.timelines[0];
    uint64_t found = 0, sum = 0;
    for (size_t i = 0; i < t->reason_count; i++) {
        sum += t->reasons[i].bytes_at_peak;
        if (strcmp(t->reasons[i].role, role) == 0)
            found += t->reasons[i].bytes_at_peak;
    }
    assert_int_equal(sum, r->report.peaks[0].requested);
    return found;
}

/* Two large matrices, four small, an odd vector: 2 * 8000 + 4 * 3000 + 512 bytes. */
static const uint64_t sizes[] = {8000, 3000, 512, 3000, 8000, 3000, 3000};
enum { PARAMETERS = 7, MODEL = 2 * 8000 + 4 * 3000 + 512 };

static void make_all(struct run *r, const char *stack, size_t *made)
{
    for (int i = 0; i < PARAMETERS; i++)
        made[i] = make(r, sizes[i], stack);
}
static void drop_all(struct run *r, const size_t *made, const char *stack)
{
    for (int i = 0; i < PARAMETERS; i++)
        drop(r, made[i], stack);
}

static void forward_and_backward(struct run *r, size_t *gradients)
{
    size_t saved = make(r, 20000, FORWARD);
    churn(r, FORWARD);
    drop(r, make(r, 700, BACKWARD), NULL);
    make_all(r, BACKWARD, gradients);
    drop(r, saved, BACKWARD);
    churn(r, BACKWARD);
}

static void expect(struct result *r, uint64_t parameters, uint64_t gradients, uint64_t states, uint64_t unknown)
{
    assert_int_equal(at_end(r, "Parameter"), parameters);
    assert_int_equal(at_end(r, "Gradient"), gradients);
    assert_int_equal(at_end(r, "Optimizer state"), states);
    assert_int_equal(at_end(r, "Unknown"), unknown);
    gm_report_free(&r->report);
}

/* ---- training
 * ---------------------------------------------------------------------------------------------------------- */

TEST(adamw_from_its_first_step)
{
    struct run r;
    struct result result;
    size_t gradients[PARAMETERS];
    begin(&r);
    for (int i = 0; i < PARAMETERS; i++)
        old(&r, sizes[i]);
    old(&r, 7777); /* a buffer */
    forward_and_backward(&r, gradients);
    for (int i = 0; i < PARAMETERS; i++) {
        make(&r, sizes[i], INIT);
        make(&r, sizes[i], INIT);
    }
    churn(&r, STEP);
    finish(&r, &result, "0,0");
    assert_int_equal(at_peak(&result, "Activation"), 0);
    expect(&result, MODEL + 7777, MODEL, 2 * MODEL, 0);
}

/* The trace begins after many steps: nothing older than it has a stack, states neither. Gradients come and go. */
TEST(adamw_in_the_middle)
{
    struct run r;
    struct result result;
    size_t gradients[PARAMETERS];
    begin(&r);
    for (int copy = 0; copy < 3; copy++)
        for (int i = 0; i < PARAMETERS; i++)
            old(&r, sizes[i]);
    old(&r, 3000); /* a buffer of a parameter's size */
    for (int step = 0; step < 2; step++) {
        forward_and_backward(&r, gradients);
        churn(&r, STEP);
        if (step == 0)
            drop_all(&r, gradients, F("zero_grad", "/x/torch/optim/optimizer.py") "," MAIN);
    }
    finish(&r, &result, "0,0");
    assert_int_equal(at_peak(&result, "Gradient"), MODEL);
    expect(&result, MODEL + 3000, MODEL, 2 * MODEL, 0);
}

/* zero_grad(set_to_none=False): gradients are older than the trace, too, and none outlives a backward in it. */
TEST(gradients_kept)
{
    struct run r;
    struct result result;
    begin(&r);
    for (int copy = 0; copy < 4; copy++)
        for (int i = 0; i < PARAMETERS; i++)
            old(&r, sizes[i]);
    for (int i = 0; i < PARAMETERS; i++) {
        size_t added = make(&r, sizes[i], BACKWARD); /* to the gradient that is there */
        churn(&r, BACKWARD);
        drop(&r, added, NULL);
    }
    churn(&r, BACKWARD);
    churn(&r, STEP);
    finish(&r, &result, "0,0");
    expect(&result, MODEL, MODEL, 2 * MODEL, 0);
}

/* Likewise; what backward gives up last are temporaries, one of a parameter's size, not gradients. */
TEST(gradients_kept_beside_last_temporaries)
{
    struct run r;
    struct result result;
    size_t last[PARAMETERS];
    begin(&r);
    for (int copy = 0; copy < 2; copy++)
        for (int i = 0; i < PARAMETERS; i++)
            old(&r, sizes[i]);
    churn(&r, FORWARD);
    for (int i = 0; i < PARAMETERS; i++) {
        size_t added = make(&r, sizes[i], BACKWARD);
        churn(&r, BACKWARD);
        drop(&r, added, NULL);
    }
    for (int i = 0; i < PARAMETERS; i++)
        last[i] = make(&r, i == 0 ? sizes[0] : 900, BACKWARD);
    drop_all(&r, last, NULL);
    churn(&r, FORWARD);
    finish(&r, &result, "0,0");
    expect(&result, MODEL, MODEL, 0, 0);
}

/* An optimizer without memory of its own: gradients are freed right after backward, by nobody known. */
TEST(sgd_without_a_trace_of_its_step)
{
    struct run r;
    struct result result;
    size_t gradients[PARAMETERS];
    begin(&r);
    for (int i = 0; i < PARAMETERS; i++)
        old(&r, sizes[i]);
    for (int step = 0; step < 2; step++) {
        churn(&r, FORWARD);
        make_all(&r, BACKWARD, gradients);
        drop_all(&r, gradients, NULL);
    }
    churn(&r, FORWARD);
    finish(&r, &result, "0,0");
    assert_int_equal(at_peak(&result, "Gradient"), MODEL);
    expect(&result, MODEL, 0, 0, 0);
}

/* parameter = f(parameter), state = g(state): the new tensors take the places of the old ones. */
TEST(optimizer_that_makes_everything_anew)
{
    struct run r;
    struct result result;
    size_t parameters[PARAMETERS], moments[PARAMETERS], gradients[PARAMETERS];
    begin(&r);
    make_all(&r, LOAD, parameters);
    make_all(&r, F("__init__", "my_optimizer.py"), moments);
    for (int step = 0; step < 2; step++) {
        forward_and_backward(&r, gradients);
        for (int i = 0; i < PARAMETERS; i++) {
            size_t moment = make(&r, sizes[i], STEP);
            drop(&r, make(&r, sizes[i], STEP), STEP);
            size_t parameter = make(&r, sizes[i], F("sub", "t.cc") "," STEP);
            drop(&r, parameters[i], STEP);
            drop(&r, moments[i], STEP);
            parameters[i] = parameter;
            moments[i] = moment;
        }
        if (step == 0)
            drop_all(&r, gradients, MAIN);
    }
    finish(&r, &result, "0,0");
    expect(&result, MODEL, MODEL, MODEL, 0);
}

/* Each parameter's old states go when the next one's are made. */
static void step_one_parameter_later(struct run *r, size_t before[2][PARAMETERS])
{
    for (int i = 0; i <= PARAMETERS; i++) {
        for (int which = 0; which < 2; which++) {
            churn(r, STEP);
            if (i > 0)
                drop(r, before[which][i - 1], NULL);
            if (i < PARAMETERS)
                make(r, sizes[i], STEP);
        }
    }
}

/* Variables of the optimizer's loop keep a parameter's old states until the next parameter's turn. */
TEST(states_given_up_one_parameter_later)
{
    struct run r;
    struct result result;
    size_t gradients[PARAMETERS], before[2][PARAMETERS];
    begin(&r);
    for (int i = 0; i < PARAMETERS; i++) {
        old(&r, sizes[i]);
        before[0][i] = old(&r, sizes[i]);
        before[1][i] = old(&r, sizes[i]);
    }
    forward_and_backward(&r, gradients);
    step_one_parameter_later(&r, before);
    finish(&r, &result, "0,0");
    assert_int_equal(at_peak(&result, "Parameter"), MODEL);
    assert_int_equal(at_peak(&result, "Gradient"), MODEL);
    expect(&result, MODEL, MODEL, 2 * MODEL, 0);
}

/* The same, with gradients that stay where they are: backward makes what it adds to them. */
TEST(states_given_up_beside_gradients_that_stay)
{
    struct run r;
    struct result result;
    size_t before[2][PARAMETERS];
    begin(&r);
    for (int i = 0; i < PARAMETERS; i++) {
        old(&r, sizes[i]);
        old(&r, sizes[i]);
        before[0][i] = old(&r, sizes[i]);
        before[1][i] = old(&r, sizes[i]);
    }
    churn(&r, FORWARD);
    for (int i = 0; i < PARAMETERS; i++) {
        size_t added = make(&r, sizes[i], BACKWARD);
        churn(&r, BACKWARD);
        drop(&r, added, BACKWARD);
    }
    step_one_parameter_later(&r, before);
    finish(&r, &result, "0,0");
    assert_int_equal(at_peak(&result, "Activation"), 0);
    expect(&result, MODEL, MODEL, 2 * MODEL, 0);
}

/* Only a part is trained: what has no gradient is frozen. */
TEST(frozen_weights)
{
    struct run r;
    struct result result;
    begin(&r);
    for (int i = 0; i < 5; i++)
        old(&r, 50000);
    size_t adapter = make(&r, 200, MAIN);
    churn(&r, FORWARD);
    size_t gradient = make(&r, 200, ACCUMULATE);
    churn(&r, BACKWARD);
    make(&r, 200, INIT);
    churn(&r, STEP);
    finish(&r, &result, "0,0");
    (void)adapter;
    (void)gradient;
    expect(&result, 5 * 50000 + 200, 200, 200, 0);
}

/* Python stacks only: autograd's thread has empty ones. */
TEST(backward_without_frames)
{
    struct run r;
    struct result result;
    begin(&r);
    old(&r, 4000);
    size_t saved = make(&r, 9000, FORWARD);
    churn(&r, FORWARD);
    make(&r, 4000, EMPTY_STACK);
    drop(&r, saved, EMPTY_STACK);
    churn(&r, EMPTY_STACK);
    make(&r, 5, F("_multi_tensor_adamw", "/x/torch/optim/adamw.py"));
    finish(&r, &result, "0,0");
    assert_int_equal(at_peak(&result, "Activation"), 9000);
    assert_int_equal(at_end(&result, "Gradient"), 4000);
    assert_int_equal(at_end(&result, "Parameter"), 4000);
    gm_report_free(&result.report);
}

TEST(activations_and_temporaries)
{
    struct run r;
    struct result result;
    begin(&r);
    size_t kept = make(&r, 10000, FORWARD), not_kept = make(&r, 6000, FORWARD), loss = make(&r, 40, MAIN);
    churn(&r, FORWARD);
    drop(&r, not_kept, NULL);
    size_t recomputed = make(&r, 3000, F("forward", "net.py") "," F("recompute_fn", "/x/torch/utils/checkpoint.py"));
    churn(&r, BACKWARD);
    drop(&r, recomputed, BACKWARD);
    drop(&r, kept, BACKWARD);
    drop(&r, loss, BACKWARD);
    churn(&r, FORWARD);
    finish(&r, &result, "0,0");
    /* the peak is when both were there: 10000 + 6000 + 40 + 64 */
    assert_int_equal(at_peak(&result, "Activation"), 10040);
    assert_int_equal(at_peak(&result, "Temporary"), 6064);
    gm_report_free(&result.report);
}

/* ---- inference, and no trace
 * ------------------------------------------------------------------------------------------- */

TEST(inference)
{
    struct run r;
    struct result result;
    begin(&r);
    old(&r, 8000);
    old(&r, 3000);
    old(&r, 8519680); /* cuBLAS's workspace */
    make(&r, 900, F("update", "/x/transformers/cache_utils.py") "," FORWARD);
    size_t hidden = make(&r, 2000, FORWARD);
    churn(&r, FORWARD);
    drop(&r, hidden, NULL);
    finish(&r, &result, "0,0");
    assert_int_equal(at_end(&result, "Workspace"), 8519680);
    assert_int_equal(at_end(&result, "KV cache"), 900);
    assert_int_equal(at_peak(&result, "Activation"), 2000);
    expect(&result, 11000, 0, 0, 0);
}

TEST(groups_of_four_without_a_trace)
{
    struct run r;
    struct result result;
    begin(&r);
    for (int copy = 0; copy < 4; copy++)
        for (int i = 0; i < PARAMETERS; i++)
            old(&r, sizes[i]);
    finish(&r, &result, "0,0");
    expect(&result, MODEL, MODEL, 2 * MODEL, 0);
}

/* The same with one block more of the rarest size: no groups, nothing is known. */
TEST(no_groups_without_a_trace)
{
    struct run r;
    struct result result;
    begin(&r);
    for (int copy = 0; copy < 4; copy++)
        for (int i = 0; i < PARAMETERS; i++)
            old(&r, sizes[i]);
    old(&r, 8000);
    finish(&r, &result, "0,0");
    expect(&result, 0, 0, 0, 4 * MODEL + 8000);
}

TEST(private_pools_tell_nothing)
{
    struct run r;
    struct result result;
    begin(&r);
    old(&r, 8000);
    churn(&r, FORWARD);
    finish(&r, &result, "0,1");
    expect(&result, 0, 0, 0, 8000);
}

/* ---- stacks
 * ----------------------------------------------------------------------------------------------------------------- */

/* A block with this stack that is never freed, in a trace of a training step. */
static void expect_role_of(const char *stack, const char *role)
{
    struct run r;
    struct result result;
    begin(&r);
    make(&r, 123456, stack);
    churn(&r, FORWARD);
    churn(&r, BACKWARD);
    churn(&r, STEP);
    churn(&r, FORWARD);
    finish(&r, &result, "0,0");
    if (at_end(&result, role) != 123456)
        fail_msg("not %s: %s", role, stack);
    assert_string_equal(result.report.top_blocks[0].role, role);
    assert_int_equal(result.report.top_blocks[0].bytes, 123456);
    gm_report_free(&result.report);
}

TEST(what_stacks_say)
{
    expect_role_of(F("at::cuda::getCUDABlasLtWorkspace()", "??") "," FORWARD, "Workspace");
    expect_role_of(F("at::cuda::(anonymous namespace)::getNewWorkspace()", "??") "," BACKWARD, "Workspace");
    expect_role_of(F("c10d::ProcessGroupNCCL::initNCCLComm(int)", "??") "," FORWARD, "Communication buffer");
    expect_role_of(F("all_gather_into_tensor", "/x/torch/distributed/distributed_c10d.py") "," FORWARD,
                   "Communication buffer");
    expect_role_of(F("foreach_all_gather", "/x/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py"),
                   "Communication buffer");
    expect_role_of(F("create_shared_buffer", "/x/vllm/distributed/device_communicators/custom_all_reduce.py"),
                   "Communication buffer");
    /* a program that is named after it */
    expect_role_of(F("__init__", "/x/flat_allreduce.py") "," MAIN, "Parameter");
    expect_role_of(F("helper", "/x/all_to_all_bench.py") "," MAIN, "Input");
    expect_role_of(F("convert", "/x/torch/nn/modules/module.py") "," F("build", "/x/kv_cache_demo.py") "," MAIN,
                   "Parameter");
    expect_role_of(F("__init__", "/x/torch/nn/modules/linear.py") "," F("build", "/x/kv_cache_demo.py") "," MAIN,
                   "Parameter");
    expect_role_of(F("_allocate_kv_cache_tensors", "/x/vllm/v1/worker/gpu_model_runner.py") "," MAIN, "KV cache");
    expect_role_of(F("update", "/x/transformers/cache_utils.py") "," FORWARD, "KV cache");
    expect_role_of(LOAD "," F("to", "/x/torch/nn/modules/module.py") "," MAIN, "Parameter");
    expect_role_of(F("load_state_dict", "/x/torch/nn/modules/module.py") "," MAIN, "Parameter");
    expect_role_of(F("from_pretrained", "/x/transformers/modeling_utils.py") "," MAIN, "Parameter");
    expect_role_of(F("__init__", "C:\\\\x\\\\torch\\\\nn\\\\modules\\\\linear.py") "," MAIN, "Parameter");
    expect_role_of(
        F("broadcast", "/x/torch/nn/parallel/comm.py") "," F("replicate", "/x/torch/nn/parallel/replicate.py"),
        "Parameter");
    expect_role_of(INIT, "Optimizer state");
    expect_role_of(F("step", "my_adam.py") "," F("wrapper", "/x/torch/optim/optimizer.py"), "Optimizer state");
    expect_role_of(ACCUMULATE, "Gradient");
    expect_role_of(BACKWARD, "Gradient");
    expect_role_of(F("default_collate", "/x/torch/utils/data/_utils/collate.py") "," MAIN, "Input");
    expect_role_of(F("torch::autograd::THPVariable_to(_object*, _object*, _object*)", "??") "," MAIN, "Input");
    expect_role_of(F("torch::autograd::THPVariable_to(_object*, _object*, _object*)", "??") "," FORWARD, "Activation");
    expect_role_of(FORWARD, "Activation");
    /* an optimizer that calls the training step is not what made it; nor does a name make a backward */
    expect_role_of(FORWARD "," F("training_step", "m.py") "," F("closure", "l.py") "," STEP, "Activation");
    expect_role_of(FORWARD "," F("forward_backward_func", "schedules.py") "," MAIN, "Activation");
    expect_role_of(F("__init__", "x.py") "," MAIN, "Parameter");
    expect_role_of(F("helper", "x.py") "," MAIN, "Input");
}

/* ---- sums
 * --------------------------------------------------------------------------------------------------------------------
 */

TEST(hostile_files_add_up)
{
    struct result result;
    /* two blocks at one address, huge sizes, a pending block, frees of nothing */
    analyze_text(&result,
                 "{\"segments\":[{\"device\":0,\"address\":1000,\"total_size\":4000,\"blocks\":["
                 "{\"address\":1000,\"size\":512,\"requested_size\":500,\"state\":\"active_allocated\"},"
                 "{\"address\":1000,\"size\":1024,\"requested_size\":900,\"state\":\"active_allocated\"},"
                 "{\"address\":2024,\"size\":256,\"requested_size\":900,\"state\":\"active_pending_free\"},"
                 "{\"address\":9,\"size\":9223372036854775808,\"state\":\"active_allocated\"}]},"
                 "{\"device\":3,\"address\":7,\"total_size\":64,\"blocks\":["
                 "{\"address\":7,\"size\":64,\"state\":\"active_allocated\"}]}],"
                 "\"device_traces\":[[{\"action\":\"free_completed\",\"addr\":5,\"size\":18446744073709551615},"
                 "{\"action\":\"alloc\",\"addr\":6,\"size\":9223372036854775808},"
                 "{\"action\":\"free_requested\",\"addr\":6,\"size\":1},"
                 "{\"action\":\"alloc\",\"addr\":6,\"size\":9223372036854775808}]]}");
    uint64_t sum = 0;
    for (size_t i = 0; i < result.report.role_count; i++)
        sum += result.report.roles[i].bytes;
    assert_int_equal(sum, result.report.totals.allocated);
    assert_int_equal(result.report.totals.allocated, UINT64_C(9223372036854775808) + 512 + 1024 + 64);
    for (size_t i = 0; i < result.report.top_block_count; i++)
        assert_non_null(result.report.top_blocks[i].role);
    gm_report_free(&result.report);
}

TEST(nothing_at_all)
{
    struct result result;
    analyze_text(&result, "{\"segments\":[],\"device_traces\":[[]]}");
    assert_int_equal(result.report.role_count, 0);
    assert_non_null(result.report.roles);
    gm_report_free(&result.report);
}

/* A category says which code made a block, a role what it is for: a name that is both would say two things. */
TEST(no_name_is_a_category_and_a_role)
{
    struct gm_category_rules *rules = NULL;
    assert_int_equal(gm_category_rules_default(&rules, NULL), GM_OK);
    for (uint32_t category = 0; category < gm_category_count(rules); category++)
        for (size_t role = 0; role < GM_ROLE_COUNT; role++)
            assert_int_not_equal(strcasecmp(gm_category_name(rules, category), gm_role_name(role)), 0);
    gm_category_rules_free(rules);
}
