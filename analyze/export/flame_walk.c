/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/export/formats.h"

#include <stdlib.h>

bool gm_flame_walk_start(struct gm_flame_walk *walk, const struct gm_flame *flame)
{
    size_t deepest = 0;
    for (size_t i = 0; i < flame->node_count; i++)
        if (flame->nodes[i].depth > deepest)
            deepest = flame->nodes[i].depth;
    *walk = (struct gm_flame_walk){.path = calloc(deepest + 1, sizeof *walk->path)};
    return walk->path != NULL;
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
    if (flame->node_count == 0)
        return false;
    do {
        if (walk->has_begun) {
            walk->node = next_node(nodes, walk->node);
            if (walk->node == 0)
                return false;
        }
        walk->has_begun = true;
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

void gm_flame_walk_free(struct gm_flame_walk *walk)
{
    free(walk->path);
}
