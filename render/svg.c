/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of SVG flame graphs; see svg.h.
 */
#include "render/svg.h"

#include "analyze/base/utf8.h"

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
void gm_svg_hundredths(struct gm_text *out, double value)
{
    uint64_t n = (uint64_t)(value * 100 + 0.5);
    gm_text_printf(out, "%" PRIu64 ".%02u", n / 100, (unsigned)(n % 100));
}

void gm_svg_millionths(struct gm_text *out, double value)
{
    uint64_t n = (uint64_t)(value * 1e6 + 0.5);
    gm_text_printf(out, "%" PRIu64 ".%06u", n / 1000000, (unsigned)(n % 1000000));
}

const char gm_svg_style[] =
    "<style>\n"
    "text{font:11px 'DejaVu Sans',Verdana,sans-serif;fill:#1f2328;white-space:pre}\n"
    ".t{font-size:19px;font-weight:bold}.s{font-size:12px;fill:#59636e}.k{font-size:12px;cursor:pointer;fill:#2b6cb0;"
    "display:none}\n"
    ".b rect{stroke:#fff;stroke-width:.6}.b:hover rect{stroke:#1f2328;stroke-width:1}.b text{pointer-events:none}\n"
    ".m rect{stroke:#b42318!important;stroke-width:2!important}.w text{fill:#fff}\n"
    "</style>\n";

/* Zoom on a click, search for a part of a name. Without it the graph is whole, and browsers show the titles. */
const char gm_svg_script[] =
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
