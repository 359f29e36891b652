/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps, phases and patterns of small runs, written as JSON; what they must come out as follows from how they are made.
 */
#include "analyze/state/categories.h"
#include "analyze/timeline/trace_pass.h"
#include "tests/timeline/traced.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run being written. Addresses are numbers of blocks; time goes on by 10 us with each event. */
static struct run {
    struct gm_text events, annotations;
    uint64_t count, next;
    bool has_no_times;
} run;

static uint64_t now(void)
{
    return 1000 + 10 * run.count;
}

static void event(const char *action, uint64_t block, uint64_t size, const char *frames)
{
    gm_text_printf(&run.events, "%s{\"action\":\"%s\",\"addr\":%llu,\"size\":%llu", run.count == 0 ? "" : ",", action,
                   (unsigned long long)(4096 + block * 512), (unsigned long long)size);
    if (!run.has_no_times)
        gm_text_printf(&run.events, ",\"time_us\":%llu", (unsigned long long)now());
    if (frames != NULL)
        gm_text_printf(&run.events, ",\"frames\":[%s]", frames);
    gm_text_add(&run.events, "}");
    run.count++;
}

/* A frame of main.py outside of everything, and what is inside of it. */
#define FRAME(name, file, line) "{\"name\":\"" name "\",\"filename\":\"" file "\",\"line\":" #line "}"
#define MAIN(line) FRAME("main", "main.py", line)
#define MODULE FRAME("_call_impl", "torch/nn/modules/module.py", 1700)
#define FORWARD(file, line) FRAME("forward", file, line) "," MODULE "," MAIN(5)
#define BACKWARD FRAME("backward", "torch/_tensor.py", 600) "," MAIN(6)
#define ADAM FRAME("adam", "torch/optim/adam.py", 400) "," MAIN(7)

static uint64_t alloc(uint64_t size, const char *frames)
{
    event("alloc", run.next, size, frames);
    return run.next++;
}

static void release(uint64_t block, uint64_t size)
{
    event("free_requested", block, size, NULL);
    event("free_completed", block, size, NULL);
}

static void annotate(const char *stage, const char *name, uint64_t time)
{
    gm_text_printf(&run.annotations, "%s{\"stage\":\"%s\",\"name\":\"%s\",\"device\":0,\"time_us\":%llu}",
                   run.annotations.length == 0 ? "" : ",", stage, name, (unsigned long long)time);
}

/* ---- the pass on it ---------------------------------------------------------------------------------------------- */

static struct found {
    struct gm_classifier *classifier;
    struct gm_names names;
    struct gm_timeline_options options;
    struct gm_device_timeline out;
    struct gm_trace_pass pass;
} found;

static int forget(void **state)
{
    free(found.pass.phase);
    free(found.pass.ranges);
    free(found.pass.range_changes);
    gm_history_free(&found.pass.history);
    gm_names_free(&found.names);
    gm_classifier_free(found.classifier);
    found = (struct found){.options = {.top = 10}};
    return 0;
}
AROUND_EACH(NULL, forget)

static struct gm_steps *find_steps(void)
{
    GM_FREED struct gm_text text = {0};
    struct gm_error err = {0};
    forget(NULL);
    gm_text_printf(&text, "{\"segments\":[],\"device_traces\":[[%s]],\"external_annotations\":[%s]}",
                   run.events.data == NULL ? "" : run.events.data,
                   run.annotations.data == NULL ? "" : run.annotations.data);
    assert_false(text.failed);
    gm_traced_load(text.data, NULL, found.options);
    assert_int_equal(gm_classifier_new(&found.classifier, traced.rules, &traced.snapshot, &err), GM_OK);
    assert_true(gm_names_init(&found.names, &traced.snapshot, &traced.report.arena));
    found.options.rules = traced.rules;
    found.options.classifier = found.classifier;
    found.pass = (struct gm_trace_pass){.snapshot = &traced.snapshot,
                                        .options = &found.options,
                                        .report = &traced.report,
                                        .names = &found.names,
                                        .out = &found.out};
    assert_int_equal(gm_history_build(&found.pass.history, &traced.snapshot, 0, NULL, &err), GM_OK);
    found.pass.to = (uint32_t)found.pass.history.count;
    assert_true(gm_trace_find_steps(&found.pass));
    assert_true(gm_trace_steps(&found.pass));
    gm_trace_forget_steps(&found.pass); /* of a trace without events */
    gm_text_free(&run.events);
    gm_text_free(&run.annotations);
    run = (struct run){0};
    return &found.out.steps;
}

/* ---- annotations ------------------------------------------------------------------------------------------------- */

TEST(profiler_steps)
{
    uint64_t kept = alloc(100, MAIN(1)); /* event 0, before the steps */
    (void)kept;
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", 7 + i);
        annotate("START", name, now());
        uint64_t a = alloc(1000, MAIN(2)); /* 100 + 30 i + 1000 */
        uint64_t b = alloc(500, MAIN(3));  /* the peak: 1600 + 30 i */
        release(a, 1000);
        release(b, 500);
        alloc(30, MAIN(4)); /* the end: 130 + 30 i */
        if (i < 2)
            annotate("END", name, now() - 1);
    }
    const struct gm_steps *steps = find_steps();
    assert_string_equal(steps->source, "ProfilerStep annotations");
    assert_int_equal(steps->certainty, 100);
    assert_int_equal(steps->row_count, 3);
    for (uint64_t i = 0; i < 3; i++) {
        const struct gm_step_row *row = &steps->rows[i];
        assert_int_equal(row->number, 7 + i);
        assert_int_equal(row->first_event, 1 + 7 * i);
        assert_int_equal(row->last_event, 7 + 7 * i);
        assert_int_equal(row->peak.requested, 1600 + 30 * i);
        assert_int_equal(row->peak_event, 2 + 7 * i);
        assert_int_equal(row->end.requested, 130 + 30 * i);
        assert_int_equal(row->growth, 30);
        assert_int_equal(row->allocs, 3);
        assert_int_equal(row->alloc_bytes, 1530);
        assert_int_equal(row->is_partial, i == 2); /* its END is not in the file */
        for (uint64_t e = row->first_event; e <= row->last_event; e++)
            assert_int_equal(gm_trace_step_at(&found.pass, e), i);
    }
    assert_string_equal(steps->rows[1].label, "ProfilerStep#8");
    assert_int_equal(gm_trace_step_at(&found.pass, 0), GM_NEVER);
    assert_true(found.pass.out->steps.covered > 2.9 && found.pass.out->steps.covered < 3);
    assert_int_equal(steps->pattern, GM_PATTERN_UNKNOWN); /* two whole steps */
    assert_null(found.pass.phase);
}

TEST(nested_and_lost_annotations)
{
    annotate("END", "lost start", 1020); /* events 0 to 2 */
    for (int i = 0; i < 10; i++)
        alloc(1, MAIN(1));
    annotate("END", "outer", 1080); /* not sorted by time */
    annotate("START", "inner", 1040);
    annotate("START", "outer", 1030);
    annotate("END", "inner", 1049);
    annotate("START", "outer", 1060); /* one of the same name inside */
    annotate("END", "outer", 1061);
    annotate("START", "lost end", 1085); /* event 9 */
    annotate("START", "long after", 5000);
    annotate("END", "long after", 6000);
    const struct gm_steps *steps = find_steps();
    static const struct {
        const char *name;
        uint64_t first, last;
        unsigned depth;
    } should[] = {
        {"lost start", 0, 2, 0}, {"outer", 3, 8, 0}, {"inner", 4, 4, 1}, {"outer", 6, 6, 1}, {"lost end", 9, 9, 0}};
    assert_int_equal(steps->band_count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(steps->bands[i].name, should[i].name);
        assert_int_equal(steps->bands[i].first_event, should[i].first);
        assert_int_equal(steps->bands[i].last_event, should[i].last);
        assert_int_equal(steps->bands[i].depth, should[i].depth);
    }
    assert_null(steps->source);
    assert_true(found.pass.out->steps.row_total == 0);
}

TEST(annotations_as_events)
{
    run.has_no_times = true;
    alloc(1, MAIN(1));
    event("user_defined", 0, 0, FRAME("START", "part", 0));
    alloc(1, MAIN(1));
    event("user_defined", 0, 0, FRAME("END", "part", 0));
    alloc(1, MAIN(1));
    const struct gm_steps *steps = find_steps();
    assert_int_equal(steps->band_count, 1);
    assert_string_equal(steps->bands[0].name, "part");
    assert_int_equal(steps->bands[0].first_event, 1);
    assert_int_equal(steps->bands[0].last_event, 3);
    assert_true(steps->bands[0].from_us == GM_REPORT_NONE);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* One step: 3 activations, 2 gradients, a temporary of the optimizer; `states` of the optimizer stay if this is the
 * first. Returns the events of its optimizer. */
static void train(uint64_t scale, bool is_first, bool annotated)
{
    uint64_t a[3], g[2];
    a[0] = alloc(100 * scale, FORWARD("model.py", 10));
    a[1] = alloc(100 * scale, FORWARD("model.py", 11));
    a[2] = alloc(10 * scale, MAIN(51)); /* the loss: no frame says what it is */
    g[0] = alloc(50 * scale, BACKWARD);
    release(a[2], 10 * scale);
    release(a[1], 100 * scale);
    g[1] = alloc(50 * scale, BACKWARD);
    release(a[0], 100 * scale);
    if (annotated)
        annotate("START", "Optimizer.step#Adam.step", now());
    if (is_first) {
        alloc(50 * scale, ADAM);
        alloc(50 * scale, ADAM);
    }
    uint64_t t = alloc(20 * scale, ADAM);
    release(t, 20 * scale);
    if (annotated)
        annotate("END", "Optimizer.step#Adam.step", now() - 1);
    release(g[0], 50 * scale);
    release(g[1], 50 * scale);
}

static void check_training(const char *source)
{
    const struct gm_steps *steps = &found.out.steps;
    assert_string_equal(steps->source, source);
    assert_int_equal(steps->row_count, 8);
    /* 2 events make the model; a step has 6 allocs and 6 frees of two events, the first one 2 allocs more */
    assert_int_equal(steps->rows[0].first_event, 2);
    for (uint64_t i = 0; i < 8; i++) {
        const struct gm_step_row *row = &steps->rows[i];
        uint64_t last = 2 + 18 * (i + 1) + 2 - 4 - 1; /* the gradients are freed after it */
        uint64_t base = i == 0 ? 0 : MIB(100);
        assert_int_equal(row->last_event, last);
        assert_int_equal(row->number, i + 1);
        assert_int_equal(row->phase_peak[GM_PHASE_FORWARD], MIB(800) + base + MIB(210));
        assert_int_equal(row->phase_peak[GM_PHASE_BACKWARD], MIB(800) + base + MIB(260));
        assert_int_equal(row->phase_peak[GM_PHASE_OPTIMIZER], MIB(800) + MIB(100) + MIB(100) + MIB(20));
        assert_true(row->phase_peak[GM_PHASE_DECODE] == GM_REPORT_NONE);
        assert_int_equal(row->peak.requested, row->phase_peak[GM_PHASE_BACKWARD]);
        assert_int_equal(row->end.requested, MIB(800) + MIB(100) + MIB(100));
        assert_false(row->is_partial);
    }
    assert_int_equal(gm_phase_of(found.pass.phase, 0), GM_PHASE_OTHER);
    assert_int_equal(gm_phase_of(found.pass.phase, 4), GM_PHASE_FORWARD); /* the loss */
    assert_int_equal(gm_phase_of(found.pass.phase, 5),
                     GM_PHASE_BACKWARD); /* its first allocation, and the frees after it */
    assert_int_equal(gm_phase_of(found.pass.phase, 9), GM_PHASE_BACKWARD);
    assert_int_equal(gm_phase_of(found.pass.phase, 13), GM_PHASE_OPTIMIZER);
    assert_int_equal(steps->pattern, GM_PATTERN_WARM_UP);
    assert_int_equal(steps->warm_up, 1);
    assert_int_equal(steps->survivor_count, 0);
    assert_non_null(steps->pattern_detail);
}

/* What a checkpoint runs again in autograd's thread, whose stacks begin in a hook, is a part of the backward pass. */
TEST(recomputed_in_backward)
{
    uint32_t again = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t kept = alloc(MIB(100), FORWARD("model.py", 10)), g = alloc(MIB(50), "");
        again = (uint32_t)run.count;
        uint64_t made = alloc(MIB(100), FRAME("forward", "model.py", 10) "," MODULE "," FRAME(
                                            "recompute_fn", "torch/utils/checkpoint.py",
                                            20) "," FRAME("unpack_hook", "torch/utils/checkpoint.py", 13));
        release(made, MIB(100));
        release(kept, MIB(100));
        release(alloc(MIB(20), ADAM), MIB(20));
        release(g, MIB(50));
    }
    find_steps();
    assert_int_equal(gm_phase_of(found.pass.phase, again - 1), GM_PHASE_BACKWARD);
    assert_int_equal(gm_phase_of(found.pass.phase, again), GM_PHASE_BACKWARD);
}

TEST(optimizer_steps)
{
    for (int annotated = 0; annotated < 2; annotated++) {
        alloc(MIB(400), FRAME("__init__", "model.py", 1) "," MAIN(1));
        alloc(MIB(400), FRAME("__init__", "model.py", 2) "," MAIN(1));
        for (int i = 0; i < 8; i++)
            train(MIB(1), i == 0, annotated);
        find_steps();
        check_training(annotated ? "Optimizer.step annotations" : "stacks of optimizer steps");
    }
}

/* Forward and back; gradients that are there already are added to. */
static void pass_of(const uint64_t *gradients, uint64_t *made)
{
    const uint64_t a = alloc(MIB(100), FORWARD("model.py", 10)), b = alloc(MIB(100), FORWARD("model.py", 11));
    const uint64_t activations[] = {b, a};
    for (int k = 0; k < 2; k++) {
        const uint64_t g = alloc(MIB(50), BACKWARD);
        release(activations[k], MIB(100));
        if (gradients != NULL)
            release(g, MIB(50));
        else
            made[k] = g;
    }
}

/* Optimizers that make their states once (fused ones), or nothing (SGD), of which no annotation tells: two passes add
 * up to a step, up to where a line gives the gradients up. */
TEST(optimizers_that_make_nothing)
{
    for (int has_states = 0; has_states < 2; has_states++) {
        uint64_t ends[6], g[2], states = has_states ? 2 : 0;
        for (int i = 0; i < 6; i++) {
            pass_of(NULL, g);
            pass_of(g, NULL);
            for (uint64_t k = 0; i == 0 && k < states; k++)
                alloc(MIB(50), ADAM);
            ends[i] = run.count - 1;
            for (int k = 0; k < 2; k++) {
                event("free_requested", g[k], MIB(50), MAIN(8));
                event("free_completed", g[k], MIB(50), MAIN(8));
            }
        }
        const struct gm_steps *steps = find_steps();
        assert_string_equal(steps->source, "backward passes");
        assert_int_equal(steps->row_count, 6);
        for (size_t i = 0; i < steps->row_count; i++) {
            assert_int_equal(steps->rows[i].last_event, ends[i]);
            assert_false(steps->rows[i].is_partial);
        }
    }
}

/* An optimizer of the program's own ends steps that nobody sees the end of: what repeats tells. */
TEST(own_optimizer_of_gradients)
{
    uint64_t g[2];
    for (int i = 0; i < 6; i++) {
        pass_of(NULL, g);
        for (int k = 0; k < 6; k++)
            release(alloc(MIB(50), MAIN(7)), MIB(50));
        for (int k = 0; k < 2; k++)
            release(g[k], MIB(50));
    }
    const char *source = find_steps()->source;
    assert_non_null(source);
    assert_string_equal(source, "repeating allocations");
}

/* Functions of the program instead of modules, torch.autograd.grad() instead of backward(), and an update by hand: the
 * thread that called it goes on after backward, while a hook is a part of it. */
TEST(gradients_without_backward)
{
    enum { LAYERS = 4 };
    uint64_t a[LAYERS], g[LAYERS];
    for (int i = 0; i < 6; i++) {
        uint64_t batch = alloc(MIB(5), MAIN(1));
        for (int k = 0; k < LAYERS; k++)
            a[k] = alloc(MIB(100), FRAME("net", "main.py", 20) "," MAIN(2));
        uint64_t root = alloc(512, FRAME("_make_grads", "torch/autograd/__init__.py",
                                         80) "," FRAME("grad", "torch/autograd/__init__.py", 500) "," MAIN(3));
        for (int k = 0; k < LAYERS; k++) {
            g[k] = alloc(MIB(50), "");
            release(a[LAYERS - 1 - k], MIB(100));
        }
        release(alloc(MIB(1), FRAME("hook", "main.py", 30)), MIB(1));
        for (int k = 0; k < LAYERS; k++) {
            release(alloc(MIB(50), MAIN(5)), MIB(50));
            release(g[k], MIB(50));
        }
        release(root, 512);
        release(batch, MIB(5));
    }
    const struct gm_steps *steps = find_steps();
    assert_string_equal(steps->source, "repeating allocations");
    assert_int_equal(steps->row_count, 6);
    const uint32_t first = (uint32_t)steps->rows[1].first_event;
    assert_int_equal(gm_phase_of(found.pass.phase, first), GM_PHASE_FORWARD); /* the batch */
    assert_int_equal(gm_phase_of(found.pass.phase, first + LAYERS), GM_PHASE_FORWARD);
    assert_int_equal(gm_phase_of(found.pass.phase, first + 2 + LAYERS), GM_PHASE_BACKWARD);
    assert_int_equal(gm_phase_of(found.pass.phase, first + 2 + 4 * LAYERS), GM_PHASE_BACKWARD); /* the hook */
    assert_int_equal(gm_phase_of(found.pass.phase, first + 2 + 4 * LAYERS + 3), GM_PHASE_OTHER);
}

/* An optimizer for each of three parameters that steps as soon as the gradient is there: one backward ends one step. */
TEST(steps_inside_of_backward)
{
    for (int i = 0; i < 6; i++) {
        uint64_t a = alloc(MIB(1), FORWARD("model.py", 10));
        for (int k = 0; k < 3; k++) {
            uint64_t g = alloc(MIB(1), BACKWARD), t = alloc(MIB(1), ADAM);
            release(t, MIB(1));
            release(g, MIB(1));
        }
        release(a, MIB(1));
    }
    const struct gm_steps *steps = find_steps();
    assert_string_equal(steps->source, "stacks of optimizer steps");
    assert_int_equal(steps->row_count, 6);
    for (size_t i = 0; i < steps->row_count; i++) { /* 7 allocations and their frees, up to the last temporary's */
        assert_int_equal(steps->rows[i].last_event, 21 * i + 16);
        assert_false(steps->rows[i].is_partial);
    }
}

/* A pass forward and back, and a step of an optimizer of parameters of `size` bytes that is called from `frames`. */
static void play(uint64_t size, const char *frames, bool annotated)
{
    uint64_t a = alloc(MIB(1), FORWARD("model.py", 10)), g = alloc(size, BACKWARD);
    release(a, MIB(1));
    if (annotated)
        annotate("START", "Optimizer.step#Adam.step", now());
    uint64_t t = alloc(size, frames);
    release(t, size);
    if (annotated)
        annotate("END", "Optimizer.step#Adam.step", now() - 1);
    release(g, size);
}

/* Two optimizers of one class in turns end a step together. One that is called from two places, or two that step one
 * after the other in loops of their own, end one each time. */
TEST(optimizers_of_one_class)
{
    static const struct {
        const char *turns;
        uint64_t sizes[2];
        size_t rows;
    } runs[] = {{"abababab", {MIB(1), MIB(3)}, 4},
                {"aabaabaabaab", {MIB(1), MIB(3)}, 4},
                {"abababab", {MIB(1), MIB(1)}, 8},
                {"aaaabbbb", {MIB(1), MIB(3)}, 8}};
    for (size_t i = 0; i < 2 * sizeof runs / sizeof *runs; i++) {
        for (const char *c = runs[i / 2].turns; *c != 0; c++)
            play(runs[i / 2].sizes[*c - 'a'], *c == 'a' ? ADAM : FRAME("adam", "torch/optim/adam.py", 400) "," MAIN(8),
                 i % 2 == 1);
        const struct gm_steps *steps = find_steps();
        assert_string_equal(steps->source, i % 2 == 1 ? "Optimizer.step annotations" : "stacks of optimizer steps");
        size_t whole = 0;
        for (size_t k = 0; k < steps->row_count; k++)
            whole += !steps->rows[k].is_partial;
        assert_int_equal(whole, runs[i / 2].rows);
    }
}

/* ---- periods ----------------------------------------------------------------------------------------------------- */

/* One round of inference: embedding, 6 layers of 3 allocations, the head. The stacks of the layers are equal. */
static void infer(uint64_t extra)
{
#define LAYER(line) FRAME("forward", "layer.py", line) "," MODULE "," FORWARD("model.py", 20)
    uint64_t hidden = alloc(1000, FORWARD("model.py", 19));
    for (int layer = 0; layer < 6; layer++) {
        uint64_t a = alloc(4000, LAYER(1)), b = alloc(2000, LAYER(2));
        release(a, 4000);
        uint64_t next = alloc(1000, LAYER(3));
        release(b, 2000);
        release(hidden, 1000);
        hidden = next;
    }
    uint64_t out = alloc(300 + extra, FORWARD("model.py", 21));
    release(hidden, 1000);
    release(out, 300 + extra);
}

TEST(rounds_of_inference)
{
    for (int i = 0; i < 5; i++)
        alloc((uint64_t)(700 + i), FRAME("__init__", "model.py", 1) "," MAIN(1));
    for (int i = 0; i < 7; i++)
        infer(0);
    const struct gm_steps *steps = find_steps();
    assert_string_equal(steps->source, "repeating allocations");
    assert_int_equal(steps->certainty, 100);
    assert_true(steps->period_events == 60); /* 20 allocations, each freed by two events */
    assert_int_equal(steps->row_count, 7);
    for (uint64_t i = 0; i < 7; i++) {
        assert_int_equal(steps->rows[i].first_event, 5 + 60 * i);
        assert_int_equal(steps->rows[i].last_event, 4 + 60 * (i + 1));
        assert_int_equal(steps->rows[i].peak.requested, 3510 + 7000);
        assert_int_equal(steps->rows[i].end.requested, 3510);
        assert_int_equal(steps->rows[i].allocs, 20);
    }
    assert_int_equal(steps->pattern, GM_PATTERN_STABLE);
    assert_null(found.pass.phase); /* nothing says prefill or decode */
}

/* A round of other sizes than most (a prompt before its tokens) is one, too: the program is at the same line again. */
TEST(rounds_of_other_sizes)
{
    for (int i = 0; i < 36; i++) {
        uint64_t scale = i % 12 == 0 ? 64 : 1, ids = alloc(100 * scale, MAIN(10));
        for (int k = 0; k < 20; k++) {
            char frames[500];
            snprintf(frames, sizeof frames, "{\"name\":\"forward\",\"filename\":\"model.py\",\"line\":%d},%s", k,
                     MODULE "," MAIN(11));
            uint64_t a = alloc(1000 * scale, frames);
            release(a, 1000 * scale);
        }
        release(ids, 100 * scale);
    }
    const struct gm_steps *steps = find_steps();
    assert_string_equal(steps->source, "repeating allocations");
    assert_int_equal(steps->row_count, 36);
    for (size_t i = 0; i < 36; i++) {
        assert_int_equal(steps->rows[i].first_event, 63 * i);
        assert_int_equal(steps->rows[i].last_event, 63 * i + 62);
        assert_false(steps->rows[i].is_partial);
    }
}

TEST(layers_are_no_steps)
{
    infer(0);
    const struct gm_steps *steps = find_steps();
    assert_null(steps->source);
    assert_int_equal(steps->row_count, 0);
    assert_int_equal(gm_trace_step_at(&found.pass, 0), GM_NEVER);
}

/* A trace of nothing but layers, cut off in the first and in the last one: 8 allocations each, of which `keeps` stay
 * for the backward pass that the trace does not reach, and the block that the next layer takes. */
static void layers(int count, int keeps, bool has_stacks)
{
#define BLOCK(line) FRAME("forward", "layer.py", line) "," MODULE "," FORWARD("model.py", 20)
    static const char *const stacks[8] = {BLOCK(1), BLOCK(2), BLOCK(3), BLOCK(4),
                                          BLOCK(5), BLOCK(6), BLOCK(7), BLOCK(8)};
    uint64_t hidden = UINT64_MAX;
    for (int layer = 0; layer < count; layer++) {
        uint64_t made[8];
        for (int k = layer == 0 ? 5 : 0; k < (layer == count - 1 ? 3 : 8); k++) {
            made[k] = alloc((uint64_t)(1000 + 10 * k), has_stacks ? stacks[k] : NULL);
            if (k == 5 && hidden != UINT64_MAX)
                release(hidden, 1070);
            if (k < 7 && k >= keeps)
                release(made[k], (uint64_t)(1000 + 10 * k));
        }
        hidden = made[7];
    }
}

/* Whatever the trace is cut to: one forward pass has no steps. */
TEST(layers_alone_are_no_steps)
{
    for (int keeps = 0; keeps <= 6; keeps += 3)
        for (int has_stacks = 0; has_stacks < 2; has_stacks++) {
            layers(29, keeps, has_stacks);
            const struct gm_steps *steps = find_steps();
            assert_null(steps->source);
            assert_int_equal(steps->row_count, 0);
        }
}

/* A module around the model: every stack comes through one line of its forward. The model's layers are inside of the
 * rounds, the embedding and the head are not of them: those are steps. */
TEST(rounds_inside_of_a_wrapper)
{
#define WRAPPED FRAME("forward", "model.py", 20) "," MODULE "," FORWARD("wrapper.py", 9)
#define EMBED FRAME("forward", "model.py", 19) "," MODULE "," FORWARD("wrapper.py", 9)
    for (int i = 0; i < 5; i++) {
        uint64_t hidden = alloc(900, EMBED);
        for (int layer = 0; layer < 6; layer++)
            for (int k = 0; k < 8; k++) {
                char frames[500];
                snprintf(frames, sizeof frames, "{\"name\":\"forward\",\"filename\":\"layer.py\",\"line\":%d},%s", k,
                         MODULE "," WRAPPED);
                uint64_t next = alloc(1000, frames);
                release(hidden, layer == 0 && k == 0 ? 900 : 1000);
                hidden = next;
            }
        release(hidden, 1000);
    }
    const struct gm_steps *steps = find_steps();
    assert_string_equal(steps->source, "repeating allocations");
    assert_int_equal(steps->row_count, 5);
    assert_true(steps->period_events == 49 * 3);
}

/* Without stacks only what comes again and again altogether is a step; layers leave an embedding and a head over. */
TEST(without_stacks)
{
    for (int rounds = 1; rounds <= 6; rounds += 5) {
        for (int i = 0; i < rounds; i++) {
            alloc(77, NULL);
            for (int layer = 0; layer < 12; layer++) {
                for (uint64_t k = 0; k < 9; k++) {
                    uint64_t a = alloc(1000 + 10 * k, NULL);
                    release(a, 1000 + 10 * k);
                }
            }
            alloc(78, NULL);
        }
        const struct gm_steps *steps = find_steps();
        assert_int_equal(steps->row_count, rounds == 1 ? 0 : rounds);
        assert_true(rounds == 1 || steps->period_events == 2 + 12 * 9 * 3);
    }
}

TEST(prefill_and_decode)
{
    enum { ROUNDS = 9, PARTS = 12 };
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t blocks[PARTS], size = i == 0 ? 64000 : 1000 + i; /* the first round takes the whole prompt */
        for (int k = 0; k < PARTS; k++) {
            char frames[400];
            snprintf(frames, sizeof frames,
                     "{\"name\":\"forward\",\"filename\":\"model.py\",\"line\":%d}," MODULE
                     "," FRAME("generate", "generation.py", 3) "," MAIN(5),
                     10 + k);
            blocks[k] = alloc(size, frames);
        }
        for (int k = 0; k < PARTS; k++)
            release(blocks[k], size);
    }
    const struct gm_steps *steps = find_steps();
    assert_string_equal(steps->source, "repeating allocations");
    assert_int_equal(steps->row_count, ROUNDS);
    assert_non_null(found.pass.phase);
    assert_int_equal(gm_phase_of(found.pass.phase, 0), GM_PHASE_PREFILL);
    assert_int_equal(gm_phase_of(found.pass.phase, 35), GM_PHASE_PREFILL);
    assert_int_equal(gm_phase_of(found.pass.phase, 36), GM_PHASE_DECODE);
    assert_int_equal(steps->rows[0].phase_peak[GM_PHASE_PREFILL], 64000 * PARTS);
    assert_int_equal(steps->rows[8].phase_peak[GM_PHASE_DECODE], 1008 * PARTS);
}

/* ---- steps that the trace's ends cut off ------------------------------------------------------------------------- */

/* The trace ends before the last round has freed anything, and before its last allocation: its end is no end. */
TEST(a_round_without_its_frees)
{
    for (int rounds = 4, lacks = 0; rounds <= 6; rounds++, lacks = rounds == 6) {
        for (int i = 0; i < rounds; i++) {
            enum { MADE = 60 };
            uint64_t made[MADE];
            int count = i + 1 < rounds ? MADE : MADE - lacks;
            for (int k = 0; k < count; k++)
                made[k] = alloc(1000, k == 0 ? MAIN(10) : k % 2 == 0 ? MAIN(11) : MAIN(12));
            for (int k = 0; k < count && (i + 1 < rounds || lacks > 0); k++)
                release(made[k], 1000);
        }
        const struct gm_steps *steps = find_steps();
        assert_string_equal(steps->source, "repeating allocations");
        assert_int_equal(steps->row_count, rounds);
        for (int i = 0; i < rounds; i++)
            assert_int_equal(steps->rows[i].is_partial, i == rounds - 1);
        assert_true(found.pass.out->steps.covered < rounds);
        assert_int_equal(steps->pattern, GM_PATTERN_STABLE);
        assert_true(steps->slope == 0);
    }
}

/* The trace begins inside of the first step, at an allocation like the one that steps begin with. */
TEST(a_trace_that_begins_inside_a_step)
{
    for (int lacks = 0; lacks <= 4; lacks += 4) {
        for (int i = 0; i < 4; i++) {
            uint64_t a[10], g[10];
            for (int k = 0; k < 10; k++) /* the first ones came before the trace */
                a[k] = i == 0 && k < lacks ? run.next++ : alloc(100, FORWARD("model.py", 10));
            for (int k = 0; k < 10; k++) {
                g[k] = alloc(50, BACKWARD);
                release(a[k], 100);
            }
            release(alloc(20, ADAM), 20);
            for (int k = 0; k < 10; k++)
                release(g[k], 50);
        }
        const struct gm_steps *steps = find_steps();
        assert_string_equal(steps->source, "stacks of optimizer steps");
        assert_int_equal(steps->row_count, 4);
        for (int i = 0; i < 4; i++)
            assert_int_equal(steps->rows[i].is_partial, i == 0 && lacks > 0);
        assert_int_equal(steps->pattern, lacks > 0 ? GM_PATTERN_STABLE : GM_PATTERN_WARM_UP);
    }
}

/* ---- patterns ---------------------------------------------------------------------------------------------------- */

/* A step of 10 allocations that are freed, peaking at MIB(10). */
static void work(void)
{
    static const char *const frames[10] = {MAIN(10), MAIN(11), MAIN(12), MAIN(13), MAIN(14),
                                           MAIN(15), MAIN(16), MAIN(17), MAIN(18), MAIN(19)};
    uint64_t blocks[10];
    for (int k = 0; k < 10; k++)
        blocks[k] = alloc(MIB(1), frames[k]);
    for (int k = 0; k < 10; k++)
        release(blocks[k], MIB(1));
}

TEST(a_leak)
{
    for (int i = 0; i < 20; i++) {
        work();
        alloc(MIB(1) / 4, FRAME("remember", "leak.py", 12) "," MAIN(30));
    }
    /* all that the device has: 100 MiB; no segment was ever seen, so it is what the driver has left */
    gm_text_printf(&run.events, ",{\"action\":\"oom\",\"size\":1,\"device_free\":%llu,\"time_us\":900000}",
                   (unsigned long long)MIB(100));
    const struct gm_steps *steps = find_steps();
    assert_int_equal(steps->row_total, 20);
    assert_int_equal(steps->pattern, GM_PATTERN_GROWTH);
    assert_true(steps->slope == MIB(1) / 4);
    assert_true(steps->survivor_count >= 1);
    assert_non_null(strstr(steps->survivors[0].label, "leak.py:12"));
    assert_int_equal(steps->survivors[0].blocks, 18 - steps->warm_up); /* of the last two it cannot be said */
    assert_int_equal(steps->survivors[0].bytes, steps->survivors[0].blocks * (MIB(1) / 4));
    assert_int_equal(steps->survivor_count, 1);
    assert_int_equal(steps->capacity, MIB(100));
    /* the last step peaks at 19 / 4 + 10 MiB; the 85.25 MiB above that are 341 steps */
    assert_int_equal(steps->steps_to_oom, 341);
    assert_non_null(strstr(steps->pattern_detail, "256.0 KiB a step"));
    assert_non_null(strstr(steps->pattern_detail, "leak.py:12"));
}

TEST(a_ring_is_no_leak)
{
    uint64_t ring[40];
    for (int i = 0; i < 40; i++) {
        work();
        ring[i] = alloc(MIB(1), FRAME("keep", "ring.py", 1) "," MAIN(30));
        if (i >= 4)
            release(ring[i - 4], MIB(1));
    }
    const struct gm_steps *steps = find_steps();
    assert_true(steps->row_total >= 39);
    assert_true(steps->pattern == GM_PATTERN_STABLE || steps->pattern == GM_PATTERN_WARM_UP);
    assert_int_equal(steps->survivor_count, 0);
}

TEST(a_spike)
{
    for (int i = 0; i < 20; i++) {
        work();
        if (i == 13) {
            uint64_t big = alloc(MIB(40), FRAME("evaluate", "eval.py", 77) "," MAIN(31));
            release(big, MIB(40));
        }
    }
    const struct gm_steps *steps = find_steps();
    assert_int_equal(steps->row_total, 20);
    assert_int_equal(steps->pattern, GM_PATTERN_SPIKE);
    assert_non_null(strstr(steps->pattern_detail, "Step 14 peaks at 40.00 MiB, 30.00 MiB above"));
    assert_non_null(strstr(steps->pattern_detail, "eval.py:77"));
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static enum gm_status window(enum gm_place_kind kind, uint64_t from, uint64_t to, struct gm_error *err)
{
    found.options.from = (struct gm_place){kind, from};
    found.options.to = (struct gm_place){kind, to};
    return gm_trace_window(&found.pass, err);
}

TEST(places)
{
    struct gm_error err = {0};
    for (int i = 0; i < 7; i++)
        infer(0);
    find_steps();
    assert_int_equal(gm_trace_window(&found.pass, &err), GM_OK);
    assert_int_equal(found.pass.from, 0);
    assert_int_equal(found.pass.to, 420);
    assert_int_equal(window(GM_PLACE_EVENT, 0, 419, &err), GM_OK);
    assert_int_equal(found.pass.from, 1);
    assert_int_equal(found.pass.to, 420);
    assert_int_equal(window(GM_PLACE_STEP, 2, 3, &err), GM_OK);
    assert_int_equal(found.pass.from, 61);
    assert_int_equal(found.pass.to, 180);
    /* events come 10 us apart: the first at or after 95 is 10, the last at or before 105 too */
    assert_int_equal(window(GM_PLACE_TIME, 95, 105, &err), GM_OK);
    assert_int_equal(found.pass.from, 11);
    assert_int_equal(found.pass.to, 11);
    assert_int_equal(window(GM_PLACE_TIME, 0, UINT64_MAX, &err), GM_OK);
    assert_int_equal(found.pass.to, 420);
    assert_int_equal(window(GM_PLACE_EVENT, 420, 420, &err), GM_E_USAGE);
    assert_non_null(strstr(err.message, "no event 420"));
    assert_int_equal(window(GM_PLACE_EVENT, 5, 4, &err), GM_E_USAGE);
    assert_int_equal(window(GM_PLACE_STEP, 1, 8, &err), GM_E_USAGE);
    assert_non_null(strstr(err.message, "no step 8"));
    assert_int_equal(window(GM_PLACE_TIME, 4200, 4200, &err), GM_E_USAGE);
}

/* ---- hostile ----------------------------------------------------------------------------------------------------- */

TEST(strange_annotations)
{
    enum { MANY = 20000 };
    for (int i = 0; i < 50; i++)
        alloc(UINT64_MAX - 1 - (uint64_t)i, MAIN(1));
    for (uint64_t i = 0; i < MANY; i++) /* all open at once, and more ENDs than STARTs */
        annotate(i % 3 == 0 ? "START" : "END", i % 2 == 0 ? "ProfilerStep#99999999999999999999" : "ProfilerStep#1",
                 1000 + i * 7919 % 500);
    const struct gm_steps *steps = find_steps();
    assert_true(steps->band_count <= 1200);
    for (size_t i = 0; i < steps->row_count; i++)
        assert_true(steps->rows[i].first_event <= steps->rows[i].last_event && steps->rows[i].last_event < 50 &&
                    (i == 0 || steps->rows[i - 1].last_event < steps->rows[i].first_event));
}

TEST(more_steps_than_rows)
{
    enum { STEPS = 6000 };
    for (uint64_t i = 0; i < STEPS; i++) {
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%llu", (unsigned long long)i);
        annotate("START", name, now());
        uint64_t a = alloc(i == 3000 ? 5000 : 100 + i % 7, MAIN(1));
        release(a, i == 3000 ? 5000 : 100 + i % 7);
        annotate("END", name, now() - 1);
    }
    const struct gm_steps *steps = find_steps();
    assert_int_equal(steps->row_total, STEPS);
    assert_int_equal(steps->row_count, 4096);
    assert_true(steps->covered == STEPS);
    assert_int_equal(steps->rows[0].number, 0);
    assert_int_equal(steps->rows[4095].number, STEPS - 1);
    bool has_highest = false;
    for (size_t i = 0; i < steps->row_count; i++) {
        has_highest |= steps->rows[i].number == 3000 && steps->rows[i].peak.requested == 5000;
        assert_int_equal(gm_trace_step_at(&found.pass, steps->rows[i].first_event), i);
    }
    assert_true(has_highest);
}
