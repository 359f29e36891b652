/* SPDX-License-Identifier: Apache-2.0
 *
 * As torch.profiler finds the stack of an operator:
 *
 *   - the Python functions around it, by time, less what every backward() has;
 *   - what a node of autograd runs has the stack of its forward: of the first span of that sequence number on the
 *     thread that ran the forward. PyTorch numbers threads by itself: which of the trace's is meant is seen from where
 *     most of those sequence numbers are;
 *   - a node without a number (torch::autograd::AccumulateGrad) has none;
 *   - what begins a thread of autograd is inside what the thread of the forward does at that time: backward();
 *   - kernels and copies have that of their operator.
 */
#include "analyze/profile/profile_pass.h"

#include "analyze/base/address_map.h"
#include "analyze/base/bisect.h"
#include "analyze/base/freed.h"
#include "analyze/base/order.h"

#include <stdlib.h>
#include <string.h>

enum {
    STACK_FRAMES = 5,
    CANDIDATES = 64 /* threads looked at for one sequence number */,
    DEPTH = 256,         /* functions looked at for one stack: threads may be said to be in each other */
    CALLS_MOST = 1 << 16 /* bytes of a stack in one string that are looked at */
};

/* A span that states its sequence number and is no node. */
struct forward {
    int64_t sequence;
    uint32_t thread, span;
    bool is_inside; /* of a node: its stack is no forward's, but it is on the thread that the number was made on */
};
struct forwards GM_VEC(struct forward);
/* Spans of are by thread and time: the first of a thread comes first. */
GM_ORDERING(by_sequence, struct forward, GM_UP(sequence) || GM_UP(thread) || GM_UP(is_inside) || GM_UP(span));

/* ---- nodes of autograd ------------------------------------------------------------------------------------------- */

#define EVALUATES "autograd::engine::evaluate_function: "

static bool evaluates(const struct gm_profile *p, const struct gm_profile_span *span)
{
    size_t n;
    const char *s = gm_profile_string(p, span->name, &n);
    return span->kind == GM_SPAN_OPERATOR && gm_begins_with(s, n, EVALUATES);
}

/* "evaluate_function: X" is around the node X; traces of other versions may have the node alone. */
static bool is_node(const struct gm_profile *p, const struct gm_profile_span *span)
{
    if (span->kind != GM_SPAN_OPERATOR || evaluates(p, span))
        return false;
    if (gm_profile_detail_of(p, span)->forward_thread != 0)
        return true;
    const struct gm_profile_span *outer = span->parent == GM_PROFILE_NONE ? NULL : &p->spans.v[span->parent];
    if (outer == NULL || !evaluates(p, outer))
        return false;
    size_t n, m;
    const char *s = gm_profile_string(p, span->name, &n), *around = gm_profile_string(p, outer->name, &m);
    return gm_is_text(around + sizeof EVALUATES - 1, m - (sizeof EVALUATES - 1), s) && n > 0;
}

/* Each span's innermost node of autograd, itself included, in s->of; those that are none, by sequence number. */
static bool find_nodes(struct gm_profile_stacks *s, struct forwards *forwards)
{
    const struct gm_profile *p = s->p;
    for (uint32_t i = 0; i < p->spans.n; i++) {
        const struct gm_profile_span *span = &p->spans.v[i];
        s->of[i] = is_node(p, span) ? i : span->parent == GM_PROFILE_NONE ? GM_PROFILE_NONE : s->of[span->parent];
        const int64_t sequence = gm_profile_detail_of(p, span)->sequence;
        const struct forward forward = {sequence, span->thread, i, s->of[i] != GM_PROFILE_NONE};
        if (s->of[i] != i && sequence >= 0 && !GM_VEC_PUSH(forwards, forward))
            return false;
    }
    GM_SORT(forwards->v, forwards->n, by_sequence);
    return true;
}

/* The first span of that number, on that thread or, if the thread is GM_PROFILE_NONE, on the first one. */
static size_t lower(const struct forwards *f, int64_t sequence, uint32_t thread)
{
    size_t at = 0;
    const bool any = thread == GM_PROFILE_NONE;
    GM_BISECT(at, f->n, i,
              f->v[i].sequence < sequence || (!any && f->v[i].sequence == sequence && f->v[i].thread < thread));
    return at;
}

/* ---- threads as PyTorch numbers them ----------------------------------------------------------------------------- */

struct votes {
    struct gm_address_map counts; /* PyTorch's thread << 32 | thread of the trace: votes */
    struct gm_address_map winner; /* PyTorch's thread: thread of the trace */
    struct gm_address_map most;   /* PyTorch's thread: votes of that one */
};

static bool vote(struct votes *v, uint32_t number, uint32_t thread)
{
    const uint64_t pair = (uint64_t)number << 32 | thread;
    const uint32_t known = gm_map_get(&v->counts, pair), most = gm_map_get(&v->most, number);
    const uint32_t count = known == GM_MAP_NONE ? 1 : known + 1;
    uint32_t before;
    if (!gm_map_put(&v->counts, pair, count, &before))
        return false;
    return (most != GM_MAP_NONE && count <= most) ||
           (gm_map_put(&v->winner, number, thread, &before) && gm_map_put(&v->most, number, count, &before));
}

static bool count_votes(const struct gm_profile_stacks *s, const struct forwards *f, struct votes *v)
{
    for (uint32_t i = 0; i < s->p->spans.n; i++) {
        const struct gm_profile_detail *d = gm_profile_detail_of(s->p, &s->p->spans.v[i]);
        if (s->of[i] != i || d->sequence < 0 || d->forward_thread == 0)
            continue;
        size_t at = lower(f, d->sequence, GM_PROFILE_NONE);
        uint32_t last = GM_PROFILE_NONE;
        for (int k = 0; k < CANDIDATES && at < f->n && f->v[at].sequence == d->sequence; k++, at++) {
            const struct forward *candidate = &f->v[at]; /* what evaluates a node has its number, too */
            if (candidate->thread == last || evaluates(s->p, &s->p->spans.v[candidate->span]))
                continue;
            last = candidate->thread;
            if (!vote(v, d->forward_thread, last))
                return false;
        }
    }
    return true;
}

/* ---- whose stack it is ------------------------------------------------------------------------------------------- */

static uint32_t forward_of(const struct gm_profile_stacks *s, const struct forwards *f, const struct votes *v,
                           uint32_t node)
{
    const struct gm_profile_detail *d = gm_profile_detail_of(s->p, &s->p->spans.v[node]);
    const uint32_t thread = d->sequence < 0 ? GM_MAP_NONE : gm_map_get(&v->winner, d->forward_thread);
    if (thread == GM_MAP_NONE)
        return GM_PROFILE_NONE;
    const size_t at = lower(f, d->sequence, thread);
    const bool is_known =
        at < f->n && f->v[at].sequence == d->sequence && f->v[at].thread == thread && !f->v[at].is_inside;
    return is_known ? f->v[at].span : GM_PROFILE_NONE;
}

/* From nodes to forwards, from the last span to the first: a node is before what it runs. */
static void find_owners(struct gm_profile_stacks *s, const struct forwards *f, const struct votes *v,
                        const struct gm_links *links)
{
    for (uint32_t i = (uint32_t)s->p->spans.n; i-- > 0;) {
        const struct gm_profile_span *span = &s->p->spans.v[i];
        uint32_t owner = s->of[i];
        if (gm_profile_span_is_on_device(span->kind))
            s->of[i] = gm_link_of(links, i)->operator_span;
        else
            s->of[i] = owner == GM_PROFILE_NONE ? i : forward_of(s, f, v, owner);
    }
}

/* ---- Python functions -------------------------------------------------------------------------------------------- */

/* The innermost Python function of a thread at a time. */
static uint32_t python_at(const struct gm_profile_stacks *s, uint32_t thread, int64_t time)
{
    const struct gm_profile *p = s->p;
    size_t end = 0;
    GM_BISECT(end, p->spans.n, i,
              p->spans.v[i].thread < thread || (p->spans.v[i].thread == thread && p->spans.v[i].start_ns <= time));
    uint32_t at = end == 0 || p->spans.v[end - 1].thread != thread ? GM_PROFILE_NONE : (uint32_t)(end - 1);
    while (at != GM_PROFILE_NONE && gm_profile_span_end(&p->spans.v[at]) <= time)
        at = p->spans.v[at].parent;
    return at == GM_PROFILE_NONE || p->spans.v[at].kind == GM_SPAN_PYTHON ? at : s->python[at];
}

static void find_python(struct gm_profile_stacks *s)
{
    const struct gm_profile *p = s->p;
    for (uint32_t i = 0; i < p->spans.n; i++) {
        const uint32_t parent = p->spans.v[i].parent;
        s->python[i] =
            parent == GM_PROFILE_NONE || p->spans.v[parent].kind == GM_SPAN_PYTHON ? parent : s->python[parent];
    }
}

/* Threads of autograd have no functions of their own: what evaluates a node is where backward() was called. */
static void borrow_python(struct gm_profile_stacks *s, const struct votes *v)
{
    const struct gm_profile *p = s->p;
    uint32_t caller = GM_MAP_NONE; /* the thread that called backward(), if it is another */
    for (uint32_t i = 0; i < p->spans.n; i++) {
        const struct gm_profile_span *span = &p->spans.v[i];
        const uint32_t number = gm_profile_detail_of(p, span)->forward_thread;
        const uint32_t stated = number == 0 ? GM_MAP_NONE : gm_map_get(&v->winner, number);
        if (i == 0 || p->spans.v[i - 1].thread != span->thread)
            caller = GM_MAP_NONE;
        if (stated != GM_MAP_NONE && stated != span->thread)
            caller = stated;
        if (s->python[i] == GM_PROFILE_NONE && span->parent != GM_PROFILE_NONE)
            s->python[i] = s->python[span->parent];
        else if (s->python[i] == GM_PROFILE_NONE && caller != GM_MAP_NONE && evaluates(p, span))
            s->python[i] = python_at(s, caller, span->start_ns);
    }
}

bool gm_profile_stacks_find(struct gm_profile_stacks *s, const struct gm_profile *p, const struct gm_links *links)
{
    struct forwards forwards = {.v = NULL};
    struct votes votes = {.counts = {.slots = NULL}};
    s->p = p;
    s->of = malloc((p->spans.n + 1) * sizeof *s->of);
    s->python = malloc((p->spans.n + 1) * sizeof *s->python);
    s->numbers = calloc(p->spans.n + p->strings.entries.n + 1, sizeof *s->numbers);
    s->left_out = calloc(p->strings.entries.n + 1, 1);
    const bool has_room = s->of != NULL && s->python != NULL && s->numbers != NULL && s->left_out != NULL;
    const bool ok = has_room && find_nodes(s, &forwards) && count_votes(s, &forwards, &votes);
    if (ok) {
        find_python(s);
        borrow_python(s, &votes);
        find_owners(s, &forwards, &votes, links);
    }
    free(forwards.v);
    gm_map_free(&votes.counts);
    gm_map_free(&votes.winner);
    gm_map_free(&votes.most);
    return ok;
}

void gm_profile_stacks_free(struct gm_profile_stacks *s)
{
    GM_FREE_ALL(s->python, s->of, s->numbers, s->left_out);
}

/* ---- as text ----------------------------------------------------------------------------------------------------- */

static bool has_both(const char *s, size_t n, const char *const words[2])
{
    return memmem(s, n, words[0], strlen(words[0])) != NULL && memmem(s, n, words[1], strlen(words[1])) != NULL;
}

/* What PyTorch leaves out of its stacks: how backward() is called. */
static bool is_left_out(const char *s, size_t n)
{
    static const char *const both[][2] = {{"autograd/__init__", "_make_grads"},
                                          {"autograd/__init__", "backward"},
                                          {"torch/tensor", "backward"},
                                          {"_internal/common_utils", "prof_callable"},
                                          {"_internal/common_utils", "prof_func_call"},
                                          {"_internal/common_utils", "prof_meth_call"}};
    for (size_t i = 0; i < sizeof both / sizeof *both; i++)
        if (has_both(s, n, both[i]))
            return true;
    return false;
}

static bool add_frame(struct gm_stack_text *text, const char *s, size_t n, int *count)
{
    if (!GM_VEC_ROOM(text, n + 1))
        return false;
    if ((*count)++ > 0)
        text->v[text->n++] = ';';
    memcpy(text->v + text->n, s, n);
    text->n += n;
    return true;
}

/* What a file has in one string, innermost first: "a.py(1): f;b.py(2): g;". */
static bool add_call_stack(struct gm_stack_text *text, const char *s, size_t n)
{
    for (int count = 0; n > 0 && count < STACK_FRAMES;) {
        const char *end = memchr(s, ';', n);
        const size_t length = end == NULL ? n : (size_t)(end - s);
        if (length > 0 && !is_left_out(s, length) && !add_frame(text, s, length, &count))
            return false;
        n -= length + (end != NULL);
        s += length + (end != NULL);
    }
    return true;
}

static bool has_left_out(const struct gm_profile_stacks *stacks, uint32_t name, const char *s, size_t n)
{
    unsigned char *known = &stacks->left_out[name];
    if (*known == 0)
        *known = is_left_out(s, n) ? 2 : 1;
    return *known == 2;
}

uint32_t *gm_profile_stack_number(const struct gm_profile_stacks *stacks, uint32_t span)
{
    const uint32_t owner = stacks->of == NULL ? GM_PROFILE_NONE : stacks->of[span];
    if (owner == GM_PROFILE_NONE)
        return NULL;
    const uint32_t calls = gm_profile_detail_of(stacks->p, &stacks->p->spans.v[owner])->call_stack;
    if (calls != GM_PROFILE_NONE)
        return &stacks->numbers[stacks->p->spans.n + calls];
    return stacks->python[owner] == GM_PROFILE_NONE ? NULL : &stacks->numbers[stacks->python[owner]];
}

bool gm_profile_stack_text(const struct gm_profile_stacks *stacks, uint32_t span, struct gm_stack_text *text)
{
    size_t n;
    text->n = 0;
    const uint32_t owner = stacks->of == NULL ? GM_PROFILE_NONE : stacks->of[span];
    if (owner == GM_PROFILE_NONE)
        return true;
    const uint32_t calls = gm_profile_detail_of(stacks->p, &stacks->p->spans.v[owner])->call_stack;
    if (calls != GM_PROFILE_NONE) {
        const char *s = gm_profile_string(stacks->p, calls, &n);
        return add_call_stack(text, s, n < CALLS_MOST ? n : CALLS_MOST);
    }
    uint32_t i = stacks->python[owner];
    for (int count = 0, depth = 0; i != GM_PROFILE_NONE && count < STACK_FRAMES && depth < DEPTH; depth++) {
        const uint32_t name = stacks->p->spans.v[i].name;
        const char *s = gm_profile_string(stacks->p, name, &n);
        if (n > 0 && !has_left_out(stacks, name, s, n) && !add_frame(text, s, n, &count))
            return false;
        i = stacks->python[i];
    }
    return true;
}
