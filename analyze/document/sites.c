/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/document/sites.h"

#include "analyze/base/arithmetic.h"
#include "analyze/document/columns.h"
#include "analyze/report/frame_kind.h"
#include "analyze/report/numbers.h"

#include <stdint.h>
#include <string.h>

enum { LEAST_NAME = 6, INDENT = 4 }; /* "tra..." */

static const char gap[] = "  "; /* between the name and the path */

/* Appends s[0..n) in at most `columns`. */
static void add_name(struct gm_text *out, const char *s, size_t n, size_t columns)
{
    struct gm_text name = {0};
    gm_text_add_bytes(&name, s, n);
    if (name.failed)
        out->failed = true;
    else
        gm_columns_cut(out, name.data != NULL ? name.data : "", columns, false);
    gm_text_free(&name);
}

static const char *file_of(const char *site)
{
    const char *path = strstr(site, gap);
    return path == NULL ? site : gm_path_base(path + sizeof gap - 1);
}

size_t gm_site_least(const char *site)
{
    const size_t wants = gm_columns(file_of(site));
    return strstr(site, gap) != NULL || wants < LEAST_NAME ? wants : LEAST_NAME;
}

/* A newline, and at the end of the next line the file (and its line number), cut only if it is longer than that. */
static void add_below(struct gm_text *out, const char *file)
{
    size_t wants = gm_columns(file);
    gm_text_add_char(out, '\n');
    gm_text_repeat(out, ' ', wants + INDENT <= GM_LINE ? GM_LINE - wants : INDENT);
    gm_columns_cut(out, file, GM_LINE - INDENT, true);
}

void gm_site_row(struct gm_text *out, const char *site, size_t columns)
{
    const char *path = strstr(site, gap);
    if (path == NULL || gm_site_least(site) <= columns) {
        gm_site_add(out, site, columns);
        return;
    }
    add_name(out, site, (size_t)(path - site), columns);
    add_below(out, file_of(site));
}

void gm_site_add(struct gm_text *out, const char *site, size_t columns)
{
    static const char dots[] = "...";
    const char *path = strstr(site, gap);
    if (path == NULL || gm_columns(site) <= columns) {
        gm_columns_cut(out, site, columns, false);
        return;
    }
    size_t name_bytes = (size_t)(path - site);
    path += sizeof gap - 1;
    size_t name = gm_columns(site) - gm_columns(path) - (sizeof gap - 1);
    size_t least = name < LEAST_NAME ? name : LEAST_NAME;
    const char *file = gm_path_base(path);
    if (gm_columns(file) + sizeof gap - 1 + least > columns) { /* where it is says more than its name */
        gm_columns_cut(out, file, columns, true);
        return;
    }
    size_t room = columns - (sizeof gap - 1) - gm_columns(file);
    bool has_dots = file != path && name + sizeof dots <= room; /* ".../" */
    add_name(out, site, name_bytes, has_dots ? room - sizeof dots : room);
    gm_text_add(out, gap);
    gm_text_add(out, has_dots ? ".../" : "");
    gm_columns_cut(out, file, columns, false);
}

size_t gm_name_length(const char *name)
{
    static const char anonymous[] = "(anonymous namespace)", call[] = "operator()";
    if (strstr(name, "::") == NULL)
        return strlen(name);
    for (size_t i = 0, depth = 0; name[i] != '\0';) {
        if (strncmp(name + i, anonymous, sizeof anonymous - 1) == 0) {
            i += sizeof anonymous - 1;
        } else if (strncmp(name + i, call, sizeof call - 1) == 0) {
            i += sizeof call - 1;
        } else if (name[i] == '(' && i > 0 && depth == 0) { /* not the one of "f<void (int)>" */
            return i;
        } else {
            depth += name[i] == '<';
            depth -= name[i] == '>' && depth > 0;
            i++;
        }
    }
    return strlen(name);
}
