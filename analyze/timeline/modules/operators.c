/* SPDX-License-Identifier: Apache-2.0
 *
 * What asked for memory, by a stack: the operator where C++ frames were recorded, else the function of PyTorch's
 * library that the program called; and the node of a compiled graph, where frames were augmented with it.
 */
#include "analyze/base/ascii.h"
#include "analyze/timeline/modules/module_work.h"

#include <string.h>

/* The operator in a C++ symbol "at::_ops::addmm::call(...)"; *length 0: it is none, or one that only makes memory. */
static const char *operator_in(const char *symbol, size_t *length)
{
    static const char begin[] = "at::_ops::";
    static const char *const makers[] = {"empty", "resize", "new_empty", "set_", "as_strided", "_to_copy", "to"};
    const char *at = strstr(symbol, begin);
    *length = 0;
    if (at == NULL)
        return NULL;
    at += sizeof begin - 1;
    const size_t n = strcspn(at, ":(");
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (n >= strlen(makers[i]) && strncmp(at, makers[i], strlen(makers[i])) == 0 &&
            (i < 3 || n == strlen(makers[i])))
            return NULL;
    *length = n;
    return at;
}

/* "MmBackward0" of "torch::autograd::generated::MmBackward0::apply(...)". */
static const char *backward_in(const char *symbol, size_t *length)
{
    const char *end = strstr(symbol, "::apply(");
    const char *at = end;
    while (at != NULL && at > symbol && at[-1] != ':' && at[-1] != ' ')
        at--;
    *length = at == NULL ? 0 : (size_t)(end - at);
    return *length > 0 && (strstr(at, "Backward") != NULL || strstr(at, "AccumulateGrad") != NULL) ? at : NULL;
}

static bool is_torch_python(struct gm_trace_pass *pass, uint32_t frame)
{
    const unsigned kind = gm_names_file_kind(pass->names, pass->snapshot->frames.filename[frame]);
    return (kind & GM_FILE_IS_PYTHON) != 0 && (kind & GM_FILE_IS_TORCH) != 0;
}

/* What carries a call to its operator. */
static bool is_dispatch(const struct gm_frame_row *frame)
{
    static const char *const names[] = {
        "__torch_function__", "__torch_dispatch__", "_fn", "inner", "wrapper", "decorate_context", NULL};
    return gm_is_one_of(frame->name, names) ||
           (strcmp(frame->name, "__call__") == 0 && strcmp(gm_names_path_tail(frame->filename), "torch/_ops.py") == 0);
}

/* The file's name without its ending: "functional"; its folder's if it is the folder's own. */
static const char *stem_of(const char *path, int *length)
{
    const char *tail = gm_names_path_tail(path), *slash = strrchr(tail, '/');
    const char *base = slash == NULL || strcmp(slash, "/__init__.py") == 0 ? tail : slash + 1;
    *length = (int)strcspn(base, "./");
    return base;
}

/* "functional.gelu" for the frame i of frames[0..n); helpers and lambdas are told by who calls them in their file. */
static bool name_function(struct gm_trace_pass *pass, const struct gm_frame_row *frames, size_t i, size_t n,
                          const char **label, const char **detail)
{
    while (i + 1 < n &&
           (frames[i].name[0] == '_' || frames[i].name[0] == '<' || strcmp(frames[i].name, "convert") == 0) &&
           strcmp(frames[i].filename, frames[i + 1].filename) == 0)
        i++;
    int length;
    const char *stem = stem_of(frames[i].filename, &length);
    *label = gm_arena_printf(&pass->report->arena, "%.*s.%.*s", length, stem, gm_names_shown(frames[i].name),
                             frames[i].name);
    *detail = gm_names_path_tail(frames[i].filename);
    return *label != NULL;
}

bool gm_operator_of(struct gm_trace_pass *pass, struct gm_stack_id stack, const char **label, const char **detail)
{
    const struct gm_snapshot *s = pass->snapshot;
    size_t n;
    const struct gm_frame_row *frames = gm_names_frames(pass->names, stack, &n);
    const struct gm_frame_id *ids = gm_stack_frames(s, stack, &n);
    *label = *detail = NULL;
    if (frames == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const unsigned kind = gm_names_file_kind(pass->names, s->frames.filename[ids[i].v]);
        size_t length;
        const char *name = operator_in(frames[i].name, &length);
        if (name != NULL)
            *label = gm_arena_printf(&pass->report->arena, "aten::%.*s", (int)length, name);
        else if ((name = backward_in(frames[i].name, &length)) != NULL)
            *label = gm_arena_printf(&pass->report->arena, "%.*s", (int)length, name);
        if (name != NULL)
            return *label != NULL;
        if ((kind & GM_FILE_IS_PYTHON) != 0 && !is_dispatch(&frames[i]))
            return !is_torch_python(pass, ids[i].v) || name_function(pass, frames, i, n, label, detail);
    }
    return true;
}

/* ---- compiled graphs -------------------------------------------------------------------------------------------- */

/* The string of a frame's key, clean; NULL: it has none, or there is no memory (*ok is false). */
static const char *extra_text(struct gm_trace_pass *pass, uint32_t frame, const char *key, bool *ok)
{
    const struct gm_snapshot *s = pass->snapshot;
    const struct gm_extras *extras = &s->extras[GM_ROW_FRAME];
    size_t from, n = gm_extras_of(extras, frame, &from);
    for (const struct gm_extra *e = extras->v + from; n > 0; n--, e++) {
        size_t length;
        const char *text = gm_string(s, (struct gm_string_id){e->key}, &length);
        if (e->value.type != GM_LOOSE_STRING || !gm_is_text(text, length, key))
            continue;
        const char *value = gm_names_string(pass->names, (struct gm_string_id){(uint32_t)e->value.bits});
        *ok = *ok && value != NULL;
        return value;
    }
    return NULL;
}

/* The last place in `File "/m.py", line 3, in forward`... of a trace on one line. */
static const char *last_place(const char *trace)
{
    static const char begin[] = "File \"";
    const char *last = NULL;
    for (const char *at = trace; at != NULL && (at = strstr(at, begin)) != NULL; at += sizeof begin - 1)
        last = at + sizeof begin - 1;
    return last;
}

bool gm_graph_node_of(struct gm_trace_pass *pass, struct gm_stack_id stack, const char **label, const char **detail)
{
    struct gm_arena *arena = &pass->report->arena;
    size_t n;
    const struct gm_frame_id *ids = gm_stack_frames(pass->snapshot, stack, &n);
    bool ok = true;
    *label = *detail = NULL;
    for (size_t i = 0; ok && i < n && *label == NULL && pass->snapshot->extras[GM_ROW_FRAME].count > 0; i++) {
        *label = extra_text(pass, ids[i].v, "fx_node_name", &ok);
        if (*label == NULL)
            continue;
        const char *target = extra_text(pass, ids[i].v, "fx_node_target", &ok);
        const char *place = last_place(extra_text(pass, ids[i].v, "fx_original_trace", &ok));
        const char *op = extra_text(pass, ids[i].v, "fx_node_op", &ok);
        const char *what = target != NULL ? target : op != NULL ? op : "";
        *detail = place == NULL ? what
                                : gm_arena_printf(arena, "%.*s, from %.*s", gm_names_shown(what), what,
                                                  gm_names_shown(gm_names_path_tail(place)), gm_names_path_tail(place));
        ok = ok && *detail != NULL;
    }
    return ok;
}
