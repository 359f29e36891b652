/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/diagnose/lives.h"

#include "analyze/base/ascii.h"
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/report/frame_kind.h"
#include "analyze/state/stack_lines.h"

#include <stdlib.h>
#include <string.h>

/* ---- what stacks tell -------------------------------------------------------------------------------------------- */

static const struct {
    const char *in; /* the frame's function if it has no '/', else its file; of C++ if it has "::", else of Python */
    unsigned by;
} tells[] = {
    {"torch/optim/", GM_BY_OPTIMIZER},
    {"/clip_grad.py", GM_BY_CLIPPING},
    {"clip_grad", GM_BY_CLIPPING},
    {"cross_entropy", GM_BY_LOSS},
    {"nll_loss", GM_BY_LOSS},
    {"log_softmax", GM_BY_LOSS},
    {"kl_div", GM_BY_LOSS},
    {"modules/loss.py", GM_BY_LOSS},
    {"::_scaled_dot_product_attention_math", GM_BY_MATH_ATTENTION},
    {"softmax", GM_BY_SOFTMAX},
    {"/softmax.py", GM_BY_SOFTMAX},
    {"scatter", GM_BY_SCATTER},
    {"dropout", GM_BY_DROPOUT},
    {"torch/serialization.py", GM_BY_LOADING},
    {"safetensors/", GM_BY_LOADING},
    {"load_file", GM_BY_LOADING},
    {"/copy.py", GM_BY_COPYING},
    {"deepcopy", GM_BY_COPYING},
    {"torch/cuda/graphs.py", GM_BY_CAPTURE},
    {"torch/optim/adam.py", GM_BY_FUSABLE},
    {"torch/optim/adamw.py", GM_BY_FUSABLE},
    {"torch/optim/adagrad.py", GM_BY_FUSABLE},
    {"torch/optim/sgd.py", GM_BY_FUSABLE},
    {"swa_utils.py", GM_BY_COPYING},
    {"utils/checkpoint.py", GM_BY_RECOMPUTE},
    {"_call_impl", GM_BY_MODULE},
    {"hook", GM_BY_HOOK},
    {"amp/autocast_mode.py", GM_BY_AUTOCAST},
    {"autograd/graph.py", GM_BY_BACKWARD},
    {"torch::autograd::Engine::", GM_BY_BACKWARD},
    {"embedding", GM_BY_LOOKUP},
    {"nn/modules/linear.py", GM_BY_LINEAR},
    {"nn/modules/conv.py", GM_BY_LINEAR},
    {"nn/modules/", GM_BY_LAYER},
    {"nn/modules/container.py", GM_BY_SEQUENCE},
    {"_apply", GM_BY_MOVING},
    {"interpolate", GM_BY_RESIZING},
    {"upsample", GM_BY_RESIZING},
    {"_make_grads", GM_BY_ROOT},
    {"autograd/function.py", GM_BY_FUNCTION},
    {"torch/_functorch/", GM_BY_FUNCTION},
    {"torch/_native/", GM_BY_NOBODY}, /* chooses kernels, in autograd's threads, too, by calls of */
    {"torch/_ops.py", GM_BY_NOBODY},
    {"attn", GM_BY_ATTENTION},
    {"attention", GM_BY_ATTENTION},
    {"attend", GM_BY_ATTENTION},
};

static const char *string_of(struct gm_names *names, struct gm_string_id id)
{
    const char *s = gm_names_string(names, id);
    return s == NULL ? "" : s;
}

static unsigned told_by(const char *text, bool is_python, bool is_file)
{
    unsigned by = 0;
    for (size_t i = 0; i < sizeof tells / sizeof *tells; i++)
        if (is_python == (strstr(tells[i].in, "::") == NULL) && is_file == (strpbrk(tells[i].in, "/.") != NULL) &&
            strstr(text, tells[i].in) != NULL)
            by |= tells[i].by;
    return by;
}

enum { IS_ASKED = 1 << 30, IS_PYTHON = 1 << 29 }; /* beside bits of `tells` */

static unsigned told_by_file(const char *path)
{
    char file[GM_NAME_MOST + 1];
    (void)gm_path_with_slashes(file, sizeof file, path);
    if (!gm_frame_is_python(path))
        return IS_ASKED | GM_BY_NOBODY | told_by(file, false, true);
    return IS_ASKED | IS_PYTHON | told_by(file, true, true) |
           ((gm_file_kind(path) & GM_FILE_IS_TORCH) != 0 ? GM_BY_TORCH : 0u);
}

/* An operator that PyTorch has in Python (x ** 3, 1 - x): whoever writes it makes what it makes. */
static bool is_operator(struct gm_lives *l, size_t frame)
{
    char file[GM_NAME_MOST + 1];
    const struct gm_frames *frames = &l->snapshot->frames;
    const char *name = string_of(&l->names, frames->name[frame]);
    return (strcmp(name, "wrapped") == 0 || strncmp(name, "__r", 3) == 0) &&
           strstr(gm_path_with_slashes(file, sizeof file, string_of(&l->names, frames->filename[frame])),
                  "torch/_tensor.py") != NULL;
}

/* What files tell is worked out once for each. */
static bool read_frames(struct gm_lives *l)
{
    const struct gm_frames *frames = &l->snapshot->frames;
    GM_FREED unsigned *by_file = calloc((size_t)l->snapshot->strings.count + 1, sizeof *by_file);
    l->frame_by = malloc(((size_t)frames->count + 1) * sizeof *l->frame_by);
    if (by_file == NULL || l->frame_by == NULL)
        return false;
    for (size_t f = 0; f < frames->count; f++) {
        unsigned *of = &by_file[frames->filename[f].v];
        if (*of == 0)
            *of = told_by_file(string_of(&l->names, frames->filename[f]));
        l->frame_by[f] = (*of & ~(unsigned)(IS_ASKED | IS_PYTHON)) |
                         told_by(string_of(&l->names, frames->name[f]), (*of & IS_PYTHON) != 0, false) |
                         (is_operator(l, f) ? GM_BY_NOBODY : 0u);
    }
    return true;
}

enum { CALLS = 1 /* of modules: who calls from further out what is named after attention runs all else, too */ };

/* A softmax that adds up by groups, as over the edges that lead to a node, is none of all pairs, and its function none
 * of attention. */
static void forget_softmax_of_groups(struct gm_lives *l)
{
    const struct gm_snapshot *s = l->snapshot;
    for (size_t i = 0; i < s->stacks.count; i++)
        for (uint64_t f = s->stacks.start[i]; f + 1 < s->stacks.start[i + 1]; f++) {
            const struct gm_frame_id inner = s->stacks.frame_ids[f], outer = s->stacks.frame_ids[f + 1];
            if ((l->frame_by[inner.v] & GM_BY_SCATTER) == 0 || (l->frame_by[outer.v] & GM_BY_SOFTMAX) == 0)
                continue;
            for (uint32_t of = 0; of < s->frames.count; of++)
                if (gm_is_same_function(&s->frames, outer.v, of))
                    l->frame_by[of] &= ~(unsigned)GM_BY_SOFTMAX;
        }
}

/* A stack tells what its frames tell; nobody made it only if no frame is of Python. */
static bool read_stacks(struct gm_lives *l)
{
    const struct gm_snapshot *s = l->snapshot;
    l->calls = calloc((size_t)s->stacks.count + 1, sizeof *l->calls);
    l->by = calloc((size_t)s->stacks.count + 1, sizeof *l->by);
    if (l->calls == NULL || l->by == NULL || !read_frames(l))
        return false;
    forget_softmax_of_groups(l);
    for (size_t i = 0; i < s->stacks.count; i++) {
        unsigned nobody = GM_BY_NOBODY, torch = 0, calls = 0, inner = 0;
        for (uint64_t f = s->stacks.start[i]; f < s->stacks.start[i + 1]; f++) {
            const unsigned by = l->frame_by[s->stacks.frame_ids[f].v];
            torch = (nobody & ~by) != 0 ? by & GM_BY_TORCH : torch; /* the first of Python */
            calls += (by & ~inner & GM_BY_MODULE) != 0;
            inner = by;
            l->by[i] |= calls > CALLS ? by & ~(unsigned)GM_BY_ATTENTION : by;
            nobody &= by;
        }
        l->by[i] = (l->by[i] & ~(unsigned)(GM_BY_NOBODY | GM_BY_TORCH)) | nobody | torch;
        l->by_any |= l->by[i];
    }
    return true;
}

static bool find_same(struct gm_lives *l)
{
    const size_t frames = l->snapshot->frames.count;
    GM_FREED bool *is_line = malloc((frames + 1) * sizeof *is_line);
    for (size_t f = 0; is_line != NULL && f < frames; f++)
        is_line[f] = (l->frame_by[f] & GM_BY_NOBODY) == 0;
    l->same = is_line == NULL ? NULL : gm_stack_lines(l->snapshot, is_line);
    return l->same != NULL;
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

enum { DEPTH_MOST = 64, LOOPS_MOST = 1024, ROUNDS_LEAST = 2, SETUP_PARTS = 100, NO_CALL = 2 /* hashes are odd */ };

/* The frames of Python of a stack, outermost first. */
static size_t python_frames(const struct gm_lives *l, uint32_t stack, uint32_t out[DEPTH_MOST])
{
    const struct gm_snapshot *s = l->snapshot;
    size_t n = 0;
    if ((l->by[stack] & GM_BY_NOBODY) != 0)
        return 0;
    for (uint64_t f = s->stacks.start[stack + 1]; f > s->stacks.start[stack] && n < DEPTH_MOST; f--) {
        const uint32_t frame = s->stacks.frame_ids[f - 1].v;
        if ((l->frame_by[frame] & GM_BY_NOBODY) == 0)
            out[n++] = frame;
    }
    return n;
}

/* A return to an earlier line of the function at `depth` of the stack. */
struct loop_back {
    uint32_t event;
    uint32_t depth;
    uint64_t above, line; /* of the frames above it, and its function; the line that it returns to */
};

static uint64_t hash_above(const struct gm_lives *l, const uint32_t *frames, size_t depth)
{
    uint64_t hash = l->snapshot->frames.name[frames[depth]].v;
    for (size_t i = 0; i < depth; i++)
        hash = (hash ^ frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

static bool is_in_module(const struct gm_lives *l, const uint32_t *frames, size_t depth)
{
    for (size_t i = 0; i < depth; i++)
        if ((l->frame_by[frames[i]] & GM_BY_MODULE) != 0)
            return true;
    return false;
}

/* Whether all from that depth on is PyTorch's own code of optimizers: its loops are over parameters. */
static bool is_of_optimizer(const struct gm_lives *l, const uint32_t *frames, size_t n, size_t depth)
{
    while (depth < n && (l->frame_by[frames[depth]] & GM_BY_OPTIMIZER) != 0)
        depth++;
    return depth == n;
}

struct loop_backs GM_VEC(struct loop_back);

static uint32_t stack_at(const struct gm_lives *l, uint32_t event)
{
    const uint32_t a = gm_made_by(l->h, event);
    return a == GM_NEVER ? GM_NEVER : gm_lives_stack(l, a);
}

/* The same stacks follow each other again and again: pairs of which the second is no return are kept. */
static bool find_loop_backs(const struct gm_lives *l, struct loop_backs *found)
{
    enum { PAIRS = 4096 };
    GM_FREED struct pair {
        uint32_t last, stack;
    } *none = calloc(PAIRS, sizeof *none);
    uint32_t from[DEPTH_MOST], to[DEPTH_MOST], last = 0;
    bool ok = none != NULL;
    for (size_t a = 0; ok && a < l->h->allocation_count; a++) {
        const uint32_t stack = gm_is_made(l->h, a) ? gm_lives_stack(l, a) : GM_NEVER;
        if (stack == GM_NEVER || (l->by[stack] & GM_BY_NOBODY) != 0)
            continue;
        struct pair *pair = &none[(last * 31 + stack) % PAIRS];
        if (pair->last != last || pair->stack != stack) {
            const size_t n = python_frames(l, last, from), m = python_frames(l, stack, to);
            const size_t d = gm_steps_back_at(&l->snapshot->frames, from, n, to, m);
            if (d == SIZE_MAX || is_in_module(l, to, d) || is_of_optimizer(l, to, m, d))
                *pair = (struct pair){last, stack};
            else
                ok = GM_VEC_PUSH(found, ((struct loop_back){l->h->born[a] - 1, (uint32_t)d, hash_above(l, to, d),
                                                            l->snapshot->frames.line[to[d]]}));
        }
        last = stack;
    }
    return ok;
}

GM_ORDERING(by_loop, struct loop_back, GM_UP(depth) || GM_UP(above) || GM_UP(event));

GM_ORDERING(by_allocation, struct gm_cut_off, GM_UP(allocation));
GM_ORDERING(by_number, uint32_t, GM_BY(GM_ORDER(*a, *b)));

/* Whether no allocation is made above that line in its function, called from there. */
static bool is_entry(const struct gm_lives *l, const struct loop_back *back)
{
    uint32_t frames[DEPTH_MOST];
    for (uint32_t s = 0; s < l->snapshot->stacks.count; s++)
        if (python_frames(l, s, frames) > back->depth && l->snapshot->frames.line[frames[back->depth]] < back->line &&
            hash_above(l, frames, back->depth) == back->above)
            return false;
    return true;
}

/* The steps of an optimizer end in the middle of a loop's body; there are as many of both, but for what an end of the
 * trace cuts off. */
static bool are_as_many(size_t rounds, size_t steps)
{
    return rounds + 2 >= steps && rounds <= steps;
}

/* Those of one function [from, to), from one place. Where some return to its first line, it is called again then, or
 * they are as many as there are steps, and the others are loops inside of it: they go to the end. Returns where those
 * begin. */
static size_t without_inner(const struct gm_lives *l, struct loop_back *from, size_t n, size_t steps)
{
    const struct loop_back *first = from;
    size_t kept = 0;
    for (size_t i = 1; i < n; i++)
        first = from[i].line < first->line ? &from[i] : first;
    const struct loop_back entry = *first;
    for (size_t i = 0; i < n; i++)
        kept += from[i].line == entry.line;
    if (kept < ROUNDS_LEAST || kept == n ||
        (!is_entry(l, &entry) && (steps <= ROUNDS_LEAST || !are_as_many(kept, steps))))
        return n;
    kept = 0;
    for (size_t i = 0; i < n; i++)
        if (from[i].line == entry.line)
            from[kept++] = from[i];
    return kept;
}

/* How many of them, of one function and from one place, are of its first loop and of those inside of it: what returns
 * to other lines, and only after the last return to the first line, is of a loop that comes later. */
static size_t until_later(const struct loop_back *v, size_t n)
{
    size_t first = 0, last = 0;
    for (size_t i = 1; i < n; i++)
        first = v[i].line < v[first].line ? i : first;
    for (size_t i = first; i < n; i++)
        last = v[i].line == v[first].line ? i : last;
    for (size_t i = last + 1; i < n; i++) {
        bool is_inner = false;
        for (size_t k = 0; k < last && !is_inner; k++)
            is_inner = v[k].line == v[i].line;
        if (!is_inner)
            return i;
    }
    return n;
}

/* Those of one function, from one place, without those to its first line, if passes from there to there are next to
 * nothing: a loop that sets up what a later one works with. Returns how many are left. */
static size_t without_setup(struct loop_back *v, size_t n)
{
    size_t first = 0, kept = 0;
    uint64_t spent = 0;
    for (size_t i = 1; i < n; i++)
        first = v[i].line < v[first].line ? i : first;
    const uint64_t line = v[first].line, all = v[n - 1].event - v[0].event;
    for (size_t i = 1; i < n; i++)
        spent += v[i].line == line && v[i - 1].line == line ? v[i].event - v[i - 1].event : 0;
    if (spent == 0 || spent >= all / SETUP_PARTS)
        return n;
    for (size_t i = 0; i < n; i++)
        if (v[i].line != line)
            v[kept++] = v[i];
    return kept;
}

/* Whether backward passes give up most of what passes of a loop keep for them in later ones than made it: its passes
 * are layers. */
static bool is_of_layers(const struct gm_lives *l, const struct loop_back *v, size_t n)
{
    size_t own = 0, others = 0;
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        const uint32_t born = l->h->born[a], freed = l->h->freed[a];
        size_t at = 0;
        if (born <= v[0].event || gm_lives_is_of_backward(l, a) || !gm_lives_goes_in_backward(l, a))
            continue;
        GM_BISECT(at, n, i, v[i].event < born);
        *(at == n || freed <= v[at].event ? &own : &others) += 1;
    }
    return others > own;
}

/* Whether no backward pass comes any more, and nothing large that one of its passes made is there after the next. */
static bool is_evaluation(const struct gm_lives *l, const struct loop_back *v, size_t n)
{
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        const uint32_t born = l->h->born[a];
        size_t at = 0;
        if (born <= v[0].event)
            continue;
        GM_BISECT(at, n, i, v[i].event < born);
        if (gm_lives_is_of_backward(l, a) ||
            (at + 1 < n && l->h->freed[a] > v[at + 1].event + 1 && gm_requested(l->h, a) >= l->at_peak / 1000))
            return false;
    }
    return true;
}

/* Loops from the outside in; one that lies inside another that was taken is part of its rounds, as in those that are
 * known already, and layers are no rounds. One that is over before the second step sets the run up, if that begins in
 * the trace. `is_later`: those that begin after the last step, of an evaluation that collects nothing. */
static bool take_loops(struct gm_lives *l, struct loop_backs *found, const struct gm_kept_device *kept, bool is_later)
{
    const size_t steps = kept->step_count;
    const uint32_t after = steps > ROUNDS_LEAST && !l->is_late ? kept->steps[1].first : 0;
    const uint32_t before = steps > ROUNDS_LEAST ? kept->steps[steps - 1].first : GM_NEVER;
    struct {
        uint32_t first, last;
    } taken[LOOPS_MOST];
    size_t count = l->rounds.n > 0;
    if (count > 0) {
        taken[0].first = l->rounds.v[0];
        taken[0].last = l->rounds.v[l->rounds.n - 1];
    }
    GM_SORT(found->v, found->n, by_loop);
    for (size_t i = 0, end, next; i < found->n && count < LOOPS_MOST; i = next) {
        for (next = i + 1;
             next < found->n && found->v[next].depth == found->v[i].depth && found->v[next].above == found->v[i].above;)
            next++;
        size_t n = without_setup(&found->v[i], next - i);
        if (n == next - i)
            next = i + (n = until_later(&found->v[i], n));
        end = i + without_inner(l, &found->v[i], n, steps);
        const uint32_t first = found->v[i].event, last = found->v[end - 1].event;
        bool is_inside = end - i < ROUNDS_LEAST;
        for (size_t k = 0; k < count && !is_inside; k++)
            is_inside = taken[k].first <= last && first <= taken[k].last;
        if (is_inside || last < after || (!is_later && first > before))
            continue;
        taken[count].first = first;
        taken[count++].last = last;
        const bool are_rounds =
            is_later ? is_evaluation(l, &found->v[i], end - i) : !is_of_layers(l, &found->v[i], end - i);
        for (size_t k = i; are_rounds && k < end; k++)
            if (!GM_VEC_PUSH(&l->rounds, found->v[k].event))
                return false;
    }
    GM_SORT(l->rounds.v, l->rounds.n, by_number);
    return true;
}

/* So many allocations of the stack with which rounds begin are made in each of them; 0: not always as many. */
static size_t firsts_each(const struct gm_lives *l, uint32_t stack)
{
    size_t each = 0;
    for (size_t r = 0; r + 1 < l->rounds.n; r++) {
        size_t n = 0;
        for (uint32_t e = l->rounds.v[r]; e < l->rounds.v[r + 1]; e++)
            n += stack_at(l, e) == stack;
        if (stack_at(l, l->rounds.v[r]) != stack || n == 0 || (each > 0 && n != each))
            return 0;
        each = n;
    }
    return each;
}

/* A loop that makes things in its first line alone at first does not return to it: its first passes are where that line
 * makes as much again; the very first, where the trace begins in a pass, of which something older goes. */
static bool add_first_passes(struct gm_lives *l)
{
    if (l->rounds.n <= ROUNDS_LEAST)
        return true;
    const uint32_t stack = stack_at(l, l->rounds.v[0]), begun = l->rounds.v[0];
    const size_t each = stack == GM_NEVER ? 0 : firsts_each(l, stack), before = l->rounds.n;
    size_t n = 0;
    bool is_late = false;
    for (uint32_t e = 0; each > 0 && e < begun; e++) {
        const uint32_t a = l->h->of_event[e];
        is_late |= a != GM_NEVER && l->h->born[a] == 0 && l->h->freed[a] == e + 1;
        if (stack_at(l, e) == stack && n++ % each == 0 && (n > 1 || is_late) && !GM_VEC_PUSH(&l->rounds, e))
            return false;
    }
    if (each == 0 || n % each != 0)
        l->rounds.n = before;
    GM_SORT(l->rounds.v, l->rounds.n, by_number);
    return true;
}

/* Rules ask for the rounds of all allocations: how many begin before each 256th moment is counted once. */
static bool make_guide(struct gm_lives *l)
{
    const size_t last = l->h->count >> GM_GUIDE_BITS;
    l->guide = calloc(last + 2, sizeof *l->guide);
    if (l->guide == NULL)
        return false;
    for (size_t i = 0; i < l->rounds.n; i++)
        l->guide[(l->rounds.v[i] >> GM_GUIDE_BITS) + 1]++;
    for (size_t k = 1; k <= last + 1; k++)
        l->guide[k] += l->guide[k - 1];
    return true;
}

uint32_t gm_lives_round_end(const struct gm_lives *l, uint32_t round)
{
    return round < l->rounds.n ? l->rounds.v[round] : GM_NEVER;
}

/* What an event counts where the middle of the run is looked for: 1, or the bytes that lines of Python make. */
static uint64_t weight_of(const struct gm_lives *l, size_t e, bool is_by_bytes)
{
    const uint32_t stack = stack_at(l, (uint32_t)e);
    return !is_by_bytes                                              ? 1
           : stack == GM_NEVER || (l->by[stack] & GM_BY_NOBODY) != 0 ? 0
                                                                     : gm_requested(l->h, l->h->of_event[e]);
}

/* The frames that all allocations of Python in the middle half of the run have in common: the line of a loop, if its
 * body is one line. `is_met`: [gm_stack_id], false. */
static size_t line_of_most(const struct gm_lives *l, bool is_by_bytes, bool *is_met, uint32_t line[DEPTH_MOST])
{
    uint32_t frames[DEPTH_MOST];
    size_t n = SIZE_MAX;
    uint64_t all = 0, before = 0;
    for (size_t e = 0; e < l->h->count; e++)
        all += weight_of(l, e, is_by_bytes);
    for (size_t e = 0; e < l->h->count; before += weight_of(l, e++, is_by_bytes)) {
        const uint32_t stack = stack_at(l, (uint32_t)e);
        const bool is_middle = before >= all / 4 && before < all - all / 4;
        const size_t m = !is_middle || stack == GM_NEVER || is_met[stack] ? 0 : python_frames(l, stack, frames);
        if (m == 0)
            continue;
        is_met[stack] = true;
        if (n == SIZE_MAX)
            memcpy(line, frames, (n = m) * sizeof *line);
        for (size_t k = 0; k < n; k++)
            n = k >= m || frames[k] != line[k] ? k : n;
    }
    return n == SIZE_MAX ? 0 : n;
}

/* Counts for each callee how often it is called after another one; calls of `wanted` are the beginnings of rounds.
 * false: no memory. */
static bool count_calls(struct gm_lives *l, const uint32_t *callee, uint32_t *calls, size_t wanted)
{
    uint32_t before = GM_NEVER;
    bool ok = true;
    for (uint32_t e = 0; ok && e < l->h->count; e++) {
        const uint32_t stack = stack_at(l, e), now = stack == GM_NEVER ? GM_NEVER : callee[stack];
        if (now == GM_NEVER || now == before)
            continue;
        calls[now]++;
        ok = now != wanted || GM_VEC_PUSH(&l->rounds, e);
        before = now;
    }
    return ok;
}

/* A round begins where that line calls what it calls least often. `is_sure`: only if that is an allocation of its own,
 * again and again, between calls. */
static bool find_rounds_of_line(struct gm_lives *l, bool is_sure, bool is_by_bytes)
{
    uint32_t line[DEPTH_MOST], frames[DEPTH_MOST];
    const size_t none = l->snapshot->frames.count, stacks = l->snapshot->stacks.count;
    GM_FREED uint32_t *calls = calloc(none + 1, sizeof *calls);
    GM_FREED uint32_t *callee =
        malloc((stacks + 1) * sizeof *callee); /* [gm_stack_id]: what the line calls there; `none` */
    GM_FREED bool *is_met = calloc(stacks + 1, sizeof *is_met);
    if (calls == NULL || callee == NULL || is_met == NULL)
        return false;
    const size_t depth = line_of_most(l, is_by_bytes, is_met, line);
    if (depth == 0 || is_in_module(l, line, depth))
        return true;
    for (uint32_t s = 0; s < stacks; s++) {
        const size_t n = python_frames(l, s, frames);
        const bool is_through = n >= depth && memcmp(frames, line, depth * sizeof *line) == 0;
        callee[s] = !is_through ? GM_NEVER : n > depth ? frames[depth] : (uint32_t)none;
    }
    if (!count_calls(l, callee, calls, SIZE_MAX))
        return false;
    size_t least = none;
    for (size_t f = 0; f < none; f++)
        if (calls[f] > ROUNDS_LEAST && (calls[least] <= ROUNDS_LEAST || calls[f] < calls[least]))
            least = f;
    return calls[least] <= ROUNDS_LEAST || (is_sure && least != none) || count_calls(l, callee, calls, least);
}

/* Those after a moment: of evaluations of all epochs the last one's. false: no memory. */
static bool copy_later(struct loop_backs *later, const struct loop_backs *found, uint32_t than)
{
    bool ok = true;
    for (size_t i = 0; i < found->n && ok; i++)
        ok = found->v[i].event <= than || GM_VEC_PUSH(later, found->v[i]);
    return ok;
}

/* Returns to earlier lines are exact; a period of allocations begins anywhere in a round. */
static bool find_rounds(struct gm_lives *l, const struct gm_kept_device *kept, bool is_by_period)
{
    GM_FREED struct loop_backs found = {.v = NULL}, later = {.v = NULL};
    const bool has_steps = kept->step_count > ROUNDS_LEAST;
    const bool has_own = has_steps && !is_by_period;
    bool ok = has_own || find_rounds_of_line(l, true, false);
    const size_t of_line = l->rounds.n;
    ok = ok && find_loop_backs(l, &found);
    if (ok && has_own) /* loops that are taken leave the list in pieces */
        ok = copy_later(&later, &found, kept->steps[kept->step_count - 1].first);
    if (ok)
        ok = take_loops(l, &found, kept, false) && (of_line > 0 || add_first_passes(l));
    if (has_own && !are_as_many(l->rounds.n, kept->step_count))
        l->rounds.n = 0; /* another loop */
    for (int is_by_bytes = 0; ok && is_by_bytes < 2 && !has_steps && l->rounds.n == 0; is_by_bytes++)
        ok = find_rounds_of_line(l, false, is_by_bytes != 0);
    if (!ok || !has_steps)
        return ok;
    if (l->rounds.n <= ROUNDS_LEAST) {
        l->rounds.n = 0;
        for (size_t i = 0; ok && i < kept->step_count; i++)
            ok = GM_VEC_PUSH(&l->rounds, kept->steps[i].first);
    }
    return ok && take_loops(l, &later, kept, true);
}

/* Allocations are in the order of birth: dealt out to their stacks they stay in it. */
static bool make_roster(struct gm_roster *roster, const struct gm_lives *l)
{
    const struct gm_history *h = l->h;
    const size_t stacks = (size_t)l->snapshot->stacks.count + 1;
    roster->first = calloc(stacks + 2, sizeof *roster->first);
    for (size_t a = 0; roster->first != NULL && a < h->allocation_count; a++)
        if (gm_is_made(h, a)) {
            roster->first[(size_t)gm_lives_stack(l, a) + 2]++;
            roster->n++;
        }
    roster->v = calloc(roster->n + 1, sizeof *roster->v);
    if (roster->v == NULL || roster->first == NULL)
        return false;
    for (size_t s = 2; s <= stacks; s++)
        roster->first[s] += roster->first[s - 1];
    for (uint32_t a = 0; a < h->allocation_count; a++)
        if (gm_is_made(h, a))
            roster->v[roster->first[(size_t)gm_lives_stack(l, a) + 1]++] = a;
    return true;
}

/* ---- the end of the trace ---------------------------------------------------------------------------------------- */

static bool find_cut_offs(struct gm_lives *l)
{
    const struct gm_history *const h = l->h;
    const struct gm_roster *const roster = l->roster;
    for (uint32_t i = 0; i < roster->n; i++) {
        const uint32_t a = roster->v[i], round = h->freed[a] != GM_NEVER ? 0 : gm_lives_round_of(l, a),
                       row = round == 0 ? GM_NEVER : gm_roster_like(l, i, round - 1),
                       like = row == GM_NEVER ? GM_NEVER : roster->v[row];
        if (like != GM_NEVER && h->freed[like] != GM_NEVER && h->freed[like] - h->born[like] > h->count - h->born[a] &&
            !GM_VEC_PUSH(&l->cut_offs, ((struct gm_cut_off){a, like})))
            return false;
    }
    GM_SORT(l->cut_offs.v, l->cut_offs.n, by_allocation);
    return true;
}

static const struct gm_cut_off *cut_off_of(const struct gm_lives *l, size_t a)
{
    size_t at = 0;
    GM_BISECT(at, l->cut_offs.n, i, l->cut_offs.v[i].allocation < a);
    return at < l->cut_offs.n && l->cut_offs.v[at].allocation == a ? &l->cut_offs.v[at] : NULL;
}

bool gm_lives_is_cut_off(const struct gm_lives *l, size_t a)
{
    return cut_off_of(l, a) != NULL;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* gm_lives.is_late */
static bool has_passed(const struct gm_lives *l)
{
    bool has = false;
    for (size_t a = 0; a < l->h->allocation_count && !has; a++)
        has = l->h->born[a] == 0 && (l->h->freed[a] < l->h->count || gm_lives_is_role(l, a, GM_ROLE_GRADIENT) ||
                                     gm_lives_is_role(l, a, GM_ROLE_OPTIMIZER_STATE));
    return has;
}

/* gm_lives.last_zeroed */
static uint32_t find_last_zeroed(const struct gm_lives *l)
{
    const struct gm_history *const h = l->h;
    uint32_t last = 0;
    if (!l->is_late)
        return GM_NEVER;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (gm_lives_is_role(l, a, GM_ROLE_GRADIENT) && gm_requested(h, a) > GM_LOSS_BYTES &&
            h->freed[a] <= l->last_made && !gm_lives_goes_in_backward(l, a))
            last = (uint32_t)gm_max(last, h->freed[a]);
    return last;
}

static void look_at_phases(struct gm_lives *l, bool has_oom)
{
    l->first_forward = l->first_backward = l->first_oom = (uint32_t)l->h->count;
    const struct gm_history *const h = l->h;
    for (uint32_t e = 0; e < h->count; e++) {
        const uint8_t action = l->snapshot->events.action[h->first + e];
        const enum gm_phase phase = gm_lives_phase(l, e);
        if (action == GM_ACTION_OOM && has_oom && !l->has_oom) {
            l->first_oom = e;
            l->has_oom = true;
        }
        if (gm_action_is_release(action))
            l->gives_back = true;
        if (phase != GM_PHASE_OTHER && l->first_forward == h->count)
            l->first_forward = e;
        if (phase == GM_PHASE_BACKWARD && l->first_backward == h->count)
            l->first_backward = e;
        if (phase == GM_PHASE_OPTIMIZER)
            l->has_optimizer = true;
    }
    l->has_backward = l->first_backward < h->count;
    for (size_t a = 0; a < h->allocation_count; a++) {
        if (gm_is_made(h, a))
            l->last_made = h->born[a] - 1;
        else if (h->freed[a] == GM_NEVER && (gm_let_go(h, a) == GM_NEVER || gm_let_go(h, a) == 0))
            continue; /* no event is about it */
        if (!l->has_optimizer)
            l->has_optimizer = (gm_lives_by(l, a) & GM_BY_OPTIMIZER) != 0;
        if (!l->has_backward)
            l->has_backward = l->role[a] == GM_ROLE_GRADIENT;
    }
    l->last_zeroed = find_last_zeroed(l);
}

/* What needs no rounds. false: no memory. */
static bool look_at_all(struct gm_lives *l, const struct gm_kept_device *kept, bool has_oom)
{
    const struct gm_settled settled = kept->settled;
    look_at_phases(l, has_oom);
    if (l->peak < settled.begin && kept->from == 0 && kept->to >= l->h->count) {
        l->peak = settled.peak; /* of the equal ones that of which most was recorded */
        l->at_peak = settled.requested;
    }
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (gm_lives_at_peak(l, a) && !GM_VEC_PUSH(&l->there, (uint32_t)a))
            return false;
    return make_roster(l->roster, l);
}

struct aside {
    struct gm_lives *l;
    const struct gm_kept_device *kept;
    bool has_oom, is_done;
};

static void *look_aside(void *argument)
{
    struct aside *aside = argument;
    aside->is_done = look_at_all(aside->l, aside->kept, aside->has_oom);
    return NULL;
}

/* Both walk all allocations: of a long trace at the same time. */
static bool look_and_find_rounds(struct gm_lives *l, const struct gm_kept_device *kept, bool is_by_period, bool has_oom)
{
    enum { WORTH_A_THREAD = 200000 /* events */ };
    struct aside aside = {l, kept, has_oom, false};
    pthread_t thread;
    const bool has_thread = l->h->count >= WORTH_A_THREAD && pthread_create(&thread, NULL, look_aside, &aside) == 0;
    const bool ok = find_rounds(l, kept, is_by_period) && make_guide(l);
    if (has_thread)
        pthread_join(thread, NULL);
    else
        (void)look_aside(&aside);
    return ok && aside.is_done;
}

bool gm_lives_start(struct gm_lives *l, struct gm_report *report, const struct gm_snapshot *snapshot,
                    const struct gm_kept_device *kept, const struct gm_peak *peak, const struct gm_steps *steps,
                    bool has_oom)
{
    *l = (struct gm_lives){.snapshot = snapshot,
                           .h = &kept->history,
                           .role = kept->role,
                           .phase = kept->phase,
                           .peak = peak->event == GM_REPORT_NONE ? 0 : (uint32_t)peak->event + 1,
                           .at_peak = peak->requested};
    l->is_late = has_passed(l);
    l->taken = calloc(l->h->allocation_count + 1, 1);
    l->roster = calloc(1, sizeof *l->roster);
    if (l->roster != NULL)
        pthread_mutex_init(&l->roster->lock, NULL);
    return l->taken != NULL && l->roster != NULL && gm_names_init(&l->names, snapshot, &report->arena) &&
           read_stacks(l) && find_same(l) && look_and_find_rounds(l, kept, steps->period_events > 0, has_oom) &&
           find_cut_offs(l);
}

bool gm_lives_twin(struct gm_lives *twin, struct gm_lives *l, struct gm_arena *arena)
{
    *twin = *l;
    twin->taken = calloc(l->h->allocation_count + 1, 1);
    return gm_names_init(&l->names, l->snapshot, arena) && twin->taken != NULL;
}

static void forget_kinds(struct gm_lives *l)
{
    free(l->kinds);
    free(l->habits);
    l->kinds = NULL;
    l->habits = NULL;
}

void gm_lives_free_twin(struct gm_lives *twin)
{
    gm_names_free(&twin->names);
    free(twin->taken);
    forget_kinds(twin);
    *twin = (struct gm_lives){.h = NULL};
}

void gm_lives_take_as(struct gm_lives *twin, const struct gm_lives *other)
{
    memcpy(twin->taken, other->taken, other->h->allocation_count);
    twin->takes = other->takes;
    forget_kinds(twin);
}

void gm_lives_free(struct gm_lives *l)
{
    gm_names_free(&l->names);
    free(l->taken);
    forget_kinds(l);
    GM_FREE_ALL(l->by, l->same, l->frame_by, l->calls, l->rounds.v, l->there.v, l->cut_offs.v, l->guide);
    if (l->roster != NULL) {
        free(l->roster->v);
        free(l->roster->first);
        free(l->roster->rounds);
        pthread_mutex_destroy(&l->roster->lock);
    }
    free(l->roster);
    *l = (struct gm_lives){.h = NULL};
}

void gm_lives_take(struct gm_lives *l, size_t a, enum gm_taken how)
{
    if (l->lock != NULL)
        pthread_mutex_lock(l->lock);
    l->taken[a] = (uint8_t)how;
    l->takes++;
    if (l->lock != NULL)
        pthread_mutex_unlock(l->lock);
    forget_kinds(l);
}

void *gm_lives_scratch(const struct gm_lives *l, size_t n, size_t bytes)
{
    void *scratch = calloc(n, bytes);
    *l->failed |= scratch == NULL;
    return scratch;
}

void *gm_lives_of_stacks(const struct gm_lives *l, size_t bytes)
{
    return gm_lives_scratch(l, (size_t)l->snapshot->stacks.count + 1, bytes);
}

const char *gm_lives_site(struct gm_lives *l, uint32_t stack)
{
    const char *site = gm_names_site(&l->names, (struct gm_stack_id){stack});
    *l->failed |= site == NULL;
    return site == NULL ? "" : site;
}

uint64_t gm_lives_sum_at_peak(const struct gm_lives *l, bool (*are)(const struct gm_lives *, size_t))
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < l->there.n; i++)
        bytes += are(l, l->there.v[i]) ? gm_requested(l->h, l->there.v[i]) : 0;
    return bytes;
}

static uint64_t find_module_call(const struct gm_lives *l, uint32_t stack, unsigned level)
{
    uint32_t frames[DEPTH_MOST];
    const size_t n = python_frames(l, stack, frames);
    for (size_t d = 0; d + 1 < n; d++) {
        const bool is_call = (l->frame_by[frames[d]] & ~l->frame_by[frames[d + 1]] & GM_BY_MODULE) != 0;
        if (is_call && level-- <= 1)
            return hash_above(l, frames, d) | 1;
    }
    return 0;
}

uint64_t gm_lives_module_call(const struct gm_lives *l, uint32_t stack, unsigned level)
{
    if (level != 1)
        return find_module_call(l, stack, level);
    uint64_t call = atomic_load_explicit(&l->calls[stack], memory_order_relaxed);
    if (call == 0) { /* two threads find the same */
        call = find_module_call(l, stack, 1);
        call = call == 0 ? NO_CALL : call;
        atomic_store_explicit(&l->calls[stack], call, memory_order_relaxed);
    }
    return call == NO_CALL ? 0 : call;
}

static struct gm_round *look_at_rounds(const struct gm_lives *l)
{
    const size_t n = l->rounds.n + 1;
    struct gm_round *rounds = gm_lives_scratch(l, n + 1, sizeof *rounds);
    for (size_t r = 0; rounds != NULL && r < n; r++)
        rounds[r].backward = GM_NEVER;
    for (uint32_t e = 0, r = 0; rounds != NULL && e < l->h->count; e++) {
        const uint32_t a = gm_made_by(l->h, e);
        const bool is_made = a != GM_NEVER;
        const bool is_backward =
            gm_lives_phase(l, e) == GM_PHASE_BACKWARD || (is_made && l->role[a] == GM_ROLE_GRADIENT);
        if (!is_backward && !is_made)
            continue;
        while (r < l->rounds.n && l->rounds.v[r] <= e)
            r++;
        struct gm_round *round = &rounds[r];
        if (is_backward && round->backward == GM_NEVER)
            round->backward = e;
        /* zero_grad() is the optimizer's code, too, but makes nothing */
        round->has_step |=
            is_made && (gm_lives_phase(l, e) == GM_PHASE_OPTIMIZER || (gm_lives_by(l, a) & GM_BY_OPTIMIZER) != 0);
    }
    return rounds;
}

const struct gm_round *gm_lives_rounds(struct gm_lives *l)
{
    struct gm_roster *shared = l->roster;
    pthread_mutex_lock(&shared->lock);
    if (shared->rounds == NULL)
        shared->rounds = look_at_rounds(l);
    pthread_mutex_unlock(&shared->lock);
    return shared->rounds;
}

/* The first row of a stack that is of that round or of a later one, or the one after its last. */
static size_t row_of_round(const struct gm_lives *l, uint32_t stack, uint32_t round)
{
    size_t at = l->roster->first[stack];
    GM_BISECT(at, l->roster->first[stack + 1], i, gm_lives_round_of(l, l->roster->v[i]) < round);
    return at;
}

uint32_t gm_roster_like(const struct gm_lives *l, uint32_t row, uint32_t round)
{
    const uint32_t a = l->roster->v[row], stack = gm_lives_stack(l, a);
    const size_t like = row_of_round(l, stack, round) + row - row_of_round(l, stack, gm_lives_round_of(l, a));
    return like < l->roster->first[stack + 1] && gm_lives_round_of(l, l->roster->v[like]) == round ? (uint32_t)like
                                                                                                   : GM_NEVER;
}

bool gm_roster_has(const struct gm_lives *l, uint32_t stack, uint32_t round)
{
    return row_of_round(l, stack, round) < row_of_round(l, stack, round + 1);
}

bool gm_lives_is_lasting(const struct gm_lives *l, size_t a)
{
    const struct gm_history *h = l->h;
    return gm_lives_is_left(l, a) && gm_lives_is_early(l, h->born[a]);
}

bool gm_lives_is_beside_step(const struct gm_lives *l, uint32_t stack)
{
    const struct gm_frames *f = &l->snapshot->frames;
    uint32_t frames[DEPTH_MOST], others[DEPTH_MOST];
    const size_t n = python_frames(l, stack, frames);
    for (uint32_t s = 0; n > 0 && s < l->snapshot->stacks.count; s++) {
        const size_t m = (l->by[s] & GM_BY_OPTIMIZER) == 0 ? 0 : python_frames(l, s, others);
        if (m > 0 && (l->frame_by[others[m - 1]] & GM_BY_OPTIMIZER) == 0 &&
            f->filename[others[m - 1]].v == f->filename[frames[n - 1]].v)
            return true;
    }
    return false;
}

uint32_t gm_lives_after_others(const struct gm_lives *l, size_t a, unsigned others)
{
    const struct gm_history *h = l->h;
    uint32_t e = h->born[a];
    for (; e < h->count && others > 0; e++)
        others -= gm_made_by(h, e) != GM_NEVER;
    return e;
}

bool *gm_set_stacks(const struct gm_lives *l, const struct gm_set *set)
{
    bool *are = gm_lives_of_stacks(l, sizeof *are);
    for (size_t i = 0; are != NULL && i < set->n; i++)
        are[gm_lives_stack(l, set->v[i].allocation)] = true;
    return are;
}

uint64_t gm_set_at_peak(const struct gm_lives *l, const struct gm_set *set)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < set->n; i++)
        bytes += gm_lives_at_peak(l, set->v[i].allocation) ? gm_requested(l->h, set->v[i].allocation) : 0;
    return bytes;
}

static void change(struct gm_set *set, size_t a, uint32_t gone, uint32_t again, uint64_t bytes)
{
    set->failed |= !GM_VEC_PUSH(set, ((struct gm_remedy_change){(uint32_t)a, gone, again, bytes}));
}

void gm_set_add(struct gm_set *set, size_t a, uint32_t gone, uint32_t again)
{
    change(set, a, gone, again, GM_REMEDY_AS_RECORDED);
}

void gm_set_end(struct gm_set *set, size_t a, uint32_t gone)
{
    change(set, a, gone, GM_REMEDY_NEVER, GM_REMEDY_AS_RECORDED);
}

void gm_set_drop(struct gm_set *set, size_t a)
{
    change(set, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, 0);
}

void gm_set_shrink(struct gm_set *set, size_t a, uint64_t bytes)
{
    change(set, a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, bytes);
}

static uint32_t as_much_later(uint32_t moment, uint32_t by)
{
    return moment == 0 || moment == GM_REMEDY_NEVER ? moment : moment + by;
}

void gm_set_add_cut_off(const struct gm_lives *l, struct gm_set *set)
{
    const struct gm_history *const h = l->h;
    const size_t n = set->n;
    if (n == 0 || l->cut_offs.n == 0)
        return;
    GM_FREED uint32_t *cut_off =
        gm_lives_scratch(l, h->allocation_count, sizeof *cut_off); /* by what is like it; 0: there is none */
    if (cut_off == NULL)
        return;
    for (size_t i = 0; i < l->cut_offs.n; i++)
        cut_off[l->cut_offs.v[i].like] = l->cut_offs.v[i].allocation;
    for (size_t i = 0; i < n; i++) {
        const struct gm_cut_off *const is_in_set = cut_off_of(l, set->v[i].allocation);
        if (is_in_set != NULL)
            cut_off[is_in_set->like] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        const struct gm_remedy_change like = set->v[i];
        const uint32_t a = cut_off[like.allocation];
        if (a == 0)
            continue;
        const uint64_t size = gm_requested(h, a), size_of_like = gm_requested(h, like.allocation);
        const uint32_t later = h->born[a] - h->born[like.allocation], gone = as_much_later(like.gone, later);
        const uint64_t bytes = like.bytes == GM_REMEDY_AS_RECORDED ? like.bytes
                               : like.bytes >= size_of_like
                                   ? gm_max(like.bytes, size)
                                   : (uint64_t)((double)like.bytes / (double)size_of_like * (double)size);
        if (gone < h->count || gone == GM_REMEDY_NEVER || bytes < size) /* else it is there all the time as it is */
            change(set, a, gone, as_much_later(like.again, later), bytes);
    }
}

/* The label, and the line of the program's own that it was called from, of frames[0, n) outside of it: the innermost.
 * Of the program's own code that is a module it is the innermost outside of modules, which is the call of the model. */
static const char *with_origin(struct gm_lives *l, const char *label, const uint32_t *frames, size_t n, bool is_library)
{
    const struct gm_frames *f = &l->snapshot->frames;
    size_t from = n;
    for (size_t i = 0; i < n && (is_library || (l->frame_by[frames[i]] & GM_BY_MODULE) == 0); i++)
        if (f->line[frames[i]] != GM_ABSENT && gm_names_is_own(&l->names, f->filename[frames[i]]))
            from = i;
    if (from == n)
        return label;
    const char *line =
        gm_arena_printf(l->names.arena, "%s:%llu", gm_path_base(string_of(&l->names, f->filename[frames[from]])),
                        (unsigned long long)f->line[frames[from]]);
    const size_t length = strlen(label), more = line == NULL ? 0 : strlen(line);
    if (line != NULL && length > more && gm_ends_with(label, length, line) &&
        strchr("/ ", label[length - more - 1]) != NULL)
        return label; /* a comprehension is called by its own line */
    return line == NULL ? NULL : gm_arena_printf(l->names.arena, "%s" GM_SITE_FROM "%s", label, line);
}

/* How many of the first n frames of a stack call the line that tells; n: none of them is it. */
static size_t above_telling(struct gm_lives *l, const struct gm_frame_row *telling, const uint32_t *frames, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (l->snapshot->frames.line[frames[i]] == telling->line &&
            strcmp(string_of(&l->names, l->snapshot->frames.filename[frames[i]]), telling->filename) == 0)
            n = i;
    return n;
}

static bool is_same_line(const struct gm_frame_row *one, const struct gm_frame_row *two)
{
    return one->line == two->line && strcmp(one->filename, two->filename) == 0;
}

bool gm_lives_is_line_elsewhere(struct gm_lives *l, uint32_t stack, uint32_t other)
{
    uint32_t frames[DEPTH_MOST], others[DEPTH_MOST];
    const struct gm_frame_row *one = gm_names_telling_frame(&l->names, (struct gm_stack_id){stack});
    const struct gm_frame_row *two = gm_names_telling_frame(&l->names, (struct gm_stack_id){other});
    if (one == NULL || two == NULL || one->filename == NULL || two->filename == NULL || !is_same_line(one, two))
        return false;
    const size_t n = above_telling(l, one, frames, python_frames(l, stack, frames));
    const size_t m = above_telling(l, two, others, python_frames(l, other, others));
    return n != m || gm_shared_frames(frames, n, others, m) < n;
}

size_t gm_lives_shared(const struct gm_lives *l, uint32_t stack, uint32_t other)
{
    uint32_t frames[DEPTH_MOST], others[DEPTH_MOST];
    const size_t n = python_frames(l, stack, frames);
    return gm_shared_frames(frames, n, others, python_frames(l, other, others));
}

void gm_lives_mark_lines(struct gm_lives *l, bool *marked)
{
    const size_t stacks = l->snapshot->stacks.count;
    GM_FREED struct GM_VEC(const struct gm_frame_row *) lines = {.v = NULL};
    for (uint32_t s = 0; s < stacks; s++) {
        const struct gm_frame_row *line = marked[s] ? gm_names_telling_frame(&l->names, (struct gm_stack_id){s}) : NULL;
        bool is_known = line == NULL || line->filename == NULL;
        for (size_t i = 0; i < lines.n && !is_known; i++)
            is_known = is_same_line(lines.v[i], line);
        *l->failed |= !is_known && !GM_VEC_PUSH(&lines, line);
    }
    for (uint32_t s = 0; s < stacks; s++) {
        const struct gm_frame_row *line = marked[s] ? NULL : gm_names_telling_frame(&l->names, (struct gm_stack_id){s});
        for (size_t i = 0; line != NULL && i < lines.n && !marked[s]; i++)
            marked[s] = line->filename != NULL && is_same_line(lines.v[i], line);
    }
}

/* The site of a stack, and where it was called from, by the first n of its frames; if these do not tell, by all. */
static const char *place_of(struct gm_lives *l, uint32_t stack, const uint32_t *frames, size_t all, size_t n)
{
    const char *site = gm_names_site(&l->names, (struct gm_stack_id){stack});
    const struct gm_frame_row *telling = gm_names_telling_frame(&l->names, (struct gm_stack_id){stack});
    if (site == NULL || telling == NULL || telling->filename == NULL)
        return site;
    const bool is_library = (gm_file_kind(telling->filename) & GM_FILE_IS_INSTALLED) != 0;
    const char *place =
        with_origin(l, site, frames, above_telling(l, telling, frames, is_library ? all : n), is_library);
    return place != site ? place : with_origin(l, site, frames, above_telling(l, telling, frames, all), is_library);
}

const char *gm_lives_place(struct gm_lives *l, uint32_t stack)
{
    uint32_t frames[DEPTH_MOST];
    const size_t n = python_frames(l, stack, frames);
    return place_of(l, stack, frames, n, n);
}

const char *gm_lives_own_line(struct gm_lives *l, uint32_t stack)
{
    const struct gm_frame_row *telling = gm_names_telling_frame(&l->names, (struct gm_stack_id){stack});
    const char *place = gm_lives_place(l, stack), *from = place == NULL ? NULL : strstr(place, GM_SITE_FROM);
    if (from == NULL || telling == NULL || telling->filename == NULL)
        return place;
    return (gm_file_kind(telling->filename) & GM_FILE_IS_INSTALLED) != 0
               ? from + strlen(GM_SITE_FROM)
               : gm_arena_printf(l->names.arena, "%.*s", (int)(from - place), place);
}

/* How many of the frames of a stack, from the outermost on, nine tenths of the bytes (of each stack) came through. */
static size_t common_frames(const struct gm_lives *l, const uint64_t *bytes, const uint32_t *frames, size_t n)
{
    uint32_t others[DEPTH_MOST];
    uint64_t through[DEPTH_MOST + 1] = {0}, all = 0; /* through[d]: of those that part behind d frames */
    for (uint32_t s = 0; s < l->snapshot->stacks.count; s++) {
        const size_t m = bytes[s] == 0 ? 0 : python_frames(l, s, others);
        through[gm_shared_frames(frames, n, others, m)] += m == 0 ? 0 : bytes[s];
        all += m == 0 ? 0 : bytes[s];
    }
    uint64_t sum = through[n];
    while (n > 0 && sum < all - all / 10)
        sum += through[--n];
    return n;
}

/* The innermost line of frames[0, *n), of `all` of a stack, that is to be named, outside of modules if that is asked
 * for; it is frames[*n - 1] then. NULL: there is none. */
static const char *line_of(struct gm_lives *l, const uint32_t *frames, size_t all, size_t *n, bool is_outside,
                           bool *is_library)
{
    struct gm_frame_id inwards[DEPTH_MOST];
    for (size_t i = 0; i < all; i++)
        inwards[all - 1 - i].v = frames[i];
    for (; *n > 0; --*n) {
        const struct gm_frame_row frame = {string_of(&l->names, l->snapshot->frames.name[frames[*n - 1]]),
                                           string_of(&l->names, l->snapshot->frames.filename[frames[*n - 1]]),
                                           l->snapshot->frames.line[frames[*n - 1]]};
        const unsigned kind = gm_file_kind(frame.filename);
        *is_library = (kind & GM_FILE_IS_INSTALLED) != 0;
        if (frame.line != GM_ABSENT && (kind & GM_FILE_IS_TORCH) == 0 &&
            gm_names_is_told(&l->names, inwards, all, all - *n) && (!is_outside || !is_in_module(l, frames, *n - 1)))
            return gm_names_label(l->names.arena, &frame);
    }
    return NULL;
}

const char *gm_lives_parting(struct gm_lives *l, uint32_t stack, uint32_t other)
{
    uint32_t frames[DEPTH_MOST], others[DEPTH_MOST];
    size_t n = python_frames(l, stack, frames);
    const size_t all = n, d = gm_shared_frames(frames, n, others, python_frames(l, other, others));
    bool is_library;
    const char *label = line_of(l, frames, all, &n, true, &is_library);
    if (label == NULL)
        return gm_lives_place(l, stack);
    bool is_other = is_library; /* rather than a line of a library one of the program's own, behind where they part */
    for (size_t i = n - 1; is_library && i > d; i--) {
        const char *outer = line_of(l, frames, all, &i, true, &is_other);
        if (outer == NULL || i <= d)
            break;
        label = is_other ? label : outer;
        n = is_other ? n : i;
        is_library = is_other;
    }
    size_t to = gm_min(d + 1, n - 1);
    while (to > 0 && l->snapshot->frames.line[frames[to - 1]] == l->snapshot->frames.line[frames[n - 1]])
        to--; /* of a comprehension, twice */
    return with_origin(l, label, frames, to, is_library);
}

bool gm_lives_is_beside(struct gm_lives *l, uint32_t stack, uint32_t other, size_t inside)
{
    const struct gm_frames *f = &l->snapshot->frames;
    uint32_t frames[DEPTH_MOST], others[DEPTH_MOST];
    size_t n = python_frames(l, stack, frames);
    const size_t m = python_frames(l, other, others);
    while (n > 1 && (gm_file_kind(string_of(&l->names, f->filename[frames[n - 1]])) & GM_FILE_IS_TORCH) != 0)
        n--;
    if (n == 0 || m < n || m > n + inside || gm_shared_frames(frames, n, others, m) + 1 < n)
        return false;
    return gm_is_same_function(f, frames[n - 1], others[n - 1]);
}

uint32_t gm_lives_end_of_call(struct gm_lives *l, size_t a)
{
    const struct gm_frames *f = &l->snapshot->frames;
    uint32_t frames[2][DEPTH_MOST], last = gm_lives_stack(l, a), e = gm_next_made(l->h, l->h->born[a]);
    size_t n = python_frames(l, last, frames[0]), depth = n;
    while (depth > 1 && (gm_file_kind(string_of(&l->names, f->filename[frames[0][depth - 1]])) & GM_FILE_IS_TORCH) != 0)
        depth--;
    for (; e < l->h->count; e = gm_next_made(l->h, e + 1)) {
        const uint32_t stack = gm_lives_stack(l, gm_made_by(l->h, e));
        if ((l->by[stack] & GM_BY_NOBODY) != 0)
            continue;
        n = python_frames(l, last, frames[0]);
        const size_t m = python_frames(l, stack, frames[1]);
        if (!gm_lives_is_beside(l, gm_lives_stack(l, a), stack, DEPTH_MOST) ||
            gm_steps_back_at(f, frames[0], n, frames[1], m) < depth)
            break;
        last = stack;
    }
    return e;
}

const char *gm_lives_backward(struct gm_lives *l, uint32_t moment, bool is_own)
{
    const struct gm_history *h = l->h;
    size_t last = h->allocation_count;
    for (size_t a = 0; (l->by_any & GM_BY_ROOT) != 0 && a < h->allocation_count; a++)
        if ((gm_lives_by(l, a) & GM_BY_ROOT) != 0 && (h->born[a] <= moment || last == h->allocation_count))
            last = a;
    if (last == h->allocation_count)
        return NULL;
    return is_own ? gm_lives_own_line(l, gm_lives_stack(l, last)) : gm_lives_place(l, gm_lives_stack(l, last));
}

bool gm_lives_has_phase(const struct gm_lives *l, uint32_t from, uint32_t to, enum gm_phase phase)
{
    bool has = false;
    for (uint32_t e = from; !has && e < to && e < l->h->count; e++)
        has = gm_lives_phase(l, e) == phase;
    return has;
}

/* Whether the peak would be without it, or a part of it. */
static bool is_spared_at_peak(const struct gm_lives *l, const struct gm_remedy_change *change)
{
    return gm_lives_at_peak(l, change->allocation) &&
           (change->bytes != GM_REMEDY_AS_RECORDED || (change->gone <= l->peak && l->peak < change->again));
}

void gm_lives_blame(struct gm_lives *l, const struct gm_set *set, struct gm_blame *blame)
{
    const struct gm_history *h = l->h;
    GM_FREED uint64_t *bytes = gm_lives_of_stacks(l, sizeof *bytes);
    GM_FREED bool *is_met =
        gm_lives_scratch(l, h->allocation_count + 1, sizeof *is_met); /* one may be changed several times */
    const unsigned engine = GM_BY_NOBODY | GM_BY_BACKWARD;
    uint32_t most = 0;
    bool is_spared = false; /* any of them: then those that it keeps are not what it is about */
    *blame = (struct gm_blame){.all = set->n};
    if (*l->failed)
        return;
    for (size_t i = 0; i < set->n && !is_spared; i++)
        is_spared = is_spared_at_peak(l, &set->v[i]);
    for (size_t i = 0; i < set->n; i++) {
        const uint32_t a = set->v[i].allocation, stack = gm_lives_stack(l, a);
        if (is_met[a])
            continue;
        is_met[a] = true;
        blame->stacks += bytes[stack] == 0;
        bytes[stack] += 1;
        if (gm_lives_at_peak(l, a)) {
            bytes[stack] += is_spared && !is_spared_at_peak(l, &set->v[i]) ? 0 : gm_requested(h, a);
            blame->bytes += gm_requested(h, a);
            blame->blocks++;
        }
        const bool is_of_engine = (l->by[stack] & engine) != 0, was_of_engine = (l->by[most] & engine) != 0;
        most = is_of_engine < was_of_engine || (is_of_engine == was_of_engine && bytes[stack] > bytes[most]) ? stack
                                                                                                             : most;
    }
    blame->stack = most;
    blame->is_most = bytes[most] >= blame->bytes / 2;
    if (set->n > 0) {
        uint32_t frames[DEPTH_MOST];
        const size_t n = python_frames(l, most, frames);
        blame->site = place_of(l, most, frames, n, common_frames(l, bytes, frames, n));
    }
}

/* Of a function: the innermost line of the stack that has most at the peak, but for functions that make a softmax and
 * no more. */
static const char *caller(struct gm_lives *l, const struct gm_set *set, bool is_outside, bool is_function)
{
    GM_FREED uint64_t *bytes = gm_lives_of_stacks(l, sizeof *bytes);
    uint32_t common[DEPTH_MOST], most = 0;
    bool is_library;
    for (size_t i = 0; bytes != NULL && i < set->n; i++) {
        const uint32_t stack = gm_lives_stack(l, set->v[i].allocation);
        const size_t of = set->v[i].allocation;
        if ((l->by[stack] & (GM_BY_NOBODY | GM_BY_BACKWARD)) == 0)
            bytes[stack] += is_function && !gm_lives_at_peak(l, of) ? 1 : gm_requested(l->h, of);
        most = bytes[stack] > bytes[most] ? stack : most;
    }
    const size_t all = bytes == NULL || set->n == 0 ? 0 : python_frames(l, most, common);
    size_t n = all == 0 || is_function ? all : common_frames(l, bytes, common, all);
    while (is_function && n > 1 && (l->frame_by[common[n - 1]] & (GM_BY_SOFTMAX | GM_BY_ATTENTION)) == GM_BY_SOFTMAX)
        n--;
    const char *label = line_of(l, common, all, &n, is_outside, &is_library);
    return label == NULL ? label : with_origin(l, label, common, n - 1, true);
}

const char *gm_lives_caller(struct gm_lives *l, const struct gm_set *set, bool is_outside)
{
    return caller(l, set, is_outside, false);
}

const char *gm_lives_function(struct gm_lives *l, const struct gm_set *set)
{
    return caller(l, set, false, true);
}

/* How many frames all that is made from the one to the other has in common, from the outermost on, and those. */
static size_t common_from_to(const struct gm_lives *l, uint32_t first, uint32_t last, uint32_t frames[DEPTH_MOST],
                             size_t *all)
{
    uint32_t others[DEPTH_MOST];
    size_t n = *all = python_frames(l, gm_lives_stack(l, first), frames);
    for (uint32_t e = l->h->born[first]; e < l->h->born[last]; e++) {
        const size_t m = gm_made_by(l->h, e) == GM_NEVER ? 0 : python_frames(l, stack_at(l, e), others);
        n = m == 0 ? n : gm_min(n, gm_shared_frames(frames, *all, others, m));
    }
    return n;
}

/* Whether both go through one call, behind n frames, of the same function. */
static bool is_same_call(const struct gm_lives *l, const uint32_t *frames, size_t n, const uint32_t *others, size_t m)
{
    const struct gm_frames *f = &l->snapshot->frames;
    return m > n && gm_shared_frames(frames, n, others, m) == n && gm_is_same_function(f, frames[n], others[n]);
}

/* Whether one of the last few of n frames runs modules one after the other: the next function is one's. */
static bool is_in_sequence(const struct gm_lives *l, const uint32_t *frames, size_t n)
{
    bool is_one = false;
    for (size_t i = n; i > 0 && n - i <= GM_INSIDE; i--)
        is_one |= (l->frame_by[frames[i - 1]] & GM_BY_SEQUENCE) != 0;
    return is_one;
}

/* The least line of that call's function that most of the parts [from, to) have up to the next part; 0: none is. */
static uint64_t first_line_of_parts(const struct gm_lives *l, const struct gm_set *set, size_t from, size_t to,
                                    const uint32_t *frames, size_t n)
{
    uint32_t others[DEPTH_MOST];
    uint64_t most = 0;
    size_t votes = 0;
    for (size_t i = from, next; i < to; i = next) {
        uint64_t least = UINT64_MAX;
        for (next = i; next < to && set->v[next].gone == set->v[i].gone; next++)
            ;
        const uint32_t end = l->h->born[set->v[next < to ? next : next - 1].allocation];
        for (uint32_t e = l->h->born[set->v[i].allocation]; e < end; e++) {
            const size_t m = gm_made_by(l->h, e) == GM_NEVER ? 0 : python_frames(l, stack_at(l, e), others);
            if (is_same_call(l, frames, n, others, m))
                least = gm_min(least, l->snapshot->frames.line[others[n]]);
        }
        if (least == UINT64_MAX)
            continue;
        most = votes == 0 ? least : most;
        votes = least == most ? votes + 1 : votes - 1;
    }
    return votes == 0 ? 0 : most;
}

/* Parts [from, to) of which each is made by several lines of a function, which runs others before them, are passes of a
 * loop in it: its line that makes most of them becomes one of the n frames. Its line may make a good deal less. */
static size_t with_loop(const struct gm_lives *l, const struct gm_set *set, size_t from, size_t to, uint32_t *frames,
                        size_t n, enum gm_runs_parts *runs)
{
    const struct gm_frames *f = &l->snapshot->frames;
    uint32_t others[DEPTH_MOST], most = frames[n];
    GM_FREED uint64_t *bytes = gm_lives_scratch(l, (size_t)f->count + 1, sizeof *bytes);
    const uint64_t least = first_line_of_parts(l, set, from, to, frames, n);
    bool has_before = false;
    uint64_t all = 0;
    for (uint32_t s = 0; s < l->snapshot->stacks.count && !has_before; s++)
        has_before = is_same_call(l, frames, n, others, python_frames(l, s, others)) && f->line[others[n]] < least;
    for (size_t i = from; bytes != NULL && has_before && i < to; i++) {
        const size_t m = python_frames(l, gm_lives_stack(l, set->v[i].allocation), others);
        if (!is_same_call(l, frames, n, others, m))
            continue;
        all += gm_requested(l->h, set->v[i].allocation);
        bytes[others[n]] += gm_requested(l->h, set->v[i].allocation);
        most = bytes[others[n]] > bytes[most] ? others[n] : most;
    }
    if (has_before && bytes != NULL && bytes[most] < all - all / 10)
        *runs = GM_RUNS_IN_PASSES;
    frames[n] = most;
    return n + has_before;
}

static const char *label_of(struct gm_lives *l, uint32_t frame)
{
    const struct gm_frames *f = &l->snapshot->frames;
    const struct gm_frame_row row = {string_of(&l->names, f->name[frame]), string_of(&l->names, f->filename[frame]),
                                     f->line[frame]};
    return gm_names_label(l->names.arena, &row);
}

/* The line with most but one, if it has a quarter as much. NULL: there is none. `*more`: lines beside these that have a
 * 32nd of the first one's. */
static const char *next_line(struct gm_lives *l, const uint64_t *bytes, uint32_t line, size_t *more)
{
    enum { WORTH_A_WORD = 32 };
    const size_t count = l->snapshot->frames.count;
    uint32_t next = line;
    *more = 0;
    for (uint32_t f = 0; f < count; f++) {
        if (f != line && (next == line || bytes[f] > bytes[next]))
            next = f;
        *more += bytes[f] > 0 && bytes[f] >= bytes[line] / WORTH_A_WORD;
    }
    *more -= gm_min(*more, 2);
    return next != line && bytes[next] > 0 && bytes[next] >= bytes[line] / 4 ? label_of(l, next) : NULL;
}

const char *gm_lives_caller_of_parts(struct gm_lives *l, const struct gm_set *set, enum gm_runs_parts *runs,
                                     const char **other, size_t *more)
{
    GM_FREED uint64_t *bytes = gm_lives_scratch(l, (size_t)l->snapshot->frames.count + 1, sizeof *bytes);
    uint64_t most = 0;
    uint32_t frames[DEPTH_MOST] = {0}, line = 0;
    size_t first = 0, next = 0, end = 0, all, n; /* of that line: the first part, what follows, its round's end */
    size_t left = 2 * l->h->count;               /* events to look at: parts of layers hardly overlap */
    bool is_library;
    *runs = GM_RUNS_BY_LINE;
    *other = NULL;
    *more = 0;
    for (size_t from = 0, to; bytes != NULL && from < set->n; from = to) {
        uint64_t part = 0;
        for (to = from; to < set->n && set->v[to].gone == set->v[from].gone; to++)
            part += gm_requested(l->h, set->v[to].allocation);
        const uint32_t begun = l->h->born[set->v[from].allocation], ended = l->h->born[set->v[to - 1].allocation];
        if (ended > begun && ended - begun > left)
            continue;
        left -= ended > begun ? ended - begun : 0;
        n = common_from_to(l, set->v[from].allocation, set->v[to - 1].allocation, frames, &all);
        if (line_of(l, frames, all, &n, false, &is_library) == NULL)
            continue;
        bytes[frames[n - 1]] += part;
        if (bytes[frames[n - 1]] <= most)
            continue;
        if (most == 0 || frames[n - 1] != line) {
            first = from;
            next = end = to;
        } else if (gm_lives_round(l, set->v[from].gone) == gm_lives_round(l, set->v[first].gone)) {
            end = to;
        }
        line = frames[n - 1];
        most = bytes[line];
    }
    if (most == 0)
        return NULL;
    n = common_from_to(l, set->v[first].allocation, set->v[next - 1].allocation, frames, &all);
    *other = next_line(l, bytes, line, more);
    *runs = is_in_sequence(l, frames, n) ? GM_RUNS_IN_SEQUENCE : GM_RUNS_BY_LINE;
    n = n < all && next < end && *runs == GM_RUNS_BY_LINE ? with_loop(l, set, first, end, frames, n, runs) : n;
    const char *label = line_of(l, frames, all, &n, false, &is_library);
    return label == NULL ? NULL : with_origin(l, label, frames, n - 1, true);
}

bool gm_lives_is_within_backward(const struct gm_lives *l, uint32_t event)
{
    const uint32_t a = gm_made_by(l->h, event);
    return gm_lives_phase(l, event) == GM_PHASE_BACKWARD ||
           (a != GM_NEVER && (gm_lives_by(l, a) & GM_BY_RECOMPUTE) != 0);
}

uint32_t gm_lives_freer(const struct gm_lives *l, const struct gm_set *set, unsigned by)
{
    GM_FREED uint64_t *bytes = gm_lives_of_stacks(l, sizeof *bytes);
    uint64_t all = 0;
    uint32_t most = 0;
    for (size_t i = 0; bytes != NULL && i < set->n; i++) {
        const uint32_t a = set->v[i].allocation, freed = gm_let_go(l->h, a);
        const uint32_t stack = freed == GM_NEVER || freed == 0 || (by == 0 && gm_lives_is_left(l, a)) ||
                                       gm_lives_is_within_backward(l, freed - 1)
                                   ? 0
                                   : gm_lives_stack_at(l, freed - 1);
        all += gm_requested(l->h, a);
        bytes[stack] += stack == gm_lives_stack(l, a) || (l->by[stack] & by) != by ? 0 : gm_requested(l->h, a);
        most = (l->by[stack] & GM_BY_NOBODY) == 0 && bytes[stack] > bytes[most] ? stack : most;
    }
    return bytes != NULL && bytes[most] >= all / 2 ? most : 0;
}
