/* SPDX-License-Identifier: Apache-2.0
 *
 * What a frame is to the calls of modules, and frames that are told as text: forward_frames.
 */
#include "analyze/base/ascii.h"
#include "analyze/timeline/modules/module_work.h"

#include <stdlib.h>
#include <string.h>

enum gm_module_frame gm_module_frame_of(struct gm_trace_pass *pass, uint32_t frame)
{
    static const char *const calls[] = {"_call_impl", "_wrapped_call_impl", "__call__", NULL};
    static const char *const between[] = {"inner",
                                          "wrapper",
                                          "wrapped",
                                          "wrapped_func",
                                          "decorate_context",
                                          "decorate_autocast",
                                          "decorate_fwd",
                                          "new_forward",
                                          "compile_wrapper",
                                          "_fn",
                                          NULL};
    const struct gm_frames *frames = &pass->snapshot->frames;
    const unsigned kind = gm_names_file_kind(pass->names, frames->filename[frame]);
    const char *name = gm_names_string(pass->names, frames->name[frame]);
    const char *file = gm_names_string(pass->names, frames->filename[frame]);
    if (name == NULL || file == NULL)
        return GM_FRAME_UNASKED;
    const bool is_made_up = name[0] != '\0' && file[0] == '<'; /* "<eval_with_key>.3": code that was compiled */
    if ((kind & GM_FILE_IS_PYTHON) == 0 && !is_made_up)
        return GM_FRAME_NATIVE;
    if (gm_ends_with(file, strlen(file), "nn/modules/module.py") ||
        gm_ends_with(file, strlen(file), "nn\\modules\\module.py"))
        return gm_is_one_of(name, calls) ? GM_FRAME_CALL : GM_FRAME_BETWEEN;
    if (gm_is_one_of(name, between))
        return GM_FRAME_BETWEEN;
    const bool is_list = (kind & GM_FILE_IS_TORCH) != 0 && gm_ends_with(file, strlen(file), "container.py");
    return strcmp(name, "__init__") == 0 && !is_list ? GM_FRAME_CREATE : GM_FRAME_CODE;
}

/* ---- frames as text --------------------------------------------------------------------------------------------- */

struct words {
    const char *name, *file;
    size_t name_length, file_length;
    uint64_t line;
};

static uint32_t key_of(struct gm_intern *keys, const struct words *w)
{
    char bytes[1024];
    if (w->name_length + w->file_length > sizeof bytes - sizeof w->line - 1)
        return GM_INTERN_NONE - 1; /* too long to be looked for */
    size_t n = 0;
    memcpy(bytes, &w->line, sizeof w->line);
    n += sizeof w->line;
    memcpy(bytes + n, w->name, w->name_length);
    n += w->name_length;
    bytes[n++] = '\0';
    memcpy(bytes + n, w->file, w->file_length);
    return gm_intern_add(keys, bytes, n + w->file_length);
}

bool gm_frame_index_make(struct gm_frame_index *index, const struct gm_snapshot *s)
{
    for (uint32_t f = 1; f < s->frames.count; f++) {
        struct words w = {.line = s->frames.line[f]};
        w.name = gm_string(s, s->frames.name[f], &w.name_length);
        w.file = gm_string(s, s->frames.filename[f], &w.file_length);
        const uint32_t key = key_of(&index->keys, &w);
        if (key == GM_INTERN_NONE || (key == index->frames.n && !GM_VEC_PUSH(&index->frames, f)))
            return false;
    }
    return true;
}

void gm_frame_index_free(struct gm_frame_index *index)
{
    gm_intern_free(&index->keys);
    free(index->frames.v);
    *index = (struct gm_frame_index){.frames = {0}};
}

/* `  File "/m.py", line 3, in forward` and a newline. */
static bool read_words(struct words *w, const char *text, size_t n)
{
    static const char file[] = "  File \"", line[] = "\", line ", in[] = ", in ";
    const char *end = memchr(text, '\n', n);
    n = end == NULL ? n : (size_t)(end - text);
    end = text + n;
    if (n < sizeof file || memcmp(text, file, sizeof file - 1) != 0)
        return false;
    w->file = text + sizeof file - 1;
    const char *at = w->file;
    while (at < end && ((size_t)(end - at) < sizeof line || memcmp(at, line, sizeof line - 1) != 0))
        at++;
    if (at >= end)
        return false;
    w->file_length = (size_t)(at - w->file);
    at += sizeof line - 1;
    for (w->line = 0; at < end && *at >= '0' && *at <= '9' && w->line < UINT32_MAX; at++)
        w->line = w->line * 10 + (uint64_t)(*at - '0');
    if ((size_t)(end - at) < sizeof in || memcmp(at, in, sizeof in - 1) != 0)
        return false;
    w->name = at + sizeof in - 1;
    w->name_length = (size_t)(end - w->name);
    return true;
}

size_t gm_forward_frames(const struct gm_snapshot *s, struct gm_frame_index *index, uint32_t row, uint32_t *frames,
                         size_t most)
{
    const struct gm_extras *extras = &s->extras[GM_ROW_EVENT];
    size_t from, n = gm_extras_of(extras, row, &from), count = 0;
    for (const struct gm_extra *e = extras->v + from; n > 0; n--, e++) {
        size_t length;
        const char *key = gm_string(s, (struct gm_string_id){e->key}, &length);
        if (e->value.type != GM_LOOSE_LIST || !gm_is_text(key, length, "forward_frames"))
            continue;
        for (uint32_t i = 0; i < e->value.count && count < most; i++) {
            const struct gm_loose *one = &s->loose[e->value.bits + i];
            struct words w;
            if (one->type != GM_LOOSE_STRING)
                return 0;
            const char *text = gm_string(s, (struct gm_string_id){(uint32_t)one->bits}, &length);
            const uint32_t found = read_words(&w, text, length) ? key_of(&index->keys, &w) : GM_INTERN_NONE;
            if (found < index->frames.n)
                frames[count++] = index->frames.v[found];
        }
        return count;
    }
    return 0;
}
