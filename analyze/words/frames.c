/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/words/frames.h"

#include "analyze/document/columns.h"
#include "analyze/document/sites.h"
#include "analyze/report/frame_kind.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_NAME = 6, LINE_TEXT = 32 }; /* "tra..." */
enum kind { NOISE, NATIVE, LIBRARY, OWN };

static const char *text_of(const char *s)
{
    return s != NULL ? s : "";
}

static bool has_any(const char *s, const char *const *parts)
{
    for (; *parts != NULL; parts++)
        if (strstr(s, *parts) != NULL)
            return true;
    return false;
}

static bool starts_with_any(const char *s, const char *const *starts)
{
    for (; *starts != NULL; starts++)
        if (strncmp(s, *starts, strlen(*starts)) == 0)
            return true;
    return false;
}

static bool ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && memcmp(s + n - m, end, m) == 0;
}

/* Frames of Python that say nothing: how modules are called and programs begin. */
static bool is_machinery(const char *name, const char *file)
{
    static const char *const names[] = {"_call_impl", "_bootstrap", NULL};
    static const char *const files[] = {"<frozen", "runpy.py", NULL};
    return has_any(name, names) || has_any(file, files);
}

static enum kind kind_of(const struct gm_frame_row *frame)
{
    static const char *const native_noise[] = {
        "c10::",           "CachingAllocator",   "at::detail::",   "at::native::empty",
        "at::_ops::empty", "at::empty",          "at::(anonymous", "std::",
        "wrapper_",        "at::TensorIterator", "at::TensorBase", NULL};
    static const char *const libraries[] = {
        "site-packages/", "dist-packages/", "site-packages\\", "/lib/python", "/torch/", "\\torch\\", NULL};
    const char *name = text_of(frame->name), *file = text_of(frame->filename);
    if (gm_frame_is_noise(name, file) || is_machinery(name, file) || (name[0] == '\0' && file[0] == '\0'))
        return NOISE;
    if (!gm_frame_is_python(file) && file[0] != '<') /* "<eval_with_key>.7": code made by torch.fx */
        return strcmp(name, "??") == 0 || name[0] == '\0' || starts_with_any(name, native_noise) ? NOISE : NATIVE;
    return has_any(file, libraries) ? LIBRARY : OWN;
}

/* Takes frames of `kind` from `from` on; returns the new number. */
static size_t take(size_t *index, size_t n, size_t max, const struct gm_block_row *block, enum kind kind)
{
    for (size_t i = 0; i < block->frame_count && n < max; i++)
        if (kind_of(&block->frames[i]) == kind)
            index[n++] = i;
    return n;
}

size_t gm_frames_telling(size_t *index, size_t max, const struct gm_block_row *block)
{
    size_t n = 0;
    for (size_t i = 0; i < block->frame_count && n < max; i++) {
        enum kind kind = kind_of(&block->frames[i]);
        if (kind == LIBRARY && n == 0) /* what was called ... */
            index[n++] = i;
        if (kind == OWN) /* ... and by whom */
            break;
    }
    size_t library = n;
    n = take(index, n, max, block, OWN);
    if (n == library) /* no code of the user's own */
        n = take(index, 0, max, block, LIBRARY);
    return n > 0 ? n : take(index, 0, max, block, NATIVE);
}

bool gm_frames_is_site(const struct gm_block_row *block, const struct gm_frame_row *frame)
{
    const char *name = text_of(frame->name), *file = text_of(frame->filename);
    const char *site = text_of(block->site), *base = gm_path_base(file);
    char end[32] = "";
    if (frame->line != GM_REPORT_NONE)
        snprintf(end, sizeof end, ":%" PRIu64, frame->line);
    return strncmp(site, name, strlen(name)) == 0 && site[strlen(name)] == ' ' && strstr(site, base) != NULL &&
           ends_in(site, end);
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

/* The path from the package on, for files of installed packages. */
static const char *shown_path(const char *file)
{
    static const char *const roots[] = {"site-packages/", "dist-packages/", "site-packages\\", NULL};
    for (size_t i = 0; roots[i] != NULL; i++) {
        const char *at = strstr(file, roots[i]);
        if (at != NULL && at[strlen(roots[i])] != '\0')
            return at + strlen(roots[i]);
    }
    return file;
}

/* A C++ name without its parameters: they are long and say little. */
static size_t name_length(const char *name)
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

/* Appends the name in at most `columns`. */
static void add_name(struct gm_text *out, const char *name, size_t columns)
{
    struct gm_text cut = {0};
    gm_text_add_bytes(&cut, name, name_length(name));
    if (cut.failed)
        out->failed = true;
    else
        gm_columns_cut(out, cut.data, columns, false);
    gm_text_free(&cut);
}

/* Columns of the name as add_name shows it, if there is room. */
static size_t name_columns(const char *name)
{
    return name_length(name) == strlen(name) ? gm_columns(name)
                                             : gm_columns(name) - gm_columns(name + name_length(name));
}

/* ":12", or nothing. */
static const char *line_text(char out[LINE_TEXT], const struct gm_frame_row *frame)
{
    out[0] = '\0';
    if (frame->line != GM_REPORT_NONE && frame->line > 0)
        snprintf(out, LINE_TEXT, ":%" PRIu64, frame->line);
    return out;
}

void gm_frames_row(struct gm_text *out, const struct gm_frame_row *frame, size_t columns)
{
    const char *file = text_of(frame->filename), *base = gm_path_base(file);
    const size_t name = name_columns(text_of(frame->name));
    char line[LINE_TEXT];
    const size_t place_columns = gm_columns(base) + strlen(line_text(line, frame));
    if ((name < LEAST_NAME ? name : LEAST_NAME) + 2 + 3 + place_columns <= columns || file[0] == '\0') {
        gm_frames_add(out, frame, columns);
        return;
    }
    struct gm_text place = {0};
    gm_text_printf(&place, "%s%s", base, line);
    out->failed = out->failed || place.failed;
    add_name(out, text_of(frame->name), columns);
    gm_site_below(out, place.data != NULL ? place.data : "");
    gm_text_free(&place);
}

void gm_frames_add(struct gm_text *out, const struct gm_frame_row *frame, size_t columns)
{
    const char *name = text_of(frame->name), *file = shown_path(text_of(frame->filename));
    char line[LINE_TEXT];
    line_text(line, frame);
    if (file[0] == '\0' || strcmp(file, "??") == 0) {
        add_name(out, name, columns);
        return;
    }
    size_t tail = strlen(line), wants = gm_columns(file);
    const char *base = gm_path_base(file);
    size_t fixed = 2 + 3 + gm_columns(base) + tail; /* the gap, dots, and what is never cut if it fits */
    size_t for_name = name_columns(name), shortest = for_name < LEAST_NAME ? for_name : LEAST_NAME;
    size_t least = fixed + shortest <= columns ? columns - fixed : columns / 2;
    least = least < columns / 2 ? least : columns / 2;
    if (for_name > least && for_name + 2 + wants + tail > columns) {
        size_t spare = wants + tail + 2 < columns - least ? columns - least - wants - tail - 2 : 0;
        for_name = least + spare < for_name ? least + spare : for_name;
    }
    add_name(out, name, for_name);
    gm_text_add(out, "  ");
    size_t left = columns > for_name + 2 + tail ? columns - for_name - 2 - tail : 0;
    bool is_base =
        wants > left && gm_columns(base) + sizeof ".../" - 1 > left; /* dots alone would belong to its name */
    gm_columns_cut(out, is_base ? base : file, left, true);
    gm_text_add(out, line);
}
