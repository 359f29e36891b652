/* SPDX-License-Identifier: Apache-2.0
 *
 * The live set at the peak as a tree of the lines that call modules: calls of one line are one node, which knows how
 * many there are and how much each holds.
 */
#include "analyze/timeline/modules/module_work.h"

#include "analyze/base/order.h"

#include <stdlib.h>
#include <string.h>

enum { NODES_MOST = 5000 };

struct tree {
    struct gm_trace_pass *pass;
    const struct gm_calls *calls;
    uint64_t *of_call;            /* [call] bytes, with what it calls */
    struct gm_module_node *nodes; /* [node] as they will be listed, but for names and links */
};

static void add_own(struct tree *t)
{
    struct gm_trace_pass *pass = t->pass;
    const struct gm_history *h = &pass->history;
    for (size_t a = 0; a < h->allocation_count; a++) {
        if (!gm_module_counts(pass, a))
            continue;
        const uint32_t call = t->calls->of[a];
        struct gm_module_node *node = &t->nodes[t->calls->calls.v[call].node];
        t->of_call[call] = gm_known_add(t->of_call[call], gm_requested(h, a));
        node->own = gm_known_add(node->own, gm_requested(h, a));
        node->blocks++;
        gm_purposes_add(&node->use, gm_role_of(pass, a), gm_requested(h, a));
    }
}

/* Callers are numbered before what they call. */
static void add_up(struct tree *t)
{
    for (size_t c = t->calls->calls.n; c-- > 1;) {
        const struct gm_module_call *call = &t->calls->calls.v[c];
        struct gm_module_node *node = &t->nodes[call->node];
        const uint64_t bytes = t->of_call[c];
        t->of_call[call->parent] = gm_known_add(t->of_call[call->parent], bytes);
        if (bytes == 0)
            continue;
        node->least = node->calls == 0 ? bytes : gm_min(node->least, bytes);
        node->most = gm_max(node->most, bytes);
        node->calls++;
    }
    for (size_t i = t->calls->nodes.n; i-- > 0;) {
        struct gm_module_node *node = &t->nodes[i], *parent = &t->nodes[t->calls->nodes.v[i].parent];
        node->bytes = gm_known_add(node->bytes, node->own);
        if (i == 0)
            break;
        parent->bytes = gm_known_add(parent->bytes, node->bytes);
        parent->blocks += node->blocks;
        gm_purposes_merge(&parent->use, &node->use);
    }
    for (size_t i = 1; i < t->calls->nodes.n; i++)
        t->nodes[i].depth = t->nodes[t->calls->nodes.v[i].parent].depth + 1;
}

/* ---- the list --------------------------------------------------------------------------------------------------- */

struct entry {
    uint64_t bytes;
    uint32_t depth, node;
};

/* Parents stand before what is below them. */
GM_ORDERING(by_bytes, struct entry, GM_DOWN(bytes) || GM_UP(depth) || GM_UP(node));

static bool name_node(struct tree *t, uint32_t node, struct gm_module_node *out)
{
    const struct gm_frames *f = &t->pass->snapshot->frames;
    const struct gm_call_node *n = &t->calls->nodes.v[node];
    if (node == 0)
        return true;
    out->function = gm_names_string(t->pass->names, f->name[n->callee]);
    out->file = gm_names_string(t->pass->names, f->filename[n->callee]);
    out->caller = n->caller == 0 ? NULL : gm_names_string(t->pass->names, f->filename[n->caller]);
    out->caller_line = n->caller == 0 || f->line[n->caller] == GM_ABSENT ? GM_REPORT_NONE : f->line[n->caller];
    return out->function != NULL && out->file != NULL && (n->caller == 0 || out->caller != NULL) &&
           gm_trace_source(t->pass, out->caller, out->caller_line, &out->source, &out->source_note);
}

/* The bytes of each call, where there are several. */
static bool list_calls(struct tree *t, struct gm_module_node *nodes, const uint32_t *place)
{
    for (size_t c = 1; c < t->calls->calls.n; c++) {
        const uint32_t node = t->calls->calls.v[c].node;
        if (place[node] == GM_NEVER || t->of_call[c] == 0 || t->nodes[node].calls < 2)
            continue;
        struct gm_module_node *out = &nodes[place[node]];
        const size_t most = (size_t)gm_min(out->calls, GM_CALLS_LISTED);
        uint64_t *list = (uint64_t *)(uintptr_t)out->call_bytes; /* ours until it is published */
        if (list == NULL && (list = gm_arena_calloc(&t->pass->report->arena, most, sizeof *list)) == NULL)
            return false;
        out->call_bytes = list;
        if (out->call_count < most)
            list[out->call_count++] = t->of_call[c];
    }
    return true;
}

static bool publish(struct tree *t, const struct entry *entries, size_t n, uint32_t *place)
{
    struct gm_modules *out = &t->pass->out->modules;
    struct gm_module_node *nodes = gm_arena_calloc(&t->pass->report->arena, n, sizeof *nodes);
    if (nodes == NULL)
        return false;
    memset(place, 0xFF, t->calls->nodes.n * sizeof *place);
    for (size_t i = 0; i < n; i++) {
        const uint32_t node = entries[i].node;
        nodes[i] = t->nodes[node];
        place[node] = (uint32_t)i;
        nodes[i].parent = i == 0 ? 0 : place[t->calls->nodes.v[node].parent];
        if (!name_node(t, node, &nodes[i]))
            return false;
    }
    for (size_t i = n; i-- > 1;) { /* the largest is put in front last */
        nodes[i].next_sibling = nodes[nodes[i].parent].first_child;
        nodes[nodes[i].parent].first_child = (uint32_t)i;
    }
    out->nodes = nodes;
    out->node_count = n;
    return list_calls(t, nodes, place);
}

static bool list_nodes(struct tree *t)
{
    GM_FREED struct entry *entries = malloc(t->calls->nodes.n * sizeof *entries);
    GM_FREED uint32_t *place = malloc(t->calls->nodes.n * sizeof *place);
    size_t n = 0;
    if (entries == NULL || place == NULL)
        return false;
    for (uint32_t i = 0; i < t->calls->nodes.n; i++)
        if (t->nodes[i].bytes > 0)
            entries[n++] = (struct entry){t->nodes[i].bytes, t->nodes[i].depth, i};
    GM_SORT(entries, n, by_bytes);
    return n <= 1 /* the root */ || publish(t, entries, gm_min(n, NODES_MOST), place);
}

bool gm_trace_calls(struct gm_trace_pass *pass)
{
    pass->calls = calloc(1, sizeof *pass->calls);
    return pass->calls != NULL && gm_calls_find(pass->calls, pass);
}

void gm_trace_forget_calls(struct gm_trace_pass *pass)
{
    if (pass->calls != NULL)
        gm_calls_free(pass->calls);
    free(pass->calls);
    pass->calls = NULL;
}

bool gm_module_tree(struct gm_trace_pass *pass)
{
    const struct gm_calls *calls = pass->calls;
    GM_FREED struct gm_module_node *nodes = calloc(calls->nodes.n, sizeof *nodes);
    GM_FREED uint64_t *of_call = calloc(calls->calls.n, sizeof *of_call);
    struct tree t = {pass, calls, of_call, nodes};
    if (nodes == NULL || of_call == NULL)
        return false;
    add_own(&t);
    add_up(&t);
    const bool ok = list_nodes(&t);
    gm_trace_forget_calls(pass);
    return ok;
}
