/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of modules, from stacks. A stack says which lines called which; it does not say which object was called, nor
 * whether the line of a loop is in its first round or in its tenth. The stack of the next allocation does, most times:
 *
 *   - up to the first frame in which two successive stacks differ, the same calls go on; what is below has returned,
 *     so the same line further down is another call;
 *   - if that frame is a module's and is now at a line where such a call has begun before, and which this call has left
 *     already, the module was called anew: the next layer. Else it is a loop inside of it, or a statement of several
 *     lines;
 *   - of modules of PyTorch's own, a whole stack that repeats with the size that came first is a call anew, but for
 *     workspaces.
 *
 * Where calls begin is learnt in a walk before: a call is certainly new where the line that calls has changed.
 */
#include "analyze/timeline/modules/module_work.h"

#include <stdlib.h>

enum { DEEPEST = 1024 /* frames of a stack that are looked at, the outermost */ };

/* A frame of the latest stack, and what is known of the function's call that it belongs to. */
struct activation {
    uint32_t frame;
    uint32_t serial;  /* of this call of the function */
    uint32_t moved;   /* likewise of its being at this line */
    uint32_t call;    /* the innermost call of a module here */
    uint32_t module;  /* the index of its activation, + 1; 0: none */
    uint32_t pending; /* the index, + 1, of what called nn.Module's call, while its code has not begun; 0: none */
    struct made {     /* of modules: the allocation that it began with */
        uint32_t stack;
        uint64_t bytes;
        bool is_brief; /* freed before anything else was made: a workspace */
    } first;
};

struct tracker {
    struct gm_trace_pass *pass;
    struct gm_calls *calls;
    struct activation *latest; /* [DEEPEST] */
    size_t depth;
    uint32_t serial;
    uint32_t *left;           /* [gm_frame_id] the serial of the call that left that line last */
    struct gm_intern entries; /* where calls of a node begin: {node, frame} */
    const uint32_t *frames;   /* the stack that is looked at, outermost first */
    uint32_t *unfolded;       /* the Python frames of all stacks, likewise */
    uint64_t *start;          /* [gm_stack_id] where in them a stack begins; one more than there are stacks */
    uint32_t *forward;        /* [DEEPEST] scratch: a stack of a place in forward */
    bool is_unordered;        /* calls are not counted */
    bool failed;
};

static enum gm_module_frame kind_of(struct tracker *t, uint32_t frame)
{
    uint8_t *kind = &t->calls->kind[frame];
    if (*kind == GM_FRAME_UNASKED)
        *kind = (uint8_t)gm_module_frame_of(t->pass, frame);
    t->failed = t->failed || *kind == GM_FRAME_UNASKED;
    return (enum gm_module_frame) * kind;
}

/* ---- nodes and calls -------------------------------------------------------------------------------------------- */

/* Numbers of both begin at 1: 0 is the root of each. */
static uint32_t node_of(struct tracker *t, uint32_t parent, uint32_t caller, uint32_t callee)
{
    const struct gm_frames *f = &t->pass->snapshot->frames;
    const uint32_t key[] = {parent, caller, f->name[callee].v, f->filename[callee].v};
    const uint32_t found = gm_intern_add(&t->calls->node_keys, key, sizeof key);
    const struct gm_call_node fresh = {.parent = parent, .caller = caller, .callee = callee};
    t->failed = t->failed || found == GM_INTERN_NONE ||
                (found + 1 == t->calls->nodes.n && !GM_VEC_PUSH(&t->calls->nodes, fresh));
    return t->failed ? 0 : found + 1;
}

static uint32_t call_of(struct tracker *t, uint32_t parent, uint32_t node, uint32_t number)
{
    const struct gm_module_call call = {parent, node, number};
    const uint32_t found = gm_intern_add(&t->calls->call_keys, &call, sizeof call);
    t->failed = t->failed || found == GM_INTERN_NONE ||
                (found + 1 == t->calls->calls.n && !GM_VEC_PUSH(&t->calls->calls, call));
    return t->failed ? 0 : found + 1;
}

/* The index of a module's activation at `depth`'s innermost call. */
static const struct activation *module_at(const struct tracker *t, size_t depth)
{
    return depth == 0 || t->latest[depth - 1].module == 0 ? NULL : &t->latest[t->latest[depth - 1].module - 1];
}

static uint32_t node_at(const struct tracker *t, size_t depth)
{
    return depth == 0 ? 0 : t->calls->calls.v[t->latest[depth - 1].call].node;
}

/* The module whose code is frame i was called by the line of `caller`. Calls are counted in each call of the module
 * around; where there is none, as long as the program's code stays at that line. */
static void begin_module(struct tracker *t, size_t i, const struct activation *caller, const struct made *made)
{
    struct activation *a = &t->latest[i];
    const struct activation *around = module_at(t, i);
    const uint32_t node = node_of(t, node_at(t, i), caller->frame, a->frame);
    struct gm_call_node *n = &t->calls->nodes.v[node];
    const uint32_t round = around != NULL ? around->serial : caller->moved;
    if (n->round != round)
        n->calls = 0;
    n->round = round;
    a->call = call_of(t, i == 0 ? 0 : t->latest[i - 1].call, node, t->is_unordered ? 0 : n->calls++);
    a->module = (uint32_t)i + 1;
    a->first = *made;
    const uint32_t entry[] = {node, a->frame};
    t->failed = t->failed || gm_intern_add(&t->entries, entry, sizeof entry) == GM_INTERN_NONE;
}

/* Frame i of the stack begins a call of its function. */
static void begin(struct tracker *t, size_t i, uint32_t frame, const struct made *made)
{
    static const struct activation nobody = {0};
    const enum gm_module_frame kind = kind_of(t, frame);
    const struct activation *before = i == 0 ? &nobody : &t->latest[i - 1];
    const uint32_t serial = ++t->serial;
    t->latest[i] = (struct activation){.frame = frame,
                                       .serial = serial,
                                       .moved = serial,
                                       .call = before->call,
                                       .module = before->module,
                                       .pending = before->pending};
    if (kind == GM_FRAME_CALL && before->pending == 0)
        t->latest[i].pending = (uint32_t)i;
    else if (kind == GM_FRAME_CREATE || (kind == GM_FRAME_CODE && before->pending != 0)) {
        t->latest[i].pending = 0;
        begin_module(t, i, before->pending != 0 ? &t->latest[before->pending - 1] : before, made);
    }
}

/* ---- stack after stack ------------------------------------------------------------------------------------------ */

static bool is_entry(const struct tracker *t, const struct activation *a, uint32_t frame)
{
    const uint32_t entry[] = {t->calls->calls.v[a->call].node, frame};
    return gm_intern_find(&t->entries, entry, sizeof entry) != GM_INTERN_NONE;
}

/* The whole stack repeats: whether the innermost module, one of PyTorch's, was called anew. */
static bool repeats(struct tracker *t, const struct made *made)
{
    const struct activation *a = module_at(t, t->depth);
    return a != NULL && a->first.stack == made->stack && a->first.bytes == made->bytes && !made->is_brief &&
           (gm_names_file_kind(t->pass->names, t->pass->snapshot->frames.filename[a->frame]) & GM_FILE_IS_TORCH) != 0;
}

/* The first frame of which a call begins, given that `same` frames go on and the next one differs. */
static size_t first_begun(struct tracker *t, size_t same, size_t n)
{
    if (same == n || same == t->depth ||
        !gm_is_same_function(&t->pass->snapshot->frames, t->latest[same].frame, t->frames[same]))
        return same;
    struct activation *a = &t->latest[same];
    const uint32_t now = t->frames[same];
    const bool was_here = t->left[now] == a->serial, is_module = a->module == same + 1;
    if (is_module && was_here && is_entry(t, a, now))
        return same;
    t->left[a->frame] = a->serial;
    a->frame = now;
    a->moved = ++t->serial;
    return same + 1;
}

/* The next stack, in t->frames[0..n): the call that made the allocation. */
static uint32_t follow(struct tracker *t, size_t n, const struct made *made)
{
    size_t same = 0;
    while (same < n && same < t->depth && t->latest[same].frame == t->frames[same])
        same++;
    size_t from = same == n && same == t->depth && repeats(t, made) ? t->latest[t->depth - 1].module - 1
                                                                    : first_begun(t, same, n);
    for (; from < n && !t->failed; from++)
        begin(t, from, t->frames[from], made);
    t->depth = n;
    return n == 0 || t->failed ? 0 : t->latest[n - 1].call;
}

/* The Python frames of every stack, outermost first: looked for once, for most allocations share theirs with others. */
static bool unfold_all(struct tracker *t)
{
    const struct gm_snapshot *s = t->pass->snapshot;
    uint64_t n = 0;
    t->unfolded = malloc((s->stacks.start[s->stacks.count] + 1) * sizeof *t->unfolded);
    t->start = malloc(((size_t)s->stacks.count + 1) * sizeof *t->start);
    for (uint32_t stack = 0; t->unfolded != NULL && t->start != NULL && stack < s->stacks.count; stack++) {
        size_t depth;
        const struct gm_frame_id *ids = gm_stack_frames(s, (struct gm_stack_id){stack}, &depth);
        t->start[stack] = n;
        for (size_t i = depth; i-- > 0 && n - t->start[stack] < DEEPEST;)
            if (kind_of(t, ids[i].v) != GM_FRAME_NATIVE)
                t->unfolded[n++] = ids[i].v;
    }
    if (t->start != NULL)
        t->start[s->stacks.count] = n;
    return t->unfolded != NULL && t->start != NULL && !t->failed;
}

/* Makes it the one that is looked at; how many frames it has. */
static size_t unfold(struct tracker *t, uint32_t stack)
{
    t->frames = t->unfolded + t->start[stack];
    return (size_t)(t->start[stack + 1] - t->start[stack]);
}

static void forget(struct tracker *t)
{
    t->depth = 0;
}

static struct made made_as(const struct gm_history *h, size_t a)
{
    return (struct made){gm_stack_of(h, a), gm_requested(h, a), gm_let_go(h, a) == h->born[a] + 1};
}

/* All allocations of the trace, in order. Without `of`: to learn where calls begin. */
static void walk(struct tracker *t, uint32_t *of)
{
    const struct gm_history *h = &t->pass->history;
    forget(t);
    for (uint32_t i = 0; i < h->count && !t->failed; i++) {
        const uint32_t a = h->of_event[i];
        if (h->snapshot->events.action[h->first + i] != GM_ACTION_ALLOC || a == GM_NEVER)
            continue;
        const struct made made = made_as(h, a);
        const size_t n = unfold(t, made.stack);
        const uint32_t call = n == 0 ? 0 : follow(t, n, &made);
        if (of != NULL)
            of[a] = call;
    }
}

/* What is older than the trace: in no order, so its calls are not told apart. */
static void walk_old(struct tracker *t, uint32_t *of)
{
    const struct gm_history *h = &t->pass->history;
    t->is_unordered = true;
    for (size_t a = 0; a < h->allocation_count && !t->failed; a++)
        if (h->born[a] == 0 && gm_stack_of(h, a) > GM_STACK_EMPTY) {
            const struct made made = made_as(h, a);
            forget(t);
            of[a] = follow(t, unfold(t, made.stack), &made);
        }
    t->is_unordered = false;
}

/* Backward's allocations, by the places in forward that they are told to belong to: in reverse order, since backward
 * goes through the layers in reverse. */
static void walk_backward(struct tracker *t, struct gm_frame_index *index, uint32_t *of)
{
    const struct gm_history *h = &t->pass->history;
    forget(t);
    t->frames = t->forward;
    for (uint32_t i = (uint32_t)h->count; i-- > 0 && !t->failed;) {
        const uint32_t a = h->of_event[i];
        if (h->snapshot->events.action[h->first + i] != GM_ACTION_ALLOC || a == GM_NEVER || of[a] != 0)
            continue;
        const size_t n = gm_forward_frames(h->snapshot, index, (uint32_t)(h->first + i), t->forward, DEEPEST);
        if (n > 0)
            of[a] = follow(t, n, &(struct made){.is_brief = true});
    }
}

static bool run(struct tracker *t)
{
    struct gm_calls *calls = t->calls;
    const struct gm_snapshot *s = t->pass->snapshot;
    walk(t, NULL);
    walk(t, calls->of);
    walk_old(t, calls->of);
    if (!t->failed && s->extras[GM_ROW_EVENT].count > 0) {
        GM_FREED_BY(gm_frame_index_free) struct gm_frame_index index = {.frames = {0}};
        t->failed = !gm_frame_index_make(&index, s);
        if (!t->failed)
            walk_backward(t, &index, calls->of);
    }
    return !t->failed;
}

bool gm_calls_find(struct gm_calls *calls, struct gm_trace_pass *pass)
{
    const size_t frames = (size_t)pass->snapshot->frames.count + 1;
    struct tracker t = {.pass = pass, .calls = calls};
    *calls = (struct gm_calls){.kind = calloc(frames, 1),
                               .of = calloc(pass->history.allocation_count + 1, sizeof *calls->of)};
    t.latest = malloc(DEEPEST * sizeof *t.latest);
    t.forward = malloc(DEEPEST * sizeof *t.forward);
    t.left = calloc(frames, sizeof *t.left);
    const bool ok = calls->kind != NULL && calls->of != NULL && t.latest != NULL && t.forward != NULL &&
                    t.left != NULL && unfold_all(&t) && GM_VEC_PUSH(&calls->nodes, (struct gm_call_node){0}) &&
                    GM_VEC_PUSH(&calls->calls, (struct gm_module_call){0}) && run(&t);
    GM_FREE_ALL(t.latest, t.forward, t.unfolded, t.start, t.left);
    gm_intern_free(&t.entries);
    return ok;
}

void gm_calls_free(struct gm_calls *calls)
{
    GM_FREE_ALL(calls->nodes.v, calls->calls.v);
    gm_intern_free(&calls->node_keys);
    gm_intern_free(&calls->call_keys);
    GM_FREE_ALL(calls->kind, calls->of);
}
