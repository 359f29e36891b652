/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's layers repeat as steps do, often more exactly. The difference is in the stacks. What repeats has outer
 * frames in common: the way to the loop's body. A loop over layers runs inside a module's call, and the same call also
 * allocates outside the loop (embeddings, the last norm, the head): such a stack leaves the common frames below a
 * module's call. A loop over steps calls the module anew each time: whoever shares the call shares all of it. If the
 * trace has nothing but the loop (it begins or ends inside of it) no stack leaves; then one line of a module's forward
 * that everything comes through is a doubt.
 */
#include "analyze/timeline/steps/step_work.h"

#include "analyze/base/ascii.h"

#include <stdlib.h>
#include <string.h>

/* Only Python's frames: others tell no lines. */
size_t gm_python_frames(struct gm_step_work *w, uint32_t stack, uint32_t *out, size_t most)
{
    size_t depth, n = 0;
    const struct gm_frame_id *frames = gm_stack_frames(w->pass->snapshot, (struct gm_stack_id){stack}, &depth);
    for (size_t i = depth; i-- > 0 && n < most;)
        if (gm_frame_marks(&w->classes, frames[i]) & GM_MARK_PYTHON)
            out[n++] = frames[i].v;
    return n;
}

enum { DEEPEST = 512 }; /* frames of a stack that are compared, outermost first */

/* How often each stack occurs in allocs [first, last). */
static void count_stacks(const struct gm_step_work *w, size_t first, size_t last, uint32_t *counts)
{
    for (size_t i = first; i < last; i++)
        counts[w->allocs.stack[i]]++;
}

bool gm_stack_is_of_backward(struct gm_step_work *w, uint32_t stack)
{
    const uint8_t class = gm_stack_class(&w->classes, stack);
    return (class & GM_STACK_KIND) == GM_STACK_BACKWARD ||
           ((class & GM_STACK_KIND) == GM_STACK_PLAIN && (class & GM_STACK_HAS_PYTHON) != 0 && w->classes.has_caller &&
            !gm_stack_is_of_caller(&w->classes, stack));
}

/* The common frames of the stacks that come in at least every second period. *has_root: they begin in one function at
 * least, if not on one line of it. */
static size_t common_path(struct gm_step_work *w, const uint32_t *counts, size_t periods, uint32_t *path,
                          bool *has_root)
{
    uint32_t frames[DEEPEST], root = 0;
    size_t length = 0;
    bool is_set = false;
    *has_root = true;
    for (uint32_t s = 0; s < w->pass->snapshot->stacks.count; s++) {
        if ((size_t)counts[s] * 2 < periods || counts[s] < 2 || gm_stack_is_of_backward(w, s))
            continue;
        size_t n = gm_python_frames(w, s, frames, DEEPEST);
        if (!is_set && n > 0) {
            memcpy(path, frames, n * sizeof *path);
            root = frames[0];
        }
        *has_root = *has_root && n > 0 && gm_is_same_function(&w->pass->snapshot->frames, root, frames[0]);
        length = is_set ? gm_shared_frames(path, length, frames, n) : n;
        is_set = true;
    }
    *has_root = *has_root && is_set;
    return length;
}

static bool is_forward(const struct gm_step_work *w, uint32_t frame)
{
    size_t n;
    const char *name = gm_string(w->pass->snapshot, w->pass->snapshot->frames.name[frame], &n);
    return gm_is_text(name, n, "forward");
}

/* Does a stack of the trace leave the path below a module's call? Or in its forward function: recorded with C++ frames
 * the frames of the call itself may be elsewhere in the stack. */
static bool leaves_inside_module(struct gm_step_work *w, const uint32_t *all, const uint32_t *path, size_t length)
{
    uint32_t frames[DEEPEST];
    size_t module = 0; /* frames of the path up to the outermost module's call */
    while (module < length && (gm_frame_marks(&w->classes, (struct gm_frame_id){path[module]}) & GM_MARK_FORWARD) == 0)
        module++;
    if (module == length)
        return false;
    for (uint32_t s = 0; s < w->pass->snapshot->stacks.count; s++) {
        if (all[s] == 0 || gm_stack_is_of_backward(w, s))
            continue;
        size_t depth = gm_python_frames(w, s, frames, DEEPEST), n = gm_shared_frames(path, length, frames, depth);
        if (n < length && (n > module || (n < depth && is_forward(w, path[n]) &&
                                          gm_is_same_function(&w->pass->snapshot->frames, path[n], frames[n]))))
            return true;
    }
    return false;
}

/* Most of what the loop allocates before its last two rounds must be freed within two rounds, else it builds something
 * up: activations layer by layer, parameters one by one. */
static bool lets_go(const struct gm_step_work *w, const struct gm_period *p)
{
    const struct gm_history *h = &w->pass->history;
    size_t kept = 0, end = p->last + p->length, last = end > 2 * p->length ? end - 2 * p->length : 0;
    if (last <= p->first)
        return true;
    for (size_t i = p->first; i < last; i++) {
        uint32_t a = h->of_event[w->allocs.event[i]];
        size_t until = i + 2 * p->length;
        kept += a != GM_NEVER &&
                (until >= w->allocs.count ? h->freed[a] == GM_NEVER : h->freed[a] > w->allocs.event[until]);
    }
    return kept * 2 <= last - p->first;
}

/* Is one line of a module's forward on the path? What repeats may be that line's loop over layers, or all that a module
 * around the model does. */
static bool is_in_forward(const struct gm_step_work *w, const uint32_t *path, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (is_forward(w, path[i]))
            return true;
    return false;
}

static bool has_mark(struct gm_step_work *w, const uint32_t *path, size_t length, uint8_t mark)
{
    for (size_t i = 0; i < length; i++)
        if (gm_frame_marks(&w->classes, (struct gm_frame_id){path[i]}) & mark)
            return true;
    return false;
}

/* Do a tenth of the trace's stacks have frames that could tell? */
static bool has_python(struct gm_step_work *w, const uint32_t *all)
{
    size_t told = 0;
    for (uint32_t s = 0; s < w->pass->snapshot->stacks.count; s++)
        if (all[s] > 0 && gm_stack_class(&w->classes, s) & GM_STACK_HAS_PYTHON)
            told += all[s];
    return told * 10 >= w->allocs.count;
}

bool gm_loop_judge(struct gm_step_work *w, const struct gm_period *p, enum gm_loop_verdict *verdict)
{
    size_t stacks = (size_t)w->pass->snapshot->stacks.count + 2, end = p->last + p->length;
    GM_FREED uint32_t *counts = calloc(stacks, sizeof *counts), *all = calloc(stacks, sizeof *all);
    uint32_t path[DEEPEST];
    size_t kinds[4] = {0};
    if (counts == NULL || all == NULL)
        return false;
    count_stacks(w, p->first, end, counts);
    count_stacks(w, 0, w->allocs.count, all);
    for (uint32_t s = 0; s + 2 < stacks; s++)
        if (counts[s] > 0)
            kinds[gm_stack_class(&w->classes, s) & GM_STACK_KIND] += counts[s];
    size_t known = end - p->first - kinds[GM_STACK_PLAIN];
    bool has_root;
    size_t length = common_path(w, counts, (end - p->first) / p->length, path, &has_root);
    const bool is_inside =
        (known > 0 && (kinds[GM_STACK_BACKWARD] == end - p->first || kinds[GM_STACK_OPTIMIZER] == known)) ||
        has_mark(w, path, length, GM_MARK_SETUP | GM_MARK_BACKWARD) || leaves_inside_module(w, all, path, length);
    if (is_inside || !lets_go(w, p))
        *verdict = GM_LOOP_NO;
    else if (!has_root)
        *verdict = has_python(w, all) ? GM_LOOP_NO : GM_LOOP_UNKNOWN;
    else
        *verdict = is_in_forward(w, path, length) ? GM_LOOP_UNKNOWN : GM_LOOP_YES;
    return true;
}
