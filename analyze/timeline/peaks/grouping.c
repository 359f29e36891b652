/* SPDX-License-Identifier: Apache-2.0
 *
 * To which group a stack belongs. Equal labels are one group, but whole stacks are told apart however alike their
 * labels are.
 */
#include "analyze/base/text.h"
#include "analyze/report/frame_kind.h"
#include "analyze/timeline/peaks/groups.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CALLERS_SHOWN = 2 };

bool gm_grouping_start(struct gm_grouping *grouping, struct gm_trace_pass *pass, enum gm_group_by by, size_t depth)
{
    *grouping = (struct gm_grouping){.pass = pass, .by = by, .depth = depth};
    grouping->of_stack = calloc((size_t)pass->snapshot->stacks.count + 1, sizeof *grouping->of_stack);
    return grouping->of_stack != NULL;
}

void gm_grouping_free(struct gm_grouping *grouping)
{
    free(grouping->of_stack);
    gm_intern_free(&grouping->shared);
    free(grouping->of_shared.v);
    free(grouping->labels.v);
    *grouping = (struct gm_grouping){0};
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static uint32_t new_group(struct gm_grouping *grouping, const char *label)
{
    if (grouping->labels.n >= GM_NEVER - 1 || !GM_VEC_PUSH(&grouping->labels, label))
        return GM_NEVER;
    return (uint32_t)grouping->labels.n - 1;
}

/* The group with this label. */
static uint32_t group_called(struct gm_grouping *grouping, const char *label)
{
    uint32_t number = gm_intern_add_lasting(&grouping->shared, label, strlen(label));
    if (number == GM_INTERN_NONE)
        return GM_NEVER;
    if (number == grouping->of_shared.n) { /* a new one */
        uint32_t group = new_group(grouping, label);
        if (group == GM_NEVER || !GM_VEC_PUSH(&grouping->of_shared, group))
            return GM_NEVER;
    }
    return grouping->of_shared.v[number];
}

static void add_function(struct gm_text *t, const struct gm_frame_row *frame)
{
    const char *tail = gm_names_path_tail(frame->filename);
    if (frame->name[0] == '\0')
        gm_text_add(t, "unknown function");
    gm_text_add_bytes(t, frame->name, (size_t)gm_names_shown(frame->name));
    if (tail[0] != '\0' && strcmp(tail, "??") != 0)
        gm_text_printf(t, "  %s", tail);
}

static const char *take(struct gm_grouping *grouping, struct gm_text *t)
{
    const char *label = t->failed ? NULL : gm_arena_copy(&grouping->pass->report->arena, t->data, t->length);
    gm_text_free(t);
    return label;
}

/* A function and its file: functions of one name in two files are two. C++ names stand for themselves. */
static const char *function_label(struct gm_grouping *grouping, struct gm_stack_id stack,
                                  const struct gm_frame_row *telling)
{
    if (!gm_frame_is_python(telling->filename))
        return gm_names_site(grouping->pass->names, stack);
    struct gm_text t = {0};
    add_function(&t, telling);
    return take(grouping, &t);
}

/* The call site and its callers in Python outside PyTorch, `callers` of them: "a < b < c". */
static const char *stack_label(struct gm_grouping *grouping, struct gm_stack_id stack,
                               const struct gm_frame_row *telling, size_t callers)
{
    size_t count;
    const struct gm_frame_row *frames = gm_names_frames(grouping->pass->names, stack, &count);
    const char *site = gm_names_site(grouping->pass->names, stack);
    if (frames == NULL || site == NULL)
        return NULL;
    const struct gm_snapshot *s = grouping->pass->snapshot;
    const struct gm_frame_id *ids = gm_stack_frames(s, stack, &count);
    struct gm_text t = {0};
    gm_text_add(&t, site);
    for (size_t i = (size_t)(telling - frames) + 1; i < count && callers > 0; i++) {
        unsigned file = gm_names_file_kind(grouping->pass->names, s->frames.filename[ids[i].v]);
        if ((file & GM_FILE_IS_PYTHON) == 0 || (file & GM_FILE_IS_TORCH) != 0)
            continue;
        gm_text_add(&t, " < ");
        add_function(&t, &frames[i]);
        if (frames[i].line != GM_REPORT_NONE)
            gm_text_printf(&t, ":%" PRIu64, frames[i].line);
        callers--;
    }
    return take(grouping, &t);
}

/* ---- which group ------------------------------------------------------------------------------------------------- */

static uint32_t group_by_frame(struct gm_grouping *grouping, struct gm_stack_id stack,
                               const struct gm_frame_row *telling)
{
    const char *label = NULL;
    switch (grouping->by) {
    case GM_GROUP_FUNCTION:
        label = function_label(grouping, stack, telling);
        break;
    case GM_GROUP_FILE:
        label =
            telling->filename[0] == '\0' || strcmp(telling->filename, "??") == 0 ? "unknown file" : telling->filename;
        break;
    case GM_GROUP_STACK:
        label = stack_label(grouping, stack, telling, grouping->depth == 0 ? CALLERS_SHOWN : grouping->depth - 1);
        if (grouping->depth == 0)
            return label == NULL ? GM_NEVER : new_group(grouping, label);
        break;
    default:
        label = gm_names_site(grouping->pass->names, stack);
        break;
    }
    return label == NULL ? GM_NEVER : group_called(grouping, label);
}

static uint32_t find_group(struct gm_grouping *grouping, struct gm_stack_id stack)
{
    struct gm_trace_pass *pass = grouping->pass;
    if (grouping->by == GM_GROUP_CATEGORY) {
        const char *name = gm_category_name(pass->options->rules, gm_classify(pass->options->classifier, stack));
        name = gm_arena_copy(&pass->report->arena, name, strlen(name));
        return name == NULL ? GM_NEVER : group_called(grouping, name);
    }
    const char *site = gm_names_site(pass->names, stack); /* also what says that there is no memory */
    if (site == NULL)
        return GM_NEVER;
    const struct gm_frame_row *telling = gm_names_telling_frame(pass->names, stack);
    return telling == NULL ? group_called(grouping, site) : group_by_frame(grouping, stack, telling);
}

uint32_t gm_grouping_of(struct gm_grouping *grouping, uint32_t stack, uint8_t role)
{
    bool is_by_role = grouping->by == GM_GROUP_ROLE;
    uint32_t *known = is_by_role ? &grouping->of_role[role] : &grouping->of_stack[stack];
    if (*known == 0)
        *known = 1 + (is_by_role ? group_called(grouping, gm_role_name(role))
                                 : find_group(grouping, (struct gm_stack_id){stack}));
    return *known - 1; /* GM_NEVER + 1 is 0 */
}
