/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/formats/gmtrace_state.h"

#include "analyze/base/freed.h"

bool gm_gmtrace_state_begin(struct gm_gmtrace_state *s)
{
    *s = (struct gm_gmtrace_state){0};
    return GM_VEC_PUSH(&s->contexts, (struct gm_gmtrace_context){{0}}) &&
           GM_VEC_PUSH(&s->shapes, (struct gm_gmtrace_shape){0}) && GM_VEC_PUSH(&s->slots, (struct gm_gmtrace_slot){0});
}

void gm_gmtrace_state_free(struct gm_gmtrace_state *s)
{
    GM_FREE_ALL(s->contexts.v, s->shapes.v, s->slots.v, s->free_top.v);
    gm_map_free(&s->classes);
    *s = (struct gm_gmtrace_state){0};
}

bool gm_gmtrace_add_context(struct gm_gmtrace_state *s, const struct gm_gmtrace_context *context)
{
    if (!GM_VEC_PUSH(&s->contexts, *context))
        return false;
    if (context->field[GM_FIELD_STACK] > s->newest_stack)
        s->newest_stack = context->field[GM_FIELD_STACK];
    return true;
}

/* Same rounded size, same stream: the same class. */
static bool find_class(struct gm_gmtrace_state *s, uint64_t size, uint32_t stream, uint32_t *size_class)
{
    uint64_t key = gm_gmtrace_rounded(size) | (uint64_t)stream << 56;
    *size_class = gm_map_get(&s->classes, key);
    if (*size_class != GM_MAP_NONE)
        return true;
    uint32_t before;
    *size_class = (uint32_t)s->free_top.n;
    return GM_VEC_PUSH(&s->free_top, 0) && gm_map_put(&s->classes, key, *size_class, &before);
}

bool gm_gmtrace_add_shape(struct gm_gmtrace_state *s, uint8_t action, uint64_t size, uint32_t context)
{
    struct gm_gmtrace_shape shape = {.size = size, .context = context, .action = action};
    uint32_t stream = s->contexts.v[context].field[GM_FIELD_STREAM];
    return find_class(s, size, stream, &shape.size_class) && GM_VEC_PUSH(&s->shapes, shape);
}
