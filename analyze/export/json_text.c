/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/export/json_text.h"

void gm_export_string(struct gm_text *out, const char *s)
{
    gm_text_add_char(out, '"');
    const char *from = s == NULL ? "" : s;
    for (const char *at = from;; at++) {
        unsigned char c = (unsigned char)*at;
        if (c >= ' ' && c != '"' && c != '\\')
            continue;
        gm_text_add_bytes(out, from, (size_t)(at - from));
        if (c == '\0')
            break;
        if (c < ' ')
            gm_text_printf(out, "\\u%04x", c);
        else
            gm_text_printf(out, "\\%c", c);
        from = at + 1;
    }
    gm_text_add_char(out, '"');
}
