/* SPDX-License-Identifier: Apache-2.0
 *
 * Both runs in one tree of stacks: Python's frames, or C++'s where there are no others.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/intern.h"
#include "analyze/base/text.h"
#include "analyze/compare/comparison_parts.h"
#include "analyze/report/frame_kind.h"

#include <stdlib.h>
#include <string.h>

/* What is made in a node itself. */
struct own {
    uint64_t base, after;
};

struct tree {
    struct gm_comparison *c;
    struct gm_intern names; /* "name\0file" */
    struct gm_intern edges; /* {parent, name}: the child is its number + 1 */
    struct GM_VEC(struct gm_diff_node) nodes;
    struct GM_VEC(struct own) own; /* [node] */
    struct gm_text key;
    bool is_at_peak;
};

static uint32_t name_number(struct tree *t, const char *name, const char *file)
{
    t->key.length = 0;
    gm_text_add_bytes(&t->key, name, strlen(name) + 1);
    gm_text_add_bytes(&t->key, file, strlen(file) + 1);
    return t->key.failed ? GM_INTERN_NONE : gm_intern_add(&t->names, t->key.data, t->key.length);
}

/* The child of a node; made if it is new. GM_INTERN_NONE: no memory. */
static uint32_t child_of(struct tree *t, uint32_t parent, const char *name, const char *file, bool is_python)
{
    const uint32_t edge[2] = {parent, name_number(t, name, file)};
    uint32_t number = edge[1] == GM_INTERN_NONE ? GM_INTERN_NONE : gm_intern_add(&t->edges, edge, sizeof edge);
    if (number == GM_INTERN_NONE || number + 1 < t->nodes.n)
        return number == GM_INTERN_NONE ? GM_INTERN_NONE : number + 1;
    const struct gm_diff_node node = {
        .name = name, .file = file, .is_python = is_python, .parent = parent, .depth = t->nodes.v[parent].depth + 1};
    if (!GM_VEC_PUSH(&t->nodes, node) || !GM_VEC_PUSH(&t->own, (struct own){0}))
        return GM_INTERN_NONE;
    return number + 1;
}

static bool is_shown(const struct gm_summary_frame *frame, bool has_python)
{
    return has_python ? frame->is_python : !gm_frame_is_noise(frame->name, frame->file);
}

static bool add_site(struct tree *t, const struct gm_summary *s, const struct gm_summary_site *site, bool is_base)
{
    const uint64_t bytes = t->is_at_peak ? site->peak.bytes : site->end.bytes;
    bool has_python = false;
    uint32_t node = 0;
    if (bytes == 0)
        return true;
    for (size_t i = 0; i < site->frame_count && !has_python; i++)
        has_python = s->frames[site->frames[i]].is_python;
    for (size_t i = site->frame_count; i > 0 && node != GM_INTERN_NONE; i--) {
        const struct gm_summary_frame *frame = &s->frames[site->frames[i - 1]];
        if (is_shown(frame, has_python))
            node = child_of(t, node, frame->name, frame->file, frame->is_python);
    }
    if (node == 0)
        node = child_of(t, 0, "(no stack recorded)", "", true);
    if (node == GM_INTERN_NONE)
        return false;
    uint64_t *own = is_base ? &t->own.v[node].base : &t->own.v[node].after;
    *own = gm_known_add(*own, bytes);
    return true;
}

/* From the leaves up: a child's number is larger than its parent's. */
static void sum_up(struct tree *t)
{
    for (size_t i = t->nodes.n; i-- > 0;) {
        struct gm_diff_node *node = &t->nodes.v[i];
        const struct own *own = &t->own.v[i];
        node->base = gm_known_add(node->base, own->base);
        node->after = gm_known_add(node->after, own->after);
        node->width = gm_known_add(node->width, own->base > own->after ? own->base : own->after);
        if (i == 0)
            break;
        struct gm_diff_node *parent = &t->nodes.v[node->parent];
        parent->base = gm_known_add(parent->base, node->base);
        parent->after = gm_known_add(parent->after, node->after);
        parent->width = gm_known_add(parent->width, node->width);
    }
}

static int by_place(const void *left, const void *right, void *nodes)
{
    const struct gm_diff_node *all = nodes;
    const struct gm_diff_node *a = &all[*(const uint32_t *)left], *b = &all[*(const uint32_t *)right];
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a->width != b->width)
        return a->width > b->width ? -1 : 1;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : strcmp(a->file, b->file);
}

/* Children in order of their width. */
static bool link_children(struct tree *t)
{
    GM_FREED uint32_t *order = malloc((t->nodes.n + 1) * sizeof *order);
    if (order == NULL)
        return false;
    for (size_t i = 0; i + 1 < t->nodes.n; i++)
        order[i] = (uint32_t)i + 1;
    const size_t n = t->nodes.n - 1;
    if (n > 1)
        qsort_r(order, n, sizeof *order, by_place, t->nodes.v);
    for (size_t i = 0; i < n; i++) {
        struct gm_diff_node *node = &t->nodes.v[order[i]];
        if (i == 0 || t->nodes.v[order[i - 1]].parent != node->parent)
            t->nodes.v[node->parent].first_child = order[i];
        else
            t->nodes.v[order[i - 1]].next_sibling = order[i];
    }
    return true;
}

bool gm_compare_flame(struct gm_comparison *c, struct gm_diff_pair *pair)
{
    const struct gm_summary *runs[2] = {c->runs[0], c->runs[pair->after]};
    struct tree t = {.c = c, .is_at_peak = runs[0]->has_trace && runs[1]->has_trace};
    const struct gm_diff_node root = {.name = "all", .file = "", .is_python = true};
    bool ok = GM_VEC_PUSH(&t.nodes, root) && GM_VEC_PUSH(&t.own, (struct own){0});
    for (int r = 0; ok && r < 2; r++)
        for (size_t i = 0; ok && i < runs[r]->site_count; i++)
            ok = add_site(&t, runs[r], &runs[r]->sites[i], r == 0);
    if (ok)
        sum_up(&t);
    ok = ok && link_children(&t);
    const struct gm_diff_node *own = ok ? gm_arena_array(&c->arena, t.nodes.v, t.nodes.n, sizeof *own) : NULL;
    pair->flame = (struct gm_diff_flame){own, own == NULL ? 0 : t.nodes.n, t.is_at_peak};
    gm_intern_free(&t.names);
    gm_intern_free(&t.edges);
    GM_FREE_ALL(t.nodes.v, t.own.v, t.key.data);
    return own != NULL;
}
