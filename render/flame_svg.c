/* SPDX-License-Identifier: Apache-2.0
 *
 * flamegraph.svg and diff_flamegraph.svg. Every name comes from a file and may be anything: it is only ever written by
 * gm_text_add_xml(). The script is constant, reads what is in the document, and writes text and numbers.
 */
#include "render/render.h"

#include "analyze/base/size.h"
#include "render/devices.h"
#include "render/diff_charts.h"
#include "render/flame_boxes.h"
#include "render/metric.h"
#include "render/number_text.h"
#include "render/theme.h"

#include <inttypes.h>

enum {
    WIDTH = 1200,
    PAD = 12,
    INNER = WIDTH - 2 * PAD, /* the script has these, too */
    ROW = 18,
    TOP = 86
};

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
    "  var "
    "is=s!==''&&g.children[0].textContent.toLowerCase().indexOf(s)>=0;g.classList.toggle('m',is);if(!is)return;n++;\n"
    "  var x=num(g,'data-x'),w=num(g,'data-w');\n"
    "  if(!hit.some(function(h){return x>=h[0]-1e-9&&x+w<=h[1]+1e-6;})){hit.push([x,x+w]);sum+=w;}});\n"
    " document.getElementById('found').textContent=s===''?'':n+' frames match: '+(100*sum).toFixed(1)+'% of the "
    "bytes';});\n"
    "})();\n"
    "]]></script>\n";

static void put_text(struct gm_text *out, const char *class, int x, int y, const char *text)
{
    gm_text_printf(out, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, x, y);
    gm_text_add_xml(out, text);
    gm_text_add(out, "</text>\n");
}

/* What the colours mean, below the boxes. */
struct legend {
    struct gm_piece keys[GM_FLAME_KEYS];
    size_t count;
    const char *note;
};

enum { MOST_ROWS = 400, MOST_BOXES = 8000 };

static int height_of(const struct gm_flame_boxes *boxes)
{
    return TOP + ROW * (int)(boxes->rows > 0 ? boxes->rows : 1);
}

/* Boxes down to a fraction of a pixel, wider ones only if there are too many. false: there is no memory. */
static bool boxes_of(struct gm_flame_boxes *boxes, struct gm_arena *arena, const struct gm_flame *flame)
{
    double least = 0.4 / INNER;
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
    double x = PAD;
    int row = 0;
    for (size_t i = 0; i < count; i++) {
        const double width = swatch + wider * gm_text_width(keys[i].name, GM_TEXT_SMALL, GM_REGULAR);
        if (x > PAD && x + width > WIDTH - PAD) {
            x = PAD;
            row++;
        }
        if (out != NULL) {
            gm_text_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"11\" height=\"11\" fill=\"#%06" PRIx32 "\"/>", (int)x,
                           y + row * ROW, keys[i].fill.color);
            put_text(out, "s", (int)(x + swatch), y + row * ROW + 10, keys[i].name);
        }
        x += width + gap;
    }
    return count == 0 ? 0 : (row + 1) * ROW;
}

static int height_of_legend(const struct legend *legend)
{
    return legend == NULL ? 0 : put_keys(NULL, 0, legend->keys, legend->count) + ROW;
}

/* legend: NULL for none. */
static void put_head(struct gm_text *out, const struct gm_flame_boxes *boxes, const struct legend *legend,
                     const char *title, const char *run, const char *what)
{
    const int height = height_of(boxes) + height_of_legend(legend) + 40;
    gm_text_printf(out,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
                   "xml:space=\"preserve\">\n",
                   WIDTH, height, WIDTH, height);
    gm_text_add(out, style);
    gm_text_printf(out, "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", WIDTH, height);
    put_text(out, "t", PAD, 30, title);
    put_text(out, "s", PAD, 52, run);
    put_text(out, "s", PAD, 70, what);
    gm_text_printf(out,
                   "<text class=\"k\" id=\"find\" x=\"%d\" y=\"30\">Search</text>\n"
                   "<text class=\"k\" id=\"reset\" x=\"%d\" y=\"30\">Show all</text>\n"
                   "<text class=\"s\" id=\"found\" x=\"%d\" y=\"52\"></text>\n",
                   WIDTH - 70, WIDTH - 150, WIDTH - 320);
}

/* Up to the first line of the tooltip, which is `label`. */
static void begin_box(struct gm_text *out, const struct gm_flame_box *box, const char *label, uint32_t color)
{
    gm_text_printf(out, "<g class=\"b%s\" data-x=\"", gm_text_color_on(color) == GM_PAPER ? " w" : "");
    put_millionths(out, box->x);
    gm_text_add(out, "\" data-w=\"");
    put_millionths(out, box->width);
    gm_text_add(out, "\"><title>");
    gm_text_add_xml(out, label);
}

/* Who passed the call on, below the numbers. */
static void put_passing(struct gm_text *out, struct gm_display *scratch, const struct gm_flame *flame,
                        const struct gm_flame_box *box)
{
    const char *before = "\nonly pass it on, from the outermost:\n";
    for (uint32_t node = box->first; node != 0; node = gm_flame_next(flame, box, node)) {
        const char *label = node == box->node ? "" : gm_flame_label(&scratch->arena, &flame->nodes[node]);
        scratch->failed |= label == NULL;
        if (label == NULL || node == box->node)
            continue;
        gm_text_add(out, before);
        gm_text_add_xml(out, label);
        before = "\n";
    }
}

/* The box itself; `root` is what the root's says. */
static void end_box(struct gm_text *out, struct gm_display *scratch, const struct gm_flame *flame,
                    const struct gm_flame_box *box, uint32_t color, const char *root)
{
    const double width = box->width * INNER, x = PAD + box->x * INNER, least = 24;
    const int y = TOP + ROW * (int)box->row;
    gm_text_add(out, "</title><rect x=\"");
    put_hundredths(out, x);
    gm_text_printf(out, "\" y=\"%d\" width=\"", y);
    put_hundredths(out, width);
    gm_text_printf(out, "\" height=\"%d\" fill=\"#%06" PRIx32 "\"/><text x=\"", ROW - 1, color);
    put_hundredths(out, x + 4);
    gm_text_printf(out, "\" y=\"%d\">", y + 13);
    if (box->node == 0)
        gm_text_add_xml(out, root);
    else if (width >= least)
        gm_text_add_xml(out, gm_flame_fitting(scratch, &flame->nodes[box->node], width - 8));
    gm_text_add(out, "</text></g>\n");
}

/* The legend, what was left out, and the script. */
static void put_end(struct gm_text *out, struct gm_display *scratch, const struct gm_flame_boxes *boxes,
                    const struct legend *legend)
{
    int y = height_of(boxes) + 10;
    const size_t levels = boxes->n > 0 ? boxes->deepest + 1 - boxes->rows : 0;
    const char *left_out = "";
    if (boxes->narrow > 0)
        left_out = gm_display_printf(scratch, "%s frame%s too narrow to be shown. ",
                                     gm_digits_text(scratch, boxes->narrow), boxes->narrow == 1 ? " is" : "s are");
    if (levels > 0)
        left_out = gm_display_printf(scratch, "%s%s deeper level%s left out.", left_out,
                                     gm_digits_text(scratch, levels), levels == 1 ? " is" : "s are");
    if (legend != NULL) {
        y += put_keys(out, y, legend->keys, legend->count);
        put_text(out, "s", PAD, y + 10, legend->note);
        y += ROW;
    }
    if (boxes->narrow > 0 || levels > 0)
        put_text(out, "s", PAD, y + 10, left_out);
    gm_text_add(out, script);
    gm_text_add(out, "</svg>\n");
}

/* ---- one run, two runs ------------------------------------------------------------------------------------------- */

/* What the tooltip says below the name: of one run, or of two. */
static void put_numbers(struct gm_text *out, struct gm_display *scratch, const struct gm_flame_node *node,
                        const struct gm_diff_node *both, uint64_t whole)
{
    if (both != NULL) {
        gm_text_printf(out, "\nbase %s, new %s, ", gm_size_text(scratch, both->base),
                       gm_size_text(scratch, both->after));
        gm_text_add_xml(out, gm_change_text(scratch, both->base, both->after)); /* "<0.1%" */
        return;
    }
    gm_text_printf(out, "\n%s (", gm_size_text(scratch, node->bytes));
    gm_text_add_xml(out, gm_share_text(scratch, node->bytes, whole));
    gm_text_printf(out, ") in %s block%s", gm_digits_text(scratch, node->blocks), node->blocks == 1 ? "" : "s");
    if (node->self_bytes > 0 && node->self_bytes < node->bytes)
        gm_text_printf(out, "\nmade here: %s", gm_size_text(scratch, node->self_bytes));
}

static void put_boxes(struct gm_text *out, struct gm_display *scratch, const struct gm_flame *flame,
                      const struct gm_diff_flame *diff, const struct gm_flame_boxes *boxes, const char *root)
{
    for (size_t i = 0; i < boxes->n && !scratch->failed && !out->failed; i++) {
        const struct gm_flame_box *box = &boxes->v[i];
        const struct gm_flame_node *node = &flame->nodes[box->node];
        const struct gm_diff_node *both = diff == NULL ? NULL : &diff->nodes[box->node];
        const char *label = box->node == 0 ? "all" : gm_flame_label(&scratch->arena, node);
        const uint32_t color = box->node == 0 ? GM_GRID
                               : both != NULL ? gm_diff_node_color(both)
                                              : gm_flame_color(node);
        if (label == NULL) {
            out->failed = true;
            return;
        }
        begin_box(out, box, label, color);
        put_numbers(out, scratch, node, both, flame->nodes[0].bytes);
        put_passing(out, scratch, flame, box);
        end_box(out, scratch, flame, box, color, root);
    }
}

/* Frees what was scratch. */
static enum gm_status finish(struct gm_text *out, struct gm_display *scratch, const char *file, struct gm_error *err)
{
    const bool failed = scratch->failed || out->failed;
    out->failed |= failed;
    gm_display_free(scratch);
    return failed ? gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for %s", file) : GM_OK;
}

enum gm_status gm_flamegraph_svg(struct gm_text *out, const struct gm_report *report, struct gm_error *err)
{
    struct gm_display scratch = {0}; /* its arena */
    struct gm_traced traced;
    struct gm_flame_boxes boxes = {.n = 0};
    const bool has_trace = gm_traced_highest(report, &traced);
    const struct gm_flame *flame = has_trace ? &traced.timeline->flame : NULL;
    const char *root = "";
    if (has_trace && !boxes_of(&boxes, &scratch.arena, flame))
        scratch.failed = true;
    struct legend legend = {.count = 0};
    if (boxes.n > 0) {
        legend.count = gm_flame_keys(legend.keys, traced.peak, flame, &boxes);
        legend.note = gm_flame_colors(flame, &boxes);
        root =
            gm_display_printf(&scratch, "all: %s requested in %s blocks", gm_size_text(&scratch, flame->nodes[0].bytes),
                              gm_digits_text(&scratch, flame->nodes[0].blocks));
    }
    const struct legend *shown = boxes.n > 0 ? &legend : NULL;
    const char *name = gm_shorten_end(&scratch, gm_name(report->run_name), 500, GM_TEXT_BODY, GM_REGULAR);
    put_head(out, &boxes, shown, "Flame graph of the peak", gm_display_printf(&scratch, "Run %s", name),
             !has_trace ? "The snapshot has no trace: its history was not recorded."
                        : gm_display_printf(&scratch, "%s. Callers above what they call; widths are to scale.",
                                            gm_peak_line(&scratch, report, &traced)));
    put_boxes(out, &scratch, flame, NULL, &boxes, root);
    put_end(out, &scratch, &boxes, shown);
    return finish(out, &scratch, GM_FLAMEGRAPH_SVG, err);
}

enum gm_status gm_diff_flamegraph_svg(struct gm_text *out, const struct gm_comparison *c, struct gm_error *err)
{
    struct gm_display scratch = {0}; /* its arena */
    struct gm_flame_boxes boxes = {.n = 0};
    const struct gm_diff_flame *diff = &c->pairs[0].flame;
    const struct gm_flame *flame = gm_diff_flame_of(&scratch, diff);
    if (flame != NULL && !boxes_of(&boxes, &scratch.arena, flame))
        scratch.failed = true;
    const char *base = gm_shorten_end(&scratch, gm_name(c->labels[0]), 380, GM_TEXT_BODY, GM_REGULAR);
    const char *after = gm_shorten_end(&scratch, gm_name(c->labels[1]), 380, GM_TEXT_BODY, GM_REGULAR);
    put_head(out, &boxes, NULL, "Flame graph of the difference",
             gm_display_printf(&scratch, "Base %s, new %s", base, after),
             gm_display_printf(&scratch,
                               "%s. Callers above what they call; a box is as wide as the larger of both. Red grew, "
                               "blue shrank, grey is unchanged.",
                               diff->is_at_peak ? "Requested bytes at the peak" : "Allocated bytes at the end"));
    put_boxes(out, &scratch, flame, diff, &boxes, "all");
    if (boxes.n == 0)
        put_text(out, "s", PAD, TOP + 12, "Nothing was live in either run.");
    put_end(out, &scratch, &boxes, NULL);
    return finish(out, &scratch, GM_DIFF_FLAMEGRAPH_SVG, err);
}
