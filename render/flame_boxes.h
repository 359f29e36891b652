/* SPDX-License-Identifier: Apache-2.0
 *
 * A flame graph as boxes: callers above callees, widths to scale. Both the picture and the SVG are made of them.
 */
#pragma once

#include "analyze/report/comparison.h"
#include "analyze/report/report.h"
#include "render/display.h"
#include "render/page.h"

#include <stdbool.h>
#include <stddef.h>

struct gm_flame_box {
    uint32_t node;        /* the one that is shown */
    uint32_t first, last; /* of those that it stands for: each calls the next one for all of its bytes that are seen */
    uint32_t row;         /* 0 is the root's */
    double x, width;      /* in shares of the root: 0 to 1 */
    bool is_below_own, is_below_python;
};
struct gm_flame_boxes {
    struct gm_flame_box *v; /* row after row, from the left; owned by the arena */
    size_t n;
    uint32_t rows;
    size_t narrow;    /* nodes left out because they, or what is above them, are too narrow */
    size_t passing;   /* nodes that others stand for */
    uint32_t deepest; /* row of the deepest node of the flame that is wide enough to be seen */
};
/* The boxes of at least `least` width in the first `most_rows` rows. Of frames that only pass a call on those have none
 * that tell nothing, those of libraries above the program's own, and where there is no Python those of C++ but one.
 * false: there is no memory. */
bool gm_flame_boxes_of(struct gm_flame_boxes *boxes, struct gm_arena *arena, const struct gm_flame *flame, double least,
                       uint32_t most_rows);

/* After `node`, which the box stands for: the next such; 0 after the last one. */
uint32_t gm_flame_next(const struct gm_flame *flame, const struct gm_flame_box *box, uint32_t node);
/* The fill of a frame: its category's colour; that of a frame which is not Python is paler. */
uint32_t gm_flame_color(const struct gm_flame_node *node);
/* "forward  model/attention.py:88" as in a call site; the plain name if there is no file. */
const char *gm_flame_label(struct gm_arena *arena, const struct gm_flame_node *node);
/* The categories whose colours are seen, at most GM_FLAME_KEYS; returns how many. */
enum { GM_FLAME_KEYS = 16 };
size_t gm_flame_keys(struct gm_piece keys[GM_FLAME_KEYS], const struct gm_peak *peak, const struct gm_flame *flame,
                     const struct gm_flame_boxes *boxes);
/* What the colours mean, in one sentence. */
const char *gm_flame_colors(const struct gm_flame *flame, const struct gm_flame_boxes *boxes);
/* As much of it as fits into `room`, in small text: function and path, function and file, the function, its beginning.
 * "" (and display->failed) if there is no memory. */
const char *gm_flame_fitting(struct gm_display *display, const struct gm_flame_node *node, double room);

/* The picture's boxes; false: there is no memory. */
bool gm_flame_boxes_drawn(struct gm_flame_boxes *boxes, struct gm_display *display, const struct gm_flame *flame);
/* Draws them: of one run (`diff` NULL) with bytes, of two with what changed; `root` is what the root's box says. */
void gm_flame_draw(struct gm_page *page, const struct gm_flame *flame, const struct gm_diff_flame *diff,
                   const struct gm_flame_boxes *boxes, const char *root);
/* What is left out, and that the file called `svg` has it. */
void gm_flame_notes(struct gm_page *page, const struct gm_flame_boxes *boxes, const char *svg);

/* ---- of two runs ------------------------------------------------------------------------------------------------- */

/* The tree of both runs as a flame graph whose nodes are as wide as the larger of the two. NULL: no memory. */
const struct gm_flame *gm_diff_flame_of(struct gm_display *display, const struct gm_diff_flame *diff);
/* Red: more in NEW; blue: less; the stronger, the larger the part of it that changed. */
uint32_t gm_diff_node_color(const struct gm_diff_node *node);
