/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/export/formats.h"

#include <stdlib.h>
#include <string.h>

/* Room for the deepest path. */
static bool begin(struct gm_flame_walk *walk, const struct gm_flame *flame)
{
    size_t deepest = 0;
    for (size_t i = 0; i < flame->node_count; i++)
        if (flame->nodes[i].depth > deepest)
            deepest = flame->nodes[i].depth;
    walk->path = calloc(deepest + 1, sizeof *walk->path);
    walk->failed = walk->path == NULL;
    return !walk->failed;
}

/* The node after `node`, parents before children; 0 after the last. */
static uint32_t next_node(const struct gm_flame_node *nodes, uint32_t node)
{
    if (nodes[node].first_child != 0)
        return nodes[node].first_child;
    while (node != 0 && nodes[node].next_sibling == 0)
        node = nodes[node].parent;
    return node == 0 ? 0 : nodes[node].next_sibling;
}

bool gm_flame_walk_next(struct gm_flame_walk *walk, const struct gm_flame *flame)
{
    const struct gm_flame_node *nodes = flame->nodes;
    bool is_first = walk->path == NULL;
    if (flame->node_count == 0 || (is_first && !begin(walk, flame)))
        return false;
    do {
        if (!is_first && (walk->node = next_node(nodes, walk->node)) == 0)
            return false;
        is_first = false;
    } while (nodes[walk->node].self_bytes == 0 && nodes[walk->node].self_blocks == 0);
    walk->depth = 0;
    for (uint32_t i = walk->node; i != 0; i = nodes[i].parent)
        walk->depth++;
    uint32_t i = walk->node;
    for (size_t k = walk->depth; k > 0; i = nodes[i].parent)
        walk->path[--k] = i;
    if (walk->depth == 0)
        walk->path[walk->depth++] = 0;
    return true;
}

/* ---- numbers for things ------------------------------------------------------------------------------------------ */

/* A string's number. The same pointer is asked for once per use of a frame, so its bytes are read only the first time.
 */
static uint32_t string_number(struct gm_triples *t, const char *s)
{
    uint32_t number = gm_map_get(&t->of_pointer, (uintptr_t)s), before;
    if (number != GM_MAP_NONE)
        return number;
    number = gm_intern_add_lasting(&t->strings, s, strlen(s));
    return number != GM_INTERN_NONE && gm_map_put(&t->of_pointer, (uintptr_t)s, number, &before) ? number
                                                                                                 : GM_INTERN_NONE;
}

uint32_t gm_triples_put(struct gm_triples *t, const char *name, const char *filename, uint64_t number)
{
    name = name == NULL ? "" : name;
    filename = filename == NULL ? "" : filename;
    const uint32_t first = string_number(t, name), second = string_number(t, filename);
    const uint64_t key[] = {(uint64_t)first << 32 | second, number};
    uint32_t row =
        first == GM_INTERN_NONE || second == GM_INTERN_NONE ? GM_INTERN_NONE : gm_intern_add(&t->rows, key, sizeof key);
    const struct gm_triple triple = {name, filename, number};
    if (t->failed || row == GM_INTERN_NONE || (row == t->n && !GM_VEC_PUSH(t, triple))) {
        t->failed = true;
        return 0;
    }
    return row;
}

void gm_triples_free(struct gm_triples *t)
{
    gm_map_free(&t->of_pointer);
    gm_intern_free(&t->strings);
    gm_intern_free(&t->rows);
    free(t->v);
}
