/* SPDX-License-Identifier: Apache-2.0
 *
 * What lives as a tree of frames, of one moment or of the difference of two, also of two snapshots.
 */
#include "analyze/base/intern.h"
#include "render/page/core/page_levels.h"

#include <stdio.h>
#include <stdlib.h>

struct node {
    uint32_t parent, frame, depth; /* frame: number of a frame as it is shown */
    double added, gone;            /* bytes */
    uint64_t count;
    double self_added, self_gone;
    uint32_t color;
    double most; /* of one stack below it, whose colour it has */
};
struct shown { /* a frame as it is shown: of two snapshots, without its line */
    const char *name, *file;
    double line;
};
struct flame {
    bool inverted, folds, has_lines;
    struct GM_VEC(struct node) nodes;
    struct GM_VEC(struct shown) shown;
    struct gm_address_map children; /* parent << 32 | frame */
    struct gm_intern texts;         /* what tells frames apart */
};
struct side { /* a moment of a device */
    struct gm_opened *o;
    struct gm_page_device *d;
    uint32_t *shown_of; /* [gm_frame_id] + 1; 0: not asked */
    uint64_t *bytes;    /* [stack] requested, at the moment */
    uint32_t *count;    /* likewise: allocations */
};

static void forget_side(struct side *s)
{
    GM_FREE_ALL(s->shown_of, s->bytes, s->count);
}

static bool sum_up(struct side *s, struct gm_opened *o, struct gm_page_device *d, uint32_t moment)
{
    const struct gm_history *h = d->h;
    *s = (struct side){.o = o, .d = d};
    s->shown_of = calloc((size_t)o->snapshot.frames.count + 1, sizeof *s->shown_of);
    s->bytes = calloc((size_t)o->snapshot.stacks.count + 1, sizeof *s->bytes);
    s->count = calloc((size_t)o->snapshot.stacks.count + 1, sizeof *s->count);
    if (s->shown_of == NULL || s->bytes == NULL || s->count == NULL)
        return false;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (gm_history_is_active(h, a, moment)) {
            s->bytes[gm_stack_of(h, a)] += gm_requested(h, a);
            s->count[gm_stack_of(h, a)]++;
        }
    return true;
}

/* As page_stack's frame_kind. */
static uint8_t kind_of(struct gm_opened *o, struct gm_frame_id frame)
{
    const unsigned file = gm_names_file_kind(&o->names, o->snapshot.frames.filename[frame.v]);
    const bool is_python = (file & GM_FILE_IS_PYTHON) != 0;
    const bool is_noise = !is_python && ((file & GM_FILE_IS_NOISE) != 0 ||
                                         gm_names_is_noise(&o->names, o->snapshot.frames.name[frame.v]));
    return (uint8_t)((file & (GM_FILE_IS_PYTHON | GM_FILE_IS_TORCH)) | (is_noise ? (unsigned)GM_FILE_IS_NOISE : 0));
}

/* The number of a frame as it is shown; GM_INTERN_NONE: no memory. */
static uint32_t shown_frame(struct flame *f, struct side *s, struct gm_frame_id frame)
{
    if (s->shown_of[frame.v] != 0)
        return s->shown_of[frame.v] - 1;
    const struct gm_frames *frames = &s->o->snapshot.frames;
    const char *name = gm_names_string(&s->o->names, frames->name[frame.v]),
               *file = gm_names_string(&s->o->names, frames->filename[frame.v]);
    const struct shown shown = {name, file,
                                f->has_lines ? gm_answer_of(frames->line[frame.v]) : gm_answer_of(GM_ABSENT)};
    struct gm_text text = {0};
    if (name == NULL || file == NULL)
        return GM_INTERN_NONE;
    gm_text_printf(&text, "%s\n%s\n%.0f", name, file, shown.line);
    const uint32_t number = text.failed ? GM_INTERN_NONE : gm_intern_add(&f->texts, text.data, text.length);
    gm_text_free(&text);
    if (number == GM_INTERN_NONE || (number == f->shown.n && !GM_VEC_PUSH(&f->shown, shown)))
        return GM_INTERN_NONE;
    s->shown_of[frame.v] = number + 1;
    return number;
}

/* For what has no stack. */
static uint32_t no_stack(struct flame *f)
{
    static const struct shown shown = {"(no stack recorded)", "", 0};
    const uint32_t number = gm_intern_add(&f->texts, "", 0);
    if (number == f->shown.n && !GM_VEC_PUSH(&f->shown, shown))
        return GM_INTERN_NONE;
    return number;
}

static uint32_t child_of(struct flame *f, uint32_t parent, uint32_t frame)
{
    const uint64_t edge = (uint64_t)parent << 32 | frame;
    uint32_t node = gm_map_get(&f->children, edge), before;
    if (node == GM_MAP_NONE) {
        node = (uint32_t)f->nodes.n;
        const struct node fresh = {.parent = parent, .frame = frame, .depth = f->nodes.v[parent].depth + 1};
        if (!GM_VEC_PUSH(&f->nodes, fresh) || !gm_map_put(&f->children, edge, node, &before))
            return GM_MAP_NONE;
    }
    return node;
}

/* What stays of a stack whose framework is folded: the program's own frames; if it has none, Python's, and the one that
 * its call site is called by; if there is no such, all. */
struct fold {
    bool has_own, has_python;
    size_t telling; /* SIZE_MAX: none */
};

static struct fold look_at(struct side *s, struct gm_stack_id stack, const struct gm_frame_id *frames, size_t n)
{
    struct fold fold = {.telling = SIZE_MAX};
    size_t rows;
    const struct gm_frame_row *all = gm_names_frames(&s->o->names, stack, &rows);
    const struct gm_frame_row *telling = gm_names_telling_frame(&s->o->names, stack);
    for (size_t i = 0; i < n; i++) {
        const uint8_t kind = kind_of(s->o, frames[i]);
        fold.has_python |= (kind & GM_FILE_IS_PYTHON) != 0;
        fold.has_own |= (kind & (GM_FILE_IS_PYTHON | GM_FILE_IS_TORCH)) == GM_FILE_IS_PYTHON;
    }
    for (size_t i = 0; all != NULL && telling != NULL && i < rows; i++)
        if (&all[i] == telling)
            fold.telling = i;
    return fold;
}

static bool is_folded(const struct fold *fold, struct side *s, struct gm_frame_id frame, size_t i)
{
    const bool is_python = (kind_of(s->o, frame) & GM_FILE_IS_PYTHON) != 0;
    const bool is_torch = (kind_of(s->o, frame) & GM_FILE_IS_TORCH) != 0;
    if (fold->has_own)
        return !is_python || is_torch;
    return (fold->has_python || fold->telling != SIZE_MAX) && !is_python && i != fold->telling;
}

/* The node in which a stack ends; GM_MAP_NONE: no memory. */
static uint32_t walk(struct flame *f, struct side *s, struct gm_stack_id stack)
{
    size_t n;
    const struct gm_frame_id *frames = gm_stack_frames(&s->o->snapshot, stack, &n);
    const struct fold fold = f->folds ? look_at(s, stack, frames, n) : (struct fold){0};
    uint32_t node = 0;
    for (size_t k = 0; node != GM_MAP_NONE && k < n; k++) {
        const size_t i = f->inverted ? k : n - 1 - k;
        if (f->folds && is_folded(&fold, s, frames[i], i))
            continue;
        const uint32_t shown = shown_frame(f, s, frames[i]);
        node = shown == GM_INTERN_NONE ? GM_MAP_NONE : child_of(f, node, shown);
    }
    if (n > 0)
        return node;
    const uint32_t shown = no_stack(f);
    return shown == GM_INTERN_NONE ? GM_MAP_NONE : child_of(f, 0, shown);
}

static bool insert(struct flame *f, struct side *s, uint32_t stack, double added, double gone, uint64_t count)
{
    const uint32_t node = walk(f, s, (struct gm_stack_id){stack});
    if (node == GM_MAP_NONE)
        return false;
    const uint32_t color = gm_category_color(s->o->rules, gm_classify(s->o->classifier, (struct gm_stack_id){stack}));
    f->nodes.v[node].self_added += added;
    f->nodes.v[node].self_gone += gone;
    for (uint32_t at = node;; at = f->nodes.v[at].parent) {
        struct node *n = &f->nodes.v[at];
        n->added += added;
        n->gone += gone;
        n->count += count;
        if (added + gone > n->most) {
            n->most = added + gone;
            n->color = color;
        }
        if (at == 0)
            return true;
    }
}

/* One snapshot: what is at `now`, less what is at `base` (NULL: nothing), stack by stack. */
static bool insert_change(struct flame *f, struct side *now, const struct side *base)
{
    bool ok = true;
    for (uint32_t stack = 0; ok && stack < now->o->snapshot.stacks.count; stack++) {
        const uint64_t bytes = now->bytes[stack], before = base == NULL ? 0 : base->bytes[stack];
        if (bytes != before || (base == NULL && now->count[stack] > 0))
            ok = insert(f, now, stack, bytes > before ? (double)(bytes - before) : 0,
                        bytes < before ? (double)(before - bytes) : 0, now->count[stack]);
    }
    return ok;
}

/* Two snapshots: stacks are matched by the nodes in which they end. */
static bool insert_both(struct flame *f, struct side *now, struct side *base)
{
    bool ok = true;
    for (uint32_t stack = 0; ok && stack < now->o->snapshot.stacks.count; stack++)
        ok = now->count[stack] == 0 || insert(f, now, stack, (double)now->bytes[stack], 0, now->count[stack]);
    for (uint32_t stack = 0; ok && stack < base->o->snapshot.stacks.count; stack++)
        ok = base->count[stack] == 0 || insert(f, base, stack, 0, (double)base->bytes[stack], 0);
    return ok;
}

/* What a node's own change is, then what is below it: of two snapshots, the same bytes here and there are no change. */
static void settle(struct flame *f)
{
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = &f->nodes.v[i];
        const double change = n->self_added - n->self_gone;
        n->self_added = n->added = change > 0 ? change : 0;
        n->self_gone = n->gone = change < 0 ? -change : 0;
    }
    for (size_t i = f->nodes.n; i-- > 1;) {
        f->nodes.v[f->nodes.v[i].parent].added += f->nodes.v[i].added;
        f->nodes.v[f->nodes.v[i].parent].gone += f->nodes.v[i].gone;
    }
}

static double weight_of(const struct node *n)
{
    return n->added + n->gone;
}

/* Level by level, siblings side by side, most bytes first. */
static int by_place(const void *left, const void *right, void *flame)
{
    const struct node *nodes = ((struct flame *)flame)->nodes.v;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (nodes[a].depth != nodes[b].depth)
        return nodes[a].depth < nodes[b].depth ? -1 : 1;
    if (nodes[a].parent != nodes[b].parent)
        return nodes[a].most < nodes[b].most ? -1 : 1; /* the place of the parents, see order */
    if (weight_of(&nodes[a]) < weight_of(&nodes[b]) || weight_of(&nodes[a]) > weight_of(&nodes[b]))
        return weight_of(&nodes[a]) > weight_of(&nodes[b]) ? -1 : 1;
    return a < b ? -1 : 1;
}

/* Nodes level by level: `most` becomes the place of the parent, which is known when its level is done. NULL: no memory.
 */
static uint32_t *order(struct flame *f)
{
    const size_t n = f->nodes.n;
    uint32_t *out = gm_answer_memory(n, sizeof *out), *place = gm_answer_memory(n, sizeof *place);
    size_t *start = gm_answer_memory(n + 2, sizeof *start);
    if (out == NULL || place == NULL || start == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++)
        start[f->nodes.v[i].depth + 1]++;
    for (size_t depth = 0; depth < n; depth++)
        start[depth + 1] += start[depth];
    for (uint32_t i = 0; i < n; i++)
        out[start[f->nodes.v[i].depth]++] = i; /* start[d] becomes the end of level d */
    for (size_t depth = 0, from = 0; from < n; from = start[depth++]) {
        const size_t end = start[depth];
        for (size_t i = from; i < end; i++)
            f->nodes.v[out[i]].most = (double)place[f->nodes.v[out[i]].parent];
        qsort_r(out + from, end - from, sizeof *out, by_place, f);
        for (size_t i = from; i < end; i++)
            place[out[i]] = (uint32_t)i;
    }
    for (size_t i = 0; i < n; i++) /* parents by their new numbers */
        f->nodes.v[out[i]].parent = (uint32_t)f->nodes.v[out[i]].most;
    return out;
}

static void put_shown(const struct flame *f)
{
    struct gm_answer_list names = {0}, files = {0};
    double *line = gm_answer_add("line", GM_PAGE_F64, f->shown.n);
    for (size_t i = 0; line != NULL && i < f->shown.n; i++) {
        gm_answer_put(&names, f->shown.v[i].name[0] == '\0' ? "(unknown function)" : f->shown.v[i].name);
        gm_answer_put(&files, f->shown.v[i].file);
        line[i] = f->shown.v[i].line > 0 ? f->shown.v[i].line : gm_answer_of(GM_ABSENT);
    }
    gm_answer_strings("name", &names);
    gm_answer_strings("file", &files);
}

static void put_nodes(struct flame *f, const uint32_t *order)
{
    const size_t n = f->nodes.n;
    uint32_t *frame = gm_answer_add("frame", GM_PAGE_U32, n), *parent = gm_answer_add("parent", GM_PAGE_U32, n),
             *depth = gm_answer_add("depth", GM_PAGE_U32, n), *count = gm_answer_add("count", GM_PAGE_U32, n),
             *color = gm_answer_add("color", GM_PAGE_U32, n);
    double *bytes = gm_answer_add("bytes", GM_PAGE_F64, n), *self = gm_answer_add("self", GM_PAGE_F64, n),
           *added = gm_answer_add("added", GM_PAGE_F64, n), *gone = gm_answer_add("gone", GM_PAGE_F64, n);
    for (size_t i = 0; gm_answer_is_whole() && i < n; i++) {
        const struct node *node = &f->nodes.v[order[i]];
        frame[i] = i == 0 ? UINT32_MAX : node->frame;
        parent[i] = node->parent;
        depth[i] = node->depth;
        count[i] = (uint32_t)node->count;
        color[i] = node->color;
        bytes[i] = node->added - node->gone;
        self[i] = node->self_added - node->self_gone;
        added[i] = node->added;
        gone[i] = node->gone;
    }
}

static const struct gm_page_result *answer(struct flame *f, bool ok)
{
    if (ok)
        settle(f);
    const uint32_t *places = ok ? order(f) : NULL;
    if (places != NULL) {
        put_shown(f);
        put_nodes(f, places);
    }
    GM_FREE_ALL(f->nodes.v, f->shown.v);
    gm_intern_free(&f->texts);
    gm_map_free(&f->children);
    return places == NULL ? gm_answer_no_memory() : gm_answer_end();
}

static bool begin(struct flame *f)
{
    const struct node root = {0};
    return GM_VEC_PUSH(&f->nodes, root);
}

const struct gm_page_result *gm_page_flame(uint32_t handle, uint32_t device, uint32_t moment, uint32_t base,
                                           bool inverted, bool folds)
{
    struct gm_opened *o;
    struct side now = {0}, before = {0};
    struct flame f = {.inverted = inverted, .folds = folds, .has_lines = true};
    struct gm_page_device *d = gm_opened_device(handle, device, &o);
    if (d == NULL || !gm_page_is_moment(d, moment) || (base != UINT32_MAX && !gm_page_is_moment(d, base)))
        return NULL;
    const bool ok = begin(&f) && sum_up(&now, o, d, moment) && (base == UINT32_MAX || sum_up(&before, o, d, base)) &&
                    insert_change(&f, &now, base == UINT32_MAX ? NULL : &before);
    const struct gm_page_result *result = answer(&f, ok);
    forget_side(&now);
    forget_side(&before);
    return result;
}

const struct gm_page_result *gm_page_flame_between(uint32_t handle, uint32_t device, uint32_t moment,
                                                   uint32_t base_handle, uint32_t base_device, uint32_t base_moment,
                                                   bool inverted, bool folds)
{
    struct gm_opened *o, *base_o;
    struct side now = {0}, before = {0};
    struct flame f = {.inverted = inverted, .folds = folds};
    struct gm_page_device *d = gm_opened_device(handle, device, &o),
                          *base = d == NULL ? NULL : gm_opened_device(base_handle, base_device, &base_o);
    if (base == NULL || !gm_page_is_moment(d, moment) || !gm_page_is_moment(base, base_moment))
        return NULL;
    const bool ok = begin(&f) && sum_up(&now, o, d, moment) && sum_up(&before, base_o, base, base_moment) &&
                    insert_both(&f, &now, &before);
    const struct gm_page_result *result = answer(&f, ok);
    forget_side(&now);
    forget_side(&before);
    return result;
}
