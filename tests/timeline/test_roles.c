/* SPDX-License-Identifier: Apache-2.0
 *
 * Roles of small runs, written as JSON. A run is told event by event; what is live at its end becomes the snapshot's
 * blocks. The expected bytes follow from what the run does.
 */
#include "analyze/state/categories.h"
#include "tests/timeline/traced.h"

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

/* Of the test. */
static struct run {
    FILE *events;
    char *text;
    size_t length, live_count;
    struct live {
        uint64_t address, size;
        const char *stack;
        bool is_live;
    } live[MAX_LIVE];
} run;

static int begin(void **state)
{
    memset(&run, 0, sizeof run);
    run.events = open_memstream(&run.text, &run.length);
    return run.events == NULL;
}

static int end(void **state)
{
    fclose(run.events);
    free(run.text);
    return 0;
}
AROUND_EACH(begin, end)

static void event(const char *action, const struct live *b, const char *stack)
{
    fflush(run.events);
    fprintf(run.events, "%s{\"action\":\"%s\",\"addr\":%" PRIu64 ",\"size\":%" PRIu64, run.length > 0 ? "," : "",
            action, b->address, b->size);
    if (stack != NULL)
        fprintf(run.events, ",\"frames\":[%s]", stack);
    fprintf(run.events, "}");
}

/* A block; in the trace unless it is old. The result is for drop(). */
static size_t add(uint64_t size, const char *stack, bool is_old)
{
    size_t i = run.live_count++;
    assert_true(i < MAX_LIVE);
    run.live[i] = (struct live){UINT64_C(0x10000000) * (i + 1), size, stack, true};
    if (!is_old)
        event("alloc", &run.live[i], stack);
    return i;
}
static size_t old(uint64_t size)
{
    return add(size, NULL, true);
}
static size_t make(uint64_t size, const char *stack)
{
    return add(size, stack, false);
}

/* `stack`: of the free; NULL: that of the allocation. */
static void drop(size_t i, const char *stack)
{
    const char *told = stack != NULL ? stack : run.live[i].stack;
    event("free_requested", &run.live[i], told);
    event("free_completed", &run.live[i], told);
    run.live[i].is_live = false;
}

/* So many short-lived allocations that what was made before is no longer recent. */
static void churn(const char *stack)
{
    for (int i = 0; i < 12; i++)
        drop(make(64, stack), NULL);
}

/* Ends the run, and begins another; every block is a segment of its own. */
static void finish(const char *pool)
{
    GM_FREED char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    assert_non_null(f);
    fflush(run.events);
    fprintf(f, "{\"segments\":[");
    bool is_first = true;
    for (size_t i = 0; i < run.live_count; i++) {
        const struct live *b = &run.live[i];
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
    fprintf(f, "],\"device_traces\":[[%s]]}", run.text != NULL ? run.text : "");
    fclose(f);
    gm_traced_load(text, NULL, (struct gm_timeline_options){.top = 500});
    gm_snapshot_free(&traced.snapshot); /* what the report says must be its own */
    end(NULL);
    begin(NULL);
}

static uint64_t at_end(const char *role)
{
    uint64_t found = 0, sum = 0;
    for (size_t i = 0; i < traced.report.role_count; i++) {
        sum += traced.report.roles[i].bytes;
        if (strcmp(traced.report.roles[i].name, role) == 0)
            found = traced.report.roles[i].bytes;
    }
    assert_int_equal(sum, traced.report.totals.allocated);
    return found;
}

static uint64_t at_peak(const char *role)
{
    const struct gm_device_timeline *t = &traced.report.timelines[0];
    uint64_t found = 0, sum = 0;
    for (size_t i = 0; i < t->reason_count; i++) {
        sum += t->reasons[i].bytes_at_peak;
        if (strcmp(t->reasons[i].role, role) == 0)
            found += t->reasons[i].bytes_at_peak;
    }
    assert_int_equal(sum, traced.report.peaks[0].requested);
    return found;
}

/* Two large matrices, four small, an odd vector: 2 * 8000 + 4 * 3000 + 512 bytes. */
static const uint64_t sizes[] = {8000, 3000, 512, 3000, 8000, 3000, 3000};
enum { PARAMETERS = 7, MODEL = 2 * 8000 + 4 * 3000 + 512 };

static void make_all(const char *stack, size_t *made)
{
    for (int i = 0; i < PARAMETERS; i++)
        made[i] = make(sizes[i], stack);
}
static void drop_all(const size_t *made, const char *stack)
{
    for (int i = 0; i < PARAMETERS; i++)
        drop(made[i], stack);
}

static void forward_and_backward(size_t *gradients)
{
    size_t saved = make(20000, FORWARD);
    churn(FORWARD);
    drop(make(700, BACKWARD), NULL);
    make_all(BACKWARD, gradients);
    drop(saved, BACKWARD);
    churn(BACKWARD);
}

static void expect(uint64_t parameters, uint64_t gradients, uint64_t states, uint64_t unknown)
{
    assert_int_equal(at_end("Parameter"), parameters);
    assert_int_equal(at_end("Gradient"), gradients);
    assert_int_equal(at_end("Optimizer state"), states);
    assert_int_equal(at_end("Unknown"), unknown);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

TEST(adamw_from_its_first_step)
{
    size_t gradients[PARAMETERS];
    for (int i = 0; i < PARAMETERS; i++)
        old(sizes[i]);
    old(7777); /* a buffer */
    forward_and_backward(gradients);
    for (int i = 0; i < PARAMETERS; i++) {
        make(sizes[i], INIT);
        make(sizes[i], INIT);
    }
    churn(STEP);
    finish("0,0");
    assert_int_equal(at_peak("Activation"), 0);
    expect(MODEL + 7777, MODEL, 2 * MODEL, 0);
}

/* It is no copy of higher precision that the policy is, which has gradients of its own size. */
TEST(policy_beside_a_reference_in_half_the_bits)
{
    size_t gradients[PARAMETERS];
    for (int i = 0; i < PARAMETERS; i++) {
        make(sizes[i], LOAD "," MAIN);
        make(sizes[i] / 2, LOAD "," MAIN);
    }
    forward_and_backward(gradients);
    for (int i = 0; i < PARAMETERS; i++)
        make(sizes[i] / 2, BACKWARD);
    churn(BACKWARD);
    for (int i = 0; i < PARAMETERS; i++)
        make(sizes[i], INIT);
    churn(STEP);
    finish("0,0");
    expect(MODEL + MODEL / 2, MODEL + MODEL / 2, MODEL, 0);
}

/* The trace begins after many steps: nothing older than it has a stack, states neither. Gradients come and go. */
TEST(adamw_in_the_middle)
{
    size_t gradients[PARAMETERS];
    for (int copy = 0; copy < 3; copy++)
        for (int i = 0; i < PARAMETERS; i++)
            old(sizes[i]);
    old(3000); /* a buffer of a parameter's size */
    for (int step = 0; step < 2; step++) {
        forward_and_backward(gradients);
        churn(STEP);
        if (step == 0)
            drop_all(gradients, F("zero_grad", "/x/torch/optim/optimizer.py") "," MAIN);
    }
    finish("0,0");
    assert_int_equal(at_peak("Gradient"), MODEL);
    expect(MODEL + 3000, MODEL, 2 * MODEL, 0);
}

/* The ring has lost how they were made, not their stacks: judged as if made before all else in the trace. */
TEST(older_blocks_with_stacks)
{
    enum { DATA = 50000, HELD = 8000 };
    size_t gradients[PARAMETERS];
    for (int i = 0; i < PARAMETERS; i++)
        add(sizes[i], MAIN, true);
    add(DATA, MAIN, true);
    add(HELD, F("watch", "train.py") "," MAIN, true);
    for (int step = 0; step < 3; step++) {
        forward_and_backward(gradients);
        churn(STEP);
        drop_all(gradients, F("zero_grad", "/x/torch/optim/optimizer.py") "," MAIN);
        make(HELD, F("watch", "train.py") "," MAIN); /* goes on: it is none of the weights of its size */
    }
    finish("0,0");
    assert_int_equal(at_end("Input"), DATA);
    assert_int_equal(at_end("Activation"), 4 * HELD);
    expect(MODEL, 0, 0, 0);
}

/* Where weights that are older than the trace have stacks, what has none was made by autograd's thread. */
TEST(older_gradients_with_stacks)
{
    for (int i = 0; i < PARAMETERS; i++)
        add(sizes[i], LOAD, true);
    for (int i = 0; i < PARAMETERS; i++)
        add(sizes[i], EMPTY_STACK, true);
    for (int step = 0; step < 3; step++) {
        size_t saved = make(20000, FORWARD);
        churn(FORWARD);
        drop(saved, EMPTY_STACK);
        churn(EMPTY_STACK);
        churn(STEP);
    }
    finish("0,0");
    expect(MODEL, MODEL, 0, 0);
}

/* What the end of the program frees are no gradients that are made anew, nor activations. */
TEST(older_blocks_until_the_end)
{
    size_t gradients[PARAMETERS], held[3][PARAMETERS];
    for (int copy = 0; copy < 3; copy++)
        for (int i = 0; i < PARAMETERS; i++)
            held[copy][i] = old(sizes[i]);
    for (int step = 0; step < 3; step++) {
        forward_and_backward(gradients);
        churn(STEP);
        if (step < 2)
            drop_all(gradients, F("zero_grad", "/x/torch/optim/optimizer.py") "," MAIN);
    }
    for (int copy = 0; copy < 3; copy++)
        drop_all(held[copy], F("close", "train.py"));
    finish("0,0");
    assert_int_equal(at_peak("Parameter"), MODEL);
    assert_int_equal(at_peak("Optimizer state"), 2 * MODEL);
}

/* The trace ends within an optimizer step: what is open there are no new states, so the older ones are. */
TEST(adamw_until_the_middle_of_a_step)
{
    size_t gradients[PARAMETERS], open[PARAMETERS];
    for (int copy = 0; copy < 3; copy++)
        for (int i = 0; i < PARAMETERS; i++)
            old(sizes[i]);
    for (int step = 0; step < 3; step++) {
        forward_and_backward(gradients);
        make_all(STEP, open);
        churn(STEP);
        churn(STEP);
        churn(STEP);
        if (step < 2) {
            drop_all(open, NULL);
            drop_all(gradients, F("zero_grad", "/x/torch/optim/optimizer.py") "," MAIN);
        }
    }
    finish("0,0");
    assert_true(at_end("Optimizer state") >= 2 * MODEL);
    assert_int_equal(at_end("Parameter"), MODEL);
}

/* What every round keeps is no weight, however much of it is older than the trace. */
TEST(older_blocks_as_rounds_keep_them)
{
    enum { KEPT = 9000 };
    size_t gradients[PARAMETERS];
    for (int i = 0; i < PARAMETERS; i++)
        old(sizes[i]);
    for (int i = 0; i < 5; i++)
        old(KEPT);
    for (int step = 0; step < 4; step++) {
        make(KEPT, FORWARD);
        forward_and_backward(gradients);
        churn(STEP);
        drop_all(gradients, F("zero_grad", "/x/torch/optim/optimizer.py") "," MAIN);
    }
    finish("0,0");
    assert_int_equal(at_end("Activation"), 9 * KEPT);
    expect(MODEL, 0, 0, 0);
}

/* What a line of the model made in the first step to stay is no weight if that line makes more later, even if gradients
 * of its size are more than the parameters. */
TEST(activations_of_every_step_are_no_weights)
{
    enum { KEPT = 8000 };
    size_t weights[PARAMETERS], gradients[PARAMETERS];
    make_all(LOAD, weights);
    for (int step = 0; step < 4; step++) {
        make(KEPT, FORWARD);
        forward_and_backward(gradients);
        size_t of_input = make(KEPT, BACKWARD);
        churn(BACKWARD);
        churn(STEP);
        drop_all(gradients, F("zero_grad", "/x/torch/optim/optimizer.py") "," MAIN);
        drop(of_input, F("zero_grad", "/x/torch/optim/optimizer.py") "," MAIN);
    }
    finish("0,0");
    assert_int_equal(at_end("Activation"), 4 * KEPT);
    expect(MODEL, 0, 0, 0);
}

/* What the program makes in every step to stay is no data in the first one either. */
TEST(what_the_program_makes_in_every_step_is_no_data)
{
    enum { KEPT = 777 };
    size_t weights[PARAMETERS], gradients[PARAMETERS];
    make_all(LOAD, weights);
    make(KEPT, F("read", "data.py") "," MAIN);
    for (int step = 0; step < 3; step++) {
        make(KEPT, F("collect", "train.py") "," MAIN);
        forward_and_backward(gradients);
        churn(STEP);
        drop_all(gradients, F("zero_grad", "/x/torch/optim/optimizer.py") "," MAIN);
    }
    finish("0,0");
    assert_int_equal(at_end("Activation"), 3 * KEPT);
    assert_int_equal(at_end("Input"), KEPT);
}

/* zero_grad(set_to_none=False): gradients are older than the trace, too, and none outlives a backward in it. */
TEST(gradients_kept)
{
    for (int copy = 0; copy < 4; copy++)
        for (int i = 0; i < PARAMETERS; i++)
            old(sizes[i]);
    for (int i = 0; i < PARAMETERS; i++) {
        size_t added = make(sizes[i], BACKWARD); /* to the gradient that is there */
        churn(BACKWARD);
        drop(added, NULL);
    }
    churn(BACKWARD);
    churn(STEP);
    finish("0,0");
    expect(MODEL, MODEL, 2 * MODEL, 0);
}

/* Likewise; what backward gives up last are temporaries, one of a parameter's size, not gradients. */
TEST(gradients_kept_beside_last_temporaries)
{
    size_t last[PARAMETERS];
    for (int copy = 0; copy < 2; copy++)
        for (int i = 0; i < PARAMETERS; i++)
            old(sizes[i]);
    churn(FORWARD);
    for (int i = 0; i < PARAMETERS; i++) {
        size_t added = make(sizes[i], BACKWARD);
        churn(BACKWARD);
        drop(added, NULL);
    }
    for (int i = 0; i < PARAMETERS; i++)
        last[i] = make(i == 0 ? sizes[0] : 900, BACKWARD);
    drop_all(last, NULL);
    churn(FORWARD);
    finish("0,0");
    expect(MODEL, MODEL, 0, 0);
}

/* An optimizer without memory of its own: gradients are freed right after backward, by nobody known. */
TEST(sgd_without_a_trace_of_its_step)
{
    size_t gradients[PARAMETERS];
    for (int i = 0; i < PARAMETERS; i++)
        old(sizes[i]);
    for (int step = 0; step < 2; step++) {
        churn(FORWARD);
        make_all(BACKWARD, gradients);
        drop_all(gradients, NULL);
    }
    churn(FORWARD);
    finish("0,0");
    assert_int_equal(at_peak("Gradient"), MODEL);
    expect(MODEL, 0, 0, 0);
}

/* parameter = f(parameter), state = g(state): the new tensors take the places of the old ones. */
TEST(optimizer_that_makes_everything_anew)
{
    size_t parameters[PARAMETERS], moments[PARAMETERS], gradients[PARAMETERS];
    make_all(LOAD, parameters);
    make_all(F("__init__", "my_optimizer.py"), moments);
    for (int step = 0; step < 2; step++) {
        forward_and_backward(gradients);
        for (int i = 0; i < PARAMETERS; i++) {
            size_t moment = make(sizes[i], STEP);
            drop(make(sizes[i], STEP), STEP);
            size_t parameter = make(sizes[i], F("sub", "t.cc") "," STEP);
            drop(parameters[i], STEP);
            drop(moments[i], STEP);
            parameters[i] = parameter;
            moments[i] = moment;
        }
        if (step == 0)
            drop_all(gradients, MAIN);
    }
    finish("0,0");
    expect(MODEL, MODEL, MODEL, 0);
}

/* Each parameter's old states go when the next one's are made. */
static void step_one_parameter_later(size_t before[2][PARAMETERS])
{
    for (int i = 0; i <= PARAMETERS; i++) {
        for (int which = 0; which < 2; which++) {
            churn(STEP);
            if (i > 0)
                drop(before[which][i - 1], NULL);
            if (i < PARAMETERS)
                make(sizes[i], STEP);
        }
    }
}

/* Variables of the optimizer's loop keep a parameter's old states until the next parameter's turn. */
TEST(states_given_up_one_parameter_later)
{
    size_t gradients[PARAMETERS], before[2][PARAMETERS];
    for (int i = 0; i < PARAMETERS; i++) {
        old(sizes[i]);
        before[0][i] = old(sizes[i]);
        before[1][i] = old(sizes[i]);
    }
    forward_and_backward(gradients);
    step_one_parameter_later(before);
    finish("0,0");
    assert_int_equal(at_peak("Parameter"), MODEL);
    assert_int_equal(at_peak("Gradient"), MODEL);
    expect(MODEL, MODEL, 2 * MODEL, 0);
}

/* The same, with gradients that stay where they are: backward makes what it adds to them. */
TEST(states_given_up_beside_gradients_that_stay)
{
    size_t before[2][PARAMETERS];
    for (int i = 0; i < PARAMETERS; i++) {
        old(sizes[i]);
        old(sizes[i]);
        before[0][i] = old(sizes[i]);
        before[1][i] = old(sizes[i]);
    }
    churn(FORWARD);
    for (int i = 0; i < PARAMETERS; i++) {
        size_t added = make(sizes[i], BACKWARD);
        churn(BACKWARD);
        drop(added, BACKWARD);
    }
    step_one_parameter_later(before);
    finish("0,0");
    assert_int_equal(at_peak("Activation"), 0);
    expect(MODEL, MODEL, 2 * MODEL, 0);
}

/* The optimizer is gone before the trace ends, not before its last gradients are made, as older gradients are. */
TEST(states_given_up_after_training)
{
    size_t gradients[PARAMETERS], before[PARAMETERS], states[PARAMETERS];
    for (int i = 0; i < PARAMETERS; i++) {
        old(sizes[i]);
        before[i] = old(sizes[i]);
        states[i] = old(sizes[i]);
    }
    for (int step = 0; step < 3; step++) {
        drop_all(step == 0 ? before : gradients, MAIN);
        forward_and_backward(gradients);
    }
    churn(FORWARD);
    drop_all(gradients, MAIN);
    drop_all(states, MAIN);
    churn(FORWARD);
    finish("0,0");
    assert_int_equal(at_peak("Optimizer state"), MODEL);
    expect(MODEL, 0, 0, 0);
}

/* An optimizer of the program's own, older than the trace, keeps two states for each weight, of twice its size. */
TEST(older_states_of_an_own_optimizer)
{
    size_t gradients[PARAMETERS];
    for (int i = 0; i < PARAMETERS; i++) {
        add(sizes[i], F("__init__", "my_model.py"), true);
        add(2 * sizes[i], F("zeros", "my_optimizer.py"), true);
        add(2 * sizes[i], F("zeros", "my_optimizer.py"), true);
    }
    for (int step = 0; step < 2; step++) {
        forward_and_backward(gradients);
        drop_all(gradients, MAIN);
    }
    churn(FORWARD);
    finish("0,0");
    expect(MODEL, 0, 4 * MODEL, 0);
}

/* Weights that the program made by itself, and gradients that stay where they are: backward makes what it adds. */
TEST(older_gradients_of_own_weights)
{
    for (int i = 0; i < PARAMETERS; i++) {
        add(sizes[i], F("weights", "my_model.py"), true);
        old(sizes[i]);
    }
    for (int step = 0; step < 2; step++) {
        size_t saved = make(20000, FORWARD);
        churn(FORWARD);
        for (int i = 0; i < PARAMETERS; i++)
            drop(make(sizes[i], BACKWARD), BACKWARD);
        drop(saved, BACKWARD);
        churn(BACKWARD);
    }
    finish("0,0");
    expect(MODEL, MODEL, 0, 0);
}

/* Only a part is trained: what has no gradient is frozen. */
TEST(frozen_weights)
{
    for (int i = 0; i < 5; i++)
        old(50000);
    size_t adapter = make(200, MAIN);
    churn(FORWARD);
    size_t gradient = make(200, ACCUMULATE);
    churn(BACKWARD);
    make(200, INIT);
    churn(STEP);
    finish("0,0");
    (void)adapter;
    (void)gradient;
    expect(5 * 50000 + 200, 200, 200, 0);
}

/* Python stacks only: autograd's thread has empty ones. */
TEST(backward_without_frames)
{
    old(4000);
    size_t saved = make(9000, FORWARD);
    churn(FORWARD);
    make(4000, EMPTY_STACK);
    drop(saved, EMPTY_STACK);
    churn(EMPTY_STACK);
    make(5, F("_multi_tensor_adamw", "/x/torch/optim/adamw.py"));
    finish("0,0");
    assert_int_equal(at_peak("Activation"), 9000);
    assert_int_equal(at_end("Gradient"), 4000);
    assert_int_equal(at_end("Parameter"), 4000);
}

TEST(activations_and_temporaries)
{
    size_t kept = make(10000, FORWARD), not_kept = make(6000, FORWARD), loss = make(40, MAIN);
    churn(FORWARD);
    drop(not_kept, NULL);
    size_t recomputed = make(3000, F("forward", "net.py") "," F("recompute_fn", "/x/torch/utils/checkpoint.py"));
    churn(BACKWARD);
    drop(recomputed, BACKWARD);
    drop(kept, BACKWARD);
    drop(loss, BACKWARD);
    churn(FORWARD);
    finish("0,0");
    /* the peak is when both were there: 10000 + 6000 + 40 + 64 */
    assert_int_equal(at_peak("Activation"), 10040);
    assert_int_equal(at_peak("Temporary"), 6064);
}

/* ---- inference, and no trace ------------------------------------------------------------------------------------- */

TEST(inference)
{
    old(8000);
    old(3000);
    old(8519680); /* cuBLAS's workspace */
    make(900, F("update", "/x/transformers/cache_utils.py") "," FORWARD);
    size_t hidden = make(2000, FORWARD);
    churn(FORWARD);
    drop(hidden, NULL);
    finish("0,0");
    assert_int_equal(at_end("Workspace"), 8519680);
    assert_int_equal(at_end("KV cache"), 900);
    assert_int_equal(at_peak("Activation"), 2000);
    expect(11000, 0, 0, 0);
}

TEST(groups_of_four_without_a_trace)
{
    for (int copy = 0; copy < 4; copy++)
        for (int i = 0; i < PARAMETERS; i++)
            old(sizes[i]);
    finish("0,0");
    expect(MODEL, MODEL, 2 * MODEL, 0);
}

/* The same with one block more of the rarest size: no groups, nothing is known. */
TEST(no_groups_without_a_trace)
{
    for (int copy = 0; copy < 4; copy++)
        for (int i = 0; i < PARAMETERS; i++)
            old(sizes[i]);
    old(8000);
    finish("0,0");
    expect(0, 0, 0, 4 * MODEL + 8000);
}

TEST(private_pools_tell_nothing)
{
    old(8000);
    churn(FORWARD);
    finish("0,1");
    expect(0, 0, 0, 8000);
}

/* Slots for keys and values beside weights, all of them older than the trace. */
TEST(older_slots_with_stacks)
{
    enum { MIB = 1 << 20 };
    for (int i = 0; i < 4; i++)
        add(MIB, LOAD, true);
    for (int i = 0; i < 8; i++)
        add(4 * MIB, MAIN, true);
    for (int round = 0; round < 5; round++)
        churn(FORWARD);
    finish("0,0");
    assert_int_equal(at_end("KV cache"), 32 * MIB);
    assert_int_equal(at_end("Parameter"), 4 * MIB);
}

/* The first forward pass of a training that fails: layers keep what they make, and others are run meanwhile. */
TEST(activations_of_a_pass_that_fails)
{
    enum { MIB = 1 << 20 };
    for (int i = 0; i < 4; i++)
        make(MIB, LOAD);
    churn(FORWARD);
    for (int i = 0; i < 3; i++) {
        make(4 * MIB, F("forward", "block.py") "," MODULE);
        make(4 * MIB, F("forward", "conv.py") "," F("forward", "block.py") "," MODULE);
        make(4 * MIB, F("forward", "norm.py") "," F("forward", "block.py") "," MODULE);
    }
    for (int pass = 0; pass < 5; pass++)
        churn(FORWARD);
    finish("0,0");
    assert_int_equal(at_end("KV cache"), 0);
    assert_int_equal(at_end("Activation"), 36 * MIB);
}

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

/* A block with this stack that is never freed, in a trace of a training step. */
static void expect_role_of(const char *stack, const char *role)
{
    make(123456, stack);
    churn(FORWARD);
    churn(BACKWARD);
    churn(STEP);
    churn(FORWARD);
    finish("0,0");
    if (at_end(role) != 123456)
        fail_msg("not %s: %s", role, stack);
    assert_string_equal(traced.report.top_blocks[0].role, role);
    assert_int_equal(traced.report.top_blocks[0].bytes, 123456);
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
    expect_role_of(F("__init__", "/x/torch/distributions/categorical.py") "," MAIN, "Activation");
    /* an optimizer that calls the training step is not what made it; nor does a name make a backward */
    expect_role_of(FORWARD "," F("training_step", "m.py") "," F("closure", "l.py") "," STEP, "Activation");
    expect_role_of(FORWARD "," F("forward_backward_func", "schedules.py") "," MAIN, "Activation");
    expect_role_of(F("__init__", "x.py") "," MAIN, "Parameter");
    expect_role_of(F("helper", "x.py") "," MAIN, "Input");
}

/* What an object makes in every step, and gives up when the next one is there, is no weight; nor is the last one, if
 * the trace ends before that. */
static void expect_objects(bool is_last_dropped)
{
    static const char *object = F("__init__", "x.py") "," MAIN;
    size_t old_one = SIZE_MAX;
    for (int step = 0; step < 3; step++) {
        churn(FORWARD);
        size_t new_one = make((size_t)(10 + step) << 20, object); /* so that the last two are the peak */
        if (old_one != SIZE_MAX)
            drop(old_one, MAIN);
        old_one = new_one;
        churn(FORWARD);
        churn(BACKWARD);
        churn(STEP);
    }
    churn(FORWARD);
    if (is_last_dropped)
        drop(old_one, MAIN);
    finish("0,0");
    assert_int_equal(at_peak("Parameter"), 0);
    assert_int_equal(at_peak("Activation"), (is_last_dropped ? 23 : 11) << 20); /* else the last may be anything */
}

TEST(objects_of_steps_are_no_weights)
{
    expect_objects(true);
}

TEST(last_object_of_steps_is_no_weight)
{
    expect_objects(false);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

TEST(hostile_files_add_up)
{
    /* two blocks at one address, huge sizes, a pending block, frees of nothing */
    gm_traced_load("{\"segments\":[{\"device\":0,\"address\":1000,\"total_size\":4000,\"blocks\":["
                   "{\"address\":1000,\"size\":512,\"requested_size\":500,\"state\":\"active_allocated\"},"
                   "{\"address\":1000,\"size\":1024,\"requested_size\":900,\"state\":\"active_allocated\"},"
                   "{\"address\":2024,\"size\":256,\"requested_size\":900,\"state\":\"active_pending_free\"},"
                   "{\"address\":9,\"size\":9223372036854775808,\"state\":\"active_allocated\"}]},"
                   "{\"device\":3,\"address\":7,\"total_size\":64,\"blocks\":["
                   "{\"address\":7,\"size\":64,\"state\":\"active_allocated\"}]}],"
                   "\"device_traces\":[[{\"action\":\"free_completed\",\"addr\":5,\"size\":18446744073709551615},"
                   "{\"action\":\"alloc\",\"addr\":6,\"size\":9223372036854775808},"
                   "{\"action\":\"free_requested\",\"addr\":6,\"size\":1},"
                   "{\"action\":\"alloc\",\"addr\":6,\"size\":9223372036854775808}]]}",
                   NULL, (struct gm_timeline_options){.top = 500});
    uint64_t sum = 0;
    for (size_t i = 0; i < traced.report.role_count; i++)
        sum += traced.report.roles[i].bytes;
    assert_int_equal(sum, traced.report.totals.allocated);
    assert_int_equal(traced.report.totals.allocated, UINT64_C(9223372036854775808) + 512 + 1024 + 64);
    for (size_t i = 0; i < traced.report.top_block_count; i++)
        assert_non_null(traced.report.top_blocks[i].role);
}

TEST(nothing_at_all)
{
    gm_traced_load("{\"segments\":[],\"device_traces\":[[]]}", NULL, (struct gm_timeline_options){.top = 500});
    assert_int_equal(traced.report.role_count, 0);
    assert_non_null(traced.report.roles);
}

/* A category says which code made a block, a role what it is for: a name or a colour that is both would say two things,
 * side by side in category_breakdown.png. */
TEST(no_name_or_color_is_of_a_category_and_a_role)
{
    struct gm_category_rules *rules = NULL;
    assert_int_equal(gm_category_rules_default(&rules, NULL), GM_OK);
    for (uint32_t category = 0; category < gm_category_count(rules); category++)
        for (size_t role = 0; role < GM_ROLE_COUNT; role++) {
            assert_int_not_equal(strcasecmp(gm_category_name(rules, category), gm_role_name(role)), 0);
            assert_int_not_equal(gm_category_color(rules, category), gm_role_color(role));
        }
    gm_category_rules_free(rules);
}
