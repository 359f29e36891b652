/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose the bytes at the peak are: calls of modules told apart by successive stacks, layers that repeat, labels.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/timeline/traced.h"
#include "tests/unit.h"

static const char rules_text[] = "tier only\ncategory Rest\n  name never\n";

#define MODULE "/x/site-packages/torch/nn/modules/module.py"

/* A trace that is written line by line: a stack, outermost first, as "main@t.py:5 !forward@m.py:36 linear@l.py:3"; with
 * ! a module's code, which nn.Module's call stands before. */
struct script {
    char json[1 << 16];
    size_t n;
    unsigned events;
};

static void add(struct script *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct script *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(s->json + s->n, sizeof s->json - s->n, format, args);
    va_end(args);
    assert_true(n >= 0 && s->n + (size_t)n < sizeof s->json);
    s->n += (size_t)n;
}

static void add_frame(struct script *s, const char *name, const char *file, unsigned line)
{
    add(s, "{\"name\":\"%s\",\"filename\":\"%s\",\"line\":%u},", name, file, line);
}

/* The frames of `stack`, innermost first. */
static void add_stack(struct script *s, char *stack)
{
    for (char *at = stack + strlen(stack); at > stack;) {
        char *word = at;
        while (word > stack && word[-1] != ' ')
            word--;
        char *sign = strchr(word, '@'), *colon = sign == NULL ? NULL : strchr(sign, ':');
        assert_non_null(sign);
        assert_non_null(colon);
        *sign = *colon = '\0';
        const bool is_module = *word == '!';
        add_frame(s, word + is_module, sign + 1, (unsigned)strtoul(colon + 1, NULL, 10));
        if (is_module) {
            add_frame(s, "_call_impl", MODULE, 1798);
            add_frame(s, "_wrapped_call_impl", MODULE, 1787);
        }
        at = word > stack ? word - 1 : stack;
        *at = '\0';
    }
}

/* An allocation; `more` are further keys of its event, or "". */
static void made_with(struct script *s, unsigned bytes, const char *stack, const char *more)
{
    char copy[512];
    (void)snprintf(copy, sizeof copy, "%s", stack);
    s->events++;
    add(s, "{\"action\":\"alloc\",\"addr\":%u,\"size\":%u,\"stream\":0,\"time_us\":%u%s,\"frames\":[", s->events << 12,
        bytes, s->events * 10, more);
    add_stack(s, copy);
    s->n -= s->json[s->n - 1] == ',';
    add(s, "]},");
}

static void made(struct script *s, unsigned bytes, const char *stack)
{
    made_with(s, bytes, stack, "");
}

static void begin(struct script *s)
{
    s->n = s->events = 0;
    add(s, "{\"segments\":[],\"device_traces\":[[");
}

static const struct gm_modules *analysed(struct script *s, const char *more)
{
    s->n -= s->json[s->n - 1] == ',';
    add(s, "]]%s}", more);
    gm_traced_load(s->json, rules_text, (struct gm_timeline_options){.top = 20});
    return &traced.report.timelines[0].modules;
}

/* The node that `caller:line` calls with code in `file`. */
static const struct gm_module_node *node_at(const struct gm_modules *m, const char *caller, unsigned line,
                                            const char *file)
{
    for (size_t i = 1; i < m->node_count; i++)
        if (strcmp(m->nodes[i].caller, caller) == 0 && m->nodes[i].caller_line == line &&
            strcmp(m->nodes[i].file, file) == 0)
            return &m->nodes[i];
    fail_msg("no node %s:%u > %s", caller, line, file);
    return NULL;
}

TEST(layers_of_a_loop)
{
    (void)state;
    struct script s;
    begin(&s);
    for (int step = 0; step < 2; step++) {
        made(&s, 100, "main@t.py:5 !forward@m.py:33");
        for (int i = 0; i < 3; i++) {
            made(&s, 10, "main@t.py:5 !forward@m.py:36 !forward@m.py:25 !forward@n.py:7");
            made(&s, 20, "main@t.py:5 !forward@m.py:36 !forward@m.py:26");
        }
        made(&s, 1, "main@t.py:6");
    }
    const struct gm_modules *m = analysed(&s, "");
    assert_int_equal(m->nodes[0].own, 2);
    assert_int_equal(m->nodes[0].bytes, 382);
    const struct gm_module_node *model = node_at(m, "t.py", 5, "m.py"), *block = node_at(m, "m.py", 36, "m.py");
    assert_int_equal(model->bytes, 380);
    assert_int_equal(model->own, 200);
    assert_int_equal(model->calls, 1); /* the program's loop: one module */
    assert_int_equal(block->calls, 3);
    assert_int_equal(block->least, 60); /* both steps' */
    assert_int_equal(block->most, 60);
    assert_int_equal(block->call_count, 3);
    assert_int_equal(block->call_bytes[2], 60);
    assert_int_equal(block->depth, 2);
    assert_ptr_equal(&m->nodes[block->parent], model);
    const struct gm_module_node *norm = node_at(m, "m.py", 25, "n.py");
    assert_int_equal(norm->calls, 3);
    assert_int_equal(norm->own, 60);
}

/* The model's loop has two lines and does not begin it; what is called in it is counted on. */
TEST(loop_of_two_lines)
{
    (void)state;
    struct script s;
    begin(&s);
    made(&s, 5, "main@t.py:5 !forward@m.py:33");
    for (int i = 0; i < 4; i++) {
        made(&s, 10, "main@t.py:5 !forward@m.py:36 !forward@a.py:7");
        made(&s, 20, "main@t.py:5 !forward@m.py:37 !forward@b.py:7");
    }
    const struct gm_modules *m = analysed(&s, "");
    assert_int_equal(node_at(m, "t.py", 5, "m.py")->calls, 1);
    assert_int_equal(node_at(m, "m.py", 36, "a.py")->calls, 4);
    assert_int_equal(node_at(m, "m.py", 37, "b.py")->calls, 4);
}

/* A statement of several lines ends at its first one; that is no new call, the next one is. */
TEST(statement_of_several_lines)
{
    (void)state;
    struct script s;
    begin(&s);
    made(&s, 5, "main@t.py:5 !forward@m.py:33");
    for (int i = 0; i < 3; i++) {
        made(&s, 10, "main@t.py:5 !forward@m.py:36 !forward@f.py:12 !forward@l.py:1");
        made(&s, 10, "main@t.py:5 !forward@m.py:36 !forward@f.py:13 !forward@l.py:1");
        made(&s, 30, "main@t.py:5 !forward@m.py:36 !forward@f.py:11 !forward@l.py:1");
    }
    const struct gm_modules *m = analysed(&s, "");
    const struct gm_module_node *layer = node_at(m, "m.py", 36, "f.py");
    assert_int_equal(layer->calls, 3);
    assert_int_equal(layer->least, 50);
    assert_int_equal(layer->most, 50);
}

/* One stack again and again: calls of a module of PyTorch's own; of the program's own nobody knows. */
TEST(stack_that_repeats)
{
    (void)state;
    struct script s;
    begin(&s);
    for (int i = 0; i < 4; i++) {
        made(&s, 10, "main@t.py:5 !forward@m.py:36 !forward@/y/torch/nn/modules/linear.py:7");
        made(&s, 3, "main@t.py:5 !forward@m.py:36 !forward@/y/torch/nn/modules/linear.py:7");
    }
    for (int i = 0; i < 4; i++)
        made(&s, 10, "main@t.py:5 !forward@m.py:40 !forward@own.py:7");
    const struct gm_modules *m = analysed(&s, "");
    assert_int_equal(node_at(m, "m.py", 36, "/y/torch/nn/modules/linear.py")->calls, 4);
    assert_int_equal(node_at(m, "m.py", 36, "/y/torch/nn/modules/linear.py")->most, 13);
    assert_int_equal(node_at(m, "m.py", 40, "own.py")->calls, 1);
}

/* Modules that are called by the program's own loop, with nothing in between. */
TEST(loop_without_a_model)
{
    (void)state;
    struct script s;
    begin(&s);
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < 3; i++) {
            made(&s, 10, "main@t.py:5 !forward@m.py:25");
            made(&s, 10, "main@t.py:5 !forward@m.py:26");
        }
        made(&s, 1, "main@t.py:6");
    }
    const struct gm_modules *m = analysed(&s, "");
    assert_int_equal(node_at(m, "t.py", 5, "m.py")->calls, 3);
}

TEST(constructors)
{
    (void)state;
    struct script s;
    begin(&s);
    for (int i = 0; i < 3; i++) {
        made(&s, 10, "main@t.py:3 __init__@m.py:30 <genexpr>@m.py:31 __init__@m.py:10 __init__@l.py:1");
        made(&s, 20, "main@t.py:3 __init__@m.py:30 <genexpr>@m.py:31 __init__@m.py:11 __init__@l.py:1");
    }
    const struct gm_modules *m = analysed(&s, "");
    assert_int_equal(node_at(m, "m.py", 31, "m.py")->calls, 3);
    assert_string_equal(node_at(m, "m.py", 31, "m.py")->function, "__init__");
    assert_int_equal(node_at(m, "m.py", 10, "l.py")->calls, 3);
}

/* Backward's blocks, whose frames in forward are told as text, by layers in reverse. */
TEST(forward_frames)
{
    (void)state;
    static const char of_layer[] =
        ",\"forward_frames\":[\"  File \\\"t.py\\\", line 5, in main\\n    net(x)\\n\","
        "\"  File \\\"" MODULE "\\\", line 1787, in _wrapped_call_impl\\n\","
        "\"  File \\\"" MODULE "\\\", line 1798, in _call_impl\\n\",\"  File \\\"m.py\\\", line 36, in forward\\n\","
        "\"  File \\\"" MODULE "\\\", line 1787, in _wrapped_call_impl\\n\","
        "\"  File \\\"" MODULE "\\\", line 1798, in _call_impl\\n\",\"  File \\\"m.py\\\", line %d, in forward\\n\"]";
    struct script s;
    begin(&s);
    for (int i = 0; i < 3; i++) {
        made(&s, 10, "main@t.py:5 !forward@m.py:36 !forward@m.py:25");
        made(&s, 10, "main@t.py:5 !forward@m.py:36 !forward@m.py:26");
    }
    for (int i = 0; i < 6; i++) {
        char more[1024];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(more, sizeof more, of_layer, i % 2 == 0 ? 26 : 25);
#pragma GCC diagnostic pop
        made_with(&s, i < 2 ? 3 : 2, "", more);
    }
    const struct gm_modules *m = analysed(&s, "");
    const struct gm_module_node *layer = node_at(m, "m.py", 36, "m.py");
    assert_int_equal(m->nodes[0].own, 0);
    assert_int_equal(layer->calls, 3);
    assert_int_equal(layer->call_bytes[0], 24);
    assert_int_equal(layer->call_bytes[2], 26); /* the last layer is backward's first */
}

TEST(weights_that_repeat)
{
    (void)state;
    struct script s;
    begin(&s);
    made(&s, 5000, "main@t.py:3 to@" MODULE ":11 _apply@" MODULE ":9 convert@" MODULE ":8");
    for (int i = 0; i < 4; i++) {
        made(&s, 4096, "main@t.py:3 to@" MODULE ":11 _apply@" MODULE ":9 _apply@" MODULE ":9 convert@" MODULE ":8");
        made(&s, 512, "main@t.py:3 to@" MODULE ":11 _apply@" MODULE ":9 _apply@" MODULE ":9 convert@" MODULE ":8");
    }
    const struct gm_modules *m = analysed(&s, "");
    assert_int_equal(m->layer_count, 1);
    assert_string_equal(m->layers[0].role, "Parameter");
    assert_int_equal(m->layers[0].times, 4);
    assert_int_equal(m->layers[0].blocks, 2);
    assert_int_equal(m->layers[0].bytes, 4608);
    assert_int_equal(m->layers[0].outside, 5000);
    assert_string_equal(m->tags[GM_TAG_OPERATOR].rows[0].label, "module.to");
}

static void check_row(const struct gm_tag_table *t, size_t i, const char *label, uint64_t bytes)
{
    assert_true(i < t->count);
    assert_string_equal(t->rows[i].label, label);
    assert_int_equal(t->rows[i].bytes, bytes);
}

TEST(labels)
{
    (void)state;
    struct script s;
    begin(&s);
    made_with(&s, 8, "main@t.py:5", ",\"user_metadata\":\"\",\"compile_context\":\"N/A\"");
    made_with(&s, 16, "main@t.py:6 linear@/y/torch/nn/functional.py:2", ",\"user_metadata\":\"batch 1\"");
    made_with(&s, 32, "main@t.py:6", ",\"compile_context\":\"Torch-Compiled Region: 0/0\"");
    made(&s, 64, "main@t.py:6 at::_ops::mm::call(x)@mm.cpp:3 at::_ops::empty::call(x)@e.cpp:3");
    add(&s,
        "{\"action\":\"annotate\",\"addr\":%u,\"size\":0,\"stream\":0,\"time_us\":60,\"user_metadata\":\"the "
        "logits\"},",
        4u << 12);
    add(&s,
        "{\"action\":\"alloc\",\"addr\":%u,\"size\":128,\"stream\":0,\"time_us\":70,\"frames\":[{\"name\":\"forward\","
        "\"filename\":\"<eval>.py\",\"line\":3,\"fx_node_op\":\"call_function\",\"fx_node_name\":\"mm_1\","
        "\"fx_node_target\":\"aten.mm.default\",\"fx_original_trace\":\"File \\\"/m.py\\\", line 3, in forward\\n    "
        "x @ w\"}]},",
        9u << 12);
    const struct gm_modules *m = analysed(
        &s,
        ",\"external_annotations\":[{\"name\":\"outer\",\"stage\":\"START\",\"device\":0,\"time_us\":15},"
        "{\"name\":\"inner\",\"stage\":\"START\",\"device\":0,\"time_us\":25},{\"name\":\"inner\",\"stage\":\"END\","
        "\"device\":0,\"time_us\":35},{\"name\":\"outer\",\"stage\":\"END\",\"device\":0,\"time_us\":45}]");
    check_row(&m->tags[GM_TAG_OPERATOR], 0, "aten::mm", 64);
    check_row(&m->tags[GM_TAG_OPERATOR], 1, "functional.linear", 16);
    assert_int_equal(m->tags[GM_TAG_OPERATOR].untold.bytes, 168);
    check_row(&m->tags[GM_TAG_METADATA], 0, "the logits", 64);
    check_row(&m->tags[GM_TAG_METADATA], 1, "batch 1", 16);
    check_row(&m->tags[GM_TAG_REGION], 0, "Torch-Compiled Region: 0/0", 32);
    assert_int_equal(m->tags[GM_TAG_REGION].total, 1);
    check_row(&m->tags[GM_TAG_ANNOTATION], 0, "outer", 80);
    check_row(&m->tags[GM_TAG_ANNOTATION], 1, "outer > inner", 32);
    check_row(&m->tags[GM_TAG_NODE], 0, "mm_1", 128);
    assert_non_null(strstr(m->tags[GM_TAG_NODE].rows[0].detail, "aten.mm.default"));
    assert_non_null(strstr(m->tags[GM_TAG_NODE].rows[0].detail, "m.py"));
}
