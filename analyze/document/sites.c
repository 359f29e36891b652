/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/document/sites.h"

#include "analyze/base/ascii.h"
#include "analyze/document/columns.h"
#include "analyze/document/sections.h"
#include "analyze/report/frame_kind.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_NAME = 6, INDENT = 4 }; /* "tra..." */

static const char gap[] = "  "; /* between the name and the path */

/* Appends s[0..n) in at most `columns`. */
static void add_name(struct gm_text *out, const char *s, size_t n, size_t columns)
{
    GM_FREED struct gm_text name = {0};
    gm_text_add_bytes(&name, s, n);
    if (name.failed)
        out->failed = true;
    else
        gm_columns_cut(out, name.data != NULL ? name.data : "", columns, false);
}

/* What is behind the last slash of the first path: "loader.py:77, used in step  train.py:163". */
static const char *first_file(const char *path)
{
    const char *end = strstr(path, ", "), *file = path;
    for (const char *c = path; *c != '\0' && c != end; c++)
        file = *c == '/' || *c == '\\' ? c + 1 : file;
    return file;
}

static const char *file_of(const char *site)
{
    const char *path = strstr(site, gap);
    return path == NULL ? site : first_file(path + sizeof gap - 1);
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
    const char *file = first_file(path);
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

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static const char *text_of(const char *s)
{
    return s != NULL ? s : "";
}

static enum gm_frame_worth worth_of(const struct gm_frame_row *frame)
{
    return gm_frame_worth(frame->name, frame->filename);
}

/* Stores the indices of at most `max` frames, innermost first, and returns their number: the library function that was
 * called last, then the frames of the user's own code; if there are none, library frames; else native ones. Frames of
 * the interpreter, the dispatcher, the allocator and of stack capture are never taken. */
static size_t frames_telling(size_t *index, size_t max, const struct gm_block_row *block)
{
    size_t found[GM_WORTH_OWN + 1][GM_FRAMES_MOST] = {{0}}, n[GM_WORTH_OWN + 1] = {0}, taken = 0;
    for (size_t i = 0; i < block->frame_count && n[GM_WORTH_OWN] < max; i++) {
        const enum gm_frame_worth kind = worth_of(&block->frames[i]);
        if (n[kind] < max)
            found[kind][n[kind]++] = i;
    }
    enum gm_frame_worth kind = n[GM_WORTH_OWN] > 0       ? GM_WORTH_OWN
                               : n[GM_WORTH_LIBRARY] > 0 ? GM_WORTH_LIBRARY
                                                         : GM_WORTH_NATIVE;
    if (kind == GM_WORTH_OWN && n[GM_WORTH_LIBRARY] > 0 && found[GM_WORTH_LIBRARY][0] < found[GM_WORTH_OWN][0])
        index[taken++] = found[GM_WORTH_LIBRARY][0]; /* what was called, and by whom */
    for (size_t i = 0; i < n[kind] && taken < max; i++)
        index[taken++] = found[kind][i];
    return taken;
}

/* Whether block->site already names that frame. */
static bool is_site(const struct gm_block_row *block, const struct gm_frame_row *frame)
{
    const char *name = text_of(frame->name), *file = text_of(frame->filename);
    const char *site = text_of(block->site), *base = gm_path_base(file);
    char end[32] = "";
    if (frame->line != GM_REPORT_NONE)
        snprintf(end, sizeof end, ":%" PRIu64, frame->line);
    return strncmp(site, name, strlen(name)) == 0 && site[strlen(name)] == ' ' && strstr(site, base) != NULL &&
           gm_ends_with(site, strlen(site), end);
}

bool gm_frames_equal(const struct gm_block_row *a, const struct gm_block_row *b)
{
    if (a->frame_count != b->frame_count || strcmp(text_of(a->site), text_of(b->site)) != 0)
        return false;
    for (size_t i = 0; a->frames != b->frames && i < a->frame_count; i++) {
        const struct gm_frame_row *x = &a->frames[i], *y = &b->frames[i];
        if (x->line != y->line || strcmp(text_of(x->name), text_of(y->name)) != 0 ||
            strcmp(text_of(x->filename), text_of(y->filename)) != 0)
            return false;
    }
    return true;
}

void gm_frame_add(struct gm_text *out, const char *name, const char *file, uint64_t line)
{
    gm_text_add_bytes(out, name, gm_name_length(name));
    if (file[0] == '\0' || strcmp(file, "??") == 0)
        return;
    gm_text_printf(out, "  %s", file);
    if (line != GM_REPORT_NONE && line > 0)
        gm_text_printf(out, ":%" PRIu64, line);
}

const char *gm_frames_below(struct gm_doc *doc, const struct gm_block_row *block, size_t most)
{
    size_t index[GM_FRAMES_MOST];
    const size_t n = frames_telling(index, most, block);
    struct gm_text out = {0};
    for (size_t i = 0; i < n; i++) {
        const struct gm_frame_row *frame = &block->frames[index[i]];
        const char *path = text_of(frame->filename), *package = gm_file_package(path);
        if (is_site(block, frame))
            continue;
        gm_text_add(&out, out.length > 0 ? "\n" : "");
        gm_frame_add(&out, text_of(frame->name), package != NULL ? package : path, frame->line);
    }
    return gm_doc_take_any(doc, &out);
}
