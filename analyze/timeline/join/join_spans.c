/* SPDX-License-Identifier: Apache-2.0
 *
 * What surrounds a moment of the trace: its operation, its module, and the kernels of a span.
 *
 * The operation of a call of the allocator is the outermost of the operators that directly nest around it and are
 * somebody's: in `evaluate_function: AddmmBackward0 > AddmmBackward0 > aten::mm > aten::empty` it is aten::mm. Python
 * functions and annotations end such a chain. Autograd's nodes have no module around them: theirs is that of the
 * forward operator with the same sequence number.
 */
#include "analyze/timeline/join/join_work.h"

#include "analyze/base/address_map.h"
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"

#include <stdlib.h>
#include <string.h>

#define AMBIGUOUS (UINT32_MAX - 1)

/* What a span's name says. */
enum word { WORD_UNKNOWN, WORD_PLAIN, WORD_OPERATOR, WORD_MODULE, WORD_STEP };
struct walk {
    struct gm_join *join;
    uint8_t *words;                    /* [strings] enum word */
    uint32_t *forward;                 /* [spans] that this one is the backward of */
    struct gm_address_map of_sequence; /* forward operators */
};

static enum word word_of(struct walk *w, const struct gm_profile_span *span)
{
    uint8_t *word = &w->words[span->name];
    if (*word == WORD_UNKNOWN) {
        size_t n;
        const char *s = gm_profile_string(w->join->p, span->name, &n);
        const bool is_named = memmem(s, n, "::", 2) != NULL && !gm_begins_with(s, n, "autograd::");
        *word = gm_begins_with(s, n, "nn.Module: ")     ? WORD_MODULE
                : gm_begins_with(s, n, GM_PROFILE_STEP) ? WORD_STEP
                : is_named                              ? WORD_OPERATOR
                                                        : WORD_PLAIN;
    }
    return (enum word) * word;
}

static uint32_t of_parent(const uint32_t *values, const struct gm_profile_span *span)
{
    return span->parent == GM_PROFILE_NONE ? GM_PROFILE_NONE : values[span->parent];
}

static uint32_t operation_of(struct walk *w, uint32_t i)
{
    const struct gm_profile_span *spans = w->join->p->spans.v, *span = &spans[i];
    const uint32_t outer = of_parent(w->join->operation, span);
    if (span->kind == GM_SPAN_PYTHON || span->kind == GM_SPAN_ANNOTATION || word_of(w, span) == WORD_STEP)
        return GM_PROFILE_NONE;
    if (span->kind != GM_SPAN_OPERATOR)
        return outer;
    const bool is_better =
        outer == GM_PROFILE_NONE || (word_of(w, span) == WORD_OPERATOR && word_of(w, &spans[outer]) != WORD_OPERATOR);
    return is_better ? i : outer;
}

/* Forward operators by their sequence number; two threads may count alike, and then nobody knows. */
static bool note_forward(struct walk *w, uint32_t i)
{
    const struct gm_profile *p = w->join->p;
    const struct gm_profile_detail *d = gm_profile_detail_of(p, &p->spans.v[i]);
    uint32_t before;
    if (d->sequence < 0 || d->forward_thread != 0 || p->spans.v[i].kind != GM_SPAN_OPERATOR)
        return true;
    before = gm_map_get(&w->of_sequence, (uint64_t)d->sequence);
    const bool is_other =
        before == AMBIGUOUS || (before != GM_MAP_NONE && p->spans.v[before].thread != p->spans.v[i].thread);
    return gm_map_put(&w->of_sequence, (uint64_t)d->sequence, is_other ? AMBIGUOUS : i, &before);
}

static uint32_t forward_of(struct walk *w, uint32_t i)
{
    const struct gm_profile_detail *d = gm_profile_detail_of(w->join->p, &w->join->p->spans.v[i]);
    const uint32_t outer = of_parent(w->forward, &w->join->p->spans.v[i]);
    if (d->sequence < 0 || d->forward_thread == 0)
        return outer;
    const uint32_t forward = gm_map_get(&w->of_sequence, (uint64_t)d->sequence);
    return forward == GM_MAP_NONE || forward == AMBIGUOUS ? outer : forward;
}

/* The innermost module; outside of all the innermost annotation. */
static uint32_t module_of(struct walk *w, uint32_t i)
{
    const struct gm_profile_span *span = &w->join->p->spans.v[i];
    const uint32_t outer = of_parent(w->join->module, span);
    const enum word word = word_of(w, span);
    const bool is_inside = outer != GM_PROFILE_NONE && word_of(w, &w->join->p->spans.v[outer]) == WORD_MODULE;
    return word == WORD_MODULE || (span->kind == GM_SPAN_ANNOTATION && word != WORD_STEP && !is_inside) ? i : outer;
}

static bool surround(struct walk *w)
{
    struct gm_join *join = w->join;
    const size_t n = join->p->spans.n;
    for (size_t i = 0; i < n; i++) {
        const struct gm_profile_span *span = &join->p->spans.v[i];
        join->out->has_modules = join->out->has_modules || word_of(w, span) == WORD_MODULE;
        if (!note_forward(w, (uint32_t)i))
            return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        join->operation[i] = operation_of(w, i);
        join->module[i] = module_of(w, i);
        w->forward[i] = forward_of(w, i);
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t forward = w->forward[i] == GM_PROFILE_NONE ? GM_PROFILE_NONE : join->module[w->forward[i]];
        join->is_backward[i] = w->forward[i] != GM_PROFILE_NONE;
        w->forward[i] = forward != GM_PROFILE_NONE ? forward : join->module[i];
    }
    memcpy(join->module, w->forward, n * sizeof *join->module);
    return true;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

GM_ORDERING(by_caller, struct gm_join_kernel, GM_UP(caller) || GM_UP(span));

static bool is_work(const struct gm_profile_span *span)
{
    return span->kind == GM_SPAN_KERNEL || span->kind == GM_SPAN_MEMCPY || span->kind == GM_SPAN_MEMSET;
}

static bool list_kernels(struct gm_join *join)
{
    const struct gm_profile *p = join->p;
    GM_FREED_BY(gm_map_free) struct gm_address_map callers = {.slots = NULL};
    bool ok = true;
    for (uint32_t i = 0; ok && i < p->spans.n; i++) {
        const uint32_t correlation = gm_profile_detail_of(p, &p->spans.v[i])->correlation;
        uint32_t before;
        if (p->spans.v[i].kind == GM_SPAN_RUNTIME && correlation != 0)
            ok = gm_map_put(&callers, correlation, i, &before);
    }
    for (uint32_t i = 0; ok && i < p->spans.n; i++) {
        if (!is_work(&p->spans.v[i]))
            continue;
        const uint32_t caller = gm_map_get(&callers, gm_profile_detail_of(p, &p->spans.v[i])->correlation);
        join->out->kernels++;
        if (caller != GM_MAP_NONE)
            ok = GM_VEC_PUSH(&join->kernels, ((struct gm_join_kernel){caller, i}));
    }
    GM_SORT(join->kernels.v, join->kernels.n, by_caller);
    join->kernel_ns = calloc(join->kernels.n + 1, sizeof *join->kernel_ns);
    for (size_t i = 0; ok && join->kernel_ns != NULL && i < join->kernels.n; i++)
        join->kernel_ns[i + 1] = gm_signed_add(join->kernel_ns[i], p->spans.v[join->kernels.v[i].span].duration_ns);
    return ok && join->kernel_ns != NULL;
}

bool gm_join_spans(struct gm_join *join)
{
    const size_t n = join->p->spans.n + 1;
    struct walk w = {.join = join, .words = calloc(join->p->strings.entries.n + 1, 1)};
    w.forward = malloc(n * sizeof *w.forward);
    join->operation = malloc(n * sizeof *join->operation);
    join->module = malloc(n * sizeof *join->module);
    join->is_backward = calloc(n, 1);
    const bool ok = w.words != NULL && w.forward != NULL && join->operation != NULL && join->module != NULL &&
                    join->is_backward != NULL && surround(&w) && list_kernels(join);
    GM_FREE_ALL(w.words, w.forward);
    gm_map_free(&w.of_sequence);
    return ok;
}

size_t gm_join_kernels_in(const struct gm_join *join, uint32_t span, size_t *first)
{
    const struct gm_profile_span *spans = join->p->spans.v, *outer = &spans[span];
    const int64_t to = gm_profile_span_end(outer);
    size_t last = span + 1, end = 0;
    /* what is in a span of a thread stands behind it, up to what begins after its end */
    GM_BISECT(last, join->p->spans.n, i,
              spans[i].thread < outer->thread || (spans[i].thread == outer->thread && spans[i].start_ns < to));
    *first = 0;
    GM_BISECT(*first, join->kernels.n, i, join->kernels.v[i].caller < span);
    end = *first;
    GM_BISECT(end, join->kernels.n, i, join->kernels.v[i].caller < last);
    return end;
}

/* ---- when a device was busy -------------------------------------------------------------------------------------- */

GM_ORDERING(by_start, struct gm_join_busy, GM_UP(from_ns) || GM_DOWN(to_ns));

/* A device's process is its number. */
static bool is_of_device(const struct gm_profile *p, const struct gm_profile_span *span, int64_t device)
{
    size_t n;
    const char *s = gm_profile_string(p, p->threads.v[span->thread].process, &n);
    int64_t value = 0;
    for (size_t i = 0; i < n && n <= 4; i++)
        value = gm_is_digit(s[i]) ? value * 10 + (s[i] - '0') : -GM_PROFILE_THREADS;
    return n > 0 && n <= 4 && value == device;
}

bool gm_join_busy(const struct gm_join *join, int64_t device, struct gm_join_busy **busy, size_t *count)
{
    const struct gm_profile *p = join->p;
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < p->spans.n; i++)
        n += is_work(&p->spans.v[i]) && is_of_device(p, &p->spans.v[i], device);
    struct gm_join_busy *v = malloc((n + 1) * sizeof *v);
    *busy = v;
    *count = 0;
    if (v == NULL)
        return false;
    n = 0;
    for (size_t i = 0; i < p->spans.n; i++)
        if (is_work(&p->spans.v[i]) && is_of_device(p, &p->spans.v[i], device))
            v[n++] = (struct gm_join_busy){p->spans.v[i].start_ns, gm_profile_span_end(&p->spans.v[i]), 0};
    GM_SORT(v, n, by_start);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && v[i].from_ns <= v[kept - 1].to_ns)
            v[kept - 1].to_ns = v[i].to_ns > v[kept - 1].to_ns ? v[i].to_ns : v[kept - 1].to_ns;
        else
            v[kept++] = v[i];
    }
    for (size_t i = 1; i < kept; i++)
        v[i].before_ns = gm_signed_add(v[i - 1].before_ns, v[i - 1].to_ns - v[i - 1].from_ns);
    *count = kept;
    return true;
}
