/* SPDX-License-Identifier: Apache-2.0
 *
 * Phases from stacks. A frame that runs backward decides for the whole stack: forward code that is computed again under
 * it belongs to backward. Else the innermost frame that is forward's or the optimizer's decides, since some programs
 * run forward inside of optimizer.step(closure). Names are looked at once each.
 */
#include "analyze/timeline/steps/step_work.h"

#include "analyze/base/ascii.h"

#include <stdlib.h>
#include <string.h>

struct text {
    const char *s;
    size_t n;
};

static bool is_one_of(struct text t, const char *const *words)
{
    return gm_is_one_of_texts(t.s, t.n, words);
}

static bool starts(struct text t, const char *word)
{
    return gm_begins_with(t.s, t.n, word);
}

/* NULL if it is not there. Words are short and names, too: memmem prepares more than it looks at. */
static const char *find(const char *from, const char *end, const char *word)
{
    const size_t n = strlen(word);
    for (; (size_t)(end - from) >= n; from++) {
        from = memchr(from, word[0], (size_t)(end - from) - n + 1);
        if (from == NULL || memcmp(from, word, n) == 0)
            return from;
    }
    return NULL;
}

static bool has(struct text t, const char *word)
{
    return find(t.s, t.s + t.n, word) != NULL;
}

static bool is_slash(char c)
{
    return c == '/' || c == '\\';
}

/* Whether `path` is at t.s + i, of which `\` is as good as '/'. */
static bool is_path_at(struct text t, size_t i, const char *path)
{
    for (; *path != '\0' && i < t.n && (t.s[i] == *path || (*path == '/' && is_slash(t.s[i]))); i++)
        path++;
    return *path == '\0';
}

/* "MulBackward0::apply" and the like: the class name ends in Backward and a number. */
static bool has_backward_node(struct text t)
{
    while (has(t, "Backward")) {
        const char *at = find(t.s, t.s + t.n, "Backward") + 8;
        t.n -= (size_t)(at - t.s);
        t.s = at;
        size_t digits = 0;
        while (digits < t.n && t.s[digits] >= '0' && t.s[digits] <= '9')
            digits++;
        if (digits > 0 && digits + 2 <= t.n && memcmp(t.s + digits, "::", 2) == 0)
            return true;
    }
    return false;
}

static bool is_backward(struct text t)
{
    static const char *const names[] = {
        "backward", "_engine_run_backward", "run_backward", "unpack_hook", "recompute_fn", "unpack_from_cpu", NULL};
    return is_one_of(t, names) || starts(t, "_post_backward") || starts(t, "post_backward") ||
           starts(t, "_pre_backward") || starts(t, "pre_backward") || has(t, "autograd::Engine::") ||
           has(t, "AccumulateGrad") || has(t, "PyNode::apply") || has(t, "THPEngine_run_backward") ||
           has_backward_node(t);
}

/* `word` as a whole word of a snake_case name: "decode", "decode_step", not "decoder". */
static bool has_word(struct text t, const char *word)
{
    const size_t n = strlen(word);
    const char *end = t.s + t.n, *at = find(t.s, end, word);
    while (at != NULL && ((at > t.s && at[-1] != '_') || (at + n < end && at[n] != '_')))
        at = find(at + 1, end, word);
    return at != NULL;
}

static uint8_t marks_of_name(struct text t)
{
    static const char *const forward[] = {"forward",       "_call_impl",        "_wrapped_call_impl",
                                          "training_step", "closure",           "_closure",
                                          "forward_step",  "optimizer_closure", NULL};
    static const char *const setup[] = {"__init__",        "_apply",           "load_state_dict",
                                        "from_pretrained", "reset_parameters", NULL};
    static const char *const generate[] = {"generate", "_generate", "_sample", "_greedy_search", "greedy_search", NULL};
    unsigned marks = 0;
    if (is_backward(t))
        marks |= GM_MARK_BACKWARD;
    if (is_one_of(t, forward))
        marks |= GM_MARK_FORWARD;
    const bool is_fused = has(t, "_fused_");
    if ((is_fused && (has(t, "_fused_adam") || has(t, "_fused_sgd") || has(t, "_fused_adagrad"))) ||
        starts(t, "Optimizer.step"))
        marks |= GM_MARK_OPTIMIZER;
    if (is_one_of(t, setup))
        marks |= GM_MARK_SETUP;
    if (has_word(t, "prefill"))
        marks |= GM_MARK_PREFILL;
    if (has_word(t, "decode"))
        marks |= GM_MARK_DECODE;
    if (is_one_of(t, generate))
        marks |= GM_MARK_GENERATE;
    return (uint8_t)marks;
}

static uint8_t marks_of_file(struct text t)
{
    static const struct {
        const char *before, *after; /* of the first slash */
    } optimizers[] = {{"torch", "optim/"},        {"torch", "nn/utils/clip_grad"},
                      {"torch_npu", "optim/"},    {"apex", "optimizers/"},
                      {"bitsandbytes", "optim/"}, {"deepspeed", "ops/adam"},
                      {"deepspeed", "ops/lamb"},  {"megatron", "core/optimizer/"},
                      {"torchao", "optim/"},      {"transformers", "optimiz"},
                      {"timm", "optim/"}};
    unsigned marks = gm_ends_with(t.s, t.n, ".py") || starts(t, "<") ? GM_MARK_PYTHON : 0;
    for (size_t i = 0; i < t.n; i++)
        for (size_t k = 0; is_slash(t.s[i]) && k < sizeof optimizers / sizeof *optimizers; k++)
            if (i + 1 < t.n && t.s[i + 1] == optimizers[k].after[0] && is_path_at(t, i + 1, optimizers[k].after) &&
                gm_ends_with(t.s, i, optimizers[k].before) && !has(t, "lr_scheduler"))
                marks |= GM_MARK_OPTIMIZER;
    return (uint8_t)marks;
}

bool gm_stack_classes_init(struct gm_stack_classes *c, const struct gm_snapshot *snapshot)
{
    size_t strings = (size_t)snapshot->strings.count + 1;
    *c = (struct gm_stack_classes){.snapshot = snapshot};
    c->of_stack = calloc((size_t)snapshot->stacks.count + 2, 1); /* GM_STACK_EMPTY is always there */
    c->of_name = calloc(strings, sizeof *c->of_name);
    c->of_file = calloc(strings, sizeof *c->of_file);
    c->calls_backward = calloc(strings, sizeof *c->calls_backward);
    return c->of_stack != NULL && c->of_name != NULL && c->of_file != NULL && c->calls_backward != NULL;
}

void gm_stack_classes_free(struct gm_stack_classes *c)
{
    GM_FREE_ALL(c->of_stack, c->of_name, c->of_file, c->calls_backward);
    *c = (struct gm_stack_classes){0};
}

uint8_t gm_frame_marks(struct gm_stack_classes *c, struct gm_frame_id frame)
{
    struct gm_string_id name = c->snapshot->frames.name[frame.v], file = c->snapshot->frames.filename[frame.v];
    struct text t;
    if (c->of_name[name.v] == 0) {
        t.s = gm_string(c->snapshot, name, &t.n);
        c->of_name[name.v] = (uint16_t)(GM_MARK_ASKED | marks_of_name(t));
    }
    if (c->of_file[file.v] == 0) {
        t.s = gm_string(c->snapshot, file, &t.n);
        c->of_file[file.v] = (uint16_t)(GM_MARK_ASKED | marks_of_file(t));
    }
    return (uint8_t)(c->of_name[name.v] | c->of_file[file.v]);
}

static uint8_t classify(struct gm_stack_classes *c, const struct gm_frame_id *frames, size_t depth)
{
    unsigned flags = GM_STACK_ASKED, kind = GM_STACK_PLAIN;
    for (size_t i = 0; i < depth; i++) {
        unsigned marks = gm_frame_marks(c, frames[i]);
        flags |= marks & GM_MARK_PYTHON ? GM_STACK_HAS_PYTHON : GM_STACK_HAS_NATIVE;
        flags |= marks & GM_MARK_PREFILL ? GM_STACK_PREFILL : 0;
        flags |= marks & GM_MARK_DECODE && marks & GM_MARK_PYTHON ? GM_STACK_DECODE : 0;
        flags |= marks & GM_MARK_GENERATE ? GM_STACK_GENERATE : 0;
        if (marks & GM_MARK_BACKWARD)
            kind = GM_STACK_BACKWARD;
        else if (kind == GM_STACK_PLAIN && marks & GM_MARK_FORWARD)
            kind = GM_STACK_FORWARD;
        else if (kind == GM_STACK_PLAIN && marks & GM_MARK_OPTIMIZER)
            kind = GM_STACK_OPTIMIZER;
    }
    return (uint8_t)(flags | kind);
}

uint8_t gm_stack_classify(struct gm_stack_classes *c, uint32_t stack)
{
    size_t depth;
    const struct gm_frame_id *frames = gm_stack_frames(c->snapshot, (struct gm_stack_id){stack}, &depth);
    c->of_stack[stack] = classify(c, frames, depth);
    return c->of_stack[stack];
}

/* The name of the outermost function of a stack that is Python's; absent: it has none. */
static struct gm_string_id root_of(const struct gm_stack_classes *c, uint32_t stack)
{
    size_t depth;
    const struct gm_frame_id *frames = gm_stack_frames(c->snapshot, (struct gm_stack_id){stack}, &depth);
    while (depth > 0) {
        const struct gm_frame_id frame = frames[--depth];
        if ((c->of_file[c->snapshot->frames.filename[frame.v].v] & GM_MARK_PYTHON) != 0)
            return c->snapshot->frames.name[frame.v];
    }
    return (struct gm_string_id){0};
}

/* Whether the gradient is made in it that a backward pass begins with. */
static bool begins_backward(const struct gm_stack_classes *c, uint32_t stack)
{
    size_t depth, n;
    const struct gm_frame_id *frames = gm_stack_frames(c->snapshot, (struct gm_stack_id){stack}, &depth);
    for (size_t i = 0; i < depth; i++) {
        const char *name = gm_string(c->snapshot, c->snapshot->frames.name[frames[i].v], &n);
        if (gm_is_text(name, n, "_make_grads") || gm_is_text(name, n, "_engine_run_backward"))
            return true;
    }
    return false;
}

bool gm_stack_is_of_caller(const struct gm_stack_classes *c, uint32_t stack)
{
    const struct gm_string_id root = root_of(c, stack);
    return root.v != 0 && c->calls_backward[root.v];
}

bool gm_stack_is_of_engine(const struct gm_snapshot *snapshot, struct gm_stack_id stack)
{
    size_t depth, n;
    const struct gm_frame_id *frames = gm_stack_frames(snapshot, stack, &depth);
    if (stack.v == GM_STACK_EMPTY || depth == 0)
        return stack.v == GM_STACK_EMPTY;
    const char *file = gm_string(snapshot, snapshot->frames.filename[frames[depth - 1].v], &n);
    return find(file, file + n, "torch/_native/") != NULL;
}

void gm_stack_classes_learn(struct gm_stack_classes *c, const struct gm_history *h)
{
    size_t native = 0, python = 0, backward = 0;
    uint32_t last = UINT32_MAX;
    for (size_t a = 0; a < h->allocation_count; a++) {
        uint32_t stack = gm_stack_of(h, a);
        if (stack == last || c->of_stack[stack] != 0)
            continue;
        last = stack;
        uint8_t class = gm_stack_class(c, stack);
        native += (class & GM_STACK_HAS_NATIVE) != 0;
        python += (class & GM_STACK_HAS_PYTHON) != 0;
        const bool begins = begins_backward(c, stack);
        backward += begins || (class & GM_STACK_KIND) == GM_STACK_BACKWARD;
        c->calls_backward[root_of(c, stack).v] |= begins;
        c->has_caller |= begins && gm_stack_is_of_caller(c, stack);
    }
    for (size_t e = 0; backward == 0 && native == 0 && python > 0 && e < h->count;
         e++) /* zero_grad() and step() free, too */
        backward += (gm_stack_class(c, gm_event_stack(&h->snapshot->events, h->first + e).v) & GM_STACK_KIND) ==
                    GM_STACK_OPTIMIZER;
    /* Recorded with Python frames only, a stack of the threads that run backward is there but empty. That it is theirs
     * is believed only if somebody called backward or grad, which shows on the thread that did, or an optimizer runs:
     * backward() of a gradient that is handed over makes nothing there. */
    c->empty_is_backward = native == 0 && python > 0 && backward > 0;
    for (uint32_t i = GM_STACK_EMPTY; c->empty_is_backward && i <= h->snapshot->stacks.count; i++)
        if (i == GM_STACK_EMPTY ||
            (i < h->snapshot->stacks.count && gm_stack_is_of_engine(h->snapshot, (struct gm_stack_id){i})))
            c->of_stack[i] = GM_STACK_ASKED | GM_STACK_BACKWARD;
}
