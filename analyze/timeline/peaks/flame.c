/* SPDX-License-Identifier: Apache-2.0
 *
 * The live set at the peak as a tree of frames, callers above callees.
 *
 * First a trie of all stacks; then the largest nodes of it, with what is left of each in a child "(other)": a child is
 * never larger than its parent, so the largest nodes hang together.
 */
#include "analyze/base/address_map.h"
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/report/frame_kind.h"
#include "analyze/timeline/peaks/groups.h"
#include "analyze/timeline/trace_pass.h"

#include <stdlib.h>
#include <string.h>

/* What a node stands for: a frame's id, or one of these. */
static const uint32_t KEY_FIRST_ROLE = 0xFFFFFF00, KEY_NO_STACK = 0xFFFFFFFE; /* no file has so many frames */
enum { NODES_KEPT = 2500, SMALLEST_FRACTION = 4000 };

struct trie_node {
    uint32_t parent, key;
    struct gm_amount all, self, folded; /* folded: of children that are too small for a node of their own */
    uint32_t out, out_other;            /* index in the report; 0: none (but for the root) */
    bool is_kept;
};
struct step { /* of the path that was inserted last */
    uint32_t key, node;
};
struct leaf { /* a cell of gm_live and where it ends */
    uint32_t node, category;
    uint64_t bytes;
};

struct flame {
    struct gm_trace_pass *pass;
    struct gm_live live;
    struct GM_VEC(struct trie_node) trie;
    struct GM_VEC(struct step) path;
    struct gm_address_map children; /* parent << 32 | key, to node */
    struct leaf *leaves;
    uint8_t *kind; /* [gm_frame_id] enum kind */
    struct item *items;
    size_t item_count;
    struct gm_flame_node *nodes;
    size_t node_count;
};

/* ---- the trie ---------------------------------------------------------------------------------------------------- */

/* The child of `parent` for `key`, which is step `depth` of the path. GM_NEVER: no memory. */
static uint32_t step_to(struct flame *f, size_t depth, uint32_t parent, uint32_t key)
{
    if (depth < f->path.n && f->path.v[depth].key == key)
        return f->path.v[depth].node; /* as in the stack before */
    f->path.n = depth;
    const uint32_t node = gm_map_number(&f->children, (uint64_t)parent << 32 | key, (uint32_t)f->trie.n);
    const struct trie_node fresh = {.parent = parent, .key = key};
    if (f->trie.n >= GM_NEVER || node == GM_MAP_NONE || (node == f->trie.n && !GM_VEC_PUSH(&f->trie, fresh)))
        return GM_NEVER;
    struct step step = {key, node};
    return GM_VEC_PUSH(&f->path, step) ? node : GM_NEVER;
}

enum kind { NOT_ASKED, PYTHON, NATIVE, NOISE };

/* What a frame is; NOT_ASKED if there is no memory. */
static enum kind kind_of(struct flame *f, uint32_t frame)
{
    const struct gm_frames *frames = &f->pass->snapshot->frames;
    if (f->kind[frame] == NOT_ASKED) {
        if (gm_names_string(f->pass->names, frames->name[frame]) == NULL ||
            gm_names_string(f->pass->names, frames->filename[frame]) == NULL)
            return NOT_ASKED;
        unsigned file = gm_names_file_kind(f->pass->names, frames->filename[frame]);
        bool is_noise = (file & GM_FILE_IS_NOISE) != 0 || gm_names_is_noise(f->pass->names, frames->name[frame]);
        f->kind[frame] = (file & GM_FILE_IS_PYTHON) != 0 ? PYTHON : is_noise ? NOISE : NATIVE;
    }
    return (enum kind)f->kind[frame];
}

/* The node in which a stack ends: its innermost frame that is shown. Shown are Python's frames; C++ ones too where they
 * are asked for or where there are no others; if there is nothing but noise, that. */
static uint32_t insert_frames(struct flame *f, const struct gm_frame_id *frames, size_t count)
{
    size_t most = f->pass->options->depth == 0 ? SIZE_MAX : f->pass->options->depth, depth = 0;
    bool has[NOISE + 1] = {false};
    uint32_t node = 0;
    for (size_t i = 0; i < count; i++)
        has[kind_of(f, frames[i].v)] = true;
    if (has[NOT_ASKED])
        return GM_NEVER;
    for (size_t i = count; i > 0 && depth < most; i--) {
        enum kind kind = kind_of(f, frames[i - 1].v);
        if (kind == NATIVE ? has[PYTHON] && !f->pass->options->has_native
                           : kind == NOISE && (has[PYTHON] || has[NATIVE]))
            continue;
        node = step_to(f, depth++, node, frames[i - 1].v);
        if (node == GM_NEVER)
            return GM_NEVER;
    }
    return node;
}

static uint32_t insert(struct flame *f, const struct gm_live_cell *cell)
{
    size_t count;
    const struct gm_frame_id *frames = gm_stack_frames(f->pass->snapshot, (struct gm_stack_id){cell->stack}, &count);
    if (count > 0)
        return insert_frames(f, frames, count);
    uint32_t node = step_to(f, 0, 0, KEY_NO_STACK);
    return node == GM_NEVER || f->pass->role == NULL ? node : step_to(f, 1, node, KEY_FIRST_ROLE + cell->role);
}

static bool build_trie(struct flame *f)
{
    struct trie_node root = {0};
    if (!GM_VEC_PUSH(&f->trie, root))
        return false;
    for (size_t i = 0; i < f->live.cells.n; i++) {
        const struct gm_live_cell *cell = &f->live.cells.v[i];
        uint32_t node = insert(f, cell);
        if (node == GM_NEVER)
            return false;
        f->leaves[i] = (struct leaf){node, gm_classify(f->pass->options->classifier, (struct gm_stack_id){cell->stack}),
                                     cell->amount.bytes};
        gm_amount_add(&f->trie.v[node].self, &cell->amount);
    }
    for (size_t i = f->trie.n; i-- > 0;) { /* children come after their parents */
        struct trie_node *node = &f->trie.v[i];
        gm_amount_add(&node->all, &node->self);
        if (i > 0)
            gm_amount_add(&f->trie.v[node->parent].all, &node->all);
    }
    return true;
}

/* ---- the nodes that are kept ------------------------------------------------------------------------------------- */

struct item {
    uint32_t parent, node; /* in the trie; an "(other)" is its parent's */
    struct gm_amount all, self;
    const char *name, *filename;
    uint64_t line;
    bool is_other;
};

static size_t mark(struct flame *f, uint64_t smallest)
{
    size_t kept = 1;
    f->trie.v[0].is_kept = true;
    for (size_t i = 1; i < f->trie.n; i++) {
        f->trie.v[i].is_kept = f->trie.v[i].all.bytes >= smallest;
        kept += f->trie.v[i].is_kept;
    }
    return kept;
}

static size_t choose(struct flame *f)
{
    uint64_t smallest = f->trie.v[0].all.bytes / SMALLEST_FRACTION;
    smallest = smallest == 0 ? 1 : smallest;
    size_t kept = mark(f, smallest);
    while (kept > NODES_KEPT && smallest <= UINT64_MAX / 2)
        kept = mark(f, smallest *= 2);
    for (size_t i = 1; i < f->trie.n; i++) {
        struct trie_node *parent = &f->trie.v[f->trie.v[i].parent];
        if (!f->trie.v[i].is_kept && parent->is_kept)
            gm_amount_add(&parent->folded, &f->trie.v[i].all);
    }
    return kept;
}

static bool name_item(struct flame *f, struct item *item, uint32_t key)
{
    const struct gm_frames *frames = &f->pass->snapshot->frames;
    item->filename = "";
    item->line = GM_REPORT_NONE;
    if (item->is_other) {
        item->name = "(other)";
    } else if (key == KEY_NO_STACK) {
        item->name = "(no stack recorded)";
    } else if (key >= KEY_FIRST_ROLE) {
        item->name = gm_arena_printf(&f->pass->report->arena, "(%s)", gm_role_name(key - KEY_FIRST_ROLE));
    } else {
        item->name = gm_names_string(f->pass->names, frames->name[key]);
        item->filename = gm_names_string(f->pass->names, frames->filename[key]);
        item->line = frames->line[key] == GM_ABSENT ? GM_REPORT_NONE : frames->line[key];
    }
    if (item->name != NULL && item->name[0] == '\0')
        item->name = "(unknown function)";
    return item->name != NULL && item->filename != NULL;
}

/* Siblings together, in the order of their parents in the trie; the root is alone. */
GM_ORDERING(by_parent, struct item,
            GM_UP(parent) || GM_DOWN(all.bytes) || GM_BY(strcmp(a->name, b->name)) ||
                GM_BY(strcmp(a->filename, b->filename)) || GM_UP(line) || GM_UP(node));

/* All children of kept nodes. */
static bool list_items(struct flame *f, size_t kept)
{
    f->items = calloc(2 * kept + 1, sizeof *f->items);
    if (f->items == NULL)
        return false;
    for (uint32_t i = 0; i < f->trie.n; i++) {
        const struct trie_node *node = &f->trie.v[i];
        if (!node->is_kept)
            continue;
        if (i > 0) {
            struct item *item = &f->items[f->item_count++];
            *item = (struct item){.parent = node->parent, .node = i, .all = node->all, .self = node->self};
            if (!name_item(f, item, node->key))
                return false;
        }
        if (node->folded.blocks > 0) {
            struct item *item = &f->items[f->item_count++];
            *item = (struct item){.parent = i, .node = i, .all = node->folded, .self = node->folded, .is_other = true};
            if (!name_item(f, item, 0))
                return false;
        }
    }
    GM_SORT(f->items, f->item_count, by_parent);
    return true;
}

/* ---- into the report --------------------------------------------------------------------------------------------- */

static size_t first_item_of(const struct flame *f, uint32_t parent)
{
    size_t from = 0;
    GM_BISECT(from, f->item_count, i, f->items[i].parent < parent);
    return from;
}

static void put(struct flame *f, const struct item *item, uint32_t parent, uint32_t depth)
{
    struct trie_node *node = &f->trie.v[item->node];
    uint32_t at = (uint32_t)f->node_count++;
    *(item->is_other ? &node->out_other : &node->out) = at;
    f->nodes[at] = (struct gm_flame_node){.name = item->name,
                                          .filename = item->filename,
                                          .line = item->line,
                                          .parent = parent,
                                          .depth = depth,
                                          .is_python = gm_frame_is_python(item->filename),
                                          .bytes = item->all.bytes,
                                          .blocks = item->all.blocks,
                                          .self_bytes = item->self.bytes,
                                          .self_blocks = item->self.blocks};
}

/* Level by level: the children of a node stand side by side. `source` is the trie's node of each node put so far. */
static bool put_all(struct flame *f)
{
    GM_FREED uint32_t *source = malloc((f->item_count + 1) * sizeof *source);
    f->nodes = gm_arena_calloc(&f->pass->report->arena, f->item_count + 1, sizeof *f->nodes);
    const struct item root = {
        .all = f->trie.v[0].all, .self = f->trie.v[0].self, .name = "all", .filename = "", .line = GM_REPORT_NONE};
    if (source == NULL || f->nodes == NULL)
        return false;
    f->node_count = 0;
    put(f, &root, 0, 0);
    source[0] = 0;
    for (uint32_t at = 0; at < f->node_count; at++) {
        if (source[at] == GM_NEVER)
            continue; /* an "(other)" has no children */
        uint32_t before = 0;
        for (size_t i = first_item_of(f, source[at]); i < f->item_count && f->items[i].parent == source[at]; i++) {
            uint32_t child = (uint32_t)f->node_count;
            put(f, &f->items[i], at, f->nodes[at].depth + 1);
            source[child] = f->items[i].is_other ? GM_NEVER : f->items[i].node;
            *(before == 0 ? &f->nodes[at].first_child : &f->nodes[before].next_sibling) = child;
            before = child;
        }
    }
    return true;
}

GM_ORDERING(by_category, struct leaf, GM_UP(category));

static uint32_t out_of(const struct flame *f, uint32_t *node)
{
    if (f->trie.v[*node].is_kept)
        return f->trie.v[*node].out;
    while (!f->trie.v[*node].is_kept)
        *node = f->trie.v[*node].parent;
    return f->trie.v[*node].out_other;
}

/* Each leaf's bytes to the nodes above it. */
static void climb(const struct flame *f, const struct leaf *leaf, gm_i128 *sum)
{
    uint32_t node = leaf->node;
    uint32_t out = out_of(f, &node);
    sum[out] += leaf->bytes;
    if (out != f->trie.v[node].out) /* it was an "(other)", which is below `node` */
        sum[f->trie.v[node].out] += leaf->bytes;
    while (node != 0) {
        node = f->trie.v[node].parent;
        sum[f->trie.v[node].out] += leaf->bytes;
    }
}

/* One category after the other: what it has in each node, and whether that is the most so far. */
static bool paint(struct flame *f)
{
    const struct gm_category_rules *rules = f->pass->options->rules;
    size_t count = f->live.cells.n;
    GM_FREED gm_i128 *sum = calloc(2 * f->node_count, sizeof *sum);
    if (sum == NULL)
        return false;
    gm_i128 *most = sum + f->node_count;
    GM_SORT(f->leaves, count, by_category);
    for (size_t i = 0; i < count;) {
        uint32_t category = f->leaves[i].category;
        memset(sum, 0, f->node_count * sizeof *sum);
        for (; i < count && f->leaves[i].category == category; i++)
            climb(f, &f->leaves[i], sum);
        for (size_t k = 0; k < f->node_count; k++)
            if (sum[k] > most[k]) {
                most[k] = sum[k];
                f->nodes[k].color = gm_category_color(rules, category);
            }
    }
    return true;
}

bool gm_trace_flame(struct gm_trace_pass *pass)
{
    struct flame f = {.pass = pass};
    f.kind = calloc((size_t)pass->snapshot->frames.count + 1, 1);
    bool ok = f.kind != NULL && gm_live_start(&f.live, pass) && gm_live_add_moment(&f.live, pass->peak_moment);
    f.leaves = ok ? calloc(f.live.cells.n + 1, sizeof *f.leaves) : NULL;
    ok = f.leaves != NULL && build_trie(&f) && list_items(&f, choose(&f)) && put_all(&f) && paint(&f);
    pass->out->flame = (struct gm_flame){f.nodes, ok ? f.node_count : 0};
    gm_live_free(&f.live);
    gm_map_free(&f.children);
    GM_FREE_ALL(f.trie.v, f.path.v, f.leaves, f.kind, f.items);
    return ok;
}
