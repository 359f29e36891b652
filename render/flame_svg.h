/* SPDX-License-Identifier: Apache-2.0
 *
 * What flamegraph.svg and diff_flamegraph.svg have in common: the frame of the document, and its boxes. What is said of
 * a box in its tooltip is written between gm_flame_svg_box and gm_flame_svg_box_end. Every name comes from a file and
 * may be anything: it is only ever written by gm_svg_escaped. The script is constant, reads what is in the document,
 * and writes text and numbers.
 */
#ifndef GM_RENDER_FLAME_SVG_H
#define GM_RENDER_FLAME_SVG_H

#include "analyze/base/text.h"
#include "render/flame_boxes.h"

enum {
    GM_SVG_WIDTH = 1200,
    GM_SVG_PAD = 12,
    GM_SVG_INNER = GM_SVG_WIDTH - 2 * GM_SVG_PAD, /* the script has these, too */
    GM_SVG_ROW = 18,
    GM_SVG_TOP = 86
};

/* Text and attribute values. Characters that XML does not allow, even escaped, become U+FFFD. */
void gm_svg_escaped(struct gm_text *out, const char *s);
void gm_svg_text(struct gm_text *out, const char *class, int x, int y, const char *text);

/* ---- flame_svg.c ------------------------------------------------------------------------------------------------- */

/* Boxes down to a fraction of a pixel, wider ones only if there are too many. false: there is no memory. */
bool gm_flame_svg_boxes(struct gm_flame_boxes *boxes, struct gm_arena *arena, const struct gm_flame *flame);

/* What the colours mean, below the boxes. */
struct gm_flame_svg_legend {
    struct gm_piece keys[GM_FLAME_KEYS];
    size_t count;
    const char *note;
};

/* legend: NULL for none. */
void gm_flame_svg_begin(struct gm_text *out, const struct gm_flame_boxes *boxes,
                        const struct gm_flame_svg_legend *legend, const char *title, const char *run, const char *what);
/* Up to the first line of the tooltip, which is `label`. */
void gm_flame_svg_box(struct gm_text *out, const struct gm_flame_box *box, const char *label, uint32_t color);
/* The box itself; `root` is what the root's says. */
void gm_flame_svg_box_end(struct gm_text *out, struct gm_display *scratch, const struct gm_flame *flame,
                          const struct gm_flame_box *box, uint32_t color, const char *root);
/* The legend, what was left out, and the script. */
void gm_flame_svg_end(struct gm_text *out, struct gm_display *scratch, const struct gm_flame_boxes *boxes,
                      const struct gm_flame_svg_legend *legend);

#endif
