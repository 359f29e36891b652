/* SPDX-License-Identifier: Apache-2.0
 *
 * What flamegraph.svg and diff_flamegraph.svg share. Every name comes from a file and may be anything: it is only ever
 * written by gm_svg_escaped. The script is constant, reads what is in the document, and writes text and numbers.
 */
#ifndef GM_RENDER_SVG_H
#define GM_RENDER_SVG_H

#include "analyze/base/text.h"

enum {
    GM_SVG_WIDTH = 1200,
    GM_SVG_PAD = 12,
    GM_SVG_INNER = GM_SVG_WIDTH - 2 * GM_SVG_PAD, /* the script has these, too */
    GM_SVG_ROW = 18,
    GM_SVG_TOP = 86
};
extern const char gm_svg_style[];
/* Zoom on a click, search for a part of a name, in boxes <g class="b" data-x data-w><title/><rect/><text/></g>. */
extern const char gm_svg_script[];

/* Text and attribute values. Characters that XML does not allow, even escaped, become U+FFFD. */
void gm_svg_escaped(struct gm_text *out, const char *s);
/* Numbers without a locale. */
void gm_svg_hundredths(struct gm_text *out, double value);
void gm_svg_millionths(struct gm_text *out, double value);
void gm_svg_text(struct gm_text *out, const char *class, int x, int y, const char *text);

#endif
