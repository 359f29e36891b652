/* SPDX-License-Identifier: Apache-2.0
 *
 * The call stacks in the tree of a peak: a node that has bytes of its own is the innermost frame of one.
 */
#ifndef GM_EXPORT_FLAME_WALK_H
#define GM_EXPORT_FLAME_WALK_H

#include "analyze/report/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_flame_walk { /* zero-initialise */
    uint32_t *path;    /* of the current stack: nodes, outermost first; without the root, unless it is all there is */
    size_t depth;
    uint32_t node; /* the last of the path */
    bool has_begun;
};

/* Makes room for the paths of `flame`; false: no memory. */
bool gm_flame_walk_start(struct gm_flame_walk *walk, const struct gm_flame *flame);
/* The next stack, callers' largest callee first; false after the last. */
bool gm_flame_walk_next(struct gm_flame_walk *walk, const struct gm_flame *flame);
void gm_flame_walk_free(struct gm_flame_walk *walk);

#endif
