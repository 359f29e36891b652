/* SPDX-License-Identifier: Apache-2.0 */
#include "render/flame_svg.h"

#include "analyze/base/utf8.h"

#include "render/metric.h"
#include "render/number_text.h"
#include "render/theme.h"

#include <inttypes.h>
#include <string.h>

/* Text and attribute values. Characters that XML does not allow, even escaped, become U+FFFD. */
void gm_svg_escaped(struct gm_text *out, const char *s)
{
    for (size_t i = 0, n = strlen(s); i < n;) {
        uint32_t code = 0;
        size_t length = gm_utf8_decode(s + i, n - i, &code);
        if (length == 0 || code < 0x20 || code == 0x7f || code == 0xfffe || code == 0xffff)
            gm_text_add(out, "\xef\xbf\xbd");
        else if (code == '&')
            gm_text_add(out, "&amp;");
        else if (code == '<')
            gm_text_add(out, "&lt;");
        else if (code == '>')
            gm_text_add(out, "&gt;");
        else if (code == '"')
            gm_text_add(out, "&quot;");
        else if (code == '\'')
            gm_text_add(out, "&#39;");
        else
            gm_text_add_bytes(out, s + i, length);
        i += length > 0 ? length : 1;
    }
}

/* A number of hundredths, without a locale. */
static void put_hundredths(struct gm_text *out, double value)
{
    uint64_t n = (uint64_t)(value * 100 + 0.5);
    gm_text_printf(out, "%" PRIu64 ".%02u", n / 100, (unsigned)(n % 100));
}

static void put_millionths(struct gm_text *out, double value)
{
    uint64_t n = (uint64_t)(value * 1e6 + 0.5);
    gm_text_printf(out, "%" PRIu64 ".%06u", n / 1000000, (unsigned)(n % 1000000));
}

static const char style[] =
    "<style>\n"
    "text{font:11px 'DejaVu Sans',Verdana,sans-serif;fill:#1f2328;white-space:pre}\n"
    ".t{font-size:19px;font-weight:bold}.s{font-size:12px;fill:#59636e}.k{font-size:12px;cursor:pointer;fill:#2b6cb0;"
    "display:none}\n"
    ".b rect{stroke:#fff;stroke-width:.6}.b:hover rect{stroke:#1f2328;stroke-width:1}.b text{pointer-events:none}\n"
    ".m rect{stroke:#b42318!important;stroke-width:2!important}.w text{fill:#fff}\n"
    "</style>\n";

/* Zoom on a click, search for a part of a name. Without it the graph is whole, and browsers show the titles. */
static const char script[] =
    "<script><![CDATA[\n"
    "(function(){'use strict';\n"
    "var pad=12,inner=1176,boxes=Array.prototype.slice.call(document.querySelectorAll('g.b'));\n"
    "function num(g,a){return parseFloat(g.getAttribute(a));}\n"
    "function name(g){return g.children[0].textContent.split('\\n')[0];}\n"
    "function fit(s,w){var n=Math.floor((w-8)/6.6);if(n<3)return '';return s.length<=n?s:s.slice(0,n-1)+'\\u2026';}\n"
    "function show(x0,w0){boxes.forEach(function(g){\n"
    " var x=num(g,'data-x'),w=num(g,'data-w'),a=Math.max(x,x0),b=Math.min(x+w,x0+w0);\n"
    " if(b-a<w0*2e-4){g.style.display='none';return;}\n"
    " g.style.display='';var px=pad+(a-x0)/w0*inner,pw=(b-a)/w0*inner,r=g.children[1],t=g.children[2];\n"
    " r.setAttribute('x',px);r.setAttribute('width',pw);t.setAttribute('x',px+4);t.textContent=fit(name(g),pw);});\n"
    " document.getElementById('reset').style.display=w0<1?'inline':'none';}\n"
    "boxes.forEach(function(g){g.addEventListener('click',function(){show(num(g,'data-x'),num(g,'data-w'));});\n"
    " g.style.cursor='pointer';});\n"
    "document.getElementById('reset').addEventListener('click',function(){show(0,1);});\n"
    "var find=document.getElementById('find');find.style.display='inline';\n"
    "find.addEventListener('click',function(){\n"
    " var s=window.prompt('Part of a function or file name (empty: none)','');if(s===null)return;s=s.toLowerCase();\n"
    " var hit=[],sum=0,n=0;boxes.forEach(function(g){\n"
    "  var is=s!==''&&name(g).toLowerCase().indexOf(s)>=0;g.classList.toggle('m',is);if(!is)return;n++;\n"
    "  var x=num(g,'data-x'),w=num(g,'data-w');\n"
    "  if(!hit.some(function(h){return x>=h[0]-1e-9&&x+w<=h[1]+1e-6;})){hit.push([x,x+w]);sum+=w;}});\n"
    " document.getElementById('found').textContent=s===''?'':n+' frames match: '+(100*sum).toFixed(1)+'% of the "
    "bytes';});\n"
    "})();\n"
    "]]></script>\n";

void gm_svg_text(struct gm_text *out, const char *class, int x, int y, const char *text)
{
    gm_text_printf(out, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, x, y);
    gm_svg_escaped(out, text);
    gm_text_add(out, "</text>\n");
}

enum { MOST_ROWS = 400, MOST_BOXES = 8000 };

static int height_of(const struct gm_flame_boxes *boxes)
{
    return GM_SVG_TOP + GM_SVG_ROW * (int)(boxes->rows > 0 ? boxes->rows : 1);
}

bool gm_flame_svg_boxes(struct gm_flame_boxes *boxes, struct gm_arena *arena, const struct gm_flame *flame)
{
    double least = 0.4 / GM_SVG_INNER;
    do {
        if (!gm_flame_boxes_of(boxes, arena, flame, least, MOST_ROWS))
            return false;
        least *= 2;
    } while (boxes->n > MOST_BOXES && least < 1);
    return true;
}

/* Swatches and names side by side, on as many lines as it takes; `out` is NULL to measure. Returns the height. */
static int put_keys(struct gm_text *out, int y, const struct gm_piece *keys, size_t count)
{
    const double swatch = 16, gap = 20, wider = 1.2 /* than our font a reader's may be */;
    double x = GM_SVG_PAD;
    int row = 0;
    for (size_t i = 0; i < count; i++) {
        const double width = swatch + wider * gm_text_width(keys[i].name, GM_TEXT_SMALL, GM_REGULAR);
        if (x > GM_SVG_PAD && x + width > GM_SVG_WIDTH - GM_SVG_PAD) {
            x = GM_SVG_PAD;
            row++;
        }
        if (out != NULL) {
            gm_text_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"11\" height=\"11\" fill=\"#%06" PRIx32 "\"/>", (int)x,
                           y + row * GM_SVG_ROW, keys[i].fill.color);
            gm_svg_text(out, "s", (int)(x + swatch), y + row * GM_SVG_ROW + 10, keys[i].name);
        }
        x += width + gap;
    }
    return count == 0 ? 0 : (row + 1) * GM_SVG_ROW;
}

static int height_of_legend(const struct gm_flame_svg_legend *legend)
{
    return legend == NULL ? 0 : put_keys(NULL, 0, legend->keys, legend->count) + GM_SVG_ROW;
}

void gm_flame_svg_begin(struct gm_text *out, const struct gm_flame_boxes *boxes,
                        const struct gm_flame_svg_legend *legend, const char *title, const char *run, const char *what)
{
    const int height = height_of(boxes) + height_of_legend(legend) + 40;
    gm_text_printf(out,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
                   "xml:space=\"preserve\">\n",
                   GM_SVG_WIDTH, height, GM_SVG_WIDTH, height);
    gm_text_add(out, style);
    gm_text_printf(out, "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", GM_SVG_WIDTH, height);
    gm_svg_text(out, "t", GM_SVG_PAD, 30, title);
    gm_svg_text(out, "s", GM_SVG_PAD, 52, run);
    gm_svg_text(out, "s", GM_SVG_PAD, 70, what);
    gm_text_printf(out,
                   "<text class=\"k\" id=\"find\" x=\"%d\" y=\"30\">Search</text>\n"
                   "<text class=\"k\" id=\"reset\" x=\"%d\" y=\"30\">Show all</text>\n"
                   "<text class=\"s\" id=\"found\" x=\"%d\" y=\"52\"></text>\n",
                   GM_SVG_WIDTH - 70, GM_SVG_WIDTH - 150, GM_SVG_WIDTH - 320);
}

void gm_flame_svg_box(struct gm_text *out, const struct gm_flame_box *box, const char *label, uint32_t color)
{
    gm_text_printf(out, "<g class=\"b%s\" data-x=\"", gm_text_color_on(color) == GM_PAPER ? " w" : "");
    put_millionths(out, box->x);
    gm_text_add(out, "\" data-w=\"");
    put_millionths(out, box->width);
    gm_text_add(out, "\"><title>");
    gm_svg_escaped(out, label);
}

void gm_flame_svg_box_end(struct gm_text *out, struct gm_display *scratch, const struct gm_flame *flame,
                          const struct gm_flame_box *box, uint32_t color, const char *root)
{
    const double width = box->width * GM_SVG_INNER, x = GM_SVG_PAD + box->x * GM_SVG_INNER, least = 24;
    const int y = GM_SVG_TOP + GM_SVG_ROW * (int)box->row;
    gm_text_add(out, "</title><rect x=\"");
    put_hundredths(out, x);
    gm_text_printf(out, "\" y=\"%d\" width=\"", y);
    put_hundredths(out, width);
    gm_text_printf(out, "\" height=\"%d\" fill=\"#%06" PRIx32 "\"/><text x=\"", GM_SVG_ROW - 1, color);
    put_hundredths(out, x + 4);
    gm_text_printf(out, "\" y=\"%d\">", y + 13);
    if (box->node == 0)
        gm_svg_escaped(out, root);
    else if (width >= least)
        gm_svg_escaped(out, gm_flame_fitting(scratch, &flame->nodes[box->node], width - 8));
    gm_text_add(out, "</text></g>\n");
}

void gm_flame_svg_end(struct gm_text *out, struct gm_display *scratch, const struct gm_flame_boxes *boxes,
                      const struct gm_flame_svg_legend *legend)
{
    int y = height_of(boxes) + 10;
    const size_t levels = boxes->n > 0 ? boxes->deepest + 1 - boxes->rows : 0;
    const char *left_out = "";
    char number[GM_NUMBER_TEXT];
    if (boxes->narrow > 0)
        left_out = gm_display_printf(scratch, "%s frame%s too narrow to be shown. ",
                                     gm_count_format(number, boxes->narrow), boxes->narrow == 1 ? " is" : "s are");
    if (levels > 0)
        left_out = gm_display_printf(scratch, "%s%s deeper level%s left out.", left_out,
                                     gm_count_format(number, levels), levels == 1 ? " is" : "s are");
    if (legend != NULL) {
        y += put_keys(out, y, legend->keys, legend->count);
        gm_svg_text(out, "s", GM_SVG_PAD, y + 10, legend->note);
        y += GM_SVG_ROW;
    }
    if (boxes->narrow > 0 || levels > 0)
        gm_svg_text(out, "s", GM_SVG_PAD, y + 10, left_out);
    gm_text_add(out, script);
    gm_text_add(out, "</svg>\n");
}
