/* SPDX-License-Identifier: Apache-2.0
 *
 * The innermost module of every allocation, by name: the line that called it, and its code. Calls of one line are one
 * name, wherever the line was called from.
 */
#include "analyze/timeline/modules/module_work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work {
    struct gm_calls calls;
    uint32_t *place; /* [node] index of its name */
    struct gm_intern names;
};

static const char *name_of(struct gm_names *names, const struct gm_frames *f, const struct gm_call_node *node,
                           struct gm_arena *arena)
{
    const char *function = gm_names_string(names, f->name[node->callee]);
    const char *file = gm_names_string(names, f->filename[node->callee]);
    const char *caller = node->caller == 0 ? "" : gm_names_string(names, f->filename[node->caller]);
    char line[24] = "";
    if (function == NULL || file == NULL || caller == NULL)
        return NULL;
    if (node->caller != 0 && f->line[node->caller] != GM_ABSENT)
        (void)snprintf(line, sizeof line, ":%" PRIu64, f->line[node->caller]);
    const bool is_forward = strcmp(function, "forward") == 0;
    return gm_arena_printf(arena, "%s%s%s%s%s%s", gm_names_path_tail(caller), line, node->caller == 0 ? "" : " > ",
                           gm_names_path_tail(file), is_forward ? "" : " ", is_forward ? "" : function);
}

/* Nodes that are called alike have one name, those whose parents differ, too. */
static bool name_nodes(struct gm_module_places *out, struct work *w, struct gm_names *names, const struct gm_frames *f,
                       struct gm_arena *arena)
{
    out->name = gm_arena_calloc(arena, w->calls.nodes.n, sizeof *out->name);
    w->place = calloc(w->calls.nodes.n, sizeof *w->place);
    for (size_t i = 0; out->name != NULL && w->place != NULL && i < w->calls.nodes.n; i++) {
        const char *name = i == 0 ? "in no module's code" : name_of(names, f, &w->calls.nodes.v[i], arena);
        w->place[i] = name == NULL ? GM_INTERN_NONE : gm_intern_add(&w->names, name, strlen(name));
        if (w->place[i] == GM_INTERN_NONE)
            return false;
        out->name[w->place[i]] = name;
        out->count = w->place[i] >= out->count ? w->place[i] + 1 : out->count;
    }
    return out->name != NULL && w->place != NULL;
}

bool gm_kept_modules(struct gm_module_places *out, const struct gm_kept_device *kept, struct gm_names *names,
                     struct gm_arena *arena)
{
    struct gm_trace_pass pass = {.snapshot = kept->history.snapshot, .names = names, .history = kept->history};
    struct work w = {.place = NULL};
    *out = (struct gm_module_places){.of = gm_arena_calloc(arena, kept->history.allocation_count + 1, sizeof *out->of)};
    const bool ok = out->of != NULL && gm_calls_find(&w.calls, &pass) &&
                    name_nodes(out, &w, names, &kept->history.snapshot->frames, arena);
    for (size_t a = 0; ok && a < kept->history.allocation_count; a++)
        out->of[a] = w.place[w.calls.calls.v[w.calls.of[a]].node];
    gm_calls_free(&w.calls);
    free(w.place);
    gm_intern_free(&w.names);
    return ok;
}
